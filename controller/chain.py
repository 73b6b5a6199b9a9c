"""What stands above a job: nothing is bounded that is part of something Kueue queues as a whole (design §3).

The direct owner is judged by what the job says of it. Beyond it every controller is asked for its own, live, and what
was learnt is kept: no object ever gets another controller. A chain ends where the API server does not let us look, or
has nothing, and is looked at again after a while: one that has only just started says 404 of what it will serve. Kueue
walks it as well and makes no Workload of what is part of another's, so there is little behind what it made.
"""

import asyncio
import logging
import math
from typing import Final

from classifier.api import Resource
from classifier.cluster.client import ApiError, Client
from classifier.cluster.kept import ASK_AGAIN
from classifier.names import names_object
from classifier.objects import Meta, Obj, OwnerReference
from classifier.state.kinds import queued_whole
from controller.metrics import Metrics

log = logging.getLogger(__name__)

#: Kueue gives up after as many (pkg/controller/jobframework, FindAncestorJobManagedByKueue).
_LONGEST: Final = 10
#: Answers that are kept; the oldest go first.
_KEPT: Final = 10_000


class _Served(Obj):
    name: str = ""
    kind: str = ""
    namespaced: bool = True


class _Discovery(Obj):
    resources: list[_Served] | None = None


class _Closed(Exception):
    """The chain ends for now: it is asked for again at ``until``, seconds of the loop."""

    def __init__(self, until: float) -> None:
        self.until = until


class Chains:
    """``above`` tells from memory what ``look`` has found; owners without a controller need no look."""

    def __init__(self, client: Client, metrics: Metrics) -> None:
        self._client = client
        self._refusals = metrics.owner_refusals
        #: By the UID of the direct owner: ``Kind/name`` of what is queued as a whole or "", and until when it counts.
        self._found: dict[str, tuple[str, float]] = {}
        #: By API version and kind.
        self._resources: dict[tuple[str, str], Resource] = {}
        #: Until when, seconds of the loop, a kind that may not be read, or is not served, is not asked for again.
        self._closed: dict[tuple[str, str], float] = {}

    def above(self, job: Meta) -> str | None:
        """What the job is part of, "" for nothing; None while nobody has looked."""
        owner = job.controller
        return "" if owner is None else self._found.get(owner.uid, (None, 0.0))[0]

    async def look(self, job: Meta) -> None:
        """Learn what stands above a job. Raises what the client raises, unless the server refuses or has nothing."""
        owner = job.controller
        if owner is None or self._found.get(owner.uid, ("", 0.0))[1] > asyncio.get_running_loop().time():
            return
        try:
            found = await self._walk(owner, job.namespace), math.inf
        except _Closed as closed:
            found = "", closed.until
        while len(self._found) >= _KEPT:
            del self._found[next(iter(self._found))]
        self._found[owner.uid] = found

    async def _walk(self, owner: OwnerReference, namespace: str) -> str:
        seen: set[str] = set()
        while len(seen) < _LONGEST and owner.uid not in seen:
            if queued_whole(owner):
                return f"{owner.kind}/{owner.name}"
            seen.add(owner.uid)
            obj = await self._read(owner, namespace)
            if obj is None or obj.uid != owner.uid or obj.controller is None:
                break
            owner = obj.controller
        return ""

    async def _read(self, owner: OwnerReference, namespace: str) -> Meta | None:
        kind = owner.api_version, owner.kind
        now = asyncio.get_running_loop().time()
        if self._closed.get(kind, now) > now:
            raise _Closed(self._closed[kind])
        if not names_object(owner.name):
            return None
        resource = None
        try:
            resource = self._resources.get(kind) or await self._discover(owner)
            if resource is None:
                raise self._close(kind, now)
            self._resources[kind] = resource
            return await self._client.get(resource.path(namespace, owner.name), Meta)
        except ApiError as error:
            if error.status == 403:
                raise self._refused(kind, resource, now) from None
            if error.missing:
                # Of the kind, or of this one alone: others of it may be there.
                raise self._close(kind, now) if resource is None else _Closed(now + ASK_AGAIN) from None
            raise

    def _close(self, kind: tuple[str, str], now: float) -> _Closed:
        """Ask for none of this kind for a while."""
        self._closed[kind] = now + ASK_AGAIN
        return _Closed(self._closed[kind])

    def _refused(self, kind: tuple[str, str], resource: Resource | None, now: float) -> _Closed:
        group, plural = (resource.group, resource.plural) if resource is not None else ("", "")
        # Not by the kind: anybody may name any kind as an owner, and only what is served has a plural.
        self._refusals.labels(group, plural).inc()
        log.info(
            "what controls an owner may not be read: controller.readOwners of the chart lets it be",
            extra={"kind": kind[1], "group": group, "resource": plural},
        )
        return self._close(kind, now)

    async def _discover(self, owner: OwnerReference) -> Resource | None:
        group, _, version = owner.api_version.rpartition("/")
        if not (names_object(version) and (not group or names_object(group))):
            return None
        served = await self._client.get(Resource(group, version, "", owner.kind).root, _Discovery)
        for one in served.resources or ():
            if one.kind == owner.kind and "/" not in one.name:
                return Resource(group, version, one.name, one.kind, one.namespaced)
        return None
