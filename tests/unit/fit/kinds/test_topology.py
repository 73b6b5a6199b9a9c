"""What a podset asks of the topology: annotations of its template, or a Workload's own request."""

from typing import Any

import pytest

from classifier import api
from classifier.fit.gang import GangError, TopologyRequest
from classifier.objects import Job, Workload
from tests.unit.fit.kinds.shapes import made, noted, only

RACK, BLOCK = "example.com/rack", "example.com/block"


def asked(**annotations: str) -> TopologyRequest | None:
    return only(made(Job, {"template": noted({getattr(api, key): text for key, text in annotations.items()})})).topology


def test_nothing_asked() -> None:
    assert asked() is None
    assert asked(PODSET_GROUP="gang") is None
    assert asked(TOPOLOGY_SLICE=RACK) is None  # slices have a level and a size
    assert asked(TOPOLOGY_SLICE_SIZE="2") is None


@pytest.mark.parametrize(
    ("annotations", "request_"),
    [
        ({"TOPOLOGY_REQUIRED": RACK}, TopologyRequest(RACK, asked=True)),
        ({"TOPOLOGY_PREFERRED": RACK}, TopologyRequest(asked=True)),
        ({"TOPOLOGY_UNCONSTRAINED": "true"}, TopologyRequest(asked=True)),
        ({"TOPOLOGY_REQUIRED": RACK, "TOPOLOGY_PREFERRED": BLOCK}, TopologyRequest(RACK, asked=True)),
        ({"TOPOLOGY_REQUIRED": RACK, "PODSET_GROUP": "gang"}, TopologyRequest(RACK, group="gang", asked=True)),
        ({"TOPOLOGY_PREFERRED": RACK, "PODSET_GROUP": "gang"}, TopologyRequest(group="gang", asked=True)),
        ({"TOPOLOGY_UNCONSTRAINED": "true", "PODSET_GROUP": "gang"}, TopologyRequest(asked=True)),
        (
            {"TOPOLOGY_PREFERRED": BLOCK, "TOPOLOGY_SLICE": RACK, "TOPOLOGY_SLICE_SIZE": "4"},
            TopologyRequest(slice_level=RACK, slice_size=4, asked=True),
        ),
        (
            {"TOPOLOGY_SLICE": RACK, "TOPOLOGY_SLICE_SIZE": "4"},
            TopologyRequest(slice_level=RACK, slice_size=4, asked=True),
        ),
        (
            {"TOPOLOGY_SLICES": f'[{{"topology": "{BLOCK}", "size": 8}}, {{"topology": "{RACK}", "size": 4}}]'},
            TopologyRequest(slice_level=BLOCK, slice_size=8, asked=True),
        ),
    ],
)
def test_annotations_of_the_template(annotations: dict[str, str], request_: TopologyRequest) -> None:
    assert asked(**annotations) == request_


@pytest.mark.parametrize(
    "annotations",
    [
        {"TOPOLOGY_UNCONSTRAINED": "yes"},
        {"TOPOLOGY_SLICE": RACK, "TOPOLOGY_SLICE_SIZE": "some"},
        {"TOPOLOGY_SLICE": RACK, "TOPOLOGY_SLICE_SIZE": "0"},
        {"TOPOLOGY_SLICES": "[]"},
        {"TOPOLOGY_SLICES": "rack"},
        {"TOPOLOGY_SLICES": '[{"size": 0}]'},
        {"TOPOLOGY_SLICES": "\ud800"},
    ],
)
def test_annotations_kueue_cannot_read(annotations: dict[str, str]) -> None:
    with pytest.raises(GangError, match="podset-"):
        asked(**annotations)


@pytest.mark.parametrize(
    ("given", "request_"),
    [
        (None, None),
        ({}, None),
        ({"podSetGroupName": "gang"}, None),
        (
            {"required": RACK, "podSetGroupName": "gang"},
            TopologyRequest(RACK, group="gang", asked=True),
        ),
        ({"preferred": RACK}, TopologyRequest(asked=True)),
        ({"unconstrained": True}, TopologyRequest(asked=True)),
        (
            {"podSetSliceRequiredTopology": RACK, "podSetSliceSize": 2},
            TopologyRequest(slice_level=RACK, slice_size=2, asked=True),
        ),
        (
            {"podsetSliceRequiredTopologyConstraints": [{"topology": BLOCK, "size": 4}, {"topology": RACK, "size": 2}]},
            TopologyRequest(slice_level=BLOCK, slice_size=4, asked=True),
        ),
    ],
)
def test_a_workload_says_it_itself(given: dict[str, Any] | None, request_: TopologyRequest | None) -> None:
    podset = {"template": noted({api.TOPOLOGY_REQUIRED: "elsewhere"}), "topologyRequest": given}
    assert only(made(Workload, {"podSets": [podset]})).topology == request_
