"""Follows everything a gang is judged by, and hands it out as one World: the same for webhook and controller.

Queues, flavors, checks and profiles are hundreds of objects, so they are all kept; nodes are kept as their labels,
taints and sizes. Without the required kinds there is no judgement. All others may be closed to us or not installed:
the world says which of them it has not seen, and is judged all the same.
"""

import asyncio
import time
from typing import Any, TypeVar

from classifier import api
from classifier.cluster.client import Client
from classifier.cluster.configmaps import AUTOSCALER_STATUS, KUEUE_CONFIG, ConfigMapName
from classifier.cluster.kept import ASK_AGAIN, Joined, Kept, News, tells_the_same, trim
from classifier.cluster.machines import MACHINE_VERSIONS, machine_groups
from classifier.fit import Supply, World
from classifier.fit.gang import Runtimes
from classifier.fit.supplied.live import tell_the_same
from classifier.instant import MINUTE, SECOND
from classifier.objects import (
    AdmissionCheck,
    CapacityProfile,
    ClusterQueue,
    ClusterTrainingRuntime,
    Cohort,
    ConfigMap,
    DeviceClass,
    LimitRange,
    LocalQueue,
    MachineGroup,
    Meta,
    Namespace,
    Node,
    NodePool,
    ProvisioningRequestConfig,
    ResourceFlavor,
    RuntimeClass,
    Topology,
    TrainingRuntime,
)

T = TypeVar("T", bound=Meta)


class Following:
    """Follows while :meth:`run` runs. Each kind is a :class:`Kept`. ``stale_after`` in ms.

    ``options`` go to every reflector.
    """

    def __init__(
        self,
        client: Client,
        *,
        kueue_config: ConfigMapName | None = KUEUE_CONFIG,
        autoscaler_status: ConfigMapName | None = AUTOSCALER_STATUS,
        stale_after: int = 3 * MINUTE,
        preflight_optional: bool = False,
        **options: Any,
    ) -> None:
        self.client = client
        self._stale_after = stale_after
        self._monotonic = options.get("monotonic", time.monotonic)
        self._preflight_optional = preflight_optional
        self._options = options
        self._news: list[News] = []
        self._supply = Supply()
        self._unread_kinds: frozenset[api.Resource] = frozenset()
        self._runtimes = Joined(Runtimes)
        self._groups = Joined(machine_groups)
        #: The last one handed out, until when it may stand at most, and whether nothing has changed since.
        self._world = World()
        self._stands_until = 0.0
        self._stands = False
        #: Required kinds that were not listed yet: once they are, they stay so.
        self._awaited: list[Kept[Any]] = []

        required, own, others = self._required, self._own, self._others
        self._kept: list[Kept[Any]] = []
        self._needed: list[Kept[Any]] = []
        self._doubtful: list[Kept[Any]] = []
        self.profiles = required(api.CAPACITY_PROFILES, CapacityProfile, same=_same_profile)
        self.local_queues = required(api.LOCAL_QUEUES, LocalQueue)
        self.cluster_queues = required(api.CLUSTER_QUEUES, ClusterQueue)
        self.flavors = required(api.RESOURCE_FLAVORS, ResourceFlavor)
        self.checks = required(api.ADMISSION_CHECKS, AdmissionCheck)
        self.namespaces = required(api.NAMESPACES, Namespace)
        # Kueue brings these itself: where they are missing or closed, something is wrong, and they may exist.
        self.cohorts = own(api.COHORTS, Cohort)
        self.topologies = own(api.TOPOLOGIES, Topology)
        self.configs = own(api.PROVISIONING_REQUEST_CONFIGS, ProvisioningRequestConfig)
        self.limit_ranges = others(api.LIMIT_RANGES, LimitRange)
        self.runtime_classes = others(api.RUNTIME_CLASSES, RuntimeClass)
        self.device_classes = others(api.DEVICE_CLASSES, DeviceClass)
        self.training_runtimes = others(api.TRAINING_RUNTIMES, TrainingRuntime)
        self.cluster_training_runtimes = others(api.CLUSTER_TRAINING_RUNTIMES, ClusterTrainingRuntime)
        self.node_pools = others(api.NODE_POOLS, NodePool)
        self.machine_deployments = others(api.MACHINE_DEPLOYMENTS, MachineGroup, versions=MACHINE_VERSIONS)
        self.machine_sets = others(api.MACHINE_SETS, MachineGroup, versions=MACHINE_VERSIONS)
        self.machine_pools = others(api.MACHINE_POOLS, MachineGroup, versions=MACHINE_VERSIONS)
        self.kueue_config = self._config_map(kueue_config)
        self.autoscaler_status = self._config_map(autoscaler_status)
        # Kubelets report many times a second, and hardly ever anything new.
        self.nodes = self._follow(api.NODES, Node, project=_trim_node, same=tell_the_same, patience=ASK_AGAIN)
        self.nodes.listen(self._look)

    # --- the kinds ----------------------------------------------------------------------------------------------

    def _follow(self, resource: api.Resource, type_: type[T], **options: Any) -> Kept[T]:
        kept = Kept(self.client, resource, type_, self._tell, **{**self._options, **options})
        self._kept.append(kept)
        return kept

    def _required(self, resource: api.Resource, type_: type[T], **options: Any) -> Kept[T]:
        kept = self._follow(resource, type_, **options)
        self._needed.append(kept)
        self._awaited.append(kept)
        return kept

    def _own(self, resource: api.Resource, type_: type[T]) -> Kept[T]:
        kept = self._follow(resource, type_)
        self._doubtful.append(kept)
        return kept

    def _others(self, resource: api.Resource, type_: type[T], **options: Any) -> Kept[T]:
        kept = self._follow(resource, type_, patience=ASK_AGAIN, **options)
        self._doubtful.append(kept)
        return kept

    def _config_map(self, name: ConfigMapName | None) -> Kept[ConfigMap] | None:
        """The one object; rights can be given by name where a list or watch selects it."""
        if name is None:
            return None
        return self._follow(
            api.CONFIG_MAPS,
            ConfigMap,
            project=_trim_config_map,
            patience=ASK_AGAIN,
            namespace=name.namespace,
            field_selector=f"metadata.name={name.name}",
        )

    def _look(self, key: str, old: Node | None, new: Node | None) -> None:
        if new is not None and (old is None or not tell_the_same(old, new)):
            self._supply.look(new)

    # --- what has changed ---------------------------------------------------------------------------------------

    def news(self) -> News:
        """For one consumer: what a verdict may rest on and has changed from now on."""
        news = News()
        self._news.append(news)
        return news

    def _tell(self, resource: api.Resource) -> None:
        self._stands = False
        for news in self._news:
            news.add(resource)

    # --- how it goes --------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as group:
            for kept in self._kept:
                group.create_task(kept.reflector.run(), name=f"reflect {kept.resource.plural}")

    @property
    def synced(self) -> bool:
        """Whether every required kind has been listed: there is a world."""
        if self._awaited:
            self._awaited = [kept for kept in self._awaited if not kept.reflector.synced]
        return not self._awaited

    @property
    def trouble(self) -> str | None:
        """Why there is nothing to judge by yet, or too little; None once every kind was listed or was said to be
        missing. A kind that cannot be listed for another reason is waited for only where it could refute any proof."""
        missing = [
            kept
            for kept in self._kept
            if not (kept.reflector.synced or (kept.reflector.answered and kept not in self._needed))
            or (kept is self.nodes and self.nodes_awaited)
        ]
        return "not listed yet: " + ", ".join(_say(kept) for kept in missing) if missing else None

    def age(self) -> float:
        """Seconds since the required kind was heard of that has been silent for longest."""
        return max([kept.reflector.age() for kept in self._needed])

    @property
    def nodes_awaited(self) -> bool:
        """Nodes may be read, as far as we know, and were not listed yet."""
        return not self.nodes.reflector.synced and self.nodes.reflector.refused != 403

    # --- the world ----------------------------------------------------------------------------------------------

    def _unread(self, kept: Kept[Any] | None) -> bool:
        return kept is not None and kept.unread(self._stale_after / SECOND)

    def world(self) -> World:
        """From memory. Without :attr:`synced` it is not the whole truth.

        The same object as long as everything in it stands; only :attr:`World.observed_at` goes on.
        """
        if not (
            self._stands
            and self._monotonic() < self._stands_until
            and (self._world.nodes is not None) is self.nodes.reflector.synced
            and self._world.nodes_awaited is self.nodes_awaited
        ):
            # Before, not after: what comes meanwhile is news to this one.
            self._stands = True
            self._stands_until = self._monotonic() + self._freshness()
            self._world = self._look_around()
        self._world.observed_at = self.client.time.now() - int(self.age() * SECOND)
        return self._world

    def _freshness(self) -> float:
        """Seconds until a kind that may be silent has been so for too long, if nothing is heard of it; 0 where one has
        been already, and may be heard of at any moment."""
        watched = (*self._doubtful, self.kueue_config, self.autoscaler_status, self.nodes)
        ages = [kept.reflector.age() for kept in watched if kept is not None and kept.reflector.synced]
        return max(0.0, self._stale_after / SECOND - max(ages, default=0.0))

    def _look_around(self) -> World:
        nodes = self.nodes.reflector
        unread = {kept.resource for kept in (*self._doubtful, self.autoscaler_status) if kept and self._unread(kept)}
        if unread != self._unread_kinds:
            # One object as long as they are the same: it is a version, as the containers are.
            self._unread_kinds = frozenset(unread)
        return World(
            profiles=self.profiles.values,
            cluster_queues=self.cluster_queues.objects,
            local_queues=self.local_queues.live,
            flavors=self.flavors.objects,
            admission_checks=self.checks.objects,
            namespaces=self.namespaces.live,
            provisioning_configs=self.configs.objects,
            cohorts=self.cohorts.objects,
            topologies=self.topologies.objects,
            limit_ranges=self.limit_ranges.objects,
            runtime_classes=self.runtime_classes.objects,
            device_classes=self.device_classes.objects,
            runtimes=self._runtimes(self.training_runtimes.objects, self.cluster_training_runtimes.objects),
            kueue_config=None if self._unread(self.kueue_config) else _only(self.kueue_config),
            autoscaler_status=_only(self.autoscaler_status),
            node_pools=self.node_pools.objects,
            machine_groups=self._groups(
                self.machine_deployments.objects, self.machine_sets.objects, self.machine_pools.objects
            ),
            unread=self._unread_kinds,
            nodes=self.nodes.values if nodes.synced else None,
            nodes_recent=nodes.age() <= self._stale_after / SECOND,
            nodes_awaited=self.nodes_awaited,
            preflight_optional=self._preflight_optional,
            supply=self._supply,
        )


def _say(kept: Kept[Any]) -> str:
    trouble = kept.reflector.trouble
    return f"{kept.resource.plural} ({trouble})" if trouble else kept.resource.plural


def _same_profile(old: CapacityProfile, new: CapacityProfile) -> bool:
    """Its status is written by us, and says nothing that is not known."""
    return tells_the_same(old, new, apart_from="status")


def _trim_node(node: Node) -> Node:
    """Without the conditions nobody asks about: of thousands of nodes they are the most."""
    if node.status is not None and node.status.conditions:
        node.status.conditions = [condition for condition in node.status.conditions if condition.type == "Ready"]
    return trim(node)


def _trim_config_map(config: ConfigMap) -> ConfigMap:
    """The autoscaler annotates its status with the time of each look, which is in the text as well."""
    config.metadata.annotations = None
    return trim(config)


def _only(kept: Kept[ConfigMap] | None) -> ConfigMap | None:
    return next(iter(kept.objects.values()), None) if kept is not None else None
