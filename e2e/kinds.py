"""One real object of every kind that Kueue queues, short and valid as it is, and who plays its operator."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from classifier import api
from e2e import builders, trainjobs
from e2e.builders import QUEUE_LABEL, Document, Queues
from e2e.played import appwrapper, hands, leaderworkerset, mpijob, ray
from e2e.played import kubeflow as training
from e2e.played.hands import RUNS_ON, Hands

#: What each pod asks for.
Requests = Mapping[str, str]
POD_GATE: Final = "kueue.x-k8s.io/admission"
GROUP_NAME: Final = "kueue.x-k8s.io/pod-group-name"
GROUP_SIZE: Final = "kueue.x-k8s.io/pod-group-total-count"
RUNTIME: Final = "plain"
#: "false": a group whose pods have ended is over even where they failed; without it Kueue waits for others.
RETRIABLE: Final = "kueue.x-k8s.io/retriable-in-group"


@dataclass(frozen=True)
class Kind:
    """How one kind is made, how it runs and ends, and what of that Kueue sees."""

    resource: api.Resource
    #: Its objects by a name, the queues and what a pod asks for: one, but for pod groups.
    make: Callable[[str, Queues, Requests], list[Document]]
    #: Kueue's own lever: does it hold this object back?
    held: Callable[[Document], bool]
    pods: int
    #: What its operator does at once, once Kueue has let it go, and when its pods end.
    create: Callable[[Hands, Document], Awaitable[None]] = hands.nothing
    start: Callable[[Hands, Document], Awaitable[None]] = hands.nothing
    end: Callable[[Hands, Document, int], Awaitable[None]] = hands.fails_or_succeeds
    #: Whether Kueue ever calls it finished.
    finishes: bool = True
    #: Its Workloads: one, but for LeaderWorkerSets.
    workloads: int = 1
    #: The kind that explanations name.
    called: str = ""
    suffix: str = ""

    @property
    def kind(self) -> str:
        return self.called or self.resource.kind

    @property
    def id(self) -> str:
        return self.kind.lower()

    def asked(self, name: str) -> str:
        """The name of the object one asks about."""
        return name + self.suffix


def template(requests: Requests, name: str = "main", **spec: Any) -> Document:
    resources = {"requests": dict(requests), "limits": dict(requests)}
    container = {"name": name, "image": "example.com/train:1", "resources": resources}
    return {"spec": {"containers": [container], **spec}}


def once(requests: Requests, name: str = "main", annotations: Mapping[str, str] | None = None) -> Document:
    """A template whose containers are not started again."""
    return {"metadata": {"annotations": dict(annotations or {})}, **template(requests, name, restartPolicy="Never")}


def job_object(resource: api.Resource, name: str, queues: Queues, spec: Document, **metadata: Document) -> Document:
    """An object in the test's queue."""
    labels = {QUEUE_LABEL: queues.local_queue, **metadata.get("labels", {})}
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {
            "name": name,
            "namespace": queues.namespace,
            "labels": labels,
            "annotations": metadata.get("annotations", {}),
        },
        "spec": spec,
    }


def job(name: str, queues: Queues, requests: Requests) -> list[Document]:
    return [builders.job(name, queues, requests=requests, ends="Never")]


def train_job(name: str, queues: Queues, requests: Requests) -> list[Document]:
    """In the runtime of :func:`runtimes`, as dispatch makes it: its name has a number."""
    return [trainjobs.trainjob(name, 1, queues, runtime=RUNTIME, requests=requests)]


def runtimes(queues: Queues) -> list[Document]:
    """What has to be there before the objects."""
    return [trainjobs.runtime(RUNTIME, queues.namespace)]


def jobset(name: str, queues: Queues, requests: Requests) -> list[Document]:
    spec = {"parallelism": 2, "completions": 2, "backoffLimit": 0, "template": once(requests, "node", RUNS_ON)}
    step = {"name": "node", "replicas": 1, "template": {"spec": spec}}
    return [job_object(api.JOBSETS, name, queues, {"replicatedJobs": [step]})]


def kubeflow(
    resource: api.Resource, field: str, container_name: str, first: str, name: str, queues: Queues, requests: Requests
) -> list[Document]:
    """Two replicas: one of the type whose end decides, and a Worker; or two Workers."""
    counts = {"Worker": 2} if first == "Worker" else {first: 1, "Worker": 1}
    specs = {
        type_: {"replicas": count, "restartPolicy": "Never", "template": once(requests, container_name)}
        for type_, count in counts.items()
    }
    return [job_object(resource, name, queues, {field: specs})]


def mpi_job(name: str, queues: Queues, requests: Requests) -> list[Document]:
    specs = {
        type_: {"replicas": 1, "restartPolicy": "Never", "template": once(requests, f"mpi-{type_.lower()}")}
        for type_ in ("Launcher", "Worker")
    }
    return [job_object(api.MPI_JOBS, name, queues, {"runPolicy": {}, "mpiReplicaSpecs": specs})]


def _ray(requests: Requests) -> Document:
    group = {"groupName": "workers", "replicas": 1, "minReplicas": 1, "maxReplicas": 1}
    return {
        "rayVersion": "2.46.0",
        "headGroupSpec": {"rayStartParams": {}, "template": template(requests, "ray-head")},
        "workerGroupSpecs": [{**group, "rayStartParams": {}, "template": template(requests, "ray-worker")}],
    }


def ray_cluster(name: str, queues: Queues, requests: Requests) -> list[Document]:
    return [job_object(api.RAY_CLUSTERS, name, queues, _ray(requests))]


def ray_job(name: str, queues: Queues, requests: Requests) -> list[Document]:
    spec = {
        "entrypoint": "python train.py",
        "rayClusterSpec": _ray(requests),
        "shutdownAfterJobFinishes": True,
        "submitterConfig": {"backoffLimit": 0},
    }
    return [job_object(api.RAY_JOBS, name, queues, spec)]


def app_wrapper(name: str, queues: Queues, requests: Requests) -> list[Document]:
    """It wraps one batch Job of its own name."""
    inner = {
        "parallelism": 2,
        "completions": 2,
        "backoffLimit": 0,
        "template": template(requests, restartPolicy="Never"),
    }
    component = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": inner}
    return [job_object(api.APP_WRAPPERS, name, queues, {"components": [{"template": component}]})]


def leader_worker_set(name: str, queues: Queues, requests: Requests) -> list[Document]:
    """Two groups of two. What its own webhook would default is written out."""
    spec = {
        "replicas": 2,
        "startupPolicy": "LeaderCreated",
        "rolloutStrategy": {"type": "RollingUpdate"},
        "leaderWorkerTemplate": {
            "size": 2,
            "leaderTemplate": template(requests, "leader"),
            "workerTemplate": template(requests, "worker"),
        },
    }
    return [job_object(api.LEADER_WORKER_SETS, name, queues, spec)]


def pod(name: str, queues: Queues, requests: Requests) -> list[Document]:
    return [job_object(api.PODS, name, queues, template(requests, restartPolicy="Never")["spec"])]


def pod_group(name: str, queues: Queues, requests: Requests) -> list[Document]:
    metadata = {"labels": {GROUP_NAME: name}, "annotations": {GROUP_SIZE: "2", RETRIABLE: "false"}}
    spec = template(requests, restartPolicy="Never")["spec"]
    return [job_object(api.PODS, f"{name}-{index}", queues, spec, **metadata) for index in range(2)]


def suspended(job: Document) -> bool:
    """``spec.suspend``; absent is false."""
    return job["spec"].get("suspend") is True


def policy_suspended(job: Document) -> bool:
    return (job["spec"].get("runPolicy") or {}).get("suspend") is True


def gated(job: Document) -> bool:
    """A pod's lever is its scheduling gate."""
    return POD_GATE in {gate["name"] for gate in job["spec"].get("schedulingGates") or ()}


def never(job: Document) -> bool:
    """A LeaderWorkerSet has no lever of its own: Kueue gates its pods."""
    return False


async def end_group(hands: Hands, job: Document, code: int) -> None:
    """The first pod of a group stands for it; all of them end alike."""
    await hands.ends(await hands.pods(job["metadata"]["labels"][GROUP_NAME]), code)


def _kubeflow(resource: api.Resource, field: str, container_name: str, first: str) -> Kind:
    return Kind(
        resource,
        partial(kubeflow, resource, field, container_name, first),
        policy_suspended,
        pods=2,
        start=partial(training.start, resource),
        end=partial(training.end, resource),
    )


KINDS: Final = (
    Kind(api.JOBS, job, suspended, pods=2),
    Kind(api.TRAIN_JOBS, train_job, suspended, pods=2, suffix="-1"),
    Kind(api.JOBSETS, jobset, suspended, pods=2),
    Kind(api.RAY_JOBS, ray_job, suspended, pods=3, start=ray.start_job, end=ray.end_job),
    Kind(
        api.RAY_CLUSTERS,
        ray_cluster,
        suspended,
        pods=2,
        start=ray.start_cluster,
        end=hands.crashes,
        finishes=False,
    ),
    _kubeflow(api.PYTORCH_JOBS, "pytorchReplicaSpecs", "pytorch", "Master"),
    _kubeflow(api.TF_JOBS, "tfReplicaSpecs", "tensorflow", "Chief"),
    _kubeflow(api.XGBOOST_JOBS, "xgbReplicaSpecs", "xgboost", "Master"),
    _kubeflow(api.PADDLE_JOBS, "paddleReplicaSpecs", "paddle", "Master"),
    _kubeflow(api.JAX_JOBS, "jaxReplicaSpecs", "jax", "Worker"),
    Kind(api.MPI_JOBS, mpi_job, policy_suspended, pods=2, start=mpijob.start, end=mpijob.end),
    Kind(
        api.LEADER_WORKER_SETS,
        leader_worker_set,
        never,
        pods=4,
        create=leaderworkerset.create,
        start=leaderworkerset.start,
        end=hands.crashes,
        finishes=False,
        workloads=2,
    ),
    Kind(api.APP_WRAPPERS, app_wrapper, suspended, pods=2, start=appwrapper.start, end=appwrapper.end),
    Kind(api.PODS, pod, gated, pods=1),
    Kind(api.PODS, pod_group, gated, pods=2, end=end_group, called="PodGroup", suffix="-0"),
)
