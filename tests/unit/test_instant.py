"""Instants and durations: what Kubernetes and Go accept, and nothing else."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from classifier.instant import (
    HOUR,
    MAX_DURATION,
    MINUTE,
    SECOND,
    format_duration,
    format_instant,
    format_micro,
    instant_or_none,
    parse_duration,
    parse_instant,
)

#: Every instant RFC 3339 can write: the years 1 to 9999.
INSTANTS = st.integers(parse_instant("0001-01-01T00:00:00Z"), parse_instant("9999-12-31T23:59:59.999Z"))


@given(INSTANTS)
def test_an_instant_reads_back_as_it_was_written(at: int) -> None:
    assert parse_instant(format_instant(at)) == at
    assert parse_instant(format_micro(at)) == at


@given(INSTANTS, INSTANTS)
def test_instants_sort_as_their_whole_second_texts_do(one: int, other: int) -> None:
    texts = [format_instant(at - at % SECOND) for at in (one, other)]
    assert (texts[0] < texts[1]) == (one // SECOND < other // SECOND)


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T00:00:00.000001Z", 0),  # metav1.MicroTime, cut to milliseconds
        ("1970-01-01T00:00:01.5Z", 1500),
        ("1970-01-01t00:00:01.123456789z", 1123),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1969-12-31T19:00:00-05:00", 0),
        ("1969-12-31T23:59:59.999Z", -1),
    ],
)
def test_instants(text: str, at: int) -> None:
    assert parse_instant(text) == at


@pytest.mark.parametrize(
    "text",
    [
        "",
        "now",
        "2026-11-29",
        "2026-11-29T10:00:00",  # no zone
        "2026-11-29 10:00:00Z",
        "2026-11-29T10:00Z",
        "2026-11-29T10:00:60Z",
        "2026-02-30T10:00:00Z",
        "2026-11-29T25:00:00Z",
        "2026-11-29T10:00:00.Z",
        "2026-11-29T10:00:00.1234567890Z",
        "2026-11-29T10:00:00Z\n",
        "２026-11-29T10:00:00Z",
        "0000-01-01T00:00:00Z",
        "0001-01-01T00:00:00+00:01",  # before the year 1 in UTC: could not be written back
        "9999-12-31T23:59:59-00:01",
        "1" * 10_000,
    ],
)
def test_what_is_no_instant_is_refused_by_name(text: str) -> None:
    with pytest.raises(ValueError, match="not an RFC 3339 time"):
        parse_instant(text)
    assert instant_or_none(text) is None


@given(st.text())
def test_any_text_is_an_instant_or_a_value_error(text: str) -> None:
    at = instant_or_none(text)
    assert at is None or parse_instant(format_instant(at)) == at


# Expectations from Go 1.26 time.ParseDuration, rounded up to milliseconds; None where it fails or is not positive.
DURATIONS = {
    "1h30m": 90 * MINUTE,
    "90m": 90 * MINUTE,
    "1.5h": 90 * MINUTE,
    ".5s": 500,
    "5.s": 5000,
    "1h1h": 2 * HOUR,
    "1s1h": HOUR + SECOND,
    "+1h": HOUR,
    "1us": 1,
    "1µs": 1,
    "1μs": 1,
    "1ns": 1,
    "1ms1ns": 2,
    "1500us": 2,
    "0h1s": SECOND,
    "00001s": SECOND,
    "0.0000000001h": 1,
    "2562047h": 2562047 * HOUR,
    "2562047h47m16.854775807s": MAX_DURATION + 1,
    "9223372036854775807ns": MAX_DURATION + 1,
    "2562047h47m16.854775808s": None,
    "9223372036854775808ns": None,
    "9999999h": None,
    "99999999999999999999999999h": None,
    "": None,
    "0": None,
    "+0": None,
    "-0": None,
    "0s": None,
    "0.0000000000000000001h": None,
    "1": None,
    "+": None,
    "-": None,
    ".": None,
    ".s": None,
    "h": None,
    "-1h": None,
    "1h-30m": None,
    "1h+30m": None,
    "++1h": None,
    "1 h": None,
    " 1h": None,
    "1h ": None,
    "1h\n": None,
    "1H": None,
    "1d": None,
    "1w": None,
    "1e3s": None,
    "0x1s": None,
    "1_000s": None,
    "1,5h": None,
    "1..5h": None,
    "１h": None,
    "٣h": None,
    "∞": None,
    "P1D": None,
    "soon": None,
}


@pytest.mark.parametrize(("text", "millis"), DURATIONS.items())
def test_durations_are_read_as_go_reads_them(text: str, millis: int | None) -> None:
    if millis is None:
        with pytest.raises(ValueError, match="duration"):
            parse_duration(text)
    else:
        assert parse_duration(text) == millis


def test_a_duration_of_absurd_length_is_refused_quickly_and_not_echoed() -> None:
    with pytest.raises(ValueError, match="is not a duration") as refused:
        parse_duration("9" * 200_000 + "h")
    assert len(str(refused.value)) < 200


@given(st.text(alphabet="0123456789.hmsnuµ+- ", max_size=20) | st.text())
def test_any_text_is_a_positive_duration_or_a_value_error(text: str) -> None:
    with contextlib.suppress(ValueError):
        assert 1 <= parse_duration(text) <= MAX_DURATION + 1


@given(st.integers(0, 10**5), st.integers(0, 10**5), st.integers(0, 10**5), st.integers(0, 10**5))
def test_the_parts_of_a_duration_add_up(hours: int, minutes: int, seconds: int, millis: int) -> None:
    total = hours * HOUR + minutes * MINUTE + seconds * SECOND + millis
    text = f"{hours}h{minutes}m{seconds}s{millis}ms"
    if total == 0:
        with pytest.raises(ValueError, match="positive"):
            parse_duration(text)
    else:
        assert parse_duration(text) == total


@pytest.mark.parametrize(
    ("millis", "text"),
    [
        (0, "0s"),
        (1, "1ms"),
        (450, "450ms"),
        (999, "999ms"),
        (SECOND, "1s"),
        (1999, "1s"),
        (59_999, "59s"),
        (MINUTE, "1m"),
        (29 * MINUTE + 20 * SECOND, "29m20s"),
        (HOUR + 5 * SECOND, "1h"),
        (90 * MINUTE, "1h30m"),
        (76 * HOUR + 59 * MINUTE, "3d4h"),
        (-90 * SECOND, "-1m30s"),
    ],
)
def test_durations_for_people(millis: int, text: str) -> None:
    assert format_duration(millis) == text


@given(st.integers(1, MAX_DURATION))
def test_a_duration_for_people_never_says_more_than_there_is(millis: int) -> None:
    text = format_duration(millis)
    days, _, rest = text.rpartition("d")
    said = int(days or 0) * 24 * HOUR + (parse_duration(rest) if rest else 0)
    assert millis - HOUR < said <= millis if days else millis - MINUTE < said <= millis
