"""A hundred Jobs into a free queue of the real Kueue, with deadlines that fall while its scheduler admits.

Which of the two wins is decided a hundred times by the API server alone; each outcome must be whole. What must never
happen is read from the audit log after the test (``e2e/invariants.py``): no Workload inactive, marked and newly
admitted, no pod of a gang whose wait was ended.
"""

import asyncio
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import pytest_asyncio

from classifier import api
from classifier.cluster.reflector import Reflector
from classifier.instant import MINUTE, SECOND
from classifier.objects import Job, Workload
from e2e import builders, view
from e2e.builders import Document, Queues
from e2e.controlplane.chart import CONTROLLER, Muster
from e2e.controlplane.cluster import Cluster
from e2e.controlplane.node import Override
from e2e.gangs import Gang, add_nodes, remove_nodes
from e2e.wait import eventually

COUNT = 100
LEAST = 10
PILOT = 10
#: How far deadlines lie apart besides what Kueue's pace adds, ms. It sends hundreds of admissions a second.
SPREAD = SECOND
#: When those are due that any machine admits first, ms.
MUCH_LATER = MINUTE
#: Requests of ours in flight.
HANDS = 24
FENCE = "muster-fence"
#: The storm keeps the API server busy for longer than the leases of other tests last.
PATIENT = {"--lease-duration": "30s", "--renew-deadline": "20s"}


async def submit_all(cluster: Cluster, jobs: Iterable[Document]) -> None:
    """Create them as fast as the API server takes them, each drawn from ``jobs`` just before."""
    source = iter(jobs)

    async def create() -> None:
        for job in source:
            await cluster.admin.request("POST", api.JOBS.path(job["metadata"]["namespace"]), body=job, timeout=30)

    await asyncio.gather(*(create() for _ in range(HANDS)))


def now() -> int:
    """The API server's time, ms: it runs on this machine."""
    return time.time_ns() // 1_000_000


def gang_of(number: int, queues: Queues, timeout: int | None) -> Document:
    annotations = {api.ADMISSION_TIMEOUT: f"{timeout}ms"} if timeout else None
    return builders.job(
        f"g-{number}", queues, pods=1, requests={builders.GPU: 1}, annotations=annotations, run_for="500ms"
    )


class Crowd:
    """Follows all Jobs and Workloads of a namespace by watch: lists of hundreds would race with what is measured."""

    def __init__(self, cluster: Cluster, queues: Queues) -> None:
        self._jobs = Reflector(cluster.admin, api.JOBS, Job, namespace=queues.namespace)
        self._workloads = Reflector(cluster.admin, api.WORKLOADS, Workload, namespace=queues.namespace)

    @asynccontextmanager
    async def followed(self) -> AsyncIterator["Crowd"]:
        tasks = [asyncio.create_task(reflector.run()) for reflector in (self._jobs, self._workloads)]
        try:
            await asyncio.gather(self._jobs.wait_synced(), self._workloads.wait_synced())
            yield self
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    @property
    def jobs(self) -> list[Job]:
        return list(self._jobs.objects.values())

    @property
    def workloads(self) -> list[Workload]:
        return list(self._workloads.objects.values())

    def outcomes(self) -> Counter[str]:
        """How many are where: ``ran``, ``ended``, ``waits``; anything else is named by its oddity."""
        jobs = {job.uid: job for job in self.jobs}
        counts: Counter[str] = Counter()
        for workload in self.workloads:
            job = jobs.get(workload.controller.uid) if workload.controller else None
            if job is None:
                counts["without a job"] += 1
                continue
            mirrored = job.annotation(api.ADMISSION_OUTCOME_OF) is not None
            if not workload.active:
                marked = workload.annotation(api.COMMITTED) is not None
                counts["ended" if marked and mirrored else "ended, not told"] += 1
            elif job.status is not None and job.status.is_true("Complete"):
                counts["ran, told otherwise" if mirrored else "ran"] += 1
            else:
                counts["waits"] += 1
        return counts


async def set_quota(cluster: Cluster, queues: Queues, gpus: int) -> None:
    quota: dict[str, str | int] = {"cpu": 1000, "memory": "1000Gi", builders.GPU: gpus}
    await cluster.applier.apply([builders.cluster_queue(queues.cluster_queue, {queues.flavor: quota})])


async def line_up(cluster: Cluster, crowd: Crowd, jobs: Iterable[Document], count: int, *, shown: bool) -> None:
    """Submit into a queue without quota, until all wait there, with their deadlines ``shown``."""
    before = len(crowd.workloads)
    await submit_all(cluster, jobs)

    async def waiting() -> bool:
        there = len(crowd.workloads) - before
        assert there == count, f"{there} Workloads of {count}"
        silent = there - sum(w.annotation(api.ADMISSION_DEADLINE) is not None for w in crowd.workloads)
        assert silent == (0 if shown else count), f"{silent} show no deadline"
        return True

    await eventually(waiting, 120)


@pytest_asyncio.fixture(loop_scope="session")
async def room(cluster: Cluster, queues: Queues) -> AsyncIterator[Queues]:
    """Nodes for all of them at once."""
    await add_nodes(cluster, queues, 4, gpus=125)
    yield queues
    await remove_nodes(cluster, queues)


@pytest_asyncio.fixture(loop_scope="session")
async def eager(muster: Muster) -> AsyncIterator[Muster]:
    """A controller without notice and without a rate: deadlines are enforced as soon as they have been shown."""
    arguments = {"--notice": "1ms", "--rate": "0", "--workers": "64", **PATIENT}
    await muster.node.override(CONTROLLER, Override(arguments=arguments))
    await muster.node.wait_ready(CONTROLLER)
    yield muster
    await muster.node.override(CONTROLLER, None)
    await muster.node.wait_ready(CONTROLLER)


@pytest.mark.timeout(300)
async def test_each_race_has_one_winner(cluster: Cluster, eager: Muster, room: Queues) -> None:
    """All wait; when the first are ended there is quota for all, while the others fall due. The last have time."""
    await set_quota(cluster, room, 0)
    async with Crowd(cluster, room).followed() as crowd:
        began = time.monotonic()
        await line_up(cluster, crowd, (gang_of(COUNT + n, room, None) for n in range(PILOT)), PILOT, shown=False)
        # Long enough, at the speed just seen, for all to wait before the first deadline.
        start = now() + 2 * int(1000 * (time.monotonic() - began)) * COUNT // PILOT + 5 * SECOND

        def racers() -> Iterator[Document]:
            for number in range(COUNT):
                place = number * 7 % COUNT
                more = SPREAD * place // COUNT if place < COUNT - LEAST else MUCH_LATER
                yield gang_of(number, room, max(50, start - now() + more))

        await line_up(cluster, crowd, racers(), COUNT, shown=True)

        async def first_ended() -> bool:
            ended = sum(not workload.active for workload in crowd.workloads)
            assert ended >= LEAST, f"{ended} are ended"
            return True

        await eventually(first_ended, 120, poll=0.005)
        await set_quota(cluster, room, COUNT + PILOT)

        async def over() -> Counter[str]:
            counts = crowd.outcomes()
            assert counts["ran"] + counts["ended"] == COUNT + PILOT, counts
            return counts

        counts = await eventually(over, 180)
    (controller,) = eager.controllers
    figures = await view.metrics(controller)
    conflicts = figures["muster_commit_conflicts_total"]
    print(f"{dict(counts)}, {conflicts:g} conflicts")
    assert counts["ended"] >= LEAST, counts
    assert counts["ran"] - PILOT >= LEAST, counts
    assert figures["muster_fence_breaches_total"] == 0


@pytest.mark.timeout(300)
async def test_without_the_fence_nothing_is_ended_and_with_it_again_everything_due(own_cluster: Cluster) -> None:
    """The binding is deleted before the first Job: overdue gangs are reported by metric, log and status, not ended."""
    queues = Queues(namespace="storm", local_queue="queue", cluster_queue="storm", flavor="storm")
    quota: dict[str, str | int] = {"cpu": 1000, "memory": "1000Gi", builders.GPU: 1000}
    lease = {"leaseDuration": PATIENT["--lease-duration"], "renewDeadline": PATIENT["--renew-deadline"]}
    async with Muster(own_cluster, {"controller": {"leaderElection": lease}}) as muster:
        path = api.ADMISSION_POLICY_BINDINGS.path(None, FENCE)
        await own_cluster.admin.request("DELETE", path)
        await own_cluster.applier.apply(
            [
                builders.namespace(queues.namespace),
                builders.flavor(queues.flavor, queues.node_labels),
                builders.cluster_queue(queues.cluster_queue, {queues.flavor: quota}),
                builders.local_queue(queues),
            ]
        )
        await add_nodes(own_cluster, queues, 1, gpus=100)
        hopeless = [Gang(own_cluster, queues, f"hopeless-{number}") for number in range(LEAST)]
        for gang in hopeless:
            await gang.submit(timeout="2s")
        racing = 2 * LEAST
        await submit_all(own_cluster, [gang_of(number, queues, 50 + 50 * number) for number in range(racing)])
        (controller,) = muster.controllers
        overdue = f'muster_overdue_workloads{{cluster_queue="{queues.cluster_queue}"}}'

        async def reported() -> bool:
            figures = await view.metrics(controller)
            assert figures["muster_fence_in_force"] == 0
            assert figures[overdue] >= LEAST, figures[overdue]
            return True

        await eventually(reported, 60)
        log = controller.process.log.read_text()
        assert "the fence is not in force: deadlines are reported, not enforced" in log
        assert f"ValidatingAdmissionPolicyBinding {FENCE} does not exist" in log
        status = await muster_status(own_cluster, hopeless[0])
        assert f"not enforced: the fence {FENCE} is not in force" in status, status

        async with Crowd(own_cluster, queues).followed() as crowd:

            async def are(**wanted: int) -> bool:
                assert crowd.outcomes() == wanted, crowd.outcomes()
                return True

            await eventually(lambda: are(ran=racing, waits=LEAST), 90)
            await muster.apply()
            await eventually(lambda: are(ran=racing, ended=LEAST), 90)
        assert (await view.metrics(controller))["muster_fence_in_force"] == 1


async def muster_status(cluster: Cluster, gang: Gang) -> str:
    process = await asyncio.create_subprocess_exec(
        Path(sys.executable).with_name("muster"),
        *("status", f"job/{gang.name}", "-n", gang.queues.namespace, "--kubeconfig", str(cluster.kubeconfig)),
        stdout=asyncio.subprocess.PIPE,
    )
    output, _ = await process.communicate()
    return output.decode()
