"""Cluster API's MachineDeployments, MachineSets and MachinePools: size and shape in annotations (reference §2.6).

The prefix of the size annotations changes with CAPI_GROUP, so they are known by how their key ends.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from classifier.fit.facts.fact import PoolFacts
from classifier.fit.facts.groups import GroupIndex
from classifier.fit.facts.reading import count
from classifier.fit.supplied.faults import legible
from classifier.objects import MachineGroup, Pool, Taint

_MAX_SIZE: Final = "/cluster-api-autoscaler-node-group-max-size"
_CAPACITY: Final = "capacity.cluster-autoscaler.kubernetes.io/"
#: Annotations of one node's shape, by the resource they give.
_SHAPE: Final = {"cpu": "cpu", "memory": "memory", "ephemeral-disk": "ephemeral-storage", "maxPods": "pods"}
_GPU: Final = "nvidia.com/gpu"
_MAX_LISTED: Final = 64


class MachinePools:
    """The groups by ``MachineDeployment/<namespace>/<name>``, the id Cluster Autoscaler gives them."""

    def __init__(self, groups: Mapping[str, MachineGroup]) -> None:
        self._groups = {f"{group.kind or 'MachineDeployment'}/{group.key}": group for group in groups.values()}
        self._index = GroupIndex(self._groups)

    def of(self, pool: Pool) -> PoolFacts | None:
        names, sure = self._index.of(pool)
        groups = [self._groups[name] for name in names]
        if not groups:
            return None
        sizes = [_max_size(group) for group in groups]
        known = [size for size in sizes if size is not None]
        upper: dict[str, int] = {}
        for group in groups:
            for resource, amount in _shape(group).items():
                upper[resource] = max(amount, upper.get(resource, amount))
        return PoolFacts(
            source=names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more",
            max_nodes=sum(known) if known else None,
            binds=sure and len(known) == len(sizes),
            upper=upper,
            labels=_labels(groups[0]) if len(groups) == 1 else {},
            taints=_taints(groups[0]) if len(groups) == 1 else (),
        )


def _max_size(group: MachineGroup) -> int | None:
    """The larger where two prefixes say something."""
    texts = [text for key, text in (group.metadata.annotations or {}).items() if key.endswith(_MAX_SIZE)]
    return max((size for size in map(count, texts) if size is not None), default=None)


def _shape(group: MachineGroup) -> dict[str, int]:
    texts = {resource: group.annotation(_CAPACITY + key) for key, resource in _SHAPE.items()}
    kind = group.annotation(_CAPACITY + "gpu-type") or _GPU
    texts[kind] = group.annotation(_CAPACITY + "gpu-count")
    return legible({resource: text for resource, text in texts.items() if text is not None})


def _listed(group: MachineGroup, key: str) -> Iterable[str]:
    text = group.annotation(_CAPACITY + key) or ""
    return [part.strip() for part in text.split(",", _MAX_LISTED)[:_MAX_LISTED] if part.strip()]


def _labels(group: MachineGroup) -> dict[str, str]:
    """``a=b,c=d``."""
    pairs = (part.partition("=") for part in _listed(group, "labels"))
    return {key: value for key, equals, value in pairs if key and equals}


def _taints(group: MachineGroup) -> tuple[Taint, ...]:
    """``key=value:NoSchedule,other:NoExecute``."""
    taints = []
    for part in _listed(group, "taints"):
        pair, _, effect = part.rpartition(":")
        key, _, value = pair.partition("=")
        if key and effect in ("NoSchedule", "PreferNoSchedule", "NoExecute"):
            taints.append(Taint(key=key, value=value, effect=effect))
    return tuple(taints)
