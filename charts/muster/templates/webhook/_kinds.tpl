{{/*
The kinds the webhooks see. The next kind is one entry here and one line in webhook/kinds.py.
Both configurations render a webhook "m<name>.muster.dev" and "v<name>.muster.dev" of each.
*/}}
{{- define "muster.webhook.kinds" -}}
- name: job
  apiGroups: [batch]
  apiVersions: [v1]
  resources: [jobs]
{{- end -}}

{{/* Scope lives in the configuration: filtering in code does not help while the webhook cannot be reached. */}}
{{- define "muster.webhook.namespaceSelector" -}}
{{- $excluded := concat (list "kube-system" .Release.Namespace) .Values.webhook.excludedNamespaces | uniq | sortAlpha -}}
{{- $never := dict "key" "kubernetes.io/metadata.name" "operator" "NotIn" "values" $excluded -}}
{{- $selector := deepCopy .Values.webhook.namespaceSelector -}}
{{- $expressions := prepend ($selector.matchExpressions | default list) $never -}}
{{- toYaml (set $selector "matchExpressions" $expressions) -}}
{{- end -}}

{{- define "muster.webhook.queued" -}}
has(object.metadata.labels) && 'kueue.x-k8s.io/queue-name' in object.metadata.labels &&
object.metadata.labels['kueue.x-k8s.io/queue-name'] != ''
{{- end -}}

{{/* What only the controller writes (classifier/api.py, CONTROLLER_KEYS): copied or forged where it is created. */}}
{{- define "muster.webhook.carryingOurKeys" -}}
has(object.metadata.annotations) && ['muster.dev/admission-clock', 'muster.dev/admission-deadline',
'muster.dev/admission-outcome', 'muster.dev/admission-outcome-of', 'muster.dev/admission-message',
'muster.dev/delete-after'].exists(key, key in object.metadata.annotations)
{{- end -}}

{{/* Called with (dict "root" $ "kind" KIND "prefix" "m" "path" "/mutate"): what both webhooks of a kind share. */}}
{{- define "muster.webhook.entry" -}}
{{- $ := .root -}}
name: {{ .prefix }}{{ .kind.name }}.muster.dev
admissionReviewVersions: [v1]
# No caBundle: the program writes it at run time, and a value rendered here would fight with it on every upgrade.
clientConfig:
  service:
    name: {{ include "muster.fullname" $ }}-webhook
    namespace: {{ $.Release.Namespace }}
    path: {{ .path }}
    port: 443
failurePolicy: {{ $.Values.webhook.failurePolicy }}
matchPolicy: Equivalent
sideEffects: None
timeoutSeconds: {{ $.Values.webhook.timeoutSeconds }}
namespaceSelector:
  {{- include "muster.webhook.namespaceSelector" $ | nindent 2 }}
objectSelector:
  {{- toYaml $.Values.webhook.objectSelector | nindent 2 }}
matchConditions:
  {{- if eq .prefix "m" }}
  - name: queued-or-carrying-our-keys
    expression: >-
      ({{ include "muster.webhook.queued" . | nindent 6 | trim }}) ||
      ({{ include "muster.webhook.carryingOurKeys" . | nindent 6 | trim }})
  {{- else }}
  - name: queued
    expression: >-
      {{- include "muster.webhook.queued" . | nindent 6 }}
  {{- end }}
  - name: not-being-deleted
    expression: "!has(object.metadata.deletionTimestamp)"
rules:
  - apiGroups: {{ .kind.apiGroups | toJson }}
    apiVersions: {{ .kind.apiVersions | toJson }}
    resources: {{ .kind.resources | toJson }}
    operations: [CREATE]
    scope: Namespaced
{{- end -}}
