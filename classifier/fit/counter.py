"""What a LocalQueue, its ClusterQueue and its namespace say to whoever comes, whatever the gang."""

from collections.abc import Hashable, Sequence
from typing import NamedTuple

from classifier.fit.judging.choice import speaking
from classifier.fit.mode import Ceiling, ceiling, wrong_modes
from classifier.fit.provisioning import Requests, requests_of
from classifier.fit.quota import ChainFault, chain_faults
from classifier.fit.skip import multikueue_check
from classifier.fit.supplied.supply import Kept
from classifier.fit.world import World
from classifier.objects import ClusterQueue, LocalQueue, Namespace


class Counter(NamedTuple):
    """``ceiling``: the strictest mode they allow; ``wrong_modes``: what they say of modes to no effect. ``remote``: the
    check that sends jobs to other clusters. ``requests``: how the queue asks for nodes. ``faults``: what stands in the
    way. ``doubt``: why no proof counts here."""

    local_queue: LocalQueue
    queue: ClusterQueue
    namespace: Namespace | None
    ceiling: Ceiling
    wrong_modes: Sequence[str]
    remote: str | None
    requests: Sequence[Requests]
    faults: Sequence[ChainFault]
    doubt: str | None


def counter(local_queue: LocalQueue, queue: ClusterQueue, world: World, kept: Kept) -> Counter:
    """``kept``: with it until the LocalQueue or the Namespace is another object, whose containers change under a
    world."""
    counters: dict[Hashable, Counter] = kept.of("counters")
    key = local_queue.key, world.nodes_awaited
    namespace = world.namespaces.get(local_queue.namespace)
    found = counters.get(key)
    if found is not None and found.local_queue is local_queue and found.queue is queue and found.namespace is namespace:
        return found
    controllers = {
        name: (check.spec.controller_name if check.spec else "") for name, check in world.admission_checks.items()
    }
    found = counters[key] = Counter(
        local_queue=local_queue,
        queue=queue,
        namespace=namespace,
        ceiling=ceiling(local_queue, queue, world),
        wrong_modes=wrong_modes(local_queue, queue, world),
        remote=multikueue_check(queue, controllers),
        requests=requests_of(queue, speaking(queue, world), world),
        faults=chain_faults(local_queue, queue, namespace, world.quota),
        doubt=_proves_nothing(queue, controllers, world),
    )
    return found


def _proves_nothing(queue: ClusterQueue, controllers: dict[str, str], world: World) -> str | None:
    """Why no proof counts, however fresh the world is: nodes are to come, or the queue may send its jobs elsewhere."""
    if world.nodes_awaited:
        return "the nodes are not listed yet"
    unseen = next((name for name in queue.check_names if name not in controllers), None)
    return f"AdmissionCheck {unseen} of ClusterQueue {queue.name} is not found" if unseen is not None else None
