"""What stands between a gang and its quota: queues and namespace (reference/kueue.md §6.1)."""

import pytest

from classifier import api
from classifier.fit.quota import ChainFault, QuotaTree, chain_faults, no_quota, selects
from classifier.objects import Cohort, Namespace
from tests.builders import (
    T0,
    Builder,
    ClusterQueueBuilder,
    Json,
    LocalQueueBuilder,
    cluster_queue,
    cohort,
    local_queue,
    namespace,
)


def faults(
    queue: ClusterQueueBuilder | None = None,
    local: LocalQueueBuilder | None = None,
    space: Builder[Namespace] | None = None,
    *cohorts: Builder[Cohort],
) -> list[ChainFault]:
    own = (queue or cluster_queue()).done()
    tree = QuotaTree({own.name: own}, {one.done().name: one.done() for one in cohorts})
    return chain_faults((local or local_queue()).done(), own, space.done() if space else None, tree)


def selecting(selector: Json | None) -> ClusterQueueBuilder:
    queue = cluster_queue()
    queue.spec["namespaceSelector"] = selector
    return queue


def test_a_queue_that_selects_all_and_runs_is_no_obstacle() -> None:
    assert faults(space=namespace()) == []


class TestNamespace:
    TEAM = namespace().label("team", "a")

    def test_a_queue_without_selector_selects_none(self) -> None:
        assert faults(selecting(None), space=self.TEAM) == [
            ChainFault("misconfigured", "ClusterQueue gpu-a100 has no namespaceSelector: it selects no namespace")
        ]

    def test_one_that_is_not_selected(self) -> None:
        assert faults(selecting({"matchLabels": {"team": "b"}}), space=self.TEAM) == [
            ChainFault("misconfigured", "the namespaceSelector of ClusterQueue gpu-a100 does not select team")
        ]

    def test_its_name_is_a_label_though_a_file_does_not_say_it(self) -> None:
        by_name = {"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["team"]}
        assert faults(selecting({"matchExpressions": [by_name]}), space=self.TEAM) == []

    def test_one_that_is_not_known_is_not_held_against_the_queue(self) -> None:
        assert faults(selecting({"matchLabels": {"team": "b"}})) == []

    def test_a_selector_that_is_not_valid_is_not_held_against_it(self) -> None:
        odd = {"matchExpressions": [{"key": "team", "operator": "Like", "values": ["a"]}]}
        assert faults(selecting(odd), space=self.TEAM) == []


LABELS = {"team": "a", "tier": ""}


@pytest.mark.parametrize(
    ("operator", "key", "values", "selected"),
    [
        ("In", "team", ["a", "b"], True),
        ("In", "team", ["b"], False),
        ("In", "size", ["a"], False),
        ("NotIn", "team", ["b"], True),
        ("NotIn", "team", ["a"], False),
        ("NotIn", "size", ["a"], True),
        ("Exists", "tier", [], True),
        ("Exists", "size", [], False),
        ("DoesNotExist", "size", [], True),
        ("DoesNotExist", "team", [], False),
        ("In", "team", [], None),
        ("Exists", "team", ["a"], None),
        ("Gt", "team", ["1"], None),
    ],
)
def test_selectors(operator: str, key: str, values: list[str], selected: bool | None) -> None:
    expression = {"key": key, "operator": operator, "values": values}
    spec = selecting({"matchLabels": {"team": "a"}, "matchExpressions": [expression]}).done().spec
    assert spec is not None
    assert selects(spec.namespace_selector, LABELS) is selected


class TestStanding:
    """Queues that take nobody in, on purpose or for a while: the user is told, nothing else."""

    @pytest.mark.parametrize("policy", ["Hold", "HoldAndDrain"])
    def test_stopped_queues(self, policy: str) -> None:
        queue, local = cluster_queue(), local_queue()
        queue.spec["stopPolicy"] = local.spec["stopPolicy"] = policy
        assert faults(queue, local) == [
            ChainFault("warn", f"ClusterQueue gpu-a100 is stopped (stopPolicy {policy})"),
            ChainFault("warn", f"LocalQueue team/gpu is stopped (stopPolicy {policy})"),
        ]

    def test_a_stop_policy_of_none_is_none(self) -> None:
        queue = cluster_queue()
        queue.spec["stopPolicy"] = "None"
        assert faults(queue) == []

    def test_a_queue_that_is_not_active_and_why(self) -> None:
        queue = cluster_queue().condition(api.ACTIVE, False, "FlavorNotFound", T0)
        queue._raw["status"]["conditions"][0]["message"] = "references missing ResourceFlavor(s): a"
        assert faults(queue) == [
            ChainFault("warn", "ClusterQueue gpu-a100 is not active: references missing ResourceFlavor(s): a")
        ]

    def test_a_local_queue_is_not_blamed_for_its_cluster_queue(self) -> None:
        queue = cluster_queue().condition(api.ACTIVE, False, "FlavorNotFound", T0)
        local = local_queue().condition(api.ACTIVE, False, "ClusterQueueIsInactive", T0)
        local._raw["status"]["conditions"][0]["message"] = "Can't submit new workloads to clusterQueue"
        assert faults(queue, local) == [ChainFault("warn", "ClusterQueue gpu-a100 is not active: FlavorNotFound")]

    def test_a_queue_that_is_being_deleted(self) -> None:
        queue = cluster_queue().metadata(deletionTimestamp="2026-11-30T12:00:00Z")
        assert faults(queue) == [ChainFault("warn", "ClusterQueue gpu-a100 is being deleted")]


def test_cohorts_in_a_circle_come_first() -> None:
    queue = cluster_queue()
    queue.spec.update(cohortName="x", stopPolicy="Hold")
    assert [fault.kind for fault in faults(queue, None, None, cohort("x", parent="x"))] == ["misconfigured", "warn"]
    assert faults(queue, None, None, cohort("x", parent="x"))[0].text == "the parents of Cohort x lead in a circle"


def test_names_the_queue_without_quota() -> None:
    text = "ClusterQueue gpu-a100 has no quota of cpu in flavor spot, whose pool may have nodes"
    assert no_quota(cluster_queue().done(), "spot", "cpu") == text
