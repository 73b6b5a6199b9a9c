"""Lines of a torn stream."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from classifier.cluster.lines import Lines, LineTooLong


@given(st.binary(max_size=200), st.lists(st.integers(0, 200)))
def test_however_it_is_torn_the_lines_are_the_same(body: bytes, cuts: list[int]) -> None:
    lines = Lines(limit=1000)
    edges = [0, *sorted(min(cut, len(body)) for cut in cuts), len(body)]
    got = [line for start, end in itertools.pairwise(edges) for line in lines.feed(body[start:end])]
    assert got == [line for line in body.split(b"\n")[:-1] if line.strip()]


@pytest.mark.parametrize(
    "chunks",
    [[b"x" * 11], [b"x" * 6, b"x" * 5], [b"x" * 6, b"x" * 5 + b"\n"], [b"ok\n" + b"x" * 11 + b"\nok\n"]],
    ids=["at once", "bit by bit", "its end in the last bit", "among others"],
)
def test_a_line_beyond_the_limit_is_refused(chunks: list[bytes]) -> None:
    lines = Lines(limit=10)
    with pytest.raises(LineTooLong):
        list(map(lines.feed, chunks))


def test_a_line_of_just_the_limit_passes() -> None:
    assert Lines(limit=10).feed(b"x" * 10 + b"\nrest") == [b"x" * 10]


class Counting(bytes):
    """Bytes that count how much of them is copied by adding."""

    added = 0

    def __radd__(self, other: bytes) -> "Counting":
        Counting.added += len(other)
        return Counting(bytes(other) + bytes(self))


def test_a_long_line_in_many_chunks_is_joined_once() -> None:
    lines = Lines(limit=2**20)
    for _ in range(1000):
        assert lines.feed(Counting(b"x" * 100)) == []
    assert lines.feed(b"\n") == [b"x" * 100_000]
    assert Counting.added == 0
