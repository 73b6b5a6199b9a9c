"""What the webhook counts. Labels are bounded: kinds of the table, our own words, names of CapacityProfiles.

Nothing that a user types becomes a label (reference/engineering.md §E 24).
"""

from collections.abc import Callable
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

PHASES: Final = ("mutate", "validate")

#: Why a review was answered without the decision it asked for.
ERRORS: Final = ("internal", "malformed", "object", "too-large", "slow", "deadline")
#: Why a job that a profile covers was not judged.
SKIPPED: Final = ("break-glass", "stale", "unreachable", "unsynced")

_BUCKETS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0)


class Metrics:
    """One registry for one process; known label values exist at 0 from the start, so that a first increase shows."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.reviews = Counter(
            "muster_reviews_total",
            "Admission reviews answered, by phase, kind and result.",
            ("phase", "kind", "result"),
            registry=self.registry,
        )
        self.seconds = Histogram(
            "muster_review_seconds",
            "Time from the first byte of a review's body to its answer.",
            ("phase",),
            buckets=_BUCKETS,
            registry=self.registry,
        )
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
        for phase in PHASES:
            self.seconds.labels(phase)
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
