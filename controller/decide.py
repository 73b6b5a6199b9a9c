"""What to do about one Workload now: facts and time in, one action out. Pure.

One action at a time, in the order the protocol demands (design §3): the ledger on the owner first, then what the
Workload shows, then the decision; after a decision its mirror. Each action is one guarded write; after it the world is
looked at again. So a crash between any two of them leaves a state from which this same function goes on.
"""

from typing import NamedTuple

import msgspec

from classifier import api, clock
from classifier.clock import Gap, Ledger, Marker, Reading, Standing
from classifier.instant import format_instant
from classifier.objects import LocalQueue, Meta, Workload
from classifier.policy import Policies, Timeout, restarts, timeout_of
from classifier.state.kinds import KindView
from controller import cleanup
from controller.cleanup import CommitCleanup, Delete, Plan, Rules

#: Annotations to set; None removes one.
Annotations = dict[str, str | None]


class Facts(msgspec.Struct, frozen=True):
    """One Workload with everything that bears on its wait, each as one copy.

    ``members`` are the pods of a pod group, which has no object of its own: ``owner`` is then the group as a whole
    (their ledgers merged into one), and what is written to the owner is written to each of them.
    ``unseen`` is a span nobody watched, for as long as the ledger is the one found when the watching began again.
    ``requests`` names the ProvisioningRequests that exist for a Workload whose wait was ended.
    """

    workload: Workload
    owner: Meta
    view: KindView
    policies: Policies
    members: tuple[Meta, ...] = ()
    unseen: Gap | None = None
    requests: tuple[str, ...] = ()

    @property
    def carriers(self) -> tuple[Meta, ...]:
        """The objects that carry what an owner shows."""
        return self.members or (self.owner,)

    @property
    def kind(self) -> tuple[str, str]:
        """Group and kind of the owner, as ``classifier.scope`` names them."""
        return self.view.resource.group, self.view.resource.kind

    @property
    def queue(self) -> LocalQueue | None:
        return self.policies.local_queue


class Mode(msgspec.Struct, frozen=True):
    """What the controller may do just now. ``not_before`` ends a recovery grace; ``notice`` and ``hold`` are as in
    ``clock.Rules``; without ``cleanup`` nothing is ever deleted."""

    enforce: bool
    not_before: int = 0
    notice: int | None = None
    hold: str = clock.HOLD
    cleanup: Rules | None = None


class WriteOwner(NamedTuple):
    """Patch the owner's annotations, guarded by its resourceVersion; of a group each member's that shows other ones.

    ``unmirror``: they take a mirror off, which wants one more look at the Workload, as putting it on does.
    """

    annotations: Annotations
    void: Marker | None = None
    unmirror: bool = False


class WriteWorkload(NamedTuple):
    """Patch the Workload's annotations, guarded by its resourceVersion."""

    annotations: Annotations
    void: Marker | None = None


class Commit(NamedTuple):
    """End the wait: ``spec.active=false`` and the marker in one patch."""

    marker: Marker
    deadline: int


class Mirror(NamedTuple):
    """Copy a settled decision to the owner, after one more look at the Workload."""

    marker: Marker


class Rest(NamedTuple):
    """Nothing to write. ``until`` is when to look again even if nothing changes (ms), None for never."""

    until: int | None = None
    overdue: bool = False


Action = WriteOwner | WriteWorkload | Commit | Mirror | CommitCleanup | Delete | Rest


class Decision(NamedTuple):
    """``kept`` says why a job whose wait was ended is not deleted although a policy asks for it."""

    action: Action
    reading: Reading
    timeout: Timeout | None = None
    warnings: tuple[str, ...] = ()
    kept: str | None = None


def deactivated_by_muster(workload: Workload) -> bool:
    """Whether ``managedFields`` name Muster as the owner of ``spec.active``; if not, a person paused the job since.

    Where they do not tell any more, it is believed for what is shown: see :func:`controller.cleanup.forgotten`.
    """
    owners = cleanup.owners_of_active(workload)
    return api.CONTROLLER_MANAGER in owners or cleanup.forgotten(workload)


def mirror_of(marker: Marker) -> str:
    """The value of ``admission-outcome-of``: which decision a mirror copies."""
    return f"{marker.uid}/{marker.attempt}"


def live_decision(workload: Workload) -> Marker | None:
    """The decision on this copy, if it is Muster's and nobody has taken the Workload over since."""
    marker = clock.committed(workload)
    return marker if marker is not None and deactivated_by_muster(workload) else None


def dead_mirror(owner: Meta, marker: Marker | None) -> Annotations:
    """The removal of mirror keys that copy no live decision; empty if there are none."""
    if marker is not None and owner.annotation(api.ADMISSION_OUTCOME_OF) == mirror_of(marker):
        return {}
    return {key: None for key in api.MIRROR_KEYS if owner.annotation(key) is not None}


def decide(facts: Facts, now: int, mode: Mode) -> Decision:
    """The next step for one Workload. ``now`` is the API server's time in milliseconds."""
    workload, owner = facts.workload, facts.owner
    resolved = timeout_of(owner.metadata.annotations, facts.policies)
    live = live_decision(workload)
    dead = None if live else clock.parse_marker(workload)
    if dead is not None and not workload.active:
        # Reactivated and stopped again by somebody, unseen: to the clock it is their deactivation, not our decision,
        # nor a mere hold: whatever lets it wait again lets it do so for the first time since the reactivation. Unless
        # the ledger knows of that already.
        known = clock.parse_ledger(owner)
        counted = known is not None and known.attempt > dead.attempt
        workload = _without(workload, api.COMMITTED, *(() if counted else (mode.hold,)))
    rules = clock.Rules(mode.notice, restarts(facts.policies), mode.hold)
    reading = clock.read(workload, owner, facts.queue, resolved.timeout, now, rules, facts.unseen)
    action = _written(facts, reading, live, dead)
    if action is not None or live is None:
        action = action or _waited(facts, reading, now, mode)
        return Decision(action, reading, resolved.timeout, resolved.warnings)
    action, plan = _ended(facts, live, now, mode)
    return Decision(action, reading, resolved.timeout, resolved.warnings + plan.warnings, plan.kept)


def _written(facts: Facts, reading: Reading, live: Marker | None, dead: Marker | None) -> Action | None:
    """What owner and Workload do not show yet, or show wrongly: the ledger first, a dead mirror last."""
    owner_changes = _owner_changes(facts, reading)
    if owner_changes:
        return WriteOwner(owner_changes, void=dead)
    workload_changes = _workload_changes(facts.workload, reading, live, dead)
    if workload_changes:
        return WriteWorkload(workload_changes, void=dead)
    stale: Annotations = {}
    for owner in (facts.owner, *facts.members):
        stale |= dead_mirror(owner, live)
    return WriteOwner(stale, unmirror=True) if stale else None


def _ended(facts: Facts, live: Marker, now: int, mode: Mode) -> tuple[Action, Plan]:
    """After the decision: its mirror, and once that is complete what becomes of the job."""
    if any(one.annotation(api.ADMISSION_OUTCOME_OF) != mirror_of(live) for one in facts.carriers):
        at_rest = clock.settled(facts.workload) and facts.view.suspended(facts.owner)
        return Mirror(live) if at_rest else Rest(), Plan()
    plan = cleanup.plan(facts, live, mode.cleanup, now, mode.notice)
    changes = cleanup.amend(facts, live, plan)
    if changes:
        return WriteOwner(changes), plan
    match cleanup.next_step(facts, live, plan, now):
        case None:
            return Rest(), plan
        case cleanup.Withdraw():
            return WriteWorkload({api.CLEANUP_COMMITTED: None}), plan
        case cleanup.Wait(until):
            return Rest(until), plan
        case _ if not mode.enforce:
            # Nobody brings it back when it is enforced again: it is not overdue.
            return Rest(now + cleanup.PATIENCE), plan
        case _ if now < mode.not_before:
            return Rest(mode.not_before), plan
        case step:
            return step, plan


def _waited(facts: Facts, reading: Reading, now: int, mode: Mode) -> Action:
    """The decision, once it is due."""
    if not reading.due:
        waits = reading.standing is Standing.WAITING and reading.deadline is not None
        return Rest(max(reading.deadline or 0, reading.policy_at or 0) if waits else None)
    if not mode.enforce:
        return Rest(overdue=True)
    if now < mode.not_before:
        return Rest(mode.not_before, overdue=True)
    assert reading.ledger is not None
    assert reading.deadline is not None
    return Commit(Marker(now, reading.ledger.attempt, facts.workload.uid), reading.deadline)


def _owner_changes(facts: Facts, reading: Reading) -> Annotations:
    """Ledger and deadline, where the owner, or a member of it, shows something else."""
    wanted: Annotations = {}
    for owner in (facts.owner, *facts.members):
        if reading.ledger is not None and clock.parse_ledger(owner) != _bound(reading.ledger, owner):
            wanted[api.ADMISSION_CLOCK] = clock.format_ledger(reading.ledger)
        wanted |= _deadline_change(owner, reading)
    return wanted


def _bound(ledger: Ledger, owner: Meta) -> Ledger:
    """The ledger as it belongs on this object: it counts only under its uid."""
    return msgspec.structs.replace(ledger, uid=owner.uid)


def _workload_changes(workload: Workload, reading: Reading, live: Marker | None, dead: Marker | None) -> Annotations:
    wanted = _deadline_change(workload, reading)
    if dead is not None:
        wanted[api.COMMITTED] = None
    if live is None and workload.annotation(api.CLEANUP_COMMITTED) is not None:
        wanted[api.CLEANUP_COMMITTED] = None
    return wanted


def _deadline_change(obj: Meta, reading: Reading) -> Annotations:
    if reading.standing not in clock.BOUND and not reading.lapsed:
        return {}
    shown = obj.annotation(api.ADMISSION_DEADLINE)
    if reading.deadline is None or reading.lapsed:
        return {} if shown is None else {api.ADMISSION_DEADLINE: None}
    text = format_instant(reading.deadline)
    return {} if shown == text else {api.ADMISSION_DEADLINE: text}


def _without(workload: Workload, *keys: str) -> Workload:
    annotations = {k: v for k, v in (workload.metadata.annotations or {}).items() if k not in keys}
    metadata = msgspec.structs.replace(workload.metadata, annotations=annotations)
    return msgspec.structs.replace(workload, metadata=metadata)
