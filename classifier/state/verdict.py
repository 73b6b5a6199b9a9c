"""What a rule says of an object, before the parts of the detail are joined."""

import msgspec

from classifier.numbers import moment
from classifier.objects import Condition, Workload
from classifier.state.observation import CauseKind, Evidence, State
from classifier.state.words import one_line, titled, words


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    state: State
    cause: CauseKind = CauseKind.NONE
    source: str = ""  # of the cause: its provenance, where the kind has one
    detail: str = ""
    admin_held: bool = False
    since: int | None = None
    evidence: tuple[Evidence, ...] = ()

    @property
    def provenance(self) -> str:
        """Empty exactly for none and unknown (§C0)."""
        return "" if self.cause in (CauseKind.NONE, CauseKind.UNKNOWN) else self.source


def seen(at: int | None, where: str, kind: CauseKind, text: str) -> Evidence:
    """One line each, even where a file names things as no API server would."""
    return Evidence(at, one_line(where), kind, one_line(text))


def condition_text(condition: Condition) -> str:
    return titled(condition.type, words(condition))


def workload_text(condition: Condition) -> str:
    """``Workload <type>: <words>``."""
    return "Workload " + condition_text(condition)


def by_workload(
    state: State, workload: Workload, condition: Condition, cause: CauseKind, *, admin_held: bool = False
) -> Verdict:
    """The Workload's own condition decided."""
    at = moment(condition.last_transition_time)
    return Verdict(
        state=state,
        cause=cause,
        source="workload",
        detail=workload_text(condition),
        admin_held=admin_held,
        since=at,
        evidence=(seen(at, f"Workload {workload.name}", cause, condition_text(condition)),),
    )
