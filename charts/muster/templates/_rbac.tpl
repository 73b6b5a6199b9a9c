{{/* What the controller does to Workloads and to what they stand for: it deletes only where it cleans up. */}}
{{- define "muster.ownerVerbs" -}}
[get, list, watch, patch{{ if .Values.cleanup.enabled }}, delete{{ end }}]
{{- end -}}

{{/* What a gang is judged against: read by webhook and controller alike. Kinds that are not installed cost nothing. */}}
{{- define "muster.worldRules" -}}
- apiGroups: [kueue.x-k8s.io]
  resources:
    [admissionchecks, clusterqueues, cohorts, localqueues, provisioningrequestconfigs, resourceflavors, topologies]
  verbs: [get, list, watch]
- apiGroups: [muster.dev]
  resources: [capacityprofiles]
  verbs: [get, list, watch]
- apiGroups: [""]
  resources: [limitranges, namespaces, nodes]
  verbs: [get, list, watch]
- apiGroups: [node.k8s.io]
  resources: [runtimeclasses]
  verbs: [get, list, watch]
- apiGroups: [resource.k8s.io]
  resources: [deviceclasses]
  verbs: [get, list, watch]
- apiGroups: [trainer.kubeflow.org]
  resources: [clustertrainingruntimes, trainingruntimes]
  verbs: [get, list, watch]
# How far the autoscaler may grow a pool.
- apiGroups: [karpenter.sh]
  resources: [nodepools]
  verbs: [get, list, watch]
- apiGroups: [cluster.x-k8s.io]
  resources: [machinedeployments, machinepools, machinesets]
  verbs: [get, list, watch]
{{- end -}}
