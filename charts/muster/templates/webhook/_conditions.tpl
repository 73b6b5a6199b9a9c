{{/*
When a webhook is asked, in CEL. What nobody's policy can touch is never sent, and no update that lets a job go, stops it,
or changes anything but its gang. Every field is looked for before it is read: an expression that fails would, under
failurePolicy Fail, refuse the object.
*/}}

{{/* Called with a path such as "oldObject.spec.suspend": whether that field is there and true. */}}
{{- define "muster.webhook.isTrue" -}}
{{- $steps := splitList "." . -}}
{{- $path := first $steps -}}
{{- range rest $steps -}}
{{- $path = printf "%s.%s" $path . -}}
has({{ $path }}) && {{ end -}}
{{ . }} == true
{{- end -}}

{{/*
Called with the root. What Kueue changes of its own accord: told by its namespace, for its account is named after its release,
and a name alone anybody could give to an account.
*/}}
{{- define "muster.webhook.byKueue" -}}
(has(request.userInfo.username) && request.userInfo.username.startsWith('system:serviceaccount:{{ .Values.kueue.config.namespace }}:'))
{{- end -}}

{{/* Called with "object" or "oldObject". */}}
{{- define "muster.webhook.queued" -}}
has({{ . }}.metadata.labels) && 'kueue.x-k8s.io/queue-name' in {{ . }}.metadata.labels && {{ . }}.metadata.labels['kueue.x-k8s.io/queue-name'] != ''
{{- end -}}

{{- define "muster.webhook.workloadQueued" -}}
has(object.spec) && has(object.spec.queueName) && object.spec.queueName != ''
{{- end -}}

{{/* Of a Workload: whether it has no quota yet. */}}
{{- define "muster.webhook.workloadWaits" -}}
!has({{ . }}.status) || !has({{ . }}.status.conditions) || !{{ . }}.status.conditions.exists(c, c.type == 'QuotaReserved' && c.status == 'True')
{{- end -}}

{{/* Called with the root: of a Workload, that neither Kueue nor the controller of a job made it. */}}
{{- define "muster.webhook.madeByAPerson" -}}
(!has(object.metadata.ownerReferences) || size(object.metadata.ownerReferences) == 0) && (!has(object.metadata.labels) || !('kueue.x-k8s.io/job-uid' in object.metadata.labels)) && !{{ include "muster.webhook.byKueue" . }}
{{- end -}}

{{/* What only the controller writes: copied or forged where it is created. */}}
{{- define "muster.webhook.carryingOurKeys" -}}
has(object.metadata.annotations) && {{ include "muster.protection.keys" . }}.exists(key, key in object.metadata.annotations)
{{- end -}}

{{/*
Called with the root: an update by somebody else that leaves out what only the controller takes off, as a plain replace
does. An administrator takes it off by leaving it out.
*/}}
{{- define "muster.webhook.leavingOutOurKeys" -}}
{{ include "muster.protection.kept" . }}.exists(key, {{ include "muster.protection.carries" (list "oldObject" "key") }} && !({{ include "muster.protection.carries" (list "object" "key") }}))
{{- range include "muster.protection.byOthers" . | fromYamlArray }} && ({{ .expression }}){{ end }}
{{- end -}}

{{- define "muster.webhook.operations" -}}
{{- if or (eq .prefix "m") .kind.suspend (eq .kind.name "workload") -}}
[CREATE, UPDATE]
{{- else -}}
[CREATE]
{{- end -}}
{{- end -}}

{{/* Called as "muster.webhook.entry" is. */}}
{{- define "muster.webhook.conditions" -}}
{{- $workload := eq .kind.name "workload" -}}
{{- $queued := include (ternary "muster.webhook.workloadQueued" "muster.webhook.queued" $workload) "object" -}}
{{- $carrying := include "muster.webhook.carryingOurKeys" . -}}
{{- $leaving := include "muster.webhook.leavingOutOurKeys" .root -}}
{{- $new := printf "object.%s" .kind.suspend -}}
{{- $old := printf "oldObject.%s" .kind.suspend -}}
- name: not-being-deleted
  expression: "!has(object.metadata.deletionTimestamp)"
{{- if eq .kind.name "pod" }}
- name: nobodys-part
  expression: >-
    (!has(object.metadata.ownerReferences) || !object.metadata.ownerReferences.exists(o, has(o.controller) && o.controller)) && (!has(object.metadata.annotations) || !('kueue.x-k8s.io/pod-suspending-parent' in object.metadata.annotations))
{{- end }}
{{- if and $workload (eq .prefix "v") }}
- name: made-by-a-person
  expression: >-
    {{ include "muster.webhook.madeByAPerson" .root }}
{{- end }}
{{- if eq .prefix "v" }}
- name: queued
  expression: >-
    {{ $queued }}
{{- if .kind.suspend }}
- name: created-or-changed-while-held
  expression: >-
    request.operation == 'CREATE' || (!{{ include "muster.webhook.byKueue" .root }} && ({{ include "muster.webhook.isTrue" $old }}) && ({{ include "muster.webhook.isTrue" $new }}) && (object.spec != oldObject.spec || !({{ include "muster.webhook.queued" "oldObject" }}) || object.metadata.labels['kueue.x-k8s.io/queue-name'] != oldObject.metadata.labels['kueue.x-k8s.io/queue-name']))
{{- else if $workload }}
- name: created-or-changed-while-it-waits
  expression: >-
    request.operation == 'CREATE' || (has(oldObject.spec) && object.spec != oldObject.spec && ({{ include "muster.webhook.workloadWaits" "oldObject" }}) && ({{ include "muster.webhook.workloadWaits" "object" }}))
{{- end }}
{{- else if $workload }}
- name: created-by-a-person-or-losing-our-keys
  expression: >-
    request.operation == 'CREATE' ? (({{ include "muster.webhook.madeByAPerson" .root }}) && ({{ $carrying }})) : ({{ $leaving }})
{{- else if .kind.counted }}
- name: created-or-started-or-losing-our-keys
  expression: >-
    request.operation == 'CREATE' ? (({{ $queued }}) || ({{ $carrying }})) : ((has(object.metadata.annotations) && 'muster.dev/admission-count' in object.metadata.annotations && ({{ include "muster.webhook.isTrue" $old }}) && !({{ include "muster.webhook.isTrue" $new }})) || ({{ $leaving }}))
{{- else }}
- name: created-or-losing-our-keys
  expression: >-
    request.operation == 'CREATE' ? (({{ $queued }}) || ({{ $carrying }})) : ({{ $leaving }})
{{- end }}
{{- end -}}
