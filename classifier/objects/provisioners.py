"""What autoscalers say of pools: Karpenter ``karpenter.sh/v1`` and the Cluster API's scalable kinds.

Karpenter: pkg/apis/v1/nodepool.go. Cluster API: annotations only (reference/capacity.md §2.6).
"""

from classifier.objects.meta import Conditioned, Meta, Obj, Quantity
from classifier.objects.pods import Expression, Taint


class NodeClaimMetadata(Obj):
    labels: dict[str, str] | None = None


class NodeClaimSpec(Obj):
    requirements: list[Expression] | None = None
    taints: list[Taint] | None = None
    startup_taints: list[Taint] | None = None


class NodeClaimTemplate(Obj):
    metadata: NodeClaimMetadata | None = None
    spec: NodeClaimSpec | None = None


class NodePoolSpec(Obj):
    limits: dict[str, Quantity] | None = None
    replicas: int | None = None
    template: NodeClaimTemplate | None = None


class NodePoolStatus(Conditioned):
    resources: dict[str, Quantity] | None = None


class NodePool(Meta):
    spec: NodePoolSpec | None = None
    status: NodePoolStatus | None = None


class MachineGroup(Meta):
    """A MachineDeployment, MachineSet or MachinePool: all that matters stands in its annotations."""
