"""The follower: what a world is made of, which parts of it may be missing, and what makes a new version of one."""

import asyncio
from dataclasses import MISSING
from typing import Any

import pytest

from classifier import api
from classifier.cluster.client import Client
from classifier.cluster.configmaps import AUTOSCALER_STATUS, KUEUE_CONFIG, ConfigMapName
from classifier.cluster.following import Following
from classifier.cluster.reflector import Reflector
from classifier.fit import World
from classifier.objects import (
    ClusterTrainingRuntime,
    DeviceClass,
    LimitRange,
    MachineGroup,
    NodePool,
    ProvisioningRequestConfig,
    RuntimeClass,
    TrainingRuntime,
)
from tests.apiserver import ApiServer, answer, raw, silent
from tests.builders import (
    GPU_NODE,
    Builder,
    check,
    cluster_queue,
    cohort,
    config_map,
    flavor,
    kueue_config,
    local_queue,
    namespace,
    node,
    profile,
    topology,
)
from tests.unit.cluster.following import Patience, following, furnish, path_of, put, running
from tests.until import until

MACHINES = ("machinedeployments", "machinesets", "machinepools")
TRAINER = ("trainingruntimes", "clustertrainingruntimes")
#: Kinds of others that may be missing.
OTHERS = ("limitranges", "runtimeclasses", "deviceclasses", *TRAINER, "nodepools", *MACHINES)


@pytest.fixture
def patience() -> Patience:
    return Patience()


@pytest.fixture
def furnished(server: ApiServer) -> ApiServer:
    return furnish(server)


def plurals(world: World) -> set[str]:
    return {resource.plural for resource in world.unread}


def machine(resource: api.Resource, version: str = "v1beta2") -> Builder[MachineGroup]:
    return Builder(MachineGroup, resource._replace(version=version), "gpus", "infra")


def runtime() -> Builder[TrainingRuntime]:
    return Builder(TrainingRuntime, api.TRAINING_RUNTIMES, "torch", "team")


def cluster_runtime() -> Builder[ClusterTrainingRuntime]:
    return Builder(ClusterTrainingRuntime, api.CLUSTER_TRAINING_RUNTIMES, "torch")


#: Each kind with the place of its one object in a world.
PLACES: list[tuple[Builder[Any], str, str]] = [
    (local_queue(), "local_queues", "team/gpu"),
    (cluster_queue(), "cluster_queues", "gpu-a100"),
    (flavor(), "flavors", "a100-scale"),
    (check(), "admission_checks", "capacity"),
    (namespace(), "namespaces", "team"),
    (Builder(ProvisioningRequestConfig, api.PROVISIONING_REQUEST_CONFIGS, "big"), "provisioning_configs", "big"),
    (cohort("research"), "cohorts", "research"),
    (topology("racks", "rack"), "topologies", "racks"),
    (Builder(LimitRange, api.LIMIT_RANGES, "defaults", "team"), "limit_ranges", "team/defaults"),
    (Builder(RuntimeClass, api.RUNTIME_CLASSES, "kata"), "runtime_classes", "kata"),
    (Builder(DeviceClass, api.DEVICE_CLASSES, "gpu"), "device_classes", "gpu"),
    (Builder(NodePool, api.NODE_POOLS, "gpus"), "node_pools", "gpus"),
    (machine(api.MACHINE_DEPLOYMENTS), "machine_groups", "MachineDeployment/infra/gpus"),
    (machine(api.MACHINE_SETS), "machine_groups", "MachineSet/infra/gpus"),
    (machine(api.MACHINE_POOLS), "machine_groups", "MachinePool/infra/gpus"),
]


async def test_every_kind_has_its_place_in_the_world(furnished: ApiServer, client: Client, patience: Patience) -> None:
    put(furnished, *(builder for builder, _, _ in PLACES), runtime(), cluster_runtime(), node("gpu-1"))
    put(furnished, config_map(AUTOSCALER_STATUS.name, AUTOSCALER_STATUS.namespace, status="Running"))
    async with following(client, patience) as follower:
        world = follower.world()
    for builder, place, key in PLACES:
        assert getattr(world, place)[key].name == builder.raw()["metadata"]["name"]
    assert [p.name for p in world.profiles] == ["gpu-a100-8"]
    assert [n.name for n in world.nodes or ()] == ["gpu-1"]
    assert set(world.runtimes.namespaced) == {"team/torch"}
    assert set(world.runtimes.cluster) == {"torch"}
    assert world.kueue_config is not None
    assert world.autoscaler_status is not None
    assert world.autoscaler_status.data == {"status": "Running"}
    assert world.unread == frozenset()


# --- what may be missing ----------------------------------------------------------------------------------------


async def test_what_is_not_installed_is_empty_and_known_to_be(
    furnished: ApiServer, client: Client, patience: Patience
) -> None:
    furnished.refusals = dict.fromkeys((*TRAINER, "nodepools", *MACHINES), 404)
    async with following(client, patience) as follower:
        assert follower.world().unread == frozenset()
        assert follower.world().runtimes.cluster == {}


async def test_what_may_not_be_read_is_said_and_holds_up_nobody(
    furnished: ApiServer, client: Client, patience: Patience
) -> None:
    furnished.refusals = dict.fromkeys((*OTHERS, "nodes", "configmaps"), 403)
    async with following(client, patience) as follower:
        world = follower.world()
        assert plurals(world) == {*OTHERS, "configmaps"}
        assert (world.nodes, world.nodes_awaited, world.kueue_config) == (None, False, None)


async def test_what_is_not_listed_yet_is_said_and_there_is_a_world_all_the_same(
    furnished: ApiServer, client: Client, patience: Patience
) -> None:
    furnished.fault, furnished.faulty = silent(), lambda call: call.path.endswith("/limitranges")
    follower = Following(client, sleep=patience.sleep)
    async with running(follower):
        await until(lambda: follower.trouble == "not listed yet: limitranges")
        assert follower.synced
        assert plurals(follower.world()) == {"limitranges"}


async def test_an_error_of_a_kind_that_is_not_needed_holds_up_nobody(
    furnished: ApiServer, client: Client, patience: Patience
) -> None:
    furnished.fault, furnished.faulty = answer(500), lambda call: call.path.endswith("/limitranges")
    async with following(client, patience) as follower:
        assert plurals(follower.world()) == {"limitranges"}
        furnished.fault = None
        await until(lambda: not follower.world().unread)


@pytest.mark.parametrize(
    "plural", ["capacityprofiles", "localqueues", "clusterqueues", "resourceflavors", "admissionchecks", "namespaces"]
)
async def test_without_what_is_needed_there_is_no_world(
    furnished: ApiServer, client: Client, patience: Patience, plural: str
) -> None:
    furnished.refusals = {plural: 404}
    follower = Following(client, sleep=patience.sleep)
    async with running(follower):
        await until(lambda: (follower.trouble or "").startswith(f"not listed yet: {plural} (404"))
        assert not follower.synced
        furnished.refusals = {}
        await until(lambda: follower.trouble is None)


@pytest.mark.parametrize("plural", ["cohorts", "topologies"])
async def test_kueues_own_kinds_are_never_known_to_be_empty_for_want_of_an_answer(
    furnished: ApiServer, client: Client, patience: Patience, plural: str
) -> None:
    furnished.refusals = {plural: 404}
    async with following(client, patience) as follower:
        assert plurals(follower.world()) == {plural}
        furnished.refusals = {}
        await until(lambda: not follower.world().unread)


async def test_a_proxy_that_knows_no_way_does_not_make_a_kind_empty(
    furnished: ApiServer, client: Client, patience: Patience
) -> None:
    furnished.fault = raw(404, "<html><h1>404 Not Found</h1></html>")
    furnished.faulty = lambda call: call.path.endswith("/nodepools")
    async with following(client, patience) as follower:
        assert plurals(follower.world()) == {"nodepools"}
        furnished.fault = None
        await until(lambda: not follower.world().unread)


@pytest.mark.parametrize("code", [403, 404])
async def test_what_comes_later_is_seen_later(
    furnished: ApiServer, client: Client, patience: Patience, code: int
) -> None:
    furnished.refusals = dict.fromkeys(TRAINER, code)
    put(furnished, cluster_runtime())
    async with following(client, patience) as follower:
        await until(lambda: patience.pausing == 2)
        news = follower.news()
        furnished.refusals = {}
        assert follower.world().runtimes.cluster == {}
        patience.end()
        assert api.CLUSTER_TRAINING_RUNTIMES in await news.next(0)
        await until(lambda: "torch" in follower.world().runtimes.cluster and not follower.world().unread)


async def test_a_right_that_is_given_is_news_though_there_is_nothing_to_read(
    furnished: ApiServer, client: Client, patience: Patience
) -> None:
    furnished.refusals = {"limitranges": 403}
    async with following(client, patience) as follower:
        await until(lambda: patience.pausing == 1)
        news = follower.news()
        furnished.refusals = {}
        patience.end()
        assert await news.next(0) == {api.LIMIT_RANGES}
        assert not follower.world().unread


async def test_a_right_taken_away_leaves_what_was_seen(
    furnished: ApiServer, client: Client, patience: Patience
) -> None:
    put(furnished, cohort("research"), Builder(LimitRange, api.LIMIT_RANGES, "defaults", "team"))
    async with following(client, patience) as follower:
        furnished.refusals = {"limitranges": 403}
        furnished.end_watches("/limitranges")
        await until(lambda: follower.world().unread)
        assert set(follower.world().limit_ranges) == {"team/defaults"}


async def test_what_was_uninstalled_is_forgotten_but_not_at_the_first_word(
    furnished: ApiServer, client: Client, patience: Patience
) -> None:
    put(furnished, cluster_runtime())
    async with following(client, patience) as follower:
        furnished.refusals = {"clustertrainingruntimes": 404}
        furnished.end_watches("/clustertrainingruntimes")
        await until(lambda: patience.pausing == 1)
        assert plurals(follower.world()) == {"clustertrainingruntimes"}
        assert set(follower.world().runtimes.cluster) == {"torch"}
        patience.end()
        await until(lambda: not follower.world().unread)
        assert follower.world().runtimes.cluster == {}


async def test_silence_of_a_kind_is_as_good_as_not_reading_it(
    furnished: ApiServer, client: Client, patience: Patience, monkeypatch: pytest.MonkeyPatch
) -> None:
    furnished.refusals = dict.fromkeys(("nodepools", *MACHINES), 404)
    async with following(client, patience, stale_after=60_000) as follower:
        monkeypatch.setattr(Reflector, "age", lambda self: 61.0 if self.resource is api.COHORTS else 1.0)
        assert plurals(follower.world()) == {"cohorts"}
        monkeypatch.setattr(Reflector, "age", lambda self: 61.0 if self.resource is api.NODE_POOLS else 1.0)
        assert plurals(follower.world()) == set(), "what is not installed says nothing, and need not"


async def test_a_world_stands_until_a_kind_has_been_silent_for_too_long(
    furnished: ApiServer, client: Client, patience: Patience
) -> None:
    seconds = 100.0
    async with following(client, patience, stale_after=60_000, monotonic=lambda: seconds) as follower:
        before = follower.world()
        seconds += 59
        assert follower.world() is before
        assert before.observed_at is not None
        assert client.time.now() - before.observed_at >= 59_000, "how old it is goes on"
        assert (before.nodes_recent, plurals(before)) == (True, set())
        seconds += 2
        after = follower.world()
        assert after is not before
        assert (after.nodes_recent, plurals(after) >= {"cohorts", "topologies"}) == (False, True)
        version = furnished.put(path_of(cohort("late")), cohort("late").raw())["metadata"]["resourceVersion"]
        await until(lambda: version in versions_seen(follower))
        assert "cohorts" not in plurals(follower.world()), "it was heard of again"


def machines_of(version: str) -> Any:
    return lambda call: call.path.startswith(f"/apis/cluster.x-k8s.io/{version}/")


@pytest.mark.parametrize(("served", "missing"), [("v1beta1", "v1beta2"), ("v1beta2", "v1beta1")])
async def test_cluster_api_is_read_in_whatever_version_it_has(
    furnished: ApiServer, client: Client, patience: Patience, served: str, missing: str
) -> None:
    furnished.fault, furnished.faulty = answer(404), machines_of(missing)
    put(furnished, machine(api.MACHINE_DEPLOYMENTS, served))
    async with following(client, patience) as follower:
        await until(lambda: not follower.world().unread)
        assert set(follower.world().machine_groups) == {"MachineDeployment/infra/gpus"}
        assert not patience.pausing


# --- the two ConfigMaps -----------------------------------------------------------------------------------------


async def test_only_the_named_config_maps_are_read(furnished: ApiServer, client: Client, patience: Patience) -> None:
    put(furnished, config_map("passwords", "kueue-system"))
    mine = ConfigMapName("queues", "config")
    put(furnished, config_map("config", "queues", it="is"))
    async with following(client, patience, kueue_config=mine, autoscaler_status=None) as follower:
        world = follower.world()
    assert world.kueue_config is not None
    assert world.kueue_config.data == {"it": "is"}
    assert world.autoscaler_status is None
    asked: set[tuple[str, str]] = {
        (call.path, call.query["fieldSelector"]) for call in furnished.calls if "configmaps" in call.path
    }
    assert asked == {("/api/v1/namespaces/queues/configmaps", "metadata.name=config")}


async def test_a_configuration_that_is_not_there_is_not_known(
    furnished: ApiServer, client: Client, patience: Patience
) -> None:
    furnished.remove(api.CONFIG_MAPS.path(*KUEUE_CONFIG))
    async with following(client, patience) as follower:
        assert follower.world().kueue_config is None
        put(furnished, kueue_config("late"))
        await until(lambda: follower.world().kueue_config)


# --- versions ---------------------------------------------------------------------------------------------------


def counted(builder: Builder[Any], pending: int) -> dict[str, Any]:
    """The same object, whose status counts something nobody here reads."""
    raw = builder.raw()
    return {**raw, "status": {**raw.get("status", {}), "pendingWorkloads": pending}}


VERSIONS: list[tuple[Builder[Any], str]] = [
    (cluster_queue(), "cluster_queues"),
    (flavor(), "flavors"),
    (check(), "admission_checks"),
    (Builder(ProvisioningRequestConfig, api.PROVISIONING_REQUEST_CONFIGS, "big"), "provisioning_configs"),
    (cohort("research"), "cohorts"),
    (topology("racks"), "topologies"),
    (Builder(LimitRange, api.LIMIT_RANGES, "defaults", "team"), "limit_ranges"),
    (Builder(RuntimeClass, api.RUNTIME_CLASSES, "kata"), "runtime_classes"),
    (Builder(DeviceClass, api.DEVICE_CLASSES, "gpu"), "device_classes"),
    (Builder(NodePool, api.NODE_POOLS, "gpus"), "node_pools"),
    (machine(api.MACHINE_SETS), "machine_groups"),
    (runtime(), "runtimes"),
    (cluster_runtime(), "runtimes"),
    (profile(), "profiles"),
    (node("gpu-1"), "nodes"),
    (kueue_config(), "kueue_config"),
]


#: The parts of a world that are versions.
PARTS = [
    name
    for name, field in World.__dataclass_fields__.items()
    if field.default_factory is not MISSING or name in ("nodes", "kueue_config", "autoscaler_status", "unread")
]


def versions_seen(follower: Following) -> set[str]:
    return {obj.metadata.resource_version for kept in follower._kept for obj in kept.live.values()}


def same(before: World, after: World, *parts: str) -> None:
    assert [name for name in parts if getattr(before, name) is not getattr(after, name)] == []


@pytest.mark.parametrize(("builder", "place"), VERSIONS, ids=[f"{b.raw()['kind']}" for b, _ in VERSIONS])
async def test_a_part_of_the_world_is_made_anew_when_it_says_something_new_and_only_then(
    furnished: ApiServer, client: Client, patience: Patience, builder: Builder[Any], place: str
) -> None:
    path = path_of(builder)
    furnished.put(path, counted(builder, 6))
    async with following(client, patience) as follower:
        before = follower.world()
        version = furnished.put(path, counted(builder, 7))["metadata"]["resourceVersion"]
        await until(lambda: version in versions_seen(follower))
        same(before, follower.world(), *PARTS)
        another = counted(builder, 7) | {"data": {"now": "another"}}
        another["metadata"]["labels"] = {"now": "another"}
        furnished.put(path, another)
        await until(lambda: getattr(follower.world(), place) is not getattr(before, place))
        same(before, follower.world(), *(set(PARTS) - {place}))


async def test_the_status_we_write_on_a_profile_is_no_news(
    furnished: ApiServer, client: Client, patience: Patience
) -> None:
    async with following(client, patience) as follower:
        news = follower.news()
        before = follower.world().profiles
        stored = furnished.objects[path_of(profile())]
        furnished.put(path_of(profile()), {**stored, "status": profile().condition("Ready", True).raw()["status"]})
        put(furnished, cohort("after"))
        assert await news.next(0) == {api.COHORTS}
        assert follower.world().profiles is before


async def test_news_are_gathered_for_each_who_asks(furnished: ApiServer, client: Client, patience: Patience) -> None:
    async with following(client, patience) as follower:
        one, other = follower.news(), follower.news()
        put(furnished, cohort("a"), cohort("b"), topology("t"))
        await until(lambda: {"a", "b"} <= follower.world().cohorts.keys() and follower.world().topologies)
        assert await one.next(0) == {api.COHORTS, api.TOPOLOGIES}
        assert await other.next(0) == {api.COHORTS, api.TOPOLOGIES}
        waiting = asyncio.create_task(one.next(0))
        put(furnished, node("gpu-1", zone="a"))
        assert await waiting == {api.NODES}


async def test_little_is_kept_of_a_node(furnished: ApiServer, client: Client, patience: Patience) -> None:
    raw = node("gpu-1").raw() | {"status": {"allocatable": GPU_NODE, "conditions": [{"type": "Ready"}, {"type": "X"}]}}
    raw["metadata"]["annotations"] = {"kubectl.kubernetes.io/last-applied-configuration": "{}" * 999, "kept": "yes"}
    raw["metadata"]["managedFields"] = [{"manager": "kubelet"}]
    furnished.put(path_of(node("gpu-1")), raw)
    async with following(client, patience) as follower:
        kept = (follower.world().nodes or [])[0]
    assert kept.metadata.annotations == {"kept": "yes"}
    assert kept.metadata.managed_fields is None
    assert kept.status is not None
    assert [c.type for c in kept.status.conditions or ()] == ["Ready"]
