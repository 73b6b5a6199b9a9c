"""What a profile has stamped on pod templates: its topology label at creation, the count when a job is let go."""

import copy
import json
from random import Random
from typing import Any

import jsonpatch
import msgspec
import pytest

from classifier import api
from classifier.fit.gang import Podset
from classifier.objects import CapacityProfile, PodTemplate, WorkloadLabel
from e2e.builders import Document
from tests.reviews import laws
from tests.reviews.objects import KINDS, held, templates
from tests.reviews.world import LABEL, Decisions, profile
from webhook import template
from webhook.starts import COUNTED

#: Their pod templates are not in the object, or not ours to touch.
UNLABELLED = {"trainjob", "workload"}
#: What no template of a kind says that is not counted; a TrainJob has none.
NONE: dict[str, set[None]] = {"trainjob": set(), "appwrapper": {None}}


def fresh(name: str) -> Document:
    return held(KINDS[name], KINDS[name].make(Random(0)), True)


def mutated(name: str, obj: Document, old: Document | None = None) -> Document:
    answer = laws.ask(Decisions().reviewer.mutate(laws.request(KINDS[name], obj, old)))
    patched: Document = jsonpatch.apply_patch(copy.deepcopy(obj), list(answer.patch))
    return patched


def on_templates(obj: Document, field: str, key: str) -> list[str | None]:
    return [((each.get("metadata") or {}).get(field) or {}).get(key) for each in templates(obj)]


@pytest.mark.parametrize("name", KINDS)
def test_the_topology_label_is_on_every_template(name: str) -> None:
    found = on_templates(mutated(name, fresh(name)), "labels", LABEL.key)
    expected = None if name in UNLABELLED else LABEL.value
    assert found == [expected] * len(found)
    assert found or name == "trainjob"


def test_what_the_user_chose_stays() -> None:
    obj = fresh("jobset")
    (pods,) = templates(obj)
    pods["metadata"]["labels"] = {LABEL.key: "elsewhere"}
    assert on_templates(mutated("jobset", obj), "labels", LABEL.key) == ["elsewhere"]


@pytest.mark.parametrize("name", KINDS)
def test_each_start_is_counted_on_the_job_and_on_its_templates(name: str) -> None:
    kind, created = KINDS[name], mutated(name, fresh(name))
    counted = kind.resource in COUNTED
    assert (created["metadata"].get("annotations") or {}).get(api.ADMISSION_COUNT) == ("0" if counted else None)
    if not kind.suspend:
        return
    for expected in ("1", "2") if counted else (None, None):
        let_go = held(kind, copy.deepcopy(created), False)
        created = mutated(name, let_go, created)
        assert (created["metadata"].get("annotations") or {}).get(api.ADMISSION_COUNT) == expected
        assert set(on_templates(created, "annotations", api.ADMISSION_COUNT)) == ({expected} if counted else NONE[name])
        created = held(kind, created, True)


def started(change: dict[str, Any], old: dict[str, Any] | None = None) -> Document:
    """A counted Job, let go with such changes; ``old`` are those of what it was before."""
    before = mutated("job", fresh("job"))
    before["metadata"]["annotations"].update((old or {}).get("annotations") or {})
    before.update({key: value for key, value in (old or {}).items() if key != "annotations"})
    after = held(KINDS["job"], copy.deepcopy(before), False)
    after["metadata"]["annotations"].update(change)
    return mutated("job", after, before)


@pytest.mark.parametrize(
    ("count", "then"), [("0", "1"), ("9", "10"), ("", "1"), ("many", "1"), ("9" * 40, "1"), ("-1", "1")]
)
def test_what_is_no_count_begins_anew(count: str, then: str) -> None:
    obj = started({}, {"annotations": {api.ADMISSION_COUNT: count}})
    assert obj["metadata"]["annotations"][api.ADMISSION_COUNT] == then


def test_a_count_that_came_with_the_update_is_not_believed() -> None:
    assert started({api.ADMISSION_COUNT: "41"})["metadata"]["annotations"][api.ADMISSION_COUNT] == "1"


def test_a_job_whose_template_may_not_change_any_more_is_let_go_as_it_is() -> None:
    obj = started({}, {"status": {"startTime": "2026-11-29T09:00:00Z"}})
    assert obj["metadata"]["annotations"][api.ADMISSION_COUNT] == "0"
    assert set(on_templates(obj, "annotations", api.ADMISSION_COUNT)) == {None}


@pytest.mark.parametrize("room", range(-2, 40, 7))
@pytest.mark.parametrize("full", ["job", "template"])
def test_no_start_fails_for_the_length_of_our_annotations(full: str, room: int) -> None:
    """The API server refuses an object whose annotations are longer, and the start would be refused for ever."""
    before = mutated("job", fresh("job"))
    before["metadata"]["annotations"][api.ADMISSION_COUNT] = "9"
    metadata = before["metadata"] if full == "job" else next(iter(templates(before))).setdefault("metadata", {})
    annotations = metadata.setdefault("annotations", {})
    free = template.ANNOTATIONS_LIMIT - laws.length(annotations)
    annotations["é"] = "x" * (free - 2 - room)
    after = mutated("job", held(KINDS["job"], copy.deepcopy(before), False), before)
    for each in (after, *templates(after)):
        found = each["metadata"].get("annotations") or {}
        assert laws.length(found) <= max(template.ANNOTATIONS_LIMIT, laws.length(annotations))
    count = after["metadata"]["annotations"][api.ADMISSION_COUNT]
    assert count == ("9" if full == "job" and room < 1 else "10")


@pytest.mark.parametrize("change", ["stays held", "was running", "status"])
def test_no_other_update_is_a_start(change: str) -> None:
    kind = KINDS["job"]
    created = mutated("job", fresh("job"))
    running = held(kind, copy.deepcopy(created), False)
    old, new = {"stays held": (created, created), "was running": (running, running)}.get(change, (created, running))
    request = laws.request(kind, new, old)
    if change == "status":
        request.sub_resource = "status"
    assert laws.ask(Decisions().reviewer.mutate(request)).patch == ()


# --- which label ----------------------------------------------------------------------------------------------------


def asks(key: str = LABEL.key, value: str = LABEL.value) -> CapacityProfile:
    made = profile()
    made["spec"]["topology"]["workloadLabel"] = {"key": key, "value": value}
    return msgspec.convert(made, CapacityProfile)


SILENT = CapacityProfile()


@pytest.mark.parametrize(
    ("profiles", "label"),
    [
        ([], None),
        ([SILENT], None),
        ([asks()], LABEL),
        ([asks(), SILENT], LABEL),
        ([asks(), asks()], LABEL),
        ([asks(), asks(value="other")], None),
        ([asks(), asks(key="example.com/other")], None),
        ([asks(key="job-name")], None),
        ([asks(key="controller-uid")], None),
        ([asks(key="")], None),
        ([asks(key="a b")], None),
        ([asks(key="-a")], None),
        ([asks(key="UPPER.example.com/a")], None),
        ([asks(key="a" * 64)], None),
        ([asks(value="not a value")], None),
        ([asks(value="v" * 64)], None),
        ([asks(value="")], WorkloadLabel(key=LABEL.key, value="")),
    ],
)
def test_the_label_is_one_that_all_agree_on_and_the_api_server_takes(
    profiles: list[CapacityProfile], label: WorkloadLabel | None
) -> None:
    assert template.topology_label(profiles) == label


# --- where ----------------------------------------------------------------------------------------------------------

SHAPES: list[Any] = [
    {"template": {}},
    {"template": {"metadata": None}},
    {"template": {"metadata": {}}},
    {"template": {"metadata": {"labels": None}}},
    {"template": {"metadata": {"labels": {}}}},
    {"template": {"metadata": {"labels": {"a": "b"}}}},
    {"template": {"metadata": {"labels": {LABEL.key: LABEL.value}}}},
]


@pytest.mark.parametrize("document", SHAPES, ids=json.dumps)
def test_parents_that_are_missing_are_made(document: Any) -> None:
    patch = template.with_label(raw(document), [at("/template")], LABEL)
    patched = jsonpatch.apply_patch(document, list(patch))
    assert patched["template"]["metadata"]["labels"][LABEL.key] == LABEL.value
    assert template.with_label(raw(patched), [at("/template")], LABEL) == ()


@pytest.mark.parametrize(
    "document",
    [None, 3, [], {}, {"template": None}, {"template": []}, {"template": {"metadata": "x"}}],
    ids=json.dumps,
)
def test_what_is_not_nested_as_expected_is_left_alone(document: Any) -> None:
    assert template.with_label(raw(document), [at("/template")], LABEL) == ()


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"[" * 100_000])
def test_a_document_that_cannot_be_read_is_left_alone(body: bytes) -> None:
    assert template.with_label(msgspec.Raw(body), [at("/template")], LABEL) == ()


def test_one_template_of_two_podsets_is_changed_once_and_one_without_a_place_never() -> None:
    document: Document = {"list": [{}, {"a/b~c": {}}]}
    podsets = [at("/list/1/a~1b~0c"), at("/list/1/a~1b~0c"), at(None), at("/list/2"), at("/list/x"), at("/list/-1")]
    patched = jsonpatch.apply_patch(document, list(template.with_label(raw(document), podsets, LABEL)))
    assert patched == {"list": [{}, {"a/b~c": {"metadata": {"labels": {LABEL.key: LABEL.value}}}}]}


def at(path: str | None) -> Podset:
    return Podset("main", 1, 1, PodTemplate(), "team", path)


def raw(document: Any) -> msgspec.Raw:
    return msgspec.Raw(json.dumps(document).encode())
