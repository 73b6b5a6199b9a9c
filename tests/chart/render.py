"""The chart as helm renders it: objects for the assertions of this folder."""

import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from e2e.controlplane.build import tool

CHART: Final = Path(__file__).parents[2] / "charts" / "muster"

Object = dict[str, Any]


class _Strict(yaml.SafeLoader):
    """Refuses a key that is there twice: YAML forbids it, and readers differ in which one they take."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [self.construct_object(key, deep=deep) for key, _ in node.value]
        twice = {key for key in keys if keys.count(key) > 1}
        assert not twice, f"{twice} twice in one map {node.start_mark}"
        return super().construct_mapping(node, deep)


class Refused(Exception):
    """helm would not render; the text is what it said."""


def helm(*arguments: str, values: Mapping[str, Any] | None = None) -> str:
    """What ``helm template`` prints for the chart. Raises :class:`Refused`."""
    command = [str(tool("helm")), "template", *arguments, "--values", "-", str(CHART)]
    done = subprocess.run(
        command, input=yaml.safe_dump(dict(values or {})), capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise Refused(done.stderr)
    return done.stdout


def render(
    values: Mapping[str, Any] | None = None,
    *,
    release: str = "muster",
    namespace: str = "muster-system",
    flags: Iterable[str] = (),
) -> list[Object]:
    """Every object the chart renders. ``flags`` go to helm as they are."""
    text = helm("--name-template", release, "--namespace", namespace, *flags, values=values)
    return [obj for obj in yaml.load_all(text, _Strict) if obj]


def of_kind(objects: Iterable[Object], kind: str) -> list[Object]:
    return [obj for obj in objects if obj["kind"] == kind]


def only(objects: Iterable[Object], kind: str, name: str | None = None) -> Object:
    """The one object of a kind (and name)."""
    found = [obj for obj in of_kind(objects, kind) if name is None or obj["metadata"]["name"] == name]
    assert len(found) == 1, f"{len(found)} objects {kind} {name or ''}"
    return found[0]


def walk(value: Any) -> Iterable[tuple[str, Any]]:
    """Every key and value at any depth."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key, inner
            yield from walk(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from walk(inner)
