"""What both forms of the autoscaler's status are read into, and how its figures and times are checked."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from classifier.fit.facts.fact import Backoff
from classifier.instant import MINUTE, instant_or_none

#: Cluster Autoscaler's --max-node-group-backoff-duration; it begins with 5 minutes and doubles.
LONGEST_BACKOFF: Final = 30 * MINUTE
#: An int32, as node counts are in every API.
_MAX_COUNT: Final = 2**31 - 1
#: A cloud's error can be pages long; this much is shown.
_MAX_WORDS: Final = 256

_GO_TIME: Final = re.compile(
    r"(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(\.\d{1,9})? ([+-]\d\d)(\d\d)"
    r"(?: [A-Za-z0-9+-]{1,8})?(?: m=[+-]\d{1,15}(?:\.\d{1,9})?)?",
    re.ASCII,
)


class Unreadable(Exception):
    """The text is no status; the message says why."""


@dataclass(frozen=True, slots=True)
class Group:
    """One node group; a figure that is missing or nonsense is None."""

    name: str
    max_size: int | None = None
    target: int | None = None
    registered: int | None = None
    ready: int | None = None
    backoff: Backoff | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """``observed_at`` in ms. ``running`` False: the autoscaler says its figures do not count yet."""

    observed_at: int | None
    running: bool
    groups: Sequence[Group]


def count(text: object) -> int | None:
    """A number of nodes, or None."""
    if not isinstance(text, str) or not 0 < len(text) <= 10 or not (text.isascii() and text.isdigit()):
        return None
    value = int(text)
    return value if value <= _MAX_COUNT else None


def parse_time(text: object) -> int | None:
    """Milliseconds of an RFC 3339 time or of Go's own form; None for Go's zero time and whatever is no time."""
    if not isinstance(text, str) or len(text) > 96:
        return None
    text = text.strip()
    match = _GO_TIME.fullmatch(text)
    if match is not None:
        day, clock, fraction, hours, minutes = match.groups()
        text = f"{day}T{clock}{fraction or ''}{hours}:{minutes}"
    at = instant_or_none(text)
    return at if at is not None and at > 0 else None


def backoff(group: str, since: int | None, code: object = None, message: object = None) -> Backoff:
    return Backoff(group, since, None if since is None else since + LONGEST_BACKOFF, _words(code), _words(message))


def _words(text: object) -> str:
    """One line of what a cloud said, cut."""
    line = " ".join(text[: 4 * _MAX_WORDS].split()) if isinstance(text, str) else ""
    line = "".join(char if char.isprintable() else "?" for char in line)
    return line if len(line) <= _MAX_WORDS else line[: _MAX_WORDS - 1] + "…"
