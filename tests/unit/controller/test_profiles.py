"""What a profile's status says, and that it is written, once, for each profile by itself."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from classifier import api
from classifier.cluster.client import Client
from classifier.cluster.following import Following
from classifier.fence_spec import EXPECTED_BINDING_SPEC, EXPECTED_POLICY_SPEC
from classifier.instant import SECOND, format_instant
from controller import profiles as module
from controller.cache import Cache
from controller.fence import Fence
from controller.metrics import Metrics
from controller.profiles import ProfileStatus
from tests.apiserver import ApiServer, answer, serving
from tests.builders import GPU, T0, cluster_queue, flavor, gpu_profile, gpu_queues, node, profile
from tests.unit.cluster.conftest import write_kubeconfig
from tests.unit.fit.facts.statuses import SINCE, backing_off, document, status_map
from tests.until import until

PROFILES = "/apis/muster.dev/v1alpha1/capacityprofiles"
ADMISSION = "/apis/admissionregistration.k8s.io/v1"


@pytest.fixture
async def server(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ApiServer]:
    monkeypatch.setattr(module, "SETTLE", 0.0)
    monkeypatch.setattr(module, "NEWS_SETTLE", 0.0)
    async with serving(ApiServer()) as server:
        server.put(f"{ADMISSION}/validatingadmissionpolicies/muster-fence", _fence(EXPECTED_POLICY_SPEC))
        server.put(
            f"{ADMISSION}/validatingadmissionpolicybindings/muster-fence", _fence(EXPECTED_BINDING_SPEC("muster-fence"))
        )
        yield server


def _fence(spec: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"creationTimestamp": format_instant(T0)}, "spec": spec}


@contextlib.asynccontextmanager
async def keeping(server: ApiServer, tmp_path: Path, partly: bool = False) -> AsyncIterator[Metrics]:
    """The profiles' statuses, kept as in the controller; ``partly``: though not all has been heard of."""
    config = write_kubeconfig(tmp_path / "config", server.url)
    async with await Client.connect(kubeconfig=config) as client:
        following = Following(client)
        cache = Cache(client, following, lambda _: None, lambda _: None)
        fence = Fence(client, "muster-fence", 30 * SECOND, lambda: None)
        metrics = Metrics()
        statuses = ProfileStatus(client, cache, fence, metrics, following, "muster-0")
        own = [*cache.own, fence.policies, fence.bindings]
        tasks = [asyncio.create_task(run()) for run in (*(reflector.run for reflector in own), following.run)]
        try:
            for reflector in own:
                await reflector.wait_synced()
            await until(lambda: following.synced if partly else following.trouble is None)
            statuses.changed()
            tasks.append(asyncio.create_task(statuses.run()))
            yield metrics
            assert not tasks[-1].done()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


def status_of(server: ApiServer, name: str) -> dict[str, str]:
    conditions = server.objects[f"{PROFILES}/{name}"].get("status", {}).get("conditions", [])
    return {condition["type"]: condition["status"] for condition in conditions}


def patches(server: ApiServer) -> list[str]:
    return [call.path for call in server.calls if call.method == "PATCH"]


async def test_every_profile_gets_its_status_and_nothing_is_written_twice(server: ApiServer, tmp_path: Path) -> None:
    put(server, flavor(), profile("a"), profile("b"))
    async with keeping(server, tmp_path) as metrics:
        await until(lambda: all(status_of(server, name).get(api.PROFILE_READY) for name in "ab"))
        server.put(f"{PROFILES}/c", profile("c").raw())
        await until(lambda: status_of(server, "c").get(api.PROFILE_READY))
        assert sorted(patches(server)) == [f"{PROFILES}/{name}/status" for name in "abc"]
        sample = metrics.registry.get_sample_value
        assert sample("muster_profile_ready", {"profile": "a", "condition": api.PROFILE_READY}) == 1
        server.remove(f"{PROFILES}/a")
        await until(lambda: sample("muster_profile_ready", {"profile": "a", "condition": api.PROFILE_READY}) is None)


async def test_a_profile_that_cannot_be_written_does_not_hold_up_the_others(server: ApiServer, tmp_path: Path) -> None:
    for name in ("a", "b"):
        server.put(f"{PROFILES}/{name}", profile(name).raw())
    server.fault = answer(422, "Invalid", "the status of a is invalid")
    server.faulty = lambda call: call.method == "PATCH" and "/a/" in call.path
    async with keeping(server, tmp_path):
        await until(lambda: status_of(server, "b").get(api.PROFILE_READY))
        assert status_of(server, "a") == {}
        server.fault = None
        await until(lambda: status_of(server, "a").get(api.PROFILE_READY))


NODES = "/api/v1/nodes"
STATUS_MAP = "/api/v1/namespaces/kube-system/configmaps/cluster-autoscaler-status"
EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"


def shown(server: ApiServer, name: str = "gpu-a100-8") -> dict[str, Any]:
    """The one pool in a profile's status."""
    pools: list[dict[str, Any]] = server.objects[f"{PROFILES}/{name}"].get("status", {}).get("pools", [{}])
    return pools[0]


def put(server: ApiServer, *builders: Any) -> None:
    """Objects of a world, where the API serves them."""
    paths = {"ClusterQueue": "clusterqueues", "ResourceFlavor": "resourceflavors", "AdmissionCheck": "admissionchecks"}
    for builder in builders:
        raw = builder.raw()
        if raw["kind"] in paths:
            server.put(f"/apis/kueue.x-k8s.io/v1beta2/{paths[raw['kind']]}/{raw['metadata']['name']}", raw)
        elif raw["kind"] == "CapacityProfile":
            server.put(f"{PROFILES}/{raw['metadata']['name']}", raw)


async def test_pools_are_counted_as_nodes_and_the_autoscaler_tell(server: ApiServer, tmp_path: Path) -> None:
    put(server, *gpu_queues(), gpu_profile())
    async with keeping(server, tmp_path) as metrics:
        await until(lambda: shown(server).get("nodes") == 0)
        assert shown(server)["maxNodes"] == 2
        server.put(f"{NODES}/a", node("a", agentpool="gpupool").raw())
        await until(lambda: shown(server).get("readyNodes") == 1)
        now = time.time_ns() // 1_000_000
        server.put(STATUS_MAP, status_map(document(backing_off(most=3), at=now)).raw())
        await until(lambda: shown(server).get("maxNodes") == 3)
        assert shown(server)["backoffSince"] == format_instant(SINCE)
        assert status_of(server, "gpu-a100-8")[api.PROFILE_DRIFT] == "True"
        sample = metrics.registry.get_sample_value
        assert sample("muster_profile_ready", {"profile": "gpu-a100-8", "condition": api.PROFILE_DRIFT}) == 1
        assert sample("muster_profile_setup_faults", {"profile": "gpu-a100-8"}) == 0
        written = len(patches(server))
        # The same again, a moment later: nothing anybody would see.
        server.put(STATUS_MAP, status_map(document(backing_off(most=3), at=now + 1000)).raw())
        server.put(f"{NODES}/b", node("b", agentpool="gpupool").raw())
        await until(lambda: shown(server).get("nodes") == 2)
        assert len(patches(server)) == written + 1


async def test_a_setup_that_cannot_work_raises_condition_metric_and_one_event(
    server: ApiServer, tmp_path: Path
) -> None:
    put(server, cluster_queue().group([GPU], "a100-scale", quota=0), flavor(), gpu_profile())
    async with keeping(server, tmp_path) as metrics:
        await until(lambda: any(path.startswith(EVENTS) for path in server.objects))
        condition = next(
            c
            for c in server.objects[f"{PROFILES}/gpu-a100-8"]["status"]["conditions"]
            if c["type"] == api.PROFILE_MISCONFIGURED
        )
        assert "ClusterQueue gpu-a100 has no quota of nvidia.com/gpu" in condition["message"]
        assert metrics.registry.get_sample_value("muster_profile_setup_faults", {"profile": "gpu-a100-8"}) == 1
        put(server, cluster_queue().group([GPU], "a100-scale", quota=8))
        await until(lambda: status_of(server, "gpu-a100-8")[api.PROFILE_MISCONFIGURED] == "False")
        assert metrics.registry.get_sample_value("muster_profile_setup_faults", {"profile": "gpu-a100-8"}) == 0
        posts = [call for call in server.calls if call.method == "POST"]
        assert len(posts) == 1


async def test_events_that_find_no_room_are_dropped_and_the_status_says_it_all_the_same(
    server: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "EVENTS", (0.001, 1))
    put(server, cluster_queue().group([GPU], "a100-scale", quota=0), flavor(), gpu_profile())
    async with keeping(server, tmp_path):
        for name in ("gpu-a100-8", "second", "third"):
            put(server, profile(name).closed().mode("Enforce").pool())
            # One is told of before the next is looked at.
            await until(lambda: status_of(server, name).get(api.PROFILE_MISCONFIGURED) == "True")  # noqa: B023
        posts = [call for call in server.calls if call.method == "POST"]
        assert len(posts) == 1


async def test_what_the_world_says_is_left_as_it_is_while_part_of_it_is_not_heard(
    server: ApiServer, tmp_path: Path
) -> None:
    """Nodes cannot be listed for now: the profile is told what it can be, and no node is said to be gone."""
    before = gpu_profile()
    before._raw["status"] = {"conditions": [], "pools": [{"name": "gpupool", "nodes": 7}]}
    put(server, *gpu_queues(), before)
    server.fault, server.faulty = answer(500, "InternalError", "etcd"), lambda call: call.path == NODES
    async with keeping(server, tmp_path, partly=True):
        await until(lambda: status_of(server, "gpu-a100-8").get(api.PROFILE_READY))
        assert shown(server)["nodes"] == 7
        server.fault = None
        await until(lambda: shown(server)["nodes"] == 0)
