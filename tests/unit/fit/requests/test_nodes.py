"""What one pod takes of a node (reference/capacity.md §3.4)."""

import pytest

from classifier.fit.gang import GangError
from classifier.fit.requests import fraction_in, pod_requests
from classifier.objects import PodSpec
from tests.builders import GPU
from tests.unit.fit.requests.pods import MI, container, pod

CASES: dict[str, tuple[PodSpec, dict[str, int]]] = {
    "containers add up": (
        pod(container({"cpu": "500m", "memory": "1Mi"}), container({"cpu": "1", GPU: "2"})),
        {"cpu": 1500, "memory": MI, GPU: 2},
    ),
    "a limit stands for a request that is absent": (
        pod(container({"cpu": "1"}, {"cpu": "4", GPU: 8})),
        {"cpu": 1000, GPU: 8},
    ),
    "an init container counts where it is larger": (
        pod(container({"cpu": 1, "memory": "2Mi"}), init=[container({"cpu": 3, "memory": "1Mi"})]),
        {"cpu": 3000, "memory": 2 * MI},
    ),
    "a sidecar runs beside the containers": (
        pod(container({"cpu": 1}), init=[container({"cpu": 2}, restartPolicy="Always")]),
        {"cpu": 3000},
    ),
    "an init container runs beside the sidecars before it": (
        pod(
            container({"cpu": 1}),
            init=[container({"cpu": 2}, restartPolicy="Always"), container({"cpu": 5})],
        ),
        {"cpu": 7000},
    ),
    "but not beside those after it": (
        pod(
            container({"cpu": 1}),
            init=[container({"cpu": 5}), container({"cpu": 2}, restartPolicy="Always")],
        ),
        {"cpu": 5000},
    ),
    "pod-level requests replace the sum": (
        pod(container({"cpu": 1, GPU: 1}), resources={"requests": {"cpu": 6, GPU: 9}}),
        {"cpu": 6000, GPU: 1},
    ),
    "a pod-level limit yields to the containers": (
        pod(container({"cpu": 32}), resources={"limits": {"cpu": 120}}),
        {"cpu": 32_000},
    ),
    "a pod-level limit stands alone": (pod(container(), resources={"limits": {"cpu": 120}}), {"cpu": 120_000}),
    "huge pages are not overcommitted": (
        pod(container({"hugepages-2Mi": "2Mi"}), resources={"limits": {"hugepages-2Mi": "8Mi"}}),
        {"hugepages-2Mi": 8 * MI},
    ),
    "overhead comes on top": (pod(container({"cpu": 1}), overhead={"cpu": "250m"}), {"cpu": 1250}),
    "zero is nothing": (pod(container({"cpu": 0, GPU: "0"})), {}),
    "a sum is rounded once": (pod(container({"cpu": "0.5m"}), container({"cpu": "0.5m"})), {"cpu": 1}),
    "no containers at all": (pod(), {}),
    "a pod is one pod": (pod(container({"pods": "5"})), {}),
}


@pytest.mark.parametrize(("spec", "expected"), CASES.values(), ids=CASES)
def test_requests(spec: PodSpec, expected: dict[str, int]) -> None:
    assert pod_requests(spec) == expected | {"pods": 1}


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        (pod(container({"cpu": "abc"})), "containers[0].resources.requests[cpu]"),
        (pod(container(), container({}, {"memory": "-1"})), "containers[1].resources.limits[memory]"),
        (pod(init=[container({"cpu": "1e3Ki"})]), "initContainers[0].resources.requests[cpu]"),
        (pod(overhead={"cpu": "x"}), "overhead[cpu]"),
        (pod(resources={"requests": {"cpu": "x"}}), "resources.requests[cpu]"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_names_the_quantity_it_cannot_read(spec: PodSpec, field: str) -> None:
    with pytest.raises(GangError) as refused:
        pod_requests(spec)
    assert str(refused.value).startswith(f"{field}")


@pytest.mark.parametrize(
    ("quantity", "whole"),
    [("8", True), ("8000m", True), ("1500m", False), ("1.5", False), (0.5, False), ("0", True), ("0.99999", True)],
)
def test_devices_are_whole(quantity: str | float, whole: bool) -> None:
    # The API server rounds to thousandths before it looks, hence the last case.
    assert (fraction_in(pod(container({GPU: quantity}))) is None) is whole


def test_cpu_and_memory_may_be_parts() -> None:
    assert fraction_in(pod(container({"cpu": "1500m", "memory": "1500m"}))) is None


def test_the_overhead_of_a_runtime_class_counts_where_the_pod_has_none() -> None:
    assert pod_requests(pod(container({"cpu": 1})), {"cpu": "250m"})["cpu"] == 1250
    assert pod_requests(pod(container({"cpu": 1}), overhead={"cpu": "1"}), {"cpu": "250m"})["cpu"] == 2000
