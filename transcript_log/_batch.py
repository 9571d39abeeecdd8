"""What every store does with a batch before it writes: encode it, and know what is there."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import NamedTuple

from ._logfile.seal import LINE_LIMIT, line_of
from .codec import encode_detail, encode_entry
from .entries import Detail, Entry
from .errors import EntryError, IdError

__all__ = ["Batch", "encode_batch", "joined", "left_to_write", "separate"]

_SEAL_SIZE = len(line_of(b"{}", more=True)) - len(b"{}")


class Batch(NamedTuple):
    """A batch that is valid: entries with their JSON objects, and those of its details."""

    entries: tuple[tuple[Entry, bytes], ...]
    details: tuple[tuple[Detail, bytes], ...]


def encode_batch(entries: Sequence[Entry], details: Sequence[Detail], path: str) -> Batch:
    """The batch of these entries and details, all of them checked.

    An entry given twice counts once. A detail with an empty id counts for nothing.

    Raises:
        EntryError: A value cannot be stored.
        IdError: Two entries of the batch share an id.
    """
    if len(entries) == 1 and not details:
        return Batch(((entries[0], _fitting(encode_entry(entries[0]))),), ())
    bodies: dict[str, tuple[Entry, bytes]] = {}
    for entry in entries:
        body = _fitting(encode_entry(entry))
        given = bodies.setdefault(entry.id, (entry, body))
        if given[1] != body:
            raise IdError(entry.id, path)
    records = tuple((detail, _fitting(encode_detail(detail))) for detail in details if detail.id != "")
    return Batch(tuple(bodies.values()), records)


def _fitting(body: bytes) -> bytes:
    if len(body) + _SEAL_SIZE > LINE_LIMIT:
        raise EntryError("$", f"the entry takes {len(body)} bytes, and a line at most {LINE_LIMIT}")
    return body


def left_to_write(
    batch: Batch, known: Container[str], stored: Callable[[set[str]], dict[str, Entry]], path: str
) -> tuple[tuple[Entry, bytes], ...]:
    """The entries of a batch that are not in the log yet.

    Args:
        batch: The batch.
        known: The ids known to be in the log.
        stored: Gives the entries of the log with these ids.
        path: The log, for the error.

    Raises:
        IdError: An id is there already, with other content.
    """
    repeated = {entry.id for entry, _ in batch.entries if entry.id in known}
    if not repeated:
        return batch.entries
    there = stored(repeated)
    for entry, body in batch.entries:
        if entry.id in there and not _is_same(body, there[entry.id]):
            raise IdError(entry.id, path)
    return tuple(pair for pair in batch.entries if pair[0].id not in there)


def _is_same(body: bytes, stored: Entry) -> bool:
    try:
        return encode_entry(stored) == body
    except EntryError:
        return False


def joined(bodies: Sequence[bytes], checksum: bool) -> bytes:
    """The lines of one batch, one after another."""
    last = len(bodies) - 1
    if last == 0:
        return line_of(bodies[0], checksum=checksum)
    return b"".join([line_of(body, more=index < last) for index, body in enumerate(bodies)])


def separate(encoded: Sequence[tuple[Entry | Detail, bytes]], checksum: bool) -> list[bytes]:
    """The lines of values that are a batch each."""
    return [line_of(body, checksum=checksum) for _, body in encoded]
