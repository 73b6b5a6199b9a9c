"""What the classification says of one object (reference/classification.md §C0)."""

from enum import StrEnum

import msgspec


class State(StrEnum):
    GATED = "gated"  # by our own admission gate
    HELD = "held"  # by dispatch
    SUSPENDED = "suspended"  # by a person, a queue's stop, Kueue's own deactivation or our deadline
    PENDING = "pending"
    RUNNING = "running"
    ENDED = "ended"


class CauseKind(StrEnum):
    NONE = "none"
    UNKNOWN = "unknown"
    COMPLETED = "completed"
    REJECTED = "rejected"  # a controller refused the job: the same spec will not run either
    TIMEOUT = "timeout"
    NO_CAPACITY = "no-capacity"
    NODE_LOST = "node-lost"
    PREEMPTED = "preempted"
    OUT_OF_MEMORY = "out-of-memory"
    NON_ZERO_EXIT = "non-zero-exit"


class Ref(msgspec.Struct, frozen=True):
    """One object, by its Kubernetes kind."""

    kind: str
    namespace: str
    name: str
    uid: str


class Cause(msgspec.Struct, frozen=True):
    """``provenance`` is the sort of object that states the cause, "" exactly for none and unknown: the job's kind in
    lower case, ``workload``, ``pod`` (its conditions or status), ``container`` (its exit) or ``node``.

    ``detail`` is one line: the cause's own, foreign notes, the situation (§C12), joined by ``; ``.
    """

    kind: CauseKind = CauseKind.NONE
    provenance: str = ""
    detail: str = ""


class Execution(msgspec.Struct, frozen=True, order=True):
    """One run of the job: ``number`` grows with every restart of either sort (§C10)."""

    admission: int
    restart: int

    @property
    def number(self) -> int:
        return self.admission + self.restart


class Observation(msgspec.Struct, frozen=True, kw_only=True):
    """A pure function of its inputs: equal inputs give equal observations, apart from ``seen_at`` (milliseconds)."""

    ref: Ref
    state: State
    admin_held: bool = False
    hold_instance: int = 0
    cause: Cause = Cause()
    execution: Execution | None = None
    foreign: bool = False
    submission: int | None = None
    seen_at: int = 0

    def same(self, other: "Observation | None") -> bool:
        """Whether they say the same, whenever it was seen."""
        return other is not None and msgspec.structs.replace(self, seen_at=other.seen_at) == other


class Evidence(msgspec.Struct, frozen=True, gc=False):
    """One thing seen that speaks for the cause. ``at`` in milliseconds, None where it bears no date."""

    at: int | None
    where: str  # for people: "pod train-3-node-0-0", "Workload trainjob-train-3-ab12c", "node n2"
    kind: CauseKind
    text: str


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """An observation, with what a person also wants to know.

    ``since`` is when the state's or the cause's own condition last changed, milliseconds; None where no object says.
    ``evidence`` is in the order it was weighed: the first one won, if any did.
    """

    observation: Observation
    since: int | None = None
    evidence: tuple[Evidence, ...] = ()
    #: The Workload that decides, "" where there is none or in plain mode.
    workload: str = ""
    #: The LocalQueue it names: the Workload's, else its own label's; "" where neither names one, None where not asked.
    queue: str | None = None
