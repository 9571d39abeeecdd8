"""A new log that has many lines from the first, such as those of another, byte for byte.

So what a later version or another writer put into an entry goes along. Damage does not: what
can be read of it is written as a salvage would write it.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterable, Iterator, Set

from ._logfile.files import closing, make_folder, make_to_append, open_to_append, write_all
from ._reading import opened, read_head
from ._salvaging import Plan, detail_lines, entry_lines
from .codec import read_started
from .entries import Detail, IdSource
from .errors import EntryNotFoundError, StorageError
from .store import DetailKey

__all__ = ["forked_details", "forked_entries", "forked_ids", "make_log"]


def forked_entries(path: str, until: str, id_source: IdSource, plan: Plan | None = None) -> Iterator[bytes]:
    """The lines of a log's entries, without its header, up to and with the entry ``until``.

    Raises:
        EntryNotFoundError: There is no such entry.
        HeaderError: It is no log of ours.
        StorageError: The file cannot be read.
    """
    with opened(path) as fd:
        if fd is None:
            raise EntryNotFoundError(until, path)
        plan = plan or Plan(path)
        yield from entry_lines(path, fd, read_head(path, fd), plan, id_source, until)


def forked_ids(path: str, until: str, id_source: IdSource) -> Set[str]:
    """The ids of those entries. Raises the same."""
    plan = Plan(path)
    for _ in forked_entries(path, until, id_source, plan):
        pass
    return plan.ids.keys()


def forked_details(path: str, entries: Set[str], later: Set[DetailKey] = frozenset()) -> Iterator[bytes]:
    """The lines of a sidecar that are of these entries, or of none.

    Args:
        path: The sidecar.
        entries: The entries.
        later: Calls whose end came later: of those only that they began.
    """

    def wanted(detail: Detail) -> bool:
        if (detail.id, detail.entry) in later and read_started(detail.payload) is None:
            return False
        return detail.entry is None or detail.entry in entries

    with opened(path, follow=False) as fd:
        if fd is not None:
            yield from detail_lines(path, fd, Plan(path), wanted)


def make_log(path: str, lines: Iterable[bytes], sidecar: str, records: Iterable[bytes]) -> None:
    """Make a log of these lines, and before it a sidecar of these records; each wholly or not at all.

    The caller holds the log's lock.

    Raises:
        StorageError: There is a file at ``path``, or another sidecar; or the system refused.
    """
    make_folder(path)
    wanted = b"".join(records)
    there = _bytes_of(sidecar, len(wanted))
    if there and there != wanted:
        reason = "a sidecar stands there without its log"
        raise StorageError(sidecar, "make the log", reason, errno.EEXIST, "name another log, or move it away")
    is_new = bool(wanted) and there is None
    if is_new:
        closing(make_to_append(sidecar, [wanted]))
    elif wanted and not there:
        fd, _ = open_to_append(sidecar)
        try:
            write_all(fd, wanted)
            os.fdatasync(fd)
        finally:
            closing(fd)
    try:
        closing(make_to_append(path, lines))
    except BaseException:
        if is_new:
            with contextlib.suppress(OSError):
                os.unlink(sidecar)
        raise


def _bytes_of(path: str, size: int) -> bytes | None:
    """The bytes of a file, and one more than asked for if it has more; None if it is not there."""
    with opened(path, follow=False) as fd:
        return None if fd is None else os.pread(fd, size + 1, 0)
