"""Where a pod may stand: selectors, affinities, tolerations, ports, topology. Each adds itself to a template."""

from typing import Any, Final

from e2e.builders import Document
from e2e.oracle.case import CASE, ROLE
from e2e.oracle.dice import Dice
from e2e.oracle.pods import HOSTNAME, RACK, SIZE, TAINT, TIER

ARCH: Final = "kubernetes.io/arch"
#: What the pools' nodes carry.
TIERS: Final = ("a", "b")
SIZES: Final = ("4", "8")
_PREFIX: Final = "kueue.x-k8s.io/podset-"


def constrain(dice: Dice, template: Document, tags: set[str], number: int, tier: str) -> None:
    """At most one of them. ``number`` makes ports the case's own; ``tier`` is one that some nodes have."""
    spec = template["spec"]
    way = dice.randrange(32)
    match way:
        case 0 | 1:
            spec["nodeSelector"] = {TIER: dice.of(tier, tier, tier, *TIERS, "c")}
            tags.add("selector")
        case 2:
            spec["nodeSelector"] = {ARCH: dice.of("amd64", "amd64", "arm64")}
            tags.add("arch")
        case 3 | 4 | 5:
            _affinity(dice, spec, tags, tier)
        case 6:
            port = 10000 + number
            spec["containers"][0]["ports"] = [{"containerPort": port, "hostPort": port}]
            tags.add("host port")
        case 7:
            spec["hostNetwork"] = True
            spec["containers"][0]["ports"] = [{"containerPort": 10000 + number}]
            tags.add("host network")
        case 8 | 9:
            labels = template["metadata"]["labels"]
            selector = {"matchLabels": {CASE: labels[CASE], ROLE: labels[ROLE]}}
            term = {"topologyKey": HOSTNAME, "labelSelector": selector}
            anti = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
            spec.setdefault("affinity", {})["podAntiAffinity"] = anti
            tags.add("anti-affinity")
        case 10:
            selector = {"matchLabels": {CASE: template["metadata"]["labels"][CASE]}}
            spread = {"maxSkew": 1, "topologyKey": HOSTNAME, "whenUnsatisfiable": "DoNotSchedule"}
            spec["topologySpreadConstraints"] = [{**spread, "labelSelector": selector}]
            tags.add("spread")
        case _:
            pass


def tolerate(dice: Dice, template: Document, tags: set[str]) -> None:
    """For a pool with a taint: in one of several ways, or not at all."""
    taint = {"key": TAINT, "effect": "NoSchedule"}
    found = dice.of(
        {**taint, "operator": "Equal", "value": "yes"},
        {**taint, "operator": "Exists"},
        {"operator": "Exists"},
        {**taint, "operator": "Equal", "value": "no"},
        None,
    )
    if found is not None:
        template["spec"]["tolerations"] = [found]
    tags.add("tolerations" if found else "no tolerations")


def _affinity(dice: Dice, spec: Document, tags: set[str], tier: str) -> None:
    expressions = [
        *(_expression(TIER, "In", [tier]) for _ in range(3)),
        *(_expression(SIZE, "Gt", ["3"]) for _ in range(3)),
        _expression(TIER, "In", dice.some(TIERS, 1)),
        _expression(TIER, "In", ["c"]),
        _expression(TIER, "NotIn", [dice.of(*TIERS)]),
        _expression(TIER, "NotIn", [*TIERS]),
        _expression(SIZE, "Gt", [dice.of("3", "4", "8")]),
        _expression(SIZE, "Lt", [dice.of("4", "9")]),
        _expression(TIER, "Exists", None),
        _expression("oracle.muster.dev/other", "Exists", None),
        _expression("oracle.muster.dev/other", "DoesNotExist", None),
    ]
    terms = [{"matchExpressions": dice.sample(expressions, dice.of(1, 1, 2))} for _ in range(dice.of(1, 1, 2))]
    node = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    spec.setdefault("affinity", {})["nodeAffinity"] = node
    tags.add("node affinity")


def _expression(key: str, operator: str, values: list[str] | None) -> dict[str, Any]:
    return {"key": key, "operator": operator, **({"values": values} if values is not None else {})}


def ask_topology(dice: Dice, template: Document, tags: set[str], count: int) -> None:
    """For a flavor with a Topology of racks and hosts."""
    level = dice.of(RACK, RACK, HOSTNAME)
    way = dice.of("required", "required", "preferred", "unconstrained", "slices", "none", "unknown level")
    annotations = template["metadata"]["annotations"]
    match way:
        case "required" | "preferred":
            annotations[f"{_PREFIX}{way}-topology"] = level
        case "unconstrained":
            annotations[f"{_PREFIX}unconstrained-topology"] = "true"
        case "slices" if count > 1:
            size = dice.of(1, 2, count)
            annotations[f"{_PREFIX}{dice.of('preferred', 'required')}-topology"] = RACK
            annotations[f"{_PREFIX}slice-required-topology"] = dice.of(RACK, HOSTNAME)
            annotations[f"{_PREFIX}slice-size"] = str(size)
        case "unknown level":
            annotations[f"{_PREFIX}required-topology"] = "oracle.muster.dev/block"
        case _:
            way = "none"
    tags.add(f"topology {way}")
