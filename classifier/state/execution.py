"""The execution: which pods are those of the current run (reference/classification.md §C10)."""

from collections.abc import Sequence

from classifier import api
from classifier.numbers import count, moment
from classifier.objects import Pod, Workload
from classifier.state.kinds.view import KindView
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


def of_this_run(pods: Sequence[Pod], view: KindView, workload: Workload | None) -> Sequence[Pod]:
    """Where no pod says its admission: without those that are of an earlier run all the same.

    J never falls. And Kueue admits again while pods of the run before are still terminating: those that are going and
    were made before the current admission, whose exit 143 is not this run's.
    """
    restarts = [count(view.restart(pod)) for pod in pods]
    last = max((n for n in restarts if n is not None), default=None)
    pods = [pod for pod, n in zip(pods, restarts, strict=True) if n is None or n == last]
    admitted = workload.condition(api.ADMITTED) if workload else None
    since = moment(admitted.last_transition_time) if admitted is not None and admitted.true else None
    if since is None or view.gates_pods:
        return pods

    def earlier(pod: Pod) -> bool:
        made = moment(pod.metadata.creation_timestamp)
        return pod.metadata.deletion_timestamp is not None and made is not None and made < since

    return [pod for pod in pods if not earlier(pod)]


def _run(pod: Pod, view: KindView, settings: Settings) -> tuple[int, int] | None:
    """R and A. A pod that lacks A or J is not counted. Without dispatch's annotation, ours says the admission."""
    annotations = pod.metadata.annotations
    if not annotations:
        return None
    admission = count(annotations.get(settings.admission, annotations.get(api.ADMISSION_COUNT)))
    restart = count(view.restart(pod)) if admission is not None else None
    return (admission + restart, admission) if admission is not None and restart is not None else None
