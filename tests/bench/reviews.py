"""Reviews for a CPU-second, full preflight of a real Job: beside a bare echo, and beside Kueue's own webhook.

All three are asked the same reviews over TLS, in turn, on one machine, on connections that stay open; no two reviews of
a round are of one Job but the two phases. What counts is the CPU time of each whole process, so each pays for its own
collector and for what it does besides: Kueue for its controllers, which have nothing to do, on all cores (its defaults
of GOGC and GOMAXPROCS); Muster for its watches. Kueue decodes the whole Job, defaults and validates it; it judges no
capacity. The echo has no certificate to watch and nothing to know.
"""

import asyncio
import statistics
import sys
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from classifier import api
from e2e import builders
from e2e.builders import GPU, Queues
from e2e.controlplane.chart import Muster
from e2e.controlplane.cluster import Cluster
from e2e.controlplane.processes import Process
from e2e.wait import eventually
from tests.bench import Figure, Say
from tests.bench.load import Target

QUEUES: Final = Queues("team", "queue", "bench", "bench")
#: Different Jobs in a round, each reviewed twice.
JOBS: Final = 1000
ROUNDS: Final = 5
#: CPU time of one review, at most: design §7 says how many reviews at least.
ECHO_BAR: Final = 1 / 0.5
KUEUE_BAR: Final = 1 / 2
ECHO_PORT: Final = 8499

Json = dict[str, Any]


def run(say: Say) -> Iterator[Figure]:
    yield from asyncio.run(_measure(say))


async def _measure(say: Say) -> list[Figure]:
    values = {"webhook": {"replicas": 1, "logLevel": "info"}, "controller": {"replicas": 0}}
    async with Cluster(say=say) as cluster, Muster(cluster, values) as muster:
        template = await _policy(cluster)
        rounds = [[_review(template, index, turn) for index in range(JOBS)] for turn in range(ROUNDS + 1)]
        say(f"  a review has {len(rounds[0][0]):,} bytes")
        echo = _echo(cluster)
        echo.start()
        try:
            targets = [
                _ours(muster),
                Target("a bare echo", echo.pid, f"{cluster.context.subnet.address}:{ECHO_PORT}", ["/mutate"] * 2),
                await _kueue(cluster),
            ]
            for turn, bodies in enumerate(rounds):
                for target in targets:
                    await target.round(bodies)
                    say(f"    {target.name}: {target.rounds[-1]:.0f} us of CPU a review")
                    if turn == 0:
                        target.rounds.clear()
        finally:
            await echo.stop()
    _check(targets[0].answers)
    ours, bare, kueue = (statistics.median(target.rounds) for target in targets)
    return [
        Figure("a review of a Job, mutating and validating: CPU", ours, "us"),
        Figure("a review of a Job: CPU", ours / bare, "", "a bare echo", most=ECHO_BAR),
        Figure("a review of a Job: CPU", ours / kueue, "", "Kueue's own", most=KUEUE_BAR),
    ]


def _echo(cluster: Cluster) -> Process:
    context = cluster.context
    chain = context.file("echo.pem", b"".join(context.authority.server(["echo"])))
    arguments = [sys.executable, "-m", "tests.bench.echo", context.subnet.address, str(ECHO_PORT), str(chain)]
    return Process("echo", arguments, log=context.logs / "echo.log")


def _ours(muster: Muster) -> Target:
    (pod,) = muster.webhooks
    return Target("muster", pod.process.pid, f"{pod.address}:{pod.port('https')}", ["/mutate", "/validate"])


async def _kueue(cluster: Cluster) -> Target:
    """Where and by which paths its configurations say that it reviews Jobs; its Service leads to one process."""
    paths = []
    for resource in (api.MUTATING_WEBHOOKS, api.VALIDATING_WEBHOOKS):
        for found in msgspec.json.decode(await cluster.admin.request("GET", resource.path()))["items"]:
            paths += [
                hook["clientConfig"]["service"]["path"]
                for hook in found["webhooks"]
                if hook["clientConfig"]["service"]["name"] == "kueue-webhook-service"
                and any("jobs" in rule["resources"] and "batch" in rule["apiGroups"] for rule in hook["rules"])
            ]
    config = msgspec.json.decode(
        await cluster.admin.request("GET", "/api/v1/namespaces/kueue-system/configmaps/kueue-manager-config")
    )
    webhook = msgspec.yaml.decode(config["data"]["controller_manager_config.yaml"])["webhook"]
    return Target("kueue", cluster.processes["kueue"].pid, f"{webhook['host']}:{webhook['port']}", paths)


async def _policy(cluster: Cluster) -> Json:
    """A queue under an enforced profile; a Job of it as the API server has it."""
    quota: dict[str, str | int] = {"cpu": 100_000, "memory": "1000Ti", GPU: 100_000}
    pool = builders.pool("gpupool", QUEUES, max_nodes=1000, allocatable={GPU: 8})
    await cluster.applier.apply(
        [
            builders.namespace(QUEUES.namespace),
            builders.flavor(QUEUES.flavor, QUEUES.node_labels),
            builders.cluster_queue(QUEUES.cluster_queue, {QUEUES.flavor: quota}),
            builders.local_queue(QUEUES),
            builders.profile(
                "bench", QUEUES.flavor, [pool], closed=True, preflight="Enforce", admission={"timeout": "30m"}
            ),
        ]
    )

    async def stamped() -> Json:
        path, job = api.JOBS.path(QUEUES.namespace), _job()
        answer = await cluster.admin.request("POST", path, params={"dryRun": "All"}, body=job)
        found: Json = msgspec.json.decode(answer)
        assert api.CAPACITY_PROFILE in found["metadata"]["annotations"]
        return found

    found = await eventually(stamped)
    # As the first webhook sees it: nobody has stamped it yet.
    found["metadata"]["annotations"] = {
        key: value for key, value in found["metadata"]["annotations"].items() if not key.startswith(api.PREFIX)
    }
    return found


def _job() -> Json:
    """As large as people's are: environment, volumes, a command."""
    job = builders.job("train", QUEUES, requests={GPU: 8, "cpu": 90, "memory": "800Gi"}, annotations={"team": "ml"})
    spec = job["spec"]["template"]["spec"]
    spec["containers"][0] |= {
        "command": ["torchrun", "--nnodes=64", "train.py"],
        "env": [{"name": f"SETTING_{n}", "value": f"value-{n}" * 4} for n in range(20)],
        "volumeMounts": [{"name": f"v{n}", "mountPath": f"/data/{n}"} for n in range(4)],
    }
    spec["volumes"] = [{"name": f"v{n}", "emptyDir": {}} for n in range(4)]
    return job


def _review(template: Json, index: int, turn: int) -> bytes:
    """Of one Job of many: another name, another environment, other counts; none was ever judged before."""
    job: Json = msgspec.json.decode(msgspec.json.encode(template))
    job["metadata"]["name"] = f"train-{index}"
    job["spec"]["parallelism"] = job["spec"]["completions"] = 1 + (7 * index + 13 * turn) % 997
    container = job["spec"]["template"]["spec"]["containers"][0]
    container["env"][0]["value"] = f"run-{turn}-{index}"
    container["resources"] = {
        kind: {GPU: str(1 + index % 8), "cpu": str(1 + index % 90)} for kind in ("requests", "limits")
    }
    kind = {"group": "batch", "version": "v1", "kind": "Job"}
    resource = {"group": "batch", "version": "v1", "resource": "jobs"}
    groups = ["system:masters", "system:authenticated"]
    request = {
        "uid": f"00000000-0000-4000-8000-{index:012d}",
        "kind": kind,
        "resource": resource,
        "requestKind": kind,
        "requestResource": resource,
        "name": job["metadata"]["name"],
        "namespace": QUEUES.namespace,
        "operation": "CREATE",
        "userInfo": {"username": "alice", "uid": "alice", "groups": groups},
        "object": job,
        "oldObject": None,
        "dryRun": False,
        "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
    }
    return msgspec.json.encode({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request})


def _check(answers: list[bytes]) -> None:
    """Each Job was judged: half of the answers stamp what the other half let in."""
    responses = [msgspec.json.decode(answer)["response"] for answer in answers]
    if not all(each["allowed"] for each in responses):
        raise AssertionError("a Job that fits was refused")
    if sum("patch" in each for each in responses) * 2 != len(responses):
        raise AssertionError("a Job was not judged")
