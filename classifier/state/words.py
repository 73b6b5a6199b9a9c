"""How the texts of a detail are made (reference/classification.md, "words", §C12, §F11): one line each."""

from collections.abc import Iterable, Sequence
from typing import Protocol

#: What a detail neither begins nor ends with: every blank there is, and the mark that joins its parts.
_EDGES = ";" + "".join(c for c in map(chr, range(0x3001)) if c.isspace())


class Said(Protocol):
    """A condition, a pod's status, a waiting container."""

    @property
    def reason(self) -> str | None: ...
    @property
    def message(self) -> str | None: ...


def one_line(text: str | None) -> str:
    """Stripped, and every inner line break (of any Unicode sort) one blank."""
    if not text or text.isprintable():  # most are: no line break is printable
        return text.strip() if text else ""
    return " ".join(line for line in map(str.strip, text.splitlines()) if line)


def words(said: Said) -> str:
    """``<reason>: <message>``, or the one there is."""
    return titled(one_line(said.reason), one_line(said.message))


def titled(title: str, text: str) -> str:
    """``<title>: <text>``, or the one there is."""
    return f"{title}: {text}" if title and text else title or text


def joined(parts: Iterable[str]) -> str:
    """A detail: its parts by ``; ``, without those that say nothing. One line, whatever the parts hold."""
    return one_line("; ".join(part for part in parts if part.strip(_EDGES))).strip(_EDGES)


def listed(names: Sequence[str], limit: int = 3) -> str:
    """``a, b, c and 4 more``."""
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(names[:limit]) + more
