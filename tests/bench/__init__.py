"""Figures, each measured in one run beside what it is compared with: ``make bench`` (design §7).

A bench is a module with a ``run(say)`` that yields :class:`Figure`; it is entered in ``__main__``. Nothing here is a
test: timings differ from machine to machine.
"""

from collections.abc import Callable

import msgspec

Say = Callable[[str], None]


class Figure(msgspec.Struct, frozen=True):
    """``value`` in ``unit``; ``against`` says what it is a ratio of, "" for absolute values.

    ``most`` is the bar: a value above it fails the run; None for figures that only inform.
    """

    name: str
    value: float
    unit: str
    against: str = ""
    most: float | None = None

    @property
    def met(self) -> bool:
        return self.most is None or self.value <= self.most
