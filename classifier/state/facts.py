"""The case, read once: what every rule needs, in a fixed order, so that no rule scans or sorts the pods again."""

from typing import Any

import msgspec

from classifier.objects import Meta, Pod, Workload
from classifier.state.attached import Attached, attach, own_uids
from classifier.state.case import Case
from classifier.state.execution import current, of_this_run
from classifier.state.kinds import KindView, parent_of
from classifier.state.kinds.view import Selection
from classifier.state.observation import Execution
from classifier.state.settings import Mode, Settings
from classifier.state.workload import deciding, hold


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    case: Case
    settings: Settings
    kueue: bool
    workload: Workload | None  # the one that decides; None in plain mode
    hold: int
    own_uids: set[str]
    middle: Meta | None  # the child that nothing can run without; its own one, if there are several
    lacks_middle: bool
    attached: Attached
    execution: Execution | None
    evidence: tuple[Pod, ...]  # of the current execution, live and captured
    live: tuple[Pod, ...]  # the live ones of them

    @property
    def job(self) -> Any:
        return self.case.job

    @property
    def view(self) -> KindView:
        return self.case.view

    @property
    def kind(self) -> str:
        return self.case.view.resource.kind

    @property
    def queued(self) -> bool:
        """Whether Kueue has, or ought to have, a Workload of it. It makes none of a job's parts: they start with it."""
        return self.kueue and (self.workload is not None or parent_of(self.case.job) is None)


def read(case: Case, settings: Settings) -> Facts:
    workload = deciding(case, settings)
    uids = own_uids(case.job, case.children)
    attached = attach(case, settings, uids)
    live_uids = {pod.uid for pod in case.pods if pod.uid}
    captured = (pod for pod in case.captured if pod.uid not in live_uids)
    pods = (*attached.pods, *sorted(captured, key=lambda pod: (pod.name, pod.uid)))
    run, evidence = current(pods, case.view, settings)
    if run is None:
        evidence = of_this_run(evidence, case.view, workload)
    own = {id(pod) for pod in attached.pods}
    wanted = next((s for s in case.view.children(case.job) if s.resource == case.view.middle), None)
    middle = _middle(case, wanted, uids) if wanted is not None else None
    return Facts(
        case=case,
        settings=settings,
        kueue=settings.mode is Mode.KUEUE,
        workload=workload,
        hold=hold(case, workload, settings),
        own_uids=uids,
        middle=middle,
        lacks_middle=wanted is not None and middle is None,
        attached=attached,
        execution=run,
        evidence=tuple(evidence),
        live=tuple(pod for pod in evidence if id(pod) in own),
    )


def kind_of(obj: Meta) -> str:
    """Items of a decoded list carry no kind; the structs are named after theirs."""
    return obj.kind or type(obj).__name__


def _middle(case: Case, wanted: Selection, uids: set[str]) -> Meta | None:
    """One of the right name that belongs to another still counts as present."""
    found = (c for c in case.children if kind_of(c) == wanted.resource.kind and wanted.name in (None, c.name))
    return min(found, key=lambda child: (child.uid not in uids, child.name, child.uid), default=None)
