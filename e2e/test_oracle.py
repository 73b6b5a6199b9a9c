"""More than 300 generated jobs of every kind against the real Kueue and the real kube-scheduler, all at once.

Each has a ClusterQueue and pools of its own, with every node there that its profile allows. What Muster computes from
the job alone must be what happened; a disagreement prints the job, both sides and the seed.
"""

import json
import os
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from typing import Final

import pytest
import pytest_asyncio

from classifier.fit import Outcome, Verdict, World, judge
from classifier.objects import Meta
from e2e.conftest import Invariants, further_cluster
from e2e.oracle import generate, rules
from e2e.oracle.gangs import MAKERS
from e2e.oracle.objects import decode
from e2e.oracle.sight import Sight
from e2e.oracle.stage import Stage

pytestmark = pytest.mark.timeout(900)

#: Another one draws other cases: what is hunted for by hand.
SEED: Final = int(os.environ.get("MUSTER_ORACLE_SEED", generate.SEED))
#: How long what fits may take to be reserved once Kueue has looked at everything, and pods to be placed; seconds.
RESERVED: Final = 120.0
SETTLED: Final = 120.0
#: How often each sort of verdict must have been put to the test, and which part may be no verdict at all.
LEAST: Final = {
    "fits": 60,
    "never-fits for quota": 20,
    "never-fits for nodes": 80,
    "never-fits for quantity": 3,
    "misconfigured": 15,
}
MOST_UNKNOWN: Final = 0.15
#: Disagreements that one failure prints.
SHOWN: Final = 12


@dataclass(frozen=True)
class Judged:
    """One case with what Muster says of it and what became of it."""

    sight: Sight
    job: Meta
    world: World
    verdict: Verdict
    #: The same job as written, in the world as written, and in the world as the server tells it.
    in_files: Verdict
    raw: Verdict


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def stage(request: pytest.FixtureRequest) -> AsyncIterator[Stage]:
    """A cluster of its own with every kind, every queue and every node, and no job yet."""
    config = {"resources": generate.KUEUE_RESOURCES}
    async with further_cluster(request, "oracle", trainer=True, kinds=True, kueue_config=config) as cluster:
        made = Stage(cluster, generate.cases(SEED, generate.COUNT))
        await made.build()
        yield made
        await Invariants(cluster).check()


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def judged(stage: Stage) -> list[Judged]:
    """All cases, when nothing moves any more."""
    files, world = stage.files(), await stage.read()
    await stage.submit()
    found = [_judge(sight, files, world, stage.client.time.now()) for sight in stage.running]
    await stage.looked_at()
    fits = [each.sight.case.name for each in found if each.verdict.outcome in rules.FITS]
    await stage.until("what fits is reserved", fits, RESERVED, "reserved")
    decided = [each.sight.case.name for each in found if each.verdict.outcome in (*rules.FITS, Outcome.NEVER_FITS)]
    await stage.until("pods are placed or not", decided, SETTLED, "settled")
    return found


def _judge(sight: Sight, files: World, world: World, now: int) -> Judged:
    job, written = decode(sight.stored[0]), decode(sight.case.documents[0])
    return Judged(sight, job, world, judge(job, world, now), judge(written, files, now), judge(written, world, now))


def _disagreements(judged: list[Judged], rule: Callable[[Judged], Iterator[str]]) -> None:
    """Fails with the first of them in full."""
    found = [(each, text) for each in judged for text in rule(each)]
    if not found:
        return
    shown = [
        f"{each.sight.case.kind} {each.sight.case.name} {sorted(each.sight.case.tags)}: {text}\n"
        f"  {json.dumps(each.sight.case.documents)}"
        for each, text in found[:SHOWN]
    ]
    pytest.fail(f"{len(found)} disagreements with seed {SEED}:\n" + "\n".join(shown))


async def test_every_job_is_taken_and_queued(stage: Stage, judged: list[Judged]) -> None:
    assert {name: sight.refused for name, sight in stage.sights.items() if sight.refused} == {}
    assert len(judged) == generate.COUNT
    assert {each.sight.case.kind for each in judged} == set(MAKERS)


async def test_podsets_are_those_of_kueues_workload(judged: list[Judged]) -> None:
    _disagreements(judged, lambda each: rules.same_podsets(each.sight, each.job, each.world))


async def test_requests_are_what_kueue_counts(judged: list[Judged]) -> None:
    _disagreements(judged, lambda each: rules.same_requests(each.sight, each.job, each.world))


async def test_kueue_never_reserves_what_quota_proves_impossible_and_reserves_what_fits(judged: list[Judged]) -> None:
    _disagreements(judged, lambda each: rules.quota_as_kueue(each.sight, each.verdict))


async def test_kueue_does_not_take_in_whom_the_queue_does_not_serve(judged: list[Judged]) -> None:
    _disagreements(judged, lambda each: rules.misconfigured_as_kueue(each.sight, each.verdict))


async def test_what_never_fits_on_nodes_is_unschedulable(judged: list[Judged]) -> None:
    _disagreements(judged, lambda each: rules.nodes_as_scheduler(each.sight, each.verdict))


async def test_pods_of_one_shape_that_fit_are_all_scheduled(judged: list[Judged]) -> None:
    _disagreements(judged, lambda each: rules.fits_is_scheduled(each.sight, each.verdict))


async def test_files_and_server_lead_to_one_verdict(judged: list[Judged]) -> None:
    _disagreements(judged, lambda each: rules.same_verdict(each.verdict, each.raw, "as written"))
    _disagreements(judged, lambda each: rules.same_verdict(each.verdict, each.in_files, "all of it from files"))


async def test_verdicts_of_every_sort_were_put_to_the_test(judged: list[Judged]) -> None:
    found = Counter(_sort(each.verdict) for each in judged)
    assert {sort: found[sort] for sort in LEAST if found[sort] < LEAST[sort]} == {}, found
    assert found["unknown"] <= len(judged) * MOST_UNKNOWN, found


def _sort(verdict: Verdict) -> str:
    """What a verdict says, in a word."""
    if verdict.outcome in rules.FITS:
        return "fits"
    if verdict.outcome is Outcome.NEVER_FITS:
        return f"never-fits for {'nodes' if verdict.binding in rules.NODES else verdict.binding}"
    return str(verdict.outcome)
