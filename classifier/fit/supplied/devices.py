"""Devices that a node has though its list of resources does not name them: those of DeviceClasses.

Since Kubernetes 1.36 a pod that asks for an extended resource of which a node has none may get it of a driver's
ResourceSlices, where a DeviceClass stands for it (kube-scheduler: noderesources/fit.go shouldDelegateResourceToDRA).
How many there are no profile and no node tells.
"""

from collections.abc import Iterable
from typing import Final

from classifier.objects import DeviceClass
from classifier.quantity import is_extended

#: Every class may be asked for by its own name (Kubernetes: ResourceDeviceClassPrefix).
_PREFIX: Final = "deviceclass.resource.kubernetes.io/"


class Devices:
    """``known``: whether these are all the classes there are."""

    def __init__(self, classes: Iterable[DeviceClass] = (), *, known: bool = True) -> None:
        self._known = known
        self._names: set[str] = set()
        for one in classes:
            self._names.add(_PREFIX + one.name)
            if one.spec is not None and one.spec.extended_resource_name:
                self._names.add(one.spec.extended_resource_name)

    def may_serve(self, resource: str) -> bool:
        """Whether a node that lists 0 of the resource, or does not list it, may have some all the same."""
        if self._known:
            return resource in self._names
        return is_extended(resource) or resource.startswith(_PREFIX)


NO_DEVICES: Final = Devices()
