"""Plays Cluster Autoscaler on the real control plane: ProvisioningRequests in, KWOK nodes out, faults on request.

    groups = [NodeGroup("gpupool", {"agentpool": "gpupool"}, {"nvidia.com/gpu": "8", ...}, max_nodes=2)]
    async with Autoscaler(client, groups, Settings(start_delay=2)) as autoscaler:
        autoscaler.faults.no_capacity = True

What it copies, and from where: ``reference/capacity.md`` §1 (conditions, atomic scale-up, bookings, backoff).
"""

from e2e.autoscaler.loop import Autoscaler
from e2e.autoscaler.model import ATOMIC, CHECK, Faults, NodeGroup, Settings

__all__ = ["ATOMIC", "CHECK", "Autoscaler", "Faults", "NodeGroup", "Settings"]
