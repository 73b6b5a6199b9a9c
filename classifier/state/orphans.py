"""What is left of a job's TrainJobs that are gone (reference/classification.md §C13).

Routine: background deletion removes the TrainJob at once, and its JobSet and pods only some time later.
"""

from collections.abc import Iterable

from classifier.numbers import count, moment
from classifier.objects import JobSet, Meta, Pod, TrainingRuntime, TrainJob
from classifier.state.kinds.jobset import JOBSET_NAME, JOBSET_UID
from classifier.state.names import job_of, submission_in, submission_of
from classifier.state.observation import Cause, CauseKind, Explanation, Observation, Ref, State
from classifier.state.settings import Settings
from classifier.state.words import joined


def orphans(
    job: str,
    *,
    trainjobs: Iterable[TrainJob],
    jobsets: Iterable[JobSet],
    pods: Iterable[Pod],
    runtimes: Iterable[TrainingRuntime],
    settings: Settings,
    seen_at: int,
) -> list[Explanation]:
    """Of objects of one namespace. Each is an object of its own, always foreign, its cause unknown.

    A TrainJob that is terminating still lives.
    """
    all_trainjobs, all_jobsets, all_pods = list(trainjobs), list(jobsets), list(pods)
    living = _Living(job, all_trainjobs, all_jobsets, settings)
    busy = _busy(all_pods)

    def told(obj: Meta, kind: str, state: State, text: str, since: str | None) -> Explanation:
        number = submission_in(obj.name, job)
        observation = Observation(
            ref=Ref(kind, obj.namespace, obj.name, obj.uid),
            state=state,
            cause=Cause(CauseKind.UNKNOWN, "", joined([text])),
            foreign=True,
            submission=count(obj.label(settings.submission)) if number is None else number,
            seen_at=seen_at,
        )
        return Explanation(observation=observation, since=moment(since))

    found: list[Explanation] = []
    for jobset in all_jobsets:
        if living.owns(jobset) and not living.has_parent(jobset):
            owner = f", its owner was uid {jobset.controller.uid}" if jobset.controller else ""
            text = f"JobSet {jobset.name} has no live TrainJob{owner}"
            found.append(told(jobset, "JobSet", _jobset_state(jobset, busy), text, _left(jobset)))
    for pod in all_pods:
        if living.owns(pod) and not living.has_pod(pod):
            text = f"pod {pod.name} has no live TrainJob"
            found.append(told(pod, "Pod", _pod_state(pod), text, _left(pod)))
    for runtime in runtimes:
        if living.owns(runtime) and not living.has_parent(runtime):
            text = f"runtime {runtime.name} has no live TrainJob"
            found.append(told(runtime, "TrainingRuntime", State.ENDED, text, _left(runtime)))
    return sorted(found, key=lambda e: (e.observation.ref.kind, e.observation.ref.name, e.observation.ref.uid))


class _Living:
    """The TrainJobs there are, and what hangs on them."""

    def __init__(self, job: str, trainjobs: list[TrainJob], jobsets: list[JobSet], settings: Settings) -> None:
        self._job = job
        self._settings = settings
        self._uids = {t.uid for t in trainjobs}
        self._named = {t.name: t for t in trainjobs}
        self._submissions = {submission_of(t, settings) for t in trainjobs if job_of(t, settings) == job}
        self._jobsets = {j.uid for j in jobsets if j.controller is not None and j.controller.uid in self._uids}
        self._known = {j.uid for j in jobsets}
        self._occupied = {j.name for j in jobsets}

    def owns(self, obj: Meta) -> bool:
        """Whether it is the job's: a bare test of the prefix would let ``train`` claim ``train-big-3``."""
        return obj.label(self._settings.job_id) == self._job or submission_in(obj.name, self._job) is not None

    def has_parent(self, obj: Meta) -> bool:
        """By its controller. Without one, a TrainJob of its name reports it (§C11 row 5)."""
        owner = obj.controller
        if owner is None:
            return obj.name in self._named or not self._of_trainer(obj)
        return owner.uid in self._uids or owner.kind not in ("", "TrainJob")

    def _of_trainer(self, obj: Meta) -> bool:
        """Anybody may write a runtime, and call it as he likes: without an owner only the label makes it a copy."""
        return not isinstance(obj, TrainingRuntime) or obj.label(self._settings.job_id) == self._job

    def has_pod(self, pod: Pod) -> bool:
        """By its JobSet's UID, else by the JobSet's name, else by its submission."""
        if uid := pod.label(JOBSET_UID):
            return uid in self._jobsets or (uid not in self._known and self._outlives_jobset(pod))
        if name := pod.label(JOBSET_NAME):
            return name in self._named
        number = count(pod.label(self._settings.submission))
        return number is not None and number in self._submissions

    def _outlives_jobset(self, pod: Pod) -> bool:
        """Whether its JobSet went first while the TrainJob stays: Trainer's deadline and a JobSet's TTL do that.

        An older pod is of an earlier TrainJob of that name.
        """
        name = pod.label(JOBSET_NAME) or ""
        trainjob = self._named.get(name)
        if trainjob is None or name in self._occupied:
            return False
        made, since = moment(pod.metadata.creation_timestamp), moment(trainjob.metadata.creation_timestamp)
        return made is not None and since is not None and made >= since


def _left(obj: Meta) -> str | None:
    return obj.metadata.deletion_timestamp


def _busy(pods: Iterable[Pod]) -> set[tuple[str, str]]:
    """The JobSets that have a pod which has not ended, by UID, or by name where a pod has lost that label."""
    alive = [pod for pod in pods if pod.status and pod.status.phase in ("Pending", "Running")]
    return {
        (JOBSET_UID, uid) if (uid := pod.label(JOBSET_UID)) else (JOBSET_NAME, pod.label(JOBSET_NAME) or "")
        for pod in alive
    }


def _jobset_state(jobset: JobSet, busy: set[tuple[str, str]]) -> State:
    if jobset.status and (jobset.status.is_true("Completed") or jobset.status.is_true("Failed")):
        return State.ENDED
    if jobset.spec and jobset.spec.suspend:
        return State.SUSPENDED
    return State.PENDING if busy.isdisjoint({(JOBSET_UID, jobset.uid), (JOBSET_NAME, jobset.name)}) else State.RUNNING


def _pod_state(pod: Pod) -> State:
    """A phase that says nothing, or none: the node is silent, or it has not begun."""
    match pod.status.phase if pod.status else None:
        case "Succeeded" | "Failed":
            return State.ENDED
        case "Running" | "Unknown":
            return State.RUNNING
    return State.PENDING
