"""Where a podset's pods must stand together: annotations of its template, or a Workload's ``topologyRequest``.

Kueue: pkg/controller/jobframework/tas.go; what counts as asked: pkg/workload/workload.go IsExplicitlyRequestingTAS.
"""

import re
from collections.abc import Mapping
from typing import Final

import msgspec

from classifier import api
from classifier.fit.gang import GangError, TopologyRequest
from classifier.objects import PodSetTopologyRequest, TopologyLayer

#: strconv.ParseBool's words.
_BOOLEANS: Final = frozenset(["1", "t", "T", "TRUE", "true", "True", "0", "f", "F", "FALSE", "false", "False"])
_MAX_LAYERS: Final = 3


def topology_asked(annotations: Mapping[str, str]) -> TopologyRequest | None:
    """What a pod template's annotations ask for; None for nothing. Raises GangError for what Kueue cannot read."""
    required = annotations.get(api.TOPOLOGY_REQUIRED)
    preferred = required is None and api.TOPOLOGY_PREFERRED in annotations
    unconstrained = None
    if required is None and not preferred:
        unconstrained = annotations.get(api.TOPOLOGY_UNCONSTRAINED)
        if unconstrained is not None and unconstrained not in _BOOLEANS:
            raise GangError(f"{api.TOPOLOGY_UNCONSTRAINED} is {unconstrained!r}, neither true nor false")
    slices = _slices(annotations)
    if required is None and not preferred and unconstrained is None and slices is None:
        return None
    return TopologyRequest(
        required=required,
        slice_level=slices.topology if slices else None,
        slice_size=slices.size if slices else None,
        group=annotations.get(api.PODSET_GROUP) if required is not None or preferred else None,
        asked=True,
    )


def topology_of_workload(request: PodSetTopologyRequest | None) -> TopologyRequest | None:
    """The same of a Workload's podset, which says it itself."""
    if request is None:
        return None
    layers = request.podset_slice_required_topology_constraints or []
    level, size = request.pod_set_slice_required_topology, request.pod_set_slice_size
    if layers:
        level, size = layers[0].topology, layers[0].size
    words = (request.required, request.preferred, request.unconstrained, level, size)
    if all(word is None for word in words):
        return None
    if size is not None and size < 1:
        raise GangError(f"slices of {size} pods are asked for")
    whole = level is not None and size is not None
    return TopologyRequest(
        required=request.required,
        slice_level=level if whole else None,
        slice_size=size if whole else None,
        group=request.pod_set_group_name,
        asked=True,
    )


def _slices(annotations: Mapping[str, str]) -> TopologyLayer | None:
    """The outermost slices: every pod stands in one of them, whatever slices they are cut into."""
    text = annotations.get(api.TOPOLOGY_SLICES)
    if text is not None:
        try:
            layers = msgspec.json.decode(text, type=list[TopologyLayer])
        except (msgspec.DecodeError, UnicodeEncodeError) as error:
            raise GangError(f"{api.TOPOLOGY_SLICES} is no list of topologies and sizes: {error}") from error
        if not 0 < len(layers) <= _MAX_LAYERS:
            raise GangError(f"{api.TOPOLOGY_SLICES} has {len(layers)} entries, not 1 to {_MAX_LAYERS}")
        return _sized(layers[0], api.TOPOLOGY_SLICES)
    level, size = annotations.get(api.TOPOLOGY_SLICE), annotations.get(api.TOPOLOGY_SLICE_SIZE)
    if level is None or size is None:
        return None
    if not re.fullmatch(r"\+?[0-9]{1,10}", size, re.ASCII):
        raise GangError(f"{api.TOPOLOGY_SLICE_SIZE} is {size[:32]!r}, not a number of pods")
    return _sized(TopologyLayer(topology=level, size=int(size)), api.TOPOLOGY_SLICE_SIZE)


def _sized(layer: TopologyLayer, key: str) -> TopologyLayer:
    if not 0 < layer.size < 2**31:
        raise GangError(f"{key} asks for slices of {layer.size} pods")
    return layer
