"""What is known about one job at one moment: the input of a report, from a cluster or from files alike."""

from collections.abc import Iterable

import msgspec

from classifier import api
from classifier.api import Resource
from classifier.fit.facts import Sources
from classifier.objects import (
    AdmissionCheck,
    CapacityProfile,
    ClusterQueue,
    LocalQueue,
    Namespace,
    Node,
    Pod,
    ProvisioningRequest,
    ProvisioningRequestConfig,
    Workload,
)
from classifier.policy import Policies
from classifier.report.fence import Fence
from classifier.report.owner import Owner


class Picture(msgspec.Struct, frozen=True, kw_only=True):
    """One job and everything that explains its wait. None stands for "may not be read", an empty one for "none"."""

    owner: Owner
    workload: Workload | None = None
    local_queue: LocalQueue | None = None
    cluster_queue: ClusterQueue | None = None
    namespace: Namespace | None = None
    #: Those that speak for the ClusterQueue (classifier.policy.profiles_for).
    profiles: tuple[CapacityProfile, ...] = ()
    checks: dict[str, AdmissionCheck] | None = None
    configs: dict[str, ProvisioningRequestConfig] | None = None
    requests: tuple[ProvisioningRequest, ...] | None = ()
    pods: tuple[Pod, ...] = ()
    nodes: tuple[Node, ...] | None = None
    #: What autoscalers say of pools.
    sources: Sources | None = None
    fence: Fence = Fence()
    #: What could not be read, in words.
    notes: tuple[str, ...] = ()
    #: The plurals of kinds that, or part of which, may not be read.
    hidden: frozenset[str] = frozenset()

    def may_read(self, resource: Resource) -> bool:
        return resource.plural not in self.hidden

    @property
    def hidden_policies(self) -> list[str]:
        """The plurals of what may give a timeout (classifier.policy) and may not be read."""
        kinds = (api.LOCAL_QUEUES, api.CLUSTER_QUEUES, api.CAPACITY_PROFILES, api.NAMESPACES)
        return sorted(r.plural for r in kinds if not self.may_read(r))

    @property
    def policies(self) -> Policies:
        return Policies(self.local_queue, self.cluster_queue, self.profiles, self.namespace)


def workload_of(owner: Owner, workloads: Iterable[Workload]) -> Workload | None:
    """The job's Workload: of several with its UID label the one it controls decides, the oldest of those first."""
    mine = [
        w
        for w in workloads
        if w.namespace == owner.namespace
        and (
            (w.controller is not None and w.controller.uid == owner.uid)
            or (w.controller is None and w.label(api.JOB_UID) == owner.uid)
        )
    ]
    return min(
        mine,
        key=lambda w: (w.controller is None, w.metadata.creation_timestamp or "", w.name),
        default=None,
    )


def pods_of(owner: Owner, pods: Iterable[Pod]) -> tuple[Pod, ...]:
    """The pods this very job controls, by name."""
    mine = (p for p in pods if p.controller is not None and p.controller.uid == owner.uid)
    return tuple(sorted(mine, key=lambda p: p.name))


def requests_of(workload: Workload | None, requests: Iterable[ProvisioningRequest]) -> tuple[ProvisioningRequest, ...]:
    """The ProvisioningRequests of this very Workload, oldest first."""
    if workload is None:
        return ()
    mine = (r for r in requests if r.controller is not None and r.controller.uid == workload.uid)
    return tuple(sorted(mine, key=lambda r: (r.metadata.creation_timestamp or "", r.name)))
