"""Random lives of one gang: the real decisions, judged by a small model of their own (design §3).

The model knows the truth and counts the wait by itself. Where the controller was away it counts what the controller
cannot know: a pause that nobody saw begin and end is part of the wait.
"""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from classifier import api, clock
from classifier.instant import HOUR, MINUTE, SECOND, instant_or_none, parse_duration
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
from tests.protocol import BOUND, WRITE, Cluster

TIMEOUTS = st.sampled_from(["20m", "1h", "9h", "1m", None])
SPANS = st.sampled_from([MINUTE, 9 * MINUTE, 19 * MINUTE, SECOND, HOUR, 5 * HOUR]) | st.integers(1, HOUR)
#: What the writes of one look take at most.
SLACK = BOUND * WRITE


class Life(RuleBasedStateMachine):
    """Each rule is something that happens; then, unless it is away, the controller looks."""

    def __init__(self) -> None:
        super().__init__()
        self.cluster = Cluster()
        self.cluster.witness = self.judge
        self.pods_ready = self.gated = self.held = self.stopped = False
        self.admitted = self.started = self.deactivated = False
        self.away = False
        #: The number of this attempt, and whether an activation that ends it has yet to be seen.
        self.attempt, self.reactivated = 1, False
        #: What the controller knows: that the wait stands still, that it is over, that a person has deactivated it.
        self.pause_seen = self.start_seen = self.deactivation_seen = False
        #: The wait in this attempt up to ``counted_to``, and how long it was when a deadline was first announced.
        self.waited, self.counted_to, self.waited_before = 0, self.cluster.now, 0
        self.announced: int | None = None
        #: The least notice any deadline announced in this attempt had to leave.
        self.notice = 0

    @initialize(
        timeout=TIMEOUTS,
        notice=st.sampled_from([None, 0, 5 * MINUTE]),
        gated=st.booleans(),
        pods_ready=st.booleans(),
        away=st.booleans(),
    )
    def submit(self, timeout: str | None, notice: int | None, gated: bool, pods_ready: bool, away: bool) -> None:
        self.cluster.timeout, self.cluster.notice = timeout, notice
        self.gated, self.pods_ready, self.away = gated, pods_ready, away
        self.new_workload()
        self.look()

    # --- the truth --------------------------------------------------------------------------------------------------

    @property
    def active(self) -> bool:
        return self.cluster.workload.done().active

    @property
    def still(self) -> bool:
        """Whether the wait stands still: nobody could be admitted."""
        return not self.admitted and (self.gated or self.held or self.stopped)

    def count(self) -> None:
        """Count the time up to now."""
        unseen = (self.away and not self.pause_seen) or self.cluster.ledger() is None
        # What follows a decision counts as well, should the Workload be made anew instead of reactivated.
        if unseen or not (self.deactivated or self.started or self.still):
            self.waited += self.cluster.now - self.counted_to
        self.counted_to = self.cluster.now

    def new_workload(self) -> None:
        self.cluster.recreate()
        self.held = False
        self.cluster.workload.annotate(api.ADMISSION_GATED_BY, "example.com/gate" if self.gated else None)
        if self.pods_ready:
            self.cluster.workload.condition(api.PODS_READY, False, "WaitForStart")

    def change_workload(self) -> None:
        self.cluster.touch(self.cluster.workload)
        self.look()

    # --- the controller ---------------------------------------------------------------------------------------------

    def look(self, writes: int = BOUND) -> None:
        self.count()
        if self.away:
            return
        if writes and self.reactivated and self.active:
            self.attempt, self.reactivated, self.deactivation_seen = self.attempt + 1, False, False
            self.waited, self.announced = 0, None
        actions = self.cluster.look(writes)
        self.count()
        if not actions:
            return  # it died before the first write, which is the one that remembers
        self.pause_seen = self.still
        if self.cluster.ledger() is not None:
            self.start_seen = self.start_seen or (self.started and self.active)
            self.deactivation_seen = self.deactivated and not self.start_seen
        if isinstance(actions[-1], Rest):
            self.judge_rest()

    def judge_rest(self) -> None:
        workload, job = self.cluster.workload.done(), self.cluster.job.done()
        assert isinstance(self.cluster.decide().action, Rest)
        live, ledger = live_decision(workload), self.cluster.ledger()
        assert clock.parse_marker(workload) == live
        assert not dead_mirror(job, live)
        assert ledger is None or ledger.attempt == self.attempt
        if self.active and not self.started and workload.annotation(api.ADMISSION_DEADLINE) is not None:
            assert self.cluster.timeout is not None
            assert job.annotation(api.ADMISSION_DEADLINE) == workload.annotation(api.ADMISSION_DEADLINE)

    # --- what may be written ----------------------------------------------------------------------------------------

    def judge(self, action: Action, facts: Facts) -> None:
        self.count()
        workload, ledger = self.cluster.workload.done(), self.cluster.ledger()
        match action:
            case Commit(marker, deadline):
                self.judge_commit(marker.attempt, deadline)
            case Mirror(marker):
                assert live_decision(workload) == marker
                assert clock.settled(workload)
            case WriteOwner(annotations, _):
                if annotations.get(api.ADMISSION_OUTCOME_OF, "") is None:
                    # The mirror last: nothing dead is left on the Workload.
                    assert clock.parse_marker(workload) == live_decision(workload)
                self.judge_announcement(annotations)
            case WriteWorkload(annotations, void):
                if void is not None:
                    # The ledger first: it knows the new attempt, or the person's pause.
                    assert ledger is not None
                    assert ledger.attempt > void.attempt or ledger.paused is not None
                self.judge_announcement(annotations)

    def judge_commit(self, attempt: int, deadline: int) -> None:
        shown = self.cluster.shown()
        assert self.cluster.timeout is not None
        assert self.cluster.enforce
        assert shown == deadline <= self.cluster.now
        assert self.active
        assert not any((self.still, self.admitted, self.started))
        assert attempt == self.attempt
        assert self.waited >= parse_duration(self.cluster.timeout)
        assert self.waited - self.waited_before >= self.notice - SLACK

    def judge_announcement(self, annotations: Annotations) -> None:
        """A deadline is never earlier than the one before it, or it leaves the notice."""
        if api.ADMISSION_DEADLINE not in annotations:
            return
        deadline = instant_or_none(annotations[api.ADMISSION_DEADLINE])
        if deadline is None:
            self.announced = None
            return
        assert self.cluster.timeout is not None
        timeout = parse_duration(self.cluster.timeout)
        notice = min(timeout // 2, 10 * MINUTE) if self.cluster.notice is None else self.cluster.notice
        # One that the Workload still shows has been announced, too.
        before = self.cluster.shown() if self.announced is None and self.attempt == 1 else self.announced
        if before is None:
            assert deadline >= self.cluster.now - SLACK + notice
            self.waited_before, self.notice = self.waited, notice
        elif deadline < before:
            assert deadline >= self.cluster.now - SLACK + notice
            self.notice = min(self.notice, notice)
        self.announced = deadline

    # --- what happens -----------------------------------------------------------------------------------------------

    @rule(span=SPANS)
    def time_passes(self, span: int) -> None:
        """The heap wakes the controller at the instant it asked for."""
        end = self.cluster.now + span
        while not self.away:
            self.look()
            action = self.cluster.decide().action
            assert isinstance(action, Rest)
            if action.until is None or action.until > end:
                break
            assert action.until > self.cluster.now
            self.cluster.now = action.until
        self.cluster.now = max(self.cluster.now, end)
        self.look()

    @rule(running=st.booleans())
    def queue(self, running: bool) -> None:
        assert self.cluster.queue is not None
        self.count()
        if running is self.stopped:
            self.stopped = not running
            (self.cluster.queue.running if running else self.cluster.queue.stopped)(self.cluster.now)
        self.look()

    @precondition(lambda self: self.gated)
    @rule()
    def gate_opens(self) -> None:
        self.count()
        self.gated = False
        self.cluster.workload.annotate(api.ADMISSION_GATED_BY, None)
        self.change_workload()

    @precondition(lambda self: not self.admitted)
    @rule(on=st.booleans())
    def hold(self, on: bool) -> None:
        self.count()
        self.held = on
        self.cluster.workload.condition(api.QUOTA_RESERVED, False, api.ON_HOLD if on else "Pending")
        self.change_workload()

    @rule(timeout=TIMEOUTS)
    def policy(self, timeout: str | None) -> None:
        self.count()
        self.cluster.timeout = timeout
        self.look()

    @rule(on=st.booleans())
    def fence(self, on: bool) -> None:
        self.cluster.enforce = on
        self.look()

    @rule(away=st.booleans())
    def controller(self, away: bool) -> None:
        self.count()
        self.away = away
        self.look()

    @rule(writes=st.integers(0, 3))
    def crash(self, writes: int) -> None:
        """The next thing to happen finds the world as a controller left it that died between two writes."""
        self.away = False
        self.look(writes)
        self.away = True

    @precondition(lambda self: self.active and not self.admitted and not self.still)
    @rule()
    def admit(self) -> None:
        self.count()
        self.admitted = True
        self.started = self.started or not self.pods_ready
        self.cluster.workload.condition(api.QUOTA_RESERVED, True).condition(api.ADMITTED, True)
        self.cluster.job.spec["suspend"] = False
        self.cluster.touch(self.cluster.job)
        self.change_workload()

    @precondition(lambda self: self.pods_ready and self.admitted)
    @rule()
    def pods_become_ready(self) -> None:
        self.count()
        self.started = True
        self.cluster.workload.condition(api.PODS_READY, True, "Started")
        self.change_workload()

    @precondition(lambda self: self.admitted)
    @rule()
    def evict(self) -> None:
        self.leave("Preempted") if self.started else self.leave(api.PODS_READY_TIMEOUT, api.WAIT_FOR_START)
        self.change_workload()

    def leave(self, reason: str, cause: str = "") -> None:
        """Admitted no more."""
        self.count()
        self.admitted = False
        self.cluster.workload.condition(api.QUOTA_RESERVED, False).condition(api.ADMITTED, False).evicted(reason, cause)
        if self.pods_ready:
            self.cluster.workload.condition(api.PODS_READY, False, "WaitForStart")
        self.cluster.job.spec["suspend"] = True
        self.cluster.touch(self.cluster.job)

    @rule(active=st.booleans())
    def person(self, active: bool) -> None:
        """Deactivates or reactivates."""
        self.count()
        if active is self.active:
            return
        if active:
            self.activated(clock.parse_marker(self.cluster.workload.done()))
        elif self.admitted:
            # Kueue stops it. That it had not started can no longer be told: in doubt it has.
            self.leave("Deactivated")
            self.started = True
        self.deactivated = not active
        self.cluster.activate(active)
        self.look()

    def activated(self, marker: clock.Marker | None) -> None:
        over_a_decision = marker is not None and marker.attempt == self.attempt
        self.reactivated = self.reactivated or self.deactivation_seen or over_a_decision

    @precondition(lambda self: not self.admitted)
    @rule()
    def workload_is_made_anew(self) -> None:
        self.count()
        # A start that nobody saw is forgotten with the Workload that showed its traces.
        self.started = self.start_seen
        if not self.active:
            self.activated(None)
        self.deactivated = False
        self.new_workload()
        self.look()

    def teardown(self) -> None:
        """Whatever happened: back in the queue under a policy it is ended, and says so, unless it had started."""
        self.away, self.cluster.enforce = False, True
        self.look()
        if self.admitted:
            self.evict()
        self.person(True)
        self.queue(True)
        if self.gated:
            self.gate_opens()
        self.hold(False)
        # Longer than what was shown before, so that the move is seen, too.
        self.policy("10h")
        self.time_passes(30 * HOUR)
        live = live_decision(self.cluster.workload.done())
        assert (live is None) is self.started
        told = self.cluster.job.done().annotation(api.ADMISSION_OUTCOME)
        assert told == (api.OUTCOME_TIMED_OUT if live else None)


TestLife = Life.TestCase
TestLife.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
