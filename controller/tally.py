"""Counts Workloads by ClusterQueue for the gauges, by difference: no walk over all of them at a scrape."""

from collections import Counter

from prometheus_client import Gauge


class Tally:
    """Which keys are in a state, by ClusterQueue, mirrored into a gauge."""

    def __init__(self, gauge: Gauge) -> None:
        self._gauge = gauge
        self._queue_of: dict[str, str] = {}
        self._counts: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._queue_of)

    def members(self) -> tuple[str, ...]:
        return tuple(self._queue_of)

    def __contains__(self, key: str) -> bool:
        return key in self._queue_of

    def clear(self) -> None:
        """Take every key out."""
        for key in tuple(self._queue_of):
            self.set(key, None)

    def set(self, key: str, cluster_queue: str | None) -> bool:
        """Put ``key`` under a queue, or take it out (None); whether that changed anything."""
        before = self._queue_of.get(key)
        if before == cluster_queue:
            return False
        if before is not None:
            del self._queue_of[key]
            self._change(before, -1)
        if cluster_queue is not None:
            self._queue_of[key] = cluster_queue
            self._change(cluster_queue, 1)
        return True

    def _change(self, cluster_queue: str, by: int) -> None:
        self._counts[cluster_queue] += by
        self._gauge.labels(cluster_queue).set(self._counts[cluster_queue])
