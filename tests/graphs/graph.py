"""The input of one classification as JSON, and how it is decoded."""

from typing import Any, Final

import msgspec

from classifier.objects import Meta, Node, Pod, PodGroup, Workload
from classifier.state.case import Case
from classifier.state.gather import group_of
from classifier.state.kinds import KINDS, KindView
from classifier.state.kinds.podgroup import VIEW as POD_GROUP
from classifier.state.settings import Settings
from tests.graphs.values import Json

#: Every kind that can be explained: a new one joins by its line in the table.
VIEWS: Final[dict[str, KindView]] = {view.resource.kind: view for view in (*KINDS.values(), POD_GROUP)}


class Graph(msgspec.Struct, kw_only=True):
    """``children`` by kind, for items of a list carry none. Without ``nodes``, Nodes may not be read."""

    seed: int
    kind: str
    settings: Settings
    job: Json
    children: list[tuple[str, Json]] = []
    workloads: list[Json] = []
    pods: list[Json] = []
    captured: list[Json] = []
    nodes: list[Json] | None = None

    @property
    def view(self) -> KindView:
        return VIEWS[self.kind]

    def case(self) -> Case:
        """Decoded, as it comes from the wire."""
        job: Any = decode(self.job, self.view.type_)
        pods = tuple(decode(raw, Pod) for raw in self.pods)
        if self.view.type_ is PodGroup:
            job = group_of(pods) or PodGroup()
        elif self.view.type_ is Pod:
            pods = (job,)
        return Case(
            job=job,
            view=self.view,
            children=tuple(decode(raw, VIEWS[kind].type_) for kind, raw in self.children),
            workloads=tuple(decode(raw, Workload) for raw in self.workloads),
            pods=pods,
            captured=tuple(decode(raw, Pod) for raw in self.captured),
            nodes=None if self.nodes is None else {n.name: n for n in (decode(raw, Node) for raw in self.nodes)},
        )


def decode(raw: Json, type_: type[Meta]) -> Any:
    return msgspec.json.decode(msgspec.json.encode(raw), type=type_)
