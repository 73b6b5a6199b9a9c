"""What several views read in the same way."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from classifier.objects import Condition, Meta, Pod
from classifier.state.kinds.view import Ending, Selection
from classifier.state.observation import CauseKind


def suspended(job: Any) -> bool:
    """``spec.suspend``, where most kinds have it."""
    return job.spec is not None and job.spec.suspend is True


def managed_by(own: str) -> Callable[[Any], str | None]:
    """The reader of ``spec.managedBy``: any value but the kind's own controller's is foreign."""

    def foreign(job: Any) -> str | None:
        manager: str | None = job.spec.managed_by if job.spec else None
        return manager if manager and manager != own else None

    return foreign


def conditions(job: Any) -> Sequence[Condition]:
    """The status conditions of any kind that has them."""
    return (job.status.conditions if job.status else None) or ()


def condition(job: Any, type_: str) -> Condition | None:
    """The condition of that type that is True."""
    return next((c for c in conditions(job) if c.type == type_ and c.true), None)


def paused(job: Any) -> bool:
    """``Suspended=True``."""
    return condition(job, "Suspended") is not None


def ended(complete: str, reasons: Mapping[str, CauseKind | None]) -> Callable[[Any], Ending | None]:
    """The reader of two terminal conditions: ``complete`` and, asked after it, ``Failed``.

    ``reasons`` says what a reason of ``Failed`` stands for (None: the pods know); any other is unknown.
    """

    def ending(job: Any) -> Ending | None:
        if good := condition(job, complete):
            return Ending(CauseKind.COMPLETED, good)
        if bad := condition(job, "Failed"):
            return Ending(reasons.get(bad.reason or "", CauseKind.UNKNOWN), bad)
        return None

    return ending


def endless(job: Any) -> Ending | None:
    """Such a kind runs until it is deleted."""
    return None


def direct(job: Any) -> tuple[Selection, ...]:
    """Nothing that could be read stands between such a job and its pods."""
    return ()


def controller_uid(pod: Meta) -> str | None:
    return pod.controller.uid if pod.controller else None


def nobody(pod: Pod) -> str | None:
    """Pods of such a kind name no UID that could be checked."""
    return None


def never(pod: Pod) -> str | None:
    """J of a kind that never restarts as a whole, or whose pods do not tell."""
    return "0"
