"""The ``cluster-autoscaler-status`` ConfigMap in its YAML form (reference/capacity.md §2.3)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import yaml

from classifier.instant import format_instant
from e2e.autoscaler.model import NodeGroup

LAST_UPDATED: Final = "cluster-autoscaler.kubernetes.io/last-updated"


@dataclass(frozen=True)
class GroupState:
    """A group's nodes: asked for, registered, and Ready."""

    group: NodeGroup
    target: int
    registered: int
    ready: int


def _go_time(now: int) -> str:
    """Go's default form of a time: ``2026-08-20 10:00:00.123 +0000 UTC``."""
    moment = datetime.fromtimestamp(now / 1000, UTC)
    fraction = f".{now % 1000:03d}".rstrip("0") if now % 1000 else ""
    return f"{moment:%Y-%m-%d %H:%M:%S}{fraction} +0000 UTC"


def _health(target: int, registered: int, ready: int, now: int) -> dict[str, Any]:
    return {
        "status": "Healthy",
        "nodeCounts": {
            "registered": {
                "total": registered,
                "ready": ready,
                "notStarted": registered - ready,
                "unready": {"total": 0, "resourceUnready": 0},
            },
            "longUnregistered": 0,
            "unregistered": max(target - registered, 0),
        },
        "lastProbeTime": format_instant(now),
        "lastTransitionTime": None,
    }


def _activity(status: str, now: int, **more: Any) -> dict[str, Any]:
    return {"status": status, "lastProbeTime": format_instant(now), "lastTransitionTime": None, **more}


def render(states: Sequence[GroupState], now: int) -> str:
    """The value of the ConfigMap's key ``status``; ``now`` is in milliseconds."""
    growing = any(state.target > state.ready for state in states)
    document = {
        "autoscalerStatus": "Running",
        "clusterWide": {
            "health": _health(
                sum(s.target for s in states), sum(s.registered for s in states), sum(s.ready for s in states), now
            ),
            "scaleUp": _activity("InProgress" if growing else "NoActivity", now),
            "scaleDown": _activity("NoCandidates", now),
        },
        "message": "",
        "nodeGroups": [
            {
                "name": state.group.name,
                "health": {
                    **_health(state.target, state.registered, state.ready, now),
                    "cloudProviderTarget": state.target,
                    "minSize": state.group.min_nodes,
                    "maxSize": state.group.max_nodes,
                },
                "scaleUp": _activity("InProgress" if state.target > state.ready else "NoActivity", now, backoffInfo={}),
                "scaleDown": _activity("NoCandidates", now),
            }
            for state in states
        ],
        "time": _go_time(now),
    }
    return yaml.safe_dump(document, default_flow_style=False)
