{{/*
Pieces of the CapacityProfile's schema. Where a pattern stands beside a CEL rule that says the same, the pattern is for
tools that read schemas and the rule is for people: the API server's message for a pattern names no remedy.
*/}}

{{/* Five digits of hours, seven of minutes and nine of seconds: always within Go's int64 of nanoseconds. */}}
{{- define "muster.crd.durationPattern" -}}
^([0-9]{1,5}([.][0-9]{1,9})?h)?([0-9]{1,7}([.][0-9]{1,9})?m)?([0-9]{1,9}([.][0-9]{1,9})?s)?([0-9]{1,9}ms)?$
{{- end -}}

{{- define "muster.crd.duration" -}}
type: string
minLength: 2
maxLength: 32
pattern: {{ include "muster.crd.durationPattern" . | squote }}
x-kubernetes-validations:
  - rule: self.matches('{{ include "muster.crd.durationPattern" . }}') && duration(self) > duration('0s')
    message: must be a positive Go duration, largest unit first, such as 45s, 30m or 1h30m
{{- end -}}

{{/* What a Node's status.allocatable may hold: as Kubernetes' own quantities, but never negative. */}}
{{- define "muster.crd.quantity" -}}
anyOf:
  - type: integer
  - type: string
x-kubernetes-int-or-string: true
maxLength: 32
pattern: ^[+]?(([0-9]+([.][0-9]*)?)|([.][0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE][+-]?[0-9]+))?$
x-kubernetes-validations:
  - rule: isQuantity(string(self)) && !quantity(string(self)).isLessThan(quantity('0'))
    message: must be a quantity of 0 or more, such as 94, 500m or 860Gi
{{- end -}}

{{- define "muster.crd.quantities" -}}
type: object
maxProperties: 64
additionalProperties:
  {{- include "muster.crd.quantity" . | nindent 2 }}
{{- end -}}

{{- define "muster.crd.labelKeyPattern" -}}
^([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$
{{- end -}}

{{- define "muster.crd.labelKey" -}}
type: string
minLength: 1
maxLength: 317
x-kubernetes-validations:
  - rule: self.matches('{{ include "muster.crd.labelKeyPattern" . }}') && self.indexOf('/') <= 253
    message: must be a label key such as example.com/rack
{{- end -}}

{{- define "muster.crd.labelValuePattern" -}}
^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$
{{- end -}}

{{- define "muster.crd.labels" -}}
type: object
maxProperties: 64
additionalProperties:
  type: string
  maxLength: 63
  pattern: {{ include "muster.crd.labelValuePattern" . | squote }}
x-kubernetes-validations:
  - rule: self.all(k, k.matches('{{ include "muster.crd.labelKeyPattern" . }}'))
    message: every key must be a label key such as example.com/rack
{{- end -}}

{{/* The name of an object that Kueue knows: a DNS subdomain. */}}
{{- define "muster.crd.objectName" -}}
type: string
minLength: 1
maxLength: 253
pattern: ^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$
{{- end -}}

{{/* A name of somebody else's choosing, such as a node group's. */}}
{{- define "muster.crd.freeName" -}}
type: string
minLength: 1
maxLength: 253
{{- end -}}
