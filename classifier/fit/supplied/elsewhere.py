"""Pools that a flavor's own profiles do not list, though its pods may use them: those of other flavors' profiles.

Kueue ties a pod to a flavor by the flavor's labels alone. A node that is declared for another flavor and has them all
takes it too, whether it stands yet or not; that a profile is closed does not make it vanish. Such a pool enters proofs
and no promise: it is for others. What stands of it may have less than is declared, until its devices are up again: the
pool speaks for these nodes too.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from classifier.fit.supplied.pools import Pool, labels_of
from classifier.objects import CapacityProfile, ResourceFlavor


class Declared:
    """The flavors of all profiles by the labels of their pools: made once for a state of profiles and flavors."""

    def __init__(self, profiles: Iterable[CapacityProfile], flavors: Mapping[str, ResourceFlavor]) -> None:
        self._pools: list[tuple[str, Mapping[str, str]]] = []
        self._by_label: dict[tuple[str, str], list[int]] = {}
        for profile in profiles:
            flavor = flavors.get(profile.spec.flavor)
            own = (flavor.spec.node_labels if flavor is not None and flavor.spec else None) or {}
            for pool in profile.spec.pools or ():
                labels = labels_of(pool, own)
                for item in labels.items():
                    self._by_label.setdefault(item, []).append(len(self._pools))
                self._pools.append((profile.spec.flavor, labels))

    def flavors_with(self, labels: Mapping[str, str]) -> list[str]:
        """Those of which some pool surely has all these labels, in the order of the profiles."""
        some = min((self._by_label.get(item, []) for item in labels.items()), key=len, default=range(len(self._pools)))
        found = (self._pools[at] for at in some)
        return list(dict.fromkeys(flavor for flavor, have in found if labels.items() <= have.items()))


def borrowed(pool: Pool, flavor: str) -> Pool:
    """The pool as pods of another flavor see it. None of its nodes is promised."""
    return replace(
        pool,
        declared_nodes=0,
        sure_nodes=0,
        ready=0,
        lower={},
        facts=(),
        borrowed_of=pool,
        flavor=flavor,
    )
