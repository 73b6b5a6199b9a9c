"""The objects of manifests that preflight judges, and how much else there is: a folder holds Services, too."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from classifier import api
from classifier.cluster.files import Document, FileError, read_documents
from classifier.objects import Meta, Pod
from classifier.quantity import QuantityError, parse
from classifier.scope import JUDGED
from classifier.state.gather import group_of
from classifier.state.kinds.podgroup import group_name


@dataclass(slots=True)
class Manifests:
    """``gangs`` in the order of the files; of the rest, what could not be read and how many are of no interest."""

    gangs: list[Meta] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    ignored: int = 0


def read_manifests(sources: list[str], namespace: str) -> Manifests:
    """All that can be read: what is wrong with one document keeps no other from being judged.

    To be judged is whatever is of a kind that can be, and whatever else names a queue. Pods of one group are one gang.
    """
    found = Manifests()
    groups: dict[tuple[str, str], list[Pod]] = defaultdict(list)
    for document in read_documents(sources, fault=lambda error: found.faults.append(str(error))):
        try:
            obj = _object(document, namespace)
        except FileError as error:
            found.faults.append(str(error))
            continue
        name = group_name(obj) if isinstance(obj, Pod) else None
        if obj is None:
            found.ignored += 1
        elif isinstance(obj, Pod) and name is not None:
            members = groups[obj.namespace, name]
            if not members:
                found.gangs.append(obj)  # holds the place of its group
            members.append(obj)
        else:
            found.gangs.append(obj)
    for index, gang in enumerate(found.gangs):
        name = group_name(gang) if isinstance(gang, Pod) else None
        if name is not None:
            found.gangs[index] = group_of(groups[gang.namespace, name]) or gang
    return found


def _object(document: Document, namespace: str) -> Meta | None:
    """None for what is not to be judged. Raises FileError."""
    resource = document.resource
    if resource not in JUDGED and not _names_queue(document):
        return None
    check_quantities(document)
    return document.decode(resource, namespace)


def _names_queue(document: Document) -> bool:
    metadata = document.body.get("metadata")
    labels = metadata.get("labels") if isinstance(metadata, dict) else None
    return isinstance(labels, dict) and api.QUEUE_NAME in labels


def check_quantities(document: Document) -> None:
    """Refuse what the API server would: a quantity in a pod template that cannot be parsed."""
    for path, value in _quantities(document.body, ""):
        try:
            parse(value)
        except (QuantityError, TypeError) as error:
            raise FileError(f"{document.where}: {document.kind}: {path}: {error}; correct it") from None


def _quantities(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _quantities(item, f"{path}[{index}]")
    elif isinstance(value, dict):
        for key, item in value.items():
            here = f"{path}.{key}" if path else str(key)
            if key in ("requests", "limits", "overhead") and isinstance(item, dict):
                yield from ((f"{here}.{resource}", quantity) for resource, quantity in item.items())
            else:
                yield from _quantities(item, here)
