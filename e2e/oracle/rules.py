"""What must agree, rule by rule. Each yields sentences, one a disagreement; none where there is nothing to compare."""

from collections.abc import Iterator
from typing import Final, cast

from classifier.fit import Outcome, Verdict, World
from classifier.fit.gang import GangError, Podset, Unresolved
from classifier.fit.kinds import PODSETS
from classifier.fit.requests import Amounts, quota_requests, terms_for
from classifier.objects import Meta, Pod, PodGroup
from classifier.quantity import amount_of, parse
from classifier.state.kinds import podgroup
from e2e import view
from e2e.builders import Document
from e2e.oracle.objects import decode
from e2e.oracle.sight import Sight

FITS: Final = (Outcome.FITS, Outcome.FITS_AFTER_SCALE_UP)
#: What Kueue says before it comes to quota: these say nothing on what we prove, only that nothing is reserved.
BEFORE_QUOTA: Final = (
    "doesn't match ClusterQueue selector",
    "resources validation failed",
    "didn't satisfy LimitRange constraints",
    "unavailable in ClusterQueue",
    "untolerated taint",
    "doesn't match node affinity",
    "does not contain the requested level",
)
#: What binds on nodes.
NODES: Final = ("nodes", "pod-size", "selector", "taint", "topology")


def podsets_of(sight: Sight, obj: Meta, world: World) -> list[Podset]:
    """As our code computes them; of a group from all its pods. Raises GangError and Unresolved."""
    if sight.case.kind == "PodGroup":
        group = PodGroup(metadata=obj.metadata, pods=[cast(Pod, decode(pod)) for pod in sight.stored])
        return PODSETS[podgroup.VIEW.resource](group, world.runtimes)
    return PODSETS[sight.case.resource](obj, world.runtimes)


def same_podsets(sight: Sight, obj: Meta, world: World) -> Iterator[str]:
    """Names, counts and least counts are those of every Workload that Kueue made."""
    try:
        ours = [(podset.name, podset.count, podset.min_count) for podset in podsets_of(sight, obj, world)]
    except (GangError, Unresolved) as error:
        yield f"podsets: {type(error).__name__} {error}"
        return
    # An elastic job may be made as small as one pod, of which its Workload says nothing.
    if "elastic" in sight.case.tags:
        ours = [(name, count, count) for name, count, _ in ours]
    for workload in sight.workloads:
        theirs = [(p["name"], p.get("count", 0), p.get("minCount", p.get("count", 0))) for p in _podsets(workload)]
        if sorted(ours) != sorted(theirs):
            yield f"podsets (name, count, least): ours {ours}, Kueue's {theirs}"


def _podsets(workload: Document) -> list[Document]:
    found: list[Document] = workload["spec"]["podSets"]
    return found


def same_requests(sight: Sight, obj: Meta, world: World) -> Iterator[str]:
    """Per pod, what Kueue counts: from the totals of a pending Workload, or the usage of an admitted one."""
    try:
        ours = {podset.name: podset for podset in podsets_of(sight, obj, world)}
    except (GangError, Unresolved):
        return
    for workload in sight.workloads:
        for name, count, total in _counted(workload):
            if count == 0 or name not in ours:
                continue
            counted = quota_requests(ours[name], terms_for(ours[name], world))
            mine = {r: amount * count for r, amount in counted.amounts.items() if amount and r != "pods"}
            theirs = {resource: amount for resource, amount in total.items() if amount and resource != "pods"}
            doubtful = {r for r in counted.doubtful if mine.get(r, 0) >= theirs.get(r, 0)}
            differ = {r for r in mine.keys() | theirs.keys() if mine.get(r, 0) != theirs.get(r, 0)} - doubtful
            for resource in sorted(differ):
                yield (
                    f"requests of {count} pods of {name}, {resource}: ours {mine.get(resource, 0)}, "
                    f"Kueue's {theirs.get(resource, 0)}"
                )


def _counted(workload: Document) -> Iterator[tuple[str, int, Amounts]]:
    """Podset, pods, and what Kueue counts for them in all."""
    status = workload.get("status") or {}
    counts = {podset["name"]: podset.get("count", 0) for podset in _podsets(workload)}
    if admission := status.get("admission"):
        for assignment in admission["podSetAssignments"]:
            usage = assignment.get("resourceUsage") or {}
            yield assignment["name"], assignment.get("count", counts[assignment["name"]]), _amounts(usage)
        return
    for request in status.get("resourceRequests") or ():
        yield request["name"], counts[request["name"]], _amounts(request.get("resources") or {})


def _amounts(quantities: dict[str, str]) -> Amounts:
    return {resource: amount_of(resource, parse(text)) for resource, text in quantities.items()}


def quota_as_kueue(sight: Sight, verdict: Verdict) -> Iterator[str]:
    """What never fits for quota is not reserved, and Kueue's words say why; what fits is reserved."""
    if verdict.outcome in FITS and not sight.reserved and not _may_miss(sight):
        yield f"{verdict.outcome}, but Kueue does not reserve: {sight.words}"
    if verdict.outcome is Outcome.NEVER_FITS and verdict.binding == "quota":
        if sight.reserved:
            yield f"never fits for quota, but Kueue reserves: {verdict.line}"
        elif not any(words in sight.words for words in BEFORE_QUOTA) and "maximum capacity" not in sight.words:
            yield f"never fits for quota, but Kueue speaks of something else: {sight.words} (ours: {verdict.line})"


def _may_miss(sight: Sight) -> bool:
    """Of three podsets that need different flavors Kueue, which does not turn back, may never find the choice."""
    return sight.case.choices > 1 and any(len(_podsets(workload)) > 2 for workload in sight.workloads)


def misconfigured_as_kueue(sight: Sight, verdict: Verdict) -> Iterator[str]:
    """What quota does not cover and whom a queue does not select waits for ever in Kueue too."""
    tags = sight.case.tags
    if verdict.outcome is Outcome.MISCONFIGURED and verdict.binding == "quota" and sight.reserved:
        yield f"misconfigured, but Kueue reserves: {verdict.line}"
    if tags & {"selects nobody", "selects others"}:
        if sight.reserved:
            yield "the generator meant nobody to be selected, but Kueue reserves"
        if verdict.outcome in FITS:
            yield f"the queue does not select the namespace, but {verdict.line}"


def nodes_as_scheduler(sight: Sight, verdict: Verdict) -> Iterator[str]:
    """What never fits on nodes has pods that the scheduler cannot place, or Kueue did not let it come to that."""
    never = {podset.name for podset in verdict.pod_sets if podset.verdict is Outcome.NEVER_FITS}
    if never and never <= sight.case.late:
        return  # nobody's end lets these start here
    if verdict.outcome is Outcome.NEVER_FITS and verdict.binding in NODES and sight.reserved:
        if verdict.binding == "topology":
            yield f"no topology domain is large enough, but Kueue found one: {verdict.line}"
        elif not sight.settled:
            yield f"never fits on nodes, but after all this time {_state(sight)}: {verdict.line}"
        elif not sight.unschedulable and not sight.refused_pods:
            yield f"never fits on nodes, but {_state(sight)}: {verdict.line}"
    carried = sight.reserved and sight.pods and not sight.refused_pods
    if verdict.outcome is Outcome.NEVER_FITS and verdict.binding == "quantity" and carried:
        yield f"no pod can carry this, but {_state(sight)}: {verdict.line}"


def places_all(sight: Sight) -> bool:
    """Whether a greedy scheduler must find the placement that exists: pods of one shape, in one flavor, one gang."""
    one_shape = all(len(_podsets(workload)) == 1 for workload in sight.workloads)
    # Where Kueue itself picks the nodes, it does not ask which pods exclude each other.
    blind = "topology" in sight.case.tags and sight.case.tags & {"anti-affinity", "host port", "host network", "spread"}
    return one_shape and len(sight.workloads) == 1 and sight.case.choices == 1 and not blind


def fits_is_scheduled(sight: Sight, verdict: Verdict) -> Iterator[str]:
    """What fits has all its pods on nodes."""
    # A LimitRange's default limit may be above what the pod as a whole may have: no question of room.
    invalid = any("less than or equal to pod limits" in words for words in sight.refused_pods)
    if verdict.outcome in FITS and sight.reserved and places_all(sight) and not invalid:
        bound = [pod for pod in sight.pods if pod["spec"].get("nodeName")]
        if len(bound) < sight.expected_pods:
            yield f"{verdict.outcome}, but {_state(sight)}: {verdict.line}"


def _state(sight: Sight) -> str:
    bound = sum(1 for pod in sight.pods if pod["spec"].get("nodeName"))
    words = next((c["message"] for p in sight.unschedulable if (c := view.condition(p, "PodScheduled"))), "")
    refused = sight.refused_pods[0] if sight.refused_pods else ""
    return (
        f"{bound} of {sight.expected_pods} pods have nodes, {len(sight.unschedulable)} of {len(sight.pods)} "
        f"cannot be placed {words}{refused}"
    )


def same_verdict(ours: Verdict, other: Verdict, which: str) -> Iterator[str]:
    """Where an object is read changes nothing: from a file as written, or as the API server keeps it.

    But for podsets' names, which for a group of pods are made of what the server has added.
    """
    if _numbers(ours) != _numbers(other):
        yield f"{which}: {other.line!r}, from the server: {ours.line!r}"


def _numbers(verdict: Verdict) -> list[object]:
    found = [(p.count, p.verdict, p.binding, p.pool, p.flavor, p.resource, p.needs, p.limit) for p in verdict.pod_sets]
    return [verdict.outcome, verdict.binding, *found]
