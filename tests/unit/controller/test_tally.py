"""Gauges by ClusterQueue, counted by difference."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Gauge

from controller.tally import Tally


def gauge() -> tuple[Gauge, CollectorRegistry]:
    registry = CollectorRegistry()
    return Gauge("muster_things", "Things.", ["cluster_queue"], registry=registry), registry


moves = st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from([None, "", "gpu", "cpu"])), max_size=50)


@given(moves)
def test_the_gauge_is_what_a_count_over_all_would_be(moves: list[tuple[str, str | None]]) -> None:
    things, registry = gauge()
    tally = Tally(things)
    under: dict[str, str] = {}
    for key, queue in moves:
        before = under.pop(key, None)
        if queue is not None:
            under[key] = queue
        assert tally.set(key, queue) is (before != queue)
    for queue, count in Counter({"": 0, "gpu": 0, "cpu": 0} | Counter(under.values())).items():
        assert (registry.get_sample_value("muster_things", {"cluster_queue": queue}) or 0) == count
    assert sorted(tally.members()) == sorted(under)
    assert len(tally) == len(under)
    assert all(key in tally for key in under)
