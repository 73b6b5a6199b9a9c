"""Printing: colours on a terminal alone, JSON and YAML, tables as kubectl lays them out."""

import json
import os
import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any, Final, TextIO

import yaml

from classifier.report.phase import MARKERS, State

_COLOURS: Final = {State.DONE: "32", State.ACTIVE: "33", State.WAITING: "2", State.FAILED: "31"}
_MARKED: Final = re.compile(rf"^  ([{''.join(MARKERS.values())}]) ")
_BY_MARKER: Final = {marker: _COLOURS[state] for state, marker in MARKERS.items()}


def colours(stream: TextIO) -> bool:
    """On a terminal, unless NO_COLOR is set (https://no-color.org) or the terminal cannot."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def paint(line: str) -> str:
    """A phase's line with its marker in colour; any other line as it is."""
    match = _MARKED.match(line)
    if match is None:
        return line
    return f"  \x1b[{_BY_MARKER[match[1]]}m{match[1]}\x1b[0m {line[match.end() :]}"


def say(lines: Iterable[str]) -> None:
    """Lines to stdout, painted where that makes sense."""
    coloured = colours(sys.stdout)
    for line in lines:
        print(paint(line) if coloured else line)


def say_data(data: Any, form: str) -> None:
    """``json`` or ``yaml``."""
    if form == "json":
        print(json.dumps(data, indent=2, ensure_ascii=False))
    else:
        print(yaml.safe_dump(data, sort_keys=False, allow_unicode=True), end="")


def say_json_line(data: Any) -> None:
    print(json.dumps(data, ensure_ascii=False, separators=(",", ":")), flush=True)


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns three spaces apart, the last one ragged."""
    widths = [max(len(row[i]) for row in (header, *rows)) for i in range(len(header))]
    return [
        "   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in (header, *rows)
    ]


def warn(message: str) -> None:
    print(f"muster: {message}", file=sys.stderr)
