"""What the audit lists, and under which problem."""

from typing import Any

import pytest

from classifier.fit import Outcome, Verdict
from classifier.report import Picture, audit_foreign, audit_job, audit_unseen
from tests.unit.report.builders import (
    ADMITTED,
    MISSING,
    PENDING,
    RESERVED,
    T0,
    condition,
    deadline,
    job,
    ledger,
    marker,
    observe,
    profile,
    verdict,
    workload,
)

FITS = verdict()
NEVER = verdict(3, Outcome.NEVER_FITS, advice="request at most 16 nvidia.com/gpu")
UNSURE = verdict(outcome=Outcome.UNKNOWN, reason="no profile speaks for flavor a100-scale")
WRONG = verdict(outcome=Outcome.MISCONFIGURED, reason="quota 0 for a pool that may grow", advice="raise it")
BOUND = deadline(1800)


def waits(seconds: int = 1800, **fields: Any) -> Picture:
    return observe(job(annotations=ledger()), workload=workload(PENDING, annotations=deadline(seconds)), **fields)


@pytest.mark.parametrize(
    ("picture", "found", "seconds", "problem", "why", "advice"),
    [
        (
            waits(),
            NEVER,
            40,
            "never-fits",
            "gang needs 3 node(s) of gpupool (max 2)",
            "request at most 16 nvidia.com/gpu",
        ),
        (waits(), NEVER, 1900, "never-fits", "gang needs 3", "request at most"),
        (
            waits(),
            FITS,
            1900,
            "deadline-passed",
            "deadline passed 1m40s ago and nobody ended the wait",
            "muster-controller",
        ),
        (waits(fence=MISSING), FITS, 1900, "deadline-passed", "not enforced: ValidatingAdmissionPolicy", "reinstall"),
        (waits(), FITS, 1700, "deadline-near", "deadline in 1m40s; couldn't assign flavors", None),
        (waits(), UNSURE, 40, "unknown", "no profile speaks", None),
        (waits(), WRONG, 40, "unknown", "misconfigured: quota 0", "raise it"),
        (
            observe(workload=workload(PENDING), profiles=(profile(admission=None),)),
            FITS,
            40,
            "unbounded",
            "no bound on its wait: no policy gives one",
            "muster.dev/admission-timeout",
        ),
        (
            observe(workload=workload(PENDING, condition("Admitted", "False", "NoReservation", "", 30))),
            FITS,
            40,
            "unbounded",
            "no bound on its wait: it has started before",
            "requeue: Restart in the CapacityProfile",
        ),
        (
            observe(
                job(annotations=ledger()), workload=workload(PENDING, active=False, annotations=BOUND | marker(1800))
            ),
            FITS,
            1900,
            "deadline-passed",
            "admission timed out at 2026-11-29T10:30:00Z after 30m",
            "kubectl patch workloads.kueue.x-k8s.io job-train-1a2b3 -n team-a",
        ),
    ],
)
def test_findings(picture: Picture, found: Verdict, seconds: int, problem: str, why: str, advice: str | None) -> None:
    finding = audit_job(picture, found, T0 + seconds * 1000)
    assert finding is not None
    assert finding.problem == problem
    assert why in finding.why
    assert advice in (finding.advice or "") if advice else finding.advice is None
    assert (finding.workload, finding.owner, finding.queue) == ("team-a/job-train-1a2b3", "Job/train", "gpu")


@pytest.mark.parametrize(
    "picture",
    [
        waits(),
        observe(),
        observe(workload=workload(PENDING)),  # bounded by its profile, the deadline is about to be announced
        observe(workload=workload(RESERVED, ADMITTED)),
        observe(workload=workload(condition("Finished", "True", "Succeeded"))),
        observe(workload=workload(PENDING, active=False)),
    ],
)
def test_who_is_well_or_does_not_wait_is_not_listed(picture: Picture) -> None:
    assert audit_job(picture, FITS, T0 + 40_000) is None


def test_a_kind_muster_does_not_bound_is_unbounded() -> None:
    finding = audit_foreign(workload(PENDING), "RayCluster/ray", FITS, T0)
    assert finding is not None
    assert finding.problem == "unbounded"
    assert "RayCluster/ray" in finding.why
    assert audit_foreign(workload(RESERVED, ADMITTED), "RayCluster/ray", FITS, T0) is None


def test_what_can_never_fit_is_listed_whatever_kind_it_is_of_and_though_its_job_is_not_at_hand() -> None:
    for finding in (
        audit_foreign(workload(PENDING), "RayCluster/ray", NEVER, T0),
        audit_unseen(workload(PENDING), "Job/train", "may not be read", NEVER, T0),
    ):
        assert finding is not None
        assert (finding.problem, finding.why, finding.advice) == ("never-fits", NEVER.reason, NEVER.advice)
    assert audit_foreign(workload(RESERVED, ADMITTED), "RayCluster/ray", NEVER, T0) is None
    assert audit_foreign(workload(PENDING, active=False), "RayCluster/ray", NEVER, T0) is None
