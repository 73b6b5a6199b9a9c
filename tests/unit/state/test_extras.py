"""What the rules do beyond the page's vectors: other kinds' words, several Workloads, the accepted extensions."""

from typing import Any

import msgspec
import pytest

from classifier.objects import (
    Job,
    JobSet,
    MPIJob,
    Pod,
    PodGroup,
    RayCluster,
    RayJob,
    TrainJob,
    Workload,
)
from classifier.state import Case, Mode, Settings, classify
from classifier.state.kinds import KINDS
from classifier.state.kinds.podgroup import VIEW as POD_GROUP
from tests.builders import T0
from tests.unit.state.builders import JS, TJ, WL, Input, captured, full, kueue, plain, pod, ready
from tests.unit.state.others import condition, observe, of, owned

FAILED = "Failed=True/FailedJobs: why"


# --- texts name the kind -----------------------------------------------------------------------------------------


def test_C12_1_names_the_kind() -> None:
    told = observe(of(Job, deletionTimestamp="2026-11-29T10:00:00Z"))
    assert told.cause.detail == "Job deleting since 2026-11-29T10:00:00Z"


def test_C12_9_names_the_kind() -> None:
    told = observe(
        of(RayJob, annotations={full("P/hold-instance"): "7"}), of(RayCluster, "rc", ownerReferences=owned("u1"))
    )
    assert (told.hold_instance, told.cause.detail) == (7, "hold 7 is set but the RayJob is not suspended")


def test_C12_10_names_the_kind() -> None:
    assert observe(of(RayJob)).cause.detail == "no RayCluster"
    assert observe(of(Job)).cause.detail == ""


def test_C7_names_the_kind() -> None:
    told = observe(of(Job, status={"conditions": [condition("FailureTarget"), condition("Odd")]}))
    assert told.cause.detail == "Job Odd: Why"


def test_C11_names_the_kind() -> None:
    job = of(RayJob, status={"rayClusterName": "rc"}, ownerReferences=owned("x", kind="AppWrapper"))
    stray = of(Pod, "p0", "p", ownerReferences=owned("other", kind="RayCluster"))
    told = observe(job, of(RayCluster, "rc", "rc-1", ownerReferences=owned("u0")), stray)
    assert told.foreign
    assert told.cause.detail == (
        "RayJob is controlled by AppWrapper a; RayCluster rc is not controlled by this RayJob; "
        "pods of another RayCluster: p0"
    )


@pytest.mark.parametrize("clusters", [(), ("rc",)], ids=["not read", "read"])
def test_C11_5_a_job_that_runs_on_somebody_elses_cluster_lacks_none_and_is_not_foreign(
    clusters: tuple[str, ...],
) -> None:
    job = of(RayJob, spec={"clusterSelector": {"ray.io/cluster": "rc"}}, status={"rayClusterName": "rc"})
    told = observe(job, *(of(RayCluster, name, name) for name in clusters))
    assert (told.state, told.foreign, told.cause.detail) == ("running", False, "")


def test_C11_names_and_labels_of_other_kinds_promise_nothing() -> None:
    told = observe(of(Job, "train-3", labels={full("P/job-id"): "other", full("P/submission"): "9"}))
    assert (told.foreign, told.submission) == (False, 9)


def test_a_cause_that_the_job_states_names_its_kind() -> None:
    told = observe(of(Job, status={"conditions": [condition("Failed", reason="DeadlineExceeded")]}))
    assert (told.cause.kind, told.cause.provenance, told.ref.kind) == ("timeout", "job", "Job")


@pytest.mark.parametrize(
    ("resource", "kind", "detail"),
    [
        ("memory", "out-of-memory", "pod w0: Evicted: The node was low on resource: memory."),
        ("inodes", "unknown", "pod w0: Evicted: The node was low on resource: inodes."),
        (None, "preempted", "MPIJobEvicted: 1/2 workers are evicted"),
    ],
)
def test_E_evicted_workers_of_an_mpijob_say_what_the_node_ran_short_of(
    resource: str | None, kind: str, detail: str
) -> None:
    failed = condition("Failed", reason="MPIJobEvicted", message="1/2 workers are evicted")
    said = {"phase": "Failed", "reason": "Evicted", "message": f"The node was low on resource: {resource}. "}
    workers = [of(Pod, "w0", "w", status=said, ownerReferences=owned("u1"))] if resource else []
    told = observe(of(MPIJob, status={"conditions": [failed]}), *workers)
    assert (told.state, told.cause.kind, told.cause.detail) == ("ended", kind, detail)


def test_C8_a_kind_without_named_steps_is_told_by_its_first_container() -> None:
    ended = {"terminated": {"exitCode": 3, "finishedAt": "2026-11-29T10:00:00Z"}}
    statuses = [{"name": "agent", "state": ended | {}}, {"name": "main", "state": ended}]
    dead = of(
        Pod,
        "p0",
        spec={"containers": [{"name": "main"}, {"name": "agent"}]},
        status={"phase": "Failed", "containerStatuses": statuses},
        labels={"batch.kubernetes.io/controller-uid": "u1"},
    )
    assert observe(of(Job), dead, nodes={}).cause.detail == "pod p0: container main exit code 3"


def killed(name: str, at: str, code: int = 143) -> Pod:
    ended = {"name": "main", "state": {"terminated": {"exitCode": code, "finishedAt": f"2026-11-29T{at}Z"}}}
    status = {"phase": "Running", "containerStatuses": [ended]}
    told: Pod = of(Pod, name, name, status=status, labels={"batch.kubernetes.io/controller-uid": "u1"})
    return told


@pytest.mark.parametrize("decided", ["SuccessCriteriaMet", "FailureTarget"])
@pytest.mark.parametrize("mode", Mode)
def test_C6_pods_that_a_job_deletes_once_its_end_is_decided_are_not_blamed(decided: str, mode: Mode) -> None:
    said = condition(decided, reason="Why") | {"lastTransitionTime": "2026-11-29T10:00:05Z"}
    job = of(Job, status={"conditions": [said]})
    up = of(Workload, "wl", "w", {}, {"conditions": [condition("Admitted")]}, ownerReferences=owned("u1", kind="Job"))

    def blamed(*pods: Pod) -> str:
        told = observe(job, up, *pods, mode=mode, nodes={})
        assert told.state == "running"
        return told.cause.detail

    assert blamed(killed("p0", "10:00:06")) == ""
    assert blamed(killed("p0", "10:00:06"), killed("p1", "10:00:04", 1)) == "pod p1: container main exit code 1"
    assert blamed(killed("p0", "10:00:05")) == "pod p0: container main exit code 143"
    said["lastTransitionTime"] = "soon"
    job = of(Job, status={"conditions": [said]})
    assert blamed(killed("p0", "10:00:06")) == "pod p0: container main exit code 143"


def test_C12_11_of_a_jobset_itself() -> None:
    told = observe(of(JobSet, status={"conditions": [condition("RestartingJobSet", message="again")]}))
    assert told.cause.detail == "JobSet restarting: Why: again"


# --- one step container among several, and pods without steps -----------------------------------------------------


def test_C8_of_several_step_containers_the_earliest_is_told() -> None:
    dead = pod("p0").failed().exit(1, at="10:00:09").exit(2, at="10:00:02", of="launcher")
    assert plain(TJ(FAILED), JS(), dead).observe().cause.detail == "pod p0: container launcher exit code 2"


def test_C8_of_several_step_containers_one_without_a_date_comes_last() -> None:
    dead = pod("p0").failed().exit(137, "ContainerStatusUnknown", at="-").exit(2, of="launcher")
    assert plain(TJ(FAILED), JS(), dead).observe().cause.detail == "pod p0: container launcher exit code 2"


def test_C8_a_side_containers_end_is_no_finding() -> None:
    dead = pod("p0").failed().exit(9, of="sidecar")
    assert plain(TJ(FAILED), JS(), dead).observe().cause.detail.endswith("no pod evidence was captured")


# --- pods whose JobSet went first ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "want"),
    [
        (plain(TJ("Failed=True/DeadlineExceeded"), pod("p0").deleting()), ""),
        (plain(TJ().deleting(), pod("p0").deleting()), ""),
        (plain(TJ(), pod("p0")), "pods of another JobSet: p0"),
        (plain(TJ("Failed=True/DeadlineExceeded"), JS().uid("js-9"), pod("p0")), "pods of another JobSet: p0"),
    ],
    ids=["ended", "going", "not yet begun", "ended beside another JobSet"],
)
def test_C11_8_without_a_jobset_nobody_can_say_whose_the_last_pods_are(given: Input, want: str) -> None:
    told = given.observe()
    assert told.foreign is bool(want)
    assert want in told.cause.detail
    assert ("pods of another" in told.cause.detail) is bool(want)
    assert told.execution is None


# --- pods of an earlier admission ---------------------------------------------------------------------------------

_ADMITTED = ("QuotaReserved=True", "Admitted=True/Admitted@10:05:00")


@pytest.mark.parametrize(
    ("made", "leaving", "blamed"),
    [
        ("10:00:00", True, False),  # Kueue has admitted again while it is still terminating
        ("10:05:00", True, True),  # made at this admission
        ("10:00:00", False, True),  # it stays: not the eviction's doing
    ],
)
def test_C9_uncounted_pods_on_their_way_out_of_an_earlier_admission_are_no_evidence(
    made: str, leaving: bool, blamed: bool
) -> None:
    old = pod("p0").run(a=None).exit(143).metadata(creationTimestamp=f"2026-11-29T{made}Z")
    if leaving:
        old.metadata(deletionTimestamp="2026-11-29T10:04:59Z")
    told = kueue(TJ(), JS(), WL(*_ADMITTED), old, pod("p1").run(a=None)).observe()
    assert told.cause.kind == ("non-zero-exit" if blamed else "none")


@pytest.mark.parametrize(
    ("restarts", "blamed"),
    [
        ((0, 1), "p1: exit code 1"),  # the first failure was recovered from
        ((9, 10), "p1: exit code 1"),  # numbers, not text
        ((1, 1), "p0: exit code 1; other ranks: p1 non-zero-exit (exit code 1)"),
        ((None, 1), "p0: exit code 1; other ranks: p1 non-zero-exit (exit code 1)"),  # who says nothing may be of it
        (("x", 1), "p0: exit code 1; other ranks: p1 non-zero-exit (exit code 1)"),
        ((None, None), "p0: exit code 1; other ranks: p1 non-zero-exit (exit code 1)"),
    ],
)
@pytest.mark.parametrize("keep", [lambda pod: pod, captured], ids=["live", "captured"])
def test_C9_uncounted_pods_of_an_earlier_restart_are_no_evidence(restarts: Any, blamed: str, keep: Any) -> None:
    """Without dispatch no pod says its admission, but JobSet counts its restarts all the same."""
    pods = [pod(f"p{n}").run(a=None, j=j).failed().exit(1, at=f"10:00:0{n}") for n, j in enumerate(restarts)]
    for told in (plain(TJ(FAILED), JS(), *map(keep, pods)), plain(TJ(FAILED), JS(), *map(keep, reversed(pods)))):
        assert told.observe().cause.detail == f"pod {blamed}"
        assert told.observe().execution is None


def test_C9_a_group_of_pods_was_made_before_its_admission() -> None:
    gone = (
        pod("p0")
        .run(a=None)
        .exit(1)
        .metadata(
            creationTimestamp="2026-11-29T10:00:00Z", deletionTimestamp="2026-11-29T10:06:00Z", ownerReferences=[]
        )
    )
    member = gone.done()
    group = PodGroup(metadata=member.metadata, pods=[member])
    workload = WL(*_ADMITTED).done()
    told = classify(Case(job=group, view=POD_GROUP, workloads=(workload,), pods=(member,)), Settings(), T0)
    assert told.cause.kind == "non-zero-exit"


# --- details that could grow --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limit", "want"),
    [
        (0, "pod p0: exit code 1; other ranks: 2 more"),
        (-1, "pod p0: exit code 1; other ranks: 2 more"),
        (1, "pod p0: exit code 1; other ranks: p1 non-zero-exit (exit code 1) and 1 more"),
    ],
)
def test_F10_how_many_other_ranks_are_told(limit: int, want: str) -> None:
    given = plain(TJ(FAILED), JS(), *(pod(f"p{n}").failed().exit(1) for n in range(3)), max_other_ranks=limit)
    assert given.observe().cause.detail == want


def test_B7_nodes_of_one_taint_are_told_together_those_of_captured_pods_too() -> None:
    key = "cloud.google.com/impending-node-termination"
    drained = [pod(f"p{n}", f"m{n}").has("DisruptionTarget=True/EvictionByEvictionAPI") for n in range(4)]
    nodes = [ready(f"m{n}").taint(key) for n in range(5)]
    told = plain(TJ(), JS(), *drained[:-1], captured(drained[-1]), *nodes).observe()
    assert told.cause.detail.endswith(f"; node m0, m1, m2 and 1 more tainted {key}")


@pytest.mark.parametrize("key", ["karpenter.sh/disruption", "aws-node-termination-handler/asg-lifecycle-termination"])
def test_B7_taints_of_older_and_of_many_names(key: str) -> None:
    drained = pod("p0").has("DisruptionTarget=True/EvictionByEvictionAPI")
    assert plain(TJ(), JS(), drained, ready("n1").taint(key)).observe().cause.detail.endswith(f"node n1 tainted {key}")


# --- whatever may be missing --------------------------------------------------------------------------------------


@pytest.mark.parametrize("view", KINDS.values(), ids=lambda view: view.resource.kind)
@pytest.mark.parametrize("mode", Mode)
def test_an_object_of_nothing_but_a_name_is_pending_or_runs(view: Any, mode: Mode) -> None:
    job = view.type_()
    told = classify(Case(job=job, view=view), Settings(mode=mode), T0)
    assert told.state == ("running" if mode is Mode.PLAIN else "pending")
    assert (told.cause.kind, told.execution, told.foreign) == ("none", None, False)


def test_a_condition_type_or_status_of_none_says_nothing() -> None:
    job = msgspec.convert({"metadata": {"name": "train-3"}, "status": {"conditions": [{}, {"type": "Odd"}]}}, TrainJob)
    assert observe(job).cause.detail == "no JobSet"
