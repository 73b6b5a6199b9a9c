"""How each kind ends, and in whose words (reference/classification.md §C1, §C2, §E)."""

from typing import Any

import pytest

from classifier.objects import (
    AppWrapper,
    JAXJob,
    Job,
    JobSet,
    LeaderWorkerSet,
    Meta,
    MPIJob,
    PaddleJob,
    Pod,
    PyTorchJob,
    RayCluster,
    RayJob,
    TFJob,
    TrainJob,
    XGBoostJob,
)
from classifier.state.kinds import view_for
from classifier.state.observation import CauseKind
from tests.unit.kinds.builders import Fields, condition, conditions, read

COMPLETED, TIMEOUT, REJECTED, UNKNOWN = (
    CauseKind.COMPLETED,
    CauseKind.TIMEOUT,
    CauseKind.REJECTED,
    CauseKind.UNKNOWN,
)
PODS = None  # the pods know
KUBEFLOW = (PyTorchJob, TFJob, XGBoostJob, PaddleJob, JAXJob)


def ending_of(job: Meta) -> Any:
    view = view_for(job)
    assert view is not None
    return view.ending(job)


FAILED: list[tuple[type[Meta], str, CauseKind | None]] = [
    (Job, "DeadlineExceeded", TIMEOUT),
    (Job, "BackoffLimitExceeded", PODS),
    (Job, "PodFailurePolicy", PODS),
    (Job, "FailedIndexes", PODS),
    (Job, "MaxFailedIndexesExceeded", PODS),
    (Job, "Surprise", UNKNOWN),
    (JobSet, "FailedJobs", PODS),
    (JobSet, "ReachedMaxRestarts", PODS),
    (JobSet, "FailJobSetFailurePolicyAction", PODS),
    (JobSet, "DeadlineExceeded", UNKNOWN),  # it has no deadline of its own
    (TrainJob, "DeadlineExceeded", TIMEOUT),
    (TrainJob, "TrainingRuntimeNotSupported", REJECTED),
    (TrainJob, "FailedJobs", PODS),
    (TrainJob, "ReachedMaxRestarts", PODS),
    (TrainJob, "FailJobSetFailurePolicyAction", PODS),
    (TrainJob, "Surprise", UNKNOWN),
    (MPIJob, "DeadlineExceeded", TIMEOUT),
    (MPIJob, "MPIJobFailed", PODS),
    (MPIJob, "BackoffLimitExceeded", PODS),
    (MPIJob, "BackoffLimitExceeded/OOMKilled", PODS),
    (MPIJob, "BackoffLimitExceeded/", PODS),
    (MPIJob, "PodFailurePolicy", PODS),
    (MPIJob, "MPIJobEvicted", CauseKind.PREEMPTED),
    (MPIJob, "Surprise/BackoffLimitExceeded", UNKNOWN),
    *((kind, f"{kind.__name__}Failed", PODS) for kind in KUBEFLOW),
    *((kind, "Surprise", UNKNOWN) for kind in KUBEFLOW),
    (TFJob, "PyTorchJobFailed", UNKNOWN),
]


@pytest.mark.parametrize(("type_", "reason", "kind"), FAILED)
def test_a_reason_of_failure_means(type_: type[Meta], reason: str, kind: CauseKind | None) -> None:
    ending = ending_of(read(type_, status=conditions(condition("Failed", reason, "so it is"))))
    assert ending.kind == kind
    assert (ending.words.reason, ending.words.message) == (reason, "so it is")
    assert ending.words.last_transition_time == "2026-01-01T10:00:00Z"


@pytest.mark.parametrize("type_", KUBEFLOW)
def test_the_training_operator_tells_a_deadline_by_its_message(type_: type[Meta]) -> None:
    message = "Job train has failed because it was active longer than specified deadline"
    failed = condition("Failed", f"{type_.__name__}Failed", message)
    assert ending_of(read(type_, status=conditions(failed))).kind == TIMEOUT
    limit = condition(
        "Failed", failed["reason"], "Job train has failed because it has reached the specified backoff limit"
    )
    assert ending_of(read(type_, status=conditions(limit))).kind is PODS


SUCCESS: list[tuple[type[Meta], str]] = [
    (Job, "Complete"),
    (JobSet, "Completed"),
    (TrainJob, "Complete"),
    *((kind, "Succeeded") for kind in (MPIJob, *KUBEFLOW)),
]


@pytest.mark.parametrize(("type_", "done"), SUCCESS)
def test_complete_is_asked_before_failed(type_: type[Meta], done: str) -> None:
    both = conditions(condition("Failed", "DeadlineExceeded"), condition(done, "Fine", "all went well"))
    ending = ending_of(read(type_, status=both))
    assert (ending.kind, ending.words.type, ending.words.message) == (COMPLETED, done, "all went well")


@pytest.mark.parametrize(("type_", "done"), SUCCESS)
@pytest.mark.parametrize("status", ["False", "Unknown", ""])
def test_a_condition_that_is_not_true_ends_nothing(type_: type[Meta], done: str, status: str) -> None:
    neither = conditions(condition(done, "Fine", status=status), condition("Failed", "Bad", status=status))
    assert ending_of(read(type_, status=neither)) is None


#: deployment status, job status, status.reason: what it is, by which reason it is told.
RAY: list[tuple[str, str, str, CauseKind | None, str]] = [
    ("Complete", "SUCCEEDED", "", COMPLETED, "SUCCEEDED"),
    ("Complete", "STOPPED", "", UNKNOWN, "STOPPED"),
    ("Complete", "STOPPED", "AppFailed", UNKNOWN, "AppFailed"),
    ("Complete", "FAILED", "", PODS, "FAILED"),
    ("Complete", "RUNNING", "", UNKNOWN, "Complete"),
    ("Complete", "", "", UNKNOWN, "Complete"),
    (
        "Complete",
        "SUCCEEDED",
        "JobDeploymentStatusTransitionGracePeriodExceeded",
        COMPLETED,
        "JobDeploymentStatusTransitionGracePeriodExceeded",
    ),
    ("Failed", "FAILED", "AppFailed", PODS, "AppFailed"),
    ("Failed", "", "SubmissionFailed", PODS, "SubmissionFailed"),
    ("Failed", "RUNNING", "DeadlineExceeded", TIMEOUT, "DeadlineExceeded"),
    ("Failed", "", "PreRunningDeadlineExceeded", TIMEOUT, "PreRunningDeadlineExceeded"),
    (
        "Failed",
        "FAILED",
        "JobDeploymentStatusTransitionGracePeriodExceeded",
        PODS,
        "JobDeploymentStatusTransitionGracePeriodExceeded",
    ),
    ("Failed", "RUNNING", "", UNKNOWN, "Failed"),
    ("Failed", "SUCCEEDED", "Surprise", UNKNOWN, "Surprise"),
    ("ValidationFailed", "", "ValidationFailed", REJECTED, "ValidationFailed"),
]


@pytest.mark.parametrize(("deployment", "job", "reason", "kind", "told"), RAY)
def test_a_rayjob_ends(deployment: str, job: str, reason: str, kind: CauseKind | None, told: str) -> None:
    status = {
        "jobDeploymentStatus": deployment,
        "jobStatus": job,
        "reason": reason,
        "message": "said Ray",
        "endTime": "2026-01-01T11:00:00Z",
    }
    ending = ending_of(read(RayJob, status=status))
    assert (ending.kind, ending.words.reason, ending.words.message) == (kind, told, "said Ray")
    assert ending.words.true
    assert ending.words.type == deployment
    assert ending.words.last_transition_time == "2026-01-01T11:00:00Z"


@pytest.mark.parametrize(
    "deployment", ["", "Initializing", "Running", "Suspending", "Suspended", "Retrying", "Waiting"]
)
def test_a_rayjob_goes_on(deployment: str) -> None:
    # Ray's own word does not end it: the operator may still retry.
    assert ending_of(read(RayJob, status={"jobDeploymentStatus": deployment, "jobStatus": "FAILED"})) is None


def test_a_rayjob_has_no_conditions_to_be_unknown() -> None:
    job = read(RayJob, status={"conditions": [condition("Odd")], "jobDeploymentStatus": "Running"})
    view = view_for(job)
    assert view is not None
    assert tuple(view.conditions(job)) == ()


@pytest.mark.parametrize("type_", [RayCluster, LeaderWorkerSet])
def test_what_serves_never_ends(type_: type[Meta]) -> None:
    said = conditions(condition("Failed", "Bad"), condition("Complete", "Fine"), condition("Succeeded"))
    assert ending_of(read(type_, status=said | {"state": "failed"})) is None


UNHEALTHY: list[tuple[str, CauseKind | None]] = [
    ("FailedComponent", PODS),
    ("FoundFailedPods", PODS),
    ("InsufficientPodsReady", PODS),
    ("CreateFailed", UNKNOWN),
    ("MissingComponent", UNKNOWN),
    ("AutopilotNoExecute", UNKNOWN),
]


@pytest.mark.parametrize(("reason", "kind"), UNHEALTHY)
def test_an_appwrapper_fails_of_what_made_it_unhealthy(reason: str, kind: CauseKind | None) -> None:
    why = condition("Unhealthy", reason, "three of them")
    ending = ending_of(read(AppWrapper, status={"phase": "Failed"} | conditions(why)))
    assert (ending.kind, ending.words.type, ending.words.message) == (kind, "Unhealthy", "three of them")


def test_a_failed_appwrapper_has_not_ended_while_its_resources_stand() -> None:
    deployed = condition("ResourcesDeployed", "Resuming")
    failed: Fields = {"phase": "Failed"} | conditions(condition("Unhealthy", "FoundFailedPods"), deployed)
    assert ending_of(read(AppWrapper, status=failed)) is None
    deployed["status"] = "False"
    assert ending_of(read(AppWrapper, status=failed)).kind is PODS


def test_an_appwrapper_that_says_no_more_than_failed() -> None:
    ending = ending_of(read(AppWrapper, status={"phase": "Failed"}))
    assert (ending.kind, ending.words.reason, ending.words.true) == (UNKNOWN, "Failed", True)


def test_an_appwrapper_succeeds_by_phase() -> None:
    said = condition("QuotaReserved", "Succeeded", "2 pods succeeded", status="False")
    stands = condition("ResourcesDeployed", "Succeeded")
    ending = ending_of(read(AppWrapper, status={"phase": "Succeeded"} | conditions(said, stands)))
    assert (ending.kind, ending.words.message) == (COMPLETED, "2 pods succeeded")
    # Without it the phase is all there is: what reserved quota before says nothing of the end.
    before = condition("QuotaReserved", "Resuming", "Suspend is false")
    words = ending_of(read(AppWrapper, status={"phase": "Succeeded"} | conditions(before, stands))).words
    assert (words.reason, words.message, words.true) == ("Succeeded", None, True)


@pytest.mark.parametrize("phase", ["", "Suspended", "Resuming", "Running", "Resetting", "Suspending", "Terminating"])
def test_an_appwrapper_goes_on(phase: str) -> None:
    assert ending_of(read(AppWrapper, status={"phase": phase} | conditions(condition("Unhealthy", "X")))) is None


def test_a_pod_ends_by_phase_and_its_reason_is_told() -> None:
    ready = condition("Ready", "PodCompleted", status="False")
    done = ending_of(read(Pod, status={"phase": "Succeeded"} | conditions(ready)))
    assert (done.kind, done.words.reason) == (COMPLETED, "Succeeded")
    assert done.words.last_transition_time == "2026-01-01T10:00:00Z"
    evicted = {"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory."}
    bad = ending_of(read(Pod, status=evicted))
    assert (bad.kind, bad.words.reason, bad.words.message) == (PODS, "Evicted", evicted["message"])
    assert bad.words.last_transition_time is None
    for phase in ("Pending", "Running", "Unknown", ""):
        assert ending_of(read(Pod, status={"phase": phase})) is None


STOPS: list[tuple[str, CauseKind | None]] = [
    ("WorkloadEvictedDueToPreempted", CauseKind.PREEMPTED),
    ("WorkloadEvictedDueToFlavorMigration", CauseKind.PREEMPTED),
    ("WorkloadEvictedDueToNodeFailures", CauseKind.NODE_LOST),
    ("WorkloadEvictedDueToPodsReadyTimeout", UNKNOWN),
    ("WorkloadEvicted", UNKNOWN),
    ("NotAdmitted", UNKNOWN),
    ("WorkloadDeleted", PODS),  # says nothing of how the pod ended
]


@pytest.mark.parametrize(("reason", "kind"), STOPS)
def test_a_pod_that_kueue_stopped_did_not_fail_of_itself(reason: str, kind: CauseKind | None) -> None:
    stop = condition("TerminationTarget", reason, "Preempted to accommodate a workload")
    ending = ending_of(read(Pod, status={"phase": "Failed"} | conditions(stop)))
    assert ending.kind == kind
    assert ending.words.reason == (reason if kind is not PODS else "Failed")
    assert ending_of(read(Pod, status={"phase": "Running"} | conditions(stop))) is None
    assert ending_of(read(Pod, status={"phase": "Succeeded"} | conditions(stop))).kind == COMPLETED
