"""Find, Inspect and Watch on a cluster, with the evidence a watch keeps (reference/classification.md §C13, §C14)."""

import contextlib
import time
from collections.abc import AsyncGenerator, Callable, Collection, Iterator
from typing import Final

from classifier import api
from classifier.api import Resource
from classifier.cluster.client import ApiError, Client, ClientError
from classifier.cluster.evidence import Evidence
from classifier.cluster.reading import (
    JobReader,
    Rights,
    is_label_value,
    parts_of,
    resource_of,
    stamp_of,
    stamps_of,
)
from classifier.cluster.watching import Watching
from classifier.objects import JobSet, Meta, Pod, TrainingRuntime, TrainJob
from classifier.state import Explanation, Observation, Ref, Ring
from classifier.state.gather import find_in, inspect_in, pods_of, trainjobs_of
from classifier.state.settings import Settings

#: A job that changes while it is read is read again, so many times in all.
READS: Final = 3
#: Whether it is the last time.
_ATTEMPTS: Final = (*(False for _ in range(READS - 1)), True)

#: Seconds between two Finds of a watch, at least: what changes together is read together. It is as long as the last
#: Find took, up to the second number, so that a busy job in a huge namespace does not keep its API server busy.
PACE: Final = (0.1, 10.0)

#: What no dispatch or Kueue is without, and what to do where it is lacking.
_LACKED: Final = {
    api.TRAIN_JOBS: "is Trainer installed there?",
    api.WORKLOADS: "is Kueue installed there? If not, choose mode plain",
}
_clock = time.monotonic
_WHOLE: Final = (api.TRAIN_JOBS, api.JOBSETS, api.TRAINING_RUNTIMES)


class Backend:
    """The jobs of one namespace. It may be asked by several at a time; they share what its watches keep."""

    def __init__(self, client: Client, namespace: str, settings: Settings) -> None:
        self.ring = Ring()
        #: What may not be read, and what was odd, in words: of the last read.
        self.notes: list[str] = []
        #: Why the last watch closed.
        self.closed_because = ""
        self._client = client
        self._namespace = namespace
        self._settings = settings
        self._rights = Rights()
        self._evidence = Evidence(self.ring)

    def _reader(self) -> JobReader:
        return JobReader(self._client, self._namespace, self._settings, self._rights)

    def _captured(self, job: Meta) -> tuple[Pod, ...]:
        return self.ring.of(job.uid)

    # --- Inspect ------------------------------------------------------------------------------------------------

    async def inspect(self, resource: Resource, name: str) -> Explanation | None:
        """One object explained; None if there is none. A Workload stands for its job, a pod for its group."""
        for last in _ATTEMPTS:
            reader, again = self._reader(), self._reader()
            try:
                job = await reader.named(resource, name)
                if job is None:
                    self.notes = []
                    return None
                await reader.around([job], self._captured)
                newer = await again.named(resource, name)
            except ApiError as error:
                if last or not _pages_expired(error):
                    raise
                continue
            if stamp_of(job) == stamp_of(newer) or last:
                break
        settled = stamp_of(job) == stamp_of(newer)
        if newer is None:
            self.notes = []
            return None
        # What the job says of itself last is what counts.
        for part in parts_of(newer):
            reader.snapshot.add(resource_of(part), part)
        if not settled:
            # By now it may run, and Nodes that nobody asked for would count as gone.
            await reader.nodes([newer], self._captured)
        self._note(reader, settled, name)
        now = self._client.time.now()
        return inspect_in(reader.snapshot, resource, self._namespace, name, self._settings, now, self._captured)

    # --- Find ---------------------------------------------------------------------------------------------------

    async def find(self, job: str) -> list[Explanation]:
        """Everything of dispatch's job: its TrainJobs by submission, then its orphans by kind and name."""
        if not is_label_value(job):
            return []
        before = self._evidence.trainjobs
        namespace, settings = self._namespace, self._settings
        for last in _ATTEMPTS:
            reader, again = self._reader(), self._reader()
            try:
                await reader.trainjobs(api.TRAINING_RUNTIMES)
                found = reader.snapshot
                live = trainjobs_of(found, namespace, job, settings)
                await reader.around(live, self._captured, pods_of(found, namespace, job, settings), _WHOLE)
                await again.trainjobs()
            except ApiError as error:
                if last or not _pages_expired(error):
                    raise
                continue
            first, second = (stamps_of(r.snapshot, namespace, job, settings) for r in (reader, again))
            if first == second or last:
                break
        # What a TrainJob says of itself last is what counts.
        reader.snapshot.put(api.TRAIN_JOBS, again.snapshot.of(api.TRAIN_JOBS, TrainJob).values())
        if first != second:
            await reader.nodes(trainjobs_of(reader.snapshot, namespace, job, settings), self._captured)
        self._note(reader, first == second, job)
        self._evidence.forget(job, before - self._owners(reader))
        return find_in(reader.snapshot, namespace, job, settings, self._client.time.now(), self._captured)

    def _owners(self, reader: JobReader) -> set[str]:
        """UIDs of the TrainJobs that live or have left something."""
        snapshot = reader.snapshot
        left = [
            *snapshot.of(api.JOBSETS, JobSet).values(),
            *snapshot.of(api.TRAINING_RUNTIMES, TrainingRuntime).values(),
        ]
        owners = {obj.controller.uid for obj in left if obj.controller is not None}
        pods = {self._evidence.trainjob_of(pod) or "" for pod in snapshot.of(api.PODS, Pod).values()}
        return owners | pods | {t.uid for t in snapshot.of(api.TRAIN_JOBS, TrainJob).values()}

    def _note(self, reader: JobReader, settled: bool, name: str) -> None:
        self.notes = list(reader.snapshot.notes)
        for resource, so in _LACKED.items():
            if resource in reader.snapshot.unserved:
                self.notes.append(f"{reader.host_without(resource)}; {so}")
        if not settled:
            self.notes.append(f"{name} kept changing while it was read: its parts may disagree")

    # --- Watch --------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def keeping(self, job: str) -> Iterator[None]:
        """For who subscribes again and again: what one watch kept is still there for the next."""
        self._evidence.opened(job)
        try:
            yield
        finally:
            self._evidence.closed(job)

    async def watch(
        self, job: str, there: Callable[[Collection[Ref]], None] = lambda _: None
    ) -> AsyncGenerator[Explanation, None]:
        """Everything of dispatch's job, and what changes of it. Subscribe again when it ends: it does so in silence.

        ``there`` is told which objects there are, as of every Find: what is gone no explanation can say.
        While it is open, the last states of pods that are deleted are evidence for every question to this backend.
        """
        watching = Watching(self._client, self._namespace, self._settings, job, self._evidence)
        try:
            sent: dict[Ref, Observation] = {}
            going = is_label_value(job) and await watching.open()
            while going:
                began = _clock()
                watching.reading()
                try:
                    found = await self.find(job)
                except (ApiError, ClientError) as error:
                    watching.over = str(error)
                    break
                self.notes += watching.notes
                refs = [explanation.observation.ref for explanation in found]
                took = _clock() - began
                watching.read((ref.uid for ref in refs), (ref.name for ref in refs))
                news = [e for e in found if not e.observation.same(sent.get(e.observation.ref))]
                there(refs)
                sent = {e.observation.ref: e.observation for e in found}
                for explanation in news:
                    yield explanation
                going = await watching.changed() and await watching.rest(min(max(PACE[0], took), PACE[1]))
        finally:
            self.closed_because = watching.over or ""
            await watching.close()


def _pages_expired(error: ApiError) -> bool:
    """A list took so long that the server no longer knows the rest."""
    return error.status == 410
