"""What the autoscaler double finds room for."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from classifier.objects import (
    Affinity,
    Container,
    Expression,
    NodeAffinity,
    NodeSelector,
    NodeSelectorTerm,
    PodSpec,
    Quantity,
    ResourceRequirements,
    Taint,
    Toleration,
)
from e2e.autoscaler.model import NodeGroup
from e2e.autoscaler.shapes import admits, requests
from e2e.autoscaler.simulate import AT_MAXIMUM, NOT_ALL, Gang, Outcome, Place, place, simulate, template

GPU = "nvidia.com/gpu"
GPU_TAINT = Taint(key="sku", value="gpu", effect="NoSchedule")
GPU_TOLERATION = Toleration(key="sku", operator="Equal", value="gpu", effect="NoSchedule")


def group(name: str = "gpupool", *, gpus: int = 8, cpu: str = "94", max_nodes: int = 2, taints: int = 0) -> NodeGroup:
    allocatable = {"cpu": cpu, "memory": "860Gi", "pods": "110", **({GPU: str(gpus)} if gpus else {})}
    return NodeGroup(name, {"agentpool": name}, allocatable, max_nodes, [GPU_TAINT] * taints)


def container(wants: Mapping[str, Quantity] | None = None, limits: Mapping[str, Quantity] | None = None) -> Container:
    return Container(resources=ResourceRequirements(requests=dict(wants or {}), limits=dict(limits or {})))


def gang(count: int, gpus: int = 0, cpu: str = "1", selector: Mapping[str, str] | None = None) -> Gang:
    wants = {"cpu": cpu, **({GPU: str(gpus)} if gpus else {})}
    return Gang(PodSpec(containers=[container(wants)], node_selector=dict(selector or {})), count)


CPU = group("cpupool", gpus=0, max_nodes=5)
CASES: list[tuple[str, list[Gang], list[Place], list[NodeGroup], dict[str, int], Outcome]] = [
    ("nothing asked for", [], [], [group()], {}, Outcome(True)),
    ("2 x 8 into an empty pool of 2", [gang(2, 8)], [], [group()], {}, Outcome(True, "gpupool", 2)),
    ("3 x 8 into it", [gang(3, 8)], [], [group()], {}, Outcome(False, skipped={"gpupool": NOT_ALL})),
    ("4 x 4 share nodes", [gang(4, 4)], [], [group()], {}, Outcome(True, "gpupool", 2)),
    ("3 x 5 do not", [gang(3, 5)], [], [group()], {}, Outcome(False, skipped={"gpupool": NOT_ALL})),
    ("at the maximum", [gang(1, 8)], [], [group()], {"gpupool": 2}, Outcome(False, skipped={"gpupool": AT_MAXIMUM})),
    ("one is there", [gang(2, 8)], [template(group(), "n")], [group()], {"gpupool": 1}, Outcome(True, "gpupool", 1)),
    ("both are there", [gang(16, 1)], [template(group(), n) for n in "ab"], [group()], {"gpupool": 2}, Outcome(True)),
    ("a node that another pool has", [gang(1, 8)], [template(group("x"), "n")], [], {}, Outcome(True)),
    ("no groups: what is there must do", [gang(1, 8)], [], [], {}, Outcome(False)),
    (
        "the first group that fits",
        [gang(1, 8)],
        [],
        [CPU, group(), group("second")],
        {},
        Outcome(True, "gpupool", 1, {"cpupool": NOT_ALL}),
    ),
    (
        "cpu head and gpu workers need two groups, and one request grows one only",
        [gang(1, 0, selector={"agentpool": "cpupool"}), gang(2, 8, selector={"agentpool": "gpupool"})],
        [],
        [CPU, group()],
        {},
        Outcome(False, skipped={"cpupool": NOT_ALL, "gpupool": NOT_ALL}),
    ),
    (
        "the head's node is there: only the workers' group must grow",
        [gang(1, 0, selector={"agentpool": "cpupool"}), gang(2, 8, selector={"agentpool": "gpupool"})],
        [template(CPU, "head")],
        [CPU, group()],
        {"cpupool": 1},
        Outcome(True, "gpupool", 2, {"cpupool": NOT_ALL}),
    ),
    ("a taint nobody tolerates", [gang(1, 8)], [], [group(taints=1)], {}, Outcome(False, skipped={"gpupool": NOT_ALL})),
    (
        "a hostname that cannot be known before",
        [gang(1, 8, selector={"kubernetes.io/hostname": "gpupool-0"})],
        [],
        [group()],
        {},
        Outcome(False, skipped={"gpupool": NOT_ALL}),
    ),
    ("as many pods as a node may have", [gang(111, cpu="1m")], [], [CPU], {}, Outcome(True, "cpupool", 2)),
]


@pytest.mark.parametrize(
    ("gangs", "places", "groups", "target", "expected"), [c[1:] for c in CASES], ids=[c[0] for c in CASES]
)
def test_simulates(
    gangs: list[Gang], places: list[Place], groups: list[NodeGroup], target: dict[str, int], expected: Outcome
) -> None:
    assert simulate(gangs, places, groups, target) == expected


def test_largest_pods_go_first() -> None:
    pool = group("cpupool", gpus=0, cpu="10")
    assert simulate([gang(2, cpu="4"), gang(2, cpu="6")], [], [pool], {}) == Outcome(True, "cpupool", 2)


def test_placing_takes_capacity_off_and_leaves_the_places_given_alone() -> None:
    empty = template(group(), "n")
    (taken,), homeless = place([gang(3, 3)], [empty])
    assert (taken.free[GPU], taken.free["pods"]) == (2, 108)
    assert homeless == [gang(1, 3)]
    assert empty.free[GPU] == 8


@given(count=st.integers(0, 40), gpus=st.integers(1, 9), maximum=st.integers(0, 10), present=st.integers(0, 10))
def test_new_nodes_are_as_many_as_needed_and_never_beyond_the_maximum(
    count: int, gpus: int, maximum: int, present: int
) -> None:
    pool = group(max_nodes=maximum)
    nodes = [template(pool, str(number)) for number in range(present)]
    outcome = simulate([gang(count, gpus)], nodes, [pool], {"gpupool": present})
    per_node = 8 // gpus
    needed = max(-(-(count - present * per_node) // per_node), 0) if per_node else count
    assert outcome.fits == (count == 0 or (per_node > 0 and (needed == 0 or present + needed <= maximum)))
    assert outcome.new_nodes == (needed if outcome.fits else 0)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (PodSpec(containers=[container({"cpu": "100m"}), container({"cpu": "1"})]), {"cpu": 1100, "pods": 1}),
        (PodSpec(containers=[container(limits={GPU: "8"})]), {GPU: 8, "pods": 1}),
        (PodSpec(containers=[container({"cpu": "1"}, {"cpu": "2"})]), {"cpu": 1000, "pods": 1}),
        (
            PodSpec(containers=[container({"cpu": "1"})], init_containers=[container({"cpu": "3", "memory": "1Ki"})]),
            {"cpu": 3000, "memory": 1024, "pods": 1},
        ),
        (
            PodSpec(
                containers=[container({"cpu": "1"})],
                init_containers=[
                    Container(restart_policy="Always", resources=ResourceRequirements(requests={"cpu": "2"})),
                    container({"cpu": "2"}),
                ],
            ),
            {"cpu": 4000, "pods": 1},
        ),
        (
            PodSpec(containers=[container({"cpu": "1"})], resources=ResourceRequirements(requests={"cpu": "5"})),
            {"cpu": 5000, "pods": 1},
        ),
        (PodSpec(containers=[container({"cpu": "1"})], overhead={"cpu": "250m"}), {"cpu": 1250, "pods": 1}),
    ],
    ids=["containers add up", "limit", "request", "init container", "sidecar", "pod level", "overhead"],
)
def test_effective_request(spec: PodSpec, expected: dict[str, int]) -> None:
    assert requests(spec) == expected


def _affinity(*terms: list[Expression]) -> PodSpec:
    selector = NodeSelector(node_selector_terms=[NodeSelectorTerm(match_expressions=term) for term in terms])
    return PodSpec(affinity=Affinity(node_affinity=NodeAffinity(required=selector)))


LABELS = {"zone": "a", "size": "8"}


@pytest.mark.parametrize(
    ("spec", "taints", "expected"),
    [
        (PodSpec(), [], True),
        (PodSpec(node_selector={"zone": "a"}), [], True),
        (PodSpec(node_selector={"zone": "b"}), [], False),
        (_affinity([Expression(key="zone", operator="In", values=["a", "b"])]), [], True),
        (_affinity([Expression(key="zone", operator="NotIn", values=["a"])]), [], False),
        (_affinity([Expression(key="rack", operator="Exists")]), [], False),
        (_affinity([Expression(key="rack", operator="DoesNotExist")]), [], True),
        (_affinity([Expression(key="size", operator="Gt", values=["7"])]), [], True),
        (_affinity([Expression(key="size", operator="Lt", values=["8"])]), [], False),
        (_affinity([Expression(key="zone", operator="Gt", values=["1"])]), [], False),
        (_affinity([Expression(key="rack", operator="Exists")], [Expression(key="zone", operator="Exists")]), [], True),
        (_affinity([]), [], False),
        (PodSpec(), [GPU_TAINT], False),
        (PodSpec(), [Taint(key="sku", effect="PreferNoSchedule")], True),
        (PodSpec(tolerations=[GPU_TOLERATION]), [GPU_TAINT], True),
        (PodSpec(tolerations=[GPU_TOLERATION]), [GPU_TAINT, Taint(key="x", effect="NoExecute")], False),
        (PodSpec(tolerations=[Toleration(operator="Exists")]), [GPU_TAINT], True),
        (PodSpec(tolerations=[Toleration(key="sku", value="cpu")]), [GPU_TAINT], False),
        (PodSpec(tolerations=[Toleration(key="sku", operator="Exists", effect="NoExecute")]), [GPU_TAINT], False),
    ],
)
def test_admits(spec: PodSpec, taints: list[Taint], expected: bool) -> None:
    assert admits(LABELS, taints, spec) is expected
