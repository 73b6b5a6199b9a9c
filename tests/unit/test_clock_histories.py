"""Random lives of one gang: the real decisions, judged by a small model of their own (design §3).

The model knows the truth and counts the length of the wait, where the clock keeps an origin; it reads no condition. It
follows the clock in what the controller could not know: it learns what is true only when the controller looks.
"""

import os

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from classifier import api, clock
from classifier.clock import Gap, Standing
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
LEVELS = st.sampled_from(["job", "LocalQueue", "ClusterQueue", "profile", "Namespace", "default"])
SPANS = st.sampled_from([MINUTE, 9 * MINUTE, 19 * MINUTE, SECOND, HOUR, 5 * HOUR]) | st.integers(1, HOUR)
#: ``make chaos`` plays more.
LIVES = int(os.environ.get("MUSTER_LIVES", "60"))
#: What the writes of one look take at most.
SLACK = BOUND * WRITE
ON, OFF = True, False


class Life(RuleBasedStateMachine):
    """Each rule is something that happens; then, unless it is away, the controller looks."""

    def __init__(self) -> None:
        super().__init__()
        self.cluster = Cluster(timeout=None)
        self.cluster.witness = self.judge
        # The truth: what holds the gang back, since when it can be told, how far it is.
        self.pods_ready = self.gated = self.held = self.stopped = False
        self.queue_changed = self.created = self.left = self.cluster.now
        self.admitted = self.ready = self.deactivated = False
        #: In this wait: it has started; it left an admission in a way that leaves open whether it had.
        self.started = self.doubtful = False
        #: When Kueue put it back after a stop, and whether it has yet to.
        self.put_back, self.to_put_back = 0, False
        # What the controller knows.
        self.away, self.away_since = False, 0
        self.remembered = self.over = self.once = self.deactivation_seen = False
        self.attempt, self.reactivated = 1, False
        #: The wait in this attempt, which began at ``begun``, as long as it was at ``counted_to``; and what of it is
        #: a pause since then: its queue, "" where nothing dates its end.
        self.waited, self.counted_to, self.begun = 0, self.cluster.now, self.cluster.now
        self.pause: str | None = None
        # What was announced in this attempt, as the length of the wait, which no pause moves: how long it may be, and
        # how long it is at least, for the notice that is owed.
        self.announced: int | None = None
        self.owed = 0

    @initialize(
        timeout=TIMEOUTS,
        notice=st.sampled_from([None, 0, 5 * MINUTE]),
        gated=st.booleans(),
        pods_ready=st.booleans(),
        away=st.booleans(),
        restart=st.booleans(),
    )
    def submit(
        self, timeout: str | None, notice: int | None, gated: bool, pods_ready: bool, away: bool, restart: bool
    ) -> None:
        self.cluster.timeout, self.cluster.notice = timeout, notice
        self.cluster.requeue = "Restart" if restart else "None"
        self.gated, self.pods_ready, self.away = gated, pods_ready, away
        self.away_since = self.cluster.now
        self.new_workload()
        self.look()

    # --- the truth --------------------------------------------------------------------------------------------------

    @property
    def active(self) -> bool:
        return self.cluster.workload.done().active

    @property
    def marked(self) -> bool:
        return live_decision(self.cluster.workload.done()) is not None

    @property
    def hold(self) -> bool:
        """Dispatch holds it: its word alone stops nothing, nor does it beside a decision, which was made over it."""
        held = self.cluster.workload.done().annotation(clock.HOLD) is not None
        return held and not self.active and not self.marked

    @property
    def restart(self) -> bool:
        return self.cluster.requeue == "Restart"

    @property
    def bound(self) -> int | None:
        """The timeout as design §3 has it."""
        said, caps = self.cluster.said, self.cluster.caps
        order = ("job", "LocalQueue", "ClusterQueue", "profile", "Namespace", "default")
        found = [parse_duration(said[level]) for level in order if said.get(level)]
        return min(found[0], *map(parse_duration, caps.values())) if found and caps else next(iter(found), None)

    def reason(self) -> str | None:
        """Why it stands still: nobody could be admitted. "" where nothing dates the end of it."""
        if self.hold:
            return ""
        if self.admitted or not self.active:
            return None
        if self.gated or self.held:
            return ""
        return "gpu" if self.stopped else None

    def new_workload(self) -> None:
        self.cluster.recreate()
        self.created = self.cluster.now
        self.held = self.started = self.doubtful = self.to_put_back = False
        self.cluster.workload.annotate(api.ADMISSION_GATED_BY, "example.com/gate" if self.gated else None)
        if self.pods_ready:
            self.cluster.workload.condition(api.PODS_READY, OFF, api.WAIT_FOR_START, self.cluster.now)

    def passes(self) -> None:
        """Kubernetes dates in whole seconds: no two changes of one condition in the same one."""
        self.cluster.now += SECOND

    def change_workload(self) -> None:
        self.cluster.touch(self.cluster.workload)
        self.look()

    # --- what the controller learns ---------------------------------------------------------------------------------

    def elapsed(self) -> int:
        return self.waited if self.pause is not None else self.waited + self.cluster.now - self.counted_to

    def count(self, to: int) -> None:
        if self.pause is None:
            self.waited += to - self.counted_to
        self.counted_to = to

    def begin(self, at: int, now: int) -> None:
        """A new attempt, whose wait began ``at``."""
        self.attempt += 1
        self.begun, self.waited, self.counted_to, self.pause = at, now - at, now, None
        self.reactivated = self.deactivation_seen = self.over = False
        self.announced = None

    def learn(self, now: int) -> None:
        """What this look tells, in the order in which things happen to a wait."""
        gap = self.cluster.unseen
        if not self.remembered:
            self.begun = self.counted_to = self.created
            self.waited, self.pause = 0, None
        if self.active and self.reactivated:
            self.begin(now, now)
        if not self.marked:
            self.follow(now)
        if gap is not None and self.pause is None and not self.over and not self.marked and not self.deactivation_seen:
            # Not counted twice: what a new attempt began after is not of its wait.
            self.waited -= max(0, min(gap.until, now) - max(gap.since, self.begun))
        if self.over or self.marked or self.deactivation_seen:
            return
        if not self.active and not self.hold:
            self.deactivation_seen = True
            return
        reason = self.reason()
        if self.once and not self.restart and (self.active or self.hold):
            return  # nobody counts it
        if reason is not None and self.pause is None:
            dated = {"gpu": self.queue_changed}.get(reason, self.created if self.gated and not self.hold else now)
            self.count(min(max(dated, self.begun), now))
            self.waited = max(0, self.waited)  # a gate since its creation has the gap in it
        elif reason is None and self.pause is not None:
            ended = self.queue_changed if self.pause == "gpu" and not self.stopped else now
            self.counted_to, self.pause = max(ended, self.counted_to), None
        self.pause = reason
        if reason is None:
            self.count(now)

    def follow(self, now: int) -> None:
        if not self.over and self.doubtful and not self.started:
            # Either answer will do: in doubt it has, but an attempt that is not the first may know better.
            ledger = self.reading().ledger
            self.started = ledger is not None and (ledger.over or ledger.attempt > self.attempt)
            self.doubtful = False
        if self.started and not self.over:
            self.over = self.once = True
            self.pause, self.deactivation_seen = None, False
            self.reactivated = False  # that wait is over, too
        waits = self.active and not self.admitted and not self.to_put_back
        if self.over and self.restart and waits:
            back = max(self.left, self.put_back, self.created)
            self.started = False
            self.begin(back, now)

    def reading(self) -> clock.Reading:
        return self.cluster.decide().reading

    # --- the controller ---------------------------------------------------------------------------------------------

    def look(self, writes: int = BOUND) -> None:
        if self.away:
            return
        if writes and (self.remembered or self.bound is not None):
            self.learn(self.cluster.now)
            self.remembered = True
        self.cluster.look(writes)
        if writes == BOUND:
            self.judge_rest()

    def judge_rest(self) -> None:
        workload, job = self.cluster.workload.done(), self.cluster.job.done()
        decision = self.cluster.decide()
        assert isinstance(decision.action, Rest)
        live, ledger, reading = live_decision(workload), self.cluster.ledger(), decision.reading
        assert clock.parse_marker(workload) == live
        assert not dead_mirror(job, live)
        assert (ledger is not None) is self.remembered
        if ledger is None:
            return
        assert ledger.attempt == self.attempt
        assert ledger.over is self.over
        assert (ledger.started is not None) is self.once
        if reading.standing in clock.BOUND:
            until = self.cluster.now if ledger.paused is None else ledger.paused
            assert abs(until - ledger.origin - self.elapsed()) <= SLACK
            shown = workload.annotation(api.ADMISSION_DEADLINE)
            assert (shown is not None) is (self.bound is not None)
            assert job.annotation(api.ADMISSION_DEADLINE) == shown
        if reading.standing is Standing.WAITING and self.bound is not None and reading.policy_at is not None:
            assert abs(reading.policy_at - self.cluster.now - self.bound + self.elapsed()) <= SLACK
        if self.over and self.active and not self.admitted and not self.to_put_back:
            # What nobody enforces is not shown.
            assert workload.annotation(api.ADMISSION_DEADLINE) is None

    # --- what may be written ----------------------------------------------------------------------------------------

    def judge(self, action: Action, facts: Facts) -> None:
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
                    # The ledger first: it knows the new attempt, the person's pause, or the start.
                    assert ledger is not None
                    assert ledger.attempt > void.attempt or ledger.paused is not None or ledger.over
                self.judge_announcement(annotations)

    def judge_commit(self, attempt: int, deadline: int) -> None:
        shown = self.cluster.shown()
        assert self.bound is not None
        assert self.cluster.enforce
        assert self.cluster.now >= self.cluster.not_before
        assert shown == deadline <= self.cluster.now
        assert self.active
        assert self.reason() is None
        assert not self.admitted
        assert not self.started
        assert self.restart or not self.once
        assert attempt == self.attempt
        assert self.elapsed() >= self.bound
        assert self.elapsed() >= self.owed - SLACK

    def judge_announcement(self, annotations: Annotations) -> None:
        """A deadline is never earlier than the one before it, or it leaves the notice."""
        if api.ADMISSION_DEADLINE not in annotations:
            return
        deadline = instant_or_none(annotations[api.ADMISSION_DEADLINE])
        if deadline is None:
            self.announced = None
            return
        assert self.bound is not None
        notice = min(self.bound // 2, 10 * MINUTE) if self.cluster.notice is None else self.cluster.notice
        if self.announced is None or self.length(deadline) < self.announced - SLACK:
            assert deadline >= self.cluster.now - SLACK + notice
            owed = self.elapsed() + notice
            self.owed = owed if self.announced is None else min(self.owed, owed)
        self.announced = self.length(deadline)

    def length(self, deadline: int) -> int:
        """How long the wait will be at a deadline, should nothing more hold it back."""
        return self.elapsed() + deadline - (self.cluster.now if self.pause is None else self.counted_to)

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

    @rule(running=st.booleans(), drain=st.booleans())
    def queue(self, running: bool, drain: bool) -> None:
        assert self.cluster.queue is not None
        if running is not self.stopped:
            return
        self.passes()
        self.stopped, self.queue_changed = not running, self.cluster.now
        (self.cluster.queue.running if running else self.cluster.queue.stopped)(self.cluster.now)
        if self.admitted and not running and drain:
            self.leave("LocalQueueStopped")
        elif running:
            self.requeue("LocalQueueStopped", "LocalQueueRestarted")
        self.change_workload()

    @precondition(lambda self: self.gated)
    @rule()
    def gate_opens(self) -> None:
        self.gated = False
        self.cluster.workload.annotate(api.ADMISSION_GATED_BY, None)
        self.change_workload()

    @precondition(lambda self: not self.admitted)
    @rule(on=st.booleans())
    def kueue_holds(self, on: bool) -> None:
        self.held = on
        self.cluster.workload.condition(api.QUOTA_RESERVED, OFF, api.ON_HOLD if on else "Pending")
        self.change_workload()

    @precondition(lambda self: not self.marked)
    @rule(on=st.booleans())
    def dispatch_holds(self, on: bool) -> None:
        """Its marker and ``active`` in one patch."""
        if on is self.hold or on is not self.active:
            return
        self.passes()
        self.cluster.workload.annotate(clock.HOLD, "7" if on else None)
        self.activate(not on)

    @rule(level=LEVELS, timeout=TIMEOUTS)
    def policy(self, level: str, timeout: str | None) -> None:
        self.cluster.said = {k: v for k, v in self.cluster.said.items() if k != level}
        if timeout is not None:
            self.cluster.said[level] = timeout
        self.look()

    @rule(level=st.sampled_from(["LocalQueue", "profile", "default"]), cap=TIMEOUTS)
    def cap(self, level: str, cap: str | None) -> None:
        self.cluster.caps = {k: v for k, v in self.cluster.caps.items() if k != level}
        if cap is not None:
            self.cluster.caps[level] = cap
        self.look()

    @rule(restart=st.booleans())
    def requeue_policy(self, restart: bool) -> None:
        self.cluster.requeue = "Restart" if restart else "None"
        self.look()

    @rule(on=st.booleans())
    def fence(self, on: bool) -> None:
        self.cluster.enforce = on
        self.look()

    @rule(span=st.sampled_from([0, 5 * MINUTE]))
    def grace(self, span: int) -> None:
        self.cluster.not_before = self.cluster.now + span
        self.look()

    @rule(span=SPANS)
    def clock_steps(self, span: int) -> None:
        """The API server's time jumps, which starts a grace: it counts as time, but ends nothing at once."""
        self.cluster.now += span
        self.cluster.not_before = self.cluster.now + 5 * MINUTE
        self.look()

    @rule(away=st.booleans())
    def controller(self, away: bool, writes: int = BOUND) -> None:
        if away and not self.away:
            self.away_since = self.cluster.now
        if self.away and not away:
            self.cluster.unseen = None
        if self.away and not away and not self.stopped and self.queue_changed > self.away_since:
            self.cluster.unseen = Gap(self.away_since, self.queue_changed)
        self.away = away
        self.look(writes)

    @rule(writes=st.integers(0, 3))
    def crash(self, writes: int) -> None:
        """The next thing to happen finds the world as a controller left it that died between two writes."""
        self.controller(False, writes)
        self.away, self.away_since = True, self.cluster.now

    @precondition(lambda self: self.active and not self.admitted and self.reason() is None)
    @rule()
    def admit(self) -> None:
        self.passes()
        self.admitted, self.ready = True, False
        self.started = self.started or not self.pods_ready
        at = self.cluster.now
        self.cluster.workload.condition(api.QUOTA_RESERVED, ON, at=at).condition(api.ADMITTED, ON, at=at)
        self.cluster.workload.condition(api.EVICTED, OFF, "QuotaReserved", at)
        self.cluster.job.spec["suspend"] = False
        self.cluster.touch(self.cluster.job)
        self.change_workload()

    @precondition(lambda self: self.pods_ready and self.admitted)
    @rule(ready=st.booleans())
    def pods(self, ready: bool) -> None:
        """They become ready, or fail and are waited for again."""
        if ready is self.ready:
            return
        self.passes()
        self.ready = ready
        self.started = True
        reason = "Started" if ready else api.WAIT_FOR_RECOVERY
        self.cluster.workload.condition(api.PODS_READY, ready, reason, self.cluster.now)
        self.change_workload()

    @precondition(lambda self: self.admitted)
    @rule(preempted=st.booleans())
    def evict(self, preempted: bool) -> None:
        self.passes()
        cause = api.WAIT_FOR_RECOVERY if self.started else api.WAIT_FOR_START
        self.leave("Preempted") if preempted else self.leave(api.PODS_READY_TIMEOUT, cause)
        self.change_workload()

    def leave(self, reason: str, cause: str = "") -> None:
        """Admitted no more. That it had not started can be told of a timeout of its pods alone."""
        at, workload = self.cluster.now, self.cluster.workload
        if not self.started and reason != api.PODS_READY_TIMEOUT:
            self.doubtful = True
        self.admitted = self.ready = False
        self.left, self.put_back = at, 0
        workload.condition(api.QUOTA_RESERVED, OFF, "Pending", at).condition(api.ADMITTED, OFF, at=at)
        workload.condition(api.EVICTED, ON, reason, at).evicted(reason, cause)
        workload.condition(api.REQUEUED, reason == "Preempted", reason, at)
        self.to_put_back = reason in ("Deactivated", "LocalQueueStopped")
        if self.pods_ready and self.was_ready():
            workload.condition(api.PODS_READY, OFF, api.WAIT_FOR_START, at)
        self.cluster.job.spec["suspend"] = True
        self.cluster.touch(self.cluster.job)

    def was_ready(self) -> bool:
        ready = self.cluster.workload.done().condition(api.PODS_READY)
        return ready is not None and (ready.true or ready.reason == api.WAIT_FOR_RECOVERY)

    def requeue(self, stopped_by: str, word: str) -> None:
        """Kueue puts it back after it had stopped it itself."""
        requeued = self.cluster.workload.done().condition(api.REQUEUED)
        if requeued is not None and not requeued.true and requeued.reason == stopped_by:
            self.cluster.workload.condition(api.REQUEUED, ON, word, self.cluster.now)
            self.put_back, self.to_put_back = self.cluster.now, False

    @rule(active=st.booleans())
    def person(self, active: bool) -> None:
        """Deactivates or reactivates."""
        if active is self.active:
            return
        self.passes()
        if active:
            marker = clock.parse_marker(self.cluster.workload.done())
            over_a_decision = marker is not None and marker.attempt == self.attempt
            self.reactivated = self.reactivated or self.deactivation_seen or over_a_decision
        self.activate(active)

    def activate(self, active: bool) -> None:
        if not active and self.admitted:
            self.leave("Deactivated")  # Kueue stops it
        if active:
            self.requeue("Deactivated", "Reactivated")
        self.cluster.activate(active)
        self.look()

    @precondition(lambda self: not self.admitted)
    @rule()
    def workload_is_made_anew(self) -> None:
        self.passes()
        # A start that nobody saw is forgotten with the Workload that showed its traces; so is who reactivated it over a
        # decision. A deactivation that was seen stands in the ledger.
        self.reactivated = self.deactivation_seen and (self.reactivated or not self.active)
        self.new_workload()
        self.left = self.put_back = 0
        self.look()

    def teardown(self) -> None:
        """Whatever happened: back in the queue under a policy it is ended, and says so, unless it had started.

        Reactivated it says so no more, and waits anew: at random that happens in few lives.
        """
        self.controller(False)
        self.cluster.enforce, self.cluster.not_before = True, 0
        if self.admitted:
            self.evict(True)
        if self.hold:
            self.dispatch_holds(False)
        self.person(True)
        self.queue(True, False)
        if self.gated:
            self.gate_opens()
        self.kueue_holds(False)
        # Longer than what was shown before, so that the move is seen, too.
        self.cluster.said, self.cluster.caps = {"job": "10h"}, {}
        self.time_passes(30 * HOUR)
        live = live_decision(self.cluster.workload.done())
        assert (live is None) is (self.once and not self.restart)
        told = self.cluster.job.done().annotation(api.ADMISSION_OUTCOME)
        assert told == (api.OUTCOME_TIMED_OUT if live else None)
        self.person(True)
        assert live_decision(self.cluster.workload.done()) is None
        assert self.cluster.job.done().annotation(api.ADMISSION_OUTCOME) is None


TestLife = Life.TestCase
TestLife.settings = settings(max_examples=LIVES, stateful_step_count=30, deadline=None)
