"""The review on the wire: what is refused and how, what is answered and in which form."""

import base64
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from classifier import api
from classifier.fit import Outcome, PodSetVerdict, Verdict
from classifier.objects import Job
from classifier.scope import why_not_ours
from tests.unit.webhook.builders import job, review
from webhook import admit, kinds
from webhook.review import ALLOWED, Answer, BadReview, decode, encode, encode_refusal, short

DEEP = b'{"request":' * 100_000


def changed(**fields: Any) -> bytes:
    return json.dumps({**review(job()), **fields}).encode()


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"", "the body is empty"),
        (b"{", "no AdmissionReview"),
        (b"null", "no AdmissionReview"),
        (b"[]", "no AdmissionReview"),
        (b"\xff\xfe", "no AdmissionReview"),
        (b'{"kind": "\xed\xa0\x80"}', "no AdmissionReview"),
        (DEEP, "no AdmissionReview"),
        (b"[" * 1_000_000, "no AdmissionReview"),
        (b"{}", "is expected, not '' ''"),
        (changed(kind="Pod"), "is expected, not 'admission.k8s.io/v1' 'Pod'"),
        (changed(apiVersion="admission.k8s.io/v1beta1"), "not 'admission.k8s.io/v1beta1'"),
        (changed(request=None), "the review has no request"),
        (changed(request={}), "missing required field `uid`"),
        (changed(request={"uid": "", "kind": {}}), "has no uid"),
        (changed(request={"uid": 7, "kind": {}}), "at `$.request.uid`"),
        (changed() + b"x", "no AdmissionReview"),
    ],
)
def test_what_is_no_review_is_refused_with_the_reason(body: bytes, says: str) -> None:
    with pytest.raises(BadReview) as caught:
        decode(body)
    assert says in str(caught.value)
    assert caught.value.status == 400
    answer = json.loads(encode_refusal(caught.value))
    assert (answer["apiVersion"], answer["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
    assert answer["response"]["allowed"] is False
    assert answer["response"]["status"]["code"] == 400


@given(st.binary(max_size=200))
def test_bytes_of_any_kind_are_a_review_or_refused(body: bytes) -> None:
    try:
        decode(body)
    except BadReview as error:
        json.loads(encode_refusal(error))


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=12,
)
FIELDS = ("metadata", "spec", "labels", "annotations", "ownerReferences", "template", "containers", "parallelism")


@given(st.dictionaries(st.sampled_from(FIELDS), JSON_VALUES | st.dictionaries(st.sampled_from(FIELDS), JSON_VALUES)))
def test_an_object_of_any_shape_is_read_or_refused_as_unreadable(obj: dict[str, Any]) -> None:
    try:
        read = kinds.decode(api.JOBS, msgspec.Raw(json.dumps(obj).encode()))
    except kinds.Unreadable:
        return
    assert isinstance(read, Job)
    why_not_ours(read)


def test_the_answer_echoes_the_uid_and_pairs_patch_with_its_type() -> None:
    plain = json.loads(encode("abc", Answer()))
    assert plain == {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "response": {"uid": "abc", "allowed": True},
    }
    operation = {"op": "add", "path": "/metadata/annotations", "value": {"a": "b"}}
    response = json.loads(encode("abc", Answer(patch=(operation,))))["response"]
    assert response["patchType"] == "JSONPatch"
    assert json.loads(base64.b64decode(response["patch"])) == [operation]


@pytest.mark.parametrize("uid", ["abc", 'a"\\b', "é%d%%", ""])
def test_the_answer_that_is_sent_most_says_the_same(uid: str) -> None:
    assert encode(uid, ALLOWED) == encode(uid, Answer())


def test_warnings_are_two_short_lines() -> None:
    answer = Answer(warnings=("x" * 500, "two\nlines\x00", "three"))
    first, second = json.loads(encode("abc", answer))["response"]["warnings"]
    assert len(first) == 120
    assert second == "two lines "
    assert short("ü" * 121)[-1] == "…"


NEVER = Verdict(
    outcome=Outcome.NEVER_FITS,
    denied=True,
    mode="Enforce",
    profile="gpu-a100-8",
    line="preflight: gang needs 3 node(s) of gpupool (max 2): cannot fit; request at most 16 nvidia.com/gpu or "
    "raise the pool's maximum",
    reason="gang needs 3 node(s) of gpupool (max 2)",
    binding="nodes",
    pod_sets=[
        PodSetVerdict(
            name="main",
            count=3,
            verdict=Outcome.NEVER_FITS,
            binding="nodes",
            pool="gpupool",
            needs=3,
            limit=2,
            source="CapacityProfile/gpu-a100-8",
            age_seconds=12,
        ),
        PodSetVerdict(name="launcher", count=1, verdict=Outcome.FITS),
    ],
)


def test_a_denial_is_the_line_and_its_numbers() -> None:
    status = json.loads(encode("abc", admit.answer(NEVER)))["response"]["status"]
    assert status == {
        "status": "Failure",
        "code": 403,
        "reason": "Forbidden",
        "message": NEVER.line,
        "details": {
            "causes": [
                {
                    "reason": "nodes",
                    "message": "needs 3 nodes of gpupool, at most 2 (CapacityProfile/gpu-a100-8, 12s old)",
                    "field": "podSets[main]",
                }
            ]
        },
    }


def test_never_fits_under_warn_is_allowed_with_its_warning() -> None:
    warned = msgspec.structs.replace(NEVER, denied=False, mode="Warn", warnings=["gang needs 3 node(s)"])
    answer = admit.answer(warned)
    assert answer.denial is None
    assert answer.warnings == ("muster: gang needs 3 node(s)",)


def test_what_the_author_can_mend_comes_first() -> None:
    verdict = msgspec.structs.replace(NEVER, denied=False, warnings=["fit"])
    answer = admit.answer(verdict, ["LocalQueue/gpu: bad", "job: muster.dev/admission-timeout: bad"])
    assert answer.warnings == (
        "muster: job: muster.dev/admission-timeout: bad",
        "muster: fit",
        "muster: LocalQueue/gpu: bad",
    )
