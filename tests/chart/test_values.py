"""What the chart refuses, and that the refusal says which value and what to do."""

import json
from typing import Any

import pytest

from tests.chart.render import Refused, only, render


def nested(path: str, value: Any) -> dict[str, Any]:
    for key in reversed(path.split(".")):
        value = {key: value}
    return dict(value)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("webhok", {}),
        ("webhook.replica", 2),
        ("webhook.replicas", "two"),
        ("webhook.failurePolicy", "Open"),
        ("webhook.timeoutSeconds", 30),
        ("webhook.port", 443),
        ("webhook.drain", "1s"),
        ("webhook.excludedNamespaces", "ci"),
        ("webhook.namespaceSelector", {"matchLabel": {}}),
        ("webhook.logLevel", "verbose"),
        ("controller.replicas", 2),
        ("controller.fenceSettle", "3s"),
        ("controller.recoveryGrace", "0s"),
        ("controller.rate", 0),
        ("admission.defaultTimeout", "30"),
        ("admission.defaultTimeout", "30s"),
        ("admission.defaultTimeout", "30m1h"),
        ("admission.maxTimeout", "1d"),
        ("admission.notice", "-5m"),
        ("capacityProfile.minTTLAfterTimeout", "9m59s"),
        ("image.digest", "sha256:1"),
        ("fullnameOverride", "Muster"),
    ],
)
def test_nonsense_is_refused_by_name(path: str, value: Any) -> None:
    with pytest.raises(Refused) as refused:
        render(nested(path, value))
    assert path.rpartition(".")[2] in str(refused.value)


@pytest.mark.parametrize("value", ["1m", "60s", "90s", "1h", "1h30m", "1h0m30s", "168h"])
def test_durations_of_a_minute_or_more_are_taken(value: str) -> None:
    controller = only(render(nested("admission.defaultTimeout", value)), "Deployment", "muster-controller")
    assert f"--default-timeout={value}" in controller["spec"]["template"]["spec"]["containers"][0]["args"]


def test_minima_are_the_schemas_alone() -> None:
    """Tests and the demo run with seconds: the same chart, rendered without the schema."""
    values = {"controller": {"fenceSettle": "2s"}, "capacityProfile": {"minTTLAfterTimeout": "5s"}}
    objects = render(values, flags=["--skip-schema-validation"])
    controller = only(objects, "Deployment", "muster-controller")["spec"]["template"]["spec"]["containers"][0]
    assert "--fence-settle=2s" in controller["args"]
    assert "duration('5s')" in json.dumps(only(objects, "CustomResourceDefinition"))


@pytest.mark.parametrize(
    ("values", "remedy"),
    [
        ({"webhook": {"configurationName": "admission"}}, "choose a name such as muster-webhook"),
        ({"kueue": {"mutatingWebhookConfiguration": "queue-webhook"}}, "must sort after Kueue's"),
        ({"webhook": {"failurePolicy": "Fail", "replicas": 1}}, "set webhook.replicas to 2 or more"),
        ({"webhook": {"port": 9443, "metricsPort": 9443}}, "choose another webhook.metricsPort"),
    ],
)
def test_values_that_contradict_each_other_are_refused(values: dict[str, Any], remedy: str) -> None:
    with pytest.raises(Refused, match=remedy):
        render(values)


def test_kube_system_is_no_place_for_it() -> None:
    with pytest.raises(Refused, match="--namespace muster-system"):
        render(namespace="kube-system")


def test_kubernetes_without_validating_admission_policies_is_refused() -> None:
    with pytest.raises(Refused, match=r"1\.30"):
        render(flags=["--kube-version", "1.29.0"])
