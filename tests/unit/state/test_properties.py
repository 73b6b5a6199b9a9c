"""Properties of reference/classification.md §C0 and §D: on random graphs, and on every vector of the page."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from classifier.state import classify
from classifier.state.settings import Mode
from tests.builders import T0
from tests.graphs.graph import VIEWS
from tests.graphs.laws import LAWS, look, plain_truths
from tests.graphs.making import graph
from tests.unit.state import test_vectors_ended, test_vectors_running, test_vectors_stopped
from tests.unit.state.builders import FORBIDDEN, Captured, Input, PodTold, Said, captured, pod, said

VECTORS = [*test_vectors_ended.VECTORS, *test_vectors_running.VECTORS, *test_vectors_stopped.VECTORS]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
@settings(max_examples=60)
@given(seed=st.integers(0, 2**32 - 1), kind=st.sampled_from(sorted(VIEWS)))
def test_every_graph(law: object, seed: int, kind: str) -> None:
    assert callable(law)
    assert law(look(graph(seed, kind))) is None


@pytest.mark.parametrize(("given_", "want"), VECTORS)
def test_C0_the_invariants(given_: Input, want: Said) -> None:
    assert plain_truths(given_.explain()) is None
    assert given_.explain().observation == classify(given_.case, given_.settings, T0)


@pytest.mark.parametrize(("given_", "want"), VECTORS)
def test_D1_the_order_of_the_objects_never_matters(given_: Input, want: Said) -> None:
    backwards = Input(given_.settings.mode, given_.things[::-1])
    assert said(backwards.observe()) == said(given_.observe())


@pytest.mark.parametrize(("given_", "want"), [v for v in VECTORS if v.values[1].R])
def test_D2_an_earlier_run_changes_nothing(given_: Input, want: Said) -> None:
    earlier = pod("a").run(0, 0).on("gone").failed().exit(9, at="09:00:00")
    assert said(given_.but(earlier).observe()) == said(given_.observe())
    assert said(given_.but(captured(earlier)).observe()) == said(given_.observe())


@pytest.mark.parametrize(("given_", "want"), test_vectors_ended.VECTORS)
def test_D3_an_ended_objects_pods_say_the_same_once_captured(given_: Input, want: Said) -> None:
    live = {thing.done().uid for thing in given_.things if isinstance(thing, PodTold)}
    moved = [
        captured(thing) if isinstance(thing, PodTold) else thing
        for thing in given_.things
        if not (isinstance(thing, Captured) and thing.pod.done().uid in live)
    ]
    assert said(Input(given_.settings.mode, tuple(moved)).observe()) == said(given_.observe())


@pytest.mark.parametrize(("given_", "want"), VECTORS)
def test_D4_without_nodes_none_is_lost(given_: Input, want: Said) -> None:
    assert said(given_.but(FORBIDDEN).observe()).provenance != "node"


@pytest.mark.parametrize(("given_", "want"), VECTORS)
def test_D5_a_detail_is_one_line_without_stray_ends(given_: Input, want: Said) -> None:
    detail = given_.observe().cause.detail
    assert not re.search(r"[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]|^[;\s]|[;\s]$", detail)


@pytest.mark.parametrize("mode", Mode)
def test_what_was_seen_when_is_all_that_differs(mode: Mode) -> None:
    given_ = test_vectors_ended.VECTORS[0].values[0].but(mode=mode)
    early, late = (classify(given_.case, given_.settings, at) for at in (T0, T0 + 1))
    assert early != late
    assert early.same(late)
