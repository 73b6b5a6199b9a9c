"""What seems to be missing is asked for before a verdict rests on it: once, and only what the job's chain needs."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from classifier import api
from classifier.cluster.asking import Asking, Unreadable
from classifier.cluster.client import Client
from classifier.cluster.following import Following
from classifier.objects import ClusterTrainingRuntime, RuntimeRef, TrainingRuntime, TrainJob, TrainJobSpec
from tests.apiserver import ApiServer, answer, reset, watches
from tests.builders import Builder, check, cluster_queue, cohort, flavor, local_queue, namespace, topology
from tests.unit.cluster.conftest import Pauses
from tests.unit.cluster.following import Patience, following, furnish, path_of, put
from tests.until import until

TRAINER = ("trainingruntimes", "clustertrainingruntimes")


@pytest.fixture
def patience() -> Patience:
    return Patience()


@pytest.fixture
async def follower(server: ApiServer, client: Client, patience: Patience) -> AsyncIterator[Following]:
    furnish(server)
    async with following(client, patience) as follower:
        yield follower


@pytest.fixture
async def asking(follower: Following, pauses: Pauses) -> Asking:
    return Asking(follower, pauses.monotonic)


async def fall_behind(server: ApiServer) -> None:
    """From here on the server answers, and its watches do not."""
    server.fault, server.faulty = answer(500), watches
    server.end_watches()
    await server.unwatched()
    server.calls.clear()


def asked(server: ApiServer) -> list[str]:
    return sorted(call.path for call in server.calls if not call.watch)


def train_job(kind: str | None = None, name: str = "torch") -> TrainJob:
    return TrainJob(spec=TrainJobSpec(runtime_ref=RuntimeRef(name=name, kind=kind)))


def runtime() -> Builder[TrainingRuntime]:
    return Builder(TrainingRuntime, api.TRAINING_RUNTIMES, "torch", "team")


def cluster_runtime() -> Builder[ClusterTrainingRuntime]:
    return Builder(ClusterTrainingRuntime, api.CLUSTER_TRAINING_RUNTIMES, "torch")


async def test_nothing_is_asked_where_nothing_is_missing(server: ApiServer, asking: Asking) -> None:
    server.calls.clear()
    world = await asking.world("team", "gpu")
    assert world.local_queues["team/gpu"].cluster_queue == "gpu-a100"
    assert asked(server) == []


async def test_a_chain_that_was_just_made_is_found_link_by_link(server: ApiServer, asking: Asking) -> None:
    await fall_behind(server)
    queue = cluster_queue("new").group(["cpu"], "big").checks("late")
    queue.spec["cohortName"] = "leaf"
    big = flavor("big")
    big.spec["topologyName"] = "racks"
    chain: list[Builder[Any]] = [
        namespace("fresh"),
        local_queue("q", "new", "fresh"),
        queue,
        big,
        check("late"),
        topology("racks", "rack"),
        cohort("leaf", "root"),
        cohort("root"),
    ]
    put(server, *chain)
    world = await asking.world("fresh", "q")
    assert "fresh" in world.namespaces
    assert set(world.cohorts) == {"leaf", "root"}
    assert "big" in world.flavors
    assert "late" in world.admission_checks
    assert world.topologies["racks"].levels == ["rack"]
    assert asked(server) == sorted(map(path_of, chain))
    server.calls.clear()
    assert (await asking.world("fresh", "q")).cluster_queues is world.cluster_queues
    assert asked(server) == [], "what was found is kept"


async def test_what_is_not_there_is_asked_for_once_a_question(server: ApiServer, asking: Asking) -> None:
    server.calls.clear()
    before = (await asking.world("team", "gpu")).cluster_queues
    world = await asking.world("team", "none")
    assert "team/none" not in world.local_queues
    assert asked(server) == [api.LOCAL_QUEUES.path("team", "none")]
    assert world.cluster_queues is before


async def test_a_crowd_of_jobs_in_a_queue_that_nobody_made_is_no_crowd_of_questions(
    server: ApiServer, asking: Asking
) -> None:
    server.calls.clear()
    await asyncio.gather(*(asking.world("team", "none") for _ in range(200)))
    assert len(asked(server)) <= 2


@pytest.mark.parametrize(
    ("kind", "builder"), [("TrainingRuntime", runtime()), (None, cluster_runtime())], ids=["namespaced", "cluster"]
)
async def test_the_runtime_of_a_trainjob(
    server: ApiServer, asking: Asking, kind: str | None, builder: Builder[TrainingRuntime]
) -> None:
    await fall_behind(server)
    put(server, runtime(), cluster_runtime())
    world = await asking.world("team", "gpu", train_job(kind))
    assert [*world.runtimes.namespaced, *world.runtimes.cluster] == [builder.done().key]
    assert asked(server) == [path_of(builder)]


async def test_a_trainer_that_has_just_been_installed_is_followed_from_its_first_job_on(
    server: ApiServer, client: Client, patience: Patience
) -> None:
    furnish(server).refusals = dict.fromkeys(TRAINER, 404)
    async with following(client, patience) as follower:
        await until(lambda: patience.pausing == 2)
        server.refusals = {}
        put(server, cluster_runtime())
        world = await Asking(follower).world("team", "gpu", train_job())
        assert "torch" in world.runtimes.cluster
        await until(lambda: follower.cluster_training_runtimes.reflector.synced)
        server.remove(path_of(cluster_runtime()))
        await until(lambda: not follower.world().runtimes.cluster)


async def test_a_runtime_that_may_not_be_read_is_left_to_the_world_to_say(
    server: ApiServer, client: Client, patience: Patience
) -> None:
    furnish(server).refusals = dict.fromkeys(TRAINER, 403)
    async with following(client, patience) as follower:
        world = await Asking(follower).world("team", "gpu", train_job())
    assert api.CLUSTER_TRAINING_RUNTIMES in world.unread


async def test_a_cohort_that_is_but_a_name_is_not_asked_for_by_every_job(
    server: ApiServer, asking: Asking, pauses: Pauses
) -> None:
    queue = cluster_queue("named").group(["cpu"], "a100-scale")
    queue.spec["cohortName"] = "everybody"
    put(server, queue, local_queue("q", "named"))
    await asking.world("team", "q")
    server.calls.clear()
    await asking.world("team", "q")
    assert asked(server) == []
    assert "everybody" not in (await asking.world("team", "q", surely=True)).cohorts
    assert asked(server) == [api.COHORTS.path(name="everybody")]
    pauses.now += 6
    put(server, cohort("everybody"))
    await fall_behind(server)
    server.calls.clear()
    pauses.now += 6
    assert "everybody" in (await asking.world("team", "q")).cohorts


@pytest.mark.parametrize(("first", "second"), [("a", "b"), ("a", "a")])
async def test_cohorts_in_a_circle_end(server: ApiServer, asking: Asking, first: str, second: str) -> None:
    queue = cluster_queue("round").group(["cpu"], "a100-scale")
    queue.spec["cohortName"] = first
    put(server, queue, local_queue("q", "round"), cohort(first, second), cohort(second, first))
    assert set((await asking.world("team", "q")).cohorts) == {first, second}


@pytest.mark.parametrize("fault", [answer(500), answer(403), reset()], ids=["500", "403", "reset"])
async def test_what_cannot_be_asked_for_is_no_answer(server: ApiServer, asking: Asking, fault: object) -> None:
    server.fault = fault  # type: ignore[assignment]
    server.faulty = lambda call: call.path.endswith("/none")
    with pytest.raises(Unreadable, match="cannot read LocalQueue none"):
        await asking.world("team", "none")


async def test_what_cannot_be_decoded_is_no_answer(server: ApiServer, asking: Asking) -> None:
    await fall_behind(server)
    server.put(api.LOCAL_QUEUES.path("team", "odd"), {"spec": {"clusterQueue": 5}})
    with pytest.raises(Unreadable, match="cannot read LocalQueue odd"):
        await asking.world("team", "odd")


@pytest.mark.parametrize("name", ["../secrets", "a/b", "", "A", "x" * 300, "a?b=c", "%2e"])
async def test_no_path_is_made_of_what_is_no_name(server: ApiServer, asking: Asking, name: str) -> None:
    server.calls.clear()
    await asking.world("team", name)
    await asking.world("team", "gpu", train_job(name=name))
    assert asked(server) == []
