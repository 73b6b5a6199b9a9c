"""The controller's metrics (design §7). Labels are bounded by the number of queues, kinds and profiles."""

from collections.abc import Iterable
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import CounterMetricFamily
from prometheus_client.registry import Collector

from classifier.cluster.reflector import Reflector

#: Seconds; admission waits run from moments to days.
WAITS = (1, 10, 60, 300, 900, 1800, 3600, 4 * 3600, 12 * 3600, 24 * 3600, 3 * 24 * 3600)
DELAYS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5)
LAGS = (0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 300)


class Metrics:
    """One instance a process, in a registry of its own."""

    def __init__(self) -> None:
        registry = self.registry = CollectorRegistry()
        self.timeouts = Counter(
            "muster_timeouts", "Gangs ended at their admission deadline.", ["cluster_queue"], registry=registry
        )
        self.timed_out = Gauge(
            "muster_timed_out_workloads",
            "Workloads that are inactive by a live decision of Muster.",
            ["cluster_queue"],
            registry=registry,
        )
        self.overdue = Gauge(
            "muster_overdue_workloads",
            "Workloads that wait past the deadline they show and are not ended.",
            ["cluster_queue"],
            registry=registry,
        )
        self.never_fits = Gauge(
            "muster_never_fits_workloads",
            "Workloads that wait and, as queues, quota and pools are now, can never be admitted.",
            ["cluster_queue"],
            registry=registry,
        )
        self.unscheduled = Gauge(
            "muster_unscheduled_workloads",
            "Admitted Workloads with pods that have had no node for longer than a profile allows.",
            ["cluster_queue"],
            registry=registry,
        )
        self.untold = Counter(
            "muster_untold_verdicts",
            "Changes of verdict that got no event, for there were too many.",
            registry=registry,
        )
        self.waits = Histogram(
            "muster_admission_wait_seconds",
            "How long gangs waited for admission, by how it ended.",
            ["cluster_queue", "outcome"],
            buckets=WAITS,
            registry=registry,
        )
        self.commit_lag = Histogram(
            "muster_commit_lag_seconds", "From the deadline to the commit.", buckets=LAGS, registry=registry
        )
        self.conflicts = Counter(
            "muster_commit_conflicts", "Commits that lost to another write, and were decided again.", registry=registry
        )
        self.errors = Counter(
            "muster_write_errors", "Writes that failed, by HTTP status (0: no answer).", ["status"], registry=registry
        )
        self.owner_refusals = Counter(
            "muster_owner_reads_refused",
            "Looks at what controls the owner of a job that RBAC refused.",
            ["group", "resource"],
            registry=registry,
        )
        self.report_failures = Counter(
            "muster_report_failures",
            "Times that a part which only reports has failed by a bug, in one judgement or to be begun anew.",
            ["part"],
            registry=registry,
        )
        self.decision_failures = Counter(
            "muster_decision_failures",
            "Looks at a Workload that failed by a bug; it is looked at again, and has no bound meanwhile.",
            registry=registry,
        )
        self.pending_mirrors = Gauge(
            "muster_pending_mirrors", "Decisions not yet shown on their owner.", registry=registry
        )
        self.mirrors = Counter("muster_mirrors", "Decisions shown on their owner.", registry=registry)
        self.cleanups = Counter(
            "muster_cleanups",
            "Jobs whose wait was ended and whose time to live is over, by what became of them.",
            ["outcome"],
            registry=registry,
        )
        for outcome in ("deleted", "skipped"):
            self.cleanups.labels(outcome)
        self.leftovers = Gauge(
            "muster_leftover_workloads",
            "Workloads whose wait was ended and whose ProvisioningRequest is still there: it may buy nodes.",
            ["cluster_queue"],
            registry=registry,
        )
        self.voids = Counter("muster_voids", "Decisions undone by somebody who reactivated.", registry=registry)
        self.fence_in_force = Gauge(
            "muster_fence_in_force", "1 while the fence is in force; at 0 nothing is ended.", registry=registry
        )
        self.fence_breaches = Counter(
            "muster_fence_breaches", "Committed Workloads seen admitted afterwards.", registry=registry
        )
        self.outage = Gauge(
            "muster_outage", "1 while an outage has not been seen to end: commits are only tried.", registry=registry
        )
        self.leader = Gauge("muster_leader", "1 while this replica may act.", registry=registry)
        self.loop_delay = Histogram(
            "muster_event_loop_delay_seconds",
            "How long the event loop was held up, at each of a hundred beats a second.",
            buckets=DELAYS,
            registry=registry,
        )
        self.loop_held = Histogram(
            "muster_event_loop_held_seconds",
            "How much of that delay the controller computed itself: the rest it waited for a processor.",
            buckets=DELAYS,
            registry=registry,
        )
        self.tasks = Gauge("muster_event_loop_tasks", "Tasks in the event loop.", registry=registry)
        # Memory, CPU time and open files of the process.
        ProcessCollector(registry=registry)
        self.profile_ready = Gauge(
            "muster_profile_ready",
            "1 while the profile's condition is True.",
            ["profile", "condition"],
            registry=registry,
        )
        self.setup_faults = Gauge(
            "muster_profile_setup_faults",
            "What is wrong with how the profile, its flavor and its queues are set up, by number.",
            ["profile"],
            registry=registry,
        )

    def queue_seen(self, cluster_queue: str) -> None:
        """Every series exists at 0 from the first sight of its queue: one born at 1 never alerts."""
        self.timeouts.labels(cluster_queue)
        self.timed_out.labels(cluster_queue)
        self.overdue.labels(cluster_queue)
        self.leftovers.labels(cluster_queue)
        self.never_fits.labels(cluster_queue)
        self.unscheduled.labels(cluster_queue)

    def watch_reflectors(self, reflectors: Iterable[Reflector[Any]]) -> None:
        self.registry.register(_Reflectors(reflectors))


class _Reflectors(Collector):
    """Read at each scrape: age and relists of every reflector."""

    def __init__(self, reflectors: Iterable[Reflector[Any]]) -> None:
        self._reflectors = reflectors

    def collect(self) -> Iterable[Any]:
        age = GaugeMetricFamily(
            "muster_reflector_age_seconds", "Since the API server last said anything.", labels=["resource"]
        )
        relists = CounterMetricFamily("muster_reflector_relists", "Full lists taken.", labels=["resource"])
        for reflector in self._reflectors:
            age.add_metric([reflector.resource.plural], reflector.age())
            relists.add_metric([reflector.resource.plural], reflector.relists)
        return (age, relists)
