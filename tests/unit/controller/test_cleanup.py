"""What becomes of a job after its wait was ended: announced, committed, deleted, or kept and why (design §3)."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from classifier import api, clock
from classifier.clock import Marker
from classifier.instant import HOUR, MINUTE, SECOND, format_instant
from classifier.names import workload_names
from classifier.objects import Meta, Pod, PodGroup, Workload
from classifier.policy import Policies
from classifier.report.message import timed_out_message
from classifier.state.kinds import KINDS, KindView, podgroup
from controller import cleanup
from controller.cleanup import CommitCleanup, Delete, Mark, Plan, Rules, Wait, Withdraw, parse_mark
from tests.builders import T0, Builder, JobBuilder, job, local_queue, workload

UID = "uid-of-train"
TTL = 30 * MINUTE
TRACKING = "argocd.argoproj.io/tracking-id"
RULES = Rules(10 * MINUTE, (Mark(TRACKING), Mark("example.com/managed", "yes")))
DUE = T0 + TTL


class Facts(msgspec.Struct, frozen=True):
    workload: Workload
    owner: Meta
    view: KindView
    policies: Policies
    members: tuple[Meta, ...] = ()
    requests: tuple[str, ...] = ()


class Case:
    """A Job whose wait was ended and mirrored at T0, in a queue that says a time to live."""

    def __init__(self, ttl: str | None = "30m") -> None:
        self.ttl = ttl
        (name,) = workload_names("train", UID, "Job", "batch")
        self.workload = workload(name).label(api.JOB_UID, UID)
        self.marker = Marker(T0, 1, f"uid-of-{name}")
        self.workload.annotate(api.COMMITTED, clock.format_marker(self.marker))
        self.workload.active(False, api.CONTROLLER_MANAGER)
        self.owner: JobBuilder = job()
        self.requests: tuple[str, ...] = ()
        self.rules: Rules | None = RULES

    def facts(self) -> Facts:
        queue = local_queue().annotate(api.TTL_AFTER_TIMEOUT, self.ttl).done()
        owner = self.owner.done()
        return Facts(self.workload.done(), owner, KINDS["batch", "Job"], Policies(queue), (), self.requests)

    def plan(self, now: int = T0) -> Plan:
        return cleanup.plan(self.facts(), self.marker, self.rules, now)

    def amend(self, now: int = T0) -> None:
        for key, value in cleanup.amend(self.facts(), self.marker, self.plan(now)).items():
            self.owner.annotate(key, value)
        assert cleanup.amend(self.facts(), self.marker, self.plan(now)) == {}

    def step(self, now: int) -> cleanup.Step | None:
        self.amend(now)
        return cleanup.next_step(self.facts(), self.marker, self.plan(now), now)

    def commit(self, at: int = DUE) -> None:
        self.step(at - 10 * MINUTE)
        assert self.step(at) == CommitCleanup(self.marker, at)
        self.workload.annotate(api.CLEANUP_COMMITTED, format_instant(at))

    def shown(self) -> str | None:
        return self.owner.done().annotation(api.DELETE_AFTER)

    def message(self) -> str:
        return self.owner.done().annotation(api.ADMISSION_MESSAGE) or ""


# --- announced, committed, deleted ----------------------------------------------------------------------------------


def test_it_is_announced_with_the_decision_and_told_in_the_message() -> None:
    case = Case()
    assert case.step(T0 + SECOND) == Wait(DUE)
    assert case.shown() == format_instant(DUE)
    assert f"to be deleted at {format_instant(DUE)} unless reactivated before" in case.message()


def test_two_steps_when_its_time_has_come() -> None:
    case = Case()
    case.step(T0)
    assert case.step(DUE - 1) == Wait(DUE)
    case.commit()
    assert case.step(DUE) == Delete(case.marker, DUE)


@pytest.mark.parametrize("committed", [False, True])
def test_where_nobody_can_tell_any_more_who_paused_it_it_is_kept(committed: bool) -> None:
    case = Case()
    if committed:
        case.commit()
    case.workload.active(False, "ancient-changes")
    assert case.step(DUE) == (cleanup.Withdraw() if committed else None)
    assert case.shown() is None
    assert "to tell who paused it" in case.message()
    assert cleanup.unproven(case.facts()) is not None


def test_without_a_policy_nothing_is_written_and_nothing_deleted() -> None:
    case = Case(ttl=None)
    before = case.owner.raw()
    for now in (T0, T0 + 100 * 24 * HOUR):
        assert case.step(now) is None
    assert case.owner.raw() == before


def test_a_policy_that_comes_late_announces_before_it_deletes() -> None:
    case = Case()
    late = T0 + 10 * HOUR
    assert case.step(late) == Wait(late + 10 * MINUTE)
    assert case.step(late + 10 * MINUTE - 1) == Wait(late + 10 * MINUTE)
    case.commit(late + 10 * MINUTE)


def test_who_takes_the_announcement_away_gets_a_new_one() -> None:
    case = Case()
    case.step(T0)
    case.owner.annotate(api.DELETE_AFTER, None)
    assert case.step(DUE) == Wait(DUE + 10 * MINUTE)


def test_a_longer_time_to_live_moves_it_and_takes_a_second_decision_back() -> None:
    case = Case()
    case.commit()
    case.ttl = "2h"
    assert case.step(DUE) == Withdraw()
    assert case.shown() == format_instant(T0 + 2 * HOUR)
    case.workload.annotate(api.CLEANUP_COMMITTED, None)
    assert case.step(DUE) == Wait(T0 + 2 * HOUR)


def test_a_shorter_one_moves_it_but_not_before_a_notice() -> None:
    case = Case("10h")
    case.step(T0)
    case.ttl = "20m"
    assert case.step(T0 + HOUR) == Wait(T0 + HOUR + 10 * MINUTE)


def test_a_policy_that_goes_takes_announcement_message_and_second_decision_back() -> None:
    case = Case()
    case.commit()
    case.ttl = None
    assert case.step(DUE) == Withdraw()
    assert case.shown() is None
    assert "deleted" not in case.message()
    case.workload.annotate(api.CLEANUP_COMMITTED, None)
    assert case.step(DUE) is None


def test_switched_off_deletes_nothing_and_says_that_the_policy_has_no_effect() -> None:
    case = Case()
    case.step(T0)
    case.rules = None
    assert case.step(DUE) is None
    assert case.shown() is None
    assert case.plan().warnings == ("ttl-after-timeout has no effect: the chart's cleanup.enabled is false",)
    case.ttl = None
    assert case.plan().warnings == ()


def test_a_second_decision_stands_whatever_the_clock_of_who_finds_it() -> None:
    """Two controllers' clocks differ: what one committed in time the other completes, though to it it is early."""
    case = Case()
    case.commit()
    assert case.step(DUE - MINUTE) == Delete(case.marker, DUE)


@pytest.mark.parametrize("text", ["", "soon", format_instant(T0 - 1), format_instant(DUE - 1)])
def test_a_second_decision_that_was_not_made_for_this_one_is_taken_back(text: str) -> None:
    case = Case()
    case.workload.annotate(api.CLEANUP_COMMITTED, text)
    assert case.step(DUE) == Withdraw()


# --- nothing that runs, or may run ----------------------------------------------------------------------------------


def unsuspended(case: Case) -> None:
    case.owner.spec["suspend"] = False


def reserved(case: Case) -> None:
    case.workload.condition(api.QUOTA_RESERVED, True)


def admitted(case: Case) -> None:
    case.workload.condition(api.ADMITTED, True)


def reactivated(case: Case) -> None:
    case.workload.active(True)


def goes(case: Case) -> None:
    case.workload.metadata(deletionTimestamp=format_instant(T0))


@pytest.mark.parametrize("change", [unsuspended, reserved, admitted, reactivated, goes])
@pytest.mark.parametrize("committed", [False, True])
def test_what_is_not_at_rest_is_left_alone(change: Any, committed: bool) -> None:
    case = Case()
    case.step(T0)
    if committed:
        case.commit()
    change(case)
    assert case.step(DUE) is None


# --- kept, and said so ----------------------------------------------------------------------------------------------


def controlled(case: Case) -> None:
    parent = {"apiVersion": "batch/v1", "kind": "CronJob", "name": "nightly", "uid": "u", "controller": True}
    case.owner.metadata(ownerReferences=[parent])


def tracked(case: Case) -> None:
    case.owner.annotate(TRACKING, "app:batch/Job:team/train")


def labelled(case: Case) -> None:
    case.owner.label(TRACKING, "app")


def valued(case: Case) -> None:
    case.owner.label("example.com/managed", "yes")


def prebuilt(case: Case) -> None:
    case.owner.annotate(api.PREBUILT_WORKLOAD, case.workload.done().name)


def prebuilt_by_label(case: Case) -> None:
    case.owner.label(api.PREBUILT_WORKLOAD, case.workload.done().name)


def renamed(case: Case) -> None:
    case.workload.metadata(name="job-train-00000")


def of_another_uid(case: Case) -> None:
    case.owner.metadata(uid="uid-of-a-new-train")


def labelled_for_another(case: Case) -> None:
    case.workload.label(api.JOB_UID, "uid-of-another")


def unlabelled(case: Case) -> None:
    del case.workload._raw["metadata"]["labels"]


def uncontrolled(case: Case) -> None:
    (reference,) = case.workload.raw()["metadata"]["ownerReferences"]
    case.workload.metadata(ownerReferences=[{**reference, "controller": False}])


def of_another_kind(case: Case) -> None:
    (reference,) = case.workload.raw()["metadata"]["ownerReferences"]
    case.workload.metadata(ownerReferences=[{**reference, "apiVersion": "example.com/v1"}])


def completed(case: Case) -> None:
    case.owner.condition("Complete", True)


def finished(case: Case) -> None:
    case.workload.condition(api.FINISHED, True)


KEPT = {
    controlled: "CronJob/nightly controls it and would make it again",
    tracked: f"it carries {TRACKING}: whoever keeps it would make it again",
    labelled: f"it carries {TRACKING}: whoever keeps it would make it again",
    valued: "it carries example.com/managed: whoever keeps it would make it again",
    prebuilt: "its Workload is prebuilt",
    prebuilt_by_label: "its Workload is prebuilt",
    renamed: "does not bear the name that Kueue gives",
    of_another_uid: "it does not control Workload",
    labelled_for_another: "names another job",
    unlabelled: "names another job",
    uncontrolled: "it does not control Workload",
    of_another_kind: "it does not control Workload",
    completed: "it has ended",
    finished: "it has ended",
}


@pytest.mark.parametrize(("change", "why"), KEPT.items(), ids=[change.__name__ for change in KEPT])
def test_what_would_come_back_or_is_not_proven_is_kept_and_the_job_says_why(change: Any, why: str) -> None:
    case = Case()
    case.step(T0)
    change(case)
    assert case.step(DUE) is None
    assert case.shown() is None
    assert f"not deleted by Muster: {case.plan(DUE).kept}" in case.message()
    assert why in case.message()


@pytest.mark.parametrize("change", KEPT, ids=[change.__name__ for change in KEPT])
def test_it_is_kept_even_after_the_second_decision_which_is_taken_back(change: Any) -> None:
    case = Case()
    case.commit()
    change(case)
    assert case.step(DUE) == Withdraw()


def test_without_a_policy_nobody_is_told_that_a_job_is_kept() -> None:
    case = Case(ttl=None)
    tracked(case)
    assert case.plan(DUE).kept is None


def test_another_value_of_a_mark_that_names_one_is_no_mark() -> None:
    case = Case()
    case.owner.label("example.com/managed", "no")
    assert case.step(T0) == Wait(DUE)


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        ("example.com/a", Mark("example.com/a")),
        ("a=b", Mark("a", "b")),
        ("a=", Mark("a", "")),
        ("a=b=c", Mark("a", "b=c")),
    ],
)
def test_marks_as_the_values_write_them(text: str, mark: Mark) -> None:
    assert parse_mark(text) == mark


@pytest.mark.parametrize("text", ["", "=b", "a b", " a"])
def test_what_is_no_mark(text: str) -> None:
    with pytest.raises(ValueError, match="neither KEY nor KEY=VALUE"):
        parse_mark(text)


# --- pod groups and Workloads alone ---------------------------------------------------------------------------------


def pod(name: str, group: str = "gang", *, gated: bool = True) -> Builder[Pod]:
    builder = Builder(Pod, api.PODS, name, "team").annotate(api.POD_GROUP_NAME, group)
    builder.spec["schedulingGates"] = [{"name": "kueue.x-k8s.io/admission"}] if gated else []
    return builder


def group_facts(*pods: Builder[Pod], owners: tuple[str, ...] = ("a", "b"), mark: str | None = "true") -> Facts:
    made = workload("gang").annotate(api.GROUP_WORKLOAD, mark).active(False, api.CONTROLLER_MANAGER)
    made.annotate(api.COMMITTED, clock.format_marker(Marker(T0, 1, "uid-of-gang")))
    references = [{"apiVersion": "v1", "kind": "Pod", "name": name, "uid": f"uid-of-{name}"} for name in owners]
    made.metadata(ownerReferences=references)
    members = tuple(each.done() for each in pods)
    queue = local_queue().annotate(api.TTL_AFTER_TIMEOUT, "30m").done()
    return Facts(made.done(), members[0], podgroup.VIEW, Policies(queue), members)


def why_kept(facts: Facts) -> str:
    return cleanup.unproven(facts) or ""


def test_a_group_is_proven_by_its_name_its_mark_and_its_pods_uids() -> None:
    assert cleanup.unproven(group_facts(pod("a"), pod("b"))) is None
    # A pod that is gone already takes nothing away; a crash in the middle of a deletion leaves this.
    assert cleanup.unproven(group_facts(pod("b"))) is None
    assert why_kept(group_facts(pod("a"), pod("b", group="other"))) == "pod b is of another group than Workload gang"
    assert why_kept(group_facts(pod("a"), pod("c"))) == "pod c does not own Workload gang"
    assert why_kept(group_facts(pod("a"), mark=None)) == "Workload gang is not that of a group of pods"
    assert why_kept(group_facts(pod("a"), pod("b", gated=False))) == "pod b was let go"


def test_a_group_of_which_a_pod_is_left_out_is_kept() -> None:
    facts = group_facts(pod("a"))
    everyone = [pod("a").done(), pod("b").done()]
    facts = msgspec.structs.replace(facts, owner=PodGroup(metadata=facts.owner.metadata, pods=everyone))
    assert why_kept(facts) == "pod b refuses what its group is told"
    leaving = pod("b").metadata(deletionTimestamp="2026-11-29T10:00:00Z").done()
    facts = msgspec.structs.replace(facts, owner=PodGroup(metadata=facts.owner.metadata, pods=[everyone[0], leaving]))
    assert cleanup.unproven(facts) is None


def test_every_pod_of_a_group_is_told() -> None:
    told = pod("a").annotate(api.DELETE_AFTER, format_instant(DUE))
    facts = group_facts(told, pod("b"))
    wanted = cleanup.plan(facts, Marker(T0, 1, "uid-of-gang"), RULES, T0)
    assert wanted.delete_after == DUE
    assert api.DELETE_AFTER in cleanup.amend(facts, Marker(T0, 1, "uid-of-gang"), wanted)


def test_the_latest_announcement_on_a_group_holds() -> None:
    announced = {"a": DUE, "b": DUE + MINUTE}
    pods = [pod(name).annotate(api.DELETE_AFTER, format_instant(at)) for name, at in announced.items()]
    wanted = cleanup.plan(group_facts(*pods), Marker(T0, 1, "uid-of-gang"), RULES, DUE)
    assert wanted.delete_after == DUE + MINUTE


def test_a_pod_of_a_group_that_something_keeps_keeps_all() -> None:
    facts = group_facts(pod("a"), pod("b").annotate(TRACKING, "app"))
    assert (cleanup.plan(facts, Marker(T0, 1, "uid-of-gang"), RULES, T0).kept or "").startswith("it carries")


def test_a_workload_that_nobody_made_is_its_own_owner() -> None:
    alone = workload("mine").metadata(ownerReferences=[]).done()
    facts = Facts(alone, alone, KINDS["batch", "Job"], Policies())
    assert cleanup.unproven(facts) is None
    orphan = workload("mine").metadata(ownerReferences=[]).label(api.JOB_UID, "gone").done()
    assert "made of something that is not there" in why_kept(Facts(orphan, orphan, facts.view, Policies()))


# --- leftovers ------------------------------------------------------------------------------------------------------


def test_a_request_that_stays_is_told_after_a_while_and_no_more_once_it_is_gone() -> None:
    case = Case(ttl=None)
    case.requests = ("job-train-check-1",)
    assert case.step(T0) == Wait(T0 + cleanup.PATIENCE)
    assert case.message() == ""
    assert case.step(T0 + cleanup.PATIENCE) is None
    assert "still there, may buy nodes: ProvisioningRequest job-train-check-1;" in case.message()
    case.requests = ()
    case.step(T0 + cleanup.PATIENCE)
    plain = timed_out_message(workload=case.workload.done().name, namespace="team", at=T0, waited=None)
    assert case.message() == plain


def test_leftovers_do_not_hold_up_a_deletion() -> None:
    case = Case()
    case.requests = ("left",)
    assert case.step(T0) == Wait(T0 + cleanup.PATIENCE)
    assert case.step(T0 + cleanup.PATIENCE) == Wait(DUE)
    case.commit()
    assert case.step(DUE) == Delete(case.marker, DUE)


# --- histories ------------------------------------------------------------------------------------------------------

CHANGES = [unsuspended, reserved, reactivated, controlled, tracked, prebuilt, of_another_uid, completed]


#: A policy, and what passes before each look under it.
POLICIES = st.tuples(
    st.sampled_from([None, "20m", "30m", "2h", "soon"]), st.lists(st.integers(0, 2 * HOUR), min_size=1, max_size=4)
)


@given(st.lists(POLICIES, min_size=1, max_size=5), st.just(set[Any]()) | st.sets(st.sampled_from(CHANGES)))
def test_nothing_is_deleted_before_it_was_shown_nor_what_may_not_be(
    policies: list[tuple[str | None, list[int]]], changes: set[Any]
) -> None:
    """Whatever policies do: a deletion was shown before, is committed, is not early, and of a job that may go."""
    case, now = Case(), T0
    first_shown: dict[str, int] = {}
    for change in changes:
        change(case)
    for ttl, pause in ((ttl, pause) for ttl, pauses in policies for pause in pauses):
        now += pause
        case.ttl = ttl
        step = case.step(now)
        if (shown := case.shown()) is not None:
            first_shown.setdefault(shown, now)
        if isinstance(step, CommitCleanup):
            case.workload.annotate(api.CLEANUP_COMMITTED, format_instant(step.at))
        elif isinstance(step, Withdraw):
            case.workload.annotate(api.CLEANUP_COMMITTED, None)
        if isinstance(step, CommitCleanup | Delete):
            assert not changes
            assert shown is not None
            assert now >= T0 + 20 * MINUTE
            assert format_instant(now) >= shown
            assert ttl not in (None, "soon")
