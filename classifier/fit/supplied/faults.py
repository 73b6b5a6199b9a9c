"""Profiles that contradict themselves or the flavor they stand behind: whose fault, and which field.

The CRD refuses most of it, files and older objects may still carry it. A fault never denies: what cannot be read counts
as unknown, and a verdict that would rest on it becomes ``misconfigured`` with the field named.
"""

from collections.abc import Iterator, Mapping, Sequence

from classifier.objects import CapacityProfile, NodeShape, Pool, Quantity, ResourceFlavor
from classifier.quantity import QuantityError, amount

_MODES = (None, "Enforce", "Warn", "Off")


def legible(quantities: Mapping[str, Quantity] | None) -> dict[str, int]:
    """The amounts that can be read; the others are left out, which makes them unknown."""
    found = {}
    for resource, quantity in (quantities or {}).items():
        value = _amount(resource, quantity)
        if value is not None:
            found[resource] = value
    return found


def readable(quantities: Mapping[str, Quantity] | None) -> bool:
    return all(_amount(resource, quantity) is not None for resource, quantity in (quantities or {}).items())


def faults(flavor: ResourceFlavor, profiles: Sequence[CapacityProfile]) -> list[str]:
    """Every fault of the profiles that stand behind the flavor, as ``CapacityProfile x: field is value``."""
    found = [f"CapacityProfile {profile.name}: {fault}" for profile in profiles for fault in _faults(profile, flavor)]
    closed = [profile.name for profile in profiles if profile.spec.closed]
    if len(closed) > 1:
        found.append(f"CapacityProfiles {', '.join(closed)} each say that flavor {flavor.name} is closed")
    return found


def _faults(profile: CapacityProfile, flavor: ResourceFlavor) -> Iterator[str]:
    spec = profile.spec
    if spec.preflight not in _MODES:
        yield f"spec.preflight is {spec.preflight!r}, not Enforce, Warn or Off"
    if not spec.pools:
        yield "spec.pools is empty"
    names = [pool.name for pool in spec.pools or ()]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f"spec.pools lists {name!r} twice"
    for index, pool in enumerate(spec.pools or ()):
        yield from _pool_faults(pool, f"spec.pools[{index}]", flavor)


def _pool_faults(pool: Pool, path: str, flavor: ResourceFlavor) -> Iterator[str]:
    if pool.max_nodes is not None and pool.max_nodes < 0:
        yield f"{path}.maxNodes is {pool.max_nodes}"
    shape = pool.node or NodeShape()
    for name, quantities in (("allocatable", shape.allocatable), ("daemonSetReserve", shape.daemon_set_reserve)):
        for resource, quantity in (quantities or {}).items():
            if _amount(resource, quantity) is None:
                yield f"{path}.node.{name}[{resource}] is {str(quantity)[:32]!r}"
    for key, value in (shape.labels or {}).items():
        if (pool.node_labels or {}).get(key, value) != value:
            yield f"{path}.node.labels[{key}] differs from nodeLabels"
    for key, value in ((flavor.spec.node_labels if flavor.spec else None) or {}).items():
        declared = {**(shape.labels or {}), **(pool.node_labels or {})}
        if declared.get(key, value) != value:
            yield f"{path} has {key}={declared[key]}, ResourceFlavor {flavor.name} has {key}={value}"


def _amount(resource: str, quantity: Quantity) -> int | None:
    try:
        value = amount(resource, quantity)
    except QuantityError:
        return None
    return value if value >= 0 else None
