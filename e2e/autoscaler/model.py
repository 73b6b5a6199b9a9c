"""What the autoscaler double is told: node groups, times, and how it is to misbehave."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from classifier.objects import Quantity, Taint

ATOMIC: Final = "best-effort-atomic-scale-up.autoscaling.x-k8s.io"
CHECK: Final = "check-capacity.autoscaling.x-k8s.io"


@dataclass(frozen=True)
class NodeGroup:
    """A pool that grows from ``min_nodes`` to ``max_nodes`` nodes of one shape."""

    name: str
    labels: Mapping[str, str]
    allocatable: Mapping[str, Quantity]
    max_nodes: int
    taints: Sequence[Taint] = ()
    min_nodes: int = 0


@dataclass(frozen=True)
class Settings:
    """All times in seconds; in brackets what Cluster Autoscaler has (reference/capacity.md §1.4)."""

    #: Between two looks at the cluster (--scan-interval 10s).
    scan_interval: float = 0.1
    #: From the accepted resize to the registered node (minutes in a cloud).
    start_delay: float = 1.0
    #: How long capacity stays booked for a request (10m, fixed); up to a second less, as conditions have whole ones.
    booking: float = 600.0
    #: Until a request that was never provisioned fails (7 days, fixed).
    expiry: float = 7 * 86400.0
    #: Between attempts, doubling (1m, 10m).
    initial_backoff: float = 1.0
    max_backoff: float = 10.0
    #: How long a node must be empty and unbooked before it is removed (--scale-down-unneeded-time 10m).
    unneeded_time: float = 5.0
    #: Say CapacityIsProvisioned only once the new nodes are Ready, as providers that wait do. Cluster Autoscaler says
    #: so as soon as the resize was accepted, before any node exists (reference/capacity.md §0.3).
    provision_when_ready: bool = False
    #: End a booking once the request's pods are scheduled (Cluster Autoscaler from 1.37 on). Before that, pods and
    #: their own booking are both counted until the booking expires.
    consume_bookings: bool = True
    #: Name of the status ConfigMap in kube-system; empty: none is written.
    status_config_map: str = "cluster-autoscaler-status"


@dataclass
class Faults:
    """Misbehaviour, to be changed at any time while the autoscaler runs."""

    #: Requests stay without any condition: nobody serves their class.
    never_answers: bool = False
    #: No capacity, ever: Provisioned=False/CapacityIsNotFound on every attempt.
    no_capacity: bool = False
    #: Reason of a Failed condition, such as OutOfResources: the provider gives up on every new request.
    failed: str | None = None
    #: Seconds on top of ``start_delay`` until nodes register; counts for those under way too.
    slow_nodes: float = 0.0
