"""Entries as they come: a file watched from where the last look ended."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator

from ._logfile.files import closing, open_to_read
from ._logfile.reader import BatchReader, CutError, Decode, Fault
from ._reading import RESEAL_HEADER, read_head
from .entries import Entry
from .errors import EntryNotFoundError

__all__ = ["follow_log"]


def follow_log(
    path: str,
    after: str | None,
    *,
    decode: Decode[Entry],
    on_fault: Callable[[Fault], list[Entry]],
    poll: float,
    stop: Callable[[], bool],
) -> Iterator[tuple[Entry, ...]]:
    """Whole batches of a log, each once: those that are there, then those that come.

    The file may be cut (a torn tail that is moved aside, a failed write that is taken
    back), and another file may take its place (a salvaged log, a fork): then what has not
    been given yet follows. For that the ids of all entries given are held.

    Raises:
        EntryNotFoundError: ``after`` is not there at the first look.
    """
    seen: set[str] = set()
    found = not after
    fd = -1
    key = (0, 0)
    position, line, sign = 0, 1, b""
    try:
        while True:
            try:
                status = os.stat(path)
            except OSError:
                status = None
            if fd >= 0 and (status is None or (status.st_dev, status.st_ino) != key):
                closing(fd)
                fd = -1
            if fd < 0 and status is not None and (opened := open_to_read(path)) is not None:
                fd, position = opened, 0
                now = os.fstat(fd)
                key = (now.st_dev, now.st_ino)
            if fd >= 0:
                if position and os.pread(fd, len(sign), position - len(sign)) != sign:
                    position, sign = 0, b""
                if position == 0:
                    head = read_head(path, fd)
                    position, line = (0, 1) if head.header is None else (head.offset, head.line)
                    if head.fault:
                        on_fault(Fault(*head.at, head.text, head.fault, RESEAL_HEADER, True))
                if position:
                    reader = BatchReader(path, fd, decode, on_fault, offset=position, line=line)
                    batch: list[Entry] = []
                    try:
                        for entry in reader:
                            if entry.id not in seen:
                                seen.add(entry.id)
                                if found:
                                    batch.append(entry)
                                elif entry.id == after:
                                    found = True
                            if batch and not reader.more:
                                yield tuple(batch)
                                batch = []
                                reader.check_end()
                    except CutError:
                        position, sign = 0, b""
                        continue
                    if reader.end != position:
                        position, line, sign = reader.end, reader.end_line, reader.sign
            if not found and after:
                raise EntryNotFoundError(after, path)
            if stop():
                return
            time.sleep(poll)
    finally:
        if fd >= 0:
            closing(fd)
