"""One line of a report: a phase in the life of a gang job."""

from enum import StrEnum
from typing import Final

import msgspec

from classifier.instant import SECOND, format_duration


class State(StrEnum):
    DONE = "done"
    ACTIVE = "active"
    WAITING = "waiting"
    FAILED = "failed"


MARKERS: Final = {State.DONE: "✓", State.ACTIVE: "…", State.WAITING: "·", State.FAILED: "✗"}

SUBMITTED: Final = "Submitted"
QUOTA: Final = "Quota reserved"
CAPACITY: Final = "Capacity provisioning"
SCHEDULING: Final = "Pod scheduling"
RUNNING: Final = "Running"

#: Text of a phase that has nothing to say yet.
NOTHING: Final = "-"


class Phase(msgspec.Struct, frozen=True):
    """``since`` is when it came into this state, milliseconds, None where no object says."""

    name: str
    state: State
    text: str = NOTHING
    since: int | None = None

    @property
    def line(self) -> str:
        return f"  {MARKERS[self.state]} {self.name:<22} {self.text}"


def age(since: int, now: int) -> str:
    """How long ago, for people: whole seconds, and never less than none (clocks differ)."""
    return format_duration(max(0, now - since) // SECOND * SECOND)


def joined(*parts: str | None) -> str:
    """The parts that say something, as one line of text; a full stop that an object's message brought is left out."""
    return "; ".join(" ".join(part.split()).rstrip(".") for part in parts if part) or NOTHING
