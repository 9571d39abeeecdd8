"""A store for the sessions of the Claude Agent SDK.

The SDK mirrors the transcript that Claude Code writes, record by record, and asks for it back to
go on elsewhere. The records are kept in files as Claude Code names and fills its own::

    ROOT/PROJECT/SESSION.jsonl
    ROOT/PROJECT/SESSION/subagents/agent-1.jsonl

so every command reads them as the sessions of Claude Code that they are, subagents included, and
``import`` makes a log of one. They are written as a log is: a batch is there wholly or not at all,
on disk once ``append`` returns, and sealed.

Written for claude-agent-sdk 0.2, 2026-12; the protocol is its ``SessionStore``.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from typing import Any, Final, Generic, TypeVar, cast

from .._recordfile import Record, load_records
from .._recordtree import SessionFiles, folder_of, subpaths, transcripts
from ..errors import CorruptLogError, EntryError
from ..jsonl import Durability

try:
    from anyio import to_thread
    from claude_agent_sdk import (
        SessionKey,
        SessionListSubkeysKey,
        SessionStore,
        SessionStoreEntry,
        SessionStoreListEntry,
        SessionSummaryEntry,
        fold_session_summary,
    )
except ImportError as error:
    raise ImportError(
        "transcript_log.adapters.claude_agent_sdk needs the Claude Agent SDK: install the extra, as in"
        " pip install 'transcript-log[claude-agent-sdk]'",
        name=error.name,
    ) from error

__all__ = ["TranscriptSessionStore"]

T = TypeVar("T")

_OPEN: Final = 64
"""How many sessions are kept open, with what tells their records apart in memory."""


class TranscriptSessionStore(SessionStore):
    """A ``SessionStore`` over a folder, for ``ClaudeAgentOptions(session_store=...)``.

    What is done to one session is done in the order in which it was asked for. Neither a lock nor a
    disk holds up the event loop, be it of asyncio or of trio. Several stores and processes may
    share a folder.

    A record comes back equal to what it was. One that has a ``uuid`` and is there already is not
    kept twice, so a batch may be sent again; one that says something else under that ``uuid`` is kept.

    Args:
        root: The folder; made when it is first needed.
        durability: What an acknowledged batch survives, as of :class:`transcript_log.JsonlStore`.
        wait: How long to wait for another writer of a session, in seconds.
    """

    def __init__(
        self, root: str | os.PathLike[str], *, durability: Durability = "fsync", wait: float = 5.0
    ) -> None:
        self.root: Final = os.fspath(root)
        self._is_durable = durability == "fsync"
        self._wait = wait
        self._guard = threading.Lock()
        self._open: OrderedDict[str, _Open] = OrderedDict()
        self._summaries: dict[str, tuple[tuple[int, int, int], SessionSummaryEntry]] = {}

    # ------------------------------------------------------------------- for one session

    async def append(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        """Add records, all or none; on disk on return.

        Raises:
            EntryError: The key names no transcript, or a record holds what JSON would not give back.
            LogBusyError: Another writer has the session.
            StorageError: The system refused; nothing was added.
        """
        subpath = _subpath(key)
        records = cast(list[Record], list(entries))
        if records:
            await self._do(key, lambda files: files.append(subpath, records))

    async def load(self, key: SessionKey) -> list[SessionStoreEntry] | None:
        """All records of a transcript, in their order; None if there are none.

        Raises:
            CorruptLogError: A line is damaged; file, line and byte are named.
        """
        subpath = _subpath(key)
        found = await self._do(key, lambda files: load_records(files.path(subpath)))
        return cast(list[SessionStoreEntry], found) or None

    async def delete(self, key: SessionKey) -> None:
        """Take a session off the disk, with all that hangs on it; or with a subpath that alone."""
        subpath = _subpath(key)
        await self._do(key, lambda files: files.delete(subpath))

    async def list_subkeys(self, key: SessionListSubkeysKey) -> list[str]:
        """The subpaths of a session, sorted."""
        folder = folder_of(self.root, key["project_key"], key["session_id"])
        return await to_thread.run_sync(lambda: sorted(subpaths(folder)))

    # -------------------------------------------------------------------- for a project

    async def list_sessions(self, project_key: str) -> list[SessionStoreListEntry]:
        """The sessions of a project, with when each was last written to."""
        folder = folder_of(self.root, project_key)

        def listed() -> list[SessionStoreListEntry]:
            return [{"session_id": one.name, "mtime": _ms(one.modified)} for one in transcripts(folder)]

        return await to_thread.run_sync(listed)

    async def list_session_summaries(self, project_key: str) -> list[SessionSummaryEntry]:
        """The SDK's summaries of the sessions of a project.

        They are made of the records, and kept in memory as long as a session stays as it is. One
        that is damaged has none here; the SDK then loads it, which tells.
        """
        return await to_thread.run_sync(lambda: list(self._summarized(project_key)))

    def _summarized(self, project_key: str) -> Iterator[SessionSummaryEntry]:
        for found in transcripts(folder_of(self.root, project_key)):
            state, summary = self._summaries.get(found.path, (None, None))
            if summary is None or state != found.state:
                try:
                    records = cast(list[SessionStoreEntry], load_records(found.path) or [])
                except CorruptLogError:
                    continue
                summary = fold_session_summary(
                    None, {"project_key": project_key, "session_id": found.name}, records
                )
                summary["mtime"] = _ms(found.modified)
                self._summaries[found.path] = found.state, summary
            yield {**summary, "data": dict(summary["data"])}

    # -------------------------------------------------------------------------- closing

    async def close(self) -> None:
        """Let go of all files. What was acknowledged is safe without it; a call opens them again."""
        for folder in list(self._open):
            await self._do_in(folder, SessionFiles.close)

    async def _do(self, key: SessionKey, work: Callable[[SessionFiles], T]) -> T:
        return await self._do_in(folder_of(self.root, key["project_key"], key["session_id"]), work)

    async def _do_in(self, folder: str, work: Callable[[SessionFiles], T]) -> T:
        """Do some work on a session, in a thread, after all that was asked for before."""
        with self._guard:
            session = self._open.get(folder)
            if session is None:
                files = SessionFiles(folder, self._wait, durable=self._is_durable)
                session = self._open[folder] = _Open(files)
            self._open.move_to_end(folder)
            job = _Job(work)
            session.jobs.append(job)
            session.waiting += 1
        try:
            await to_thread.run_sync(session.work_until, job)
        except BaseException:
            with contextlib.suppress(ValueError):
                session.jobs.remove(job)  # given up before it was begun
            raise
        finally:
            with self._guard:
                session.waiting -= 1
                for idle in [name for name, one in self._open.items() if one.is_idle][:-_OPEN]:
                    self._open.pop(idle).files.close()
        return job.result()


class _Job(Generic[T]):
    """Some work on a session, and what came of it."""

    def __init__(self, work: Callable[[SessionFiles], T]) -> None:
        self._work = work
        self._result: tuple[T] | None = None
        self._error: BaseException | None = None
        self.is_done = False

    def run(self, files: SessionFiles) -> None:
        try:
            self._result = (self._work(files),)
        except BaseException as error:  # noqa: BLE001 - it belongs to whoever waits
            self._error = error
        self.is_done = True

    def result(self) -> T:
        if self._error is not None:
            raise self._error
        assert self._result is not None
        return self._result[0]


class _Open:
    """A session that is open.

    Attributes:
        files: Its files.
        jobs: What is to be done to them, in order.
        waiting: How many wait for something to be done.
    """

    def __init__(self, files: SessionFiles) -> None:
        self.files: Final = files
        self.jobs: Final[deque[_Job[Any]]] = deque()
        self.waiting = 0
        self._turn = threading.Lock()

    @property
    def is_idle(self) -> bool:
        """Whether nothing is done or to be done; of a call that was cancelled nobody waits for the end."""
        return not self.waiting and not self._turn.locked()

    def work_until(self, job: _Job[Any]) -> None:
        """Do what comes next until ``job`` is done, by this thread or by another one."""
        with self._turn:
            while not job.is_done:
                self.jobs.popleft().run(self.files)


def _subpath(key: SessionKey) -> str | None:
    """The subpath of a key; None for the session itself."""
    subpath = key.get("subpath")
    if subpath == "":
        raise EntryError("$.subpath", "it is empty: it is left out for the session itself")
    return subpath


def _ms(nanoseconds: int) -> int:
    """Milliseconds, as the SDK counts."""
    return nanoseconds // 1_000_000
