"""Vectors O1 to O10 of reference/classification.md §D and the rows of §C13: what outlives its TrainJob."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import pytest

from classifier.objects import JobSet, Pod, TrainingRuntime, TrainJob
from classifier.state import orphans
from classifier.state.observation import Explanation
from classifier.state.settings import Mode, Settings
from tests.builders import T0
from tests.unit.state.builders import (
    JS,
    NAMESPACE,
    TJ,
    Said,
    Suspendable,
    Told,
    ended,
    pending,
    pod,
    running,
    runtime,
    said,
    suspended,
)

NO_JOBSET = "JobSet train-3 has no live TrainJob, its owner was uid tj-0"
NO_POD = "pod p0 has no live TrainJob"


class Orphan(NamedTuple):
    kind: str
    name: str
    said: Said


def find(*things: Told[Any], job: str = "train") -> list[Explanation]:
    built = [thing.done() for thing in things]

    def of(type_: type) -> Iterable[Any]:
        return [thing for thing in built if isinstance(thing, type_)]

    return orphans(
        job,
        trainjobs=of(TrainJob),
        jobsets=of(JobSet),
        pods=of(Pod),
        runtimes=of(TrainingRuntime),
        settings=Settings(mode=Mode.PLAIN),
        seen_at=T0,
    )


def found(*things: Told[Any], job: str = "train") -> list[Orphan]:
    seen = [explanation.observation for explanation in find(*things, job=job)]
    return [Orphan(o.ref.kind, o.ref.name, said(o)) for o in seen]


def orphan(state: Any, kind: str, name: str, detail: str, submission: int | None = 3) -> Orphan:
    return Orphan(kind, name, state("unknown", "", detail, foreign=True, submission=submission))


def left() -> Suspendable[JobSet]:
    """The JobSet of a TrainJob that is gone."""
    return JS().uid("js-0").owner("tj-0")


def stray(name: str = "p0") -> Any:
    return pod(name).of_jobset(uid="js-0")


VECTORS = [
    ("O1 all of a live TrainJob", [TJ(), JS(), pod("p0")], []),
    (
        "O2 JobSet and pod of a TrainJob that is gone",
        [left(), stray()],
        [orphan(running, "JobSet", "train-3", NO_JOBSET), orphan(running, "Pod", "p0", NO_POD)],
    ),
    ("O4 a failed pod alone", [stray().failed()], [orphan(ended, "Pod", "p0", NO_POD)]),
    (
        "O5 a runtime copy alone",
        [runtime()],
        [orphan(ended, "TrainingRuntime", "train-3", "runtime train-3 has no live TrainJob")],
    ),
    (
        "O7 pod without JobSet labels, attached by its submission label",
        [TJ(), JS(), pod("p0").of_jobset(None, None)],
        [],
    ),
    ("O9 of a terminating TrainJob", [TJ().deleting(), JS(), pod("p0")], []),
    (
        "O10 completed JobSet alone",
        [left().has("Completed=True/AllJobsCompleted")],
        [orphan(ended, "JobSet", "train-3", NO_JOBSET)],
    ),
]

ROWS = [
    (
        "C13 JobSet of an earlier TrainJob of that name",
        [TJ(), left()],
        [orphan(pending, "JobSet", "train-3", NO_JOBSET)],
    ),
    ("C13 JobSet that nobody controls, while a TrainJob has its name", [TJ(), JS().owner(None)], []),
    ("C13 JobSet of another kind of job", [JS().owner("aw-1", "AppWrapper")], []),
    (
        "C13 JobSet that nobody controls, of a name that no TrainJob has",
        [JS().owner(None)],
        [orphan(pending, "JobSet", "train-3", "JobSet train-3 has no live TrainJob")],
    ),
    (
        "C13 pod that says nothing of its submission, beside a TrainJob that says nothing either",
        [TJ(name="solo").labels(job_id="train"), pod("p0").of_jobset(None, None).dispatch_labels(job_id="train")],
        [orphan(running, "Pod", "p0", NO_POD, submission=None)],
    ),
    ("C13 pod by its JobSet's name, for want of the uid", [TJ(), JS(), pod("p0").of_jobset(uid=None)], []),
    (
        "C13 pod by its JobSet's name before its submission",
        [TJ(), JS(), pod("p0").of_jobset("train-9", None)],
        [orphan(running, "Pod", "p0", NO_POD)],
    ),
    (
        "C13 pod of a JobSet whose TrainJob is gone, though another TrainJob has its name",
        [TJ(), JS(), stray()],
        [orphan(running, "Pod", "p0", NO_POD)],
    ),
    (
        "C13 pod of no JobSet, by a submission that is not there",
        [pod("p0").of_jobset(None, None)],
        [orphan(running, "Pod", "p0", NO_POD)],
    ),
    ("C13 runtime copy of a live TrainJob", [TJ(), runtime(owner="tj-1")], []),
    ("C13 failed JobSet", [left().has("Failed=True/FailedJobs")], [orphan(ended, "JobSet", "train-3", NO_JOBSET)]),
    ("C13 suspended JobSet", [left().suspend()], [orphan(suspended, "JobSet", "train-3", NO_JOBSET)]),
    (
        "C13 JobSet of which a namesake's pods run",
        [left(), pod("p0").of_jobset(uid="js-7")],
        [orphan(pending, "JobSet", "train-3", NO_JOBSET), orphan(running, "Pod", "p0", NO_POD)],
    ),
    (
        "C13 JobSet whose pod says only its name",
        [left(), pod("p0").of_jobset(uid=None)],
        [orphan(running, "JobSet", "train-3", NO_JOBSET), orphan(running, "Pod", "p0", NO_POD)],
    ),
    (
        "C13 JobSet with a status that is no end",
        [left().has("StartupPolicyCompleted=True/X", "Completed=False/X", "Failed=Unknown/X")],
        [orphan(pending, "JobSet", "train-3", NO_JOBSET)],
    ),
    (
        "C13 JobSet whose pod has no status yet",
        [left(), stray().only_metadata()],
        [orphan(pending, "JobSet", "train-3", NO_JOBSET), orphan(pending, "Pod", "p0", NO_POD)],
    ),
    (
        "C13 JobSet of which nothing but the metadata is there",
        [left().only_metadata()],
        [orphan(pending, "JobSet", "train-3", NO_JOBSET)],
    ),
    (
        "C13 ended before suspended",
        [left().suspend().has("Completed=True/AllJobsCompleted")],
        [orphan(ended, "JobSet", "train-3", NO_JOBSET)],
    ),
    (
        "C13 JobSet without a pod that runs",
        [left(), stray().failed()],
        [
            orphan(pending, "JobSet", "train-3", NO_JOBSET),
            orphan(ended, "Pod", "p0", NO_POD),
        ],
    ),
    (
        "C13 JobSet with a pending pod",
        [left(), stray().pending()],
        [
            orphan(running, "JobSet", "train-3", NO_JOBSET),
            orphan(pending, "Pod", "p0", NO_POD),
        ],
    ),
    ("C13 pod that succeeded", [stray().phase("Succeeded")], [orphan(ended, "Pod", "p0", NO_POD)]),
    (
        "C13 several, by kind and name",
        [stray("p1"), runtime(), stray("p0"), left()],
        [
            orphan(running, "JobSet", "train-3", NO_JOBSET),
            orphan(running, "Pod", "p0", NO_POD),
            orphan(running, "Pod", "p1", "pod p1 has no live TrainJob"),
            orphan(ended, "TrainingRuntime", "train-3", "runtime train-3 has no live TrainJob"),
        ],
    ),
    (
        "F27 a job of which this one's name is a prefix is another job",
        [
            JS(name="train-big-3").uid("js-0").owner("tj-0"),
            runtime("train-big-3"),
            runtime("train-"),
            runtime("train"),
            runtime("3"),
        ],
        [],
    ),
    (
        "C13 of the job by its label, submission from the label",
        [JS(name="odd").uid("js-0").owner("tj-0").labels(job_id="train", submission="4")],
        [orphan(pending, "JobSet", "odd", "JobSet odd has no live TrainJob, its owner was uid tj-0", submission=4)],
    ),
    (
        "C13 the name before the label",
        [runtime("train-12").labels(job_id="train", submission="4")],
        [orphan(ended, "TrainingRuntime", "train-12", "runtime train-12 has no live TrainJob", submission=12)],
    ),
    (
        "C13 no submission anywhere",
        [runtime("copy").labels(job_id="train")],
        [orphan(ended, "TrainingRuntime", "copy", "runtime copy has no live TrainJob", submission=None)],
    ),
    (
        "F11 the API server takes any UID of an owner",
        [JS().uid("js-0").owner("tj\u2028 0;")],
        [orphan(pending, "JobSet", "train-3", "JobSet train-3 has no live TrainJob, its owner was uid tj 0")],
    ),
    ("C13 a pod of another job", [stray().dispatch_labels(job_id="other", submission="3")], []),
]


@pytest.mark.parametrize(
    ("things", "want"), [pytest.param(things, want, id=name) for name, things, want in (*VECTORS, *ROWS)]
)
def test_orphans(things: list[Told[Any]], want: list[Orphan]) -> None:
    assert found(*things) == want
    assert found(*reversed(things)) == want


def test_C13_an_orphan_is_named_by_its_own_reference() -> None:
    (told,) = find(left())
    ref = told.observation.ref
    assert (ref.kind, ref.namespace, ref.name, ref.uid) == ("JobSet", NAMESPACE, "train-3", "js-0")
    assert told.observation.seen_at == T0


def test_C13_an_orphan_stays_one_while_a_trainjob_of_that_name_is_back() -> None:
    assert found(TJ().uid("tj-9"), JS().uid("js-9").owner("tj-9"), runtime()) == [
        orphan(ended, "TrainingRuntime", "train-3", "runtime train-3 has no live TrainJob")
    ]


@pytest.mark.parametrize("name", ["train-big", "rain", "train-3"])
def test_F27_another_jobs_leftovers_are_not_reported(name: str) -> None:
    assert found(left(), stray(), runtime(), job=name) == []


@pytest.mark.parametrize(
    ("made", "jobset", "orphan"),
    [
        (T0, None, False),  # Trainer's deadline: the JobSet goes first, its pods terminate beside their TrainJob
        (T0 - 1000, None, True),  # of an earlier TrainJob of that name
        (T0, JS().uid("js-2"), True),  # of an earlier JobSet of that name
        (None, None, True),  # nothing tells how old it is
    ],
)
def test_C13_a_pod_whose_jobset_went_first(made: int | None, jobset: Told[Any] | None, orphan: bool) -> None:
    left = pod("p0") if made is None else pod("p0").created(made)
    assert bool(found(TJ().created(T0), *([jobset] if jobset else []), left)) is orphan
