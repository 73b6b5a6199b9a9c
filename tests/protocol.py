"""An API server of three objects, a job, its Workload and its queue, and the real decisions carried out on them.

Writes are merge-patches guarded by the resourceVersion of the copy they were decided on, as ``controller.act`` sends
them; each takes a few milliseconds.
"""

from collections.abc import Callable
from typing import Any

from classifier import api, clock
from classifier.clock import Gap, Ledger
from classifier.instant import format_instant
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
    """The objects, the time, and one policy (on the Namespace, so that it outlives queues)."""

    def __init__(
        self,
        timeout: str | None = "30m",
        notice: int | None = None,
        *,
        cleanup: Rules | None = None,
        ttl: str | None = None,
    ) -> None:
        self.now = T0
        self.timeout = timeout
        self.notice = notice
        self.cleanup = cleanup
        self.ttl = ttl
        #: ``spec.admission.requeue`` of the queue's profile.
        self.requeue: str | None = None
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
        policy = namespace()
        if self.timeout is not None:
            policy.annotate(api.ADMISSION_TIMEOUT, self.timeout)
        if self.ttl is not None:
            policy.annotate(api.TTL_AFTER_TIMEOUT, self.ttl)
        queue = self.queue.done() if self.queue else None
        profiles = (profile().admission(requeue=self.requeue).done(),) if self.requeue else ()
        policies = Policies(queue, profiles=profiles, namespace=policy.done())
        view = BOUNDED["batch", "Job"]
        return Facts(self.workload.done(), self.job.done(), view, policies, unseen=self.unseen)

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
                return self._patch(self.job, facts.owner, annotations, action, facts)
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
