"""What a job carries after the mutating review, and that the patch always applies and is never needed twice."""

import copy
import json
from typing import Any

import jsonpatch
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from classifier import api
from classifier.fit import Outcome, Verdict
from classifier.instant import HOUR, MINUTE, SECOND, format_instant
from classifier.objects import Job
from classifier.policy import Timeout
from tests.reviews import laws
from tests.unit.webhook.builders import NOW, Object, job
from webhook import stamp
from webhook.template import ANNOTATIONS_LIMIT

FITS = Verdict(
    outcome=Outcome.FITS_AFTER_SCALE_UP,
    line="preflight: gang needs 2 node(s) of gpupool (max 2): fits",
    reason="gang needs 2 node(s) of gpupool (max 2)",
    profile="gpu-a100-8",
)
SKIPPED = Verdict(outcome=Outcome.SKIPPED, line="preflight: skipped: mode Off", reason="mode Off")
HALF_HOUR = Timeout(30 * MINUTE, "CapacityProfile/gpu-a100-8")

STAMPED = {
    "muster.dev/submitted-at": "2026-11-29T10:00:00Z",
    "muster.dev/admission-deadline": "2026-11-29T10:30:00Z",
    "muster.dev/capacity-profile": "gpu-a100-8",
    "muster.dev/preflight": "fits-after-scale-up: gang needs 2 node(s) of gpupool (max 2)",
}


def stamped(
    obj: Object,
    *,
    timeout: Timeout | None = HALF_HOUR,
    profiles: tuple[str, ...] = ("gpu-a100-8",),
    verdict: Verdict | None = FITS,
    now: int = NOW,
) -> Object:
    """``obj`` as the API server has it after our patch."""
    read = msgspec.json.decode(json.dumps(obj).encode(), type=Job)
    wanted = stamp.wanted(read.metadata.annotations or {}, timeout=timeout, profiles=profiles, verdict=verdict, now=now)
    applied: Object = jsonpatch.apply_patch(copy.deepcopy(obj), list(stamp.patch(read, wanted)))
    return applied


def annotations(obj: Object) -> dict[str, str]:
    found: dict[str, str] = obj["metadata"].get("annotations") or {}
    return found


@pytest.mark.parametrize(
    "before",
    [{}, {"annotations": None}, {"annotations": {}}, {"annotations": {"team": "ml"}}],
    ids=["absent", "null", "empty", "others"],
)
def test_a_job_under_a_policy_is_stamped(before: Object) -> None:
    obj = job()
    obj["metadata"].update(before)
    assert annotations(stamped(obj)) == {**(before.get("annotations") or {}), **STAMPED}


@pytest.mark.parametrize("room", [-1, 0, 1, 40, 200, 264, 265, 1000])
@pytest.mark.parametrize("copied", [False, True], ids=["new", "copied"])
def test_no_job_is_refused_for_the_length_of_our_annotations(copied: bool, room: int) -> None:
    obj = job(annotations=dict(STAMPED) if copied else {})
    obj["metadata"]["annotations"]["é"] = "x" * (ANNOTATIONS_LIMIT - 2 - room)
    found = annotations(stamped(obj))
    need = laws.length(STAMPED)
    assert found.keys() - {"é"} == (STAMPED.keys() if room >= need else set())
    assert annotations(stamped({**obj, "metadata": {**obj["metadata"], "annotations": found}})) == found


@pytest.mark.parametrize(
    ("given_", "keys"),
    [
        ({"timeout": None}, {"submitted-at", "capacity-profile", "preflight"}),
        ({"profiles": (), "verdict": None}, {"submitted-at", "admission-deadline"}),
        ({"verdict": SKIPPED}, {"submitted-at", "admission-deadline", "capacity-profile"}),
    ],
    ids=["no-bound", "no-profile", "mode-off"],
)
def test_only_what_is_known_is_said(given_: dict[str, Any], keys: set[str]) -> None:
    assert {key.removeprefix("muster.dev/") for key in annotations(stamped(job(), **given_))} == keys


def test_an_untouched_job_gets_no_patch() -> None:
    obj = job(annotations={"team": "ml"})
    read = msgspec.convert(obj, Job)
    assert stamp.wanted({"team": "ml"}, timeout=None, profiles=(), verdict=None, now=NOW) == {}
    assert stamp.patch(read, {}) == ()


COPIED = {
    **dict.fromkeys(api.CONTROLLER_KEYS, "copied"),
    api.SUBMITTED_AT: "2026-11-28T10:00:00Z",
    api.ADMISSION_DEADLINE: "2026-11-28T10:30:00Z",
    api.CAPACITY_PROFILE: "another",
    api.PREFLIGHT: "fits: long ago",
    api.ADMISSION_TIMEOUT: "45m",
    "team": "ml",
}


def test_a_copied_manifest_starts_afresh() -> None:
    people = {api.ADMISSION_TIMEOUT: "45m", "team": "ml"}
    assert annotations(stamped(job(annotations=COPIED))) == {**people, **STAMPED}
    untouched = stamped(job(annotations=COPIED), timeout=None, profiles=(), verdict=None)
    assert annotations(untouched) == people, "what Muster says of another job is not left on this one"


def test_a_stamp_of_this_very_request_stays_and_an_old_one_does_not() -> None:
    first = stamped(job())
    again = stamped(first, now=NOW + 10 * SECOND)
    assert again == first
    behind = stamped(first, now=NOW - 2 * SECOND)
    assert behind == first, "another replica's clock may be behind ours"
    copied = stamped(first, now=NOW + HOUR)
    assert annotations(copied)[api.SUBMITTED_AT] == format_instant(NOW + HOUR)
    assert annotations(copied)[api.ADMISSION_DEADLINE] == format_instant(NOW + HOUR + 30 * MINUTE)


def test_where_nothing_can_be_decided_only_stamps_of_this_request_stay() -> None:
    now = NOW + SECOND
    assert stamp.kept(STAMPED, now) == STAMPED
    assert stamp.kept(COPIED, now) == {}


def test_an_absurdly_long_timeout_still_makes_a_date() -> None:
    from_292_years = stamped(job(), timeout=Timeout(9_223_372_036_854, "job"))
    assert annotations(from_292_years)[api.ADMISSION_DEADLINE].startswith("2319-")
    beyond = stamped(job(), timeout=Timeout(10**18, "job"))
    assert annotations(beyond)[api.ADMISSION_DEADLINE] == "9999-12-31T23:59:59Z"


@pytest.mark.parametrize("key", ["a/b", "a~b", "~1", "~0/~1", "", "/"])
def test_keys_are_escaped_as_json_pointers_want_it(key: str) -> None:
    obj = job(annotations={"team": "ml"})
    patch = stamp.patch(msgspec.convert(obj, Job), {key: "value"})
    assert annotations(jsonpatch.apply_patch(obj, list(patch))) == {"team": "ml", key: "value"}


KEYS = st.one_of(st.sampled_from([*COPIED, "a/b", "a~b", "~1", "~0/", "", "~", "/", "é/ü"]), st.text(max_size=8))
ANNOTATIONS = st.one_of(
    st.none(), st.dictionaries(KEYS, st.one_of(st.text(max_size=12), st.sampled_from([*COPIED.values()])), max_size=12)
)


@given(
    before=ANNOTATIONS,
    absent=st.booleans(),
    timeout=st.one_of(st.none(), st.integers(1, 10**14).map(lambda ms: Timeout(ms, "job"))),
    profiles=st.lists(st.sampled_from(["a", "b"]), unique=True).map(tuple),
    verdict=st.sampled_from([FITS, SKIPPED]),
    later=st.integers(0, 30 * SECOND),
)
def test_every_patch_applies_touches_only_our_keys_and_is_needed_once(
    before: dict[str, str] | None,
    absent: bool,
    timeout: Timeout | None,
    profiles: tuple[str, ...],
    verdict: Verdict,
    later: int,
) -> None:
    obj = job(generateName="train-")
    if not (before is None and absent):
        obj["metadata"]["annotations"] = before
    verdict_ = verdict if profiles else None
    once = stamped(obj, timeout=timeout, profiles=profiles, verdict=verdict_)
    twice = stamped(once, timeout=timeout, profiles=profiles, verdict=verdict_, now=NOW + later)
    assert twice == once
    ours = {*api.CONTROLLER_KEYS, *stamp.STAMPS}
    kept = {key: value for key, value in annotations(once).items() if key not in ours}
    assert kept == {key: value for key, value in (before or {}).items() if key not in ours}
    if timeout is None and not profiles:
        assert not ours & annotations(once).keys()
    without = copy.deepcopy(once)
    for either in (obj, without):
        either["metadata"].pop("annotations", None)
    assert without == obj


@pytest.mark.parametrize("text", ["😀", "é", "x"])
def test_room_is_counted_in_bytes_however_few_characters_they_are(text: str) -> None:
    full = {"x": text * ((ANNOTATIONS_LIMIT - 2) // len(text.encode()))}
    obj = msgspec.json.decode(json.dumps(job(annotations=full)).encode(), type=Job)
    assert stamp.patch(obj, {api.SUBMITTED_AT: "2026-11-29T10:00:00Z"}) == ()
