"""TrainJob: the podsets of the JobSet its runtime makes of it.

Kueue asks Trainer's own code for that JobSet (Kueue: pkg/controller/jobs/trainjob/trainjob_controller.go
getChildJobSet); here are its rules (Trainer 2.2.1: pkg/runtime/core/trainingruntime.go newRuntimeInfo, the plugins in
pkg/runtime/framework/plugins, of which jobset/builder.go). What only sets environments and ports is left out.
"""

from typing import Final

import msgspec

from classifier.fit.gang import Podset, Runtimes, Unresolved
from classifier.fit.kinds.common import count_of, few_enough, gang
from classifier.fit.kinds.jobset import left, replicated_podsets
from classifier.fit.kinds.runtimepatch import patched
from classifier.objects import (
    Container,
    JobSetSpec,
    JobSetTemplate,
    JobSpec,
    JobTemplate,
    Metadata,
    MLPolicy,
    PodGroupPolicy,
    PodSpec,
    PodTemplate,
    ReplicatedJob,
    ResourceRequirements,
    RuntimeRef,
    Trainer,
    TrainingRuntime,
    TrainingRuntimeSpec,
    TrainJob,
    TrainJobSpec,
)

_GROUP: Final = "trainer.kubeflow.org"
#: On the replicated Jobs of a runtime: which part of a TrainJob they are.
_STEP: Final = "trainer.kubeflow.org/trainjob-ancestor-step"
_TRAINER: Final = "trainer"
#: Trainer makes one Job of each of these, whatever the runtime says.
_SINGLE: Final = frozenset({_TRAINER, "dataset-initializer", "model-initializer"})
#: The Job of the nodes, and the container that trains, in whatever Job.
_NODE: Final = "node"
_POD_GROUP: Final = "scheduling.x-k8s.io/pod-group"


def train_job_podsets(job: TrainJob, runtimes: Runtimes) -> list[Podset]:
    """Raises Unresolved where the runtime is not there, or is not one of Trainer's."""
    spec = job.spec or TrainJobSpec()
    if spec.pod_template_overrides:
        raise Unresolved("spec.podTemplateOverrides is of a Trainer before 2.2, whose rules are not known here")
    runtime = _runtime_of(spec, job.namespace, runtimes)
    declared = (runtime.template or JobSetTemplate()).spec or JobSetSpec()
    few_enough(len(declared.replicated_jobs or ()), "the runtime's spec.template")
    jobs = patched(declared, spec.runtime_patches or ())
    policy, trainer = runtime.ml_policy, spec.trainer or Trainer()
    counts = _counts(jobs, policy, trainer)
    made = [_made(one, count, policy or MLPolicy(), trainer) for one, count in zip(jobs, counts, strict=True)]
    if (runtime.pod_group_policy or PodGroupPolicy()).coscheduling is not None:
        made = [_labelled(one, _POD_GROUP, job.name) for one in made]
    found = gang(replicated_podsets(made, job.namespace, None), "the runtime's spec.template")
    return left(found, made, job.status.jobs_status if job.status else None)


def _runtime_of(spec: TrainJobSpec, namespace: str, runtimes: Runtimes) -> TrainingRuntimeSpec:
    ref = spec.runtime_ref or RuntimeRef()
    group = _GROUP if ref.api_group is None else ref.api_group
    kind = "ClusterTrainingRuntime" if ref.kind is None else ref.kind
    found: TrainingRuntime | None = None
    if (group, kind) == (_GROUP, "ClusterTrainingRuntime"):
        found, name = runtimes.cluster.get(ref.name), ref.name
    elif (group, kind) == (_GROUP, "TrainingRuntime"):
        name = f"{namespace}/{ref.name}"
        found = runtimes.namespaced.get(name)
    else:
        raise Unresolved(f"runtime {ref.name} is a {kind} of {group or 'no group'}, which Trainer does not know")
    if found is None:
        raise Unresolved(f"{kind} {name} is not found")
    return found.spec or TrainingRuntimeSpec()


def _counts(jobs: list[ReplicatedJob], policy: MLPolicy | None, trainer: Trainer) -> list[int]:
    """Pods of one Job each: the policy's number of nodes for the trainer's, and the TrainJob's for one of them."""
    counts = []
    for index, job in enumerate(jobs):
        field = f"the runtime's spec.template.spec.replicatedJobs[{index}].template.spec.parallelism"
        count = count_of((_template(job).spec or JobSpec()).parallelism, field)
        if policy is not None and _step(job) == _TRAINER:
            count = count_of(policy.num_nodes, "the runtime's spec.mlPolicy.numNodes")
        counts.append(max(1, count))
    if trainer.num_nodes is not None:
        nodes = count_of(trainer.num_nodes, "spec.trainer.numNodes")
        mpi = policy.mpi if policy else None
        if mpi is None:
            at = next((index for index, job in enumerate(jobs) if _step(job) == _TRAINER), None)
        else:
            at = next((index for index, job in enumerate(jobs) if job.name == _NODE), None)
            # The launcher is one of the nodes.
            nodes = max(1, nodes - 1) if mpi.run_launcher_as_node else nodes
        if at is not None:
            counts[at] = nodes
    return counts


def _made(job: ReplicatedJob, count: int, policy: MLPolicy, trainer: Trainer) -> ReplicatedJob:
    """The replicated Job of the JobSet."""
    template = _template(job)
    spec = template.spec or JobSpec()
    pods = spec.template or PodTemplate()
    pod = pods.spec or PodSpec()
    launcher_trains = policy.mpi is not None and policy.mpi.run_launcher_as_node is True
    if _step(job) == _TRAINER or (launcher_trains and job.name == _NODE):
        pod = _with_resources(pod, trainer.resources_per_node)
    if policy.flux is not None and job.name == _NODE:
        installer = Container(name="flux-installer")
        pod = msgspec.structs.replace(pod, init_containers=[*(pod.init_containers or ()), installer])
    pods = msgspec.structs.replace(pods, spec=pod)
    spec = msgspec.structs.replace(spec, parallelism=count, completions=count, template=pods)
    replicas = 1 if _step(job) in _SINGLE else job.replicas
    template = msgspec.structs.replace(template, spec=spec)
    return msgspec.structs.replace(job, replicas=replicas, template=template)


def _with_resources(pod: PodSpec, resources: ResourceRequirements | None) -> PodSpec:
    """What a node asks for replaces all that the runtime's ``node`` container did."""
    if resources is None or (resources.requests is None and resources.limits is None):
        return pod
    asked = ResourceRequirements(requests=resources.requests, limits=resources.limits)
    containers = [
        msgspec.structs.replace(container, resources=asked) if container.name == _NODE else container
        for container in pod.containers or ()
    ]
    return msgspec.structs.replace(pod, containers=containers)


def _labelled(job: ReplicatedJob, key: str, value: str) -> ReplicatedJob:
    """The same with one label more on its pods."""
    template = _template(job)
    spec = template.spec or JobSpec()
    pods = spec.template or PodTemplate()
    metadata = pods.metadata or Metadata()
    metadata = msgspec.structs.replace(metadata, labels={**(metadata.labels or {}), key: value})
    spec = msgspec.structs.replace(spec, template=msgspec.structs.replace(pods, metadata=metadata))
    return msgspec.structs.replace(job, template=msgspec.structs.replace(template, spec=spec))


def _template(job: ReplicatedJob) -> JobTemplate:
    return job.template or JobTemplate()


def _step(job: ReplicatedJob) -> str | None:
    metadata = _template(job).metadata
    return ((metadata.labels if metadata else None) or {}).get(_STEP)
