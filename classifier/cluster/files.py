"""Objects from files: YAML streams, JSON, ``kind: List``, folders, standard input. What ``kubectl get -o yaml`` prints.

Errors name the file, the number of the document and its line. Kinds we do not read are skipped; of two objects of one
name the last wins, with a warning.
"""

import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import yaml

from classifier import api
from classifier.api import Resource
from classifier.cluster.snapshot import TYPES, Snapshot
from classifier.objects import Meta

SUFFIXES: Final = (".yaml", ".yml", ".json")
_BY_KIND: Final = {(r.api_version, r.kind): r for r in TYPES}
#: Kueue serves both versions with the same fields, for what we read of these kinds.
_SAME_IN_V1BETA1: Final = {api.RESOURCE_FLAVORS, api.ADMISSION_CHECKS, api.PROVISIONING_REQUEST_CONFIGS}

_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_Base):  # type: ignore[misc]  # the base is chosen at run time
    """YAML as kubectl reads it: no dates and no numbers of base 60, which stay text there."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith((":timestamp", ":int", ":float"))]
    for first, resolvers in _Base.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:int", re.compile(r"[-+]?(?:0|[1-9][0-9]*|0x[0-9a-fA-F]+|0o?[0-7]+)\Z"), list("-+0123456789")
)
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?\Z"),
    list("-+.0123456789"),
)


class FileError(Exception):
    """A file cannot be read as objects; the text names file, document and line and says what is wrong."""


class Document(NamedTuple):
    """One object as it was written."""

    where: str
    body: dict[str, Any]

    @property
    def kind(self) -> str:
        return str(self.body.get("kind") or "")

    @property
    def resource(self) -> Resource | None:
        """The kind it is read as; None for kinds that are not read here."""
        version = str(self.body.get("apiVersion") or "")
        found = _BY_KIND.get((version, self.kind))
        if found is None and version == f"{api.KUEUE_GROUP}/v1beta1":
            found = _BY_KIND.get((f"{api.KUEUE_GROUP}/{api.KUEUE_VERSION}", self.kind))
            if found is not None and found not in _SAME_IN_V1BETA1:
                raise FileError(
                    f"{self.where}: {self.kind} in {version}; Muster reads {api.KUEUE_VERSION}: "
                    f"kubectl get {found.plural}.{api.KUEUE_VERSION}.{api.KUEUE_GROUP} -o yaml"
                )
        return found

    def decode(self, resource: Resource, namespace: str) -> Meta:
        """The object, in ``namespace`` where it names none itself."""
        try:
            # By way of JSON, for fields that are kept as they came (msgspec.Raw).
            obj: Meta = msgspec.json.decode(msgspec.json.encode(self.body), type=TYPES[resource])
        except (msgspec.MsgspecError, TypeError, RecursionError) as error:
            name = (
                (self.body.get("metadata") or {}).get("name") if isinstance(self.body.get("metadata"), dict) else None
            )
            raise FileError(f"{self.where}: {self.kind} {name or 'without a name'}: {error}") from None
        if not obj.name and not obj.metadata.generate_name:
            raise FileError(f"{self.where}: {self.kind} without metadata.name")
        if resource.namespaced and not obj.metadata.namespace:
            obj.metadata.namespace = namespace
        return obj


def read_documents(sources: Iterable[str]) -> Iterator[Document]:
    """Every object of these files, folders and ``-`` (standard input), lists taken apart, in order."""
    for source in sources:
        for name, text in _texts(source):
            yield from _documents(name, text)


def load(sources: Iterable[str], namespace: str) -> Snapshot:
    """All objects of the kinds we read. Without any Node object Nodes count as "may not be read" (design §6)."""
    snapshot = Snapshot()
    for document in read_documents(sources):
        resource = document.resource
        if resource is None:
            continue
        obj = document.decode(resource, namespace)
        if snapshot.add(resource, obj):
            snapshot.notes.append(f"{document.where}: {resource.kind} {obj.key} was there before; the last one counts")
    if not snapshot.of(api.NODES, TYPES[api.NODES]):
        snapshot.unreadable.add(api.NODES)
    return snapshot


def _texts(source: str) -> Iterator[tuple[str, str]]:
    if source == "-":
        yield "standard input", sys.stdin.read()
        return
    path = Path(source)
    try:
        if path.is_dir():
            files = sorted(p for p in path.rglob("*") if p.suffix in SUFFIXES and p.is_file())
            if not files:
                raise FileError(f"{source}: no {', '.join(SUFFIXES)} file in this folder")
            for file in files:
                yield str(file), file.read_text("utf-8")
        else:
            yield source, path.read_text("utf-8")
    except OSError as error:
        raise FileError(f"{source}: {error.strerror or error}; name a file, a folder or - for standard input") from None
    except UnicodeDecodeError as error:
        raise FileError(f"{source}: not text in UTF-8 (byte {error.start}); name a YAML or JSON file") from None


def _documents(name: str, text: str) -> Iterator[Document]:
    """Compose, note each node's line, construct. PyYAML tells lines only on nodes."""
    number = 0
    loader = _Loader(text)
    try:
        while loader.check_node():
            number += 1
            node = loader.get_node()
            body = loader.construct_document(node)
            yield from _objects(name, number, node, body)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        at = f"line {mark.line + 1}, column {mark.column + 1}" if mark else f"document {number + 1}"
        raise FileError(f"{name}: {at}: {error.problem or error.context or 'not YAML'}") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise FileError(f"{name}: document {number + 1}: {error}") from None
    finally:
        loader.dispose()


def _objects(name: str, number: int, node: Any, body: Any) -> Iterator[Document]:
    where = f"{name}: document {number} (line {node.start_mark.line + 1})"
    if body is None:
        return
    if not isinstance(body, dict):
        raise FileError(f"{where}: a {type(body).__name__} where an object with apiVersion and kind is expected")
    if not isinstance(body.get("kind"), str) or not isinstance(body.get("apiVersion"), str):
        raise FileError(f"{where}: no apiVersion and kind; is this a Kubernetes object?")
    items = body.get("items")
    if not (body["kind"].endswith("List") and ("items" in body)):
        yield Document(where, body)
        return
    lines = _item_lines(node)
    for index, item in enumerate(items or ()):
        line = f" (line {lines[index]})" if index < len(lines) else ""
        place = f"{name}: document {number}, item {index + 1}{line}"
        if not isinstance(item, dict):
            raise FileError(f"{place}: a {type(item).__name__} where an object is expected")
        # A typed list may leave kind and version to the list.
        kind = {"kind": body["kind"].removesuffix("List"), "apiVersion": body["apiVersion"]}
        yield Document(place, item if body["kind"] == "List" or "kind" in item else kind | item)


def _item_lines(node: Any) -> list[int]:
    for key, value in node.value:
        if key.value == "items" and isinstance(value, yaml.SequenceNode):
            return [child.start_mark.line + 1 for child in value.value]
    return []
