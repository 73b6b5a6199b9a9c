"""The Cluster API's scalable kinds: in whatever version, and under the autoscaler's names for them."""

from collections.abc import Mapping
from typing import Final

from classifier import api
from classifier.objects import MachineGroup

#: Versions they are served in, the newest first; annotations are all we read, so each will do.
MACHINE_VERSIONS: Final = ("v1beta2", "v1beta1")
MACHINE_GROUPS: Final = (api.MACHINE_DEPLOYMENTS, api.MACHINE_SETS, api.MACHINE_POOLS)


def machine_groups(*groups: Mapping[str, MachineGroup]) -> dict[str, MachineGroup]:
    """Those of each kind, in the order of :data:`MACHINE_GROUPS`, as ``MachineDeployment/<namespace>/<name>``.

    Cluster Autoscaler: cloudprovider/clusterapi, the ids of its node groups (reference/capacity.md §2.3).
    """
    return {
        f"{resource.kind}/{key}": group
        for resource, some in zip(MACHINE_GROUPS, groups, strict=True)
        for key, group in some.items()
    }
