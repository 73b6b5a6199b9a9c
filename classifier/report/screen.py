"""A report as lines for people (design §6). Colour is the terminal's business, not ours."""

from collections.abc import Iterator

from classifier.instant import format_instant
from classifier.report.compose import Report
from classifier.report.profiles import ProvisioningReady


def profile_line(name: str, provisioning: ProvisioningReady) -> str:
    """``preflight: profile gpu-a100-8 ProvisioningReady=True``, with what to fix where it is not."""
    line = f"preflight: profile {name} ProvisioningReady={provisioning.status}"
    return line if provisioning.status == "True" else f"{line} ({provisioning.reason}: {provisioning.message})"


def lines(report: Report, *, wide: bool = False) -> Iterator[str]:
    """Top to bottom. ``wide`` adds since when each phase is what it is, and the objects that say so."""
    for state in report.profiles:
        yield profile_line(state.profile, state.provisioning)
    if report.verdict is not None:
        yield report.verdict.line
        if report.verdict.advice and report.verdict.advice not in report.verdict.line:
            yield f"  tip: {report.verdict.advice}"
    for phase in report.phases:
        since = f" (since {format_instant(phase.since)})" if wide and phase.since is not None else ""
        yield phase.line + since
    for pool in report.pools:
        yield pool.line
    if wide:
        yield from _objects(report)
    for note in report.picture.notes:
        yield f"note: {note}"


def _objects(report: Report) -> Iterator[str]:
    picture = report.picture
    yield f"Job UID: {picture.owner.uid or '-'}"
    if picture.workload is not None:
        yield f"Workload: {picture.workload.namespace}/{picture.workload.name}"
    for request in picture.requests or ():
        yield f"ProvisioningRequest: {request.namespace}/{request.name}"
    if report.deadline.at is not None:
        yield f"Deadline: {format_instant(report.deadline.at)}"
    yield f"Fence: {picture.fence.name} {picture.fence.state}{f' ({picture.fence.why})' if picture.fence.why else ''}"
