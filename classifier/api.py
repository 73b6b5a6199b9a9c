"""Every label, annotation, condition type, reason and group/version Muster reads or writes: names only.

The keys under ``muster.dev/`` are the contract (design §2); this is their only copy in code.
Kueue's names: Kueue ``pkg/controller/constants/constants.go``, ``apis/kueue/v1beta2`` (reference/kueue.md §1.4, §1.6).
"""

from typing import Final, NamedTuple

# --- Muster's own keys ------------------------------------------------------------------------------------------
PREFIX: Final = "muster.dev/"

# On jobs, stamped at submit.
SUBMITTED_AT: Final = PREFIX + "submitted-at"
CAPACITY_PROFILE: Final = PREFIX + "capacity-profile"
PREFLIGHT: Final = PREFIX + "preflight"
# On jobs and Workloads: until when it may wait. The Workload's is the one that is enforced.
ADMISSION_DEADLINE: Final = PREFIX + "admission-deadline"
# On jobs (a person's request), LocalQueues, ClusterQueues and Namespaces (policy).
ADMISSION_TIMEOUT: Final = PREFIX + "admission-timeout"
MAX_ADMISSION_TIMEOUT: Final = PREFIX + "max-admission-timeout"
TTL_AFTER_TIMEOUT: Final = PREFIX + "ttl-after-timeout"
PREFLIGHT_MODE: Final = PREFIX + "preflight-mode"
# On Namespaces: its jobs may skip preflight by PREFLIGHT_MODE.
PREFLIGHT_OPTIONAL: Final = PREFIX + "preflight-optional"
# On jobs, by the controller.
ADMISSION_CLOCK: Final = PREFIX + "admission-clock"
ADMISSION_COUNT: Final = PREFIX + "admission-count"
ADMISSION_OUTCOME: Final = PREFIX + "admission-outcome"
ADMISSION_OUTCOME_OF: Final = PREFIX + "admission-outcome-of"
ADMISSION_MESSAGE: Final = PREFIX + "admission-message"
DELETE_AFTER: Final = PREFIX + "delete-after"
# On Workloads, by the controller.
COMMITTED: Final = PREFIX + "admission-timeout-committed"
CLEANUP_COMMITTED: Final = PREFIX + "cleanup-committed"
# On the Lease, by the replica that leads.
OUTAGE_SINCE: Final = PREFIX + "outage-since"

OUTCOME_TIMED_OUT: Final = "TimedOut"

#: The mirror: copies of a committed decision on the owner (design §3).
MIRROR_KEYS: Final = (ADMISSION_OUTCOME, ADMISSION_OUTCOME_OF, ADMISSION_MESSAGE, DELETE_AFTER)
#: Keys of jobs that only the controller writes; the webhook strips them from what is created (design §2, "protected").
CONTROLLER_KEYS: Final = (ADMISSION_CLOCK, ADMISSION_DEADLINE, *MIRROR_KEYS)
#: The same and those of Workloads: what no object may be created with.
PROTECTED_KEYS: Final = (*CONTROLLER_KEYS, COMMITTED, CLEANUP_COMMITTED)

#: Field managers: managedFields say by these who wrote what.
CONTROLLER_MANAGER: Final = "muster-controller"
WEBHOOK_MANAGER: Final = "muster-webhook"

# Reasons of Muster's events and profile conditions.
EVENT_TIMED_OUT: Final = "AdmissionTimedOut"
EVENT_DELETED: Final = "TimedOutJobDeleted"
EVENT_KEPT: Final = "TimedOutJobKept"
EVENT_MISCONFIGURED: Final = "Misconfigured"
EVENT_UNDONE: Final = "TimeoutUndone"
EVENT_NEVER_FITS: Final = "PreflightNeverFits"
EVENT_FITS: Final = "PreflightFits"
EVENT_UNSCHEDULED: Final = "AdmittedUnscheduled"
PROFILE_READY: Final = "Ready"
PROVISIONING_READY: Final = "ProvisioningReady"
PROFILE_DRIFT: Final = "Drift"
PROFILE_MISCONFIGURED: Final = "Misconfigured"


#: Keys of dispatch that the classification understands; the prefix is configuration (design §2).
DISPATCH_PREFIX: Final = "dispatch.phpboyscout.uk/"


class Resource(NamedTuple):
    """One kind as the API serves it. ``path`` is the prefix of its list, without a namespace."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def root(self) -> str:
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    def path(self, namespace: str | None = None, name: str | None = None, subresource: str | None = None) -> str:
        """The URL path of the collection, or of one object of it."""
        parts = [self.root]
        if self.namespaced and namespace:
            parts.append(f"namespaces/{namespace}")
        parts.append(self.plural)
        if name:
            parts.append(name)
        if subresource:
            parts.append(subresource)
        return "/".join(parts)


KUEUE_GROUP: Final = "kueue.x-k8s.io"
KUEUE_VERSION: Final = "v1beta2"
MUSTER_GROUP: Final = "muster.dev"

JOBS: Final = Resource("batch", "v1", "jobs", "Job")
PODS: Final = Resource("", "v1", "pods", "Pod")
NODES: Final = Resource("", "v1", "nodes", "Node", namespaced=False)
NAMESPACES: Final = Resource("", "v1", "namespaces", "Namespace", namespaced=False)
SECRETS: Final = Resource("", "v1", "secrets", "Secret")
EVENTS: Final = Resource("events.k8s.io", "v1", "events", "Event")
LEASES: Final = Resource("coordination.k8s.io", "v1", "leases", "Lease")
WORKLOADS: Final = Resource(KUEUE_GROUP, KUEUE_VERSION, "workloads", "Workload")
LOCAL_QUEUES: Final = Resource(KUEUE_GROUP, KUEUE_VERSION, "localqueues", "LocalQueue")
CLUSTER_QUEUES: Final = Resource(KUEUE_GROUP, KUEUE_VERSION, "clusterqueues", "ClusterQueue", namespaced=False)
RESOURCE_FLAVORS: Final = Resource(KUEUE_GROUP, KUEUE_VERSION, "resourceflavors", "ResourceFlavor", namespaced=False)
ADMISSION_CHECKS: Final = Resource(KUEUE_GROUP, KUEUE_VERSION, "admissionchecks", "AdmissionCheck", namespaced=False)
PROVISIONING_REQUEST_CONFIGS: Final = Resource(
    KUEUE_GROUP, KUEUE_VERSION, "provisioningrequestconfigs", "ProvisioningRequestConfig", namespaced=False
)
PROVISIONING_REQUESTS: Final = Resource("autoscaling.x-k8s.io", "v1", "provisioningrequests", "ProvisioningRequest")
COHORTS: Final = Resource(KUEUE_GROUP, KUEUE_VERSION, "cohorts", "Cohort", namespaced=False)
TOPOLOGIES: Final = Resource(KUEUE_GROUP, KUEUE_VERSION, "topologies", "Topology", namespaced=False)
LIMIT_RANGES: Final = Resource("", "v1", "limitranges", "LimitRange")
RUNTIME_CLASSES: Final = Resource("node.k8s.io", "v1", "runtimeclasses", "RuntimeClass", namespaced=False)
DEVICE_CLASSES: Final = Resource("resource.k8s.io", "v1", "deviceclasses", "DeviceClass", namespaced=False)
CONFIG_MAPS: Final = Resource("", "v1", "configmaps", "ConfigMap")
NODE_POOLS: Final = Resource("karpenter.sh", "v1", "nodepools", "NodePool", namespaced=False)
MACHINE_DEPLOYMENTS: Final = Resource("cluster.x-k8s.io", "v1beta1", "machinedeployments", "MachineDeployment")
MACHINE_SETS: Final = Resource("cluster.x-k8s.io", "v1beta1", "machinesets", "MachineSet")
MACHINE_POOLS: Final = Resource("cluster.x-k8s.io", "v1beta1", "machinepools", "MachinePool")
CAPACITY_PROFILES: Final = Resource(MUSTER_GROUP, "v1alpha1", "capacityprofiles", "CapacityProfile", namespaced=False)
ADMISSION_POLICIES: Final = Resource(
    "admissionregistration.k8s.io", "v1", "validatingadmissionpolicies", "ValidatingAdmissionPolicy", namespaced=False
)
ADMISSION_POLICY_BINDINGS: Final = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "validatingadmissionpolicybindings",
    "ValidatingAdmissionPolicyBinding",
    namespaced=False,
)
MUTATING_WEBHOOKS: Final = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "mutatingwebhookconfigurations",
    "MutatingWebhookConfiguration",
    namespaced=False,
)
VALIDATING_WEBHOOKS: Final = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "validatingwebhookconfigurations",
    "ValidatingWebhookConfiguration",
    namespaced=False,
)

# The other job kinds, and what stands between them and their pods (reference/classification.md §E).
JOBSETS: Final = Resource("jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet")
TRAIN_JOBS: Final = Resource("trainer.kubeflow.org", "v1alpha1", "trainjobs", "TrainJob")
TRAINING_RUNTIMES: Final = Resource("trainer.kubeflow.org", "v1alpha1", "trainingruntimes", "TrainingRuntime")
CLUSTER_TRAINING_RUNTIMES: Final = Resource(
    "trainer.kubeflow.org", "v1alpha1", "clustertrainingruntimes", "ClusterTrainingRuntime", namespaced=False
)
RAY_JOBS: Final = Resource("ray.io", "v1", "rayjobs", "RayJob")
RAY_CLUSTERS: Final = Resource("ray.io", "v1", "rayclusters", "RayCluster")
PYTORCH_JOBS: Final = Resource("kubeflow.org", "v1", "pytorchjobs", "PyTorchJob")
TF_JOBS: Final = Resource("kubeflow.org", "v1", "tfjobs", "TFJob")
XGBOOST_JOBS: Final = Resource("kubeflow.org", "v1", "xgboostjobs", "XGBoostJob")
PADDLE_JOBS: Final = Resource("kubeflow.org", "v1", "paddlejobs", "PaddleJob")
JAX_JOBS: Final = Resource("kubeflow.org", "v1", "jaxjobs", "JAXJob")
MPI_JOBS: Final = Resource("kubeflow.org", "v2beta1", "mpijobs", "MPIJob")
LEADER_WORKER_SETS: Final = Resource("leaderworkerset.x-k8s.io", "v1", "leaderworkersets", "LeaderWorkerSet")
APP_WRAPPERS: Final = Resource("workload.codeflare.dev", "v1beta2", "appwrappers", "AppWrapper")

# --- Kueue's names ----------------------------------------------------------------------------------------------
QUEUE_NAME: Final = "kueue.x-k8s.io/queue-name"
JOB_UID: Final = "kueue.x-k8s.io/job-uid"
PREBUILT_WORKLOAD: Final = "kueue.x-k8s.io/prebuilt-workload-name"
MULTIKUEUE_ORIGIN: Final = "kueue.x-k8s.io/multikueue-origin"
ADMISSION_GATED_BY: Final = "kueue.x-k8s.io/admission-gated-by"
MIN_PARALLELISM: Final = "kueue.x-k8s.io/job-min-parallelism"
ELASTIC_JOB: Final = "kueue.x-k8s.io/elastic-job"
SLICE_REPLACEMENT_FOR: Final = "kueue.x-k8s.io/workload-slice-replacement-for"
POD_GROUP_NAME: Final = "kueue.x-k8s.io/pod-group-name"
POD_GROUP_TOTAL: Final = "kueue.x-k8s.io/pod-group-total-count"
#: On the Workload of a pod group, which is named like the group: "true".
GROUP_WORKLOAD: Final = "kueue.x-k8s.io/is-group-workload"
#: On every pod that Kueue gates or counts: "true".
MANAGED: Final = "kueue.x-k8s.io/managed"
#: What a podset asks of the topology, on its pod template (Kueue: apis/kueue/v1beta2/topology_types.go).
TOPOLOGY_REQUIRED: Final = "kueue.x-k8s.io/podset-required-topology"
TOPOLOGY_PREFERRED: Final = "kueue.x-k8s.io/podset-preferred-topology"
TOPOLOGY_UNCONSTRAINED: Final = "kueue.x-k8s.io/podset-unconstrained-topology"
TOPOLOGY_SLICE: Final = "kueue.x-k8s.io/podset-slice-required-topology"
TOPOLOGY_SLICE_SIZE: Final = "kueue.x-k8s.io/podset-slice-size"
TOPOLOGY_SLICES: Final = "kueue.x-k8s.io/podset-slice-required-topology-constraints"
PODSET_GROUP: Final = "kueue.x-k8s.io/podset-group-name"
PROVREQ_PREFIX: Final = "provreq.kueue.x-k8s.io/"
PROVISIONING_CONTROLLER: Final = "kueue.x-k8s.io/provisioning-request"
MULTIKUEUE_CONTROLLER: Final = "kueue.x-k8s.io/multikueue"
#: ``Job.spec.managedBy`` of the built-in job controller; any other value is a foreign controller.
JOB_CONTROLLER: Final = "kubernetes.io/job-controller"

# Workload condition types and the reasons that matter to us.
QUOTA_RESERVED: Final = "QuotaReserved"
ADMITTED: Final = "Admitted"
PODS_READY: Final = "PodsReady"
EVICTED: Final = "Evicted"
FINISHED: Final = "Finished"
ON_HOLD: Final = "OnHold"
PODS_READY_TIMEOUT: Final = "PodsReadyTimeout"
WAIT_FOR_START: Final = "WaitForStart"
WAIT_FOR_RECOVERY: Final = "WaitForRecovery"
REQUEUED: Final = "Requeued"
ACTIVE: Final = "Active"

# ProvisioningRequest conditions (reference/capacity.md §1.2).
PROVREQ_ACCEPTED: Final = "Accepted"
PROVREQ_PROVISIONED: Final = "Provisioned"
PROVREQ_FAILED: Final = "Failed"
PROVREQ_BOOKING_EXPIRED: Final = "BookingExpired"
PROVREQ_REVOKED: Final = "CapacityRevoked"
