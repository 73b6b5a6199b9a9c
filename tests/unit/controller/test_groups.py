"""Groups of pods, bare pods and Workloads that nobody owns: the same decision, on whatever carries the ledger."""

from typing import Any

import msgspec
import pytest

from classifier import api, clock, scope
from classifier.clock import Ledger
from classifier.instant import HOUR, MINUTE, SECOND, format_instant
from classifier.ledger import parse_ledger
from classifier.objects import Pod, PodGroup
from controller.groups import addressed, group_of, without
from tests.apiserver import answer, silent
from tests.builders import Builder, WorkloadBuilder, workload
from tests.unit.controller.inmemory import JOB, POLICY, WORKLOAD, Cluster, Controller, fence, now, overdue

GROUP = "kueue.x-k8s.io/pod-group-name"
GANG = api.WORKLOADS.path("team", "gang")
GATE = {"name": "kueue.x-k8s.io/admission"}


def pod(name: str, group: str = "gang", created: int = 0) -> Builder[Pod]:
    """A gated pod of a group, as Kueue leaves it when it is created."""
    builder = Builder(Pod, api.PODS, name, "team").label("kueue.x-k8s.io/managed", "true").created(created)
    builder.spec["schedulingGates"] = [GATE]
    return builder.label(GROUP, group) if group else builder


def gang(*names: str, name: str = "gang") -> WorkloadBuilder:
    """The Workload Kueue makes of these pods."""
    owners = [{"apiVersion": "v1", "kind": "Pod", "name": each, "uid": f"uid-of-{each}"} for each in names]
    return workload(name).metadata(ownerReferences=owners).annotate("kueue.x-k8s.io/is-group-workload", "true")


def ledger(name: str, origin: int, **fields: Any) -> str:
    return clock.format_ledger(Ledger(f"uid-of-{name}", origin, **fields))


def at(name: str) -> str:
    return api.PODS.path("team", name)


# --- as one ---------------------------------------------------------------------------------------------------------


def test_the_oldest_pod_stands_for_the_group_and_what_one_says_all_say() -> None:
    late = pod("a", created=2 * MINUTE).annotate(api.ADMISSION_TIMEOUT, "1h").done()
    early = pod("b", created=MINUTE).annotate(api.ADMISSION_CLOCK, ledger("b", MINUTE)).done()
    owned = group_of([late, early])
    assert owned is not None
    assert (owned.owner.name, owned.owner.uid) == ("b", "uid-of-b")
    assert owned.owner.annotation(api.ADMISSION_TIMEOUT) == "1h"
    assert parse_ledger(owned.owner) == Ledger("uid-of-b", MINUTE)
    assert [one.name for one in owned.carriers] == ["b", "a"]


def test_a_ledger_of_another_pod_is_none() -> None:
    """A pod made from another's manifest bears its ledger."""
    owned = group_of([pod("a").annotate(api.ADMISSION_CLOCK, ledger("b", MINUTE)).done()])
    assert owned is not None
    assert owned.owner.annotation(api.ADMISSION_CLOCK) is None


def test_pods_on_their_way_out_stand_for_nobody_but_may_still_run() -> None:
    leaving = pod("a", created=1).metadata(deletionTimestamp="2026-11-29T10:00:00Z")
    leaving.spec["schedulingGates"] = []
    owned = group_of([leaving.done(), pod("b", created=2).done()])
    assert owned is not None
    assert isinstance(owned.owner, PodGroup)
    assert [one.name for one in owned.carriers] == ["b"]
    assert not owned.view.suspended(owned.owner)


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_has_ended_runs_no_more(phase: str) -> None:
    ended = pod("a")
    ended.spec["schedulingGates"] = []
    raw = ended.raw() | {"status": {"phase": phase}}
    owned = group_of([msgspec.convert(raw, Pod), pod("b").done()])
    assert owned is not None
    assert owned.view.suspended(owned.owner)


def test_a_group_is_not_ours_if_any_of_its_pods_is_not() -> None:
    of_a_set = pod("b", created=1).annotate("kueue.x-k8s.io/pod-suspending-parent", "statefulset").done()
    owned = group_of([pod("a").done(), of_a_set])
    assert owned is not None
    assert scope.why_not_ours(owned.owner) == "is part of a statefulset"


def test_there_is_no_group_without_a_pod() -> None:
    assert group_of([]) is None


def test_each_pod_gets_the_ledger_under_its_own_uid_and_only_what_it_lacks() -> None:
    wanted = {api.ADMISSION_CLOCK: ledger("a", MINUTE), api.ADMISSION_DEADLINE: "2026-11-29T10:00:00Z"}
    fresh = addressed(wanted, pod("b").done())
    assert fresh[api.ADMISSION_CLOCK] == ledger("b", MINUTE)
    told = pod("b")
    for key, value in fresh.items():
        told.annotate(key, value)
    assert addressed(wanted, told.done()) == {}
    assert addressed({api.ADMISSION_DEADLINE: None}, told.done()) == {api.ADMISSION_DEADLINE: None}
    assert addressed({api.ADMISSION_MESSAGE: None}, told.done()) == {}


# --- the whole controller -------------------------------------------------------------------------------------------


def waiting(cluster: Cluster, *names: str) -> None:
    """A gang whose bound of 30 min ran out half an hour ago; all is announced."""
    since = now() - HOUR
    deadline = format_instant(since + 30 * MINUTE)
    for name in names:
        builder = pod(name, created=since).annotate(api.ADMISSION_CLOCK, ledger(name, since))
        cluster.put(at(name), builder.annotate(api.ADMISSION_DEADLINE, deadline).raw())
    cluster.put(GANG, gang(*names).created(since).annotate(api.ADMISSION_DEADLINE, deadline).raw())


def mirrors(cluster: Cluster, *names: str) -> set[str | None]:
    return {cluster.annotations(at(name)).get(api.ADMISSION_OUTCOME_OF) for name in names}


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


def protecting(cluster: Cluster, name: str, status: int = 403) -> None:
    """Somebody's webhook lets nobody write to this pod."""
    cluster.fault = answer(status, "Forbidden", 'admission webhook "protect.example.com" denied the request')
    cluster.faulty = lambda call: call.method == "PATCH" and call.path == at(name)


async def test_a_pod_that_refuses_what_it_is_told_keeps_its_gang_from_nothing(cluster: Cluster, start: Any) -> None:
    since = now() - HOUR
    for name in ("p-0", "p-1", "p-2"):
        cluster.put(at(name), pod(name, created=since).raw())
    cluster.put(GANG, gang("p-0", "p-1", "p-2").created(since).raw())
    protecting(cluster, "p-0")
    async with start("--notice=1s") as controller:
        await controller.until(lambda: mirrors(cluster, "p-1", "p-2") == {"uid-of-gang/1"})
        await controller.until(lambda: controller.engine._queue.idle)
        assert controller.value("muster_pending_mirrors") == 0
        # Once for the ledger, and not for the mirror, nor for ever.
        assert sum(call.method == "PATCH" and call.path == at("p-0") for call in cluster.calls) == 1
    assert cluster.objects[GANG]["spec"]["active"] is False
    assert len(cluster.events) == 1


async def test_a_late_pod_that_refuses_is_alone_with_it(cluster: Cluster, start: Any) -> None:
    """The others have been told already: nothing is written that would bring the gang back to mind."""
    waiting(cluster, "p-1", "p-2")
    cluster.put(at("p-0"), pod("p-0", created=now() - HOUR).raw())
    protecting(cluster, "p-0")
    async with start() as controller:
        await controller.until(lambda: mirrors(cluster, "p-1", "p-2") == {"uid-of-gang/1"})


async def test_a_pod_that_was_left_out_is_asked_again_afterwards(
    cluster: Cluster, start: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its gang waits with a deadline far off, and nothing else happens to it."""
    monkeypatch.setattr("controller.members.LEFT_OUT", 0.3)
    since = now()
    for name in ("p-0", "p-1"):
        cluster.put(at(name), pod(name, created=since).raw())
    cluster.put(GANG, gang("p-0", "p-1").created(since).raw())
    protecting(cluster, "p-0")
    async with start() as controller:
        await controller.until(lambda: api.ADMISSION_CLOCK in cluster.annotations(at("p-1")))
        await controller.until(lambda: len(controller.engine._writer.members._left_out) == 1)
        cluster.fault = None
        await controller.until(lambda: api.ADMISSION_CLOCK in cluster.annotations(at("p-0")))


@pytest.mark.parametrize("reactivated", [False, True], ids=["its Workload is gone", "reactivated"])
async def test_a_dead_mirror_that_a_pod_keeps_is_taken_off_later(
    cluster: Cluster, start: Any, monkeypatch: pytest.MonkeyPatch, reactivated: bool
) -> None:
    monkeypatch.setattr("controller.members.LEFT_OUT", 0.3)
    names = ("p-0", "p-1")
    since = now()
    for name in names:
        dead = pod(name, created=since).annotate(api.ADMISSION_OUTCOME, "TimedOut")
        dead.annotate(api.ADMISSION_OUTCOME_OF, "uid-of-gang/1").annotate(api.ADMISSION_MESSAGE, "gone")
        cluster.put(at(name), dead.annotate(api.ADMISSION_CLOCK, ledger(name, since, attempt=2)).raw())
    if reactivated:
        cluster.put(GANG, gang(*names).created(since).raw())
    protecting(cluster, "p-0")
    async with start() as controller:
        await controller.until(lambda: mirrors(cluster, *names) == {"uid-of-gang/1", None})
        cluster.fault = None
        await controller.until(lambda: mirrors(cluster, *names) == {None})


async def test_a_gang_all_of_whose_pods_refuse_is_asked_again_later_and_later(cluster: Cluster, start: Any) -> None:
    since = now() - HOUR
    for name in ("p-0", "p-1"):
        cluster.put(at(name), pod(name, created=since).raw())
    cluster.put(GANG, gang("p-0", "p-1").created(since).raw())
    cluster.fault = answer(403, "Forbidden", "denied")
    cluster.faulty = lambda call: call.method == "PATCH" and "/pods/" in call.path
    async with start() as controller:
        await controller.until(lambda: max(controller.engine._queue._failures.values(), default=0) > 3)
        assert controller.engine._writer.members._left_out == {}
        cluster.fault = None
        await controller.until(lambda: api.ADMISSION_DEADLINE in cluster.annotations(GANG))


async def test_the_ledger_of_a_pod_that_is_left_out_counts_no_more(cluster: Cluster, start: Any) -> None:
    """It says still what was true before a pause, and would take the gang back to it."""
    early, late = HOUR, 2 * HOUR
    members = [
        pod("a", created=1).annotate(api.ADMISSION_CLOCK, ledger("a", early)).done(),
        pod("b", created=2).annotate(api.ADMISSION_CLOCK, ledger("b", late)).done(),
    ]
    owned = group_of(members)
    assert owned is not None
    assert parse_ledger(owned.owner) == Ledger("uid-of-a", early)
    less = without(owned, {"uid-of-a"})
    assert parse_ledger(less.owner) == Ledger("uid-of-b", late)
    assert [one.name for one in less.carriers] == ["b"]
    assert isinstance(less.owner, PodGroup)
    assert [one.name for one in less.owner.pods] == ["a", "b"], "it may still run"
    assert without(owned, {"uid-of-a", "uid-of-b"}) is owned


async def ahead_of_pods(cluster: Cluster, controller: Controller) -> None:
    """The Workload is written after anything that was heard of pods; then the fence lets waits be ended."""
    await controller.until(lambda: controller.value("muster_overdue_workloads", cluster_queue="gpu-a100") == 1)
    cluster.edit(GANG, lambda obj: obj["metadata"].update(labels={"example.com/seen": "later"}))
    version = cluster.objects[GANG]["metadata"]["resourceVersion"]
    cached = controller.engine.cache.workloads.objects
    await controller.until(lambda: cached["team/gang"].metadata.resource_version == version)
    fence(cluster)


async def test_a_gang_of_many_is_read_at_once_before_its_wait_is_ended(cluster: Cluster, start: Any) -> None:
    names = [f"p-{number}" for number in range(30)]
    waiting(cluster, *names)
    cluster.remove(POLICY)
    async with start() as controller:
        await ahead_of_pods(cluster, controller)
        await controller.until(lambda: mirrors(cluster, *names) == {"uid-of-gang/1"})
    asked = [call for call in cluster.calls if call.method == "GET" and not call.watch]
    assert not [call for call in asked if call.path.startswith(at("p-"))]
    assert [call for call in asked if f"{GROUP}=gang" in call.query.get("labelSelector", "")]


async def test_a_gang_whose_name_no_label_bears_is_read_pod_by_pod(cluster: Cluster, start: Any) -> None:
    waiting(cluster, "p-0", "p-1")
    for name in ("p-0", "p-1"):
        cluster.edit(at(name), lambda obj: obj["metadata"]["labels"].pop(GROUP))
        cluster.edit(at(name), lambda obj: obj["metadata"]["annotations"].update({GROUP: "gang"}))
    cluster.remove(POLICY)
    async with start() as controller:
        await ahead_of_pods(cluster, controller)
        await controller.until(lambda: mirrors(cluster, "p-0", "p-1") == {"uid-of-gang/1"})
    assert {call.path for call in cluster.calls if call.method == "GET"} >= {at("p-0"), at("p-1")}


async def test_a_pod_that_is_told_of_late_is_read_before_the_wait_of_its_gang_is_ended(
    cluster: Cluster, start: Any
) -> None:
    """Its ledger tells of a reactivation that no watch has brought yet."""
    waiting(cluster, "p-0", "p-1")
    cluster.remove(POLICY)
    cluster.fault, cluster.faulty = silent(), lambda call: call.watch and call.path == api.PODS.path()
    async with start() as controller:
        await controller.until(lambda: controller.value("muster_overdue_workloads", cluster_queue="gpu-a100") == 1)
        anew = {api.ADMISSION_CLOCK: ledger("p-1", now(), attempt=2)}
        cluster.edit(at("p-1"), lambda obj: obj["metadata"]["annotations"].update(anew))
        await ahead_of_pods(cluster, controller)
        await controller.until(lambda: '"attempt":2' in cluster.annotations(at("p-0"))[api.ADMISSION_CLOCK])
    assert api.COMMITTED not in cluster.annotations(GANG)


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


def orphan(cluster: Cluster) -> str:
    """A Workload that a person made, an hour ago."""
    path = api.WORKLOADS.path("team", "mine")
    since = now() - HOUR
    deadline = format_instant(since + 30 * MINUTE)
    mine = workload("mine").metadata(ownerReferences=None).created(since)
    told = mine.annotate(api.ADMISSION_CLOCK, ledger("mine", since)).annotate(api.ADMISSION_DEADLINE, deadline)
    cluster.put(path, told.raw())
    return path


async def test_a_workload_that_nobody_owns_carries_it_all_itself_where_asked_for(cluster: Cluster, start: Any) -> None:
    path = orphan(cluster)
    async with start("--bound-ownerless=true") as controller:
        await controller.until(lambda: cluster.annotations(path).get(api.ADMISSION_OUTCOME_OF) == "uid-of-mine/1")
        assert cluster.objects[path]["spec"]["active"] is False
        cluster.edit(path, lambda obj: obj["spec"].update(active=True))
        await controller.until(lambda: api.ADMISSION_OUTCOME_OF not in cluster.annotations(path))
        assert api.COMMITTED not in cluster.annotations(path)
    (event,) = cluster.events
    assert event["regarding"]["kind"] == event["related"]["kind"] == "Workload"


async def test_a_workload_that_nobody_owns_is_let_alone_otherwise(cluster: Cluster, start: Any) -> None:
    path = orphan(cluster)
    waiting(cluster, "p-0")
    async with start() as controller:
        await controller.until(lambda: mirrors(cluster, "p-0") == {"uid-of-gang/1"})
        await controller.until(lambda: controller.engine._queue.idle)
    assert path not in {call.path for call in cluster.writes}


async def test_no_name_that_people_write_leads_to_another_path(cluster: Cluster, start: Any) -> None:
    """Nobody checks what an owner reference names, nor an annotation: they must not choose what is read for them."""
    elsewhere = "../../../../../../api/v1/namespaces/kube-system/secrets/token"
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": elsewhere, "uid": "uid-of-none", "controller": True}
    cluster.put(WORKLOAD, workload().metadata(ownerReferences=[owner]).raw())
    mirrored = pod("lone", "").annotate(GROUP, elsewhere).annotate(api.ADMISSION_OUTCOME_OF, "uid-of-none/1")
    cluster.put(at("lone"), mirrored.raw())
    waiting(cluster, "p-0")
    async with start() as controller:
        await controller.until(lambda: mirrors(cluster, "p-0") == {"uid-of-gang/1"})
        await controller.until(lambda: api.ADMISSION_OUTCOME_OF not in cluster.annotations(at("lone")))
        await controller.until(lambda: controller.engine._queue.idle)
    assert not [call for call in cluster.calls if "/secrets" in call.path]


# --- kinds that come and go -----------------------------------------------------------------------------------------

RAY = api.RAY_JOBS.path("team", "ray")
RAY_WORKLOAD = api.WORKLOADS.path("team", "rayjob-ray")


def ray(cluster: Cluster, **spec: Any) -> None:
    since = now() - HOUR
    deadline = format_instant(since + 30 * MINUTE)
    job = Builder(Pod, api.RAY_JOBS, "ray", "team").created(since).annotate(api.ADMISSION_CLOCK, ledger("ray", since))
    job.spec.update({"suspend": True, **spec})
    cluster.put(RAY, job.annotate(api.ADMISSION_DEADLINE, deadline).raw())
    its = workload("rayjob-ray").made_of("RayJob", "ray.io/v1", "ray").created(since)
    cluster.put(RAY_WORKLOAD, its.annotate(api.ADMISSION_DEADLINE, deadline).raw())


async def test_kinds_that_are_not_installed_hold_up_nothing_and_are_followed_once_they_are(
    cluster: Cluster, start: Any
) -> None:
    optional = [resource.plural for resource in (api.RAY_JOBS, api.JOBSETS, api.TRAIN_JOBS, api.APP_WRAPPERS)]
    cluster.refusals.update(dict.fromkeys(optional, 404))
    waiting(cluster, "p-0")
    async with start() as controller:
        await controller.until(lambda: mirrors(cluster, "p-0") == {"uid-of-gang/1"})
        assert not controller.engine.not_ready
        del cluster.refusals["rayjobs"]
        ray(cluster)
        await controller.until(lambda: api.ADMISSION_OUTCOME_OF in cluster.annotations(RAY))


async def test_a_kind_that_cannot_be_followed_stops_the_commits_of_that_kind_alone(
    cluster: Cluster, start: Any
) -> None:
    cluster.fault, cluster.faulty = answer(500), lambda call: "/rayjobs" in call.path and call.path != RAY
    ray(cluster)
    waiting(cluster, "p-0")
    async with start() as controller:
        await controller.until(lambda: mirrors(cluster, "p-0") == {"uid-of-gang/1"})
        await controller.until(lambda: controller.value("muster_overdue_workloads", cluster_queue="gpu-a100") == 1)
        assert api.COMMITTED not in cluster.annotations(RAY_WORKLOAD)
        cluster.fault = None
        await controller.until(lambda: api.ADMISSION_OUTCOME_OF in cluster.annotations(RAY))


async def test_a_kind_that_is_there_and_is_answered_404_stops_the_commits_of_that_kind(
    cluster: Cluster, start: Any
) -> None:
    """As by an API server that has only just started: who has asked for more time since is not seen."""
    ray(cluster)
    async with start() as controller:
        await controller.until(lambda: bool(controller.engine.cache.owners["ray.io", "RayJob"].objects))
        cluster.refusals["rayjobs"] = 404
        cluster.compact()
        cluster.cut_watches(which="rayjobs")
        await controller.until(lambda: controller.engine.cache.owners["ray.io", "RayJob"].refused == 404)
        assert "rayjobs" in (controller.engine.cache.lost(("ray.io", "RayJob")) or "")
        assert controller.engine.cache.lost(("jobset.x-k8s.io", "JobSet")) is None


@pytest.mark.parametrize("spec", [{"managedBy": "kueue.x-k8s.io/multikueue"}, {"managedBy": "example.com/other"}])
async def test_a_job_that_another_controller_runs_is_let_alone(cluster: Cluster, start: Any, spec: Any) -> None:
    ray(cluster, **spec)
    waiting(cluster, "p-0")
    async with start() as controller:
        await controller.until(lambda: mirrors(cluster, "p-0") == {"uid-of-gang/1"})
        await controller.until(lambda: controller.engine._queue.idle)
    assert not {RAY, RAY_WORKLOAD} & {call.path for call in cluster.writes}


# --- what stands above ----------------------------------------------------------------------------------------------


def controlled(api_version: str, kind: str, name: str) -> list[dict[str, Any]]:
    reference = {"apiVersion": api_version, "kind": kind, "name": name, "uid": f"uid-of-{name}", "controller": True}
    return [reference]


def pipeline(cluster: Cluster, *, of: list[dict[str, Any]] | None = None) -> None:
    """A kind that nobody here knows, controls the RayJob."""
    resources = {"resources": [{"name": "pipelines", "kind": "Pipeline", "namespaced": True}]}
    cluster.put("/apis/example.com/v1", resources)
    metadata = {"name": "line", "namespace": "team", "uid": "uid-of-line", "ownerReferences": of}
    cluster.put("/apis/example.com/v1/namespaces/team/pipelines/line", {"metadata": metadata})
    cluster.edit(
        RAY, lambda obj: obj["metadata"].update(ownerReferences=controlled("example.com/v1", "Pipeline", "line"))
    )


async def test_what_is_part_of_a_job_through_others_is_let_alone(cluster: Cluster, start: Any) -> None:
    ray(cluster)
    pipeline(cluster, of=controlled("jobset.x-k8s.io/v1alpha2", "JobSet", "whole"))
    waiting(cluster, "p-0")
    async with start() as controller:
        await controller.until(lambda: mirrors(cluster, "p-0") == {"uid-of-gang/1"})
        await controller.until(lambda: controller.engine._queue.idle)
    assert not {RAY, RAY_WORKLOAD} & {call.path for call in cluster.writes}


@pytest.mark.parametrize("closed", [False, True], ids=["nobody above", "may not be read"])
async def test_what_no_job_stands_above_is_bounded(cluster: Cluster, start: Any, closed: bool) -> None:
    ray(cluster)
    pipeline(cluster)
    if closed:
        cluster.refusals["pipelines"] = 403
    async with start() as controller:
        await controller.until(lambda: api.ADMISSION_OUTCOME_OF in cluster.annotations(RAY))


# --- copies of different age ----------------------------------------------------------------------------------------


async def test_an_owner_that_is_told_of_late_is_read_before_its_wait_is_ended(cluster: Cluster, start: Any) -> None:
    """Another replica has noted a reactivation: the new ledger is there, and this one's copy of the job is older."""
    overdue(cluster)
    cluster.remove(POLICY)
    cluster.fault, cluster.faulty = silent(), lambda call: call.watch and call.path == api.JOBS.path()
    async with start() as controller:
        await controller.until(lambda: controller.value("muster_overdue_workloads", cluster_queue="gpu-a100") == 1)
        again = now()
        anew = {
            api.ADMISSION_CLOCK: clock.format_ledger(Ledger("uid-of-train", again, 2)),
            api.ADMISSION_DEADLINE: format_instant(again + 30 * MINUTE),
        }
        cluster.edit(JOB, lambda obj: obj["metadata"]["annotations"].update(anew))
        cluster.edit(WORKLOAD, lambda obj: obj["metadata"].update(labels={"example.com/seen": "later"}))
        cached = controller.engine.cache.workloads.objects
        version = cluster.objects[WORKLOAD]["metadata"]["resourceVersion"]
        await controller.until(lambda: cached["team/job-train-1a2b3"].metadata.resource_version == version)
        fence(cluster)
        # It goes by the new ledger from then on.
        wanted = anew[api.ADMISSION_DEADLINE]
        await controller.until(lambda: cluster.annotations(WORKLOAD)[api.ADMISSION_DEADLINE] == wanted)
    assert api.COMMITTED not in cluster.annotations(WORKLOAD)
