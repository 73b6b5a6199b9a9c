"""Chance with a seed: the same cases in every run."""

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Dice(random.Random):
    """One a case, so that a change in one case leaves the others as they are."""

    def one_in(self, number: int) -> bool:
        return self.randrange(number) == 0

    def of(self, *choices: T) -> T:
        return self.choice(choices)

    def some(self, choices: Sequence[T], least: int = 0) -> list[T]:
        """A subset in order."""
        count = self.randint(least, len(choices))
        kept = set(self.sample(range(len(choices)), count))
        return [choice for index, choice in enumerate(choices) if index in kept]
