"""``KIND/NAME`` on the command line."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from classifier import api
from classifier.api import Resource
from classifier.cli.errors import UsageError
from classifier.state.kinds import KINDS

#: Names of objects, and of dispatch's jobs: what can stand in a URL and in a label.
_NAME: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?", re.ASCII)

#: What kubectl takes besides kind and plural: the short names of the CustomResourceDefinitions, and its own.
_SHORT: Final[Mapping[Resource, Sequence[str]]] = {
    api.PODS: ("po",),
    api.LEADER_WORKER_SETS: ("lws",),
    api.APP_WRAPPERS: ("aw",),
    api.WORKLOADS: ("kwl", "kueueworkload", "kueueworkloads"),
}


def _names(resource: Resource) -> Iterator[str]:
    """What people write for a kind, as kubectl resolves it, in lower case."""
    for name in (resource.kind.lower(), resource.plural):
        yield name
        if resource.group:
            yield f"{name}.{resource.group}"
            yield f"{name}.{resource.version}.{resource.group}"
    yield from _SHORT.get(resource, ())


def _table(resources: Iterable[Resource]) -> dict[str, Resource]:
    return {name: resource for resource in resources for name in _names(resource)}


#: The kinds whose wait is reported, and those that can be explained; a Workload stands for its job.
REPORTED: Final = _table((api.JOBS,))
EXPLAINED: Final = _table([*(view.resource for view in KINDS.values()), api.WORKLOADS])


def parse_target(
    words: Sequence[str], kinds: Mapping[str, Resource] = REPORTED, what: str = "status"
) -> tuple[Resource, str]:
    """``job/train`` or ``job train``. Raises UsageError that says what can be named."""
    text = "/".join(words)
    kind, slash, name = text.partition("/")
    if not slash or not name or "/" in name:
        raise UsageError(f"{text!r} does not name one object; write for example job/train")
    resource = kinds.get(kind.lower())
    if resource is None:
        known = ", ".join(sorted({r.kind.lower() for r in kinds.values()}))
        other = f"; try muster explain {kind}/{name}" if kind.lower() in EXPLAINED else ""
        raise UsageError(f"no {what} for kind {kind!r}; kinds: {known}{other}")
    check_name(name)
    return resource, name


def is_name(text: str) -> bool:
    return len(text) <= 253 and _NAME.fullmatch(text) is not None


def check_name(name: str) -> None:
    """Raises UsageError for what cannot be the name of anything."""
    if not is_name(name):
        raise UsageError(f"{name[:64]!r} cannot be a name; names are of letters, digits, '-' and '.'")
