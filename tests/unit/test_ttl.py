"""How long a job stays after its wait was ended: as the first level says that speaks, and in doubt for ever."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from classifier import api
from classifier.instant import HOUR, MINUTE, parse_duration
from classifier.policy import Policies, Ttl, ttl_of
from tests.builders import cluster_queue, local_queue, namespace, profile

MINIMUM = 10 * MINUTE
QUEUE, CLUSTER, PROFILE, NAMESPACE = SOURCES = (
    "LocalQueue/gpu",
    "ClusterQueue/gpu-a100",
    "CapacityProfile/gpu-a100-8",
    "Namespace/team",
)


def policies(said: dict[str, str], **profiles: str | None) -> Policies:
    """Each source saying what ``said`` has for it; ``profiles`` are further ones, by name."""

    def annotated(builder: Any, source: str) -> Any:
        return builder.annotate(api.TTL_AFTER_TIMEOUT, said.get(source)).done()

    of_profiles = {PROFILE.partition("/")[2]: said.get(PROFILE), **profiles}
    return Policies(
        annotated(local_queue(), QUEUE),
        annotated(cluster_queue(), CLUSTER),
        tuple(
            profile(name).admission(**({} if text is None else {"ttlAfterTimeout": text})).done()
            for name, text in of_profiles.items()
        ),
        annotated(namespace(), NAMESPACE),
    )


def test_nothing_said_deletes_nothing() -> None:
    assert ttl_of(policies({}), MINIMUM) == (None, ())
    assert ttl_of(Policies(), MINIMUM) == (None, ())


@pytest.mark.parametrize("first", range(len(SOURCES)))
def test_the_first_level_that_speaks_is_heard(first: int) -> None:
    said = {source: f"{number + 1}h" for number, source in enumerate(SOURCES) if number >= first}
    assert ttl_of(policies(said), MINIMUM) == (Ttl((first + 1) * HOUR, SOURCES[first]), ())


def test_of_several_profiles_the_one_that_keeps_longest_holds() -> None:
    found = ttl_of(policies({PROFILE: "1h"}, other="3h", silent=None), MINIMUM)
    assert found == (Ttl(3 * HOUR, "CapacityProfile/other"), ())


@pytest.mark.parametrize("text", ["", "soon", "0", "0s", "-1h", "3000000h"])
@pytest.mark.parametrize("source", SOURCES)
def test_what_cannot_be_read_deletes_nothing_whatever_the_levels_after_it_say(source: str, text: str) -> None:
    said = dict.fromkeys(SOURCES[SOURCES.index(source) + 1 :], "1h")
    ttl, (warning,) = ttl_of(policies({**said, source: text}), MINIMUM)
    assert ttl is None
    assert warning.startswith(f"{source}: ")
    assert "ttl" in warning
    assert warning.endswith("nothing is deleted")


def test_one_profile_that_cannot_be_read_keeps_what_another_would_delete() -> None:
    ttl, warnings = ttl_of(policies({PROFILE: "1h"}, other="soon"), MINIMUM)
    assert ttl is None
    assert len(warnings) == 1


def test_less_than_the_minimum_is_raised_to_it_and_the_remedy_is_named() -> None:
    ttl, (warning,) = ttl_of(policies({CLUSTER: "9m59s"}), MINIMUM)
    assert ttl == Ttl(MINIMUM, CLUSTER)
    assert warning == f"{CLUSTER}: {api.TTL_AFTER_TIMEOUT}: '9m59s' is raised to the minimum; set it to 10m or more"
    assert ttl_of(policies({CLUSTER: "10m"}), MINIMUM) == (Ttl(MINIMUM, CLUSTER), ())


@given(st.dictionaries(st.sampled_from(SOURCES), st.sampled_from(["soon", "", "1s", "10m", "1h", "30h"])))
def test_never_below_the_minimum_and_never_sooner_than_the_level_that_decides(said: dict[str, str]) -> None:
    ttl, warnings = ttl_of(policies(said), MINIMUM)
    first = next((source for source in SOURCES if source in said), None)
    if ttl is None:
        assert first is None or warnings
    else:
        assert ttl.source == first
        assert ttl.millis == max(MINIMUM, parse_duration(said[ttl.source]))
