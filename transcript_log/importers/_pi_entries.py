"""What a log has for each entry of a pi session, one after the other."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from datetime import datetime
from hashlib import sha256
from typing import Any, Final

from .. import items
from .._times import parse_foreign_time
from ..codec import outcome_payload
from ..entries import (
    CompactionEntry,
    ContextAttachment,
    ContextEntry,
    Detail,
    Entry,
    Item,
    Json,
    MessageEntry,
    ToolOutcome,
)
from ..store import Place
from . import SourceRecord, entry_id
from ._pi_compaction import Kept, KeptNodes, compaction_of, kept_tail, unknown_keys
from ._pi_messages import (
    SENT_ROLES,
    branch_text,
    custom_item,
    family_of,
    item_of,
    response_of,
    said_item,
)
from ._pi_outcomes import outcome_of
from ._pi_tree import Node, Tree
from ._telling import Telling

__all__ = ["SETTINGS", "Entries"]

SETTINGS: Final = frozenset({"active_tools_change", "model_change", "thinking_level_change"})
"""The entries that say what is in force from there on."""

_ENTRY_KEYS: Final = frozenset({"type", "id", "parentId", "timestamp"})


class Entries:
    """The entries of a log so far, and what is known of those that they are made of.

    Args:
        session: The session id; the ids of the entries are made of it.
        tree: How the entries of the file hang together.
        telling: Is told what is not taken over.

    Attributes:
        made: The entries.
        name: The name that the user gave the session last; empty if none.
    """

    def __init__(self, session: str, tree: Tree, telling: Telling) -> None:
        self.made: list[Entry] = []
        self.name = ""
        self._session = session
        self._tree = tree
        self._kept_nodes = KeptNodes(tree.live)
        self._telling = telling
        self._places: dict[str, Place] = {}
        self._of_node: dict[int, str] = {}  # the message entry of each entry of the file, by place
        self._said: list[MessageEntry] = []  # on the live branch, without what is left aside
        self._calls: dict[str, list[int]] = {}  # indices of the entries that call by this id
        self._told: list[tuple[str, int, ToolOutcome]] = []
        self._settings: dict[str, str] = {}  # what is in force, by kind
        self._labels: dict[str, str] = {}

    def take(self, node: Node) -> None:
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
                    self._compaction(node)
            case "label":
                self._label(value.get("targetId"), value.get("label"))
            case "session_info":
                self.name = _text(value.get("name")) or self.name
            case "custom":
                self._telling.leave_out(record, f"custom/{value.get('customType')}")
            case "leaf":
                pass
            case _ if kind in SETTINGS:
                if node.live:
                    self._attach(node, kind)
            case _:
                self._telling.leave_out(record, kind)

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
        item, is_sent = item_of(message)
        role = message["role"]
        if item.get("role") == role and role not in SENT_ROLES:
            self._telling.note(record, "unknown-role", repr(role))
        entry = self._added(node, item, is_aside=not is_sent, message=message)
        if entry is None:
            return
        if role == "toolResult":
            call_id = _text(message.get("toolCallId"))
            if call_id is not None:
                self._told.append((call_id, len(self.made) - 1, outcome_of(message)))
        elif role == "assistant" and items.is_aborted(message):
            why = message.get("errorMessage")
            line = why.strip().partition("\n")[0] if type(why) is str else ""
            self._telling.note(record, "answer-failed", line[:200] or message["stopReason"])

    def _said_item(self, node: Node, source: Mapping[str, Json], content: Json) -> None:
        """What pi says to the model for an entry that is no message."""
        time = _milliseconds(self.time_of(node.record, node.record.value.get("timestamp")))
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
        time = self.time_of(record, record.value.get("timestamp"))
        is_answer = message is not None and message["role"] == "assistant"
        if time is None and message is not None and type(message.get("timestamp")) is int:
            time = self.time_of(record, message["timestamp"])
        entry = MessageEntry(
            id=self._id(node),
            timestamp=time,
            message=item,
            family=family_of(item) if is_answer else None,
            response=response_of(item) if is_answer else None,
            interrupted=is_aside or not node.live,
        )
        place = len(self.made)
        self.made.append(entry)
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

    def _compaction(self, node: Node) -> None:
        record = node.record
        value = record.value
        if self._telling.is_refused(record):
            return
        made = compaction_of(value, self._kept(node))
        if value.get("summary") != made.summary:
            self._telling.tell(record, "blank-summary", "warning", "the compaction has no summary")
        self.made.append(
            CompactionEntry(
                id=self._id(node),
                timestamp=self.time_of(record, value.get("timestamp")),
                compaction=made,
            )
        )

    def _kept(self, node: Node) -> Kept:
        """What a compaction keeps."""
        tail = node.record.value.get("retainedTail")
        if type(tail) is list:
            told = [(item_of(message), message) for message in tail if _is_message(message)]
            return kept_tail([(item, message) for (item, sent), message in told if sent], self._said)
        kept, wrong = self._kept_nodes.of(node)
        if wrong:
            why = f"the compaction keeps from {wrong}: nothing before it is kept"
            self._telling.tell(node.record, "first-kept", "warning", why)
        if kept is None:
            return Kept()
        later = (self._tree.live[at] for at in range(kept.at, node.at))
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
        self.made.append(
            ContextEntry(
                id=self._id(node),
                timestamp=self.time_of(record, record.value.get("timestamp")),
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

    # ------------------------------------------------------------------------ the sums

    @property
    def places(self) -> tuple[Place, ...]:
        """Where the record of each entry stands in the source."""
        return tuple(self._places[entry.id] for entry in self.made)

    @property
    def labels(self) -> dict[str, str]:
        """What the user marked messages with, by the ids of their entries."""
        return {
            self._of_node[node.place]: self._labels[node.id]
            for node in self._tree.nodes
            if node.id is not None and node.id in self._labels and node.place in self._of_node
        }

    def details(self) -> Iterator[Detail]:
        """What is known of each call, with the entry of it: the nearest earlier one, else the next."""
        for call_id, place, outcome in self._told:
            places = self._calls.get(call_id)
            entry = self.made[places[max(0, bisect_left(places, place) - 1)]].id if places else None
            yield Detail(id=call_id, payload=outcome_payload(outcome), entry=entry)

    # --------------------------------------------------------------------- small steps

    def _id(self, node: Node) -> str:
        record = node.record
        made = entry_id(self._session, record.line, node.ordinal)
        self._places[made] = (record.line, record.offset)
        return made

    def time_of(self, record: SourceRecord, value: Json) -> datetime | None:
        """A time of the source; None where it tells none, or none that can be read, which is told."""
        if value is None:
            return None
        time = parse_foreign_time(value)
        if time is None:
            self._telling.note(record, "unreadable-time")
        return time


def _is_message(value: Json) -> bool:
    return type(value) is dict and type(value.get("role")) is str


def _blocks(item: Item) -> list[Any]:
    content = item.get("content")
    return content if type(content) is list else []


def _is_elsewhere(block: Any) -> bool:
    """Whether a block is a picture that only a reference stands for."""
    data = block.get("data") if type(block) is dict and block.get("type") == "image" else None
    return type(data) is str and ":" in data[:32]


def _text(value: Json) -> str | None:
    return value if type(value) is str and value else None


def _milliseconds(time: datetime | None) -> int | None:
    return None if time is None else round(time.timestamp() * 1000)
