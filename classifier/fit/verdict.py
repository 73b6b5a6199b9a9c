"""What preflight says about a gang. The JSON names are a contract (design §8)."""

from enum import StrEnum
from typing import Final, Literal

import msgspec

Mode = Literal["Enforce", "Warn", "Off"]
Binding = Literal["pod-size", "nodes", "quota", "topology", "selector", "taint", "quantity"]

LINE_PREFIX: Final = "preflight: "


class Outcome(StrEnum):
    FITS = "fits"
    FITS_AFTER_SCALE_UP = "fits-after-scale-up"
    NEVER_FITS = "never-fits"
    UNKNOWN = "unknown"
    MISCONFIGURED = "misconfigured"
    SKIPPED = "skipped"


class PodSetVerdict(msgspec.Struct, frozen=True, kw_only=True, gc=False, rename={"age_seconds": "ageSeconds"}):
    """One podset. ``needs`` against ``limit`` is the one number that binds: canonical quantities, nodes plain ints.

    Of a gang that fits ``needs`` are the nodes that the podset adds to those of the others."""

    name: str
    count: int
    verdict: Outcome
    binding: Binding | None = None
    pool: str | None = None
    flavor: str | None = None
    resource: str | None = None
    needs: str | int | None = None
    limit: str | int | None = None
    #: The object the limit was read from, as ``CapacityProfile/gpu-a100-8`` or ``Node/gpu-1``.
    source: str | None = None
    age_seconds: int | None = None


class Verdict(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    gc=False,
    rename={"outcome": "verdict", "pod_sets": "podSets"},
):
    """The gang as a whole. ``line`` is the stable message (design §4), ``reason`` its statement without the verdict."""

    outcome: Outcome
    denied: bool = False
    mode: Mode | None = None
    #: Names of the profiles that were used, comma separated.
    profile: str | None = None
    line: str
    reason: str
    binding: Binding | None = None
    pod_sets: list[PodSetVerdict] = []
    advice: str | None = None
    #: At most two, each at most 120 characters: clients may cut longer ones (reference/capacity.md §3.11).
    warnings: list[str] = []

    @property
    def annotation(self) -> str:
        """Value of ``muster.dev/preflight``: ``fits-after-scale-up: gang needs 2 node(s) of gpupool (max 2)``."""
        return f"{self.outcome}: {self.reason}"
