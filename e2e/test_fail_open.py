"""Whatever becomes of the webhook, jobs are let in: each row of capacity.md §3.12 on the real API server.

One never-fitting gang is submitted in every state; while all is well it is refused, so each test could fail. What the
API server made of a call that failed stands in its audit log. The plain faults of the connection are in
``test_webhook.py`` and, for every kind, in ``test_webhook_kinds.py``; old copies in ``test_stale_copies.py``.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Final

import pytest
import pytest_asyncio

from classifier import api
from e2e import builders
from e2e.builders import Document, Queues
from e2e.controlplane.chart import NAMESPACE, WEBHOOK
from e2e.letting_in import JOBS, QUOTA, Stage, let_in_unseen, profile
from e2e.standin import DOES, FAILURES, StandIn
from e2e.submit import Answer, gang
from e2e.wait import eventually

pytestmark = [pytest.mark.timeout(600), pytest.mark.usefixtures("nothing_forbidden")]

QUEUES: Final = Queues("fail-open", "queue", "fail-open", "fail-open")


# --- answers that are none ------------------------------------------------------------------------------------------


@dataclass
class Told:
    """What became of a job by what the stand-in did to it, and whose calls the API server gave up."""

    answers: dict[str, Answer]
    failed_open: dict[str, set[str]]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def told(stage: Stage) -> Told:
    async with StandIn(stage.muster):
        await stage.failed_open()
        rows = (*FAILURES, "a-denial", "a-patch-that-does-not-apply")
        answers = await asyncio.gather(*(stage.submit(row, **{DOES: row}) for row in rows))
        found = Told(dict(zip(rows, answers, strict=True)), await stage.failed_open())
    await stage.refuses()
    return found


@pytest.mark.parametrize("row", FAILURES)
async def test_an_answer_that_is_none_stops_no_job(told: Told, row: str) -> None:
    let_in_unseen(told.answers[row])
    assert told.failed_open[row] == JOBS


async def test_only_an_answer_to_the_question_refuses(told: Told) -> None:
    assert told.answers["a-denial"].status == 403
    assert (
        'webhook "mjob.muster.dev" denied the request: denied by a stand-in'
        in (told.answers["a-denial"].body["message"])
    )


async def test_a_patch_that_does_not_apply_is_the_one_thing_that_failure_policy_does_not_forgive(told: Told) -> None:
    """Which is why ours are held to apply, whatever the object (``tests/unit/webhook/test_patches.py``)."""
    assert told.answers["a-patch-that-does-not-apply"].status == 500
    assert "a-patch-that-does-not-apply" not in told.failed_open


# --- nobody there ---------------------------------------------------------------------------------------------------


@asynccontextmanager
async def killed(stage: Stage) -> AsyncIterator[None]:
    """The process is gone, and traffic still goes where it was."""
    (pod,) = stage.muster.webhooks
    pod.restart = False
    service = await stage.cluster.service_address(NAMESPACE, WEBHOOK, 443)
    await stage.cluster.egress.stand_in(service, f"{pod.address}:{pod.port('https')}")
    await pod.kill()
    try:
        yield
    finally:
        pod.restart = True
        await stage.cluster.egress.stand_in(service, None)
        await stage.muster.node.wait_ready(WEBHOOK)


@asynccontextmanager
async def frozen(stage: Stage) -> AsyncIterator[None]:
    """The process takes connections and does nothing with them."""
    (pod,) = stage.muster.webhooks
    service = await stage.cluster.service_address(NAMESPACE, WEBHOOK, 443)
    await stage.cluster.egress.stand_in(service, f"{pod.address}:{pod.port('https')}")
    pod.pause()
    try:
        yield
    finally:
        pod.resume()
        await stage.cluster.egress.stand_in(service, None)
        await stage.muster.node.wait_ready(WEBHOOK)


@asynccontextmanager
async def untrusted(stage: Stage) -> AsyncIterator[None]:
    async with StandIn(stage.muster, trusted=False):
        yield


@asynccontextmanager
async def speaks_no_tls(stage: Stage) -> AsyncIterator[None]:
    """Something that speaks HTTP, and no TLS."""
    (pod,) = stage.muster.webhooks
    service = await stage.cluster.service_address(NAMESPACE, WEBHOOK, 443)
    await stage.cluster.egress.stand_in(service, f"{pod.address}:{pod.port('metrics')}")
    try:
        yield
    finally:
        await stage.cluster.egress.stand_in(service, None)


@asynccontextmanager
async def scaled_to_zero(stage: Stage) -> AsyncIterator[None]:
    await stage.muster.node.scale(WEBHOOK, 0)
    try:
        yield
    finally:
        await stage.muster.node.scale(WEBHOOK, 1)
        await stage.muster.node.wait_ready(WEBHOOK)


Way = Callable[[Stage], AbstractAsyncContextManager[None]]


@pytest.mark.parametrize(
    "way",
    [untrusted, speaks_no_tls, frozen, killed, scaled_to_zero],
    ids=lambda way: way.__name__.replace("_", "-"),
)
async def test_without_a_webhook_jobs_are_let_in_and_with_it_refused_again(stage: Stage, way: Way) -> None:
    async with way(stage):
        await stage.failed_open()
        let_in_unseen(await stage.submit(way.__name__.replace("_", "-"), **{DOES: "a-denial"}))
        assert list((await stage.failed_open()).values()) == [JOBS]
    await stage.refuses()


# --- nothing to judge by --------------------------------------------------------------------------------------------

#: What is missing of a chain, by its name.
MISSING: Final = ("no-cluster-queue", "no-flavor", "no-check", "no-pools")


def chain(name: str) -> list[Document]:
    """A queue of this name with a flavor and a profile, less what the name says."""
    queues = Queues(QUEUES.namespace, name, name, name)
    checks = ["nowhere"] if name == "no-check" else []
    made = [
        builders.local_queue(queues),
        builders.cluster_queue(name, {name: QUOTA}, checks=checks),
        builders.flavor(name, QUEUES.node_labels),
        profile(name, QUEUES) if name != "no-pools" else builders.profile(name, name, [], preflight="Enforce"),
    ]
    left_out = {"no-cluster-queue": "ClusterQueue", "no-flavor": "ResourceFlavor"}.get(name)
    return [each for each in made if each["kind"] != left_out]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def chains(stage: Stage) -> AsyncIterator[None]:
    made = [each for name in ("whole", *MISSING) for each in chain(name)]
    await stage.cluster.applier.apply(made)

    async def judged() -> bool:
        answers = await asyncio.gather(*(_into(stage, name) for name in ("whole", *MISSING)))
        assert answers[0].status == 403
        # Without its ClusterQueue nobody knows whose profile speaks for a job.
        assert all(api.PREFLIGHT in answer.annotations for answer in answers[2:])
        return True

    await eventually(judged, what="every profile is known")
    yield
    await stage.cluster.applier.delete(made)


async def _into(stage: Stage, name: str) -> Answer:
    queues = Queues(QUEUES.namespace, name, name, name)
    return await stage.alice.submit(gang(f"in-{name}", queues, 3), dryRun="All")


@pytest.mark.parametrize("name", MISSING)
async def test_what_is_missing_denies_nobody(stage: Stage, chains: None, name: str) -> None:
    answer = await _into(stage, name)
    assert answer.status == 201, answer.body
    assert not [warning for warning in answer.warnings if "internal error" in warning]
    assert answer.annotations.get(api.PREFLIGHT, "unknown").startswith(("unknown", "misconfigured")), answer.annotations
