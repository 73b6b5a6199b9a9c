"""The cloud behind the node groups: machines that are asked for, register after a while, and are given back."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from classifier.api import NODES
from classifier.cluster.client import ApiError, Client
from classifier.cluster.reflector import Reflector
from classifier.objects import Node
from e2e.autoscaler import nodes
from e2e.autoscaler.model import NodeGroup
from e2e.autoscaler.simulate import Place, template
from e2e.autoscaler.status import GroupState


@dataclass
class _Machine:
    group: NodeGroup
    #: When it was asked for, monotonic seconds; None once it has registered.
    asked: float | None


class Cloud:
    """Keeps the groups' targets. ``reflector`` is the copy of all Nodes of the cluster."""

    def __init__(self, client: Client, groups: Sequence[NodeGroup], reflector: Reflector[Node]) -> None:
        self.groups = {group.name: group for group in groups}
        self._client = client
        self._nodes = reflector
        # Asked for, and not yet seen as a Node.
        self._coming: dict[str, _Machine] = {}
        # Deleted, and still seen.
        self._going: set[str] = set()

    def group_of(self, node: Node) -> str | None:
        """The name of the group that a node belongs to, if it is one of ours and stays."""
        name = node.annotation(nodes.NODE_GROUP)
        return name if name in self.groups and node.name not in self._going else None

    def members(self, group: str) -> list[Node]:
        """The group's registered nodes, by name."""
        return [node for _, node in sorted(self._nodes.objects.items()) if self.group_of(node) == group]

    def targets(self) -> dict[str, int]:
        """Nodes that each group has or has asked for."""
        targets = {name: len(self.members(name)) for name in self.groups}
        for machine in self._unregistered().values():
            targets[machine.group.name] += 1
        return targets

    def expected(self) -> list[Place]:
        """Machines that have not registered or are not Ready yet, as what they will be."""
        registered = [
            template(group, node.name)
            for group in self.groups.values()
            for node in self.members(group.name)
            if not nodes.ready(node)
        ]
        return registered + [template(machine.group, name) for name, machine in self._unregistered().items()]

    def _unregistered(self) -> dict[str, _Machine]:
        return {name: machine for name, machine in self._coming.items() if name not in self._nodes.objects}

    def ready(self, names: Iterable[str]) -> bool:
        """Whether all these nodes are there and Ready."""
        found = [self._nodes.objects.get(name) for name in names]
        return all(node is not None and nodes.ready(node) for node in found)

    def states(self) -> list[GroupState]:
        targets = self.targets()
        return [
            GroupState(group, targets[name], len(members), sum(nodes.ready(node) for node in members))
            for name, group in self.groups.items()
            for members in [self.members(name)]
        ]

    def resize(self, group: str, more: int) -> list[str]:
        """Ask for ``more`` machines; their names."""
        chosen = self.groups[group]
        names = nodes.names(chosen, (*self._nodes.objects, *self._coming, *self._going), more)
        for name in names:
            self._coming[name] = _Machine(chosen, time.monotonic())
        return names

    async def step(self, delay: float) -> None:
        """Let the machines register that were asked for ``delay`` seconds ago."""
        self._going &= self._nodes.objects.keys()
        for name, machine in list(self._coming.items()):
            if machine.asked is not None and machine.asked + delay <= time.monotonic():
                await self._client.request("POST", NODES.path(), body=nodes.manifest(machine.group, name))
                machine.asked = None
            if machine.asked is None and name in self._nodes.objects:
                del self._coming[name]

    async def remove(self, name: str) -> None:
        """Give a machine back."""
        self._going.add(name)
        try:
            await self._client.request("DELETE", NODES.path(name=name))
        except ApiError as error:
            if not error.missing:
                self._going.discard(name)
                raise

    async def shut_down(self) -> None:
        """Give everything back: the groups end with their autoscaler."""
        registered = [name for name, machine in self._coming.items() if machine.asked is None]
        for name in {*registered, *(node.name for group in self.groups for node in self.members(group))}:
            await self.remove(name)
        self._coming.clear()
