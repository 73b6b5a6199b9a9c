"""Objects from files: YAML streams, JSON, ``kind: List``, folders, standard input. What ``kubectl get -o yaml`` prints.

Errors name the file, the number of the document and its line. Kinds we do not read are skipped; of two objects of one
name the last wins, with a warning.
"""

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple, NoReturn

import msgspec
import yaml

from classifier import api
from classifier.api import Resource
from classifier.cluster.machines import MACHINE_GROUPS, MACHINE_VERSIONS
from classifier.cluster.snapshot import TYPES, Snapshot
from classifier.cluster.yamltext import YamlError, documents
from classifier.objects import Meta

SUFFIXES: Final = (".yaml", ".yml", ".json")
_BY_KIND: Final = {(r.api_version, r.kind): r for r in TYPES} | {
    (f"{r.group}/{version}", r.kind): r for r in MACHINE_GROUPS for version in MACHINE_VERSIONS
}
#: Kueue serves both versions with the same fields, for what we read of these kinds.
_SAME_IN_V1BETA1: Final = {
    api.RESOURCE_FLAVORS,
    api.ADMISSION_CHECKS,
    api.PROVISIONING_REQUEST_CONFIGS,
    api.COHORTS,
    api.TOPOLOGIES,
}


class FileError(Exception):
    """A file cannot be read as objects; the text names file, document and line and says what is wrong."""


Fault = Callable[[FileError], object]


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

    def decode(self, resource: Resource | None, namespace: str) -> Meta:
        """The object, in ``namespace`` where it names none itself. Without a ``resource`` its metadata alone."""
        type_: type[Meta] = TYPES[resource] if resource is not None else Meta
        try:
            # By way of JSON, for fields that are kept as they came (msgspec.Raw).
            obj = msgspec.json.decode(msgspec.json.encode(self.body), type=type_)
        except (msgspec.MsgspecError, TypeError, ValueError, OverflowError, RecursionError) as error:
            name = self._name or "without a name"
            raise FileError(f"{self.where}: {self.kind} {name}: {_misfit(error, self.body)}; correct it") from None
        if not obj.name and not obj.metadata.generate_name:
            raise FileError(f"{self.where}: {self.kind} without metadata.name")
        if (resource is None or resource.namespaced) and not obj.metadata.namespace:
            obj.metadata.namespace = namespace
        return obj

    @property
    def _name(self) -> str:
        metadata = self.body.get("metadata")
        return str(metadata.get("name") or "") if isinstance(metadata, dict) else ""


def _misfit(error: Exception, body: Any) -> str:
    """Which field has the wrong value, and the value, where the decoder's path leads to one."""
    found = re.fullmatch(r"(.*) - at `\$\.([^\[]*)`", str(error), re.DOTALL)
    if found is None:
        return str(error)
    what, path = found.groups()
    for key in path.split("."):
        if not isinstance(body, dict) or key not in body:
            return f"{path}: {what}"
        body = body[key]
    value = "" if body is None else f": {repr(body)[:64]}"
    return f"{path}: {what}{value}"


def _raise(error: FileError) -> NoReturn:
    raise error


def read_documents(sources: Iterable[str], fault: Fault = _raise) -> Iterator[Document]:
    """Every object of these files, folders and ``-`` (standard input), lists taken apart, in order.

    ``fault`` is told of what cannot be read, a file or a document, and may raise it; else the rest is read. Of a file
    that is no YAML that is what stands before the place.
    """
    for source in sources:
        for name, text in _texts(source, fault):
            yield from _documents(name, text, fault)


def load(sources: Iterable[str], namespace: str) -> Snapshot:
    """All objects of the kinds we read. Kinds that a dump may well leave out count as "may not be read" without one.

    Those are Nodes (design §6), and policies: a dump without any does not say that the fence is missing.
    """
    snapshot = Snapshot()
    for document in read_documents(sources):
        resource = document.resource
        if resource is None:
            continue
        obj = document.decode(resource, namespace)
        if snapshot.add(resource, obj):
            snapshot.notes.append(f"{document.where}: {resource.kind} {obj.key} was there before; the last one counts")
    for resource in (api.NODES, api.ADMISSION_POLICIES):
        if not snapshot.of(resource, TYPES[resource]):
            snapshot.unreadable.add(resource)
    return snapshot


def _texts(source: str, fault: Fault) -> Iterator[tuple[str, str]]:
    if source == "-":
        try:
            text = _text("standard input", _standard_input())
        except FileError as error:
            fault(error)
        else:
            yield "standard input", text
        return
    path = Path(source)
    try:
        files = [path]
        if path.is_dir():
            files = sorted(p for p in path.rglob("*") if p.suffix in SUFFIXES and p.is_file())
            if not files:
                fault(FileError(f"{source}: no {', '.join(SUFFIXES)} file in this folder"))
    except OSError as error:
        fault(_unreadable(path, error))
        return
    for file in files:
        try:
            text = _text(str(file), file.read_bytes())
        except OSError as error:
            fault(_unreadable(file, error))
        except FileError as error:
            fault(error)
        else:
            yield str(file), text


def _standard_input() -> bytes:
    """Bytes, for what the terminal's encoding makes of them is not what the file says.

    By the descriptor: an interpreter cannot end while a thread holds the lock of ``sys.stdin`` and waits.
    """
    if sys.stdin is None:
        raise FileError("standard input is closed; name a file or a folder")
    try:
        descriptor = sys.stdin.fileno()
    except OSError:
        return sys.stdin.buffer.read()  # put there by somebody, without a descriptor
    chunks = []
    try:
        while chunk := os.read(descriptor, 2**16):
            chunks.append(chunk)
    except OSError as error:
        raise FileError(f"standard input: {error.strerror or error}; name a file or a folder") from None
    return b"".join(chunks)


def _unreadable(path: Path, error: OSError) -> FileError:
    return FileError(f"{path}: {error.strerror or error}; name a file, a folder or - for standard input")


def _text(name: str, body: bytes) -> str:
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileError(f"{name}: not text in UTF-8 (byte {error.start}); name a YAML or JSON file") from None


def _documents(name: str, text: str, fault: Fault) -> Iterator[Document]:
    try:
        for number, node, body in documents(text):
            if body is not None:
                place = f"{name}: document {number}"
                yield from _objects(place, f"{place} (line {_line(node)})", node, body, fault)
    except YamlError as error:
        fault(FileError(f"{name}: {error}"))


def _objects(place: str, where: str, node: yaml.Node | None, body: Any, fault: Fault) -> Iterator[Document]:
    """The object, or those of a list. ``place`` names the document and the way into it, ``where`` its line too."""
    if not isinstance(body, dict):
        fault(FileError(f"{where}: a {type(body).__name__} where an object with apiVersion and kind is expected"))
        return
    missing = [key for key in ("apiVersion", "kind") if not isinstance(body.get(key), str)]
    if missing:
        fault(FileError(f"{where}: no {' and '.join(missing)}; is this a Kubernetes object?"))
        return
    if not (body["kind"].endswith("List") and "items" in body):
        yield Document(where, body)
        return
    items = body["items"]
    if items is None:
        return
    if not isinstance(items, list):
        fault(FileError(f"{where}: {body['kind']}: items: a {type(items).__name__} where a list is expected"))
        return
    nodes = _item_nodes(node)
    # A typed list may leave kind and version to the list.
    common = {} if body["kind"] == "List" else {k: body[k].removesuffix("List") for k in ("kind", "apiVersion")}
    for index, item in enumerate(items):
        child = nodes[index] if index < len(nodes) else None
        inner = f"{place}, item {index + 1}"
        line = f" (line {_line(child)})" if child is not None else ""
        if isinstance(item, dict) and "kind" not in item:
            item = common | item
        yield from _objects(inner, f"{inner}{line}", child, item, fault)


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


def _item_nodes(node: yaml.Node | None) -> list[yaml.Node]:
    for key, value in node.value if isinstance(node, yaml.MappingNode) else ():
        if key.value == "items" and isinstance(value, yaml.SequenceNode):
            return list(value.value)
    return []
