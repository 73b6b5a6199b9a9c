"""``AppWrapper`` of ``workload.codeflare.dev``: objects of any kinds, started and stopped as one.

AppWrapper: api/v1beta2/appwrapper_types.go, internal/controller/appwrapper/appwrapper_controller.go.
"""

from typing import Final

from classifier import api
from classifier.objects import AppWrapper, Condition
from classifier.state.kinds.fields import condition, conditions, direct, managed_by, never, nobody, suspended
from classifier.state.kinds.view import Ending, KindView, Labels
from classifier.state.observation import CauseKind
from classifier.state.settings import Settings

#: On each component, and on each pod template that stands in one.
APPWRAPPER: Final = "workload.codeflare.dev/appwrapper"

#: Reasons of ``Unhealthy``, which is what an AppWrapper fails of.
FAILURES: Final[dict[str, CauseKind | None]] = {
    "FailedComponent": None,
    "FoundFailedPods": None,
    "InsufficientPodsReady": None,
}


def paused(job: AppWrapper) -> bool:
    return _phase(job) in ("Suspending", "Suspended")


def ending(job: AppWrapper) -> Ending | None:
    phase = _phase(job)
    if phase == "Succeeded":
        done = next((c for c in conditions(job) if c.type == "QuotaReserved" and c.reason == phase), None)
        return Ending(CauseKind.COMPLETED, done or Condition(type=phase, status="True", reason=phase))
    # A failed one keeps its resources, and its quota, until they are deleted: as long it has not ended for Kueue.
    if phase == "Failed" and condition(job, "ResourcesDeployed") is None:
        unhealthy = condition(job, "Unhealthy")
        if unhealthy is None:
            return Ending(CauseKind.UNKNOWN, Condition(type=phase, status="True", reason=phase))
        return Ending(FAILURES.get(unhealthy.reason or "", CauseKind.UNKNOWN), unhealthy)
    return None


def _phase(job: AppWrapper) -> str:
    return (job.status.phase if job.status else None) or ""


def pods(job: AppWrapper, settings: Settings) -> tuple[Labels, ...]:
    return ({APPWRAPPER: job.name},)


VIEW = KindView(
    resource=api.APP_WRAPPERS,
    type_=AppWrapper,
    suspended=suspended,
    foreign=managed_by("workload.codeflare.dev/appwrapper-controller"),
    paused=paused,
    ending=ending,
    conditions=conditions,
    # Unhealthy is left out: where no pod explains it, its own words are all there is.
    known=frozenset({"QuotaReserved", "ResourcesDeployed", "PodsReady", "DeletingResources"}),
    children=direct,
    pods=pods,
    # Components of any kind stand between; the label names no UID.
    part_of=nobody,
    # Resets are counted in ``status.resettingCount`` alone.
    restart=never,
)
