"""What the ProvisioningRequests of a queue can and cannot do: for warnings, never for a verdict.

Kueue: ``pkg/controller/admissionchecks/provisioning/controller.go``; Cluster Autoscaler: reference/capacity.md §1.6.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from classifier import api
from classifier.fit.world import World
from classifier.objects import CapacityProfile, ClusterQueue, Meta

ATOMIC: Final = "best-effort-atomic-scale-up.autoscaling.x-k8s.io"


@dataclass(frozen=True, slots=True)
class Requests:
    """How one check makes its requests. ``source`` names the object that says so; ``managed`` empty: every podset of
    the gang is in the request. ``flavors`` None: it applies to all."""

    source: str
    class_name: str
    managed: frozenset[str]
    parameters: Mapping[str, str]
    flavors: frozenset[str] | None

    def applies_to(self, flavor: str) -> bool:
        return self.flavors is None or flavor in self.flavors


def requests_of(queue: ClusterQueue, spoken: Sequence[CapacityProfile], world: World) -> list[Requests]:
    """By the ProvisioningRequestConfig where that is known, else by the profile that says what it must be."""
    strategy = queue.spec.admission_checks_strategy if queue.spec else None
    found = []
    for rule in (strategy.admission_checks if strategy else None) or ():
        check = world.admission_checks.get(rule.name)
        if check is None or check.spec is None or check.spec.controller_name != api.PROVISIONING_CONTROLLER:
            continue
        flavors = frozenset(rule.on_flavors) if rule.on_flavors else None
        config = world.provisioning_configs.get(check.spec.parameters.name if check.spec.parameters else "")
        if config is not None and config.spec is not None:
            spec = config.spec
            source = f"ProvisioningRequestConfig {config.name}"
            managed = frozenset(spec.managed_resources or ())
            found.append(Requests(source, spec.provisioning_class_name, managed, spec.parameters or {}, flavors))
        else:
            found += _declared(rule.name, flavors, spoken)
    return found


def _declared(check: str, flavors: frozenset[str] | None, spoken: Sequence[CapacityProfile]) -> Iterator[Requests]:
    for profile in spoken:
        told = profile.spec.provisioning
        if told is not None and told.admission_check == check:
            managed = frozenset(told.managed_resources or ())
            source = f"CapacityProfile {profile.name}"
            yield Requests(source, told.class_name or "", managed, told.parameters or {}, flavors)
            return


def overridden(obj: Meta, requests: Sequence[Requests]) -> str | None:
    """A parameter that job and config set to different values: Kueue holds the request to be out of date, deletes it
    and makes it again, without end (reference/capacity.md §1.8)."""
    for key, value in sorted((obj.metadata.annotations or {}).items()):
        name = key.removeprefix(api.PROVREQ_PREFIX)
        for one in requests:
            if name != key and one.parameters.get(name, value) != value:
                return f"{key} is not that of {one.source}: Kueue will make its request anew without end"
    return None
