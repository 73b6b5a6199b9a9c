"""Words of others (messages, names, labels) made fit to be shown."""

from collections.abc import Iterable


def printable(text: str) -> str:
    """``text`` without what would act on a terminal or turn the order of the letters: a � in its place."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else " " if c.isspace() else "\N{REPLACEMENT CHARACTER}" for c in text)


def cut(text: str, length: int) -> str:
    """No more than that many characters of it, with a word about where the rest is."""
    return text if len(text) <= length else f"{text[:length].rstrip()} …; -o wide has all"


def handful(items: Iterable[str], most: int | None) -> list[str]:
    """The first ``most`` of them (None: all), then how many there are besides."""
    listed = list(items)
    if most is None or len(listed) <= most:
        return listed
    return [*listed[:most], f"and {len(listed) - most} more; -o wide has all"]
