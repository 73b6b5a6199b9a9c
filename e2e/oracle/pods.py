"""Pod templates: one total per pod, taken apart in every way Kubernetes knows of."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from classifier.quantity import milli
from e2e.builders import GPU, Document
from e2e.oracle.case import CASE, ROLE
from e2e.oracle.dice import Dice
from e2e.oracle.room import CPU, IGNORED, MEMORY, SLICE, SLOT, Amounts, Room, text
from e2e.played.hands import RUNS_ON

#: Pods of this class weigh this much more.
HEAVY: Final = "oracle-heavy"
OVERHEAD: Final = {CPU: 250, MEMORY: 120}
#: What a sidecar takes of the total.
SIDE: Final = {CPU: 100, MEMORY: 64}
NATIVE: Final = (CPU, MEMORY)
#: How a total is spread over containers, and over the pod itself.
WAYS: Final = ("one", "one", "two", "init", "sidecar", "init after sidecar")
LEVELS: Final = ("pod level", "pod level limit")
HOSTNAME: Final = "kubernetes.io/hostname"
#: Labels of the pools' nodes; the pools' sizes are numbers.
TIER: Final = "oracle.muster.dev/tier"
SIZE: Final = "oracle.muster.dev/size"
RACK: Final = "oracle.muster.dev/rack"
TAINT: Final = "oracle.muster.dev/reserved"


def want(dice: Dice, room: Room, tags: set[str], small: bool = False) -> Amounts:
    """What a pod asks for: one resource fills the node with a whole number of pods, just so or just not."""
    offered = room.amounts
    driver = dice.choice([r for r in offered if r != SLOT])
    per_node = 4 if small else dice.of(1, 1, 2, 2, 3, 4)
    found = {}
    for resource in (CPU, MEMORY):
        found[resource] = max(1000 if resource == CPU else 512, offered[resource] // (per_node * dice.of(2, 3, 5)))
        found[resource] = min(found[resource], offered[resource] // per_node)
    if GPU in offered and (driver == GPU or dice.one_in(2)):
        found[GPU] = max(1, offered[GPU] // per_node)
    found[driver] = max(1, offered[driver] // per_node) + dice.of(0, 0, 0, 0, 0, 1)
    if dice.one_in(24):
        # Larger than any node.
        found[driver] = offered[driver] + dice.of(1, 1, offered[driver])
        tags.add("too large")
    if SLOT in offered and dice.one_in(2):
        found[SLOT] = 1
        tags.add("slot")
    if dice.one_in(14):
        found[IGNORED] = 1
        tags.add("ignored")
    if dice.one_in(14):
        found[SLICE] = dice.of(1, 2)
        tags.add("transformed")
    return found


def template(
    dice: Dice,
    name: str,
    role: str,
    container: str,
    amounts: Amounts,
    tags: set[str],
    ways: Sequence[str],
    never: Sequence[str],
) -> Document:
    """A template whose pods ask for these amounts in all, in one of the ``ways``; instead of those ``never`` in one
    container."""
    spec = _apart(dice, container, amounts, tags, ways, never)
    spec["restartPolicy"] = "Never"
    return {"metadata": {"labels": {CASE: name, ROLE: role}, "annotations": dict(RUNS_ON)}, "spec": spec}


def _apart(
    dice: Dice, container: str, amounts: Amounts, tags: set[str], ways: Sequence[str], never: Sequence[str]
) -> Document:
    spec: Document = {}
    amounts = dict(amounts)
    if dice.one_in(10) and all(amounts[r] > OVERHEAD[r] for r in NATIVE):
        spec["runtimeClassName"] = HEAVY
        amounts |= {r: amounts[r] - OVERHEAD[r] for r in NATIVE}
        tags.add("overhead")
    roomy = all(amounts[r] > 2 * SIDE[r] for r in NATIVE)
    way = dice.choice(ways)
    if way != "one" and (not roomy or way in never):
        way = "one"
    tags.add(way)
    rest = {**amounts, **{r: amounts[r] - SIDE[r] for r in NATIVE}}
    match way:
        case "two":
            first, second = _form(dice, rest, tags), _both(dice, SIDE)
            spec["containers"] = [_container(container, first), _container("second", second)]
        case "init":
            spec["initContainers"] = [_container("prepare", _form(dice, amounts, tags))]
            spec["containers"] = [_container(container, _both(dice, rest))]
        case "sidecar":
            spec["initContainers"] = [_container("side", _both(dice, SIDE), restartPolicy="Always")]
            spec["containers"] = [_container(container, _form(dice, rest, tags))]
        case "init after sidecar":
            side = _container("side", _both(dice, SIDE), restartPolicy="Always")
            spec["initContainers"] = [side, _container("prepare", _form(dice, rest, tags))]
            spec["containers"] = [_container(container, _both(dice, {**rest, **{r: rest[r] // 2 for r in NATIVE}}))]
        case "pod level" | "pod level limit":
            field = "requests" if way == "pod level" else "limits"
            spec["resources"] = {field: _texts(dice, {r: amounts[r] for r in NATIVE})}
            halves = {r: amounts[r] // 2 for r in NATIVE}
            extended = {r: amount for r, amount in amounts.items() if r not in NATIVE}
            own = {"requests": _texts(dice, halves | extended), "limits": _texts(dice, extended)}
            spec["containers"] = [_container(container, own)]
        case _:
            spec["containers"] = [_container(container, _form(dice, amounts, tags))]
    return spec


def halve_a_device(template: Document) -> None:
    """Half a GPU less in every container that asks for some: quota counts a whole one, and no pod can carry it."""
    spec = template["spec"]
    for container in [*spec["containers"], *spec.get("initContainers", ())]:
        for amounts in container["resources"].values():
            if GPU in amounts:
                amounts[GPU] = f"{milli(amounts[GPU]) - 500}m"


def _container(name: str, resources: Mapping[str, Any], **more: Any) -> Document:
    return {"name": name, "image": "example.com/train:1", "resources": dict(resources), **more}


def _texts(dice: Dice, amounts: Mapping[str, int]) -> Document:
    return {resource: text(resource, amount, dice) for resource, amount in amounts.items()}


def _both(dice: Dice, amounts: Mapping[str, int]) -> Document:
    return {"requests": _texts(dice, amounts), "limits": _texts(dice, amounts)}


def _form(dice: Dice, amounts: Mapping[str, int], tags: set[str]) -> Document:
    """Requests, limits or both; extended resources want both alike, or the limit alone."""
    form = dice.of("both", "limits only", "requests only", "limits above", "mixed")
    tags.add(form)
    extended = {r: amount for r, amount in amounts.items() if r not in NATIVE}
    native = {r: amount for r, amount in amounts.items() if r in NATIVE}
    match form:
        case "limits only":
            return {"limits": _texts(dice, amounts)}
        case "requests only":
            return {"requests": _texts(dice, amounts), "limits": _texts(dice, extended)}
        case "limits above":
            above = {r: amount * 2 for r, amount in native.items()}
            return {"requests": _texts(dice, amounts), "limits": _texts(dice, above | extended)}
        case "mixed":
            return {
                "requests": _texts(dice, {CPU: native[CPU]} | extended),
                "limits": _texts(dice, {MEMORY: native[MEMORY]} | extended),
            }
        case _:
            return _both(dice, amounts)
