"""Printing: colours on a terminal alone, JSON and YAML, tables as kubectl lays them out."""

import json
import os
import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any, Final, TextIO

import yaml

from classifier.report.phase import MARKERS, State
from classifier.report.text import printable

_COLOURS: Final = {State.DONE: "32", State.ACTIVE: "33", State.WAITING: "2", State.FAILED: "31"}
_MARKED: Final = re.compile(rf"^( *)([{''.join(MARKERS.values())}]) ")
#: C1 controls (U+009B begins a command as ESC [ does), what ends lines or turns the order of letters, surrogates.
_ACTING: Final = re.compile("[\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_BY_MARKER: Final = {marker: _COLOURS[state] for state, marker in MARKERS.items()}


def colours(stream: TextIO) -> bool:
    """On a terminal, unless NO_COLOR is set (https://no-color.org) or the terminal cannot."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def paint(line: str) -> str:
    """A line that begins with a marker, with that in colour; any other line as it is."""
    match = _MARKED.match(line)
    if match is None:
        return line
    return f"{match[1]}\x1b[{_BY_MARKER[match[2]]}m{match[2]}\x1b[0m {line[match.end() :]}"


def say(lines: Iterable[str]) -> None:
    """Lines to stdout, painted where that makes sense."""
    coloured = colours(sys.stdout)
    for line in map(printable, lines):
        print(paint(line) if coloured else line)


def say_data(data: Any, form: str) -> None:
    """``json`` or ``yaml``."""
    if form == "json":
        print(_escaped(json.dumps(data, indent=2, ensure_ascii=False)))
    else:
        print(_escaped(yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True)), end="")


def say_json_line(data: Any) -> None:
    print(_escaped(json.dumps(data, ensure_ascii=False, separators=(",", ":"))), flush=True)


def _escaped(text: str) -> str:
    """JSON or YAML that says the same, without the characters beyond ASCII that act on a terminal."""
    return _ACTING.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


class _Dumper(yaml.SafeDumper):
    """Quotes text with such characters, for only there an escape says the same."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"' if _ACTING.search(text) else None)


_Dumper.add_representer(str, _text)


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns three spaces apart, the last one ragged."""
    widths = [max(len(row[i]) for row in (header, *rows)) for i in range(len(header))]
    return [
        "   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in (header, *rows)
    ]


def warn(message: str) -> None:
    print(f"muster: {printable(message)}", file=sys.stderr, flush=True)
