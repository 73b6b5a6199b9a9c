"""What a review is about: the object as it is to be, as it was, or why only its metadata can be read."""

import msgspec

from classifier import api
from classifier.objects import Meta
from webhook import kinds
from webhook.review import Asked
from webhook.whole import AnyRequest, Whole


class Subject(msgspec.Struct, frozen=True):
    """``old`` is None for what is created."""

    resource: api.Resource
    obj: Meta
    old: Meta | None = None
    unreadable: str | None = None

    @property
    def created(self) -> bool:
        return self.old is None


def of(request: AnyRequest) -> Subject | None:
    """None for what is never looked into: other kinds and operations, subresources, an update that cannot be read."""
    resource = kinds.resource_of(request.kind)
    if resource is None or request.sub_resource or request.operation not in ("CREATE", "UPDATE"):
        return None
    if isinstance(request, Whole):
        old = None if request.operation == "CREATE" or request.old is None else _placed(request.old, request)
        return Subject(resource, _placed(request.obj, request), old)
    old = None
    try:
        if request.operation == "UPDATE":
            old = _placed(kinds.decode(resource, request.old_object), request)
        return Subject(resource, _placed(kinds.decode(resource, request.object), request), old)
    except kinds.Unreadable as error:
        obj = kinds.metadata(request.object) if request.operation == "CREATE" else None
        return None if obj is None else Subject(resource, _placed(obj, request), None, str(error))


def metadata(request: AnyRequest) -> tuple[Meta | None, Meta | None]:
    """Old and new metadata alone of an update that :func:`of` cannot read; None where there is none, or not ours."""
    if isinstance(request, Whole) or kinds.resource_of(request.kind) is None:
        return None, None
    if request.sub_resource or request.operation != "UPDATE":
        return None, None
    return kinds.metadata(request.old_object), kinds.metadata(request.object)


def _placed(obj: Meta, request: Asked) -> Meta:
    """The namespace of what is created may stand in the URL alone."""
    obj.metadata.namespace = obj.metadata.namespace or request.namespace
    return obj
