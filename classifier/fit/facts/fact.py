"""What one source says of one pool: the figures, which object said it, and when."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from classifier.instant import MINUTE
from classifier.objects import Taint

#: Cluster Autoscaler writes its status once a scan: 10 s by default. What is older than five scans, and than two
#: minutes, says nothing of now (reference/capacity.md §2.3).
SCAN_INTERVAL: Final = 10_000
_SCANS: Final = 5
_FLOOR: Final = 2 * MINUTE


@dataclass(frozen=True, slots=True)
class Backoff:
    """The autoscaler does not try a group again for a while. Always passing: a warning, never a reason to deny.

    ``since`` and ``until`` in ms. ``until`` is the latest end by Cluster Autoscaler's defaults (30 minutes); None where
    the begin is not known.
    """

    group: str
    since: int | None = None
    until: int | None = None
    code: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class PoolFacts:
    """Everything but ``source`` may be missing. Counts of nodes; ``observed_at`` in ms, None: as old as the snapshot.

    ``max_nodes`` always raises a bound. It *is* a bound, where the profile declares none, only if ``binds``: the source
    is authoritative and every group of the pool is surely known. ``soft`` figures are hints and prove nothing.
    ``upper`` holds amounts of one node, as ``quantity.amount`` counts them; they raise a pool's shape, never lower it.
    ``labels`` and ``taints`` are what every new node of it is said to have.
    """

    source: str
    observed_at: int | None = None
    max_nodes: int | None = None
    target: int | None = None
    nodes: int | None = None
    ready: int | None = None
    backoff: Backoff | None = None
    soft: bool = False
    binds: bool = False
    upper: Mapping[str, int] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    #: For people: what else it says, in one line.
    hint: str | None = None
    #: False: the source itself says that its figures do not count yet (an autoscaler that is starting).
    running: bool = True

    def age(self, now: int) -> int | None:
        """Milliseconds since it was observed, at least 0."""
        return None if self.observed_at is None else max(0, now - self.observed_at)

    def fresh(self, now: int, scan_interval: int = SCAN_INTERVAL) -> bool:
        """Whether it speaks of now. A time that lies ahead of us by more than the limit is no time at all."""
        limit = max(_SCANS * scan_interval, _FLOOR)
        return self.running and (self.observed_at is None or abs(now - self.observed_at) <= limit)
