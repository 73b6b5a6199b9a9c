"""What became of a case in the cluster."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from classifier import api
from e2e import view
from e2e.builders import Document
from e2e.oracle.case import Case


@dataclass
class Sight:
    """Plain documents, as last read."""

    case: Case
    #: The job as the API server stored it, before Kueue's controllers touched it.
    stored: list[Document] = field(default_factory=list)
    #: Why it was not taken at all.
    refused: str = ""
    workloads: list[Document] = field(default_factory=list)
    #: Whether quota was ever reserved for one of its Workloads.
    reserved: bool = False
    pods: list[Document] = field(default_factory=list)
    #: Pods that the API server would not have, where the stage makes them.
    refused_pods: list[str] = field(default_factory=list)

    @property
    def uids(self) -> set[str]:
        return {each["metadata"]["uid"] for each in self.stored}

    @property
    def looked_at(self) -> bool:
        """Kueue has said something about one of them."""
        return any(view.condition(workload, api.QUOTA_RESERVED) for workload in self.workloads)

    @property
    def words(self) -> str:
        """What Kueue says of why it waits, or that it does not."""
        found = (view.condition(workload, api.QUOTA_RESERVED) for workload in self.workloads)
        return " | ".join(f"{each['status']} {each['reason']}: {each['message']}" for each in found if each)

    @property
    def admitted(self) -> Iterator[Document]:
        return (workload for workload in self.workloads if view.is_true(workload, api.ADMITTED))

    @property
    def expected_pods(self) -> int:
        """How many there are to be, now that so many are admitted."""
        return sum(
            assignment.get("count", 0)
            for workload in self.admitted
            for assignment in workload["status"]["admission"]["podSetAssignments"]
            if assignment["name"] not in self.case.late
        )

    @property
    def unschedulable(self) -> list[Document]:
        return [pod for pod in self.pods if _unschedulable(pod)]

    @property
    def settled(self) -> bool:
        """Every pod has a node or the scheduler's word that there is none. Those that wait for others to be ready are
        not made where one of these has none."""
        if self.refused_pods:
            return True
        placed = [pod for pod in self.pods if pod["spec"].get("nodeName") or _unschedulable(pod)]
        waits = "depends on Ready" in self.case.tags and self.unschedulable
        return len(placed) >= (len(self.pods) if waits else self.expected_pods)


def _unschedulable(pod: Document) -> bool:
    found = view.condition(pod, "PodScheduled")
    return found is not None and found["status"] == "False" and found["reason"] == "Unschedulable"
