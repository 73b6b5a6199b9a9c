"""What becomes of a job after its wait was ended: kept, announced for deletion, or deleted in two steps. Pure.

The deletion is a second decision, made as the first one was: announced on the owner (``delete-after``), committed on
the Workload (``cleanup-committed``), and only then carried out, on the very copy of the owner that was seen suspended.
In doubt nothing is deleted: not what would come back, nor what is not proven to be this Workload's job, nor what ran
(design §3, "Cleanup").
"""

from typing import Final, NamedTuple, Protocol

import msgspec

from classifier import api, clock
from classifier.clock import Marker
from classifier.instant import MINUTE, SECOND, format_instant, instant_or_none
from classifier.names import workload_names
from classifier.objects import Meta, Pod, PodGroup, Workload
from classifier.policy import Policies, ttl_of
from classifier.report.message import tells_more, timed_out_message
from classifier.state.kinds import KindView
from classifier.state.kinds.pod import gated
from classifier.state.kinds.podgroup import group_name

#: A ProvisioningRequest this long after the decision, ms, was left behind: Kueue deletes it as it evicts, if it does.
PATIENCE: Final = 10 * SECOND
#: A deletion that nobody had seen announced is announced for at most this long, ms.
MAX_NOTICE: Final = 10 * MINUTE

_TRUE: Final = "true"
#: Kubernetes: staging/src/k8s.io/apimachinery/pkg/util/managedfields/internal/capmanagers.go.
_ANCIENT: Final = "ancient-changes"


class Mark(NamedTuple):
    """A label or annotation by which something else keeps an object as it wants it; any value where it is None."""

    key: str
    value: str | None = None

    def on(self, obj: Meta) -> bool:
        found = (obj.label(self.key), obj.annotation(self.key))
        return any(value is not None and self.value in (None, value) for value in found)


def parse_mark(text: str) -> Mark:
    """``key`` or ``key=value``. Raises ValueError that says what is wrong."""
    key, equals, value = text.partition("=")
    if not key or any(c.isspace() for c in key):
        raise ValueError(f"{text!r} is neither KEY nor KEY=VALUE")
    return Mark(key, value if equals else None)


class Rules(msgspec.Struct, frozen=True):
    """How jobs are cleaned up. ``minimum`` of the time to live, ms; jobs with one of ``marks`` are kept."""

    minimum: int = 10 * MINUTE
    marks: tuple[Mark, ...] = ()

    @property
    def keys(self) -> frozenset[str]:
        return frozenset(mark.key for mark in self.marks)


class Seen(Protocol):
    """What is read of the facts about one Workload (``controller.decide.Facts``)."""

    @property
    def workload(self) -> Workload: ...
    @property
    def owner(self) -> Meta: ...
    @property
    def view(self) -> KindView: ...
    @property
    def policies(self) -> Policies: ...
    @property
    def members(self) -> tuple[Meta, ...]: ...
    @property
    def requests(self) -> tuple[str, ...]: ...


class Plan(NamedTuple):
    """``delete_after`` (ms) is to be shown on the owner; ``kept`` says why it is not deleted although a policy asks.

    ``leftovers`` are ProvisioningRequests that stayed behind; they are judged again at ``look_at`` (ms).
    """

    delete_after: int | None = None
    kept: str | None = None
    leftovers: tuple[str, ...] = ()
    look_at: int | None = None
    warnings: tuple[str, ...] = ()


class CommitCleanup(msgspec.Struct, frozen=True):
    """Write the second decision on the Workload, guarded by its resourceVersion."""

    marker: Marker
    at: int


class Delete(msgspec.Struct, frozen=True):
    """Delete what the Workload stands for, guarded by uid and resourceVersion of each copy."""

    marker: Marker
    at: int


class Withdraw(msgspec.Struct, frozen=True):
    """Take the second decision back: its ground is gone, and while it stands nobody may reactivate the Workload."""


class Wait(msgspec.Struct, frozen=True):
    """Nothing before this instant, ms."""

    until: int


Step = CommitCleanup | Delete | Withdraw | Wait


def cleanup_committed(workload: Workload) -> int | None:
    """When the second decision was made, as the Workload says; it counts beside a live first one that is older."""
    return instant_or_none(workload.annotation(api.CLEANUP_COMMITTED))


def owners_of_active(workload: Workload) -> frozenset[str]:
    """Who owns ``spec.active``, as ``managedFields`` tell."""
    return frozenset(
        field.manager
        for field in workload.metadata.managed_fields or ()
        if not field.subresource and field.owns("active")
    )


def forgotten(workload: Workload) -> bool:
    """Whether nobody can tell any more who paused it: Kubernetes puts the oldest of more than ten writers together."""
    return owners_of_active(workload) == {_ANCIENT}


def plan(facts: Seen, live: Marker, rules: Rules | None, now: int, notice: int | None = None) -> Plan:
    """What is to become of a job whose wait was ended by ``live``. ``rules`` None: nothing is ever deleted.

    The time to live counts from the decision, but nothing is deleted that was not announced for a while: ``notice``
    (ms), by default half the time to live, at most ten minutes.
    """
    since = live.at + PATIENCE
    left, look_at = (facts.requests, None) if now >= since else ((), since if facts.requests else None)
    resolved = ttl_of(facts.policies, rules.minimum if rules else 0)
    if rules is None:
        off = ("ttl-after-timeout has no effect: the chart's cleanup.enabled is false",) if resolved.ttl else ()
        return Plan(None, None, left, look_at, resolved.warnings + off)
    if resolved.ttl is None:
        return Plan(None, None, left, look_at, resolved.warnings)
    kept = why_kept(facts, rules)
    if kept is not None:
        return Plan(None, kept, left, look_at, resolved.warnings)
    millis = resolved.ttl.millis
    warning_time = min(millis // 2, MAX_NOTICE) if notice is None else notice
    shown = [at for copy in _copies(facts) if (at := instant_or_none(copy.annotation(api.DELETE_AFTER))) is not None]
    delete_after = clock.announce(max(shown, default=None), live.at + millis, now, warning_time)
    return Plan(delete_after, None, left, look_at, resolved.warnings)


def amend(facts: Seen, live: Marker, wanted: Plan) -> dict[str, str | None]:
    """What the mirror on the owner, which is complete, lacks of the plan: its annotations to set or remove (None)."""
    copies = _copies(facts)
    after = None if wanted.delete_after is None else format_instant(wanted.delete_after)
    changes: dict[str, str | None] = {api.DELETE_AFTER: after}
    more = bool(wanted.leftovers) or wanted.delete_after is not None or wanted.kept is not None
    if more or any(tells_more(copy.annotation(api.ADMISSION_MESSAGE)) for copy in copies):
        ledger = clock.parse_ledger(facts.owner)
        changes[api.ADMISSION_MESSAGE] = timed_out_message(
            workload=facts.workload.name,
            namespace=facts.workload.namespace,
            at=live.at,
            waited=live.at - ledger.origin if ledger else None,
            leftovers=wanted.leftovers,
            delete_after=wanted.delete_after,
            kept=wanted.kept,
        )
    return {key: value for key, value in changes.items() if any(copy.annotation(key) != value for copy in copies)}


def next_step(facts: Seen, live: Marker, wanted: Plan, now: int) -> Step | None:
    """The next step towards ``wanted``, which the owner shows already (:func:`amend` has nothing to change).

    A second decision stands by what it was made on, not by the clock: two controllers whose clocks differ agree on it.
    And it is taken back only after the owner was written: whoever is about to delete an older copy of it conflicts.
    """
    written = facts.workload.annotation(api.CLEANUP_COMMITTED) is not None
    at = cleanup_committed(facts.workload)
    if wanted.delete_after is None or (written and (at is None or at < max(wanted.delete_after, live.at))):
        return Withdraw() if written else _look(wanted)
    if at is None and now < wanted.delete_after:
        return Wait(wanted.delete_after if wanted.look_at is None else min(wanted.delete_after, wanted.look_at))
    if not at_rest(facts):
        return _look(wanted)
    return CommitCleanup(live, now) if at is None else Delete(live, at)


def _look(wanted: Plan) -> Wait | None:
    return None if wanted.look_at is None else Wait(wanted.look_at)


def at_rest(facts: Seen) -> bool:
    """Whether nothing of it runs, or can begin to while these copies are the current ones."""
    workload = facts.workload
    return (
        clock.settled(workload) and workload.metadata.deletion_timestamp is None and facts.view.suspended(facts.owner)
    )


def why_kept(facts: Seen, rules: Rules) -> str | None:
    """Why a job is not deleted, to be read after "not deleted by Muster: "; None if nothing speaks against it."""
    for one in _copies(facts):
        parent = one.controller
        if parent is not None:
            return f"{parent.kind}/{parent.name} controls it and would make it again"
        mark = next((mark for mark in rules.marks if mark.on(one)), None)
        if mark is not None:
            return f"it carries {mark.key}: whoever keeps it would make it again"
        if one.annotation(api.PREBUILT_WORKLOAD) or one.label(api.PREBUILT_WORKLOAD):
            return "its Workload is prebuilt, and not of its making"
    if facts.workload.is_true(api.FINISHED) or facts.view.ending(facts.owner) is not None:
        return "it has ended"
    return unproven(facts)


def unproven(facts: Seen) -> str | None:
    """Why it is not certain that the owner at hand is what the Workload was made for; None if it is (design §7)."""
    workload, owner = facts.workload, facts.owner
    if forgotten(workload):
        return f"too many have written to Workload {workload.name} to tell who paused it"
    if facts.members:
        return _unproven_group(workload, owner, facts.members)
    if owner.uid == workload.uid:
        made = workload.metadata.owner_references or workload.label(api.JOB_UID)
        return f"Workload {workload.name} was made of something that is not there" if made else None
    resource, reference = facts.view.resource, workload.controller
    if reference is None or (reference.group, reference.kind, reference.name, reference.uid) != (
        resource.group,
        resource.kind,
        owner.name,
        owner.uid,
    ):
        return f"it does not control Workload {workload.name}"
    if workload.label(api.JOB_UID) != owner.uid:
        return f"label {api.JOB_UID} of Workload {workload.name} names another job"
    if workload.name not in workload_names(owner.name, owner.uid, resource.kind, resource.group):
        return f"Workload {workload.name} does not bear the name that Kueue gives"
    return None


def _unproven_group(workload: Workload, group: Meta, members: tuple[Meta, ...]) -> str | None:
    if workload.annotation(api.GROUP_WORKLOAD) != _TRUE:
        return f"Workload {workload.name} is not that of a group of pods"
    told = {member.uid for member in members}
    for one in group.pods if isinstance(group, PodGroup) else ():
        if one.metadata.deletion_timestamp is None and one.uid not in told:
            return f"pod {one.name} refuses what its group is told"
    owners = {o.uid for o in workload.metadata.owner_references or () if (o.group, o.kind) == ("", "Pod")}
    for pod in members:
        if group_name(pod) != workload.name:
            return f"pod {pod.name} is of another group than Workload {workload.name}"
        if pod.uid not in owners:
            return f"pod {pod.name} does not own Workload {workload.name}"
        if not isinstance(pod, Pod) or not gated(pod):
            return f"pod {pod.name} was let go"
    return None


def _copies(facts: Seen) -> tuple[Meta, ...]:
    """Every object that stands for the job: the owner, or the pods of a group."""
    return facts.members or (facts.owner,)
