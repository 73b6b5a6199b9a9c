"""Pods that must stand together: in one domain of a topology level, or slice by slice (reference/capacity.md §3.10).

Four questions, each pure, in the order a judgement asks them:

1. May the podset get this flavor at all? :func:`refusal` of the flavor, for every flavor of the groups it touches. A
   refusal is the administrator's to mend and proves nothing: ``misconfigured`` where no flavor is left, and ``unknown``
   where Kueue's feature gate ``TopologyAwareScheduling`` may be off. :func:`starved` tells of a flavor that admits
   nothing as long as it has no node; :func:`scattered` warns of an autoscaler that knows no domains.
2. What domains of the level do the pools have? :func:`survey` of each pool, once for a level (it counts live nodes);
   the surveys stand in the order of the bins that are packed.
3. Can the podsets that share a domain (:func:`companies`) ever find one? :func:`together` of their parts, the bins of
   the proof and ``possible(surveys)``: NEVER is a proof, with ``binding="topology"`` in the verdict. Do they surely?
   :func:`beside` of *all* parts, the bins of the promise and ``certain(surveys)``: FITS is a promise.
4. Are there enough slices? :func:`slices_at_most` against :func:`slices_wanted` is a proof, :func:`slices_surely`
   a promise for a podset that is alone in its gang.

Nothing declared is no limit: every pool may then be one domain. A podset that only prefers, or is unconstrained, asks
for nothing here but question 1.
"""

from classifier.fit.topology.domains import Domain, certain, possible
from classifier.fit.topology.flavors import refusal, scattered, starved, tas_only
from classifier.fit.topology.places import Placed, beside, companies, together
from classifier.fit.topology.slices import slices_at_most, slices_surely, slices_wanted
from classifier.fit.topology.survey import HOSTNAME, Survey, survey

__all__ = [
    "HOSTNAME",
    "Domain",
    "Placed",
    "Survey",
    "beside",
    "certain",
    "companies",
    "possible",
    "refusal",
    "scattered",
    "slices_at_most",
    "slices_surely",
    "slices_wanted",
    "starved",
    "survey",
    "tas_only",
    "together",
]
