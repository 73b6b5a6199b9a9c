"""What a profile's status says, and that it is written, once, for each profile by itself."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from classifier import api
from classifier.cluster.client import Client
from classifier.cluster.following import Following
from classifier.fence_spec import EXPECTED_BINDING_SPEC, EXPECTED_POLICY_SPEC
from classifier.instant import HOUR, SECOND, format_instant
from controller import profiles as module
from controller.cache import Cache
from controller.fence import Fence, FenceState
from controller.metrics import Metrics
from controller.profiles import ProfileStatus, conditions_of
from tests.apiserver import ApiServer, answer, serving
from tests.builders import T0, profile
from tests.unit.cluster.conftest import write_kubeconfig

IN_FORCE = FenceState(True, "")
DOWN = FenceState(False, "ValidatingAdmissionPolicy muster-fence does not exist; upgrade the chart")
GOOD = ("True", "Verified", "all there")
BAD = ("False", "AdmissionCheckNotFound", "AdmissionCheck capacity does not exist")
UNKNOWN = ("Unknown", "NothingNamed", "the profile names no provisioning")
NOW = T0 + HOUR


@pytest.mark.parametrize(
    ("provisioning", "fence", "ready", "reason"),
    [
        (GOOD, IN_FORCE, "True", "Ready"),
        (UNKNOWN, IN_FORCE, "True", "Ready"),
        (BAD, IN_FORCE, "False", "AdmissionCheckNotFound"),
        (GOOD, DOWN, "False", "FenceNotInForce"),
        (BAD, DOWN, "False", "FenceNotInForce"),
    ],
)
def test_ready_needs_the_fence_and_what_the_profile_names(
    provisioning: tuple[str, str, str], fence: FenceState, ready: str, reason: str
) -> None:
    first, second = conditions_of(profile().done(), provisioning, fence, NOW)
    assert (first.type, first.status, first.reason) == (api.PROFILE_READY, ready, reason)
    assert (second.type, second.status, second.reason, second.message) == (api.PROVISIONING_READY, *provisioning)
    if not fence.in_force:
        assert fence.reason in (first.message or "")


def test_a_transition_time_moves_only_with_the_status() -> None:
    conditions = conditions_of(profile().done(), GOOD, IN_FORCE, NOW + 999)
    assert {c.last_transition_time for c in conditions} == {format_instant(NOW)}
    shown = profile().condition(api.PROFILE_READY, True, at=T0).condition(api.PROVISIONING_READY, True, at=T0).done()
    ready, provisioning = conditions_of(shown, ("True", "Other", "other words"), DOWN, NOW)
    assert (ready.status, ready.last_transition_time) == ("False", format_instant(NOW))
    assert (provisioning.reason, provisioning.last_transition_time) == ("Other", format_instant(T0))


def test_conditions_name_the_generation_they_speak_of() -> None:
    assert {c.observed_generation for c in conditions_of(profile().metadata(generation=7).done(), GOOD, DOWN, NOW)} == {
        7
    }


# --- written ----------------------------------------------------------------------------------------------------

PROFILES = "/apis/muster.dev/v1alpha1/capacityprofiles"
ADMISSION = "/apis/admissionregistration.k8s.io/v1"


@pytest.fixture
async def server(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ApiServer]:
    monkeypatch.setattr(module, "SETTLE", 0.0)
    async with serving(ApiServer()) as server:
        server.put(f"{ADMISSION}/validatingadmissionpolicies/muster-fence", _fence(EXPECTED_POLICY_SPEC))
        server.put(
            f"{ADMISSION}/validatingadmissionpolicybindings/muster-fence", _fence(EXPECTED_BINDING_SPEC("muster-fence"))
        )
        yield server


def _fence(spec: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"creationTimestamp": format_instant(T0)}, "spec": spec}


@contextlib.asynccontextmanager
async def keeping(server: ApiServer, tmp_path: Path) -> AsyncIterator[Metrics]:
    """The profiles' statuses, kept as in the controller."""
    config = write_kubeconfig(tmp_path / "config", server.url)
    async with await Client.connect(kubeconfig=config) as client:
        cache = Cache(client, Following(client), lambda _: None, lambda _: None)
        fence = Fence(client, "muster-fence", 30 * SECOND, lambda: None)
        metrics = Metrics()
        statuses = ProfileStatus(client, cache, fence, metrics)
        reflectors = [*cache.needed, fence.policies, fence.bindings]
        tasks = [asyncio.create_task(reflector.run()) for reflector in reflectors]
        try:
            for reflector in reflectors:
                await reflector.wait_synced()
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


async def until(condition: Any) -> None:
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110  # the server has no event for what it stores
            await asyncio.sleep(0.005)


def patches(server: ApiServer) -> list[str]:
    return [call.path for call in server.calls if call.method == "PATCH"]


async def test_every_profile_gets_its_status_and_nothing_is_written_twice(server: ApiServer, tmp_path: Path) -> None:
    for name in ("a", "b"):
        server.put(f"{PROFILES}/{name}", profile(name).raw())
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


def test_conditions_are_compared_as_they_are_stored() -> None:
    """What was written once compares equal when it is read back: no write without a change."""
    shown = profile().metadata(generation=1)
    conditions = conditions_of(shown.done(), BAD, DOWN, NOW)
    shown._raw["status"] = {"conditions": msgspec.to_builtins(conditions)}
    assert conditions_of(shown.done(), BAD, DOWN, NOW + HOUR) == conditions
