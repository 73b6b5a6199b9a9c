"""ProvisioningRequests in the cluster: the latest copies, their pod templates, and the writing of conditions."""

from collections.abc import Collection, Iterator

import msgspec

from classifier.api import PROVISIONING_REQUESTS, Resource
from classifier.cluster.client import APPLY_PATCH, ApiError, Client
from classifier.cluster.reflector import Reflector
from classifier.objects import Condition, Meta, PodSpec, PodTemplate, ProvisioningRequest
from e2e.autoscaler.conditions import FIELD_MANAGER, apply_body
from e2e.autoscaler.simulate import Gang

POD_TEMPLATES = Resource("", "v1", "podtemplates", "PodTemplate")


class _PodTemplateObject(Meta):
    template: PodTemplate | None = None


class Requests:
    """Requests of the given classes, oldest first when iterated."""

    def __init__(self, client: Client, classes: Collection[str], reflector: Reflector[ProvisioningRequest]) -> None:
        self._client = client
        self._classes = classes
        self._reflector = reflector
        # What our own writes returned, until the watch has caught up with them.
        self._written: dict[str, ProvisioningRequest] = {}
        self._gangs: dict[str, list[Gang]] = {}

    def __iter__(self) -> Iterator[ProvisioningRequest]:
        seen = self._reflector.objects
        for key in [key for key in self._written if key not in seen]:
            del self._written[key]
        latest = [_newer(request, self._written.get(key)) for key, request in seen.items()]
        ours = [r for r in latest if r.spec and r.spec.provisioning_class_name in self._classes]
        known = {request.uid for request in ours}
        self._gangs = {uid: gangs for uid, gangs in self._gangs.items() if uid in known}
        return iter(sorted(ours, key=lambda r: (r.metadata.creation_timestamp or "", r.key)))

    async def gangs(self, request: ProvisioningRequest) -> list[Gang] | None:
        """The pods that are asked for; None when a pod template is missing."""
        if request.uid in self._gangs:
            return self._gangs[request.uid]
        gangs: list[Gang] = []
        for pod_set in (request.spec.pod_sets if request.spec else None) or ():
            name = pod_set.pod_template_ref.name if pod_set.pod_template_ref else ""
            try:
                found = await self._client.get(POD_TEMPLATES.path(request.namespace, name), _PodTemplateObject)
            except ApiError as error:
                if error.missing:
                    return None
                raise
            spec = found.template.spec if found.template else None
            gangs.append(Gang(spec or PodSpec(), pod_set.count or 0))
        self._gangs[request.uid] = gangs
        return gangs

    async def set(self, request: ProvisioningRequest, condition: Condition) -> bool:
        """Write one condition; False when the request is gone."""
        path = PROVISIONING_REQUESTS.path(request.namespace, request.name, "status")
        try:
            body = await self._client.request(
                "PATCH",
                path,
                params={"fieldManager": FIELD_MANAGER, "force": "true"},
                body=apply_body(request, condition, self._client.time.now()),
                content_type=APPLY_PATCH,
            )
        except ApiError as error:
            # Deleted, or deleted and made anew under the same name.
            if error.missing or error.conflict:
                return False
            raise
        self._written[request.key] = msgspec.json.decode(body, type=ProvisioningRequest)
        return True


def _newer(seen: ProvisioningRequest, written: ProvisioningRequest | None) -> ProvisioningRequest:
    if written is None or written.uid != seen.uid:
        return seen
    return max(seen, written, key=lambda request: int(request.metadata.resource_version))
