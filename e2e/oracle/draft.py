"""A job while it is being drawn."""

from dataclasses import dataclass, field

from classifier import api
from e2e.builders import GPU, QUEUE_LABEL, Document, Queues
from e2e.oracle import constraints, pods
from e2e.oracle.case import Part
from e2e.oracle.dice import Dice
from e2e.oracle.room import Amounts, Room


@dataclass
class Draft:
    """What makers draw from, and what they leave beside the job itself."""

    dice: Dice
    number: int
    name: str
    queues: Queues
    #: The node its pods are measured by.
    room: Room
    tainted: bool
    #: A label's value that some of its nodes have.
    tier: str
    topology: bool
    #: Whether the kind's CRD keeps pod-level resources; those of the training operator do not know the field.
    pod_level: bool = True
    #: Whether real pods get limits of a LimitRange: a pod with less than these as a whole is refused.
    ranged: bool = False
    #: Whether nobody looks at its templates before pods are made of them.
    unchecked: bool = False
    tags: set[str] = field(default_factory=set)
    parts: list[Part] = field(default_factory=list)
    #: What the job needs beside queues and nodes.
    also: list[Document] = field(default_factory=list)
    late: set[str] = field(default_factory=set)

    def pod(self, role: str, count: int, container: str = "main", *, small: bool = False) -> Document:
        """A template of ``count`` pods in all."""
        amounts = pods.want(self.dice, self.room, self.tags, small)
        ways = pods.WAYS + pods.LEVELS if self.pod_level else pods.WAYS
        never = pods.LEVELS if self.ranged else ()
        made = pods.template(self.dice, self.name, role, container, amounts, self.tags, ways, never)
        if self.unchecked and GPU in amounts and self.dice.one_in(14):
            pods.halve_a_device(made)
            self.tags.add("fraction")
        constraints.constrain(self.dice, made, self.tags, self.number, self.tier)
        if self.tainted:
            constraints.tolerate(self.dice, made, self.tags)
        if self.topology:
            constraints.ask_topology(self.dice, made, self.tags, count)
        self.counted(count, amounts)
        return made

    def counted(self, count: int, amounts: Amounts) -> None:
        self.parts.append(Part(count, amounts))

    def object(
        self,
        resource: api.Resource,
        spec: Document,
        *,
        name: str | None = None,
        labels: dict[str, str] | None = None,
        annotations: dict[str, str] | None = None,
    ) -> Document:
        """An object in the case's queue."""
        return {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "metadata": {
                "name": name or self.name,
                "namespace": self.queues.namespace,
                "labels": {QUEUE_LABEL: self.queues.local_queue, **(labels or {})},
                "annotations": annotations or {},
            },
            "spec": spec,
        }
