"""Where the bound of a job comes from, and what caps it (design §3, "Timeout")."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from classifier import api
from classifier.instant import HOUR, MINUTE, parse_duration
from classifier.policy import Policies, Timeout, profiles_for, timeout_of
from tests.builders import cluster_queue, local_queue, namespace, profile

REQUEST = api.ADMISSION_TIMEOUT
CAP = api.MAX_ADMISSION_TIMEOUT

#: The sources in the order of the contract, each with what it says unless a test takes it away.
SOURCES = {
    "job": "1h",
    "LocalQueue/gpu": "2h",
    "ClusterQueue/gpu-a100": "3h",
    "CapacityProfile/gpu-a100-8": "4h",
    "Namespace/team": "5h",
    "default": "6h",
}


def annotated(builder: Any, timeout: str | None, cap: str | None) -> Any:
    for key, value in ((REQUEST, timeout), (CAP, cap)):
        if value is not None:
            builder.annotate(key, value)
    return builder.done()


def resolve(said: dict[str, str], caps: dict[str, str] | None = None) -> Any:
    """Resolve with each source saying what ``said`` and ``caps`` have for it."""
    caps = caps or {}

    def pair(source: str) -> tuple[str | None, str | None]:
        return said.get(source), caps.get(source)

    fields = dict(zip(("timeout", "maxTimeout"), pair("CapacityProfile/gpu-a100-8"), strict=True))
    policies = Policies(
        annotated(local_queue(), *pair("LocalQueue/gpu")),
        annotated(cluster_queue(), *pair("ClusterQueue/gpu-a100")),
        (profile().admission(**{k: v for k, v in fields.items() if v is not None}).done(),),
        annotated(namespace(), *pair("Namespace/team")),
        *(parse_duration(text) if text else None for text in pair("default")),
    )
    return timeout_of({REQUEST: said["job"]} if "job" in said else None, policies)


@pytest.mark.parametrize("first", range(len(SOURCES)))
def test_the_first_source_that_speaks_is_heard(first: int) -> None:
    said = dict(list(SOURCES.items())[first:])
    source, text = next(iter(said.items()))
    assert resolve(said) == (Timeout(int(text[0]) * HOUR, source), ())


def test_nothing_said_bounds_nothing() -> None:
    assert timeout_of(None, Policies()) == (None, ())
    assert resolve({}) == (None, ())


def test_a_cap_alone_bounds_nothing() -> None:
    assert resolve({}, {"LocalQueue/gpu": "1h", "default": "1h"}).timeout is None


@pytest.mark.parametrize("capper", [source for source in SOURCES if source != "job"])
def test_every_source_but_the_job_may_cap(capper: str) -> None:
    assert resolve({"job": "9h"}, {capper: "1h"}).timeout == Timeout(HOUR, "job", capper)


def test_a_job_does_not_cap_itself() -> None:
    policies = Policies(namespace=namespace().annotate(REQUEST, "5h").done())
    assert timeout_of({CAP: "1h"}, policies).timeout == Timeout(5 * HOUR, "Namespace/team")


def test_the_smallest_cap_met_counts_wherever_the_timeout_comes_from() -> None:
    caps = {"LocalQueue/gpu": "4h", "ClusterQueue/gpu-a100": "3h", "Namespace/team": "2h", "default": "5h"}
    assert resolve({"LocalQueue/gpu": "9h"}, caps).timeout == Timeout(2 * HOUR, "LocalQueue/gpu", "Namespace/team")


def test_a_cap_above_the_timeout_changes_nothing() -> None:
    assert resolve({"job": "1h"}, {"LocalQueue/gpu": "1h", "default": "2h"}).timeout == Timeout(HOUR, "job")


def test_a_capped_request_does_not_fall_through_to_a_smaller_source() -> None:
    caps = {"ClusterQueue/gpu-a100": "3h"}
    assert resolve({"job": "9h", "LocalQueue/gpu": "1h"}, caps).timeout == Timeout(
        3 * HOUR, "job", "ClusterQueue/gpu-a100"
    )


def test_of_several_profiles_the_smallest_timeout_and_the_smallest_cap_count() -> None:
    def with_policy(name: str, **admission: str) -> Any:
        return profile(name).admission(**admission).done()

    profiles = (
        with_policy("a", timeout="3h", maxTimeout="1h"),
        with_policy("b", timeout="2h"),
        with_policy("c", timeout="9h", maxTimeout="90m"),
        profile("d").done(),
    )
    assert timeout_of(None, Policies(profiles=profiles)).timeout == Timeout(
        HOUR, "CapacityProfile/b", "CapacityProfile/a"
    )
    assert timeout_of(None, Policies(profiles=profiles[1:2])).timeout == Timeout(2 * HOUR, "CapacityProfile/b")


def test_profiles_that_agree_are_no_trouble() -> None:
    twins = tuple(profile(name).admission(timeout="1h", maxTimeout="30m").done() for name in ("a", "b", "a"))
    assert timeout_of(None, Policies(profiles=twins)).timeout == Timeout(
        30 * MINUTE, "CapacityProfile/a", "CapacityProfile/a"
    )


BROKEN = ["", "soon", "1", "0", "0s", "-1h", "1d", "9999999h", "１h", "9" * 10_000]


@pytest.mark.parametrize("broken", BROKEN)
@pytest.mark.parametrize("source", [source for source in SOURCES if source != "default"])
def test_a_value_that_is_no_duration_is_said_and_passed_over(source: str, broken: str) -> None:
    resolved = resolve(SOURCES | {source: broken})
    following = {name: text for name, text in SOURCES.items() if name != source}
    assert resolved.timeout == resolve(following).timeout
    (warning,) = resolved.warnings
    assert warning.startswith(f"{source}: ")
    assert "timeout" in warning
    assert warning.endswith("; ignored")
    assert len(warning) < 300


@pytest.mark.parametrize("broken", BROKEN)
def test_a_cap_that_is_no_duration_is_said_and_caps_nothing(broken: str) -> None:
    caps = {name: broken for name in SOURCES if name not in ("job", "default")}
    resolved = resolve({"job": "9h"}, caps)
    assert resolved.timeout == Timeout(9 * HOUR, "job")
    assert sorted(w.partition(":")[0] for w in resolved.warnings) == sorted(caps)


@given(st.dictionaries(st.sampled_from(list(SOURCES)[:-1]), st.text(max_size=8) | st.sampled_from(["1h", "5m"])))
def test_a_timeout_is_never_above_a_cap_nor_out_of_nowhere(said: dict[str, str]) -> None:
    caps = {name: "10m" for name in said if name != "job"}
    timeout = resolve(said, caps).timeout
    if timeout is not None:
        assert 0 < timeout.millis <= HOUR
        assert timeout.source in said
        assert not caps or timeout.millis <= 10 * MINUTE


def test_profiles_speak_for_queues_that_offer_their_flavor() -> None:
    queue = cluster_queue("gpu-a100").group(["cpu"], "spot").group(["nvidia.com/gpu"], "a100", "h100").done()
    profiles = [
        profile("named", "a100").queues("other", "gpu-a100").done(),
        profile("elsewhere", "a100").queues("other").done(),
        profile("every", "h100").done(),
        profile("all-of-them", "a100").queues().done(),
        profile("foreign", "v100").done(),
        profile("named-in-vain", "v100").queues("gpu-a100").done(),
    ]
    assert [p.name for p in profiles_for(queue, profiles)] == ["all-of-them", "every", "named"]
    assert profiles_for(None, profiles) == ()
