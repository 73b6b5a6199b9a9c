"""What was seen to happen, as figures: a write whose answer was lost counts like any other."""

from collections.abc import Callable

from classifier import clock
from classifier.instant import SECOND
from classifier.objects import ClusterQueue, Workload
from controller.cache import Cache
from controller.decide import live_decision
from controller.metrics import Metrics
from controller.tally import Tally


class Figures:
    """Keeps the gauges by difference and counts transitions between two copies of one Workload."""

    def __init__(self, cache: Cache, metrics: Metrics, now: Callable[[], int]) -> None:
        self._cache = cache
        self._metrics = metrics
        self._now = now
        self.overdue = Tally(metrics.overdue)
        self._timed_out = Tally(metrics.timed_out)
        self._unmirrored: set[str] = set()
        cache.on_cluster_queue(self._cluster_queue_changed)

    def workload_changed(self, key: str, old: Workload | None, new: Workload | None) -> None:
        """Count a transition. The first sight of an object tells nothing of when it became so."""
        if new is None or old is None or old.uid != new.uid:
            return
        queue, after = self._cache.cluster_queue_name(new), live_decision(new)
        if after is not None and live_decision(old) is None:
            self._metrics.timeouts.labels(queue).inc()
            deadline = clock.shown_deadline(new)
            if deadline is not None:
                self._metrics.commit_lag.observe(max(0, after.at - deadline) / SECOND)
            self._observe_wait(new, queue, "timed_out", after.at)
        if clock.has_started(new) and not clock.has_started(old):
            self._observe_wait(new, queue, "admitted", self._now())

    def looked_at(self, key: str, workload: Workload) -> None:
        """Count it under its queue, which is known for sure only once everything has been listed."""
        live = live_decision(workload) is not None
        self._timed_out.set(key, self._cache.cluster_queue_name(workload) if live else None)

    def mirror_pending(self, key: str, pending: bool) -> None:
        if pending:
            self._unmirrored.add(key)
        else:
            self._unmirrored.discard(key)
        self._metrics.pending_mirrors.set(len(self._unmirrored))

    def forget(self, key: str) -> None:
        self.overdue.set(key, None)
        self._timed_out.set(key, None)
        self.mirror_pending(key, False)

    def clear(self) -> None:
        """Whoever leads next counts anew, and two replicas must not both say how many there are."""
        self.overdue.clear()
        self._timed_out.clear()
        self._unmirrored.clear()
        self._metrics.pending_mirrors.set(0)

    def _observe_wait(self, workload: Workload, queue: str, outcome: str, at: int) -> None:
        owned = self._cache.owned(workload)
        ledger = clock.parse_ledger(owned.owner) if owned is not None else None
        if ledger is not None:
            self._metrics.waits.labels(queue, outcome).observe(max(0, at - ledger.origin) / SECOND)

    def _cluster_queue_changed(self, name: str, old: ClusterQueue | None, new: ClusterQueue | None) -> None:
        if old is None and new is not None:
            self._metrics.queue_seen(name)
