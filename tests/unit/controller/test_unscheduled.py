"""A gang that is admitted and gets no nodes: counted, told once, and nothing of it is ended."""

from typing import Any

import pytest

from classifier import api
from classifier.instant import HOUR, MINUTE, format_instant, parse_instant
from controller import unscheduled
from tests.apiserver import Call
from tests.builders import job, profile, workload
from tests.selection import Object
from tests.unit.controller.inmemory import EVENTS, JOB, WORKLOAD, Cluster, Controller, now

PROFILE = api.CAPACITY_PROFILES.path(name="gpu-a100-8")
LABELS = {"batch.kubernetes.io/job-name": "train"}
PODS = api.PODS.path("team")


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unscheduled, "AGAIN", 20)


def policy(cluster: Cluster, **admission: str) -> None:
    raw = profile().admission(**admission).raw()
    cluster.put(PROFILE, raw)
    queue = cluster.objects[api.CLUSTER_QUEUES.path(name="gpu-a100")]
    queue["spec"]["resourceGroups"] = [{"coveredResources": ["cpu"], "flavors": [{"name": "a100-scale"}]}]
    cluster.put(api.CLUSTER_QUEUES.path(name="gpu-a100"), queue)


def admit(cluster: Cluster, since: int) -> None:
    running = job().created(since - HOUR).raw()
    running["spec"]["suspend"] = False
    cluster.put(JOB, running)
    raw = workload().created(since - HOUR).condition(api.QUOTA_RESERVED, True, at=since).raw()
    admitted = {"type": api.ADMITTED, "status": "True", "lastTransitionTime": format_instant(since)}
    raw["status"]["conditions"] = [c for c in raw["status"]["conditions"] if c["type"] != api.ADMITTED] + [admitted]
    assignment = {"name": "main", "count": 2, "flavors": {"cpu": "a100-scale"}}
    raw["status"]["admission"] = {"clusterQueue": "gpu-a100", "podSetAssignments": [assignment]}
    cluster.put(WORKLOAD, raw)


def pod(cluster: Cluster, name: str, since: int, node: str | None = None, labels: dict[str, str] = LABELS) -> None:
    meta = {
        "name": name,
        "namespace": "team",
        "uid": name,
        "labels": labels,
        "creationTimestamp": format_instant(since),
    }
    spec = {"nodeName": node} if node else {}
    cluster.put(f"{PODS}/{name}", {"metadata": meta, "spec": spec, "status": {"phase": "Pending"}})


def told(cluster: Cluster) -> list[Object]:
    return [event for event in cluster.events if event["reason"] == api.EVENT_UNSCHEDULED]


def value(controller: Controller) -> float:
    return controller.value("muster_unscheduled_workloads", cluster_queue="gpu-a100")


def looks(cluster: Cluster) -> list[Call]:
    return [call for call in cluster.calls if call.path == PODS and "job-name" in str(call.query)]


async def test_it_is_counted_and_told_once_and_no_more_when_its_pods_have_nodes(cluster: Cluster, start: Any) -> None:
    since = now() - HOUR
    policy(cluster, scheduledBy="10m")
    admit(cluster, since)
    pod(cluster, "train-0", since, "node-1")
    pod(cluster, "train-1", since)
    pod(cluster, "other-0", since, labels={"batch.kubernetes.io/job-name": "other"})
    async with start() as controller:
        await controller.until(lambda: value(controller) == 1)
        await controller.until(lambda: len(told(cluster)) == 1)
        (event,) = told(cluster)
        assert (event["type"], event["regarding"]["kind"], event["regarding"]["name"]) == ("Warning", "Job", "train")
        assert event["note"] == (
            "1 of 2 pod(s) have no node longer than 10m after admission (CapacityProfile/gpu-a100-8); "
            "pod train-1: not scheduled yet"
        )
        before = len(looks(cluster))
        await controller.until(lambda: len(looks(cluster)) > before + 1)
        sent = [call for call in cluster.calls if call.method == "POST" and call.path == EVENTS]
        assert len(sent) == 1
        pod(cluster, "train-1", since, "node-1")
        await controller.until(lambda: value(controller) == 0)
    # Another replica, or the same after a restart.
    pod(cluster, "train-1", since)
    async with start() as controller:
        await controller.until(lambda: value(controller) == 1)
        assert len(told(cluster)) == 1
    assert cluster.objects[WORKLOAD]["spec"].get("active", True)


async def test_its_time_counts_from_its_admission_and_a_profile_may_change_it(cluster: Cluster, start: Any) -> None:
    since = now() - 5 * MINUTE
    policy(cluster, scheduledBy="10m")
    admit(cluster, since)
    pod(cluster, "train-0", since)
    async with start() as controller:
        waiting = controller.engine._unscheduled._deadlines._current
        await controller.until(lambda: "team/job-train-1a2b3" in waiting)
        at, _ = waiting["team/job-train-1a2b3"]
        assert at == parse_instant(format_instant(since)) + 10 * MINUTE
        assert looks(cluster) == []
        policy(cluster, scheduledBy="4m")
        await controller.until(lambda: value(controller) == 1)
        policy(cluster, timeout="10m")
        await controller.until(lambda: value(controller) == 0)


@pytest.mark.parametrize("gone", [api.EVICTED, api.FINISHED, api.PODS_READY])
async def test_it_counts_no_more_when_its_admission_is_over(cluster: Cluster, start: Any, gone: str) -> None:
    since = now() - HOUR
    policy(cluster, scheduledBy="10m")
    admit(cluster, since)
    async with start() as controller:
        await controller.until(lambda: value(controller) == 1 and bool(told(cluster)))
        assert "none of 2 pod(s) has been created" in told(cluster)[0]["note"]
        condition = {"type": gone, "status": "True", "lastTransitionTime": format_instant(now())}
        cluster.edit(WORKLOAD, lambda one: one["status"]["conditions"].append(condition))
        await controller.until(lambda: value(controller) == 0)


@pytest.mark.parametrize(
    ("labels", "annotations"),
    [
        pytest.param({}, {}, id="one"),
        pytest.param({api.POD_GROUP_NAME: "job-train-1a2b3"}, {}, id="group"),
        pytest.param({}, {api.POD_GROUP_NAME: "job-train-1a2b3"}, id="group named by an annotation"),
    ],
)
async def test_pods_without_a_job_are_found(
    cluster: Cluster, start: Any, labels: dict[str, str], annotations: dict[str, str]
) -> None:
    since = now() - HOUR
    policy(cluster, scheduledBy="10m")
    admit(cluster, since)
    pod(cluster, "bystander", since, labels={api.MANAGED: "true"})
    pod(cluster, "train", since, labels=labels | {api.MANAGED: "true"})
    cluster.edit(f"{PODS}/train", lambda one: one["metadata"].update(annotations=annotations))
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "train", "uid": "train"}
    alone = not labels and not annotations

    def made_of_pods(one: Object) -> None:
        one["metadata"]["ownerReferences"] = [owner | ({"controller": True} if alone else {})]
        if not alone:
            one["metadata"]["annotations"] = {api.GROUP_WORKLOAD: "true"}
        one["status"]["admission"]["podSetAssignments"][0]["count"] = 1

    cluster.edit(WORKLOAD, made_of_pods)
    async with start() as controller:
        await controller.until(lambda: bool(told(cluster)))
        assert value(controller) == 1
    assert told(cluster)[0]["note"].startswith("1 of 1 pod(s) have no node")


async def test_every_queue_begins_at_0(cluster: Cluster, start: Any) -> None:
    async with start() as controller:
        sample = controller._metrics.registry.get_sample_value
        await controller.until(lambda: sample("muster_unscheduled_workloads", {"cluster_queue": "gpu-a100"}) == 0)


async def test_without_the_policy_nobody_asks_for_pods(cluster: Cluster, start: Any) -> None:
    policy(cluster, timeout="10m")
    admit(cluster, now() - HOUR)
    async with start() as controller:
        await controller.until(lambda: api.ADMISSION_CLOCK in cluster.annotations(JOB))
        assert looks(cluster) == []
        assert told(cluster) == []


async def test_a_gang_that_has_all_its_nodes_is_not_looked_at_any_more(cluster: Cluster, start: Any) -> None:
    since = now() - HOUR
    policy(cluster, scheduledBy="10m")
    admit(cluster, since)
    pod(cluster, "train-0", since, "node-1")
    pod(cluster, "train-1", since, "node-1")
    async with start() as controller:
        wards = controller.engine._unscheduled._wards
        await controller.until(lambda: any(ward.done for ward in wards.values()))
        assert value(controller) == 0
        assert told(cluster) == []
