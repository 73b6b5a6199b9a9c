"""The execution: which pods are those of the current run (reference/classification.md §C10)."""

from collections.abc import Sequence

from classifier import api
from classifier.objects import Pod
from classifier.state.kinds.view import KindView
from classifier.state.numbers import count
from classifier.state.observation import Execution
from classifier.state.settings import Settings


def current(pods: Sequence[Pod], view: KindView, settings: Settings) -> tuple[Execution | None, Sequence[Pod]]:
    """The execution with the highest R, then the highest A, and its pods; all of them when none is counted (§C9)."""
    runs = [_run(pod, view, settings) for pod in pods]
    best = max((run for run in runs if run), default=None)
    if best is None:
        return None, pods
    number, admission = best
    return Execution(admission, number - admission), [pod for pod, run in zip(pods, runs, strict=True) if run == best]


def _run(pod: Pod, view: KindView, settings: Settings) -> tuple[int, int] | None:
    """R and A. A pod that lacks A or J is not counted. Without dispatch's annotation, ours says the admission."""
    annotations = pod.metadata.annotations
    if not annotations:
        return None
    admission = count(annotations.get(settings.admission, annotations.get(api.ADMISSION_COUNT)))
    restart = count(view.restart(pod)) if admission is not None else None
    return (admission + restart, admission) if admission is not None and restart is not None else None
