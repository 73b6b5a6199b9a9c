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
  - name: queued
    expression: >-
      has(object.metadata.labels) && 'kueue.x-k8s.io/queue-name' in object.metadata.labels &&
      object.metadata.labels['kueue.x-k8s.io/queue-name'] != ''
  - name: not-being-deleted
    expression: "!has(object.metadata.deletionTimestamp)"
rules:
  - apiGroups: {{ .kind.apiGroups | toJson }}
    apiVersions: {{ .kind.apiVersions | toJson }}
    resources: {{ .kind.resources | toJson }}
    operations: [CREATE]
    scope: Namespaced
{{- end -}}
