"""What live nodes are worth as they age: they only ever raise a bound, so losing sight of them denies nobody."""

import asyncio
from collections.abc import Callable

import pytest
from aiohttp import web

from classifier import api, fit
from classifier.cluster.following import Following
from classifier.cluster.reflector import Reflector
from classifier.objects import Job
from tests.unit.webhook.apiserver import ApiServer
from tests.unit.webhook.builders import NOW, Object, decoded, job
from tests.unit.webhook.conftest import Eventually
from tests.unit.webhook.running import Webhook
from webhook.decide import Judge

HOUR = 3600.0
NODES = "/api/v1/nodes"
#: The profile says 2 at most, by now there are 4.
STANDING = 4

SetAge = Callable[[float], None]


@pytest.fixture
def judge() -> Judge:
    return fit.judge


@pytest.fixture
def nodes_age(monkeypatch: pytest.MonkeyPatch) -> SetAge:
    """Sets for how many seconds nothing was heard about nodes; of all else, a second ago."""

    # In life it is time that ages them, and a world stands no longer than they stay fresh.
    monkeypatch.setattr(Following, "_freshness", lambda _: 0.0)

    def set_age(seconds: float) -> None:
        monkeypatch.setattr(Reflector, "age", lambda self: seconds if self.resource is api.NODES else 1.0)

    return set_age


def live(name: str, *, ready: bool = True, gpus: int = 8) -> Object:
    return {
        "metadata": {"name": name, "labels": {"agentpool": "gpupool"}},
        "status": {
            "allocatable": {"cpu": "94", "memory": "860Gi", "nvidia.com/gpu": str(gpus), "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True" if ready else "False", "lastHeartbeatTime": "x"}],
        },
    }


@pytest.fixture
async def seen(ready: Webhook, apiserver: ApiServer, eventually: Eventually, nodes_age: SetAge) -> Webhook:
    for i in range(STANDING):
        apiserver.put(api.NODES.path(name=f"n{i}"), live(f"n{i}"))

    async def all_of_them() -> bool:
        view = await ready.snapshot.view("team", "gpu")
        return len(view.world.nodes or ()) == STANDING

    await eventually(all_of_them)
    return ready


async def stamp(webhook: Webhook, pods: int) -> str:
    view = await webhook.snapshot.view("team", "gpu")
    return fit.judge(decoded(job(pods=pods), Job), view.world, NOW).annotation


@pytest.mark.parametrize("age", [1.0, 179.0, 181.0, HOUR, 100 * HOUR])
@pytest.mark.parametrize("pods", [2, 3, 4])
async def test_a_gang_that_was_let_in_is_let_in_however_old_the_nodes_are(
    seen: Webhook, nodes_age: SetAge, age: float, pods: int
) -> None:
    nodes_age(age)
    assert (await seen.ask("/validate", job(pods=pods)))["allowed"] is True


@pytest.mark.parametrize(
    ("age", "pods", "outcome"),
    [
        (1.0, 2, "fits"),
        (1.0, 4, "fits"),
        (181.0, 2, "fits-after-scale-up"),  # what stood ready then may be gone; the profile's two may come
        (181.0, 3, "unknown"),
        (1.0, 5, "never-fits"),
        (181.0, 5, "never-fits"),
    ],
)
async def test_nodes_not_seen_lately_are_promised_to_nobody(
    seen: Webhook, nodes_age: SetAge, age: float, pods: int, outcome: str
) -> None:
    nodes_age(age)
    assert (await stamp(seen, pods)).partition(":")[0] == outcome


async def test_what_may_be_read_and_is_not_yet_read_keeps_proofs_from_counting(
    webhook: Webhook, apiserver: ApiServer, eventually: Eventually
) -> None:
    held = asyncio.Event()

    async def hold(request: web.Request) -> None:
        if request.path == NODES and "limit" in request.query and request.query["limit"] != "1":
            await held.wait()

    apiserver.before = hold
    await eventually(lambda: webhook.authority.trouble is None)
    await eventually(lambda: webhook.snapshot.trouble == "not listed yet: nodes")
    response = await webhook.ask("/validate", job(pods=3))
    stamped = await stamp(webhook, 3)
    held.set()
    assert response["allowed"] is True
    assert stamped == "unknown: gang needs 3 node(s) of gpupool (max 2), but the nodes are not listed yet"
    await eventually(webhook.is_ready)
    assert (await webhook.ask("/validate", job(pods=3)))["allowed"] is False


@pytest.mark.parametrize(("status", "denied"), [(403, True), (401, False), (500, False), (503, False)])
async def test_only_a_right_withheld_lets_the_profile_stand_alone(
    webhook: Webhook, apiserver: ApiServer, eventually: Eventually, status: int, denied: bool
) -> None:
    def fail(request: web.Request) -> web.Response | None:
        if request.path == NODES:
            return web.json_response({"reason": "No", "message": "no"}, status=status)
        return None

    apiserver.fail = fail
    await eventually(lambda: webhook.authority.trouble is None)
    await eventually(lambda: (webhook.snapshot.trouble or "").startswith("not listed yet: nodes") is not denied)
    assert (await webhook.ask("/validate", job(pods=3)))["allowed"] is not denied


async def test_a_right_taken_away_later_leaves_what_was_seen(
    seen: Webhook, apiserver: ApiServer, nodes_age: SetAge
) -> None:
    apiserver.fail = lambda r: web.json_response({}, status=403) if r.path == NODES else None
    nodes_age(HOUR)
    assert (await seen.ask("/validate", job(pods=4)))["allowed"] is True


async def test_a_nodes_heartbeat_makes_no_new_list(seen: Webhook, apiserver: ApiServer, eventually: Eventually) -> None:
    """5,000 kubelets speak many times a second; only what preflight reads of a node makes it work things out anew."""

    async def nodes() -> object:
        return (await seen.snapshot.view("team", "gpu")).world.nodes

    before = await nodes()
    beat = live("n0")
    beat["metadata"]["annotations"] = {"seen": "again"}
    beat["status"]["conditions"] += [{"type": "DiskPressure", "status": "True"}]
    apiserver.put(api.NODES.path(name="n0"), beat)
    apiserver.put(api.CAPACITY_PROFILES.path(name="after"), {"spec": {"flavor": "none"}})

    async def past_it() -> bool:
        return len((await seen.snapshot.view("team", "gpu")).world.profiles) == 2

    await eventually(past_it)
    assert await nodes() is before

    async def changed() -> bool:
        return await nodes() is not before

    apiserver.put(api.NODES.path(name="n0"), live("n0", ready=False))
    await eventually(changed)
