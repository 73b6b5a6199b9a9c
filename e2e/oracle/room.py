"""Amounts as the generator counts them: milli-cpu, Mi of memory, whole devices."""

from dataclasses import dataclass
from typing import Final

from e2e.builders import GPU
from e2e.oracle.dice import Dice

CPU: Final = "cpu"
MEMORY: Final = "memory"
#: An extended resource of which a node has one or two: it alone decides how many pods stand there.
SLOT: Final = "example.com/slot"
#: Kueue counts none of it (configuration of the stage).
IGNORED: Final = "ignored.example.com/nic"
#: Kueue counts it as something else (configuration of the stage).
SLICE: Final = "example.com/mig-slice"
SLICE_MEMORY: Final = "example.com/gpu-memory"
SLICE_GIB: Final = 5

Amounts = dict[str, int]


@dataclass(frozen=True)
class Room:
    """One empty node."""

    cpu: int  # cores
    memory: int  # Gi
    gpu: int = 0
    pods: int = 110
    slots: int = 0

    @property
    def amounts(self) -> Amounts:
        amounts = {CPU: self.cpu * 1000, MEMORY: self.memory * 1024}
        more = {GPU: self.gpu, SLOT: self.slots}
        return amounts | {resource: amount for resource, amount in more.items() if amount}

    @property
    def allocatable(self) -> dict[str, str]:
        found = {CPU: str(self.cpu), MEMORY: f"{self.memory}Gi", "pods": str(self.pods)}
        more = {GPU: self.gpu, SLOT: self.slots}
        # What the pods may ask for beside: enough of it everywhere, so that only quota counts.
        always = {IGNORED: "64", SLICE: "64"}
        return found | {resource: str(amount) for resource, amount in more.items() if amount} | always


ROOMS: Final = (
    Room(4, 8),
    Room(8, 32, gpu=4),
    Room(16, 64, gpu=8),
    Room(2, 4),
    Room(32, 128, gpu=2, slots=1),
    Room(8, 16, slots=2),
    Room(64, 256, gpu=8, pods=3),
)


def text(resource: str, amount: int, dice: Dice | None = None) -> str | int | float:
    """An amount in one of the ways to write it."""
    if resource == CPU:
        ways: list[str | int | float] = [f"{amount}m", f"{amount / 1000:g}"]
        if amount % 1000 == 0:
            ways += [amount // 1000, f"{amount // 1000}e0"]
    elif resource == MEMORY:
        ways = [f"{amount}Mi", str(amount * 2**20), f"{amount * 1024}Ki"]
        if amount % 128 == 0:
            ways.append(f"{amount / 1024:g}Gi")
    else:
        ways = [str(amount), amount, f"{amount * 1000}m"]
    return ways[0] if dice is None else dice.choice(ways)


def total(parts: list[tuple[int, Amounts]]) -> Amounts:
    found: Amounts = {}
    for count, want in parts:
        for resource, amount in want.items():
            found[resource] = found.get(resource, 0) + count * amount
    return found
