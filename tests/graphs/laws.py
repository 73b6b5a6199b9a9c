"""What holds of every graph, whatever is in it (reference/classification.md §C0 and the list at the end of §D)."""

import re
from collections.abc import Callable
from random import Random
from typing import Any, Final, NamedTuple

import msgspec

from classifier import api
from classifier.objects import Pod, PodGroup
from classifier.state import classify, explain
from classifier.state.case import Case
from classifier.state.observation import CauseKind, Explanation, State
from classifier.state.ring import strip
from classifier.state.settings import Mode
from tests.graphs.graph import Graph
from tests.graphs.values import Json

SEEN_AT: Final = 1_764_410_400_000
_ATTEMPT: Final = "jobset.sigs.k8s.io/restart-attempt"
_FOREIGN_PODS: Final = re.compile("pods of another|pods labelled for another")


class Broken(AssertionError):
    """A law that does not hold."""

    def __init__(self, law: str, why: str) -> None:
        super().__init__(f"{law}: {why}")
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


def check(graph: Graph) -> Explanation:
    """Raise :class:`Broken`, or whatever the rules raise; else the explanation."""
    case = graph.case()
    before = msgspec.json.encode(_inputs(case))
    said = explain(case, graph.settings, SEEN_AT)
    seen = Seen(graph, case, said, Random(graph.seed))
    for law in LAWS:
        name = law.__name__.replace("_", " ")
        try:
            why = law(seen)
        except Exception as error:
            raise Broken(name, f"{type(error).__name__}: {error}") from error
        if why:
            raise Broken(name, why)
    if msgspec.json.encode(_inputs(case)) != before:
        raise Broken("pure", "the input was changed")
    return said


def _inputs(case: Case) -> Any:
    return case.job, case.children, case.workloads, case.pods, case.captured, case.nodes, sorted(case.view.known)


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
    return _differs(classify(seen.case, seen.graph.settings, SEEN_AT), seen.said.observation)


def equal_inputs_give_equal_answers(seen: Seen) -> str | None:
    later = explain(seen.graph.case(), seen.graph.settings, SEEN_AT + 1)
    if not later.observation.same(seen.said.observation):
        return f"{later.observation}, before {seen.said.observation}"
    observation = msgspec.structs.replace(later.observation, seen_at=SEEN_AT)
    return _differs(msgspec.structs.replace(later, observation=observation), seen.said)


# --- of two graphs that differ ----------------------------------------------------------------------------------------


def no_order_matters(seen: Seen) -> str | None:
    return _differs(seen.again(shuffled(seen.graph, seen.random, conditions_too=False)), seen.said)


def no_order_matters_but_that_of_unknown_conditions(seen: Seen) -> str | None:
    """Those are told in the order of the status, whatever it is."""
    again = seen.again(shuffled(seen.graph, seen.random, conditions_too=True))
    return _differs(_in_any_order(again), _in_any_order(seen.said))


def without_nodes_none_is_lost(seen: Seen) -> str | None:
    blind = seen.again(msgspec.structs.replace(seen.graph, nodes=None)).observation
    if blind.cause.provenance == "node":
        return f"{blind}"
    return _differs(blind.state, seen.said.observation.state)


def plain_mode_asks_no_workload(seen: Seen) -> str | None:
    if seen.graph.settings.mode is not Mode.PLAIN:
        return None
    return _differs(seen.again(msgspec.structs.replace(seen.graph, workloads=[])), seen.said)


def a_node_of_others_changes_nothing(seen: Seen) -> str | None:
    if seen.graph.nodes is None:
        return None
    other = {"metadata": {"name": "other"}, "spec": {"taints": [{"key": "node.kubernetes.io/out-of-service"}]}}
    return _differs(seen.again(msgspec.structs.replace(seen.graph, nodes=[*seen.graph.nodes, other])), seen.said)


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
        return _differs((after.state, after.cause.kind), (before.state, before.cause.kind))
    return _differs(after, before)


def _is_of(raw: Json, key: str, admission: int, restart: int, graph: Graph) -> bool:
    annotations, labels = raw["metadata"].get("annotations") or {}, raw["metadata"].get("labels") or {}
    never = graph.view.restart(Pod()) == "0"
    return annotations.get(key) == str(admission) and (never or labels.get(_ATTEMPT) == str(restart))


def captured_pods_are_read_like_live_ones(seen: Seen) -> str | None:
    """Of an ended object. Pods of others are told apart while they live, captured ones when they died."""
    graph, before = seen.graph, seen.said.observation
    strangers = _FOREIGN_PODS.search(before.cause.detail)
    if before.state is not State.ENDED or strangers or issubclass(graph.view.type_, Pod | PodGroup):
        return None
    live = {raw["metadata"]["uid"] for raw in graph.pods} - {""}
    kept = [raw for raw in graph.captured if raw["metadata"]["uid"] not in live]
    return _differs(seen.again(msgspec.structs.replace(graph, pods=[], captured=graph.pods + kept)).observation, before)


def a_ring_keeps_all_that_is_read(seen: Seen) -> str | None:
    """A captured pod is stripped to what the rules read of it."""
    if seen.graph.kind != api.TRAIN_JOBS.kind:
        return None
    case = msgspec.structs.replace(seen.case, captured=tuple(strip(pod) for pod in seen.case.captured))
    return _differs(explain(case, seen.graph.settings, SEEN_AT), seen.said)


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
)


def _differs(now: object, before: object) -> str | None:
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
        return random.sample([_shuffled(raw, random) for raw in raws], len(raws))

    return msgspec.structs.replace(
        graph,
        job=job,
        children=random.sample([(kind, _shuffled(raw, random)) for kind, raw in graph.children], len(graph.children)),
        workloads=order(graph.workloads),
        pods=order(graph.pods),
        captured=order(graph.captured),
        nodes=None if graph.nodes is None else order(graph.nodes),
    )


def _shuffled(value: Any, random: Random, key: str = "") -> Any:
    if isinstance(value, dict):
        items = [(name, _shuffled(item, random, name)) for name, item in value.items()]
        return dict(random.sample(items, len(items)))
    if isinstance(value, list) and key != "containers":
        return random.sample([_shuffled(item, random) for item in value], len(value))
    return value
