"""Every row of the race matrix (reference/kueue.md §3.4) where Kueue's own write is the other side, placed by hand.

Kueue is the real one; its write is held on the way until the other has landed. What must never happen is read from the
audit log after each test. Row 1 and 5b's mirror image are in ``test_races.py``, row 9 (a write without a
resourceVersion) is what no write of ours is, checked here for all of them at the end; row 12 is no case of ours.
"""

from collections.abc import AsyncIterator
from typing import Any, Final

import pytest
import pytest_asyncio

from classifier import api
from classifier.cluster.client import MERGE_PATCH, ApiError
from e2e import builders, view
from e2e.arena import EVICTION, NO_ROOM, Arena
from e2e.audit import AuditLog
from e2e.builders import Document, Queues
from e2e.conftest import Invariants
from e2e.controlplane.cluster import Cluster
from e2e.gangs import Gang, add_nodes, remove_nodes
from e2e.wait import eventually

#: Two pods of them are all that a queue has.
HALF: Final = {builders.GPU: 500}
WAIT: Final = "2s"
#: Of those whose time is over only when what comes before has come.
LONG: Final = "1h"
APPLY: Final = "application/apply-patch+yaml"


@pytest.fixture(scope="module")
def cluster(arena: Arena) -> Cluster:
    return arena.cluster


@pytest.fixture(scope="module")
def invariants(invariants_of_arena: Invariants) -> Invariants:
    return invariants_of_arena


class Case:
    """A gang, and what is true of it in the end."""

    def __init__(self, arena: Arena, queues: Queues) -> None:
        self.arena = arena
        self.queues = queues
        self.gang = Gang(arena.cluster, queues)

    async def ended(self) -> Document:
        """The timeout has won, wholly: nothing reserved, nothing admitted, nothing started, and the Job says so."""
        await self.gang.mirrored()

        async def whole() -> Document:
            workload, job = await self.gang.workload(), await self.gang.job()
            assert workload["spec"]["active"] is False
            assert api.COMMITTED in view.annotations(workload)
            assert view.is_true(workload, api.EVICTED), "not evicted yet"
            assert not view.is_true(workload, api.QUOTA_RESERVED)
            assert not view.is_true(workload, api.ADMITTED)
            assert job["spec"]["suspend"] is True
            assert not await view.pods_of(self.arena.cluster.admin, self.queues.namespace, self.gang.name)
            return workload

        return await eventually(whole)

    async def runs(self) -> None:
        """The admission has won, wholly: the gang runs to its end, and nothing says otherwise."""
        await add_nodes(self.arena.cluster, self.queues, 2, gpus=500)
        job = await self.gang.complete()
        workload = await self.gang.workload()
        assert workload["spec"].get("active", True) is True
        assert api.COMMITTED not in view.annotations(workload)
        assert not set(api.MIRROR_KEYS) & view.annotations(job).keys()
        await remove_nodes(self.arena.cluster, self.queues)

    async def quota_is_free(self) -> None:
        """A gang that needs all of the queue is admitted and runs: what was refused holds nothing."""
        await add_nodes(self.arena.cluster, self.queues, 2, gpus=500)
        after = Gang(self.arena.cluster, self.queues, "after")
        await after.submit(requests=HALF)
        await after.complete()
        await remove_nodes(self.arena.cluster, self.queues)


@pytest_asyncio.fixture(loop_scope="session")
async def case(arena: Arena, queues: Queues) -> AsyncIterator[Case]:
    made = Case(arena, queues)
    yield made
    arena.proxy.forget()


async def test_row_2_nobody_looked_at_it(case: Case) -> None:
    await case.gang.submit(timeout=WAIT)
    await case.ended()


async def test_row_3a_admission_comes_after_the_commit_and_before_the_eviction(case: Case) -> None:
    ns = case.queues.namespace
    admission = case.arena.scheduler(ns).hold()
    eviction = case.arena.proxy.when("PATCH", rf"/{ns}/workloads/[^/]+/status", body=EVICTION).hold()
    await case.gang.submit(timeout=LONG, requests=HALF)
    await admission.caught()
    await case.gang.runs_out()
    await case.gang.committed()
    await eviction.caught()
    admission.release()
    await eventually(lambda: _told(case, 422), what="the fence refuses the admission")
    eviction.release()
    await case.ended()
    await case.quota_is_free()


async def test_row_3b_admission_comes_after_the_eviction(case: Case) -> None:
    admission = case.arena.scheduler(case.queues.namespace).hold()
    await case.gang.submit(timeout=LONG, requests=HALF)
    await admission.caught()
    await case.gang.runs_out()
    await case.gang.committed()
    await eventually(lambda: _evicted(case.gang))
    admission.release()
    await eventually(lambda: _told(case, 422), what="the fence refuses the admission")
    await case.ended()
    await case.quota_is_free()


async def test_row_4_no_room_is_said_after_the_commit(case: Case) -> None:
    verdict = case.arena.scheduler(case.queues.namespace, NO_ROOM).hold()
    await case.gang.submit(timeout=LONG)
    await verdict.caught()
    await case.gang.runs_out()
    await case.gang.committed()
    verdict.release()
    await case.ended()


async def test_row_5a_the_last_check_is_ready_before_the_commit_and_admitted_is_written_after_it(case: Case) -> None:
    check = await _checked(case)
    ns = case.queues.namespace
    await case.gang.submit(timeout=LONG, requests=HALF)
    await eventually(lambda: _reserved(case.gang))
    admitted = case.arena.proxy.when("PATCH", rf"/{ns}/workloads/[^/]+/status", body=_says_admitted).hold()
    await _answer(case, check, "Ready")
    await admitted.caught()
    await case.gang.runs_out()
    await case.gang.committed()
    admitted.release()
    await case.ended()
    await _unchecked(case, check)


async def test_row_5b_admitted_is_written_before_the_commit(case: Case) -> None:
    check = await _checked(case)
    commit = case.arena.commit(case.queues.namespace).hold()
    await case.gang.submit(timeout="3s", requests=HALF)
    await commit.caught()
    await _answer(case, check, "Ready")
    await eventually(lambda: _admitted(case.gang))
    commit.release()
    await case.runs()
    assert 409 in case.arena.answers(case.queues.namespace)
    await _unchecked(case, check)


async def test_row_5c_the_commit_comes_while_checks_are_pending(case: Case) -> None:
    check = await _checked(case)
    await case.gang.submit(timeout=LONG, requests=HALF)
    await eventually(lambda: _reserved(case.gang))
    await case.gang.runs_out()
    await case.ended()
    await _answer(case, check, "Ready")
    await case.ended()
    await _unchecked(case, check)


async def test_row_6_the_second_pass_of_topology_comes_after_the_commit(case: Case) -> None:
    """Its write is the first one's, with Admitted too. Played: topology with provisioning takes minutes until then."""
    await case.gang.submit(timeout=WAIT)
    before = await eventually(case.gang.workload)
    await case.gang.committed()
    assert await _apply_admission(case, before) == 422
    await case.ended()


async def test_row_7_the_workload_is_made_anew_while_the_admission_is_on_its_way(case: Case) -> None:
    """Kueue's write names a uid that the API server does not look at: what is admitted is the new Workload."""
    admission = case.arena.scheduler(case.queues.namespace).hold()
    await case.gang.submit(timeout="30s", requests=HALF)
    await admission.caught()
    old = await case.gang.workload()
    path = api.WORKLOADS.path(case.queues.namespace, old["metadata"]["name"])
    await case.arena.cluster.admin.request("DELETE", path)

    async def anew() -> bool:
        return bool((await case.gang.workload())["metadata"]["uid"] != old["metadata"]["uid"])

    await eventually(anew)
    admission.release()
    await case.runs()


async def test_row_7_the_new_workload_is_ended_before_the_old_ones_admission_arrives(case: Case) -> None:
    await case.gang.submit(timeout="4s")
    old = await eventually(case.gang.workload)
    path = api.WORKLOADS.path(case.queues.namespace, old["metadata"]["name"])
    await case.arena.cluster.admin.request("DELETE", path)
    await case.gang.committed()
    assert await _apply_admission(case, old) == 422
    await case.ended()


async def test_row_8_the_scheduler_was_held_up_until_all_was_told(case: Case) -> None:
    """As ``waitForPodsReady.blockAdmission`` holds it up for minutes between its look and its write."""
    admission = case.arena.scheduler(case.queues.namespace).hold()
    await case.gang.submit(timeout=LONG, requests=HALF)
    await admission.caught()
    await case.gang.runs_out()
    await case.ended()
    admission.release()
    await eventually(lambda: _told(case, 422), what="the fence refuses the admission")
    await case.ended()
    await case.quota_is_free()


async def test_row_10_another_write_to_the_spec_comes_before_the_commit(case: Case) -> None:
    commit = case.arena.commit(case.queues.namespace).hold()
    await case.gang.submit(timeout=WAIT)
    await commit.caught()
    await case.gang.patch_workload({"spec": {"priority": 7}})
    commit.release()
    workload = await case.ended()
    assert 409 in case.arena.answers(case.queues.namespace)
    assert view.annotations(workload)[api.COMMITTED].split(" ")[1] == "attempt=1"


async def test_row_11_somebody_reactivates_before_the_mirror(case: Case) -> None:
    ns = case.queues.namespace
    mirror = case.arena.proxy.when("PATCH", rf"/{ns}/jobs/", body=_mirrors, agent="muster").hold()
    await case.gang.submit(timeout="3s")
    await mirror.caught()
    await case.gang.asks(LONG)
    await case.gang.patch_workload({"spec": {"active": True}})
    mirror.release()

    async def void() -> bool:
        workload, job = await case.gang.workload(), await case.gang.job()
        assert api.COMMITTED not in view.annotations(workload), "the marker is still there"
        assert not set(api.MIRROR_KEYS) & view.annotations(job).keys(), view.annotations(job)
        return workload["spec"].get("active", True) is True

    await eventually(void)
    # The second attempt has its whole wait, and ends like the first.
    await case.gang.runs_out()
    workload = await case.ended()
    assert view.annotations(workload)[api.COMMITTED].split(" ")[1] == "attempt=2"


async def test_row_13_the_admission_breaks_on_its_way(case: Case) -> None:
    admission = case.arena.scheduler(case.queues.namespace).hold().reset()
    await case.gang.submit(timeout=LONG, requests=HALF)
    await admission.caught()
    await case.gang.runs_out()
    await case.gang.committed()
    admission.release()
    await case.ended()
    await case.quota_is_free()


async def test_row_14_the_job_is_edited_after_the_commit(case: Case) -> None:
    await case.gang.submit(timeout=WAIT)
    await case.ended()
    path = api.JOBS.path(case.queues.namespace, case.gang.name)
    body = {"spec": {"parallelism": 3, "completions": 3}}
    await case.arena.cluster.admin.request("PATCH", path, body=body, content_type=MERGE_PATCH)

    async def followed() -> bool:
        workload = await case.gang.workload()
        assert workload["spec"]["podSets"][0]["count"] == 3, "Kueue has not followed yet"
        return True

    await eventually(followed)
    await case.ended()


async def test_row_9_no_write_of_ours_is_without_a_resource_version(arena: Arena) -> None:
    log = AuditLog(arena.cluster.audit_log)
    ours = [
        event
        for event in log.read()
        if event["verb"] == "patch"
        and event["user"]["username"].endswith(":muster-controller")
        and event["objectRef"]["resource"] in ("workloads", "jobs")
    ]
    assert ours
    assert all(event["requestObject"]["metadata"]["resourceVersion"] for event in ours)


# --- what is waited for -----------------------------------------------------------------------------------------


async def _told(case: Case, status: int) -> bool:
    answers = case.arena.answers(case.queues.namespace, "/status")
    assert status in answers, answers
    return True


async def _evicted(gang: Gang) -> bool:
    return view.is_true(await gang.workload(), api.EVICTED)


async def _reserved(gang: Gang) -> bool:
    return view.is_true(await gang.workload(), api.QUOTA_RESERVED)


async def _admitted(gang: Gang) -> bool:
    return view.is_true(await gang.workload(), api.ADMITTED)


def _says_admitted(body: bytes) -> bool:
    return b"The workload is admitted" in body


def _mirrors(body: bytes) -> bool:
    return api.ADMISSION_OUTCOME_OF.encode() in body


# --- an admission check that is answered by hand ----------------------------------------------------------------


async def _checked(case: Case) -> str:
    """Give the queue a check of a controller that is nobody's; its name."""
    name = case.queues.cluster_queue
    check: dict[str, Any] = {
        "apiVersion": builders.KUEUE,
        "kind": "AdmissionCheck",
        "metadata": {"name": name},
        "spec": {"controllerName": "example.com/by-hand"},
    }
    admin = case.arena.cluster.admin
    await case.arena.cluster.applier.apply([check])
    active = {"type": "Active", "status": "True", "reason": "ByHand", "message": "", "lastTransitionTime": _NOW}
    path = f"{api.ADMISSION_CHECKS.path(name=name)}/status"
    await admin.request("PATCH", path, body={"status": {"conditions": [active]}}, content_type=MERGE_PATCH)
    quota: dict[str, str | int] = {"cpu": 1000, "memory": "1000Gi", builders.GPU: 1000}
    queue = builders.cluster_queue(name, {case.queues.flavor: quota}, checks=[name])
    await case.arena.cluster.applier.apply([queue])

    async def runs() -> bool:
        return view.is_true(await view.read(admin, api.CLUSTER_QUEUES, None, name), api.ACTIVE)

    await eventually(runs)
    return name


async def _unchecked(case: Case, name: str) -> None:
    quota: dict[str, str | int] = {"cpu": 1000, "memory": "1000Gi", builders.GPU: 1000}
    await case.arena.cluster.applier.apply([builders.cluster_queue(name, {case.queues.flavor: quota})])
    await case.arena.cluster.admin.request("DELETE", api.ADMISSION_CHECKS.path(name=name))


async def _answer(case: Case, check: str, state: str) -> None:
    """As its controller: a strict write."""

    async def written() -> bool:
        workload = await case.gang.workload()
        states = [
            {**each, "state": state, "message": "by hand", "lastTransitionTime": _NOW}
            for each in workload["status"].get("admissionChecks", ())
            if each["name"] == check
        ]
        assert states, "the Workload has no such check yet"
        path = api.WORKLOADS.path(case.queues.namespace, workload["metadata"]["name"])
        body = {"status": {"admissionChecks": states}}
        await case.arena.cluster.admin.request("PATCH", f"{path}/status", body=body, content_type=MERGE_PATCH)
        return True

    await eventually(written)


_NOW: Final = "2026-01-01T00:00:00Z"


async def _apply_admission(case: Case, copy: Document) -> int:
    """Write what the scheduler would from this copy: applied by force, without a resourceVersion; the status told."""
    counts = [{"name": each["name"], "count": each["count"], "flavors": {}} for each in copy["spec"]["podSets"]]
    conditions = [
        {"type": type_, "status": "True", "reason": type_, "message": "played", "lastTransitionTime": _NOW}
        for type_ in (api.QUOTA_RESERVED, api.ADMITTED)
    ]
    body = {
        "apiVersion": builders.KUEUE,
        "kind": "Workload",
        "metadata": {key: copy["metadata"][key] for key in ("name", "namespace", "uid")},
        "status": {
            "admission": {"clusterQueue": case.queues.cluster_queue, "podSetAssignments": counts},
            "conditions": conditions,
        },
    }
    path = f"{api.WORKLOADS.path(case.queues.namespace, copy['metadata']['name'])}/status"
    params = {"fieldManager": "kueue-admission", "force": "true"}
    try:
        await case.arena.cluster.admin.request("PATCH", path, params=params, body=body, content_type=APPLY)
    except ApiError as error:
        return error.status
    return 200
