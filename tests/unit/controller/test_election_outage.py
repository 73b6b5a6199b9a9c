"""An outage that one replica has seen: the Lease tells the next leader, as long as it concerns anybody."""

import asyncio

import pytest

from classifier import api
from tests.unit.controller.electing import TERMS, Replica, Server, hang, running

pytestmark = pytest.mark.looptime


@pytest.fixture
def server() -> Server:
    return Server()


async def test_an_answer_that_never_comes_is_an_outage_for_everybody(server: Server) -> None:
    one = Replica(server, "one")
    async with running(one):
        await asyncio.sleep(5)
        one.link.before = hang
        await asyncio.sleep(40)
        assert one.outage.trial


def in_outage(replica: Replica) -> None:
    """Kueue's webhook has been away for long enough: only whoever writes to Workloads sees that."""
    replica.outage.failed("workloads", took=10)


async def test_the_next_leader_goes_on_in_an_outage_it_has_not_seen(server: Server) -> None:
    one, other = Replica(server, "one"), Replica(server, "other")
    async with running(one, other):
        await asyncio.sleep(5)
        in_outage(one)
        await asyncio.sleep(TERMS.retry)
        since = server.said[api.OUTAGE_SINCE]
        one.link.before = hang
        await asyncio.sleep(30)
        assert other.works
        assert other.outage.trial
        assert server.said[api.OUTAGE_SINCE] == since


async def test_a_leader_that_is_ended_says_that_it_was_in_an_outage(server: Server) -> None:
    one, other = Replica(server, "one"), Replica(server, "other")
    async with running(one):
        await asyncio.sleep(5)
        in_outage(one)
    async with running(other):
        await asyncio.sleep(1)
        assert other.works
        assert other.outage.trial


async def test_an_outage_concerns_nobody_once_its_grace_is_over(server: Server) -> None:
    one, other = Replica(server, "one"), Replica(server, "other")
    async with running(one, other):
        await asyncio.sleep(5)
        in_outage(one)
        await asyncio.sleep(5)
        one.outage.recovered()
        await asyncio.sleep(55)
        assert api.OUTAGE_SINCE in server.said
        await asyncio.sleep(10)
        assert api.OUTAGE_SINCE not in server.said
        one.link.before = hang
        await asyncio.sleep(30)
        assert other.works
        assert not other.outage.trial


async def test_a_follower_forgets_its_own_outage_when_the_leader_goes_on_and_knows_of_none(server: Server) -> None:
    one, other = Replica(server, "one"), Replica(server, "other")
    async with running(one, other):
        await asyncio.sleep(5)
        in_outage(other)
        await asyncio.sleep(TERMS.retry)
        assert other.outage.trial
        await asyncio.sleep(15)
        assert not other.outage.trial


async def test_a_follower_forgets_nothing_on_the_word_of_a_leader_that_is_silent(server: Server) -> None:
    one, other = Replica(server, "one"), Replica(server, "other")
    async with running(one, other):
        await asyncio.sleep(5)
        one.link.before = hang
        in_outage(other)
        await asyncio.sleep(30)
        assert other.works
        assert other.outage.trial
