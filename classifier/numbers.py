"""Numbers and times as labels, annotations and conditions carry them. What cannot be read counts as absent."""

from functools import lru_cache
from typing import Final

from classifier.instant import instant_or_none

#: Go reads these as int64: whatever is longer is no number there either.
_MAX: Final = 2**63 - 1
_DIGITS: Final = len(str(_MAX))


def count(text: str | None) -> int | None:
    """A plain non-negative decimal (§C10)."""
    return _count(text) if text and len(text) <= _DIGITS else None


def positive(text: str | None) -> int | None:
    """``[1-9][0-9]*`` over the whole string (§C4)."""
    return count(text) if text and "1" <= text[0] <= "9" else None


@lru_cache(maxsize=4096)
def _count(text: str) -> int | None:
    number = int(text) if text.isascii() and text.isdigit() else None
    return number if number is not None and number <= _MAX else None


@lru_cache(maxsize=4096)
def moment(text: str | None) -> int | None:
    """Milliseconds. A gang dies within a few seconds and Kubernetes writes whole ones: the same text comes often."""
    return instant_or_none(text)
