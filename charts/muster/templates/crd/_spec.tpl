{{/* Called with (dict "duration" PATTERN "ttl" "10m"). */}}
{{- define "muster.crd.spec" -}}
type: object
required: [flavor]
x-kubernetes-validations:
  - rule: "!self.closed || (has(self.pools) && size(self.pools) > 0)"
    fieldPath: .pools
    message: "closed: true says that these pools are all there will ever be: list every pool of the flavor in pools, or set closed to false"
  - rule: "!has(self.pools) || self.pools.all(p, !has(p.domains) || size(p.domains) == 0) || (has(self.topology) && has(self.topology.nodeLabel))"
    fieldPath: .topology
    message: "domains of a pool are named by a node label: set topology.nodeLabel, or leave the domains out"
  - rule: "self.management != 'Manage' || (has(self.provisioning) && has(self.provisioning.admissionCheck) && has(self.provisioning.config) && has(self.provisioning.className))"
    fieldPath: .provisioning
    message: "management: Manage creates the Kueue objects: set provisioning.admissionCheck, provisioning.config and provisioning.className, or management: External"
  - rule: "self.management != 'Adopt' || (has(self.provisioning) && has(self.provisioning.admissionCheck) && has(self.provisioning.config))"
    fieldPath: .provisioning
    message: "management: Adopt takes over the Kueue objects of given names: set provisioning.admissionCheck and provisioning.config, or management: External"
properties:
  flavor:
    description: The ResourceFlavor these pools stand behind.
    {{- include "muster.crd.objectName" . | nindent 4 }}
  clusterQueues:
    description: The ClusterQueues this profile speaks for. Empty, every queue that offers the flavor.
    type: array
    maxItems: 256
    x-kubernetes-list-type: set
    items:
      {{- include "muster.crd.objectName" . | nindent 6 }}
  closed:
    description: >-
      These pools are all there will ever be for the flavor. Only then can a gang be denied because no node could hold it,
      or too few nodes can exist.
    type: boolean
    default: false
  preflight:
    description: >-
      What happens to a gang that can never fit. Enforce denies it at submit, Warn accepts it with a warning, Off does not
      judge it.
    type: string
    enum: [Enforce, Warn, "Off"]
    default: Warn
  pools:
    description: The node pools behind the flavor.
    type: array
    maxItems: 64
    x-kubernetes-list-type: map
    x-kubernetes-list-map-keys: [name]
    items:
      {{- include "muster.crd.pool" . | nindent 6 }}
  admission:
    {{- include "muster.crd.admission" . | nindent 4 }}
  topology:
    {{- include "muster.crd.topology" . | nindent 4 }}
  management:
    description: >-
      Who keeps the Kueue objects named under provisioning. External only verifies them. Adopt, to take over existing ones, and
      Manage, to create and keep them, are not acted on in this version: both verify, as External does.
    type: string
    enum: [External, Adopt, Manage]
    default: External
  provisioning:
    {{- include "muster.crd.provisioning" . | nindent 4 }}
  deletionPolicy:
    description: >-
      Whether what Manage created goes with the profile (Delete) or stays (Retain). Not acted on in this version.
    type: string
    enum: [Retain, Delete]
    default: Retain
{{- end -}}

{{- define "muster.crd.pool" -}}
type: object
required: [name]
x-kubernetes-validations:
  - rule: "!has(self.maxNodes) || !has(self.domains) || self.domains.all(d, !has(d.maxNodes) || d.maxNodes <= self.maxNodes)"
    fieldPath: .domains
    message: "a domain cannot hold more nodes than its pool: lower the domain's maxNodes or raise the pool's"
  - rule: "!has(self.nodeLabels) || !has(self.node) || !has(self.node.labels) || self.nodeLabels.all(k, !(k in self.node.labels) || self.node.labels[k] == self.nodeLabels[k])"
    fieldPath: .node.labels
    message: "a label stands in nodeLabels with another value: a node of this pool carries both, so give it one value, or in one place"
properties:
  name:
    description: The pool's name, as messages and status show it.
    type: string
    minLength: 1
    maxLength: 63
  nodeLabels:
    description: Which live nodes are this pool's. Every node of it has these labels.
    {{- include "muster.crd.labels" . | nindent 4 }}
  maxNodes:
    description: The most nodes the pool may ever have. Absent, it is not known and bounds nothing.
    type: integer
    format: int32
    minimum: 0
  node:
    {{- include "muster.crd.node" . | nindent 4 }}
  domains:
    description: The topology domains of the pool, named by the value of topology.nodeLabel.
    type: array
    maxItems: 128
    x-kubernetes-list-type: map
    x-kubernetes-list-map-keys: [name]
    items:
      type: object
      required: [name]
      properties:
        name:
          description: The value of topology.nodeLabel on nodes of this domain.
          type: string
          minLength: 1
          maxLength: 63
          pattern: {{ include "muster.crd.labelValuePattern" . | squote }}
        maxNodes:
          description: The most nodes of the pool this domain may ever have.
          type: integer
          format: int32
          minimum: 0
  nodeGroups:
    description: The pool's ids in the autoscaler's status ConfigMap.
    type: array
    maxItems: 64
    x-kubernetes-list-type: set
    items:
      {{- include "muster.crd.freeName" . | nindent 6 }}
{{- end -}}

{{- define "muster.crd.node" -}}
description: One empty node of the pool. What is not declared is unknown, and what is unknown never denies.
type: object
x-kubernetes-validations:
  - rule: >-
      !has(self.daemonSetReserve) || !has(self.allocatable) || self.daemonSetReserve.all(r, !(r in self.allocatable) ||
      !isQuantity(string(self.daemonSetReserve[r])) || !isQuantity(string(self.allocatable[r])) ||
      quantity(string(self.daemonSetReserve[r])).compareTo(quantity(string(self.allocatable[r]))) <= 0)
    fieldPath: .daemonSetReserve
    message: "daemons cannot take more than the node has: lower the resource in daemonSetReserve or raise it in allocatable"
properties:
  allocatable:
    description: What an empty node offers, as its status.allocatable says.
    {{- include "muster.crd.quantities" . | nindent 4 }}
  labels:
    description: Further labels every node of the pool has.
    {{- include "muster.crd.labels" . | nindent 4 }}
  labelsComplete:
    description: >-
      A label that is neither in labels nor in nodeLabels is absent on every node. Says nothing of labels that the kubelet
      or the cloud sets.
    type: boolean
    default: false
  allocatableComplete:
    description: >-
      A resource that is not in allocatable is 0, rather than unknown. Says nothing of what a DeviceClass stands for: such
      devices are in no node's list.
    type: boolean
    default: false
  taints:
    description: The taints every node of the pool has.
    type: array
    maxItems: 32
    x-kubernetes-list-type: map
    x-kubernetes-list-map-keys: [key, effect]
    items:
      type: object
      required: [key, effect]
      properties:
        key:
          {{- include "muster.crd.labelKey" . | nindent 10 }}
        value:
          type: string
          maxLength: 63
          pattern: {{ include "muster.crd.labelValuePattern" . | squote }}
        effect:
          type: string
          enum: [NoSchedule, PreferNoSchedule, NoExecute]
  daemonSetReserve:
    description: What DaemonSets surely take on every node, so that no gang can have it.
    {{- include "muster.crd.quantities" . | nindent 4 }}
{{- end -}}

{{- define "muster.crd.admission" -}}
description: How long gangs may wait for admission.
type: object
x-kubernetes-validations:
  - rule: >-
      !has(self.timeout) || !has(self.maxTimeout) || !self.timeout.matches('{{ .duration }}') ||
      !self.maxTimeout.matches('{{ .duration }}') || duration(self.timeout) <= duration(self.maxTimeout)
    fieldPath: .timeout
    message: "timeout must not exceed maxTimeout: lower timeout or raise maxTimeout"
  - rule: >-
      !has(self.ttlAfterTimeout) || !self.ttlAfterTimeout.matches('{{ .duration }}') ||
      duration(self.ttlAfterTimeout) >= duration('{{ .ttl }}')
    fieldPath: .ttlAfterTimeout
    message: "ttlAfterTimeout must be at least {{ .ttl }}, so that somebody can look before the job is deleted: raise it, or leave it out to keep the job"
properties:
  timeout:
    description: How long a gang may wait, where neither it nor its queue says. Absent, this profile bounds nothing.
    {{- include "muster.crd.duration" . | nindent 4 }}
  maxTimeout:
    description: The upper limit of every timeout, whoever asks for it.
    {{- include "muster.crd.duration" . | nindent 4 }}
  requeue:
    description: Whether a gang that had started, and is back in the queue, is bounded again (Restart) or not (None).
    type: string
    enum: [None, Restart]
    default: None
  ttlAfterTimeout:
    description: How long after its timeout a job is deleted. Absent, nothing is ever deleted.
    {{- include "muster.crd.duration" . | nindent 4 }}
  scheduledBy:
    description: >-
      How long after its admission a gang's pods may be without nodes before that is told, by an event and a metric. It is
      only reported, nothing is ended. Absent, nobody looks.
    {{- include "muster.crd.duration" . | nindent 4 }}
  countOnPods:
    description: >-
      Whether the webhook counts how often a job is started, on the job and on its pod templates, so that pods carry
      their execution. It is then asked each time such a job is let go.
    type: boolean
    default: false
{{- end -}}

{{- define "muster.crd.topology" -}}
description: How gangs are kept together.
type: object
properties:
  nodeLabel:
    description: The node label whose value names a domain.
    {{- include "muster.crd.labelKey" . | nindent 4 }}
  workloadLabel:
    description: A label stamped on the pod templates of gangs, which the autoscaler resolves to a domain.
    type: object
    required: [key, value]
    properties:
      key:
        {{- $key := include "muster.crd.labelKey" . }}
        {{- $key | nindent 8 }}
          - rule: "!self.matches('^(.+[.])?(kubernetes[.]io|(x-)?k8s[.]io|muster[.]dev)/')"
            message: "belongs to Kubernetes, Kueue or Muster: choose a key of your own domain, such as capacity.example.com/topology"
      value:
        type: string
        minLength: 1
        maxLength: 63
        pattern: {{ include "muster.crd.labelValuePattern" . | squote }}
        x-kubernetes-validations:
          - rule: self.matches('{{ include "muster.crd.labelValuePattern" . }}')
            message: must be a label value, letters, digits, '-', '_' and '.', such as same-rack
{{- end -}}

{{- define "muster.crd.provisioning" -}}
description: What the Kueue objects that ask the autoscaler must say. They are verified, and nothing is written to them.
type: object
properties:
  admissionCheck:
    description: The AdmissionCheck.
    {{- include "muster.crd.objectName" . | nindent 4 }}
  config:
    description: The ProvisioningRequestConfig the AdmissionCheck names.
    {{- include "muster.crd.objectName" . | nindent 4 }}
  className:
    description: The config's provisioningClassName.
    {{- include "muster.crd.objectName" . | nindent 4 }}
  managedResources:
    description: The config's managedResources.
    type: array
    maxItems: 100
    x-kubernetes-list-type: set
    items:
      {{- include "muster.crd.freeName" . | nindent 6 }}
  retry:
    description: The config's retryStrategy.
    type: object
    x-kubernetes-validations:
      - rule: "!has(self.baseSeconds) || !has(self.maxSeconds) || self.baseSeconds <= self.maxSeconds"
        fieldPath: .baseSeconds
        message: "baseSeconds must not exceed maxSeconds: lower baseSeconds or raise maxSeconds"
    properties:
      limit:
        description: How often Kueue asks again after a failure.
        type: integer
        format: int32
        minimum: 0
      baseSeconds:
        description: The first pause between two attempts; each further one is twice as long.
        type: integer
        format: int32
        minimum: 1
      maxSeconds:
        description: The longest pause.
        type: integer
        format: int32
        minimum: 1
  maxNodesPerScaleUp:
    description: The autoscaler's --max-nodes-per-scaleup. A gang that needs more new nodes at once is warned of.
    type: integer
    format: int32
    minimum: 1
  parameters:
    description: The config's parameters.
    type: object
    maxProperties: 100
    additionalProperties:
      type: string
      maxLength: 255
{{- end -}}
