"""Everything that tells of pools, read once for a state of the cluster."""

from collections.abc import Mapping
from typing import Protocol

from classifier.fit.facts.fact import PoolFacts
from classifier.objects import ConfigMap, MachineGroup, NodePool, Pool


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
        self._versions = (told.autoscaler_status, told.node_pools, told.machine_groups)

    def current(self, told: Told) -> bool:
        """Whether ``told`` is still the very state that was read; containers are versions."""
        now = (told.autoscaler_status, told.node_pools, told.machine_groups)
        return all(one is other for one, other in zip(self._versions, now, strict=True))

    def of(self, pool: Pool) -> tuple[PoolFacts, ...]:
        """What is told of one declared pool; nothing where no source knows it. Kept by the pool's identity."""
        return ()
