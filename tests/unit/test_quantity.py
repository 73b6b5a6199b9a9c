"""Quantities: the API server's grammar, exact integers, canonical text.

The tables were read off apimachinery v0.37 (``Quantity.UnmarshalJSON``, ``Value``, ``MilliValue``, ``String``).
"""

from contextlib import suppress
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kubernetes.utils.quantity import parse_quantity

from classifier import quantity
from classifier.objects.meta import Quantity
from classifier.quantity import (
    MAX_INT64,
    NANO,
    QuantityError,
    amount,
    amount_of,
    canonical,
    format_amount,
    is_extended,
    milli,
    parse,
    units,
)

ACCEPTED = [
    # quantity, canonical, whole units, milli-units
    ("0", "0", 0, 0),
    ("94", "94", 94, 94_000),
    ("0.1", "100m", 1, 100),
    ("100m", "100m", 1, 100),
    ("1.5", "1500m", 2, 1_500),
    ("1500", "1500", 1500, 1_500_000),
    ("1000", "1k", 1000, 1_000_000),
    ("1000k", "1M", 1_000_000, 1_000_000_000),
    ("1e3", "1e3", 1000, 1_000_000),
    ("1E3", "1e3", 1000, 1_000_000),
    ("1e+3", "1e3", 1000, 1_000_000),
    ("12e-4", "1200e-6", 1, 2),
    ("1Ki", "1Ki", 1024, 1_024_000),
    ("1.5Gi", "1536Mi", 1_610_612_736, 1_610_612_736_000),
    ("1024Mi", "1Gi", 2**30, 2**30 * 1000),
    ("1025Mi", "1025Mi", 1025 * 2**20, 1025 * 2**20 * 1000),
    ("860Gi", "860Gi", 860 * 2**30, 860 * 2**30 * 1000),
    ("0.5Ki", "512", 512, 512_000),
    ("1.1Ki", "1126400m", 1127, 1_126_400),
    ("0.0000000001", "1n", 1, 1),  # finer than nano rounds up
    ("1e-12", "1e-9", 1, 1),
    (".5", "500m", 1, 500),
    ("1.", "1", 1, 1_000),
    ("+1", "1", 1, 1_000),
    ("-1", "-1", -1, -1_000),
    (" 1 ", "1", 1, 1_000),  # the JSON reader trims
    (".", "0", 0, 0),
    ("+", "0", 0, 0),
    ("m", "0", 0, 0),
    ("1e4294967296", "1", 1, 1_000),  # the exponent is an int32
    (0, "0", 0, 0),
    (10, "10", 10, 10_000),
    (1.5, "1500m", 2, 1_500),
]

REFUSED = [
    "",
    " ",
    "abc",
    "NaN",
    "Infinity",
    "1_000",
    "1 Gi",
    "1K",
    "1ki",
    "1mi",
    "1e",
    "1e1.5",
    "1e3Ki",
    "1e9223372036854775808",
    "--1",
    "1.2.3",
    "0x10",
    "٣",
    "Ei",
    "1\n",
    "1" * 2000,
    True,
    float("nan"),
    float("inf"),
    10**2000,
]


@pytest.mark.parametrize(("text", "text_canonical", "whole", "thousandths"), ACCEPTED, ids=lambda v: repr(v)[:24])
def test_reads_what_the_api_server_accepts(text: Quantity, text_canonical: str, whole: int, thousandths: int) -> None:
    assert canonical(text) == text_canonical
    assert units(text) == whole
    assert milli(text) == thousandths


@pytest.mark.parametrize("text", REFUSED, ids=lambda v: repr(v)[:24])
def test_refuses_what_the_api_server_refuses(text: Quantity) -> None:
    with pytest.raises(QuantityError):
        parse(text)


@pytest.mark.parametrize("text", ["8Ei", "1e30", "9223372036854775808", "1e999999999"])
def test_saturates_at_int64(text: str) -> None:
    assert units(text) == MAX_INT64
    assert milli(text) == MAX_INT64


def test_a_huge_negative_exponent_is_the_smallest_step_there_is() -> None:
    assert parse("1e-999999999") == 1


def test_counts_cpu_in_thousandths_and_all_else_whole() -> None:
    assert amount("cpu", "1.5") == 1500
    assert amount("memory", "1.5") == 2
    assert amount("nvidia.com/gpu", "8") == 8


@pytest.mark.parametrize(
    ("resource", "value", "text"),
    [
        ("cpu", 1500, "1500m"),
        ("cpu", 94_000, "94"),
        ("memory", 860 * 2**30, "860Gi"),
        ("memory", 1000, "1k"),
        ("hugepages-2Mi", 2**21, "2Mi"),
        ("nvidia.com/gpu", 16, "16"),
        ("pods", 0, "0"),
    ],
)
def test_writes_an_amount_as_the_api_server_would(resource: str, value: int, text: str) -> None:
    assert format_amount(resource, value) == text


@pytest.mark.parametrize(
    ("resource", "extended"),
    [("nvidia.com/gpu", True), ("cpu", False), ("hugepages-2Mi", False), ("kubernetes.io/batch-cpu", False)],
)
def test_tells_device_resources_from_native_ones(resource: str, extended: bool) -> None:
    assert is_extended(resource) is extended


def test_no_name_of_a_resource_is_kept() -> None:
    before = quantity._amount.cache_info().currsize
    assert {amount(f"example.com/{turn}", "1234567k") for turn in range(50)} == {1_234_567_000}
    assert quantity._amount.cache_info().currsize <= before + 1


numbers = st.decimals(min_value=0, max_value=10**9, places=3, allow_nan=False)
suffixes = st.sampled_from(["", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti"])


@given(numbers, suffixes)
def test_agrees_with_the_client_library_where_that_is_right(number: Decimal, suffix: str) -> None:
    exact = Fraction(parse_quantity(f"{number:f}{suffix}"))
    if suffix.endswith("i"):
        exact = min(exact, Fraction(MAX_INT64))
    assert parse(f"{number:f}{suffix}") == -(-exact * NANO // 1)


@given(numbers, suffixes)
def test_canonical_text_is_a_fixed_point_of_equal_value(number: Decimal, suffix: str) -> None:
    text = canonical(f"{number:f}{suffix}")
    assert parse(text) == parse(f"{number:f}{suffix}")
    assert canonical(text) == text


@given(st.integers(0, 10**30), st.integers(0, 10**30))
def test_rounding_up_is_monotonic(a: int, b: int) -> None:
    low, high = sorted((a, b))
    for resource in ("cpu", "memory"):
        assert amount_of(resource, low) <= amount_of(resource, high)


@settings(max_examples=300)
@given(st.text(max_size=12) | st.floats() | st.integers() | st.booleans())
def test_any_value_is_read_or_refused(value: Quantity) -> None:
    with suppress(QuantityError):  # any other exception fails
        assert parse(canonical(value)) == parse(value)
