"""Whether a Job that Muster denied for want of nodes could have been placed after all, told without Muster's own code.

Only what can be counted by hand is judged: equal pods that go anywhere, on equal empty nodes of the one pool that the
denial names. Everything else is for the soundness tests, which search.
"""

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any, Final

from kubernetes.utils.quantity import parse_quantity

Object = Mapping[str, Any]

_SAID: Final = re.compile(r"preflight: gang needs \d+ node\(s\) of (\S+) \(max \d+\): cannot fit")
#: What narrows the choice of nodes.
_NARROW: Final = ("nodeSelector", "affinity", "topologySpreadConstraints", "nodeName", "resourceClaims", "volumes")


def wrongly_denied(job: Object, message: str, profiles: Iterable[Object]) -> str | None:
    """Where the pods of a denied Job would have stood; None where they would not, or it is not so simple."""
    said = _SAID.search(message)
    spec = job.get("spec", {})
    template = spec.get("template") or {}
    pod = template.get("spec") or {}
    if said is None or any(pod.get(field) for field in _NARROW) or (template.get("metadata") or {}).get("annotations"):
        return None
    pools = [pool for profile in profiles for pool in profile["spec"].get("pools") or () if pool["name"] == said[1]]
    if len(pools) != 1 or pools[0].get("maxNodes") is None or pools[0]["node"].get("taints"):
        return None
    (pool,) = pools
    count = min(spec.get("parallelism", 1), spec.get("completions") or spec.get("parallelism", 1))
    nodes = -(-count // max(1, _on_one(pod, pool["node"].get("allocatable") or {}, count)))
    if _on_one(pod, pool["node"].get("allocatable") or {}, count) and nodes <= pool["maxNodes"]:
        return f"its {count} pod(s) stand on {nodes} node(s) of {said[1]}, which may have {pool['maxNodes']}"
    return None


def _on_one(pod: Object, allocatable: Mapping[str, str], count: int) -> int:
    """How many of these pods an empty node holds; what is not declared does not bind."""
    needs: dict[str, Decimal] = {"pods": Decimal(1)}
    for container in pod.get("containers") or ():
        resources = container.get("resources") or {}
        for name, quantity in {**(resources.get("limits") or {}), **(resources.get("requests") or {})}.items():
            needs[name] = needs.get(name, Decimal(0)) + parse_quantity(quantity)
    offers = {name: parse_quantity(quantity) for name, quantity in allocatable.items()}
    fits = [int(offers[name] // need) for name, need in needs.items() if need and name in offers]
    return min(fits, default=count)
