{{- define "muster.crd.status" -}}
type: object
properties:
  conditions:
    description: Ready, ProvisioningReady, Drift, Misconfigured and OwnershipConflict.
    type: array
    maxItems: 16
    x-kubernetes-list-type: map
    x-kubernetes-list-map-keys: [type]
    items:
      type: object
      required: [type, status, lastTransitionTime, reason, message]
      properties:
        type:
          type: string
          maxLength: 316
        status:
          type: string
          enum: ["True", "False", Unknown]
        observedGeneration:
          type: integer
          format: int64
          minimum: 0
        lastTransitionTime:
          type: string
          format: date-time
        reason:
          type: string
          minLength: 1
          maxLength: 1024
        message:
          type: string
          maxLength: 32768
  pools:
    description: What is known of each pool, from where, and since when.
    type: array
    maxItems: 64
    x-kubernetes-list-type: map
    x-kubernetes-list-map-keys: [name]
    items:
      type: object
      required: [name]
      properties:
        name:
          type: string
          minLength: 1
          maxLength: 63
        nodes:
          description: Nodes of the pool that exist.
          type: integer
          format: int32
          minimum: 0
        readyNodes:
          description: Those that are Ready.
          type: integer
          format: int32
          minimum: 0
        targetNodes:
          description: How many the autoscaler is working towards.
          type: integer
          format: int32
          minimum: 0
        maxNodes:
          description: The bound that is judged by, the largest that anything says.
          type: integer
          format: int32
          minimum: 0
        backoffSince:
          description: Since when the autoscaler does not try this pool again, after a scale-up that failed.
          type: string
          format: date-time
        backoffUntil:
          description: When that ends at the latest, by the autoscaler's default limits.
          type: string
          format: date-time
        source:
          description: The objects these numbers were read from, first the one that says maxNodes.
          type: string
          maxLength: 1024
        observedAt:
          description: >-
            When they were read, by the autoscaler where it says so. Brought up to date every five minutes where nothing else
            changes.
          type: string
          format: date-time
{{- end -}}
