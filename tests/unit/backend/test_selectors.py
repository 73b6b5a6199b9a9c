"""Few selectors that name all of what is wanted, and nothing that a server would refuse."""

import pytest

from classifier.cluster.reading import selectors
from tests.selection import labelled

TABLE: dict[str, tuple[list[dict[str, str]], list[str]]] = {
    "one": ([{"a": "x"}], ["a=x"]),
    "one twice": ([{"a": "x"}, {"a": "x"}], ["a=x"]),
    "several values": ([{"a": "y"}, {"a": "x"}], ["a in (x,y)"]),
    "several keys": ([{"a": "x"}, {"b": "y"}], ["a=x", "b=y"]),
    "pairs": ([{"b": "y", "a": "x"}], ["a=x,b=y"]),
    "pairs that another names already": ([{"a": "x"}, {"a": "x", "b": "y"}], ["a=x"]),
    "pairs beside another value": ([{"a": "z"}, {"a": "x", "b": "y"}], ["a=z", "a=x,b=y"]),
    "nothing": ([], []),
    "no labels, which would be all": ([{}], []),
    "what no label can hold": ([{"a": "x,b"}, {"a": "x" * 64}, {"a": ""}, {"a": "-x"}, {"a": "x", "b": "(y)"}], []),
}


@pytest.mark.parametrize("name", TABLE)
def test_selectors(name: str) -> None:
    wanted, expected = TABLE[name]
    assert list(selectors(wanted)) == expected


@pytest.mark.parametrize(
    ("selector", "held"),
    [
        ("a=x", True),
        ("a==x", True),
        ("a=y", False),
        ("a!=x", False),
        ("c!=x", True),
        ("a in (y, x)", True),
        ("a in (y)", False),
        ("a notin (x)", False),
        ("c notin (x)", True),
        ("a", True),
        ("c", False),
        ("!c", True),
        ("!a", False),
        ("a in (x,y),example.com/b=z,!c", True),
        ("a in (x,y),example.com/b=y", False),
        ("", True),
    ],
)
def test_the_double_reads_selectors_as_api_servers_do(selector: str, held: bool) -> None:
    assert labelled({"metadata": {"labels": {"a": "x", "example.com/b": "z"}}}, selector) is held
