"""The next step for one Workload: one guarded write at a time, in the order of the protocol (design §3)."""

import msgspec
import pytest

from classifier import api, clock
from classifier.clock import Gap, Ledger, Marker
from classifier.instant import HOUR, MINUTE, format_instant
from classifier.names import workload_names
from controller.cleanup import PATIENCE, CommitCleanup, Delete, Rules
from controller.decide import (
    Action,
    Annotations,
    Commit,
    Facts,
    Mirror,
    Rest,
    WriteOwner,
    WriteWorkload,
    dead_mirror,
    live_decision,
)
from tests.builders import T0, job
from tests.protocol import Cluster

DAY = 24 * HOUR
TIMEOUT = 30 * MINUTE
UID = "uid-of-train"
MARKER = Marker(T0 + HOUR, 1, "uid-of-job-train-1a2b3")


def kinds(actions: list[Action]) -> list[str]:
    return [type(action).__name__ for action in actions]


def waiting() -> Cluster:
    """A wait whose deadline is shown."""
    cluster = Cluster()
    cluster.look()
    return cluster


def committed() -> Cluster:
    """A wait that was ended, and its job says so."""
    cluster = waiting()
    cluster.now = T0 + TIMEOUT
    cluster.look()
    return cluster


def mirror_keys(cluster: Cluster) -> set[str]:
    return {key for key in api.MIRROR_KEYS if cluster.job.done().annotation(key) is not None}


# --- one wait, from its first look to its end -----------------------------------------------------------------------


def test_a_wait_is_announced_on_the_job_and_then_on_the_workload() -> None:
    cluster = Cluster()
    ledger, deadline, rest = cluster.look()
    at = format_instant(T0 + TIMEOUT)
    assert ledger == WriteOwner(
        {api.ADMISSION_CLOCK: clock.format_ledger(Ledger(UID, T0)), api.ADMISSION_DEADLINE: at}, None
    )
    assert deadline == WriteWorkload({api.ADMISSION_DEADLINE: at}, None)
    assert rest == Rest(until=T0 + TIMEOUT)


def test_the_deadline_is_enforced_at_its_instant_in_one_patch_and_then_mirrored() -> None:
    cluster = waiting()
    cluster.now = T0 + TIMEOUT - 1
    assert cluster.look() == [Rest(until=T0 + TIMEOUT)]
    cluster.now = T0 + TIMEOUT
    marker = Marker(T0 + TIMEOUT, 1, "uid-of-job-train-1a2b3")
    assert cluster.look() == [Commit(marker, T0 + TIMEOUT), Mirror(marker), Rest()]
    assert live_decision(cluster.workload.done()) == marker
    assert mirror_keys(cluster) == {api.ADMISSION_OUTCOME, api.ADMISSION_OUTCOME_OF, api.ADMISSION_MESSAGE}


def test_a_job_without_a_policy_is_never_written() -> None:
    cluster = Cluster(timeout=None)
    before = (cluster.job.raw(), cluster.workload.raw())
    for now in (T0, T0 + DAY):
        cluster.now = now
        assert cluster.look() == [Rest()]
    assert (cluster.job.raw(), cluster.workload.raw()) == before


def test_an_admission_between_read_and_write_conflicts_and_nothing_is_written() -> None:
    cluster = waiting()
    cluster.now = T0 + TIMEOUT
    facts = cluster.facts()
    commit = cluster.decide(facts).action
    cluster.workload.condition(api.QUOTA_RESERVED, True).condition(api.ADMITTED, True)
    cluster.touch(cluster.workload)
    before = cluster.workload.raw()
    assert isinstance(commit, Commit)
    assert not cluster.carry_out(commit, facts)
    assert cluster.workload.raw() == before
    cluster.look()
    assert cluster.workload.done().active
    assert mirror_keys(cluster) == set()


def test_without_the_fence_the_deadline_is_reported_and_not_enforced() -> None:
    cluster = waiting()
    cluster.now = T0 + TIMEOUT
    cluster.enforce = False
    assert cluster.look() == [Rest(overdue=True)]
    cluster.enforce = True
    assert kinds(cluster.look()) == ["Commit", "Mirror", "Rest"]


def test_in_a_recovery_grace_the_deadline_is_reported_until_the_grace_ends() -> None:
    cluster = waiting()
    cluster.now = T0 + TIMEOUT
    cluster.not_before = T0 + HOUR
    assert cluster.look() == [Rest(until=T0 + HOUR, overdue=True)]
    cluster.now = T0 + HOUR
    assert kinds(cluster.look()) == ["Commit", "Mirror", "Rest"]


def test_quota_reserved_with_checks_pending_is_ended_and_mirrored_once_kueue_has_let_go() -> None:
    cluster = waiting()
    cluster.workload.condition(api.QUOTA_RESERVED, True)
    cluster.touch(cluster.workload)
    cluster.now = T0 + TIMEOUT
    assert kinds(cluster.look()) == ["Commit", "Rest"]
    cluster.workload.condition(api.QUOTA_RESERVED, False)
    cluster.touch(cluster.workload)
    assert kinds(cluster.look()) == ["Mirror", "Rest"]


def test_a_job_that_is_not_suspended_yet_is_not_told_that_it_timed_out() -> None:
    cluster = waiting()
    cluster.job.spec["suspend"] = False
    cluster.now = T0 + TIMEOUT
    assert kinds(cluster.look()) == ["Commit", "Rest"]
    cluster.job.spec["suspend"] = True
    assert kinds(cluster.look()) == ["Mirror", "Rest"]


def test_a_mirror_that_somebody_took_away_is_completed() -> None:
    cluster = committed()
    for keys in (api.MIRROR_KEYS, [api.ADMISSION_OUTCOME_OF]):
        for key in keys:
            cluster.job.annotate(key, None)
        cluster.look()
        assert api.ADMISSION_OUTCOME_OF in mirror_keys(cluster)
        assert cluster.look() == [Rest()]


def test_a_new_copy_of_the_workload_after_a_decision_ends_again_by_its_own_decision() -> None:
    cluster = committed()
    cluster.recreate()
    actions = cluster.look()
    assert kinds(actions) == ["WriteWorkload", "WriteOwner", "Commit", "Mirror", "Rest"]
    live = live_decision(cluster.workload.done())
    assert live is not None
    assert dead_mirror(cluster.job.done(), live) == {}


# --- void -----------------------------------------------------------------------------------------------------------


def test_reactivation_voids_in_this_order_ledger_workload_mirror() -> None:
    cluster = committed()
    decision = live_decision(cluster.workload.done())
    cluster.now = T0 + DAY
    cluster.activate(True)
    ledger, workload_patch, mirror, rest = cluster.look()
    at = format_instant(T0 + DAY + TIMEOUT)
    new = clock.format_ledger(Ledger(UID, T0 + DAY, attempt=2))
    assert ledger == WriteOwner({api.ADMISSION_CLOCK: new, api.ADMISSION_DEADLINE: at}, void=decision)
    assert workload_patch == WriteWorkload({api.ADMISSION_DEADLINE: at, api.COMMITTED: None}, void=decision)
    assert mirror == WriteOwner(
        {api.ADMISSION_OUTCOME: None, api.ADMISSION_OUTCOME_OF: None, api.ADMISSION_MESSAGE: None}, unmirror=True
    )
    assert rest == Rest(until=T0 + DAY + TIMEOUT)


def test_a_second_attempt_ends_by_its_own_decision() -> None:
    cluster = committed()
    cluster.activate(True)
    cluster.look()
    cluster.now += TIMEOUT
    cluster.look()
    live = live_decision(cluster.workload.done())
    assert live is not None
    assert live.attempt == 2
    assert cluster.job.done().annotation(api.ADMISSION_OUTCOME_OF) == f"{live.uid}/2"


@pytest.mark.parametrize("crash_after", range(6))
def test_a_crash_between_any_two_writes_of_a_void_is_completed(crash_after: int) -> None:
    cluster = committed()
    cluster.activate(True)
    cluster.look(writes=crash_after)
    cluster.now += MINUTE
    cluster.look()
    ledger = cluster.ledger()
    assert ledger is not None
    assert ledger.attempt == 2
    assert cluster.workload.done().annotation(api.COMMITTED) is None
    assert mirror_keys(cluster) == set()
    assert cluster.shown() == ledger.origin + TIMEOUT


@pytest.mark.parametrize("crash_after", range(5))
def test_a_crash_between_any_two_writes_of_a_wait_is_completed(crash_after: int) -> None:
    cluster = Cluster()
    cluster.look(writes=crash_after)
    cluster.look()
    cluster.now = T0 + TIMEOUT
    cluster.look(writes=crash_after)
    cluster.look()
    live = live_decision(cluster.workload.done())
    assert live is not None
    assert live.at == T0 + TIMEOUT
    assert dead_mirror(cluster.job.done(), live) == {}
    assert cluster.look() == [Rest()]


def test_a_decision_whose_writer_was_forgotten_stays_as_it_is() -> None:
    """Kubernetes puts the oldest of more than ten writers together: that is nobody's pause, and undoes nothing."""
    cluster = committed()
    shown = mirror_keys(cluster)
    cluster.workload.active(False, "ancient-changes")
    cluster.touch(cluster.workload)
    assert cluster.look() == [Rest()]
    assert mirror_keys(cluster) == shown != set()
    assert cluster.workload.done().annotation(api.COMMITTED) is not None
    cluster.activate(True)
    cluster.look()
    ledger = cluster.ledger()
    assert ledger is not None
    assert ledger.attempt == 2


@pytest.mark.parametrize("crash_after", range(4))
def test_a_decision_that_a_person_took_over_unseen_is_void_and_their_resumption_a_new_attempt(
    crash_after: int,
) -> None:
    cluster = committed()
    cluster.activate(True)
    cluster.activate(False)  # both before the controller looked again: managedFields name the person
    assert live_decision(cluster.workload.done()) is None
    cluster.look(writes=crash_after)
    cluster.look()
    assert cluster.workload.done().annotation(api.COMMITTED) is None
    assert mirror_keys(cluster) == set()
    assert cluster.look() == [Rest()]
    cluster.activate(True)
    cluster.look()
    ledger = cluster.ledger()
    assert ledger is not None
    assert ledger.attempt == 2


@pytest.mark.parametrize("crash_after", range(1, 4))
def test_a_reactivation_right_after_a_crash_in_such_a_void_is_a_new_attempt_all_the_same(crash_after: int) -> None:
    cluster = committed()
    cluster.activate(True)
    cluster.activate(False)
    cluster.look(writes=crash_after)
    cluster.activate(True)
    cluster.look()
    ledger = cluster.ledger()
    assert ledger is not None
    assert ledger.attempt == 2


def test_a_hold_after_a_crash_in_a_void_is_a_pause_of_the_attempt_that_the_ledger_has_begun() -> None:
    cluster = committed()
    cluster.activate(True)
    cluster.look(writes=1)
    for held in (True, False):
        cluster.workload.annotate(clock.HOLD, "7" if held else None)
        cluster.activate(not held)
        cluster.look()
    ledger = cluster.ledger()
    assert ledger is not None
    assert (ledger.attempt, ledger.paused) == (2, None)


def test_a_deadline_of_the_attempt_before_that_a_crash_left_on_the_workload_is_no_notice_of_the_next() -> None:
    cluster = committed()
    cluster.timeout = None
    cluster.activate(True)
    cluster.look(writes=1)  # the job alone says that another attempt has begun, and shows no deadline
    assert cluster.shown() == T0 + TIMEOUT
    cluster.now = T0 + DAY
    cluster.timeout = "30m"
    actions = cluster.look()
    assert kinds(actions) == ["WriteOwner", "WriteWorkload", "WriteOwner", "Rest"]
    assert cluster.shown() == T0 + DAY + 10 * MINUTE


def test_a_workload_that_a_person_deactivated_is_left_alone() -> None:
    cluster = waiting()
    cluster.activate(False)
    cluster.look()
    cluster.now = T0 + DAY
    assert cluster.look() == [Rest()]
    assert mirror_keys(cluster) == set()


def test_a_reactivation_after_the_policy_is_gone_still_voids() -> None:
    cluster = committed()
    cluster.timeout = None
    cluster.activate(True)
    cluster.look()
    assert cluster.workload.done().annotation(api.COMMITTED) is None
    assert cluster.shown() is None
    assert mirror_keys(cluster) == set()


# --- policies -------------------------------------------------------------------------------------------------------


def test_a_shorter_policy_reaches_the_workload_though_every_write_takes_its_time() -> None:
    cluster = Cluster(timeout="4h")
    cluster.look()
    cluster.now = T0 + HOUR
    cluster.timeout = "30m"
    assert kinds(cluster.look()) == ["WriteOwner", "WriteWorkload", "Rest"]
    assert cluster.shown() == T0 + HOUR + 10 * MINUTE


def test_a_new_attempt_with_a_notice_above_its_timeout_reaches_the_workload() -> None:
    cluster = Cluster(timeout="1m", notice=10 * MINUTE)
    cluster.look()
    cluster.activate(False)
    cluster.look()
    cluster.now = T0 + HOUR
    cluster.activate(True)
    assert kinds(cluster.look()) == ["WriteOwner", "WriteWorkload", "Rest"]
    assert cluster.shown() == T0 + HOUR + 10 * MINUTE


def test_a_policy_that_is_taken_away_takes_its_deadlines_with_it() -> None:
    cluster = waiting()
    cluster.timeout = None
    assert cluster.look() == [
        WriteOwner({api.ADMISSION_DEADLINE: None}),
        WriteWorkload({api.ADMISSION_DEADLINE: None}),
        Rest(),
    ]


def test_a_submit_time_stamp_whose_policy_is_gone_before_the_first_look_is_removed() -> None:
    cluster = Cluster(timeout=None)
    cluster.job.annotate(api.ADMISSION_DEADLINE, format_instant(T0 + HOUR))
    assert cluster.look() == [WriteOwner({api.ADMISSION_DEADLINE: None}), Rest()]


def test_what_the_policy_cannot_say_is_handed_on_as_a_warning() -> None:
    cluster = Cluster(timeout="soon")
    decision = cluster.decide()
    assert decision.action == Rest()
    assert "Namespace/team" in decision.warnings[0]


def test_fifty_jobs_that_waited_for_days_are_each_ended_after_their_notice_and_not_before() -> None:
    for _ in range(50):
        cluster = Cluster(timeout=None)
        cluster.now = T0 + 3 * DAY
        cluster.job.annotate(api.ADMISSION_CLOCK, clock.format_ledger(Ledger(UID, T0)))
        cluster.timeout = "30m"
        announced = cluster.look()
        assert kinds(announced) == ["WriteOwner", "WriteWorkload", "Rest"]
        cluster.now = T0 + 3 * DAY + 10 * MINUTE - 1
        assert kinds(cluster.look()) == ["Rest"]
        cluster.now += 1
        assert kinds(cluster.look()) == ["Commit", "Mirror", "Rest"]


# --- pods of a group ------------------------------------------------------------------------------------------------


def group_of(cluster: Cluster, *lagging: Annotations) -> Facts:
    """The cluster's job as the group of two pods that show what it shows, each under its own uid, but for these."""
    facts = cluster.facts()
    members = []
    for number in range(2):
        pod = job(f"pod-{number}")
        for key, value in (facts.owner.metadata.annotations or {}).items():
            pod.annotate(key, value)
        ledger = cluster.ledger()
        if ledger is not None:
            own = msgspec.structs.replace(ledger, uid=f"uid-of-pod-{number}")
            pod.annotate(api.ADMISSION_CLOCK, clock.format_ledger(own))
        for key, lag in (lagging[number] if number < len(lagging) else {}).items():
            pod.annotate(key, lag)
        members.append(pod.done())
    return msgspec.structs.replace(facts, members=tuple(members))


def test_a_group_whose_pods_show_all_that_is_wanted_rests() -> None:
    cluster = waiting()
    assert cluster.decide(group_of(cluster)).action == Rest(until=T0 + TIMEOUT)


@pytest.mark.parametrize("key", [api.ADMISSION_CLOCK, api.ADMISSION_DEADLINE])
def test_a_group_is_written_while_one_pod_lags(key: str) -> None:
    cluster = waiting()
    action = cluster.decide(group_of(cluster, {}, {key: None})).action
    assert isinstance(action, WriteOwner)
    assert action.annotations == {key: cluster.job.done().annotation(key)}


def test_a_pod_with_the_ledger_of_another_pod_lags() -> None:
    cluster = waiting()
    copied = cluster.job.done().annotation(api.ADMISSION_CLOCK)
    assert copied is not None
    action = cluster.decide(group_of(cluster, {}, {api.ADMISSION_CLOCK: copied})).action
    assert isinstance(action, WriteOwner)
    assert set(action.annotations) == {api.ADMISSION_CLOCK}


def test_a_group_is_mirrored_until_the_last_pod_says_so() -> None:
    cluster = committed()
    live = live_decision(cluster.workload.done())
    assert live is not None
    assert cluster.decide(group_of(cluster)).action == Rest()
    assert cluster.decide(group_of(cluster, {}, dict.fromkeys(api.MIRROR_KEYS))).action == Mirror(live)


def test_a_dead_mirror_on_one_pod_is_taken_off() -> None:
    cluster = waiting()
    action = cluster.decide(group_of(cluster, {api.ADMISSION_OUTCOME_OF: "dead/1"})).action
    assert action == WriteOwner({api.ADMISSION_OUTCOME_OF: None}, unmirror=True)


# --- cleanup --------------------------------------------------------------------------------------------------------

RULES = Rules(minimum=10 * MINUTE)


def ended(ttl: str = "1h") -> Cluster:
    """A wait that was ended and mirrored, of a Job that is to be deleted so long after."""
    cluster = Cluster(cleanup=RULES, ttl=ttl)
    cluster.workload.label(api.JOB_UID, UID)
    cluster.workload.metadata(name=next(iter(workload_names("train", UID, "Job", "batch"))))
    cluster.look()
    cluster.now = T0 + TIMEOUT
    return cluster


def test_cleanup_is_announced_committed_and_carried_out_one_write_at_a_time() -> None:
    cluster = ended()
    commit, mirror, announced, rest = cluster.look()
    assert isinstance(commit, Commit)
    assert mirror == Mirror(commit.marker)
    assert isinstance(announced, WriteOwner)
    delete_at = commit.marker.at + HOUR
    assert announced.annotations[api.DELETE_AFTER] == format_instant(delete_at)
    assert rest == Rest(delete_at)
    cluster.now = delete_at
    assert cluster.look() == [CommitCleanup(commit.marker, delete_at), Delete(commit.marker, delete_at)]
    assert cluster.deleted


def test_without_the_fence_or_in_a_grace_nothing_is_deleted() -> None:
    cluster = ended()
    cluster.look()
    cluster.now += DAY
    cluster.enforce = False
    assert cluster.look() == [Rest(cluster.now + PATIENCE)]
    cluster.enforce, cluster.not_before = True, cluster.now + HOUR
    assert cluster.look() == [Rest(cluster.not_before)]


def test_a_cleanup_whose_policy_is_gone_is_withdrawn() -> None:
    cluster = ended()
    cluster.look()
    cluster.workload.annotate(api.CLEANUP_COMMITTED, format_instant(cluster.now + HOUR))
    cluster.touch(cluster.workload)
    cluster.ttl = None
    assert kinds(cluster.look()) == ["WriteOwner", "WriteWorkload", "Rest"]
    assert cluster.workload.done().annotation(api.CLEANUP_COMMITTED) is None


def test_a_reactivated_workload_does_not_keep_the_second_decision() -> None:
    cluster = ended()
    cluster.look()
    cluster.workload.annotate(api.CLEANUP_COMMITTED, format_instant(cluster.now))
    cluster.activate(True)
    cluster.look()
    assert cluster.workload.done().annotation(api.CLEANUP_COMMITTED) is None
    assert mirror_keys(cluster) == set()


def test_why_a_job_is_kept_is_handed_on() -> None:
    cluster = ended()
    cluster.workload.label(api.JOB_UID, "another")
    cluster.look()
    kept = cluster.decide().kept
    assert kept is not None
    assert "names another job" in kept


# --- what the clock is told -----------------------------------------------------------------------------------------


def test_a_hold_over_a_decision_that_nobody_saw_undone_ends_with_a_new_attempt() -> None:
    cluster = committed()
    cluster.activate(True)
    cluster.workload.annotate(clock.HOLD, "7")
    cluster.activate(False)  # all of it before the controller looked again
    cluster.look()
    assert cluster.workload.done().annotation(api.COMMITTED) is None
    cluster.workload.annotate(clock.HOLD, None)
    cluster.activate(True)
    cluster.look()
    ledger = cluster.ledger()
    assert ledger is not None
    assert ledger.attempt == 2


def ran(cluster: Cluster) -> Cluster:
    """Admitted a minute after it came, and preempted an hour after."""
    cluster.look()
    cluster.workload.condition(api.ADMITTED, True, at=T0 + MINUTE)
    cluster.now = T0 + MINUTE
    cluster.look()
    cluster.workload.condition(api.ADMITTED, False, at=T0 + HOUR).evicted("Preempted")
    cluster.touch(cluster.workload)
    cluster.now = T0 + HOUR
    return cluster


def test_a_deadline_that_bounds_nothing_any_more_is_taken_off_both() -> None:
    gone: Annotations = {api.ADMISSION_DEADLINE: None}
    assert ran(Cluster()).look() == [WriteOwner(gone), WriteWorkload(gone), Rest()]


def test_where_the_profile_says_restart_it_is_bounded_again() -> None:
    cluster = Cluster()
    cluster.requeue = "Restart"
    ran(cluster).look()
    assert cluster.ledger() == Ledger(UID, T0 + HOUR, attempt=2, started=T0 + MINUTE)
    assert cluster.shown() == T0 + HOUR + TIMEOUT


def test_a_gap_that_nobody_watched_is_taken_out_once() -> None:
    cluster = waiting()
    cluster.now = T0 + HOUR
    cluster.unseen = Gap(T0 + MINUTE, T0 + 50 * MINUTE)
    cluster.look()
    assert cluster.ledger() == Ledger(UID, T0 + 49 * MINUTE)
    assert cluster.shown() == T0 + 49 * MINUTE + TIMEOUT
