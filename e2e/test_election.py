"""Two replicas of the rendered Deployment: one leads; whatever becomes of it, the other enforces what is due, once.

Each replica has a proxy of its own in front of the API server, so that it is known who wrote what.
"""

import itertools
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pytest
import pytest_asyncio

from classifier import api
from classifier.instant import SECOND, parse_instant
from e2e import view
from e2e.audit import AuditLog, succeeded
from e2e.builders import Queues
from e2e.chaos import ChaosProxy, Exchange, contains
from e2e.controlplane.chart import CONTROLLER, NAMESPACE, Muster
from e2e.controlplane.cluster import Cluster
from e2e.controlplane.node import Override, Pod
from e2e.gangs import Gang
from e2e.invariants import CONTROLLER as ACCOUNT
from e2e.wait import eventually

pytestmark = pytest.mark.timeout(300)

COMMIT = contains('"active":false')
LEASES = "/leases"
#: The chart's recoveryGrace in tests, ms (e2e.controlplane.chart).
GRACE = 2 * SECOND


@dataclass
class Replica:
    """A pod of the controller and its way to the API server; ``since`` is how far its requests were looked at."""

    pod: Pod
    proxy: ChaosProxy
    since: int = field(default=0)

    async def leads(self) -> bool:
        return (await view.metrics(self.pod))["muster_leader"] == 1

    async def relists(self) -> dict[str, float]:
        found = await view.metrics(self.pod)
        return {name: value for name, value in found.items() if name.startswith("muster_reflector_relists")}

    def cut_off(self) -> None:
        """No request of its arrives, and no watch goes on, until its proxy forgets that."""
        self.proxy.when(None, "", times=None).reset()
        self.proxy.break_streams()

    def mark(self) -> None:
        self.since = len(self.proxy.requests)

    def requests(self) -> list[Exchange]:
        return list(self.proxy.requests)[self.since :]

    def wrote(self) -> list[str]:
        """Its writes since the mark; those for the lease left out."""
        return [f"{e.method} {e.path}" for e in self.requests() if e.method != "GET" and LEASES not in e.path]


class Pair:
    """The two replicas of the moment."""

    def __init__(self, muster: Muster, proxies: list[ChaosProxy]) -> None:
        self._muster = muster
        self._proxies = proxies

    async def now(self) -> tuple[Replica, Replica]:
        """The one that leads, and the other; both ready."""
        await self._muster.node.wait_ready(CONTROLLER)
        both = [Replica(*each) for each in zip(self._muster.controllers, self._proxies, strict=True)]

        async def one_leads() -> tuple[Replica, Replica]:
            leading = [await replica.leads() for replica in both]
            assert sum(leading) == 1, leading
            return both[leading.index(True)], both[leading.index(False)]

        return await eventually(one_leads, what="one replica leads")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def pair(cluster: Cluster, muster: Muster) -> AsyncIterator[Pair]:
    """Two replicas while this module runs."""
    async with AsyncExitStack() as stack:
        ca = cluster.folder / "pki" / "ca.crt"
        proxies = [await stack.enter_async_context(ChaosProxy(cluster.context.server, ca)) for _ in range(2)]
        turn = itertools.cycle(proxies)

        def through(token: str) -> Path:
            return next(turn).kubeconfig(token, namespace=NAMESPACE)

        await muster.node.scale(CONTROLLER, 0)
        await muster.node.override(CONTROLLER, Override(kubeconfig=through))
        await muster.node.scale(CONTROLLER, 2)
        yield Pair(muster, proxies)
        await muster.node.scale(CONTROLLER, 0)
        await muster.node.override(CONTROLLER, None)
        await muster.node.scale(CONTROLLER, 1)
        await muster.node.wait_ready(CONTROLLER)


async def told_once(cluster: Cluster, audit: AuditLog, gang: Gang) -> None:
    """Mirrored by one write, and one event."""
    await gang.mirrored()
    assert len(await view.timeout_events(cluster.admin, gang.queues.namespace, gang.name)) == 1
    events = await audit.drain(cluster.admin, gang.queues.namespace)
    mirrors = [
        event
        for event in events
        if event["verb"] == "patch"
        and event["objectRef"]["resource"] == "jobs"
        and event["objectRef"]["name"] == gang.name
        and api.ADMISSION_OUTCOME_OF in str(event.get("requestObject"))
        and succeeded(event)
    ]
    assert len(mirrors) == 1, mirrors


async def commits(cluster: Cluster, audit: AuditLog, queues: Queues) -> list[Mapping[str, Any]]:
    """Every request to end a wait that reached the API server, the first one first."""
    return [
        event
        for event in await audit.drain(cluster.admin, queues.namespace)
        if event["objectRef"]["resource"] == "workloads"
        and event["user"]["username"] == ACCOUNT
        and '"active":false' in msgspec.json.encode(event.get("requestObject")).decode()
    ]


async def test_the_other_takes_over_from_a_leader_that_was_killed_without_listing_anything_again(
    cluster: Cluster, pair: Pair, queues: Queues, audit: AuditLog
) -> None:
    leader, other = await pair.now()
    gang = Gang(cluster, queues)
    await gang.submit(timeout="1h")
    await gang.announced()
    before = await other.relists()
    assert before
    other.mark()
    leader.pod.restart = False
    await leader.pod.kill(signal.SIGKILL)
    await gang.runs_out()
    said = view.annotations(await gang.committed())
    assert parse_instant(said[api.COMMITTED].split(" ")[0]) >= parse_instant(said[api.ADMISSION_DEADLINE])
    await told_once(cluster, audit, gang)
    assert await other.leads()
    assert await other.relists() == before
    assert not [e for e in other.requests() if e.method == "GET" and "limit" in e.query]
    leader.pod.restart = True
    after, _ = await pair.now()
    assert after.pod is other.pod


async def test_a_leader_that_was_stopped_past_its_lease_writes_nothing_when_it_goes_on(
    cluster: Cluster, pair: Pair, queues: Queues, audit: AuditLog
) -> None:
    """One commit of it is on its way, and another deadline falls due, while it is stopped."""
    leader, other = await pair.now()
    rule = leader.proxy.when("PATCH", r"/workloads/", body=COMMIT).hold()
    first, second = Gang(cluster, queues, "first"), Gang(cluster, queues, "second")
    await first.submit(timeout="2s")
    await second.submit(timeout="8s")
    await second.announced()
    await rule.caught()
    leader.pod.pause()
    try:
        await first.committed()
        await second.committed()
        assert await other.leads()
    finally:
        # What was on its way arrives; then its sender goes on where it was.
        rule.release()
        leader.mark()
        leader.pod.resume()

    async def follows() -> bool:
        assert not await leader.leads()
        looks = [e for e in leader.requests() if e.method == "GET" and LEASES in e.path and e.status == 200]
        return len(looks) > 3

    await eventually(follows, what="the old leader follows")
    assert leader.wrote() == []
    assert await other.leads()
    for gang in (first, second):
        await gang.mirrored()
        assert len(await view.timeout_events(cluster.admin, queues.namespace, gang.name)) == 1
    assert sorted(event["responseStatus"]["code"] for event in await commits(cluster, audit, queues)) == [200, 200, 409]


async def test_the_next_leader_gives_the_grace_after_an_outage_that_it_has_not_seen(
    cluster: Cluster, pair: Pair, queues: Queues, audit: AuditLog
) -> None:
    """Kueue's webhook fails what the leader writes, until the leader is killed: it is back when the other one leads."""
    leader, other = await pair.now()
    rule = leader.proxy.when("PATCH", r"/workloads/", body=COMMIT, times=None).answer(500)
    gang = Gang(cluster, queues)
    await gang.submit(timeout="2s")
    await gang.announced()
    lease = api.LEASES.path(NAMESPACE, CONTROLLER)

    async def told() -> bool:
        return api.OUTAGE_SINCE in view.annotations(msgspec.json.decode(await cluster.admin.request("GET", lease)))

    async def known() -> bool:
        return (await view.metrics(leader.pod))["muster_outage"] == 1 and await told()

    await eventually(known, what="the leader says that there is an outage")
    assert (await view.metrics(other.pod))["muster_outage"] == 0
    leader.pod.restart = False
    await leader.pod.kill(signal.SIGKILL)
    rule.stop()
    workload = await gang.committed()
    # What its predecessor sent never got there. One try may meet a write of Kueue's, and is made again.
    *tries, last = ["dryRun=All" in event["requestURI"] for event in await commits(cluster, audit, queues)]
    assert (set(tries), last) == ({True}, False)
    record = msgspec.json.decode(await cluster.admin.request("GET", lease))["spec"]
    assert record["holderIdentity"].startswith(other.pod.name)
    marker = view.annotations(workload)[api.COMMITTED].split(" ")[0]
    assert parse_instant(marker) >= parse_instant(record["acquireTime"]) + GRACE

    async def over() -> bool:
        return not await told()

    await eventually(over, what="the grace is over, and nothing more is said of it")
    await gang.mirrored()
    assert len(await view.timeout_events(cluster.admin, queues.namespace, gang.name)) == 1
    leader.pod.restart = True
    await pair.now()


async def test_a_replica_that_is_cut_off_writes_nothing_while_the_other_leads_on(
    cluster: Cluster, pair: Pair, queues: Queues, audit: AuditLog
) -> None:
    """First the leader is, then, when it follows again, the one that only follows: its copies are old all the while."""
    leader, other = await pair.now()
    kept, cut, late = (Gang(cluster, queues, name) for name in ("kept", "cut", "late"))
    await kept.submit(timeout="1h")
    await cut.submit(timeout="1h")
    await cut.announced()
    leader.cut_off()
    await cut.runs_out()
    await cut.committed()
    await told_once(cluster, audit, cut)
    assert await other.leads()
    assert not await leader.leads()
    # A deadline that it knows otherwise: it is back when that has passed.
    await kept.runs_out()
    await kept.committed()
    leader.mark()
    leader.proxy.forget()

    async def follows() -> bool:
        looks = [e for e in leader.requests() if e.method == "GET" and LEASES in e.path and e.status == 200]
        watches = [e for e in leader.requests() if "/workloads" in e.path and e.query.get("watch") and e.status == 200]
        return len(looks) > 3 and len(watches) > 0

    await eventually(follows, 60, what="the old leader follows")
    assert leader.wrote() == []
    # Now it follows and is cut off again: that is nothing to the one that leads.
    leader.cut_off()
    await late.submit(timeout="3s")
    await late.committed()
    assert await other.leads()
    leader.mark()
    leader.proxy.forget()
    await eventually(follows, 60, what="the other follows again")
    assert leader.wrote() == []
    for gang in (kept, late):
        await gang.mirrored()
        assert len(await view.timeout_events(cluster.admin, queues.namespace, gang.name)) == 1


async def test_a_leader_that_is_asked_to_end_hands_over_at_once(
    cluster: Cluster, muster: Muster, pair: Pair, queues: Queues, audit: AuditLog
) -> None:
    """The lease would last for an hour: nobody waits for it to run out."""
    long = Override(
        arguments={"--lease-duration": "1h", "--renew-deadline": "50m"},
        kubeconfig=muster.node._overrides[CONTROLLER].kubeconfig,
    )
    await muster.node.override(CONTROLLER, long)
    leader, other = await pair.now()
    gang = Gang(cluster, queues)
    await gang.submit(timeout="3s")
    await gang.announced()
    leader.pod.restart = False
    await leader.pod.kill(signal.SIGTERM)

    async def taken_over() -> bool:
        return await other.leads()

    await eventually(taken_over, what="the other leads")
    await told_once(cluster, audit, gang)
    leader.pod.restart = True
    await pair.now()
