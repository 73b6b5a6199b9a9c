"""``make demo``: the first gang job, end to end, on a real control plane.

Four acts over an empty pool of at most 2 nodes x 8 GPU: a gang that fits waits for its nodes and runs; one that never
can is refused at submit; one whose capacity never comes is ended at its deadline; an audit sums up. Everything said is
checked against the cluster, and the exit status is 1 when anything differs from what was announced.
"""

import argparse
import asyncio
import contextlib
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from classifier import api
from classifier.cluster.client import ApiError
from classifier.objects import Node
from e2e import builders, view
from e2e.autoscaler import ATOMIC, Autoscaler, NodeGroup, Settings
from e2e.builders import GPU, Queues
from e2e.controlplane.build import BuildError
from e2e.controlplane.chart import Muster
from e2e.controlplane.cluster import Cluster
from e2e.controlplane.processes import ProgramFailed
from e2e.story import Story
from e2e.wait import eventually

QUEUES: Final = Queues(namespace="team-a", local_queue="training", cluster_queue="gpu-a100", flavor="a100-scale")
POOL: Final = "gpupool"
NODE: Final = {"cpu": "94", "memory": "860Gi", GPU: "8", "pods": "110"}
LABELS: Final = {"agentpool": POOL}
DENIAL: Final = (
    "preflight: gang needs 3 node(s) of gpupool (max 2): cannot fit; "
    "request at most 16 nvidia.com/gpu or raise the pool's maximum"
)
TIMED_OUT: Final = 'muster_timed_out_workloads{cluster_queue="gpu-a100"}'
#: The alert MusterGangsTimedOut fires above this.
THRESHOLD: Final = 0
#: How long a node takes to come: long enough to see the gang wait.
START_DELAY: Final = 3.0

ACTS: Final = ("1", "2", "3", "4")


class Differs(Exception):
    """Something is not as announced."""


def require(holds: bool, what: str) -> None:
    if not holds:
        raise Differs(what)


@dataclass
class Stage:
    """What the acts play on. ``sabotage`` is the act to be broken on purpose."""

    cluster: Cluster
    muster: Muster
    autoscaler: Autoscaler
    story: Story
    sabotage: str | None
    began: float

    def say(self, text: str = "") -> None:
        for line in text.split("\n"):
            print(f"[{time.monotonic() - self.began:5.1f}s] {line}" if line else "", flush=True)

    async def command(self, *arguments: str) -> tuple[int, str]:
        """Run ``muster`` as a person would, showing each line as it comes; exit status and output."""
        self.say(f"$ muster {' '.join(arguments)}")
        program = Path(sys.executable).with_name("muster")
        process = await asyncio.create_subprocess_exec(
            program,
            *arguments,
            env={**os.environ, "KUBECONFIG": str(self.cluster.kubeconfig), "NO_COLOR": "1", "PYTHONUNBUFFERED": "1"},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        assert process.stdout is not None
        output = []
        try:
            async for line in process.stdout:
                text = line.decode().rstrip("\n")
                output.append(text)
                self.say(text)
            return await process.wait(), "\n".join(output)
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()

    async def submit(self, name: str, pods: int, *, timeout: str | None = None) -> None:
        """A gang of ``pods`` x 8 GPU, with its own request for a deadline where it has one."""
        annotations = {api.ADMISSION_TIMEOUT: timeout} if timeout else None
        job = builders.job(name, QUEUES, pods=pods, requests={GPU: 8}, annotations=annotations, run_for="3s")
        await self.cluster.applier.apply([job])


async def act_1(stage: Stage) -> None:
    """A gang of 2 x 8 GPU fits after scale-up: it waits for both nodes, starts whole, and the pool empties again."""
    story = stage.story
    if stage.sabotage == "1":
        stage.autoscaler.faults.no_capacity = True
    await stage.submit("train", 2, timeout="20s" if stage.sabotage == "1" else "10m")
    status, output = await stage.command("status", "job/train", "-n", QUEUES.namespace, "-w")
    require(status == 0, f"muster status -w ended with {status} instead of 0: the gang did not succeed")
    require("gang needs 2 node(s) of gpupool (max 2): fits" in output, "the status does not show the verdict")
    require(len(story.ready) == 2, f"{len(story.ready)} nodes became ready instead of 2")
    unsuspended = story.unsuspended.get("train", 0)
    require(unsuspended > max(story.ready.values()), "the Job was unsuspended before both nodes were ready")
    require(len(story.made) == 2, f"{len(story.made)} pods were made instead of 2")
    require(min(story.made.values()) > unsuspended, "a pod was made before the Job was unsuspended")
    stamped = view.annotations(await view.read(stage.cluster.admin, api.JOBS, QUEUES.namespace, "train"))
    wanted = "fits-after-scale-up: gang needs 2 node(s) of gpupool (max 2)"
    require(stamped.get(api.PREFLIGHT) == wanted, f"the Job was stamped {stamped.get(api.PREFLIGHT)!r}")
    stage.say("waiting for the pool to go back to 0 nodes")
    await story.until("the pool is empty again", lambda: not story.pool())
    stage.say(f"node pool {POOL}: 0 nodes")


async def act_2(stage: Stage) -> None:
    """A gang of 3 x 8 GPU can never run here: the API server refuses it, with the reason."""
    stage.say("$ kubectl create -f too-large.yaml")
    try:
        await stage.submit("too-large", 2 if stage.sabotage == "2" else 3)
    except ApiError as error:
        stage.say(f"Error from server ({error.reason}): {error.message}")
        wanted = f'admission webhook "vjob.muster.dev" denied the request: {DENIAL}'
        require(error.message == wanted, f"the refusal reads otherwise: {error.message}")
        return
    raise Differs("the API server accepted a gang that can never run")


async def act_3(stage: Stage) -> None:
    """A gang whose capacity never comes is ended at its deadline, and its job says so."""
    if stage.sabotage != "3":
        stage.autoscaler.faults.no_capacity = True
    await stage.submit("unlucky", 2, timeout="8s")
    status, output = await stage.command("status", "job/unlucky", "-n", QUEUES.namespace, "-w")
    require(status == 6, f"muster status -w ended with {status} instead of 6 (admission timed out)")
    require("admission timed out at" in output, "the status does not say that the admission timed out")

    async def mirrored() -> bool:
        job = await view.read(stage.cluster.admin, api.JOBS, QUEUES.namespace, "unlucky")
        return view.annotations(job).get(api.ADMISSION_OUTCOME) == api.OUTCOME_TIMED_OUT

    await eventually(mirrored, what="the Job says that its wait was ended")
    job = await view.read(stage.cluster.admin, api.JOBS, QUEUES.namespace, "unlucky")
    workload = await view.workload_of(stage.cluster.admin, job)
    require(workload is not None and workload["spec"].get("active") is False, "its Workload is still active")
    require(not await view.pods_of(stage.cluster.admin, QUEUES.namespace, "unlucky"), "it had pods")
    (controller,) = stage.muster.controllers

    async def counted() -> float:
        return (await view.metrics(controller)).get(TIMED_OUT, 0)

    value = await eventually(counted, what="the metric of the alert rises")
    stage.say(f"{TIMED_OUT} {value:g}    # MusterGangsTimedOut fires above {THRESHOLD}")
    require(value > THRESHOLD, "the metric of the alert is not above its threshold")


async def act_4(stage: Stage) -> None:
    """An audit sums up: the gang whose wait was ended, why, and what to do about it."""
    if stage.sabotage == "4":
        await stage.cluster.admin.request("DELETE", api.JOBS.path(QUEUES.namespace, "unlucky"))
    status, output = await stage.command("audit", "-A")
    require(status == 3, f"muster audit ended with {status} instead of 3 (it found something)")
    require("Job/unlucky" in output, "the audit does not name the gang whose wait was ended")
    require("Job/train" not in output, "the audit names a gang that has succeeded")


PLAY: Final = dict(zip(ACTS, (act_1, act_2, act_3, act_4), strict=True))


def objects() -> list[builders.Document]:
    profile = builders.profile(
        "gpu-a100-8",
        QUEUES.flavor,
        [{"name": POOL, "nodeLabels": LABELS, "maxNodes": 2, "node": {"allocatable": NODE}}],
        clusterQueues=[QUEUES.cluster_queue],
        closed=True,
        preflight="Enforce",
        admission={"timeout": "30m", "maxTimeout": "4h"},
        provisioning={"admissionCheck": "capacity", "config": "capacity", "className": ATOMIC},
    )
    quota: dict[str, str | int] = {"cpu": 1000, "memory": "10Ti", GPU: 64}
    return [
        builders.namespace(QUEUES.namespace),
        builders.flavor(QUEUES.flavor, LABELS),
        *builders.provisioning("capacity", class_name=ATOMIC),
        builders.cluster_queue(QUEUES.cluster_queue, {QUEUES.flavor: quota}, checks=["capacity"]),
        builders.local_queue(QUEUES),
        profile,
    ]


@contextlib.asynccontextmanager
async def stage_on(cluster: Cluster, muster: Muster, sabotage: str | None, began: float) -> AsyncIterator[Stage]:
    """Kueue's objects, a profile and an autoscaler over an empty pool."""
    group = NodeGroup(POOL, LABELS, NODE, max_nodes=2)
    settings = Settings(start_delay=START_DELAY, unneeded_time=2.0, provision_when_ready=True)

    def ours(node: Node) -> bool:
        return node.label("agentpool") == POOL

    await cluster.applier.apply(objects())

    async def served() -> bool:
        profile = await view.read(cluster.admin, api.CAPACITY_PROFILES, None, "gpu-a100-8")
        return view.is_true(profile, api.PROFILE_READY) and view.is_true(profile, api.PROVISIONING_READY)

    await eventually(served, what="the profile is ready")
    async with (
        Autoscaler(cluster.admin, [group], settings, namespace=QUEUES.namespace) as autoscaler,
        Story(cluster.admin, QUEUES.namespace, ours).told() as story,
    ):
        yield Stage(cluster, muster, autoscaler, story, sabotage, began)


async def play(stage: Stage, acts: Sequence[str] = ACTS) -> int:
    """Act by act, until one differs from what it announces; the exit status."""
    status = 0
    for number in acts:
        act = PLAY[number]
        stage.say(f"\nAct {number}. {act.__doc__}\n")
        try:
            await act(stage)
        except (Differs, AssertionError, ApiError) as error:
            stage.say(f"✗ act {number}: {error}")
            status = 1
            break
        stage.say(f"✓ act {number}: as announced")
    stage.say()
    stage.say("all four acts went as announced" if status == 0 else "the demo differs from what it announced")
    return status


async def perform(folder: Path, sabotage: str | None, keep: bool) -> int:
    """All acts, on a control plane with Muster; the exit status."""
    began = time.monotonic()
    async with (
        Cluster(folder) as cluster,
        Muster(cluster) as muster,
        stage_on(cluster, muster, sabotage, began) as stage,
    ):
        status = await play(stage)
        if keep:
            stage.say(f"the cluster stays up until Ctrl-C:\n  export KUBECONFIG={stage.cluster.kubeconfig}")
            await asyncio.Event().wait()
    return status


def parser() -> argparse.ArgumentParser:
    out = argparse.ArgumentParser(prog="python -m e2e.demo", description=__doc__.split("\n")[0])
    out.add_argument("--keep", action="store_true", help="leave the cluster up, and show its kubeconfig, until Ctrl-C")
    out.add_argument("--sabotage", choices=ACTS, help="break this act on purpose, to see that the demo notices")
    return out


def main(argv: Sequence[str] | None = None) -> int:
    arguments = parser().parse_args(argv)
    # SIGTERM ends it as Ctrl-C does: everything it started is stopped.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    folder = Path(tempfile.mkdtemp(prefix="muster-demo-"))
    try:
        status = asyncio.run(perform(folder, arguments.sabotage, arguments.keep))
    except KeyboardInterrupt:
        status = 130
    except (BuildError, ProgramFailed) as error:
        print(f"error: {error}", file=sys.stderr)
        print(f"the logs are in {folder}", file=sys.stderr)
        return 1
    shutil.rmtree(folder, ignore_errors=True)
    return status


if __name__ == "__main__":
    sys.exit(main())
