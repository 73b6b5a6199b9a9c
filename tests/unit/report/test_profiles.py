"""ProvisioningReady names what to fix."""

from typing import Any

import msgspec
import pytest

from classifier.objects import CapacityProfile
from classifier.objects.kueue import ProvisioningRequestConfigSpec
from classifier.report import provisioning_ready
from tests.unit.report.builders import CHECK, admission_check, cluster_queue, condition, config, profile

ACTIVE = admission_check()


def ready(spoken: CapacityProfile, **given: Any) -> tuple[str, str, str]:
    world: dict[str, Any] = {
        "checks": {CHECK: ACTIVE},
        "configs": {CHECK: config()},
        "cluster_queues": [cluster_queue(CHECK)],
        **given,
    }
    made = provisioning_ready(spoken, **world)
    return made.status, made.reason, made.message


@pytest.mark.parametrize(
    ("given", "status", "reason", "says"),
    [
        ({}, "True", "Ready", "exist and are active"),
        ({"checks": None}, "Unknown", "NotReadable", "may not be read"),
        ({"configs": None}, "Unknown", "NotReadable", "may not be read"),
        ({"checks": {}}, "False", "AdmissionCheckNotFound", "AdmissionCheck capacity does not exist; create it"),
        ({"configs": {}}, "False", "ConfigNotFound", "ProvisioningRequestConfig capacity does not exist"),
        (
            {"checks": {CHECK: admission_check(controller="kueue.x-k8s.io/provisioning")}},
            "False",
            "WrongController",
            "controllerName kueue.x-k8s.io/provisioning; only kueue.x-k8s.io/provisioning-request",
        ),
        ({"checks": {CHECK: admission_check(config="other")}}, "False", "WrongConfig", "refers to other"),
        ({"checks": {CHECK: admission_check(config=None)}}, "False", "WrongConfig", "refers to no config"),
        (
            {"checks": {CHECK: admission_check(condition("Active", "False", "BadParametersRef", "no such config"))}},
            "False",
            "AdmissionCheckNotActive",
            "not active: BadParametersRef: no such config",
        ),
        (
            {"checks": {CHECK: admission_check(condition("Other", "True"))}},
            "False",
            "AdmissionCheckNotActive",
            "no Active condition; is Kueue running?",
        ),
        ({"cluster_queues": [cluster_queue()]}, "False", "CheckNotUsed", "ClusterQueue gpu-a100 does not use"),
        ({"cluster_queues": []}, "True", "Ready", "exist and are active"),
    ],
)
def test_the_named_objects_are_looked_at(given: dict[str, Any], status: str, reason: str, says: str) -> None:
    found = ready(profile(), **given)
    assert found[:2] == (status, reason)
    assert says in found[2]


def test_the_class_must_be_the_one_the_profile_states() -> None:
    spoken = profile(provisioning={"config": CHECK, "className": "check-capacity.autoscaling.x-k8s.io"})
    status, reason, message = ready(spoken)
    assert (status, reason) == ("False", "WrongClass")
    assert "not check-capacity.autoscaling.x-k8s.io" in message


STATED: dict[str, Any] = {
    "managedResources": ["nvidia.com/gpu"],
    "retry": {"limit": 2, "baseSeconds": 60},
    "parameters": {"ValidUntilSeconds": "1200"},
}
THERE: dict[str, Any] = {
    "managedResources": ["nvidia.com/gpu"],
    "retryStrategy": {"backoffLimitCount": 2, "backoffBaseSeconds": 60, "backoffMaxSeconds": 1800},
    "parameters": {"ValidUntilSeconds": "1200", "noChildren": "true"},
}


@pytest.mark.parametrize(
    ("there", "says"),
    [
        ({}, None),
        ({"retryStrategy": {}}, None),
        ({"managedResources": ["cpu"]}, "managedResources cpu; spec.provisioning states nvidia.com/gpu"),
        ({"managedResources": []}, "managedResources none; "),
        (
            {"retryStrategy": {"backoffLimitCount": 0}},
            "retryStrategy.backoffLimitCount 0; spec.provisioning states 2",
        ),
        ({"retryStrategy": {"backoffBaseSeconds": 30}}, "retryStrategy.backoffBaseSeconds 30; "),
        (
            {"parameters": {"ValidUntilSeconds": "600"}},
            "parameters.ValidUntilSeconds 600; spec.provisioning states 1200",
        ),
        ({"parameters": {}}, "parameters.ValidUntilSeconds unset; "),
    ],
)
def test_the_config_must_say_what_the_profile_states(there: dict[str, Any], says: str | None) -> None:
    spoken = profile(provisioning={"admissionCheck": CHECK, "config": CHECK, **STATED})
    found = config()
    found.spec = msgspec.convert({"provisioningClassName": "any", **THERE, **there}, ProvisioningRequestConfigSpec)
    status, reason, message = ready(spoken, configs={CHECK: found})
    if says is None:
        assert (status, reason) == ("True", "Ready")
    else:
        assert (status, reason) == ("False", "ConfigDiffers")
        assert f"ProvisioningRequestConfig capacity has {says}" in message
        assert message.endswith(": correct either")


def test_a_profile_that_names_nothing_is_ready() -> None:
    assert ready(profile(provisioning=None), checks=None, configs=None)[:2] == ("True", "NothingStated")


def test_queues_the_profile_does_not_speak_for_need_no_check() -> None:
    spoken = profile(clusterQueues=["gpu-a100"])
    assert ready(spoken, cluster_queues=[cluster_queue(CHECK), cluster_queue(name="cpu-only")])[0] == "True"
