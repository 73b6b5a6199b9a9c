"""A review that is read in one pass is the one that is read step by step; what cannot be read so is left to that."""

import json
from typing import Any

import pytest

from tests.reviews.objects import KINDS, Kind
from tests.reviews.odd import body
from tests.unit.webhook.builders import Object, job, review
from webhook import subject, whole
from webhook.review import BadReview, decode


def compact(obj: Any) -> bytes:
    """As API servers write it."""
    return json.dumps(obj, separators=(",", ":")).encode()


def asked(**request: Any) -> bytes:
    return compact(review(job(), **request))


def assert_same(raw: bytes) -> bool:
    """That both ways tell the same; whether there are two."""
    found = whole.read(raw)
    if found is None:
        return False
    step_by_step = decode(raw)
    for field in ("uid", "kind", "operation", "sub_resource", "namespace", "name", "user_info", "dry_run"):
        assert getattr(found, field) == getattr(step_by_step, field)
    assert bytes(found.document) == bytes(step_by_step.document)
    assert subject.of(found) == subject.of(step_by_step)
    return True


def test_whatever_is_read_in_one_pass_is_what_stands_there() -> None:
    read = [assert_same(body(seed).replace(b'": ', b'":').replace(b', "', b',"')) for seed in range(3000)]
    assert sum(read) > 500


@pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
def test_every_kind_is_read_in_one_pass(kind: Kind) -> None:
    resource, old = kind.resource, {"metadata": {"name": "old"}}
    named = {"group": resource.group, "version": resource.version, "kind": resource.kind}
    obj = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": "train"}}
    requests: list[Object] = [{}, {"operation": "UPDATE", "oldObject": old}]
    for request in requests:
        sent = review(obj, **request)
        sent["request"]["kind"] = named
        assert assert_same(compact(sent))


@pytest.mark.parametrize(
    "raw",
    [
        json.dumps(review(job())).encode(),
        asked(operation="DELETE"),
        asked(operation="CONNECT"),
        asked(operation="UPDATE"),
        asked(uid=""),
        compact(review(job(), group="", kind="ConfigMap")),
        compact(review({"spec": []})),
        compact(review(None)),
        compact({**review(job()), "apiVersion": "admission.k8s.io/v1beta1"}),
        compact({**review(job()), "kind": "Review"}),
        asked()[:-1],
        asked() + b"}",
        b"",
        b'"kind":{',
    ],
)
def test_anything_else_is_read_step_by_step(raw: bytes) -> None:
    assert whole.read(raw) is None


def test_the_kind_is_the_requests_own_wherever_such_words_stand() -> None:
    sent = review(job())
    words: Object = {"kind": sent["request"].pop("kind")}
    sent["request"]["kind"] = {"group": "", "version": "v1", "kind": "Pod"}
    raw = compact({"extra": words, **sent})
    assert raw.index(b'"kind":"Job"') < 256
    assert whole.read(raw) is None
    assert decode(raw).kind.kind == "Pod"


def test_what_a_review_says_of_its_own_bytes_is_nothing() -> None:
    assert assert_same(asked(body="QUJD"))
    with pytest.raises(BadReview):
        decode(b"QUJD")
