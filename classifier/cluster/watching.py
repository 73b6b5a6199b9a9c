"""The watches behind Backend.watch: they say that something changed, and keep what goes away (classification.md §C14).

Unlike a reflector they never begin anew: the first that ends closes the stream, and whoever wants more asks again.
"""

import asyncio
import contextlib
import random
from collections.abc import Callable, Iterable
from typing import Final, TypeVar

import msgspec

from classifier import api
from classifier.api import Resource
from classifier.cluster.client import ApiError, Client, ClientError
from classifier.cluster.evidence import Evidence
from classifier.cluster.lines import Lines, LineTooLong
from classifier.cluster.wire import IDLE, MAX_LINE, PAGE, WATCH_SECONDS, Event, Page, event_of
from classifier.objects import JobSet, Meta, Pod, TrainJob, Workload
from classifier.state.gather import may_be_of
from classifier.state.settings import Mode, Settings

T = TypeVar("T", bound=Meta)

#: What a watch ends by, besides its end.
_BROKEN: Final = (ApiError, ClientError, LineTooLong, msgspec.MsgspecError, RecursionError)


class Watching:
    """The watches on one of dispatch's jobs, from :meth:`open` until :meth:`close`."""

    def __init__(self, client: Client, namespace: str, settings: Settings, job: str, evidence: Evidence) -> None:
        #: Why no more comes; None while all watches go on.
        self.over: str | None = None
        #: What is not watched because it may not be.
        self.notes: list[str] = []
        self._client = client
        self._namespace = namespace
        self._settings = settings
        self._job = job
        self._evidence = evidence
        self._stirred = asyncio.Event()
        self._changed = False
        #: UIDs and names of the objects already sent. While they are being read again: what changed of others.
        self._uids: frozenset[str] = frozenset()
        self._names: frozenset[str] = frozenset()
        self._others: set[str] | None = None
        self._opening = 0
        self._without = 0
        self._tasks: list[asyncio.Task[None]] = []

    # --- life ---------------------------------------------------------------------------------------------------

    async def open(self) -> bool:
        """Whether all watches are established."""
        self._evidence.opened(self._job)
        labelled = {"labelSelector": f"{self._settings.job_id}={self._job}"}
        self._start(api.TRAIN_JOBS, self._on_trainjob, {})
        # Each JobSet says whose pods its are: those that are there already are read, too.
        self._start(api.JOBSETS, self._on_jobset, {}, first=self._evidence.jobset)
        self._start(api.PODS, self._on_pod, labelled)
        if self._settings.mode is Mode.KUEUE:
            self._start(api.WORKLOADS, self._on_workload, {})
        while self._opening and self.over is None:
            self._stirred.clear()
            await self._stirred.wait()
        return self.over is None

    def _start(
        self,
        resource: Resource,
        take: Callable[[Event], None],
        selectors: dict[str, str],
        first: Callable[[Meta], None] | None = None,
    ) -> None:
        self._opening += 1
        self._tasks.append(asyncio.create_task(self._follow(resource, take, selectors, first)))

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        try:
            ends = await asyncio.gather(*self._tasks, return_exceptions=True)
        finally:
            if self._tasks:
                self._evidence.closed(self._job)
        for end in ends:
            if isinstance(end, Exception):
                raise end

    # --- one watch ----------------------------------------------------------------------------------------------

    async def _follow(
        self,
        resource: Resource,
        take: Callable[[Event], None],
        selectors: dict[str, str],
        first: Callable[[Meta], None] | None,
    ) -> None:
        opened = without = False
        try:
            version = await self._version(resource, selectors, first)
            params = {
                "watch": "1",
                "allowWatchBookmarks": "true",
                "resourceVersion": version,
                "timeoutSeconds": str(random.randint(*WATCH_SECONDS)),
                **selectors,
            }
            path = resource.path(self._namespace)
            async with self._client.stream(path, params=params, idle=IDLE) as stream:
                opened = True
                self._established()
                lines = Lines(MAX_LINE)
                async for chunk in stream.iter_any():
                    for line in lines.feed(chunk):
                        event = event_of(line)
                        if event.type != "BOOKMARK":
                            take(event)
        except _BROKEN as error:
            without = not opened and self._do_without(resource, error)
            if not without:
                self._end(f"the watch of {resource.plural}: {error}")
        finally:
            # Whatever happened, nobody waits in vain.
            if not without:
                self._end(f"the watch of {resource.plural} came to its end")

    async def _version(
        self, resource: Resource, selectors: dict[str, str], first: Callable[[Meta], None] | None
    ) -> str:
        """Where to watch from. All that is there by then is read only if somebody asks for it."""
        params = {"limit": str(PAGE) if first else "1", **selectors}
        while True:
            page = await self._client.get(resource.path(self._namespace), Page, params=params)
            if first is not None:
                for raw in page.items or ():
                    first(msgspec.json.decode(raw, type=Meta))
            if first is None or not page.metadata.continue_:
                break
            params["continue"] = page.metadata.continue_
        if not page.metadata.resource_version:
            raise ClientError(f"the list of {resource.plural} came without a resourceVersion")
        return page.metadata.resource_version

    def _do_without(self, resource: Resource, error: Exception) -> bool:
        """Whether the others make sense without this kind: it is not served, or not open to us."""
        if not isinstance(error, ApiError) or not (error.status == 403 or error.missing):
            return False
        if error.status == 403:
            if resource == api.TRAIN_JOBS:
                return False
            self.notes.append(f"{resource.plural} may not be watched in namespace {self._namespace}")
        self._without += 1
        if self._without == len(self._tasks):
            self._end("nothing of the job can be watched")
        self._established()
        return True

    def _established(self) -> None:
        self._opening -= 1
        self._stirred.set()

    def _end(self, why: str) -> None:
        self.over = self.over or why
        self._stirred.set()

    # --- what concerns the job ----------------------------------------------------------------------------------

    def reading(self) -> None:
        """From here on changes are news to the objects about to be read."""
        self._changed = False
        self._others = set()

    def read(self, uids: Iterable[str], names: Iterable[str]) -> None:
        """These are the job's objects now."""
        self._uids, self._names = frozenset(uids), frozenset(names)
        if (self._others or set()) & (self._uids | self._names):
            self._change()
        self._others = None

    async def changed(self) -> bool:
        """Wait until something changed; False if no more comes."""
        while not self._changed and self.over is None:
            self._stirred.clear()
            await self._stirred.wait()
        return self.over is None

    async def rest(self, seconds: float) -> bool:
        """Let that time pass; False, and at once, if no more comes."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self.over is None:
                    self._stirred.clear()
                    await self._stirred.wait()
        return self.over is None

    def _change(self) -> None:
        self._changed = True
        self._stirred.set()

    def _on_trainjob(self, event: Event) -> None:
        trainjob = msgspec.json.decode(event.object, type=TrainJob)
        if self._is_ours(trainjob) or trainjob.uid in self._uids:
            self._change()

    def _on_jobset(self, event: Event) -> None:
        jobset = msgspec.json.decode(event.object, type=JobSet)
        self._evidence.jobset(jobset)
        self._told_of(jobset, {jobset.name})

    def _on_pod(self, event: Event) -> None:
        if event.type == "DELETED":
            self._evidence.deleted(self._job, msgspec.json.decode(event.object, type=Pod))
        self._change()

    def _on_workload(self, event: Event) -> None:
        workload = msgspec.json.decode(event.object, type=Workload)
        controller = workload.controller
        self._told_of(workload, {workload.label(api.JOB_UID) or "", controller.uid if controller else ""} - {""})

    def _told_of(self, obj: Meta, marks: set[str]) -> None:
        """``marks``: the UIDs or names of the objects this one belongs to."""
        if (isinstance(obj, JobSet) and self._is_ours(obj)) or marks & (self._uids | self._names):
            self._change()
        elif self._others is not None:
            self._others |= marks

    def _is_ours(self, obj: TrainJob | JobSet) -> bool:
        return may_be_of(obj, self._job, self._settings)
