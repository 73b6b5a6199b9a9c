"""The rendered command lines are read by the programs themselves: a flag that only one side knows fails here."""

from typing import Any

import controller.settings
import webhook.settings
from classifier.clock import HOLD
from classifier.cluster.configmaps import AUTOSCALER_STATUS, KUEUE_CONFIG, ConfigMapName
from controller.cleanup import Mark
from tests.chart.conftest import MATRIX, rendered
from tests.chart.render import Object, only, render


def arguments(objects: list[Object], component: str, prefix: str = "muster") -> list[str]:
    """As the kubelet expands them for a Pod at 127.0.0.9."""
    deployment = only(objects, "Deployment", f"{prefix}-{component}")
    container: dict[str, Any] = deployment["spec"]["template"]["spec"]["containers"][0]
    assert container["command"] == [f"muster-{component}"]
    sources = {env["name"]: env["valueFrom"]["fieldRef"]["fieldPath"] for env in container["env"]}
    assert sources == {"POD_NAME": "metadata.name", "POD_NAMESPACE": "metadata.namespace", "POD_IP": "status.podIP"}
    pod = {"POD_NAME": "pod-1", "POD_NAMESPACE": "muster-system", "POD_IP": "127.0.0.9"}
    expanded = []
    for argument in container["args"]:
        for name, value in pod.items():
            argument = argument.replace(f"$({name})", value)
        expanded.append(argument)
    return expanded


def test_the_webhook_reads_its_arguments(defaults: list[Object]) -> None:
    settings = webhook.settings.read(arguments(defaults, "webhook"), {})
    assert settings.bind_address == "127.0.0.9"
    assert settings.dns_names[0] == "muster-webhook.muster-system.svc"
    assert settings.default_timeout is None


def test_the_controller_reads_its_arguments(defaults: list[Object]) -> None:
    settings = controller.settings.parse(arguments(defaults, "controller"))
    assert settings.lease == "muster-controller"
    assert (settings.lease_duration, settings.renew_deadline, settings.retry_period) == (15_000, 10_000, 2_000)
    assert settings.fence == only(defaults, "ValidatingAdmissionPolicy", "muster-fence")["metadata"]["name"]
    assert settings.notice is None
    assert settings.default_timeout is None


def test_both_agree_on_the_policy_of_the_values() -> None:
    objects = rendered("everything about pods")
    hook = webhook.settings.read(arguments(objects, "webhook"), {})
    control = controller.settings.parse(arguments(objects, "controller"))
    assert (hook.default_timeout, hook.max_timeout) == (control.default_timeout, control.max_timeout)
    assert hook.default_timeout == 4 * 3600 * 1000


def test_workloads_without_owner_are_bounded_only_where_asked_for(defaults: list[Object]) -> None:
    assert not controller.settings.parse(arguments(defaults, "controller")).bound_ownerless
    asked = render({"admission": {"ownerlessWorkloads": True}})
    assert controller.settings.parse(arguments(asked, "controller")).bound_ownerless


def test_the_controller_reads_whose_holds_it_understands(defaults: list[Object]) -> None:
    assert controller.settings.parse(arguments(defaults, "controller")).hold == HOLD
    other = render({"admission": {"dispatchPrefix": "dispatch.example.com/"}})
    assert controller.settings.parse(arguments(other, "controller")).hold == "dispatch.example.com/hold-instance"


def test_the_controller_reads_how_to_clean_up(defaults: list[Object]) -> None:
    rules = controller.settings.parse(arguments(defaults, "controller")).cleanup
    assert rules is not None
    assert rules.minimum == 600_000
    assert {"argocd.argoproj.io/tracking-id", "kustomize.toolkit.fluxcd.io/name"} <= rules.keys
    assert Mark("configmanagement.gke.io/managed", "enabled") in rules.marks
    off = render({"cleanup": {"enabled": False, "gitOpsKeys": []}})
    assert controller.settings.parse(arguments(off, "controller")).cleanup is None


def test_both_read_the_config_maps_of_the_values() -> None:
    chosen = {
        "kueue": {"config": {"namespace": "queues", "name": "config"}},
        "autoscaler": {"statusConfigMap": {"name": ""}},
    }
    for values, expected in (
        ({}, (KUEUE_CONFIG, AUTOSCALER_STATUS)),
        (chosen, (ConfigMapName("queues", "config"), None)),
    ):
        objects = render(values)
        hook = webhook.settings.read(arguments(objects, "webhook"), {})
        control = controller.settings.parse(arguments(objects, "controller"))
        assert (hook.kueue_config, hook.autoscaler_status) == expected
        assert (control.kueue_config, control.autoscaler_status) == expected


def test_the_webhooks_own_settings_are_within_reach(defaults: list[Object]) -> None:
    plain = webhook.settings.read(arguments(defaults, "webhook"), {})
    assert (plain.stale_after, plain.preflight_optional, plain.tls_min_version) == (180_000, False, "1.2")
    objects = render({"webhook": {"preflightOptional": True, "staleAfter": "10m", "tlsMinVersion": "1.3"}})
    chosen = webhook.settings.read(arguments(objects, "webhook"), {})
    assert (chosen.stale_after, chosen.preflight_optional, chosen.tls_min_version) == (600_000, True, "1.3")
    # What waits is judged by the same rule as what is submitted.
    assert controller.settings.parse(arguments(defaults, "controller")).preflight_optional is False
    assert controller.settings.parse(arguments(objects, "controller")).preflight_optional is True


def test_every_setting_of_the_webhook_is_a_value_or_has_one_choice() -> None:
    given = {argument.partition("=")[0] for argument in arguments(rendered("defaults"), "webhook")}
    known = {option for action in webhook.settings.parser({})._actions for option in action.option_strings}
    assert known - given == {"-h", "--help", "--certificate-mode"}
    assert len(webhook.settings.CERTIFICATE_MODES) == 1


def test_other_releases_are_told_their_own_names() -> None:
    name = "release that sorts before Kueue"
    assert MATRIX[name].release == "batch"
    settings = webhook.settings.read(arguments(rendered(name), "webhook", "batch-muster"), {})
    assert settings.service == "batch-muster-webhook"
    assert settings.ca_secret == "batch-muster-webhook-ca"
    assert settings.configuration == "muster-batch-webhook"
