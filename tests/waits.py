"""A wait as the clock sees it: a Workload, its job and its queue, looked at again and again."""

from typing import Any

from classifier import api, clock
from classifier.clock import Gap, Ledger, Reading, Rules
from classifier.instant import HOUR, MINUTE, format_instant
from classifier.policy import Timeout
from tests.builders import LocalQueueBuilder, job, local_queue, workload

DAY = 24 * HOUR
#: The uid of ``job()``.
UID = "uid-of-train"
TIMEOUT = 30 * MINUTE
#: What half of TIMEOUT, at most 10 min, comes to.
NOTICE = 10 * MINUTE


def show(builder: Any, deadline: int | None = None, ledger: Ledger | None = None) -> Any:
    """The object with the deadline and the ledger it shows."""
    if deadline is not None:
        builder.annotate(api.ADMISSION_DEADLINE, format_instant(deadline))
    if ledger is not None:
        builder.annotate(api.ADMISSION_CLOCK, clock.format_ledger(ledger))
    return builder


class Wait:
    """A Workload, its job and its queue, read again and again; each look writes what the reading asks for."""

    def __init__(self, timeout: int | None = TIMEOUT, notice: int | None = None) -> None:
        self.workload = workload()
        self.job = job()
        self.queue: LocalQueueBuilder | None = local_queue().running()
        self.timeout = timeout
        self.notice = notice
        self.restart = False
        self.unseen: Gap | None = None

    def read(self, now: int) -> Reading:
        timeout = None if self.timeout is None else Timeout(self.timeout, "default")
        queue = self.queue.done() if self.queue else None
        rules = Rules(self.notice, self.restart)
        return clock.read(self.workload.done(), self.job.done(), queue, timeout, now, rules, self.unseen)

    def look(self, now: int) -> Reading:
        reading = self.read(now)
        if reading.ledger is not None:
            show(self.job, reading.deadline, reading.ledger)
            show(self.workload, reading.deadline)
        return reading

    def recreate(self, now: int) -> None:
        """As Kueue does: the same name, another uid, active, nothing of ours on it."""
        self.workload = workload().created(now).metadata(uid=f"uid-at-{now}")


def gated(wait: Wait, on: bool, _: int) -> None:
    wait.workload.annotate(api.ADMISSION_GATED_BY, "example.com/quota" if on else None)


def on_hold(wait: Wait, on: bool, _: int) -> None:
    wait.workload.condition(api.QUOTA_RESERVED, False, api.ON_HOLD if on else "Pending")


def stopped(wait: Wait, on: bool, now: int) -> None:
    assert wait.queue is not None
    (wait.queue.stopped if on else wait.queue.running)(now)


def missing(wait: Wait, on: bool, _: int) -> None:
    wait.queue = None if on else local_queue().running()


def without_status(wait: Wait, on: bool, _: int) -> None:
    wait.queue = local_queue() if on else local_queue().running()
