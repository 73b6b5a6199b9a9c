"""What autoscalers and nodes tell of declared pools (reference/capacity.md §2); pure, one source a module.

    sources = Sources(world)                       # once a state; sources.current(world) says whether it still holds
    facts = sources.of(pool)                       # by source, each with its age
    refined_max(pool.max_nodes, source, facts)     # the larger figure wins, whatever its age
    backoff_of(facts, now)                         # for a warning

No fact ever lowers a bound. Garbage says nothing: no text and no object raises here.
"""

from classifier.fit.facts.fact import Backoff, PoolFacts
from classifier.fit.facts.refine import Maximum, backoff_of, drift_of, refined_max
from classifier.fit.facts.sources import Sources, Told

__all__ = ["Backoff", "Maximum", "PoolFacts", "Sources", "Told", "backoff_of", "drift_of", "refined_max"]
