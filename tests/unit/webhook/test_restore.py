"""What a plain replace leaves out of an object that exists, and that nothing else of it is touched."""

import copy
import json
from random import Random
from typing import Any

import jsonpatch
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from classifier import api
from classifier.objects import Meta
from tests.reviews.objects import KINDS, Kind, made
from tests.reviews.world import Decisions
from tests.unit.webhook.builders import Object, job
from webhook import restore
from webhook.review import Answer, GroupVersionKind, Request
from webhook.template import ANNOTATIONS_LIMIT

OURS = {key: f"of the controller: {key}" for key in api.PROTECTED_KEYS}
KEPT = {key: OURS[key] for key in OURS if key not in api.MIRROR_KEYS}


def meta(obj: Object) -> Meta:
    return msgspec.json.decode(json.dumps(obj).encode(), type=Meta)


def mended(old: Object, new: Object) -> Object:
    """``new`` as the API server has it after our patch; asked again there is none."""
    applied: Object = jsonpatch.apply_patch(copy.deepcopy(new), list(restore.patch(meta(old), meta(new))))
    assert restore.patch(meta(old), meta(applied)) == ()
    return applied


@pytest.mark.parametrize(
    "left",
    [{}, {"annotations": None}, {"annotations": {}}, {"annotations": {"team": "ml"}}],
    ids=["absent", "null", "empty", "others"],
)
def test_a_replace_without_the_controllers_keys_keeps_them(left: Object) -> None:
    new = job()
    new["metadata"].update(left)
    found = mended(job(annotations=OURS), new)["metadata"]["annotations"]
    assert found == {**(left.get("annotations") or {}), **KEPT}


@pytest.mark.parametrize("key", api.MIRROR_KEYS)
def test_a_mirror_key_is_for_anybody_to_take_off(key: str) -> None:
    kept = {name: value for name, value in OURS.items() if name != key}
    assert restore.patch(meta(job(annotations=OURS)), meta(job(annotations=kept))) == ()


@pytest.mark.parametrize("key", KEPT)
def test_a_changed_value_is_left_for_the_policy_to_refuse(key: str) -> None:
    """What is put back hides a loss, never an attempt."""
    changed = {**OURS, key: "another"}
    assert restore.patch(meta(job(annotations=OURS)), meta(job(annotations=changed))) == ()
    assert restore.patch(meta(job(annotations={})), meta(job(annotations=OURS))) == ()


@pytest.mark.parametrize("room", [-1, 0, 1, 1000])
def test_no_update_is_refused_for_the_length_of_what_is_put_back(room: int) -> None:
    need = sum(len(key) + len(value) for key, value in KEPT.items()) + len(api.ADMISSION_COUNT) + 10
    filled = {"x": "x" * (ANNOTATIONS_LIMIT - 1 - need - room)}
    found = mended(job(annotations=KEPT), job(annotations=filled))["metadata"]["annotations"]
    assert found == ({**filled, **KEPT} if room >= 0 else filled)


values = st.dictionaries(st.sampled_from([*api.PROTECTED_KEYS, "team", "a~b/c"]), st.text(max_size=4)) | st.none()


@given(before=values, after=values)
def test_whatever_was_there_only_kept_keys_come_back_and_as_they_were(before: Any, after: Any) -> None:
    old, new = job(), job()
    old["metadata"]["annotations"], new["metadata"]["annotations"] = before, after
    found = mended(old, new)["metadata"].get("annotations") or {}
    back = {key: value for key, value in (before or {}).items() if key in KEPT and key not in (after or {})}
    assert found == {**(after or {}), **back}


# --- through the decision: every kind, read or not --------------------------------------------------------------


def review(kind: Kind, old: Object, new: Object, **more: Any) -> Request:
    return Request(
        uid="705ab4f5",
        kind=GroupVersionKind(kind.resource.group, kind.resource.version, kind.resource.kind),
        operation="UPDATE",
        namespace="team",
        object=msgspec.Raw(json.dumps(new).encode()),
        old_object=msgspec.Raw(json.dumps(old).encode()),
        **more,
    )


async def answer(kind: Kind, old: Object, new: Object, **more: Any) -> Answer:
    return await Decisions().reviewer.mutate(review(kind, old, new, **more))


def pair(kind: Kind) -> tuple[Object, Object]:
    """As it is, with the controller's keys, and as a replace would have it."""
    new = made(kind, Random(1))
    new["metadata"] |= {"name": "train", "namespace": "team"}
    new["metadata"].pop("annotations", None)
    old = copy.deepcopy(new)
    old["metadata"]["annotations"] = dict(OURS)
    return old, new


@pytest.mark.parametrize("name", KINDS)
async def test_of_every_kind(name: str) -> None:
    old, new = pair(KINDS[name])
    found = await answer(KINDS[name], old, new)
    assert jsonpatch.apply_patch(new, list(found.patch))["metadata"]["annotations"] == KEPT
    (warning,) = found.warnings
    assert warning.startswith("muster: put back what only its controller takes off: admission-clock, ")
    assert (await answer(KINDS[name], old, old)) == Answer()
    assert (await answer(KINDS[name], old, new, sub_resource="status")) == Answer()


async def test_of_what_cannot_be_read_too() -> None:
    old, new = pair(KINDS["job"])
    new["spec"]["parallelism"] = "three"
    found = await answer(KINDS["job"], old, new)
    assert jsonpatch.apply_patch(new, list(found.patch))["metadata"]["annotations"] == KEPT
    new["metadata"] = "none"
    assert (await answer(KINDS["job"], old, new)) == Answer()


async def test_a_start_is_counted_in_the_same_patch() -> None:
    old, new = pair(KINDS["job"])
    for obj, suspended in ((old, True), (new, False)):
        obj["metadata"]["annotations"] = {**obj["metadata"].get("annotations", {}), api.ADMISSION_COUNT: "1"}
        obj["spec"]["suspend"] = suspended
    old.pop("status", None)
    found = await answer(KINDS["job"], old, new)
    applied = jsonpatch.apply_patch(new, list(found.patch))
    assert applied["metadata"]["annotations"] == {**KEPT, api.ADMISSION_COUNT: "2"}
