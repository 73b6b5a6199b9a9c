"""What random objects are made of: values that mean something to a rule, and values that nobody expects."""

from random import Random
from typing import Any, Final

Json = dict[str, Any]

PREFIX: Final = "dispatch.phpboyscout.uk/"
NAMESPACE: Final = "ns"

#: Texts nobody expects: blanks, line breaks of every sort, marks that our own texts use, digits of other scripts.
ODD: Final = (
    "",
    " ",
    "\n",
    ";",
    "; ",
    "a",
    "why",
    " ends in a blank ",
    "two\nlines",
    "\r\nthree\rkinds\u2028of line\u2029ends\x0b\x0c\x1c\x85",
    "x; y",
    "; starts like a part",
    "ends like one;",
    "漢字 é \U0001f4a5",
    "a\x00b",
    "\x1b[31mred",
    "%s {0} {name} \\",
    "9" * 5000,
    "word " * 400,
)
MESSAGES: Final = (
    *ODD,
    "The node was low on resource: memory. ",
    "The node had condition: [MemoryPressure]. ",
    "The node was low on resource: ephemeral-storage. ",
    "Pod was terminated in response to imminent node shutdown.",
    "Reset to Pending after eviction. Previously: Retry",
    "Reset to Pending after eviction. Previously: Rejected",
    "PyTorchJob train was active longer than specified deadline",
    "0/3 nodes are available: 3 Insufficient nvidia.com/gpu.",
    "Admission is gated by: example.com/budget",
)
#: Whole seconds, few of them, for ties are common; and times nobody can read.
TIMES: Final = (
    "2026-11-29T10:00:00Z",
    "2026-11-29T10:00:01Z",
    "2026-11-29T10:00:01Z",
    "2026-11-29T10:00:05Z",
    "2026-11-29T11:00:01+01:00",
    "2026-11-29T10:00:01.123456Z",
    "0001-01-01T00:00:00Z",
    "9999-12-31T23:59:59-01:00",
    "2026-02-30T10:00:00Z",
    "yesterday",
    "",
)
NUMBERS: Final = (
    *("0", "1", "2", "3", "1", "2", "10"),
    *("", " 1", "1 ", "1\n", "+1", "-1", "01", "1.0", "1e3", "0x1", "1_0", "١", "１", "²"),
    *(str(2**63 - 1), str(2**63), "9" * 25, "9" * 5000),
)
STATUSES: Final = ("True", "True", "True", "False", "Unknown", "", "true", "Odd")
NODES: Final = ("n1", "n2", "n3", "gone")
JOB_NAMES: Final = ("train-3", "train-3", "train-4", "train", "train-big-3", "pi-2024", "x-" + "9" * 30, "a.b-0", "odd")

#: Reasons by condition type; a type that is not here takes any of them.
REASONS: Final[dict[str, tuple[str, ...]]] = {
    "QuotaReserved": ("QuotaReserved", "Pending", "AdmissionGated", "Suspended", "WaitingForQuota", "OnHold"),
    "Admitted": ("Admitted", "NoReservation", "UnsatisfiedAdmissionChecks"),
    "Evicted": (
        *("Preempted", "PodsReadyTimeout", "AdmissionCheck", "ClusterQueueStopped", "LocalQueueStopped"),
        *("NodeFailures", "FlavorMigration", "EvictedOnManagerCluster", "Deactivated"),
        *("DeactivatedDueToRequeuingLimitExceeded", "DeactivatedDueToMaximumExecutionTimeExceeded"),
        *("DeactivatedDueToAdmissionCheck", "DeactivatedDueTo", "DeactivatedDueToOdd"),
    ),
    "DeactivationTarget": ("AdmissionCheck", "RequeuingLimitExceeded", "MaximumExecutionTimeExceeded", "Odd"),
    "Preempted": ("InClusterQueue", "InCohortReclamation"),
    "Requeued": ("ClusterQueueRestarted", "LocalQueueRestarted", "Preempted", "BackoffFinished"),
    "Finished": ("Succeeded", "Failed", "FailedToStart", "OutOfSync"),
    "Failed": (
        *("FailedJobs", "FailedJobs", "ReachedMaxRestarts", "FailJobSetFailurePolicyAction", "DeadlineExceeded"),
        *("TrainingRuntimeNotSupported", "BackoffLimitExceeded", "PodFailurePolicy", "FailedIndexes"),
        *("MaxFailedIndexesExceeded", "PyTorchJobFailed", "MPIJobFailed", "MPIJobEvicted", "RemoteLost"),
    ),
    "DisruptionTarget": (
        *("PreemptionByScheduler", "EvictionByEvictionAPI", "DeletionByTaintManager", "DeletionByPodGC"),
        *("DeletionByDeviceTaintManager", "TerminationByKubelet", "ExclusivePlacementViolation", "Odd"),
    ),
    "KueueFailureRecovery": ("KueueForcefullyDeleted", "Odd"),
    "TerminationTarget": ("WorkloadEvictedDueToPreempted", "WorkloadEvictedDueToNodeFailures", "WorkloadDeleted"),
    "PodScheduled": ("Unschedulable", "SchedulingGated", "SchedulerError"),
    "Ready": ("KubeletReady", "KubeletNotReady", "NodeStatusUnknown", "PodFailed"),
}
ANY_REASON: Final = (*(reason for reasons in REASONS.values() for reason in reasons), "Odd", "", "two\nlines")
TERMINAL: Final = ("Complete", "Completed", "Succeeded", "Failed")
WORKLOAD_TYPES: Final = (
    *("QuotaReserved", "Admitted", "Admitted", "Evicted", "Preempted", "Requeued", "DeactivationTarget"),
    *("Finished", "PodsReady", "Odd"),
)
POD_TYPES: Final = (
    *("DisruptionTarget", "DisruptionTarget", "PodScheduled", "Ready", "KueueFailureRecovery", "TerminationTarget"),
    *("Odd", ""),
)

#: By the JSON name of a text field.
TEXTS: Final[dict[str, tuple[str, ...]]] = {
    "status": STATUSES,
    "message": MESSAGES,
    "phase": (
        *("Pending", "Running", "Running", "Failed", "Failed", "Succeeded", "Unknown"),
        *("Suspending", "Suspended", "Resuming", "Resetting", "Odd", ""),
    ),
    "reason": (
        *("", "", "Evicted", "Preempting", "Terminated", "NodeShutdown", "NodeLost", "DeadlineExceeded"),
        *("OutOfcpu", "OutOfnvidia.com/gpu", "OutOf", "UnexpectedAdmissionError", "NodeAffinity", "AppFailed"),
        *("ValidationFailed", *["OOMKilled"] * 6, "Error", "Error", "Completed", "ContainerStatusUnknown", "Unknown"),
        *("StartError", "ImagePullBackOff", "CrashLoopBackOff", "ContainerCreating", "two\nlines"),
    ),
    "state": ("Pending", "Ready", "Retry", "Rejected", "ready", "suspended", "failed", "", "Odd"),
    "jobStatus": ("PENDING", "RUNNING", "SUCCEEDED", "FAILED", "STOPPED", "", "Odd"),
    "jobDeploymentStatus": (
        *("Initializing", "Running", "Complete", "Complete", "Failed", "Suspending", "Suspended", "Retrying"),
        *("Waiting", "ValidationFailed", "", "Odd"),
    ),
    "managedBy": (
        *("trainer.kubeflow.org/trainjob-controller", "kubernetes.io/job-controller", "kueue.x-k8s.io/multikueue"),
        *("", "two\nlines"),
    ),
    "nodeName": (*NODES, *NODES, ""),
    "name": ("node", "node", "launcher", "dataset-initializer", "sidecar", "pytorch", "prov", "budget", "train-3", ""),
    "key": (
        *("node.kubernetes.io/out-of-service", "node.kubernetes.io/unreachable", "ToBeDeletedByClusterAutoscaler"),
        *("cloud.google.com/impending-node-termination", "aws-node-termination-handler/spot-itn", "odd", ""),
    ),
    "rayClusterName": ("train-3-raycluster-abc", "train-3-raycluster-abc", ""),
}
INTEGERS: Final = (0, 0, 1, 1, 2, 3, -1, 2**31 - 1)
EXIT_CODES: Final = (0, 0, 1, 1, 2, 134, 137, 143, 143, 255, -1, 2**31 - 1)


def chance(random: Random, probability: float) -> bool:
    return random.random() < probability


def some(random: Random, values: Any, most: int) -> list[Any]:
    """Up to that many of the values, each at most once."""
    values = list(dict.fromkeys(values))
    return random.sample(values, random.randint(0, min(most, len(values))))
