"""A folder of record files: projects, their sessions, and what hangs on those.

::

    ROOT/PROJECT/SESSION.jsonl
    ROOT/PROJECT/SESSION/A/B.jsonl

Names of any kind may be given; as files they are harmless, and no two are the same.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, unquote

from ._logfile.files import sync_folder, telling
from ._logfile.lock import WriterLock
from ._recordfile import Record, RecordFile, delete_file

__all__ = ["SessionFiles", "Transcript", "folder_of", "subpaths", "transcripts"]

_SUFFIX: Final = ".jsonl"


@dataclass(frozen=True, slots=True)
class Transcript:
    """A file of records.

    Attributes:
        name: What it is the file of.
        path: The file.
        modified: When it was last written to, in nanoseconds since 1970.
        state: What changes with it.
    """

    name: str
    path: str
    modified: int
    state: tuple[int, int, int]


def folder_of(root: str, *names: str) -> str:
    """The folder of a project, or of a session of one."""
    return os.path.join(root, *map(_component, names))


def transcripts(folder: str) -> Iterator[Transcript]:
    """The transcripts that lie in a folder, not below it, by name."""
    for entry in _entries(folder):
        name = _part(entry.name.removesuffix(_SUFFIX)) if entry.name.endswith(_SUFFIX) else None
        if name is None or not entry.is_file():
            continue
        with contextlib.suppress(FileNotFoundError):  # deleted meanwhile
            status = os.stat(entry.path)
            if status.st_size:
                state = (status.st_mtime_ns, status.st_size, status.st_ino)
                yield Transcript(name, entry.path, status.st_mtime_ns, state)


def subpaths(folder: str, before: str = "") -> Iterator[str]:
    """The transcripts below the folder of a session, each as its names with slashes between."""
    for found in transcripts(folder):
        yield before + found.name
    for entry in _entries(folder):
        name = _part(entry.name) if entry.is_dir(follow_symlinks=False) else None
        if name is not None:
            yield from subpaths(entry.path, f"{before}{name}/")


class SessionFiles:
    """The transcripts of one session, for writing, under one lock. For one thread at a time.

    Args:
        folder: The folder of the session, as :func:`folder_of` has it.
        wait: How long to wait for another writer, in seconds.
        durable: Whether what is acknowledged is on disk.
    """

    def __init__(self, folder: str, wait: float, *, durable: bool) -> None:
        self._folder = folder
        self._durable = durable
        self._lock = WriterLock(folder + _SUFFIX, folder + _SUFFIX + ".lock", wait)
        self._files: dict[str, RecordFile] = {}

    def path(self, subpath: str | None) -> str:
        """The file of the session itself, or of what hangs on it."""
        names = () if subpath is None else subpath.split("/")
        return os.path.join(self._folder, *map(_component, names)) + _SUFFIX

    def append(self, subpath: str | None, records: Sequence[Record]) -> None:
        """Add a batch of records; see :meth:`RecordFile.append`."""
        path = self.path(subpath)
        file = self._files.get(path)
        if file is None:
            file = self._files[path] = RecordFile(path, self._lock, durable=self._durable)
        try:
            file.append(records)
        except BaseException:
            self._files.pop(path).close()  # what is there now is looked at anew
            raise

    def delete(self, subpath: str | None) -> None:
        """Delete a transcript; that of the session with all that hangs on it.

        The lock file stays: who waits for it must not be let in beside others.

        Raises:
            LogBusyError: Another writer has the session.
            StorageError: The system refused.
        """
        path = self.path(subpath)
        if not (os.path.exists(path) or os.path.isdir(self._folder)):
            return
        with self._lock.batch():
            self._close_files()
            if subpath is None:
                for name in list(subpaths(self._folder)):
                    self._take_away(self.path(name))
            # The session itself last: as long as it is there, a delete that was cut off can be repeated.
            self._take_away(path)

    def _take_away(self, path: str) -> None:
        """Delete a file, and the folders of the session above it that are left empty."""
        delete_file(path)
        above = os.path.dirname(path)
        if os.path.isdir(above):
            sync_folder(path)
        while above.startswith(self._folder):
            try:
                os.rmdir(above)
            except OSError:
                return
            above = os.path.dirname(above)

    def close(self) -> None:
        """Let go of the files. What was acknowledged is safe without it; they are opened again."""
        self._close_files()
        self._lock.close()

    def _close_files(self) -> None:
        for file in self._files.values():
            file.close()
        self._files.clear()


def _component(name: str) -> str:
    """A name as that of a file or folder: harmless, and no other's. Dashes, letters and digits stay."""
    return quote(name, safe="", errors="surrogatepass").replace(".", "%2E") or "%"


def _part(component: str) -> str | None:
    """The name that a file or folder stands for; None if it stands for none."""
    name = "" if component == "%" else unquote(component, errors="surrogatepass")
    return name if _component(name) == component else None


def _entries(folder: str) -> list[os.DirEntry[str]]:
    with telling(folder, "list"):
        try:
            with os.scandir(folder) as found:
                return sorted(found, key=lambda entry: entry.name)
        except (FileNotFoundError, NotADirectoryError):
            return []
