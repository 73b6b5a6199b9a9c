"""An API server of three objects, a job, its Workload and its queue, and the real decisions carried out on them.

Writes are merge-patches guarded by the resourceVersion of the copy they were decided on, as ``controller.act`` sends
them; each takes a few milliseconds.
"""

from collections.abc import Callable
from typing import Any

from classifier import api, clock
from classifier.clock import Gap, Ledger
from classifier.instant import format_instant, parse_duration
from classifier.policy import Policies
from classifier.scope import BOUNDED
from controller.cleanup import CommitCleanup, Delete, Rules
from controller.decide import (
    Action,
    Annotations,
    Commit,
    Decision,
    Facts,
    Mirror,
    Mode,
    Rest,
    WriteOwner,
    WriteWorkload,
    decide,
    live_decision,
    mirror_of,
)
from tests.builders import (
    T0,
    Builder,
    LocalQueueBuilder,
    WorkloadBuilder,
    cluster_queue,
    job,
    local_queue,
    namespace,
    profile,
    workload,
)

#: What one write takes, milliseconds.
WRITE = 7
#: No state needs more writes than this to come to rest.
BOUND = 8


class Cluster:
    """The objects, the time, and the policies."""

    def __init__(
        self,
        timeout: str | None = "30m",
        notice: int | None = None,
        *,
        cleanup: Rules | None = None,
        ttl: str | None = None,
    ) -> None:
        self.now = T0
        #: The timeout each level says, and the maximum: job, LocalQueue, ClusterQueue, profile, Namespace, default.
        self.said: dict[str, str] = {}
        self.caps: dict[str, str] = {}
        self.timeout = timeout
        self.notice = notice
        self.cleanup = cleanup
        self.ttl = ttl
        #: ``spec.admission.requeue`` of the queue's profile.
        self.requeue: str | None = None
        #: Given until the ledger has been written, as ``controller.steps`` does.
        self.unseen: Gap | None = None
        self.enforce = True
        self.not_before = 0
        self.deleted = False
        self.job = job()
        self.workload: WorkloadBuilder = workload()
        self.queue: LocalQueueBuilder | None = local_queue().running()
        self.writes = 0
        #: Called with every action just before it lands.
        self.witness: Callable[[Action, Facts], None] = lambda action, facts: None
        self._version = 0
        for builder in (self.job, self.workload):
            self.touch(builder)

    # --- the objects ------------------------------------------------------------------------------------------------

    def touch(self, builder: Builder[Any]) -> None:
        """Somebody has written this object."""
        self._version += 1
        builder.metadata(resourceVersion=str(self._version))

    def facts(self) -> Facts:
        if self.job.done().annotation(api.ADMISSION_TIMEOUT) != self.said.get("job"):
            self.job.annotate(api.ADMISSION_TIMEOUT, self.said.get("job"))
        view = BOUNDED["batch", "Job"]
        return Facts(self.workload.done(), self.job.done(), view, self.policies(), unseen=self.unseen)

    def policies(self) -> Policies:
        """The policies of ``said`` and ``caps``, each where its level has it."""

        def annotated(level: str, builder: Builder[Any]) -> Any:
            builder.annotate(api.ADMISSION_TIMEOUT, self.said.get(level))
            return builder.annotate(api.MAX_ADMISSION_TIMEOUT, self.caps.get(level)).done()

        policy = namespace().annotate(api.TTL_AFTER_TIMEOUT, self.ttl)
        fields = {"requeue": self.requeue, "timeout": self.said.get("profile"), "maxTimeout": self.caps.get("profile")}
        default, cap = self.said.get("default"), self.caps.get("default")
        return Policies(
            annotated("LocalQueue", self.queue) if self.queue else None,
            annotated("ClusterQueue", cluster_queue()),
            (profile().admission(**{k: v for k, v in fields.items() if v is not None}).done(),),
            annotated("Namespace", policy),
            parse_duration(default) if default else None,
            parse_duration(cap) if cap else None,
        )

    @property
    def timeout(self) -> str | None:
        """That of the Namespace, which outlives queues."""
        return self.said.get("Namespace")

    @timeout.setter
    def timeout(self, timeout: str | None) -> None:
        self.said = {level: text for level, text in self.said.items() if level != "Namespace"}
        if timeout is not None:
            self.said["Namespace"] = timeout

    def ledger(self) -> Ledger | None:
        return clock.parse_ledger(self.job.done())

    def shown(self) -> int | None:
        return clock.shown_deadline(self.workload.done())

    def recreate(self) -> None:
        """As Kueue does: the same name, another uid, active, nothing of ours on it."""
        self.workload = workload().created(self.now).metadata(uid=f"uid-at-{self.now}-{self._version}")
        self.touch(self.workload)

    def activate(self, active: bool) -> None:
        """A person sets ``spec.active``."""
        self.workload.active(active)
        self.touch(self.workload)

    # --- the controller ---------------------------------------------------------------------------------------------

    def decide(self, facts: Facts | None = None) -> Decision:
        mode = Mode(self.enforce, self.not_before, self.notice, cleanup=self.cleanup)
        return decide(facts or self.facts(), self.now, mode)

    def look(self, writes: int = BOUND) -> list[Action]:
        """Decide and act until there is nothing to write, or a crash after so many ``writes``."""
        done: list[Action] = []
        while len(done) < writes:
            facts = self.facts()
            action = self.decide(facts).action
            if isinstance(action, Rest):
                return [*done, action]
            assert self.carry_out(action, facts)
            done.append(action)
            if self.deleted:
                return done
        assert writes < BOUND, f"no rest after {done}"
        return done

    def carry_out(self, action: Action, facts: Facts) -> bool:
        """One write; False is a conflict, and nothing has changed."""
        self.now += WRITE
        match action:
            case WriteOwner(annotations, _):
                landed = self._patch(self.job, facts.owner, annotations, action, facts)
                if landed and api.ADMISSION_CLOCK in annotations:
                    self.unseen = None
                return landed
            case WriteWorkload(annotations, _):
                return self._patch(self.workload, facts.workload, annotations, action, facts)
            case Commit(marker, _):
                landed = self._patch(
                    self.workload, facts.workload, {api.COMMITTED: clock.format_marker(marker)}, action, facts
                )
                if landed:
                    self.workload.active(False, api.CONTROLLER_MANAGER)
                return landed
            case CommitCleanup(_, at):
                committed: Annotations = {api.CLEANUP_COMMITTED: format_instant(at)}
                return self._patch(self.workload, facts.workload, committed, action, facts)
            case Delete():
                self.deleted = True
                return True
            case Mirror(marker):
                current = self.workload.done()
                if live_decision(current) != marker or not clock.settled(current):
                    return False
                mirror: Annotations = {
                    api.ADMISSION_OUTCOME: api.OUTCOME_TIMED_OUT,
                    api.ADMISSION_OUTCOME_OF: mirror_of(marker),
                    api.ADMISSION_MESSAGE: "timed out",
                }
                return self._patch(self.job, facts.owner, mirror, action, facts)
        raise AssertionError(action)

    def _patch(self, builder: Builder[Any], copy: Any, annotations: Annotations, action: Action, facts: Facts) -> bool:
        stored = builder.raw()["metadata"]
        if (stored["resourceVersion"], stored["uid"]) != (copy.metadata.resource_version, copy.uid):
            return False
        self.witness(action, facts)
        self.writes += 1
        for key, value in annotations.items():
            builder.annotate(key, value)
        self.touch(builder)
        return True
