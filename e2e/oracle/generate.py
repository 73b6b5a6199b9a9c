"""Cases by number and seed: every kind in turn, each over a world of its own."""

from typing import Final

from classifier import api
from e2e import builders
from e2e.builders import GPU, POOL_LABEL, Document, Queues
from e2e.oracle import quota
from e2e.oracle.case import Case
from e2e.oracle.dice import Dice
from e2e.oracle.draft import Draft
from e2e.oracle.gangs import MAKERS
from e2e.oracle.pods import HEAVY, OVERHEAD, TIER
from e2e.oracle.room import IGNORED, SLICE, SLICE_GIB, SLICE_MEMORY, Amounts, text, total
from e2e.oracle.supply import LEVELS, TOPOLOGY, Flavor, draw_flavor

#: Of this seed every special thing is drawn often enough (a unit test counts them).
SEED: Final = 1
COUNT: Final = 320
#: Namespaces: one plain and of a team, one whose LimitRange sets defaults, one whose LimitRange sets bounds.
PLAIN: Final = "oracle"
DEFAULTS: Final = "oracle-defaults"
BOUNDS: Final = "oracle-bounds"
TEAM: Final = {"oracle.muster.dev/team": "blue"}
#: What the stage's Kueue is told about resources.
KUEUE_RESOURCES: Final[Document] = {
    "excludeResourcePrefixes": ["ignored.example.com/"],
    "transformations": [{"input": SLICE, "strategy": "Replace", "outputs": {SLICE_MEMORY: SLICE_GIB}}],
}


def cases(seed: int, count: int) -> list[Case]:
    """The first ``count``; each depends on the seed and its own number alone."""
    return [case(seed, number) for number in range(count)]


def case(seed: int, number: int) -> Case:
    dice = Dice(f"{seed}/{number}")
    kind = list(MAKERS)[number % len(MAKERS)]
    name = f"c{number:03}"
    tags: set[str] = set()
    way = dice.of(*["one flavor"] * 9, *["two flavors"] * 3, "two groups", "two groups", *["topology"] * 3)
    if way != "two groups":
        tags.add(way)
    flavors = [draw_flavor(dice, f"{name}-a", tags, way == "topology")]
    if way == "two flavors":
        flavors.append(draw_flavor(dice, f"{name}-b", tags, False))
    namespace = dice.of(*[PLAIN] * 10, DEFAULTS, BOUNDS)
    if namespace == BOUNDS and MAKERS[kind].resource is api.PODS:
        namespace = PLAIN  # they are refused at once
    if namespace != PLAIN:
        tags.add(namespace)
    pool = dice.choice([pool for flavor in flavors for pool in flavor.pools])
    draft = Draft(
        dice,
        number,
        name,
        Queues(namespace, name, name, flavors[0].name),
        pool.room,
        tainted=pool.tainted,
        tier=pool.labels[TIER],
        topology=way == "topology",
        ranged=namespace == DEFAULTS and MAKERS[kind].real,
        unchecked=not MAKERS[kind].real,
        tags=tags,
    )
    documents = MAKERS[kind].make(draft)
    world = [object_ for flavor in flavors for object_ in flavor.objects()]
    profiles = [flavor.profile() for flavor in flavors]
    groups = _groups(draft, flavors, way, world, profiles)
    world += quota.queue(name, groups, _way(dice, tags), _selector(dice, tags))
    world += [builders.local_queue(draft.queues), *draft.also]
    return Case(
        name=name,
        kind=kind,
        resource=MAKERS[kind].resource,
        queues=draft.queues,
        documents=documents,
        world=world,
        profiles=profiles,
        tags=frozenset(tags),
        choices=len(flavors),
        real=MAKERS[kind].real,
        late=frozenset(draft.late),
    )


def _groups(
    draft: Draft, flavors: list[Flavor], way: str, world: list[Document], profiles: list[Document]
) -> list[list[tuple[str, Amounts]]]:
    """What the queue covers: one group of all resources, or one of devices beside it."""
    dice, tags = draft.dice, draft.tags
    whole = _as_counted(total([(part.count, part.want) for part in draft.parts]))
    if dice.one_in(8):
        whole["pods"] = sum(part.count for part in draft.parts)
        tags.add("covers pods")
    if dice.one_in(20) and len(whole) > 1:
        del whole[dice.choice(sorted(whole))]
        tags.add("uncovered")
    if way == "two groups" and GPU in whole and len(whole) > 1:
        tags.add(way)
        name, labels = f"{draft.name}-g", dict(flavors[0].labels)
        if dice.one_in(4):
            labels[POOL_LABEL] = name
            tags.add("flavors contradict")
        spec = {key: value for key, value in flavors[0].spec.items() if key != "topologyName"}
        world.append(builders.flavor(name, labels, **spec))
        profiles.append(builders.profile(name, name, profiles[0]["spec"]["pools"], closed=True, preflight="Enforce"))
        devices = {GPU: whole.pop(GPU)}
        rest = quota.draw_potential(dice, whole, tags)
        return [[(flavors[0].name, rest)], [(name, quota.draw_potential(dice, devices, tags))]]
    return [[(flavor.name, quota.draw_potential(dice, whole, tags)) for flavor in flavors]]


def _as_counted(whole: Amounts) -> Amounts:
    """As the stage's Kueue is told to count: see KUEUE_RESOURCES."""
    found = {resource: amount for resource, amount in whole.items() if resource not in (IGNORED, SLICE)}
    if SLICE in whole:
        found[SLICE_MEMORY] = whole[SLICE] * SLICE_GIB
    return found


def _way(dice: Dice, tags: set[str]) -> str:
    way = dice.choice(quota.WAYS)
    tags.add(f"from {way}")
    return way


def _selector(dice: Dice, tags: set[str]) -> Document | None:
    match dice.randrange(36):
        case 0:
            tags.add("selects nobody")
            return None
        case 1:
            tags.add("selects others")
            return {"matchLabels": dict.fromkeys(TEAM, "red")}
        case 2:
            tags.add("selects the team")
            return {"matchLabels": dict(TEAM)}
        case _:
            return {}


def surroundings() -> list[Document]:
    """What all cases share."""
    spaces = [builders.namespace(name) for name in (PLAIN, DEFAULTS, BOUNDS)]
    for space in spaces:
        space["metadata"]["labels"] = dict(TEAM)
    # Where a container has a limit alone, Kueue takes the default request all the same.
    defaults = {"cpu": "150", "memory": "600Gi"}
    requests = {"cpu": "300m", "memory": "300Mi"}
    bounds = {"max": {"cpu": "20", "memory": "80Gi"}, "min": {"cpu": "50m"}}
    limits = {DEFAULTS: {"default": defaults, "defaultRequest": requests}, BOUNDS: bounds}
    ranges = [
        {
            "apiVersion": "v1",
            "kind": "LimitRange",
            "metadata": {"name": "containers", "namespace": space},
            "spec": {"limits": [{"type": "Container", **limit}]},
        }
        for space, limit in limits.items()
    ]
    heavy = {
        "apiVersion": "node.k8s.io/v1",
        "kind": "RuntimeClass",
        "metadata": {"name": HEAVY},
        "handler": "heavy",
        "overhead": {"podFixed": {resource: text(resource, amount) for resource, amount in OVERHEAD.items()}},
    }
    levels = {"levels": [{"nodeLabel": level} for level in LEVELS]}
    topology = {"apiVersion": builders.KUEUE, "kind": "Topology", "metadata": {"name": TOPOLOGY}, "spec": levels}
    return [*spaces, *ranges, heavy, topology]
