"""AppWrapper around one batch Job.

AppWrapper: internal/controller/appwrapper/{appwrapper_controller,resource_management}.go.
"""

from typing import Final

from classifier import api
from e2e.builders import Document
from e2e.played.hands import FRESH, RUNS_ON, Hands, fails_or_succeeds, of
from e2e.wait import eventually

APP_WRAPPER: Final = "workload.codeflare.dev/appwrapper"
FAILED_COMPONENT: Final = ("Unhealthy", True, "FailedComponent", "Found 1 failed components")


async def _wrapper(hands: Hands, name: str, phase: str, *conditions: tuple[str, bool, str, str]) -> None:
    made = [hands.condition(*each) for each in conditions]
    for each in made:
        del each["lastUpdateTime"]
    await hands.status(api.APP_WRAPPERS, name, {"phase": phase, "conditions": made})


async def start(hands: Hands, job: Document) -> None:
    """Its one component is a batch Job."""
    name, _ = of(job)
    (component,) = job["spec"]["components"]
    (info,) = component["podSetInfos"]
    quota = ("QuotaReserved", True, "Resuming", "Suspend is false")
    deployed = ("ResourcesDeployed", True, "Resuming", "Suspend is false")
    await _wrapper(hands, name, "Resuming", quota, deployed)
    spec = component["template"]["spec"]
    template = spec["template"]
    template["metadata"] = {
        "labels": {**info["labels"], APP_WRAPPER: name},
        "annotations": {**info["annotations"], **RUNS_ON},
    }
    template["spec"]["nodeSelector"] = info["nodeSelector"]
    await hands.make(api.JOBS, component["template"]["metadata"]["name"], job, labels={APP_WRAPPER: name}, spec=spec)
    count = spec["completions"]
    await hands.running(name, count)
    ready = ("PodsReady", True, "SufficientPodsReady", f"{count} pods running; 0 pods succeeded")
    healthy = ("Unhealthy", False, "Resuming", "Suspend is false")
    await _wrapper(hands, name, "Running", quota, deployed, ready, healthy)


async def end(hands: Hands, job: Document, code: int) -> None:
    """One that succeeded keeps what it deployed for a while; a failed one has to delete it first, see below."""
    name, _ = of(job)
    await fails_or_succeeds(hands, job, code)
    await hands.job_ended(name)
    if code == 0:
        words = "2 pods succeeded and no running, pending, or failed pods"
        quota = ("QuotaReserved", False, "Succeeded", words)
        await _wrapper(hands, name, "Succeeded", quota, ("ResourcesDeployed", True, "Succeeded", words))
        return
    quota = ("QuotaReserved", True, "Resuming", "Suspend is false")
    deployed = ("ResourcesDeployed", True, "Resuming", "Suspend is false")
    await _wrapper(hands, name, "Failed", quota, deployed, FAILED_COMPONENT)


async def clean(hands: Hands, job: Document) -> None:
    """The second half of a failure: with its resources go its pods, and then its quota."""
    name, _ = of(job)
    await hands.delete(api.JOBS, name)

    async def gone() -> bool:
        return not await hands.pods(name)

    await eventually(gone, poll=FRESH, what=f"the pods of {name} are gone")
    quota = ("QuotaReserved", False, "Failed", "No resources deployed")
    deployed = ("ResourcesDeployed", False, "Failed", "Resources deleted for failed AppWrapper")
    await _wrapper(hands, name, "Failed", quota, deployed, FAILED_COMPONENT)
