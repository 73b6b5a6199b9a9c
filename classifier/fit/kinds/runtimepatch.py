"""``spec.runtimePatches`` of a TrainJob, merged into its runtime's replicated Jobs, as far as scheduling reads them.

Trainer merges them strategically (Trainer: pkg/runtime/core/trainingruntime.go mergeRuntimePatches): maps by key,
volumes by name, tolerations and the terms of an affinity as a whole. A patch touches no container's resources.
"""

from collections.abc import Iterable
from typing import TypeVar

import msgspec

from classifier.objects import (
    Affinity,
    JobSetSpec,
    JobSetSpecPatch,
    JobSetTemplatePatch,
    JobSpec,
    JobTemplate,
    Metadata,
    NodeAffinity,
    PodAffinity,
    PodSpec,
    PodTemplate,
    ReplicatedJob,
    RuntimePatch,
    TrainingRuntimeSpecPatch,
    Volume,
)

T = TypeVar("T", NodeAffinity, PodAffinity, Volume)


def patched(spec: JobSetSpec, patches: Iterable[RuntimePatch]) -> list[ReplicatedJob]:
    """The replicated Jobs of ``spec`` with all patches, one after the other."""
    jobs = list(spec.replicated_jobs or ())
    for patch in patches:
        template = (patch.training_runtime_spec or TrainingRuntimeSpecPatch()).template or JobSetTemplatePatch()
        for one in (template.spec or JobSetSpecPatch()).replicated_jobs or ():
            if one.template is not None:
                jobs = [
                    msgspec.structs.replace(job, template=_template(job.template, one.template))
                    if job.name == one.name
                    else job
                    for job in jobs
                ]
    return jobs


def _template(base: JobTemplate | None, patch: JobTemplate) -> JobTemplate:
    return JobTemplate(
        metadata=_metadata(base.metadata if base else None, patch.metadata),
        spec=_job(base.spec if base else None, patch.spec),
    )


def _job(base: JobSpec | None, patch: JobSpec | None) -> JobSpec:
    found = base or JobSpec()
    if patch is None or patch.template is None:
        return found
    pods, more = found.template or PodTemplate(), patch.template
    template = PodTemplate(metadata=_metadata(pods.metadata, more.metadata), spec=_pod(pods.spec, more.spec))
    return msgspec.structs.replace(found, template=template)


def _metadata(base: Metadata | None, patch: Metadata | None) -> Metadata:
    found, more = base or Metadata(), patch or Metadata()
    return msgspec.structs.replace(
        found,
        labels={**(found.labels or {}), **(more.labels or {})},
        annotations={**(found.annotations or {}), **(more.annotations or {})},
    )


def _pod(base: PodSpec | None, patch: PodSpec | None) -> PodSpec:
    found, more = base or PodSpec(), patch or PodSpec()
    return msgspec.structs.replace(
        found,
        node_selector={**(found.node_selector or {}), **(more.node_selector or {})},
        tolerations=more.tolerations or found.tolerations,
        affinity=_affinity(found.affinity, more.affinity),
        volumes=_volumes(found.volumes or (), more.volumes or ()),
        scheduling_gates=[*(found.scheduling_gates or ()), *(more.scheduling_gates or ())],
    )


def _affinity(base: Affinity | None, patch: Affinity | None) -> Affinity | None:
    if base is None or patch is None:
        return base or patch
    return Affinity(
        node_affinity=_over(base.node_affinity, patch.node_affinity),
        pod_affinity=_over(base.pod_affinity, patch.pod_affinity),
        pod_anti_affinity=_over(base.pod_anti_affinity, patch.pod_anti_affinity),
    )


def _volumes(base: Iterable[Volume], patch: Iterable[Volume]) -> list[Volume]:
    found = {volume.name: volume for volume in base}
    for volume in patch:
        found[volume.name] = _over(found.get(volume.name), volume) or volume
    return list(found.values())


def _over(base: T | None, patch: T | None) -> T | None:
    """``base`` with all that ``patch`` sets."""
    if base is None or patch is None:
        return base or patch
    given = {field: value for field in patch.__struct_fields__ if (value := getattr(patch, field))}
    return msgspec.structs.replace(base, **given)
