"""A gang as Kueue sees it: podsets, each of identical pods."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from classifier.objects import ClusterTrainingRuntime, PodSpec, PodTemplate, TrainingRuntime


class GangError(ValueError):
    """The object is none the API server would take; the text names field and value."""


class Unresolved(Exception):
    """The podsets depend on an object that is not there or cannot be read; the text names it."""


@dataclass(frozen=True, slots=True)
class Runtimes:
    """What a TrainJob's podsets come from; ``namespaced`` by ``namespace/name``, ``cluster`` by name."""

    namespaced: Mapping[str, TrainingRuntime] = field(default_factory=dict)
    cluster: Mapping[str, ClusterTrainingRuntime] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TopologyRequest:
    """Where a podset's pods must stand together (reference/capacity.md §3.10). Preferences ask for nothing."""

    #: Level (a node label) of which all pods share one domain.
    required: str | None = None
    #: Level of which each slice of ``slice_size`` pods shares one domain.
    slice_level: str | None = None
    slice_size: int | None = None
    #: Podsets of one group share the domain.
    group: str | None = None
    #: Whether any topology was asked for, preferred and unconstrained included: such a podset needs a flavor with one.
    asked: bool = False


class Podset(msgspec.Struct, frozen=True, gc=False):
    """``count`` pods of one template."""

    name: str
    count: int
    #: How few Kueue may admit instead (partial admission); at most one podset of a gang has less than its count.
    min_count: int
    template: PodTemplate
    namespace: str
    #: JSON Pointer of the template in the object; None where the object does not hold it (TrainJob). Empty: a pod.
    path: str | None = None
    #: How few its nodes may have to hold, whatever Kueue counts (a Ray autoscaler's minReplicas); None: ``min_count``.
    least: int | None = None
    topology: TopologyRequest | None = None
    #: Its template as Kueue copies it, where that is not what its pods will be (an AppWrapper's, a Ray head's).
    counted: PodTemplate | None = None
    #: The same as older releases of Kueue count it, where that is less: a proof holds for whichever is installed.
    counted_before: PodTemplate | None = None
    #: 0: starts with the gang. Any other number: starts when others have completed, and shares nodes with its own
    #: stage only (JobSet ``dependsOn: Complete``). Kueue counts all stages together.
    stage: int = 0
    #: Level (a node label) of which each Job or group is to have a domain to itself, by its kind's own controller.
    exclusive: str | None = None

    @property
    def fewest(self) -> int:
        """Pods that must find a place at least, or the podset never runs."""
        return self.min_count if self.least is None else min(self.least, self.min_count)

    @property
    def is_pod(self) -> bool:
        """Whether it is a bare pod, or several, and no template that pods are yet to be made of."""
        return self.path == ""

    @property
    def spec(self) -> PodSpec:
        return self.template.spec or PodSpec()

    @property
    def counted_spec(self) -> PodSpec:
        """What quota is asked for; ``spec`` is what nodes must hold."""
        return self.spec if self.counted is None else self.counted.spec or PodSpec()

    @property
    def counted_at_least(self) -> PodSpec:
        """What quota is asked for by any release of Kueue. Before 0.17.7 and 0.18.3 pod-level resources are counted
        in other ways, never as less than without them."""
        before = self.counted_before
        spec = self.counted_spec if before is None else before.spec or PodSpec()
        return spec if spec.resources is None else msgspec.structs.replace(spec, resources=None)

    @property
    def labels(self) -> dict[str, str]:
        return (self.template.metadata.labels if self.template.metadata else None) or {}

    @property
    def annotations(self) -> dict[str, str]:
        return (self.template.metadata.annotations if self.template.metadata else None) or {}
