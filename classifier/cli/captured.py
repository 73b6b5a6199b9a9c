"""``--captured``: the last states of pods that were deleted before the dump was made."""

from collections.abc import Sequence

from classifier import api
from classifier.cli.errors import CliError
from classifier.cluster.files import load
from classifier.cluster.snapshot import TYPES, Snapshot
from classifier.objects import Meta, Pod
from classifier.state.attached import own_uids
from classifier.state.gather import Captured, case_of, has_labels
from classifier.state.kinds import view_for
from classifier.state.settings import Settings


class CapturedPods:
    """Pods from files, given to the jobs they were of."""

    def __init__(self, sources: Sequence[str], namespace: str) -> None:
        """Raises FileError for what cannot be read, CliError where there is no pod in it."""
        self._sources = ", ".join(sources)
        self._pods = list(load(sources, namespace).of(api.PODS, Pod).values()) if sources else []
        self._given: set[str] = set()
        if sources and not self._pods:
            raise CliError(f"{self._sources}: no Pod in it; it is to hold what kubectl get pods -o yaml printed")

    def of(self, snapshot: Snapshot, settings: Settings) -> Captured:
        def captured(job: Meta) -> Sequence[Pod]:
            chosen = [pod for pod in self._pods if _was_of(pod, job, snapshot, settings)]
            self._given |= {pod.key for pod in chosen}
            return chosen

        return captured

    @property
    def note(self) -> str | None:
        """Says how many of them were of none of the jobs that asked; None if all were."""
        left = len(self._pods) - len(self._given)
        return (
            f"{self._sources}: {left} of {len(self._pods)} pods were of other jobs, and are left out" if left else None
        )


def _was_of(pod: Pod, job: Meta, snapshot: Snapshot, settings: Settings) -> bool:
    """By its labels, and by the UID it bears where the object of that UID can be known."""
    view = view_for(job)
    if view is None or pod.namespace != job.namespace:
        return False
    if not any(has_labels(pod, labels) for labels in view.pods(job, settings)):
        return False
    part = view.part_of(pod)
    children = case_of(job, snapshot, settings).children
    # With the JobSet (RayCluster, ...) gone nothing tells its UID.
    if not part or part in own_uids(job, children):
        return True
    return view.middle is not None and not any(isinstance(child, TYPES[view.middle]) for child in children)
