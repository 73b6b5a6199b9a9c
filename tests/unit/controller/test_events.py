"""The one event of a decision: an object the API server accepts, with a name that makes it happen once."""

import re
from typing import Any

import pytest

from classifier import api
from classifier.clock import Marker
from classifier.instant import MINUTE
from controller import events
from tests.builders import T0, job, profile, workload

#: Kubernetes: apimachinery validation.IsDNS1123Subdomain.
SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
MARKER = Marker(T0 + MINUTE, 1, "uid-of-job-train-1a2b3")


def event(
    name: str = "train", marker: Marker = MARKER, note: str = "timed out", identity: str = "muster-0"
) -> dict[str, Any]:
    return events.timed_out(job(name).done(), api.JOBS, workload().done(), marker, note, identity)


def test_it_stands_on_the_job_and_relates_to_the_workload() -> None:
    made = event()
    assert made["regarding"]["kind"] == "Job"
    assert made["regarding"]["uid"] == "uid-of-train"
    assert made["related"]["kind"] == "Workload"
    assert made["related"]["name"] == "job-train-1a2b3"
    assert made["metadata"]["namespace"] == "team"
    assert made["eventTime"] == "2026-11-29T10:01:00.000000Z"


def test_one_decision_has_one_name_and_another_decision_another() -> None:
    assert event()["metadata"]["name"] == event(identity="muster-1", note="again")["metadata"]["name"]
    names = {
        event(marker=marker)["metadata"]["name"]
        for marker in (MARKER, Marker(T0, 2, MARKER.uid), Marker(T0, 1, "another"))
    }
    assert len(names) == 3


@pytest.mark.parametrize(
    "name", ["a", "a" * 253, "a" * 199 + "-b", "a" * 198 + "--b", "a" * 199 + ".b", "a" * 198 + "-.b"]
)
def test_its_name_is_one_the_api_server_accepts_whatever_the_job_is_called(name: str) -> None:
    made = event(name)["metadata"]["name"]
    assert len(made) <= 253
    assert SUBDOMAIN.fullmatch(made)


@pytest.mark.parametrize("note", ["x" * 1024, "x" * 1025, "é" * 600, "€" * 5000])
def test_its_note_and_instance_keep_to_their_limits(note: str) -> None:
    made = event(note=note, identity="r" * 300)
    assert len(made["note"].encode()) <= 1024
    assert made["note"] == note or made["note"].endswith(" ...")
    assert len(made["reportingInstance"]) <= 128


def test_a_setup_that_cannot_work_is_told_on_its_profile_once_for_each_text() -> None:
    made = events.misconfigured(profile().done(), "no quota", T0, "muster-0")
    assert (made["reason"], made["note"], made["type"]) == ("Misconfigured", "no quota", "Warning")
    # The API server takes an event on an object without a namespace in this one only.
    assert made["metadata"]["namespace"] == "default"
    assert "namespace" not in made["regarding"]
    assert (made["regarding"]["kind"], made["regarding"]["uid"]) == ("CapacityProfile", "uid-of-gpu-a100-8")
    assert SUBDOMAIN.fullmatch(made["metadata"]["name"])
    again = events.misconfigured(profile().done(), "no quota", T0 + MINUTE, "muster-1")
    other = events.misconfigured(profile().done(), "no such queue", T0, "muster-0")
    assert made["metadata"]["name"] == again["metadata"]["name"] != other["metadata"]["name"]
