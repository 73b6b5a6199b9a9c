"""TrainJobs as dispatch makes them: named ``<job>-<submission>``, with its labels and its admission count on the pods.

A TrainJob's own labels do not reach its pods (reference/classification.md §A2): dispatch puts them there by a runtime
patch of its own manager, which Kueue, that rewrites only its own, leaves alone.
"""

from collections.abc import Mapping
from typing import Any, Final

from classifier import api
from e2e.builders import GPU, QUEUE_LABEL, Document, Queues
from e2e.controlplane.stages import ENDS, RUN_FOR, STOP_AFTER

P: Final = api.DISPATCH_PREFIX
JOB_ID: Final = P + "job-id"
SUBMISSION: Final = P + "submission"
ADMISSION: Final = P + "admission"
#: The name under which dispatch keeps its runtime patch.
MANAGER: Final = P + "dispatch"
TRAINER: Final = "trainer.kubeflow.org/v1alpha1"


def runtime(
    name: str, namespace: str, *, restart_policy: str | None = "Never", max_restarts: int | None = None
) -> Document:
    """A namespaced runtime of one ReplicatedJob, ``node``. A pod that fails fails its Job (``backoffLimit: 0``).

    ``restart_policy`` None leaves it, and the backoff limit, to the defaults, as the stock runtimes do.
    ``max_restarts`` gives the JobSet a failure policy; without one its first failed Job fails it.
    """
    container = {"name": "node", "image": "example.com/train:1"}
    template: Document = {"spec": {"containers": [container]}}
    job: Document = {"template": template}
    if restart_policy is not None:
        template["spec"]["restartPolicy"] = restart_policy
        job["backoffLimit"] = 0
    step = {"metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}}, "spec": job}
    policy = {} if max_restarts is None else {"failurePolicy": {"maxRestarts": max_restarts}}
    return {
        "apiVersion": TRAINER,
        "kind": "TrainingRuntime",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "mlPolicy": {"numNodes": 1},
            "template": {"spec": {**policy, "replicatedJobs": [{"name": "node", "template": step}]}},
        },
    }


def patch(job: str, submission: int, admission: int, play: Mapping[str, str] | None = None) -> Document:
    """dispatch's runtime patch; ``play`` are more annotations of the pods."""
    metadata = {
        "labels": {JOB_ID: job, SUBMISSION: str(submission)},
        "annotations": {ADMISSION: str(admission), **(play or {})},
    }
    step = {"name": "node", "template": {"spec": {"template": {"metadata": metadata}}}}
    return {"manager": MANAGER, "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [step]}}}}


def trainjob(
    job: str,
    submission: int,
    queues: Queues,
    *,
    runtime: str,
    admission: int = 1,
    pods: int = 2,
    requests: Mapping[str, str | int] | None = None,
    annotations: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    run_for: str | None = None,
    ends: str = "Never",
    stop_after: str | None = None,
    **spec: Any,
) -> Document:
    """A gang of ``pods``, each asking for ``requests`` (default: one GPU), in the test's queue.

    ``ends``, ``run_for`` and ``stop_after`` say how KWOK plays its pods; by default they run until something ends them.
    """
    resources = {key: str(value) for key, value in (requests or {GPU: 1}).items()}
    play = {ENDS: ends, **({RUN_FOR: run_for} if run_for else {}), **({STOP_AFTER: stop_after} if stop_after else {})}
    return {
        "apiVersion": TRAINER,
        "kind": "TrainJob",
        "metadata": {
            "name": f"{job}-{submission}",
            "namespace": queues.namespace,
            "labels": {
                QUEUE_LABEL: queues.local_queue,
                JOB_ID: job,
                SUBMISSION: str(submission),
                **(labels or {}),
            },
            "annotations": dict(annotations or {}),
        },
        "spec": {
            "runtimeRef": {"kind": "TrainingRuntime", "name": runtime},
            "trainer": {"numNodes": pods, "resourcesPerNode": {"requests": resources, "limits": resources}},
            "runtimePatches": [patch(job, submission, admission, play)],
            **spec,
        },
    }
