"""A real Kubernetes control plane with Kueue and KWOK on this machine's loopback, without containers or root."""

from e2e.controlplane.build import tool
from e2e.controlplane.cluster import Cluster

__all__ = ["Cluster", "tool"]
