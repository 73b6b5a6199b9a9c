"""Which Workload decides where a job has several, and whose it has to be."""

from itertools import combinations

import pytest

from classifier import api
from classifier.objects import LeaderWorkerSet, Pod, PodGroup, Workload
from classifier.state import Case, Mode, Settings, explain
from classifier.state.kinds import KINDS
from tests.builders import T0
from tests.unit.state.builders import JS, TJ, WL, WorkloadTold, kueue
from tests.unit.state.others import condition, observe, of, owned

ADMITTED = "Admitted=True/Admitted"


def made(name: str, at: str, *conditions: str) -> WorkloadTold:
    return WL(*conditions, name=name, uid=name).metadata(creationTimestamp=f"2026-11-29T{at}Z")


@pytest.mark.parametrize(
    ("workloads", "want"),
    [
        ((made("b", "09:00:00"), made("a", "10:00:00")), "b"),
        ((made("b", "09:00:00"), made("a", "09:00:00")), "a"),
        ((made("b", "09:00:00").owner("tj-0"), made("a", "10:00:00")), "a"),
        ((made("b", "soon"), made("c", "10:00:00")), "c"),
    ],
    ids=["the oldest", "then by name", "one it controls before an older one", "one without a date last"],
)
def test_the_workload_that_decides(workloads: tuple[WorkloadTold, ...], want: str) -> None:
    assert kueue(TJ(), JS(), *workloads).explain().workload == want
    assert kueue(TJ(), JS(), *reversed(workloads)).explain().workload == want


OVER = [
    "Finished=True/WorkloadSliceReplaced: Replaced to accommodate a new workload slice",
    "Finished=True/OutOfSync: The workload slice is out of sync with its parent job",
]


@pytest.mark.parametrize("over", OVER)
def test_a_slice_that_was_replaced_or_evicted_decides_nothing(over: str) -> None:
    given = kueue(TJ(), JS(), made("a", "09:00:00", over), made("b", "10:00:00", ADMITTED))
    told = given.explain()
    assert (told.workload, told.observation.foreign, told.observation.state.value) == ("b", False, "running")
    assert kueue(TJ(), JS(), made("a", "09:00:00", over)).explain().workload == "a"


def test_a_slice_that_shall_replace_is_no_second_workload() -> None:
    scale_up = made("b", "10:00:00").annotate(api.SLICE_REPLACEMENT_FOR, "ns/a")
    told = kueue(TJ(), JS(), made("a", "09:00:00", ADMITTED), scale_up).explain()
    assert (told.workload, told.observation.foreign, told.observation.state.value) == ("a", False, "running")


def replica(name: str, active: bool = True, *conditions: dict[str, str]) -> Workload:
    told: Workload = of(
        Workload,
        name,
        name,
        {"active": active},
        {"conditions": list(conditions)},
        ownerReferences=owned("u1", controller=False, kind="LeaderWorkerSet"),
    )
    return told


def test_of_many_workloads_the_worst_off_decides_and_none_is_too_many() -> None:
    up, down, off = replica("a", True, condition("Admitted")), replica("b"), replica("c", False)
    job = of(LeaderWorkerSet)
    assert observe(job, up, mode=Mode.KUEUE).state == "running"
    assert observe(job, up, down, mode=Mode.KUEUE).state == "pending"
    told = observe(job, up, down, off, mode=Mode.KUEUE)
    assert (told.state, told.foreign) == ("suspended", False)


WAITS = condition("QuotaReserved", "False", "Pending")
EVICTED = condition("Evicted", reason="Preempted")
STANDINGS = {
    "inactive": replica("e", False, EVICTED, WAITS),
    "waiting, and Kueue says for what": replica("d", True, WAITS),
    "waiting behind an equal one, without a word": replica("c"),
    "being evicted": replica("b", True, condition("Admitted"), EVICTED),
    "well": replica("a", True, condition("Admitted"), condition("Evicted", "False")),
}


@pytest.mark.parametrize(("worse", "better"), list(combinations(STANDINGS, 2)))
def test_of_many_workloads_one_decides_before(worse: str, better: str) -> None:
    """By name, as without a date, each would come after those that are better off."""
    first, second = STANDINGS[worse], STANDINGS[better]
    view = KINDS[(api.LEADER_WORKER_SETS.group, api.LEADER_WORKER_SETS.kind)]
    for workloads in ((first, second), (second, first)):
        case = Case(job=of(LeaderWorkerSet), view=view, workloads=workloads)
        assert explain(case, Settings(), T0).workload == first.name


def test_C6_a_group_of_a_leaderworkerset_that_is_preempted_is_not_hidden_by_one_that_is_well() -> None:
    told = observe(of(LeaderWorkerSet), STANDINGS["well"], STANDINGS["being evicted"], mode=Mode.KUEUE)
    assert (told.state, told.cause.kind, told.cause.provenance) == ("running", "preempted", "workload")


def test_C11_6_a_pod_groups_workload_is_owned_by_its_pods() -> None:
    member = of(Pod, "p0", "p")
    group = PodGroup(metadata=member.metadata, pods=[member])
    own, other = (of(Workload, "wl", "w", ownerReferences=owned(uid, controller=False, kind="Pod")) for uid in "px")
    assert not observe(group, member, own, mode=Mode.KUEUE).foreign
    assert observe(group, member, other, mode=Mode.KUEUE).foreign


def test_C11_6_a_group_that_is_anothers_part_has_the_workload_of_its_parent() -> None:
    member = of(Pod, "lws-0", "p", annotations={"kueue.x-k8s.io/pod-suspending-parent": "leaderworkerset.x-k8s.io/x"})
    workload = of(Workload, "wl", "w", ownerReferences=owned("lws-uid", controller=False, kind="LeaderWorkerSet"))
    told = observe(PodGroup(metadata=member.metadata, pods=[member]), member, workload, mode=Mode.KUEUE)
    assert (told.foreign, told.cause.detail) == (False, "")
