"""What podsets and gangs are known by: their templates in their own words, whatever they are called and number."""

from collections.abc import Hashable, Sequence
from typing import Final

import msgspec

from classifier.fit.gang import Podset
from classifier.fit.matching.placement import marks
from classifier.objects import PodSpec

_ENCODER: Final = msgspec.json.Encoder()
_NO_SPEC: Final = PodSpec()
#: Bytes that words may well have which are like no others: nobody knows how many.
_WORDLESS: Final = 1 << 20


def shape_of(podset: Podset) -> Hashable:
    """Equal for podsets that ``reading.read`` cannot tell apart."""
    return _encoded(_words(podset))


def shape_of_gang(podsets: Sequence[Podset]) -> Hashable:
    """Equal for gangs that differ in names and counts alone."""
    if _is_plain(podsets):
        return shape_of(podsets[0])
    return _encoded([(_words(podset), podset.topology, podset.stage) for podset in podsets])


def shapes_in(podsets: Sequence[Podset], gang: Hashable) -> list[Hashable]:
    """Of each of them, where ``gang`` is that of all."""
    return [gang] if _is_plain(podsets) else [shape_of(podset) for podset in podsets]


def _is_plain(podsets: Sequence[Podset]) -> bool:
    """Whether a gang is one podset and nothing else; then its words are kept only once."""
    return len(podsets) == 1 and podsets[0].topology is None and not podsets[0].stage


def length(shape: Hashable) -> int:
    """Bytes that whoever keeps the shape holds on to."""
    return len(shape) if isinstance(shape, bytes) else _WORDLESS


def _words(podset: Podset) -> tuple[object, ...]:
    counted = podset.counted_spec if podset.counted is not None else None
    before = podset.counted_before.spec if podset.counted_before is not None else None
    template = podset.template
    marked = podset.exclusive if template.metadata is None else marks(podset)
    return podset.namespace, template.spec or _NO_SPEC, counted, before, marked, podset.path == ""


def _encoded(words: object) -> Hashable:
    try:
        return _ENCODER.encode(words)
    except (ValueError, TypeError, OverflowError):
        return object()  # nothing that JSON carries; like no other
