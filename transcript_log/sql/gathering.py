"""Rows of many files, written to files of their own by one process or several."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from io import BufferedWriter
from multiprocessing import get_context
from typing import Any, Final, TypeAlias

from .._collector import collector_paused
from .._logfile.files import telling
from ..entries import CompactionEntry, Entry, Header, MessageEntry, OpaqueEntry, RunEntry
from ..findings import Finding
from ..stats import Ledger
from .conversation import Conversation
from .reading import FileRead, read_file
from .values import Doubts, encode_rows
from .views import VIEWS, Column, Counted, Found

__all__ = ["Clean", "Gathered", "Wanted", "gather"]

Clean: TypeAlias = Callable[[Conversation, Sequence[Finding]], tuple[Conversation, Sequence[Finding]]]
"""Gives a session, and what is told of its file, as rows are to be made of it: without secrets."""

Wanted: TypeAlias = Mapping[str, Sequence[str]]
"""The columns that are wanted of each view that is; without any, the rows are counted."""

_CHUNKS: Final = 4
"""Into how many parts the share of each process is cut, so that none waits for long."""


@dataclass(slots=True)
class Gathered:
    """What came of reading.

    Attributes:
        parts: The files with the rows of each view, as lines of JSON.
        longest: The longest line in them, in bytes.
        damage: What is wrong with the bytes of the files, in the order of these.
        unreadable: How many files could not be read at all.
        doubts: What the columns could not hold as it was, and how often.
    """

    parts: dict[str, list[str]] = field(default_factory=dict)
    longest: int = 0
    damage: list[Finding] = field(default_factory=list)
    unreadable: int = 0
    doubts: Doubts = field(default_factory=dict)


@dataclass(slots=True)
class _Share(Gathered):
    """The same of some of the files: damage by the number of the file, and what usage is made of."""

    by_file: list[tuple[int, Sequence[Finding]]] = field(default_factory=list)
    spending: list[Conversation] = field(default_factory=list)


def gather(
    files: Sequence[str], wanted: Wanted, folder: str, *, processes: int = 1, clean: Clean | None = None
) -> Gathered:
    """Read files, and write the rows that are wanted of them.

    Args:
        files: In the order in which they count. One that cannot be read is told.
        wanted: What of the views in :data:`VIEWS`.
        folder: An empty folder for the rows.
        processes: How many processes read. More than one are forked; ``clean`` wants one.
        clean: What becomes of a session before rows are made of it.

    Raises:
        StorageError: The rows cannot be written.
    """
    chunks = _chunks(files, processes * _CHUNKS if processes > 1 else 1)
    if processes == 1 or len(chunks) < 2:
        shares = [_gather(chunk, wanted, folder, place, clean) for place, chunk in enumerate(chunks)]
    else:
        with ProcessPoolExecutor(
            processes,
            mp_context=get_context("fork"),
            initializer=signal.signal,
            initargs=(signal.SIGINT, signal.SIG_DFL),
        ) as pool:
            waiting = [
                pool.submit(_gather, chunk, wanted, folder, place) for place, chunk in enumerate(chunks)
            ]
            shares = [one.result() for one in waiting]
    whole = Gathered()
    for share in shares:
        _take(whole, share)
    for _, damage in sorted((one for share in shares for one in share.by_file), key=lambda one: one[0]):
        whole.damage += damage
    if "usage" in wanted:
        spending = sorted((one for share in shares for one in share.spending), key=lambda one: one.number)
        _take(whole, _usage(spending, wanted, folder))
    return whole


def _take(whole: Gathered, share: Gathered) -> None:
    for name, parts in share.parts.items():
        whole.parts.setdefault(name, []).extend(parts)
    whole.longest = max(whole.longest, share.longest)
    whole.unreadable += share.unreadable
    for doubt, number in share.doubts.items():
        whole.doubts[doubt] = whole.doubts.get(doubt, 0) + number


def _chunks(files: Sequence[str], count: int) -> list[list[tuple[int, str]]]:
    """The files, each with its number from 1, in parts of about the same size."""
    numbered = list(enumerate(files, 1))
    if count == 1:
        return [numbered] if numbered else []
    sizes: dict[int, int] = {}
    for number, path in numbered:
        try:
            sizes[number] = os.stat(path).st_size
        except OSError:
            sizes[number] = 0
    chunks: list[list[tuple[int, str]]] = [[] for _ in range(count)]
    weights = [0] * count
    for number, path in sorted(numbered, key=lambda one: -sizes[one[0]]):
        lightest = weights.index(min(weights))
        chunks[lightest].append((number, path))
        weights[lightest] += sizes[number] + 1000  # opening a file takes time too
    return [sorted(chunk) for chunk in chunks if chunk]


class _Writer:
    """Writes the rows of views, each to a file of its own, which is made when there is a row."""

    def __init__(self, wanted: Wanted, folder: str, place: int | str, share: Gathered) -> None:
        self._folder = folder
        self._place = place
        self._share = share
        self._stack = contextlib.ExitStack()
        self._files: dict[str, BufferedWriter] = {}
        self._columns = {name: _chosen(name, columns) for name, columns in wanted.items()}

    def __enter__(self) -> _Writer:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def write(self, name: str, rows: Iterator[Any]) -> None:
        share, columns = self._share, self._columns[name]
        for line in encode_rows(rows, [(one.name, one.type, one.read) for one in columns], share.doubts):
            file = self._files.get(name) or self._open(name)
            file.write(line)
            share.longest = max(share.longest, len(line))

    def _open(self, name: str) -> BufferedWriter:
        path = os.path.join(self._folder, f"{name}-{self._place}.json")
        self._share.parts.setdefault(name, []).append(path)
        self._files[name] = self._stack.enter_context(open(path, "wb"))  # noqa: SIM115 - the stack closes it
        return self._files[name]


def _chosen(name: str, columns: Sequence[str]) -> list[Column[Any]]:
    wanted = frozenset(columns)
    return [column for column in VIEWS[name].columns if column.name in wanted]


def _gather(
    files: Sequence[tuple[int, str]],
    wanted: Wanted,
    folder: str,
    place: int,
    clean: Clean | None = None,
) -> _Share:
    share = _Share()
    checked = "findings" in wanted
    named = [name for name in wanted if VIEWS[name].rows is not None]
    with telling(folder, "write the rows"), _Writer(wanted, folder, place, share) as writer:
        for number, path in files:
            with collector_paused():
                read = read_file(path, number, checked=checked)
                if clean is not None:
                    read = _cleaned(read, path, clean)
                for one in read.conversations:
                    for name in named:
                        rows = VIEWS[name].rows
                        assert rows is not None
                        writer.write(name, rows(one))
                    if "usage" in wanted:
                        share.spending.append(_slim(one))
                if checked:
                    writer.write("findings", _found(read, path))
                share.unreadable += not read.is_readable
                if read.damage:
                    share.by_file.append((number, read.damage))
                del read
    return share


def _cleaned(read: FileRead, path: str, clean: Clean) -> FileRead:
    """The same after ``clean``. What is told of a file goes with the session in it."""
    nobody = Conversation(number=0, path=path, format="transcript-log", header=None, entries=())
    main, *others = read.conversations or (nobody,)
    one, told = clean(main, (*read.damage, *read.findings))
    return replace(
        read,
        conversations=[one, *(clean(other, ())[0] for other in others)] if read.conversations else (),
        damage=told[: len(read.damage)],
        findings=told[len(read.damage) :],
    )


def _found(read: FileRead, path: str) -> Iterator[Found]:
    main = read.conversations[0] if read.conversations else None
    for finding in read.findings:
        if main is None:
            yield Found(finding, path)
        else:
            yield Found(finding, path, main.number, main.session_id)


# -------------------------------------------------------------------------------- usage


def _slim(of: Conversation) -> Conversation:
    """The same without what is said in it: all that is asked of it is what responses took."""
    return Conversation(
        number=of.number,
        path=of.path,
        format=of.format,
        header=Header(id=of.session_id),
        entries=[_slim_entry(entry) for entry in of.entries],
    )


def _slim_entry(entry: Entry) -> Entry:
    match entry:
        case CompactionEntry() | RunEntry():
            return entry
        case MessageEntry(response=response) if response is not None:
            return MessageEntry(id=entry.id, timestamp=entry.timestamp, message={}, response=response)
    return OpaqueEntry(id=entry.id, timestamp=None, type="other", data={})


def _usage(spending: Sequence[Conversation], wanted: Wanted, folder: str) -> Gathered:
    """The rows of what responses took, each response once over all sessions."""
    ledger = Ledger()
    by_number = {}
    for one in spending:
        by_number[str(one.number)] = one
        ledger.begin(str(one.number))
        for entry in one.entries:
            ledger.add(entry)
    share = Gathered()
    with telling(folder, "write the rows"), _Writer(wanted, folder, "all", share) as writer:
        writer.write("usage", (Counted(by_number[spent.session], spent) for spent in ledger.spent))
    return share
