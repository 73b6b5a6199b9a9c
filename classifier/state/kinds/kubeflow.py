"""What the kinds of the training operator and the MPI operator have in common: ``runPolicy`` and the conditions.

Training operator: pkg/apis/kubeflow.org/v1/common_types.go, pkg/controller.v1/common/job.go; MPI operator:
pkg/apis/kubeflow/v2beta1. All of their pods are controlled by the job itself, but for those of MPI's launcher.
"""

from collections.abc import Callable
from typing import Final

from classifier.api import Resource
from classifier.objects import KubeflowJob
from classifier.state.kinds.fields import condition, conditions, controller_uid, direct, never, paused
from classifier.state.kinds.view import Ending, KindView, Labels
from classifier.state.observation import CauseKind
from classifier.state.settings import Settings

KNOWN: Final = frozenset({"Created", "Running", "Restarting", "Suspended", "Succeeded", "Failed"})

#: The end of ``Failed``'s message; the reason is the same as for a failed replica.
_DEADLINE: Final = "was active longer than specified deadline"


def suspended(job: KubeflowJob) -> bool:
    policy = job.spec.run_policy if job.spec else None
    return policy is not None and policy.suspend is True


def managed_by(own: str) -> Callable[[KubeflowJob], str | None]:
    """The reader of ``runPolicy.managedBy``."""

    def foreign(job: KubeflowJob) -> str | None:
        policy = job.spec.run_policy if job.spec else None
        manager = policy.managed_by if policy else None
        return manager if manager and manager != own else None

    return foreign


def labelled(operator: str) -> Callable[[KubeflowJob, Settings], tuple[Labels, ...]]:
    """Pods by the job's name; a namesake of another kind has another operator."""

    def pods(job: KubeflowJob, settings: Settings) -> tuple[Labels, ...]:
        return ({"training.kubeflow.org/job-name": job.name, "training.kubeflow.org/operator-name": operator},)

    return pods


def view(resource: Resource, type_: type[KubeflowJob], step: str) -> KindView:
    """A kind of the training operator. Its controllers are all named alike; ``step`` is the container it watches."""

    def ending(job: KubeflowJob) -> Ending | None:
        if good := condition(job, "Succeeded"):
            return Ending(CauseKind.COMPLETED, good)
        bad = condition(job, "Failed")
        if bad is None:
            return None
        if (bad.message or "").rstrip().endswith(_DEADLINE):
            return Ending(CauseKind.TIMEOUT, bad)
        return Ending(None if bad.reason == f"{resource.kind}Failed" else CauseKind.UNKNOWN, bad)

    return KindView(
        resource=resource,
        type_=type_,
        suspended=suspended,
        foreign=managed_by("kubeflow.org/training-operator"),
        paused=paused,
        ending=ending,
        conditions=conditions,
        known=KNOWN,
        children=direct,
        pods=labelled(f"{resource.kind.lower()}-controller"),
        part_of=controller_uid,
        steps=(step,),
        # A replica restarts alone; the job never does as a whole.
        restart=never,
    )
