"""One pass over the records of a Claude Code session: what has a place in the tree, and what was counted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Final

from .._times import parse_foreign_time, parse_time
from ..entries import Json
from . import SourceRecord
from ._claude_nodes import (
    ANSWERS,
    CHAINED,
    FAILED,
    INTERRUPTS,
    META,
    PLACEHOLDER,
    REFUSED,
    SIDECHAIN,
    SUMMARY,
    TEAM,
    VIRTUAL,
    Group,
    Node,
    as_text,
)
from ._claude_outcomes import told_outcomes
from ._claude_tally import INTERRUPTED, Tally
from ._telling import Telling

__all__ = ["Records", "stored_part"]

_SAID: Final = ("user", "assistant")
_PLACEHOLDER: Final = "<synthetic>"
_from_iso = datetime.fromisoformat

_READ_SYSTEM: Final = frozenset(
    {"compact_boundary", "microcompact_boundary", "turn_duration", "stop_hook_summary", "local_command"}
)
"""What is read of the program's own notes."""

_STAMPS: Final = ("version", "gitBranch", "entrypoint", "userType", "slug")
"""What the header keeps of the first record that has it."""

_ELSEWHERE: Final = frozenset({"fork-context-ref"})
"""Records that say that the conversation begins in another file."""

_NOT_APPLIED: Final[Mapping[str, str]] = {
    "marble-origami-commit": "Claude Code sent a summary in the place of a part of the conversation here;"
    " that is not applied, and the part stays in the context",
}
"""Records that change what was sent, in a way that is not followed here."""


def stored_part(value: Json) -> Json:
    """The part of a record that can go into a log, without what is plainly text."""
    if type(value) is not dict:
        return value
    kind = value.get("type")
    if kind not in _SAID:
        return None if kind == "progress" else value
    message = value.get("message")
    content = message.get("content") if type(message) is dict else message
    beside = value.get("toolUseResult")
    if type(content) is list and len(content) == 1 and type(content[0]) is dict:
        (block,) = content
        match block.get("type"):
            case "text" if len(block) == 2:
                content = None
            case "tool_use" if len(block) == 4 and type(block.get("id")) is type(block.get("name")) is str:
                content = block.get("input")
            case "tool_result" if type(block.get("content")) is str and (
                len(block) == 3 or (len(block) == 4 and type(block.get("is_error")) is bool)
            ):
                content = None
            case _:
                pass
    return content if beside is None else beside if content is None else [content, beside]


class Records:
    """What the records so far have told.

    Attributes:
        nodes: Those that have a place in the tree, in the order of the file.
        by_uuid: The same by their ids, and what notes of progress follow by theirs.
        is_broken: Whether some of them do not say what they follow, or something unknown so far.
        is_compacted: Whether a compaction is marked anywhere.
        taken: How many records there were.
        known: Whether one of them can be of no other program.
        replacements: What outputs were sent as, by agent (None for the session itself) and call id.
        rewound: The id of the record that the user went back to, if nothing was said since.
        title: What the session was called last.
        session: The id of the session, as its last record has it.
        last_of: The last record of each other session whose history came along.
        forked_from: The session and the record that the last copied record was copied from.
        stamps: What the first records say of the program and the place.
        cwd: The first working directory.
        tally: What was counted.
    """

    def __init__(self, telling: Telling) -> None:
        self.nodes: list[Node] = []
        self.by_uuid: dict[str, Node] = {}
        self.is_broken = False
        self.is_compacted = False
        self.taken = 0
        self.known = False
        self.replacements: dict[str | None, dict[str, str]] = {}
        self.rewound: str | None = None
        self.title: str | None = None
        self.session: str | None = None
        self.last_of: dict[str, Node] = {}
        self.forked_from: tuple[str, str] | None = None
        self.stamps: dict[str, str] = {}
        self.cwd: str | None = None
        self.tally: Final = Tally()
        self._title_rank = 0
        self._named_session: str | None = None
        self._telling = telling
        self._groups: dict[str, Group] = {}
        self._prompts = 0
        self._cwd: Json = None
        self._version: Json = None
        self._branch: Json = None
        self._mode: Json = None
        self._settings: Mapping[str, str] | None = None
        self._summaries: list[tuple[SourceRecord, str, Json]] = []

    # ------------------------------------------------------------------------- records

    def take(self, record: SourceRecord) -> None:
        """Take one record in."""
        self.taken += 1
        value = record.value
        kind = value.get("type")
        if kind == "assistant":
            self._take_assistant(record, value)
        elif kind == "user":
            self._take_user(record, value)
        else:
            if value.get("parentUuid") is None and value.get("uuid"):
                self.tally.roots += 1
            if value.get("subtype") == "compact_boundary":
                self.tally.compactions += 1
                self.is_compacted = True
            if type(kind) is not str:
                self._telling.leave_out(record, "a record without a type")
            elif (take := _OTHERS.get(kind)) is not None:
                take(self, record, value)
            else:
                self._unknown(record, kind)
            if self._named_session is None:
                self._named_session = as_text(value.get("sessionId"))
        if not self.known:
            self.known = not _OWN_KEYS.isdisjoint(value) or (
                kind in ("user", "assistant") and type(value.get("message")) is dict
            )

    def close(self) -> None:
        """What can only be said once all records are known."""
        self.session = self.session or self._named_session
        for record, title, leaf in self._summaries:
            if type(leaf) is str and leaf in self.by_uuid:
                if not self._title_rank:
                    self.title = title
            else:
                self._telling.note(record, "not-imported", "summary")

    def clear(self) -> None:
        """Part records and messages, which name each other, so that the cyclic collector has none to find."""
        for node in self.nodes:
            node.group = node.up = None

    def _take_user(self, record: SourceRecord, value: dict[str, Json]) -> None:
        message = value.get("message")
        if type(message) is not dict:
            self._take_odd(record, value, "user")
            return
        self.tally.user += 1
        flags = self._said(value)
        content = message.get("content")
        answered: list[str] = []
        if type(content) is list:
            flags |= self.tally.look_at(content, None, [], answered)
        elif type(content) is not str:
            self._telling.note(record, "odd-record", "the message has no content that can be read")
        elif content.startswith(INTERRUPTED):
            flags |= INTERRUPTS
        if value.get("isCompactSummary"):
            flags |= SUMMARY
            self.is_compacted = True
        node = self._node(record, value, "user", flags)
        if node is None:
            return
        if not node.flags & REFUSED:
            node.message = message
        if flags & ANSWERS:
            node.answered = answered
            if node.message is not None:
                node.extra = told_outcomes(node.blocks, value.get("toolUseResult"))
            return
        if not flags & (META | INTERRUPTS | SIDECHAIN):
            self._prompts += 1
        mode = value.get("permissionMode", self._mode)
        if (
            value.get("cwd") != self._cwd
            or value.get("version") != self._version
            or value.get("gitBranch") != self._branch
            or mode != self._mode
        ):
            self._set(value, mode)
        node.settings = self._settings

    def _take_assistant(self, record: SourceRecord, value: dict[str, Json]) -> None:
        message = value.get("message")
        if type(message) is not dict:
            self._take_odd(record, value, "assistant")
            return
        self.tally.assistant += 1
        flags = self._said(value)
        message_id = message.get("id")
        if type(message_id) is not str or not message_id:
            message_id = None
        self.tally.messages.add(message_id)
        model = message.get("model")
        if model == _PLACEHOLDER:
            flags |= PLACEHOLDER
        if value.get("isApiErrorMessage"):
            flags |= FAILED
        node = self._node(record, value, "assistant", flags)
        content = message.get("content")
        if node is None:
            self._hear_again(value, message_id, message)
            return
        request = value.get("requestId")
        group = None if message_id is None else self._groups.get(message_id)
        if flags & (PLACEHOLDER | FAILED | VIRTUAL):
            group = Group(None, None, None, node)
            if not node.flags & REFUSED:
                node.message = message
        elif group is not None and (
            (request == group.request and request is not None) or self._goes_on(group, request, content)
        ):
            group.nodes.append(node)
            group.request = group.request or as_text(request)
            group.model = group.model or as_text(model)
        else:
            group = Group(message_id, as_text(request), as_text(model), node)
            if message_id is not None:
                self._groups[message_id] = group
        group.prompts = self._prompts
        node.group = group
        if type(content) is list:
            node.flags |= self.tally.look_at(content, message_id, group.calls, [])
        elif type(content) is not str:
            self._telling.note(record, "odd-record", "the message has no content that can be read")
        if not node.flags & REFUSED:
            for _ in range(group.add(content)):
                self._telling.note(record, "repeated-block")
        group.hear(message)

    def _hear_again(self, value: dict[str, Json], message_id: str | None, message: dict[str, Json]) -> None:
        """A record that is there already is counted all the same, and may tell more of the usage."""
        self.tally.look_at(message.get("content"), message_id, [], [])
        group = self.by_uuid[value["uuid"]].group
        if group is not None and group.id == message_id:
            group.hear(message)

    def _said(self, value: dict[str, Json]) -> int:
        """What is known of a message beside its content."""
        flags = 0
        if value.get("isSidechain"):
            flags = SIDECHAIN
            self.tally.sidechain += 1
        if value.get("isMeta"):
            flags |= META
        if value.get("teamName"):
            flags |= TEAM
        if value.get("isVirtual"):
            flags |= VIRTUAL
        return flags

    def _goes_on(self, group: Group, request: Json, content: Json) -> bool:
        """Whether a record with a known message id is one more piece of that message.

        Some servers give every answer the same id. Then the request tells answers apart, and
        where none is named, what the user said between them. A copy of what is there is a
        piece again, wherever it stands.
        """
        if (request is None or group.request is None) and group.prompts == self._prompts:
            return True
        return type(content) is list and bool(content) and all(block in group.blocks for block in content)

    def _take_system(self, record: SourceRecord, value: dict[str, Json]) -> None:
        subtype = value.get("subtype")
        is_read = (type(subtype) is str and subtype in _READ_SYSTEM) or "snipMetadata" in value
        node = self._node(record, value, "system", self._said_by(value))
        if node is None:
            return
        if is_read and not node.flags & REFUSED:
            node.extra = value if type(subtype) is str else {**value, "subtype": ""}
        if not is_read or subtype == "stop_hook_summary":  # what the hooks did goes into no entry
            self._telling.leave_out(record, f"system/{subtype}")

    def _take_attachment(self, record: SourceRecord, value: dict[str, Json]) -> None:
        node = self._node(record, value, "attachment", self._said_by(value))
        attachment = value.get("attachment")
        if type(attachment) is not dict:
            self._telling.note(record, "odd-record", "the attachment is no object")
        elif node is not None and not node.flags & REFUSED:
            node.extra = attachment

    def _take_progress(self, record: SourceRecord, value: dict[str, Json]) -> None:
        # It repeats what others say. What follows it, follows what it follows.
        above = self.by_uuid.get(as_text(value.get("parentUuid")) or "")
        uuid = as_text(value.get("uuid"))
        if above is None or uuid is None:
            self._node(record, value, "progress", self._said_by(value), is_stored=False)
        else:
            self.by_uuid.setdefault(uuid, above)
        self._telling.note(record, "not-imported", "progress")

    @staticmethod
    def _said_by(value: dict[str, Json]) -> int:
        return SIDECHAIN if value.get("isSidechain") else 0

    # ------------------------------------------------------------------------ the tree

    def _node(
        self, record: SourceRecord, value: dict[str, Json], kind: str, flags: int, *, is_stored: bool = True
    ) -> Node | None:
        """The place of a record in the tree; None for one that is there already."""
        _, line, offset, is_doubtful = record
        by_uuid = self.by_uuid
        uuid = value.get("uuid")
        parent = value.get("parentUuid")
        if type(parent) is not str or not parent:
            if "parentUuid" not in value:
                flags |= CHAINED
            if parent is None and kind in _SAID and uuid:
                self.tally.roots += 1
            parent = up = None
            self.is_broken = self.is_broken or bool(flags & CHAINED)
        elif (up := by_uuid.get(parent)) is None:
            self.is_broken = True
        else:
            parent = None
        if type(uuid) is not str or not uuid:
            uuid = f"line {line}, record {self.taken}"
        if uuid in by_uuid:
            there = by_uuid[uuid]
            is_same = there.kind == kind and _says_the_same(there, value.get("message"))
            self._telling.note(record, "repeated" if is_same else "repeated-id")
            return None
        if is_doubtful and is_stored and (reason := record.refusal()) is not None:
            self._telling.tell(
                record,
                "unstorable",
                "error",
                f"a log cannot give this record back as it is: {reason}; left out",
            )
            flags |= REFUSED
        node = Node(uuid, parent, kind, flags, line, offset, self._time(record, value.get("timestamp")), up)
        if flags & SIDECHAIN:
            node.agent = as_text(value.get("agentId"))
        elif kind in _SAID:
            self.rewound = None
        if value.get("sessionId") != self.session:
            self._enter(value.get("sessionId"))
        if not self.stamps and "version" in value:
            self.stamps = {key: text for key in _STAMPS if (text := as_text(value.get(key))) is not None}
        if "forkedFrom" in value:
            self._forked(value["forkedFrom"])
        by_uuid[uuid] = node
        self.nodes.append(node)
        return node

    def _time(self, record: SourceRecord, told: Json) -> datetime | None:
        if type(told) is str:
            # The form in which all of them are written; the checks of the general one take longer.
            is_usual = len(told) == 24 and told[4:11:3] == "--T" and told[19::4] == ".Z"
            try:
                return _from_iso(told) if is_usual else parse_time(told)
            except ValueError:
                pass
        if told is None:
            return None
        time = parse_foreign_time(told)
        if time is None:
            self._telling.note(record, "unreadable-time")
        return time

    def _enter(self, session: Json) -> None:
        """The records are of another session from here on."""
        if type(session) is not str or not session:
            return
        if self.session is not None and self.nodes:
            self.last_of[self.session] = self.nodes[-1]
        self.last_of.pop(session, None)
        self.session = session

    def _forked(self, origin: Json) -> None:
        if type(origin) is dict:
            session, uuid = as_text(origin.get("sessionId")), as_text(origin.get("messageUuid"))
            if session is not None and uuid is not None:
                self.forked_from = (session, uuid)

    def _set(self, value: dict[str, Json], mode: Json) -> None:
        """Something else is in force."""
        self._cwd, self._branch, self._mode = value.get("cwd"), value.get("gitBranch"), mode
        self._version = value.get("version")
        told = {
            "cwd": as_text(self._cwd),
            "gitBranch": as_text(self._branch),
            "permissionMode": as_text(mode),
            "version": as_text(self._version),
        }
        self._settings = {key: text for key, text in told.items() if text is not None} or None
        self.cwd = self.cwd or told["cwd"]

    # ------------------------------------------------------------ what stands beside it

    def _take_mode(self, _: SourceRecord, value: dict[str, Json]) -> None:
        mode = as_text(value.get("permissionMode"))
        if mode is not None and mode != self._mode:
            self._mode = mode
            if self._settings is not None:
                self._settings = {**self._settings, "permissionMode": mode}

    def _take_replacement(self, record: SourceRecord, value: dict[str, Json]) -> None:
        told = value.get("replacements")
        if type(told) is not list:
            self._telling.note(record, "odd-record", "it replaces nothing that can be read")
            return
        by_call = self.replacements.setdefault(as_text(value.get("agentId")), {})
        for one in told:
            call = one.get("toolUseId") if type(one) is dict else None
            text = one.get("replacement") if type(one) is dict else None
            if type(call) is str and type(text) is str:
                by_call[call] = text
            else:
                self._telling.note(record, "odd-replacement")

    def _take_last_prompt(self, record: SourceRecord, value: dict[str, Json]) -> None:
        if value.get("rewound") or value.get("explicit"):
            self.rewound = as_text(value.get("leafUuid"))
        self._telling.note(record, "not-imported", "last-prompt")

    def _take_title(self, record: SourceRecord, value: dict[str, Json]) -> None:
        """A title: what the user says counts more than what a model made up."""
        kind = value["type"]
        if kind == "summary":
            title = as_text(value.get("summary"))
            if title is not None:
                self._summaries.append((record, title, value.get("leafUuid")))
            return
        rank, key = (2, "customTitle") if kind == "custom-title" else (1, "aiTitle")
        title = as_text(value.get(key))
        if title is not None and rank >= self._title_rank:
            self.title, self._title_rank = title, rank

    def _unknown(self, record: SourceRecord, kind: str) -> None:
        if kind in _ELSEWHERE:
            self._telling.tell(
                record,
                "history-elsewhere",
                "warning",
                "the session continues the beginning of another file, which is not part of this one",
            )
        elif kind in _NOT_APPLIED:
            self._telling.tell(record, "not-applied", "warning", _NOT_APPLIED[kind])
        else:
            self._telling.leave_out(record, kind)

    def _take_odd(self, record: SourceRecord, value: dict[str, Json], kind: str) -> None:
        """A record without a message: others may follow it."""
        self._node(record, value, kind, self._said_by(value), is_stored=False)
        self._telling.note(record, "odd-record", "the record has no message")


def _says_the_same(node: Node, message: Json) -> bool:
    """Whether a record that is there says what another one with its id says."""
    if node.group is None or node.message is not None:
        return bool(node.message == message)
    content = message.get("content") if type(message) is dict else None
    blocks = content if type(content) is list else [{"type": "text", "text": content}]
    return content == node.group.content or all(block in node.group.blocks for block in blocks)


_OWN_KEYS: Final = frozenset(
    {"parentUuid", "logicalParentUuid", "leafUuid", "isSidechain", "sessionId", "messageId"}
)
"""Keys that no other program's records have."""

_OTHERS: Final[Mapping[str, Callable[[Records, SourceRecord, dict[str, Json]], None]]] = {
    "system": Records._take_system,
    "attachment": Records._take_attachment,
    "progress": Records._take_progress,
    "permission-mode": Records._take_mode,
    "content-replacement": Records._take_replacement,
    "last-prompt": Records._take_last_prompt,
    "summary": Records._take_title,
    "custom-title": Records._take_title,
    "ai-title": Records._take_title,
}
"""How the other kinds of records are read."""
