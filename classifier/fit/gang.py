"""A gang as Kueue sees it: podsets, each of identical pods."""

from dataclasses import dataclass

from classifier.objects import PodSpec, PodTemplate


class GangError(ValueError):
    """The object is none the API server would take; the text names field and value."""


@dataclass(frozen=True, slots=True)
class Podset:
    """``count`` pods of one template. ``min_count`` is how few the queue may start instead (partial admission)."""

    name: str
    count: int
    min_count: int
    template: PodTemplate
    namespace: str

    @property
    def spec(self) -> PodSpec:
        return self.template.spec or PodSpec()

    @property
    def labels(self) -> dict[str, str]:
        return (self.template.metadata.labels if self.template.metadata else None) or {}

    @property
    def annotations(self) -> dict[str, str]:
        return (self.template.metadata.annotations if self.template.metadata else None) or {}
