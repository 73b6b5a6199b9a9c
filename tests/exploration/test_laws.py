"""Each law can be broken, by a controller that is wrong in one respect, and the shortest history is told."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from classifier import clock
from classifier.clock import Ledger
from controller.decide import Decision, Facts, Mode, Rest, WriteOwner, decide
from tests.exploration import decisions, ending, laws
from tests.exploration.decisions import Settings
from tests.exploration.explore import explore
from tests.exploration.faults import FAULTS
from tests.exploration.world import Left, Setting
from tests.exploration.wrong import WRONG

#: Broken in tests of their own.
STAYS = "a mirror of no decision stays"
TOO_SOON = "a wait is ended before its bound"


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_decision_is_found(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    wrong = WRONG[name]
    monkeypatch.setattr(decisions, "decide", wrong.decide)
    for law in wrong.silent:
        monkeypatch.setattr(laws, law, lambda *_: None)
    _broken(wrong.setting, wrong.broken)


@pytest.mark.timeout(600)
def test_a_dead_mirror_that_stays_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(facts: Facts, now: int, mode: Mode) -> Decision:
        decision = decide(facts, now, mode)
        stays = isinstance(decision.action, WriteOwner) and decision.action.unmirror
        return decision._replace(action=Rest()) if stays else decision

    monkeypatch.setattr(decisions, "decide", wrong)
    monkeypatch.setattr(decisions.Decisions, "cleaning", lambda self, workload, owner: ())
    _broken(Setting(Left(reactivations=1, pauses=1), horizon=1), STAYS)


def test_a_new_attempt_that_inherits_what_was_waited_before_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        clock, "_begun", lambda ledger, origin, attempt: Ledger(ledger.uid, ledger.origin, attempt, ledger.started)
    )
    _broken(Setting(Left(reactivations=1), Settings(notice=0), horizon=2), TOO_SOON)


def test_there_is_no_law_that_is_never_seen_broken() -> None:
    shown = {fault.broken for fault in FAULTS.values()} | {wrong.broken for wrong in WRONG.values()} | {STAYS, TOO_SOON}
    known = {law: re.compile(law) for module in (laws, ending) for law in _laws(Path(module.__file__ or ""))}
    assert len(known) > 15
    assert {law for law, pattern in known.items() if not any(map(pattern.fullmatch, shown))} == set()


def _broken(setting: Setting, law: str) -> None:
    found = explore(setting)
    print(*found.history, sep="\n")
    assert found.broken == law
    assert found.history[-1].endswith(law)


def _laws(source: Path) -> Iterator[str]:
    """Whatever a module's functions return in words, as patterns."""
    for node in ast.walk(ast.parse(source.read_text())):
        value = node.value if isinstance(node, ast.Return) else None
        for said in (value.body, value.orelse) if isinstance(value, ast.IfExp) else (value,):
            if isinstance(said, ast.Constant) and isinstance(said.value, str):
                yield re.escape(said.value)
            elif isinstance(said, ast.JoinedStr):
                yield "".join(re.escape(str(p.value)) if isinstance(p, ast.Constant) else ".+" for p in said.values)
