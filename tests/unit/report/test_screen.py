"""Whole screens, as a user sees them."""

from syrupy.assertion import SnapshotAssertion

from classifier.fit import Outcome
from classifier.instant import parse_duration
from classifier.report import Picture, report, timed_out_message
from classifier.report.deadline import go_duration
from classifier.report.owner import stamped_verdict
from classifier.report.screen import lines
from tests.unit.report.builders import (
    ACCEPTED,
    MISSING,
    RESERVED,
    T0,
    at,
    condition,
    config,
    deadline,
    job,
    ledger,
    node,
    observe,
    pod,
    request,
    verdict,
    workload,
)


def screen(picture: Picture, seconds: int = 45, *, wide: bool = False) -> str:
    return "\n".join(lines(report(picture, verdict(), T0 + seconds * 1000), wide=wide))


def provisioning(**fields: object) -> Picture:
    waiting = workload(RESERVED, annotations=deadline(1805), check={"state": "Pending"})
    return observe(job(annotations=ledger()), workload=waiting, requests=(request(ACCEPTED),), **fields)


def test_the_screen_of_the_contract() -> None:
    assert screen(provisioning()) == (
        "preflight: profile gpu-a100-8 ProvisioningReady=True\n"
        "preflight: gang needs 2 node(s) of gpupool (max 2): fits\n"
        "  ✓ Submitted              Job applied (suspended)\n"
        "  ✓ Quota reserved         16 nvidia.com/gpu on ClusterQueue gpu-a100 (flavor a100-scale)\n"
        "  … Capacity provisioning  0/2 nodes of gpupool; requested 40s ago; deadline in 29m20s\n"
        "  · Pod scheduling         -\n"
        "  · Running                -\n"
        "Node pool gpupool: 0/2 nodes"
    )


def test_wide_adds_since_and_objects(snapshot: SnapshotAssertion) -> None:
    assert screen(provisioning(notes=("pods may not be read in namespace team-a",)), wide=True) == snapshot


def test_done(snapshot: SnapshotAssertion) -> None:
    finished = job(
        suspend=False, status={"succeeded": 2, "conditions": [condition("Complete", "True", "CompletionsReached")]}
    )
    done = workload(RESERVED, condition("Admitted", "True"), condition("Finished", "True"), check={"state": "Ready"})
    picture = observe(
        finished,
        workload=done,
        requests=(request(ACCEPTED, condition("Provisioned", "True", "CapacityIsProvisioned")),),
        pods=(pod("train-0", on="gpu-0", phase="Succeeded"), pod("train-1", on="gpu-1", phase="Succeeded")),
        nodes=(node("gpu-0"), node("gpu-1"), node("other", pool="cpu")),
    )
    assert screen(picture) == snapshot


def test_a_profile_that_is_not_ready_and_a_missing_fence(snapshot: SnapshotAssertion) -> None:
    assert screen(provisioning(configs={"capacity": config()}, checks={}, fence=MISSING), 2000) == snapshot


def test_a_node_that_is_not_ready_is_told_apart() -> None:
    picture = provisioning(nodes=(node("gpu-0"), node("gpu-1", ready=False)))
    assert screen(picture).endswith("Node pool gpupool: 1/2 nodes (1 not ready)")


def test_timed_out_message_gives_both_ways_on() -> None:
    text = timed_out_message(workload="job-x-12345", namespace="team-a", at=T0, waited=1_800_000, leftovers=["a", "b"])
    assert text == (
        "admission timed out at 2026-11-29T10:00:00Z, after 30m; still there, may buy nodes: ProvisioningRequest a, b; "
        "delete and resubmit, or ask a batch administrator to run: kubectl patch workloads.kueue.x-k8s.io job-x-12345 "
        """-n team-a --type=merge -p '{"spec":{"active":true}}'"""
    )
    assert ", after" not in timed_out_message(workload="w", namespace="n", at=T0, waited=None)


def test_machine_durations_parse_again() -> None:
    for text in ("30m", "1h30m", "72h", "1m1s", "1500ms"):
        assert parse_duration(go_duration(parse_duration(text))) == parse_duration(text)
    assert go_duration(parse_duration("72h")) == "72h"


def test_the_stamped_verdict_serves_who_may_not_read_the_world() -> None:
    stamped = job(
        annotations={
            "muster.dev/preflight": "fits-after-scale-up: gang needs 2 node(s) of gpupool (max 2)",
            "muster.dev/capacity-profile": "gpu-a100-8",
        }
    )
    found = stamped_verdict(stamped)
    assert found is not None
    assert found.outcome is Outcome.FITS_AFTER_SCALE_UP
    assert found.line == "preflight: gang needs 2 node(s) of gpupool (max 2): fits (as stamped at submit)"
    for odd in ("", "nonsense", "who-knows: text"):
        assert stamped_verdict(job(annotations={"muster.dev/preflight": odd})) is None
    assert at(0) == "2026-11-29T10:00:00Z"
