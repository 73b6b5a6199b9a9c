"""The gang of a world as an object of its kind."""

from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from classifier import api
from classifier.objects import Meta
from classifier.scope import JUDGED
from tests.builders import NAMESPACE
from tests.soundness.truth import UNITS, Case, Podset

Json = dict[str, Any]

#: The kinds of each number of podsets; 0: any number.
PYTORCH, MPI, TF = api.PYTORCH_JOBS, api.MPI_JOBS, api.TF_JOBS
_REPLICA_TYPES: Final = {
    PYTORCH: ("pytorchReplicaSpecs", ("Master", "Worker")),
    MPI: ("mpiReplicaSpecs", ("Launcher", "Worker")),
    TF: ("tfReplicaSpecs", ("Chief", "PS", "Worker", "Evaluator")),
}


def kinds_for(podsets: Sequence[Podset]) -> list[api.Resource]:
    """The kinds that can say what these podsets are."""
    late = any(one.late for one in podsets)
    fewer = any(one.fewest < one.count for one in podsets)
    least = any(one.least < one.count for one in podsets)
    none = any(one.count == 0 for one in podsets)
    if late or none:
        return [api.JOBSETS]
    if fewer:
        return [api.JOBS, api.WORKLOADS] if len(podsets) == 1 else [api.WORKLOADS]
    if least:
        return [PYTORCH]
    found = [api.JOBSETS, api.WORKLOADS, api.APP_WRAPPERS]
    if len(podsets) == 1:
        found += [api.JOBS, api.LEADER_WORKER_SETS]
    if len(podsets) == 2:
        found += [PYTORCH, MPI]
    if len(podsets) == 2 and podsets[0].count == 1:
        found.append(api.LEADER_WORKER_SETS)
    if len(podsets) > 1 and podsets[0].count == 1:
        found.append(api.RAY_CLUSTERS)
    if len(podsets) > 2:
        found.append(TF)
    return found


def submitted(case: Case) -> Meta:
    made = _SPECS[case.kind](case)
    metadata: Json = {"name": "train", "namespace": NAMESPACE, "labels": {api.QUEUE_NAME: "gpu"}}
    if case.kind is api.JOBS and case.podsets[0].fewest < case.podsets[0].count:
        metadata["annotations"] = {api.MIN_PARALLELISM: str(case.podsets[0].fewest)}
    raw = {"apiVersion": case.kind.api_version, "kind": case.kind.kind, "metadata": metadata, "spec": made}
    return msgspec.convert(raw, JUDGED[case.kind])


def show(resource: str, amount: int) -> str:
    return f"{amount}{UNITS.get(resource, '')}"


def template(podset: Podset) -> Json:
    metadata: Json = {"labels": {"app": podset.name}, "annotations": _annotations(podset)}
    return {"metadata": metadata, "spec": _pod(podset)}


def _pod(podset: Podset) -> Json:
    asked = {name: show(name, amount) for name, amount in podset.requests.items()}
    main: Json = {"name": "main", "image": "train", "resources": {"requests": asked}}
    spec: Json = {"containers": [main]}
    if podset.written == "limits":
        main["resources"] = {"limits": asked}
    elif podset.written == "init":
        spec["initContainers"] = [{**main, "name": "init"}]
        main["resources"] = {"requests": {name: show(name, n // 2) for name, n in podset.requests.items()}}
    elif podset.written == "two":
        main["resources"] = {"requests": {name: show(name, n - n // 2) for name, n in podset.requests.items()}}
        other = {name: show(name, n // 2) for name, n in podset.requests.items()}
        spec["containers"].append({"name": "side", "image": "train", "resources": {"requests": other}})
    if podset.selector:
        spec["nodeSelector"] = dict(podset.selector)
    if podset.tolerates:
        spec["tolerations"] = [{"key": key, "operator": "Exists"} for key in podset.tolerates]
    if podset.port is not None:
        main["ports"] = [{"containerPort": podset.port, "hostPort": podset.port}]
    affinity: Json = {}
    if podset.alone:
        term = {"labelSelector": {"matchLabels": {"app": podset.name}}, "topologyKey": "kubernetes.io/hostname"}
        affinity["podAntiAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    if podset.terms:
        terms = [
            {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}
            for key, operator, values in podset.terms
        ]
        affinity["nodeAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    return spec | ({"affinity": affinity} if affinity else {})


def _annotations(podset: Podset) -> dict[str, str]:
    found = {}
    if podset.required is not None:
        found[api.TOPOLOGY_REQUIRED] = podset.required
    if podset.slices is not None:
        found[api.TOPOLOGY_SLICE], found[api.TOPOLOGY_SLICE_SIZE] = podset.slices[0], str(podset.slices[1])
    if podset.group is not None:
        found[api.PODSET_GROUP] = podset.group
    if podset.unconstrained:
        found[api.TOPOLOGY_UNCONSTRAINED] = "true"
    return found


def _job(podset: Podset, pods: int | None = None) -> Json:
    pods = podset.count if pods is None else pods
    return {"parallelism": pods, "completions": pods, "suspend": True, "template": template(podset)}


def _jobset(case: Case) -> Json:
    found = []
    for podset in case.podsets:
        replicas = next((n for n in (3, 2) if podset.count and podset.count % n == 0 and podset.written == "two"), 1)
        made: Json = {
            "name": podset.name,
            "replicas": replicas,
            "template": {"spec": _job(podset, podset.count // replicas)},
        }
        if podset.late:
            made["dependsOn"] = [{"name": case.podsets[0].name, "status": "Complete"}]
        found.append(made)
    return {"suspend": True, "replicatedJobs": found}


def _workload(case: Case) -> Json:
    found = []
    for podset in case.podsets:
        made: Json = {"name": podset.name, "count": podset.count, "template": template(podset)}
        made |= {"minCount": podset.fewest} if podset.fewest < podset.count else {}
        asked: Json = {"unconstrained": True} if podset.unconstrained else {}
        asked |= {"required": podset.required} if podset.required is not None else {}
        if podset.slices is not None:
            asked |= {"podSetSliceRequiredTopology": podset.slices[0], "podSetSliceSize": podset.slices[1]}
        asked |= {"podSetGroupName": podset.group} if podset.group is not None else {}
        found.append(made | ({"topologyRequest": asked} if asked else {}))
    return {"queueName": "gpu", "podSets": found}


def _replicas(case: Case) -> Json:
    field, types = _REPLICA_TYPES[case.kind]
    made = {
        type_: {"replicas": one.count, "template": template(one)}
        for type_, one in zip(
            types[-len(case.podsets) :] if case.kind is PYTORCH else types, case.podsets, strict=False
        )
    }
    workers = case.podsets[-1]
    elastic = {"elasticPolicy": {"minReplicas": workers.least}} if workers.least < workers.count else {}
    return {field: made, **elastic}


def _wrapper(case: Case) -> Json:
    """A JobSet in an AppWrapper, its podsets declared."""
    wrapped = {
        "apiVersion": api.JOBSETS.api_version,
        "kind": "JobSet",
        "metadata": {"name": "in"},
        "spec": _jobset(case),
    }
    declared = [
        {"replicas": one.count, "path": f"template.spec.replicatedJobs[{at}].template.spec.template"}
        for at, one in enumerate(case.podsets)
    ]
    return {"suspend": True, "components": [{"template": wrapped, "podSets": declared}]}


def _leaders(case: Case) -> Json:
    *leaders, workers = case.podsets
    made: Json = {"size": sum(one.count for one in case.podsets), "workerTemplate": template(workers)}
    if leaders:
        made["leaderTemplate"] = template(leaders[0])
    return {"replicas": 2, "leaderWorkerTemplate": made}


def _ray(case: Case) -> Json:
    head, *workers = case.podsets
    groups = [
        {"groupName": one.name, "replicas": one.count, "maxReplicas": one.count, "template": template(one)}
        for one in workers
    ]
    return {"headGroupSpec": {"template": template(head)}, "workerGroupSpecs": groups}


_SPECS: Final[dict[api.Resource, Callable[[Case], Json]]] = {
    api.JOBS: lambda case: _job(case.podsets[0]),
    api.JOBSETS: _jobset,
    api.WORKLOADS: _workload,
    api.APP_WRAPPERS: _wrapper,
    api.LEADER_WORKER_SETS: _leaders,
    api.RAY_CLUSTERS: _ray,
    **dict.fromkeys(_REPLICA_TYPES, _replicas),
}
