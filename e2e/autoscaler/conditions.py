"""Conditions of a ProvisioningRequest as Cluster Autoscaler writes them (reference/capacity.md §1.2)."""

from typing import Any, Final

from classifier.api import (
    PROVISIONING_REQUESTS,
    PROVREQ_ACCEPTED,
    PROVREQ_BOOKING_EXPIRED,
    PROVREQ_FAILED,
    PROVREQ_PROVISIONED,
)
from classifier.instant import format_instant
from classifier.objects import Condition, ProvisioningRequest

FIELD_MANAGER: Final = "cluster-autoscaler"

ACCEPTED: Final = Condition(
    type=PROVREQ_ACCEPTED,
    status="True",
    reason="Accepted",
    message="ProvisioningRequest is accepted by ClusterAutoscaler",
)
FOUND: Final = Condition(
    type=PROVREQ_PROVISIONED, status="True", reason="CapacityIsFound", message="Capacity is found in the cluster"
)
# The same words as FOUND: only the reason tells a resize that was accepted from nodes that are there.
PROVISIONED: Final = Condition(
    type=PROVREQ_PROVISIONED, status="True", reason="CapacityIsProvisioned", message="Capacity is found in the cluster"
)
NOT_FOUND: Final = Condition(
    type=PROVREQ_PROVISIONED,
    status="False",
    reason="CapacityIsNotFound",
    message="Capacity is not found, CA will try to find it later.",
)
GIVEN_UP: Final = Condition(
    type=PROVREQ_FAILED,
    status="True",
    reason="CapacityIsNotFound",
    message="CA could not find requested capacity",
)
EXPIRED: Final = Condition(
    type=PROVREQ_FAILED, status="True", reason="Expired", message="ProvisioningRequest is expired"
)
BOOKING_EXPIRED: Final = Condition(
    type=PROVREQ_BOOKING_EXPIRED,
    status="True",
    reason="CapacityReservationTimeExpired",
    message="Capacity reservation time is expired",
)
BOOKING_CONSUMED: Final = Condition(
    type=PROVREQ_BOOKING_EXPIRED,
    status="True",
    reason="CapacityBookingConsumed",
    message="All pods of the ProvisioningRequest are scheduled",
)


def failed(reason: str, message: str) -> Condition:
    return Condition(type=PROVREQ_FAILED, status="True", reason=reason, message=message)


def finished(request: ProvisioningRequest) -> bool:
    """Whether the autoscaler has nothing left to decide about it."""
    status = request.status
    return status is not None and (status.is_true(PROVREQ_FAILED) or status.is_true(PROVREQ_BOOKING_EXPIRED))


def booked(request: ProvisioningRequest) -> bool:
    """Whether capacity is kept for it."""
    return request.status is not None and request.status.is_true(PROVREQ_PROVISIONED) and not finished(request)


def apply_body(request: ProvisioningRequest, condition: Condition, now: int) -> dict[str, Any]:
    """The server-side apply that sets one condition and keeps the others; ``now`` is in milliseconds.

    Every attempt moves ``lastTransitionTime``, changed or not. The uid guards against a request of the same name.
    """
    conditions = [c for c in (request.status.conditions if request.status else None) or () if c.type != condition.type]
    return {
        "apiVersion": PROVISIONING_REQUESTS.api_version,
        "kind": PROVISIONING_REQUESTS.kind,
        "metadata": {"name": request.name, "namespace": request.namespace, "uid": request.uid},
        "status": {
            "conditions": [
                *(_wire(c, c.last_transition_time or format_instant(now)) for c in conditions),
                _wire(condition, format_instant(now - now % 1000)),
            ]
        },
    }


def _wire(condition: Condition, at: str) -> dict[str, str]:
    return {
        "type": condition.type,
        "status": condition.status,
        "reason": condition.reason or "",
        "message": condition.message or "",
        "lastTransitionTime": at,
    }
