"""What the controller knows of jobs and their Workloads, trimmed to what it reads, and whom a change concerns.

Queues, profiles and whatever else a gang is judged by are followed in one place (``classifier.cluster.following``).
Every change ends in a Workload's key handed to ``touch``; nothing here decides anything.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple, TypeVar

import msgspec

from classifier import api, scope
from classifier.cluster.client import Client
from classifier.cluster.following import Following
from classifier.cluster.reflector import Reflector
from classifier.objects import (
    CapacityProfile,
    ClusterQueue,
    LocalQueue,
    ManagedField,
    Meta,
    Namespace,
    OwnerReference,
    Workload,
)
from classifier.policy import Policies, profiles_for
from classifier.scope import BOUNDED, bounded_view
from controller.shapes import Shapes, Waiting
from controller.waiting import waits

K = TypeVar("K", bound=Hashable)

#: Annotations of other domains the decisions read.
_KEPT = frozenset({api.ADMISSION_GATED_BY, api.SLICE_REPLACEMENT_FOR})
#: What is read of an owner's spec: whether it is suspended or gated, and who runs it and where.
_SPEC = frozenset({"suspend", "run_policy", "managed_by", "scheduling_gates", "runtime_ref", "cluster_selector"})
_POLICY_KEYS = (api.ADMISSION_TIMEOUT, api.MAX_ADMISSION_TIMEOUT)


class OwnerKey(NamedTuple):
    """Names an owner; the kind with its group, as in ``BOUNDED``."""

    kind: tuple[str, str]
    key: str


def _owning_active(fields: Iterable[ManagedField]) -> list[ManagedField]:
    """The entries that speak of ``spec.active``; copied, since a Raw keeps the whole page alive it was cut from."""
    return [
        msgspec.structs.replace(field, fields_v1=field.fields_v1.copy())
        for field in fields
        if field.fields_v1 is not None and b'"f:active"' in bytes(field.fields_v1)
    ]


def _trim(obj: Any) -> Any:
    """Keep our annotations and the few others we read; drop labels nobody reads and foreign managedFields."""
    meta = obj.metadata
    kept = {k: v for k, v in (meta.annotations or {}).items() if k.startswith(api.PREFIX) or k in _KEPT}
    fields = _owning_active(meta.managed_fields or ()) if api.COMMITTED in kept else []
    labels = {k: v for k, v in (meta.labels or {}).items() if k == api.MULTIKUEUE_ORIGIN}
    obj.metadata = msgspec.structs.replace(
        meta,
        annotations=kept or None,
        labels=labels or None,
        # A Raw keeps the whole page alive that it was cut from: copy the few bytes we need.
        managed_fields=[msgspec.structs.replace(f, fields_v1=f.fields_v1.copy()) for f in fields if f.fields_v1]
        or None,
    )
    return obj


def trim_owner(obj: Any) -> Any:
    """An owner without its pods' templates: only its metadata and whether it is suspended matter here."""
    spec = getattr(obj, "spec", None)
    if spec is not None:
        kept = {field: getattr(spec, field) for field in spec.__struct_fields__ if field in _SPEC}
        obj.spec = type(spec)(**kept)
    return _trim(obj)


def trim_workload(workload: Workload, shapes: Shapes) -> Workload:
    """Of what waits the shape of its podsets is kept, of all others nothing of them."""
    spec = workload.spec
    if spec is not None and spec.pod_sets is not None:
        if waits(workload):
            shape = shapes.of(spec.pod_sets)
            workload = Waiting(metadata=workload.metadata, spec=spec, status=workload.status, shape=shape)
        spec.pod_sets = None
    trimmed: Workload = _trim(workload)
    return trimmed


def _policy_text(obj: Meta | None) -> tuple[str | None, ...]:
    return tuple(obj.annotation(key) for key in _POLICY_KEYS) if obj else ()


class _Index(dict[K, set[str]]):
    """Keys by what they belong to; forgets what nothing belongs to any more."""

    def add(self, at: K, key: str) -> None:
        self.setdefault(at, set()).add(key)

    def discard(self, at: K, key: str) -> None:
        keys = self.get(at)
        if keys is not None:
            keys.discard(key)
            if not keys:
                del self[at]


class Cache:
    """The reflectors and their indexes. ``touch(workload_key)`` is called for all a change concerns."""

    def __init__(
        self,
        client: Client,
        following: Following,
        touch: Callable[[str], None],
        orphan: Callable[[OwnerKey], None],
        *,
        default: int | None = None,
        max_default: int | None = None,
    ) -> None:
        self._touch = touch
        self._orphan = orphan
        self._default = default
        self._max_default = max_default
        self._by_queue: _Index[str] = _Index()
        self._by_owner: _Index[OwnerKey] = _Index()
        self._queues_of: _Index[str] = _Index()
        self._on_workload: list[Callable[[str, Workload | None, Workload | None], None]] = []
        self._on_cluster_queue: list[Callable[[str, ClusterQueue | None, ClusterQueue | None], None]] = []
        self._on_profile: list[Callable[[], None]] = []
        self.shapes = Shapes()
        self.workloads = Reflector(
            client,
            api.WORKLOADS,
            Workload,
            project=partial(trim_workload, shapes=self.shapes),
            on_change=self._workload_changed,
        )
        self.owners: dict[tuple[str, str], Reflector[Meta]] = {
            kind: Reflector(
                client, view.resource, view.type_, project=trim_owner, on_change=self._owner_change_of(kind)
            )
            for kind, view in BOUNDED.items()
        }
        self.local_queues = following.local_queues.reflector
        self.cluster_queues = following.cluster_queues.reflector
        self.namespaces = following.namespaces.reflector
        self.profiles = following.profiles.reflector
        self.checks = following.checks.reflector
        self.configs = following.configs.reflector
        following.local_queues.listen(self._local_queue_changed)
        following.cluster_queues.listen(self._cluster_queue_changed)
        following.namespaces.listen(self._namespace_changed)
        following.profiles.listen(self._profile_changed)
        following.checks.listen(self._provisioning_changed)
        following.configs.listen(self._provisioning_changed)

    @property
    def own(self) -> Iterator[Reflector[Any]]:
        """What is followed for deadlines alone."""
        yield self.workloads
        yield from self.owners.values()

    @property
    def needed(self) -> Iterator[Reflector[Any]]:
        """What has to be listed before a deadline is decided on."""
        yield from self.own
        yield from (self.local_queues, self.cluster_queues, self.namespaces)
        yield from (self.profiles, self.checks, self.configs)

    @property
    def synced(self) -> bool:
        return all(reflector.synced for reflector in self.needed)

    def on_workload(self, call: Callable[[str, Workload | None, Workload | None], None]) -> None:
        self._on_workload.append(call)

    def on_cluster_queue(self, call: Callable[[str, ClusterQueue | None, ClusterQueue | None], None]) -> None:
        self._on_cluster_queue.append(call)

    def on_profile(self, call: Callable[[], None]) -> None:
        """Called when a profile, or what its provisioning names, has changed."""
        self._on_profile.append(call)

    # --- answers ----------------------------------------------------------------------------------------------

    def policies(self, workload: Workload) -> Policies:
        queue = self.local_queue(workload)
        cluster_queue = self.cluster_queues.objects.get(queue.cluster_queue) if queue else None
        return Policies(
            queue,
            cluster_queue,
            profiles_for(cluster_queue, self.profiles.objects.values()),
            self.namespaces.objects.get(workload.namespace),
            self._default,
            self._max_default,
        )

    def local_queue(self, workload: Workload) -> LocalQueue | None:
        return self.local_queues.objects.get(f"{workload.namespace}/{workload.queue_name}")

    def cluster_queue_name(self, workload: Workload) -> str:
        """The ClusterQueue a Workload waits for; empty if its LocalQueue is unknown."""
        queue = self.local_queue(workload)
        return queue.cluster_queue if queue else ""

    def owner(self, workload: Workload, reference: OwnerReference) -> Meta | None:
        """The cached owner, only if it is the very object the reference means."""
        reflector = self.owners.get((reference.group, reference.kind))
        owner = reflector.objects.get(f"{workload.namespace}/{reference.name}") if reflector else None
        return owner if owner is not None and owner.uid == reference.uid else None

    def workloads_of(self, owner: OwnerKey) -> Iterator[Workload]:
        for key in self._by_owner.get(owner, ()):
            workload = self.workloads.objects.get(key)
            if workload is not None:
                yield workload

    # --- changes ----------------------------------------------------------------------------------------------

    def _workload_changed(self, key: str, old: Workload | None, new: Workload | None) -> None:
        for workload, update in ((old, _Index.discard), (new, _Index.add)):
            if workload is None:
                continue
            update(self._by_queue, f"{workload.namespace}/{workload.queue_name}", key)
            reference = scope.owner_of(workload)
            if reference is not None and bounded_view(reference):
                owner = OwnerKey((reference.group, reference.kind), f"{workload.namespace}/{reference.name}")
                update(self._by_owner, owner, key)
                if new is None:
                    self._orphan(owner)
        for call in self._on_workload:
            call(key, old, new)
        self._touch(key)

    def _owner_change_of(self, kind: tuple[str, str]) -> Callable[[str, Meta | None, Meta | None], None]:
        def changed(key: str, old: Meta | None, new: Meta | None) -> None:
            owner = OwnerKey(kind, key)
            keys = self._by_owner.get(owner)
            if keys:
                self._touch_all(keys)
            if new is not None and new.annotation(api.ADMISSION_OUTCOME_OF) is not None:
                self._orphan(owner)

        return changed

    def _touch_all(self, keys: Iterable[str]) -> None:
        for key in tuple(keys):
            self._touch(key)

    def _local_queue_changed(self, key: str, old: LocalQueue | None, new: LocalQueue | None) -> None:
        def matters(queue: LocalQueue | None) -> object:
            # Its status counts Workloads and changes with each of them; only this much concerns their wait.
            return queue and (
                _policy_text(queue),
                queue.cluster_queue,
                queue.status and queue.status.is_true(api.ACTIVE),
            )

        for queue, update in ((old, _Index.discard), (new, _Index.add)):
            if queue is not None:
                update(self._queues_of, queue.cluster_queue, key)
        if matters(old) != matters(new):
            self._touch_all(self._by_queue.get(key, ()))

    def _cluster_queue_changed(self, key: str, old: ClusterQueue | None, new: ClusterQueue | None) -> None:
        def matters(queue: ClusterQueue | None) -> object:
            return queue and (_policy_text(queue), tuple(queue.flavors))

        if matters(old) != matters(new):
            for local in tuple(self._queues_of.get(key, ())):
                self._touch_all(self._by_queue.get(local, ()))
        for call in self._on_cluster_queue:
            call(key, old, new)
        if (old and tuple(old.check_names)) != (new and tuple(new.check_names)):
            self._provisioning_changed()

    def _namespace_changed(self, key: str, old: Namespace | None, new: Namespace | None) -> None:
        if _policy_text(old) != _policy_text(new):
            prefix = f"{key}/"
            for queue, keys in tuple(self._by_queue.items()):
                if queue.startswith(prefix):
                    self._touch_all(keys)

    def _profile_changed(self, key: str, old: CapacityProfile | None, new: CapacityProfile | None) -> None:
        if (old and old.spec) != (new and new.spec):
            self._touch_all(self.workloads.objects)
        self._provisioning_changed()

    def _provisioning_changed(self, *_: object) -> None:
        for call in self._on_profile:
            call()
