"""The webhook behind the real API server: what a user sees at submit, and what no user may ever see."""

import copy
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import pytest_asyncio

from classifier import api
from classifier.instant import MINUTE, parse_instant
from e2e import view
from e2e.builders import GPU, Document, Queues
from e2e.controlplane.chart import Muster
from e2e.controlplane.cluster import Cluster
from e2e.controlplane.egress import Fault
from e2e.submit import STAMPS, Person, enforced, gang, person

DENIED = (
    'admission webhook "vjob.muster.dev" denied the request: preflight: gang needs 3 node(s) of gpupool (max 2): '
    f"cannot fit; request at most 16 {GPU} or raise the pool's maximum"
)


@pytest_asyncio.fixture(loop_scope="session")
async def alice(cluster: Cluster, tmp_path: Path) -> AsyncIterator[Person]:
    async with person(cluster, "alice", tmp_path) as who:
        yield who


@pytest_asyncio.fixture(loop_scope="session")
async def policy(cluster: Cluster, muster: Muster, queues: Queues, alice: Person) -> AsyncIterator[Document]:
    async with enforced(cluster, queues, alice) as profile:
        yield profile


async def counters(muster: Muster) -> dict[str, float]:
    """Counters of record, summed over the replicas."""
    total: dict[str, float] = {}
    for pod in muster.webhooks:
        for name, value in (await view.metrics(pod)).items():
            if name.startswith(("muster_verdicts_total", "muster_denials_total", "muster_preflight_skipped_total")):
                total[name] = total.get(name, 0) + value
    return total


# --- stamp and deny ------------------------------------------------------------------------------------------------


async def test_a_job_under_a_policy_is_stamped(queues: Queues, policy: Document, alice: Person) -> None:
    answer = await alice.submit(gang("train", queues))
    assert answer.status == 201
    assert answer.warnings == []
    assert answer.annotations.keys() == STAMPS
    submitted = parse_instant(answer.annotations[api.SUBMITTED_AT])
    assert abs(submitted - parse_instant(answer.body["metadata"]["creationTimestamp"])) < MINUTE
    assert parse_instant(answer.annotations[api.ADMISSION_DEADLINE]) == submitted + 30 * MINUTE
    assert answer.annotations[api.CAPACITY_PROFILE] == policy["metadata"]["name"]
    assert answer.annotations[api.PREFLIGHT] == "fits-after-scale-up: gang needs 2 node(s) of gpupool (max 2)"


async def test_a_gang_that_can_never_fit_is_refused_with_the_line(
    cluster: Cluster, muster: Muster, queues: Queues, policy: Document, alice: Person
) -> None:
    before = await counters(muster)
    answer = await alice.submit(gang("train", queues, nodes=3))
    assert (answer.status, answer.body["reason"]) == (403, "Forbidden")
    assert answer.body["message"] == DENIED
    (cause,) = answer.body["details"]["causes"]
    assert cause["reason"] == "nodes"
    assert cause["field"] == "podSets[main]"
    assert f"CapacityProfile/{policy['metadata']['name']}" in cause["message"]
    assert await view.every(cluster.admin, api.JOBS, queues.namespace) == []
    denials = f'muster_denials_total{{profile="{policy["metadata"]["name"]}"}}'
    assert (await counters(muster)).get(denials, 0) == before.get(denials, 0) + 1


async def test_a_dry_run_is_answered_alike_and_leaves_no_trace(
    cluster: Cluster, muster: Muster, queues: Queues, policy: Document, alice: Person
) -> None:
    before = await counters(muster)
    refused = await alice.submit(gang("train", queues, nodes=3), dryRun="All")
    assert refused.body["message"] == DENIED
    stamped = await alice.submit(gang("train", queues), dryRun="All")
    assert stamped.annotations.keys() == STAMPS
    assert await view.every(cluster.admin, api.JOBS, queues.namespace) == []
    assert await counters(muster) == before


async def test_a_copied_manifest_starts_afresh(queues: Queues, policy: Document, alice: Person) -> None:
    old = "2026-01-01T00:00:00Z"
    copied = {
        **dict.fromkeys((*api.CONTROLLER_KEYS, api.SUBMITTED_AT), old),
        api.CAPACITY_PROFILE: "another",
        api.ADMISSION_TIMEOUT: "45m",
        "example.com/kept": "kept",
        "other": "x" * 10_000,
    }
    answer = await alice.submit(gang("train", queues, annotations=copied))
    assert answer.status == 201
    assert answer.annotations.keys() == STAMPS | {api.ADMISSION_TIMEOUT, "example.com/kept", "other"}
    assert old not in answer.annotations.values()
    assert answer.annotations[api.ADMISSION_TIMEOUT] == "45m", "people's keys are never rewritten"
    submitted = parse_instant(answer.annotations[api.SUBMITTED_AT])
    assert parse_instant(answer.annotations[api.ADMISSION_DEADLINE]) == submitted + 45 * MINUTE


@pytest.mark.parametrize(
    "change",
    [
        lambda job: job["metadata"].pop("labels"),
        lambda job: job["metadata"]["labels"].update({api.MULTIKUEUE_ORIGIN: "a"}),
        lambda job: job["spec"].update(managedBy="example.com/other"),
    ],
    ids=["without-queue", "copy-of-another-cluster", "managed-elsewhere"],
)
async def test_a_decision_is_copied_onto_no_job(
    muster: Muster, queues: Queues, alice: Person, change: Callable[[Document], None]
) -> None:
    job = gang("train", queues, annotations={**dict.fromkeys(api.CONTROLLER_KEYS, "copied"), "other": "kept"})
    change(job)
    answer = await alice.submit(job, dryRun="All")
    assert answer.status == 201
    assert answer.annotations == {"other": "kept"}


async def test_a_job_without_queue_is_not_even_asked_about(muster: Muster, queues: Queues, alice: Person) -> None:
    async def asked() -> float:
        samples = [await view.metrics(pod) for pod in muster.webhooks]
        return sum(value for s in samples for name, value in s.items() if name.startswith("muster_reviews_total"))

    job = gang("train", queues, annotations={"muster.dev/admission-timeout": "30m", "other": "kept"})
    del job["metadata"]["labels"]
    before = await asked()
    assert (await alice.submit(job, dryRun="All")).status == 201
    assert await asked() == before


# --- bad input -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["soon", "-5m", "0", "9999999h999999999m", "1e3s", "１h", "5m\n"])
async def test_a_bad_duration_is_told_and_ignored(queues: Queues, policy: Document, alice: Person, text: str) -> None:
    answer = await alice.submit(gang("train", queues, annotations={api.ADMISSION_TIMEOUT: text}), dryRun="All")
    assert answer.status == 201
    (warning,) = answer.warnings
    assert warning.startswith("muster: job: muster.dev/admission-timeout: ")
    assert len(warning) <= 120
    assert answer.annotations[api.ADMISSION_TIMEOUT] == text
    submitted = parse_instant(answer.annotations[api.SUBMITTED_AT])
    assert parse_instant(answer.annotations[api.ADMISSION_DEADLINE]) == submitted + 30 * MINUTE


@pytest.mark.parametrize(
    "change",
    [
        lambda job: job["spec"].update(parallelism=-1),
        lambda job: job["spec"].update(parallelism=2**31 - 1),
        lambda job: job["spec"].update(parallelism=0),
        lambda job: job["metadata"]["labels"].update({api.QUEUE_NAME: "../../../../api/v1/namespaces/default/secrets"}),
        lambda job: job["metadata"]["labels"].update({api.QUEUE_NAME: "missing"}),
        lambda job: job["spec"]["template"]["spec"]["containers"][0]["resources"].update(limits={GPU: "1.5"}),
        lambda job: job["spec"]["template"]["spec"]["containers"][0]["resources"].update(limits={GPU: "9" * 30}),
        lambda job: job["spec"]["template"]["spec"]["containers"][0]["resources"].update(limits={GPU: "-8"}),
        lambda job: job["spec"]["template"].update(spec=None),
        lambda job: job["metadata"].update(annotations={"a": ""}),
    ],
    ids=[
        "negative",
        "huge",
        "none",
        "queue-is-a-path",
        "queue-is-missing",
        "half-a-gpu",
        "thirty-nines",
        "negative-gpus",
        "no-pods",
        "empty-annotation",
    ],
)
async def test_odd_jobs_get_a_clear_answer(
    muster: Muster, queues: Queues, policy: Document, alice: Person, change: Callable[[Document], None]
) -> None:
    """Refused by the API server or by us, or accepted: never a 5xx, never a review that failed."""
    job = gang("train", queues)
    change(job)
    before = await failed(muster)
    answer = await alice.submit(job, dryRun="All")
    assert 200 <= answer.status < 500, answer.body
    assert not [w for w in answer.warnings if "internal error" in w]
    assert await failed(muster) == before


async def failed(muster: Muster) -> float:
    """Reviews that ended in an error of ours or of the API server's request."""
    samples = [await view.metrics(pod) for pod in muster.webhooks]
    return sum(value for s in samples for name, value in s.items() if name.startswith("muster_review_errors_total"))


# --- what must not change ------------------------------------------------------------------------------------------


async def test_a_job_that_no_policy_touches_is_the_same_object_as_without_muster(
    muster: Muster, queues: Queues, alice: Person
) -> None:
    with_muster = await alice.submit(gang("same", queues), dryRun="All")
    await muster.break_webhook(Fault.REFUSE)
    try:
        without = await alice.submit(gang("same", queues), dryRun="All")
    finally:
        await muster.break_webhook(None)
    assert with_muster.warnings == without.warnings == []
    assert _timeless(with_muster.body) == _timeless(without.body)


def _timeless(job: Document) -> Document:
    """Without what differs between any two objects."""
    job = copy.deepcopy(job)
    uid = job["metadata"].pop("uid")
    job["metadata"].pop("creationTimestamp")
    for field in job["metadata"]["managedFields"]:
        field.pop("time")
    text = json.dumps(job, sort_keys=True).replace(uid, "UID")
    timeless: Document = json.loads(text)
    return timeless


@pytest.mark.parametrize("fault", list(Fault))
async def test_without_the_webhook_jobs_are_admitted_unstamped(
    muster: Muster, queues: Queues, policy: Document, alice: Person, fault: Fault
) -> None:
    await muster.break_webhook(fault)
    try:
        answer = await alice.submit(gang("train", queues, nodes=3), dryRun="All")
    finally:
        await muster.break_webhook(None)
    assert answer.status == 201
    assert not STAMPS & answer.annotations.keys()
