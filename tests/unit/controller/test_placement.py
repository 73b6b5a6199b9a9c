"""When an admitted gang counts as one that gets no nodes, and how that is said."""

from typing import Any

import msgspec
import pytest

from classifier import api
from classifier.instant import MINUTE, SECOND, format_instant
from classifier.policy import Policies, Timeout, scheduled_by
from controller.placement import PlacedPod, admitted_since, placement, pods_wanted
from tests.builders import T0, WorkloadBuilder, profile, workload

LIMIT = Timeout(10 * MINUTE, "CapacityProfile/a")
DUE = T0 + 10 * MINUTE
PLACED = "longer than 10m after admission (CapacityProfile/a)"


def pod(name: str, node: str = "", *, created: int = T0, message: str = "", **more: Any) -> PlacedPod:
    said = [{"type": "PodScheduled", "status": "False", "message": message}] if message else []
    raw = {
        "metadata": {"name": name, "uid": name, "creationTimestamp": format_instant(created)}
        | more.pop("metadata", {}),
        "spec": {"nodeName": node} if node else {},
        "status": {"phase": "Pending", "conditions": said, **more},
    }
    return msgspec.convert(raw, PlacedPod)


A, B = pod("a", "node-1"), pod("b", "node-2")
LONELY = pod("b", message="0/2 nodes are available")


@pytest.mark.parametrize(
    ("pods", "now", "late", "line"),
    [
        pytest.param([A, B], DUE, 0, "", id="all have nodes"),
        pytest.param([A, LONELY], DUE - 1, 0, "", id="not yet"),
        pytest.param(
            [A, LONELY],
            DUE,
            1,
            f"1 of 2 pod(s) have no node {PLACED}; pod b: 0/2 nodes are available",
            id="one is late",
        ),
        pytest.param(
            [pod("a"), pod("b")], DUE, 2, f"2 of 2 pod(s) have no node {PLACED}; pod a: not scheduled yet", id="all are"
        ),
        pytest.param([], DUE, 2, f"none of 2 pod(s) has been created {PLACED}", id="nobody has created any"),
        pytest.param([], DUE - 1, 0, "", id="nor need they exist yet"),
        pytest.param([A], DUE, 0, "", id="a launcher may come later"),
        pytest.param([A, pod("b", created=DUE - SECOND)], DUE, 0, "", id="one that replaces another has its own time"),
        pytest.param([A, B, pod("c", phase="Failed")], DUE, 0, "", id="one that failed is replaced"),
        pytest.param([A, B, pod("c", metadata={"deletionTimestamp": "x"})], DUE, 0, "", id="one is on its way out"),
        pytest.param([pod("a", created=T0 - 9 * MINUTE), A], DUE - 1, 0, "", id="gated pods were there before"),
    ],
)
def test_late(pods: list[PlacedPod], now: int, late: int, line: str) -> None:
    found = placement(2, T0, LIMIT, pods, now)
    assert (found.late, found.line) == (late, line)


def test_there_is_nothing_more_to_see_once_as_many_as_were_admitted_have_nodes() -> None:
    assert placement(2, T0, LIMIT, [A, B], DUE).complete
    assert not placement(3, T0, LIMIT, [A, B], DUE).complete
    assert not placement(1, T0, LIMIT, [A, LONELY], DUE).complete


def test_the_next_that_becomes_late_is_known() -> None:
    young = pod("c", created=T0 + 3 * MINUTE)
    assert placement(3, T0, LIMIT, [A, LONELY, young], DUE - 1).until == DUE
    assert placement(3, T0, LIMIT, [A, LONELY, young], DUE).until == DUE + 3 * MINUTE
    assert placement(2, T0, LIMIT, [A, B], DUE).until is None


def admitted() -> WorkloadBuilder:
    return workload().condition(api.QUOTA_RESERVED, True).condition(api.ADMITTED, True, at=T0)


@pytest.mark.parametrize(
    ("one", "since"),
    [
        pytest.param(admitted(), T0, id="admitted"),
        pytest.param(admitted().condition(api.PODS_READY, False), T0, id="pods not ready"),
        pytest.param(workload(), None, id="waits"),
        pytest.param(workload().condition(api.ADMITTED, False), None, id="not any more"),
        pytest.param(admitted().condition(api.PODS_READY, True), None, id="pods ready"),
        pytest.param(admitted().condition(api.FINISHED, True), None, id="finished"),
        pytest.param(admitted().condition(api.EVICTED, True), None, id="evicted"),
        pytest.param(admitted().active(False), None, id="inactive"),
    ],
)
def test_admitted_since(one: WorkloadBuilder, since: int | None) -> None:
    assert admitted_since(one.done()) == since


def test_pods_that_ended_are_not_wanted_any_more() -> None:
    raw = admitted().raw()
    sets = [{"name": "driver", "count": 1}, {"name": "workers", "count": 4}]
    raw["status"] |= {"admission": {"clusterQueue": "gpu", "podSetAssignments": sets}}
    struct = type(admitted().done())
    assert pods_wanted(msgspec.convert(raw, struct)) == 5
    raw["status"]["reclaimablePods"] = [{"name": "workers", "count": 3}]
    assert pods_wanted(msgspec.convert(raw, struct)) == 2
    assert pods_wanted(workload().done()) == 0


def test_of_several_profiles_the_smallest_limit_holds_and_none_is_none() -> None:
    def said(**limits: str | None) -> Policies:
        return Policies(
            profiles=tuple(
                (profile(name).admission(scheduledBy=text) if text is not None else profile(name)).done()
                for name, text in limits.items()
            )
        )

    assert scheduled_by(said(a=None)).timeout is None
    assert scheduled_by(said(a="10m", b="5m", c=None)) == (Timeout(5 * MINUTE, "CapacityProfile/b"), ())
    timeout, (warning,) = scheduled_by(said(a="10m", b="soon"))
    assert timeout == LIMIT
    assert warning.startswith("CapacityProfile/b: spec.admission.scheduledBy: ")
