"""Objects of more values than any that is meant: let through and told, at no price; and no other one is taken for such.

A few megabytes of ``{},`` took the webhook half a gigabyte and seconds, for whoever may create a job.
"""

import base64
import json
import time
import tracemalloc
from typing import Any

import jsonpatch
import pytest
from hypothesis import given
from hypothesis import strategies as st

from classifier import api
from tests.reviews.world import Decisions
from tests.unit.webhook.builders import Object, job, review
from webhook import kinds, pipeline, subject, whole
from webhook.metrics import PHASES
from webhook.review import decode

TOLD = f"cannot be read: it has more than {kinds.MOST} values"
HOLE = b'"hole"'


def filled(obj: Object, item: bytes, **request: Any) -> bytes:
    """As long a review as is read, with ``item`` again and again in the place of the hole."""
    group, _, version = obj["apiVersion"].partition("/")
    whole_review = review(obj, **request)
    whole_review["request"]["kind"] = {"group": group, "version": version, "kind": obj["kind"]}
    sent = json.dumps(whole_review, separators=(",", ":")).encode()
    before, _, after = sent.partition(HOLE)
    count = (pipeline.BODY_LIMIT - len(sent)) // (len(item) + 1)
    return before + b",".join([item] * count) + after


def with_containers() -> Object:
    sent = job()
    sent["spec"]["template"]["spec"]["containers"] = ["hole"]
    return sent


def with_owners() -> Object:
    return job(ownerReferences=["hole"])


def with_claims() -> Object:
    sent = job()
    sent["spec"]["template"]["spec"]["resourceClaims"] = [{"x": ["hole"]}]
    return sent


def of_kind(group: str, version: str, kind: str, spec: Object) -> Object:
    metadata = {"name": "a", "namespace": "team", "labels": {api.QUEUE_NAME: "gpu"}}
    return {"apiVersion": f"{group}/{version}", "kind": kind, "metadata": metadata, "spec": spec}


PODSETS = of_kind("kueue.x-k8s.io", "v1beta2", "Workload", {"queueName": "gpu", "podSets": ["hole"]})
COMPONENTS = of_kind("workload.codeflare.dev", "v1beta2", "AppWrapper", {"suspend": True, "components": ["hole"]})
SHAPES = {
    "containers": (with_containers(), b"{}"),
    "objects": (with_claims(), b"{}"),
    "lists": (with_claims(), b"[" * 500 + b"]" * 500),
    "numbers": (with_claims(), b"1e9"),
    "podsets": (PODSETS, b"{}"),
    "components": (COMPONENTS, b"{}"),
}


def answered(phase: str, raw: bytes) -> tuple[Object, Decisions]:
    decisions = Decisions()
    endpoint = pipeline.Endpoint(phase, getattr(decisions.reviewer, phase), decisions.metrics, lambda: True)
    reply = endpoint.answer(raw, "timeout=10s", time.perf_counter())
    assert isinstance(reply, pipeline.Reply)
    return json.loads(reply.payload)["response"], decisions


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("shape", SHAPES)
def test_it_is_let_through_at_the_price_of_its_bytes(shape: str, phase: str) -> None:
    raw = filled(*SHAPES[shape])
    tracemalloc.start()
    try:
        response, decisions = answered(phase, raw)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert response["allowed"]
    assert most < 4 * len(raw)
    if phase == "validate":
        assert TOLD in response["warnings"][0]
        assert decisions.metrics.registry.get_sample_value("muster_review_errors_total", {"cause": "object"}) == 1


@pytest.mark.parametrize("phase", PHASES)
def test_where_its_metadata_is_crowded_nothing_is_read(phase: str) -> None:
    raw = filled(with_owners(), b"{}")
    assert subject.of(decode(raw)) is None
    response, _ = answered(phase, raw)
    assert response == {"uid": response["uid"], "allowed": True}


def patched(raw: bytes) -> Object:
    response, _ = answered("mutate", raw)
    patch = json.loads(base64.b64decode(response["patch"]))
    metadata = json.loads(raw)["request"]["object"]["metadata"]
    return dict(jsonpatch.apply_patch({"metadata": metadata}, patch)["metadata"])


def test_what_only_the_controller_writes_is_taken_off_and_put_back_all_the_same() -> None:
    theirs, clock = with_containers(), {api.ADMISSION_CLOCK: "{}"}
    theirs["metadata"]["annotations"] = {"team": "ml", **clock}
    assert patched(filled(theirs, b"{}"))["annotations"] == {"team": "ml"}
    theirs["metadata"]["annotations"] = {"team": "ml"}
    left_out = filled(theirs, b"{}", operation="UPDATE", oldObject=job(annotations=clock))
    assert patched(left_out)["annotations"] == {"team": "ml", **clock}


def values(document: Any) -> int:
    inner = document.values() if isinstance(document, dict) else document if isinstance(document, list) else ()
    return 1 + sum(map(values, inner))


documents = st.recursive(
    st.none() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=2), inner, max_size=6),
    max_leaves=40,
)


@given(document=documents, most=st.integers(0, 60), separators=st.sampled_from([(",", ":"), (", ", ": ")]))
def test_more_values_than_are_read_are_always_seen(document: Any, most: int, separators: tuple[str, str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kinds, "MOST", most)
        if values(document) > most:
            assert kinds.crowded(json.dumps(document, separators=separators).encode())


def test_as_many_as_are_read_are_judged() -> None:
    """Eight hundred containers of a hundred values each, and a megabyte of text."""
    sent = job(annotations={"text": "x" * 1_000_000})
    (container,) = sent["spec"]["template"]["spec"]["containers"]
    variables = [{"name": f"V{n}", "value": "v"} for n in range(30)]
    sent["spec"]["template"]["spec"]["containers"] = [{**container, "env": variables} for _ in range(800)]
    raw = json.dumps(review(sent), separators=(",", ":")).encode()
    found = subject.of(whole.read(raw) or decode(raw))
    assert found is not None
    assert found.unreadable is None
    assert whole.read(raw) is not None
