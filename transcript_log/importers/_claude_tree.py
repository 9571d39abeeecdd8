"""Which records of a Claude Code session are the conversation as it is now.

Each record names the one that it follows. That makes a tree: a prompt that was taken back and
said anew begins another branch, and so does an answer that was tried again. The branch that
the last record is on counts.

A walk from that record to the root is not enough. One API message is many records, one for
each block, and each output follows the record of its own call: where calls were made side by
side, the walk passes one of the outputs. So the records of an API message go together, and an
output goes with its call.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ._claude_boundaries import Boundary, find_boundaries
from ._claude_nodes import ANSWERS, CHAINED, META, TEAM, VIRTUAL, Node, as_text, is_boundary
from ._telling import Telling

__all__ = ["Branch", "Tree"]

_SEEN: Final = -1  # being judged just now
_PATH: Final = 1
"""It lies on the way from the last record to the root."""
_BESIDE: Final = 2
"""It belongs to an API message on that way: a block of it, an output of its calls, what came with one."""
_NOTED: Final = 3
"""It is a note of the program beside that way."""
_AFTER: Final = 4
"""It came after the last thing that was said."""
_GIVEN_UP: Final = 5
"""It is on another branch."""


@dataclass(slots=True, eq=False)
class Branch:
    """A part of the tree that is not live: where it begins, and how many messages it has."""

    first: Node
    records: int = 0


class Tree:
    """The records of one conversation, judged.

    Attributes:
        nodes: All of them, in the order of the file.
        boundaries: Its compactions by the id of the record that marks each.
        branches: What was given up, in the order of the file.
    """

    def __init__(
        self,
        nodes: Sequence[Node],
        by_uuid: Mapping[str, Node],
        telling: Telling,
        *,
        is_plain: bool = False,
        members: Collection[int] | None = None,
        rewound: Node | None = None,
    ) -> None:
        """Judge the records.

        Args:
            nodes: The records of the conversation, in the order of the file.
            by_uuid: All records of the file.
            telling: Is told of what does not fit.
            is_plain: Each record knows already what it follows, and no compaction is marked.
            members: The identities of ``nodes``, if the file holds more than those.
            rewound: The record that the user went back to last, if nothing was said since.
        """
        self.nodes: Final = nodes
        self.boundaries: Final[dict[str, Boundary]] = {}
        self.branches: Final[list[Branch]] = []
        self._members = members
        self._by_uuid = by_uuid
        self._telling = telling
        if not is_plain:
            for boundary in find_boundaries(nodes, by_uuid, telling):
                self.boundaries[boundary.node.uuid] = boundary
            self._link()
        leaf = rewound or self._last_said()
        if leaf is not None:
            path = self._walk(leaf)
            self._judge(path, None if rewound is not None else leaf)

    def live(self) -> Iterator[Node]:
        """The records of the conversation as it is now, in the order of the file."""
        return (node for node in self.nodes if node.state != _GIVEN_UP)

    # ------------------------------------------------------------------------ the links

    def _link(self) -> None:
        """Find the record that each one follows."""
        last: Node | None = None
        moved: dict[str, Boundary] = {}  # what was kept, and by which compaction last
        for node in self.nodes:
            boundary = self.boundaries.get(node.uuid)
            up = self._parent(node, last, boundary)
            if up is not None and up.uuid in moved:
                up = moved[up.uuid].follows(node)
            node.up = up
            if boundary is not None:
                moved.update((kept.uuid, boundary) for kept in boundary.kept)
            last = node

    def _parent(self, node: Node, last: Node | None, boundary: Boundary | None) -> Node | None:
        up, parent = node.up, node.parent
        if up is None and parent is None:
            if boundary is None:
                return last if node.flags & CHAINED else None
            logical = as_text(node.extra.get("logicalParentUuid")) if is_boundary(node) else None
            up = self._by_uuid.get(logical or "")
            if up is None:
                return last
        if up is None:
            up = self._by_uuid.get(parent or "")
        if up is None:
            # The chain is broken. What stands before it in the file is the best that is known.
            self._telling.note(node, "parent-missing")
            return last
        return up if self._members is None else self._climb(up, self._members, last)

    def _climb(self, up: Node, members: Collection[int], last: Node | None) -> Node | None:
        """The record, or the nearest one above it that is of this conversation."""
        passed = set()
        above: Node | None = up
        while above is not None and id(above) not in members:
            if above.uuid in passed:
                return last
            passed.add(above.uuid)
            above = above.up or self._by_uuid.get(above.parent or "")
        return last if above is None else above

    # ------------------------------------------------------------------------- the path

    def _last_said(self) -> Node | None:
        """The last thing that was said, by the program in the user's name only if by nobody else."""
        last: Node | None = None
        for node in reversed(self.nodes):
            if node.kind in ("user", "assistant"):
                if not node.flags & (META | TEAM | VIRTUAL):
                    return node
                last = last or node
        return last

    def _walk(self, leaf: Node) -> list[Node]:
        """The way from a record to the root."""
        path = []
        node: Node | None = leaf
        while node is not None and node.state != _PATH:
            node.state = _PATH
            path.append(node)
            up = node.up
            group = node.group
            if group is not None:
                group.is_live = True
                if up is None and group.first is not node:
                    up = group.first  # a copy that was put down as a root
            node = up
        return path

    # ------------------------------------------------------------------------ the judge

    def _judge(self, path: Sequence[Node], leaf: Node | None) -> None:
        """Say of each record off the path whether it is live.

        Args:
            path: The records on it.
            leaf: Whatever comes after it is live; None if nothing is.
        """
        open_calls: set[str] = set()
        for node in path:
            if node.group is not None:
                open_calls.update(node.group.calls)
        for node in path:
            if node.flags & ANSWERS:
                open_calls.difference_update(node.answered)
        branches: dict[str, Branch] = {}
        for node in self.nodes:
            if node.state == 0:
                self._judge_with_those_above(node, leaf, open_calls, branches)
        found = {id(branch): branch for branch in branches.values() if branch.records}
        self.branches.extend(found.values())

    def _judge_with_those_above(
        self, node: Node, leaf: Node | None, open_calls: set[str], branches: dict[str, Branch]
    ) -> None:
        waiting = []
        above: Node | None = node
        while above is not None and above.state == 0:
            above.state = _SEEN
            waiting.append(above)
            above = above.up
        for one in reversed(waiting):
            up = one.up if one.up is not None and one.up.state != _SEEN else None
            one.state = _state_of(one, up, leaf, open_calls)
            if one.state == _GIVEN_UP:
                branch = branches.get(up.uuid) if up is not None else None
                if branch is None:
                    branch = Branch(one)
                branch.records += one.kind in ("user", "assistant")
                branches[one.uuid] = branch


def _state_of(node: Node, up: Node | None, leaf: Node | None, open_calls: set[str]) -> int:
    """What is so of a record off the path, in view of the one that it follows."""
    above = _GIVEN_UP if up is None else up.state
    if above == _PATH and up is leaf and leaf is not None:
        above = _AFTER
    if node.kind == "assistant":
        return _BESIDE if node.group is not None and node.group.is_live else _GIVEN_UP
    if node.kind == "user":
        if node.flags & ANSWERS and not open_calls.isdisjoint(node.answered):
            open_calls.difference_update(node.answered)
            return _BESIDE
        if above == _AFTER or (above == _BESIDE and node.flags & META):
            return above
        return _GIVEN_UP
    if above == _GIVEN_UP or (above != _AFTER and is_boundary(node)):
        return _GIVEN_UP
    return _NOTED if above == _PATH else above
