"""Counts how often a job is started, so that its pods carry their execution (reference/classification.md §C10). Pure.

Opt-in by a profile, and decided once: what is created under one gets the count 0, and only about what carries a count
the webhook is asked when it is let go (``charts/muster/templates/webhook/_conditions.tpl``). From then on no policy is
needed, nor any view of the cluster: this stands in every start of the job.
"""

import re
from typing import Any, Final

import msgspec

from classifier import api
from classifier.fit.gang import GangError, Runtimes, Unresolved
from classifier.fit.kinds import PODSETS
from classifier.objects import Job, Meta
from classifier.state.kinds import KINDS
from webhook.template import Operation, have_room, token, with_annotation

#: Kinds whose pod templates Kueue itself changes in the update that lets them go, so that ours may be changed with it.
#: It does not write those of a TrainJob (its runtime's) and of an AppWrapper (within wrapped objects), and pods and
#: LeaderWorkerSets are never let go by their spec (Kueue: pkg/controller/jobs, RunWithPodSetsInfo).
COUNTED: Final = frozenset(
    KINDS[key].resource
    for key in (
        ("batch", "Job"),
        ("jobset.x-k8s.io", "JobSet"),
        ("ray.io", "RayJob"),
        ("ray.io", "RayCluster"),
        ("kubeflow.org", "PyTorchJob"),
        ("kubeflow.org", "TFJob"),
        ("kubeflow.org", "XGBoostJob"),
        ("kubeflow.org", "PaddleJob"),
        ("kubeflow.org", "JAXJob"),
        ("kubeflow.org", "MPIJob"),
    )
)

#: Annotations are anybody's; beyond this it is no count.
_COUNT: Final = re.compile(r"[0-9]{1,9}")
_PATH: Final = "/metadata/annotations/" + token(api.ADMISSION_COUNT)


def started(resource: api.Resource, old: Any, new: Meta, raw: msgspec.Raw) -> tuple[Operation, ...]:
    """The patch of the update that lets ``new`` go; empty for any other. ``raw`` is the document of ``new``."""
    before = old.annotation(api.ADMISSION_COUNT)
    if resource not in COUNTED or before is None or new.annotation(api.ADMISSION_COUNT) is None:
        return ()
    suspended = KINDS[resource.group, resource.kind].suspended
    if not suspended(old) or suspended(new) or _template_is_fixed(old):
        return ()
    try:
        podsets = PODSETS[resource](new, Runtimes()) if resource in PODSETS else []
    except (GangError, Unresolved):
        return ()
    # From the old object, so that asked again within the same request it says the same.
    count = str(int(before) + 1 if _COUNT.fullmatch(before) else 1)
    kept = {"op": "add", "path": _PATH, "value": count}
    annotations = new.metadata.annotations or {}
    if not have_room(annotations, {api.ADMISSION_COUNT: count}):
        return ()
    counted = () if annotations.get(api.ADMISSION_COUNT) == count else (kept,)
    return (*counted, *with_annotation(raw, podsets, api.ADMISSION_COUNT, count))


def _template_is_fixed(old: Any) -> bool:
    """A Job that has once started keeps its template until ``startTime`` is reset, as Kueue does when it stops one
    (Kubernetes: pkg/registry/batch/job/strategy.go); a change would have the start refused."""
    return isinstance(old, Job) and old.status is not None and old.status.start_time is not None
