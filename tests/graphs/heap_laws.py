"""What holds of every heap, whatever lies in it, and whoever asks for what."""

import itertools
from collections.abc import Callable, Sequence
from random import Random
from typing import Final, NamedTuple

import msgspec

from classifier import api
from classifier.cluster.snapshot import Snapshot
from classifier.objects import JobSet, Meta, Pod, TrainingRuntime, TrainJob
from classifier.state import job_of, orphans
from classifier.state.gather import find_in, inspect_in
from classifier.state.observation import CauseKind, Explanation
from tests.graphs.heap import JOBS, NAMESPACES, Heap, resource_of
from tests.graphs.laws import SEEN_AT, ask, asking, differs, mixed, plain_truths

_ORPHANS: Final = {"JobSet": JobSet, "Pod": Pod, "TrainingRuntime": TrainingRuntime}


class Asked(NamedTuple):
    heap: Heap
    objects: Snapshot
    #: What was found, by namespace and job.
    found: dict[tuple[str, str], list[Explanation]]

    def again(self, heap: Heap) -> dict[tuple[str, str], list[Explanation]]:
        return everything(heap, heap.read())


def everything(heap: Heap, objects: Snapshot) -> dict[tuple[str, str], list[Explanation]]:
    return {
        (namespace, job): find_in(objects, namespace, job, heap.settings, SEEN_AT, heap.dead)
        for namespace in NAMESPACES
        for job in JOBS
    }


def check_heap(heap: Heap) -> int:
    """Raise :class:`Broken`, whatever is wrong; else how many explanations there were."""
    who = f"heap({heap.seed})"
    with asking(who, "find_in"):
        objects = heap.read()
        asked = Asked(heap, objects, everything(heap, objects))
    ask(who, LAWS, asked)
    return sum(map(len, asked.found.values()))


def the_heap_is_left_as_it_was(asked: Asked) -> str | None:
    """By the laws asked before this one, too."""
    return differs(_encoded(asked.objects), _encoded(asked.heap.read()))


def _encoded(objects: Snapshot) -> list[bytes]:
    return [msgspec.json.encode(obj) for _, obj in objects]


def plain_truths_of_all(asked: Asked) -> str | None:
    return next((why for said in asked.found.values() for one in said if (why := plain_truths(one))), None)


def trainjobs_first_then_orphans(asked: Asked) -> str | None:
    for said in asked.found.values():
        seen = [one.observation for one in said]
        live = [o for o in seen if o.ref.kind == api.TRAIN_JOBS.kind]
        rest = seen[len(live) :]
        if seen[: len(live)] != live:
            return f"{seen}"
        if live != sorted(live, key=lambda o: (o.submission is None, o.submission or 0, o.ref.name)):
            return f"not by submission: {live}"
        if rest != sorted(rest, key=lambda o: (o.ref.kind, o.ref.name)):
            return f"not by kind and name: {rest}"
        odd = [o for o in rest if not o.foreign or o.cause.kind is not CauseKind.UNKNOWN or o.ref.kind not in _ORPHANS]
        if odd:
            return f"no orphans: {odd}"
    return None


def each_trainjob_is_found_once_for_its_job(asked: Asked) -> str | None:
    for trainjob in asked.objects.of(api.TRAIN_JOBS, TrainJob).values():
        for job in JOBS:
            said = asked.found[trainjob.namespace, job]
            times = sum((o.observation.ref.kind, o.observation.ref.name) == ("TrainJob", trainjob.name) for o in said)
            if times != (job_of(trainjob, asked.heap.settings) == job):
                return f"{trainjob.name} is found {times} times for {job}"
    return None


def an_orphan_is_in_the_heap_and_of_its_namespace(asked: Asked) -> str | None:
    for (namespace, _), said in asked.found.items():
        for ref in (one.observation.ref for one in said):
            if ref.namespace != namespace or (namespace, ref.name) not in asked.heap.names(ref.kind):
                return f"{ref} in {namespace}"
    return None


def orphans_take_whatever_there_is(asked: Asked) -> str | None:
    """All objects of a namespace, in any order."""
    random = Random(asked.heap.seed)

    def found(namespace: str, job: str, order: Callable[[list[Meta]], list[Meta]]) -> Sequence[Explanation]:
        lists = {
            name: order([obj for _, obj in asked.objects if type(obj) is type_ and obj.namespace == namespace])
            for name, type_ in (
                *(("trainjobs", TrainJob), ("jobsets", JobSet), ("pods", Pod)),
                ("runtimes", TrainingRuntime),
            )
        }
        return orphans(job, **lists, settings=asked.heap.settings, seen_at=SEEN_AT)  # type: ignore[arg-type]

    for namespace, job in itertools.product(NAMESPACES, JOBS):
        said = found(namespace, job, list)
        if why := next((why for one in said if (why := plain_truths(one))), None):
            return why
        if why := differs(found(namespace, job, lambda objects: mixed(objects, random)), said):
            return why
    return None


def no_order_matters(asked: Asked) -> str | None:
    documents = mixed(list(asked.heap.documents), Random(asked.heap.seed))
    return differs(asked.again(msgspec.structs.replace(asked.heap, documents=documents)), asked.found)


def another_namespace_does_not_matter(asked: Asked) -> str | None:
    for namespace in NAMESPACES:
        here = [(k, raw) for k, raw in asked.heap.documents if raw["metadata"].get("namespace", namespace) == namespace]
        again = asked.again(msgspec.structs.replace(asked.heap, documents=here))
        for job in JOBS:
            if why := differs(again[namespace, job], asked.found[namespace, job]):
                return why
    return None


def every_object_can_be_asked_for(asked: Asked) -> str | None:
    """Whatever its kind: an explanation, or none; of a TrainJob the one that its job's Find gives."""
    heap = asked.heap
    found = {(e.observation.ref.kind, e.observation.ref.uid): e for said in asked.found.values() for e in said}
    for kind in dict.fromkeys(kind for kind, _ in heap.documents):
        for namespace, name in heap.names(kind):
            said = inspect_in(asked.objects, resource_of(kind), namespace, name, heap.settings, SEEN_AT, heap.dead)
            if said is not None and (why := plain_truths(said)):
                return why
            if kind == api.TRAIN_JOBS.kind and (said is None or said.observation.ref.name != name):
                return f"{name}: {said}"
            ref = said.observation.ref if said is not None else None
            same = found.get((ref.kind, ref.uid)) if ref is not None and ref.kind == api.TRAIN_JOBS.kind else None
            if same is not None and same.observation.ref == ref and (why := differs(said, same)):
                return why
    return None


LAWS: Final[tuple[Callable[[Asked], str | None], ...]] = (
    plain_truths_of_all,
    trainjobs_first_then_orphans,
    each_trainjob_is_found_once_for_its_job,
    an_orphan_is_in_the_heap_and_of_its_namespace,
    orphans_take_whatever_there_is,
    no_order_matters,
    another_namespace_does_not_matter,
    every_object_can_be_asked_for,
    the_heap_is_left_as_it_was,
)
