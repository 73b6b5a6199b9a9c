"""The pages in docs/ name what there is: metrics, keys, events, options, values, and each other."""

import argparse
import re
import shlex
from pathlib import Path
from typing import cast

import pytest
import yaml

from classifier import api
from classifier.cli.main import parser
from controller.act import Writer
from controller.metrics import Metrics as ControllerMetrics
from controller.voids import Voids
from webhook.metrics import Metrics as WebhookMetrics

ROOT = Path(__file__).parents[2]
PAGES = {page.name: page.read_text("utf-8") for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]}
ALL = "\n".join(PAGES.values())
CHART = ROOT / "charts" / "muster"
VALUES = yaml.safe_load((CHART / "values.yaml").read_text("utf-8"))


def exposed(metrics: ControllerMetrics | WebhookMetrics) -> set[str]:
    """Metrics of our own, as a scrape names them."""
    families = metrics.registry.collect()
    return {
        f"{family.name}_total" if family.type == "counter" else family.name
        for family in families
        if family.name.startswith("muster_")
    }


def controllers() -> set[str]:
    metrics = ControllerMetrics()
    metrics.watch_reflectors(())
    Voids(cast("Writer", None), metrics, lambda: 0, "")
    return exposed(metrics)


def test_the_page_of_metrics_has_each_and_no_other() -> None:
    _, of_controller, of_webhook, _ = re.split(r"^## .*$", PAGES["metrics.md"], flags=re.MULTILINE)
    listed = [re.findall(r"^\| `(\w+)` \|", part, re.MULTILINE) for part in (of_controller, of_webhook)]
    assert [sorted(names) for names in listed] == [sorted(controllers()), sorted(exposed(WebhookMetrics()))]


@pytest.mark.parametrize("file", ["", "templates/prometheusrule.yaml", "dashboards/muster.json"])
def test_metrics_that_are_named_anywhere_exist(file: str) -> None:
    text = (CHART / file).read_text("utf-8") if file else ALL
    named = {re.sub("_(bucket|count)$", "", name) for name in re.findall(r"\bmuster_[a-z_]+", text)}
    assert named
    assert named <= controllers() | exposed(WebhookMetrics())


def test_every_key_and_every_event_is_in_the_docs() -> None:
    keys = {name for name in vars(api).values() if isinstance(name, str) and name.startswith(api.PREFIX)}
    assert {key for key in keys - {api.PREFIX} if key.removeprefix(api.PREFIX) not in ALL} == set()
    assert {
        key for key in re.findall(r"muster\.dev/([a-z-]+[a-z])\b(?!\d)", ALL) if api.PREFIX + key not in keys
    } == set()
    events = {value for name, value in vars(api).items() if name.startswith("EVENT_")}
    assert {event for event in events if f"`{event}`" not in ALL} == set()


def test_every_option_is_in_the_docs() -> None:
    top = parser()
    (commands,) = (action for action in top._actions if isinstance(action, argparse._SubParsersAction))
    options = {tuple(action.option_strings) for command in commands.choices.values() for action in command._actions} - {
        (),
        ("-h", "--help"),
    }
    page = set(re.findall(r"(?<![\w-])--?[a-z-]+\b", PAGES["cli.md"], re.IGNORECASE))
    assert {names for names in options if not page & set(names)} == set()


def test_every_command_is_understood() -> None:
    written = re.findall(r"^(?:\$ )?(muster .*?)(?: \||\s+#|$)", ALL, re.MULTILINE) + re.findall(r"`(muster .*?)`", ALL)
    calls = {re.sub(r" \[(-\w)\]", r" \1", call) for call in written}
    calls = {call for call in calls if " -" in call or "/" in call}
    assert len(calls) > 15
    for call in calls:
        parser().parse_args(shlex.split(call)[1:])


def test_every_value_that_is_named_exists() -> None:
    """Those with a dot, whose first word is one of the chart's own."""
    named = re.findall(rf"`((?:{'|'.join(VALUES)})(?:\.\w+)+)(?:[:=][^`]*)?`", ALL)
    assert len(set(named)) > 20
    for name in named:
        value = VALUES
        for part in name.split("."):
            assert part in value, name
            value = value[part]


def test_all_that_a_judgement_reads_is_in_the_docs() -> None:
    rules = (CHART / "templates" / "_rbac.tpl").read_text("utf-8").partition('define "muster.worldRules"')[2]
    read = set(re.findall(r"\w+", " ".join(re.findall(r"resources:\s*\[(.*?)\]", rules, re.DOTALL))))
    assert len(read) > 15
    for page in ("install.md", "cli.md", "pipeline.md"):
        assert {plural for plural in read if plural not in PAGES[page].lower()} == set(), page


def test_every_link_leads_somewhere() -> None:
    def anchors(text: str) -> set[str]:
        headings = re.findall(
            r"^#+ (.*)$", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL), re.MULTILINE
        )
        return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}

    for name, text in PAGES.items():
        folder = ROOT if name == "README.md" else ROOT / "docs"
        for link in re.findall(r"\]\(([^)\s]+)\)", text):
            if "://" in link:
                continue
            path, _, anchor = link.partition("#")
            target = folder / path if path else folder / name
            assert target.exists(), f"{name}: {link}"
            assert not anchor or anchor in anchors(target.read_text("utf-8")), f"{name}: {link}"
