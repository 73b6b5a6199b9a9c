"""Everything outside of a pod that changes how Kueue counts it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from classifier import api
from classifier.fit.requests.config import KueueConfig, parse
from classifier.fit.requests.limitrange import Ranges, merged
from classifier.objects import LimitRange, Quantity

if TYPE_CHECKING:
    from classifier.fit.gang import Podset
    from classifier.fit.world import World


@dataclass(frozen=True, slots=True)
class Terms:
    """``overhead`` is that of the pod's RuntimeClass; None: it has none, or it is not known (which only adds).

    ``config`` None: Kueue's configuration is not known.
    """

    ranges: Ranges = field(default_factory=Ranges)
    overhead: Mapping[str, Quantity] | None = None
    config: KueueConfig | None = field(default_factory=KueueConfig)


def terms_for(podset: Podset, world: World) -> Terms:
    name = podset.spec.runtime_class_name
    runtime_class = world.runtime_classes.get(name) if name else None
    overhead = runtime_class.overhead if runtime_class else None
    config = parse(world.kueue_config) if world.kueue_config is not None else None
    return Terms(
        ranges=_RANGES.of(podset.namespace, world.limit_ranges, known=api.LIMIT_RANGES not in world.unread),
        overhead=overhead.pod_fixed if overhead else None,
        config=config if isinstance(config, KueueConfig) else None,
    )


class _RangesByNamespace:
    """Merged once for a version of the LimitRanges: the same mapping means the same answer (see ``World``)."""

    def __init__(self) -> None:
        self._kept: tuple[Mapping[str, LimitRange], bool, dict[str, Ranges]] = ({}, True, {})

    def of(self, namespace: str, limit_ranges: Mapping[str, LimitRange], *, known: bool) -> Ranges:
        version, whole, by_namespace = self._kept
        if version is not limit_ranges or whole is not known:
            found: dict[str, list[LimitRange]] = {}
            for one in limit_ranges.values():
                found.setdefault(one.namespace, []).append(one)
            by_namespace = {name: merged(ones, known=known) for name, ones in found.items()}
            self._kept = (limit_ranges, known, by_namespace)
        return by_namespace.get(namespace) or (_NONE if known else _UNKNOWN)


_NONE = Ranges()
_UNKNOWN = Ranges(known=False)
_RANGES = _RangesByNamespace()
