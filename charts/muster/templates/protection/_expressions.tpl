{{/*
What the protecting policies are made of, in CEL. Every field is looked for before it is read, and what decides whether a
policy is evaluated at all reads nothing but metadata and the request, which the API server has decoded long before: no
object can make it fail, and so no error of ours holds up a write that touches none of our keys.
*/}}

{{/* What only the controller writes (classifier/api.py, PROTECTED_KEYS). */}}
{{- define "muster.protection.keys" -}}
['muster.dev/admission-clock', 'muster.dev/admission-deadline', 'muster.dev/admission-outcome', 'muster.dev/admission-outcome-of', 'muster.dev/admission-message', 'muster.dev/delete-after', 'muster.dev/admission-timeout-committed', 'muster.dev/cleanup-committed']
{{- end -}}

{{/* Copies of a decision: whoever wants them gone may take them off (MIRROR_KEYS). */}}
{{- define "muster.protection.mirror" -}}
['muster.dev/admission-outcome', 'muster.dev/admission-outcome-of', 'muster.dev/admission-message', 'muster.dev/delete-after']
{{- end -}}

{{/* The others: what a plain replace leaves out is put back by the webhook (webhook/restore.py). */}}
{{- define "muster.protection.kept" -}}
['muster.dev/admission-clock', 'muster.dev/admission-deadline', 'muster.dev/admission-timeout-committed', 'muster.dev/cleanup-committed']
{{- end -}}

{{/* Called with a list of names, which hold no quotes: the same in CEL. */}}
{{- define "muster.protection.list" -}}
[{{ range $index, $name := . }}{{ if $index }}, {{ end }}'{{ $name }}'{{ end }}]
{{- end -}}

{{/* Called with (list "object" "key"): whether that one carries the annotation. */}}
{{- define "muster.protection.carries" -}}
{{- $obj := index . 0 -}}
has({{ $obj }}.metadata.annotations) && {{ index . 1 }} in {{ $obj }}.metadata.annotations
{{- end -}}

{{/* Of the variable "key": whether the request changes it in a way that is not everybody's. */}}
{{- define "muster.protection.touched" -}}
{{ include "muster.protection.carries" (list "object" "key") }} ? !({{ include "muster.protection.carries" (list "oldObject" "key") }} && oldObject.metadata.annotations[key] == object.metadata.annotations[key]) : (!(key in {{ include "muster.protection.mirror" . }}) && {{ include "muster.protection.carries" (list "oldObject" "key") }})
{{- end -}}

{{/* Called with the root: the controller's user name. */}}
{{- define "muster.protection.controller" -}}
system:serviceaccount:{{ .Release.Namespace }}:{{ include "muster.fullname" . }}-controller
{{- end -}}

{{/* Called with the root: matchConditions of what neither the controller nor an administrator does. */}}
{{- define "muster.protection.byOthers" -}}
{{- $administrators := .Values.protection.administrators -}}
- name: not-by-the-controller
  expression: >-
    !has(request.userInfo.username) || !(request.userInfo.username in {{ include "muster.protection.list" (prepend $administrators.users (include "muster.protection.controller" .) | uniq) }})
{{- with $administrators.groups }}
- name: not-by-an-administrator
  expression: >-
    !has(request.userInfo.groups) || !request.userInfo.groups.exists(group, group in {{ include "muster.protection.list" . }})
{{- end }}
{{- end -}}

{{/* Called with the root: who administrators are, for people. */}}
{{- define "muster.protection.administrators" -}}
{{- $who := list -}}
{{- range $what, $names := dict "group" .Values.protection.administrators.groups "user" .Values.protection.administrators.users -}}
{{- if $names -}}
{{- $who = append $who (printf "%s %s" $what (join ", " $names)) -}}
{{- end -}}
{{- end -}}
{{- $who | join " or " | default "none is named in protection.administrators" -}}
{{- end -}}

{{/* Called with (dict "root" $ "name" "keys"): metadata of one policy, or of its binding. */}}
{{- define "muster.protection.metadata" -}}
name: {{ include "muster.fullname" .root }}-{{ .name }}
labels:
  {{- include "muster.labels" .root | nindent 2 }}
{{- end -}}

{{/* Called as "muster.protection.metadata" is. No selectors: a namespace outside would be a hole. */}}
{{- define "muster.protection.binding" -}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  {{- include "muster.protection.metadata" . | nindent 2 }}
spec:
  policyName: {{ include "muster.fullname" .root }}-{{ .name }}
  validationActions: [Deny]
{{- end -}}
