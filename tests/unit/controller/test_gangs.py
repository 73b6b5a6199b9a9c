"""Groups of pods and bare pods under the whole controller: one decision, told by every pod."""

from typing import Any

import msgspec

from classifier import api
from classifier.instant import HOUR, MINUTE, SECOND, format_instant
from tests.builders import workload
from tests.unit.controller.gangs import GANG, at, gang, ledger, mirrors, pod, waiting
from tests.unit.controller.inmemory import Cluster, now


async def test_the_wait_of_a_gang_is_ended_once_and_every_pod_says_so(cluster: Cluster, start: Any) -> None:
    waiting(cluster, "p-0", "p-1", "p-2")
    async with start() as controller:
        await controller.until(lambda: mirrors(cluster, "p-0", "p-1", "p-2") == {"uid-of-gang/1"})
        await controller.until(lambda: controller.value("muster_pending_mirrors") == 0)
        assert controller.value("muster_timeouts_total", cluster_queue="gpu-a100") == 1
    assert cluster.objects[GANG]["spec"]["active"] is False
    (event,) = cluster.events
    assert event["regarding"]["kind"] == "Pod"
    assert event["regarding"]["uid"] in {"uid-of-p-0", "uid-of-p-1", "uid-of-p-2"}
    assert event["related"]["uid"] == "uid-of-gang"
    assert event["metadata"]["name"].startswith("gang.")


async def test_a_gang_of_which_a_pod_runs_is_not_told_yet(cluster: Cluster, start: Any) -> None:
    waiting(cluster, "p-0", "p-1")
    cluster.edit(at("p-1"), lambda obj: obj["spec"].update(schedulingGates=[]))
    async with start() as controller:
        await controller.until(lambda: controller.value("muster_pending_mirrors") == 1)
        assert mirrors(cluster, "p-0", "p-1") == {None}
        cluster.edit(at("p-1"), lambda obj: obj.update(status={"phase": "Failed"}))
        await controller.until(lambda: mirrors(cluster, "p-0", "p-1") == {"uid-of-gang/1"})


async def test_a_pod_that_comes_late_is_told_of_the_same_wait(cluster: Cluster, start: Any) -> None:
    since = now() // SECOND * SECOND
    cluster.put(at("p-0"), pod("p-0", created=since).raw())
    cluster.put(GANG, gang("p-0").created(since).raw())
    async with start() as controller:
        await controller.until(lambda: api.ADMISSION_DEADLINE in cluster.annotations(GANG))
        cluster.put(at("p-9"), pod("p-9", created=since + MINUTE).raw())
        await controller.until(lambda: api.ADMISSION_DEADLINE in cluster.annotations(at("p-9")))
        told = [msgspec.json.decode(cluster.annotations(at(name))[api.ADMISSION_CLOCK]) for name in ("p-0", "p-9")]
    assert [each.pop("uid") for each in told] == ["uid-of-p-0", "uid-of-p-9"]
    assert told[0] == told[1]
    assert told[0]["origin"] == format_instant(since)


async def test_a_gang_that_is_reactivated_waits_anew_and_no_pod_says_otherwise(cluster: Cluster, start: Any) -> None:
    waiting(cluster, "p-0", "p-1")
    async with start() as controller:
        await controller.until(lambda: mirrors(cluster, "p-0", "p-1") == {"uid-of-gang/1"})
        before = len([call for call in cluster.writes if call.method == "PATCH"])
        cluster.edit(GANG, lambda obj: obj["spec"].update(active=True))
        await controller.until(lambda: mirrors(cluster, "p-0", "p-1") == {None})
        await controller.until(lambda: controller.engine._queue.idle)
    assert api.COMMITTED not in cluster.annotations(GANG)
    for name in ("p-0", "p-1"):
        assert msgspec.json.decode(cluster.annotations(at(name))[api.ADMISSION_CLOCK])["attempt"] == 2
    # In this order: ledger, Workload, mirror.
    patched = [call.path for call in cluster.writes if call.method == "PATCH"][before:]
    assert (patched[0], patched[-1]) != (GANG, GANG)
    assert GANG in patched


async def test_mirrors_of_a_gang_whose_workload_is_gone_are_taken_off(cluster: Cluster, start: Any) -> None:
    for name in ("p-0", "p-1"):
        dead = pod(name).annotate(api.ADMISSION_OUTCOME, "TimedOut").annotate(api.ADMISSION_OUTCOME_OF, "uid/1")
        cluster.put(at(name), dead.annotate(api.ADMISSION_MESSAGE, "gone").raw())
    async with start() as controller:
        await controller.until(
            lambda: not any(set(api.MIRROR_KEYS) & set(cluster.annotations(at(name))) for name in ("p-0", "p-1"))
        )


async def test_a_bare_pod_is_bounded_like_a_job(cluster: Cluster, start: Any) -> None:
    since = now() - HOUR
    deadline = format_instant(since + 30 * MINUTE)
    alone = pod("solo", group="", created=since).annotate(api.ADMISSION_CLOCK, ledger("solo", since))
    cluster.put(at("solo"), alone.annotate(api.ADMISSION_DEADLINE, deadline).raw())
    its = workload("pod-solo").made_of("Pod", "v1", "solo").label(api.JOB_UID, "uid-of-solo").created(since)
    cluster.put(api.WORKLOADS.path("team", "pod-solo"), its.annotate(api.ADMISSION_DEADLINE, deadline).raw())
    async with start() as controller:
        await controller.until(lambda: mirrors(cluster, "solo") == {"uid-of-pod-solo/1"})
