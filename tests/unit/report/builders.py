"""One gang job and its surroundings, to be bent into any state of its life."""

from typing import Any

import msgspec

from classifier.fit import Outcome, PodSetVerdict, Verdict
from classifier.instant import format_instant, parse_instant
from classifier.objects import (
    AdmissionCheck,
    CapacityProfile,
    ClusterQueue,
    Job,
    LocalQueue,
    Node,
    Pod,
    ProvisioningRequest,
    ProvisioningRequestConfig,
    Workload,
)
from classifier.report import Fence, FenceState, Picture, owner_of

T0 = parse_instant("2026-11-29T10:00:00Z")
SECOND = 1000
JOB_UID = "11111111-1111-1111-1111-111111111111"
WORKLOAD_UID = "22222222-2222-2222-2222-222222222222"
WORKLOAD = "job-train-1a2b3"
GPU = "nvidia.com/gpu"
CHECK = "capacity"


def at(seconds: float) -> str:
    """Seconds after the job was created, as the API writes them."""
    return format_instant(T0 + int(seconds * SECOND))


def condition(type_: str, status: str, reason: str = "", message: str = "", seconds: float = 0) -> dict[str, Any]:
    return {"type": type_, "status": status, "reason": reason, "message": message, "lastTransitionTime": at(seconds)}


def job(
    *,
    suspend: bool = True,
    annotations: dict[str, str] | None = None,
    status: dict[str, Any] | None = None,
    queue: str | None = "gpu",
    **spec: Any,
) -> Job:
    return msgspec.convert(
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {
                "name": "train",
                "namespace": "team-a",
                "uid": JOB_UID,
                "creationTimestamp": at(0),
                "labels": {"kueue.x-k8s.io/queue-name": queue} if queue else {},
                "annotations": annotations or {},
            },
            "spec": {
                "suspend": suspend,
                "parallelism": 2,
                "completions": 2,
                "template": {"spec": {"containers": [{"name": "main", "resources": {"requests": {GPU: "8"}}}]}},
                **spec,
            },
            "status": status or {},
        },
        Job,
    )


def ledger(origin: float = 0, attempt: int = 1) -> dict[str, str]:
    text = msgspec.json.encode({"uid": JOB_UID, "origin": at(origin), "attempt": attempt}).decode()
    return {"muster.dev/admission-clock": text}


def workload(
    *conditions: dict[str, Any],
    active: bool = True,
    annotations: dict[str, str] | None = None,
    check: dict[str, Any] | None = None,
    admission: bool | None = None,
    others: list[dict[str, Any]] | None = None,
    again: float | None = None,
) -> Workload:
    """With quota reserved there is an admission, unless said otherwise. ``check``: the capacity check's state.

    ``again``: the end of a backoff, in seconds.
    """
    reserved = any(c["type"] == "QuotaReserved" and c["status"] == "True" for c in conditions)
    status: dict[str, Any] = {"conditions": list(conditions)}
    if reserved if admission is None else admission:
        usage = {GPU: "16", "cpu": "4"}
        flavors = {GPU: "a100-scale", "cpu": "a100-scale"}
        assignment = {"name": "main", "flavors": flavors, "resourceUsage": usage, "count": 2}
        status["admission"] = {"clusterQueue": "gpu-a100", "podSetAssignments": [assignment]}
    states = ([{"name": CHECK, **check}] if check else []) + (others or [])
    if states:
        status["admissionChecks"] = states
    if again is not None:
        status["requeueState"] = {"count": 1, "requeueAt": at(again)}
    return msgspec.convert(
        {
            "metadata": {
                "name": WORKLOAD,
                "namespace": "team-a",
                "uid": WORKLOAD_UID,
                "creationTimestamp": at(0),
                "annotations": annotations or {},
                "labels": {"kueue.x-k8s.io/job-uid": JOB_UID},
                "ownerReferences": [
                    {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": JOB_UID, "controller": True}
                ],
            },
            "spec": {"active": active, "queueName": "gpu"},
            "status": status,
        },
        Workload,
    )


def marker(seconds: float, attempt: int = 1) -> dict[str, str]:
    return {"muster.dev/admission-timeout-committed": f"{at(seconds)} attempt={attempt} uid={WORKLOAD_UID}"}


def deadline(seconds: float) -> dict[str, str]:
    return {"muster.dev/admission-deadline": at(seconds)}


def request(
    *conditions: dict[str, Any], check: str = CHECK, attempt: int = 1, seconds: float = 5
) -> ProvisioningRequest:
    return msgspec.convert(
        {
            "metadata": {
                "name": f"{WORKLOAD}-{check}-{attempt}",
                "namespace": "team-a",
                "creationTimestamp": at(seconds),
                "ownerReferences": [{"kind": "Workload", "name": WORKLOAD, "uid": WORKLOAD_UID, "controller": True}],
            },
            "spec": {"provisioningClassName": "best-effort-atomic-scale-up.autoscaling.x-k8s.io"},
            "status": {"conditions": list(conditions)},
        },
        ProvisioningRequest,
    )


def node(name: str, *, ready: bool = True, seconds: float = 0, pool: str = "gpupool") -> Node:
    return msgspec.convert(
        {
            "metadata": {"name": name, "labels": {"agentpool": pool}},
            "status": {"conditions": [condition("Ready", str(ready), seconds=seconds)]},
        },
        Node,
    )


def pod(name: str, *, on: str | None = None, phase: str = "Pending", why: str = "", seconds: float = 0) -> Pod:
    scheduled = condition("PodScheduled", str(on is not None), "" if on else "Unschedulable", why, seconds)
    return msgspec.convert(
        {
            "metadata": {
                "name": name,
                "namespace": "team-a",
                "ownerReferences": [{"kind": "Job", "name": "train", "uid": JOB_UID, "controller": True}],
            },
            "spec": {"nodeName": on} if on else {},
            "status": {"phase": phase, "conditions": [scheduled], "startTime": at(seconds)},
        },
        Pod,
    )


def profile(**spec: Any) -> CapacityProfile:
    return msgspec.convert(
        {
            "metadata": {"name": "gpu-a100-8"},
            "spec": {
                "flavor": "a100-scale",
                "closed": True,
                "pools": [{"name": "gpupool", "nodeLabels": {"agentpool": "gpupool"}, "maxNodes": 2}],
                "admission": {"timeout": "30m"},
                "provisioning": {"admissionCheck": CHECK, "config": CHECK},
                **spec,
            },
        },
        CapacityProfile,
    )


def admission_check(
    *conditions: dict[str, Any],
    controller: str = "kueue.x-k8s.io/provisioning-request",
    config: str | None = CHECK,
) -> AdmissionCheck:
    parameters = {"kind": "ProvisioningRequestConfig", "name": config} if config else None
    return msgspec.convert(
        {
            "metadata": {"name": CHECK},
            "spec": {"controllerName": controller, "parameters": parameters},
            "status": {"conditions": list(conditions or (condition("Active", "True", "Active"),))},
        },
        AdmissionCheck,
    )


def cluster_queue(*checks: str, name: str = "gpu-a100") -> ClusterQueue:
    return msgspec.convert(
        {
            "metadata": {"name": name},
            "spec": {
                "resourceGroups": [
                    {
                        "coveredResources": [GPU],
                        "flavors": [{"name": "a100-scale", "resources": [{"name": GPU, "nominalQuota": "16"}]}],
                    }
                ],
                "admissionChecksStrategy": {"admissionChecks": [{"name": check} for check in checks]},
            },
        },
        ClusterQueue,
    )


def local_queue(*, active: bool = True, reason: str = "Ready") -> LocalQueue:
    return msgspec.convert(
        {
            "metadata": {"name": "gpu", "namespace": "team-a"},
            "spec": {"clusterQueue": "gpu-a100"},
            "status": {"conditions": [condition("Active", str(active), reason)]},
        },
        LocalQueue,
    )


def config(class_: str = "best-effort-atomic-scale-up.autoscaling.x-k8s.io") -> ProvisioningRequestConfig:
    return msgspec.convert(
        {"metadata": {"name": CHECK}, "spec": {"provisioningClassName": class_}}, ProvisioningRequestConfig
    )


def verdict(needs: int = 2, outcome: Outcome = Outcome.FITS_AFTER_SCALE_UP, **fields: Any) -> Verdict:
    reason = f"gang needs {needs} node(s) of gpupool (max 2)"
    words = "cannot fit; request at most 16 nvidia.com/gpu" if outcome is Outcome.NEVER_FITS else "fits"
    podset = PodSetVerdict(name="main", count=needs, verdict=outcome, pool="gpupool", needs=needs, limit=2)
    given: dict[str, Any] = {
        "outcome": outcome,
        "line": f"preflight: {reason}: {words}",
        "reason": reason,
        "profile": "gpu-a100-8",
        "pod_sets": [podset],
        **fields,
    }
    return Verdict(**given)


IN_FORCE = Fence(FenceState.IN_FORCE)
MISSING = Fence(FenceState.NOT_IN_FORCE, why="ValidatingAdmissionPolicy muster-fence does not exist")


def observe(owner: Job | None = None, **fields: Any) -> Picture:
    """The picture of a job in a queue with a capacity check, an empty pool and the fence in force."""
    given: dict[str, Any] = {
        "owner": owner_of(owner or job()),
        "local_queue": local_queue(),
        "cluster_queue": cluster_queue(CHECK),
        "profiles": (profile(),),
        "checks": {CHECK: admission_check()},
        "configs": {CHECK: config()},
        "nodes": (),
        "fence": IN_FORCE,
        **fields,
    }
    return Picture(**given)


RESERVED = condition("QuotaReserved", "True", "QuotaReserved", "Quota reserved in ClusterQueue gpu-a100", 5)
ADMITTED = condition("Admitted", "True", "Admitted", "The workload is admitted", 60)
PENDING = condition(
    "QuotaReserved",
    "False",
    "Pending",
    "couldn't assign flavors to pod set main: insufficient unused quota for nvidia.com/gpu in flavor a100-scale, "
    "8 more needed",
    1,
)
ACCEPTED = condition("Accepted", "True", "Accepted", "", 6)
