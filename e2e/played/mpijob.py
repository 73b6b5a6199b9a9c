"""MPIJob: workers of its own, and a Job that launches.

MPI operator: pkg/controller/mpi_job_controller.go (newWorker, newLauncherJob, updateMPIJobStatus).
"""

from classifier import api
from e2e import view
from e2e.builders import Document
from e2e.played.hands import RUNS_ON, Hands, of
from e2e.played.kubeflow import KUBEFLOW, replicas


async def start(hands: Hands, job: Document) -> None:
    name, kind = of(job)
    specs = replicas(job)

    def labels(role: str) -> dict[str, str]:
        return {
            f"{KUBEFLOW}operator-name": "mpi-operator",
            f"{KUBEFLOW}job-name": name,
            f"{KUBEFLOW}job-role": role,
        }

    for index in range(specs["Worker"]["replicas"]):
        own = {**labels("worker"), f"{KUBEFLOW}replica-index": str(index)}
        await hands.pod(f"{name}-worker-{index}", job, specs["Worker"]["template"], own)
    template = specs["Launcher"]["template"]
    meta = template["metadata"]
    launcher = {
        "metadata": {
            "labels": {**(meta.get("labels") or {}), **labels("launcher")},
            "annotations": {**(meta.get("annotations") or {}), **RUNS_ON},
        },
        "spec": template["spec"],
    }
    await hands.make(
        api.JOBS, f"{name}-launcher", job, labels={"app": name}, spec={"backoffLimit": 0, "template": launcher}
    )
    await hands.running(name, 1 + specs["Worker"]["replicas"])
    full = f"{kind} {hands.namespace}/{name}"
    conditions = [
        hands.condition("Created", True, "MPIJobCreated", f"{full} is created."),
        hands.condition("Running", True, "MPIJobRunning", f"{full} is running."),
    ]
    active = {type_: {"active": spec["replicas"]} for type_, spec in specs.items()}
    await hands.status(api.MPI_JOBS, name, {"conditions": conditions, "replicaStatuses": active})


async def end(hands: Hands, job: Document, code: int) -> None:
    name, kind = of(job)
    await hands.ends([pod for pod in await hands.pods(name) if "-launcher-" in pod["metadata"]["name"]], code)
    launcher = await hands.job_ended(f"{name}-launcher")
    full = f"{kind} {hands.namespace}/{name}"
    if code == 0:
        end = hands.condition("Succeeded", True, "MPIJobSucceeded", f"{full} successfully completed.")
    else:
        failed = view.condition(launcher, "Failed")
        assert failed is not None
        # The operator appends the failed pod's status.reason and status.message, which are empty for a plain exit.
        end = hands.condition("Failed", True, f"{failed['reason']}/", f"{failed['message']}: ")
    created = hands.condition("Created", True, "MPIJobCreated", f"{full} is created.")
    running = hands.condition("Running", False, "MPIJobRunning", f"{full} is running.")
    status = {"conditions": [created, running, end], "replicaStatuses": None, "completionTime": hands.now()}
    await hands.status(api.MPI_JOBS, name, status)
