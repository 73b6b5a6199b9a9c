"""A cluster that answers reads from a list of objects, with some kinds forbidden or not served."""

from collections.abc import Mapping
from typing import Any, Self

import msgspec

from classifier.cluster.client import ApiError
from classifier.instant import parse_instant

PLURALS = {
    "CapacityProfile": "capacityprofiles",
    "ClusterQueue": "clusterqueues",
    "LocalQueue": "localqueues",
    "ResourceFlavor": "resourceflavors",
    "AdmissionCheck": "admissionchecks",
    "ProvisioningRequestConfig": "provisioningrequestconfigs",
    "Namespace": "namespaces",
    "Pod": "pods",
    "Node": "nodes",
    "Job": "jobs",
    "Workload": "workloads",
    "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings",
}


class Clock:
    def now(self) -> int:
        return parse_instant("2026-11-29T10:00:40Z")


class Server:
    """Answers GETs from a list of objects, pages of one, with some kinds forbidden."""

    def __init__(
        self,
        objects: list[dict[str, Any]],
        forbidden: frozenset[str] = frozenset(),
        unserved: frozenset[str] = frozenset(),
    ) -> None:
        self._objects = objects
        self._forbidden = forbidden
        self._unserved = unserved
        self.asked: list[str] = []
        self.host = "https://cluster.test"
        self.time = Clock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    async def get(self, path: str, type_: type[Any], *, params: Mapping[str, str] | None = None) -> Any:
        self.asked.append(path)
        parts = path.split("/")
        plural = next((p for p in reversed(parts) if p in PLURALS.values()), parts[-1])
        if plural in self._forbidden:
            raise ApiError(403, "Forbidden", f"{plural} is forbidden")
        if plural in self._unserved:
            raise ApiError(404, "", "404 page not found")
        inside = parts[parts.index("namespaces") + 1] if "namespaces" in parts[:-2] else None
        found = [
            o
            for o in self._objects
            if PLURALS.get(o["kind"]) == plural and inside in (None, o["metadata"].get("namespace"))
        ]
        if params is None:
            for obj in found:
                if obj["metadata"]["name"] == parts[-1]:
                    return msgspec.convert(obj, type_)
            raise ApiError(404, "NotFound", f"{path} not found")
        start = int(params.get("continue", 0))
        more = {"continue": str(start + 1)} if start + 1 < len(found) else {}
        return msgspec.json.decode(
            msgspec.json.encode({"items": found[start : start + 1], "metadata": more}), type=type_
        )
