"""``make fuzz``: a broken law is found, made small and can be repeated."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.fuzz import __main__ as fuzz
from tests.fuzz.blocks import Failure
from tests.fuzz.run import block, broken
from tests.fuzz.shrink import shrink, smallest
from tests.graphs import heap_laws, laws
from tests.graphs.graph import Graph
from tests.graphs.heap import heap
from tests.graphs.laws import Seen
from tests.graphs.making import graph


def nobody_has_two_pods(seen: Seen) -> str | None:
    """A law that does not hold."""
    return "two pods" if len(seen.graph.pods) >= 2 else None


@pytest.fixture
def unlawful(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(laws, "LAWS", (nobody_has_two_pods,))


@pytest.mark.usefixtures("unlawful")
def test_a_block_ends_at_its_first_failure() -> None:
    found = block(range(100))
    assert found is not None
    assert (found.what, found.law) == ("graph", "nobody_has_two_pods")
    assert all(len(graph(seed).pods) < 2 for seed in range(found.seed))
    assert len(graph(found.seed).pods) >= 2
    assert f"graph({found.seed}, " in found.why


def test_a_block_that_breaks_nothing() -> None:
    assert block(range(20)) is None


@pytest.mark.usefixtures("unlawful")
def test_a_reproduction_has_only_what_it_needs() -> None:
    made = next(made for made in map(graph, range(100)) if len(made.pods) > 2)
    small = smallest(made)
    assert broken(small)
    assert [set(pod) - {"kind"} for pod in small.pods] == [{"metadata"}, {"metadata"}]
    assert (small.children, small.workloads, small.captured) == ([], [], [])


def test_what_is_raised_is_a_broken_law(monkeypatch: pytest.MonkeyPatch) -> None:
    def explodes(asked: object) -> str | None:
        raise ZeroDivisionError("why")

    monkeypatch.setattr(heap_laws, "LAWS", (explodes,))
    found = broken(heap(1))
    assert found is not None
    assert str(found) == "heap(1): explodes: ZeroDivisionError: why"
    assert smallest(heap(1)).captured == {}


def test_shrinking_ends_when_nothing_more_can_go() -> None:
    raw = {"a": [1, {"b": "x" * 100, "c": 2}, 3], "d": {"e": 1}, "metadata": {"f": 1}}

    def breaks(candidate: Any) -> bool:
        return "xx" in str(candidate)

    assert shrink(raw, breaks) == {"a": [{"b": "x" * 25}], "metadata": {}}
    assert shrink(raw, lambda candidate: False) == raw


@pytest.mark.usefixtures("unlawful")
def test_a_failure_writes_what_repeats_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seed = next(seed for seed in range(100) if len(graph(seed).pods) >= 2)
    failure = Failure(seed, "graph", "nobody_has_two_pods", "two pods")
    monkeypatch.setattr(fuzz, "run", lambda seeds, say: failure if seed in seeds else None)
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    assert fuzz.main(["--seed", "0", "--count", str(seed)]) == 0
    assert fuzz.main(["--seed", "0", "--count", "100"]) == 1
    (file,) = tmp_path.iterdir()
    said = capsys.readouterr().out
    assert f"seed {seed} breaks a law" in said
    assert f"--replay {file}" in said
    assert broken(msgspec.json.decode(file.read_bytes(), type=Graph))
    assert fuzz.main(["--replay", str(file)]) == 1
    monkeypatch.setattr(laws, "LAWS", ())
    assert fuzz.main(["--replay", str(file)]) == 0
