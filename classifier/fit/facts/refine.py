"""Several statements on one pool made one: the largest counts for a denial, a disagreement is drift."""

from collections.abc import Iterable
from typing import NamedTuple

from classifier.fit.facts.fact import Backoff, PoolFacts


class Maximum(NamedTuple):
    """The most nodes a pool may have and which object says so; None, None: nobody does, so nothing bounds it."""

    nodes: int | None
    source: str | None


def refined_max(declared: int | None, source: str, facts: Iterable[PoolFacts], now: int | None = None) -> Maximum:
    """The largest figure of ``declared`` (by ``source``) and the facts, whatever its age.

    Where nothing is declared only facts that bind, and are fresh at ``now``, make a bound; the others still raise it.
    Without ``now`` facts only raise.
    """
    facts = tuple(facts)
    if declared is None and (now is None or not any(_is_bound(fact, now) for fact in facts)):
        return Maximum(None, None)
    most = Maximum(declared, source if declared is not None else None)
    for fact in facts:
        for figure in (fact.max_nodes, fact.target, fact.nodes):
            if figure is not None and (most.nodes is None or figure > most.nodes):
                most = Maximum(figure, fact.source)
    return most


def _is_bound(fact: PoolFacts, now: int) -> bool:
    return fact.binds and not fact.soft and fact.max_nodes is not None and fact.fresh(now)


def backoff_of(facts: Iterable[PoolFacts], now: int) -> Backoff | None:
    """The backoff that holds at ``now``, by a fresh source."""
    return next((fact.backoff for fact in facts if fact.backoff is not None and fact.fresh(now)), None)


def drift_of(declared: int | None, facts: Iterable[PoolFacts], now: int) -> str | None:
    """How a declared maximum differs from what autoscalers say; None where it does not, or nobody knows."""
    for fact in facts:
        if declared is None or fact.max_nodes is None or not fact.fresh(now):
            continue
        # A sum that lacks a group is at least that much: only too large a one contradicts.
        if fact.max_nodes > declared or (fact.binds and fact.max_nodes != declared):
            return f"maxNodes is {declared}, {fact.source} says {fact.max_nodes}"
    return None
