"""One consistent read of a job: the job itself, everything about it, and the job once more (classification.md §F32).

Selectors name just what is the job's, so that a namespace full of other people's pods costs nothing. What may not be
read becomes a note; but for the job itself, whose refusal is the answer, and what no answer can do without.
"""

import asyncio
import re
from collections import defaultdict
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import msgspec

from classifier import api
from classifier.api import Resource
from classifier.cluster.client import ApiError, Client, ClientError
from classifier.cluster.reader import MANAGED_LABEL, Reader
from classifier.cluster.snapshot import TYPES, Snapshot
from classifier.names import names_object
from classifier.objects import Meta, Node, Pod, PodGroup, Workload
from classifier.state import State, classify
from classifier.state.gather import (
    Captured,
    case_of,
    group_of,
    job_in,
    jobsets_of,
    owner_of,
    trainjobs_of,
    why_no_job,
)
from classifier.state.kinds import MIDDLES, view_for, view_of
from classifier.state.kinds.podgroup import GROUP_NAME, group_name
from classifier.state.kinds.view import Labels
from classifier.state.nodes import bound
from classifier.state.settings import Mode, Settings

#: Requests at the same time.
PARALLEL: Final = 8
#: Up to so many Nodes are asked for by name; more are one list.
NODE_GETS: Final = 32
#: Values in one selector: the server's limit is the length of a URL.
VALUES: Final = 50

#: Without these the rules would take what may not be read for what does not exist: what stands between a job and its
#: pods, and what Kueue says.
_NEEDED: Final = {api.WORKLOADS} | MIDDLES

_LABEL_VALUE: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")

Request = Callable[[], Coroutine[Any, Any, Any]]


@dataclass
class Rights:
    """What was learnt about what may be read: a refusal of these kinds is not asked for again."""

    notes: dict[Resource, str] = field(default_factory=dict)
    #: Whether a Node was ever read: until then one request finds out.
    nodes: bool = False


async def together(requests: Iterable[Request], limit: int = PARALLEL) -> None:
    """All of them, so many at a time. The first failure ends the others; nothing is left behind."""
    turn = asyncio.Semaphore(limit)

    async def run(request: Request) -> None:
        async with turn:
            await request()

    tasks = [asyncio.create_task(run(request)) for request in requests]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def is_label_value(text: str) -> bool:
    return _LABEL_VALUE.fullmatch(text) is not None


def selectors(wanted: Iterable[Mapping[str, str]]) -> Iterator[str]:
    """As few label selectors as name all that have any of these label pairs."""
    # What no object can be labelled with would make the whole request a bad one.
    possible = [dict(labels) for labels in wanted if labels and all(map(is_label_value, labels.values()))]
    single: dict[str, list[str]] = defaultdict(list)
    for key, value in sorted({next(iter(labels.items())) for labels in possible if len(labels) == 1}):
        single[key].append(value)
    for key, values in single.items():
        for start in range(0, len(values), VALUES):
            some = values[start : start + VALUES]
            yield f"{key}={some[0]}" if len(some) == 1 else f"{key} in ({','.join(some)})"
    several = {tuple(sorted(labels.items())) for labels in possible if len(labels) > 1}
    for pairs in sorted(several):
        if not any(value in single.get(key, ()) for key, value in pairs):
            yield ",".join(f"{key}={value}" for key, value in pairs)


class JobReader(Reader):
    """Reads jobs of one namespace, and what the rules ask about them, into its snapshot."""

    #: Whatever is read here is asked about.
    quiet = frozenset()

    def __init__(self, client: Client, namespace: str, settings: Settings, rights: Rights) -> None:
        super().__init__(client)
        self.namespace = namespace
        self._settings = settings
        self._rights = rights

    # --- the job itself -----------------------------------------------------------------------------------------

    async def named(self, resource: Resource, name: str) -> Meta | None:
        """The job, or the one a Workload or a pod of a group stands for. ApiError if it may not be read.

        ClientError where a Workload leads to none, or the cluster does not have the kind.
        """
        if resource == api.WORKLOADS:
            return await self._job_behind(name)
        if resource == api.PODS:
            pod = await self._own(api.PODS, name)
            group = group_name(pod) if pod is not None else None
            return await self._group(group, pod) if group else pod
        return await self._own(resource, name)

    async def _own(self, resource: Resource, name: str) -> Meta | None:
        if not names_object(name):
            return None
        try:
            obj = await self.client.get(resource.path(self.namespace, name), TYPES[resource])
        except ApiError as error:
            if error.unserved:
                raise ClientError(f"{self.host_without(resource)}, so there is no {resource.kind} in it") from None
            if error.missing:
                return None
            raise
        self.snapshot.add(resource, obj)
        return obj

    def host_without(self, resource: Resource) -> str:
        kind = f"{resource.plural}.{resource.group}" if resource.group else resource.plural
        return f"{self.client.host} serves no {kind} of version {resource.version}"

    async def _job_behind(self, name: str) -> Meta | None:
        workload = await self._own(api.WORKLOADS, name)
        if not isinstance(workload, Workload):
            return None
        owner = owner_of(workload)
        view = view_of(owner)
        if owner is None:
            await self._group(name, None)
        elif view is not None:
            await self.named(view.resource, owner.name)
        job = job_in(self.snapshot, api.WORKLOADS, self.namespace, name)
        if job is None:
            raise ClientError(why_no_job(workload))
        return job

    async def _group(self, name: str, pod: Meta | None) -> PodGroup | None:
        """A long name stands in an annotation only, which no selector finds."""
        selector = f"{GROUP_NAME}={name}"
        if (pod is not None and pod.label(GROUP_NAME) != name) or not is_label_value(name):
            selector = MANAGED_LABEL
        await self.collect(api.PODS, self.namespace, labelSelector=selector)
        return group_of(p for p in self.snapshot.of(api.PODS, Pod).values() if group_name(p) == name)

    # --- everything about it ------------------------------------------------------------------------------------

    async def around(
        self, jobs: Sequence[Meta], captured: Captured, pods: Sequence[Labels] = (), known: Sequence[Resource] = ()
    ) -> None:
        """Children, pods, Workloads and Nodes of these jobs; also the pods so labelled. ``known``: kinds read whole."""
        await together(
            [
                *self._children(jobs, known),
                *self._labelled(api.PODS, [*pods, *self._pods(jobs)]),
                *(self._workloads(jobs) if self._settings.mode is Mode.KUEUE else ()),
            ]
        )
        await self.nodes(jobs, captured)

    def _children(self, jobs: Iterable[Meta], known: Sequence[Resource]) -> Iterator[Request]:
        names: set[tuple[Resource, str]] = set()
        labelled: dict[Resource, list[Labels]] = defaultdict(list)
        for job in jobs:
            view = view_for(job)
            for selection in view.children(job) if view is not None else ():
                if selection.resource in known:
                    continue
                if selection.name is not None:
                    names.add((selection.resource, selection.name))
                else:
                    labelled[selection.resource].append(selection.labels)
        for resource, name in sorted(names):
            yield partial(self.get, resource, name, self.namespace)
        for resource, wanted in labelled.items():
            yield from self._labelled(resource, wanted)

    def _pods(self, jobs: Iterable[Meta]) -> Iterator[Labels]:
        for job in jobs:
            view = view_for(job)
            if view is not None and not isinstance(job, (Pod, PodGroup)):
                yield from view.pods(job, self._settings)

    def _labelled(self, resource: Resource, wanted: Iterable[Labels]) -> Iterator[Request]:
        for selector in selectors(wanted):
            yield partial(self.collect, resource, self.namespace, labelSelector=selector)

    def _workloads(self, jobs: Iterable[Meta]) -> Iterator[Request]:
        groups = {group_name(job) or "" for job in jobs if isinstance(job, PodGroup)}
        for name in sorted(groups):
            yield partial(self.get, api.WORKLOADS, name, self.namespace)
        yield from self._labelled(
            api.WORKLOADS, [{api.JOB_UID: job.uid} for job in jobs if not isinstance(job, PodGroup)]
        )
        if self._closed(api.ADMISSION_CHECKS):
            return
        yield self._checks

    async def _checks(self) -> None:
        await self.collect(api.ADMISSION_CHECKS)
        self._remember(api.ADMISSION_CHECKS)

    async def nodes(self, jobs: Iterable[Meta], captured: Captured) -> None:
        """The Nodes that the rules may ask about, but those that are known already."""
        await self._nodes(self._bound(jobs, captured) - self.snapshot.of(api.NODES, Node).keys())

    def _bound(self, jobs: Iterable[Meta], captured: Captured) -> set[str]:
        """The Nodes that the pods of running jobs are bound to: nobody asks about others."""
        names: set[str] = set()
        for job in jobs:
            case = case_of(job, self.snapshot, self._settings, captured(job))
            if not any(map(bound, case.pods)):
                continue
            # Nodes never decide about the state.
            blind = msgspec.structs.replace(case, nodes=None)
            if classify(blind, self._settings, 0).state is State.RUNNING:
                names |= {bound(pod) for pod in (*case.pods, *case.captured)}
        return names - {""}

    async def _nodes(self, names: set[str]) -> None:
        if not names or self._closed(api.NODES):
            return
        if len(names) > NODE_GETS:
            await self.collect(api.NODES)
        else:
            asked = sorted(names)
            if not self._rights.nodes:
                await self.get(api.NODES, asked.pop())
            if api.NODES not in self.snapshot.unreadable:
                await together(partial(self.get, api.NODES, name) for name in asked)
        self._remember(api.NODES)
        self._rights.nodes = api.NODES not in self.snapshot.unreadable

    # --- rights -------------------------------------------------------------------------------------------------

    def _closed(self, resource: Resource) -> bool:
        """Whether the kind is known to be closed to us; the snapshot is told."""
        note = self._rights.notes.get(resource)
        if note is not None:
            self.snapshot.refuse(resource, note)
        return note is not None

    def _remember(self, resource: Resource) -> None:
        if resource in self.snapshot.unreadable:
            self._rights.notes[resource] = f"{resource.plural} may not be read"

    def _tolerate(self, resource: Resource, error: ApiError, namespace: str | None) -> bool:
        if error.status == 403 and resource in _NEEDED:
            # What there is not would be told apart from what may not be seen by nobody: a running job would wait for a
            # Workload, its pods would be somebody else's.
            choose = ", or choose mode plain" if resource == api.WORKLOADS else ""
            raise ClientError(
                f"{resource.plural} may not be read in namespace {namespace}, and nothing certain can be said without "
                f"them: ask for the right{choose} ({error.message})"
            )
        # The job itself: everything else without it would be no answer.
        if resource == api.TRAIN_JOBS and error.status == 403:
            return False
        return super()._tolerate(resource, error, namespace)

    # --- dispatch's jobs ----------------------------------------------------------------------------------------

    async def trainjobs(self, *more: Resource) -> None:
        """The namespace's TrainJobs and JobSets, and more kinds of which there are few."""
        await together(
            partial(self.collect, resource, self.namespace) for resource in (api.TRAIN_JOBS, api.JOBSETS, *more)
        )


def parts_of(job: Meta | None) -> Sequence[Meta]:
    """The objects a job is made of."""
    return job.pods if isinstance(job, PodGroup) else () if job is None else (job,)


def resource_of(part: Meta) -> Resource:
    return next(resource for resource, type_ in TYPES.items() if type_ is type(part))


def stamp_of(job: Meta | None) -> frozenset[tuple[str, str]]:
    """What changes when the job does."""
    return frozenset((part.uid, part.metadata.resource_version) for part in parts_of(job))


def stamps_of(snapshot: Snapshot, namespace: str, job: str, settings: Settings) -> frozenset[tuple[str, str]]:
    """What changes when dispatch's job does: its TrainJobs, and which JobSets there are."""
    trainjobs = trainjobs_of(snapshot, namespace, job, settings)
    jobsets = jobsets_of(snapshot, namespace, job, settings)
    return frozenset().union(*map(stamp_of, trainjobs), {(jobset.uid, "") for jobset in jobsets})
