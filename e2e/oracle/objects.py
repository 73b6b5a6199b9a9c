"""From plain documents to what Muster reads."""

from collections.abc import Iterable
from typing import Final

import msgspec

from classifier.cluster.snapshot import TYPES, Snapshot
from classifier.cluster.world import world_of
from classifier.fit import World
from classifier.objects import Meta
from e2e.builders import Document

_KINDS: Final = {(resource.api_version, resource.kind): resource for resource in TYPES}


def decode(document: Document) -> Meta:
    """By way of JSON, for fields that are kept as they came."""
    resource = _KINDS[document["apiVersion"], document["kind"]]
    return msgspec.json.decode(msgspec.json.encode(document), type=TYPES[resource])


def world_in(documents: Iterable[Document]) -> World:
    """The world as files would tell it."""
    snapshot = Snapshot()
    for document in documents:
        resource = _KINDS.get((document["apiVersion"], document["kind"]))
        if resource is not None:
            snapshot.add(resource, decode(document))
    return world_of(snapshot)
