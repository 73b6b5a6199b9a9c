"""The rendered command lines are read by the programs themselves: a flag that only one side knows fails here."""

from typing import Any

import controller.settings
import webhook.settings
from tests.chart.conftest import MATRIX, rendered
from tests.chart.render import Object, only


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
    assert settings.fence == only(defaults, "ValidatingAdmissionPolicy")["metadata"]["name"]
    assert settings.notice is None
    assert settings.default_timeout is None


def test_both_agree_on_the_policy_of_the_values() -> None:
    objects = rendered("everything about pods")
    hook = webhook.settings.read(arguments(objects, "webhook"), {})
    control = controller.settings.parse(arguments(objects, "controller"))
    assert (hook.default_timeout, hook.max_timeout) == (control.default_timeout, control.max_timeout)
    assert hook.default_timeout == 4 * 3600 * 1000


def test_other_releases_are_told_their_own_names() -> None:
    name = "release that sorts before Kueue"
    assert MATRIX[name].release == "batch"
    settings = webhook.settings.read(arguments(rendered(name), "webhook", "batch-muster"), {})
    assert settings.service == "batch-muster-webhook"
    assert settings.ca_secret == "batch-muster-webhook-ca"
    assert settings.configuration == "muster-batch-webhook"
