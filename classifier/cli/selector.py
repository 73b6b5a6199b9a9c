"""Label selectors as kubectl takes them (``-l``), for objects read from files."""

import re
from collections.abc import Callable, Mapping
from typing import Final

from classifier.cli.errors import UsageError

Test = Callable[[Mapping[str, str]], bool]

_KEY: Final = r"(?P<key>[A-Za-z0-9][A-Za-z0-9._/-]*)"
_SET: Final = re.compile(rf"{_KEY}\s+(?P<op>in|notin)\s*\((?P<values>[^()]*)\)")
_EQUAL: Final = re.compile(rf"{_KEY}\s*(?P<op>==|=|!=)\s*(?P<value>[A-Za-z0-9._-]*)")
_EXISTS: Final = re.compile(rf"(?P<not>!?)\s*{_KEY}")
#: Commas between requirements, not those inside parentheses.
_COMMA: Final = re.compile(r",(?![^(]*\))")


def parse_selector(text: str) -> Test:
    """A test of labels. Raises UsageError naming the part that is none."""
    tests = [_requirement(part.strip()) for part in _COMMA.split(text)]
    return lambda labels: all(test(labels) for test in tests)


def _requirement(part: str) -> Test:
    if match := _SET.fullmatch(part):
        key, values = match["key"], {v.strip() for v in match["values"].split(",")}
        if match["op"] == "in":
            return lambda labels: labels.get(key) in values
        return lambda labels: labels.get(key) not in values
    if match := _EQUAL.fullmatch(part):
        key, value = match["key"], match["value"]
        if match["op"] == "!=":
            return lambda labels: labels.get(key) != value
        return lambda labels: labels.get(key) == value
    if match := _EXISTS.fullmatch(part):
        key, absent = match["key"], bool(match["not"])
        return lambda labels: (key in labels) is not absent
    raise UsageError(f"{part!r} is no label selector; write for example team=a or 'team in (a,b)'")
