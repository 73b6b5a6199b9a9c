"""What the real ``decide`` says of two copies at an instant, asked once for each: it is pure."""

from typing import Final, NamedTuple

from classifier import api
from classifier.clock import Marker, format_marker, parse_ledger
from classifier.instant import MINUTE, format_duration, format_instant
from classifier.objects import LocalQueue
from classifier.policy import Policies
from classifier.report.message import timed_out_message
from classifier.scope import BOUNDED
from controller.cleanup import CommitCleanup, Delete
from controller.cleanup import Rules as Cleanup
from controller.decide import (
    Action,
    Commit,
    Facts,
    Mirror,
    Mode,
    Rest,
    WriteOwner,
    WriteWorkload,
    dead_mirror,
    decide,
    live_decision,
    mirror_of,
)
from tests.builders import T0, local_queue
from tests.exploration.server import Content, Numbers, Owner, Patch, job_of, patch_of, workload_of

#: What a tick of the model's clock is. Timeouts are whole ticks.
TICK: Final = 30 * MINUTE

VIEW: Final = BOUNDED["batch", "Job"]


class Plan(NamedTuple):
    """An action of ``decide``: ``kind`` is its name, ``patch`` what it would write, ``at`` when it was decided."""

    kind: str
    patch: Patch = ()
    at: int = 0
    attempt: int = 0
    until: int | None = None
    unmirror: bool = False
    words: str = ""


class Settings(NamedTuple):
    """In ticks; a policy of None bounds nothing. ``enforce`` is what the controllers believe of the fence."""

    policies: tuple[int | None, ...] = (1,)
    notice: int | None = 1
    ttl: int | None = None
    enforce: bool = True


class Decisions:
    def __init__(self, settings: Settings, workloads: Numbers[Content], owners: Numbers[Owner]) -> None:
        self.settings = settings
        self.workloads = workloads
        self.owners = owners
        self.asked = 0
        self._mode = Mode(
            settings.enforce,
            notice=None if settings.notice is None else settings.notice * TICK,
            cleanup=None if settings.ttl is None else Cleanup(minimum=0),
        )
        self._queues = [self._queue(timeout) for timeout in settings.policies]
        self._plans: dict[tuple[int, int, int, int], Plan | None] = {}
        self._cleans: dict[tuple[int, int], Patch] = {}

    def _queue(self, timeout: int | None) -> LocalQueue:
        queue = local_queue().running()
        if timeout is not None:
            queue.annotate(api.ADMISSION_TIMEOUT, format_duration(timeout * TICK))
        if self.settings.ttl is not None:
            queue.annotate(api.TTL_AFTER_TIMEOUT, format_duration(self.settings.ttl * TICK))
        return queue.done()

    def queue(self, policy: int) -> LocalQueue:
        return self._queues[policy]

    def facts(self, workload: int, owner: int, policy: int) -> Facts | None:
        """As ``Steps._facts``: None where a copy is missing, or the job is another than the Workload means."""
        content, job = self.workloads.values[workload], self.owners.values[owner]
        if content is None or job is None or content.owner != job.uid:
            return None
        return Facts(workload_of(content), job_of(job), VIEW, Policies(self._queues[policy]))

    def plan(self, workload: int, owner: int, now: int, policy: int) -> Plan | None:
        """What ``Steps._step`` would do with these copies; None if there is nothing to decide on."""
        key = (workload, owner, now, policy)
        try:
            return self._plans[key]
        except KeyError:
            self.asked += 1
            facts = self.facts(workload, owner, policy)
            action = decide(facts, T0 + now, self._mode).action if facts else None
            plan = self._plans[key] = self._plan_of(facts, action, now) if facts and action else None
            return plan

    def _plan_of(self, facts: Facts, action: Action, now: int) -> Plan:
        name = type(action).__name__
        match action:
            case WriteOwner(annotations):
                return Plan(name, patch_of(annotations), now, unmirror=action.unmirror, words=_words(annotations))
            case WriteWorkload(annotations):
                return Plan(name, patch_of(annotations), now, words=_words(annotations))
            case Commit(marker):
                patch = ((api.COMMITTED, format_marker(marker)),)
                return Plan(name, patch, now, marker.attempt, words=f"attempt {marker.attempt}")
            case Mirror(marker):
                return Plan(name, mirror_patch(facts, marker), marker.at - T0, marker.attempt)
            case CommitCleanup(marker, at):
                patch = ((api.CLEANUP_COMMITTED, format_instant(at)),)
                return Plan(name, patch, marker.at - T0, marker.attempt)
            case Delete(marker, at):
                patch = ((api.CLEANUP_COMMITTED, format_instant(at)),)
                return Plan(name, patch, marker.at - T0, marker.attempt)
            case Rest(until):
                return Plan(name, until=None if until is None else until - T0)
        raise AssertionError(action)

    def cleaning(self, workload: int, owner: int) -> Patch:
        """What ``Steps._clean_owner`` would take off the owner; nothing where a cached Workload still says it."""
        key = (workload, owner)
        found = self._cleans.get(key)
        if found is None:
            found = self._cleans[key] = self._cleaning(self.workloads.values[workload], self.owners.values[owner])
        return found

    def _cleaning(self, content: Content | None, owner: Owner | None) -> Patch:
        if owner is None:
            return ()
        job = job_of(owner)
        dead = dead_mirror(job, None)
        ours = content is not None and content.owner == owner.uid
        marker = live_decision(workload_of(content)) if content is not None and ours else None
        if not dead or (marker is not None and not dead_mirror(job, marker)):
            return ()
        return patch_of(dead)


def mirror_patch(facts: Facts, marker: Marker) -> Patch:
    """What ``Writer.mirror`` writes to the job."""
    ledger = parse_ledger(facts.owner)
    message = timed_out_message(
        workload=facts.workload.name,
        namespace=facts.workload.namespace,
        at=marker.at,
        waited=marker.at - ledger.origin if ledger else None,
    )
    return patch_of(
        {
            api.ADMISSION_OUTCOME: api.OUTCOME_TIMED_OUT,
            api.ADMISSION_OUTCOME_OF: mirror_of(marker),
            api.ADMISSION_MESSAGE: message,
        }
    )


def _words(annotations: dict[str, str | None]) -> str:
    """The annotations for people."""
    said = []
    for key, value in annotations.items():
        name = key.removeprefix(api.PREFIX)
        if value is None:
            said.append(f"{name} out")
        elif key == api.ADMISSION_CLOCK:
            said.append(name)
        elif key != api.ADMISSION_MESSAGE:
            said.append(f"{name} {value}")
    return ", ".join(said)
