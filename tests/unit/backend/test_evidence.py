"""What a watch keeps of pods that go, and for how long (reference/classification.md §C14.4, W1 to W7)."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from classifier import api
from classifier.cluster.backend import Backend
from classifier.cluster.client import Client
from classifier.cluster.evidence import WAITING, Evidence
from classifier.state import Explanation, Ring
from tests.apiserver import ApiServer, lists
from tests.unit.backend.conftest import PLAIN, Taken, Watch, about, put, remove
from tests.unit.state.builders import JS, NAMESPACE, TJ, PodTold, pod

Open = Callable[[Backend], Watch]
FAILED = "Failed=True/FailedJobs: jobset failed"
NOTHING = "FailedJobs: jobset failed; no pod evidence was captured"


def dead(name: str = "p0", code: int = 3) -> PodTold:
    return pod(name).failed().exit(code)


async def detail(backend: Backend) -> str:
    (found,) = await backend.find("train")
    return found.observation.cause.detail


def detail_of(explanation: Explanation | None) -> str:
    assert explanation is not None
    return explanation.observation.cause.detail


async def test_a_deleted_pod_is_evidence_for_find_inspect_and_watch(
    server: ApiServer, plain: Backend, watch: Open, taken: Taken
) -> None:
    """The stock runtime's case: Jobs delete the pods they give up on (reference/classification.md §A4)."""
    put(server, TJ(), JS(), dead())
    one = watch(plain)
    await one.hears(1)
    remove(server, api.PODS, "p0")
    await taken.until("DELETED", "p0")
    put(server, TJ(FAILED))
    await one.until(lambda: detail_of(one.said[-1]) == "pod p0: exit code 3")
    assert await detail(plain) == "pod p0: exit code 3"
    assert detail_of(await plain.inspect(api.TRAIN_JOBS, "train-3")) == "pod p0: exit code 3"


async def test_its_last_state_counts_though_nobody_read_it_before(
    server: ApiServer, plain: Backend, watch: Open, taken: Taken
) -> None:
    put(server, TJ(), JS(), pod("p0"))
    await watch(plain).hears(1)
    put(server, dead())
    remove(server, api.PODS, "p0")
    await taken.until("DELETED", "p0")
    put(server, TJ(FAILED))
    assert await detail(plain) == "pod p0: exit code 3"


async def test_w4_a_pod_that_goes_while_nobody_watches_is_lost(server: ApiServer, plain: Backend) -> None:
    put(server, TJ(FAILED), JS(), dead())
    remove(server, api.PODS, "p0")
    assert await detail(plain) == NOTHING


async def test_w5_another_backend_knows_nothing(
    server: ApiServer, client: Client, plain: Backend, watch: Open, taken: Taken
) -> None:
    put(server, TJ(FAILED), JS(), dead())
    await watch(plain).hears(1)
    remove(server, api.PODS, "p0")
    await taken.until("DELETED", "p0")
    assert await detail(Backend(client, NAMESPACE, PLAIN)) == NOTHING
    assert await detail(plain) == "pod p0: exit code 3"


@pytest.mark.parametrize(("gone", "label"), [("p0", "other"), ("p0", None)], ids=["of another job", "of nobody"])
async def test_w7_a_pod_without_the_jobs_label_is_not_kept(
    server: ApiServer, plain: Backend, watch: Open, taken: Taken, gone: str, label: str | None
) -> None:
    put(server, TJ(), JS(), dead(gone).dispatch_labels(**({"job_id": label} if label else {})), pod("p1"))
    await watch(plain).hears(1)
    remove(server, api.PODS, gone)
    remove(server, api.PODS, "p1")
    await taken.until("DELETED", "p1")
    assert [pod.name for pod in plain.ring.of("tj-1")] == ["p1"]


async def test_w3_a_resubmission_inherits_nothing(server: ApiServer, plain: Backend, watch: Open, taken: Taken) -> None:
    put(server, TJ(FAILED), JS(), dead())
    await watch(plain).hears(1)
    remove(server, api.PODS, "p0")
    await taken.until("DELETED", "p0")
    put(server, TJ(FAILED).uid("tj-9"), JS().uid("js-9").owner("tj-9"))
    assert await detail(plain) == NOTHING


async def test_w1_of_300_the_latest_256_are_kept(server: ApiServer, plain: Backend, watch: Open, taken: Taken) -> None:
    put(server, TJ(), JS(), *(dead(f"p{n}") for n in range(300)))
    await watch(plain).hears(1)
    for n in range(300):
        remove(server, api.PODS, f"p{n}")
    await taken.until("DELETED", "p299")
    assert [pod.name for pod in plain.ring.of("tj-1")] == [f"p{n}" for n in range(44, 300)]


async def test_a_pod_that_outlives_its_jobset_is_its_trainjobs_still(
    server: ApiServer, plain: Backend, watch: Open, taken: Taken
) -> None:
    put(server, TJ(), JS(), dead(), dead("p1", 4))
    await watch(plain).hears(1)
    # A JobSet that is there from the start, and one that comes and goes.
    put(server, JS(name="second").uid("js-2"))
    await taken.until("ADDED", "second")
    put(server, dead("p2", 5).of_jobset("second", "js-2"))
    for name in ("train-3", "second"):
        remove(server, api.JOBSETS, name)
        await taken.until("DELETED", name)
    for name in ("p0", "p1", "p2"):
        remove(server, api.PODS, name)
        await taken.until("DELETED", name)
    assert [pod.name for pod in plain.ring.of("tj-1")] == ["p0", "p1", "p2"]


async def test_what_is_kept_is_stripped(server: ApiServer, plain: Backend, watch: Open, taken: Taken) -> None:
    put(server, TJ(), JS(), dead().annotate("example.com/long", "x" * 10_000))
    await watch(plain).hears(1)
    remove(server, api.PODS, "p0")
    await taken.until("DELETED", "p0")
    (kept,) = plain.ring.of("tj-1")
    assert kept.annotation("example.com/long") is None


# --- for how long ---------------------------------------------------------------------------------------------------


async def test_watches_on_one_job_share_what_is_kept(
    server: ApiServer, plain: Backend, watch: Open, taken: Taken
) -> None:
    put(server, TJ(), JS(), *(dead(f"p{n}") for n in range(3)))
    first, second = watch(plain), watch(plain)
    await first.hears(1)
    await second.hears(1)
    await server.watched(6)
    for n in range(3):
        remove(server, api.PODS, f"p{n}")
    await taken.until("DELETED", "p2", 2)
    assert [pod.name for pod in plain.ring.of("tj-1")] == ["p0", "p1", "p2"]
    await first.close()
    assert len(plain.ring.of("tj-1")) == 3
    await second.close()
    assert set(plain.ring.uids) == plain._evidence.trainjobs == set()


async def test_one_watch_does_not_repeat_what_another_has_told(
    server: ApiServer, plain: Backend, watch: Open, taken: Taken
) -> None:
    """Of two that tell the same, the later must not make the oldest the youngest."""
    put(server, TJ(), JS(), *(dead(f"p{n}") for n in range(300)))
    first, second = watch(plain), watch(plain)
    await first.hears(1)
    await second.hears(1)
    await server.watched(6)
    late = [w for w in server._watches if w.collection.endswith("/pods")][1]
    for n in range(300):
        remove(server, api.PODS, f"p{n}")
    await taken.until("DELETED", "p299", 2)
    again = next(line for line in taken.lines if b'"DELETED"' in line and b'"p0"' in line)
    late.queue.put_nowait(again + b"\n")
    await taken.until("DELETED", "p0", 3)
    assert [pod.name for pod in plain.ring.of("tj-1")] == [f"p{n}" for n in range(44, 300)]


async def test_a_watch_on_another_job_keeps_nothing_alive(
    server: ApiServer, plain: Backend, watch: Open, taken: Taken
) -> None:
    put(server, TJ(), JS(), dead())
    one = watch(plain)
    await one.hears(1)
    other = plain.watch("other")
    put(server, TJ(name="other-1").uid("tj-o").labels())
    await anext(other)
    remove(server, api.PODS, "p0")
    await taken.until("DELETED", "p0")
    assert set(plain.ring.uids) == {"tj-1"}
    await one.close()
    assert set(plain.ring.uids) == set()
    await other.aclose()


async def test_the_ring_goes_with_its_trainjob_and_its_last_orphan(
    server: ApiServer, plain: Backend, watch: Open, taken: Taken
) -> None:
    put(server, TJ(), JS(), dead(), pod("p1"))
    one = watch(plain)
    await one.hears(1)
    remove(server, api.PODS, "p0")
    await taken.until("DELETED", "p0")
    remove(server, api.TRAIN_JOBS, "train-3")
    remove(server, api.JOBSETS, "train-3")
    await taken.until("DELETED", "train-3", 2)
    await plain.find("train")
    # Its last pod is an orphan.
    assert set(plain.ring.uids) == {"tj-1"}
    remove(server, api.PODS, "p1")
    await taken.until("DELETED", "p1")
    assert await plain.find("train") == []
    assert set(plain.ring.uids) == set()
    assert plain._evidence.trainjobs == set()


async def test_who_subscribes_again_and_again_may_keep_what_was_seen(
    server: ApiServer, plain: Backend, watch: Open, taken: Taken
) -> None:
    put(server, TJ(FAILED), JS(), dead())
    with plain.keeping("train"):
        one = watch(plain)
        await one.hears(1)
        remove(server, api.PODS, "p0")
        await taken.until("DELETED", "p0")
        server.end_watches()
        await one.ends()
        assert await detail(plain) == "pod p0: exit code 3"
        again = watch(plain)
        await again.hears(1)
        assert detail_of(again.said[0]) == "pod p0: exit code 3"
        await again.close()
    assert await detail(plain) == NOTHING


def test_a_find_of_one_job_does_not_end_what_is_kept_of_another() -> None:
    ring = Ring()
    evidence = Evidence(ring)
    for job in ("train", "other"):
        evidence.opened(job)
    evidence.jobset(JS().done())
    evidence.deleted("train", dead().metadata(resourceVersion="7").done())
    evidence.forget("other", {"tj-1"})
    assert evidence.trainjob_of(dead().done()) == "tj-1"
    assert (set(ring.uids), evidence.trainjobs) == ({"tj-1"}, {"tj-1"})
    evidence.forget("train", {"tj-1"})
    assert (set(ring.uids), evidence.trainjobs) == (set(), set())


def test_what_became_known_during_a_find_is_not_among_what_it_calls_gone() -> None:
    ring = Ring()
    evidence = Evidence(ring)
    evidence.opened("train")
    evidence.jobset(JS().done())
    before = evidence.trainjobs
    evidence.jobset(JS().uid("js-9").owner("tj-9").done())
    evidence.deleted("train", dead().of_jobset("train-3", "js-9").metadata(resourceVersion="7").done())
    evidence.forget("train", before)
    assert (set(ring.uids), evidence.trainjobs) == ({"tj-9"}, {"tj-9"})


def test_a_pod_may_be_gone_before_its_jobset_is_known() -> None:
    """Watches on two kinds keep no common order, and the JobSets of a full namespace take their time to list."""
    ring = Ring()
    evidence = Evidence(ring)
    evidence.opened("train")
    for n in range(WAITING + 2):
        evidence.deleted("train", dead(f"p{n}").metadata(resourceVersion=str(n + 1)).done())
    other = dead("x").of_jobset("train-3", "js-9").metadata(resourceVersion="900")
    evidence.deleted("train", other.done())
    assert ring.uids == ()
    evidence.jobset(JS().done())
    # The latest of those that wait; the stranger waits on.
    assert [p.name for p in ring.of("tj-1")] == [f"p{n}" for n in range(3, WAITING + 2)]
    evidence.jobset(JS().uid("js-9").owner("tj-9").done())
    assert [p.name for p in ring.of("tj-9")] == ["x"]
    # They are evidence of their job like any other.
    evidence.closed("train")
    assert ring.uids == ()


def test_pods_that_wait_for_their_jobset_go_with_the_last_watch() -> None:
    ring = Ring()
    evidence = Evidence(ring)
    evidence.opened("train")
    evidence.opened("other")
    evidence.deleted("train", dead().metadata(resourceVersion="7").done())
    evidence.closed("train")
    evidence.jobset(JS().done())
    assert ring.uids == ()


async def test_a_pod_that_goes_while_the_jobsets_are_listed_is_evidence(
    server: ApiServer, plain: Backend, watch: Open, taken: Taken
) -> None:
    put(server, TJ(), JS(), dead())
    go_on = asyncio.Event()

    async def hold(request: Any) -> Any:
        await go_on.wait()
        server.fault = None
        return await server.handle(request)

    server.fault, server.faulty = hold, lambda call: about(api.JOBSETS)(call) and lists(call)
    one = watch(plain)
    await server.watched(2)
    remove(server, api.PODS, "p0")
    await taken.until("DELETED", "p0")
    put(server, TJ(FAILED))
    go_on.set()
    await one.until(lambda: one.said)
    assert detail_of(one.said[-1]) == "pod p0: exit code 3"


def test_only_a_jobset_of_a_trainjob_leads_anywhere() -> None:
    evidence = Evidence(Ring())
    evidence.opened("train")
    evidence.jobset(JS().owner("uid", "CronJob", "nightly", "batch/v1").done())
    evidence.jobset(JS().owner(None).done())
    assert evidence.trainjobs == set()
