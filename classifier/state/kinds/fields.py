"""What several views read in the same way."""

from collections.abc import Sequence
from typing import Any

from classifier.objects import Condition, Meta, Pod


def conditions(job: Any) -> Sequence[Condition]:
    """The status conditions of any kind that has them."""
    return (job.status.conditions if job.status else None) or ()


def condition(job: Any, type_: str) -> Condition | None:
    """The condition of that type that is True."""
    return next((c for c in conditions(job) if c.type == type_ and c.true), None)


def controller_uid(pod: Meta) -> str | None:
    return pod.controller.uid if pod.controller else None


def never(pod: Pod) -> str | None:
    """J of a kind that never restarts as a whole."""
    return "0"
