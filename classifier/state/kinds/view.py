"""What Muster must know of a job kind, besides its podsets, in one struct."""

from collections.abc import Callable
from typing import Any

import msgspec

from classifier.api import Resource
from classifier.objects import Meta


class KindView(msgspec.Struct, frozen=True):
    """One kind that Kueue suspends and resumes. The functions take an object of ``type_``."""

    resource: Resource
    type_: type[Meta]
    #: Whether it is stopped: nothing of it may run.
    suspended: Callable[[Any], bool]
    #: The foreign controller that runs it instead of the kind's own (MultiKueue among them), or None.
    foreign: Callable[[Any], str | None]
