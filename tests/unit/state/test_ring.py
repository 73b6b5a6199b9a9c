"""The evidence ring (reference/classification.md §C14, 4): whose it is, what it keeps, what of a pod."""

import msgspec
import pytest

from classifier.objects import Pod
from classifier.state import Ring, Settings, explain
from classifier.state.ring import strip
from tests.builders import T0
from tests.unit.state.builders import JS, TJ, PodTold, captured, plain, pod, said

FAILED = "Failed=True/FailedJobs: why"


def names(ring: Ring, uid: str = "tj-1") -> list[str]:
    return [kept.name for kept in ring.of(uid)]


def test_C14_a_second_delete_replaces_and_moves_to_the_end() -> None:
    ring = Ring()
    for name, phase in (("p0", "Running"), ("p1", "Running"), ("p0", "Failed")):
        ring.deleted("tj-1", pod(name).phase(phase).done())
    assert names(ring) == ["p1", "p0"]
    assert [kept.status and kept.status.phase for kept in ring.of("tj-1")] == ["Running", "Failed"]


def test_C14_one_pod_is_one_uid_not_one_name() -> None:
    ring = Ring()
    for uid in ("a", "b"):
        ring.deleted("tj-1", pod("p0").uid(uid).done())
    assert [kept.uid for kept in ring.of("tj-1")] == ["a", "b"]


def test_F30_the_size_is_a_setting_and_drops_the_oldest() -> None:
    ring = Ring(size=2)
    for name in ("p0", "p1", "p0", "p2"):
        ring.deleted("tj-1", pod(name).done())
    assert names(ring) == ["p0", "p2"]


def test_C14_each_trainjob_has_a_ring_of_its_own() -> None:
    ring = Ring(size=1)
    ring.deleted("tj-1", pod("p0").done())
    ring.deleted("tj-2", pod("p1").done())
    assert (names(ring), names(ring, "tj-2"), sorted(ring.uids)) == (["p0"], ["p1"], ["tj-1", "tj-2"])
    ring.drop("tj-1")
    ring.drop("tj-9")
    assert (names(ring), names(ring, "tj-2"), ring.uids) == ([], ["p1"], ("tj-2",))


def test_C14_asking_keeps_nothing() -> None:
    ring = Ring()
    assert ring.of("tj-1") == ()
    assert ring.uids == ()


EVICTED = "DisruptionTarget=True/TerminationByKubelet@10:00:05: The node was low on resource: memory. "
PODS = [
    pod("p0").failed().exit(1, said="\n  CUDA error: out of memory\n" + "log\n" * 5000),
    pod("p0").failed().exit(1, said="x" * 300),
    pod("p0").failed("Evicted", "The node was low on resource: memory. ").has(EVICTED).exit(137),
    pod("p0").failed("OutOfcpu", "Node didn't have enough resource").has("Ready=False/PodFailed@10:00:07"),
    pod("p0").has("KueueFailureRecovery=True/KueueForcefullyDeleted: Pod forcefully terminated"),
    pod("p0").failed().exit(143).last(1, "Error", "10:00:03").deleting(),
    pod("p0").waiting("CrashLoopBackOff").last(2),
    pod("p0").run(4, 2).failed().exit(2, of="dataset-initializer"),
    pod("p0").failed().container("fetch", init=True, state={"terminated": {"exitCode": 3}}),
    pod("p0").failed().sidecar("proxy").container("proxy", init=True, state={"terminated": {"exitCode": 3}}),
    pod("p0").phase("Succeeded").has(EVICTED),
    pod("p0").run(None).annotate("muster.dev/admission-count", "3").failed().exit(1),
]


@pytest.mark.parametrize("told", PODS, ids=range(len(PODS)))
def test_a_stripped_pod_says_what_the_whole_one_said(told: PodTold) -> None:
    given = plain(TJ(FAILED), JS(), captured(told))
    case = msgspec.structs.replace(given.case, captured=tuple(map(strip, given.case.captured)))
    assert said(given.observe()) == said(plain(TJ(FAILED), JS(), told).observe())
    assert explain(case, given.settings, T0) == given.explain()


def test_a_stripped_pod_holds_no_more_than_that() -> None:
    told = pod("p0").failed().exit(1, said="log\n" * 5000).annotate("example.com/blob", "x" * 100_000)
    told.label("example.com/team", "vision").metadata(
        managedFields=[{"manager": "kubelet", "operation": "Update", "fieldsV1": {"f:status": {"k": "v" * 10_000}}}]
    )
    told.has("Initialized=True/Ready: " + "x" * 5000)
    kept = strip(told.done())
    assert len(msgspec.json.encode(kept)) < 2000
    assert kept.label("example.com/team") is None
    assert (kept.label(Settings().job_id), kept.label(Settings().submission)) == ("train", "3")


def test_another_prefix_is_kept_as_well() -> None:
    settings = Settings(prefix="example.com/x.")
    told = pod("p0").label(settings.job_id, "train").annotate(settings.admission, "2").done()
    kept = strip(told)
    assert (kept.label(settings.job_id), kept.annotation(settings.admission)) == ("train", "2")


def test_a_bare_pod_can_be_kept() -> None:
    assert strip(Pod()) == Pod()
