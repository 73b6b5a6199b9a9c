"""``muster status -w``: follow one job to its end, by watches on exactly the objects concerned."""

import asyncio
import contextlib
import re
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, Final, NamedTuple

from classifier import api
from classifier.api import Resource
from classifier.cli.classified import classified
from classifier.cli.errors import CliError, Exit
from classifier.cli.output import colours, paint, say_data, say_json_line
from classifier.clock import settled
from classifier.cluster.client import Client
from classifier.cluster.configmaps import ConfigMaps
from classifier.cluster.reader import JOB_POD_LABEL, MANAGED_LABEL, Reader
from classifier.cluster.reflector import Reflector
from classifier.cluster.snapshot import TYPES, Snapshot
from classifier.cluster.world import fence_in, observe, verdict_on, world_of
from classifier.fit.facts import Sources
from classifier.instant import SECOND
from classifier.objects import CapacityProfile, Job, Meta, Node
from classifier.report import Owner, Report, Result, owner_of, report
from classifier.report.encode import status_json
from classifier.report.screen import lines
from classifier.report.text import printable

#: Milliseconds to wait for Kueue to release the quota of an ended wait, so that the last screen is the settled one.
SETTLE: Final = 15 * SECOND
#: Seconds for all watches to have their first list; what is later is shown when it comes.
FIRST_LISTS: Final = 10.0

_ENDS: Final = {Result.SUCCEEDED: Exit.OK, Result.FAILED: Exit.FAILED, Result.TIMED_OUT: Exit.TIMED_OUT}
_DURATION: Final = re.compile(r"\b\d+(?:ms|[dhms])(?:\d+[hms])?\b")


class _Concern(NamedTuple):
    """One watch: a kind, narrowed to what concerns the job."""

    resource: Resource
    namespace: str | None = None
    labels: str | None = None
    fields: str | None = None


class Following:
    """The watches on one job, and the latest picture they give."""

    def __init__(self, client: Client, reader: Reader, owner: Owner, fence: str) -> None:
        self.changed = asyncio.Event()
        self.deleted = False
        self._owner = owner
        self._client = client
        self._fence = fence
        self._snapshot = reader.snapshot
        self._notes = list(reader.snapshot.notes)
        self._where = reader.where
        #: Judging needs every node, reporting those of the pools: only these are watched.
        self._nodes = world_of(reader.snapshot).nodes
        #: The Nodes ever watched: one that is missing among them is gone, any other is merely not looked at.
        self._watched: set[str] = set()
        self._reflectors: list[tuple[Resource, Reflector[Any]]] = []
        for concern in self._concerned(reader.snapshot):
            if concern.resource not in reader.snapshot.unreadable:
                self._reflectors.append((concern.resource, self._reflector(concern)))

    def _concerned(self, snapshot: Snapshot) -> Iterator[_Concern]:
        owner = self._owner
        namespace = owner.namespace
        yield _Concern(api.JOBS, namespace, fields=f"metadata.name={owner.name}")
        yield _Concern(api.WORKLOADS, namespace, labels=f"{api.JOB_UID}={owner.uid}")
        yield _Concern(api.PODS, namespace, labels=f"{JOB_POD_LABEL}={owner.uid}")
        yield _Concern(api.PROVISIONING_REQUESTS, namespace, labels=MANAGED_LABEL)
        if owner.queue:
            yield _Concern(api.LOCAL_QUEUES, namespace, fields=f"metadata.name={owner.queue}")
        for resource in (api.CLUSTER_QUEUES, api.CAPACITY_PROFILES, api.ADMISSION_CHECKS):
            yield _Concern(resource)
        for resource in (api.ADMISSION_POLICIES, api.ADMISSION_POLICY_BINDINGS):
            yield _Concern(resource, fields=f"metadata.name={self._fence}")
        profiles = snapshot.of(api.CAPACITY_PROFILES, CapacityProfile).values()
        labels = [pool.node_labels for p in profiles for pool in p.spec.pools or () if pool.node_labels]
        for selector in sorted({",".join(f"{k}={v}" for k, v in sorted(one.items())) for one in labels}):
            yield _Concern(api.NODES, labels=selector)

    def _reflector(self, concern: _Concern) -> Reflector[Any]:
        return Reflector(
            self._client,
            concern.resource,
            TYPES[concern.resource],
            namespace=concern.namespace,
            label_selector=concern.labels,
            field_selector=concern.fields,
            on_change=self._on_job if concern.resource is api.JOBS else self._on_change,
        )

    def _on_change(self, _key: str, _old: Meta | None, _new: Meta | None) -> None:
        self.changed.set()

    def _on_job(self, _key: str, old: Job | None, new: Job | None) -> None:
        # The last copy of a Job may be the one that says it succeeded: it is shown before "deleted".
        if new is not None and new.uid == self._owner.uid:
            self._owner = owner_of(new)
        else:
            self.deleted = True
            if old is not None and old.uid == self._owner.uid:
                self._owner = owner_of(old)
        self.changed.set()

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        tasks = [asyncio.create_task(reflector.run()) for _, reflector in self._reflectors]
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(FIRST_LISTS):
                    await asyncio.gather(*(reflector.wait_synced() for _, reflector in self._reflectors))
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def report(self, now: int) -> Report:
        """The picture at ``now``, of whatever copies are there."""
        snapshot = self._snapshot
        snapshot.notes = list(self._notes)
        nodes: dict[str, Node] = {}
        for resource, reflector in self._reflectors:
            if reflector.trouble:
                snapshot.notes.append(f"{resource.plural}: {reflector.trouble}; shown as last seen")
            if not reflector.synced:
                continue
            if resource is api.NODES:
                nodes.update(reflector.objects)
            else:
                snapshot.share(resource, reflector.objects)
        if api.NODES not in snapshot.unreadable:
            snapshot.share(api.NODES, nodes)
        world = world_of(snapshot, self._where)
        world.nodes = self._nodes
        verdict = verdict_on(snapshot, world, self._owner.meta, now)
        fence = fence_in(snapshot, now, self._fence)
        picture = observe(snapshot, self._owner, now, fence=fence, sources=Sources(world))
        self._watched |= nodes.keys()
        bound = {pod.spec.node_name for pod in picture.pods if pod.spec and pod.spec.node_name}
        observation = classified(snapshot, self._owner.meta, now, nodes=bound <= self._watched)
        return report(picture, verdict, now, observation)


async def follow(
    client: Client, namespace: str, name: str, form: str | None, fence: str, now: Callable[[], int], where: ConfigMaps
) -> int:
    """Show the job until it ends; the exit code says how."""
    reader = Reader(client, where)
    owner = await reader.job(namespace, name, fence)
    if owner is None:
        raise CliError(f"there is no Job {namespace}/{name}; see kubectl get jobs -n {namespace}")
    following = Following(client, reader, owner, fence)
    async with following.running():
        with _display(form) as show:
            while True:
                following.changed.clear()
                current = following.report(now())
                show(current)
                code = _end(current, following.deleted, now())
                if code is not None:
                    return code
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(1.0):
                        await following.changed.wait()


def _end(current: Report, deleted: bool, now: int) -> Exit | None:
    workload = current.picture.workload
    code = _ENDS.get(current.result)
    if code is Exit.TIMED_OUT and workload is not None and not deleted:
        committed_at = current.deadline.committed_at or 0
        if not (settled(workload) and current.picture.owner.suspended) and now - committed_at < SETTLE:
            return None
    if code is not None:
        return code
    return Exit.DELETED if deleted else None


@contextlib.contextmanager
def _display(form: str | None) -> Iterator[Callable[[Report], None]]:
    """A screen that is drawn again on a terminal (needs rich), else the lines that changed."""
    wide = form == "wide"
    if form in ("json", "yaml"):
        yield _documents(form)
        return
    if colours(sys.stdout):
        try:
            from rich.live import Live
            from rich.text import Text
        except ImportError:
            pass  # the extra "cli" is not installed: lines do
        else:
            with Live(auto_refresh=False, transient=False) as live:
                yield lambda r: live.update(
                    Text.from_ansi("\n".join(paint(printable(line)) for line in lines(r, wide=wide))), refresh=True
                )
            return
    yield _changes(wide)


def _changes(wide: bool) -> Callable[[Report], None]:
    before: set[str] = set()

    def show(current: Report) -> None:
        nonlocal before
        # A line that differs by passing time alone is no change.
        keyed = {_DURATION.sub("#", line): line for line in lines(current, wide=wide)}
        for key, line in keyed.items():
            if key not in before:
                shown = printable(line)
                print(paint(shown) if colours(sys.stdout) else shown, flush=True)
        before = set(keyed)

    return show


def _documents(form: str) -> Callable[[Report], None]:
    """One JSON line, or YAML document, a change."""
    before = ""

    def show(current: Report) -> None:
        nonlocal before
        data = status_json(current)
        key = _DURATION.sub("#", str(data))
        if key == before:
            return
        before = key
        if form == "json":
            say_json_line(data)
        else:
            print("---")
            say_data(data, form)
            sys.stdout.flush()

    return show
