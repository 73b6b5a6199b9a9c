"""Which node groups are a pool's: by the ids the profile gives, else by how platforms name them.

(reference/capacity.md §2.2, §2.3)
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from classifier.objects import Pool

#: Labels whose value is the name of the node's pool, by platform; the first that a node has counts.
POOL_LABELS: Final[Mapping[str, tuple[str, ...]]] = {
    "aks": ("kubernetes.azure.com/agentpool", "agentpool"),
    "gke": ("cloud.google.com/gke-nodepool",),
    "eks": ("eks.amazonaws.com/nodegroup", "alpha.eksctl.io/nodegroup-name"),
    "karpenter": ("karpenter.sh/nodepool",),
}

_AKS: Final = re.compile(r"aks-([^/]+)-\d{8}-vmss", re.ASCII)
_EKS: Final = re.compile(r"eks-([^/]+)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)
#: The name of a managed instance group, whether alone or at the end of its URL; cluster and pool both may have hyphens.
_GKE: Final = re.compile(r"gke-([^/]+)-[0-9a-f]{8}-grp", re.ASCII)
_CAPI: Final = re.compile(r"Machine(?:Deployment|Set|Pool)/[^/]+/([^/]+)", re.ASCII)
#: Kubernetes names end before; what is longer is nobody's group and is not taken apart.
_MAX_NAME: Final = 512
_MAX_HYPHENS: Final = 32

_Key = tuple[str, str]


class Matched(NamedTuple):
    """Ids of groups. ``sure``: these, and no others, are the pool's groups."""

    names: tuple[str, ...]
    sure: bool


class GroupIndex:
    """Group ids by all they may be asked for. Costs a look at each group once, not once a pool."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names: set[str] = set()
        self._tails: dict[str, list[str]] = {}
        self._by_key: dict[_Key, list[str]] = {}
        for name in names:
            self._names.add(name)
            self._tails.setdefault(name.rpartition("/")[2], []).append(name)
            for key in _keys(name):
                self._by_key.setdefault(key, []).append(name)

    def of(self, pool: Pool) -> Matched:
        if pool.node_groups:
            return self._by_id(pool.node_groups)
        labels = pool.node_labels or {}
        for platform, keys in POOL_LABELS.items():
            value = next((labels[key] for key in keys if key in labels), None)
            found = self._by_key.get((platform, value)) if value is not None else None
            if found:
                # On GKE a cluster's name may end as a pool's does, so a match there is a guess.
                return Matched(tuple(found), platform in ("aks", "eks"))
        asked = [(kind, pool.name) for kind in ("aks", "eks", "gke", "capi", "")]
        asked += [("", value) for value in labels.values()]
        return Matched(tuple(dict.fromkeys(n for key in asked for n in self._by_key.get(key, ()))), False)

    def _by_id(self, ids: Iterable[str]) -> Matched:
        """All named groups that there are: whole ids, or the last part of a URL where only one group ends so."""
        found: dict[str, None] = {}
        sure = True
        for one in ids:
            tails = self._tails.get(one, ())
            if one in self._names:
                found[one] = None
            elif len(tails) == 1:
                found[tails[0]] = None
            else:
                sure = False
        return Matched(tuple(found), sure)


def _keys(name: str) -> Iterable[_Key]:
    if len(name) > _MAX_NAME:
        return
    yield "", name
    tail = name.rpartition("/")[2]
    if match := _AKS.fullmatch(tail):
        yield "aks", match[1]
    elif match := _EKS.fullmatch(tail):
        yield "eks", match[1]
    elif match := _CAPI.fullmatch(name):
        yield "capi", match[1]
    elif match := _GKE.fullmatch(tail):
        parts = match[1].split("-")
        for start in range(max(1, len(parts) - _MAX_HYPHENS), len(parts)):
            yield "gke", "-".join(parts[start:])
