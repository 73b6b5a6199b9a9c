"""What the chart refuses, and that the refusal says which value and what to do."""

import json
import re
from typing import Any

import pytest

from tests.chart.render import Refused, of_kind, only, render
from webhook import server


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
        ("webhook.staleAfter", "5s"),
        ("webhook.tlsMinVersion", "1.1"),
        ("webhook.tlsMinVersion", 1.2),
        ("webhook.preflightOptional", "yes"),
        ("controller.replicas", "two"),
        ("controller.leaderElection.leaseDuration", "5s"),
        ("controller.leaderElection.retry", "2s"),
        ("controller.fenceSettle", "3s"),
        ("controller.recoveryGrace", "0s"),
        ("controller.rate", 0),
        ("admission.defaultTimeout", "30"),
        ("admission.defaultTimeout", "30s"),
        ("admission.defaultTimeout", "30m1h"),
        ("admission.maxTimeout", "1d"),
        ("admission.notice", "-5m"),
        ("admission.dispatchPrefix", "dispatch.example.com"),
        ("capacityProfile.minTTLAfterTimeout", "9m59s"),
        ("cleanup.gitOpsKeys", ["a,b"]),
        ("cleanup.enabled", "no"),
        ("protection.enabled", "yes"),
        ("protection.administrators.groups", "system:masters"),
        ("image.digest", "sha256:1"),
        ("fullnameOverride", "Muster"),
    ],
)
def test_nonsense_is_refused_by_name(path: str, value: Any) -> None:
    with pytest.raises(Refused) as refused:
        render(nested(path, value))
    assert path.rpartition(".")[2] in str(refused.value)


@pytest.mark.parametrize(
    "path",
    [
        "cleanup.gitOpsKeys",
        "webhook.kinds",
        "protection",
        "protection.administrators",
        "protection.administrators.groups",
        "networkPolicy",
        "controller.leaderElection",
        "kueue.config",
        "kueue.config.name",
        "kueue.config.namespace",
        "autoscaler.statusConfigMap",
    ],
)
def test_what_an_earlier_release_did_not_have_is_missed_by_name(path: str) -> None:
    """``helm upgrade --reuse-values`` leaves out what the chart has gained: never webhooks without a kind."""
    with pytest.raises(Refused) as refused:
        render(nested(path, None))
    assert f"missing property '{path.rpartition('.')[2]}'" in str(refused.value)


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
    assert "--min-ttl=5s" in controller["args"]
    assert "duration('5s')" in json.dumps(only(objects, "CustomResourceDefinition"))


@pytest.mark.parametrize(
    ("values", "remedy"),
    [
        ({"webhook": {"drain": "19s"}}, "raise webhook.terminationGracePeriodSeconds to 31"),
        ({"webhook": {"drain": "1h"}}, "to 3612"),
        ({"webhook": {"drain": "1m19s", "terminationGracePeriodSeconds": 90}}, "to 91"),
        ({"admission": {"defaultTimeout": "1h0m1s", "maxTimeout": "60m"}}, "admission.defaultTimeout 1h0m1s is longer"),
        ({"admission": {"defaultTimeout": "3601s", "maxTimeout": "1h"}}, "raise admission.maxTimeout"),
        ({"webhook": {"failurePolicy": "Fail", "replicas": 1}}, "set webhook.replicas to 2 or more"),
        (
            {"controller": {"leaderElection": {"renewDeadline": "15s"}}},
            "two replicas could lead at once: raise leaseDuration",
        ),
        ({"controller": {"leaderElection": {"retryPeriod": "10s"}}}, "raise renewDeadline, or lower retryPeriod"),
        ({"webhook": {"port": 9443, "metricsPort": 9443}}, "choose another webhook.metricsPort"),
    ],
)
def test_values_that_contradict_each_other_are_refused(values: dict[str, Any], remedy: str) -> None:
    with pytest.raises(Refused, match=remedy):
        render(values)


@pytest.mark.parametrize(
    "values",
    [
        {"webhook": {"drain": "18s"}},
        {"webhook": {"drain": "1m18s", "terminationGracePeriodSeconds": 90}},
        {"admission": {"defaultTimeout": "1h0m1s", "maxTimeout": "3601s"}},
        {"admission": {"defaultTimeout": "4h"}},
        {"admission": {"maxTimeout": "4h"}},
    ],
)
def test_values_that_just_agree_are_taken(values: dict[str, Any]) -> None:
    assert render(values)


def test_the_least_grace_period_that_is_taken_is_enough_for_the_webhooks_end() -> None:
    drain, grace = 18, 30  # as above
    assert drain + server.ENDING + 1 < grace


KUEUES = "kueue-mutating-webhook-configuration"


@pytest.mark.parametrize(
    ("values", "release"),
    [
        ({"webhook": {"configurationName": "admission"}}, "muster"),
        ({"webhook": {"configurationName": KUEUES}}, "muster"),
        ({"kueue": {"mutatingWebhookConfiguration": "queue-webhook"}}, "muster"),
        ({"kueue": {"mutatingWebhookConfiguration": "zz-webhook"}}, "batch"),
        ({"fullnameOverride": "a", "kueue": {"mutatingWebhookConfiguration": "muster-webhook"}}, "batch"),
    ],
)
def test_a_configuration_that_sorts_too_early_is_named_and_a_name_that_works_advised(
    values: dict[str, Any], release: str
) -> None:
    with pytest.raises(Refused, match="must sort after Kueue's") as refused:
        render(values, release=release)
    found = re.search(
        r'configuration "(.*?)" must sort after .*? set webhook.configurationName to "(.*?)"', str(refused.value)
    )
    assert found is not None, str(refused.value)
    effective, advised = found.groups()
    assert effective
    chosen = {**values, "webhook": {"configurationName": advised}}
    assert only(render(chosen, release=release), "MutatingWebhookConfiguration")["metadata"]["name"] == advised


SELECTOR_KEYS = ["app.kubernetes.io/name", "app.kubernetes.io/instance", "app.kubernetes.io/component"]
LABELS = ["commonLabels", "webhook.podLabels", "controller.podLabels"]


@pytest.mark.parametrize("path", LABELS)
@pytest.mark.parametrize(
    "key", [*SELECTOR_KEYS, "app.kubernetes.io/version", "app.kubernetes.io/managed-by", "helm.sh/chart"]
)
def test_labels_that_the_chart_sets_cannot_be_set_besides(path: str, key: str) -> None:
    """Twice in one map is no valid YAML to some readers, and the last one wins with others: no Pod is selected then."""
    with pytest.raises(Refused) as refused:
        render(nested(path, {key: "mine"}))
    assert key in str(refused.value)
    assert path.rpartition(".")[2] in str(refused.value)


@pytest.mark.parametrize("path", LABELS)
def test_labels_of_ones_own_are_taken(path: str) -> None:
    objects = render(nested(path, {"app.kubernetes.io/part-of": "batch", "team": "ml"}))
    labelled = [o for o in of_kind(objects, "Deployment") if o["spec"]["template"]["metadata"]["labels"].get("team")]
    assert labelled


def test_a_label_that_is_asked_for_twice_is_set_once_and_the_nearer_wins() -> None:
    near = {"team": "batch"}
    enabled = {"enabled": True, "labels": near}
    objects = render(
        {
            "commonLabels": {"team": "ml"},
            "webhook": {"podLabels": near},
            "monitoring": {
                "serviceMonitor": enabled,
                "prometheusRule": {**enabled, "alertLabels": {"severity": "page"}},
            },
        }
    )
    webhook = only(objects, "Deployment", "muster-webhook")
    assert webhook["metadata"]["labels"]["team"] == "ml"
    assert webhook["spec"]["template"]["metadata"]["labels"]["team"] == "batch"
    for kind in ("ServiceMonitor", "PrometheusRule"):
        assert only(objects, kind)["metadata"]["labels"]["team"] == "batch"
    (group,) = only(objects, "PrometheusRule")["spec"]["groups"]
    assert {rule["labels"]["severity"] for rule in group["rules"]} == {"page"}


def test_kube_system_is_no_place_for_it() -> None:
    with pytest.raises(Refused, match="--namespace muster-system"):
        render(namespace="kube-system")


def test_kubernetes_without_validating_admission_policies_is_refused() -> None:
    with pytest.raises(Refused, match=r"1\.30"):
        render(flags=["--kube-version", "1.29.0"])
