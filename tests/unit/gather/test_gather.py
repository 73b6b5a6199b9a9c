"""Which objects of a heap are a job's, for every way in which they hang together."""

from typing import Any

import msgspec
import pytest

from classifier import api
from classifier.cluster.snapshot import TYPES, Snapshot
from classifier.objects import Pod, PodGroup
from classifier.state import Mode, Settings, State
from classifier.state.case import Case
from classifier.state.gather import (
    capacity_checks_in,
    case_of,
    find_in,
    group_of,
    inspect_in,
    job_in,
    jobsets_of,
    why_no_job,
)
from tests.builders import T0, check, job, node, workload
from tests.unit.state.builders import JS, NAMESPACE, TJ, WL, child_job, pod, runtime
from tests.unit.state.builders import node as told_node

PLAIN, KUEUE = Settings(mode=Mode.PLAIN), Settings(mode=Mode.KUEUE)
GROUP = "kueue.x-k8s.io/pod-group-name"


def heap(*built: Any) -> Snapshot:
    snapshot = Snapshot()
    kinds = {(resource.api_version, resource.kind): resource for resource in TYPES}
    for one in built:
        raw = one.raw()
        snapshot.add(kinds[raw["apiVersion"], raw["kind"]], one.done())
    return snapshot


def case(snapshot: Snapshot, settings: Settings = KUEUE, captured: tuple[Pod, ...] = ()) -> Case:
    trainjob = job_in(snapshot, api.TRAIN_JOBS, NAMESPACE, "train-3")
    assert trainjob is not None
    return case_of(trainjob, snapshot, settings, captured)


def names(objects: Any) -> list[str]:
    return sorted(obj.name for obj in objects)


# --- one job ------------------------------------------------------------------------------------------------------


def test_a_trainjob_has_its_jobset_its_jobs_and_its_pods() -> None:
    snapshot = heap(
        TJ(),
        TJ(name="train-4").uid("tj-2"),
        JS(),
        JS(name="train-4").uid("js-2"),
        child_job().label("jobset.sigs.k8s.io/jobset-name", "train-3"),
        child_job(name="other").label("jobset.sigs.k8s.io/jobset-name", "train-4"),
        child_job(name="far").label("jobset.sigs.k8s.io/jobset-name", "train-3").metadata(namespace="another"),
        pod("mine"),
        pod("dying").deleting(),
        pod("of-4").of_jobset("train-4", "js-2").dispatch_labels(job_id="train", submission="4"),
        pod("elsewhere").metadata(namespace="another"),
    )
    found = case(snapshot)
    assert names(found.children) == ["train-3", "train-3-node-0"]
    assert names(found.pods) == ["dying", "mine"]


@pytest.mark.parametrize(
    ("told", "mine"),
    [
        pytest.param(pod("p").of_jobset("train-3", "js-1").dispatch_labels(), True, id="by its JobSet's name"),
        pytest.param(pod("p").of_jobset("train-3", "js-0"), True, id="a namesake's, which C11 row 8 notes"),
        pytest.param(pod("p").of_jobset(None, None), True, id="by its submission"),
        pytest.param(pod("p").of_jobset(None, None).dispatch_labels(job_id="train"), False, id="of no submission"),
        pytest.param(
            pod("p").of_jobset(None, None).dispatch_labels(job_id="other", submission="3"), False, id="of another job"
        ),
        pytest.param(pod("p").of_jobset(None, None).dispatch_labels(), False, id="of nobody"),
    ],
)
def test_a_pod_is_attached_by_jobset_or_else_by_submission(told: Any, mine: bool) -> None:
    assert names(case(heap(TJ(), JS(), told)).pods) == (["p"] if mine else [])


@pytest.mark.parametrize(
    ("told", "mine"),
    [
        pytest.param(WL().metadata(labels={}).owner("tj-1", name="train-4"), False, id="controlled by another name"),
        pytest.param(WL(), True, id="labelled and controlled"),
        pytest.param(WL().owner("tj-0"), True, id="labelled"),
        pytest.param(WL().metadata(labels={}), True, id="controlled"),
        pytest.param(WL().metadata(labels={}).owner("tj-0"), False, id="neither"),
        pytest.param(WL().metadata(namespace="another"), False, id="of another namespace"),
    ],
)
def test_a_workload_is_the_jobs_by_its_label_or_its_controller(told: Any, mine: bool) -> None:
    assert len(case(heap(TJ(), told)).workloads) == mine


def test_in_plain_mode_no_workload_is_looked_at() -> None:
    assert case(heap(TJ(), WL()), PLAIN).workloads == ()


def test_nodes_that_may_not_be_read_are_none() -> None:
    snapshot = heap(TJ(), told_node("n1"))
    assert set(case(snapshot).nodes or ()) == {"n1"}
    snapshot.refuse(api.NODES, "nodes may not be read")
    assert case(snapshot).nodes is None


def test_captured_pods_are_handed_on() -> None:
    gone = pod("gone").done()
    assert case(heap(TJ()), captured=(gone,)).captured == (gone,)


def test_a_kind_without_a_view_has_no_case() -> None:
    snapshot = heap(node("n1"))
    with pytest.raises(TypeError, match="no view of a Node"):
        case_of(snapshot.of(api.NODES, TYPES[api.NODES])["n1"], snapshot, KUEUE)


# --- pods alone and in groups -------------------------------------------------------------------------------------


def test_a_pod_without_a_group_is_its_own_job() -> None:
    snapshot = heap(pod("a"), pod("b"), WL(name="w").owner("uid-a", "Pod", "a").metadata(labels={}))
    alone = job_in(snapshot, api.PODS, NAMESPACE, "a")
    assert isinstance(alone, Pod)
    found = case_of(alone, snapshot, KUEUE)
    assert (names(found.pods), names(found.workloads)) == (["a"], ["w"])


def by_label(name: str, created: int) -> Any:
    return pod(name).label(GROUP, "gang").created(T0 + created)


def by_annotation(name: str, created: int) -> Any:
    return pod(name).annotate(GROUP, "gang").created(T0 + created)


@pytest.mark.parametrize("member", [by_label, by_annotation])
def test_a_pod_of_a_group_stands_for_all_of_it(member: Any) -> None:
    snapshot = heap(member("b", 1000), member("c", 2000), member("a", 2000), pod("other"), WL(name="gang"), WL())
    group = job_in(snapshot, api.PODS, NAMESPACE, "c")
    assert isinstance(group, PodGroup)
    # The oldest stands for the group; its Workload is bound to it by the name alone.
    assert (group.name, [p.name for p in group.pods]) == ("b", ["b", "a", "c"])
    found = case_of(group, snapshot, KUEUE)
    assert (names(found.pods), names(found.workloads)) == (["a", "b", "c"], ["gang"])


def test_a_group_goes_when_all_of_its_pods_do() -> None:
    def member(name: str, born: str, *, going: bool) -> Any:
        times = {"creationTimestamp": f"2026-11-29T10:00:0{born}Z"}
        times |= {"deletionTimestamp": "2026-11-29T11:00:00Z"} if going else {}
        return {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": name, "namespace": "ns", "uid": name} | times}

    def of(*members: Any) -> str | None:
        group = group_of(msgspec.convert(one, Pod) for one in members)
        assert group is not None
        assert group.name == "old"
        return group.metadata.deletion_timestamp

    old, new = member("old", "0", going=True), member("new", "1", going=False)
    assert of(old, new) is of(new, old) is None  # replaced
    assert of(old, member("new", "1", going=True)) == "2026-11-29T11:00:00Z"
    assert of(member("old", "0", going=False), member("new", "1", going=True)) is None


def test_the_workload_of_a_group_leads_to_its_pods() -> None:
    snapshot = heap(by_label("a", 0), WL(name="gang").owner(None).metadata(labels={}))
    group = job_in(snapshot, api.WORKLOADS, NAMESPACE, "gang")
    assert isinstance(group, PodGroup)
    assert [p.name for p in group.pods] == ["a"]


# --- inspect ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("resource", "name"), [(api.TRAIN_JOBS, "train-3"), (api.WORKLOADS, "trainjob-train-3-ab12c")])
def test_a_job_is_explained_by_its_name_or_its_workloads(resource: api.Resource, name: str) -> None:
    found = inspect_in(heap(TJ(), WL().admitted(), JS(), node("n1")), resource, NAMESPACE, name, KUEUE, T0)
    assert found is not None
    assert (found.observation.ref.kind, found.observation.ref.name) == ("TrainJob", "train-3")
    assert found.observation.state is State.RUNNING


@pytest.mark.parametrize(
    ("owner", "why"),
    [
        (None, "Workload w has no job for an owner, and no pod group has its name"),
        (
            ("uid", "Deployment", "web", "apps/v1"),
            "Workload w belongs to Deployment web, a kind that cannot be explained",
        ),
        (("tj-0", "TrainJob", "train-3"), "Workload w belongs to TrainJob train-3, which is gone"),
    ],
)
def test_a_workload_that_leads_nowhere_says_why(owner: tuple[str, ...] | None, why: str) -> None:
    told = WL(name="w").metadata(labels={}).owner(*owner or (None,))
    snapshot = heap(told, TJ())
    assert inspect_in(snapshot, api.WORKLOADS, NAMESPACE, "w", KUEUE, T0) is None
    assert why_no_job(told.done()) == why


def test_a_workload_that_several_of_its_owners_do_not_control_leads_to_the_one_that_is_a_job() -> None:
    """A LeaderWorkerSet owns its Workloads without controlling them."""
    told = WL(name="w").owner("uid-of-lws", "LeaderWorkerSet", "lws", "leaderworkerset.x-k8s.io/v1").done()
    references = told.metadata.owner_references
    assert references
    references[0].controller = None
    snapshot = heap()
    snapshot.add(api.WORKLOADS, told)
    lws = TYPES[api.LEADER_WORKER_SETS](metadata=job("lws").metadata(namespace=NAMESPACE).done().metadata)
    snapshot.add(api.LEADER_WORKER_SETS, lws)
    assert job_in(snapshot, api.WORKLOADS, NAMESPACE, "w") is lws


@pytest.mark.parametrize("resource", [api.JOBS, api.PODS, api.WORKLOADS, api.NODES])
def test_what_is_not_here_is_none(resource: api.Resource) -> None:
    assert inspect_in(heap(TJ()), resource, NAMESPACE, "none", KUEUE, T0) is None


def test_evidence_is_asked_for_by_the_job() -> None:
    gone = pod("p0").failed().exit(3).done()
    asked: list[str] = []

    def captured(meta: Any) -> tuple[Pod, ...]:
        asked.append(meta.uid)
        return (gone,)

    trainjob = TJ("Failed=True/FailedJobs: jobset failed")
    found = inspect_in(heap(trainjob, JS()), api.TRAIN_JOBS, NAMESPACE, "train-3", PLAIN, T0, captured)
    assert found is not None
    assert (found.observation.cause.detail, asked) == ("pod p0: exit code 3", ["tj-1"])


# --- find ---------------------------------------------------------------------------------------------------------


def found(snapshot: Snapshot, job: str = "train", settings: Settings = PLAIN) -> list[tuple[str, str]]:
    explained = find_in(snapshot, NAMESPACE, job, settings, T0)
    return [(e.observation.ref.kind, e.observation.ref.name) for e in explained]


def test_trainjobs_come_by_submission_then_orphans_by_kind_and_name() -> None:
    snapshot = heap(
        TJ(name="train-10").uid("tj-10"),
        TJ(name="train-9").uid("tj-9"),
        TJ(name="zebra").uid("tj-z").labels(job_id="train"),
        TJ(name="aardvark").uid("tj-a").labels(job_id="train"),
        TJ(name="special").uid("tj-s").labels(job_id="train", submission="2"),
        TJ(name="train-big-3").uid("tj-b").labels(),
        TJ(name="other-3").uid("tj-o"),
        JS(name="train-1").owner("tj-1"),
        pod("b").of_jobset("train-1", "js-1"),
        pod("a").of_jobset("train-1", "js-1"),
        runtime("train-1", "tj-1"),
    )
    assert found(snapshot) == [
        ("TrainJob", "special"),
        ("TrainJob", "train-9"),
        ("TrainJob", "train-10"),
        ("TrainJob", "aardvark"),
        ("TrainJob", "zebra"),
        ("JobSet", "train-1"),
        ("Pod", "a"),
        ("Pod", "b"),
        ("TrainingRuntime", "train-1"),
    ]


@pytest.mark.parametrize(
    ("name", "label", "of"),
    [
        ("train-3", "train", ["train"]),
        ("train-3", None, ["train"]),
        ("train-3", "other", ["train"]),
        ("something", "other", ["other"]),
        ("train-big-3", None, ["train-big"]),
        ("train", None, []),
    ],
)
def test_a_trainjob_is_the_jobs_by_its_name_or_else_its_label(name: str, label: str | None, of: list[str]) -> None:
    told = TJ(name=name).labels(**({"job_id": label} if label else {}))
    jobs = ("train", "other", "train-big")
    assert [job for job in jobs if found(heap(told), job)] == of


def test_nothing_of_another_namespace_is_found() -> None:
    built = (TJ(), JS(name="train-1").owner("tj-0"), pod("p").of_jobset("train-1", "js-9"), runtime("train-2"))
    snapshot = heap(*(one.metadata(namespace="another") for one in built))
    assert found(snapshot) == []
    assert jobsets_of(snapshot, NAMESPACE, "train", PLAIN) == []


def test_a_pod_is_no_orphan_by_its_name() -> None:
    """A StatefulSet "train" calls its pods exactly <name>-<digits>."""
    assert found(heap(pod("train-0").of_jobset(None, None).dispatch_labels())) == []


# --- capacity checks ----------------------------------------------------------------------------------------------


def test_capacity_checks_are_those_of_the_provisioning_controller_and_the_configured_ones() -> None:
    snapshot = heap(check("prov"), check("other", controller="example.com/other"))
    assert capacity_checks_in(snapshot, frozenset({"mine"})) == {"prov", "mine"}


def test_the_rules_are_told_the_capacity_checks() -> None:
    retry = WL("Evicted=True/AdmissionCheck: no", "QuotaReserved=False/Pending").check("prov", "Retry")
    snapshot = heap(TJ().suspend(), retry, check("prov"))
    (explained,) = find_in(snapshot, NAMESPACE, "train", KUEUE, T0)
    one = inspect_in(snapshot, api.TRAIN_JOBS, NAMESPACE, "train-3", KUEUE, T0)
    assert explained.observation.cause.kind == "no-capacity"
    assert one == explained


def test_an_empty_heap_has_nothing() -> None:
    assert find_in(heap(workload("w")), NAMESPACE, "train", KUEUE, T0) == []
