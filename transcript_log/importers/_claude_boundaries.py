"""The compactions of a Claude Code session: where each is marked, its summary, and what it kept.

A compaction is marked by a record that is a root, so that nobody who walks from record to
record gets past it. Its summary follows as a user's record. Later versions keep some
messages: those stay where they are in the file, before the mark, and the mark names them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ..entries import Json
from ._claude_nodes import SUMMARY, Node, as_text, is_boundary
from ._telling import Telling

__all__ = ["Boundary", "find_boundaries"]


@dataclass(slots=True, eq=False)
class Boundary:
    """One compaction.

    Attributes:
        node: The record that marks it: the summary itself in files that have no marks.
        summaries: What tells a model of what is gone.
        kept: The records that it kept, in their order; those between them are not all named.
        is_before: Whether what is kept stands before the summary, and not after it.
    """

    node: Node
    summaries: list[Node] = field(default_factory=list)
    kept: list[Node] = field(default_factory=list)
    is_before: bool = False

    @property
    def tokens(self) -> tuple[int, int]:
        """The size of the context before and after; 0 where that is not told."""
        told = _metadata(self.node)
        before, after = told.get("preTokens"), told.get("postTokens")
        return _count(before), _count(after)

    def follows(self, node: Node) -> Node:
        """What a record after the mark follows, if it says that it follows one that was kept."""
        is_summary = node in self.summaries
        return self.node if is_summary or not self.summaries else self.summaries[-1]


def find_boundaries(
    nodes: Sequence[Node], by_uuid: Mapping[str, Node], telling: Telling
) -> Iterator[Boundary]:
    """The compactions among some records, in the order of the file."""
    found: list[Boundary] = []
    is_open = False
    for node in nodes:
        if node.kind == "assistant":
            is_open = False
        elif node.flags & SUMMARY:
            if not is_open:
                found.append(Boundary(node))
            found[-1].summaries.append(node)
            is_open = True
        elif is_boundary(node):
            boundary = Boundary(node)
            _keep(boundary, by_uuid, telling)
            found.append(boundary)
            is_open = True
    yield from found


def _metadata(node: Node) -> Mapping[str, Json]:
    told = node.extra.get("compactMetadata") if node.kind == "system" else None
    return told if type(told) is dict else {}


def _count(value: Json) -> int:
    return value if type(value) is int and 0 <= value < 2**63 else 0


def _keep(boundary: Boundary, by_uuid: Mapping[str, Node], telling: Telling) -> None:
    """Find what a compaction kept: by the list of it, where there is one, else by its two ends."""
    told = _metadata(boundary.node)
    named, segment = told.get("preservedMessages"), told.get("preservedSegment")
    if type(named) is dict and type(named.get("uuids")) is list:
        kept = [by_uuid.get(uuid) if type(uuid) is str else None for uuid in named["uuids"]]
        anchor = named.get("anchorUuid")
    elif type(segment) is dict:
        kept = list(_between(segment, by_uuid))
        anchor = segment.get("anchorUuid")
    else:
        return
    boundary.kept = [node for node in kept if node is not None]
    boundary.is_before = anchor is not None and anchor == boundary.node.uuid
    if len(boundary.kept) < len(kept) or not kept:
        telling.tell(
            boundary.node,
            "kept-missing",
            "warning",
            "not all that the compaction kept is in the file: the rest is kept",
        )


def _between(segment: Mapping[str, Json], by_uuid: Mapping[str, Node]) -> Iterator[Node]:
    """The records from the head to the tail of a segment; none, if one does not lead to the other."""
    head, node = segment.get("headUuid"), by_uuid.get(as_text(segment.get("tailUuid")) or "")
    passed: dict[str, Node] = {}
    while node is not None and node.uuid not in passed:
        passed[node.uuid] = node
        if node.uuid == head:
            yield from reversed(passed.values())
            return
        node = node.up or by_uuid.get(node.parent or "")
