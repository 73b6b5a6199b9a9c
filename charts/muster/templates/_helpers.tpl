{{- define "muster.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{/* The prefix of every name. 40 characters leave room for the longest suffix in 63. */}}
{{- define "muster.fullname" -}}
{{- $name := include "muster.name" . -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/*
Mutating configurations run in the order of their names, and one that did not match in its turn is never called again.
Kueue adds the queue's label to jobs that have none, and our webhook matches on that label: our name must sort after
Kueue's (kubernetes: apiserver/pkg/admission/configuration/mutating_webhook_manager.go).
*/}}
{{- define "muster.configurationName" -}}
{{- .Values.webhook.configurationName | default (include "muster.defaultConfigurationName" .) -}}
{{- end -}}

{{- define "muster.defaultConfigurationName" -}}
{{- $name := printf "%s-webhook" (include "muster.fullname" .) -}}
{{- if gt $name .Values.kueue.mutatingWebhookConfiguration -}}
{{- $name -}}
{{- else -}}
{{- printf "muster-%s-webhook" .Release.Name | trunc 63 -}}
{{- end -}}
{{- end -}}

{{/* NAMESPACE/NAME of one of the ConfigMaps that are read; empty where it is not. */}}
{{- define "muster.configMap" -}}
{{- if .name -}}
{{- printf "%s/%s" .namespace .name -}}
{{- end -}}
{{- end -}}

{{- define "muster.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end -}}
{{- end -}}

{{- define "muster.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
app.kubernetes.io/name: {{ include "muster.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Called with (list $ "webhook"): what selects one component's Pods. Never changes: Deployments cannot. */}}
{{- define "muster.selector" -}}
{{- $ := index . 0 -}}
app.kubernetes.io/name: {{ include "muster.name" $ }}
app.kubernetes.io/instance: {{ $.Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{/* Called with (list $ "webhook"): labels of one component's objects. */}}
{{- define "muster.componentLabels" -}}
{{ include "muster.labels" (index . 0) }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{/* Called with a Go duration: its whole seconds, so that two can be compared. */}}
{{- define "muster.seconds" -}}
{{- $from := toDate "2006-01-02" "2000-01-01" -}}
{{- sub (dateModify . $from | unixEpoch | int64) (unixEpoch $from | int64) -}}
{{- end -}}
