"""One job and what hangs on it, at random. The same seed makes the same graph."""

from collections.abc import Sequence
from functools import cache
from random import Random
from typing import Final

import msgspec

from classifier import api
from classifier.api import Resource
from classifier.objects import Meta, Node, Pod, PodGroup, Workload
from classifier.objects.meta import Conditioned
from classifier.state.kinds import KindView
from classifier.state.kinds.podgroup import GROUP_NAME, TOTAL_COUNT
from classifier.state.kinds.view import Labels, Selection
from classifier.state.settings import Mode, Settings
from tests.graphs import values
from tests.graphs.graph import VIEWS, Graph, decode
from tests.graphs.shapes import conditions, shape
from tests.graphs.values import NAMESPACE, NUMBERS, PREFIX, TIMES, Json, chance, some

#: Labels by which pods say what they are part of.
_PART_OF: Final = ("jobset.sigs.k8s.io/jobset-uid", "batch.kubernetes.io/controller-uid")
_ATTEMPT: Final = "jobset.sigs.k8s.io/restart-attempt"
_OTHER: Final = {"apiVersion": "v1", "kind": "ConfigMap", "name": "odd", "uid": "nobody"}


def graph(seed: int, kind: str | None = None) -> Graph:
    """Of that kind, or of any."""
    random = Random(seed)
    # Most rules are about TrainJobs.
    any_kind = api.TRAIN_JOBS.kind if chance(random, 0.2) else random.choice(tuple(VIEWS))
    return Maker(random, VIEWS[kind or any_kind], random_settings(random)).graph(seed)


def random_settings(random: Random) -> Settings:
    return Settings(
        mode=random.choice(tuple(Mode)),
        prefix=PREFIX if chance(random, 0.9) else "example.org/",
        capacity_checks=frozenset(some(random, ("prov", "budget"), 2)),
        runtime=random.choice((None, None, "{name}", "torch")),
        max_other_ranks=random.choice((None, None, None, 0, 1, 3)),
    )


@cache
def conditioned(type_: type[Meta]) -> bool:
    """Whether its status has conditions."""
    status = getattr(msgspec.json.decode(b'{"status": {}}', type=type_), "status", None)
    return isinstance(status, Conditioned)


class Maker:
    """What the objects of one graph agree on: names, UIDs, keys. ``tag`` keeps the UIDs of several graphs apart."""

    def __init__(
        self, random: Random, view: KindView, settings: Settings, tag: str = "", namespace: str = NAMESPACE
    ) -> None:
        self.random = random
        self.view = view
        self.settings = settings
        self.tag = tag
        self.namespace = namespace
        self.name = random.choice(values.JOB_NAMES)
        self.uids = [f"job{tag}"]

    def graph(self, seed: int) -> Graph:
        random, view = self.random, self.view
        job = self.job()
        struct = decode(job, view.type_)
        selections = view.children(struct)
        count = random.choice((0, 1, 1, 2, 4)) if selections else 0
        children = [self.child(random.choice(selections), f"child{self.tag}-{n}") for n in range(count)]
        wanted = view.pods(struct, self.settings)
        pods = [
            self.pod(f"p{self.tag}{n}", f"pod{self.tag}-{n}", wanted) for n in range(random.choice((0, 1, 2, 2, 3, 5)))
        ]
        captured = [
            self.pod(f"p{self.tag}{random.randint(0, 6)}", f"dead{self.tag}-{n}", wanted)
            for n in range(random.choice((0, 0, 1, 3)))
        ]
        if pods and captured and chance(random, 0.2):
            captured[0]["metadata"]["uid"] = pods[0]["metadata"]["uid"]
        if view.type_ is PodGroup:
            pods = self.group(pods or [self.pod(f"p{self.tag}0", f"pod{self.tag}-0", wanted)])
        elif len(pods) > 1 and chance(random, 0.05):
            pods[-1]["metadata"]["name"] = pods[0]["metadata"]["name"]
        workloads = [self.workload(f"wl{self.tag}-{n}") for n in range(random.choice((0, 1, 1, 1, 1, 2, 3)))]
        nodes = [self.node(name) for name in some(random, values.NODES[:-1], 3)]
        return Graph(
            seed=seed,
            kind=view.resource.kind,
            settings=self.settings,
            job=job,
            children=children,
            workloads=workloads,
            pods=pods,
            captured=captured,
            nodes=None if chance(random, 0.15) else nodes,
        )

    # --- the objects --------------------------------------------------------------------------------------------------

    def job(self) -> Json:
        random, view = self.random, self.view
        if view.type_ is Pod:
            made = self.pod(self.name, self.uids[0], ())
        else:
            made = self.named(shape(view.type_)(random), view.resource)
            made["metadata"] = self.metadata(self.name, self.uids[0], self.dispatch_labels())
            ends = [random.choice(values.TERMINAL)] if chance(random, 0.4) else []
            types = (*sorted(view.known - {*values.TERMINAL}), *ends, *ends, "Odd")
            self.add_conditions(made, view.type_, types, 4)
        metadata = made["metadata"]
        metadata["annotations"] = metadata.get("annotations", {}) | self.job_annotations()
        if chance(random, 0.1):
            metadata["ownerReferences"] = self.owners(None)
        return made

    def job_annotations(self) -> dict[str, str]:
        settings = self.settings
        gates = ("", settings.gate, f"example.com/a,{settings.gate}", "example.com/a,example.com/b", " ,,\n")
        return self.maybe(
            (0.25, api.ADMISSION_GATED_BY, gates),
            (0.2, settings.plain_gate, ("closed", "", "two\nlines")),
            (0.25, settings.hold_instance, NUMBERS),
        )

    def child(self, selection: Selection, uid: str) -> tuple[str, Json]:
        random = self.random
        kind = selection.resource.kind
        made = self.named(shape(VIEWS[kind].type_)(random), selection.resource)
        name = selection.name if selection.name is not None and chance(random, 0.9) else f"{self.name}-node-0"
        made["metadata"] = self.metadata(name, uid, dict(selection.labels))
        made["metadata"]["ownerReferences"] = self.owners(random.choice(self.uids))
        ends = [random.choice(values.TERMINAL)] if chance(random, 0.4) else []
        self.add_conditions(made, VIEWS[kind].type_, ("RestartingJobSet", "Suspended", *ends, "Odd"), 3)
        self.uids.append(uid)
        return kind, made

    def workload(self, uid: str) -> Json:
        random = self.random
        made = self.named(shape(Workload)(random), api.WORKLOADS)
        name = random.choice((f"{self.view.resource.kind.lower()}-{self.name}-{uid}", uid))
        made["metadata"] = self.metadata(name, uid, {api.JOB_UID: self.uids[0]})
        marker = f"2026-11-29T10:00:00Z attempt=1 uid={uid}"
        made["metadata"]["annotations"] = self.maybe(
            (0.3, self.settings.hold_instance, NUMBERS),
            (0.2, api.COMMITTED, (marker, marker, "2026-11-29T10:00:00Z", "soon attempt=1 uid=" + uid, "")),
        )
        made["metadata"]["ownerReferences"] = self.owners(self.uids[0])
        self.add_conditions(made, Workload, values.WORKLOAD_TYPES, 5)
        return made

    def pod(self, name: str, uid: str, wanted: Sequence[Labels]) -> Json:
        random = self.random
        made = self.named(shape(Pod)(random), api.PODS)
        labels = dict(random.choice(wanted)) if wanted and chance(random, 0.85) else {}
        labels |= self.dispatch_labels() if chance(random, 0.6) else {}
        part_of = random.choice(self.uids) if chance(random, 0.85) else "nobody"
        labels |= self.maybe(
            *((0.5, key, (part_of, part_of, part_of, "")) for key in _PART_OF),
            (0.7, _ATTEMPT, NUMBERS[:4] if chance(random, 0.8) else NUMBERS),
            (0.1, "jobset.sigs.k8s.io/jobset-name", (self.name, "other", "")),
        )
        made["metadata"] = self.metadata(name, uid, labels)
        admissions = NUMBERS[:4] if chance(random, 0.8) else NUMBERS
        made["metadata"]["annotations"] = self.maybe(
            (0.7, self.settings.admission, admissions), (0.2, api.ADMISSION_COUNT, admissions)
        )
        made["metadata"]["ownerReferences"] = self.owners(part_of)
        self.add_conditions(made, Pod, values.POD_TYPES, 3)
        statuses = (made.get("status") or {}).get("containerStatuses") or []
        if statuses and chance(random, 0.8):
            # What a pod with a status must have: a spec that names its containers, the first of them alone at times.
            made["spec"] = (made.get("spec") or {}) | {"containers": [{"name": s["name"]} for s in statuses]}
        return made

    def group(self, pods: list[Json]) -> list[Json]:
        """Members of one group, which say how many there are."""
        random = self.random
        total = random.choice((str(len(pods)), str(len(pods)), *NUMBERS))
        for pod in pods:
            metadata = pod["metadata"]
            metadata["annotations"] |= {GROUP_NAME: self.name} | self.maybe(
                (0.8, TOTAL_COUNT, (total,)),
                (0.2, "kueue.x-k8s.io/pod-group-serving", ("true", "false", "")),
                (0.3, "kueue.x-k8s.io/retriable-in-group", ("false", "true", "")),
            )
        return pods

    def node(self, name: str) -> Json:
        made = self.named(shape(Node)(self.random), api.NODES)
        made["metadata"] = {"name": name, "uid": f"node-{name}"}
        self.add_conditions(made, Node, ("Ready", "Ready", "Ready", "MemoryPressure"), 2)
        return made

    def runtime(self) -> Json:
        """A copy made for a submission."""
        made: Json = {"metadata": self.metadata(self.name, f"runtime{self.tag}", self.dispatch_labels())}
        made["metadata"]["ownerReferences"] = self.owners(self.uids[0])
        return self.named(made, api.TRAINING_RUNTIMES)

    # --- what they are made of ----------------------------------------------------------------------------------------

    def metadata(self, name: str, uid: str, labels: dict[str, str]) -> Json:
        random = self.random
        made: Json = {"name": name, "namespace": self.namespace, "uid": "" if chance(random, 0.01) else uid}
        if labels or chance(random, 0.3):
            made["labels"] = labels
        if chance(random, 0.8):
            made["creationTimestamp"] = random.choice(TIMES)
        if chance(random, 0.1):
            made["deletionTimestamp"] = random.choice(TIMES)
            made["finalizers"] = some(random, ("b.io/x", "a.io/y", "foregroundDeletion"), 3)
        return made

    def owners(self, likely: str | None) -> list[Json]:
        """Of whom at most one controls: mostly the likely one, else anybody, who may not exist."""
        random = self.random
        uid = (
            likely
            if likely is not None and chance(random, 0.8)
            else random.choice((*self.uids, "nobody", "no\r\nbody;"))
        )
        kind = random.choice((self.view.resource, self.view.resource, api.JOBSETS, api.TRAIN_JOBS))
        owner: Json = {"apiVersion": kind.api_version, "kind": kind.kind, "name": self.name, "uid": uid}
        owner |= random.choice(
            ({"controller": True}, {"controller": True}, {"controller": True}, {"controller": False}, {})
        )
        return random.choice(([owner], [owner], [owner], [_OTHER, owner], [_OTHER], []))

    def dispatch_labels(self) -> dict[str, str]:
        stem, _, number = self.name.rpartition("-")
        right = (number if number.isdigit() else "3",)
        return self.maybe(
            (0.5, self.settings.job_id, (stem or self.name, stem or self.name, stem or self.name, "other", "")),
            (0.5, self.settings.submission, right * 20 + NUMBERS),
        )

    def add_conditions(self, made: Json, type_: type[Meta], types: tuple[str, ...], most: int) -> None:
        """To a status that is there, most of the time."""
        if conditioned(type_) and made.get("status") is not None and not chance(self.random, 0.1):
            made["status"]["conditions"] = conditions(self.random, types, most)

    def named(self, made: Json, resource: Resource) -> Json:
        """Items of a list carry no kind."""
        names = {"apiVersion": resource.api_version, "kind": resource.kind}
        return made if chance(self.random, 0.3) else names | made

    def maybe(self, *choices: tuple[float, str, Sequence[str]]) -> dict[str, str]:
        random = self.random
        return {key: random.choice(among) for likely, key, among in choices if chance(random, likely)}
