"""What Kueue refuses to queue for its content (Kueue: pkg/workload/resources.go)."""

import pytest

from classifier.fit.requests import Terms, content_fault
from classifier.objects import PodSpec
from tests.builders import GPU
from tests.unit.fit.requests.pods import container, pod, podset
from tests.unit.fit.requests.test_quota import limit_range, within

SMALL = within(
    limit_range(Container={"max": {"cpu": 2}, "min": {"memory": "1Mi"}}, Pod={"max": {"cpu": 3}, "min": {GPU: 2}})
)

FAULTS: dict[str, tuple[PodSpec, Terms, str | None]] = {
    "as it should be": (pod(container({"cpu": 1}, {"cpu": 1})), Terms(), None),
    "a request without a limit": (pod(container({"cpu": 9})), Terms(), None),
    "above its limit": (
        pod(container(), container({"cpu": 2}, {"cpu": 1})),
        Terms(),
        "containers[1] requests more cpu than its limit",
    ),
    "above a limit it gets by default": (
        pod(init=[container({"cpu": 2})]),
        within(limit_range(Container={"default": {"cpu": 1}})),
        "initContainers[0] requests more cpu than its limit",
    ),
    "a pod above its limit": (
        pod(resources={"requests": {"cpu": 2}, "limits": {"cpu": 1}}),
        Terms(),
        "the pod requests more cpu than its limit",
    ),
    "above what a LimitRange allows, which is its limit by default": (
        pod(container({"cpu": "2001m"})),
        SMALL,
        "containers[0] requests more cpu than its limit",
    ),
    "a limit above it": (
        pod(container({"cpu": 1}, {"cpu": 3})),
        SMALL,
        "containers[0] asks for more cpu than a LimitRange allows",
    ),
    "below what it demands": (
        pod(container({"memory": 1})),
        SMALL,
        "containers[0] asks for less memory than a LimitRange demands",
    ),
    "what is not asked for is not too little": (pod(container()), SMALL, None),
    "a pod above it": (
        pod(container({"cpu": 2}), container({"cpu": 2})),
        SMALL,
        "a pod asks for more cpu than a LimitRange allows",
    ),
    "a pod below it": (pod(container({GPU: 1})), SMALL, f"a pod asks for less {GPU} than a LimitRange demands"),
}


@pytest.mark.parametrize(("spec", "terms", "fault"), FAULTS.values(), ids=FAULTS)
def test_content(spec: PodSpec, terms: Terms, fault: str | None) -> None:
    assert content_fault(podset(spec, name="worker"), terms) == (fault and f"worker: {fault}")
