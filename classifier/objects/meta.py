"""What every object has: metadata, owners, conditions."""

import msgspec

#: A quantity as JSON carries it. The API server also accepts bare numbers.
Quantity = str | int | float


class Obj(msgspec.Struct, rename="camel", kw_only=True, omit_defaults=True, gc=False):
    """Base of every struct here: camelCase on the wire, keyword-only, defaults left out when encoded."""


class OwnerReference(Obj):
    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None

    @property
    def group(self) -> str:
        return self.api_version.rpartition("/")[0]


class ManagedField(Obj):
    manager: str = ""
    operation: str = ""
    time: str | None = None
    subresource: str | None = None
    #: Empty when absent. Not ``Raw | None``: msgspec takes that union for null alone.
    fields_v1: msgspec.Raw = msgspec.field(default=msgspec.Raw(), name="fieldsV1")

    def owns(self, field: str) -> bool:
        """Whether this writer owns a field of this name, at whatever depth."""
        return f'"f:{field}"'.encode() in bytes(self.fields_v1)


class Metadata(Obj):
    name: str = ""
    namespace: str | None = None
    generate_name: str | None = None
    uid: str = ""
    resource_version: str = ""
    generation: int | None = None
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: list[OwnerReference] | None = None
    managed_fields: list[ManagedField] | None = None
    finalizers: list[str] | None = None


class Meta(Obj):
    """An object of which only the metadata is read. Base of all others."""

    api_version: str | None = None
    kind: str | None = None
    metadata: Metadata = msgspec.field(default_factory=Metadata)

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def namespace(self) -> str:
        return self.metadata.namespace or ""

    @property
    def key(self) -> str:
        """``namespace/name``, or the name alone for what is cluster-scoped."""
        return f"{self.metadata.namespace}/{self.metadata.name}" if self.metadata.namespace else self.metadata.name

    @property
    def uid(self) -> str:
        return self.metadata.uid

    def annotation(self, key: str) -> str | None:
        return (self.metadata.annotations or {}).get(key)

    def label(self, key: str) -> str | None:
        return (self.metadata.labels or {}).get(key)

    @property
    def controller(self) -> OwnerReference | None:
        """The one owner that controls this object, if any."""
        for owner in self.metadata.owner_references or ():
            if owner.controller:
                return owner
        return None


class Condition(Obj):
    type: str = ""
    status: str = ""
    reason: str | None = None
    message: str | None = None
    last_transition_time: str | None = None
    observed_generation: int | None = None

    @property
    def true(self) -> bool:
        return self.status == "True"


class Conditioned(Obj):
    """A status with conditions."""

    conditions: list[Condition] | None = None

    def condition(self, type_: str) -> Condition | None:
        return next((c for c in self.conditions or () if c.type == type_), None)

    def is_true(self, type_: str) -> bool:
        condition = self.condition(type_)
        return condition is not None and condition.true
