{{/*
The kinds the webhooks see. The next kind is one entry here and one line in webhook.kinds of the values and their schema.
Both configurations render a webhook "m<name>.muster.dev" and "v<name>.muster.dev" of each.

suspend: the field by which Kueue holds the object; without it the object is seen at creation alone.
counted: Kueue changes its pod templates when it lets it go, and so may we (webhook/starts.py).
*/}}
{{- define "muster.webhook.kinds" -}}
- {name: job, group: batch, version: v1, resource: jobs, suspend: spec.suspend, counted: true}
- {name: jobset, group: jobset.x-k8s.io, version: v1alpha2, resource: jobsets, suspend: spec.suspend, counted: true}
- {name: trainjob, group: trainer.kubeflow.org, version: v1alpha1, resource: trainjobs, suspend: spec.suspend}
- {name: rayjob, group: ray.io, version: v1, resource: rayjobs, suspend: spec.suspend, counted: true}
- {name: raycluster, group: ray.io, version: v1, resource: rayclusters, suspend: spec.suspend, counted: true}
- {name: pytorchjob, group: kubeflow.org, version: v1, resource: pytorchjobs, suspend: spec.runPolicy.suspend, counted: true}
- {name: tfjob, group: kubeflow.org, version: v1, resource: tfjobs, suspend: spec.runPolicy.suspend, counted: true}
- {name: xgboostjob, group: kubeflow.org, version: v1, resource: xgboostjobs, suspend: spec.runPolicy.suspend, counted: true}
- {name: paddlejob, group: kubeflow.org, version: v1, resource: paddlejobs, suspend: spec.runPolicy.suspend, counted: true}
- {name: jaxjob, group: kubeflow.org, version: v1, resource: jaxjobs, suspend: spec.runPolicy.suspend, counted: true}
- {name: mpijob, group: kubeflow.org, version: v2beta1, resource: mpijobs, suspend: spec.runPolicy.suspend, counted: true}
- {name: leaderworkerset, group: leaderworkerset.x-k8s.io, version: v1, resource: leaderworkersets}
- {name: appwrapper, group: workload.codeflare.dev, version: v1beta2, resource: appwrappers, suspend: spec.suspend}
- {name: pod, group: "", version: v1, resource: pods}
- {name: workload, group: kueue.x-k8s.io, version: v1beta2, resource: workloads}
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
  {{- include "muster.webhook.conditions" . | nindent 2 }}
rules:
  - apiGroups: [{{ .kind.group | quote }}]
    apiVersions: [{{ .kind.version }}]
    resources: [{{ .kind.resource }}]
    operations: {{ include "muster.webhook.operations" . }}
    scope: Namespaced
{{- end -}}
