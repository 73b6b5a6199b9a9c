"""Karpenter, the Cluster API, nodes; and how several sources become one figure."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from classifier import api
from classifier.fit.facts import Backoff, PoolFacts, Sources, backoff_of, drift_of, refined_max
from classifier.fit.facts.nodes import NodePools
from classifier.instant import HOUR
from classifier.objects import Condition, MachineGroup, Node, NodePool, Pool
from tests.builders import GPU, T0, Builder, node, world
from tests.unit.fit.facts.statuses import pool

SIZE = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size"
CAPACITY = "capacity.cluster-autoscaler.kubernetes.io/"
MD = "MachineDeployment/infra/gpupool"


def machines(name: str = "gpupool", kind: api.Resource = api.MACHINE_DEPLOYMENTS, **notes: str) -> Builder[Any]:
    annotations = {SIZE if key == "most" else CAPACITY + key.replace("_", "-"): text for key, text in notes.items()}
    return Builder(MachineGroup, kind, name, "infra").metadata(annotations=annotations)


def karpenter(limits: dict[str, Any] | None = None, used: dict[str, Any] | None = None, **spec: Any) -> Builder[Any]:
    made = Builder(NodePool, api.NODE_POOLS, "gpu")
    made.spec.update(limits=limits, **spec)
    made._raw["status"] = {"resources": used}
    return made


def facts(of: Pool, *objects: Builder[Any]) -> tuple[PoolFacts, ...]:
    return Sources(world(*objects)).of(of)


# --- Cluster API --------------------------------------------------------------------------------------------------


def test_annotations_give_maximum_and_shape() -> None:
    shown = machines(
        most="4", cpu="94", memory="860Gi", gpu_type=GPU, gpu_count="8", maxPods="110", ephemeral_disk="1Ti"
    )
    (found,) = facts(pool(node_groups=[MD]), shown)
    assert (found.source, found.max_nodes, found.binds, found.soft) == (MD, 4, True, False)
    assert found.upper == {
        "cpu": 94_000,
        "memory": 860 * 2**30,
        GPU: 8,
        "pods": 110,
        "ephemeral-storage": 2**40,
    }


def test_annotations_give_labels_and_taints() -> None:
    shown = machines(
        labels="a=b,example.com/c=d,=x,y", taints="gpu=yes:NoSchedule,spot:NoExecute,bad=x:Never,:NoExecute"
    )
    (found,) = facts(pool(node_groups=[MD]), shown)
    assert found.labels == {"a": "b", "example.com/c": "d"}
    assert [(taint.key, taint.value, taint.effect) for taint in found.taints] == [
        ("gpu", "yes", "NoSchedule"),
        ("spot", "", "NoExecute"),
    ]


def test_the_group_of_the_annotation_may_be_another() -> None:
    mine = machines().metadata(annotations={"capi.example.com/cluster-api-autoscaler-node-group-max-size": "3"})
    (found,) = facts(pool(node_groups=[MD]), mine)
    assert found.max_nodes == 3


def test_several_machine_groups_are_summed_and_the_largest_node_counts() -> None:
    named = pool(node_groups=[MD, "MachinePool/infra/more"])
    small, large = machines(most="1", cpu="4"), machines("more", api.MACHINE_POOLS, most="2", cpu="8")
    (found,) = facts(named, small, large)
    assert (found.max_nodes, found.binds, found.upper) == (3, True, {"cpu": 8000})
    (found,) = facts(named, small)
    assert (found.max_nodes, found.binds) == (1, False)


def test_a_machine_deployment_of_the_pools_name_is_a_likeness_that_binds_nothing() -> None:
    (found,) = facts(pool(), machines(most="4"))
    assert (found.max_nodes, found.binds) == (4, False)


@pytest.mark.parametrize("text", ["", "many", "-1", "1e9", "99999999999"])
def test_annotations_that_cannot_be_read_say_nothing(text: str) -> None:
    (found,) = facts(pool(node_groups=[MD]), machines(most=text, cpu="lots", gpu_count="8x", labels=text, taints=text))
    assert (found.max_nodes, found.binds, found.upper, found.taints) == (None, False, {}, ())


# --- Karpenter ----------------------------------------------------------------------------------------------------


def test_a_node_pool_is_a_hint_and_never_a_bound() -> None:
    mine = pool(labels={"karpenter.sh/nodepool": "gpu"})
    (found,) = facts(mine, karpenter({"nodes": "3", GPU: "16"}, {"nodes": "2", GPU: "16"}))
    assert (found.source, found.max_nodes, found.nodes) == ("NodePool/gpu", 3, 2)
    assert (found.soft, found.binds) == (True, False)
    assert found.hint == "16 of 16 nvidia.com/gpu in use"
    assert refined_max(None, "p", [found], T0).nodes is None
    assert refined_max(2, "p", [found], T0) == (3, "NodePool/gpu")


def test_a_node_pool_is_matched_by_its_label_alone() -> None:
    assert facts(pool("gpu"), karpenter({"nodes": "3"})) == ()
    assert facts(pool(labels={"karpenter.sh/nodepool": "cpu"}), karpenter({"nodes": "3"})) == ()


def test_static_capacity_is_what_karpenter_works_towards() -> None:
    (found,) = facts(pool(labels={"karpenter.sh/nodepool": "gpu"}), karpenter(replicas=4))
    assert (found.target, found.max_nodes, found.hint) == (4, None, None)


@pytest.mark.parametrize("value", ["lots", "-3", 1e300, "9" * 30, "NaN"])
def test_limits_that_cannot_be_read_say_nothing(value: Any) -> None:
    (found,) = facts(pool(labels={"karpenter.sh/nodepool": "gpu"}), karpenter({"nodes": value}, {"nodes": value}))
    assert (found.max_nodes, found.nodes) == (None, None)


# --- nodes --------------------------------------------------------------------------------------------------------


def count(of: Pool, *nodes: Builder[Node]) -> tuple[int | None, int | None] | None:
    found = NodePools([one.done() for one in nodes]).of(of)
    return (found.nodes, found.ready) if found else None


def test_nodes_are_counted_by_all_labels_of_the_pool() -> None:
    both = pool(labels={"agentpool": "gpupool", "zone": "a"})
    up, down = node("a", agentpool="gpupool", zone="a"), node("b", agentpool="gpupool", zone="a").ready(False)
    other = node("c", agentpool="gpupool", zone="b")
    assert count(both, up, down, other) == (2, 1)
    assert count(pool(), up, down, other) == (3, 2)
    assert count(both) == (0, 0)


def test_a_node_that_goes_is_not_ready() -> None:
    leaving = node("a", agentpool="gpupool").metadata(deletionTimestamp="2026-11-29T10:00:00Z")
    assert count(pool(), leaving) == (1, 0)


@pytest.mark.parametrize(
    "key",
    [
        "kubernetes.azure.com/agentpool",
        "agentpool",
        "cloud.google.com/gke-nodepool",
        "eks.amazonaws.com/nodegroup",
        "karpenter.sh/nodepool",
    ],
)
def test_without_labels_the_platforms_own_label_names_the_pool(key: str) -> None:
    assert count(pool(labels={}), node("a").label(key, "gpupool"), node("b").label(key, "other")) == (1, 1)


def test_nobody_counts_what_nobody_can_tell() -> None:
    assert count(pool(labels={}), node("a")) is None
    assert NodePools(None).of(pool()) is None


# --- together -----------------------------------------------------------------------------------------------------

_COUNT = st.none() | st.integers(0, 50)
_FACT = st.builds(
    PoolFacts,
    source=st.sampled_from(["ConfigMap/a/b", "NodePool/x", MD]),
    observed_at=st.sampled_from([None, T0, T0 - HOUR]),
    max_nodes=_COUNT,
    target=_COUNT,
    nodes=_COUNT,
    soft=st.booleans(),
    binds=st.booleans(),
    running=st.booleans(),
)


@given(_COUNT, st.lists(_FACT, max_size=4), _FACT)
def test_no_fact_ever_lowers_a_bound(declared: int | None, some: list[PoolFacts], more: PoolFacts) -> None:
    before = refined_max(declared, "p", some, T0).nodes
    after = refined_max(declared, "p", [*some, more], T0).nodes
    if before is None:
        assert declared is None
    else:
        assert after is not None
        assert after >= before
    if declared is not None:
        assert before is not None
        assert before >= declared


@given(_COUNT, st.lists(_FACT, max_size=4))
def test_a_figure_names_who_said_it(declared: int | None, some: list[PoolFacts]) -> None:
    nodes, source = refined_max(declared, "p", some, T0)
    assert (nodes is None) == (source is None)
    if nodes is not None and source != "p":
        assert any(f.source == source and nodes in (f.max_nodes, f.target, f.nodes) for f in some)


@given(st.lists(_FACT, max_size=4))
def test_only_a_fresh_source_that_knows_all_makes_a_bound(some: list[PoolFacts]) -> None:
    bounded = refined_max(None, "p", some, T0).nodes is not None
    if bounded:
        assert any(fact.binds and not fact.soft and fact.fresh(T0) and fact.max_nodes is not None for fact in some)
    assert refined_max(None, "p", some).nodes is None


def test_only_a_fresh_backoff_holds() -> None:
    held = Backoff("g", T0)
    assert backoff_of([PoolFacts("a", T0), PoolFacts("b", T0, backoff=held)], T0) == held
    assert backoff_of([PoolFacts("b", T0 - HOUR, backoff=held)], T0) is None


@pytest.mark.parametrize(
    ("declared", "fact", "drifts"),
    [
        (2, PoolFacts("a", T0, max_nodes=2, binds=True), False),
        (2, PoolFacts("a", T0, max_nodes=1, binds=True), True),
        (2, PoolFacts("a", T0, max_nodes=3, binds=True), True),
        # A sum that lacks a group contradicts only by being too large.
        (2, PoolFacts("a", T0, max_nodes=1), False),
        (2, PoolFacts("a", T0, max_nodes=3), True),
        (2, PoolFacts("a", T0 - HOUR, max_nodes=3, binds=True), False),
        (None, PoolFacts("a", T0, max_nodes=3, binds=True), False),
        (2, PoolFacts("a", T0, target=7), False),
    ],
)
def test_a_maximum_that_differs_from_the_declared_one_is_drift(
    declared: int | None, fact: PoolFacts, drifts: bool
) -> None:
    text = drift_of(declared, [fact], T0)
    assert (text is not None) == drifts
    if text is not None:
        assert text == f"maxNodes is {declared}, a says {fact.max_nodes}"


def test_conditions_of_nodes_may_be_anything() -> None:
    odd = node("a", agentpool="gpupool").done()
    assert odd.status is not None
    odd.status.conditions = [Condition(type="Ready", status="Maybe")]
    found = NodePools([odd]).of(pool())
    assert found is not None
    assert found.ready == 0
