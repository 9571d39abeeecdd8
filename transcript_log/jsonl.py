"""One session in one file of JSON lines, with its details beside it.

What was acknowledged survives a crash at any moment; what a crash leaves unfinished is
never taken for an entry; damage is told with its line. ``docs/format.md`` is the
specification of the file, ``docs/reliability.md`` of the promises.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from contextlib import AbstractContextManager
from itertools import chain
from typing import Any, Final, Literal, Self

from . import _forking, _reading, _salvaging
from ._batch import encode_batch, joined, left_to_write, separate
from ._following import follow_log
from ._logfile.files import telling
from ._logfile.lock import WriterLock
from ._logfile.reader import CutError, Fault
from ._logfile.seal import line_of
from ._logfile.writer import AppendFile, Beginning
from ._scanning import scan_log
from .codec import decode_detail, decode_entry, encode_header
from .entries import Detail, Entry, ForkOrigin, Header, IdSource, Json, new_header, new_id
from .errors import ConflictError, CorruptLogError, SessionIdError, StorageError
from .store import DetailKey, Scan, Version

__all__ = ["Durability", "JsonlStore", "SalvagePlan", "session_path"]

SalvagePlan = _salvaging.SalvagePlan

Durability = Literal["fsync", "os"]
"""What an acknowledged batch survives. ``"fsync"``: also power loss; ``"os"``: kill -9, but
not a crash of the machine."""

_SESSION_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")
_ID_SOURCE: IdSource = new_id


def session_path(folder: str | os.PathLike[str], session_id: str) -> str:
    """The log of a session in a folder: ``FOLDER/ID.jsonl``.

    Raises:
        SessionIdError: The id could name a file elsewhere, or none. 1 to 128 of the
            characters ``A-Z a-z 0-9 _ -`` are allowed, beginning with a letter or digit.
    """
    if type(session_id) is not str or _SESSION_ID.fullmatch(session_id) is None:
        raise SessionIdError(session_id)
    return os.path.join(os.fspath(folder), f"{session_id}.jsonl")


class JsonlStore:
    """A log in a file, and its sidecar and lock file beside it.

    The file is made by the first append. One store may be shared by threads, and used
    after a fork by the child. Readers take no lock and need no right to write.

    Args:
        path: The log. A link is followed if it leads to an existing log.
        durability: See :data:`Durability`.
        checksum: Whether a batch of one line is sealed too; longer ones always are.
        wait: How long an append waits for another writer, in seconds.
        header: The header of a log that this store makes; by default a new one.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        durability: Durability = "fsync",
        checksum: bool = True,
        wait: float = 5.0,
        header: Header | None = None,
    ) -> None:
        if durability not in ("fsync", "os"):
            raise ValueError(f"durability is 'fsync' or 'os', not {durability!r}")
        self.path: Final = _real_path(os.fsdecode(path))
        if self.path.endswith(".details.jsonl"):
            reason = "that is the name of a sidecar"
            raise StorageError(self.path, "open", reason, None, "name the log that it stands beside")
        # A link must lead to a log: one that leads nowhere could plant a file anywhere.
        self._creates = create = not os.path.islink(path)
        self.details_path: Final = self.path.removesuffix(".jsonl") + ".details.jsonl"
        self.lock_path: Final = self.path + ".lock"
        self.durability: Final = durability
        self.checksum: Final = checksum
        self._header = header
        self._known: set[str] = set()
        self._mark = _reading.ReadMark()
        self._fit = False
        self._lock = WriterLock(self.path, self.lock_path, wait)
        self._wait = wait
        durable = durability == "fsync"
        self._log: AppendFile[Entry] = AppendFile(
            self.path,
            decode_entry,
            durable=durable,
            create=create,
            fresh=self._header_line,
            begin=self._begin,
            seen=self._see,
        )
        self._sidecar: AppendFile[Detail | None] = AppendFile(
            self.details_path,
            decode_detail,
            durable=durable,
            create=True,
            fresh=bytes,
            begin=lambda _: Beginning(0),
            seen=lambda _: None,
        )

    def __repr__(self) -> str:
        return f"JsonlStore({self.path!r}, durability={self.durability!r})"

    # ------------------------------------------------------------------------- reading

    def header(self) -> Header | None:
        """The header; None for a log that is missing or empty.

        Raises:
            HeaderError: The first line is no header of this format version.
            StorageError: The file cannot be read.
        """
        with _reading.opened(self.path) as fd:
            return None if fd is None else _reading.read_head(self.path, fd).header

    def read(self, after: str | None = None) -> Iterator[Entry]:
        """The entries in file order, one by one, in bounded memory.

        A repeated id is told at the end. With ``after``, reading begins where the last one of this
        store ended, if it can. See :meth:`Store.read`.
        """
        return _reading.read_entries(self.path, after, self._mark)

    def load(self) -> list[Entry]:
        """All entries, in file order.

        Raises:
            CorruptLogError: The log is damaged, or an id stands twice.
            StorageError: The file cannot be read.
        """
        entries = _reading.load_entries(self.path)
        self._known.update([entry.id for entry in entries])
        return entries

    def active(self) -> list[Entry]:
        """What the newest boundary keeps, read from the end of the file; see :meth:`Store.active`.

        What lies before is neither read nor checked.
        """
        entries = _reading.active_entries(self.path)
        self._known.update([entry.id for entry in entries])
        return entries

    def scan(self) -> Scan:
        """All that can be read of the log and its sidecar, and all that is wrong with them.

        A missing file is an empty log.

        Raises:
            HeaderError: The first line is no header of this format version.
            StorageError: A file cannot be read.
        """
        scan = scan_log(self.path, self.details_path)
        self._known.update([entry.id for entry in scan.entries])
        return scan

    def details(self) -> dict[DetailKey, Json]:
        """The sidecar's payloads, by call id and entry id; of several for one key the last.

        Raises:
            CorruptLogError: The sidecar is damaged; :meth:`scan` reads round that.
            StorageError: The file cannot be read.
        """
        return _reading.load_details(self.details_path)

    def version(self) -> Version:
        """What changes with the log, and with its sidecar: two looks at the folder."""
        log = _state_of(self.path)
        return log[:2], log[2:], _state_of(self.details_path)

    def follow(
        self,
        after: str | None = None,
        *,
        poll: float = 0.1,
        stop: Callable[[], bool] = lambda: False,
        on_damage: Callable[[CorruptLogError], None] | None = None,
    ) -> Iterator[tuple[Entry, ...]]:
        """Whole batches: those that are there, then those that come, until ``stop`` says so.

        It goes on if a torn tail is moved aside and if another file takes the log's place,
        and gives no entry twice; for that it holds the ids of all entries given.

        Args:
            after: Give only what follows the entry with this id.
            poll: How often the file is looked at, in seconds.
            stop: Asked after each look.
            on_damage: Told of damaged lines, which are then passed over; without it they raise.

        Raises:
            CorruptLogError: A line is damaged.
            EntryNotFoundError: No entry has the id ``after``.
        """

        def on_fault(fault: Fault) -> list[Entry]:
            error = CorruptLogError(self.path, fault.line, fault.offset, fault.reason, fault.advice)
            if on_damage is None:
                raise error
            on_damage(error)
            return []

        return follow_log(self.path, after, decode=decode_entry, on_fault=on_fault, poll=poll, stop=stop)

    # ------------------------------------------------------------------------- writing

    def create(
        self, entries: Sequence[Entry] = (), details: Sequence[Detail] = (), *, exist_ok: bool = False
    ) -> None:
        """Make the log, on disk on return, wholly or not at all. An append makes one by itself.

        Args:
            entries: What it begins with behind its header; each is a batch of its own.
            details: The records of those.
            exist_ok: Whether a log that is there already is left as it is, or is an error.

        Raises:
            EntryError: A value cannot be stored.
            IdError: Two entries share an id.
            StorageError: There is a log already; or, with entries, any file; or the system refused.
            HeaderError: There is a file that is no log of ours.
        """
        batch = encode_batch(entries, details, self.path)
        self._check_fit()
        with self._lock.batch():
            self._log.settle()
            if self._log.is_made:
                if not exist_ok:
                    raise StorageError(self.path, "make the log", _THERE, errno.EEXIST, "open it instead")
            elif batch.entries or batch.details:
                lines = separate(batch.entries, self.checksum)
                records = separate(batch.details, self.checksum)
                _forking.make_log(self.path, chain([self._header_line()], lines), self.details_path, records)
            else:
                self._log.add(b"", None)

    def make(self, lines: Iterable[bytes], records: Iterable[bytes]) -> None:
        """Make the log of lines that are there, the header first, and the sidecar of records.

        Each ends with its line feed. They are not looked at. On disk on return, wholly or not at all.

        Raises:
            StorageError: There is a log already; or the system refused.
            HeaderError: There is a file that is no log of ours.
        """
        self._check_fit()
        with self._lock.batch():
            self._log.settle()
            if self._log.is_made:
                raise StorageError(self.path, "make the log", _THERE, errno.EEXIST, "name a file that is not")
            _forking.make_log(self.path, lines, self.details_path, records)

    def append(self, *entries: Entry, after: str | None = None, details: Sequence[Detail] = ()) -> str:
        """Add a batch, all of it or nothing; acknowledged on return. See :meth:`Store.append`.

        A repeated entry is found among the ids that this store has loaded or written.
        """
        batch = encode_batch(entries, details, self.path)
        if not batch.entries and not batch.details:
            return self._check_head(self._last_id(), after)
        self._check_fit()
        with self._lock.batch():
            self._log.settle()
            head = "" if self._log.last is None else self._log.last.id
            left = left_to_write(batch, self._known, self._stored, self.path)
            if batch.entries and not left and not batch.details:
                self._log.sync()  # whoever wrote them may not have waited for the disk
                return head
            if left or not batch.entries:
                self._check_head(head, after)
            if batch.details:
                self._sidecar.settle()
                records = joined([body for _, body in batch.details], self.checksum)
                self._sidecar.add(records, batch.details[-1][0])
            if left:
                # Before the write: whatever interrupts it, a retry looks whether it came to be.
                self._known.update([entry.id for entry, _ in left])
                try:
                    self._log.add(joined([body for _, body in left], self.checksum), left[-1][0])
                except BaseException:
                    if batch.details:
                        self._sidecar.take_back()
                    raise
                head = left[-1][0].id
            else:
                self._log.sync()
            return head

    def _check_fit(self) -> None:
        """Leave nothing, not even a lock file, beside a file that is no log of ours."""
        if not self._fit:
            with _reading.opened(self.path) as fd, telling(self.path, "read"):
                if fd is not None:
                    self._begin(fd)
                elif not self._creates:
                    raise StorageError(
                        self.path, "write", "the link leads to no log", None, "name the log itself"
                    )
            self._fit = True

    def lease(self, wait: float | None = None) -> AbstractContextManager[None]:
        """Hold the right to write over many appends, which then need no lock of their own.

        Args:
            wait: How long to wait for another writer, in seconds; by default the store's own.

        Raises:
            HeaderError: There is a file that is no log of ours.
            LogBusyError: Another writer has it; or this process holds a lease on the log.
        """
        self._check_fit()
        return self._lock.lease(self._wait if wait is None else wait)

    def close(self) -> None:
        """Close the files. All that was acknowledged is safe without it; an append opens them again."""
        with self._lock.alone():
            self._log.close()
            self._sidecar.close()
            self._lock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: Any) -> None:
        self.close()

    def _see(self, entry: Entry) -> None:
        self._known.add(entry.id)

    def _check_head(self, head: str, after: str | None) -> str:
        if after is not None and head != after:
            raise ConflictError(self.path, after, head)
        return head

    def _last_id(self) -> str:
        last = ""
        for entry in _reading.last_entries(self.path):
            last = entry.id
        return last

    def _stored(self, ids: set[str]) -> dict[str, Entry]:
        """The entries of the file with these ids. It is read whole: a retry is rare."""
        scan = scan_log(self.path, self.details_path)
        return {entry.id: entry for entry in scan.entries if entry.id in ids}

    def _header_line(self) -> bytes:
        return line_of(encode_header(self._header or new_header()), checksum=self.checksum)

    def _begin(self, fd: int) -> Beginning:
        """How the log begins, if it is one that this store may write to."""
        head = _reading.read_head(self.path, fd)
        end_first = b"" if head.ended else b"\n"
        if head.header is None:
            return Beginning(head.offset, end_first + self._header_line())
        _reading.refuse_pi(self.path, fd, head)
        return Beginning(head.offset, end_first)

    # ------------------------------------------------------------------------- forking

    def fork(
        self,
        path: str | os.PathLike[str],
        at: str,
        *,
        header: Header | None = None,
        later: Set[DetailKey] = frozenset(),
    ) -> JsonlStore:
        """A new log at ``path`` with a copy of this one's lines up to and with the entry ``at``.

        It is there wholly or not at all, with the records of those entries in its own sidecar. Of
        a damaged line there goes along what can be read of it.

        Args:
            path: The new log.
            at: The id of the last entry to copy.
            header: The new log's header; by default a new one that says where it comes from.
            later: Calls that ended after ``at``, by id and entry: how they ended stays behind.

        Returns:
            A store on the new log, as durable as this one.

        Raises:
            EntryNotFoundError: There is no entry ``at``.
            HeaderError: This file is no log of ours.
            StorageError: There is a file at ``path``; or the system refused.
        """
        if header is None:
            mine = self.header()
            origin = None if mine is None or mine.id is None else ForkOrigin(session=mine.id, entry=at)
            header = new_header(cwd=None if mine is None else mine.cwd, forked_from=origin)
        made = JsonlStore(
            path, durability=self.durability, checksum=self.checksum, wait=self._wait, header=header
        )
        made._take_copy(self, at, later)
        return made

    def _take_copy(self, source: JsonlStore, at: str, later: Set[DetailKey]) -> None:
        while True:
            try:
                return self._copy_from(source, at, later)
            except CutError:  # a batch that was read was taken back
                continue

    def _copy_from(self, source: JsonlStore, at: str, later: Set[DetailKey]) -> None:
        ids = _forking.forked_ids(source.path, at, _ID_SOURCE)
        lines = _forking.forked_entries(source.path, at, _ID_SOURCE)
        self.make(
            chain([self._header_line()], lines), _forking.forked_details(source.details_path, ids, later)
        )

    # ------------------------------------------------------------------------- mending

    def salvage(self, apply: bool = False) -> tuple[SalvagePlan, SalvagePlan]:
        """What it takes to make the log and its sidecar readable again, and, if asked, just that.

        A new file takes the place of a damaged one, which stays beside it under the name in
        the plan's ``backup``. Nothing is changed where nothing is wrong.

        Returns:
            The plan for the log, and that for the sidecar.

        Raises:
            HeaderError: The first line is no header of this format version.
            LogBusyError: Another writer has the log.
            StorageError: A file cannot be read or written.
        """
        return self._mend(
            lambda out: _salvaging.plan_salvage(self.path, is_log=True, id_source=_ID_SOURCE, out=out),
            lambda out: _salvaging.plan_salvage(
                self.details_path, is_log=False, id_source=_ID_SOURCE, out=out
            ),
            apply,
        )

    def reseal(self, apply: bool = False) -> tuple[SalvagePlan, SalvagePlan]:
        """Give lines that were edited on purpose the checksum that they should have.

        Otherwise like :meth:`salvage`.
        """
        return self._mend(
            lambda out: _salvaging.plan_reseal(self.path, out),
            lambda out: _salvaging.plan_reseal(self.details_path, out),
            apply,
        )

    def _mend(self, log: _Planner, sidecar: _Planner, apply: bool) -> tuple[SalvagePlan, SalvagePlan]:
        with _reading.opened(self.path) as fd, telling(self.path, "read"):
            if fd is not None:
                self._begin(fd)  # another agent's file is not ours to mend
        if apply:
            self._check_fit()
        else:
            return log(_nowhere), sidecar(_nowhere)
        with self._lock.batch():
            plans = []
            for path, make in ((self.path, log), (self.details_path, sidecar)):
                plan = make(_nowhere)
                try:
                    plans.append(_salvaging.write_plan(path, make) if plan.is_needed else plan)
                except StorageError as error:
                    done = f"{plans[0].path} was mended, its old file is {plans[0].backup}" if plans else ""
                    raise StorageError(error.path, error.doing, error.reason, error.errno, done) from error
            return plans[0], plans[1]


def _state_of(path: str) -> tuple[int, ...]:
    try:
        status = os.stat(path)
    except OSError:
        return ()
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


_THERE: Final = "there is one already"

_Planner = Callable[[Callable[[bytes], None]], SalvagePlan]


def _nowhere(line: bytes) -> None:
    """Where the lines of a mere plan go."""


def _real_path(path: str) -> str:
    """The log's own place: two names of one log share one lock and one sidecar.

    Raises:
        StorageError: The path cannot name a file.
    """
    try:
        if "\0" in path:
            raise StorageError(path.replace("\0", "\\0"), "open", "a path cannot hold a NUL")
        return os.path.realpath(path)
    except OSError as error:
        raise StorageError.of(path, "open", error) from error
