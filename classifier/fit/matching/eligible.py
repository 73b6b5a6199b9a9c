"""Which flavors Kueue may give a podset, by the flavor's own labels and taints (reference/kueue.md §6.4).

Kueue: ``pkg/scheduler/flavorassigner/flavorassigner.go`` checkFlavorForPodSets. It looks at the flavor alone: keys the
flavor does not set never reject, and a taint is tolerated by the pod or by the flavor's own tolerations.
"""

from typing import NamedTuple

from classifier.fit.matching.match import NO, Labels, match_term, required_terms, show_taint, untolerated
from classifier.fit.verdict import Binding
from classifier.objects import NodeSelectorTerm, PodSpec, ResourceFlavor, ResourceFlavorSpec, Toleration


class Refusal(NamedTuple):
    """Why Kueue never gives this flavor to the podset. ``needs`` against ``limit``, both as text."""

    binding: Binding
    needs: str
    limit: str
    statement: str
    advice: str


def refusal(name: str, spec: PodSpec, flavor: ResourceFlavor) -> Refusal | None:
    """None if the podset ``name`` may get the flavor."""
    own = flavor.spec or ResourceFlavorSpec()
    taint = untolerated(own.node_taints, tolerations(spec, flavor))
    if taint is not None:
        text = show_taint(taint)
        return Refusal(
            "taint",
            "",
            text,
            f"{name} does not tolerate {text} of flavor {flavor.name}",
            "add the toleration",
        )
    labels = own.node_labels or {}
    for key, value in (spec.node_selector or {}).items():
        if labels.get(key, value) != value:
            return Refusal(
                "selector",
                f"{key}={value}",
                f"{key}={labels[key]}",
                f"{name} selects {key}={value}, flavor {flavor.name} has {key}={labels[key]}",
                f"select {key}={labels[key]} or use another queue",
            )
    if _affinity_rejects(spec, labels):
        shown = ",".join(f"{key}={value}" for key, value in sorted(labels.items()))
        return Refusal(
            "selector",
            "nodeAffinity",
            shown,
            f"the required node affinity of {name} excludes flavor {flavor.name} ({shown})",
            "change the affinity or use another queue",
        )
    return None


def tolerations(spec: PodSpec, flavor: ResourceFlavor) -> list[Toleration]:
    """The pod's, and the flavor's, which Kueue adds when it starts the pod."""
    return [*(spec.tolerations or ()), *((flavor.spec.tolerations if flavor.spec else None) or ())]


def _affinity_rejects(spec: PodSpec, labels: dict[str, str]) -> bool:
    """Terms keep only expressions on the flavor's keys; once a term keeps none, Kueue ignores the affinity."""
    terms = required_terms(spec)
    if not terms:
        return False
    known, complete = Labels(labels, complete=False), []
    for term in terms:
        kept = [one for one in term.match_expressions or () if one.key in labels]
        if not kept:
            return False
        complete.append(NodeSelectorTerm(match_expressions=kept))
    return all(match_term(term, known) is NO for term in complete)
