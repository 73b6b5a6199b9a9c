"""20,000 pending Workloads on a real API server: the controller's start, 5,000 deadlines at one instant, and every day.

Jobs and Workloads are written in Kueue's place (``e2e/load/crowd.py``). The deadlines come at one instant because the
fence comes last: all of them have passed by then.
"""

import asyncio
import itertools
import os
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from classifier import api
from classifier.cluster.client import MERGE_PATCH, Client
from classifier.cluster.wire import PAGE, Page
from classifier.instant import parse_instant
from classifier.objects import Job, Workload
from e2e import view
from e2e.audit import AuditLog
from e2e.builders import Queues
from e2e.controlplane.chart import CONTROLLER, WEBHOOK, Muster
from e2e.controlplane.cluster import Cluster
from e2e.controlplane.node import Pod
from e2e.load import cost, crowd
from e2e.wait import eventually
from tests.bench import Figure, Say

#: Namespaces with as many Workloads each; those of the first few get a bound.
NAMESPACES: Final = 20
EACH: Final = int(os.environ.get("MUSTER_BENCH_EACH", "1000"))
BOUNDED: Final = NAMESPACES // 4
DUE: Final = BOUNDED * EACH
#: Writes in flight, here and in the controller, whose bucket is unlimited for the storm.
WORKERS: Final = 16
#: Changes a second, and for how many seconds, of the steady state; so many deadlines fall within them.
CHANGES: Final = 50.0
STEADY: Final = 60.0

#: For so many seconds a follower is watched that has nothing to do.
WATCHED: Final = 5.0

LIST_BAR: Final = 3.0
MEMORY_BAR: Final = 256.0
STORM_BAR: Final = 1 / 0.8
STEADY_BAR: Final = 10.0
BLOCKED_BAR: Final = 0.0
LAG_BAR: Final = 2.0

#: As in life; those of the scenarios are shorter than what a storm may take from the API server.
LEASE: Final = {"leaseDuration": "15s", "renewDeadline": "10s", "retryPeriod": "2s"}

FENCE: Final = "muster-fence"
#: Seconds for anything awaited here; a slow machine writes thousands of objects meanwhile.
PATIENCE: Final = 600.0


def run(say: Say) -> Iterator[Figure]:
    yield from asyncio.run(_measure(say))


async def _measure(say: Say) -> list[Figure]:
    queues = [Queues(f"team-{n:02}", "queue", "bench", "bench") for n in range(NAMESPACES)]
    async with Cluster(say=say) as cluster:
        await crowd.quiet(cluster, queues)
        idle = await _start(cluster, say)
        for number, each in enumerate(queues):
            await crowd.fill(cluster, each, range(number * EACH, (number + 1) * EACH), say)
        read, bare = await _bare_read(cluster.kubeconfig)
        values: dict[str, dict[str, Any]] = {
            "webhook": {"replicas": 1},
            "controller": {"replicas": 2, "rate": 0, "logLevel": "info", "leaderElection": LEASE},
        }
        async with Muster(cluster, values, patience=PATIENCE) as muster:
            leader, follower = await _parts(muster)
            listed = await _listed(_pid(follower), say) - idle
            figures = [
                Figure(
                    f"{NAMESPACES * EACH:,} Workloads and Jobs read, listed and indexed: CPU",
                    listed / read,
                    "",
                    "the same bytes read over TLS and decoded, bare",
                    most=LIST_BAR,
                ),
                Figure("  the same", listed / bare, "", "the bare decode alone; its bar is held in bench memory"),
                Figure("memory of a follower that is synced", cost.memory(_pid(follower), peak=True), "MiB"),
            ]
            figures += await _storm(cluster, muster, leader, queues, say)
            figures.append(
                Figure(
                    "memory of the leader, at its peak", cost.memory(_pid(leader), peak=True), "MiB", most=MEMORY_BAR
                )
            )
            # Under the same policies, and with nobody who watches.
            for deployment in (CONTROLLER, WEBHOOK):
                await muster.node.scale(deployment, 0)
            figures += await _bare_patches(cluster, queues, figures, say)
        values["controller"] |= {"rate": 50, "replicas": 1}
        async with Muster(cluster, values, patience=PATIENCE) as muster:
            figures += await _steady(cluster, muster, queues[2 * BOUNDED :], say)
    return figures


def _pid(pod: Pod) -> int:
    pid = pod.process.pid
    if pid is None:
        raise ProcessLookupError(f"{pod.name} does not run")
    return pid


async def _start(cluster: Cluster, say: Say) -> float:
    """CPU seconds of a controller that has nothing to follow yet, until it is ready."""
    async with Muster(cluster, {"controller": {"replicas": 1}}) as muster:
        seconds = cost.cpu_seconds(_pid(muster.controllers[0]))
    say(f"    a controller without work is ready after {seconds:.2f} s of CPU")
    return seconds


async def _parts(muster: Muster) -> tuple[Pod, Pod]:
    """Who leads, and who only follows: both synced."""

    async def parted() -> tuple[Pod, Pod]:
        leads = {pod.name: (await view.metrics(pod))["muster_leader"] for pod in muster.controllers}
        leader, follower = sorted(muster.controllers, key=lambda pod: -leads[pod.name])
        assert (leads[leader.name], leads[follower.name]) == (1, 0)
        return leader, follower

    return await eventually(parted, timeout=PATIENCE, poll=0.5)


async def _listed(pid: int, say: Say) -> float:
    """CPU seconds of a controller so far, without what it took as well while it waited for the API server's pages."""
    seconds, age = cost.cpu_seconds(pid), cost.age(pid)
    await asyncio.sleep(WATCHED)
    waiting = (cost.cpu_seconds(pid) - seconds) / WATCHED
    say(f"    a follower took {seconds:.2f} s of CPU in {age:.0f} s, and {100 * waiting:.1f} % of a core from then on")
    return seconds - waiting * age


async def _bare_read(kubeconfig: Path) -> tuple[float, float]:
    """CPU seconds to read every page of both lists as the controller asks for it and to make structs of it; and of
    those the decode alone."""
    decoding, before = 0.0, time.process_time()
    connection = Client.connect(kubeconfig=str(kubeconfig), user_agent="muster-bench", compressed=False)
    async with await connection as client:
        for resource, kind in ((api.WORKLOADS, Workload), (api.JOBS, Job)):
            pages, decoder = msgspec.json.Decoder(Page), msgspec.json.Decoder(kind)
            params = {"limit": str(PAGE)}
            while True:
                body = await client.request("GET", resource.path(), params=params, timeout=60)
                began = time.process_time()
                page = pages.decode(body)
                kept = [decoder.decode(raw) for raw in page.items or ()]
                decoding += time.process_time() - began
                del kept
                if not page.metadata.continue_:
                    break
                params["continue"] = page.metadata.continue_
    return time.process_time() - before, decoding


# --- the storm --------------------------------------------------------------------------------------------------


async def _storm(cluster: Cluster, muster: Muster, leader: Pod, queues: list[Queues], say: Say) -> list[Figure]:
    binding = api.ADMISSION_POLICY_BINDINGS.path(name=FENCE)
    await cluster.admin.request("DELETE", binding)
    await eventually(lambda: _is(leader, "muster_fence_in_force", 0), timeout=PATIENCE)
    for each in queues[:BOUNDED]:
        await _bound(cluster, each, "1s")
    await eventually(lambda: _is(leader, "muster_overdue_workloads", DUE), timeout=PATIENCE, poll=1)
    say(f"    {DUE} deadlines have passed, the fence is missing")
    log = AuditLog(cluster.audit_log)
    log.skip()
    before = await view.metrics(leader)
    await muster.apply()
    # A look at 20,000 Workloads' metrics takes the leader from what is measured.
    await eventually(lambda: _is(leader, "muster_mirrors_total", DUE), timeout=PATIENCE, poll=5)
    events = [event for event in log.read() if _commits(event)]
    commits = [parse_instant(event["stageTimestamp"]) for event in events]
    after = await view.metrics(leader)
    say(f"    {len(commits)} commits within {(max(commits) - min(commits)) / 1000:.1f} s")
    ended = {event["responseObject"]["metadata"]["uid"] for event in events}
    return [
        Figure("commits of deadlines at one instant", _rate(commits), "/s"),
        Figure("deadlines lost, of those", DUE - len(ended), "", most=0),
        Figure("deadlines committed twice", len(events) - len(ended), "", most=0),
        Figure("deadlines committed early", sum(map(_early, events)), "", most=0),
        *_held_up("the storm", before, after),
    ]


def _commits(event: Any) -> bool:
    sent = event.get("requestObject") or {}
    return (
        event["objectRef"].get("resource") == "workloads"
        and event["verb"] == "patch"
        and (event.get("responseStatus") or {}).get("code") == 200
        and (sent.get("spec") or {}).get("active") is False
        and "dryRun" not in event["requestURI"]
    )


def _early(event: Any) -> bool:
    """Whether the wait was ended before the deadline that its Workload shows, by the API server's own clock."""
    shown = event["responseObject"]["metadata"]["annotations"][api.ADMISSION_DEADLINE]
    return parse_instant(event["stageTimestamp"]) < parse_instant(shown)


def _rate(commits: list[int]) -> float:
    """A second; ``commits`` in ms."""
    return (len(commits) - 1) * 1000 / (max(commits) - min(commits))


async def _bare_patches(cluster: Cluster, queues: list[Queues], figures: list[Figure], say: Say) -> list[Figure]:
    """As many patches of the same size by as many hands, and nothing else: no watch, no decision, no mirror."""
    found = [each for q in queues[BOUNDED : 2 * BOUNDED] for each in await _workloads(cluster.admin, q)]

    async def patch(workload: Workload) -> None:
        marker = f"2026-01-01T00:00:00.000Z attempt=1 uid={workload.uid}"
        metadata = {
            "annotations": {"example.com/committed": marker},
            "resourceVersion": workload.metadata.resource_version,
        }
        path = api.WORKLOADS.path(workload.namespace, workload.name)
        body = {"metadata": metadata, "spec": {"active": False}}
        await cluster.admin.request("PATCH", path, body=body, content_type=MERGE_PATCH, timeout=60)

    log = AuditLog(cluster.audit_log)
    log.skip()
    await crowd.hands((patch(workload) for workload in found), WORKERS)
    commits = [parse_instant(event["stageTimestamp"]) for event in await log.drain(cluster.admin) if _commits(event)]
    ours = next(figure.value for figure in figures if figure.unit == "/s")
    say(f"    bare patches: {_rate(commits):.0f} a second")
    return [Figure("time of a commit in the storm", _rate(commits) / ours, "", "a bare PATCH", most=STORM_BAR)]


# --- every day --------------------------------------------------------------------------------------------------


async def _steady(cluster: Cluster, muster: Muster, queues: list[Queues], say: Say) -> list[Figure]:
    """Changes all over the queues, as Kueue makes them, while a few hundred deadlines fall due one after the other."""
    (pod,) = muster.controllers
    await eventually(lambda: _is(pod, "muster_leader", 1), timeout=PATIENCE)
    soon, others = queues[0], queues[1:]
    await eventually(lambda: _is(pod, "muster_fence_in_force", 1), timeout=PATIENCE)
    chosen = await _workloads(cluster.admin, soon)
    due = itertools.cycle(chosen)
    names = [workload for each in others for workload in await _workloads(cluster.admin, each)]
    say(f"    {CHANGES:g} changes a second for {STEADY:g} s")

    async def change(number: int) -> None:
        workload = random.choice(names)
        if number % 25 == 0:
            # Two deadlines a second: the request of a job, noticed for a second, then due.
            owner = next(due).controller
            assert owner is not None
            await _annotate(cluster.admin, api.JOBS.path(soon.namespace, owner.name), {api.ADMISSION_TIMEOUT: "1s"})
        else:
            path = api.WORKLOADS.path(workload.namespace, workload.name)
            await _annotate(cluster.admin, path, {"example.com/touched": str(number)})

    before, cpu, began = await view.metrics(pod), cost.cpu_seconds(_pid(pod)), time.monotonic()
    await crowd.paced(CHANGES, STEADY, change)
    seconds, cpu = time.monotonic() - began, cost.cpu_seconds(_pid(pod)) - cpu
    after = await view.metrics(pod)
    return [
        Figure("steady state: of one core", 100 * cpu / seconds, "%", most=STEADY_BAR),
        *_held_up("the steady state", before, after),
        Figure("lag from deadline to commit, 99 of 100 within", _percentile(before, after, 0.99), "s", most=LAG_BAR),
    ]


async def _workloads(client: Client, queues: Queues) -> list[Workload]:
    body = await client.request("GET", api.WORKLOADS.path(queues.namespace), timeout=60)
    items = msgspec.json.decode(body, type=dict[str, msgspec.Raw])["items"]
    return msgspec.json.decode(items, type=list[Workload])


async def _bound(cluster: Cluster, queues: Queues, timeout: str) -> None:
    path = api.LOCAL_QUEUES.path(queues.namespace, queues.local_queue)
    await _annotate(cluster.admin, path, {api.ADMISSION_TIMEOUT: timeout})


async def _annotate(client: Client, path: str, annotations: dict[str, str]) -> None:
    body = {"metadata": {"annotations": annotations}}
    await client.request("PATCH", path, body=body, content_type=MERGE_PATCH, timeout=60)


async def _is(pod: Pod, metric: str, wanted: float) -> bool:
    """The sum over a metric's labels."""
    found = await view.metrics(pod)
    value = sum(value for name, value in found.items() if name.partition("{")[0] == metric)
    assert value == wanted, f"{metric} is {value:g}, not {wanted:g}"
    return True


def _held_up(when: str, before: dict[str, float], after: dict[str, float]) -> Iterator[Figure]:
    """Beats that were late by more than 50 ms: as the controller computed, and as the processors had other work."""

    def late(metric: str) -> float:
        counts = [found[f"{metric}_count"] - found[f'{metric}_bucket{{le="0.05"}}'] for found in (before, after)]
        return counts[1] - counts[0]

    held, delay = late("muster_event_loop_held_seconds"), late("muster_event_loop_delay_seconds")
    yield Figure(f"times the loop was blocked for over 50 ms in {when}", held, "", most=BLOCKED_BAR)
    yield Figure(f"beats late by over 50 ms in {when}, for whatever reason", delay, "")


def _percentile(before: dict[str, float], after: dict[str, float], part: float) -> float:
    """The bound of the bucket below which so many of the new observations of the commit lag are."""
    name = "muster_commit_lag_seconds"
    total = after[f"{name}_count"] - before.get(f"{name}_count", 0)
    if not total:
        raise AssertionError("nothing was committed")
    for key, value in after.items():
        if key.startswith(f"{name}_bucket") and value - before.get(key, 0) >= part * total:
            return float(key.partition('le="')[2].partition('"')[0])
    raise AssertionError(f"{name} has no last bucket")
