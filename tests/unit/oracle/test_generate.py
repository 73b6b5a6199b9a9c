"""The generator of the oracle's cases: the same every time, and varied enough to prove something."""

import json
from collections import Counter
from typing import Final

import pytest

from classifier.cluster.snapshot import TYPES
from e2e.oracle.case import Case
from e2e.oracle.gangs import MAKERS
from e2e.oracle.generate import COUNT, DEFAULTS, SEED, case, cases, surroundings
from e2e.oracle.objects import decode

#: How often each must occur, at least.
OFTEN: Final = {
    **dict.fromkeys(("one flavor", "two flavors", "topology", "two pools", "taint", "selector", "node affinity"), 15),
    **dict.fromkeys(("two", "init", "sidecar", "init after sidecar", "pod level", "pod level limit", "overhead"), 20),
    **dict.fromkeys(("both", "limits only", "requests only", "limits above", "mixed", "slot", "too large"), 20),
    **dict.fromkeys(("quota exact", "quota plenty", "quota one less", "quota half", "quota zero"), 20),
    **dict.fromkeys(("from own", "from lender", "from borrowing limit", "from lending limit", "from parent"), 15),
    **dict.fromkeys(("covers pods", "uncovered", "oracle-defaults", "oracle-bounds", "ignored", "transformed"), 8),
    **dict.fromkeys(("anti-affinity", "spread", "host port", "host network", "arch", "two groups", "no replicas"), 8),
    **dict.fromkeys(("topology required", "topology preferred", "topology slices", "topology unknown level"), 4),
    **dict.fromkeys(("taint listed", "taint tolerated", "taint unlisted", "selects nobody", "selects others"), 4),
    **dict.fromkeys(("partial admission", "elastic", "no pods", "several roles", "declared podsets"), 3),
    **dict.fromkeys(("depends on Complete", "depends on Ready", "launcher as worker", "no leader template"), 2),
    **dict.fromkeys(("runtime mpi", "runtime initializer", "runtime launcher", "runtime patch", "several hosts"), 2),
    **dict.fromkeys(("autoscaling", "fault tolerance", "submission HTTPMode", "submission SidecarMode"), 2),
    **dict.fromkeys(("resources per node", "nodes of the runtime", "flavors contradict", "fraction"), 2),
}


@pytest.fixture(scope="module")
def drawn() -> list[Case]:
    return cases(SEED, COUNT)


def test_the_same_seed_draws_the_same_cases(drawn: list[Case]) -> None:
    again = cases(SEED, COUNT)
    assert [json.dumps([c.documents, c.world, c.profiles]) for c in drawn] == [
        json.dumps([c.documents, c.world, c.profiles]) for c in again
    ]


def test_a_case_depends_on_its_number_alone(drawn: list[Case]) -> None:
    assert case(SEED, 17).documents == drawn[17].documents
    assert case(SEED + 1, 17).world != drawn[17].world


def test_every_kind_is_drawn_as_often(drawn: list[Case]) -> None:
    assert Counter(c.kind for c in drawn) == dict.fromkeys(MAKERS, COUNT // len(MAKERS))


@pytest.mark.parametrize("tag", OFTEN)
def test_what_is_special_occurs_often_enough(drawn: list[Case], tag: str) -> None:
    assert sum(tag in c.tags for c in drawn) >= OFTEN[tag]


def test_no_name_is_taken_twice(drawn: list[Case]) -> None:
    documents = [*surroundings(), *(d for c in drawn for d in [*c.world, *c.documents])]
    names = Counter((d["kind"], d["metadata"].get("namespace"), d["metadata"]["name"]) for d in documents)
    assert {name for name, count in names.items() if count > 1} == set()


def test_every_job_can_be_read(drawn: list[Case]) -> None:
    for each in drawn:
        assert isinstance(decode(each.documents[0]), TYPES[each.resource])


@pytest.mark.parametrize("seed", range(SEED, SEED + 4))
def test_no_pod_is_drawn_that_a_limit_range_makes_invalid(seed: int) -> None:
    """A LimitRange's default limit of a container may not be above the limit of the pod as a whole."""
    for one in cases(seed, COUNT):
        if one.real and one.namespace == DEFAULTS:
            assert "pod level limit" not in one.tags, one.name
