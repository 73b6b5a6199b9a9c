"""Rows of reference/classification.md §C11: what contradicts that the object is the job's."""

from typing import Any

import pytest

from classifier.objects import TrainJob
from classifier.state.settings import Mode
from tests.unit.state.builders import (
    JS,
    TJ,
    WL,
    Input,
    PodTold,
    Said,
    Suspendable,
    captured,
    ended,
    kueue,
    plain,
    pod,
    running,
    said,
    vector,
)

NOT_MINE = "JobSet train-3 is not controlled by this TrainJob"
FAILED = "Failed=True/FailedJobs: why"
LABELLED = "pods labelled for another job or submission: "


def named(runtime: str) -> Suspendable[TrainJob]:
    built = TJ()
    built.spec["runtimeRef"] = {"name": runtime}
    return built


def other(name: str) -> PodTold:
    return pod(name).of_jobset("train-2", "js-0")


def foreign(name: str, given: Input, detail: str, **flags: Any) -> Any:
    return vector(f"C11 {name}", given, running(detail=detail, foreign=True, **flags))


def own(name: str, given: Input, **flags: Any) -> Any:
    return vector(f"C11 {name}", given, running(**flags))


ROWS = [
    foreign(
        "1 another job's label",
        plain(TJ().labels(job_id="other", submission="3"), JS()),
        "label P/job-id is other, want train",
    ),
    own("1 an empty label says nothing", plain(TJ().labels(job_id="", submission=""), JS())),
    own("2 the submission the name says", plain(TJ().labels(submission="3"), JS())),
    own(
        "1 a name without a stem contradicts no label",
        plain(TJ(name="solo").labels(job_id="train", submission="9"), JS(name="solo")),
        submission=9,
    ),
    foreign(
        "3 somebody controls it",
        plain(TJ().owner("aw-1", "AppWrapper", "wrap"), JS()),
        ("TrainJob is controlled by AppWrapper wrap"),
    ),
    own(
        "3 an owner that does not control it",
        plain(TJ().metadata(ownerReferences=[{"kind": "AppWrapper", "name": "wrap", "uid": "aw-1"}]), JS()),
    ),
    foreign("4 another runtime", plain(named("torch"), JS(), runtime="{name}"), "runtimeRef is torch, want train-3"),
    own("4 the copy made for it", plain(named("train-3"), JS(), runtime="{name}")),
    own("4 no runtime is named", plain(TJ(), JS(), runtime="{name}")),
    own("4 no spec at all", plain(TJ().only_metadata(), JS(), runtime="{name}")),
    own("4 no runtime is expected", plain(named("torch"), JS())),
    foreign("5 nobody controls the JobSet", plain(TJ(), JS().owner(None)), NOT_MINE),
    foreign("5 another kind controls it", plain(TJ(), JS().owner("tj-9", "AppWrapper")), NOT_MINE),
    foreign(
        "6 nobody controls the Workload",
        kueue(TJ(), JS(), WL().admitted().owner(None)),
        "Workload trainjob-train-3-ab12c is not controlled by this TrainJob",
    ),
    foreign(
        "7 by name",
        kueue(TJ(), JS(), WL(name="wl-b", uid="b").admitted(), WL(name="wl-a", uid="a").admitted()),
        "more than one Workload: wl-a, wl-b",
    ),
    foreign(
        "6 is asked of the one that decides, which is one it controls",
        kueue(TJ(), JS(), WL(name="wl-a", uid="a").owner("tj-0").inactive(), WL(name="wl-b", uid="b").admitted()),
        "more than one Workload: wl-a, wl-b",
    ),
    *(
        foreign(
            f"7 of several it controls the oldest decides, {name}",
            kueue(
                TJ(),
                JS(),
                WL(name="wl-a", uid="a").admitted().born(young),
                WL(name="wl-b", uid="b").admitted().has("Evicted=True/Deactivated: b decides").born(old),
            ),
            "more than one Workload: wl-a, wl-b; Workload Evicted: Deactivated: b decides",
        )
        for name, young, old in (
            ("by its instant", "10:00:01", "10:00:00"),
            ("whatever its time zone", "2026-11-29T10:00:01Z", "2026-11-29T11:00:00+01:00"),
            ("one without a time last", "", "10:00:00"),
        )
    ),
    own("6 7 plain mode asks no Workload", plain(TJ(), JS(), WL().owner("tj-0"), WL(name="wl-a", uid="a"))),
    foreign(
        "8 another JobSet's name",
        plain(TJ(), JS(), pod("p0").of_jobset("train-2", None)),
        ("pods of another JobSet: p0"),
    ),
    foreign(
        "9 a pod labelled for another job, by the label of a TrainJob whose name says nothing",
        plain(
            TJ(name="solo").labels(job_id="train"),
            JS(name="solo"),
            pod("p0").of_jobset("solo").dispatch_labels(job_id="other"),
        ),
        LABELLED + "p0",
        submission=None,
    ),
    own(
        "9 a TrainJob without a submission contradicts none",
        plain(TJ(name="solo").labels(job_id="train"), JS(name="solo"), pod("p0").of_jobset("solo")),
        R=1,
        submission=None,
    ),
    own(
        "2 digits that are no number of Go's are no submission",
        plain(TJ(name="train-" + "9" * 30).labels(job_id="x"), JS(name="train-" + "9" * 30)),
        submission=None,
    ),
    foreign("8 another JobSet's uid", plain(TJ(), JS(), pod("p0").of_jobset(uid="js-0")), "pods of another JobSet: p0"),
    own("8 no labels at all", plain(TJ(), JS(), pod("p0").of_jobset(None, None)), R=1),
    own("8 not a single label", plain(TJ(), JS(), pod("p0").metadata(labels=None))),
    own("8 no uid label", plain(TJ(), JS(), pod("p0").of_jobset(uid=None)), R=1),
    foreign(
        "8 three by name",
        plain(TJ(), JS(), *(other(n) for n in ("p2", "p0", "p1"))),
        ("pods of another JobSet: p0, p1, p2"),
    ),
    foreign(
        "8 three by name and how many more",
        plain(TJ(), JS(), *(other(n) for n in ("p4", "p2", "p0", "p3", "p1"))),
        "pods of another JobSet: p0, p1, p2 and 2 more",
    ),
    foreign(
        "8 such pods are no evidence and no execution",
        plain(TJ(), JS(), other("p0").run(9, 9).failed().exit(1), pod("p1")),
        "pods of another JobSet: p0",
        R=1,
    ),
    foreign(
        "8 pods of a JobSet that is not its own are not its own",
        plain(TJ(), JS().uid("js-0").owner("tj-0"), pod("p0").of_jobset(uid="js-0").failed().exit(1)),
        f"{NOT_MINE}; pods of another JobSet: p0",
    ),
    *(
        foreign(
            f"9 a pod labelled {labels}",
            plain(TJ(), JS(), pod("p0").dispatch_labels(**labels).failed().exit(1)),
            LABELLED + "p0",
        )
        for labels in ({"job_id": "other"}, {"submission": "2"}, {"job_id": "train", "submission": "4"})
    ),
    foreign(
        "9 a pod labelled for another job, by the name of a TrainJob whose own labels are gone",
        plain(TJ().labels(), JS(), pod("p0").dispatch_labels(job_id="other")),
        LABELLED + "p0",
    ),
    own("9 an empty label says nothing", plain(TJ(), JS(), pod("p0").dispatch_labels(job_id="", submission="")), R=1),
    foreign(
        "9 three by name and how many more",
        plain(TJ(), JS(), *(pod(f"p{n}").dispatch_labels(job_id="other") for n in (3, 1, 0, 2))),
        LABELLED + "p0, p1, p2 and 1 more",
    ),
    foreign(
        "8 before 9, each pod once",
        plain(TJ(), JS(), other("p0").dispatch_labels(job_id="other"), pod("p1").dispatch_labels(job_id="other")),
        f"pods of another JobSet: p0; {LABELLED}p1",
    ),
    own(
        "8 9 captured pods were attributed when they died",
        plain(TJ(), JS(), captured(other("p0").dispatch_labels(job_id="other"))),
        R=1,
    ),
    foreign(
        "all of them in their order, before the situation",
        kueue(
            named("torch").labels(job_id="other", submission="9").owner("aw-1", "AppWrapper", "wrap").deleting(),
            JS().owner("tj-0"),
            WL(name="wl-a", uid="a").admitted().owner("tj-0"),
            WL(name="wl-b", uid="b").admitted().owner("tj-9"),
            other("p0"),
            runtime="{name}",
        ),
        "label P/job-id is other, want train; label P/submission is 9, the name says 3; "
        "TrainJob is controlled by AppWrapper wrap; runtimeRef is torch, want train-3; "
        f"{NOT_MINE}; Workload wl-a is not controlled by this TrainJob; "
        "more than one Workload: wl-a, wl-b; pods of another JobSet: p0; "
        "TrainJob deleting since 2026-11-29T10:00:00Z",
    ),
    vector(
        "C11 foreign, and ended all the same",
        plain(TJ(FAILED).labels(job_id="other"), JS(), other("p0").failed().exit(1)),
        ended(
            "unknown",
            "",
            "FailedJobs: why; no pod evidence was captured; label P/job-id is other, want train; "
            "pods of another JobSet: p0",
            foreign=True,
        ),
    ),
]


@pytest.mark.parametrize(("given", "want"), ROWS)
def test_what_contradicts(given: Input, want: Said) -> None:
    assert said(given.observe()) == want


@pytest.mark.parametrize(("given", "want"), [v for v in ROWS if v.values[0].settings.mode is Mode.PLAIN])
def test_foreignness_never_changes_state_or_cause(given: Input, want: Said) -> None:
    seen = said(given.observe())
    assert (seen.state, seen.kind, seen.provenance) == (want.state, want.kind, want.provenance)
    assert seen.foreign is (seen.detail != "")
