"""Each law can be broken: by a controller that decides wrongly in one respect, and the shortest history is told."""

from collections.abc import Callable

import msgspec
import pytest

from classifier import api
from classifier.clock import Marker
from classifier.objects import Workload
from controller.decide import Commit, Decision, Facts, Mirror, Mode, Rest, WriteOwner, WriteWorkload, decide
from tests.exploration import decisions
from tests.exploration.decisions import TICK
from tests.exploration.explore import explore
from tests.exploration.world import Left, Setting

Decide = Callable[[Facts, int, Mode], Decision]

_REACTIVATED = Setting(Left(reactivations=1), horizon=2)


def _resting(kind: type) -> Decide:
    """Decides as it should, but never to do one kind of thing."""

    def wrong(facts: Facts, now: int, mode: Mode) -> Decision:
        decision = decide(facts, now, mode)
        return decision._replace(action=Rest()) if isinstance(decision.action, kind) else decision

    return wrong


def _early(facts: Facts, now: int, mode: Mode) -> Decision:
    decision = decide(facts, now, mode)
    ledger = decision.reading.ledger
    if not isinstance(decision.action, Rest) or ledger is None or not facts.workload.active:
        return decision
    return decision._replace(action=Commit(Marker(now, ledger.attempt, facts.workload.uid), now))


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


def _misdated(facts: Facts, now: int, mode: Mode) -> Decision:
    decision = decide(facts, now, mode)
    if not isinstance(decision.action, Mirror):
        return decision
    marker = decision.action.marker
    return decision._replace(action=Mirror(msgspec.structs.replace(marker, at=marker.at - TICK)))


def _quarrelsome(facts: Facts, now: int, mode: Mode) -> Decision:
    """Writes the same again and again."""
    decision = decide(facts, now, mode)
    again = WriteWorkload({api.ADMISSION_DEADLINE: facts.workload.annotation(api.ADMISSION_DEADLINE)})
    return decision._replace(action=again) if isinstance(decision.action, Rest) else decision


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("wrong", "setting", "broken"),
    [
        pytest.param(_early, Setting(), "a wait is ended before the deadline shown", id="early"),
        pytest.param(_without_notice, Setting(), "a deadline is announced without notice", id="no notice"),
        pytest.param(_forgetful, _REACTIVATED, "a decision of attempt 1 ends attempt 2", id="no new attempt"),
        pytest.param(_misdated, Setting(), "it never comes to rest", id="of another decision"),
        pytest.param(_resting(Commit), Setting(), "a wait that is never ended", id="never ends"),
        pytest.param(_resting(Mirror), Setting(), "a decision without a mirror", id="never mirrors"),
        pytest.param(_resting(WriteWorkload), Setting(), "a wait that is never ended", id="never shows"),
        pytest.param(_quarrelsome, Setting(), "it never comes to rest", id="never rests"),
    ],
)
def test_a_wrong_decision_is_found(
    monkeypatch: pytest.MonkeyPatch, wrong: Decide, setting: Setting, broken: str
) -> None:
    monkeypatch.setattr(decisions, "decide", wrong)
    found = explore(setting)
    print(*found.history, sep="\n")
    assert found.broken == broken
    assert found.history[-1].endswith(broken)


@pytest.mark.timeout(600)
def test_a_dead_mirror_that_stays_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(facts: Facts, now: int, mode: Mode) -> Decision:
        decision = decide(facts, now, mode)
        stays = isinstance(decision.action, WriteOwner) and decision.action.unmirror
        return decision._replace(action=Rest()) if stays else decision

    monkeypatch.setattr(decisions, "decide", wrong)
    monkeypatch.setattr(decisions.Decisions, "cleaning", lambda self, workload, owner: ())
    found = explore(Setting(Left(reactivations=1, pauses=1), horizon=1))
    print(*found.history, sep="\n")
    assert found.broken == "a mirror of no decision stays"
