"""What the operators of the other kinds would do, done by hand through the API: children, pods, status.

Only what Kueue and a reader see of it: names, labels, owners and status as the operators' own sources have them (cited
at each). Pods are real, run by the scheduler and KWOK; batch Jobs among the children are run by the Job controller.
"""

import asyncio
import copy
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from classifier import api
from classifier.cluster.client import MERGE_PATCH, Client
from classifier.instant import format_instant
from e2e import deaths, view
from e2e.builders import Document
from e2e.controlplane.stages import ENDS
from e2e.wait import eventually

STATEFUL_SETS: Final = api.Resource("apps", "v1", "statefulsets", "StatefulSet")
KUBEFLOW: Final = "training.kubeflow.org/"
LWS: Final = "leaderworkerset.sigs.k8s.io/"
APP_WRAPPER: Final = "workload.codeflare.dev/appwrapper"
#: How old a list of pods may be, seconds; every question is asked until it is answered.
FRESH: Final = 0.3
#: A pod of a Job runs until something ends it.
RUNS_ON: Final = {ENDS: "Never"}
FAILED_COMPONENT: Final = ("Unhealthy", True, "FailedComponent", "Found 1 failed components")


class Hands:
    """Writes into one namespace, as an operator does."""

    def __init__(self, client: Client, namespace: str) -> None:
        self.client = client
        self.namespace = namespace
        self._reading = asyncio.Lock()
        self._pods: list[Document] = []
        self._read_at = 0.0

    def now(self) -> str:
        return format_instant(self.client.time.now())

    async def make(
        self,
        resource: api.Resource,
        name: str,
        owner: Document,
        *,
        labels: Mapping[str, str] | None = None,
        annotations: Mapping[str, str] | None = None,
        spec: Mapping[str, Any],
    ) -> Document:
        """Create a child that ``owner`` controls; the child as stored."""
        meta = owner["metadata"]
        reference = {
            "apiVersion": owner["apiVersion"],
            "kind": owner["kind"],
            "name": meta["name"],
            "uid": meta["uid"],
            "controller": True,
            "blockOwnerDeletion": True,
        }
        metadata = {
            "name": name,
            "labels": dict(labels or {}),
            "annotations": dict(annotations or {}),
            "ownerReferences": [reference],
        }
        body = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, "spec": dict(spec)}
        made: Document = msgspec.json.decode(
            await self.client.request("POST", resource.path(self.namespace), body=body)
        )
        return made

    async def pod(
        self,
        name: str,
        owner: Document,
        template: Document,
        labels: Mapping[str, str],
        annotations: Mapping[str, str] | None = None,
    ) -> Document:
        """A pod of a template, with what its operator adds."""
        meta = template.get("metadata") or {}
        return await self.make(
            api.PODS,
            name,
            owner,
            labels={**(meta.get("labels") or {}), **labels},
            annotations={**(meta.get("annotations") or {}), **(annotations or {})},
            spec=template["spec"],
        )

    async def status(self, resource: api.Resource, name: str, status: Mapping[str, Any]) -> None:
        path = resource.path(self.namespace, name, "status")
        await self.client.request("PATCH", path, body={"status": status}, content_type=MERGE_PATCH)

    async def delete(self, resource: api.Resource, name: str) -> None:
        body = {"propagationPolicy": "Background"}
        await self.client.request("DELETE", resource.path(self.namespace, name), body=body)

    # --- pods -------------------------------------------------------------------------------------------------

    async def pods(self, job: str) -> list[Document]:
        """All pods of an object, told by their names alone: each kind's begin with it."""
        async with self._reading:
            # Many ask, and there are many pods.
            if time.monotonic() - self._read_at > FRESH:
                self._pods = await view.every(self.client, api.PODS, self.namespace)
                self._read_at = time.monotonic()
        mine = (pod for pod in self._pods if f"{pod['metadata']['name']}-".startswith(f"{job}-"))
        return copy.deepcopy(list(mine))

    async def running(self, job: str, count: int) -> list[Document]:
        """They, once so many run."""

        async def run() -> list[Document]:
            pods = await self.pods(job)
            phases = [pod["status"].get("phase") for pod in pods]
            assert phases == ["Running"] * count, phases
            return pods

        return await eventually(run, poll=FRESH, what=f"{count} pods of {job} run")

    async def ends(self, pods: Sequence[Document], code: int) -> None:
        """The containers of these pods exit."""
        await asyncio.gather(*(deaths.play(self.client, pod, deaths.exits(code)) for pod in pods))

    async def job_ended(self, name: str) -> Document:
        """A batch Job, once its controller says that it ended."""

        async def ended() -> Document:
            job = await view.read(self.client, api.JOBS, self.namespace, name)
            assert view.is_true(job, "Complete") or view.is_true(job, "Failed"), job.get("status")
            return job

        return await eventually(ended, poll=FRESH, what=f"Job {name} ended")

    def condition(self, type_: str, status: bool, reason: str, message: str) -> Document:
        at = self.now()
        return {
            "type": type_,
            "status": str(status),
            "reason": reason,
            "message": message,
            "lastTransitionTime": at,
            "lastUpdateTime": at,
        }


def of(job: Document) -> tuple[str, str]:
    """Name and kind."""
    return job["metadata"]["name"], job["kind"]


async def fails_or_succeeds(hands: Hands, job: Document, code: int) -> None:
    """Its controllers are real: all its pods succeed, or the first one fails."""
    pods = await hands.pods(of(job)[0])
    await hands.ends(pods if code == 0 else pods[:1], code)


async def crashes(hands: Hands, job: Document, code: int) -> None:
    """A kind without an end: a container of its first pod ends, and is to be started again."""
    await deaths.play(hands.client, (await hands.pods(of(job)[0]))[0], deaths.crashes(code))


async def nothing(hands: Hands, job: Document) -> None:
    """Its controllers are real, or it has none."""


# --- PyTorchJob, TFJob, XGBoostJob, PaddleJob, JAXJob --------------------------------------------------------------
# training-operator: pkg/controller.v1/common/{job,pod}.go, pkg/util/status.go; the messages are PyTorchJob's.


def replicas(job: Document) -> dict[str, Document]:
    """Its replica types, the one whose end decides first."""
    (specs,) = (value for key, value in job["spec"].items() if key.endswith("ReplicaSpecs"))
    return {type_: specs[type_] for type_ in ("Launcher", "Chief", "Master", "Worker") if type_ in specs}


async def start_kubeflow(resource: api.Resource, hands: Hands, job: Document) -> None:
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


async def end_kubeflow(resource: api.Resource, hands: Hands, job: Document, code: int) -> None:
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


# --- MPIJob ---------------------------------------------------------------------------------------------------------
# mpi-operator: pkg/controller/mpi_job_controller.go (newWorker, newLauncherJob, updateMPIJobStatus).


async def start_mpi(hands: Hands, job: Document) -> None:
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


async def end_mpi(hands: Hands, job: Document, code: int) -> None:
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


# --- RayCluster, RayJob ---------------------------------------------------------------------------------------------
# kuberay: ray-operator/controllers/ray/common/pod.go (labelPod), rayjob_controller.go (createNewK8sJob,
# constructRayClusterForRayJob), raycluster_controller.go.


async def start_ray_cluster(hands: Hands, cluster: Document) -> None:
    name, _ = of(cluster)

    def labels(node: str, group: str) -> dict[str, str]:
        return {
            "ray.io/is-ray-node": "yes",
            "ray.io/cluster": name,
            "ray.io/node-type": node,
            "ray.io/group": group,
            "app.kubernetes.io/created-by": "kuberay-operator",
        }

    spec = cluster["spec"]
    await hands.pod(f"{name}-head-x7k2p", cluster, spec["headGroupSpec"]["template"], labels("head", "headgroup"))
    count = 1
    for group in spec["workerGroupSpecs"]:
        for index in range(group["replicas"]):
            own = labels("worker", group["groupName"])
            await hands.pod(f"{name}-{group['groupName']}-worker-{index}", cluster, group["template"], own)
            count += 1
    await hands.running(name, count)
    await hands.status(api.RAY_CLUSTERS, name, {"state": "ready"})


async def start_ray_job(hands: Hands, job: Document) -> None:
    name, _ = of(job)
    cluster_name = f"{name}-b5x9c"
    meta, spec = job["metadata"], job["spec"]
    origin = {"ray.io/originated-from-cr-name": name, "ray.io/originated-from-crd": "RayJob"}
    # All labels of the RayJob, the queue's among them: only its owner tells that this cluster is no job of its own.
    labels = {**meta["labels"], **origin, "ray.io/job-submission-mode": spec["submissionMode"]}
    begun = {
        "jobId": f"{name}-q2w4e",
        "rayClusterName": cluster_name,
        "jobDeploymentStatus": "Initializing",
        "startTime": hands.now(),
    }
    await hands.status(api.RAY_JOBS, name, begun)
    cluster = await hands.make(api.RAY_CLUSTERS, cluster_name, job, labels=labels, spec=spec["rayClusterSpec"])
    await start_ray_cluster(hands, cluster)
    template = spec["submitterPodTemplate"]
    template["metadata"]["annotations"] |= RUNS_ON
    limit = spec["submitterConfig"]["backoffLimit"]
    submitter = {"backoffLimit": limit, "template": template}
    await hands.make(
        api.JOBS, name, job, labels={**origin, "app.kubernetes.io/created-by": "kuberay-operator"}, spec=submitter
    )
    await hands.running(name, 3)
    runs = {
        "jobStatus": "RUNNING",
        "jobDeploymentStatus": "Running",
        "rayClusterStatus": {"state": "ready"},
    }
    await hands.status(api.RAY_JOBS, name, runs)


async def end_ray_job(hands: Hands, job: Document, code: int) -> None:
    """The submitter ends with its Ray job; the cluster is shut down (``shutdownAfterJobFinishes``)."""
    name, _ = of(job)
    pods = await hands.pods(name)
    submitter = [pod for pod in pods if "batch.kubernetes.io/job-name" in pod["metadata"]["labels"]]
    await hands.ends(submitter, code)
    await hands.job_ended(name)
    status = (
        {"jobStatus": "SUCCEEDED", "jobDeploymentStatus": "Complete", "message": "Job finished successfully."}
        if code == 0
        else {
            "jobStatus": "FAILED",
            "jobDeploymentStatus": "Failed",
            "reason": "AppFailed",
            "message": "Job entrypoint command failed with exit code 1",
        }
    )
    await hands.status(api.RAY_JOBS, name, {**status, "endTime": hands.now()})
    await hands.delete(api.RAY_CLUSTERS, f"{name}-b5x9c")


# --- AppWrapper -----------------------------------------------------------------------------------------------------
# appwrapper: internal/controller/appwrapper/{appwrapper_controller,resource_management}.go.


async def _wrapper(hands: Hands, name: str, phase: str, *conditions: tuple[str, bool, str, str]) -> None:
    made = [hands.condition(*each) for each in conditions]
    for each in made:
        del each["lastUpdateTime"]
    await hands.status(api.APP_WRAPPERS, name, {"phase": phase, "conditions": made})


async def start_app_wrapper(hands: Hands, job: Document) -> None:
    """Its one component is a batch Job."""
    name, _ = of(job)
    (component,) = job["spec"]["components"]
    (info,) = component["podSetInfos"]
    quota = ("QuotaReserved", True, "Resuming", "Suspend is false")
    deployed = ("ResourcesDeployed", True, "Resuming", "Suspend is false")
    await _wrapper(hands, name, "Resuming", quota, deployed)
    spec = component["template"]["spec"]
    template = spec["template"]
    template["metadata"] = {
        "labels": {**info["labels"], APP_WRAPPER: name},
        "annotations": {**info["annotations"], **RUNS_ON},
    }
    template["spec"]["nodeSelector"] = info["nodeSelector"]
    await hands.make(api.JOBS, component["template"]["metadata"]["name"], job, labels={APP_WRAPPER: name}, spec=spec)
    count = spec["completions"]
    await hands.running(name, count)
    ready = ("PodsReady", True, "SufficientPodsReady", f"{count} pods running; 0 pods succeeded")
    healthy = ("Unhealthy", False, "Resuming", "Suspend is false")
    await _wrapper(hands, name, "Running", quota, deployed, ready, healthy)


async def end_app_wrapper(hands: Hands, job: Document, code: int) -> None:
    """One that succeeded keeps what it deployed for a while; a failed one has to delete it first, see below."""
    name, _ = of(job)
    await fails_or_succeeds(hands, job, code)
    await hands.job_ended(name)
    if code == 0:
        words = "2 pods succeeded and no running, pending, or failed pods"
        quota = ("QuotaReserved", False, "Succeeded", words)
        await _wrapper(hands, name, "Succeeded", quota, ("ResourcesDeployed", True, "Succeeded", words))
        return
    quota = ("QuotaReserved", True, "Resuming", "Suspend is false")
    deployed = ("ResourcesDeployed", True, "Resuming", "Suspend is false")
    await _wrapper(hands, name, "Failed", quota, deployed, FAILED_COMPONENT)


async def clean_app_wrapper(hands: Hands, job: Document) -> None:
    """The second half of a failure: with its resources go its pods, and then its quota."""
    name, _ = of(job)
    await hands.delete(api.JOBS, name)

    async def gone() -> bool:
        return not await hands.pods(name)

    await eventually(gone, poll=FRESH, what=f"the pods of {name} are gone")
    quota = ("QuotaReserved", False, "Failed", "No resources deployed")
    deployed = ("ResourcesDeployed", False, "Failed", "Resources deleted for failed AppWrapper")
    await _wrapper(hands, name, "Failed", quota, deployed, FAILED_COMPONENT)


# --- LeaderWorkerSet ------------------------------------------------------------------------------------------------
# lws: pkg/controllers/{leaderworkerset,pod}_controller.go, pkg/webhooks/pod_webhook.go. The StatefulSets are there for
# ownership; their controller does not run here, so the pods it would make are made here too.


async def create_leader_worker_set(hands: Hands, job: Document) -> None:
    """It does not wait for admission: Kueue's webhook gates the pods."""
    name, _ = of(job)
    spec = job["spec"]
    size, template = spec["leaderWorkerTemplate"]["size"], spec["leaderWorkerTemplate"]
    common = {f"{LWS}name": name, f"{LWS}template-revision-hash": "5f7b9d8c6d"}
    leaders = await _stateful_set(hands, name, job, common, spec["replicas"], template["leaderTemplate"])
    for group in range(spec["replicas"]):
        own = {**common, f"{LWS}group-index": str(group), f"{LWS}group-key": f"key-{group}"}
        leader = await hands.pod(
            f"{name}-{group}",
            leaders,
            template["leaderTemplate"],
            {**own, f"{LWS}worker-index": "0"},
            {f"{LWS}size": str(size)},
        )
        workers = await _stateful_set(hands, f"{name}-{group}", leader, own, size - 1, template["workerTemplate"])
        for index in range(1, size):
            await hands.pod(
                f"{name}-{group}-{index}",
                workers,
                template["workerTemplate"],
                {**own, f"{LWS}worker-index": str(index)},
                {f"{LWS}size": str(size), f"{LWS}leader-name": f"{name}-{group}"},
            )


async def start_leader_worker_set(hands: Hands, job: Document) -> None:
    name, _ = of(job)
    replicas = job["spec"]["replicas"]
    await hands.running(name, replicas * job["spec"]["leaderWorkerTemplate"]["size"])
    available = hands.condition("Available", True, "AllGroupsReady", "All replicas are ready")
    del available["lastUpdateTime"]
    counts = dict.fromkeys(("replicas", "readyReplicas", "updatedReplicas"), replicas)
    await hands.status(api.LEADER_WORKER_SETS, name, {**counts, "conditions": [available]})


async def _stateful_set(
    hands: Hands, name: str, owner: Document, labels: Mapping[str, str], count: int, template: Document
) -> Document:
    meta = template["metadata"]
    pods = {
        "metadata": {"labels": {**meta["labels"], **labels}, "annotations": meta["annotations"]},
        "spec": template["spec"],
    }
    selector = {"matchLabels": dict(labels)}
    spec = {"replicas": count, "serviceName": name, "selector": selector, "template": pods}
    return await hands.make(STATEFUL_SETS, name, owner, labels=labels, spec=spec)
