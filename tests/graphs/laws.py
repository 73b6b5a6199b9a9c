"""What holds of every graph, whatever is in it (reference/classification.md §C0 and the list at the end of §D)."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from random import Random
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from classifier import api
from classifier.objects import Pod, PodGroup
from classifier.state import classify, explain
from classifier.state.attached import attach, own_uids
from classifier.state.case import Case
from classifier.state.observation import CauseKind, Explanation, State
from classifier.state.ring import strip
from classifier.state.settings import Mode
from tests.graphs.graph import Graph
from tests.graphs.values import Json

T = TypeVar("T")

SEEN_AT: Final = 1_764_410_400_000
_ATTEMPT: Final = "jobset.sigs.k8s.io/restart-attempt"


class Broken(AssertionError):
    """A law that does not hold, and of what."""

    def __init__(self, who: str, law: str, why: str) -> None:
        super().__init__(f"{who}: {law.replace('_', ' ')}: {why}")
        self.law = law


class Seen(NamedTuple):
    """A graph and what was said of it."""

    graph: Graph
    case: Case
    said: Explanation
    random: Random

    def again(self, graph: Graph) -> Explanation:
        """What is said of a graph that differs from this one."""
        return explain(graph.case(), graph.settings, SEEN_AT)


def look(graph: Graph) -> Seen:
    case = graph.case()
    return Seen(graph, case, explain(case, graph.settings, SEEN_AT), Random(graph.seed))


def check(graph: Graph) -> Explanation:
    """Raise :class:`Broken`, whatever is wrong; else the explanation."""
    who = f"graph({graph.seed}, {graph.kind!r})"
    with asking(who, "explain"):
        seen = look(graph)
    ask(who, LAWS, seen)
    return seen.said


def ask(who: str, laws: Sequence[Callable[[T], str | None]], seen: T) -> None:
    for law in laws:
        with asking(who, law.__name__):
            why = law(seen)
        if why:
            raise Broken(who, law.__name__, why)


@contextmanager
def asking(who: str, law: str) -> Iterator[None]:
    """Nothing may be raised, and what is raised all the same names the seed."""
    try:
        yield
    except Exception as error:
        raise Broken(who, law, f"{type(error).__name__}: {error}") from error


# --- of one explanation -----------------------------------------------------------------------------------------------


def plain_truths(said: Explanation) -> str | None:
    """What holds of any explanation, an orphan's too. What is wrong with it, if anything."""
    observation = said.observation
    cause, detail = observation.cause, observation.cause.detail
    nameless = cause.kind in (CauseKind.NONE, CauseKind.UNKNOWN)
    lines = [detail, *(evidence.text for evidence in said.evidence), *(evidence.where for evidence in said.evidence)]
    rules = {
        "provenance is empty exactly for none and unknown": (cause.provenance == "") is nameless,
        "completed only when ended": cause.kind is not CauseKind.COMPLETED or observation.state is State.ENDED,
        "admin_held only when suspended": not observation.admin_held or observation.state is State.SUSPENDED,
        "a hold is a number of Go's": 0 <= observation.hold_instance < 2**63,
        "held needs a hold": observation.state is not State.HELD or observation.hold_instance > 0,
        "a submission is no negative number": observation.submission is None or observation.submission >= 0,
        "a detail has no stray ends": detail == detail.strip().strip(";"),
        "every text is one line": all(len(line.splitlines()) <= 1 for line in lines),
        "it is JSON": msgspec.json.decode(msgspec.json.encode(said), type=Explanation) == said,
    }
    return next((f"not so: {name}, but {observation}" for name, holds in rules.items() if not holds), None)


def invariants(seen: Seen) -> str | None:
    return plain_truths(seen.said)


def it_names_its_object(seen: Seen) -> str | None:
    job, ref = seen.case.job, seen.said.observation.ref
    named = (ref.kind, ref.namespace, ref.name, ref.uid) == (seen.graph.kind, job.namespace, job.name, job.uid)
    return None if named and seen.said.observation.seen_at == SEEN_AT else f"{seen.said.observation}"


def the_observation_is_the_classification(seen: Seen) -> str | None:
    return differs(classify(seen.case, seen.graph.settings, SEEN_AT), seen.said.observation)


def equal_inputs_give_equal_answers(seen: Seen) -> str | None:
    later = explain(seen.graph.case(), seen.graph.settings, SEEN_AT + 1)
    if not later.observation.same(seen.said.observation):
        return f"{later.observation}, before {seen.said.observation}"
    observation = msgspec.structs.replace(later.observation, seen_at=SEEN_AT)
    return differs(msgspec.structs.replace(later, observation=observation), seen.said)


def the_input_is_left_as_it_was(seen: Seen) -> str | None:
    """By the laws asked before this one, too."""
    return differs(_encoded(seen.case), _encoded(seen.graph.case()))


def _encoded(case: Case) -> bytes:
    return msgspec.json.encode((case.job, case.children, case.workloads, case.pods, case.captured, case.nodes))


# --- of two graphs that differ ----------------------------------------------------------------------------------------


def no_order_matters(seen: Seen) -> str | None:
    return differs(seen.again(shuffled(seen.graph, seen.random, conditions_too=False)), seen.said)


def no_order_matters_but_that_of_unknown_conditions(seen: Seen) -> str | None:
    """Those are told in the order of the status, whatever it is."""
    again = seen.again(shuffled(seen.graph, seen.random, conditions_too=True))
    return differs(_in_any_order(again), _in_any_order(seen.said))


def without_nodes_none_is_lost(seen: Seen) -> str | None:
    blind = seen.again(msgspec.structs.replace(seen.graph, nodes=None)).observation
    if blind.cause.provenance == "node":
        return f"{blind}"
    return differs(blind.state, seen.said.observation.state)


def plain_mode_asks_no_workload(seen: Seen) -> str | None:
    if seen.graph.settings.mode is not Mode.PLAIN:
        return None
    return differs(seen.again(msgspec.structs.replace(seen.graph, workloads=[])), seen.said)


def a_node_of_others_changes_nothing(seen: Seen) -> str | None:
    if seen.graph.nodes is None:
        return None
    other = {"metadata": {"name": "other"}, "spec": {"taints": [{"key": "node.kubernetes.io/out-of-service"}]}}
    return differs(seen.again(msgspec.structs.replace(seen.graph, nodes=[*seen.graph.nodes, other])), seen.said)


def an_earlier_run_changes_nothing(seen: Seen) -> str | None:
    """A pod with a lower R, once an execution is identified."""
    graph, before = seen.graph, seen.said.observation
    run, key = before.execution, graph.settings.admission
    if run is None or run.number == 0 or issubclass(graph.view.type_, Pod | PodGroup):
        return None
    current = next((raw for raw in graph.pods if _is_of(raw, key, run.admission, run.restart, graph)), None)
    if current is None:
        return None
    earlier = msgspec.json.decode(msgspec.json.encode(current))
    if run.admission:
        earlier["metadata"]["annotations"][key] = str(run.admission - 1)
    elif graph.view.restart(Pod()) == "0":
        return None
    else:
        earlier["metadata"]["labels"][_ATTEMPT] = str(run.restart - 1)
    earlier["metadata"] |= {"name": "earlier", "uid": "earlier"}
    failed = {"name": "node", "state": {"terminated": {"exitCode": 7, "finishedAt": "2000-01-01T00:00:00Z"}}}
    earlier["status"] = {"phase": "Failed", "containerStatuses": [failed]}
    earlier["spec"] = {"containers": [{"name": "node"}], "nodeName": "gone"}
    after = seen.again(msgspec.structs.replace(graph, pods=[*graph.pods, earlier])).observation
    if before.foreign:  # the pod may be a stranger, too, and be said to be one
        return differs((after.state, after.cause.kind), (before.state, before.cause.kind))
    return differs(after, before)


def _is_of(raw: Json, key: str, admission: int, restart: int, graph: Graph) -> bool:
    annotations, labels = raw["metadata"].get("annotations") or {}, raw["metadata"].get("labels") or {}
    never = graph.view.restart(Pod()) == "0"
    return annotations.get(key) == str(admission) and (never or labels.get(_ATTEMPT) == str(restart))


def captured_pods_are_read_like_live_ones(seen: Seen) -> str | None:
    """Of an ended object. Pods of others are told apart while they live, captured ones when they died."""
    graph, before = seen.graph, seen.said.observation
    if before.state is not State.ENDED or issubclass(graph.view.type_, Pod | PodGroup):
        return None
    if len(attach(seen.case, graph.settings, own_uids(seen.case.job, seen.case.children)).pods) < len(graph.pods):
        return None
    live = {raw["metadata"]["uid"] for raw in graph.pods} - {""}
    kept = [raw for raw in graph.captured if raw["metadata"]["uid"] not in live]
    return differs(seen.again(msgspec.structs.replace(graph, pods=[], captured=graph.pods + kept)).observation, before)


def a_ring_keeps_all_that_is_read(seen: Seen) -> str | None:
    """A captured pod is stripped to what the rules read of it."""
    if seen.graph.kind != api.TRAIN_JOBS.kind:
        return None
    case = msgspec.structs.replace(seen.case, captured=tuple(strip(pod) for pod in seen.case.captured))
    return differs(explain(case, seen.graph.settings, SEEN_AT), seen.said)


LAWS: Final[tuple[Callable[[Seen], str | None], ...]] = (
    invariants,
    it_names_its_object,
    the_observation_is_the_classification,
    equal_inputs_give_equal_answers,
    no_order_matters,
    no_order_matters_but_that_of_unknown_conditions,
    without_nodes_none_is_lost,
    plain_mode_asks_no_workload,
    a_node_of_others_changes_nothing,
    an_earlier_run_changes_nothing,
    captured_pods_are_read_like_live_ones,
    a_ring_keeps_all_that_is_read,
    the_input_is_left_as_it_was,
)


def differs(now: object, before: object) -> str | None:
    return None if now == before else f"{now}, before {before}"


def _in_any_order(said: Explanation) -> tuple[object, ...]:
    observation = said.observation
    words = sorted(re.split(r"[;\s]+", observation.cause.detail))
    cause = msgspec.structs.replace(observation.cause, detail="")
    bare = msgspec.structs.replace(observation, cause=cause)
    return bare, words, sorted(map(str, said.evidence)), said.since, said.workload


def shuffled(graph: Graph, random: Random, conditions_too: bool) -> Graph:
    """The same objects with all lists in another order, those of container specs excepted: the first is the first."""
    job = _shuffled(graph.job, random)
    if not conditions_too and isinstance(job.get("status"), dict) and "conditions" in job["status"]:
        job["status"]["conditions"] = (graph.job["status"] or {})["conditions"]

    def order(raws: list[Any]) -> list[Any]:
        return mixed([_shuffled(raw, random) for raw in raws], random)

    return msgspec.structs.replace(
        graph,
        job=job,
        children=mixed([(kind, _shuffled(raw, random)) for kind, raw in graph.children], random),
        workloads=order(graph.workloads),
        pods=order(graph.pods),
        captured=order(graph.captured),
        nodes=None if graph.nodes is None else order(graph.nodes),
    )


def mixed(items: list[T], random: Random) -> list[T]:
    """In another order: of two the other one."""
    items.reverse()
    if len(items) > 2:
        random.shuffle(items)
    return items


def _shuffled(value: Any, random: Random, key: str = "") -> Any:
    if isinstance(value, dict):
        return {name: _shuffled(value[name], random, name) for name in reversed(value)}
    if isinstance(value, list):
        items = [_shuffled(item, random) for item in value]
        return items if key == "containers" else mixed(items, random)
    return value
