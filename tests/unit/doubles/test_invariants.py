"""The history that every scenario is held against: each thing that must never happen is seen when it does."""

import itertools
from typing import Any

import pytest

from classifier import api
from classifier.instant import SECOND, format_instant, parse_instant
from e2e.invariants import CONTROLLER, History

Object = dict[str, Any]

T0 = parse_instant("2026-11-29T10:00:00Z")
USER = "somebody"
KUEUE = "system:serviceaccount:kueue-system:kueue-controller-manager"
DECISION = {api.COMMITTED: "2026-11-29T10:00:00Z attempt=1 uid=w1"}
MIRROR = {api.ADMISSION_OUTCOME_OF: "w1/1", api.ADMISSION_OUTCOME: "TimedOut"}
GROUP = {"kueue.x-k8s.io/pod-group-name": "gang"}
GATED = {"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}]}


class Told:
    """A history, told object by object."""

    def __init__(self) -> None:
        self.history = History()
        self._versions = itertools.count(1)

    def write(self, obj: Object, by: str = USER, verb: str = "update", code: int = 200) -> None:
        obj["metadata"]["resourceVersion"] = str(next(self._versions))
        bodies = {"responseObject": obj} if code == 200 else {"requestObject": obj}
        self._take(verb, obj, by, {**bodies, "responseStatus": {"code": code}})

    def delete(self, obj: Object, by: str = USER, options: Object | None = None, verb: str = "delete") -> None:
        self._take(verb, obj, by, {"requestObject": options or {}})

    def _take(self, verb: str, obj: Object, by: str, more: Object) -> None:
        meta = obj["metadata"]
        reference = {"resource": f"{obj['kind']}s".lower(), "namespace": meta["namespace"], "name": meta["name"]}
        event = {
            "verb": verb,
            "objectRef": reference,
            "responseStatus": {"code": 200},
            "requestURI": "/x",
            "stageTimestamp": format_instant(T0),
            "user": {"username": by, "groups": []},
        }
        self.history.take(event | more)

    def found(self, later: int = 0) -> str:
        self.history.close(T0 + later)
        return "\n".join(self.history.violations)


def made(kind: str, name: str, uid: str, annotations: Object | None = None, **fields: Any) -> Object:
    meta = {"name": name, "namespace": "team", "uid": uid, "annotations": annotations or {}}
    meta |= fields.pop("meta", {})
    return {"kind": kind, "metadata": meta, "spec": {}, **fields}


def by(kind: str, uid: str) -> Object:
    return {"ownerReferences": [{"kind": kind, "uid": uid, "controller": True}]}


def workload(annotations: Object | None = None, *, owner: Object | None = None, active: bool = False) -> Object:
    return made("Workload", "gang", "w1", annotations, meta=owner or by("Job", "j1"), spec={"active": active})


def group_workload(annotations: Object | None = None) -> Object:
    owner = {"ownerReferences": [{"kind": "Pod", "uid": "p1"}]}
    return workload({"kueue.x-k8s.io/is-group-workload": "true", **(annotations or {})}, owner=owner)


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.mark.parametrize(
    ("kind", "spec"), [("Job", {"suspend": True}), ("PyTorchJob", {"runPolicy": {"suspend": True}}), ("Pod", GATED)]
)
def test_a_decision_its_mirror_and_its_end_in_order_are_well(told: Told, kind: str, spec: Object) -> None:
    told.write(made(kind, "train", "j1", spec=spec), verb="create")
    told.write(workload(DECISION, owner=by(kind, "j1")), CONTROLLER)
    told.write(made(kind, "train", "j1", MIRROR, spec=spec), CONTROLLER)
    told.write(workload({**DECISION, api.CLEANUP_COMMITTED: "2026-11-29T10:00:00Z"}, owner=by(kind, "j1")), CONTROLLER)
    told.delete(made(kind, "train", "j1"), CONTROLLER, {"preconditions": {"uid": "j1", "resourceVersion": "3"}})
    assert told.found(60 * SECOND) == ""


@pytest.mark.parametrize("kind", ["Job", "JobSet", "RayCluster", "MPIJob", "AppWrapper", "Pod"])
def test_a_mirror_of_no_decision_is_seen_on_any_kind(told: Told, kind: str) -> None:
    told.write(made(kind, "train", "j1", MIRROR, spec={"suspend": True, **GATED}), CONTROLLER)
    assert "is no live decision" in told.found()


@pytest.mark.parametrize("kind", ["Job", "TrainJob", "PyTorchJob", "Pod"])
def test_a_mirror_on_what_runs_is_seen(told: Told, kind: str) -> None:
    told.write(workload(DECISION, owner=by(kind, "j1")), CONTROLLER)
    told.write(made(kind, "train", "j1", MIRROR), CONTROLLER)
    assert "while it was not suspended" in told.found()


def test_a_mirror_that_outlives_its_decision_is_seen_after_a_grace(told: Told) -> None:
    told.write(group_workload(DECISION), CONTROLLER)
    told.write(made("Pod", "p", "p1", MIRROR, meta={"labels": GROUP}, spec=GATED), CONTROLLER)
    told.write(group_workload(DECISION) | {"spec": {"active": True}})
    assert told.found(9 * SECOND) == ""
    assert "mirrors w1/1" in told.found(11 * SECOND)


def test_a_mirror_goes_with_its_namespace_whatever_goes_first(told: Told) -> None:
    told.write(workload(DECISION), CONTROLLER)
    told.write(made("Job", "train", "j1", MIRROR, spec={"suspend": True}), CONTROLLER)
    told.delete(workload(), verb="deletecollection")
    assert told.found(11 * SECOND) == ""


@pytest.mark.parametrize("kind", ["Job", "RayJob", "Pod"])
def test_a_protected_key_in_other_hands_is_seen(told: Told, kind: str) -> None:
    told.write(made(kind, "train", "j1", {api.ADMISSION_DEADLINE: "2026-11-29T10:00:00Z"}), CONTROLLER)
    told.write(made(kind, "train", "j1", {api.ADMISSION_DEADLINE: "2026-11-30T10:00:00Z"}), USER)
    assert f"{USER} changed {api.ADMISSION_DEADLINE}" in told.found()


def test_what_landed_without_an_answer_is_the_controllers_own(told: Told) -> None:
    told.write(workload(active=True), verb="create")
    told.write(workload(DECISION), CONTROLLER, code=504)
    told.write(workload(DECISION), KUEUE)
    assert told.found() == ""
    told.write(workload({api.COMMITTED: "2026-11-29T11:00:00Z attempt=1 uid=w1"}), KUEUE)
    assert f"{KUEUE} changed {api.COMMITTED}" in told.found()


def test_a_mirror_of_a_decision_that_landed_without_an_answer_is_well(told: Told) -> None:
    told.write(workload(active=True), verb="create")
    told.write(workload(DECISION), CONTROLLER, code=504)
    told.write(made("Job", "train", "j1", MIRROR, spec={"suspend": True}), CONTROLLER)
    assert told.found(11 * SECOND) == ""
    told.write(made("Job", "other", "j2", {api.ADMISSION_OUTCOME_OF: "w1/2"}, spec={"suspend": True}), CONTROLLER)
    assert "was given a mirror of w1/2" in told.found()


def test_a_pod_of_an_ended_gang_that_starts_is_seen(told: Told) -> None:
    told.write(made("Pod", "p", "p1", meta={"labels": GROUP}, spec=GATED), verb="create")
    told.write(group_workload(DECISION), CONTROLLER)
    told.write(made("Pod", "q", "p2", meta={"labels": GROUP}, spec=GATED), verb="create")
    assert told.found() == ""
    told.write(made("Pod", "p", "p1", meta={"labels": GROUP}), KUEUE)
    assert "was started for a gang whose wait had been ended" in told.found()


def test_a_pod_far_below_an_ended_job_is_seen(told: Told) -> None:
    """JobSet, Job, pod."""
    told.write(made("JobSet", "set", "s1", spec={"suspend": True}), verb="create")
    told.write(workload(DECISION, owner=by("JobSet", "s1")), CONTROLLER)
    told.write(made("Job", "set-0", "j1", meta=by("JobSet", "s1")), verb="create")
    told.write(made("Pod", "set-0-0", "p1", meta=by("Job", "j1")), verb="create")
    assert "was created for a gang whose wait had been ended" in told.found()


def test_a_commit_over_a_running_pod_is_seen(told: Told) -> None:
    told.write(made("Pod", "p", "p1", meta={"labels": GROUP}, status={"phase": "Running"}), verb="create")
    told.write(group_workload(DECISION), CONTROLLER)
    assert "was committed while 1 of its pods ran" in told.found()


@pytest.mark.parametrize("kind", ["Job", "RayCluster", "Pod", "Workload"])
def test_a_deletion_nobody_committed_to_is_seen(told: Told, kind: str) -> None:
    told.write(made(kind, "train", "j1"), verb="create")
    told.delete(made(kind, "train", "j1"), CONTROLLER, {"preconditions": {"uid": "j1", "resourceVersion": "1"}})
    assert "without cleanup-committed" in told.found()


def test_a_deletion_of_whatever_stands_there_now_is_seen(told: Told) -> None:
    told.write(made("Job", "train", "j1"), verb="create")
    told.write(workload({**DECISION, api.CLEANUP_COMMITTED: "2026-11-29T10:00:00Z"}), CONTROLLER)
    told.delete(made("Job", "train", "j1"), CONTROLLER, {"preconditions": {"uid": "j1"}})
    assert "without uid and resourceVersion as preconditions" in told.found()


def test_a_running_pod_lost_to_us_is_seen(told: Told) -> None:
    told.write(made("Job", "train", "j1"), verb="create")
    told.write(workload({**DECISION, api.CLEANUP_COMMITTED: "2026-11-29T10:00:00Z"}), CONTROLLER)
    told.write(made("Pod", "p", "p1", meta=by("Job", "j1"), status={"phase": "Running"}), KUEUE)
    told.delete(made("Job", "train", "j1"), CONTROLLER, {"preconditions": {"uid": "j1", "resourceVersion": "1"}})
    assert "while 1 of its pods ran" in told.found()


def test_a_write_to_what_is_only_reported_on_is_seen(told: Told) -> None:
    told.write(made("LeaderWorkerSet", "serve", "l1"), CONTROLLER)
    assert "only reported on" in told.found()


def denied(told: Told, gpus: int, pods: int, **pod: Any) -> str:
    """A Job of so many pods of so many GPUs each, where two nodes of eight GPUs may be had."""
    node = {"allocatable": {"cpu": "94", "nvidia.com/gpu": "8"}}
    pool = {"name": "gpupool", "maxNodes": 2, "node": node}
    told.write(made("CapacityProfile", "p", "c1", spec={"pools": [pool]}), verb="create")
    container = {"resources": {"requests": {"nvidia.com/gpu": str(gpus)}}}
    template = {"spec": {"containers": [container], **pod}}
    job = made("Job", "train", "", spec={"parallelism": pods, "completions": pods, "template": template})
    message = (
        'admission webhook "vjob.muster.dev" denied the request: preflight: gang needs 3 node(s) of gpupool (max 2): '
    )
    status = {"code": 403, "message": f"{message}cannot fit; request less"}
    told._take("create", job, USER, {"requestObject": job, "responseStatus": status})
    return told.found()


def test_a_denial_of_what_could_be_placed_is_seen(told: Told) -> None:
    assert "though its 4 pod(s) stand on 2 node(s) of gpupool" in denied(told, 4, 4)


@pytest.mark.parametrize(
    ("gpus", "pods", "pod"),
    [(8, 3, {}), (4, 5, {}), (9, 1, {}), (4, 4, {"nodeSelector": {"a": "b"}})],
    ids=["one node too many", "no room left", "too large", "not so simple"],
)
def test_a_denial_that_a_count_by_hand_bears_out_is_well(told: Told, gpus: int, pods: int, pod: Object) -> None:
    assert denied(told, gpus, pods, **pod) == ""


def test_namesakes_of_another_kind_are_told_apart(told: Told) -> None:
    told.write(made("Job", "train", "j1"), verb="create")
    told.write(made("JobSet", "train", "s1", MIRROR))
    told.delete(made("Job", "train", "j1"), USER)
    assert [obj["kind"] for obj in told.history._jobs.values()] == ["JobSet"]
