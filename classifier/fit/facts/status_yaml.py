"""The status of Cluster Autoscaler since 1.30 (cluster-autoscaler: pkg/clusterstate/api/types.go)."""

from collections.abc import Iterator
from typing import Any, Final

import yaml

from classifier.fit.facts.reading import Group, Reading, Unreadable, backoff, count, parse_time

#: The deepest value (nodeCounts.registered.unready.total) stands seven levels deep.
_MAX_DEPTH: Final = 32

#: libyaml where there is one: a status of a thousand groups takes it a tenth of a second.
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_NULLS: Final = frozenset({"", "~", "null", "Null", "NULL"})


def read(text: str) -> Reading:
    """Raises Unreadable for what is no mapping, is not YAML, or uses aliases."""
    tree = _tree(text)
    if not isinstance(tree, dict):
        raise Unreadable("its status is no mapping")
    listed = tree.get("nodeGroups")
    groups = [group for entry in listed for group in _group(entry)] if isinstance(listed, list) else []
    return Reading(parse_time(tree.get("time")), tree.get("autoscalerStatus") == "Running", groups)


def _group(entry: object) -> Iterator[Group]:
    name = entry.get("name") if isinstance(entry, dict) else None
    if not isinstance(name, str) or not name:
        return
    health, scale_up = _mapping(entry, "health"), _mapping(entry, "scaleUp")
    registered = _mapping(_mapping(health, "nodeCounts"), "registered")
    info = _mapping(scale_up, "backoffInfo")
    backing_off = scale_up.get("status") == "Backoff"
    yield Group(
        name,
        max_size=count(health.get("maxSize")),
        target=count(health.get("cloudProviderTarget")),
        registered=count(registered.get("total")),
        ready=count(registered.get("ready")),
        backoff=backoff(
            name, parse_time(scale_up.get("lastTransitionTime")), info.get("errorCode"), info.get("errorMessage")
        )
        if backing_off
        else None,
    )


def _mapping(parent: object, key: str) -> dict[str, Any]:
    value = parent.get(key) if isinstance(parent, dict) else None
    return value if isinstance(value, dict) else {}


def _tree(text: str) -> object:
    """The first document as dicts, lists, texts and None. From events: nothing is resolved, copied or built in between.

    Scalars stay text, so no date, number of base 60 or tag can surprise.
    """
    root: list[Any] = []
    stack: list[Any] = [root]
    keys: list[str | None] = [None]
    try:
        for event in yaml.parse(text, Loader=_Loader):
            if isinstance(event, yaml.ScalarEvent):
                _place(stack[-1], keys, None if event.style is None and event.value in _NULLS else event.value)
            elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
                value: Any = {} if isinstance(event, yaml.MappingStartEvent) else []
                if len(stack) > _MAX_DEPTH:
                    raise Unreadable(f"its status is nested more than {_MAX_DEPTH} levels deep")
                _place(stack[-1], keys, value)
                stack.append(value)
                keys.append(None)
            elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
                stack.pop()
                keys.pop()
            elif isinstance(event, yaml.AliasEvent):
                raise Unreadable("its status uses YAML aliases")
            elif isinstance(event, yaml.DocumentEndEvent):
                break
    except (yaml.YAMLError, UnicodeError) as error:
        raise Unreadable(f"its status is not YAML: {' '.join(str(error).split())[:128]}") from None
    return root[0] if root else None


def _place(parent: Any, keys: list[str | None], value: Any) -> None:
    """Put a value where it belongs: in a list, or in a mapping first as key, then behind it."""
    if isinstance(parent, list):
        parent.append(value)
    elif keys[-1] is None:
        if isinstance(value, dict | list):
            raise Unreadable("its status has a key that is no text")
        keys[-1] = value or ""
    else:
        parent[keys[-1]] = value
        keys[-1] = None
