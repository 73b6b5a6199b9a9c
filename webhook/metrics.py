"""What the webhook counts. Labels are bounded: kinds of the table, our own words, names of CapacityProfiles.

Nothing that a user types becomes a label (reference/engineering.md §E 24).
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, generate_latest
from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

PHASES: Final = ("mutate", "validate")

#: Why a review was answered without the decision it asked for.
ERRORS: Final = ("internal", "malformed", "object", "too-large", "slow", "deadline")
#: Why a job that a profile covers was not judged.
SKIPPED: Final = ("break-glass", "stale", "unreachable", "unsynced")

_BUCKETS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0)


class Tally(Collector):
    """Reviews answered: plain numbers, written in the form of metrics when somebody reads them. A counter and a
    histogram of the library's for each review, with their locks, cost more than what is counted here."""

    def __init__(self) -> None:
        self._reviews: dict[tuple[str, str, str], int] = {}
        self._within = {phase: [0] * (len(_BUCKETS) + 1) for phase in PHASES}
        self._seconds = dict.fromkeys(PHASES, 0.0)

    def count(self, phase: str, kind: str, result: str, seconds: float) -> None:
        """From one thread alone, which is also the one that reads."""
        key = phase, kind, result
        self._reviews[key] = self._reviews.get(key, 0) + 1
        self._within[phase][bisect_left(_BUCKETS, seconds)] += 1
        self._seconds[phase] += seconds

    def collect(self) -> Iterator[CounterMetricFamily | HistogramMetricFamily]:
        reviews = CounterMetricFamily(
            "muster_reviews",
            "Admission reviews answered, by phase, kind and result.",
            labels=("phase", "kind", "result"),
        )
        for key, count in self._reviews.items():
            reviews.add_metric(key, count)
        yield reviews
        seconds = HistogramMetricFamily(
            "muster_review_seconds", "Time from the first byte of a review's body to its answer.", labels=("phase",)
        )
        for phase, within in self._within.items():
            bounds = map(floatToGoString, (*_BUCKETS, float("inf")))
            buckets = list(zip(bounds, accumulate(within), strict=True))
            seconds.add_metric((phase,), buckets, self._seconds[phase])
        yield seconds


class Metrics:
    """One registry for one process; known label values exist at 0 from the start, so that a first increase shows."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.reviews = Tally()
        self.registry.register(self.reviews)
        self.verdicts = Counter(
            "muster_verdicts_total",
            "Preflight verdicts of jobs submitted, dry runs left out.",
            ("verdict", "mode"),
            registry=self.registry,
        )
        self.denials = Counter(
            "muster_denials_total",
            "Jobs refused at submit, by the profiles that refused them.",
            ("profile",),
            registry=self.registry,
        )
        self.errors = Counter(
            "muster_review_errors_total",
            "Reviews that could not be decided as they should; those of the API server were allowed.",
            ("cause",),
            registry=self.registry,
        )
        self.skipped = Counter(
            "muster_preflight_skipped_total",
            "Jobs let through unjudged: somebody broke the glass, or the snapshot was missing or stale.",
            ("cause",),
            registry=self.registry,
        )
        self.expiry = Gauge(
            "muster_certificate_expiry_seconds",
            "Seconds until the certificate ends: ca signs, leaf is served.",
            ("kind",),
            registry=self.registry,
        )
        self.tasks = Gauge("muster_event_loop_tasks", "Tasks in the event loop.", registry=self.registry)
        for cause in ERRORS:
            self.errors.labels(cause)
        for cause in SKIPPED:
            self.skipped.labels(cause)

    def follow_expiry(self, kind: str, seconds: Callable[[], float]) -> None:
        """Read ``seconds`` at each scrape: a gauge that is only set at renewal would stand still."""
        self.expiry.labels(kind).set_function(seconds)

    def render(self) -> bytes:
        """The text exposition format."""
        return generate_latest(self.registry)
