"""The job kinds, one small file each. A new kind is a file with a ``VIEW`` and a line in ``_VIEWS``."""

from classifier.objects import Meta, OwnerReference
from classifier.state.kinds import job
from classifier.state.kinds.view import KindView

_VIEWS = (job.VIEW,)

#: By group and kind, as owner references name them (their version is not part of the identity).
KINDS: dict[tuple[str, str], KindView] = {(v.resource.group, v.resource.kind): v for v in _VIEWS}

#: Kinds that Kueue may manage: a job one of these controls is a child and has no wait of its own
#: (Kueue: pkg/controller/jobframework, FindAncestorJobManagedByKueue; reference/kueue.md §4.2).
_PARENTS = frozenset(
    {
        ("batch", "Job"),
        ("jobset.x-k8s.io", "JobSet"),
        ("trainer.kubeflow.org", "TrainJob"),
        ("ray.io", "RayJob"),
        ("ray.io", "RayCluster"),
        ("ray.io", "RayService"),
        ("kubeflow.org", "PyTorchJob"),
        ("kubeflow.org", "TFJob"),
        ("kubeflow.org", "XGBoostJob"),
        ("kubeflow.org", "PaddleJob"),
        ("kubeflow.org", "JAXJob"),
        ("kubeflow.org", "MPIJob"),
        ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"),
        ("workload.codeflare.dev", "AppWrapper"),
        ("sparkoperator.k8s.io", "SparkApplication"),
    }
)


def view_of(owner: OwnerReference | None) -> KindView | None:
    """The view for the kind an owner reference names, if Muster has one."""
    return KINDS.get((owner.group, owner.kind)) if owner else None


def is_child(job: Meta) -> bool:
    """Whether a job belongs to another job that Kueue may manage."""
    parent = job.controller
    return parent is not None and (parent.group, parent.kind) in _PARENTS


__all__ = ["KINDS", "KindView", "is_child", "view_of"]
