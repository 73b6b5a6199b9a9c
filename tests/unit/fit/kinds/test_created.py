"""A bare pod counts as the API server keeps it, a Job's template as it is written."""

from typing import Any, Final

from classifier.fit.requests import Amounts, Terms, quota_requests
from classifier.fit.requests.limitrange import merged
from classifier.objects import Job, LimitRange, LimitRangeItem, LimitRangeSpec, Meta, Pod
from tests.unit.fit.kinds.shapes import made, only

#: Of a namespace where a container asks for 300m unless it says otherwise.
DEFAULT: Final = LimitRangeItem(type="Container", default_request={"cpu": "300m"})
TERMS: Final = Terms(ranges=merged([LimitRange(spec=LimitRangeSpec(limits=[DEFAULT]))], known=True))


def counted(obj: Meta) -> Amounts:
    return quota_requests(only(obj), TERMS).amounts


def pod(*containers: dict[str, Any], **spec: Any) -> Pod:
    named = [{"name": f"c{index}", "resources": resources} for index, resources in enumerate(containers)]
    return made(Pod, {"containers": named, **spec})


def job(*containers: dict[str, Any], **spec: Any) -> Job:
    named = [{"name": f"c{index}", "resources": resources} for index, resources in enumerate(containers)]
    return made(Job, {"template": {"spec": {"containers": named, **spec}}})


def test_a_limit_alone_is_a_pods_request_and_in_a_template_gives_way_to_the_default_request() -> None:
    limit = {"limits": {"cpu": "64"}}
    assert counted(pod(limit)) == {"cpu": 64_000}
    assert counted(job(limit)) == {"cpu": 300}


def test_an_init_container_that_is_larger_decides_in_the_same_way() -> None:
    init = [{"name": "prepare", "resources": {"limits": {"cpu": "8"}}}]
    assert counted(pod({"requests": {"cpu": "1"}}, initContainers=init)) == {"cpu": 8_000}


def test_a_pod_level_limit_leaves_a_pod_with_the_sum_of_its_containers() -> None:
    level = {"limits": {"cpu": "120"}}
    asked = {"requests": {"cpu": "16"}}
    assert counted(pod(asked, asked, resources=level)) == {"cpu": 32_000}
    assert counted(job(asked, asked, resources=level)) == {"cpu": 120_000}


def test_a_pod_level_limit_is_the_request_where_no_container_asks() -> None:
    memory = {"requests": {"cpu": "1"}}
    assert counted(pod(memory, resources={"limits": {"cpu": "2", "memory": "1Gi"}})) == {"cpu": 1_000, "memory": 2**30}


def test_a_pod_level_request_stands() -> None:
    level = {"requests": {"cpu": "4"}, "limits": {"cpu": "8"}}
    assert counted(pod({"requests": {"cpu": "1"}}, resources=level)) == {"cpu": 4_000}


def test_what_says_everything_is_left_alone() -> None:
    assert only(pod({"requests": {"cpu": "1"}, "limits": {"cpu": "1"}})).counted is None
