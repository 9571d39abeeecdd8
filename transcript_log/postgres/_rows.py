"""What stands in a row of the table of entries, and what a row's line says.

A line stands there as it stands in a file, without its line feed: with the mark and the seal.
So a copy is the same bytes, a line of another writer stays as it is, and a row that somebody
edited is damage that its seal tells. Blank lines that stood behind a line in a file are part of it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Final, NamedTuple

from .._logfile.seal import SPACE, is_intact, is_sealed, line_of
from .._scanning import decode_leniently
from ..codec import decode_detail, decode_entry
from ..entries import CompactionEntry, Detail, Entry
from ..errors import EntryError, SessionIdError

__all__ = [
    "EDITED",
    "Columns",
    "check_session_id",
    "columns_of",
    "detail_of",
    "entry_of",
    "is_digest",
    "key_of",
    "lines_of",
    "lock_keys",
    "physical",
    "read_entry",
    "wrong_columns",
]

_ID_LIMIT: Final = 512
"""How long an id may be that is kept as it is, in characters: an index takes no more."""

_DIGEST: Final = "sha256:"
_KEYS: Final = struct.Struct("!qq")

EDITED: Final = "the checksum does not match the line"


class Columns(NamedTuple):
    """What is kept of an entry beside its line, to find it by.

    Attributes:
        id: Its id, as :func:`key_of` spells it.
        type: Its type, spelled so too.
        boundary: Of a compaction: 0 if its summary is blank, else 1; None of any other entry.
        kept: Of a compaction: the first entry that it keeps, if it names one.
    """

    id: str
    type: str
    boundary: int | None
    kept: str | None


def columns_of(entry: Entry) -> Columns:
    """What is kept of an entry beside its line."""
    if isinstance(entry, CompactionEntry):
        kept = entry.compaction.first_kept_entry_id
        boundary = int(bool(entry.compaction.summary.strip()))
        return Columns(key_of(entry.id), entry.type, boundary, key_of(kept) if kept else None)
    return Columns(key_of(entry.id), key_of(entry.type), None, None)


def key_of(name: str) -> str:
    """An id, or what stands for one that a column cannot hold: NULs, lone surrogates, very long ones."""
    if len(name) <= _ID_LIMIT and not name.startswith(_DIGEST):
        if name.isascii() and "\0" not in name:
            return name
        try:
            if b"\0" not in name.encode():
                return name
        except UnicodeEncodeError:
            pass
    return _DIGEST + sha256(name.encode(errors="surrogatepass")).hexdigest()


def is_digest(key: str) -> bool:
    """Whether a column holds what stands for an id, and not the id."""
    return key.startswith(_DIGEST)


def check_session_id(session_id: object) -> str:
    """The id of a session, if a table can hold it.

    Raises:
        SessionIdError: It is empty, no text, too long, or holds a NUL or a lone surrogate.
    """
    if type(session_id) is str and session_id and key_of(session_id) == session_id:
        return session_id
    raise SessionIdError(
        session_id, f"use 1 to {_ID_LIMIT} characters, none of them a NUL or a lone surrogate"
    )


def lock_keys(schema: str, session_id: str) -> tuple[int, int]:
    """The advisory locks of a session: that of its writers, and that of those who follow it."""
    writer, reader = _KEYS.unpack(sha256(f"{schema}\0{session_id}".encode()).digest()[:16])
    return writer, reader


# ------------------------------------------------------------------------------- lines


def lines_of(bodies: Sequence[bytes], checksum: bool) -> list[bytes]:
    """The lines of one batch, without their line feeds."""
    last = len(bodies) - 1
    if last <= 0:
        return [line_of(body, checksum=checksum)[:-1] for body in bodies]
    return [line_of(body, more=index < last)[:-1] for index, body in enumerate(bodies)]


def physical(text: bytes) -> bytes:
    """The line that says something, of a row that may hold blank ones too."""
    if b"\n" not in text:
        return text
    return next((line for line in text.split(b"\n") if line.strip(SPACE)), b"")


def entry_of(text: bytes) -> tuple[Entry, bool]:
    """The entry of a row's line, and whether that is sealed.

    Raises:
        EntryError: The line is damaged.
    """
    line, sealed = _judged(text)
    return decode_entry(line, sealed), sealed


def read_entry(text: bytes) -> Entry:
    """The entry of a row's line, also where a time of it cannot be read. Raises as :func:`entry_of`."""
    return decode_leniently(*_judged(text))[0]


def detail_of(text: bytes) -> Detail | None:
    """The record of a row's line; None if it counts for nothing. Raises as :func:`entry_of`."""
    return decode_detail(*_judged(text))


def _judged(text: bytes) -> tuple[bytes, bool]:
    if text[-18:-10] == b',"crc":"' and text[-2:] == b'"}' and b"\n" not in text:
        line, sealed = text, True
    else:
        line = physical(text).rstrip(SPACE)
        sealed = is_sealed(line)
    if sealed and not is_intact(line):
        raise EntryError("$", EDITED)
    return line, sealed


def wrong_columns(found: Columns, entry: Entry) -> Iterable[str]:
    """The names of the columns that do not say what the line says."""
    meant = columns_of(entry)
    return [name for name, one, other in zip(Columns._fields, found, meant, strict=True) if one != other]
