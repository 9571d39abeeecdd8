"""A file of another program's records, which come back as they were, written as safely as a log.

Each line is one JSON object, whatever is in it. Batches are marked and sealed as those of a log
(:mod:`transcript_log._logfile.seal`), so a crash leaves all of a batch or nothing, and damage is
told; to other readers of JSON lines a mark is white space and a seal one more member.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Final, NoReturn, TypeAlias

from ._batch import joined
from ._json import decode, encode
from ._logfile.files import closing, open_to_read, telling
from ._logfile.lock import WriterLock
from ._logfile.reader import BatchReader, CutError, Fault
from ._logfile.seal import LINE_LIMIT, line_of, unsealed
from ._logfile.writer import AppendFile, Beginning
from .entries import Json
from .errors import CorruptLogError, EntryError

__all__ = ["Record", "RecordFile", "delete_file", "load_records"]

Record: TypeAlias = dict[str, Json]
"""One object of another program."""

_SEAL_SIZE: Final = len(line_of(b"{}", more=True)) - len(b"{}")
_ADVICE: Final = "mend or take out the line; 'transcript-log replay' shows what can be read round it"


def load_records(path: str) -> list[Record] | None:
    """All records, in the order of the file; None if there is no file.

    Raises:
        CorruptLogError: A line is damaged.
        StorageError: The file cannot be read.
    """

    def raise_damage(fault: Fault) -> NoReturn:
        raise CorruptLogError(path, fault.line, fault.offset, fault.reason, _ADVICE) from fault.error

    fd = open_to_read(path)
    if fd is None:
        return None
    try:
        while True:
            try:
                return BatchReader(path, fd, _decoded, raise_damage).all()
            except CutError:  # a writer took a failed batch back
                continue
    finally:
        closing(fd)


class RecordFile:
    """One such file, for writing. Shared by threads.

    A record that has an id under ``uuid`` and is there already is not written again; one that has the
    same id and says something else is.

    Args:
        path: The file; its first batch makes it.
        lock: Who may write to it.
        durable: Whether a batch is on disk before it is acknowledged.
    """

    def __init__(self, path: str, lock: WriterLock, *, durable: bool) -> None:
        self.path: Final = path
        self._lock = lock
        self._known: set[bytes] = set()
        self._file: AppendFile[Record] = AppendFile(
            path, _decoded, durable=durable, create=True, fresh=bytes, begin=self._begin, seen=self._see
        )

    def append(self, records: Sequence[Record]) -> None:
        """Add records as one batch: all of them or none, acknowledged on return.

        Raises:
            EntryError: A record cannot be given back as it is.
            LogBusyError: Another writer has the file.
            StorageError: The system refused; open the file anew to try again.
        """
        bodies = [(_body(record, index), _key_of(record)) for index, record in enumerate(records)]
        if not bodies:
            return
        with self._lock.batch():
            self._file.settle()
            if not self._file.is_made:  # it may have been deleted
                self._known.clear()
            left: list[bytes] = []
            new: set[bytes] = set()
            for body, key in bodies:
                if key is None or not (key in self._known or key in new):
                    left.append(body)
                    new.update([] if key is None else [key])
            if left:
                self._file.add(joined(left, checksum=True), None)
                self._known |= new
            else:
                self._file.sync()  # whoever wrote them may not have waited for the disk

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def _begin(self, fd: int) -> Beginning:
        """Learn what is in a file that was opened anew."""
        self._known.clear()
        for record in BatchReader(self.path, fd, _decoded, _pass_over):
            self._see(record)
        return Beginning(0)

    def _see(self, record: Record) -> None:
        key = _key_of(record)
        if key is not None:
            self._known.add(key)


def delete_file(path: str) -> None:
    """Take a file away, and what a crash left of it; durable once :func:`sync_folder` is called."""
    with telling(path, "delete"):
        for name in (path, path + ".corrupt"):
            try:
                os.unlink(name)
            except FileNotFoundError:
                continue


def _decoded(raw: bytes, _: bool) -> Record:
    try:
        value = decode(unsealed(raw))
    except ValueError as error:
        raise EntryError("$", f"the line is no JSON: {error}") from error
    if type(value) is not dict:
        raise EntryError("$", "the line is no JSON object")
    return value


def _body(record: Record, index: int) -> bytes:
    body = encode(record, f"$[{index}]")
    if not record or type(record) is not dict:
        raise EntryError(f"$[{index}]", "a record is an object with at least one member")
    if len(body) + _SEAL_SIZE > LINE_LIMIT:
        raise EntryError(
            f"$[{index}]", f"the record takes {len(body)} bytes, and a line at most {LINE_LIMIT}"
        )
    return body


def _key_of(record: Record) -> bytes | None:
    """What tells a record from all others; None for one without an id."""
    if type(record.get("uuid")) is not str:
        return None
    return sha256(json.dumps(record, sort_keys=True).encode()).digest()[:16]


def _pass_over(_: Fault) -> Iterable[Record]:
    """Damage is told by who reads the file; a writer goes on behind it."""
    return ()
