"""Copies of different age: an owner older than its Workload is read before its wait is ended."""

from typing import Any

from classifier import api, clock
from classifier.clock import Ledger
from classifier.instant import MINUTE, format_instant
from tests.apiserver import silent
from tests.unit.controller.gangs import GANG, GROUP, at, ledger, mirrors, waiting
from tests.unit.controller.inmemory import JOB, POLICY, WORKLOAD, Cluster, Controller, fence, now, overdue


async def test_an_owner_that_is_told_of_late_is_read_before_its_wait_is_ended(cluster: Cluster, start: Any) -> None:
    """Another replica has noted a reactivation: the new ledger is there, and this one's copy of the job is older."""
    overdue(cluster)
    cluster.remove(POLICY)
    cluster.fault, cluster.faulty = silent(), lambda call: call.watch and call.path == api.JOBS.path()
    async with start() as controller:
        await controller.until(lambda: controller.value("muster_overdue_workloads", cluster_queue="gpu-a100") == 1)
        again = now()
        anew = {
            api.ADMISSION_CLOCK: clock.format_ledger(Ledger("uid-of-train", again, 2)),
            api.ADMISSION_DEADLINE: format_instant(again + 30 * MINUTE),
        }
        cluster.edit(JOB, lambda obj: obj["metadata"]["annotations"].update(anew))
        cluster.edit(WORKLOAD, lambda obj: obj["metadata"].update(labels={"example.com/seen": "later"}))
        cached = controller.engine.cache.workloads.objects
        version = cluster.objects[WORKLOAD]["metadata"]["resourceVersion"]
        await controller.until(lambda: cached["team/job-train-1a2b3"].metadata.resource_version == version)
        fence(cluster)
        # It goes by the new ledger from then on.
        wanted = anew[api.ADMISSION_DEADLINE]
        await controller.until(lambda: cluster.annotations(WORKLOAD)[api.ADMISSION_DEADLINE] == wanted)
    assert api.COMMITTED not in cluster.annotations(WORKLOAD)


async def ahead_of_pods(cluster: Cluster, controller: Controller) -> None:
    """The Workload is written after anything that was heard of pods; then the fence lets waits be ended."""
    await controller.until(lambda: controller.value("muster_overdue_workloads", cluster_queue="gpu-a100") == 1)
    cluster.edit(GANG, lambda obj: obj["metadata"].update(labels={"example.com/seen": "later"}))
    version = cluster.objects[GANG]["metadata"]["resourceVersion"]
    cached = controller.engine.cache.workloads.objects
    await controller.until(lambda: cached["team/gang"].metadata.resource_version == version)
    fence(cluster)


async def test_a_gang_of_many_is_read_at_once_before_its_wait_is_ended(cluster: Cluster, start: Any) -> None:
    names = [f"p-{number}" for number in range(30)]
    waiting(cluster, *names)
    cluster.remove(POLICY)
    async with start() as controller:
        await ahead_of_pods(cluster, controller)
        await controller.until(lambda: mirrors(cluster, *names) == {"uid-of-gang/1"})
    asked = [call for call in cluster.calls if call.method == "GET" and not call.watch]
    assert not [call for call in asked if call.path.startswith(at("p-"))]
    assert [call for call in asked if f"{GROUP}=gang" in call.query.get("labelSelector", "")]


async def test_a_gang_whose_name_no_label_bears_is_read_pod_by_pod(cluster: Cluster, start: Any) -> None:
    waiting(cluster, "p-0", "p-1")
    for name in ("p-0", "p-1"):
        cluster.edit(at(name), lambda obj: obj["metadata"]["labels"].pop(GROUP))
        cluster.edit(at(name), lambda obj: obj["metadata"]["annotations"].update({GROUP: "gang"}))
    cluster.remove(POLICY)
    async with start() as controller:
        await ahead_of_pods(cluster, controller)
        await controller.until(lambda: mirrors(cluster, "p-0", "p-1") == {"uid-of-gang/1"})
    assert {call.path for call in cluster.calls if call.method == "GET"} >= {at("p-0"), at("p-1")}


async def test_a_pod_that_is_told_of_late_is_read_before_the_wait_of_its_gang_is_ended(
    cluster: Cluster, start: Any
) -> None:
    """Its ledger tells of a reactivation that no watch has brought yet."""
    waiting(cluster, "p-0", "p-1")
    cluster.remove(POLICY)
    cluster.fault, cluster.faulty = silent(), lambda call: call.watch and call.path == api.PODS.path()
    async with start() as controller:
        await controller.until(lambda: controller.value("muster_overdue_workloads", cluster_queue="gpu-a100") == 1)
        anew = {api.ADMISSION_CLOCK: ledger("p-1", now(), attempt=2)}
        cluster.edit(at("p-1"), lambda obj: obj["metadata"]["annotations"].update(anew))
        await ahead_of_pods(cluster, controller)
        await controller.until(lambda: '"attempt":2' in cluster.annotations(at("p-0"))[api.ADMISSION_CLOCK])
    assert api.COMMITTED not in cluster.annotations(GANG)
