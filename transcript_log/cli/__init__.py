"""The command ``transcript-log``. It parses, calls the library, and prints; it decides nothing.

Data goes to stdout, talk to stderr. Exit status: 0 fine, 1 something is wrong (with the
file, or found in it), 2 wrong usage or no such file. Each command is imported when it is asked for.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, Final

import click

from .._urls import without_passwords
from .._version import __version__
from ..errors import TranscriptError
from .text import one_line, plain

__all__ = ["main"]

_COMMANDS: Final[Mapping[str, str]] = {
    "replay": "replay:replay",
    "inspect": "inspect:inspect",
    "context": "context:context",
    "diff": "diff:diff",
    "check": "check:check",
    "rules": "rules:rules",
    "salvage": "salvage:salvage",
    "fork": "fork:fork",
    "copy": "copy:copy",
    "list": "list:list_",
    "import": "import_:import_",
    "stats": "stats:stats",
    "sql": "sql:sql_",
    "export": "export:export",
    "convert": "convert:convert",
    "prune": "prune:prune",
    "migrate": "migrate:migrate",
}
"""Where each command is, as ``MODULE:NAME``, in the order in which they are wanted."""


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
    """Commands in the order in which they are wanted, imported when they are asked for.

    All of them take ten times as long to import as one that says the version.
    """

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        with _telling():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        with _telling():
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click calls it
        return [*_COMMANDS]  # the word ``list`` is a module here

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        # All where none is called so: click says which ones are called nearly so.
        for name in [cmd_name] if cmd_name in _COMMANDS else _COMMANDS:
            if name not in self.commands:
                module, _, attribute = _COMMANDS[name].partition(":")
                self.add_command(getattr(import_module(f".{module}", __name__), attribute), name)
        return super().get_command(ctx, cmd_name)


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
