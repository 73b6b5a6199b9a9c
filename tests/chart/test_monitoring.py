"""Alerts and scraping: each alert fires when it should, keeps silent when it should, and says where to read on."""

import json
import re
import subprocess
from pathlib import Path

import pytest
import yaml

from e2e.controlplane.build import tool
from tests.chart.conftest import rendered
from tests.chart.render import CHART, Object, only, render

SCENARIOS = sorted((Path(__file__).parent / "alerts").glob("*.yaml"))
RUNBOOK = CHART.parents[1] / "docs" / "runbook.md"


@pytest.fixture(scope="session")
def rules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the rules of a default install, as Prometheus reads them."""
    objects = render({"monitoring": {"prometheusRule": {"enabled": True}}})
    folder = tmp_path_factory.mktemp("rules")
    (folder / "rules.yaml").write_text(yaml.safe_dump(only(objects, "PrometheusRule")["spec"]))
    return folder


def alerts(objects: list[Object]) -> list[Object]:
    return [rule for group in only(objects, "PrometheusRule")["spec"]["groups"] for rule in group["rules"]]


def promtool(*arguments: str | Path) -> None:
    done = subprocess.run([tool("promtool"), *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_prometheus_reads_the_rules(rules: Path) -> None:
    promtool("check", "rules", "--lint=all", "--lint-fatal", rules / "rules.yaml")


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda path: path.stem)
def test_alert(rules: Path, scenario: Path) -> None:
    target = rules / f"test-{scenario.name}"
    target.write_text(scenario.read_text())
    promtool("test", "rules", target)


def test_every_alert_has_a_scenario_in_which_it_fires_and_one_in_which_it_does_not() -> None:
    fires: dict[str, set[bool]] = {}
    for scenario in SCENARIOS:
        for test in yaml.safe_load(scenario.read_text())["tests"]:
            for expectation in test["alert_rule_test"]:
                fires.setdefault(expectation["alertname"], set()).add(bool(expectation.get("exp_alerts")))
    assert fires == {alert["alert"]: {True, False} for alert in alerts(rendered("monitoring"))}


def test_every_alert_names_a_section_of_the_runbook() -> None:
    headings = re.findall(r"^## (\w+)$", RUNBOOK.read_text(), re.MULTILINE)
    for alert in alerts(rendered("monitoring")):
        base, anchor = alert["annotations"]["runbook_url"].split("#")
        assert base == "https://wiki.example.com/muster"
        assert anchor in [heading.lower() for heading in headings]
        assert alert["labels"]["severity"] in ("warning", "critical")
        assert alert["labels"]["team"] == "batch"


def test_a_controller_that_is_paused_on_purpose_is_not_missed() -> None:
    paused = render({"controller": {"replicas": 0}, "monitoring": {"prometheusRule": {"enabled": True}}})
    names = {alert["alert"] for alert in alerts(rendered("monitoring"))} - {alert["alert"] for alert in alerts(paused)}
    assert names == {"MusterControllerAbsent", "MusterNoLeader"}


def test_a_webhook_that_is_left_out_on_purpose_is_not_missed_and_jobs_are_refused_without_one_that_must_answer() -> (
    None
):
    def said(**webhook: object) -> dict[str, str]:
        objects = render({"webhook": webhook, "monitoring": {"prometheusRule": {"enabled": True}}})
        return {alert["alert"]: alert["annotations"]["description"] for alert in alerts(objects)}

    assert "MusterWebhookAbsent" not in said(replicas=0)
    assert said(failurePolicy="Fail")["MusterWebhookAbsent"].endswith("Jobs are refused meanwhile.")


def test_rules_and_monitor_carry_the_labels_prometheus_selects_by() -> None:
    for kind in ("PrometheusRule", "ServiceMonitor"):
        assert only(rendered("monitoring"), kind)["metadata"]["labels"]["release"] == "prometheus"


def test_both_programs_are_scraped() -> None:
    objects = rendered("monitoring")
    monitor = only(objects, "ServiceMonitor")["spec"]
    (endpoint,) = monitor["endpoints"]
    scraped = {
        service["metadata"]["name"]
        for service in objects
        if service["kind"] == "Service"
        and monitor["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
        and endpoint["port"] in [port["name"] for port in service["spec"]["ports"]]
    }
    assert scraped == {"muster-webhook", "muster-controller"}


def dashboard() -> Object:
    objects = render({"monitoring": {"dashboard": {"enabled": True}}})
    config_map = only(objects, "ConfigMap")
    assert config_map["metadata"]["labels"]["grafana_dashboard"] == "1"
    found: Object = json.loads(config_map["data"]["muster.json"])
    return found


def test_prometheus_reads_what_the_dashboard_asks(tmp_path: Path) -> None:
    panels = [panel for panel in dashboard()["panels"] if panel["type"] != "row"]
    asked = [target["expr"] for panel in panels for target in panel["targets"]]
    assert len(asked) > len(panels) > 10
    plain = [expr.replace("$__rate_interval", "5m").replace("$cluster_queue", ".*") for expr in asked]
    assert not any("$" in expr for expr in plain)
    rules = [{"record": f"panel:{number}", "expr": expr} for number, expr in enumerate(plain)]
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": rules}]}))
    promtool("check", "rules", tmp_path / "rules.yaml")


def test_panels_do_not_lie_over_each_other() -> None:
    places = [panel["gridPos"] for panel in dashboard()["panels"]]
    cells = [(x, y) for p in places for x in range(p["x"], p["x"] + p["w"]) for y in range(p["y"], p["y"] + p["h"])]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) == 23
    assert len({panel["id"] for panel in dashboard()["panels"]}) == len(places)


def test_a_cluster_without_the_prometheus_operator_gets_neither(defaults: list[Object]) -> None:
    assert not {"PrometheusRule", "ServiceMonitor", "ConfigMap"} & {obj["kind"] for obj in defaults}
