"""Kinds that not every cluster has: they come and go, others run them, and a job may stand above."""

from typing import Any

import pytest

from classifier import api
from tests.apiserver import answer
from tests.unit.controller.gangs import RAY, RAY_WORKLOAD, mirrors, ray, waiting
from tests.unit.controller.inmemory import Cluster


async def test_kinds_that_are_not_installed_hold_up_nothing_and_are_followed_once_they_are(
    cluster: Cluster, start: Any
) -> None:
    optional = [resource.plural for resource in (api.RAY_JOBS, api.JOBSETS, api.TRAIN_JOBS, api.APP_WRAPPERS)]
    cluster.refusals.update(dict.fromkeys(optional, 404))
    waiting(cluster, "p-0")
    async with start() as controller:
        await controller.until(lambda: mirrors(cluster, "p-0") == {"uid-of-gang/1"})
        assert not controller.engine.not_ready
        del cluster.refusals["rayjobs"]
        ray(cluster)
        await controller.until(lambda: api.ADMISSION_OUTCOME_OF in cluster.annotations(RAY))


async def test_a_kind_that_cannot_be_followed_stops_the_commits_of_that_kind_alone(
    cluster: Cluster, start: Any
) -> None:
    cluster.fault, cluster.faulty = answer(500), lambda call: "/rayjobs" in call.path and call.path != RAY
    ray(cluster)
    waiting(cluster, "p-0")
    async with start() as controller:
        await controller.until(lambda: mirrors(cluster, "p-0") == {"uid-of-gang/1"})
        await controller.until(lambda: controller.value("muster_overdue_workloads", cluster_queue="gpu-a100") == 1)
        assert api.COMMITTED not in cluster.annotations(RAY_WORKLOAD)
        cluster.fault = None
        await controller.until(lambda: api.ADMISSION_OUTCOME_OF in cluster.annotations(RAY))


async def test_a_kind_that_is_there_and_is_answered_404_stops_the_commits_of_that_kind(
    cluster: Cluster, start: Any
) -> None:
    """As by an API server that has only just started: who has asked for more time since is not seen."""
    ray(cluster)
    async with start() as controller:
        await controller.until(lambda: bool(controller.engine.cache.owners["ray.io", "RayJob"].objects))
        cluster.refusals["rayjobs"] = 404
        cluster.compact()
        cluster.cut_watches(which="rayjobs")
        await controller.until(lambda: controller.engine.cache.owners["ray.io", "RayJob"].refused == 404)
        assert "rayjobs" in (controller.engine.cache.lost(("ray.io", "RayJob")) or "")
        assert controller.engine.cache.lost(("jobset.x-k8s.io", "JobSet")) is None


@pytest.mark.parametrize("spec", [{"managedBy": "kueue.x-k8s.io/multikueue"}, {"managedBy": "example.com/other"}])
async def test_a_job_that_another_controller_runs_is_let_alone(cluster: Cluster, start: Any, spec: Any) -> None:
    ray(cluster, **spec)
    waiting(cluster, "p-0")
    async with start() as controller:
        await controller.until(lambda: mirrors(cluster, "p-0") == {"uid-of-gang/1"})
        await controller.until(lambda: controller.engine._queue.idle)
    assert not {RAY, RAY_WORKLOAD} & {call.path for call in cluster.writes}


def controlled(api_version: str, kind: str, name: str) -> list[dict[str, Any]]:
    reference = {"apiVersion": api_version, "kind": kind, "name": name, "uid": f"uid-of-{name}", "controller": True}
    return [reference]


def pipeline(cluster: Cluster, *, of: list[dict[str, Any]] | None = None) -> None:
    """A kind that nobody here knows, controls the RayJob."""
    resources = {"resources": [{"name": "pipelines", "kind": "Pipeline", "namespaced": True}]}
    cluster.put("/apis/example.com/v1", resources)
    metadata = {"name": "line", "namespace": "team", "uid": "uid-of-line", "ownerReferences": of}
    cluster.put("/apis/example.com/v1/namespaces/team/pipelines/line", {"metadata": metadata})
    cluster.edit(
        RAY, lambda obj: obj["metadata"].update(ownerReferences=controlled("example.com/v1", "Pipeline", "line"))
    )


async def test_what_is_part_of_a_job_through_others_is_let_alone(cluster: Cluster, start: Any) -> None:
    ray(cluster)
    pipeline(cluster, of=controlled("jobset.x-k8s.io/v1alpha2", "JobSet", "whole"))
    waiting(cluster, "p-0")
    async with start() as controller:
        await controller.until(lambda: mirrors(cluster, "p-0") == {"uid-of-gang/1"})
        await controller.until(lambda: controller.engine._queue.idle)
    assert not {RAY, RAY_WORKLOAD} & {call.path for call in cluster.writes}


@pytest.mark.parametrize("closed", [False, True], ids=["nobody above", "may not be read"])
async def test_what_no_job_stands_above_is_bounded(cluster: Cluster, start: Any, closed: bool) -> None:
    ray(cluster)
    pipeline(cluster)
    if closed:
        cluster.refusals["pipelines"] = 403
    async with start() as controller:
        await controller.until(lambda: api.ADMISSION_OUTCOME_OF in cluster.annotations(RAY))
