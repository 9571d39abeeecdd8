"""The tree that the entries of a pi session are, and the branch of it that is live.

An entry names its parent. The last entry of the file is the leaf, and what its ancestors say
is the conversation; an entry that stands on no way from the leaf to a root is of a branch
that was left. Files of version 1 have no ids: there each entry follows the one before.
(https://github.com/badlogic/pi-mono, ``packages/coding-agent/src/core/session-manager.ts``,
2026-03; ``leaf`` entries: https://github.com/earendil-works/pi,
``packages/agent/src/harness/session/jsonl-storage.ts``, 2026-08.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from ..entries import Json
from . import SourceRecord

__all__ = ["Node", "Tree"]


@dataclass(slots=True, eq=False)
class Node:
    """One entry of the file.

    Attributes:
        record: The entry.
        place: How many entries stand before it.
        ordinal: How many records stand before it on its line.
        index: How many lines of the file were entries before it was written: those that cannot
            be read any more, and the header, count too.
        id: The id that the file gives it; None where it gives none.
        parent: The entry that it follows; None for a root.
        live: Whether it is on the live branch; ``at`` is its place there.
    """

    record: SourceRecord
    place: int
    ordinal: int
    index: int
    id: str | None = field(init=False)
    parent: Node | None = None
    live: bool = False
    at: int = -1

    def __post_init__(self) -> None:
        named = self.record.value.get("id")
        self.id = named if type(named) is str and named else None


@dataclass(slots=True)
class Tree:
    """How the entries of a file hang together.

    Args:
        nodes: The entries, in the order of the file.
        linear: Whether each follows the one before, whatever it says.
        tell: Is told of each entry whose parent had to be guessed: the entry, a rule, and what is
            so.

    Attributes:
        live: The live branch, root first.
        left: Each branch that was left, in the order of the file.
    """

    nodes: Sequence[Node]
    linear: bool
    tell: Callable[[Node, str, str], None]
    live: list[Node] = field(init=False, default_factory=list)
    left: list[list[Node]] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        if self.linear:
            for before, node in zip(self.nodes, self.nodes[1:], strict=False):
                node.parent = before
        else:
            self._link()
        self.live = self._way(self._leaf())
        for at, node in enumerate(self.live):
            node.live, node.at = True, at
        self.left = self._branches()

    # --------------------------------------------------------------------------- parents

    def _link(self) -> None:
        """Give each entry its parent."""
        earlier: dict[str, Node] = {}
        later: dict[str, Node] = {}
        for node in reversed(self.nodes):
            if node.id is not None:
                later[node.id] = node
        for place, node in enumerate(self.nodes):
            node.parent = self._parent(node, place, earlier, later)
            if node.id is not None:
                earlier[node.id] = node  # of several with one id, the nearest one before counts

    def _parent(
        self, node: Node, place: int, earlier: dict[str, Node], later: dict[str, Node]
    ) -> Node | None:
        value = node.record.value
        named = value.get("parentId", _MISSING)
        if named is None or named == "":
            return None
        before = self.nodes[place - 1] if place else None
        if type(named) is not str:
            why = "names no parent" if named is _MISSING else "names a parent that is no text"
            return self._guessed(node, before, f"the entry {why}")
        found = earlier.get(named) or later.get(named)
        if found is node:
            return self._guessed(node, before, "the entry names itself as its parent")
        if found is None:
            return self._guessed(node, before, f"its parent {named!r} is not in the file")
        return found

    def _guessed(self, node: Node, before: Node | None, why: str) -> Node | None:
        end = "nothing stands before it" if before is None else "the entry before it is taken for that"
        self.tell(node, "parent-missing", f"{why}; {end}")
        return before

    # ------------------------------------------------------------------------- branches

    def _leaf(self) -> Node | None:
        """The entry that the conversation ends with: the last one, or what it points at."""
        if not self.nodes:
            return None
        last = self.nodes[-1]
        value = last.record.value
        if value.get("type") != "leaf" or "targetId" not in value:
            return last
        target: Json = value["targetId"]
        if target is None:
            return None
        for node in reversed(self.nodes):
            if node.id == target:
                return node
        self.tell(last, "parent-missing", f"the leaf {target!r} is not in the file; what it follows is taken")
        return last

    def _way(self, leaf: Node | None) -> list[Node]:
        """The entries from a root to a leaf."""
        way: list[Node] = []
        seen: set[int] = set()
        node = leaf
        while node is not None:
            if node.place in seen:
                why = "following parents leads back to this entry; what stands before is not found"
                self.tell(node, "parent-circle", why)
                break
            seen.add(node.place)
            way.append(node)
            node = node.parent
        way.reverse()
        return way

    def _branches(self) -> list[list[Node]]:
        """The entries off the live branch: those that hang together at one place are one branch."""
        roots: dict[int, int] = {}  # the first entry of the branch of each, by place
        for node in self.nodes:
            way = []
            at: Node | None = node
            while at is not None and not at.live and at.place not in roots:
                roots[at.place] = at.place  # for now, so that a circle ends
                way.append(at.place)
                at = at.parent
            if way:
                root = way[-1] if at is None or at.live else roots[at.place]
                roots.update(dict.fromkeys(way, root))
        found: dict[int, list[Node]] = {}
        for node in self.nodes:
            if not node.live:
                found.setdefault(roots[node.place], []).append(node)
        return list(found.values())


_MISSING: Final = object()
