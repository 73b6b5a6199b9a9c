"""Whatever decodes is a gang, or says why it is none; nothing else is ever raised."""

import copy
from typing import Any

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from classifier.fit.gang import GangError, Unresolved
from classifier.objects import ClusterTrainingRuntime, KubeflowJob, Meta, Pod, PodGroup, TrainJob
from tests.unit.fit.kinds.full import FULL, POD, RUNTIME
from tests.unit.fit.kinds.shapes import Json, podsets

ODD = ["", "x", "head", "worker", "/", "template.spec.a[0]", "\ud800", "9" * 5000, 0, -1, 3, 2**31, 10**30, 1.5]
ODDER: list[Any] = [None, True, False, [], {}, [None], [{}], {"a": None}, {"": {}}, {"spec": {}}, POD]


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found = [at] if at else []
    return found + [place for key, item in below for place in places(item, (*at, key))]


@st.composite
def mutants(draw: st.DrawFn, raw: Json, struct: type[Meta]) -> Any:
    """``raw`` with some places replaced by something odd, or gone; as it was where that does not decode."""
    found = copy.deepcopy(raw)
    for place in draw(st.lists(st.sampled_from(places(raw)), max_size=4)):
        changed = copy.deepcopy(found)
        holder = changed
        odd = draw(st.sampled_from([*ODD, *ODDER, KeyError]))
        try:
            for key in place[:-1]:
                holder = holder[key]
            if odd is KeyError:
                del holder[place[-1]]
            else:
                holder[place[-1]] = copy.deepcopy(odd)
            msgspec.convert(changed, struct)
        except (msgspec.ValidationError, LookupError, TypeError, UnicodeEncodeError):
            continue
        found = changed
    return msgspec.convert(found, struct)


def holds(obj: Meta, *runtimes: ClusterTrainingRuntime) -> None:
    try:
        found = podsets(obj, *runtimes)
    except (GangError, Unresolved):
        return
    assert found
    assert len({podset.name for podset in found}) == len(found)
    assert all(podset.name for podset in found)
    assert all(0 <= podset.fewest <= podset.min_count <= podset.count < 2**31 for podset in found)
    assert sum(podset.min_count < podset.count for podset in found) <= 1


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_every_object_is_a_gang_or_says_why_not(data: st.DataObject) -> None:
    struct = data.draw(st.sampled_from(list(FULL)))
    runtime = data.draw(mutants(RUNTIME, ClusterTrainingRuntime)) if struct is TrainJob else None
    obj = data.draw(mutants(FULL[struct], struct))
    holds(obj, *([runtime] if runtime is not None else []))


@settings(max_examples=100, deadline=None)
@given(st.lists(mutants(FULL[Pod], Pod), max_size=3))
def test_every_group_of_pods(pods: list[Pod]) -> None:
    holds(PodGroup(pods=pods))


def test_full_objects_are_gangs() -> None:
    """Or the test above would show nothing."""
    runtime = msgspec.convert(RUNTIME, ClusterTrainingRuntime)
    for struct, raw in FULL.items():
        assert podsets(msgspec.convert(raw, struct), runtime), struct


def test_empty_objects() -> None:
    structs: list[type[Meta]] = [*FULL, *KubeflowJob.__subclasses__(), PodGroup]
    for struct in structs:
        holds(struct())
        holds(msgspec.json.decode(b'{"spec": null, "metadata": {}}', type=struct))
        holds(msgspec.json.decode(b'{"spec": {}, "metadata": {"annotations": null}}', type=struct))
