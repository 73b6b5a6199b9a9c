"""One of several replicas leads, by a Lease (design §3, "Replicas"): the I/O around :mod:`controller.lease`.

Each request is bounded by the time that is left to lead, the work is cancelled and awaited before anything else is
tried, and on the way out the lease is given up, so that the next one need not wait for it to run out.
"""

import asyncio
import logging
import secrets
import time
from collections.abc import Callable, Coroutine
from typing import Any, Final, NamedTuple, Protocol

import msgspec

from classifier import api
from classifier.cluster.client import MERGE_PATCH, REQUEST_TIMEOUT, ApiError, Unreachable
from classifier.instant import SECOND, format_instant, format_micro, instant_or_none
from controller.lease import Candidate, Lease, Terms
from controller.outage import Outage

log = logging.getLogger(__name__)

#: The channel of :class:`Outage` that these requests tell of.
LEASE: Final = "lease"
#: Giving the lease up takes no longer than this, seconds: the process is about to end.
RELEASE: Final = 2.0
#: Added to what is left of leading, seconds: a timer must not go off an instant before it.
MOMENT: Final = 0.001
#: Writing may be refused as outdated this often in a row before others get their turn.
CONFLICTS: Final = 3

Work = Callable[[], Coroutine[Any, Any, None]]


class NotLeading(Exception):
    """A write was to be sent by a replica that does not lead (any more). Nothing was sent."""


class Gap(NamedTuple):
    """From the last sign of a leader until this one took over, ms of the API server: nobody need have watched."""

    renewed: int
    acquired: int


class ServerClock(Protocol):
    def now(self) -> int: ...


class Requests(Protocol):
    """What is needed of :class:`classifier.cluster.client.Client`."""

    @property
    def time(self) -> ServerClock: ...

    async def request(
        self, method: str, path: str, *, params: Any = ..., body: Any = ..., content_type: str = ...
    ) -> bytes: ...


class Election:
    """``run`` stands for election until cancelled; ``leading`` may be asked at any time: the clock alone answers it."""

    def __init__(
        self,
        client: Requests,
        namespace: str,
        name: str,
        identity: str,
        terms: Terms,
        outage: Outage,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._collection = api.LEASES.path(namespace)
        self._name = name
        # A restarted container has its predecessor's name.
        self._candidate = Candidate(f"{identity}_{secrets.token_hex(4)}", terms)
        self._outage = outage
        self._monotonic = monotonic
        #: How often this process has begun to lead.
        self.terms = 0
        #: What nobody need have watched before it began to lead the last time; None if nobody led before.
        self.gap: Gap | None = None
        #: When somebody was last known to watch: an earlier leader by its renewal, or this process by its own.
        self._watched: int | None = None
        #: What the last leader says of an outage; see :attr:`Outage.since`.
        self._outage_since: int | None = None
        self._said = ""

    @property
    def identity(self) -> str:
        return self._candidate.identity

    @property
    def leading(self) -> bool:
        """Whether writes may be sent now. Also right in a process that was stopped a moment ago."""
        return self._candidate.leading(self._monotonic())

    async def run(self, work: Work) -> None:
        """Until cancelled. ``work`` runs while this process leads; it is cancelled and awaited when that ends.

        Raises what ``work`` raises: a leader whose work has failed does not hold on to the lease.
        """
        try:
            while True:
                pause = await self._try()
                if self.leading:
                    await self._lead(work, pause)
                else:
                    await asyncio.sleep(pause)
        finally:
            await self._release()

    async def _lead(self, work: Work, pause: float) -> None:
        self.terms += 1
        log.info("this replica leads", extra={"lease": self._name, "identity": self.identity})
        task = asyncio.create_task(work(), name="lead")
        try:
            while self.leading:
                await asyncio.wait({task}, timeout=min(pause, self._left + MOMENT))
                if task.done():
                    task.result()
                    raise RuntimeError("the leader's work has ended by itself")
                if self.leading:
                    pause = await self._try()
            log.warning("this replica leads no more", extra={"lease": self._name, "cause": self._said or "too late"})
        finally:
            self._candidate.resign()
            told = task.done()
            task.cancel()
            (outcome,) = await asyncio.gather(task, return_exceptions=True)
            if isinstance(outcome, Exception) and not told:
                log.error("the leader's work has failed as it was ended", exc_info=outcome)

    @property
    def _left(self) -> float:
        return self._candidate.left(self._monotonic())

    async def _try(self) -> float:
        """One try to get or to keep the lease; seconds until the next."""
        sent = self._monotonic()
        pause = self._candidate.terms.retry
        try:
            async with asyncio.timeout(self._left or REQUEST_TIMEOUT):
                await self._claim()
        except ApiError as error:
            self._candidate.doubt()
            if error.status >= 500:
                self._outage.failed(LEASE, took=self._monotonic() - sent)
            else:
                self._outage.answered(LEASE)
            self._say("the lease cannot be had", str(error))
            # However long the server asks us to stay away, it is asked again before the lease is lost by that.
            return min(max(pause, error.retry_after or 0.0), self._candidate.terms.renew / 2)
        except (Unreachable, TimeoutError, msgspec.MsgspecError) as error:
            self._candidate.doubt()
            self._outage.failed(LEASE, took=self._monotonic() - sent)
            self._say("no answer about the lease", str(error) or "none in time")
            return pause
        self._outage.answered(LEASE)
        self._said = ""
        return pause

    async def _claim(self) -> None:
        candidate = self._candidate
        for _ in range(CONFLICTS):
            if not candidate.holds:
                await self._look()
            if not candidate.may_take(self._monotonic()):
                return
            try:
                await self._take()
            except ApiError as error:
                if not (error.conflict or (error.missing and candidate.version)):
                    raise
                candidate.doubt()
            else:
                return

    async def _look(self) -> None:
        try:
            body = await self._client.request("GET", f"{self._collection}/{self._name}")
        except ApiError as error:
            if not error.missing:
                raise
            self._candidate.missed()
            return
        lease = msgspec.json.decode(body, type=Lease)
        before = self._candidate.record
        self._candidate.saw(lease, self._monotonic())
        self._outage_since = instant_or_none(lease.annotation(api.OUTAGE_SINCE))
        if lease.spec.holder_identity != self.identity and lease.spec.renewed is not None:
            self._watched = lease.spec.renewed
            if before is None:
                self._unwatched(lease.spec.renewed)
            if self._outage_since is None and before is not None and before != lease.spec:
                self._outage.denied()

    def _unwatched(self, renewed: int) -> None:
        """The first look of this process: no replica has watched since ``renewed``, if that is too long ago for a
        leader that others take over from. Whatever kept them away may have kept Kueue away as well."""
        silence = self._client.time.now() - renewed
        if silence > (self._candidate.terms.lease + self._outage.after) * SECOND:
            log.warning("no replica has watched for long: this counts as an outage", extra={"ms": silence})
            self._outage.inherit(renewed)

    async def _take(self) -> None:
        candidate, led = self._candidate, self.leading
        if not led and self._outage_since is not None:
            since = self._outage_since
            log.warning("an outage may not be over: waits rest until it is", extra={"since": format_instant(since)})
            self._outage.inherit(since)
        at = self._client.time.now()
        sent = self._monotonic()
        body = await self._write(msgspec.to_builtins(candidate.claim(at)))
        candidate.won(msgspec.json.decode(body, type=Lease), sent, self._monotonic())
        if not led:
            self.gap = None if self._watched is None else Gap(self._watched, self._client.time.now())
        self._watched = at

    async def _write(self, spec: dict[str, Any]) -> bytes:
        """Guarded: of two who write at the same time one is refused, be it by the version or because it exists."""
        candidate, outage = self._candidate, self._outage.since
        params = {"fieldManager": api.CONTROLLER_MANAGER}
        # A null takes it off; the next one to lead reads it.
        annotations = {api.OUTAGE_SINCE: None if outage is None else format_instant(outage)}
        if not candidate.version:
            metadata = {"name": self._name, "annotations": {k: v for k, v in annotations.items() if v is not None}}
            return await self._client.request(
                "POST", self._collection, params=params, body={"metadata": metadata, "spec": spec}
            )
        return await self._client.request(
            "PATCH",
            f"{self._collection}/{self._name}",
            params=params,
            body={"metadata": {"resourceVersion": candidate.version, "annotations": annotations}, "spec": spec},
            content_type=MERGE_PATCH,
        )

    async def _release(self) -> None:
        """Give the lease up if it is ours. Whoever takes it next sees by its time how long somebody watched."""
        self._candidate.resign()
        try:
            async with asyncio.timeout(RELEASE):
                await self._look()
                record = self._candidate.record
                if not self._candidate.version or record is None or record.holder_identity != self.identity:
                    return
                at = format_micro(self._client.time.now())
                await self._write({"holderIdentity": None, "renewTime": at})
                log.info("the lease is given up", extra={"lease": self._name})
        except (ApiError, Unreachable, TimeoutError, msgspec.MsgspecError) as error:
            log.warning("the lease is not given up and has to run out", extra={"cause": str(error) or "no answer"})

    def _say(self, what: str, cause: str) -> None:
        """Once until it changes: it is tried again every other second."""
        level = logging.DEBUG if cause == self._said else logging.WARNING
        self._said = cause
        log.log(level, what, extra={"lease": self._name, "cause": cause})
