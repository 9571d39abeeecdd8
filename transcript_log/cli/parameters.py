"""What else than a session file the words of commands may name."""

from __future__ import annotations

import errno
import os
from typing import Any

import click

from ..errors import StorageError
from ..stores import SessionUrl, is_url
from .naming import PathType
from .source import FileType, named_session
from .text import one_line

__all__ = ["DatabaseType", "LocalType", "NewFileType", "OutType", "SourceType"]


class SourceType(FileType):
    """What :class:`FileType` takes, or the URL of a database, for all sessions in it."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        path = PathType.convert(self, value, param, ctx)
        if is_url(path) and path.partition("#")[2] == "":
            url = SessionUrl(path.partition("#")[0])
            if not url.endswith(":***"):
                return url
        return super().convert(value, param, ctx)


class DatabaseType(PathType):
    """The URL of a database, without a session."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        given = super().convert(value, param, ctx)
        if not is_url(given):
            self.fail("give the URL of a database, as postgresql://user@host/database", param, ctx)
        url = SessionUrl(given)
        if url.endswith(":***"):
            self.fail(f"{url}: write # in a password as %23", param, ctx)
        if url.session:
            self.fail(one_line(f"{url}: leave #{url.session} out: this is about the database"), param, ctx)
        return url


class LocalType(PathType):
    """A path that no URL of a database may stand for."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        path = super().convert(value, param, ctx)
        if is_url(path):
            self.fail(one_line(f"{SessionUrl(path)}: name a file; a database takes logs alone"), param, ctx)
        return path


class OutType(PathType):
    """A path, or the URL of a session."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        path = super().convert(value, param, ctx)
        return named_session(path) if is_url(path) else path


class NewFileType(PathType):
    """A path that must name nothing yet, or the URL of a session; whether that is there is told later."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        path = super().convert(value, param, ctx)
        if is_url(path):
            return named_session(path)
        if "\0" not in path and os.path.lexists(path):
            raise StorageError(path, "make the log", "there is a file already", errno.EEXIST, "name another")
        return path
