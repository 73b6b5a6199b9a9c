"""What a node reads from a pod template."""

from typing import Any

import pytest

from e2e.controlplane import podspec
from e2e.controlplane.podspec import PodSpecError


def template(**container: Any) -> dict[str, Any]:
    main = {"name": "main", "command": ["serve"], **container}
    return {"metadata": {"labels": {"app": "x"}}, "spec": {"serviceAccountName": "sa", "containers": [main]}}


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ("--bind=$(IP)", "--bind=10.0.0.1"),
        ("$(IP):$(PORT)", "10.0.0.1:80"),
        ("$(UNKNOWN)", "$(UNKNOWN)"),
        ("$$(IP)", "$(IP)"),
        ("$$$(IP)", "$10.0.0.1"),
        ("$IP $", "$IP $"),
    ],
)
def test_references_are_expanded_as_kubernetes_does(text: str, expanded: str) -> None:
    assert podspec.expand(text, {"IP": "10.0.0.1", "PORT": "80"}) == expanded


def test_a_command_sees_its_fields_and_the_variables_before_it() -> None:
    of = template(
        args=["--bind=$(POD_IP)", "--who=$(WHO)"],
        env=[
            {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
            {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "WHO", "value": "$(POD_NAME)@$(LATER)"},
            {"name": "LATER", "value": "x"},
        ],
    )
    command = podspec.command(of, name="pod-0", namespace="ns", address="127.1.2.3", arguments={}, env={"EXTRA": "1"})
    assert command.arguments == ("serve", "--bind=127.1.2.3", "--who=pod-0@$(LATER)")
    assert command.env["EXTRA"] == "1"
    assert command.env["WHO"] == "pod-0@$(LATER)"


def test_a_test_replaces_flags_in_place_and_adds_the_others() -> None:
    line = ["serve", "--notice=", "--level=info"]
    assert podspec.with_arguments(line, {"--notice": "1s", "--more": "yes"}) == [
        "serve",
        "--notice=1s",
        "--level=info",
        "--more=yes",
    ]


def test_ports_are_found_by_name_and_number() -> None:
    of = template(ports=[{"name": "https", "containerPort": 9443}])
    assert podspec.port(of, "https") == 9443
    assert podspec.port(of, 8080) == 8080
    with pytest.raises(PodSpecError, match="no port named metrics"):
        podspec.port(of, "metrics")


def test_a_probe_has_kubernetes_defaults() -> None:
    of = template(
        ports=[{"name": "metrics", "containerPort": 8080}],
        readinessProbe={"httpGet": {"path": "/readyz", "port": "metrics"}, "periodSeconds": 5},
    )
    found = podspec.probe(of, "readinessProbe")
    assert found is not None
    assert (found.path, found.port, found.scheme) == ("/readyz", 8080, "http")
    assert (found.period, found.timeout, found.failures) == (5, 1, 3)
    assert podspec.probe(of, "livenessProbe") is None


@pytest.mark.parametrize(
    ("of", "says"),
    [
        (template(env=[{"name": "S", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]), "variable S"),
        (template(env=[{"name": "F", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}]), "spec.nodeName"),
        (template(command=None), "names no command"),
        (template(readinessProbe={"exec": {"command": ["true"]}}), "HTTP probes alone"),
    ],
)
def test_what_it_cannot_play_it_refuses(of: dict[str, Any], says: str) -> None:
    def play() -> None:
        podspec.command(of, name="p", namespace="n", address="127.0.0.1", arguments={}, env={})
        podspec.probe(of, "readinessProbe")

    with pytest.raises(PodSpecError, match=says):
        play()


def test_a_selector_wants_all_its_labels_and_an_empty_one_wants_nothing() -> None:
    labels = {"app": "x", "part": "web"}
    assert podspec.selected({"app": "x"}, labels)
    assert not podspec.selected({"app": "x", "part": "db"}, labels)
    assert not podspec.selected({}, labels)
    assert not podspec.selected(None, labels)
