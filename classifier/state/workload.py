"""The Workload that decides, and what of it several rules read (reference/classification.md §A5)."""

from collections.abc import Callable, Iterable

from classifier import api
from classifier.numbers import moment, positive
from classifier.objects import AdmissionCheckState, Meta, PodGroup, Workload
from classifier.state.case import Case
from classifier.state.kinds.podgroup import SUSPENDING_PARENT
from classifier.state.settings import Mode, Settings

PREEMPTED = "Preempted"
DEACTIVATION_TARGET = "DeactivationTarget"
REQUEUED = "Requeued"
ADMISSION_CHECK = "AdmissionCheck"
ADMISSION_GATED = "AdmissionGated"
READY, RETRY, REJECTED = "Ready", "Retry", "Rejected"


def controlled(workload: Workload, case: Case) -> bool:
    """Whether the job controls it; where Kueue only lists owners, whether the job, or a pod of the group, is one."""
    if case.view.controls_workload:
        return workload.controller is not None and workload.controller.uid == case.job.uid
    uids = {case.job.uid}
    if isinstance(case.job, PodGroup):
        if case.job.annotation(SUSPENDING_PARENT):
            return True  # a LeaderWorkerSet or StatefulSet made it, and none of the pods says of which UID
        uids = {pod.uid for pod in case.job.pods}
    return any(owner.uid in uids for owner in workload.metadata.owner_references or ())


def candidates(case: Case) -> list[Workload]:
    """The Workloads that could decide. One that no longer stands for the job is history beside one that does."""
    return [w for w in case.workloads if not _over(w)] or list(case.workloads)


def namesakes(case: Case) -> list[str]:
    """Names of Workloads of one job where there must be a single one (§C11 row 7), sorted."""
    if case.view.many_workloads:
        return []
    # An elastic job grows by a second Workload beside its first (Kueue: pkg/workloadslicing).
    names = sorted(w.name for w in candidates(case) if w.annotation(api.SLICE_REPLACEMENT_FOR) is None)
    return names if len(names) > 1 else []


def _over(workload: Workload) -> bool:
    """A slice of an elastic job ends so when it is replaced, and when it is evicted."""
    finished = workload.condition(api.FINISHED)
    return finished is not None and finished.true and finished.reason in ("WorkloadSliceReplaced", "OutOfSync")


def deciding(case: Case, settings: Settings) -> Workload | None:
    """Plain mode has none. Of several the one the job controls, the oldest of those first, then by name.

    Where a kind has many, the one that is worst off: the object as a whole runs only when all do.
    """
    if settings.mode is Mode.PLAIN:
        return None

    def order(workload: Workload) -> tuple[bool, int, bool, int, str, str]:
        born = moment(workload.metadata.creation_timestamp)
        return (
            not controlled(workload, case),
            _standing(workload) if case.view.many_workloads else 0,
            born is None,
            born or 0,
            workload.name,
            workload.uid,
        )

    return min(candidates(case), key=order, default=None)


def _standing(workload: Workload) -> int:
    """Worst first: inactive, not admitted, being evicted, well. Of those that wait, first one that says why.

    Kueue says nothing of a Workload that waits behind an equal one (Kueue: pkg/cache/queue, handleInadmissibleHash).
    """
    if not workload.active:
        return 0
    evicted = workload.is_true(api.EVICTED)
    if not workload.is_true(api.ADMITTED):
        return 1 if evicted or workload.condition(api.QUOTA_RESERVED) is not None else 2
    return 3 if evicted else 4


def hold(case: Case, workload: Workload | None, settings: Settings) -> int:
    """The instance of the hold in force, 0 if none is (§C4): dispatch marks the object that it stops."""
    held: Meta | None = case.job if settings.mode is Mode.PLAIN else workload
    return (positive(held.annotation(settings.hold_instance)) if held else None) or 0


def checks(workload: Workload) -> list[AdmissionCheckState]:
    states = (workload.status.admission_checks if workload.status else None) or ()
    return sorted(states, key=lambda check: (check.name, check.state, check.message or ""))


def all_capacity(workload: Workload, state: str, settings: Settings) -> bool:
    """Whether every check in that state stands for capacity.

    An eviction resets them to Pending, and only the message keeps what was (§A5, 6). If none is found: all checks.
    """
    found = checks(workload)
    asked = _named(found, lambda c: c.state == state or (c.message or "").strip().endswith(f"Previously: {state}"))
    names = asked or _named(found, lambda c: True)
    return bool(names) and names <= settings.capacity_checks


def _named(found: Iterable[AdmissionCheckState], those: Callable[[AdmissionCheckState], bool]) -> set[str]:
    return {check.name for check in found if those(check)}
