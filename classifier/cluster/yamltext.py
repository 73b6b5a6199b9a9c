"""YAML as kubectl reads it, and how much of it: one document at a time, with the line it begins on.

Aliases let a few lines stand for millions of values, or for a value within itself. No tool prints such objects; they
are refused before anything is built from them.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

import yaml

#: Levels of nesting. The deepest objects there are (schemas in CustomResourceDefinitions) stay far below.
MAX_DEPTH: Final = 200
#: Values that aliases may add to a document beyond those that are written in it.
MAX_COPIES: Final = 100_000

_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_Base):  # type: ignore[misc]  # the base is chosen at run time
    """YAML as kubectl reads it: no dates and no numbers of base 60, which stay text there."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith((":timestamp", ":int", ":float"))]
    for first, resolvers in _Base.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:int", re.compile(r"[-+]?(?:0|[1-9][0-9]*|0x[0-9a-fA-F]+|0o?[0-7]+)\Z"), list("-+0123456789")
)
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?\Z"),
    list("-+.0123456789"),
)


class YamlError(Exception):
    """The text is no YAML that can be read; the message names line or document and says what is wrong."""


def documents(text: str) -> Iterator[tuple[int, yaml.Node, Any]]:
    """Each document that is not empty: its number from 1, its node, which knows the lines, and its value."""
    number = 0
    loader = None
    try:
        loader = _Loader(text)
        while loader.check_node():
            number += 1
            node = loader.get_node()
            _check_size(node)
            yield number, node, loader.construct_document(node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        at = f"line {mark.line + 1}, column {mark.column + 1}" if mark else f"document {max(1, number)}"
        raise YamlError(f"{at}: {error.problem or error.context or 'not YAML'}") from None
    except yaml.YAMLError as error:
        raise YamlError(f"document {max(1, number)}: {error}") from None
    except RecursionError:
        raise YamlError(f"document {max(1, number)}: nested too deeply") from None
    except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
        # What PyYAML's constructors stumble over when a value is not what its tag (!!int, !!bool) says.
        raise YamlError(f"document {max(1, number)}: a value does not match its tag: {error}") from None
    finally:
        if loader is not None:
            loader.dispose()


def _children(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [child for pair in node.value for child in pair]
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []


def _check_size(root: yaml.Node) -> None:
    """Raise for a document whose aliases loop, or blow it up. Visits each node once, without recursion."""
    sizes: dict[int, int] = {}
    heights: dict[int, int] = {}
    ancestors: set[int] = set()
    written = 0
    pending = [(root, False)]
    while pending:
        node, children_done = pending.pop()
        key = id(node)
        if not children_done:
            if key in ancestors:
                raise _refused(node, "this value contains itself by an alias")
            if key not in sizes:
                ancestors.add(key)
                pending.append((node, True))
                pending.extend((c, False) for c in _children(node) if not isinstance(c, yaml.ScalarNode))
            continue
        ancestors.discard(key)
        children = _children(node)
        # Scalars are not remembered: they count as one value each, wherever they stand.
        sizes[key] = 1 + sum(sizes.get(id(child), 1) for child in children)
        heights[key] = 1 + max((heights.get(id(child), 0) for child in children), default=0)
        written += 1 + sum(isinstance(child, yaml.ScalarNode) for child in children)
        if heights[key] > MAX_DEPTH:
            raise _refused(node, f"nested more than {MAX_DEPTH} levels deep")
        if sizes[key] - written > MAX_COPIES:
            raise _refused(node, f"its aliases stand for more than {MAX_COPIES} values; write out what is meant")


def _refused(node: yaml.Node, problem: str) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark)
