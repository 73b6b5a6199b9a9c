"""What contradicts that the object is dispatch's own (reference/classification.md §C11).

A removed label or value contradicts nothing; a missing controller reference on what must have one does.
"""

from collections.abc import Iterator

from classifier.objects import TrainJob
from classifier.state.attached import contradicts, other
from classifier.state.facts import Facts
from classifier.state.names import stem
from classifier.state.words import listed
from classifier.state.workload import controlled, namesakes


def foreign(facts: Facts, *, over: bool) -> list[str]:
    """Notes, in the order of the page; any of them makes the object foreign, none changes its state or cause.

    ``over``: the object has ended or is going.
    """
    return [*_names(facts), *_owners(facts), *_pods(facts, over)]


def _names(facts: Facts) -> Iterator[str]:
    job, settings = facts.job, facts.settings
    named = stem(job.name) if isinstance(job, TrainJob) else None
    if named is not None:
        label = job.label(settings.job_id)
        if contradicts(label, named[0]):
            yield f"label {settings.job_id} is {label}, want {named[0]}"
        label = job.label(settings.submission)
        if other(label, named[1]):
            yield f"label {settings.submission} is {label}, the name says {named[1]}"
    if (owner := job.controller) is not None:
        yield f"{facts.kind} is controlled by {owner.kind} {owner.name}"
    if isinstance(job, TrainJob) and settings.runtime is not None:
        want = settings.runtime.replace("{name}", job.name)
        runtime = job.spec.runtime_ref.name if job.spec and job.spec.runtime_ref else ""
        if runtime and runtime != want:
            yield f"runtimeRef is {runtime}, want {want}"


def _owners(facts: Facts) -> Iterator[str]:
    middle, workload = facts.middle, facts.workload
    if middle is not None and facts.view.middle is not None:
        owner = middle.controller
        if owner is None or owner.uid != facts.job.uid:
            yield f"{facts.view.middle.kind} {middle.name} is not controlled by this {facts.kind}"
    if workload is None:
        return
    if not controlled(workload, facts.case):
        yield f"Workload {workload.name} is not controlled by this {facts.kind}"
    if names := namesakes(facts.case):
        yield f"more than one Workload: {', '.join(names)}"


def _pods(facts: Facts, over: bool) -> Iterator[str]:
    attached = facts.attached
    # Where the middle object went first, as at Trainer's deadline, nothing says whose the last pods are.
    untold = over and facts.view.middle is not None and facts.middle is None
    if attached.strangers and not untold:
        resource = facts.view.middle or facts.view.resource
        yield f"pods of another {resource.kind}: {listed(attached.strangers)}"
    if attached.mislabelled:
        yield f"pods labelled for another job or submission: {listed(attached.mislabelled)}"
