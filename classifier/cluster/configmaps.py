"""The two ConfigMaps a judgement reads, each one object by name: Kueue's configuration, the autoscaler's status."""

from typing import Final, NamedTuple

from classifier.names import names_namespace, names_object
from classifier.objects import ConfigMap, Metadata


class ConfigMapName(NamedTuple):
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


#: As Kueue's manifests install it (Kueue: config/components/manager/controller_manager_config.yaml).
KUEUE_CONFIG: Final = ConfigMapName("kueue-system", "kueue-manager-config")
#: Cluster Autoscaler's ``--namespace`` and ``--status-config-map-name`` (reference/capacity.md §2.3).
AUTOSCALER_STATUS: Final = ConfigMapName("kube-system", "cluster-autoscaler-status")


def parse_name(text: str) -> ConfigMapName | None:
    """``NAMESPACE/NAME``; None for an empty text: it is not read then. Raises ValueError for anything else."""
    if not text:
        return None
    namespace, _, name = text.partition("/")
    if not names_namespace(namespace) or not names_object(name):
        raise ValueError(f"{text[:64]!r} is not the NAMESPACE/NAME of a ConfigMap")
    return ConfigMapName(namespace, name)


class ConfigMaps(NamedTuple):
    """Where the two are; None: not to be read."""

    kueue_config: ConfigMapName | None = KUEUE_CONFIG
    autoscaler_status: ConfigMapName | None = AUTOSCALER_STATUS


USUAL: Final = ConfigMaps()


def kueue_defaults() -> ConfigMap:
    """Kueue's configuration where nobody has configured anything."""
    name = Metadata(name=KUEUE_CONFIG.name, namespace=KUEUE_CONFIG.namespace)
    return ConfigMap(metadata=name, data={"controller_manager_config.yaml": ""})
