"""Watch: what is sent, and how a stream ends (reference/classification.md §C14.1 to §C14.3)."""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

import pytest

from classifier import api
from classifier.cluster import backend
from classifier.cluster.backend import PACE, Backend
from classifier.cluster.client import Client
from classifier.cluster.watching import Watching
from classifier.state import Explanation
from tests.apiserver import ApiServer, Fault, answer, gone, raw, reset, stream, watches
from tests.unit.backend.conftest import (
    KUEUE,
    Taken,
    Watch,
    about,
    finds,
    found,
    path,
    put,
    refuse,
    remove,
    told,
)
from tests.unit.state.builders import JS, NAMESPACE, TJ, WL, pod, ready

Open = Callable[[Backend], Watch]
RUNNING = [("TrainJob", "train-3", "running")]


async def test_the_job_the_jobsets_the_pods_and_in_kueue_mode_the_workloads_are_watched(
    server: ApiServer, plain: Backend, kueue: Backend, watch: Open
) -> None:
    put(server, TJ(), JS(), WL().admitted(), pod("p0"), ready("n1"))
    for asked, more in ((plain, []), (kueue, [path(api.WORKLOADS)])):
        server.calls.clear()
        one = watch(asked)
        assert await one.hears(1) == RUNNING
        opened = [call for call in server.calls if call.watch]
        expected = [path(r) for r in (api.JOBSETS, api.PODS, api.TRAIN_JOBS)] + more
        assert sorted(call.path for call in opened) == sorted(expected)
        labels = {call.path: call.query.get("labelSelector") for call in opened}
        assert labels == dict.fromkeys(labels) | {path(api.PODS): f"{api.DISPATCH_PREFIX}job-id=train"}
        # One Find, and only once all of them are open.
        first = next(n for n, call in enumerate(server.calls) if about(api.TRAINING_RUNTIMES)(call))
        assert all(server.calls.index(call) < first for call in opened)
        assert finds(server) == 1
        await one.close()


async def test_the_pods_of_others_are_not_listed_to_watch_ones_own(
    server: ApiServer, plain: Backend, watch: Open
) -> None:
    put(server, TJ(), JS(), *(pod(f"p{n}") for n in range(5)), ready("n1"))
    await watch(plain).hears(1)
    limits = [call.query["limit"] for call in server.calls if about(api.PODS)(call) and not call.watch]
    assert limits == ["1", "500", "500"]


async def test_at_first_every_object_is_sent(server: ApiServer, plain: Backend, watch: Open) -> None:
    put(server, TJ(), TJ(name="train-4").uid("tj-4"), JS(), JS(name="train-2").uid("js-2").owner("tj-2"))
    one = watch(plain)
    await one.hears(3)
    assert [name for _, name, _ in told(one.said)] == ["train-3", "train-4", "train-2"]


AGAIN = ["train-3 running"]
CHANGES: dict[str, tuple[Callable[[ApiServer], None], list[str]]] = {
    "a TrainJob": (lambda s: put(s, TJ("Failed=True/Other: no")), ["train-3 ended"]),
    "a TrainJob by its label": (
        lambda s: put(s, TJ(name="mine").uid("tj-9").labels(job_id="train")),
        ["mine pending"],
    ),
    "a TrainJob that goes": (lambda s: remove(s, api.TRAIN_JOBS, "train-3"), ["train-3 running", "p0 running"]),
    "a JobSet": (lambda s: put(s, JS("RestartingJobSet=True/Other: again")), AGAIN),
    "a JobSet that goes": (lambda s: remove(s, api.JOBSETS, "train-3"), [*AGAIN, "p0 running"]),
    "a pod": (lambda s: put(s, pod("p0").failed().exit(3)), AGAIN),
    "a pod that is new": (lambda s: put(s, pod("p1").waiting("ErrImagePull")), AGAIN),
    "a Workload": (
        lambda s: put(s, WL("Admitted=False/NoReservation", "QuotaReserved=False/Pending")),
        ["train-3 pending"],
    ),
    "a Workload that goes": (
        lambda s: remove(s, api.WORKLOADS, "trainjob-train-3-ab12c"),
        ["train-3 pending"],
    ),
}


@pytest.mark.parametrize("change", CHANGES)
async def test_what_changes_is_sent(server: ApiServer, kueue: Backend, watch: Open, change: str) -> None:
    put(server, TJ(), JS(), WL().admitted(), pod("p0"), ready("n1"))
    one = watch(kueue)
    await one.hears(1)
    happens, sent = CHANGES[change]
    happens(server)
    await one.until(lambda: len(one.said) > len(sent))
    assert [f"{name} {state}" for _, name, state in told(one.said[1:])] == sent


async def test_w6_what_differs_by_its_time_alone_is_not_sent(server: ApiServer, plain: Backend, watch: Open) -> None:
    put(server, TJ(), JS(), pod("p0"), ready("n1"))
    one = watch(plain)
    await one.hears(1)
    put(server, TJ().annotate("example.com/note", "nothing of ours"))
    await found(server, 2)
    put(server, TJ("Failed=True/Other: no"))
    assert await one.hears(2) == [("TrainJob", "train-3", "ended")]
    assert one.said[0].observation.seen_at <= one.said[1].observation.seen_at


OTHERS: dict[str, Callable[[], Any]] = {
    "another job's TrainJob": lambda: TJ(name="train-big-3").uid("tj-b").labels(),
    "another job's JobSet": lambda: JS(name="other-3").uid("js-o").owner("tj-o"),
    "another job's Workload": lambda: WL(name="other").owner("tj-o").metadata(labels={api.JOB_UID: "tj-o"}),
}


@pytest.mark.parametrize("other", OTHERS)
async def test_what_others_do_is_no_reason_to_look(
    server: ApiServer, kueue: Backend, watch: Open, taken: Taken, other: str
) -> None:
    put(server, TJ(), JS(), WL().admitted())
    one = watch(kueue)
    await one.hears(1)
    built = OTHERS[other]()
    put(server, built)
    await taken.until("ADDED", built.raw()["metadata"]["name"])
    # By the time this is answered, a Find that had begun would have asked.
    await kueue.inspect(api.TRAIN_JOBS, "train-3")
    assert finds(server) == 1


async def test_changes_during_a_find_lead_to_one_more(
    server: ApiServer, plain: Backend, watch: Open, taken: Taken
) -> None:
    put(server, TJ(), JS())
    held, go_on = asyncio.Event(), asyncio.Event()

    async def hold(request: Any) -> Any:
        held.set()
        await go_on.wait()
        server.fault = None
        return await server.handle(request)

    one = watch(plain)
    await one.hears(1)
    server.fault, server.faulty = hold, about(api.TRAINING_RUNTIMES)
    put(server, pod("p0"))
    await asyncio.wait_for(held.wait(), 10)
    for n in range(1, 6):
        put(server, pod(f"p{n}"))
        await taken.until("ADDED", f"p{n}")
    go_on.set()
    put(server, ready("n1"))
    await found(server, 3)
    put(server, TJ("Failed=True/Other: no"))
    await one.until(lambda: told(one.said[-1:]) == [("TrainJob", "train-3", "ended")])
    # The first, the one that was held (told twice: it was handed on), the one more, and the last.
    assert finds(server) == 5


async def test_a_workload_made_while_its_job_is_first_read_is_not_missed(
    server: ApiServer, kueue: Backend, watch: Open, taken: Taken
) -> None:
    """It belongs to no object sent so far, but to one that is about to be."""
    put(server, JS())
    held, go_on = asyncio.Event(), asyncio.Event()

    async def hold(request: Any) -> Any:
        held.set()
        await go_on.wait()
        server.fault = None
        return await server.handle(request)

    one = watch(kueue)
    await one.hears(1)
    # Asked for beside the Workloads, before them or after.
    server.fault, server.faulty = hold, about(api.ADMISSION_CHECKS)
    put(server, TJ())
    await asyncio.wait_for(held.wait(), 10)
    # The list of Workloads has been answered by now: without any.
    await server.called(
        1, lambda call: call.path == path(api.WORKLOADS) and "tj-1" in call.query.get("labelSelector", "")
    )
    put(server, WL().admitted())
    await taken.until("ADDED", "trainjob-train-3-ab12c")
    go_on.set()
    await one.until(lambda: told(one.said[-1:]) == RUNNING)


async def test_what_changes_in_quick_succession_is_read_once(
    server: ApiServer, plain: Backend, watch: Open, taken: Taken, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(server, TJ(), JS(), ready("n1"))
    one = watch(plain)
    await one.hears(1)
    # Longer than any test: who still comes to an end does not wait for it.
    monkeypatch.setattr(backend, "PACE", (3600.0, 3600.0))
    for n in range(20):
        put(server, pod(f"p{n}"))
        await taken.until("ADDED", f"p{n}")
    # By the time this is answered, a Find that had begun would have asked.
    await plain.inspect(api.TRAIN_JOBS, "train-3")
    assert finds(server) == 1
    server.end_watches()
    await one.ends()


async def test_a_find_that_takes_long_is_not_begun_again_at_once(
    server: ApiServer, plain: Backend, watch: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(server, TJ(), JS())
    rests: list[float] = []
    at = [0.0]

    async def rest(_: Watching, seconds: float) -> bool:
        rests.append(seconds)
        return True

    async def find(job: str) -> list[Explanation]:
        at[0] += 3.0 if len(rests) == 0 else 60.0 if len(rests) == 1 else 0.0
        return await Backend.find(plain, job)

    monkeypatch.setattr(Watching, "rest", rest)
    monkeypatch.setattr(plain, "find", find)
    monkeypatch.setattr(backend, "_clock", lambda: at[0])
    one = watch(plain)
    for n in range(3):
        await one.hears(n + 1)
        put(server, TJ(f"Failed=True/Other: {n}"))
    await one.hears(4)
    assert rests == [3.0, PACE[1], PACE[0]]


async def test_what_there_is_is_told_to_who_asks(server: ApiServer, plain: Backend) -> None:
    """What is gone no explanation says."""
    put(server, TJ(), JS(), TJ(name="train-4").uid("tj-4"))
    there: list[list[str]] = []
    stream = plain.watch("train", lambda refs: there.append([ref.name for ref in refs]))
    async with contextlib.aclosing(stream):
        for _ in range(2):
            await anext(stream)
        remove(server, api.TRAIN_JOBS, "train-4")
        put(server, TJ("Failed=True/Other: no"))
        assert told([await anext(stream)]) == [("TrainJob", "train-3", "ended")]
    assert (there[0], there[-1]) == (["train-3", "train-4"], ["train-3"])


async def test_an_object_that_comes_back_is_sent_again(server: ApiServer, plain: Backend, watch: Open) -> None:
    put(server, TJ(), JS(), TJ(name="train-4").uid("tj-4"))
    one = watch(plain)
    await one.hears(2)
    remove(server, api.TRAIN_JOBS, "train-4")
    await found(server, 2)
    put(server, TJ(name="train-4").uid("tj-4"))
    assert await one.hears(3) == [("TrainJob", "train-4", "running")]


# --- its end ------------------------------------------------------------------------------------------------------


ENDS: dict[str, Callable[[ApiServer, str], None]] = {
    "expires": lambda server, which: server.end_watches(which),
    "breaks": lambda server, which: server.cut_watches(which=which),
    "is torn": lambda server, which: server.cut_watches(b'{"type":"ADDED","obj', which=which),
    "is too old": lambda server, which: server.say(gone(), which=which),
    "says nonsense": lambda server, which: server.say(b"<html>\n", which=which),
}


@pytest.mark.parametrize("resource", [api.TRAIN_JOBS, api.JOBSETS, api.PODS, api.WORKLOADS], ids=lambda r: r.plural)
@pytest.mark.parametrize("end", ENDS)
async def test_it_closes_when_any_watch_ends(
    server: ApiServer, kueue: Backend, watch: Open, resource: api.Resource, end: str
) -> None:
    put(server, TJ(), JS(), WL().admitted())
    one = watch(kueue)
    await one.hears(1)
    ENDS[end](server, f"/{resource.plural}")
    await one.ends()
    assert resource.plural in kueue.closed_because
    # Its connections go with it.
    await server.unwatched()


BROKEN: dict[str, Fault] = {
    "500": answer(500, "InternalError", "etcd is away"),
    "410": answer(410, "Expired", "too old"),
    "reset": reset(),
    "closes at once": stream(),
}


@pytest.mark.parametrize("fault", BROKEN)
async def test_it_closes_when_a_watch_does_not_open(server: ApiServer, plain: Backend, watch: Open, fault: str) -> None:
    put(server, TJ(), JS())
    refuse(server, {api.PODS: BROKEN[fault]}, watches)
    one = watch(plain)
    await one.ends()
    assert "pods" in plain.closed_because


async def test_it_closes_when_a_find_fails(server: ApiServer, plain: Backend, watch: Open) -> None:
    put(server, TJ(), JS())
    one = watch(plain)
    await one.hears(1)
    server.fault, server.faulty = answer(500, "InternalError", "etcd is away"), about(api.TRAINING_RUNTIMES)
    put(server, TJ("Failed=True/Other: no"))
    await one.ends()
    assert len(one.said) == 1
    assert plain.closed_because == "500 InternalError: etcd is away"
    await server.unwatched()


async def test_it_closes_when_its_task_is_cancelled(server: ApiServer, plain: Backend, watch: Open) -> None:
    put(server, TJ(), JS())
    one = watch(plain)
    await one.hears(1)
    await one.close()
    await server.unwatched()


async def test_it_closes_when_nobody_wants_more(server: ApiServer, plain: Backend) -> None:
    put(server, TJ(), TJ(name="train-4").uid("tj-4"), JS())
    stream = plain.watch("train")
    await anext(stream)
    await server.watched(3)
    # In the midst of what it had to say.
    await stream.aclose()
    await server.unwatched()


async def test_it_closes_while_its_watches_are_opened(server: ApiServer, plain: Backend, watch: Open) -> None:
    waiting = asyncio.Event()

    async def never(_: Any) -> Any:
        waiting.set()
        await asyncio.Event().wait()

    server.fault, server.faulty = never, about(api.PODS)
    one = watch(plain)
    await asyncio.wait_for(waiting.wait(), 10)
    await one.close()
    await server.unwatched()


# --- rights -------------------------------------------------------------------------------------------------------


async def test_a_kind_that_is_not_served_is_not_watched(server: ApiServer, kueue: Backend, watch: Open) -> None:
    put(server, TJ(), JS(), ready("n1"))
    refuse(server, {api.WORKLOADS: answer(404, "", "404 page not found")})
    one = watch(kueue)
    assert await one.hears(1) == [("TrainJob", "train-3", "pending")]
    put(server, TJ("Failed=True/Other: no"))
    assert await one.hears(2) == [("TrainJob", "train-3", "ended")]
    assert len(kueue.notes) == 1
    assert "serves no workloads.kueue.x-k8s.io" in kueue.notes[0]


async def test_a_proxy_that_knows_no_way_closes_it(server: ApiServer, plain: Backend, watch: Open) -> None:
    """Else what the JobSets tell would pass unseen for as long as it lasts."""
    put(server, TJ(), JS(), ready("n1"))
    refuse(server, {api.JOBSETS: raw(404, "<html><h1>404 Not Found</h1></html>")}, watches)
    await watch(plain).ends()
    assert plain.closed_because.startswith("the watch of jobsets: 404")


async def test_it_closes_where_nothing_can_be_watched(server: ApiServer, plain: Backend, watch: Open) -> None:
    """For nothing would ever wake it."""
    absent, no = answer(404, "", "404 page not found"), answer(403, "Forbidden", "no")
    refuse(server, {api.TRAIN_JOBS: absent, api.JOBSETS: absent, api.PODS: no})
    await watch(plain).ends()
    assert plain.closed_because == "nothing of the job can be watched"


async def test_what_may_not_be_watched_is_noted(server: ApiServer, kueue: Backend, watch: Open) -> None:
    put(server, TJ(), JS(), WL().admitted(), ready("n1"))
    refuse(server, {api.PODS: answer(403, "Forbidden", "no")}, watches)
    one = watch(kueue)
    assert await one.hears(1) == RUNNING
    assert kueue.notes == [f"pods may not be watched in namespace {NAMESPACE}"]


async def test_trainjobs_that_may_not_be_watched_close_it(server: ApiServer, plain: Backend, watch: Open) -> None:
    refuse(server, {api.TRAIN_JOBS: answer(403, "Forbidden", "trainjobs is forbidden")}, watches)
    await watch(plain).ends()
    assert "trainjobs is forbidden" in plain.closed_because


async def test_what_no_job_can_be_called_is_not_watched(server: ApiServer, client: Client) -> None:
    nobodys = Backend(client, NAMESPACE, KUEUE)
    assert [e async for e in nobodys.watch("a,b")] == []
    assert server.calls == []
