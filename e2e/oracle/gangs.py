"""A job of every kind, in many shapes. What its own operator's webhook would refuse is not drawn."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from classifier import api
from e2e.builders import Document
from e2e.kinds import GROUP_NAME, GROUP_SIZE, RETRIABLE
from e2e.oracle import trainjobs
from e2e.oracle.draft import Draft


def job(draft: Draft) -> list[Document]:
    """Parallelism and completions in every relation, partial admission, elastic, none at all."""
    dice = draft.dice
    spec: Document = {"backoffLimit": 0}
    annotations = {}
    parallelism = dice.of(1, 2, 2, 3, 4, 5)
    completions = dice.of(None, None, parallelism, parallelism + 2, max(1, parallelism - 1))
    way = dice.of("plain", "plain", "plain", "partial", "partial", "elastic", "none", "default")
    if way == "none":
        parallelism = 0
    if way != "default":
        spec["parallelism"] = parallelism
    else:
        parallelism = 1
        completions = None
    if completions is not None:
        spec["completions"] = completions
        if dice.one_in(2):
            spec["completionMode"] = "Indexed"
    count = parallelism if completions is None else min(parallelism, completions)
    if way == "partial" and count > 1 and completions is None:
        annotations[api.MIN_PARALLELISM] = str(dice.randint(1, count - 1))
        draft.tags.add("partial admission")
    # Kueue's webhook takes no elastic job that prefers a topology.
    if way == "elastic" and not draft.topology:
        annotations[api.ELASTIC_JOB] = "true"
        draft.tags.add("elastic")
    if count == 0:
        draft.tags.add("no pods")
    spec["template"] = draft.pod("main", count)
    return [draft.object(api.JOBS, spec, annotations=annotations)]


def jobset(draft: Draft) -> list[Document]:
    dice = draft.dice
    steps: list[Document] = []
    for role in ("leader", "node", "other")[: dice.of(1, 2, 2, 3)]:
        replicas, parallelism = dice.of(1, 1, 2), dice.of(1, 1, 2)
        completions = dice.of(parallelism, parallelism + 1, None)
        count = replicas * (parallelism if completions is None else min(parallelism, completions))
        spec = {"parallelism": parallelism, "backoffLimit": 0, "template": draft.pod(role, count)}
        # What JobSet defaults to asks for completions.
        spec |= {"completionMode": "NonIndexed"} if completions is None else {"completions": completions}
        step: Document = {"name": role, "replicas": replicas, "template": {"spec": spec}}
        if steps and dice.one_in(3):
            status = dice.of("Complete", "Complete", "Ready")
            step["dependsOn"] = [{"name": steps[-1]["name"], "status": status}]
            draft.tags.add(f"depends on {status}")
            if status == "Complete" or steps[-1]["name"] in draft.late:
                draft.late.add(role)
        steps.append(step)
    return [draft.object(api.JOBSETS, {"replicatedJobs": steps})]


def ray_cluster_spec(draft: Draft) -> Document:
    dice = draft.dice
    head = draft.pod("head", 1, "ray-head", small=True)
    spec: Document = {"rayVersion": "2.46.0", "headGroupSpec": {"rayStartParams": {}, "template": head}}
    groups = []
    for role in ("workers", "more")[: dice.of(0, 1, 1, 2)]:
        replicas, hosts = dice.of(0, 1, 2, 3), dice.of(None, 1, 2)
        group: Document = {"groupName": role, "minReplicas": 0, "maxReplicas": 4, "rayStartParams": {}}
        if replicas or dice.one_in(2):
            group["replicas"] = replicas
        else:
            draft.tags.add("no replicas")
        if hosts is not None:
            group["numOfHosts"] = hosts
        if hosts == 2:
            draft.tags.add("several hosts")
        if replicas == 0:
            draft.tags.add("no pods")
        group["template"] = draft.pod(role, replicas * (hosts or 1), "ray-worker")
        groups.append(group)
    if groups:
        spec["workerGroupSpecs"] = groups
    return spec


def ray_cluster(draft: Draft) -> list[Document]:
    annotations = {}
    spec = ray_cluster_spec(draft)
    way = draft.dice.randrange(5)
    if way == 0 and not draft.topology:
        # Kueue takes in-tree autoscaling of elastic ones alone.
        annotations[api.ELASTIC_JOB] = "true"
        spec["enableInTreeAutoscaling"] = True
        draft.tags |= {"elastic", "autoscaling"}
    if way == 1:
        spec["gcsFaultToleranceOptions"] = {"redisAddress": "redis:6379"}
        draft.tags.add("fault tolerance")
    return [draft.object(api.RAY_CLUSTERS, spec, annotations=annotations)]


def ray_job(draft: Draft) -> list[Document]:
    dice = draft.dice
    spec: Document = {
        "entrypoint": "python train.py",
        "shutdownAfterJobFinishes": True,
        "rayClusterSpec": ray_cluster_spec(draft),
    }
    mode = dice.of(None, "K8sJobMode", "HTTPMode", "SidecarMode")
    if mode is not None:
        spec["submissionMode"] = mode
    if mode in (None, "K8sJobMode"):
        if dice.one_in(2):
            spec["submitterPodTemplate"] = draft.pod("submitter", 1, "ray-job-submitter", small=True)
        else:
            draft.counted(1, {"cpu": 500, "memory": 200})
    draft.tags.add(f"submission {mode or 'by default'}")
    return [draft.object(api.RAY_JOBS, spec)]


def _kubeflow(
    resource: api.Resource, field: str, container: str, choices: tuple[tuple[str, ...], ...]
) -> Callable[[Draft], list[Document]]:
    def make(draft: Draft) -> list[Document]:
        draft.pod_level = False
        specs = {}
        for type_ in draft.dice.choice(choices):
            single = type_ in ("Master", "Chief", "Launcher")
            count = 1 if single else draft.dice.of(1, 1, 2, 3)
            spec = {"replicas": count, "restartPolicy": "Never", "template": draft.pod(type_.lower(), count, container)}
            if count == 1 and draft.dice.one_in(3):
                del spec["replicas"]
                draft.tags.add("no replicas")
            specs[type_] = spec
        return [draft.object(resource, {field: specs})]

    return make


def mpi_job(draft: Draft) -> list[Document]:
    dice = draft.dice
    launcher = {"replicas": 1, "restartPolicy": "Never", "template": draft.pod("launcher", 1, "mpi", small=True)}
    count = dice.of(1, 2, 3)
    worker = {"replicas": count, "restartPolicy": "Never", "template": draft.pod("worker", count, "mpi")}
    spec: Document = {"runPolicy": {}, "mpiReplicaSpecs": {"Launcher": launcher, "Worker": worker}}
    if dice.one_in(3):
        spec["runLauncherAsWorker"] = True
        draft.tags.add("launcher as worker")
    return [draft.object(api.MPI_JOBS, spec)]


def leader_worker_set(draft: Draft) -> list[Document]:
    dice = draft.dice
    size = dice.of(1, 2, 3)
    template: Document = {"size": size}
    if dice.one_in(2):
        template["leaderTemplate"] = draft.pod("leader", 1)
        template["workerTemplate"] = draft.pod("worker", size - 1)
    else:
        template["workerTemplate"] = draft.pod("worker", size)
        draft.tags.add("no leader template")
    replicas = dice.of(1, 1, 2)
    spec = {
        "replicas": replicas,
        "startupPolicy": "LeaderCreated",
        "rolloutStrategy": {"type": "RollingUpdate"},
        "leaderWorkerTemplate": template,
    }
    return [draft.object(api.LEADER_WORKER_SETS, spec)]


def app_wrapper(draft: Draft) -> list[Document]:
    """Components whose podsets it knows, and some that declare theirs."""
    dice = draft.dice
    components: list[Document] = []
    for index in range(dice.of(1, 1, 2)):
        name, count = f"{draft.name}-{index}", dice.of(1, 2, 3)
        way = dice.of("Job", "Job", "Pod", "declared")
        if way == "Pod":
            pod = draft.pod(f"pod-{index}", 1)
            component = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **pod["metadata"]}}
            components.append({"template": component | {"spec": pod["spec"]}})
            continue
        spec: Document = {"parallelism": count, "completions": count, "backoffLimit": 0}
        spec["template"] = draft.pod(f"job-{index}", count)
        inner = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec}
        component = {"template": inner}
        if way == "declared":
            component["podSets"] = [{"replicas": count, "path": "template.spec.template"}]
            draft.tags.add("declared podsets")
        components.append(component)
    return [draft.object(api.APP_WRAPPERS, {"components": components})]


def pod(draft: Draft) -> list[Document]:
    made = draft.pod("main", 1)
    meta = made["metadata"]
    return [draft.object(api.PODS, made["spec"], labels=meta["labels"], annotations=meta["annotations"])]


def pod_group(draft: Draft) -> list[Document]:
    """Of one role, or of two."""
    dice = draft.dice
    counts = dice.of((2,), (3,), (1, 2), (2, 2))
    group = {GROUP_NAME: draft.name}
    annotations = {GROUP_SIZE: str(sum(counts)), RETRIABLE: "false"}
    found = []
    for role, count in enumerate(counts):
        made = draft.pod(f"role-{role}", count)
        meta = made["metadata"]
        for index in range(count):
            found.append(
                draft.object(
                    api.PODS,
                    made["spec"],
                    name=f"{draft.name}-{role}-{index}",
                    labels=meta["labels"] | group,
                    annotations=meta["annotations"] | annotations,
                )
            )
    if len(counts) > 1:
        draft.tags.add("several roles")
    return found


def workload(draft: Draft) -> list[Document]:
    """As a person makes it who needs no job kind."""
    dice = draft.dice
    podsets: list[dict[str, Any]] = []
    for role in ("first", "second", "third")[: dice.of(1, 1, 2, 3)]:
        count = dice.of(1, 2, 3)
        podsets.append({"name": role, "count": count, "template": draft.pod(role, count)})
    if podsets[0]["count"] > 1 and dice.one_in(3):
        podsets[0]["minCount"] = dice.randint(1, podsets[0]["count"] - 1)
        draft.tags.add("partial admission")
    made = draft.object(api.WORKLOADS, {"queueName": draft.queues.local_queue, "podSets": podsets})
    del made["metadata"]["labels"]
    return [made]


class Maker(NamedTuple):
    """``real``: its pods are made by controllers that run here, or it is pods."""

    resource: api.Resource
    make: Callable[[Draft], list[Document]]
    real: bool = False


_MASTER: Final = (("Worker",), ("Master", "Worker"), ("Master",))
MAKERS: Final = {
    "Job": Maker(api.JOBS, job, real=True),
    "JobSet": Maker(api.JOBSETS, jobset, real=True),
    "RayJob": Maker(api.RAY_JOBS, ray_job),
    "RayCluster": Maker(api.RAY_CLUSTERS, ray_cluster),
    "TrainJob": Maker(api.TRAIN_JOBS, trainjobs.train_job, real=True),
    "PyTorchJob": Maker(api.PYTORCH_JOBS, _kubeflow(api.PYTORCH_JOBS, "pytorchReplicaSpecs", "pytorch", _MASTER)),
    "TFJob": Maker(
        api.TF_JOBS,
        _kubeflow(
            api.TF_JOBS,
            "tfReplicaSpecs",
            "tensorflow",
            (("Worker",), ("Chief", "PS", "Worker"), ("PS", "Worker", "Evaluator")),
        ),
    ),
    "XGBoostJob": Maker(api.XGBOOST_JOBS, _kubeflow(api.XGBOOST_JOBS, "xgbReplicaSpecs", "xgboost", _MASTER[1:])),
    "PaddleJob": Maker(api.PADDLE_JOBS, _kubeflow(api.PADDLE_JOBS, "paddleReplicaSpecs", "paddle", _MASTER)),
    "JAXJob": Maker(api.JAX_JOBS, _kubeflow(api.JAX_JOBS, "jaxReplicaSpecs", "jax", (("Worker",),))),
    "MPIJob": Maker(api.MPI_JOBS, mpi_job),
    "LeaderWorkerSet": Maker(api.LEADER_WORKER_SETS, leader_worker_set),
    "AppWrapper": Maker(api.APP_WRAPPERS, app_wrapper),
    "Pod": Maker(api.PODS, pod, real=True),
    "PodGroup": Maker(api.PODS, pod_group, real=True),
    "Workload": Maker(api.WORKLOADS, workload),
}
