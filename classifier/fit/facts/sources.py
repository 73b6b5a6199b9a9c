"""Everything that tells of pools, read once for a state of the cluster."""

from collections.abc import Mapping
from typing import Final, Protocol

from classifier.fit.facts.autoscaler import AutoscalerPools, parse
from classifier.fit.facts.clusterapi import MachinePools
from classifier.fit.facts.fact import PoolFacts
from classifier.fit.facts.karpenter import KarpenterPools
from classifier.objects import ConfigMap, MachineGroup, NodePool, Pool

#: Pools whose facts are kept: profiles that come and go must not fill the memory.
_MAX_KEPT: Final = 4096


class Told(Protocol):
    """The part of a World that tells of pools."""

    @property
    def autoscaler_status(self) -> ConfigMap | None: ...
    @property
    def node_pools(self) -> Mapping[str, NodePool]: ...
    @property
    def machine_groups(self) -> Mapping[str, MachineGroup]: ...


class Sources:
    """The sources of one state, each parsed once. Whoever judges keeps it for as long as :meth:`current` says so."""

    def __init__(self, told: Told) -> None:
        self._read = _versions(told)
        status = told.autoscaler_status
        #: The autoscaler's status; its ``fault`` says why there is nothing in it.
        self.autoscaler = parse(status) if status is not None else None
        self._readers = (
            *((AutoscalerPools(self.autoscaler),) if self.autoscaler is not None else ()),
            MachinePools(told.machine_groups),
            KarpenterPools(told.node_pools),
        )
        self._kept: dict[int, tuple[Pool, tuple[PoolFacts, ...]]] = {}

    def current(self, told: Told) -> bool:
        """Whether ``told`` is still the very state that was read; containers are versions."""
        return all(one is other for one, other in zip(self._read, _versions(told), strict=True))

    def of(self, pool: Pool) -> tuple[PoolFacts, ...]:
        """What is told of one declared pool, the most authoritative first; nothing where no source knows it."""
        kept = self._kept.get(id(pool))
        if kept is None or kept[0] is not pool:
            found = tuple(fact for fact in (reader.of(pool) for reader in self._readers) if fact is not None)
            if len(self._kept) >= _MAX_KEPT:
                self._kept.clear()
            kept = self._kept[id(pool)] = (pool, found)
        return kept[1]


def _versions(told: Told) -> tuple[object, ...]:
    return told.autoscaler_status, told.node_pools, told.machine_groups
