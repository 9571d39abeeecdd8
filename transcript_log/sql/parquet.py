"""All views of many sessions as files of Parquet, one for each."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from .._logfile.files import make_folder, sync_folder, telling, write_file
from ..errors import StorageError
from ..findings import Finding
from .asking import doubt_findings, rows_folder
from .engine import copy_rows, require_engine
from .gathering import Clean, gather
from .views import ALL_COLUMNS, VIEWS

__all__ = ["Written", "write_parquet"]

_DOING = "write the tables"


class Written(NamedTuple):
    """What was written.

    Attributes:
        sizes: The size of each file in bytes, by its path.
        findings: See :class:`transcript_log.sql.Answer`.
        unreadable: How many session files could not be read at all.
    """

    sizes: Mapping[str, int]
    findings: Sequence[Finding]
    unreadable: int


def write_parquet(
    files: Sequence[str],
    folder: str,
    *,
    replace: bool = False,
    processes: int = 1,
    clean: Clean | None = None,
) -> Written:
    """Write every view of session files into a folder: ``sessions.parquet`` and so on.

    A folder that is new is there with all of them or not at all.

    Args:
        files: The session files.
        folder: Where to. It is made, with mode 0700; the files have mode 0600.
        replace: Whether a folder that is there is taken, and files of those names in it are replaced.
        processes: How many processes read; without ``clean``.
        clean: What becomes of a session before rows are made of it.

    Raises:
        StorageError: The folder is there already, or the system refused.
        NoDuckDBError: The extra ``sql`` is not installed.
    """
    require_engine()
    is_there = os.path.lexists(folder)
    if is_there and not replace:
        raise StorageError(folder, _DOING, "there is something already", errno.EEXIST, "name another")
    with rows_folder() as rows:
        gathered = gather(files, ALL_COLUMNS, rows, processes=1 if clean else processes, clean=clean)
        made = {name: os.path.join(rows, f"{name}.parquet") for name in VIEWS}
        copy_rows(gathered, made)
        with _folder(folder, is_there=is_there) as place:
            sizes = {
                os.path.join(folder, f"{name}.parquet"): write_file(
                    os.path.join(place, f"{name}.parquet"), _pieces(path), replace=is_there
                )
                for name, path in made.items()
            }
    return Written(sizes, (*gathered.damage, *doubt_findings(gathered)), gathered.unreadable)


@contextlib.contextmanager
def _folder(folder: str, *, is_there: bool) -> Iterator[str]:
    """The folder to write into: a draft, where it is a new one."""
    if is_there:
        yield folder
        return
    draft = f"{folder.rstrip(os.sep)}.{os.urandom(4).hex()}.new"
    make_folder(os.path.join(draft, ""))
    try:
        yield draft
        with telling(folder, _DOING):
            os.rename(draft, folder)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    sync_folder(folder)


def _pieces(path: str) -> Iterator[bytes]:
    with telling(path, "read the rows"), open(path, "rb") as file:
        while piece := file.read(1 << 20):
            yield piece
