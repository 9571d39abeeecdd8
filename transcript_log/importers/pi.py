"""Sessions of the pi coding agent, versions 1 to 3, and of its forks.

The entries of a file are a tree. Its live branch becomes the log; the messages of other
branches stay where they were said, as history that is no context. Messages stay in pi's own
shape, as decoded; what pi says to a model for a command, an extension or a summary is said
as a message of the user. What a tool gave back beyond its output goes to the sidecar.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from .._collector import collector_paused
from ..entries import HARNESS, Header, Json
from ..errors import HeaderError
from ..findings import Finding, Severity
from . import Imported, SourceLines, SourceRecord
from ._pi_entries import SETTINGS, Entries
from ._pi_tally import Tally
from ._pi_tree import Node, Tree
from ._telling import Telling
from ._unknown import with_unknown

__all__ = ["import_pi"]


def import_pi(lines: Iterable[bytes], *, path: str | None = None, keep_unknown: bool = False) -> Imported:
    """A session of pi as entries.

    Args:
        lines: The physical lines of the file, with their line ends.
        path: Named in findings and errors.
        keep_unknown: Whether records that nothing is made of become opaque entries.

    Raises:
        HeaderError: Not one record of pi is in it. Damage alone raises nothing.
    """
    source = SourceLines(lines, path)
    file = _File(path, keep_unknown=keep_unknown)
    with collector_paused():
        for record in source:
            file.take(record, source)
        return file.finish(source)


# ----------------------------------------------------------------------------- the words

VERSION: Final = 3
"""The newest version of pi's files that is known here."""

_KINDS: Final = SETTINGS | {
    "branch_summary",
    "compaction",
    "custom",
    "custom_message",
    "label",
    "leaf",
    "message",
    "session",
    "session_info",
}
_NOTES: Final[Mapping[str, tuple[Severity, str]]] = {
    "kept-unknown": ("note", "kept as it is, here and after: {about} ({number} times)"),
    "not-imported": ("note", "not taken over, here and after: {about} ({number} times)"),
    "unreadable-time": (
        "warning",
        "times that cannot be read, here and after: {number}; they are taken as unknown",
    ),
    "answer-failed": (
        "note",
        "answers that failed, here and after: {number}; they are history, and no context: {about}",
    ),
    "picture-elsewhere": (
        "note",
        "pictures that stand outside of the file, here and after: {number}; they cannot be sent",
    ),
    "repeated-entry": (
        "warning",
        "entries that stand in the file once more, here and after: {number}; the last one counts",
    ),
    "repeated-header": ("note", "further session headers, here and after: {number}; the first one counts"),
    "unknown-role": (
        "note",
        "messages of the role {about}, here and after: {number}; pi sends none, so they are no context",
    ),
}
"""What is told once for each rule and thing."""


# -------------------------------------------------------------------------------- the file


class _File:
    """The entries of the file, and then those that are made of them."""

    def __init__(self, path: str | None, *, keep_unknown: bool) -> None:
        self._path = path
        self._telling = Telling(_NOTES, path, keep_unknown=keep_unknown)
        self._nodes: list[Node] = []
        self._header: SourceRecord | None = None
        self._known = 0
        self._taken = 0
        self._index = 0  # what the next entry of the file counts as
        self._broken = (0, 0)  # broken lines so far, and what was read of them
        self._tally = Tally()
        self._line = (0, 0)  # the line of the last record, and how many stand before it there

    # ------------------------------------------------------------------------- reading

    def take(self, record: SourceRecord, source: SourceLines) -> None:
        """Take one record of the file in."""
        broken, recovered = self._broken
        lost = source.broken_lines - broken
        if lost and source.recovered > recovered:
            lost -= 1  # the line that this record was read from
        self._broken = (source.broken_lines, source.recovered)
        self._index += lost
        index, self._index = self._index, self._index + 1
        self._taken += 1
        line, ordinal = self._line
        self._line = (record.line, ordinal + 1 if line == record.line else 0)
        value = record.value
        kind = value.get("type")
        self._tally.look_at(value)
        if type(kind) is not str:
            self._telling.tell(record, "odd-record", "warning", "the record has no type")
            return
        self._known += kind in _KINDS
        if kind != "session":
            self._nodes.append(Node(record, len(self._nodes), self._line[1], index))
        elif self._header is not None:
            self._telling.note(record, "repeated-header")
        else:
            self._header = record

    def _is_linear(self) -> bool:
        """Whether the entries have no parents, as in version 1."""
        if self._header is not None:
            version = self._header.value.get("version")
            if version is None or type(version) is int:
                return (version or 1) < 2
        return not any("parentId" in node.record.value for node in self._nodes)

    # ------------------------------------------------------------------------- the end

    def finish(self, source: SourceLines) -> Imported:
        """Everything that was taken over.

        Raises:
            HeaderError: Nothing was.
        """
        if not self._known:
            raise HeaderError(
                self._path or "the session",
                1,
                0,
                "this is no pi session: it holds no record of one",
                "check the path, or import it as what it is",
                None,
                "header-type",
            )
        if self._header is None and self._nodes and not self._nodes[0].index:
            for node in self._nodes:  # a header that is gone counted too
                node.index += 1
        tree = Tree(self._nodes, self._is_linear(), self._guessed)
        self._tell_left(tree)
        header = {} if self._header is None else self._header.value
        entries = Entries(_text(header.get("id")) or "", tree, self._telling)
        for node in _in_order(tree):
            entries.take(node)
        made_header = self._made_header(entries)
        findings = sorted(
            (*source.findings, *self._telling.findings(), *self._headless()),
            key=lambda finding: finding.line or 0,
        )
        made, places = with_unknown(
            entries.made, entries.places, self._telling.kept, _text(header.get("id")) or "", "pi"
        )
        return Imported(
            header=made_header,
            entries=made,
            places=places,
            details=tuple(entries.details()),
            findings=tuple(findings),
            counts={
                **self._tally.counts(),
                "records": self._taken,
                "broken_lines": source.broken_lines,
                "recovered": source.recovered,
                "sidechain": 0,
            },
        )

    def _made_header(self, entries: Entries) -> Header:
        kept: dict[str, Json] = {}
        value: dict[str, Json] = {}
        time = None
        record = self._header
        if record is not None:
            value = record.value
            time = entries.time_of(record, value.get("timestamp"))
            if not self._telling.is_refused(record):
                kept = {key: told for key, told in value.items() if key not in _HEADER_KEYS}
            version = value.get("version")
            if type(version) is int and version > VERSION:
                why = f"the file is of version {version}; it is read as one of version {VERSION}"
                self._telling.tell(record, "newer-version", "warning", why)
        if entries.name:
            kept["name"] = entries.name
        if labels := entries.labels:
            kept["labels"] = labels
        return Header(
            id=_text(value.get("id")),
            timestamp=time,
            harness=HARNESS,
            cwd=_text(value.get("cwd")),
            extra={"importedFrom": {"format": "pi", **kept}},
        )

    def _headless(self) -> Iterator[Finding]:
        if self._header is None:
            yield Finding(
                rule="no-session-header",
                severity="warning",
                message="no session header could be read: id, directory and time are unknown",
                path=self._path,
                line=1,
                offset=0,
            )

    # ------------------------------------------------------------------------ branches

    def _guessed(self, node: Node, rule: str, message: str) -> None:
        self._telling.tell(node.record, rule, "warning", message)

    def _tell_left(self, tree: Tree) -> None:
        """Tell of each branch that was left, and of entries that stand twice."""
        ids = Counter(node.id for node in self._nodes)
        twins = Counter(repr(node.record.value) for node in self._nodes if node.id and ids[node.id] > 1)
        for branch in tree.left:
            others = []
            for node in branch:
                if node.id and ids[node.id] > 1 and twins[repr(node.record.value)] > 1:
                    self._telling.note(node.record, "repeated-entry")
                else:
                    others.append(node)
            if others:
                self._tell_branch(others)

    def _tell_branch(self, branch: Sequence[Node]) -> None:
        kinds = Counter(str(node.record.value["type"]) for node in branch)
        held = ", ".join(f"{number} {kind}" for kind, number in sorted(kinds.items()))
        last = max(node.record.line for node in branch)
        self._telling.tell(
            branch[0].record,
            "branch-left",
            "note",
            f"a branch that was left begins here ({held}; the last on line {last}):"
            " its messages are history, and no context",
        )


_HEADER_KEYS: Final = frozenset({"type", "id", "timestamp", "cwd"})


def _in_order(tree: Tree) -> Iterator[Node]:
    """All entries: the live branch in its own order, the others where they stand in the file."""
    left = [node for node in tree.nodes if not node.live]
    at = 0
    for node in tree.live:
        while at < len(left) and left[at].place < node.place:
            yield left[at]
            at += 1
        yield node
    yield from left[at:]


def _text(value: Json) -> str | None:
    return value if type(value) is str and value else None
