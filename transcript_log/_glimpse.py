"""What the first and the last few KB of a session file tell of it.

Functions of bytes. They are asked of thousands of files, so what this package writes itself
is looked for by its own spelling first, and parsed only where it is spelled otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple
from zlib import crc32

import orjson

from . import items
from ._logfile.seal import is_intact, is_sealed
from ._times import parse_time_leniently
from .codec import decode_header
from .errors import EntryError
from .importers import SourceFormat, first_members, sniff

__all__ = ["Glimpse", "first_text", "glimpse", "glimpse_own"]

_TEXT: Final = 80
"""How much of the first message is told, in characters."""


class Glimpse(NamedTuple):
    """What a file's two ends tell.

    Attributes:
        format: Whose it is; None if nobody's that is known.
        id: The session id, if it is told.
        started: When the session began; UTC.
        text: The beginning of the first message of a person, if it stands there.
        problem: What is wrong, as far as was looked; empty if nothing.
        is_subagent: Whether the file itself says that it is a subagent's.
        is_persons: Whether ``text`` is a person's, and not only what stands in its place.
    """

    format: SourceFormat | None
    id: str | None = None
    started: datetime | None = None
    text: str = ""
    problem: str = ""
    is_subagent: bool = False
    is_persons: bool = False


def glimpse(head: bytes, tail: bytes) -> Glimpse:
    """What a file tells by its first bytes and its last ones; both are all of it if it is small.

    No bytes make it fail. ``tail`` may be empty for a file whose end was not looked at.
    """
    own = glimpse_own(head, tail)
    if own is None:
        return _any(head, tail)
    name, started, text, is_persons = own
    return Glimpse("transcript-log", name, started, text, "", False, is_persons)


# ------------------------------------------------------------------------- our own logs

_HEADER: Final = re.compile(
    rb'(\{"type":"session","version":3,"id":"([^"\\\x80-\xff]*)","timestamp":"([^"\\\x80-\xff]*)"'
    rb',"harness":"transcript-log"((?:,[^\n]*)?)),"crc":"([0-9a-f]{8})"\}\n'
)
_SEAL: Final = b',"crc":"'
_SEALED: Final = len(b',"crc":"xxxxxxxx"}')
_PARENT: Final = b'"parent":'
_PIECE: Final = 160
"""How many bytes of a text are looked at; escapes and letters of other scripts take more than one."""

_SAID: Final = re.compile(
    rb'"role":"user","content":(?:(?:\[\{"type":"(?:input_)?text","text":)?"([^"\\]{0,%d}))?' % _PIECE
)
"""A message of a user, and the text that it begins with, up to an escape."""


def glimpse_own(head: bytes, tail: bytes) -> tuple[str, datetime, str, bool] | None:
    """Of a whole log that this package wrote: its id, its start, its first text, whether a person's.

    None for any other file. It is asked of thousands, so there is one search for each thing.
    """
    found = _HEADER.match(head)
    if found is None or tail[-1:] != b"\n":
        return None
    sealed, name, time, rest, seal = found.groups()
    # A line is whole if its seal is right. Of a last line that is longer than the tail only
    # the end is there.
    if b"%08x" % crc32(sealed) != seal or (rest and _PARENT in rest):
        return None
    last = tail.rfind(b"\n", 0, -1) + 1
    if last and (
        tail[-_SEALED - 1 : -11] != _SEAL or b'%08x"}' % crc32(tail[last : -_SEALED - 1]) != tail[-11:-1]
    ):
        return None
    try:
        started = datetime.fromisoformat(time.decode())
    except ValueError:
        return None
    if started.tzinfo is not UTC or started.year == 1:
        return None
    end = found.end()
    said = _SAID.search(head, end)
    if said is None and head.find(b'"user"', end) < 0:
        return name.decode(), started, "", False
    text, is_persons = _own_text(head, said)
    return name.decode(), started, text, is_persons


def _own_text(head: bytes, said: re.Match[bytes] | None) -> tuple[str, bool]:
    """The text of the first message of a user, if it is spelled as usual."""
    if said is None or said.lastindex is None:
        return first_text(head)
    begin, end = said.span(1)
    if end - begin == _PIECE:
        text = head[begin:end].decode("utf-8", "ignore")  # it may end inside a letter
    elif head[end : end + 1] == b'"':
        text = head[begin:end].decode("utf-8", "replace")
    else:
        text = _unescaped(head[begin : begin + _PIECE])
    shown = _shown(text)
    if (not shown or shown.startswith(_MARKS)) and _personal(text) != (text.strip(), True):
        return first_text(head)
    return shown, True


_MARKS: Final = ("<", "#", "[", "Caveat", "Another")
"""How a text begins that may not be a person's; see ``_personal``."""

_STRING: Final = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+')


def _unescaped(piece: bytes) -> str:
    """The text that the inside of a JSON string begins with, which may be cut."""
    text = _STRING.match(piece)[0]  # type: ignore[index]  # it matches nothing, too
    while True:
        try:
            return orjson.loads(b'"' + text + b'"')  # type: ignore[no-any-return]  # a string
        except ValueError:
            # It is cut inside of a letter or an escape; or what it holds cannot be read at all.
            mended = text.decode("utf-8", "ignore").encode("utf-8")
            text = mended if mended != text else text[: max(0, text.rfind(b"\\"))]


def _shown(text: str) -> str:
    return " ".join(text[:_TEXT].split())


# ------------------------------------------------------------------------ any other file


def _any(head: bytes, tail: bytes) -> Glimpse:
    form = sniff(head)
    if form is None:
        known = head.strip(b" \t\r\n\0")
        return Glimpse(None, problem="it is no session of a known format" if known else "it is empty")
    first = head[: head.find(b"\n")] if b"\n" in head else head
    name, started, is_subagent = _told(form, head, first.removeprefix(b"\xef\xbb\xbf"))
    text, is_persons = first_text(head)
    return Glimpse(form, name, started, text, _problem(form, first, tail), is_subagent, is_persons)


def _told(form: SourceFormat, head: bytes, first: bytes) -> tuple[str | None, datetime | None, bool]:
    """The session id, its start, and whether it is a subagent's, as far as the first KB tell."""
    if form == "claude-code":
        return _told_by_records(head)
    header = _object(first)
    if form == "pi" and header.get("type") != "session":
        return None, parse_time_leniently(header.get("timestamp"))[0], False  # its header is gone
    meta: Any = header
    if form == "codex" and "payload" in header:
        meta = header["payload"] or _cut_payload(first)
    elif form == "codex" and "id" not in header:
        meta = first_members(head.replace(b"\n", b" ")).get("session")  # one document
    meta = meta if type(meta) is dict else {}
    name, time = meta.get("id"), meta.get("timestamp") or header.get("timestamp")
    source = meta.get("source")
    is_subagent = (type(source) is dict and "subagent" in source) or (
        form == "transcript-log" and type(meta.get("parent")) is dict
    )
    return name if type(name) is str else None, parse_time_leniently(time)[0], is_subagent


def _told_by_records(head: bytes) -> tuple[str | None, datetime | None, bool]:
    """The same for a format without a header."""
    name, started, sidechain = None, None, False
    for record in _records(head):
        is_subagent, time = record.get("isSidechain") is True, record.get("timestamp")
        told = (is_subagent and record.get("agentId")) or record.get("sessionId")
        if name is None and type(told) is str:
            name, sidechain = told, is_subagent
        if started is None and type(time) is str:
            started = parse_time_leniently(time)[0]
        if name is not None and started is not None:
            break
    return name, started, sidechain


def _object(line: bytes) -> dict[str, Any]:
    try:
        value = orjson.loads(line)
    except ValueError:
        return first_members(line)
    return value if type(value) is dict else {}


def _cut_payload(line: bytes) -> dict[str, Any]:
    """The members of an envelope's payload that is cut."""
    at = line.find(b'"payload"')
    return first_members(line[line.find(b"{", at) :]) if at >= 0 else {}


def _records(head: bytes) -> Iterator[dict[str, Any]]:
    """The objects on the lines of a file's beginning, the last one perhaps cut."""
    for line in head.split(b"\n"):
        if line.lstrip()[:1] == b"{":
            yield _object(line)


def _problem(form: SourceFormat, first: bytes, tail: bytes) -> str:
    if not tail:
        return ""
    if form == "transcript-log":
        try:
            decode_header(first)
        except EntryError:
            return "its header cannot be read"
        cut = tail.rfind(b"\n", 0, -1)
        last = tail[cut + 1 :] if cut >= 0 else b""
        for line in (first.rstrip(b" \t\r\n"), last.rstrip(b" \t\r\n")):
            if is_sealed(line) and not is_intact(line):
                return "a line of it is damaged"
    if tail[-1:] == b"\n":
        return ""
    if tail.endswith(b"\0"):
        return "it ends in zeros, as power loss leaves it"
    return "its last line is not finished"


# --------------------------------------------------------------------- the first message


def first_text(head: bytes) -> tuple[str, bool]:
    """The beginning of the first message of a person in a file's first bytes, and whether it is one.

    What agents say in the user's name (instructions, settings, output of commands) is passed
    over, and so is what a subagent is told; if there is nothing else, that stands in its place.
    """
    second = ""
    for text, is_persons in _said(head):
        if text and is_persons:
            return _shown(text), True
        second = second or text
    return _shown(second), False


def _said(head: bytes) -> Iterator[tuple[str, bool]]:
    """What is said in the user's name, in order, and whether a person said that in the session itself."""
    whole = head.rfind(b"\n") + 1
    for line in head[:whole].split(b"\n"):
        if b'"user"' in line:
            yield _said_by(_object(line))
    # A line that is cut, or a whole session that is one object.
    for match in _SPOKEN.finditer(head, 0 if _DOCUMENT.match(head) else whole):
        text = _unescaped(head[match.end() : match.end() + _LONG])
        yield _personal(text)


_SPOKEN: Final = re.compile(
    rb'"role":\s*"user",\s*"content":\s*(?:\[\s*\{\s*"type":\s*"(?:input_)?text",\s*"text":\s*)?"'
)
_DOCUMENT: Final = re.compile(rb'\s*\{\s*"session"\s*:')
_LONG: Final = 1 << 14


def _said_by(record: Mapping[str, Any]) -> tuple[str, bool]:
    item = record.get("message") or record.get("payload") or record
    if type(item) is not dict or items.role(item) != "user":
        return "", False
    text, is_persons = _personal(items.text(item))
    marked = any(record.get(key) is True for key in ("isMeta", "isSidechain", "isCompactSummary"))
    return text, is_persons and not marked


def _personal(text: str) -> tuple[str, bool]:
    """A text without what an agent put before it, and whether anything of a person's is left."""
    rest = text
    while found := _MADE.match(rest):
        rest = rest[found.end() :]
    rest = rest.strip()
    if rest.startswith(_IDE):
        rest = rest.partition(_REQUEST)[2].strip()
    if not rest or rest.startswith(_MADE_BEGINNINGS):
        return text.strip(), False
    return rest, True


_MADE_TAGS: Final = (
    # Claude Code, as in its session files of 2025 and 2026.
    "system-reminder",
    "command-name",
    "command-message",
    "command-args",
    "local-command-caveat",
    "local-command-stdout",
    "local-command-stderr",
    "ide_opened_file",
    "ide_selection",
    # Codex (codex-rs, 2025 and 2026).
    "user_instructions",
    "environment_context",
    "skill",
    "user_shell_command",
    "subagent_notification",
    "turn_aborted",
)
_MADE: Final = re.compile(rf"\s*<({'|'.join(_MADE_TAGS)})>.*?(?:</\1>|\Z)", re.DOTALL)
_IDE: Final = "# Context from my IDE setup:"
_REQUEST: Final = "## My request for Codex:"
"""How Codex in an editor begins a message, and what stands before the person's own words."""

_MADE_BEGINNINGS: Final = (
    "# AGENTS.md instructions",
    "Another language model started to solve this problem",
    "Caveat: The messages below were generated by the user",
    "[Request interrupted by user",
)
"""How texts begin that agents put into a session in the user's name."""
