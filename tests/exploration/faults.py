"""What the protocol stands on, each taken away: the law that breaks then, and what the shortest history shows of it."""

from typing import Final, NamedTuple

from tests.exploration.decisions import Settings
from tests.exploration.world import Left, Rules, Setting


class Fault(NamedTuple):
    """``steps`` are in the history, in this order."""

    setting: Setting
    broken: str
    steps: tuple[str, ...]


FAULTS: Final = {
    "the fence": Fault(
        Setting(rules=Rules(fence=False)),
        "a committed Workload is admitted",
        ("scheduler pops the Workload", "is served with Commit", "scheduler reserves quota"),
    ),
    "the commit's resourceVersion": Fault(
        Setting(rules=Rules(commit_version=False)),
        "an admitted Workload is ended",
        ("scheduler reserves quota", "is served with Commit"),
    ),
    "the second look at the clock": Fault(
        Setting(rules=Rules(second_look=False)),
        "an admitted Workload is ended",
        ("decides Commit", "scheduler reserves quota", "has its turn and sends Commit", "is served with Commit"),
    ),
    "a job's copy as new as the Workload's": Fault(
        Setting(Left(lags=1, reactivations=1), rules=Rules(job_look=False)),
        "a decision of attempt 1 ends attempt 2",
        ("a person reactivates", "watch of Jobs falls behind", "is served with Commit"),
    ),
    "the look before the mirror": Fault(
        Setting(Left(lags=1, reactivations=1), rules=Rules(settled_look=False)),
        "an event of a decision that was not live",
        ("a person reactivates", "watch of Workloads falls behind", "decides Mirror", "tells the event"),
    ),
    "the event before the mirror": Fault(
        Setting(rules=Rules(event=False)),
        "a decision without its event",
        ("decides Mirror", "is served with WriteMirror"),
    ),
    "the look at what ran since the decision": Fault(
        Setting(Left(lettings=1), Settings(ttl=1), horizon=2, rules=Rules(ran_look=False)),
        "a job that ran since the decision is deleted",
        ("is served with Commit", "lets the job go", "Kueue stops the job", "is served with Delete"),
    ),
    "the look before the deletion": Fault(
        Setting(Left(lags=1, deletions=1), Settings(ttl=1), horizon=2, rules=Rules(cleanup_look=False)),
        "a job is deleted without a committed cleanup",
        ("is served with CommitCleanup", "a person deletes the Workload", "decides Delete", "is served with Delete"),
    ),
    "the deletion's preconditions": Fault(
        Setting(Left(deletions=1), Settings(ttl=1), horizon=2, rules=Rules(delete_guards=False)),
        "a job that runs is deleted",
        ("is served with CommitCleanup", "decides Delete", "Kueue lets the job go", "is served with Delete"),
    ),
}
