"""The store of a session by its name: a path, or the URL of a session in a database."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias, TypeGuard

from ._urls import SessionUrl, is_misspelt, is_url, without_passwords
from .entries import Header
from .errors import StorageError
from .jsonl import Durability, JsonlStore

if TYPE_CHECKING:
    from .postgres import PostgresStore

__all__ = [
    "LogStore",
    "SessionUrl",
    "is_log_store",
    "is_misspelt",
    "is_url",
    "open_store",
    "without_passwords",
]

LogStore: TypeAlias = "JsonlStore | PostgresStore"
"""A store that a name can stand for."""


def open_store(
    name: str | os.PathLike[str],
    *,
    durability: Durability = "fsync",
    checksum: bool = True,
    wait: float = 5.0,
    header: Header | None = None,
) -> LogStore:
    """The store of the session that a name is of. Nothing is opened or made yet.

    Args:
        name: A path; or ``postgresql://user@host/database#SESSION``, for which the extra
            ``postgres`` has to be installed. What of the id is special in a URL is percent-encoded.
        durability: See :data:`transcript_log.jsonl.Durability`; a database always waits for its disk.
        checksum: Whether a batch of one entry is sealed too.
        wait: How long an append waits for another writer, in seconds.
        header: The header of a log that the store makes; in a database it gets the id of the session.

    Raises:
        NoPostgresError: The extra is not installed.
        SessionIdError: A database cannot hold such an id.
        StorageError: The URL names no session, or is spelled as libpq does not take it.
    """
    path = os.fspath(name)
    if is_misspelt(path):
        shown, reason = without_passwords(path), "libpq takes no such URL"
        raise StorageError(shown, "open the session", reason, None, "begin it with postgresql://")
    if not is_url(path):
        return JsonlStore(path, durability=durability, checksum=checksum, wait=wait, header=header)
    url = SessionUrl(path)
    if not url.session:
        advice = "add #SESSION to it; in a password # is written %23"
        raise StorageError(str(url), "open the session", "the URL names none", None, advice)
    if header is not None:
        header = replace(header, id=url.session)
    from .postgres import PostgresStore  # noqa: PLC0415 - an extra

    return PostgresStore(url.conninfo, url.session, checksum=checksum, wait=wait, header=header)


def is_log_store(store: object) -> TypeGuard[LogStore]:
    """Whether a store is one that a name can stand for; loads nothing to find out."""
    if isinstance(store, JsonlStore):
        return True
    module = sys.modules.get(f"{__package__}.postgres")
    return module is not None and isinstance(store, module.PostgresStore)
