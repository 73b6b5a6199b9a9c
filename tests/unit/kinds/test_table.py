"""The table of kinds: what is found by which name, and that no view ever raises."""

import json
from typing import Any

import msgspec
import pytest

from classifier import api
from classifier.objects import Job, Meta, OwnerReference, Pod, PodGroup, PyTorchJob, TFJob, TrainingRuntime
from classifier.state.kinds import KINDS, KindView, view_for, view_of
from classifier.state.kinds.podgroup import VIEW as POD_GROUP
from classifier.state.kinds.view import Ending
from classifier.state.settings import Settings
from tests.unit.kinds.builders import read

EVERY = [*KINDS.values(), POD_GROUP]


def by_kind(view: KindView) -> str:
    return view.resource.kind


def test_the_kinds() -> None:
    assert set(KINDS) == {
        ("batch", "Job"),
        ("jobset.x-k8s.io", "JobSet"),
        ("trainer.kubeflow.org", "TrainJob"),
        ("ray.io", "RayJob"),
        ("ray.io", "RayCluster"),
        ("kubeflow.org", "MPIJob"),
        ("kubeflow.org", "PyTorchJob"),
        ("kubeflow.org", "TFJob"),
        ("kubeflow.org", "XGBoostJob"),
        ("kubeflow.org", "PaddleJob"),
        ("kubeflow.org", "JAXJob"),
        ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"),
        ("workload.codeflare.dev", "AppWrapper"),
        ("", "Pod"),
    }
    assert KINDS["", "Pod"].type_ is Pod


@pytest.mark.parametrize("view", EVERY, ids=by_kind)
def test_an_object_finds_its_view_by_kind_and_by_type(view: KindView) -> None:
    bare = view.type_()
    assert view_for(bare) is view
    bare.kind, bare.api_version = view.resource.kind, view.resource.api_version
    assert view_for(bare) is view
    assert view.provenance == view.resource.kind.lower()


@pytest.mark.parametrize("view", KINDS.values(), ids=by_kind)
def test_an_owner_reference_finds_the_view_in_any_version(view: KindView) -> None:
    group = view.resource.group
    owner = OwnerReference(api_version=f"{group}/v9" if group else "v1", kind=view.resource.kind)
    assert view_of(owner) is view


def test_what_has_no_view() -> None:
    assert view_of(None) is None
    assert view_of(OwnerReference(api_version="batch/v1", kind="CronJob")) is None
    assert view_for(TrainingRuntime()) is None
    assert view_for(Meta(api_version="batch/v1", kind="Job")) is None
    assert view_for(Job(api_version="kubeflow.org/v1", kind="PyTorchJob")) is None
    assert view_for(TFJob()) is not view_for(PyTorchJob())
    assert view_of(OwnerReference(api_version="v1", kind="PodGroup")) is None


#: Statuses that lack what they should have, and specs likewise.
POOR: list[dict[str, Any]] = [
    {},
    {"spec": {}, "status": {}},
    {"spec": None, "status": None},
    {"status": {"conditions": None}},
    {"status": {"conditions": []}},
    {"status": {"conditions": [{}]}},
    {"status": {"conditions": [{"type": t} for t in ("Failed", "Complete", "Suspended")]}},
    {"status": {"conditions": [{"status": "True"}]}},
    {"status": {"conditions": [{"type": "Unhealthy", "status": "True"}], "phase": "Failed"}},
    {"status": {"phase": "Failed"}},
    {"status": {"phase": "Succeeded", "conditions": [{"type": "Ready"}]}},
    {"status": {"phase": "Failed", "conditions": [{"type": "TerminationTarget", "status": "True"}]}},
    {"status": {"jobDeploymentStatus": "Failed"}},
    {"status": {"jobDeploymentStatus": "Complete", "jobStatus": None}},
    {"spec": {"runPolicy": None}},
    {"spec": {"runPolicy": {}}},
    {"spec": {"schedulingGates": [{}]}},
    {"spec": {"clusterSelector": None, "managedBy": None}},
    *(
        {"status": {"conditions": [{"type": type_, "status": "True", "reason": None, "message": None}]}}
        for type_ in ("Failed", "Complete", "Completed", "Succeeded", "Suspended", "RayClusterSuspended")
    ),
]


@pytest.mark.parametrize("poor", POOR)
@pytest.mark.parametrize("view", EVERY, ids=by_kind)
def test_no_view_raises_on_what_is_missing(view: KindView, poor: dict[str, Any]) -> None:
    for metadata in ({}, {"name": "train", "labels": None, "annotations": None, "ownerReferences": None}):
        job = msgspec.json.decode(json.dumps(poor | {"metadata": metadata}), type=view.type_)
        if isinstance(job, PodGroup):
            job.pods = [msgspec.json.decode(json.dumps(poor), type=Pod)]
        assert view.suspended(job) in (True, False)
        assert view.paused(job) in (True, False)
        assert view.foreign(job) is None
        ending = view.ending(job)
        assert ending is None or isinstance(ending, Ending)
        assert all(isinstance(c.type, str) for c in view.conditions(job))
        assert all(selection.resource in (api.JOBSETS, api.JOBS, api.RAY_CLUSTERS) for selection in view.children(job))
        assert all(isinstance(labels, dict) for labels in view.pods(job, Settings()))
        assert view.part_of(Pod()) is None or view.type_ is Pod
        assert view.restart(Pod()) in (None, "0")


KUBEFLOW = {"Created", "Running", "Restarting", "Suspended", "Succeeded", "Failed"}
KNOWN = {
    "Job": {"Complete", "Failed", "Suspended", "FailureTarget", "SuccessCriteriaMet"},
    "JobSet": {
        "Completed",
        "Failed",
        "Suspended",
        "RestartingJobSet",
        "StartupPolicyInProgress",
        "StartupPolicyCompleted",
    },
    "TrainJob": {"Complete", "Failed", "Suspended"},
    "RayJob": set(),
    "RayCluster": {"HeadPodReady", "RayClusterProvisioned", "RayClusterSuspending", "RayClusterSuspended"},
    **dict.fromkeys(("MPIJob", "PyTorchJob", "TFJob", "XGBoostJob", "PaddleJob", "JAXJob"), KUBEFLOW),
    "LeaderWorkerSet": {"Available", "Progressing", "UpdateInProgress"},
    "AppWrapper": {"QuotaReserved", "ResourcesDeployed", "PodsReady", "DeletingResources"},
    "Pod": set(),
    "PodGroup": set(),
}


@pytest.mark.parametrize("view", EVERY, ids=by_kind)
def test_the_conditions_that_say_nothing_unknown(view: KindView) -> None:
    assert view.known == KNOWN[view.resource.kind]


def test_a_pods_conditions_are_not_a_jobs() -> None:
    pod = read(Pod, status={"conditions": [{"type": "example.com/ready-gate", "status": "True"}]})
    assert tuple(KINDS["", "Pod"].conditions(pod)) == ()
