"""The status of Cluster Autoscaler before 1.30: text for people, of one fixed shape.

(autoscaler 1.29: clusterstate/api/utils.go, clusterstate/clusterstate.go)
"""

import re
from typing import Any, Final

from classifier.fit.facts.reading import Group, Reading, backoff, count, parse_time

_BEGIN: Final = "Cluster-autoscaler status at "
_NAME: Final = re.compile(r" {2}Name: {1,16}(\S{1,1024})\s*")
_CONDITION: Final = re.compile(r" {2}(Health|ScaleUp|ScaleDown): {1,16}(\w{1,64})(?: (\(.{0,1024}))?")
_SINCE: Final = re.compile(r" {3,32}LastTransitionTime: {1,16}(\S.{0,95})")
#: The registered figure is followed by a target and its range; the order of the others changed from version to version.
_FIGURE: Final = re.compile(r"\b(ready|registered|cloudProviderTarget|maxSize|max)=(\d{1,16})\b", re.ASCII)


def is_text(text: str) -> bool:
    return text.startswith(_BEGIN)


def read(text: str) -> Reading:
    """What can be made out, group by group; a line of any other shape says nothing."""
    first, _, rest = text.partition("\n")
    observed_at = parse_time(first.removeprefix(_BEGIN).rstrip().removesuffix(":"))
    found: list[dict[str, Any]] = []
    condition = ""
    for line in rest.split("\n"):
        name = _NAME.fullmatch(line)
        if name is not None:
            found.append({"name": name[1]})
            condition = ""
        elif found:
            condition = _take(found[-1], condition, line)
    return Reading(observed_at, True, [_group(entry) for entry in found])


def _take(entry: dict[str, Any], condition: str, line: str) -> str:
    """Take what a line below a group's name says; returns the condition it stands in."""
    start = _CONDITION.match(line)
    if start is not None:
        condition = start[1]
        entry[condition] = start[2]
        if condition == "Health":
            entry["figures"] = {key: count(value) for key, value in _FIGURE.findall(start[3] or "")}
        return condition
    since = _SINCE.fullmatch(line)
    if since is not None and condition == "ScaleUp":
        entry["since"] = parse_time(since[1])
    return condition


def _group(entry: dict[str, Any]) -> Group:
    name, figures = entry["name"], entry.get("figures", {})
    return Group(
        name,
        max_size=figures.get("maxSize", figures.get("max")),
        target=figures.get("cloudProviderTarget"),
        registered=figures.get("registered"),
        ready=figures.get("ready"),
        backoff=backoff(name, entry.get("since")) if entry.get("ScaleUp") == "Backoff" else None,
    )
