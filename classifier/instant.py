"""Instants and durations: integer milliseconds, RFC 3339 in and out, Go durations in and out.

Kubernetes writes whole seconds in ``metav1.Time`` and microseconds in ``metav1.MicroTime``; both parse here.
An instant is milliseconds since the Unix epoch, a duration is milliseconds.
"""

import re
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

SECOND: Final = 1_000
MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE

#: Go's time.Duration is an int64 of nanoseconds; longer ones do not parse there either.
_MAX_NANOS: Final = 2**63 - 1
MAX_DURATION: Final = _MAX_NANOS // 1_000_000
#: The years 1 to 9999 in UTC: what can be read can be written.
_FIRST: Final = -62_135_596_800_000
_LAST: Final = 253_402_300_799_999

_RFC3339: Final = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?([Zz]|[+-]\d\d:\d\d)", re.ASCII
)
_UNIT_NS: Final = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,  # U+00B5, micro sign
    "μs": 1_000,  # U+03BC, Greek mu
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
_DURATION_PART: Final = re.compile(r"(\d*)(?:\.(\d*))?(ns|us|µs|μs|ms|s|m|h)", re.ASCII)


@lru_cache(maxsize=1024)
def parse_instant(text: str) -> int:
    """Milliseconds since the epoch of an RFC 3339 time. Raises ValueError, naming the text, when it is none.

    One look at one object reads each of its times several times over: the latest answers are kept.
    """
    match = _RFC3339.fullmatch(text)
    if match is None:
        raise ValueError(f"{text[:64]!r} is not an RFC 3339 time such as 2026-11-29T10:00:00Z")
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    zone = "+00:00" if zone in "Zz" else zone
    try:
        base = datetime.fromisoformat(f"{year}-{month}-{day}T{hour}:{minute}:{second}{zone}")
        seconds = int(base.timestamp())
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{text[:64]!r} is not an RFC 3339 time: {error}") from None
    at = seconds * SECOND + int((fraction or "0").ljust(3, "0")[:3])
    if not _FIRST <= at <= _LAST:
        raise ValueError(f"{text[:64]!r} is not an RFC 3339 time: out of range in UTC")
    return at


def instant_or_none(text: str | None) -> int | None:
    """Like :func:`parse_instant`; None for an absent or unreadable time."""
    if not text:
        return None
    try:
        return parse_instant(text)
    except ValueError:
        return None


def format_instant(at: int) -> str:
    """RFC 3339 in UTC; a fraction only where there is one, so that whole seconds look as Kubernetes writes them."""
    seconds, millis = divmod(at, SECOND)
    return f"{_utc(seconds)}.{millis:03d}Z" if millis else f"{_utc(seconds)}Z"


def format_micro(at: int) -> str:
    """``metav1.MicroTime``: always six digits (Events and Leases refuse anything else)."""
    seconds, millis = divmod(at, SECOND)
    return f"{_utc(seconds)}.{millis:03d}000Z"


def _utc(seconds: int) -> str:
    # Not strftime: its %Y does not pad the year on every platform.
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").removesuffix("+00:00")


def parse_duration(text: str) -> int:
    """Milliseconds of a positive Go duration (``1h30m``, ``90s``, ``1.5h``), rounded up.

    Raises ValueError that says what is wrong: not a duration, not positive, or longer than Go can hold.
    """
    if not text or len(text) > 64:
        raise ValueError(f"{text[:64]!r} is not a duration such as 1h30m or 90s")
    position, nanos = 1 if text[0] in "+-" else 0, 0
    negative = text[0] == "-"
    if text[position:] == "0":
        raise ValueError(f"{text!r} is not a positive duration")
    if position == len(text):
        raise ValueError(f"{text!r} is not a duration such as 1h30m or 90s")
    while position < len(text):
        match = _DURATION_PART.match(text, position)
        if match is None or not (match[1] or match[2]):
            raise ValueError(f"{text!r} is not a duration such as 1h30m or 90s")
        whole, fraction, unit = match[1] or "0", match[2] or "", match[3]
        nanos += int(whole) * _UNIT_NS[unit]
        if fraction:
            nanos += int(fraction) * _UNIT_NS[unit] // 10 ** len(fraction)
        position = match.end()
    if negative or nanos <= 0:
        raise ValueError(f"{text!r} is not a positive duration")
    if nanos > _MAX_NANOS:
        raise ValueError(f"{text!r} is longer than 292 years, the longest duration there is")
    return -(-nanos // 1_000_000)


def format_duration(millis: int) -> str:
    """A duration for people, two units at most, rounded down: ``29m20s``, ``1h30m``, ``3d4h``, ``450ms``."""
    if millis < 0:
        return "-" + format_duration(-millis)
    if millis < SECOND:
        return f"{millis}ms" if millis else "0s"
    units = (("d", 24 * HOUR), ("h", HOUR), ("m", MINUTE), ("s", SECOND))
    for index, (name, size) in enumerate(units):
        if millis >= size:
            head, rest = divmod(millis, size)
            text = f"{head}{name}"
            if index + 1 < len(units):
                next_name, next_size = units[index + 1]
                if rest >= next_size:
                    text += f"{rest // next_size}{next_name}"
            return text
    raise AssertionError(millis)
