"""The live nodes, found by their labels, and brought up to date by what changed: one node of thousands is little work.

The list of nodes is the version. Answers are kept until a node they speak of changes; who holds one and finds the very
same object again knows that nothing it rests on is another.
"""

from collections.abc import Mapping

from classifier.fit.supplied.live import Live, Shown, see, show, tell_the_same
from classifier.objects import Node

_Labels = frozenset[tuple[str, str]]


class Nodes:
    """Index of one list of nodes, which :meth:`follow` exchanges for the next. Nodes come in the order of names."""

    def __init__(self) -> None:
        self._listed: list[Node] | None = None
        self._seen: dict[str, tuple[Node, Live]] = {}
        #: Nodes looked at ahead of the list that will hold them.
        self._ahead: dict[str, tuple[Node, Live]] = {}
        self._by_key: dict[str, dict[str | None, dict[str, Live]]] = {}
        self._carrying: dict[_Labels, list[Live]] = {}
        self._shown: dict[_Labels, Shown] = {}

    def look(self, node: Node) -> Live:
        """The node as preflight sees it. Looked at as they come, thousands of nodes keep no judgement waiting."""
        before = self._ahead.get(node.name) or self._seen.get(node.name)
        if before is not None and (before[0] is node or tell_the_same(before[0], node)):
            return before[1]
        live = see(node)
        self._ahead[node.name] = (node, live)
        return live

    def follow(self, nodes: list[Node] | None) -> None:
        """From now on these are the nodes; None: they may not be read."""
        if nodes is self._listed:
            return
        before, self._seen = self._seen, {}
        seen, changed = self._seen, []
        for node in nodes or ():
            name = node.metadata.name
            kept = before.get(name)
            if kept is None or kept[0] is not node:
                live = self.look(node)
                if kept is None or kept[1] is not live:
                    changed.append(live)
                kept = (node, live)
            seen[name] = kept
        for name, (_, live) in before.items():
            now = seen.get(name)
            if now is None or now[1] is not live:
                changed.append(live)
        self._listed = nodes
        ahead = self._ahead if len(self._ahead) <= len(seen) else {}
        self._ahead = {name: kept for name, kept in ahead.items() if name not in seen or seen[name][1] is not kept[1]}
        self._forget(before, changed)

    def carrying(self, labels: Mapping[str, str]) -> list[Live]:
        """The nodes with all these labels."""
        key = frozenset(labels.items())
        found = self._carrying.get(key)
        if found is None:
            found = self._carrying[key] = self._find(labels)
        return found

    def shown(self, labels: Mapping[str, str]) -> Shown:
        """What the nodes with all these labels show together."""
        key = frozenset(labels.items())
        found = self._shown.get(key)
        if found is None:
            found = self._shown[key] = show(self.carrying(labels))
        return found

    def _find(self, labels: Mapping[str, str]) -> list[Live]:
        if not labels:
            return [self._seen[name][1] for name in sorted(self._seen)]
        fewest = min((self._with(key).get(value, {}) for key, value in labels.items()), key=len)
        return [fewest[name] for name in sorted(fewest) if labels.items() <= fewest[name].labels.items()]

    def _with(self, key: str) -> dict[str | None, dict[str, Live]]:
        """The nodes by their value of one label."""
        if key not in self._by_key:
            found: dict[str | None, dict[str, Live]] = {}
            for name, (_, live) in self._seen.items():
                found.setdefault(live.labels.get(key), {})[name] = live
            self._by_key[key] = found
        return self._by_key[key]

    def _forget(self, before: Mapping[str, tuple[Node, Live]], changed: list[Live]) -> None:
        """Whatever a changed node was or is part of; everything, where much has changed."""
        if len(changed) > len(self._seen) // 4 + 1:
            self._by_key, self._carrying, self._shown = {}, {}, {}
            return
        for key, groups in self._by_key.items():
            for live in changed:
                was = before.get(live.name)
                if was is not None:
                    groups.get(was[1].labels.get(key), {}).pop(live.name, None)
            for live in changed:
                now = self._seen.get(live.name)
                if now is not None:
                    groups.setdefault(now[1].labels.get(key), {})[live.name] = now[1]
        for kept in [key for key in self._carrying if any(key <= live.labels.items() for live in changed)]:
            del self._carrying[kept]
            self._shown.pop(kept, None)
