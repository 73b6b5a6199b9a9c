"""Numbers and times as labels, annotations and conditions carry them. What cannot be read counts as absent."""

import re
from functools import lru_cache
from typing import Final

from classifier.instant import instant_or_none

#: Go reads these as int64: whatever is longer is no number there either.
_MAX: Final = 2**63 - 1
_COUNT: Final = re.compile("[0-9]{1,19}")
_POSITIVE: Final = re.compile("[1-9][0-9]{0,18}")


def count(text: str | None) -> int | None:
    """A plain non-negative decimal (§C10)."""
    return _read(_COUNT, text)


def positive(text: str | None) -> int | None:
    """``[1-9][0-9]*`` over the whole string (§C4)."""
    return _read(_POSITIVE, text)


def _read(pattern: re.Pattern[str], text: str | None) -> int | None:
    if text is None or pattern.fullmatch(text) is None:
        return None
    number = int(text)
    return number if number <= _MAX else None


@lru_cache(maxsize=4096)
def moment(text: str | None) -> int | None:
    """Milliseconds. A gang dies within a few seconds and Kubernetes writes whole ones: the same text comes often."""
    return instant_or_none(text)
