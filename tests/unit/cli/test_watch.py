"""What ``status -w`` prints and how it ends, given the pictures it gets."""

import json
from typing import cast

import pytest

from classifier import api
from classifier.cli.errors import Exit
from classifier.cli.watch import SETTLE, Following, _changes, _documents, _end
from classifier.cluster.client import Client
from classifier.cluster.reader import Reader
from classifier.objects import Job, Workload
from classifier.report import Report, owner_of, report
from tests.schemas import check_schema
from tests.unit.report.builders import (
    ACCEPTED,
    PENDING,
    RESERVED,
    T0,
    condition,
    deadline,
    job,
    ledger,
    marker,
    observe,
    pod,
    request,
    verdict,
    workload,
)

DUE = deadline(1800)


def picture(seconds: int, current: Workload, owner: Job | None = None, *, asked: bool = False) -> Report:
    requests = (request(ACCEPTED),) if asked else ()
    return report(
        observe(owner or job(annotations=ledger()), workload=current, requests=requests), verdict(), T0 + seconds * 1000
    )


QUEUED = workload(PENDING, annotations=DUE, check={"state": "Pending"})
PROVISIONING = workload(RESERVED, annotations=DUE, check={"state": "Pending"})
ENDED = workload(PENDING, active=False, annotations=DUE | marker(1800))
UNSETTLED = workload(RESERVED, active=False, annotations=DUE | marker(1800), check={"state": "Pending"})


def test_only_lines_that_changed_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    show = _changes(wide=False)
    show(picture(10, QUEUED))
    assert len(capsys.readouterr().out.splitlines()) == 8
    show(picture(11, QUEUED))
    show(picture(70, QUEUED))
    assert capsys.readouterr().out == "", "time alone is no change"
    show(picture(75, PROVISIONING, asked=True))
    assert capsys.readouterr().out.splitlines() == [
        "  ✓ Quota reserved         16 nvidia.com/gpu on ClusterQueue gpu-a100 (flavor a100-scale)",
        "  … Capacity provisioning  0/2 nodes of gpupool; requested 1m10s ago; deadline in 28m45s",
    ]
    show(picture(1802, PROVISIONING, asked=True))
    assert "deadline passed 2s ago" in capsys.readouterr().out


def test_json_is_one_valid_object_a_line_and_change(capsys: pytest.CaptureFixture[str]) -> None:
    show = _documents("json")
    for seconds, current in ((10, QUEUED), (11, QUEUED), (12, PROVISIONING), (1801, ENDED)):
        show(picture(seconds, current))
    printed = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [entry["result"] for entry in printed] == ["waiting", "waiting", "timed-out"]
    for entry in printed:
        check_schema("status.json", entry)


def test_a_node_that_is_not_watched_is_not_called_lost() -> None:
    """``-w`` watches the pools' nodes alone: others it does not see, and only those it saw can be gone."""
    reader = Reader(cast("Client", None))
    admitted = workload(RESERVED, condition("Admitted", "True"))
    running = job(suspend=False)
    reader.snapshot.add(api.JOBS, running)
    reader.snapshot.add(api.WORKLOADS, admitted)
    labels = {"batch.kubernetes.io/job-name": "train", "batch.kubernetes.io/controller-uid": running.uid}
    member = pod("train-0", on="elsewhere")
    member.metadata.labels = labels
    reader.snapshot.add(api.PODS, member)
    following = Following(cast("Client", None), reader, owner_of(running), "fence")

    def told() -> str:
        observation = following.report(T0).observation
        assert observation is not None
        return f"{observation.state} {observation.cause.kind} {observation.cause.detail}"

    assert told() == "running none Nodes could not be read"
    following._watched.add("elsewhere")
    assert told() == "running node-lost pod train-0: node elsewhere not found"


FINISHED = {"Complete": Exit.OK, "Failed": Exit.FAILED}


@pytest.mark.parametrize(
    ("current", "deleted", "code"),
    [
        (picture(10, QUEUED), False, None),
        (picture(10, QUEUED), True, Exit.DELETED),
        (picture(1801, ENDED), False, Exit.TIMED_OUT),
        (picture(1801, UNSETTLED), False, None),
        (picture(1801 + SETTLE // 1000, UNSETTLED), False, Exit.TIMED_OUT),
        (picture(1801, UNSETTLED), True, Exit.TIMED_OUT),
        *(
            (picture(99, QUEUED, job(suspend=False, status={"conditions": [condition(type_, "True")]})), gone, code)
            for type_, code in FINISHED.items()
            for gone in (False, True)
        ),
    ],
)
def test_how_it_ends(current: Report, deleted: bool, code: Exit | None) -> None:
    assert _end(current, deleted, current.now) is code
