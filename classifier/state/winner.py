"""Which finding wins, and how all of them are told (reference/classification.md §C9)."""

from collections.abc import Iterable, Sequence
from typing import Final

from classifier.state.finding import Finding
from classifier.state.observation import CauseKind, Evidence, State
from classifier.state.settings import Settings
from classifier.state.verdict import Verdict
from classifier.state.words import one_line

#: At one instant; whatever is not named comes after. Kubernetes times are whole seconds: ties are common.
_RANK: Final = {
    CauseKind.NODE_LOST: 0,
    CauseKind.PREEMPTED: 1,
    CauseKind.OUT_OF_MEMORY: 2,
    CauseKind.NON_ZERO_EXIT: 3,
}


def ordered(found: Iterable[Finding]) -> list[Finding]:
    """Earliest first, undated ones last; the rest is there so that no order of the input can matter."""

    def key(f: Finding) -> tuple[bool, int, int, str, bool, str, str]:
        return f.at is None, f.at or 0, _RANK.get(f.kind, 4), f.pod, f.source == "container", f.uid, f.text

    return sorted(found, key=key)


def told(found: Sequence[Finding], settings: Settings) -> str:
    """The winner, then every other one, the winner pod's own second one included."""
    first, others = found[0], found[1:]
    head = f"pod {first.pod}: {first.text}"
    if not others:
        return head
    limit = len(others) if settings.max_other_ranks is None else max(0, settings.max_other_ranks)
    shown = ", ".join(f"{f.pod} {f.kind} ({f.text})" for f in others[:limit])
    more = f"{len(others) - limit} more" if len(others) > limit else ""
    return f"{head}; other ranks: {' and '.join(part for part in (shown, more) if part)}"


def by_pods(state: State, found: Iterable[Finding], settings: Settings) -> Verdict | None:
    """The winner decided."""
    weighed = ordered(found)
    if not weighed:
        return None
    return Verdict(
        state=state,
        cause=weighed[0].kind,
        source=weighed[0].source,
        detail=told(weighed, settings),
        since=weighed[0].at,
        evidence=tuple(Evidence(f.at, one_line(f"pod {f.pod}"), f.kind, f.text) for f in weighed),
    )
