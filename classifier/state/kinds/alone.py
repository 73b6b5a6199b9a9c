"""A ``Workload`` that a person made, and no job owns: it holds quota, and there is nothing behind it to stop.

No kind of job: it is bounded where the administrators say so, and classified as what it is.
"""

from collections.abc import Sequence
from typing import Any

from classifier import api
from classifier.objects import Condition, Workload
from classifier.state.kinds.fields import condition, direct, never, nobody
from classifier.state.kinds.view import Ending, KindView, Labels
from classifier.state.observation import CauseKind
from classifier.state.settings import Settings


def suspended(workload: Workload) -> bool:
    """Nothing of it runs."""
    return True


def foreign(workload: Workload) -> str | None:
    """There is no ``managedBy``."""
    return None


def paused(workload: Workload) -> bool:
    return not workload.active


def ending(workload: Workload) -> Ending | None:
    finished = condition(workload, api.FINISHED)
    return Ending(CauseKind.COMPLETED if finished.reason == "Succeeded" else None, finished) if finished else None


def conditions(workload: Any) -> Sequence[Condition]:
    """None that speak of a job: the rules read a Workload's own."""
    return ()


def pods(workload: Workload, settings: Settings) -> tuple[Labels, ...]:
    return ()


VIEW = KindView(
    resource=api.WORKLOADS,
    type_=Workload,
    suspended=suspended,
    foreign=foreign,
    paused=paused,
    ending=ending,
    conditions=conditions,
    known=frozenset(),
    children=direct,
    pods=pods,
    part_of=nobody,
    restart=never,
    controls_workload=False,
)
