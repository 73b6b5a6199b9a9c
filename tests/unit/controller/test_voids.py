"""Decisions that are undone again and again: who does it, told once, and shown for an hour."""

import copy
from typing import Any, cast

import pytest

from classifier import api, clock
from classifier.clock import Marker
from classifier.instant import HOUR
from classifier.objects import Workload
from classifier.objects.meta import ManagedField, Metadata
from classifier.policy import Policies
from classifier.state.kinds import KINDS
from controller import voids
from controller.act import Writer
from controller.decide import Facts
from controller.metrics import Metrics
from controller.voids import MANY, Voids, writer_of_active
from tests.builders import T0, job, workload
from tests.unit.controller.inmemory import UID, WORKLOAD, Cluster, Controller, now, overdue

GAUGE = "muster_contested_jobs"


def write_active(cluster: Cluster, writer: str, active: bool, marker: str | None = None) -> None:
    obj = copy.deepcopy(cluster.objects[WORKLOAD])
    obj["spec"]["active"] = active
    if marker is not None:
        obj["metadata"]["annotations"][api.COMMITTED] = marker
    cluster.writer = writer
    cluster.put(WORKLOAD, obj)


async def undo(cluster: Cluster, controller: Controller, times: int, writer: str) -> None:
    """Each time the wait is ended and somebody reactivates."""
    done = controller.value("muster_voids_total")
    cached = controller.engine.cache.workloads.objects
    for number in range(times):
        marker = clock.format_marker(Marker(now(), int(done) + number + 1, UID))
        write_active(cluster, api.CONTROLLER_MANAGER, False, marker)
        await controller.until(lambda: not cached["team/job-train-1a2b3"].active)
        write_active(cluster, writer, True)
        await controller.until(lambda: controller.value("muster_voids_total") == done + number + 1)  # noqa: B023


def told(cluster: Cluster) -> list[str]:
    return [event["note"] for event in cluster.events if event["reason"] == api.EVENT_UNDONE]


async def test_the_third_within_an_hour_is_told_once_with_the_writers_name_and_shown_until_the_hour_is_over(
    cluster: Cluster, start: Any, monkeypatch: Any
) -> None:
    overdue(cluster)
    async with start() as controller:
        await controller.until(lambda: cluster.mirrored)
        await undo(cluster, controller, MANY - 1, "argocd-controller")
        labels = {"cluster_queue": "gpu-a100", "writer": "argocd-controller"}
        assert controller.value(GAUGE, **labels) == 0
        assert told(cluster) == []
        await undo(cluster, controller, 2, "argocd-controller")
        await controller.until(lambda: len(told(cluster)) == 1)
        assert controller.value(GAUGE, **labels) == 1
        later = now() + HOUR + 1000
        monkeypatch.setattr(controller.engine._voids, "_now", lambda: later)
        assert controller.value(GAUGE, **labels) == 0
    (note,) = told(cluster)
    assert '"argocd-controller" reactivated it' in note


async def test_no_more_is_remembered_than_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tool undoes the decisions of thousands of jobs, hour after hour."""
    monkeypatch.setattr(voids, "JOBS", 10)
    at = T0
    kept = Voids(cast(Writer, None), Metrics(), lambda: at, "")

    async def undo(name: str) -> None:
        await kept.undone(Facts(workload().done(), job(name).done(), view, Policies()), "gpu", 1)

    view = KINDS["batch", "Job"]
    for number in range(25):
        await undo(f"job-{number}")
    assert len(kept._undone) == 10
    await undo("job-15")
    await undo("job-25")
    assert "uid-of-job-15" in kept._undone
    assert "uid-of-job-16" not in kept._undone
    at += HOUR - 1
    await undo("job-24")
    at += 1
    await undo("job-24")
    assert list(kept._undone) == ["uid-of-job-24"]
    assert len(kept._undone["uid-of-job-24"]) == 2


def test_the_writer_is_the_last_who_owns_active_and_is_not_muster() -> None:
    def field(manager: str, time: str, what: bytes = b'{"f:spec":{"f:active":{}}}') -> ManagedField:
        return ManagedField(manager=manager, time=time, fields_v1=what)  # type: ignore[arg-type]

    workload = Workload(
        metadata=Metadata(
            managed_fields=[
                field("kubectl-edit", "2026-11-29T10:00:00Z"),
                field("argocd-controller", "2026-11-29T11:00:00Z"),
                field(api.CONTROLLER_MANAGER, "2026-11-29T12:00:00Z"),
                field("kueue", "2026-11-29T12:00:00Z", b'{"f:status":{}}'),
            ]
        )
    )
    assert writer_of_active(workload) == "argocd-controller"
    assert writer_of_active(Workload()) == ""
