"""A bare pod, and a group of pods (Kueue: pkg/controller/jobs/pod/pod_controller.go PodSets).

Kueue makes the Workload of a group when all its pods are there, or, if the group asks for fast admission, with the
first. At the webhook a group shows itself pod by pod: what the others are is not known.
"""

from typing import Final

import msgspec

from classifier import api
from classifier.fit.gang import GangError, Podset, Runtimes, Unresolved
from classifier.fit.kinds.common import MAX_INT32, gang, podset
from classifier.fit.kinds.created import as_created
from classifier.fit.kinds.role import role_of
from classifier.objects import Pod, PodGroup, PodSpec, PodTemplate

_FAST: Final = "kueue.x-k8s.io/pod-group-fast-admission"


def pod_podsets(pod: Pod, runtimes: Runtimes) -> list[Podset]:
    """``main`` of one pod. One of a group stands for all of it, though for one pod alone it is sure.

    Claiming more would deny groups of a large leader and small workers. So what is proven is that this pod fits
    nowhere, and what is promised that a group of such pods fits.
    """
    if not _group_of(pod):
        return [_podset("main", 1, pod)]
    total = _total(pod)
    return [_podset(role_of(pod), total, pod, least=1)]


def pod_group_podsets(group: PodGroup, runtimes: Runtimes) -> list[Podset]:
    """One podset a role, in the order of their names. Pods that are still to come are of the role that is there,
    if it is the only one; that is a guess, save with fast admission, where Kueue counts so itself.

    Raises Unresolved where pods are to be deleted first, for there are more than the group says, and where pods that
    go by one role differ: Kueue counts them by whichever it lists first.
    """
    pods = [pod for pod in group.pods if _runnable(pod)]
    if not pods:
        raise Unresolved("none of the pods of the group can run")
    total = _total(pods[0])
    if len(pods) > total:
        raise Unresolved(f"the group has {len(pods)} pods, more than its {api.POD_GROUP_TOTAL} of {total}")
    roles: dict[str, list[Pod]] = {}
    for pod in pods:
        roles.setdefault(role_of(pod), []).append(pod)
    first = {name: _of_all(name, some) for name, some in roles.items()}
    if len(roles) == 1:
        (name,) = roles
        left = _left(pods)
        sure = total - len(pods) + left if pods[0].annotation(_FAST) == "true" else left
        return [_podset(name, total, first[name], sure, least=left)]
    return gang(
        [_podset(name, len(some), first[name], _left(some)) for name, some in sorted(roles.items())], "the group"
    )


def _of_all(role: str, pods: list[Pod]) -> Pod:
    """The first, with no more labels than all of them have: a role says nothing of those."""
    first, *others = pods
    if not others:
        return first
    if any(_asked(one) != _asked(first) for one in others):
        raise Unresolved(f"pods of role {role} differ in what they ask for")
    labels = set.intersection(*({*(one.metadata.labels or {}).items()} for one in pods))
    metadata = msgspec.structs.replace(first.metadata, labels=dict(sorted(labels)))
    return msgspec.structs.replace(first, metadata=metadata)


def _asked(pod: Pod) -> tuple[object, ...]:
    """All that decides where it may stand. The role is made of most of it, unless a pod names its own."""
    spec = as_created(pod.spec or PodSpec())
    return (
        [(one.resources, one.ports) for one in spec.containers or ()],
        [(one.resources, one.ports, one.restart_policy) for one in spec.init_containers or ()],
        spec.resources,
        spec.overhead,
        spec.runtime_class_name,
        spec.host_network is True,
        spec.node_selector,
        spec.affinity,
        spec.tolerations,
    )


def _left(pods: list[Pod]) -> int:
    """Those that have not ended well: of others quota is asked for none (Kueue: ReclaimablePods)."""
    return sum(pod.status is None or pod.status.phase != "Succeeded" for pod in pods)


def _podset(name: str, count: int, pod: Pod, sure: int | None = None, least: int | None = None) -> Podset:
    """The pod itself is the template: the pointer to it is empty."""
    template = PodTemplate(metadata=pod.metadata, spec=pod.spec or PodSpec())
    created = as_created(template.spec or PodSpec())
    counted = None if created is template.spec else PodTemplate(metadata=pod.metadata, spec=created)
    few = least if sure is None else sure
    return podset(name, count, template, pod.namespace, "", min_count=few, least=least, counted=counted)


def _group_of(pod: Pod) -> str | None:
    """An annotation, since Kueue 0.18, or else a label (Kueue: pkg/util/pod/pod.go GetPodGroupName)."""
    return pod.annotation(api.POD_GROUP_NAME) or pod.label(api.POD_GROUP_NAME) or None


def _total(pod: Pod) -> int:
    text = pod.annotation(api.POD_GROUP_TOTAL) or ""
    total = int(text) if text.isascii() and text.isdigit() and len(text) <= len(str(MAX_INT32)) else 0
    if not 0 < total <= MAX_INT32:
        raise GangError(f"{api.POD_GROUP_TOTAL} of a pod group is {text[:32]!r}, not a number of pods")
    return total


def _runnable(pod: Pod) -> bool:
    """Whether it counts for the group (Kueue: isPodRunnableOrSucceeded)."""
    if pod.metadata.deletion_timestamp is not None and not (pod.spec and pod.spec.node_name):
        return False
    return pod.status is None or pod.status.phase != "Failed"
