"""TrainJob: the podsets its runtime makes of it."""

from typing import Any

import msgspec
import pytest

from classifier.fit.gang import GangError, Podset, Unresolved
from classifier.objects import ClusterTrainingRuntime, TrainingRuntime, TrainJob
from tests.unit.fit.kinds.shapes import Json, made, podsets, template

STEP = "trainer.kubeflow.org/trainjob-ancestor-step"


def step(name: str, ancestor: str | None = None, *after: str, container: str = "node", **fields: Any) -> Json:
    """One replicated Job of a runtime; ``fields`` of its pod spec, ``parallelism`` and ``replicas`` apart."""
    spec: Json = {"template": template({"cpu": "1"}, container)}
    job: Json = {"name": name, "template": {"spec": spec}}
    if ancestor is not None:
        job["template"]["metadata"] = {"labels": {STEP: ancestor}}
    if after:
        job["dependsOn"] = [{"name": other, "status": "Complete"} for other in after]
    for key in ("parallelism", "completions"):
        if key in fields:
            spec[key] = fields.pop(key)
    if "replicas" in fields:
        job["replicas"] = fields.pop("replicas")
    spec["template"]["spec"].update(fields)
    return job


def runtime(*steps: Json, **spec: Any) -> ClusterTrainingRuntime:
    return made(ClusterTrainingRuntime, {"template": {"spec": {"replicatedJobs": list(steps)}}, **spec}, "rt")


def job(*patches: Json, ref: Json | None = None, **trainer: Any) -> TrainJob:
    """In runtime ``rt``; each patch is of the replicated Job ``node``."""
    spec: Json = {"runtimeRef": {"name": "rt"} if ref is None else ref, "trainer": trainer}
    if patches:
        spec["runtimePatches"] = [
            {
                "manager": f"example.com/{number}",
                "trainingRuntimeSpec": {
                    "template": {"spec": {"replicatedJobs": [{"name": "node", "template": patch}]}}
                },
            }
            for number, patch in enumerate(patches)
        ]
    return made(TrainJob, spec)


def pods(**fields: Any) -> Json:
    """A patch of a pod spec."""
    return {"spec": {"template": {"spec": fields}}}


def shape(found: list[Podset]) -> dict[str, int]:
    return {podset.name: podset.count for podset in found}


NODE = step("node", "trainer")
MPI = {"mlPolicy": {"numNodes": 1, "mpi": {"runLauncherAsNode": True}}}
APART = {"mlPolicy": {"numNodes": 1, "mpi": {}}}
LAUNCHER = step("launcher", "trainer"), step("node")


@pytest.mark.parametrize(
    ("built", "trainer", "expected"),
    [
        (runtime(NODE), {}, {"node": 1}),
        (runtime(NODE), {"numNodes": 4}, {"node": 4}),
        (runtime(step("node", "trainer", parallelism=3)), {}, {"node": 3}),
        # A policy's number, 1 if absent, stands before the Job's own.
        (runtime(step("node", "trainer", parallelism=3), mlPolicy={}), {}, {"node": 1}),
        (runtime(NODE, mlPolicy={"numNodes": 5, "torch": {}}), {}, {"node": 5}),
        (runtime(NODE, mlPolicy={"numNodes": 5, "torch": {}}), {"numNodes": 2}, {"node": 2}),
        (runtime(NODE, mlPolicy={"jax": {}}), {"numNodes": 2}, {"node": 2}),
        (runtime(NODE, mlPolicy={"xgboost": {}}), {"numNodes": 2}, {"node": 2}),
        (runtime(NODE, mlPolicy={"numNodes": 0}), {}, {"node": 1}),
        (runtime(NODE), {"numNodes": 0}, {"node": 0}),
        # Trainer makes one Job of its own steps, and as many as the runtime says of others.
        (runtime(step("node", "trainer", replicas=3)), {}, {"node": 1}),
        (runtime(step("data", "dataset-initializer", replicas=3)), {}, {"data": 1}),
        (runtime(step("side", replicas=3, parallelism=2, completions=1)), {}, {"side": 6}),
        # Only one Job has the nodes: the first of the trainer's, or with MPI the one that is called so.
        (runtime(step("a", "trainer"), step("b", "trainer")), {"numNodes": 4}, {"a": 4, "b": 1}),
        (runtime(step("other")), {"numNodes": 4}, {"other": 1}),
        (runtime(*LAUNCHER, **APART), {"numNodes": 4}, {"launcher": 1, "node": 4}),
        (runtime(*LAUNCHER, **MPI), {"numNodes": 4}, {"launcher": 1, "node": 3}),
        (runtime(*LAUNCHER, **MPI), {"numNodes": 1}, {"launcher": 1, "node": 1}),
        (runtime(*LAUNCHER, **MPI), {}, {"launcher": 1, "node": 1}),
    ],
)
def test_pods_of_each_step(built: ClusterTrainingRuntime, trainer: Json, expected: dict[str, int]) -> None:
    assert shape(podsets(job(**trainer), built)) == expected


def test_initializers_run_before_and_are_a_stage_of_their_own() -> None:
    steps = (
        step("dataset-initializer", "dataset-initializer"),
        step("model-initializer", "model-initializer", "dataset-initializer"),
        step("node", "trainer", "model-initializer"),
    )
    assert [podset.stage for podset in podsets(job(), runtime(*steps))] == [0, 1, 2]


def asked(podset: Podset) -> list[tuple[str, Any, Any]]:
    return [
        (one.name, one.resources and one.resources.requests, one.resources and one.resources.limits)
        for one in podset.spec.containers or ()
    ]


def test_resources_of_a_node_replace_the_runtimes() -> None:
    own = {"limits": {"nvidia.com/gpu": "8"}}
    (node,) = podsets(job(resourcesPerNode=own), runtime(NODE))
    assert asked(node) == [("node", None, {"nvidia.com/gpu": "8"})]
    (node,) = podsets(job(resourcesPerNode={}), runtime(NODE))
    assert asked(node) == [("node", {"cpu": "1"}, None)]
    (node,) = podsets(job(resourcesPerNode=own), runtime(step("node", "trainer", container="other")))
    assert asked(node) == [("other", {"cpu": "1"}, None)]


def test_with_mpi_they_are_the_nodes_too_where_the_launcher_trains() -> None:
    own = {"requests": {"cpu": "9"}}
    nines = [[("node", {"cpu": "9"}, None)], [("node", {"cpu": "9"}, None)]]
    assert [asked(one) for one in podsets(job(resourcesPerNode=own), runtime(*LAUNCHER, **MPI))] == nines
    launcher, node = podsets(job(resourcesPerNode=own), runtime(*LAUNCHER, **APART))
    assert (asked(launcher), asked(node)) == (nines[0], [("node", {"cpu": "1"}, None)])


def test_flux_installs_itself_first() -> None:
    (node,) = podsets(job(), runtime(NODE, mlPolicy={"flux": {}}))
    assert [one.name for one in node.spec.init_containers or []] == ["flux-installer"]


def test_coscheduled_pods_bear_the_name_of_their_group() -> None:
    (node,) = podsets(job(), runtime(NODE, podGroupPolicy={"coscheduling": {}}))
    assert node.labels == {"scheduling.x-k8s.io/pod-group": "train"}


def test_steps_that_have_succeeded_are_not_needed_again() -> None:
    """Kueue asks for no quota for them when the job is queued again (ReclaimablePods)."""
    steps = [step("data", "dataset-initializer"), step("node", "trainer", "data", parallelism=4), step("eval", "x")]
    ended = [{"name": "data", "succeeded": 1}, {"name": "node", "succeeded": 0}, {"name": "gone", "succeeded": 1}]
    raw = {"metadata": {"namespace": "team"}, "spec": {"runtimeRef": {"name": "rt"}}, "status": {"jobsStatus": ended}}
    found = podsets(msgspec.convert(raw, TrainJob), runtime(*steps))
    assert [(one.name, one.count, one.min_count) for one in found] == [("data", 1, 0), ("node", 4, 4), ("eval", 1, 1)]


def test_the_template_is_not_in_the_object() -> None:
    (node,) = podsets(job(), runtime(NODE))
    assert (node.path, node.namespace) == (None, "team")


TOLERATION = {"key": "gpu", "operator": "Exists"}


def term(key: str) -> Json:
    required = {"nodeSelectorTerms": [{"matchExpressions": [{"key": key, "operator": "Exists"}]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


def test_patches_are_merged_one_after_the_other() -> None:
    base = step("node", "trainer", nodeSelector={"a": "1", "b": "1"}, tolerations=[{"key": "old"}])
    first = pods(nodeSelector={"b": "2", "c": "2"}, tolerations=[TOLERATION])
    (node,) = podsets(job(first, pods(nodeSelector={"c": "3"})), runtime(base))
    assert node.spec.node_selector == {"a": "1", "b": "2", "c": "3"}
    assert [one.key for one in node.spec.tolerations or ()] == ["gpu"]
    assert asked(node) == [("node", {"cpu": "1"}, None)]


def test_an_affinity_is_merged_by_its_parts() -> None:
    anti = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone"}]}}
    for base in (term("old"), None):
        (node,) = podsets(job(pods(affinity=term("new")), pods(affinity=anti)), runtime(step("node", affinity=base)))
        affinity = node.spec.affinity
        assert affinity is not None
        assert affinity.node_affinity is not None
        assert affinity.node_affinity.required is not None
        (found,) = affinity.node_affinity.required.node_selector_terms or []
        assert [one.key for one in found.match_expressions or ()] == ["new"]
        assert affinity.pod_anti_affinity is not None


def test_volumes_are_merged_by_name() -> None:
    claim = {"name": "data", "persistentVolumeClaim": {"claimName": "a"}}
    base = step("node", volumes=[{"name": "data"}, {"name": "other"}])
    (node,) = podsets(job(pods(volumes=[claim, {"name": "more"}])), runtime(base))
    assert [(one.name, one.persistent_volume_claim) for one in node.spec.volumes or ()] == [
        ("data", {"claimName": "a"}),
        ("other", None),
        ("more", None),
    ]


def test_labels_of_pods_and_the_step_a_job_is_may_be_patched() -> None:
    patch = {
        "metadata": {"labels": {STEP: "trainer"}},
        "spec": {"template": {"metadata": {"labels": {"app": "x"}, "annotations": {"note": "y"}}}},
    }
    (node,) = podsets(job(patch, numNodes=3), runtime(step("node")))
    assert (node.count, node.labels, node.annotations) == (3, {"app": "x"}, {"note": "y"})


@pytest.mark.parametrize("patch", [{}, {"spec": None}, {"spec": {"template": None}}, pods()])
def test_an_empty_patch_changes_nothing(patch: Json) -> None:
    (plain,) = podsets(job(), runtime(NODE))
    (node,) = podsets(job(patch), runtime(NODE))
    assert (node.count, asked(node), node.labels) == (plain.count, asked(plain), plain.labels)


def test_patches_of_other_jobs_are_nothing_to_this_one() -> None:
    other, node = podsets(job(pods(nodeSelector={"a": "1"})), runtime(step("other"), step("node")))
    assert (other.spec.node_selector, node.spec.node_selector) == (None, {"a": "1"})


def test_a_runtime_of_the_namespace() -> None:
    here = made(TrainingRuntime, {"template": {"spec": {"replicatedJobs": [step("here")]}}}, "rt")
    ref = {"name": "rt", "kind": "TrainingRuntime", "apiGroup": "trainer.kubeflow.org"}
    assert shape(podsets(job(ref=ref), here, runtime(NODE))) == {"here": 1}
    assert shape(podsets(job(), here, runtime(NODE))) == {"node": 1}


@pytest.mark.parametrize(
    ("ref", "says"),
    [
        ({"name": "gone"}, "^ClusterTrainingRuntime gone is not found$"),
        ({"name": "rt", "kind": "TrainingRuntime"}, "^TrainingRuntime team/rt is not found$"),
        ({"name": "rt", "kind": "Other"}, "a Other of trainer.kubeflow.org, which Trainer does not know"),
        ({"name": "rt", "apiGroup": "example.com"}, "of example.com"),
        ({}, "is not found"),
    ],
)
def test_a_runtime_that_is_not_there_leaves_it_open(ref: Json, says: str) -> None:
    with pytest.raises(Unresolved, match=says):
        podsets(job(ref=ref), runtime(NODE))


def test_the_overrides_of_an_older_trainer_leave_it_open() -> None:
    old = made(TrainJob, {"runtimeRef": {"name": "rt"}, "podTemplateOverrides": [{}]})
    with pytest.raises(Unresolved, match="podTemplateOverrides"):
        podsets(old, runtime(NODE))


@pytest.mark.parametrize(
    ("trainer", "built", "says"),
    [
        ({"numNodes": -1}, runtime(NODE), "spec.trainer.numNodes is -1"),
        ({}, runtime(NODE, mlPolicy={"numNodes": -1}), "spec.mlPolicy.numNodes is -1"),
        ({}, runtime(), "spec.template has no pods"),
        ({}, made(ClusterTrainingRuntime, None, "rt"), "spec.template has no pods"),
    ],
)
def test_what_no_jobset_can_be_made_of(trainer: Json, built: ClusterTrainingRuntime, says: str) -> None:
    with pytest.raises(GangError, match=says):
        podsets(job(**trainer), built)
