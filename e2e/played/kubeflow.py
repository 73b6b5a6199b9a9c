"""PyTorchJob, TFJob, XGBoostJob, PaddleJob, JAXJob, whose messages are PyTorchJob's.

Training operator: pkg/controller.v1/common/{job,pod}.go, pkg/controller.v1/pytorch/pytorchjob_controller.go,
pkg/util/status.go.
"""

from typing import Final

from classifier import api
from e2e.builders import Document
from e2e.played.hands import Hands, of

KUBEFLOW: Final = "training.kubeflow.org/"


def replicas(job: Document) -> dict[str, Document]:
    """Its replica types, the one whose end decides first."""
    (specs,) = (value for key, value in job["spec"].items() if key.endswith("ReplicaSpecs"))
    return {type_: specs[type_] for type_ in ("Launcher", "Chief", "Master", "Worker") if type_ in specs}


async def start(resource: api.Resource, hands: Hands, job: Document) -> None:
    name, kind = of(job)
    for type_, spec in replicas(job).items():
        for index in range(spec["replicas"]):
            labels = {
                f"{KUBEFLOW}operator-name": f"{kind.lower()}-controller",
                f"{KUBEFLOW}job-name": name,
                f"{KUBEFLOW}replica-type": type_.lower(),
                f"{KUBEFLOW}replica-index": str(index),
            }
            await hands.pod(f"{name}-{type_.lower()}-{index}", job, spec["template"], labels)
    await hands.running(name, sum(spec["replicas"] for spec in replicas(job).values()))
    conditions = [
        hands.condition("Created", True, f"{kind}Created", f"{kind} {name} is created."),
        hands.condition("Running", True, f"{kind}Running", f"{kind} {name} is running."),
    ]
    active = {type_: {"active": spec["replicas"]} for type_, spec in replicas(job).items()}
    await hands.status(resource, name, {"conditions": conditions, "replicaStatuses": active, "startTime": hands.now()})


async def end(resource: api.Resource, hands: Hands, job: Document, code: int) -> None:
    """The first replica decides (``cleanPodPolicy`` None: the others stay as they are)."""
    name, kind = of(job)
    pods = await hands.pods(name)
    decides = next(iter(replicas(job))).lower()
    mine = [pod for pod in pods if pod["metadata"]["labels"][f"{KUBEFLOW}replica-type"] == decides]
    await hands.ends(mine if code == 0 else mine[:1], code)
    end = (
        hands.condition("Succeeded", True, f"{kind}Succeeded", f"{kind} {name} is successfully completed.")
        if code == 0
        else hands.condition(
            "Failed",
            True,
            f"{kind}Failed",
            f"{kind} {name} is failed because 1 {decides.capitalize()} replica(s) failed.",
        )
    )
    created = hands.condition("Created", True, f"{kind}Created", f"{kind} {name} is created.")
    running = hands.condition("Running", False, f"{kind}Running", f"{kind} {name} is running.")
    await hands.status(
        resource,
        name,
        {"conditions": [created, running, end], "replicaStatuses": None, "completionTime": hands.now()},
    )
