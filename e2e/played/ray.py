"""RayCluster, and RayJob with a cluster and a Job that submits.

KubeRay: ray-operator/controllers/ray/common/pod.go (labelPod), rayjob_controller.go (createNewK8sJob,
constructRayClusterForRayJob), raycluster_controller.go.
"""

from classifier import api
from e2e.builders import Document
from e2e.played.hands import RUNS_ON, Hands, of


async def start_cluster(hands: Hands, cluster: Document) -> None:
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


async def start_job(hands: Hands, job: Document) -> None:
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
    await start_cluster(hands, cluster)
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


async def end_job(hands: Hands, job: Document, code: int) -> None:
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
