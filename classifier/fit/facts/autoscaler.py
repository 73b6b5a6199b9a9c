"""The ``cluster-autoscaler-status`` ConfigMap: YAML since Cluster Autoscaler 1.30, text before (reference §2.3).

Anybody who may write the ConfigMap chooses its text, so nothing in it is trusted: its size and depth are bounded, YAML
aliases are refused, every figure is checked. What cannot be read says nothing.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final

from classifier.fit.facts import status_text, status_yaml
from classifier.fit.facts.fact import PoolFacts
from classifier.fit.facts.groups import GroupIndex
from classifier.fit.facts.reading import Group, Reading, Unreadable, parse_time
from classifier.objects import ConfigMap, Pool

LAST_UPDATED: Final = "cluster-autoscaler.kubernetes.io/last-updated"
#: etcd takes no more in one value; Cluster Autoscaler itself stops at 1,000,000 bytes and leaves groups out.
MAX_LENGTH: Final = 1536 * 1024


@dataclass(frozen=True, slots=True)
class AutoscalerStatus:
    """Its groups by id. ``fault``: why there is nothing to read, for people."""

    source: str
    running: bool = False
    observed_at: int | None = None
    groups: Mapping[str, Group] = field(default_factory=dict)
    fault: str | None = None


@lru_cache(maxsize=2)
def _read(text: str) -> Reading:
    """Of a thousand groups it takes a fifth of a second, and a judgement and the profiles' status ask of one text."""
    return status_text.read(text) if status_text.is_text(text) else status_yaml.read(text)


def parse(config_map: ConfigMap) -> AutoscalerStatus:
    """Read it once; never raises. Of a group that is listed twice the larger maximum stands."""
    source = f"ConfigMap/{config_map.key}"
    text = (config_map.data or {}).get("status")
    if not text:
        return AutoscalerStatus(source, fault="it has no key status")
    if len(text) > MAX_LENGTH:
        return AutoscalerStatus(source, fault=f"its status is longer than {MAX_LENGTH} characters")
    try:
        reading = _read(text)
    except Unreadable as error:
        return AutoscalerStatus(source, fault=str(error))
    observed_at = reading.observed_at
    if observed_at is None:
        observed_at = parse_time(config_map.annotation(LAST_UPDATED))
    # Of unknown age it can only raise bounds, like what is stale.
    running = reading.running and observed_at is not None
    return AutoscalerStatus(source, running, observed_at, _by_name(reading))


def _by_name(reading: Reading) -> dict[str, Group]:
    groups: dict[str, Group] = {}
    for group in reading.groups:
        before = groups.get(group.name)
        if before is not None:
            sizes = [size for size in (before.max_size, group.max_size) if size is not None]
            group = replace(group, max_size=max(sizes, default=None))
        groups[group.name] = group
    return groups


class AutoscalerPools:
    """The status, with its groups by the pools they belong to."""

    def __init__(self, status: AutoscalerStatus) -> None:
        self._status = status
        self._index = GroupIndex(status.groups)

    def of(self, pool: Pool) -> PoolFacts | None:
        """The groups of a pool summed (GKE has one a zone); None where no group is known to be its."""
        names, sure = self._index.of(pool)
        groups = [self._status.groups[name] for name in names]
        if not groups:
            return None
        sizes = [group.max_size for group in groups]
        known = [size for size in sizes if size is not None]
        held = [group.backoff for group in groups if group.backoff is not None]
        all_held = len(held) == len(groups)
        return PoolFacts(
            source=self._status.source,
            observed_at=self._status.observed_at,
            max_nodes=sum(known) if known else None,
            target=_sum(group.target for group in groups) if sure else None,
            nodes=_sum(group.registered for group in groups) if sure else None,
            ready=_sum(group.ready for group in groups) if sure else None,
            # One zone in backoff leaves the others to grow.
            backoff=held[0] if all_held else None,
            hint=f"{len(held)} of {len(groups)} node groups in backoff" if held and not all_held else None,
            binds=sure and len(known) == len(sizes),
            running=self._status.running,
        )


def _sum(figures: Iterable[int | None]) -> int | None:
    """None where one of them is not known."""
    total = 0
    for figure in figures:
        if figure is None:
            return None
        total += figure
    return total
