"""The worlds that are explored: each in full within its bound, those of ``DEEP`` in ``make chaos``.

In all of them there are two controllers that both believe to lead, Kueue's scheduler with its old copies, Kueue's
other controllers, and a crash at any step as often as one likes. Of the rest ``Left`` says how much. After the last
tick of the ``horizon`` only what must happen goes on (``ending``).
"""

from typing import Final

from classifier.instant import SECOND
from tests.exploration.decisions import Settings
from tests.exploration.world import Left, Setting

_CLEANUP: Final = Settings(ttl=1)

#: Those of the tests.
SHORT: Final = {
    "two reactivations and a lost answer": Setting(Left(losses=1, reactivations=2), horizon=2),
    "a watch that lags over a reactivation": Setting(Left(lags=1, reactivations=1), horizon=1),
    "a person who reactivates and then pauses": Setting(Left(losses=1, reactivations=1, pauses=1), horizon=1),
    "a job or its Workload deleted, edited, submitted again": Setting(
        Left(deletions=1, edits=1, removals=1, resubmissions=1), horizon=1
    ),
    "admission checks and a preemption": Setting(Left(reactivations=1, preemptions=1), checks=True, horizon=1),
    "two clocks": Setting(Left(losses=1, reactivations=1), horizon=1, behind=SECOND),
    "a cleanup with a lost answer": Setting(Left(losses=1, reactivations=1), _CLEANUP, horizon=2),
    "a cleanup of what comes to life again": Setting(Left(deletions=1, lettings=1), _CLEANUP, horizon=2),
}

#: Small ones, whose situations are put before the real code.
FAITHFUL: Final = {
    "deadlines": Setting(Left(lags=1, reactivations=1), horizon=1),
    "pauses and deletions": Setting(Left(deletions=1, pauses=1), horizon=1),
    "cleanups": Setting(Left(lettings=1, lags=1), _CLEANUP, horizon=2),
}

#: Each by itself takes minutes.
DEEP: Final = {
    "two reactivations, a lost answer, a watch that lags": Setting(Left(losses=1, lags=1, reactivations=2), horizon=2),
    "three requests lost, two reactivations": Setting(Left(losses=3, reactivations=2), horizon=2),
    "a pause while watches lag": Setting(Left(lags=2, reactivations=1, pauses=1), horizon=1),
    "everything deleted while a watch lags": Setting(
        Left(losses=1, lags=1, deletions=1, edits=1, removals=1, resubmissions=1), horizon=1
    ),
    "checks and a preemption with a lost answer": Setting(
        Left(losses=1, lags=1, reactivations=1, preemptions=1), checks=True, horizon=2
    ),
    # All of this in one world is tens of millions of states, and more memory than a machine for tests has.
    "a cleanup of what is reactivated while a watch lags": Setting(
        Left(lags=1, reactivations=1, deletions=1), _CLEANUP, horizon=2
    ),
    "a cleanup of what is let go while a watch lags": Setting(
        Left(lags=1, deletions=1, lettings=1), _CLEANUP, horizon=2
    ),
    "a cleanup of what is reactivated and let go": Setting(
        Left(lags=1, reactivations=1, lettings=1), _CLEANUP, horizon=2
    ),
}
