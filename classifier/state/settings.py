"""What the rules are told by configuration, never guessed from an object (design §6)."""

from enum import StrEnum

import msgspec

from classifier import api


class Mode(StrEnum):
    PLAIN = "plain"  # jobs start at once, or are suspended by hand
    KUEUE = "kueue"  # Kueue's lever is ``spec.suspend``; the Workload says who holds the job


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    mode: Mode = Mode.KUEUE
    #: Of the labels and annotations dispatch writes.
    prefix: str = api.DISPATCH_PREFIX
    #: AdmissionChecks that stand for capacity: those of Kueue's provisioning controller, and more by configuration.
    capacity_checks: frozenset[str] = frozenset()
    #: The runtime a TrainJob ought to name, where a copy is made for each submission (§C11 row 4); "{name}" stands
    #: for the TrainJob's own name. None: no runtime is expected.
    runtime: str | None = None
    #: After so many other ranks a detail ends with "and <n> more" (§F10). None: all of them.
    max_other_ranks: int | None = None

    @property
    def gate(self) -> str:
        """Our name in Kueue's gate annotation."""
        return self.prefix + "open"

    @property
    def plain_gate(self) -> str:
        """The annotation that gates a suspended job in plain mode."""
        return self.prefix + "gate"

    @property
    def job_id(self) -> str:
        return self.prefix + "job-id"

    @property
    def submission(self) -> str:
        return self.prefix + "submission"

    @property
    def admission(self) -> str:
        """The annotation on pods that says at which admission they were made."""
        return self.prefix + "admission"

    @property
    def hold_instance(self) -> str:
        return self.prefix + "hold-instance"
