"""The election at work on virtual time: who leads, what becomes of the work, and what every failure costs."""

import asyncio
import random
from itertools import pairwise
from typing import Any

import pytest

from classifier.cluster.client import ApiError, Unreachable
from classifier.instant import SECOND, instant_or_none
from tests.unit.controller.electing import TERMS, Replica, Server, hang, nothing, now, refuse, reset, running

pytestmark = pytest.mark.looptime


@pytest.fixture
def server() -> Server:
    return Server()


async def test_the_first_leads_at_once_and_the_other_waits(server: Server) -> None:
    one, other = Replica(server, "one"), Replica(server, "other")
    async with running(one, other):
        await asyncio.sleep(100)
        assert (one.works, other.works) == (True, False)
        assert one.began == [0]
        assert one.election.gap is None
        assert server.lease is not None
        assert server.lease["spec"]["leaseTransitions"] == 0


@pytest.mark.parametrize("fault", [hang, reset, refuse])
async def test_a_leader_that_cannot_renew_stops_before_the_other_begins(server: Server, fault: Any) -> None:
    one, other = Replica(server, "one"), Replica(server, "other")
    async with running(one, other):
        await asyncio.sleep(21)
        cut = now()
        one.link.before = fault
        await asyncio.sleep(30)
        assert other.works
        assert not one.works
        # Its last good renewal was sent before the cut.
        assert one.ended[0] <= cut + TERMS.renew + 0.1
        assert other.began[0] - one.ended[0] >= TERMS.lease - TERMS.renew - 0.2
        assert other.began[0] <= cut + TERMS.lease + TERMS.retry + 0.1
        one.link.before = nothing
        await asyncio.sleep(60)
        assert (one.works, other.works) == (False, True)


async def test_a_renewal_whose_answer_is_lost_is_made_good_by_the_next(server: Server) -> None:
    one = Replica(server, "one")

    async def lose(method: str) -> None:
        if method == "PATCH":
            one.link.after = nothing
            raise Unreachable("reset after the write")

    async with running(one):
        await asyncio.sleep(5)
        one.link.after = lose
        await asyncio.sleep(60)
        assert len(one.began) == 1
        assert one.works


async def test_somebody_who_writes_to_the_lease_takes_nobody_out_of_office(server: Server) -> None:
    one = Replica(server, "one")
    async with running(one):
        await asyncio.sleep(5)
        assert server.lease is not None
        server.lease["metadata"]["resourceVersion"] = "meddled"
        await asyncio.sleep(60)
        assert len(one.began) == 1


async def test_a_lease_that_was_deleted_is_made_anew_by_its_holder(server: Server) -> None:
    one, other = Replica(server, "one"), Replica(server, "other")
    async with running(one, other):
        await asyncio.sleep(5)
        server.lease = None
        await asyncio.sleep(60)
        assert (one.began, other.began) == ([0], [])


async def test_it_hands_over_when_it_is_ended(server: Server) -> None:
    one, other = Replica(server, "one"), Replica(server, "other")
    async with running(other):
        async with running(one) as tasks:
            await asyncio.sleep(1)
        assert tasks[0].cancelled()
        # "other" came first; now the one that leads is asked to end.
        assert other.works
        assert one.began == []
    assert server.holder is None
    third = Replica(server, "third")
    async with running(third):
        await asyncio.sleep(0.1)
        assert third.works
        assert third.election.gap is not None
        assert third.election.gap.acquired - third.election.gap.renewed < SECOND


async def test_the_lease_is_kept_until_the_work_has_ended(server: Server) -> None:
    one = Replica(server, "one")
    held: list[str | None] = []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(1)
            held.append(server.holder)
            assert not one.election.leading

    task = asyncio.create_task(one.election.run(work))
    await asyncio.sleep(3)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert held == [one.election.identity]
    assert server.holder is None


async def test_a_leader_whose_work_fails_gives_the_lease_up_and_says_why(server: Server) -> None:
    one = Replica(server, "one")
    task = asyncio.create_task(one.election.run(one.work))
    await asyncio.sleep(1)
    one.failure.set()
    with pytest.raises(ValueError, match="a bug"):
        await task
    assert server.holder is None


async def test_a_process_that_was_stopped_does_not_lead_when_it_goes_on(server: Server) -> None:
    """Before anything of it runs again the clock says so."""
    one = Replica(server, "one")
    async with running(one):
        await asyncio.sleep(3)
        assert one.leads()
        one.stopped = TERMS.renew
        assert not one.leads()
        await asyncio.sleep(20)
        # Nobody took the lease meanwhile: it may lead again, as a new leader.
        assert (one.leads(), one.election.terms) == (True, 2)


async def test_steps_of_the_servers_clock_change_nothing(server: Server) -> None:
    one, other = Replica(server, "one"), Replica(server, "other")
    async with running(one, other):
        for step in (3600, -7200, 86400, -86400):
            server.clock.ahead += step * SECOND
            await asyncio.sleep(20)
        assert (one.began, other.began) == ([0], [])


async def test_the_gap_reaches_from_the_last_renewal_to_the_beginning(server: Server) -> None:
    one, other = Replica(server, "one"), Replica(server, "other")
    async with running(one, other):
        await asyncio.sleep(21)
        one.link.before = hang
        assert server.lease is not None
        renewed = instant_or_none(server.lease["spec"]["renewTime"])
        await asyncio.sleep(30)
        gap = other.election.gap
        assert gap is not None
        assert gap.renewed == renewed
        assert gap.acquired == server.clock.ahead + int(other.began[0] * SECOND)
        assert other.election.terms == 1


@pytest.mark.parametrize("seed", range(5))
async def test_never_two_whatever_happens_to_requests(server: Server, seed: int) -> None:
    """Delays, errors, lost answers and hangs at random, three replicas, a quarter of an hour each."""
    chance = random.Random(seed)
    replicas = [Replica(server, name) for name in "abc"]

    def check() -> None:
        assert sum(replica.leads() for replica in replicas) <= 1
        assert sum(replica.works for replica in replicas) <= 1

    async def trouble(_: str) -> None:
        check()
        match chance.randrange(12):
            case 0:
                raise Unreachable("reset")
            case 1:
                raise ApiError(chance.choice((429, 500, 503)), "", "trouble", chance.choice((None, 1.0, 60.0)))
            case 2:
                await asyncio.sleep(chance.uniform(0, 40))
            case _:
                await asyncio.sleep(chance.uniform(0, 1))
        check()

    for replica in replicas:
        replica.link.before = replica.link.after = trouble
    async with running(*replicas) as tasks:
        done, _ = await asyncio.wait(tasks, timeout=900, return_when=asyncio.FIRST_COMPLETED)
        assert not done, [task.exception() for task in done]
    assert sum(len(replica.began) for replica in replicas) > 2
    ends = sorted(
        (began, ended) for replica in replicas for began, ended in zip(replica.began, replica.ended, strict=True)
    )
    assert all(ended <= began for (_, ended), (began, _) in pairwise(ends))


async def test_work_that_fails_as_it_is_ended_does_not_fail_in_silence(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    one = Replica(server, "one")

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            raise ValueError("a bug")

    task = asyncio.create_task(one.election.run(work))
    await asyncio.sleep(3)
    one.link.before = refuse
    await asyncio.sleep(30)
    assert not task.done(), "it stands again"
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    (told,) = [record for record in caplog.records if record.levelname == "ERROR"]
    assert told.exc_info is not None
    assert str(told.exc_info[1]) == "a bug"
