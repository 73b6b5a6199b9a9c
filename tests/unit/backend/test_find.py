"""Find: what is asked for, what is not, and what comes of it (reference/classification.md §C13, §F32)."""

from typing import Any

import pytest

from classifier import api
from classifier.cluster.backend import READS, Backend
from classifier.cluster.client import ApiError, Client, ClientError
from classifier.state import State
from tests.apiserver import ApiServer, Call, answer, lists
from tests.builders import check
from tests.unit.backend.conftest import about, asked, happening, path, put, refuse, remove, told
from tests.unit.state.builders import JS, NAMESPACE, TJ, WL, child_job, node, pod, ready, runtime

JOB_ID = api.DISPATCH_PREFIX + "job-id=train"
JOBSET_NAME = "jobset.sigs.k8s.io/jobset-name"


async def test_a_running_job_is_found_with_all_that_explains_it(server: ApiServer, kueue: Backend) -> None:
    put(server, TJ(), JS(), WL().admitted(), pod("p0"), node("n1", "Ready=False/KubeletNotReady: no"))
    (found,) = await kueue.find("train")
    assert found.observation.state is State.RUNNING
    assert found.observation.cause.detail == "pod p0: node n1 Ready=False: KubeletNotReady: no"
    assert (found.workload, found.observation.submission) == ("trainjob-train-3-ab12c", 3)
    assert found.observation.seen_at > 0
    assert kueue.notes == []


async def test_only_its_own_is_asked_for(server: ApiServer, kueue: Backend) -> None:
    """Thousands of pods of others are as good as none: no list of pods, Jobs or Workloads is without a selector."""
    put(server, TJ(), JS(), TJ(name="train-4").uid("tj-4"), JS(name="train-2").uid("js-2").owner("tj-2"))
    put(server, TJ(name="other-3").uid("tj-o"), JS(name="other-3").uid("js-o").owner("tj-o"))
    others = [pod(f"other-{n}").of_jobset("other-3", "js-o").dispatch_labels(job_id="other") for n in range(40)]
    put(server, *others, pod("p0"), pod("left").of_jobset("train-2", "js-2").dispatch_labels(job_id="train"))
    assert told(await kueue.find("train")) == [
        ("TrainJob", "train-3", "pending"),
        ("TrainJob", "train-4", "pending"),
        ("JobSet", "train-2", "running"),
        ("Pod", "left", "running"),
    ]
    assert sorted(asked(server, api.PODS)) == [JOB_ID, f"{JOBSET_NAME} in (train-2,train-3,train-4)"]
    assert asked(server, api.JOBS) == [f"{JOBSET_NAME} in (train-3,train-4)"]
    assert asked(server, api.WORKLOADS) == [f"{api.JOB_UID} in (tj-1,tj-4)"]
    # Of these there are few, and orphans need them all. The second time tells whether anything moved.
    assert asked(server, api.TRAIN_JOBS) == asked(server, api.JOBSETS) == ["*", "*"]
    assert asked(server, api.TRAINING_RUNTIMES) == ["*"]
    # Nothing runs: nobody asks for Nodes.
    assert asked(server, api.NODES) == []
    for call in server.calls:
        assert call.query["limit"] == "500"
        assert not {"resourceVersion", "fieldSelector"} & call.query.keys()


async def test_many_submissions_are_asked_for_in_parts(server: ApiServer, plain: Backend) -> None:
    """A URL has a limit."""
    put(server, *(TJ(name=f"train-{n}").uid(f"tj-{n}") for n in range(120)))
    assert len(await plain.find("train")) == 120
    parts = [selector for selector in asked(server, api.PODS) if " in " in selector]
    assert sorted(part.count(",") + 1 for part in parts) == [20, 50, 50]


async def test_lists_of_many_pages_are_read_to_their_end(
    server: ApiServer, plain: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("classifier.cluster.reader.PAGE", 2)
    put(server, TJ("Failed=True/FailedJobs: no"), JS(), *(pod(f"p{n}").failed().exit(n) for n in range(1, 8)))
    (found,) = await plain.find("train")
    assert len(found.evidence) == 7
    assert len([call for call in server.calls if about(api.PODS)(call)]) == 8


async def test_a_terminating_pod_is_evidence_like_any_other(server: ApiServer, plain: Backend) -> None:
    put(server, TJ("Failed=True/FailedJobs: no"), JS(), pod("p0").failed().exit(3).deleting())
    (found,) = await plain.find("train")
    assert found.observation.cause.detail == "pod p0: exit code 3"


async def test_in_plain_mode_nothing_of_kueue_is_read(server: ApiServer, plain: Backend) -> None:
    put(server, TJ(), JS(), pod("p0"), ready("n1"))
    assert told(await plain.find("train")) == [("TrainJob", "train-3", "running")]
    assert not [call for call in server.calls if api.KUEUE_GROUP in call.path]


async def test_capacity_checks_are_read_from_the_cluster(server: ApiServer, kueue: Backend) -> None:
    retry = WL("Evicted=True/AdmissionCheck: no", "QuotaReserved=False/Pending").check("prov", "Retry")
    put(server, TJ().suspend(), retry, check("prov"))
    (found,) = await kueue.find("train")
    assert found.observation.cause.kind == "no-capacity"


async def test_child_jobs_are_read(server: ApiServer, plain: Backend) -> None:
    deadline = child_job("Failed=True/DeadlineExceeded: too long").label(JOBSET_NAME, "train-3")
    put(server, TJ("Failed=True/FailedJobs: no"), JS(), deadline)
    (found,) = await plain.find("train")
    assert found.observation.cause.kind == "timeout"


@pytest.mark.parametrize("job", ["", "a,b", "train in (x)", "x" * 64, "../nodes"])
async def test_what_no_job_can_be_called_is_not_asked_for(server: ApiServer, plain: Backend, job: str) -> None:
    put(server, TJ())
    assert await plain.find(job) == []
    assert server.calls == []


# --- consistency --------------------------------------------------------------------------------------------------


async def test_a_job_that_moves_while_it_is_read_is_read_again(server: ApiServer, plain: Backend) -> None:
    put(server, TJ(), JS())
    # The pods of the run that ended are there only once the job says so.
    happening(server, api.PODS, lambda: put(server, pod("p0").failed().exit(3), TJ("Failed=True/FailedJobs: no")))
    (found,) = await plain.find("train")
    assert found.observation.cause.detail == "pod p0: exit code 3"
    assert len(asked(server, api.TRAIN_JOBS)) == 4
    assert plain.notes == []


async def test_a_jobset_made_anew_while_it_is_read_makes_no_orphans(server: ApiServer, plain: Backend) -> None:
    put(server, TJ(), JS(), ready("n1"))
    anew = JS().uid("js-9"), pod("p0").of_jobset("train-3", "js-9")
    happening(server, api.PODS, lambda: put(server, *anew))
    assert told(await plain.find("train")) == [("TrainJob", "train-3", "running")]


async def test_a_job_that_never_rests_is_told_with_a_word(server: ApiServer, plain: Backend) -> None:
    put(server, TJ(), JS())
    happening(server, api.PODS, lambda: put(server, TJ("Suspended=False/Resumed: on")), times=100)
    assert told(await plain.find("train")) == [("TrainJob", "train-3", "running")]
    assert len(asked(server, api.TRAIN_JOBS)) == 2 * READS
    assert plain.notes == ["train kept changing while it was read: its parts may disagree"]


async def test_nodes_are_asked_for_though_a_job_begins_to_run_at_the_last_moment(
    server: ApiServer, plain: Backend
) -> None:
    put(server, TJ().suspend(), JS(), pod("p0"), ready("n1"))
    turn = iter(range(1, 100))

    def moves() -> None:
        put(server, TJ() if next(turn) == READS else TJ().suspend())

    happening(server, api.JOBS, moves, times=100)
    (found,) = await plain.find("train")
    assert plain.notes == ["train kept changing while it was read: its parts may disagree"]
    assert (found.observation.state, found.observation.cause.kind) == ("running", "none")
    assert asked(server, api.NODES) == ["n1"]


async def test_another_jobs_changes_do_not_matter(server: ApiServer, plain: Backend) -> None:
    put(server, TJ(), JS())
    happening(server, api.PODS, lambda: put(server, TJ(name="other-3").uid("tj-o")), times=100)
    await plain.find("train")
    assert len(asked(server, api.TRAIN_JOBS)) == 2


async def test_a_list_that_expires_before_its_end_begins_anew(
    server: ApiServer, plain: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("classifier.cluster.reader.PAGE", 1)
    put(server, TJ("Failed=True/FailedJobs: no"), JS(), pod("p0").failed().exit(3), pod("p1").failed().exit(4))
    once = [True]

    def expires(call: Call) -> bool:
        if once and "continue" in call.query and about(api.PODS)(call):
            once.clear()
            return True
        return False

    server.fault, server.faulty = answer(410, "Expired", "too old"), expires
    (found,) = await plain.find("train")
    assert len(found.evidence) == 2
    assert not once


# --- rights -------------------------------------------------------------------------------------------------------


async def test_a_kind_the_cluster_does_not_serve_is_empty(server: ApiServer, kueue: Backend) -> None:
    put(server, pod("p0").of_jobset("train-3", "js-0"))
    absent = (api.TRAIN_JOBS, api.JOBSETS, api.TRAINING_RUNTIMES, api.WORKLOADS, api.ADMISSION_CHECKS)
    refuse(server, dict.fromkeys(absent, answer(404, "", "404 page not found")))
    assert told(await kueue.find("train")) == [("Pod", "p0", "running")]
    assert kueue.notes == [
        f"{server.url} serves no trainjobs.trainer.kubeflow.org of version v1alpha1; is Trainer installed there?"
    ]


async def test_a_cluster_without_kueue_says_how_to_go_on(server: ApiServer, kueue: Backend, plain: Backend) -> None:
    put(server, TJ(), JS())
    refuse(server, {api.WORKLOADS: answer(404, "", "404 page not found")})
    await kueue.find("train")
    (note,) = kueue.notes
    assert note.startswith(f"{server.url} serves no workloads.kueue.x-k8s.io of version v1beta2; ")
    assert note.endswith("choose mode plain")
    await plain.find("train")
    assert plain.notes == []


async def test_what_may_not_be_read_is_noted_and_the_answer_says_less(server: ApiServer, kueue: Backend) -> None:
    put(server, TJ("Failed=True/FailedJobs: no"), JS(), WL().admitted(), pod("p0").failed().exit(3))
    closed = (api.PODS, api.JOBS, api.TRAINING_RUNTIMES, api.ADMISSION_CHECKS)
    refuse(server, dict.fromkeys(closed, answer(403, "Forbidden", "no")))
    (found,) = await kueue.find("train")
    assert found.observation.cause.detail == "FailedJobs: no; no pod evidence was captured"
    expected = [f"{kind} may not be read in namespace {NAMESPACE}" for kind in ("jobs", "pods", "trainingruntimes")]
    assert sorted(kueue.notes) == sorted(["admissionchecks may not be read", *expected])


@pytest.mark.parametrize("needed", [api.WORKLOADS, api.JOBSETS], ids=lambda r: r.plural)
async def test_what_no_answer_can_do_without_is_asked_for(
    server: ApiServer, kueue: Backend, needed: api.Resource
) -> None:
    """A running job would seem to wait for its Workload, or its pods to be somebody else's."""
    put(server, TJ(), JS(), WL().admitted(), pod("p0"), ready("n1"))
    refuse(server, {needed: answer(403, "Forbidden", "no")})
    for question in (kueue.find("train"), kueue.inspect(api.TRAIN_JOBS, "train-3")):
        with pytest.raises(
            ClientError, match=f"^{needed.plural} may not be read in namespace {NAMESPACE}, and .*right"
        ):
            await question


async def test_in_plain_mode_nobody_needs_the_right_to_read_workloads(server: ApiServer, plain: Backend) -> None:
    put(server, TJ(), JS(), pod("p0"), ready("n1"))
    refuse(server, {api.WORKLOADS: answer(403, "Forbidden", "no")})
    assert told(await plain.find("train")) == [("TrainJob", "train-3", "running")]


async def test_trainjobs_that_may_not_be_read_are_an_error(server: ApiServer, plain: Backend) -> None:
    refuse(server, {api.TRAIN_JOBS: answer(403, "Forbidden", "trainjobs is forbidden")})
    with pytest.raises(ApiError, match="trainjobs is forbidden"):
        await plain.find("train")


async def test_nodes_that_may_not_be_read_are_asked_for_once(server: ApiServer, plain: Backend) -> None:
    put(server, TJ(), JS(), *(pod(f"p{n}", f"n{n}") for n in range(6)))
    refuse(server, {api.NODES: answer(403, "Forbidden", "nodes is forbidden")})
    for _ in range(3):
        (found,) = await plain.find("train")
        assert found.observation.cause.detail == "Nodes could not be read"
        assert plain.notes == ["nodes may not be read"]
    assert len(asked(server, api.NODES)) == 1


async def test_checks_that_may_not_be_read_are_asked_for_once(server: ApiServer, kueue: Backend) -> None:
    put(server, TJ())
    refuse(server, {api.ADMISSION_CHECKS: answer(403, "Forbidden", "no")})
    for _ in range(3):
        await kueue.find("train")
        assert kueue.notes == ["admissionchecks may not be read"]
    assert len(asked(server, api.ADMISSION_CHECKS)) == 1


# --- nodes --------------------------------------------------------------------------------------------------------


async def test_each_node_of_a_running_job_is_asked_for_by_name(server: ApiServer, plain: Backend) -> None:
    put(server, TJ(), JS(), *(pod(f"p{n}", f"n{n % 32}") for n in range(64)), ready("n99"))
    put(server, *(ready(f"n{n}") for n in range(1, 32)))
    (found,) = await plain.find("train")
    assert sorted(asked(server, api.NODES)) == sorted(f"n{n}" for n in range(32))
    assert found.observation.cause.detail.startswith("pod p0: node n0 not found")


async def test_more_nodes_are_one_list(server: ApiServer, plain: Backend) -> None:
    put(server, TJ(), JS(), *(pod(f"p{n}", f"n{n}") for n in range(33)), *(ready(f"n{n}") for n in range(33)))
    (found,) = await plain.find("train")
    assert asked(server, api.NODES) == ["*"]
    assert found.observation.cause.kind == "none"


@pytest.mark.parametrize(
    "trainjob",
    [
        pytest.param(TJ("Failed=True/FailedJobs: no"), id="ended"),
        pytest.param(TJ().suspend(), id="suspended"),
    ],
)
async def test_nobody_asks_for_the_nodes_of_what_does_not_run(server: ApiServer, plain: Backend, trainjob: Any) -> None:
    put(server, trainjob, JS(), pod("p0"))
    await plain.find("train")
    assert asked(server, api.NODES) == []


async def test_two_backends_share_nothing(server: ApiServer, client: Client, plain: Backend) -> None:
    put(server, TJ(), JS(), pod("p0"), ready("n1"))
    refuse(server, {api.NODES: answer(403, "Forbidden", "no")})
    await plain.find("train")
    server.fault = None
    other = Backend(client, NAMESPACE, plain._settings)
    (found,) = await other.find("train")
    assert found.observation.cause.detail == ""


async def test_orphans_are_found_though_no_trainjob_is_left(server: ApiServer, plain: Backend) -> None:
    put(server, TJ(), JS().owner("tj-1"), pod("p0"), runtime("train-3", "tj-1"))
    remove(server, api.TRAIN_JOBS, "train-3")
    assert told(await plain.find("train")) == [
        ("JobSet", "train-3", "running"),
        ("Pod", "p0", "running"),
        ("TrainingRuntime", "train-3", "ended"),
    ]
    assert lists(server.calls[0])
    assert path(api.PODS) in {call.path for call in server.calls}
