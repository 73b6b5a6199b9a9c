"""The CapacityProfile CRD on the real API server: what it refuses, in words that name the field and the remedy."""

from typing import Any

import msgspec
import pytest
import pytest_asyncio

from classifier import api
from classifier.cluster.client import MERGE_PATCH, ApiError, Client
from classifier.objects.profile import CapacityProfile
from e2e.controlplane.cluster import Cluster
from tests.chart.profiles import DEFAULTS, FULL, Absent, changed
from tests.chart.render import only, render

CRD = "capacityprofiles.muster.dev"


@pytest_asyncio.fixture(loop_scope="session")
async def client(cluster: Cluster) -> Client:
    """The administrator's connection to a cluster that serves profiles, as the chart installs them."""
    try:
        await cluster.admin.request("GET", api.CAPACITY_PROFILES.path())
    except ApiError as error:
        if not error.missing:
            raise
        await cluster.applier.apply([only(render(), "CustomResourceDefinition", CRD)])
    return cluster.admin


async def create(client: Client, profile: dict[str, Any]) -> dict[str, Any]:
    """What would be stored. A dry run: validation and defaults are those of the real request."""
    params = {"dryRun": "All", "fieldValidation": "Strict"}
    stored = await client.request("POST", api.CAPACITY_PROFILES.path(), params=params, body=profile)
    return dict(msgspec.json.decode(stored))


async def test_a_full_profile_is_stored_as_written(client: Client) -> None:
    assert (await create(client, FULL))["spec"] == FULL["spec"]


async def test_a_profile_of_one_line_gets_its_defaults(client: Client) -> None:
    stored = await create(client, {**FULL, "spec": {"flavor": "cpu"}})
    assert stored["spec"] == {"flavor": "cpu", **DEFAULTS}


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"admission.timeout": "5s", "admission.maxTimeout": "5s"}, id="seconds, and equal to the cap"),
        pytest.param({"admission.timeout": "90m", "admission.maxTimeout": "1.5h"}, id="equal in another unit"),
        pytest.param({"admission": {"maxTimeout": "99999h9999999m"}}, id="longer than anybody lives"),
        pytest.param({"pools": [], "closed": False}, id="no pools in an open world"),
        pytest.param({"pools.0.maxNodes": 0, "pools.0.domains": []}, id="a pool that is switched off"),
        pytest.param({"pools.0.maxNodes": Absent}, id="a pool without a maximum"),
        pytest.param({"pools.0.node.allocatable.cpu": 94}, id="a quantity as a number"),
        pytest.param({"pools.0.node.daemonSetReserve.cpu": "94000m"}, id="daemons that take all of it"),
        pytest.param(
            {"pools.0.node.daemonSetReserve": {"example.com/nic": "1"}}, id="daemons that take what is unknown"
        ),
        pytest.param({"pools.0.node.labels": {"agentpool": "gpupool"}}, id="a label said twice"),
        pytest.param({"management": "External", "provisioning": Absent}, id="no provisioning to verify"),
        pytest.param({"management": "Adopt", "provisioning.className": Absent}, id="adopted with the class it has"),
        pytest.param({"topology.workloadLabel.key": "topology"}, id="a label without a domain"),
    ],
)
async def test_sound_profiles_are_accepted(client: Client, changes: dict[str, Any]) -> None:
    await create(client, changed(changes))


@pytest.mark.parametrize(
    ("changes", "field", "remedy"),
    [
        ({"flavor": Absent}, "spec.flavor", "Required value"),
        ({"preflight": "Deny"}, "spec.preflight", 'supported values: "Enforce", "Warn", "Off"'),
        ({"flavour": "a100"}, "spec.flavour", "unknown field"),
        ({"admission.timeout": "soon"}, "spec.admission.timeout", "such as 45s, 30m or 1h30m"),
        ({"admission.timeout": "0s"}, "spec.admission.timeout", "must be a positive Go duration"),
        ({"admission.timeout": "-1m"}, "spec.admission.timeout", "must be a positive Go duration"),
        ({"admission.maxTimeout": "99999999h"}, "spec.admission.maxTimeout", "must be a positive Go duration"),
        ({"admission.timeout": "5h"}, "spec.admission.timeout", "lower timeout or raise maxTimeout"),
        ({"admission.ttlAfterTimeout": "1s"}, "spec.admission.ttlAfterTimeout", "raise it, or leave it out"),
        ({"pools": []}, "spec.pools", "or set closed to false"),
        ({"pools": Absent}, "spec.pools", "or set closed to false"),
        ({"pools": [{"name": "a"}, {"name": "a"}]}, "spec.pools[1]", "Duplicate value"),
        ({"pools.0.maxNodes": -1}, "spec.pools[0].maxNodes", "greater than or equal to 0"),
        ({"pools.0.domains.0.maxNodes": 3}, "spec.pools[0].domains", "lower the domain's maxNodes or raise the pool's"),
        ({"topology": Absent}, "spec.topology", "set topology.nodeLabel, or leave the domains out"),
        ({"pools.0.node.allocatable.cpu": "many"}, "node.allocatable[cpu]", "such as 94, 500m or 860Gi"),
        ({"pools.0.node.allocatable.cpu": -4}, "node.allocatable[cpu]", "must be a quantity of 0 or more"),
        (
            {"pools.0.node.daemonSetReserve.cpu": "95"},
            "node.daemonSetReserve",
            "lower the resource in daemonSetReserve",
        ),
        ({"pools.0.node.labels": {"agentpool": "other"}}, "spec.pools[0].node.labels", "give it one value"),
        ({"pools.0.nodeLabels": {"no key": "x"}}, "spec.pools[0].nodeLabels", "such as example.com/rack"),
        ({"topology.nodeLabel": "no key"}, "spec.topology.nodeLabel", "such as example.com/rack"),
        ({"topology.workloadLabel.key": "no key"}, "spec.topology.workloadLabel.key", "must be a label key"),
        ({"topology.workloadLabel.key": api.QUEUE_NAME}, "spec.topology.workloadLabel.key", "a key of your own domain"),
        ({"topology.workloadLabel.key": "muster.dev/x"}, "spec.topology.workloadLabel.key", "a key of your own domain"),
        ({"topology.workloadLabel.value": "same rack"}, "spec.topology.workloadLabel.value", "must be a label value"),
        ({"provisioning.className": Absent}, "spec.provisioning", "or management: External"),
        ({"management": "Adopt", "provisioning": Absent}, "spec.provisioning", "or management: External"),
        ({"provisioning.retry.baseSeconds": 3600}, "spec.provisioning.retry.baseSeconds", "or raise maxSeconds"),
    ],
    ids=str,
)
async def test_contradictions_are_refused(client: Client, changes: dict[str, Any], field: str, remedy: str) -> None:
    with pytest.raises(ApiError) as refused:
        await create(client, changed(changes))
    assert refused.value.status in (400, 422)
    assert field in refused.value.message
    assert remedy in refused.value.message


async def test_status_is_written_apart_from_spec(client: Client) -> None:
    """The controller may patch the status alone; and what it reads back is what it wrote."""
    name = "status-is-apart"
    profile = {**FULL, "metadata": {"name": name}}
    path = api.CAPACITY_PROFILES.path(name=name)
    await client.request("POST", api.CAPACITY_PROFILES.path(), body=profile)
    try:
        at = "2026-11-29T10:00:00Z"
        ready = {
            "type": api.PROFILE_READY,
            "status": "True",
            "reason": "Sound",
            "message": "",
            "lastTransitionTime": at,
        }
        pool = {"name": "gpupool", "nodes": 0, "readyNodes": 0, "targetNodes": 2, "maxNodes": 2, "observedAt": at}
        status = {"conditions": [ready], "pools": [{**pool, "source": "CapacityProfile", "backoffUntil": at}]}
        patch = {"status": status, "spec": {"closed": False}}
        await client.request("PATCH", f"{path}/status", body=patch, content_type=MERGE_PATCH)
        stored = msgspec.json.decode(await client.request("GET", path))
        assert stored["status"] == status
        assert stored["spec"] == FULL["spec"]
        read = await client.get(path, CapacityProfile)
        assert read.status is not None
        assert read.status.conditions is not None
        assert read.status.conditions[0].type == api.PROFILE_READY
    finally:
        await client.request("DELETE", path)
