"""What the controller knows of jobs and their Workloads, trimmed to what it reads, and whom a change concerns.

Queues, profiles and whatever else a gang is judged by are followed in one place (``classifier.cluster.following``).
Every change ends in a Workload's key handed to ``touch``; nothing here decides anything.
"""

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from functools import partial
from typing import Any, Final, NamedTuple, TypeVar

from classifier import api, clock, scope
from classifier.cluster.client import Client
from classifier.cluster.following import Following
from classifier.cluster.kept import ASK_AGAIN, tells_the_same
from classifier.cluster.reflector import Reflector
from classifier.objects import CapacityProfile, ClusterQueue, LocalQueue, Meta, Namespace, Pod, Workload
from classifier.policy import Policies, profiles_for
from classifier.scope import ALONE, BOUNDED, POD_GROUP, GroupKind
from classifier.state.kinds.podgroup import group_name
from controller.groups import Owned, group_of
from controller.shapes import Shapes
from controller.trim import trim_owner, trim_pod, trim_workload
from controller.unseen import later_origin

K = TypeVar("K", bound=Hashable)

#: So many keys are touched at once.
FEW: Final = 16
_POLICY_KEYS = (api.ADMISSION_TIMEOUT, api.MAX_ADMISSION_TIMEOUT, api.TTL_AFTER_TIMEOUT)
_JOB: Final = (api.JOBS.group, api.JOBS.kind)
_POD: Final = (api.PODS.group, api.PODS.kind)


class OwnerKey(NamedTuple):
    """Names an owner, a group of pods by its name; the kind with its group, as in ``BOUNDED``."""

    kind: GroupKind
    key: str


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
    """The reflectors and their indexes. ``touch(workload_key)`` is called for all a change concerns.

    ``in_slices`` is given what is to be done for many of them, a step a key; without it all is done at once.
    ``ownerless``: Workloads that people made are bounded, too. ``kept_keys``: labels and annotations to keep of owners
    that show a mirror. ``hold``: the annotation of a Workload that holds it.
    """

    def __init__(
        self,
        client: Client,
        following: Following,
        touch: Callable[[str], None],
        orphan: Callable[[OwnerKey], None],
        *,
        in_slices: Callable[[Iterator[None]], object] = list,
        default: int | None = None,
        max_default: int | None = None,
        ownerless: bool = False,
        kept_keys: frozenset[str] = frozenset(),
        hold: str = clock.HOLD,
    ) -> None:
        self.ownerless = ownerless
        self._kept_keys = kept_keys
        self._touch = touch
        self._orphan = orphan
        self._in_slices = in_slices
        self._default = default
        self._max_default = max_default
        self._by_queue: _Index[str] = _Index()
        self._by_owner: _Index[OwnerKey] = _Index()
        self._by_group: _Index[str] = _Index()
        self._queues_of: _Index[str] = _Index()
        self._on_workload: list[Callable[[str, Workload | None, Workload | None], None]] = []
        self._on_origin: list[Callable[[str], None]] = []
        self._on_cluster_queue: list[Callable[[str, ClusterQueue | None, ClusterQueue | None], None]] = []
        self._on_profile: list[Callable[[], None]] = []
        self.shapes = Shapes()
        self.workloads = Reflector(
            client,
            api.WORKLOADS,
            Workload,
            project=partial(trim_workload, shapes=self.shapes, also=frozenset({hold}), owners=kept_keys),
            on_change=self._workload_changed,
        )
        #: By kind; groups are made of pods, and a Workload without owner is its own.
        self.owners: dict[GroupKind, Reflector[Any]] = {
            kind: self._follow(client, kind) for kind in BOUNDED if kind != POD_GROUP
        }
        self.owners[POD_GROUP] = self.owners[_POD]
        self.owners[ALONE] = self.workloads
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

    def _follow(self, client: Client, kind: GroupKind) -> Reflector[Any]:
        view = BOUNDED[kind]
        if kind == _POD:
            return Reflector(
                client,
                view.resource,
                Pod,
                label_selector=f"{api.MANAGED}=true",
                project=partial(trim_pod, also=self._kept_keys),
                on_change=self._pod_changed,
            )
        # Jobs and pods every cluster has; of the others each may be missing, and come later.
        patience = None if kind == _JOB else ASK_AGAIN
        changed = self._owner_change_of(kind)
        return Reflector(
            client,
            view.resource,
            view.type_,
            project=partial(trim_owner, also=self._kept_keys),
            on_change=changed,
            patience=patience,
        )

    @property
    def own(self) -> Iterator[Reflector[Any]]:
        """What is followed for deadlines alone."""
        yield self.workloads
        yield self.owners[_JOB]
        yield self.owners[_POD]
        yield from self.optional

    @property
    def optional(self) -> Iterator[Reflector[Any]]:
        """Kinds that may be missing: nothing waits for them, and they are followed once they are there."""
        yield from (reflector for kind, reflector in self.owners.items() if kind not in (_JOB, _POD, POD_GROUP, ALONE))

    @property
    def needed(self) -> Iterator[Reflector[Any]]:
        """What has to be listed before a deadline is decided on."""
        yield from (self.workloads, self.owners[_JOB], self.owners[_POD])
        yield from (self.local_queues, self.cluster_queues, self.namespaces)
        yield from (self.profiles, self.checks, self.configs)

    @property
    def vital(self) -> Iterator[Reflector[Any]]:
        """Without these no commit is safe, whatever its owner."""
        yield from (self.workloads, self.local_queues)

    async def wait_answered(self) -> None:
        """Until the server has said of every kind that may be missing whether it is there, or why it does not say."""
        for reflector in self.optional:
            await reflector.wait_answered()

    def lost(self, kind: GroupKind) -> str | None:
        """Why the copies of owners of a kind may be old; None if they are followed, or there are none.

        A kind of which there are some is not taken for uninstalled at once: an API server that starts may say 404, too.
        """
        reflector = self.owners[kind]
        if reflector.trouble and (reflector.refused != 404 or reflector.objects):
            return f"{reflector.resource.plural} cannot be followed: {reflector.trouble}"
        return None

    def abreast(self, kind: GroupKind, workload: Workload) -> bool:
        """Whether everything that was written to owners of a kind before this copy of a Workload is known."""
        return kind == ALONE or self.owners[kind].reaches(workload.metadata.resource_version)

    @property
    def synced(self) -> bool:
        return all(reflector.synced for reflector in self.needed)

    def on_workload(self, call: Callable[[str, Workload | None, Workload | None], None]) -> None:
        self._on_workload.append(call)

    def on_origin(self, call: Callable[[str], None]) -> None:
        """Called with a Workload's key when its owner's ledger begins, or moves its origin; not of pods: where several
        carry the ledger, the others may not be written yet."""
        self._on_origin.append(call)

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

    def keys_of_queue(self, key: str) -> tuple[str, ...]:
        """The Workloads that ask for a LocalQueue."""
        return tuple(self._by_queue.get(key, ()))

    def cluster_queue_name(self, workload: Workload) -> str:
        """The ClusterQueue a Workload waits for; empty if its LocalQueue is unknown."""
        queue = self.local_queue(workload)
        return queue.cluster_queue if queue else ""

    def owned(self, workload: Workload) -> Owned | None:
        """What carries the ledger of its wait, only if it is the very object the Workload means; None if it is not
        here, or of no kind that is bounded."""
        holder = scope.holder_of(workload)
        view = scope.bounded_view(holder.kind, ownerless=self.ownerless) if holder is not None else None
        if holder is None or view is None:
            return None
        if holder.kind == ALONE:
            return Owned(view, workload)
        key = f"{workload.namespace}/{holder.name}"
        if holder.kind == POD_GROUP:
            return self.group(key, going=workload.annotation(api.CLEANUP_COMMITTED) is not None)
        owner: Meta | None = self.owners[holder.kind].objects.get(key)
        return Owned(view, owner) if owner is not None and owner.uid == holder.uid else None

    def group(self, key: str, *, going: bool = False) -> Owned | None:
        """The group of that name: all of its pods that are here. ``going`` as in :func:`group_of`."""
        pods = self.owners[_POD].objects
        return group_of([pod for name in self._by_group.get(key, ()) if (pod := pods.get(name))], going=going)

    def named(self, owner: OwnerKey) -> Owned | None:
        """What bears that name now, whatever Workload it has."""
        if owner.kind == POD_GROUP:
            return self.group(owner.key)
        found: Meta | None = self.owners[owner.kind].objects.get(owner.key)
        view = scope.bounded_view(owner.kind, ownerless=True)
        return Owned(view, found) if found is not None and view is not None else None

    def mirrored(self) -> Iterator[OwnerKey | None]:
        """Everything that shows a mirror, as it is when its turn comes; None for what shows none: a step an object."""
        for kind, reflector in self.owners.items():
            for key in tuple(reflector.objects) if kind != POD_GROUP else ():
                obj = reflector.objects.get(key)
                if obj is None or obj.annotation(api.ADMISSION_OUTCOME_OF) is None:
                    yield None
                else:
                    yield self._pod_key(obj) if kind == _POD else OwnerKey(kind, key)

    def workloads_of(self, owner: OwnerKey) -> Iterator[Workload]:
        for key in (owner.key,) if owner.kind == ALONE else tuple(self._by_owner.get(owner, ())):
            workload = self.workloads.objects.get(key)
            if workload is not None:
                yield workload

    # --- changes ----------------------------------------------------------------------------------------------

    def _workload_changed(self, key: str, old: Workload | None, new: Workload | None) -> None:
        for workload, update in ((old, _Index.discard), (new, _Index.add)):
            if workload is None:
                continue
            update(self._by_queue, f"{workload.namespace}/{workload.queue_name}", key)
            owner = self._owner_key(workload)
            if owner is not None:
                update(self._by_owner, owner, key)
                if new is None:
                    self._orphan(owner)
                elif old is None and self.owners[owner.kind].refused is not None:
                    # Somebody has seen such a job: it may have been installed just now.
                    self.owners[owner.kind].nudge()
        if new is not None and new.annotation(api.ADMISSION_OUTCOME_OF) is not None:
            self._orphan(OwnerKey(ALONE, key))
        for call in self._on_workload:
            call(key, old, new)
        self._touch(key)

    def _owner_key(self, workload: Workload) -> OwnerKey | None:
        """What its wait is written on, if that is another object."""
        holder = scope.holder_of(workload)
        if holder is None or holder.kind not in BOUNDED:
            return None
        return OwnerKey(holder.kind, f"{workload.namespace}/{holder.name}")

    def _owner_change_of(self, kind: GroupKind) -> Callable[[str, Meta | None, Meta | None], None]:
        def changed(key: str, old: Meta | None, new: Meta | None) -> None:
            if old is None or new is None or not tells_the_same(old, new):
                if old is not None and new is not None and later_origin(old, new):
                    for workload in tuple(self._by_owner.get(OwnerKey(kind, key), ())):
                        for call in self._on_origin:
                            call(workload)
                self._owner_changed(OwnerKey(kind, key), new)

        return changed

    def _owner_changed(self, owner: OwnerKey, new: Meta | None) -> None:
        keys = self._by_owner.get(owner)
        if keys:
            self._touch_all(keys)
        if new is not None and new.annotation(api.ADMISSION_OUTCOME_OF) is not None:
            self._orphan(owner)

    def _pod_changed(self, key: str, old: Pod | None, new: Pod | None) -> None:
        if old is not None and new is not None and tells_the_same(old, new):
            return
        for pod, update in ((old, _Index.discard), (new, _Index.add)):
            if pod is not None and (group := group_name(pod)) is not None:
                update(self._by_group, f"{pod.namespace}/{group}", key)
        before = self._pod_key(old) if old is not None else None
        after = self._pod_key(new) if new is not None else None
        if before is not None and before != after:
            self._owner_changed(before, None)
        if after is not None:
            self._owner_changed(after, new)

    @staticmethod
    def _pod_key(pod: Meta) -> OwnerKey:
        """The group it is of, or itself."""
        group = group_name(pod)
        return OwnerKey(_POD, pod.key) if group is None else OwnerKey(POD_GROUP, f"{pod.namespace}/{group}")

    def _touch_all(self, keys: Collection[str]) -> None:
        """A queue or a profile may concern tens of thousands of Workloads, a job hardly ever more than one."""
        if len(keys) <= FEW:
            for key in tuple(keys):
                self._touch(key)
        else:
            self._in_slices(self._touch_each(tuple(keys)))

    def _touch_each(self, keys: Iterable[str]) -> Iterator[None]:
        for key in keys:
            self._touch(key)
            yield

    def _local_queue_changed(self, key: str, old: LocalQueue | None, new: LocalQueue | None) -> None:
        def matters(queue: LocalQueue | None) -> object:
            # Its status counts Workloads and changes with each of them; only this much concerns their wait. Since when
            # it runs, too: it may have stood still while nobody was told of it.
            active = queue.status.condition(api.ACTIVE) if queue and queue.status else None
            return queue and (
                _policy_text(queue),
                queue.cluster_queue,
                active and (active.true, active.last_transition_time),
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
