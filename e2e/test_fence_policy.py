"""The fence on the real API server, by itself: what is stored is what the controller demands, and what it lets pass."""

import json
from typing import Any

import pytest
import pytest_asyncio

from classifier import api
from classifier.cluster.client import MERGE_PATCH, ApiError, Client
from classifier.fence_spec import EXPECTED_BINDING_SPEC, EXPECTED_POLICY_SPEC
from e2e.controlplane.chart import Muster
from e2e.wait import eventually

NAME = "muster-fence"
REFUSAL = f"ValidatingAdmissionPolicy '{NAME}'"

pytestmark = pytest.mark.usefixtures("fence")


@pytest_asyncio.fixture(loop_scope="session")
async def fence(muster: Muster, client: Client, ns: str) -> None:
    """The installed chart's policy and binding, once the API server acts on them."""
    await create(client, ns, "probe", active=False)

    async def refused() -> bool:
        try:
            await reserve(client, ns, "probe", dryRun="All")
        except ApiError as error:
            return REFUSAL in error.message
        return False

    await eventually(refused, what="the fence refuses")


async def create(client: Client, ns: str, name: str, *, active: bool | None) -> None:
    """A Workload of a queue that does not exist, so that Kueue never reserves anything for it; None: without a spec."""
    container = {"name": "main", "image": "busybox"}
    pod = {"spec": {"containers": [container], "restartPolicy": "Never"}}
    spec = {"active": active, "queueName": "none", "podSets": [{"name": "main", "count": 1, "template": pod}]}
    workload: dict[str, Any] = {"apiVersion": api.WORKLOADS.api_version, "kind": "Workload", "metadata": {"name": name}}
    if active is not None:
        workload["spec"] = spec
    await client.request("POST", api.WORKLOADS.path(ns), body=workload)


def condition(type_: str, status: str) -> dict[str, str]:
    at = "2026-11-29T10:00:00Z"
    return {"type": type_, "status": status, "reason": "Test", "message": "by a test", "lastTransitionTime": at}


async def write(client: Client, path: str, *conditions: dict[str, str], **params: str) -> None:
    """Kueue's webhook wants an assignment beside a reservation."""
    assignment = {"clusterQueue": "none", "podSetAssignments": [{"name": "main", "count": 1}]}
    body = {"status": {"conditions": list(conditions), "admission": assignment}}
    await client.request("PATCH", f"{path}/status", params=params, body=body, content_type=MERGE_PATCH)


async def evict(client: Client, ns: str, name: str) -> None:
    body = {"status": {"conditions": [condition(api.EVICTED, "True"), condition(api.QUOTA_RESERVED, "False")]}}
    path = f"{api.WORKLOADS.path(ns, name)}/status"
    await client.request("PATCH", path, params={"dryRun": "All"}, body=body, content_type=MERGE_PATCH)


async def reserve(client: Client, ns: str, name: str, **params: str) -> None:
    await write(client, api.WORKLOADS.path(ns, name), condition(api.QUOTA_RESERVED, "True"), **params)


async def test_the_api_server_stores_the_fence_as_the_controller_demands_it(client: Client) -> None:
    """A default that a newer API server adds would end enforcement: it must show here first."""
    policy = json.loads(await client.request("GET", api.ADMISSION_POLICIES.path(name=NAME)))
    binding = json.loads(await client.request("GET", api.ADMISSION_POLICY_BINDINGS.path(name=NAME)))
    assert policy["spec"] == EXPECTED_POLICY_SPEC
    assert binding["spec"] == EXPECTED_BINDING_SPEC(NAME)


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
@pytest.mark.parametrize("type_", [api.QUOTA_RESERVED, api.ADMITTED])
async def test_an_inactive_workload_is_refused_in_every_version(
    client: Client, ns: str, version: str, type_: str
) -> None:
    await create(client, ns, "ended", active=False)
    path = api.WORKLOADS._replace(version=version).path(ns, "ended")
    with pytest.raises(ApiError) as refused:
        await write(client, path, condition(type_, "True"), dryRun="All")
    assert refused.value.status == 422
    assert "until spec.active is true again" in refused.value.message


async def test_everything_else_passes(client: Client, ns: str) -> None:
    await create(client, ns, "ended", active=False)
    await evict(client, ns, "ended")
    await create(client, ns, "waiting", active=True)
    await reserve(client, ns, "waiting", dryRun="All")


async def test_an_admission_that_came_first_is_no_hindrance_to_eviction(client: Client, ns: str) -> None:
    """Kueue evicts in several writes, and the first ones leave the reservation as it is."""
    path = api.WORKLOADS.path(ns, "ended-late")
    await create(client, ns, "ended-late", active=True)
    await reserve(client, ns, "ended-late")
    await client.request("PATCH", path, body={"spec": {"active": False}}, content_type=MERGE_PATCH)

    async def kueue_evicted() -> bool:
        stored = json.loads(await client.request("GET", path))
        conditions = {c["type"]: c["status"] for c in stored["status"]["conditions"]}
        assert conditions[api.QUOTA_RESERVED] == "True", "there is no job whose end would clear the reservation"
        return conditions.get(api.EVICTED) == "True"

    await eventually(kueue_evicted, what="Kueue evicts")


async def test_a_workload_without_a_spec_is_not_held_up(client: Client, ns: str) -> None:
    """Its schema allows one. A condition that fails to evaluate would refuse every write of its status."""
    await create(client, ns, "bare", active=None)
    await evict(client, ns, "bare")
