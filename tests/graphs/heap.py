"""A heap of objects: several jobs in two namespaces, some of them gone, and what is asked of it."""

from collections.abc import Sequence
from random import Random
from typing import Final

import msgspec

from classifier import api
from classifier.api import Resource
from classifier.cluster.snapshot import TYPES, Snapshot
from classifier.objects import Meta, Pod
from classifier.state.settings import Settings
from tests.graphs.graph import VIEWS, decode
from tests.graphs.making import Maker, random_settings
from tests.graphs.values import NAMESPACE, Json, chance

NAMESPACES: Final = (NAMESPACE, "other")
#: Jobs to ask for: of the names there are, and of names that others begin with.
JOBS: Final = ("train", "train-big", "pi", "x", "a.b", "odd", "other", "tra", "")
_RESOURCES: Final[dict[str, Resource]] = {resource.kind: resource for resource in TYPES}


class Heap(msgspec.Struct, kw_only=True):
    """``documents`` by kind, each name once; ``captured`` by the UID of its job."""

    seed: int
    settings: Settings
    documents: list[tuple[str, Json]] = []
    captured: dict[str, list[Json]] = {}
    nodes: bool = True

    def read(self) -> Snapshot:
        """As files or a cluster would give it."""
        found = Snapshot()
        for kind, raw in self.documents:
            found.add(_RESOURCES[kind], decode(raw, TYPES[_RESOURCES[kind]]))
        if not self.nodes:
            found.refuse(api.NODES, "Nodes may not be read")
        return found

    def dead(self, job: Meta) -> Sequence[Pod]:
        return [decode(raw, Pod) for raw in self.captured.get(job.uid, ())]

    def names(self, kind: str) -> list[tuple[str, str]]:
        """Namespace and name of all of a kind."""
        metadata = [raw["metadata"] for k, raw in self.documents if k == kind]
        return [(m.get("namespace") or "", m["name"]) for m in metadata]


def resource_of(kind: str) -> Resource:
    return _RESOURCES[kind]


def heap(seed: int) -> Heap:
    """The same seed, the same heap."""
    random = Random(seed)
    settings = random_settings(random)
    documents: dict[tuple[str, str, str], Json] = {}
    captured: dict[str, list[Json]] = {}
    copied = {api.WORKLOADS.kind, api.PODS.kind, api.JOBSETS.kind, api.JOBS.kind, api.RAY_CLUSTERS.kind}

    def add(kind: str, raw: Json) -> None:
        documents.setdefault((kind, raw["metadata"].get("namespace", ""), raw["metadata"]["name"]), raw)
        if kind in copied and chance(random, 0.1):
            # A manifest that somebody copied to another namespace, labels and owners included.
            namespace = next(n for n in NAMESPACES if n != raw["metadata"]["namespace"])
            copy = raw | {"metadata": raw["metadata"] | {"namespace": namespace, "uid": f"copy-{len(documents)}"}}
            documents.setdefault((kind, namespace, raw["metadata"]["name"]), copy)

    for number in range(random.choice((1, 2, 3, 4))):
        # Half of them TrainJobs: those alone leave orphans.
        kind = api.TRAIN_JOBS.kind if chance(random, 0.5) else random.choice(tuple(VIEWS))
        maker = Maker(random, VIEWS[kind], settings, f"-{number}-", random.choice(NAMESPACES))
        graph = maker.graph(seed)
        if kind in _RESOURCES and not chance(random, 0.3):
            add(kind, graph.job)
        captured[maker.uids[0]] = graph.captured
        for child, raw in graph.children:
            add(child, raw)
        for kind, raws in ((api.WORKLOADS.kind, graph.workloads), (api.PODS.kind, graph.pods)):
            for raw in raws:
                add(kind, raw)
        for raw in graph.nodes or ():
            add(api.NODES.kind, raw)
        if chance(random, 0.5):
            add(api.TRAINING_RUNTIMES.kind, maker.runtime())
    for check in ("prov", "budget"):
        controller = random.choice((api.PROVISIONING_CONTROLLER, "odd", ""))
        add(api.ADMISSION_CHECKS.kind, {"metadata": {"name": check}, "spec": {"controllerName": controller}})
    return Heap(
        seed=seed,
        settings=settings,
        documents=[(kind, raw) for (kind, _, _), raw in documents.items()],
        captured=captured,
        nodes=not chance(random, 0.15),
    )
