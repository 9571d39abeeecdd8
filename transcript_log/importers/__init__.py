"""Sessions of other agents, read into entries.

An importer is a function of values: the physical lines of a file go in, and an
:class:`Imported` comes out. What importers share stands here: that result, telling formats
apart by content (:func:`sniff`), and reading lines that may be damaged
(:class:`SourceLines`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import sha256
from typing import Any, Final, Literal, NamedTuple, NoReturn

from .. import _json
from .._logfile.seal import is_intact, is_sealed
from ..entries import Detail, Entry, Header, Json, OpaqueEntry
from ..errors import EntryError
from ..findings import Finding
from ..store import Place

__all__ = [
    "Imported",
    "SourceFormat",
    "SourceLines",
    "SourceRecord",
    "entry_id",
    "first_members",
    "is_doubtful",
    "opaque_entry",
    "sniff",
]


SourceFormat = Literal["transcript-log", "codex", "claude-code", "pi"]
"""Who wrote a session file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """A session of another agent, as entries.

    Attributes:
        header: For a log of its own; ``harness`` is this package's, ``extra`` says the source.
        entries: In the order of the source. Their times are the source's, None where it has
            none.
        places: Where the record of each entry stands in the source: its line, and the offset of that.
        details: For the sidecar.
        findings: What was wrong in the source, or was not taken over, by line.
        counts: Numbers that only the source can tell: ``records``, ``broken_lines``,
            ``recovered`` (records read from broken lines), ``sidechain``, ``roots``,
            ``aborted``; and those of :class:`~transcript_log.counts.Counts` that the source
            counts otherwise, where not every record becomes an entry.
        linked: Sessions of subagents that stand in the same file. Their headers name the call
            that each carried out, where that is known.
    """

    header: Header
    entries: tuple[Entry, ...]
    places: tuple[Place, ...]
    details: tuple[Detail, ...]
    findings: tuple[Finding, ...]
    counts: Mapping[str, int]
    linked: tuple[Imported, ...] = ()

    __hash__ = None  # type: ignore[assignment]  # entries hold dicts

    @property
    def details_by_call(self) -> dict[tuple[str, str | None], Json]:
        """The payloads by call id and entry id, as a store's ``details()`` gives them."""
        return {(detail.id, detail.entry): detail.payload for detail in self.details}


def entry_id(session: str, line: int, ordinal: int) -> str:
    """The id of the ``ordinal``-th entry made from a source line: 24 hex digits.

    The same source gives the same ids each time it is imported.
    """
    return sha256(f"{session}\n{line}\n{ordinal}".encode("utf-8", "surrogatepass")).hexdigest()[:24]


def opaque_entry(
    id: str, timestamp: datetime | None, source: SourceFormat, kind: str, record: Mapping[str, Json]
) -> OpaqueEntry:
    """A record that no entry can tell, kept whole: what an importer makes with ``keep_unknown``.

    The entry's type is the source and the kind, as in ``codex:inter_agent_communication``; its
    data hold the record, as decoded, under ``record``. It never changes a context.
    """
    return OpaqueEntry(
        id=id, timestamp=timestamp, type=f"{source}:{kind or 'record'}", data={"record": dict(record)}
    )


# ------------------------------------------------------------------------ reading lines


class SourceRecord(NamedTuple):
    """One JSON object of a source file.

    Attributes:
        value: The object, as decoded.
        line: The physical line it stands on, from 1.
        offset: Where that line begins, in bytes from the start of the file.
        is_doubtful: Whether the line may hold what a log cannot.
    """

    value: dict[str, Json]
    line: int
    offset: int
    is_doubtful: bool

    def refusal(self) -> str | None:
        """Why a log could not hold this record and give it back as it is; None if it could.

        JSON of other writers may hold integers past 64 bits, or numbers too large for a float.
        """
        if not self.is_doubtful:
            return None
        try:
            _json.encode(self.value)
        except EntryError as error:
            return str(error)
        return None


def is_doubtful(text: bytes) -> bool:
    """Whether JSON text may hold a number that a log cannot: seldom yes where it holds none."""
    if text.count(b"[") + text.count(b"{") > _json.MAX_NESTING:
        return True
    numbers = text.translate(_NUMBERS, b"+")
    return b"0e000" in numbers or (_json.has_long_digits(text) and _LONG in numbers)


# For a search without a regular expression: every digit is 0, an exponent mark e, the rest blank.
_NUMBERS: Final = bytes(
    0x30 if chr(byte) in "0123456789" else 0x65 if chr(byte) in "eE" else 0x20 for byte in range(256)
)
_LONG: Final = b"0" * 19
"""An integer that may be past 64 bits. Times in milliseconds are not as long."""

_BOM: Final = b"\xef\xbb\xbf"
_SPACE: Final = b" \t\r\n"


class SourceLines:
    """The records of a source file, one after another; damage becomes findings.

    Args:
        lines: Physical lines with their line ends, as a binary file gives them.
        path: For the findings.
        stored: Gives the part of a decoded line that can go into a log. Only there does a number
            that cannot be stored matter.

    Iterate once; the numbers and ``findings`` are complete after that.
    """

    def __init__(
        self, lines: Iterable[bytes], path: str | None = None, stored: Callable[[Json], Json] | None = None
    ) -> None:
        self.findings: list[Finding] = []
        self.records = 0
        self.broken_lines = 0
        self.recovered = 0
        self._lines = lines
        self._path = path
        self._stored = stored

    def __iter__(self) -> Iterator[SourceRecord]:
        decode, stored, new = _json.decode_doubting, self._stored, tuple.__new__
        offset = 0
        torn = False
        for number, line in enumerate(self._lines, 1):
            broken = self.broken_lines
            text = line if number > 1 else line.removeprefix(_BOM)
            try:
                value, is_doubtful = decode(text, stored)
            except ValueError:
                text = text.strip(_SPACE)
                for saved in self._salvaged(text, number, offset) if text else ():
                    self.records += 1
                    yield SourceRecord(saved, number, offset, is_doubtful=True)
            else:
                if type(value) is dict:
                    self.records += 1
                    if "crc" in value:
                        self._unseal(value, text.rstrip(_SPACE), number, offset)
                    yield new(SourceRecord, (value, number, offset, is_doubtful))
                else:
                    self._tell("no-record", "warning", "the line is JSON, but no object", number, offset)
            torn = self.broken_lines > broken and not line.endswith(b"\n")
            offset += len(line)
        if torn:
            self._tell_torn()

    def _salvaged(self, text: bytes, number: int, offset: int) -> list[dict[str, Json]]:
        """What can be read of a line that is not one JSON value."""
        whole = [value for _, _, value in _json.decode_all(text)]
        if not whole:
            try:
                text.decode("utf-8")
            except UnicodeDecodeError as error:
                mended = text.decode("utf-8", "replace").encode("utf-8")
                try:
                    value = _json.decode(mended)
                except ValueError:
                    text = mended
                else:
                    if type(value) is dict:
                        self._tell(
                            "invalid-utf8",
                            "error",
                            f"the line is not UTF-8 from its byte {error.start} on;"
                            " what cannot be read was replaced by U+FFFD",
                            number,
                            offset,
                        )
                        return [value]
        found = [value for value in whole or _leading(text) if type(value) is dict]
        self.broken_lines += 1
        self.recovered += len(found)
        number_of = f"{len(found)} record" + ("s" if len(found) != 1 else "")
        if whole:
            self._tell(
                "joined-lines",
                "warning",
                f"the line is not one JSON value; the {number_of} that fill it were read",
                number,
                offset,
            )
        else:
            read = f"the {number_of} before the fault were read" if found else "nothing of it was read"
            self._tell("broken-line", "error", f"the line is not JSON; {read}", number, offset)
        return found

    def _unseal(self, value: dict[str, Json], text: bytes, line: int, offset: int) -> None:
        """Take out the seal of a record that this package has kept for another program."""
        if not is_sealed(text):
            return
        if is_intact(text):
            del value["crc"]
        else:
            self._tell("checksum", "error", "the line is not as it was written here", line, offset)

    def _tell(
        self, rule: str, severity: Literal["error", "warning", "note"], message: str, line: int, offset: int
    ) -> None:
        self.findings.append(
            Finding(rule=rule, severity=severity, message=message, path=self._path, line=line, offset=offset)
        )

    def _tell_torn(self) -> None:
        """The last line was being written when its writer stopped."""
        last = self.findings[-1]
        if last.rule == "broken-line":
            self.findings[-1] = replace(
                last,
                rule="torn-tail",
                severity="warning",
                message=f"the file ends inside a record: {last.message}",
            )


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


_DECODER: Final = json.JSONDecoder(parse_constant=_no_number)


def _leading(text: bytes) -> list[Json]:
    """The JSON values that a line begins with, up to the first fault."""
    string = text.decode("utf-8", "replace")
    found: list[Json] = []
    at = 0
    while at < len(string):
        try:
            value, at = _DECODER.raw_decode(string, at)
        except (ValueError, RecursionError):
            break
        found.append(value)
        while at < len(string) and string[at] in " \t\r\0":
            at += 1
    return found


# ------------------------------------------------------------------- telling them apart

_CODEX_TYPES: Final = frozenset(
    {
        "session_meta",
        "response_item",
        "compacted",
        "turn_context",
        "event_msg",
        "world_state",
        "inter_agent_communication",
        "inter_agent_communication_metadata",
    }
)
_CODEX_ITEMS: Final = frozenset({"reasoning", "function_call", "function_call_output", "local_shell_call"})
_CODEX_HEADER: Final = frozenset({"id", "timestamp", "instructions", "git"})
_CODEX_DOCUMENT: Final = re.compile(r'\s*\{\s*"session"\s*:\s*\{')
_PI_TYPES: Final = frozenset(
    {"model_change", "thinking_level_change", "branch_summary", "session_info", "custom_message", "label"}
)
_CLAUDE_KEYS: Final = frozenset({"parentUuid", "logicalParentUuid", "leafUuid", "isSidechain"})
_CLAUDE_TYPED_KEYS: Final = frozenset({"sessionId", "messageId"})
_CLAUDE_TYPES: Final = frozenset({"user", "assistant", "system", "progress", "attachment"})
_OUR_HEADER: Final = b'{"type":"session","version":3'
_OUR_TYPES: Final = frozenset({"message", "context", "compaction", "run"})


def sniff(first: bytes) -> SourceFormat | None:
    """Who wrote a session file, told by its first few kilobytes; None if nobody known did.

    The last line may be cut anywhere, and any line may be damaged. Of a header that both pi
    and this package could have written (version 3, no ``harness``) the entries decide: those
    of pi name a parent.
    """
    begun = first.removeprefix(_BOM).strip(b" \t\r\n\0")
    if begun and _OUR_HEADER.startswith(begun):
        return "transcript-log"  # a log whose making was cut off
    text = first.removeprefix(_BOM).decode("utf-8", "replace")
    if _CODEX_DOCUMENT.match(text):
        return "codex"
    shared_header = False
    for line in text.split("\n"):
        record = _members(line.strip(" \t\r\n\0"))
        if record is None:
            continue
        if record.get("type") == "session" and "payload" not in record:
            if "harness" in record:
                return "transcript-log"
            version = record.get("version")
            if type(version) is not int or version < 3 or "parentSession" in record:
                return "pi"
            shared_header = True
        elif shared_header:
            kind = record.get("type")
            is_pi = "parentId" in record or (type(kind) is str and kind in _PI_TYPES)
            return "pi" if is_pi else "transcript-log"
        elif (found := _format_of(record)) is not None:
            return found
    return "transcript-log" if shared_header else None


def first_members(line: bytes) -> dict[str, Any]:
    """The members of the object that a line, perhaps cut, begins with; the last one may be None."""
    return _members(line.decode("utf-8", "replace").strip(" \t\r\n\0")) or {}


def _format_of(record: Mapping[str, Any]) -> SourceFormat | None:
    """Who writes records that have these keys; None if it cannot be told from this one."""
    keys = record.keys()
    kind = record.get("type")
    if type(kind) is not str:
        if "record_type" in keys or {"id", "timestamp"} <= keys <= _CODEX_HEADER:
            return "codex"
        return None if keys.isdisjoint(_CLAUDE_KEYS) else "claude-code"
    if "payload" in keys:
        return "codex" if kind in _CODEX_TYPES else None
    if not keys.isdisjoint(_CLAUDE_KEYS | _CLAUDE_TYPED_KEYS) or (
        kind in _CLAUDE_TYPES and "message" in keys
    ):
        return "claude-code"
    if "parentId" in keys:
        # Others chain their records so too, with a payload under ``data``.
        return "pi" if kind == "custom" or ("data" not in keys and "." not in kind) else None
    if kind in _PI_TYPES:
        return "pi"
    if kind in _CODEX_ITEMS or (kind == "message" and "role" in keys):
        return "codex"
    if kind in _OUR_TYPES:
        return "transcript-log" if "id" in keys else "pi"
    return None


def _members(line: str) -> dict[str, Any] | None:
    """The members of the object that a line holds or begins with; None if it begins with none.

    The value of the last member of a line that is cut is None.
    """
    if not line.startswith("{"):
        return None
    found: dict[str, Any] = {}
    at = 1
    try:
        while True:
            at = _after(line, at, ",")
            key, at = _DECODER.raw_decode(line, at)
            if type(key) is not str:
                break
            found[key] = None
            found[key], at = _DECODER.raw_decode(line, _after(line, at, ":"))
    except (ValueError, RecursionError):
        pass
    return found or None


def _after(line: str, at: int, mark: str) -> int:
    """The first place from ``at`` on that is neither white space nor ``mark``."""
    while at < len(line) and (line[at] in " \t\r" or line[at] == mark):
        at += 1
    return at
