"""LeaderWorkerSet: the podsets of one group."""

from typing import Any

import pytest

from classifier.fit.gang import GangError, Unresolved
from classifier.objects import LeaderWorkerSet
from tests.unit.fit.kinds.shapes import counts, made, podsets, template


def lws(leader: bool = False, replicas: int | None = None, **group: Any) -> LeaderWorkerSet:
    spec: dict[str, Any] = {"leaderWorkerTemplate": {"workerTemplate": template(), **group}}
    if leader:
        spec["leaderWorkerTemplate"]["leaderTemplate"] = template()
    if replicas is not None:
        spec["replicas"] = replicas
    return made(LeaderWorkerSet, spec)


@pytest.mark.parametrize(
    ("built", "podsets_"),
    [
        (lws(), {"main": 1}),
        (lws(size=4), {"main": 4}),
        (lws(size=4, replicas=3), {"main": 4}),
        (lws(leader=True), {"leader": 1, "worker": 0}),
        (lws(leader=True, size=4, replicas=3), {"leader": 1, "worker": 3}),
        (LeaderWorkerSet(), {"main": 1}),
    ],
)
def test_a_group_not_all_groups(built: LeaderWorkerSet, podsets_: dict[str, int]) -> None:
    assert counts(built) == podsets_


def test_every_template_is_found() -> None:
    at = "/spec/leaderWorkerTemplate"
    assert [podset.path for podset in podsets(lws(leader=True))] == [f"{at}/leaderTemplate", f"{at}/workerTemplate"]


def test_no_groups_wait_for_nothing() -> None:
    with pytest.raises(Unresolved, match=r"spec\.replicas is 0"):
        podsets(lws(size=4, replicas=0))


@pytest.mark.parametrize(
    ("fields", "says"), [({"size": 0}, "size is 0"), ({"size": -1}, "size is -1"), ({"replicas": -1}, "replicas is -1")]
)
def test_counts_the_api_server_refuses(fields: dict[str, Any], says: str) -> None:
    with pytest.raises(GangError, match=says):
        podsets(lws(**fields))
