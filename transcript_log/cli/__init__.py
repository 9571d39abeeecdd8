"""The command ``transcript-log``. It parses, calls the library, and prints; it decides nothing.

Data goes to stdout, talk to stderr. Exit status: 0 fine, 1 something is wrong (with the
file, or found in it), 2 wrong usage or no such file.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

import click

from .._urls import without_passwords
from .._version import __version__
from ..errors import TranscriptError
from .check import check
from .context import context
from .copy import copy
from .diff import diff
from .export import export
from .fork import fork
from .import_ import import_
from .inspect import inspect
from .list import list_
from .migrate import migrate
from .prune import prune
from .replay import replay
from .salvage import salvage
from .stats import stats
from .text import one_line, plain

__all__ = ["main"]


@contextlib.contextmanager
def _telling() -> Iterator[None]:
    """Tell the library's own errors in one line, and wrong usage fit for a terminal; let others crash."""
    try:
        yield
    except click.UsageError as error:
        message = error.format_message()
        if without_passwords(plain(message)) == message:
            raise
        # It quotes an argument, such as the name of a file, which may hold anything.
        raise click.UsageError(one_line(without_passwords(message)), error.ctx) from error
    except TranscriptError as error:
        raise click.ClickException(one_line(str(error))) from error


class _Group(click.Group):
    """Commands in the order in which they are wanted."""

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        with _telling():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        with _telling():
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click calls it
        return [*self.commands]  # the word ``list`` is a module here


@click.group(
    cls=_Group,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit status: 0 fine, 1 something is wrong, 2 wrong usage or no such file.",
)
@click.version_option(__version__, prog_name="transcript-log")
def main() -> None:
    """Look into the sessions of coding agents, and mend them.

    FILE is a log of this package, or a session of Claude Code, Codex or pi, told apart by
    content, or the beginning of a session's id ('transcript-log list' shows them), or
    postgresql://user@host/database#SESSION with the extra 'postgres'.

    \b
    Example:
        transcript-log replay session.jsonl --color | less -R
    """
    for stream in (sys.stdout, sys.stderr):
        # A terminal of another encoding shows an escape instead of failing.
        getattr(stream, "reconfigure", lambda **_: None)(errors="backslashreplace")


for _command in (
    replay,
    inspect,
    context,
    diff,
    check,
    salvage,
    fork,
    copy,
    list_,
    import_,
    stats,
    export,
    prune,
    migrate,
):
    main.add_command(_command)
