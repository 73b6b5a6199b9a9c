"""Decisions that somebody undoes again and again: at the third within an hour an event, a log line, and a figure.

One reactivation is a person who wants the job to wait once more. Three are a tool that does not know of the decision,
and the gang holds its place in the queue for ever.
"""

import logging
from collections import Counter, deque
from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from classifier import api
from classifier.cluster.client import ApiError, Unreachable
from classifier.instant import HOUR
from classifier.objects import Workload
from controller import events
from controller.act import API, Writer
from controller.bucket import TokenBucket
from controller.decide import Facts
from controller.metrics import Metrics

log = logging.getLogger(__name__)

#: So many within so long (ms) are told.
MANY: Final = 3
WITHIN: Final = HOUR
#: Writers the figure names; clients choose their names themselves. The rest are one.
WRITERS: Final = 20
OTHERS: Final = "others"
#: Events a second on average and at once; more are dropped.
_EVENTS: Final = (1.0, 10)
#: What is remembered of one job, and of how many; those that were undone longest ago go first.
_ROOM: Final = 20
JOBS: Final = 10_000


class _Undone(NamedTuple):
    at: int
    writer: str
    queue: str


def writer_of_active(workload: Workload) -> str:
    """Who wrote ``spec.active`` last, by ``managedFields``: the name its client gave; empty if nobody says."""
    found = [
        (field.time or "", field.manager)
        for field in workload.metadata.managed_fields or ()
        if field.manager != api.CONTROLLER_MANAGER and field.owns("active")
    ]
    return max(found, default=("", ""))[1]


class Voids(Collector):
    """By job, when its decisions were undone and by whom. Read at each scrape: what is an hour old goes by itself."""

    def __init__(self, writer: Writer, metrics: Metrics, now: Callable[[], int], identity: str) -> None:
        self._writer = writer
        self._now = now
        self._identity = identity
        self._bucket = TokenBucket(*_EVENTS)
        #: By the UID of the job; what was undone last is at the end.
        self._undone: dict[str, deque[_Undone]] = {}
        metrics.registry.register(self)

    async def undone(self, facts: Facts, queue: str, attempt: int) -> None:
        """The decision with this attempt on the Workload was undone: this copy shows by whom."""
        now, who = self._now(), writer_of_active(facts.workload)
        seen = self._undone.pop(facts.owner.uid, deque(maxlen=_ROOM))
        self._undone[facts.owner.uid] = seen
        seen.append(_Undone(now, who, queue))
        _forget_old(seen, now)
        self._make_room(now)
        log.info(
            "reactivated: the decision is void",
            extra={"workload": facts.workload.key, "attempt": attempt, "writer": who},
        )
        if len(seen) == MANY:
            log.warning(
                "its decisions are undone again and again",
                extra={"job": facts.owner.key, "workload": facts.workload.key, "times": MANY, "writer": who},
            )
            await self._tell(facts, who, attempt, now)

    def clear(self) -> None:
        self._undone.clear()

    async def _tell(self, facts: Facts, who: str, attempt: int, now: int) -> None:
        if not self._bucket.ready:
            return
        resource = api.PODS if facts.members else facts.view.resource
        event = events.undone(facts.owner, resource, facts.workload, who, attempt, now, self._identity)
        await self._bucket.take()
        try:
            path = api.EVENTS.path(event["metadata"]["namespace"])
            await self._writer.send("POST", path, event, channel=API, turn=False)  # it takes no decision's turn
        except (ApiError, Unreachable) as error:
            log.debug("an event of an undone decision is dropped", extra={"cause": str(error)})

    def _make_room(self, now: int) -> None:
        """Forget the jobs that nobody has undone within the time, and the first ones if there are too many."""
        while self._undone:
            uid, seen = next(iter(self._undone.items()))
            if seen[-1].at > now - WITHIN and len(self._undone) <= JOBS:
                return
            del self._undone[uid]

    def collect(self) -> Iterable[Any]:
        now = self._now()
        self._make_room(now)
        for seen in self._undone.values():
            _forget_old(seen, now)
        counts = Counter((seen[-1].queue, seen[-1].writer) for seen in self._undone.values() if len(seen) >= MANY)
        named = {who for who, _ in Counter(who for _, who in counts.elements()).most_common(WRITERS)}
        jobs: Counter[tuple[str, str]] = Counter()
        for (queue, who), count in counts.items():
            jobs[queue, who[:63] if who in named else OTHERS] += count
        family = GaugeMetricFamily(
            "muster_contested_jobs",
            "Jobs whose decision was undone three times or more within an hour, by who did it last.",
            labels=["cluster_queue", "writer"],
        )
        for labels, count in sorted(jobs.items()):
            family.add_metric(labels, count)
        return (family,)


def _forget_old(seen: deque[_Undone], now: int) -> None:
    """Leave the last one, whatever its age: one is not many."""
    while len(seen) > 1 and seen[0].at <= now - WITHIN:
        seen.popleft()
