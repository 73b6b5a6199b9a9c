"""Kueue's own configuration, as far as it changes what is queued and how it is counted.

Kueue: ``apis/config/v1beta2/configuration_types.go`` and ``defaults.go``; the text is the key
``controller_manager_config.yaml`` of the ConfigMap ``kueue-manager-config``. Reading YAML is no I/O.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final

import msgspec
import yaml

from classifier import api
from classifier.objects import ConfigMap, LabelSelector, Quantity
from classifier.objects.meta import Obj
from classifier.quantity import QuantityError
from classifier.quantity import parse as parse_quantity

KEY: Final = "controller_manager_config.yaml"
_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class Transformation:
    """What Kueue counts for one unit of a resource: ``outputs`` in nano-units, times the amount of ``multiply_by``."""

    replace: bool
    outputs: Mapping[str, int]
    multiply_by: str = ""


@dataclass(frozen=True, slots=True)
class KueueConfig:
    """The defaults are Kueue's."""

    exclude_prefixes: tuple[str, ...] = ()
    #: By input resource.
    transformations: Mapping[str, Transformation] = field(default_factory=lambda: MappingProxyType({}))
    #: ``quotaCheckStrategy: IgnoreUndeclared``: a resource that no resource group covers counts for nothing.
    ignore_undeclared: bool = False
    #: Devices of these may be asked for as extended resources, which Kueue then counts under another name.
    device_classes: bool = False
    #: Names of the integrations that run; None: not told.
    frameworks: frozenset[str] | None = None
    #: Kinds that others manage for Kueue, as ``Kind.version.group``.
    external_frameworks: frozenset[str] = frozenset()
    topology_aware: bool = True
    #: Of the namespaces whose jobs it looks at, whatever queue they name; None: not told.
    namespaces: LabelSelector | None = None

    def manages(self, resource: api.Resource) -> bool | None:
        """Whether Kueue queues this kind; None: not told."""
        if resource.kind == "Workload":
            return True
        if self.frameworks is None:
            return None
        name = f"{resource.group}/{resource.kind.lower()}" if resource.group else resource.kind.lower()
        if name in self.frameworks:
            return True
        return f"{resource.kind}.{resource.version}.{resource.group}" in self.external_frameworks


def parse(config_map: ConfigMap) -> KueueConfig | str:
    """The configuration, or why it cannot be read, to be said after the ConfigMap's name."""
    text = (config_map.data or {}).get(KEY)
    return f"has no key {KEY}" if text is None else _parse(text)


class _Transformation(Obj):
    input: str = ""
    strategy: str | None = None
    multiply_by: str | None = None
    outputs: dict[str, Quantity] | None = None


class _Resources(Obj):
    quota_check_strategy: str | None = None
    exclude_resource_prefixes: list[str] | None = None
    transformations: list[_Transformation] | None = None
    device_class_mappings: list[Any] | None = None


class _Integrations(Obj):
    frameworks: list[str] | None = None
    external_frameworks: list[str] | None = None


class _Configuration(Obj):
    resources: _Resources | None = None
    integrations: _Integrations | None = None
    feature_gates: dict[str, bool] | None = None
    managed_jobs_namespace_selector: LabelSelector | None = None


@lru_cache(maxsize=8)
def _parse(text: str) -> KueueConfig | str:
    """Kept by its text: the same few configurations are asked for in every judgement."""
    try:
        loaded = yaml.load(text, Loader=_LOADER)
        return KueueConfig() if loaded is None else _config(msgspec.convert(loaded, _Configuration))
    except (yaml.YAMLError, msgspec.ValidationError, RecursionError, ValueError) as error:
        return f"is not a configuration of Kueue: {' '.join(str(error).split())[:120]}"


def _config(raw: _Configuration) -> KueueConfig:
    """Raises ValueError for what Kueue would refuse."""
    resources, integrations = raw.resources or _Resources(), raw.integrations or _Integrations()
    gates = raw.feature_gates or {}
    strategy = resources.quota_check_strategy
    if strategy not in (None, "", "BlockUndeclared", "IgnoreUndeclared"):
        raise ValueError(f"quotaCheckStrategy is {strategy[:32]!r}")
    return KueueConfig(
        exclude_prefixes=tuple(resources.exclude_resource_prefixes or ()),
        transformations={one.input: _transformation(one) for one in resources.transformations or ()},
        ignore_undeclared=strategy == "IgnoreUndeclared" and gates.get("QuotaCheckStrategy", True),
        device_classes=bool(resources.device_class_mappings),
        frameworks=frozenset(integrations.frameworks or ("batch/job",)),
        external_frameworks=frozenset(integrations.external_frameworks or ()),
        topology_aware=gates.get("TopologyAwareScheduling", True),
        namespaces=raw.managed_jobs_namespace_selector,
    )


def _transformation(raw: _Transformation) -> Transformation:
    if raw.strategy not in (None, "", "Retain", "Replace"):
        raise ValueError(f"strategy of {raw.input[:32]} is {raw.strategy[:32]!r}")
    try:
        outputs = {resource: parse_quantity(factor) for resource, factor in (raw.outputs or {}).items()}
    except QuantityError as error:
        raise ValueError(f"output of {raw.input[:32]}: {error}") from None
    return Transformation(raw.strategy == "Replace", outputs, raw.multiply_by or "")
