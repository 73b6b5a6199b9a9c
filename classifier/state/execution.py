"""The execution: which pods are those of the current run (reference/classification.md §C10)."""

from collections.abc import Sequence

from classifier import api
from classifier.objects import Pod
from classifier.state.kinds.view import KindView
from classifier.state.numbers import count
from classifier.state.observation import Execution
from classifier.state.settings import Settings


def execution_of(pod: Pod, view: KindView, settings: Settings) -> Execution | None:
    """A pod that lacks A or J is not counted. Without dispatch's annotation, ours says at which admission it is."""
    annotations = pod.metadata.annotations or {}
    admission = count(annotations.get(settings.admission, annotations.get(api.ADMISSION_COUNT)))
    restart = count(view.restart(pod)) if admission is not None else None
    return Execution(admission, restart) if admission is not None and restart is not None else None


def current(pods: Sequence[Pod], view: KindView, settings: Settings) -> tuple[Execution | None, Sequence[Pod]]:
    """The execution with the highest R, then the highest A, and its pods; all of them when none is counted (§C9)."""
    runs = [execution_of(pod, view, settings) for pod in pods]
    best = max((run for run in runs if run), key=lambda run: (run.number, run.admission), default=None)
    if best is None:
        return None, pods
    return best, [pod for pod, run in zip(pods, runs, strict=True) if run == best]
