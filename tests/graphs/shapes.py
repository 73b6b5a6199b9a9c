"""Random JSON of the shape a struct reads: the next kind's own fields are filled without a line here."""

from collections.abc import Callable
from functools import cache
from random import Random
from typing import Any, Final

import msgspec
from msgspec import inspect

from classifier.objects import Condition, ContainerState, PodSpec, Terminated, Waiting
from tests.graphs.values import ANY_REASON, EXIT_CODES, INTEGERS, MESSAGES, ODD, REASONS, TEXTS, TIMES, Json, chance

#: Absent, and an explicit null where the API server accepts one.
_ABSENT: Final = 0.2
_STATUS_ABSENT: Final = 0.08
_NULL: Final = 0.03
#: Fields that no rule of the classification reads, or that the graph fills itself.
_SKIPPED: Final = frozenset(
    {
        "metadata",
        "kind",
        "apiVersion",
        "pods",
        "template",
        "podSets",
        "admission",
        "conditions",
        "allocatable",
        "capacity",
    }
)
_ONLY: Final[dict[type, frozenset[str]]] = {PodSpec: frozenset({"containers", "nodeName", "schedulingGates"})}
#: A container's status without a name is not accepted, nor is a termination without a code.
_REQUIRED: Final = frozenset({"name", "exitCode", "type", "status", "key"})

Maker = Callable[[Random], Any]


@cache
def shape(struct: type[msgspec.Struct]) -> Callable[[Random], Json]:
    """The maker of random JSON objects for a struct."""
    if struct is ContainerState:
        return container_state
    known = inspect.type_info(struct)
    assert isinstance(known, inspect.StructType)
    only = _ONLY.get(struct)
    fields = [
        (field.encode_name, _maker(field.encode_name, field.type), _absent(field.encode_name, field.type))
        for field in known.fields
        if field.encode_name not in _SKIPPED and (only is None or field.encode_name in only)
    ]

    def make(random: Random) -> Json:
        made: Json = {}
        for name, maker, (absent, null) in fields:
            if not chance(random, absent):
                made[name] = None if chance(random, null) else maker(random)
        return made

    return make


def _absent(name: str, type_: inspect.Type) -> tuple[float, float]:
    """How likely it is not there, and how likely a null."""
    if name in _REQUIRED:
        return 0, 0
    nullable = isinstance(type_, inspect.UnionType) and type_.includes_none
    return _STATUS_ABSENT if name in ("status", "spec") else _ABSENT, _NULL if nullable else 0


def _maker(name: str, type_: inspect.Type) -> Maker:
    match type_:
        case inspect.UnionType():
            return _maker(name, next(t for t in type_.types if not isinstance(t, inspect.NoneType)))
        case inspect.StructType():
            return shape(type_.cls)
        case inspect.ListType():
            item = _maker(name.removesuffix("s"), type_.item_type)
            return lambda random: [item(random) for _ in range(random.choice((0, 1, 1, 2, 3)))]
        case inspect.DictType() if name == "schedulingGate":
            return lambda random: {"name": random.choice(("kueue.x-k8s.io/admission", "odd"))}
        case inspect.DictType():
            value = _maker(name, type_.value_type)
            return lambda random: {random.choice(("a", "Worker", "Launcher")): value(random) for _ in range(2)}
        case inspect.StrType():
            return _text(name)
        case inspect.IntType():
            integers = EXIT_CODES if name == "exitCode" else INTEGERS
            return lambda random: random.choice(integers)
        case inspect.BoolType():
            return lambda random: chance(random, 0.5)
        case inspect.FloatType():
            return lambda random: random.choice((0.0, 1.5))
        case _:
            return lambda random: random.choice(ODD)


def _text(name: str) -> Maker:
    if name.endswith(("Time", "Timestamp", "At")):
        return lambda random: random.choice(TIMES)
    values = TEXTS.get(name, ODD)
    return lambda random: random.choice(values)


def container_state(random: Random) -> Json:
    """At most one of the three is set, as the API server has it."""
    match random.choice(("terminated", "terminated", "waiting", "running", "")):
        case "terminated":
            return {"terminated": shape(Terminated)(random)}
        case "waiting":
            return {"waiting": shape(Waiting)(random)}
        case "running":
            return {"running": {"startedAt": random.choice(TIMES)}}
    return {}


def conditions(random: Random, types: tuple[str, ...], most: int) -> list[Json]:
    """Of different types: that is what the API server keeps apart."""
    made = []
    for type_ in dict.fromkeys(random.choice(types) for _ in range(random.randint(0, most))):
        made.append(condition(random, type_))
    return made


def condition(random: Random, type_: str) -> Json:
    made = shape(Condition)(random) | {"type": type_}
    if chance(random, 0.5):
        made["status"] = "False" if type_ in ("Ready", "PodScheduled") else "True"
    if not chance(random, 0.05):
        made["reason"] = random.choice(REASONS.get(type_, ANY_REASON))
    made["message"] = random.choice(MESSAGES) if chance(random, 0.5) else "why"
    return made
