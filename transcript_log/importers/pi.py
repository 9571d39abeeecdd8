"""Sessions of the pi coding agent, versions 1 to 3, and of its forks.

The entries of a file are a tree. Its live branch becomes the log; the messages of other
branches stay where they were said, as history that is no context. Messages stay in pi's own
shape, as decoded; what pi says to a model for a command, an extension or a summary is said
as a message of the user. What a tool gave back beyond its output goes to the sidecar.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from typing import Any, Final

from .. import items
from .._collector import collector_paused
from .._times import parse_time_leniently
from ..codec import outcome_payload
from ..entries import (
    HARNESS,
    CompactionEntry,
    ContextAttachment,
    ContextEntry,
    Detail,
    Entry,
    Header,
    Item,
    Json,
    MessageEntry,
    ToolOutcome,
)
from ..errors import HeaderError
from ..findings import Finding, Severity
from . import Imported, SourceLines, SourceRecord, entry_id
from ._pi_compaction import Kept, compaction_of, kept_node, kept_tail, unknown_keys
from ._pi_messages import (
    SENT_ROLES,
    bash_text,
    branch_text,
    custom_item,
    family_of,
    response_of,
    said_item,
    summary_text,
)
from ._pi_outcomes import outcome_of
from ._pi_tree import Node, Tree
from ._telling import Telling

__all__ = ["import_pi"]


def import_pi(lines: Iterable[bytes], *, path: str | None = None) -> Imported:
    """A session of pi as entries.

    Args:
        lines: The physical lines of the file, with their line ends.
        path: Named in findings and errors.

    Raises:
        HeaderError: Not one record of pi is in it. Damage alone raises nothing.
    """
    source = SourceLines(lines, path)
    file = _File(path)
    with collector_paused():
        for record in source:
            file.take(record, source)
        return file.finish(source)


# ----------------------------------------------------------------------------- the words

VERSION: Final = 3
"""The newest version of pi's files that is known here."""

_SETTINGS: Final = frozenset({"active_tools_change", "model_change", "thinking_level_change"})
_KINDS: Final = _SETTINGS | {
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
_ENTRY_KEYS: Final = frozenset({"type", "id", "parentId", "timestamp"})
_NOTES: Final[Mapping[str, tuple[Severity, str]]] = {
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

    def __init__(self, path: str | None) -> None:
        self._path = path
        self._telling = Telling(path, _NOTES)
        self._nodes: list[Node] = []
        self._header: SourceRecord | None = None
        self._known = 0
        self._taken = 0
        self._index = 0  # what the next entry of the file counts as
        self._broken = (0, 0)  # broken lines so far, and what was read of them
        self._roots = 0
        self._session = ""
        self._entries: list[Entry] = []
        self._places: dict[str, tuple[int, int]] = {}
        self._line = (0, 0)  # the line of the last record, and how many stand before it there
        self._of_node: dict[int, str] = {}  # the message entry of each entry of the file, by place
        self._said: list[MessageEntry] = []  # on the live branch, without what is left aside
        self._own: list[MessageEntry] = []  # made of messages, on any branch
        self._converted = 0  # of those, the messages of no user that were made one of the user
        self._calls: dict[str, list[int]] = {}  # indices of the entries that call by this id
        self._told: list[tuple[str, int, ToolOutcome]] = []
        self._settings: dict[str, str] = {}  # what is in force, by kind
        self._labels: dict[str, str] = {}
        self._name = ""

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
        self._roots += "parentId" in value and value["parentId"] is None
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
            self._session = _text(value.get("id")) or ""

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
        for node in _in_order(tree):
            self._take_over(node, tree)
        header = self._made_header()
        findings = sorted(
            (*source.findings, *self._telling.findings(), *self._headless()),
            key=lambda finding: finding.line or 0,
        )
        return Imported(
            header=header,
            entries=tuple(self._entries),
            places=tuple(self._places[entry.id] for entry in self._entries),
            details=tuple(self._details()),
            findings=tuple(findings),
            counts={
                "records": self._taken,
                "broken_lines": source.broken_lines,
                "recovered": source.recovered,
                "sidechain": 0,
                "roots": self._roots,
                **self._own_counts(),
            },
        )

    def _own_counts(self) -> dict[str, int]:
        """The numbers of what the file itself says, on all branches."""
        roles = Counter(items.role(entry.message) for entry in self._own)
        return {
            "user": roles["user"] - self._converted,
            "images": sum(len(items.images(entry.message)) for entry in self._own),
            "compactions": sum(node.record.value["type"] == "compaction" for node in self._nodes),
            "aborted": sum(items.is_aborted(entry.message) for entry in self._own),
        }

    def _made_header(self) -> Header:
        kept: dict[str, Json] = {}
        value: dict[str, Json] = {}
        time = None
        record = self._header
        if record is not None:
            value = record.value
            time = self._time(record, value.get("timestamp"))
            if not self._telling.is_refused(record):
                kept = {key: told for key, told in value.items() if key not in _HEADER_KEYS}
            version = value.get("version")
            if type(version) is int and version > VERSION:
                why = f"the file is of version {version}; it is read as one of version {VERSION}"
                self._telling.tell(record, "newer-version", "warning", why)
        if self._name:
            kept["name"] = self._name
        labels = {self._of_node[node.place]: self._labels[node.id or ""] for node in self._labelled()}
        if labels:
            kept["labels"] = labels
        return Header(
            id=_text(value.get("id")),
            timestamp=time,
            harness=HARNESS,
            cwd=_text(value.get("cwd")),
            extra={"importedFrom": {"format": "pi", **kept}},
        )

    def _labelled(self) -> Iterator[Node]:
        """The entries that the user marked, as far as they are messages."""
        for node in self._nodes:
            if node.id in self._labels and node.place in self._of_node:
                yield node

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
        known: dict[str, list[Node]] = {}
        for node in self._nodes:
            if node.id is not None:
                known.setdefault(node.id, []).append(node)
        for branch in tree.left:
            others = []
            for node in branch:
                twins = known.get(node.id or "", ())
                if any(twin is not node and twin.record.value == node.record.value for twin in twins):
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

    # -------------------------------------------------------------------------- entries

    def _take_over(self, node: Node, tree: Tree) -> None:
        """Make what a log has for one entry of the file."""
        record = node.record
        value = record.value
        kind = value["type"]
        match kind:
            case "message":
                self._message(node)
            case "custom_message":
                source = {key: told for key, told in value.items() if key not in _ENTRY_KEYS | {"content"}}
                self._said_item(node, {"type": kind, **source}, value.get("content"))
            case "branch_summary":
                summary = value.get("summary")
                if type(summary) is str and summary:
                    source = {key: told for key, told in value.items() if key not in _ENTRY_KEYS}
                    self._said_item(node, {"type": kind, **source}, branch_text(summary))
            case "compaction":
                for key in unknown_keys(value):
                    self._telling.note(record, "not-imported", key)
                if node.live:
                    self._compaction(node, tree)
            case "label":
                self._label(value.get("targetId"), value.get("label"))
            case "session_info":
                self._name = _text(value.get("name")) or self._name
            case "custom":
                self._telling.note(record, "not-imported", f"custom/{value.get('customType')}")
            case "leaf":
                pass
            case _ if kind in _SETTINGS:
                if node.live:
                    self._attach(node, kind)
            case _:
                self._telling.note(record, "not-imported", kind)

    def _label(self, target: Json, label: Json) -> None:
        """A mark on an entry, or the end of it."""
        if type(target) is str:
            if type(label) is str and label:
                self._labels[target] = label
            else:
                self._labels.pop(target, None)

    def _message(self, node: Node) -> None:
        record = node.record
        message = record.value.get("message")
        if type(message) is not dict or type(message.get("role")) is not str:
            self._telling.tell(record, "odd-record", "warning", "the message is no object with a role")
            return
        for key in record.value:
            if key not in _ENTRY_KEYS and key != "message":
                self._telling.note(record, "not-imported", f"message.{key}")
        item, is_sent = _item_of(message)
        role = message["role"]
        if item.get("role") == role and role not in SENT_ROLES:
            self._telling.note(record, "unknown-role", repr(role))
        entry = self._added(node, item, is_aside=not is_sent, message=message)
        if entry is None:
            return
        self._own.append(entry)
        self._converted += item.get("role") == "user" != role
        if role == "toolResult":
            call_id = items.tool_outputs(item)[0].id
            if call_id is not None:
                self._told.append((call_id, len(self._entries) - 1, outcome_of(message)))
        elif role == "assistant" and items.is_aborted(message):
            why = message.get("errorMessage")
            line = why.strip().partition("\n")[0] if type(why) is str else ""
            self._telling.note(record, "answer-failed", line[:200] or message["stopReason"])

    def _said_item(self, node: Node, source: Mapping[str, Json], content: Json) -> None:
        """What pi says to the model for an entry that is no message."""
        time = _milliseconds(self._time(node.record, node.record.value.get("timestamp")))
        if type(content) is list:
            item = custom_item(content, source, time)
        else:
            item = said_item(content if type(content) is str else "", source, time)
        self._added(node, item)

    def _added(
        self,
        node: Node,
        item: Item,
        *,
        is_aside: bool = False,
        message: Mapping[str, Json] | None = None,
    ) -> MessageEntry | None:
        """A message entry; None if a log could not hold it."""
        record = node.record
        if self._telling.is_refused(record):
            return None
        time = self._time(record, record.value.get("timestamp"))
        is_answer = message is not None and message["role"] == "assistant"
        if time is None and message is not None and type(message.get("timestamp")) is int:
            time = self._time(record, message["timestamp"])
        entry = MessageEntry(
            id=self._id(node),
            timestamp=time,
            message=item,
            family=family_of(item) if is_answer else None,
            response=response_of(item) if is_answer else None,
            interrupted=is_aside or not node.live,
        )
        place = len(self._entries)
        self._entries.append(entry)
        self._of_node[node.place] = entry.id
        if not entry.interrupted:
            self._said.append(entry)
        if is_answer:
            for call in items.tool_calls(item):
                if call.id is not None:
                    self._calls.setdefault(call.id, []).append(place)
        if any(_is_elsewhere(block) for block in _blocks(item)):
            self._telling.note(record, "picture-elsewhere")
        return entry

    def _compaction(self, node: Node, tree: Tree) -> None:
        record = node.record
        value = record.value
        if self._telling.is_refused(record):
            return
        made = compaction_of(value, self._kept(node, tree))
        if value.get("summary") != made.summary:
            self._telling.tell(record, "blank-summary", "warning", "the compaction has no summary")
        self._entries.append(
            CompactionEntry(
                id=self._id(node),
                timestamp=self._time(record, value.get("timestamp")),
                compaction=made,
            )
        )

    def _kept(self, node: Node, tree: Tree) -> Kept:
        """What a compaction keeps."""
        tail = node.record.value.get("retainedTail")
        if type(tail) is list:
            told = [(_item_of(message), message) for message in tail if _is_message(message)]
            return kept_tail([(item, message) for (item, sent), message in told if sent], self._said)
        before = tree.live[: tree.live.index(node)]
        kept, wrong = kept_node(node, before)
        if wrong:
            why = f"the compaction keeps from {wrong}: nothing before it is kept"
            self._telling.tell(node.record, "first-kept", "warning", why)
        if kept is None:
            return Kept()
        later = before[before.index(kept) :]
        return Kept(next((self._of_node[each.place] for each in later if each.place in self._of_node), None))

    def _attach(self, node: Node, kind: str) -> None:
        """A context entry, unless this is already in force."""
        record = node.record
        if self._telling.is_refused(record):
            return
        told = {key: value for key, value in record.value.items() if key not in _ENTRY_KEYS}
        rendered = json.dumps(told, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        if self._settings.get(kind) == rendered:
            return
        self._settings[kind] = rendered
        revision = sha256(rendered.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        self._entries.append(
            ContextEntry(
                id=self._id(node),
                timestamp=self._time(record, record.value.get("timestamp")),
                context=ContextAttachment(
                    attachment_id=f"{kind}:{revision}",
                    epoch=1,
                    kind=kind,
                    placement="after-current",
                    revision=revision,
                    rendered=rendered,
                ),
            )
        )

    # -------------------------------------------------------------------------- details

    def _details(self) -> Iterator[Detail]:
        """What is known of each call, with the entry of it: the nearest earlier one, else the next."""
        for call_id, place, outcome in self._told:
            places = self._calls.get(call_id)
            entry = self._entries[places[max(0, bisect_left(places, place) - 1)]].id if places else None
            yield Detail(id=call_id, payload=outcome_payload(outcome), entry=entry)

    # --------------------------------------------------------------------- small steps

    def _id(self, node: Node) -> str:
        record = node.record
        made = entry_id(self._session, record.line, node.ordinal)
        self._places[made] = (record.line, record.offset)
        return made

    def _time(self, record: SourceRecord, value: Json) -> datetime | None:
        if value is None:
            return None
        time, _ = parse_time_leniently(value)
        if time is None:
            self._telling.note(record, "unreadable-time")
        return time


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


# ------------------------------------------------------------------------------- messages


def _is_message(value: Json) -> bool:
    return type(value) is dict and type(value.get("role")) is str


def _item_of(message: dict[str, Json]) -> tuple[Item, bool]:
    """A message as an item, and whether pi sends it."""
    role = message["role"]
    time = message.get("timestamp")
    source = {key: value for key, value in message.items() if key != "timestamp"}
    match role:
        case "bashExecution":
            return said_item(bash_text(message), source, time), not message.get("excludeFromContext")
        case "custom" | "hookMessage":
            content = source.pop("content", None)
            if type(content) is list:
                return custom_item(content, source, time), True
            return said_item(content if type(content) is str else "", source, time), True
        case "branchSummary" | "compactionSummary" if type(message.get("summary")) is str:
            told = branch_text if role == "branchSummary" else summary_text
            return said_item(told(message["summary"]), source, time), True
        case "toolResult" if message.get("details") is not None and _text(message.get("toolCallId")):
            return {key: value for key, value in message.items() if key != "details"}, True
    return message, role in SENT_ROLES


def _blocks(item: Item) -> list[Any]:
    content = item.get("content")
    return content if type(content) is list else []


def _is_elsewhere(block: Any) -> bool:
    """Whether a block is a picture that only a reference stands for."""
    data = block.get("data") if type(block) is dict and block.get("type") == "image" else None
    return type(data) is str and ":" in data[:32]


# --------------------------------------------------------------------------------- values


def _text(value: Json) -> str | None:
    return value if type(value) is str and value else None


def _milliseconds(time: datetime | None) -> int | None:
    return None if time is None else round(time.timestamp() * 1000)
