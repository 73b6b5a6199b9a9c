"""What one pod takes of quota (reference/kueue.md §6.2)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from classifier import api
from classifier.fit.gang import GangError
from classifier.fit.requests import Counted, KueueConfig, Terms, parse, pod_requests, quota_requests, terms_for
from classifier.fit.requests.limitrange import merged
from classifier.objects import LimitRange, PodSpec, PodTemplate, RuntimeClass
from classifier.quantity import MAX_INT64
from tests.builders import GPU, NAMESPACE, Builder, kueue_config, world
from tests.unit.fit.requests.pods import MI, Json, container, pod, podset


def limit_range(name: str = "defaults", namespace: str = NAMESPACE, **limits: Json) -> Builder[LimitRange]:
    """``limits`` by type, as JSON: ``limit_range(Container={"defaultRequest": {"cpu": 1}})``."""
    builder = Builder(LimitRange, api.LIMIT_RANGES, name, namespace)
    builder.spec["limits"] = [{"type": kind, **item} for kind, item in limits.items()]
    return builder


def within(*ranges: Builder[LimitRange]) -> Terms:
    return Terms(ranges=merged([one.done() for one in ranges]))


def configured(text: str) -> Terms:
    config = parse(kueue_config(text).done())
    assert isinstance(config, KueueConfig), config
    return Terms(config=config)


def count(spec: PodSpec, terms: Terms | None = None, pods: int = 1) -> Counted:
    return quota_requests(podset(spec, pods), terms or Terms())


LIMITED = pod(container({"cpu": 1}, {"cpu": 4, GPU: 8}))

PODS = {
    "containers add up": (pod(container({"cpu": "500m"}), container({"cpu": 1, GPU: 2})), {"cpu": 1500, GPU: 2}),
    "a limit stands for a request that is absent": (LIMITED, {"cpu": 1000, GPU: 8}),
    "an init container counts where it is larger": (
        pod(container({"cpu": 1}), init=[container({}, {"cpu": 3})]),
        {"cpu": 3000},
    ),
    "a sidecar runs beside the containers": (
        pod(container({"cpu": 1}), init=[container({"cpu": 2}, restartPolicy="Always"), container({"cpu": 5})]),
        {"cpu": 7000},
    ),
    "a pod-level limit is the request": (
        pod(container({"cpu": 32}), resources={"limits": {"cpu": 120}}),
        {"cpu": 120_000},
    ),
    "a pod-level request replaces the sum, of what a pod may request": (
        pod(container({"cpu": 1, GPU: 1}), resources={"requests": {"cpu": 6, GPU: 9}}),
        {"cpu": 6000, GPU: 1},
    ),
    "overhead comes on top": (pod(container({"cpu": 1}), overhead={"cpu": "250m"}), {"cpu": 1250}),
    "parts of a device are rounded up": (pod(container({GPU: "1500m"})), {GPU: 2}),
    "a sum is rounded once": (pod(container({"cpu": "0.5m"}), container({"cpu": "0.5m"})), {"cpu": 1}),
    "nothing of a resource is still asked for": (pod(container({GPU: 0})), {GPU: 0}),
    "pods are counted by the queue that covers them": (pod(container({"pods": 5})), {}),
    "no containers at all": (pod(), {}),
}


@pytest.mark.parametrize(("spec", "expected"), PODS.values(), ids=PODS)
def test_counts_as_kueue_counts(spec: PodSpec, expected: dict[str, int]) -> None:
    assert count(spec) == Counted(expected, frozenset())


def test_quota_is_asked_for_what_kueue_copied() -> None:
    """An AppWrapper shows Kueue no sidecar and no RuntimeClass, a fault tolerant Ray head more than its pod is."""
    sidecar = container({"cpu": 1}, restartPolicy="Always")
    whole = pod(container({"cpu": 2}), init=[sidecar], runtimeClassName="gvisor")
    copied = pod(container({"cpu": 2}), init=[container({"cpu": 1})])
    terms = Terms(overhead={"cpu": "1"})
    assert quota_requests(podset(whole), terms).amounts == {"cpu": 4000}
    kept = replace(podset(whole), counted=PodTemplate(spec=copied))
    assert quota_requests(kept, terms).amounts == {"cpu": 2000}


def test_a_runtime_class_has_overhead() -> None:
    spec = pod(container({"cpu": 1}), runtimeClassName="sandbox")
    assert count(spec, Terms(overhead={"cpu": "1", "memory": "1Mi"})).amounts == {"cpu": 2000, "memory": MI}


RANGES = {
    "a default request comes before the limit": (
        LIMITED,
        [limit_range(Container={"defaultRequest": {GPU: 1, "cpu": 2}})],
        {"cpu": 1000, GPU: 1},
    ),
    "a default limit is the request where there is none": (
        pod(container()),
        [limit_range(Container={"default": {"memory": "2Mi"}})],
        {"memory": 2 * MI},
    ),
    "every container gets the defaults, those that start first too": (
        pod(container(), container(), init=[container({"cpu": 9})]),
        [limit_range(Container={"defaultRequest": {"cpu": 2, "memory": "1Mi"}})],
        {"cpu": 9000, "memory": 2 * MI},
    ),
    "a pod gets defaults only if it has a block of its own": (
        pod(container({"cpu": 1}), resources={}),
        [limit_range(Pod={"defaultRequest": {"cpu": 5}})],
        {"cpu": 5000},
    ),
    "and else not": (pod(container({"cpu": 1})), [limit_range(Pod={"defaultRequest": {"cpu": 5}})], {"cpu": 1000}),
    "the most that is allowed is the default, as it is stored": (
        pod(container({}, {GPU: 4})),
        [limit_range(Container={"max": {"cpu": 100, GPU: 8}, "min": {"cpu": 1, "memory": "1Mi"}})],
        {"cpu": 100_000, GPU: 8, "memory": MI},
    ),
    "several are merged, the smaller default counts": (
        pod(container()),
        [
            limit_range("a", Container={"defaultRequest": {"cpu": 3, GPU: 1, "memory": "1Mi"}}),
            limit_range("b", Container={"defaultRequest": {"cpu": 2, "memory": "2Mi"}}, PersistentVolumeClaim={}),
        ],
        {"cpu": 2000, GPU: 1, "memory": MI},
    ),
}


@pytest.mark.parametrize(("spec", "ranges", "expected"), RANGES.values(), ids=RANGES)
def test_limit_ranges_come_first(spec: PodSpec, ranges: list[Builder[LimitRange]], expected: dict[str, int]) -> None:
    assert count(spec, within(*ranges)) == Counted(expected, frozenset())


CONFIGURED = {
    "excluded by prefix": ("resources: {excludeResourcePrefixes: [nvidia.com/]}", {"cpu": 8000}),
    "retained by default": (
        "resources: {transformations: [{input: nvidia.com/gpu, outputs: {example.com/credits: 10}}]}",
        {"cpu": 8000, GPU: 3, "example.com/credits": 30},
    ),
    "replaced": (
        """
resources:
  transformations:
  - {input: nvidia.com/gpu, strategy: Replace, outputs: {example.com/credits: 2.5}}
""",
        {"cpu": 8000, "example.com/credits": 8},
    ),
    "replaced by nothing": (
        "resources: {transformations: [{input: nvidia.com/gpu, strategy: Replace}]}",
        {"cpu": 8000},
    ),
    "multiplied by another resource": (
        "resources: {transformations: [{input: cpu, multiplyBy: nvidia.com/gpu, outputs: {memory: 1Mi}}]}",
        {"cpu": 8000, GPU: 3, "memory": 24 * MI},
    ),
    "multiplied by one that is not asked for": (
        "resources: {transformations: [{input: cpu, multiplyBy: amd.com/gpu, outputs: {memory: 1Mi}}]}",
        {"cpu": 8000, GPU: 3, "memory": 8 * MI},
    ),
    "outputs of one name add up, and to what is asked for": (
        """
resources:
  transformations:
  - {input: cpu, strategy: Replace, outputs: {nvidia.com/gpu: "0.1"}}
  - {input: nvidia.com/gpu, outputs: {nvidia.com/gpu: 1}}
""",
        {GPU: 7},  # 3 retained, 0.8 and 3 generated, rounded up once
    ),
    "an allowance takes from what is generated, never from what is asked for": (
        "resources: {transformations: [{input: cpu, outputs: {nvidia.com/gpu: -1}}]}",
        {"cpu": 8000, GPU: 3},
    ),
    "excluded before it is exchanged": (
        """
resources:
  excludeResourcePrefixes: [nvidia.com/]
  transformations: [{input: nvidia.com/gpu, outputs: {memory: 1Mi}}]
""",
        {"cpu": 8000},
    ),
}


@pytest.mark.parametrize(("text", "expected"), CONFIGURED.values(), ids=CONFIGURED)
def test_the_configuration_leaves_out_and_exchanges(text: str, expected: dict[str, int]) -> None:
    assert count(pod(container({"cpu": 8, GPU: 3})), configured(text)) == Counted(expected, frozenset())


def test_amounts_end_at_int64() -> None:
    huge = pod(container({"memory": "8Ei", "cpu": 1}), container({"memory": "8Ei"}))
    assert count(huge).amounts["memory"] == MAX_INT64
    assert count(huge, pods=3).amounts == {"memory": MAX_INT64 // 3, "cpu": 1000}  # of fewer pods Kueue counts a share


class TestDoubt:
    def test_without_kueues_configuration_every_amount_may_be_less(self) -> None:
        assert count(LIMITED, Terms(config=None)) == Counted({"cpu": 1000, GPU: 8}, frozenset({"cpu", GPU}))

    def test_without_the_limit_ranges_what_comes_from_a_limit_may_be_less(self) -> None:
        unread = Terms(ranges=merged([], known=False))
        assert count(LIMITED, unread).doubtful == {GPU}
        assert count(pod(container({"cpu": 1}, {"cpu": 1})), unread).doubtful == frozenset()

    def test_and_with_it_what_is_made_of_it(self) -> None:
        config = configured(
            "resources: {transformations: [{input: nvidia.com/gpu, outputs: {example.com/credits: 10}}]}"
        )
        doubtful = count(LIMITED, Terms(ranges=merged([], known=False), config=config.config)).doubtful
        assert doubtful == {GPU, "example.com/credits"}

    def test_a_limit_range_that_cannot_be_read_is_as_good_as_unread(self) -> None:
        assert count(LIMITED, within(limit_range(Container={"defaultRequest": {"cpu": "x"}}))).doubtful == {GPU}

    def test_devices_may_be_counted_by_their_class(self) -> None:
        text = "resources: {deviceClassMappings: [{name: gpus, deviceClassNames: [gpu.example.com]}]}"
        assert count(LIMITED, configured(text)).doubtful == {GPU}

    def test_kueue_may_not_count_the_devices_of_sidecars(self) -> None:
        spec = pod(container({GPU: 1, "cpu": 1}), init=[container({GPU: 1, "cpu": 1}, restartPolicy="Always")])
        assert count(spec).doubtful == {GPU}


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        (pod(container({"cpu": "abc"})), "containers[0].resources.requests[cpu]"),
        (pod(container(), container({}, {"memory": "-1"})), "containers[1].resources.limits[memory]"),
        (pod(resources={"limits": {"cpu": "x"}}), "resources.limits[cpu]"),
        (pod(overhead={"cpu": "x"}), "overhead[cpu]"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_names_the_quantity_it_cannot_read(spec: PodSpec, field: str) -> None:
    with pytest.raises(GangError) as refused:
        count(spec)
    assert str(refused.value).startswith(field)


class TestTermsOfAWorld:
    def test_the_limit_ranges_are_those_of_the_namespace(self) -> None:
        elsewhere = limit_range("b", namespace="elsewhere", Container={"defaultRequest": {GPU: 2}})
        here = limit_range("a", Container={"defaultRequest": {GPU: 1}})
        terms = terms_for(podset(LIMITED), world(elsewhere, here))
        assert count(LIMITED, terms) == Counted({"cpu": 1000, GPU: 1}, frozenset())

    def test_a_new_mapping_is_read_anew(self) -> None:
        seen = world()
        assert count(LIMITED, terms_for(podset(LIMITED), seen)).amounts[GPU] == 8
        one = limit_range(Container={"defaultRequest": {GPU: 1}}).done()
        seen.limit_ranges = {one.key: one}
        assert count(LIMITED, terms_for(podset(LIMITED), seen)).amounts[GPU] == 1

    def test_limit_ranges_may_be_unread(self) -> None:
        seen = world()
        seen.unread = frozenset({api.LIMIT_RANGES})
        assert count(LIMITED, terms_for(podset(LIMITED), seen)).doubtful == {GPU}

    def test_the_configuration_may_be_missing_or_no_configuration(self) -> None:
        seen = world()
        seen.kueue_config = None
        assert terms_for(podset(LIMITED), seen).config is None
        assert terms_for(podset(LIMITED), world(kueue_config("resources: 7"))).config is None

    def test_overhead_is_that_of_the_runtime_class(self) -> None:
        sandbox = Builder(RuntimeClass, api.RUNTIME_CLASSES, "sandbox")
        sandbox._raw["overhead"] = {"podFixed": {"cpu": "1"}}
        spec = pod(container({"cpu": 1}), runtimeClassName="sandbox")
        assert count(spec, terms_for(podset(spec), world(sandbox))).amounts == {"cpu": 2000}
        assert count(spec, terms_for(podset(spec), world())).amounts == {"cpu": 1000}


amounts = st.dictionaries(st.sampled_from(["cpu", "memory", GPU]), st.integers(0, 9), max_size=3)
containers = st.lists(amounts, max_size=3)


@given(containers, containers)
def test_without_limits_and_pod_level_both_counts_are_the_same(
    main: list[dict[str, int]], init: list[dict[str, int]]
) -> None:
    spec = pod(*map(container, main), init=[container(one) for one in init])
    of_nodes = pod_requests(spec)
    assert {name: value for name, value in count(spec).amounts.items() if value} | {"pods": 1} == of_nodes
