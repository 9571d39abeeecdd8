"""Sessions by the beginning of their id, wherever a file is asked for."""

from __future__ import annotations

import os
import re
from typing import Any, Final

import click

from .._urls import is_misspelt, without_passwords
from ..errors import StorageError
from ..places import Found, agent_homes, find_sessions
from .output import echo
from .text import one_line

__all__ = ["AmbiguousError", "NoSuchFileError", "PathType", "may_be_id", "session_named", "shown_path"]

_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")
_SHOWN: Final = 20
"""How many sessions are named where several are meant."""


class PathType(click.Path):
    """A path, taken as it is given: what is wrong with it is told where it is opened."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        path = os.fsdecode(value)
        if is_misspelt(path):
            shown = without_passwords(path)
            self.fail(one_line(f"{shown}: begin the URL of a database with postgresql://"), param, ctx)
        return path


class NoSuchFileError(click.ClickException):
    """What was named is not there."""

    exit_code = 2

    def __init__(self, path: str, what: str = "there is no such file") -> None:
        super().__init__(one_line(f"{path or repr(path)}: {what}"))


class AmbiguousError(click.ClickException):
    """An id is the beginning of several."""

    exit_code = 2

    def __init__(self, prefix: str, found: list[Found]) -> None:
        lines = [f"{prefix}: the ids of {len(found)} sessions begin so; give more of one, or a path"]
        width = max(len(each.id) for each in found[:_SHOWN])
        lines += [
            f"  {each.id:<{width}}  {each.format:<14}  {shown_path(each.path)}" for each in found[:_SHOWN]
        ]
        lines += [f"  and {len(found) - _SHOWN} more"] if len(found) > _SHOWN else []
        super().__init__("\n".join(one_line(line) for line in lines))


def may_be_id(word: str) -> bool:
    """Whether a word could be the beginning of a session id, and not only a path."""
    return _ID.fullmatch(word) is not None


def session_named(prefix: str) -> str:
    """The file of the session whose id begins so, in this folder or in the agents' own places.

    Which one it is, is told on stderr.

    Raises:
        NoSuchFileError: There is none; it says where was looked.
        AmbiguousError: There are several.
    """
    homes = agent_homes(os.environ)

    def tell(error: StorageError) -> None:
        echo(one_line(str(error)), err=True)

    found = find_sessions(prefix, ".", homes, tell)
    if len(found) > 1:
        raise AmbiguousError(prefix, found)
    if not found:
        places = ", ".join(["this folder", *(shown_path(home.folder) for home in homes)])
        raise NoSuchFileError(prefix, f"there is no such file, and no session id begins so in {places}")
    echo(one_line(f"{prefix}: {shown_path(found[0].path)}"), err=True)
    return found[0].path


def shown_path(path: str) -> str:
    """A path for people: the user's folder as ``~``."""
    home = os.path.expanduser("~")
    return f"~{path[len(home) :]}" if home != os.sep and path.startswith(home + os.sep) else path
