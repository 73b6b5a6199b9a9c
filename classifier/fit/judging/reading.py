"""A podset's template, read once for a queue: what its pods ask for, count as, and where they may not stand.

Whatever the podset is called and however many pods it has: gangs of one shape share it. Sentences about the podset
have ``WHO`` in the place of its name.
"""

from dataclasses import dataclass, field
from typing import Final

import msgspec

from classifier import api
from classifier.fit.budget import Effort, effort_of
from classifier.fit.gang import GangError, Podset
from classifier.fit.matching.match import asked_labels
from classifier.fit.matching.placement import doubt, host_ports, one_per_node
from classifier.fit.quota import touched_groups, with_pods
from classifier.fit.requests import (
    Amounts,
    Counted,
    Fraction,
    Terms,
    content_fault,
    filled,
    fraction_in,
    pod_requests,
    quota_requests,
    terms_for,
)
from classifier.fit.world import World
from classifier.objects import ClusterQueue, PodSpec, PodTemplate, Toleration
from classifier.quantity import MAX_INT64, is_extended

#: Stands for the podset's name in what is kept for all podsets of a shape.
WHO: Final = "\0"
_BY_LIMIT_RANGE: Final = ("cpu", "memory", "ephemeral-storage")


@dataclass(frozen=True, slots=True)
class Group:
    """A resource group of the queue that the podset touches: its flavors in order, what it covers, and whether Kueue
    surely gives the podset a flavor of it."""

    flavors: tuple[str, ...]
    resources: frozenset[str]
    sure: bool


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Reading:
    """``spec`` is the pod's, with what its RuntimeClass adds when it is created; ``template`` is what Kueue chooses
    flavors by. ``error``: it cannot be read, and then nothing else is of use."""

    template: PodSpec
    spec: PodSpec
    effort: Effort
    #: What one pod takes of a node: at least, for a proof; at most, for a promise (a LimitRange adds to the pod what it
    #: lacks, and placement by topology counts as quota does). Of the queue's quota; and of that without what Kueue may
    #: count less of.
    requests: Amounts = field(default_factory=dict)
    requests_at_most: Amounts = field(default_factory=dict)
    quota: Amounts = field(default_factory=dict)
    quota_surely: Amounts = field(default_factory=dict)
    groups: tuple[Group, ...] = ()
    #: By group, what one pod takes of it, where it is more than nothing.
    quota_by_group: tuple[tuple[tuple[str, int], ...], ...] = ()
    uncovered: tuple[str, ...] = ()
    asked: frozenset[str] = frozenset()
    alone: bool = False
    ports: frozenset[str] = frozenset()
    ports_maybe: frozenset[str] = frozenset()
    doubt: str | None = None
    fraction: Fraction | None = None
    content_fault: str | None = None
    #: Of more pods than these Kueue counts less each: their total would not fit into an int64.
    scalable: int = 0
    #: The RuntimeClass that is named and surely not there: every pod would be refused.
    lacks: str | None = None
    error: str | None = None

    @property
    def resources(self) -> tuple[frozenset[str], ...]:
        """By resource group, what it covers."""
        return tuple(group.resources for group in self.groups)

    @property
    def sure(self) -> bool:
        """Whether Kueue gives a flavor of every one of the groups; where it does not, other nodes are open."""
        return all(group.sure for group in self.groups)


def read(podset: Podset, queue: ClusterQueue, world: World, count: int = 1) -> Reading:
    """As it is for up to ``Reading.scalable`` pods; ask again with their ``count`` if there are more."""
    terms = terms_for(podset, world)
    spec = _spec_in(podset.spec, world)
    name = podset.spec.runtime_class_name
    missing = name if name and name not in world.runtime_classes else None
    lacks = missing if api.RUNTIME_CLASSES not in world.unread else None
    effort = effort_of(spec)
    nameless = msgspec.structs.replace(podset, name=WHO, count=count, min_count=count)
    try:
        requests = pod_requests(podset.spec, terms.overhead)
        at_least = pod_requests(podset.spec, terms.overhead, at_least=True) if podset.spec.resources else requests
        pod = filled(podset.counted_spec, terms)
        counted = quota_requests(nameless, terms, pod)
        surely = _surely(nameless, counted, terms)
        fault = content_fault(nameless, terms, pod)
        fraction = fraction_in(podset.spec)
    except GangError as error:
        return Reading(template=podset.counted_spec, spec=spec, effort=effort, lacks=lacks, error=f"{WHO}: {error}")
    groups, uncovered = _groups(queue, counted, surely, terms)
    quota = with_pods(queue, counted.amounts)
    return Reading(
        template=_stored(podset, requests, world) if podset.is_pod else podset.counted_spec,
        spec=spec,
        requests=_told_kubelet(at_least) if podset.spec.node_name else at_least,
        requests_at_most=_at_most(requests, quota),
        quota=quota,
        quota_surely=with_pods(queue, surely),
        groups=groups,
        quota_by_group=tuple(
            tuple((name, value) for name, value in quota.items() if value > 0 and name in group.resources)
            for group in groups
        ),
        uncovered=uncovered,
        effort=effort,
        asked=frozenset(asked_labels(spec)),
        alone=one_per_node(podset),
        ports=host_ports(spec, surely=True),
        ports_maybe=host_ports(spec, surely=False),
        doubt=doubt(podset)
        or (f"names RuntimeClass {missing}, which is not found" if missing else None)
        or (f"asks for {fraction.quantity} {fraction.resource}, not a whole number" if fraction else None),
        fraction=fraction,
        content_fault=fault,
        scalable=MAX_INT64 // max(1, *counted.amounts.values()) if counted.amounts else MAX_INT64,
        lacks=lacks,
    )


def _told_kubelet(requests: Amounts) -> Amounts:
    """Of a pod that names its node, which nobody schedules: kubelet passes over devices that the node does not list
    (Kubernetes: pkg/kubelet/lifecycle/predicate.go removeMissingExtendedResources)."""
    return {name: amount for name, amount in requests.items() if not is_extended(name)}


def _at_most(requests: Amounts, quota: Amounts) -> Amounts:
    """Of what a LimitRange may say; other resources Kueue may have exchanged for some that no node has."""
    more = {name: quota[name] for name in _BY_LIMIT_RANGE if quota.get(name, 0) > requests.get(name, 0)}
    return requests | more if more else requests


def _surely(podset: Podset, counted: Counted, terms: Terms) -> Amounts:
    """What Kueue counts of one pod at least, whatever its release."""
    found = {name: value for name, value in counted.amounts.items() if name not in counted.doubtful}
    spec = podset.counted_at_least
    if spec is podset.counted_spec:
        return found
    before = quota_requests(msgspec.structs.replace(podset, counted=PodTemplate(spec=spec)), terms).amounts
    return {name: min(value, before[name]) for name, value in found.items() if name in before}


def _groups(
    queue: ClusterQueue, counted: Counted, surely: Amounts, terms: Terms
) -> tuple[tuple[Group, ...], tuple[str, ...]]:
    amounts, always = with_pods(queue, counted.amounts), with_pods(queue, surely)
    ignored = terms.config is None or terms.config.ignore_undeclared
    touched, uncovered = touched_groups(queue, amounts, ignore_undeclared=ignored)
    groups = []
    for group in touched:
        covered = frozenset(group.covered_resources or ())
        sure = any(name in always for name in covered)
        groups.append(Group(tuple(dict.fromkeys(one.name for one in group.flavors or ())), covered, sure))
    return tuple(groups), tuple(name for name in uncovered if name not in counted.doubtful)


def _stored(podset: Podset, requests: Amounts, world: World) -> PodSpec:
    """A bare pod as Kueue sees it: with what was added when it was created, which a template never gets. Whether the
    API server tolerates the taints of devices that are asked for (plugin ExtendedResourceToleration) is not known."""
    spec = _spec_in(podset.counted_spec, world)
    added = [Toleration(key=name, operator="Exists") for name in requests if is_extended(name)]
    return msgspec.structs.replace(spec, tolerations=[*(spec.tolerations or ()), *added]) if added else spec


def _spec_in(spec: PodSpec, world: World) -> PodSpec:
    """With what its RuntimeClass adds (Kubernetes: ``plugin/pkg/admission/runtimeclass``)."""
    runtime_class = world.runtime_classes.get(spec.runtime_class_name or "")
    scheduling = runtime_class.scheduling if runtime_class else None
    if scheduling is None or not (scheduling.node_selector or scheduling.tolerations):
        return spec
    return msgspec.structs.replace(
        spec,
        node_selector={**(spec.node_selector or {}), **(scheduling.node_selector or {})},
        tolerations=[*(spec.tolerations or ()), *(scheduling.tolerations or ())],
    )
