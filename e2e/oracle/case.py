"""What one generated job is, with everything it stands in."""

from dataclasses import dataclass, field
from typing import Final

from classifier import api
from e2e.builders import Document, Queues

#: On every pod: whose it is, and which podset's.
CASE: Final = "oracle.muster.dev/case"
ROLE: Final = "oracle.muster.dev/role"


@dataclass(frozen=True)
class Part:
    """Pods of one template, as the generator means them; what they ask for in all steers quota and pools, no more."""

    count: int
    want: dict[str, int]


@dataclass(frozen=True)
class Case:
    """One job in a queue of its own, over pools of its own."""

    name: str
    kind: str  # the maker's name: "Job", ..., "PodGroup", "Workload"
    resource: api.Resource
    queues: Queues
    #: The job; the first stands for it, and only a pod group has several.
    documents: list[Document]
    #: What must be there before: nodes, flavors, queues, runtimes.
    world: list[Document]
    #: CapacityProfiles, which the cluster never sees.
    profiles: list[Document]
    #: What is special about it.
    tags: frozenset[str]
    #: Flavors a podset can choose from in one resource group, at most.
    choices: int = 1
    #: Whether real controllers make its pods; else the stage plays its operator.
    real: bool = False
    #: Podsets that start when others have ended, which nobody's do here.
    late: frozenset[str] = field(default_factory=frozenset)

    @property
    def namespace(self) -> str:
        return self.queues.namespace
