"""Inspect: one object of any kind, by name."""

from typing import Any

import pytest

from classifier import api
from classifier.cluster.backend import READS, Backend
from classifier.cluster.client import ApiError, Client, ClientError
from classifier.cluster.snapshot import TYPES
from classifier.state import Explanation, State
from tests.apiserver import ApiServer, answer
from tests.unit.backend.conftest import KUEUE, about, asked, happening, path, put, refuse, remove
from tests.unit.state.builders import JS, NAMESPACE, TJ, WL, child_job, node, pod, ready

GROUP = "kueue.x-k8s.io/pod-group-name"


def ref(found: Explanation | None) -> tuple[str, str] | None:
    return (found.observation.ref.kind, found.observation.ref.name) if found else None


async def test_a_job_is_explained_by_what_is_its_own(server: ApiServer, kueue: Backend) -> None:
    other = pod("other").of_jobset("train-4", "js-4").dispatch_labels(job_id="train", submission="4")
    put(server, TJ(), JS(), WL().admitted(), pod("p0"), other)
    put(server, node("n1", "Ready=False/KubeletNotReady: no"), TJ(name="train-4"))
    found = await kueue.inspect(api.TRAIN_JOBS, "train-3")
    assert found is not None
    assert found.observation.state is State.RUNNING
    assert found.observation.cause.detail == "pod p0: node n1 Ready=False: KubeletNotReady: no"
    # The job first and last, by name; its children by name or label; never all of anything else.
    assert [call.path for call in server.calls if about(api.TRAIN_JOBS)(call)] == [path(api.TRAIN_JOBS, "train-3")] * 2
    assert server.calls[0].path == server.calls[-1].path
    assert asked(server, api.JOBSETS) == ["train-3"]
    assert asked(server, api.JOBS) == ["jobset.sigs.k8s.io/jobset-name=train-3"]
    assert asked(server, api.WORKLOADS) == [f"{api.JOB_UID}=tj-1"]
    assert asked(server, api.NODES) == ["n1"]
    assert sorted(asked(server, api.PODS)) == [
        "dispatch.phpboyscout.uk/job-id=train,dispatch.phpboyscout.uk/submission=3",
        "jobset.sigs.k8s.io/jobset-name=train-3",
    ]


async def test_an_object_that_is_not_there_is_none(kueue: Backend) -> None:
    for resource in (api.TRAIN_JOBS, api.JOBS, api.PODS, api.WORKLOADS):
        assert await kueue.inspect(resource, "none") is None


@pytest.mark.parametrize("resource", [api.RAY_JOBS, api.WORKLOADS, api.TRAIN_JOBS], ids=lambda r: r.plural)
async def test_a_kind_the_cluster_does_not_serve_is_no_missing_object(
    server: ApiServer, kueue: Backend, resource: api.Resource
) -> None:
    refuse(server, {resource: answer(404, "", "404 page not found")})
    serves_no = f"{server.url} serves no {resource.plural}.{resource.group} of version {resource.version}"
    with pytest.raises(ClientError, match=f"{serves_no}, so there is no {resource.kind} in it"):
        await kueue.inspect(resource, "none")


async def test_a_raycluster_that_may_not_be_read_is_asked_for(server: ApiServer, plain: Backend) -> None:
    rayjob = {"metadata": {"name": "r", "namespace": NAMESPACE}, "status": {"rayClusterName": "c"}}
    server.put(path(api.RAY_JOBS, "r"), rayjob)
    refuse(server, {api.RAY_CLUSTERS: answer(403, "Forbidden", "no")})
    with pytest.raises(ClientError, match="rayclusters may not be read in namespace ns"):
        await plain.inspect(api.RAY_JOBS, "r")


ODD = ["../../../../api/v1/namespaces/kube-system/secrets/s", "..", "x?watch=1", "x/status", "x#y", "x%2Fy", "x y"]


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("where", ["asked for", "owner", "group", "node", "child", "namespace"])
async def test_what_is_no_name_becomes_no_part_of_a_path(
    server: ApiServer, client: Client, kueue: Backend, where: str, odd: str
) -> None:
    """Anybody can write anything into owner references, annotations and status."""
    put(server, JS(), TJ())
    match where:
        case "asked for":
            assert await kueue.inspect(api.JOBS, odd) is None
        case "namespace":
            await Backend(client, odd, KUEUE).find("train")
        case "owner":
            put(server, WL(name="w").owner("tj-1", name=odd))
            with pytest.raises(ClientError, match="is gone"):
                await kueue.inspect(api.WORKLOADS, "w")
        case "group":
            put(server, pod("p0").annotate(GROUP, odd).label("kueue.x-k8s.io/managed", "true"))
            assert await kueue.inspect(api.PODS, "p0") is not None
        case "node":
            put(server, pod("p0", odd))
            await kueue.inspect(api.PODS, "p0")
        case "child":
            rayjob = {"metadata": {"name": "r", "namespace": NAMESPACE}, "status": {"rayClusterName": odd}}
            server.put(path(api.RAY_JOBS, "r"), rayjob)
            assert await kueue.inspect(api.RAY_JOBS, "r") is not None
    known = [path(resource) for resource in TYPES]
    for call in server.calls:
        collection, _, name = call.path.rpartition("/")
        assert call.path in known or (collection in known and name in {"w", "p0", "r", "n1"}), call.path
        assert not call.watch


async def test_a_job_that_may_not_be_read_is_an_error(server: ApiServer, kueue: Backend) -> None:
    refuse(server, {api.JOBS: answer(403, "Forbidden", "jobs is forbidden")})
    with pytest.raises(ApiError, match="jobs is forbidden"):
        await kueue.inspect(api.JOBS, "train")


async def test_a_workload_stands_for_its_job(server: ApiServer, kueue: Backend) -> None:
    put(server, TJ(), JS(), WL().admitted(), ready("n1"))
    found = await kueue.inspect(api.WORKLOADS, "trainjob-train-3-ab12c")
    named = await kueue.inspect(api.TRAIN_JOBS, "train-3")
    assert ref(found) == ("TrainJob", "train-3")
    assert found is not None
    assert named is not None
    assert found.observation.same(named.observation)


async def test_a_workload_without_a_label_still_decides_where_it_is_named(server: ApiServer, kueue: Backend) -> None:
    put(server, TJ(), JS(), WL().admitted().metadata(labels={}))
    found = await kueue.inspect(api.WORKLOADS, "trainjob-train-3-ab12c")
    assert found is not None
    assert found.observation.state is State.RUNNING


@pytest.mark.parametrize(
    ("workload", "why"),
    [
        pytest.param(WL(name="w").owner(None), "has no job for an owner", id="of nobody"),
        pytest.param(
            WL(name="w").owner("u", "Deployment", "web", "apps/v1"), "Deployment web, a kind", id="of no kind"
        ),
        pytest.param(WL(name="w").owner("tj-0"), "TrainJob train-3, which is gone", id="of a namesake"),
    ],
)
async def test_a_workload_that_leads_nowhere_says_why(
    server: ApiServer, kueue: Backend, workload: Any, why: str
) -> None:
    put(server, TJ(), workload)
    with pytest.raises(ClientError, match=why):
        await kueue.inspect(api.WORKLOADS, "w")


async def test_a_pod_alone_is_its_own_job(server: ApiServer, kueue: Backend) -> None:
    put(server, pod("p0").failed().exit(3), pod("p1"))
    assert ref(await kueue.inspect(api.PODS, "p0")) == ("Pod", "p0")
    assert asked(server, api.PODS) == ["p0", "p0"]


@pytest.mark.parametrize("selector", [f"{GROUP}=gang", "kueue.x-k8s.io/managed=true"], ids=["label", "annotation"])
async def test_a_pod_of_a_group_stands_for_the_group(server: ApiServer, kueue: Backend, selector: str) -> None:
    """Long names of groups stand in an annotation, by which nothing can be selected."""
    members = [pod(name).label("kueue.x-k8s.io/managed", "true") for name in ("a", "b")]
    for member in members:
        (member.label if GROUP in selector else member.annotate)(GROUP, "gang")
    workload = WL("Evicted=True/Preempted: no", name="gang").owner(None).metadata(labels={})
    put(server, *members, pod("other"), workload)
    found = await kueue.inspect(api.PODS, "b")
    assert found is not None
    assert (found.observation.ref.kind, found.workload) == ("PodGroup", "gang")
    assert asked(server, api.PODS) == ["b", selector] * 2
    assert asked(server, api.WORKLOADS) == ["gang"]


async def test_the_workload_of_a_group_stands_for_the_group(server: ApiServer, kueue: Backend) -> None:
    put(server, pod("a").label(GROUP, "gang"), WL(name="gang").owner(None).metadata(labels={}))
    found = await kueue.inspect(api.WORKLOADS, "gang")
    assert found is not None
    assert found.observation.ref.kind == "PodGroup"


async def test_a_job_that_moves_is_read_again(server: ApiServer, kueue: Backend) -> None:
    put(server, TJ(), JS())
    happening(server, api.PODS, lambda: put(server, pod("p0").failed().exit(3), TJ("Failed=True/FailedJobs: no")))
    found = await kueue.inspect(api.TRAIN_JOBS, "train-3")
    assert found is not None
    assert found.observation.cause.detail == "pod p0: exit code 3"
    assert len(asked(server, api.TRAIN_JOBS)) == 4


async def test_a_job_that_never_rests_is_told_as_it_was_last(server: ApiServer, kueue: Backend) -> None:
    put(server, TJ(), JS())
    turn = iter(range(100))
    happening(server, api.JOBSETS, lambda: put(server, TJ(f"Failed=True/Other: {next(turn)}")), times=100)
    found = await kueue.inspect(api.TRAIN_JOBS, "train-3")
    assert found is not None
    assert found.observation.cause.detail == f"Other: {READS - 1}"
    assert kueue.notes == ["train-3 kept changing while it was read: its parts may disagree"]


async def test_nodes_are_asked_for_though_a_job_begins_to_run_at_the_last_moment(
    server: ApiServer, plain: Backend
) -> None:
    put(server, TJ().suspend(), JS(), pod("p0"), ready("n1"))
    turn = iter(range(1, 100))

    def moves() -> None:
        put(server, TJ() if next(turn) == READS else TJ().suspend())

    happening(server, api.JOBS, moves, times=100)
    found = await plain.inspect(api.TRAIN_JOBS, "train-3")
    assert found is not None
    assert (found.observation.state, found.observation.cause.kind) == ("running", "none")
    assert asked(server, api.NODES) == ["n1"]


async def test_a_job_that_goes_at_the_last_moment_is_none(server: ApiServer, plain: Backend) -> None:
    put(server, TJ(), JS())
    turn = iter(range(1, 100))

    def moves() -> None:
        if next(turn) == READS:
            remove(server, api.TRAIN_JOBS, "train-3")
        else:
            put(server, TJ())

    happening(server, api.JOBSETS, moves, times=READS)
    assert await plain.inspect(api.TRAIN_JOBS, "train-3") is None
    assert plain.notes == []


async def test_a_job_that_goes_while_it_is_read_is_none(server: ApiServer, kueue: Backend) -> None:
    put(server, TJ(), JS())
    happening(server, api.PODS, lambda: remove(server, api.TRAIN_JOBS, "train-3"))
    assert await kueue.inspect(api.TRAIN_JOBS, "train-3") is None


async def test_a_jobset_and_a_job_are_jobs_of_their_own(server: ApiServer, plain: Backend) -> None:
    put(server, JS(), child_job(), pod("p0"), ready("n1"))
    assert ref(await plain.inspect(api.JOBSETS, "train-3")) == ("JobSet", "train-3")
    assert ref(await plain.inspect(api.JOBS, "train-3-node-0")) == ("Job", "train-3-node-0")


async def test_what_may_not_be_read_is_noted_of_the_last_read_only(server: ApiServer, kueue: Backend) -> None:
    put(server, TJ(), JS())
    refuse(server, {api.PODS: answer(403, "Forbidden", "no")})
    await kueue.inspect(api.TRAIN_JOBS, "train-3")
    assert len(kueue.notes) == 1
    server.fault = None
    await kueue.inspect(api.TRAIN_JOBS, "train-3")
    assert kueue.notes == []
