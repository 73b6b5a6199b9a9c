"""Controllers that decide wrongly in one respect, and the law that breaks then."""

from collections.abc import Callable
from typing import Final, NamedTuple

import msgspec

from classifier import api
from classifier.clock import Marker
from classifier.objects import Workload
from controller.cleanup import CommitCleanup
from controller.decide import (
    Action,
    Commit,
    Decision,
    Facts,
    Mirror,
    Mode,
    Rest,
    WriteWorkload,
    decide,
    live_decision,
)
from tests.builders import T0
from tests.exploration.decisions import TICK, Settings
from tests.exploration.world import Left, Rules, Setting

Decide = Callable[[Facts, int, Mode], Decision]


class Wrong(NamedTuple):
    """``silent`` are laws taken away, which would speak first."""

    decide: Decide
    broken: str
    setting: Setting = Setting()
    silent: tuple[str, ...] = ()


def _instead(choose: Callable[[Facts, int, Action], Action | None]) -> Decide:
    """Decides as it should, but where ``choose`` has another action."""

    def wrong(facts: Facts, now: int, mode: Mode) -> Decision:
        decision = decide(facts, now, mode)
        other = choose(facts, now, decision.action)
        return decision if other is None else decision._replace(action=other)

    return wrong


def _resting(*kinds: type) -> Decide:
    """Never does one kind of thing."""
    return _instead(lambda facts, now, action: Rest() if isinstance(action, kinds) else None)


def _early(facts: Facts, now: int, mode: Mode) -> Decision:
    decision = decide(facts, now, mode)
    ledger = decision.reading.ledger
    if not isinstance(decision.action, Rest) or ledger is None or not facts.workload.active:
        return decision
    return decision._replace(action=Commit(Marker(now, ledger.attempt, facts.workload.uid), now))


def _content_with_quota(facts: Facts, now: int, action: Action) -> Action | None:
    """Takes quota for a start: but what waits for capacity has quota."""
    return Rest() if isinstance(action, Commit) and facts.workload.is_true(api.QUOTA_RESERVED) else None


def _without_notice(facts: Facts, now: int, mode: Mode) -> Decision:
    return decide(facts, now, msgspec.structs.replace(mode, notice=0))


def _forgetful(facts: Facts, now: int, mode: Mode) -> Decision:
    """Takes no notice of a marker on what is active."""
    if not facts.workload.active:
        return decide(facts, now, mode)
    metadata = facts.workload.metadata
    kept = {key: value for key, value in (metadata.annotations or {}).items() if key != api.COMMITTED}
    plain: Workload = msgspec.structs.replace(
        facts.workload, metadata=msgspec.structs.replace(metadata, annotations=kept)
    )
    return decide(msgspec.structs.replace(facts, workload=plain), now, mode)


def _again(facts: Facts, now: int, action: Action) -> Action | None:
    """Ends once more what it has ended."""
    live = live_decision(facts.workload)
    return Commit(msgspec.structs.replace(live, at=now), now) if live is not None and live.at < now else None


def _unmarking(facts: Facts, now: int, action: Action) -> Action | None:
    """Forgets its decision instead of telling it."""
    return WriteWorkload({api.COMMITTED: None}) if isinstance(action, Mirror) else None


def _leaving_the_marker(facts: Facts, now: int, action: Action) -> Action | None:
    void = isinstance(action, WriteWorkload) and api.COMMITTED in action.annotations
    return Rest() if void else None


def _misdated(facts: Facts, now: int, action: Action) -> Action | None:
    if not isinstance(action, Mirror):
        return None
    return Mirror(msgspec.structs.replace(action.marker, at=action.marker.at - TICK))


def _telling_at_once(facts: Facts, now: int, action: Action) -> Action | None:
    """Does not wait for the job to stop."""
    live = live_decision(facts.workload)
    return Mirror(live) if live is not None and not facts.owner.annotation(api.ADMISSION_OUTCOME_OF) else None


def _quarrelsome(facts: Facts, now: int, action: Action) -> Action | None:
    """Writes the same again and again."""
    again = WriteWorkload({api.ADMISSION_DEADLINE: facts.workload.annotation(api.ADMISSION_DEADLINE)})
    return again if isinstance(action, Rest) else None


def _cleaning_what_waits(facts: Facts, now: int, action: Action) -> Action | None:
    idle = isinstance(action, Rest) and not facts.workload.annotation(api.CLEANUP_COMMITTED)
    waits = facts.workload.active and now > T0
    return CommitCleanup(Marker(now, 1, facts.workload.uid), now) if waits and idle else None


def _cleaning_what_holds_quota(facts: Facts, now: int, action: Action) -> Action | None:
    live = live_decision(facts.workload)
    idle = isinstance(action, Rest) and not facts.workload.annotation(api.CLEANUP_COMMITTED)
    return (
        CommitCleanup(live, now) if live is not None and facts.workload.is_true(api.QUOTA_RESERVED) and idle else None
    )


_CLEANUP: Final = Settings(ttl=1)
_REACTIVATED: Final = Setting(Left(reactivations=1), horizon=2)
_UNSEEN: Final = Rules(settled_look=False)

WRONG: Final = {
    "early": Wrong(_early, "a wait is ended before the deadline shown"),
    "without notice": Wrong(_without_notice, "a deadline is announced without notice"),
    "without a new attempt": Wrong(_forgetful, "a decision of attempt 1 ends attempt 2", _REACTIVATED),
    "forgets its decision": Wrong(
        _instead(_unmarking), "a reactivated Workload is ended without a new attempt", _REACTIVATED
    ),
    "twice": Wrong(_instead(_again), "an inactive Workload is ended"),
    "never ends": Wrong(_resting(Commit), "a wait that is never ended"),
    "never ends what has quota": Wrong(
        _instead(_content_with_quota), "a wait that is never ended", Setting(checks=True)
    ),
    "never shows": Wrong(_resting(WriteWorkload), "a wait that is never ended"),
    "never mirrors": Wrong(_resting(Mirror), "a decision without a mirror"),
    "never cleans up": Wrong(
        _resting(CommitCleanup), "a decision is never cleaned up", Setting(settings=_CLEANUP, horizon=2)
    ),
    "leaves a void marker": Wrong(_instead(_leaving_the_marker), "the marker of no decision stays", _REACTIVATED),
    "never rests": Wrong(_instead(_quarrelsome), "it never comes to rest"),
    "mirrors what was not decided": Wrong(_instead(_misdated), "it never comes to rest"),
    "the same, without a look": Wrong(
        _instead(_misdated), "an event of a decision that was never made", Setting(rules=_UNSEEN)
    ),
    "the same, and nobody minds the event": Wrong(
        _instead(_misdated), "a mirror of a decision that was never made", Setting(rules=_UNSEEN), ("told",)
    ),
    "mirrors what is over": Wrong(
        decide, "a mirror of a decision that was not live", Setting(Left(1, 1, 1), rules=_UNSEEN), ("told",)
    ),
    "mirrors at once": Wrong(_instead(_telling_at_once), "a mirror on a job that runs", Setting(Left(lettings=1))),
    "tells twice": Wrong(_instead(_again), "two events of one decision", Setting(), ("committed",)),
    "cleans up what waits": Wrong(
        _instead(_cleaning_what_waits),
        "a cleanup without a live decision",
        Setting(settings=_CLEANUP._replace(policies=(2,))),
    ),
    "cleans up what holds quota": Wrong(
        _instead(_cleaning_what_holds_quota), "a cleanup of what holds quota", Setting(settings=_CLEANUP, checks=True)
    ),
}
