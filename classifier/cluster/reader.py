"""Reads from a cluster just what one question needs: few requests, in parallel.

Users see their own namespace; cluster-scoped kinds are often closed to them. A 403 there is no failure: it turns into
a note, and the answer says less. A kind the cluster does not serve (404 on its list) is empty.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import ClassVar, Final

import msgspec

from classifier import api
from classifier.api import Resource
from classifier.cluster.client import ApiError, Client, ClientError
from classifier.cluster.configmaps import USUAL, ConfigMaps
from classifier.cluster.machines import MACHINE_GROUPS, MACHINE_VERSIONS
from classifier.cluster.snapshot import TYPES, Snapshot
from classifier.cluster.wire import PAGE, Page
from classifier.names import names_namespace, names_object
from classifier.objects import Job, Meta, PodGroup, Workload
from classifier.report.fence import FENCE_NAME
from classifier.report.owner import Owner, owner_of
from classifier.scope import bounded_view, holder_of

#: Labels of a Job's pods (Kubernetes: pkg/apis/batch/types.go).
JOB_POD_LABEL: Final = "batch.kubernetes.io/controller-uid"
MANAGED_LABEL: Final = "kueue.x-k8s.io/managed=true"

#: What every judgement needs, whatever is judged.
SHARED: Final = (
    api.CAPACITY_PROFILES,
    api.CLUSTER_QUEUES,
    api.RESOURCE_FLAVORS,
    api.ADMISSION_CHECKS,
    api.PROVISIONING_REQUEST_CONFIGS,
)
#: What refines a judgement. Few users may read all of it, and most clusters do not have all of it: a refusal is not
#: worth a note of its own, the verdict says what it misses.
REFINING: Final = (
    api.COHORTS,
    api.TOPOLOGIES,
    api.RUNTIME_CLASSES,
    api.DEVICE_CLASSES,
    api.CLUSTER_TRAINING_RUNTIMES,
    api.NODE_POOLS,
)
#: The same, of one namespace.
REFINING_THERE: Final = (api.LIMIT_RANGES, api.TRAINING_RUNTIMES)


class Reader:
    """Fills a :class:`Snapshot`. Raises ClientError where nothing can be read at all."""

    #: Kinds of which a refusal is no note.
    quiet: ClassVar[frozenset[Resource]] = frozenset({*REFINING, *REFINING_THERE, *MACHINE_GROUPS, api.CONFIG_MAPS})

    def __init__(self, client: Client, where: ConfigMaps = USUAL) -> None:
        self.client = client
        self.snapshot = Snapshot()
        self.where = where

    async def collect(
        self, resource: Resource, namespace: str | None = None, *, version: str | None = None, **selectors: str
    ) -> None:
        """All objects of a kind that match, into the snapshot. ``selectors``: labelSelector, fieldSelector."""
        if namespace is not None and not names_namespace(namespace):
            return
        served = resource._replace(version=version or resource.version)
        try:
            async for page in self._pages(resource, served.path(namespace), selectors):
                for obj in page:
                    self.snapshot.add(resource, obj)
        except ApiError as error:
            if error.missing:
                self.snapshot.unserved.add(resource)
            if not self._tolerate(resource, error, namespace):
                raise

    async def _pages(self, resource: Resource, path: str, selectors: Mapping[str, str]) -> AsyncIterator[list[Meta]]:
        decoder = msgspec.json.Decoder(TYPES[resource])
        params: dict[str, str] = {"limit": str(PAGE), **selectors}
        while True:
            page = await self.client.get(path, Page, params=params)
            try:
                yield [decoder.decode(raw) for raw in page.items or ()]
            except msgspec.MsgspecError as error:
                why = f"one of the {resource.plural} of {self.client.host} cannot be read: {error}"
                if resource not in self.quiet:
                    raise ClientError(why) from None
                self.snapshot.refuse(resource, why)
            if not page.metadata.continue_:
                break
            params["continue"] = page.metadata.continue_

    async def get(self, resource: Resource, name: str, namespace: str | None = None) -> Meta | None:
        """One object into the snapshot; None if there is none or it may not be read.

        Names come from owners, annotations and status, too, where anybody can write anything.
        """
        if not names_object(name) or not (namespace is None or names_namespace(namespace)):
            return None
        try:
            obj = await self.client.get(resource.path(namespace, name), TYPES[resource])
        except ApiError as error:
            if error.missing or self._tolerate(resource, error, namespace):
                return None
            raise
        self.snapshot.add(resource, obj)
        return obj

    def _tolerate(self, resource: Resource, error: ApiError, namespace: str | None) -> bool:
        if error.missing:
            return True
        if error.status != 403:
            return False
        where = f" in namespace {namespace}" if namespace else ""
        self.snapshot.refuse(resource, "" if resource in self.quiet else f"{resource.plural} may not be read{where}")
        return True

    # --- questions ----------------------------------------------------------------------------------------------

    async def world(self, namespaces: Mapping[str, set[str]]) -> None:
        """What preflight needs for jobs in these namespaces. The values are the LocalQueues their jobs name."""
        queues = [(ns, queue) for ns, names in namespaces.items() for queue in sorted(names)]
        await asyncio.gather(
            *(self.collect(resource) for resource in SHARED),
            self.collect(api.NODES),
            self._refine(namespaces),
            *(self.get(api.NAMESPACES, ns) for ns in namespaces),
            *(self.get(api.LOCAL_QUEUES, queue, ns) for ns, queue in queues),
        )

    async def _refine(self, namespaces: Iterable[str | None]) -> None:
        """What changes how the gangs of these namespaces are counted and how far pools may grow; None: of all."""
        await asyncio.gather(
            *(self.collect(resource) for resource in REFINING),
            *(self.collect(resource, namespace) for namespace in namespaces for resource in REFINING_THERE),
            *(self._machines(resource) for resource in MACHINE_GROUPS),
            *(self.get(api.CONFIG_MAPS, name.name, name.namespace) for name in self.where if name is not None),
        )

    async def _machines(self, resource: Resource) -> None:
        """In the first version that is served."""
        for version in MACHINE_VERSIONS:
            self.snapshot.unserved.discard(resource)
            await self.collect(resource, version=version)
            if resource not in self.snapshot.unserved:
                break

    async def fence(self, name: str) -> None:
        await asyncio.gather(self.get(api.ADMISSION_POLICIES, name), self.get(api.ADMISSION_POLICY_BINDINGS, name))

    async def job(self, namespace: str, name: str, fence: str = FENCE_NAME) -> Owner | None:
        """Everything about one Job; None if there is none. The Job itself must be readable."""
        try:
            job = await self.client.get(api.JOBS.path(namespace, name), Job)
        except ApiError as error:
            if error.missing:
                return None
            raise
        self.snapshot.add(api.JOBS, job)
        owner = owner_of(job)
        await asyncio.gather(
            self.world({namespace: {owner.queue} - {""}}),
            self.collect(api.WORKLOADS, namespace, labelSelector=f"{api.JOB_UID}={owner.uid}"),
            self.collect(api.PODS, namespace, labelSelector=f"{JOB_POD_LABEL}={owner.uid}"),
            self.collect(api.PROVISIONING_REQUESTS, namespace, labelSelector=MANAGED_LABEL),
            self.fence(fence),
        )
        return owner

    async def everything(self, namespace: str | None, selector: str | None, fence: str = FENCE_NAME) -> None:
        """What an audit needs: the Workloads of one namespace or of all, and whatever explains them."""
        labels = {"labelSelector": selector} if selector else {}
        await asyncio.gather(
            *(self.collect(resource) for resource in SHARED),
            self.collect(api.NODES),
            self._refine([namespace]),
            self.collect(api.WORKLOADS, namespace, **labels),
            self.collect(api.JOBS, namespace),
            self.collect(api.LOCAL_QUEUES, namespace),
            self.collect(api.PROVISIONING_REQUESTS, namespace, labelSelector=MANAGED_LABEL),
            self.collect(api.NAMESPACES) if namespace is None else self.get(api.NAMESPACES, namespace),
            self.fence(fence),
        )
        # Of the other kinds only those of which something waits: few clusters have all, and few users may read them.
        waiting = [w for w in self.snapshot.of(api.WORKLOADS, Workload).values() if not w.is_true(api.FINISHED)]
        holders = {holder.kind for workload in waiting if (holder := holder_of(workload)) is not None}
        views = [view for kind in holders if (view := bounded_view(kind)) is not None]
        resources = {api.PODS if view.type_ is PodGroup else view.resource for view in views} - {api.JOBS}
        gated = {"labelSelector": MANAGED_LABEL}
        await asyncio.gather(
            *(self.collect(resource, namespace, **(gated if resource == api.PODS else {})) for resource in resources)
        )
