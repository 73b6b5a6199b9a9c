"""TrainJobs, whose podsets come from runtimes: plain, with initializers, with a launcher that is a node or is none."""

from typing import Any, Final

from classifier import api
from e2e.builders import Document
from e2e.oracle import pods
from e2e.oracle.draft import Draft
from e2e.oracle.room import text

ANCESTOR: Final = "trainer.kubeflow.org/trainjob-ancestor-step"
DATASET: Final = "dataset-initializer"


def train_job(draft: Draft) -> list[Document]:
    """Resources in the runtime, or in the TrainJob over it; a runtime of the namespace, or of the cluster."""
    dice = draft.dice
    way = dice.of("plain", "torch", "initializer", "initializer", "mpi", "launcher")
    draft.tags.add(f"runtime {way}")
    nodes = dice.of(1, 2, 3)
    policy: Document = {"numNodes": dice.of(1, 2)}
    trainer: Document = {}
    if dice.one_in(4):
        nodes = policy["numNodes"]
        draft.tags.add("nodes of the runtime")
    else:
        trainer["numNodes"] = nodes
    steps = []
    if way == "initializer":
        steps.append(_step(DATASET, draft.pod(DATASET, 1, DATASET, small=True), DATASET))
    if way in ("mpi", "launcher"):
        as_node = way == "mpi"
        policy["mpi"] = {"numProcPerNode": 1, "mpiImplementation": "OpenMPI", "runLauncherAsNode": as_node}
        policy["mpi"] |= {"sshAuthMountPath": "/home/mpiuser/.ssh"}
        template = draft.pod("launcher", 1, "node" if as_node else "launcher", small=True)
        steps.append(_step("launcher", template, "trainer" if as_node else None))
    if way == "torch":
        policy["torch"] = {}
    count = max(nodes - (way == "mpi"), 0)
    node = _step("node", draft.pod("node", count, "node"), None if way == "mpi" else "trainer")
    if way == "initializer" and dice.one_in(2):
        node["dependsOn"] = [{"name": DATASET, "status": "Complete"}]
        draft.late.add("node")
    steps.append(node)
    if dice.one_in(2):
        _over(draft, trainer, steps)
    spec: Document = {"trainer": trainer} if trainer else {}
    kind = dice.of("TrainingRuntime", "TrainingRuntime", "ClusterTrainingRuntime")
    draft.tags.add(kind)
    spec["runtimeRef"] = {"kind": kind, "name": draft.name}
    if dice.one_in(3):
        spec["runtimePatches"] = [_patch({"nodeSelector": {pods.TIER: dice.of("a", "b")}})]
        draft.tags.add("runtime patch")
    meta = {"name": draft.name} | ({"namespace": draft.queues.namespace} if kind == "TrainingRuntime" else {})
    runtime = {"mlPolicy": policy, "template": {"spec": {"replicatedJobs": steps}}}
    draft.also.append({"apiVersion": api.TRAIN_JOBS.api_version, "kind": kind, "metadata": meta, "spec": runtime})
    return [draft.object(api.TRAIN_JOBS, spec)]


def _step(name: str, template: Document, ancestor: str | None) -> Document:
    metadata = {"labels": {ANCESTOR: ancestor}} if ancestor else {}
    return {"name": name, "template": {"metadata": metadata, "spec": {"backoffLimit": 0, "template": template}}}


def _over(draft: Draft, trainer: Document, steps: list[Document]) -> None:
    """The TrainJob says what each node asks for; the runtime's own figures for that container are replaced."""
    amounts = pods.want(draft.dice, draft.room, draft.tags)
    texts = {resource: text(resource, amount, draft.dice) for resource, amount in amounts.items()}
    trainer["resourcesPerNode"] = {"requests": texts, "limits": texts}
    part = draft.parts.pop()
    draft.counted(part.count, amounts)
    draft.tags.add("resources per node")
    for step in steps:
        # What the pod asks for as a whole would have to be at least as much.
        step["template"]["spec"]["template"]["spec"].pop("resources", None)


def _patch(spec: dict[str, Any]) -> Document:
    step = {"name": "node", "template": {"spec": {"template": {"spec": spec}}}}
    runtime = {"template": {"spec": {"replicatedJobs": [step]}}}
    return {"manager": "oracle.muster.dev/person", "trainingRuntimeSpec": runtime}
