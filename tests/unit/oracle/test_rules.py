"""The oracle's rules speak up: a comparison that can never fail proves nothing."""

from typing import Any

import msgspec
import pytest

from classifier.fit import Outcome, Verdict
from classifier.objects import Job
from e2e.builders import Document
from e2e.oracle import rules
from e2e.oracle.case import Case
from e2e.oracle.generate import SEED, case
from e2e.oracle.sight import Sight
from tests.builders import kueue_config, world

PODSET: Document = {"name": "main", "count": 2, "template": {"spec": {}}}


def condition(type_: str, status: str, message: str = "") -> Document:
    return {"type": type_, "status": status, "reason": "Pending", "message": message}


def workload(*conditions: Document, **status: Any) -> Document:
    return {"metadata": {"name": "w"}, "spec": {"podSets": [PODSET]}, "status": {"conditions": [*conditions], **status}}


def pod(*, node: str | None = None, unschedulable: bool = False) -> Document:
    refused = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes"}
    return {"spec": {"nodeName": node}, "status": {"conditions": [refused] if unschedulable else []}}


def verdict(outcome: Outcome, binding: Any = None) -> Verdict:
    return Verdict(outcome=outcome, binding=binding, line=f"preflight: {outcome}", reason="")


@pytest.fixture
def job() -> Case:
    """A Job, whatever it asks for."""
    return case(SEED, 0)


def reserved(job: Case, *pods: Document) -> Sight:
    admission = {"podSetAssignments": [{"name": "main", "count": 2}]}
    admitted = workload(condition("QuotaReserved", "True"), condition("Admitted", "True"), admission=admission)
    return Sight(job, workloads=[admitted], reserved=True, pods=[*pods])


def test_a_reservation_against_a_proof_is_told(job: Case) -> None:
    never = verdict(Outcome.NEVER_FITS, "quota")
    assert list(rules.quota_as_kueue(reserved(job), never))
    waits = condition("QuotaReserved", "False", "insufficient quota for cpu > maximum capacity (1)")
    assert not list(rules.quota_as_kueue(Sight(job, workloads=[workload(waits)]), never))
    other = condition("QuotaReserved", "False", "topology does not allow it")
    assert list(rules.quota_as_kueue(Sight(job, workloads=[workload(other)]), never))


def test_what_fits_and_is_not_reserved_is_told(job: Case) -> None:
    waits = workload(condition("QuotaReserved", "False", "because"))
    assert list(rules.quota_as_kueue(Sight(job, workloads=[waits]), verdict(Outcome.FITS)))
    assert not list(rules.quota_as_kueue(reserved(job), verdict(Outcome.FITS)))


@pytest.mark.parametrize("binding", rules.NODES[:4])
def test_pods_that_all_stand_somewhere_refute_a_proof_of_nodes(job: Case, binding: str) -> None:
    never = verdict(Outcome.NEVER_FITS, binding)
    assert list(rules.nodes_as_scheduler(reserved(job, pod(node="n"), pod(node="n")), never))
    assert list(rules.nodes_as_scheduler(reserved(job, pod(node="n"), pod()), never)), "nothing is known of one of them"
    assert not list(rules.nodes_as_scheduler(reserved(job, pod(node="n"), pod(unschedulable=True)), never))


def test_pods_that_wait_for_others_to_be_ready_are_not_waited_for(job: Case) -> None:
    never = verdict(Outcome.NEVER_FITS, "nodes")
    waiting = Case(**{**vars(job), "tags": job.tags | {"depends on Ready"}})
    assert not list(rules.nodes_as_scheduler(reserved(waiting, pod(unschedulable=True)), never))
    assert list(rules.nodes_as_scheduler(reserved(waiting, pod(unschedulable=True), pod()), never))
    assert list(rules.nodes_as_scheduler(reserved(waiting, pod(node="n")), never))


def test_only_what_quota_does_not_cover_is_never_reserved(job: Case) -> None:
    assert list(rules.misconfigured_as_kueue(reserved(job), verdict(Outcome.MISCONFIGURED, "quota")))
    assert not list(rules.misconfigured_as_kueue(reserved(job), verdict(Outcome.MISCONFIGURED)))


def test_a_pod_without_a_node_refutes_what_fits(job: Case) -> None:
    plain = Case(**{**vars(job), "tags": frozenset(), "choices": 1})
    fits = verdict(Outcome.FITS)
    assert list(rules.fits_is_scheduled(reserved(plain, pod(node="n"), pod(unschedulable=True)), fits))
    assert not list(rules.fits_is_scheduled(reserved(plain, pod(node="n"), pod(node="n")), fits))


def test_other_podsets_and_other_requests_are_told(job: Case) -> None:
    plain = Case(**{**vars(job), "tags": frozenset()})
    here = world(kueue_config())
    container = {"name": "main", "resources": {"requests": {"cpu": "1"}}}
    template = {"spec": {"containers": [container]}}
    for count, cpu, agree in ((2, "2", True), (3, "2", False), (2, "1", False)):
        ours = decoded({"parallelism": count, "template": template})
        usage = {"podSetAssignments": [{"name": "main", "count": 2, "resourceUsage": {"cpu": cpu}}]}
        sight = Sight(plain, workloads=[workload(admission=usage)])
        told = [*rules.same_podsets(sight, ours, here), *rules.same_requests(sight, ours, here)]
        assert (not told) is agree, told


def decoded(spec: Document) -> Job:
    return msgspec.convert({"metadata": {"name": "j", "namespace": "oracle"}, "spec": spec}, Job)


def test_two_verdicts_on_one_job_are_told() -> None:
    fits, never = verdict(Outcome.FITS), verdict(Outcome.NEVER_FITS, "nodes")
    assert list(rules.same_verdict(fits, never, "as written"))
    assert not list(rules.same_verdict(fits, fits, "as written"))
