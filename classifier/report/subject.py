"""An explained object as the advice about it sees it: its detail in parts, and commands that name it."""

import re
import shlex
from collections.abc import Iterator
from typing import Final

import msgspec

from classifier import api
from classifier.scope import JUDGED
from classifier.state.kinds import KINDS
from classifier.state.observation import CauseKind, Explanation, Observation, Ref

#: How the detail of a wait begins that our own deadline ended (§C5).
OUR_DEADLINE: Final = "admission deadline exceeded: "
#: How Kueue says that a queue takes nobody in (Kueue: pkg/controller/core/workload_controller.go, getQueueBlocker).
_BLOCKED: Final = re.compile(
    r"Workload QuotaReserved: \w+: ((?:Local|Cluster)Queue) (\S+) (doesn't exist|is inactive|is stopped)"
)
_ORPHAN: Final = re.compile(r"\S+ \S+ has no live TrainJob.*")
_RANKS: Final = "other ranks: "
_NEXT_RANK: Final = re.compile(rf", (?=\S+ (?:{'|'.join(CauseKind)}) \()")


class Subject(msgspec.Struct, frozen=True):
    """``parts`` are those of the detail: the cause's own words, foreign notes, the situation (§C12).

    ``ranks`` are the findings of other pods that a detail names after the winner's (§C9), and no part.
    """

    explanation: Explanation
    parts: tuple[str, ...]
    ranks: tuple[str, ...] = ()

    @classmethod
    def of(cls, explanation: Explanation) -> "Subject":
        # Messages may hold "; " themselves: what the evidence says in the same words is taken as a whole.
        rest = explanation.observation.cause.detail
        first, *others = explanation.evidence or (None,)
        parts: list[str] = []
        ranks: list[str] = []
        if first is not None:
            rest = _take(rest, f"{first.where}: {first.text}", parts)
        if _RANKS in rest and (rest.startswith(_RANKS) or not parts):
            head, _, rest = rest.partition(_RANKS)
            parts += _split(head.removesuffix("; "))
            named = [f"{o.where.removeprefix('pod ')} {o.kind} ({o.text})" for o in others if o is not None]
            whole = _take(rest, ", ".join(named), [])
            if whole != rest:
                rest, ranks = whole, named
            else:
                *ranks, last = _NEXT_RANK.split(rest)
                last, more, rest = last.partition("); ")
                ranks.append(last + ")" if more else last)
        return cls(explanation, (*parts, *_split(rest)), tuple(ranks))

    @property
    def observation(self) -> Observation:
        return self.explanation.observation

    @property
    def ref(self) -> Ref:
        return self.explanation.observation.ref

    @property
    def kind(self) -> CauseKind:
        return self.explanation.observation.cause.kind

    @property
    def orphan(self) -> bool:
        """What outlives its TrainJob (§C13)."""
        return self.observation.foreign and self.match(_ORPHAN) is not None

    # --- what the detail says -------------------------------------------------------------------------------------

    def starts(self, words: str) -> str | None:
        """The first part that begins with these words."""
        return next((part for part in self.parts if part.startswith(words)), None)

    def matches(self, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
        """The parts that are of this form."""
        return (found for part in self.parts if (found := pattern.fullmatch(part)))

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        return next(self.matches(pattern), None)

    # --- commands -------------------------------------------------------------------------------------------------

    @property
    def inside(self) -> str:
        """``-n team-a``, with a blank before it."""
        return f" -n {shlex.quote(self.ref.namespace)}" if self.ref.namespace else ""

    def kubectl(self, verb: str, kind: str, name: str) -> str:
        return f"kubectl {verb} {shlex.quote(kind.lower())} {shlex.quote(name)}{self.inside}"

    @property
    def kind_in_api(self) -> str:
        return kind_in_api(self.ref.kind)

    @property
    def describe(self) -> str:
        return self.kubectl("describe", self.kind_in_api, self.ref.name)

    @property
    def look(self) -> str:
        """How to see what it waits for."""
        if self.ref.kind == api.JOBS.kind:
            return f"muster status {self.ref.kind.lower()}/{shlex.quote(self.ref.name)}{self.inside}"
        if self.explanation.workload:
            return self.kubectl("describe", "workloads.kueue.x-k8s.io", self.explanation.workload)
        return self.describe

    @property
    def judge(self) -> str | None:
        """How to learn whether it can ever fit; None for kinds that preflight does not judge."""
        if any(resource.kind == self.ref.kind for resource in JUDGED):
            return f"{self.kubectl('get', self.kind_in_api, self.ref.name)} -o yaml | muster preflight -f -"
        return None

    @property
    def blocked_by(self) -> tuple[str, str, bool] | None:
        """Kind and name of the queue that takes nobody in, and whether it exists; None where it is not the queue."""
        said = self.match(_BLOCKED)
        return (said[1], said[2], said[3] != "doesn't exist") if said else None

    @property
    def queue(self) -> str:
        """For "ask the administrators of"."""
        return f"LocalQueue {self.explanation.queue}" if self.explanation.queue else "its queue"


def _take(rest: str, words: str, parts: list[str]) -> str:
    """What follows these words, which go to the parts; all of it where they are not there."""
    if not words or not (rest == words or rest.startswith(f"{words}; ")):
        return rest
    parts.append(words)
    return rest[len(words) + 2 :]


def _split(text: str) -> list[str]:
    return text.split("; ") if text else []


def kind_in_api(kind: str) -> str:
    """The Kubernetes kind: a group of pods goes by the name of one of them."""
    return "Pod" if kind == "PodGroup" else kind


def explainable(kind: str) -> bool:
    """Whether objects of that kind can be explained."""
    return any(known == kind for _, known in KINDS)
