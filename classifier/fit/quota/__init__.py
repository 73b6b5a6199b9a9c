"""Quota as Kueue sees it: how much a queue may ever use, what a gang needs of it, and what stands in its way."""

from classifier.fit.quota.assignment import Assignment, Demand, Shortage, assignments, impossible
from classifier.fit.quota.chain import ChainFault, chain_faults, no_quota
from classifier.fit.quota.coverage import touched_groups, with_pods
from classifier.fit.quota.selector import selects
from classifier.fit.quota.tree import UNLIMITED, QuotaTree

__all__ = [
    "UNLIMITED",
    "Assignment",
    "ChainFault",
    "Demand",
    "QuotaTree",
    "Shortage",
    "assignments",
    "chain_faults",
    "impossible",
    "no_quota",
    "selects",
    "touched_groups",
    "with_pods",
]
