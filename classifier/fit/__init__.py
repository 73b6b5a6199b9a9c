"""Can this gang ever run here? (design §4, reference/capacity.md §3)"""

from classifier.fit.judge import judge, judge_waiting
from classifier.fit.skip import why_not_judged_waiting
from classifier.fit.supplied.supply import Supply
from classifier.fit.verdict import Binding, Mode, Outcome, PodSetVerdict, Verdict
from classifier.fit.world import World

__all__ = [
    "Binding",
    "Mode",
    "Outcome",
    "PodSetVerdict",
    "Supply",
    "Verdict",
    "World",
    "judge",
    "judge_waiting",
    "why_not_judged_waiting",
]
