"""The command ``transcript-log``. It parses, calls the library, and prints; it decides nothing.

Data goes to stdout, talk to stderr. Exit status: 0 fine, 1 something is wrong (with the
file, or found in it), 2 wrong usage or no such file.
"""

from __future__ import annotations

import sys
from typing import Any

import click

from .._version import __version__
from ..errors import TranscriptError
from .check import check
from .inspect import inspect
from .list import list_
from .replay import replay
from .salvage import salvage
from .text import plain

__all__ = ["main"]


class _Group(click.Group):
    """Tell the library's own errors in one line; let any other error crash."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except TranscriptError as error:
            raise click.ClickException(plain(str(error))) from error


@click.group(
    cls=_Group,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit status: 0 fine, 1 something is wrong, 2 wrong usage or no such file.",
)
@click.version_option(__version__, prog_name="transcript-log")
def main() -> None:
    """Look into the sessions of coding agents, and mend them.

    FILE is a log of this package or a Codex rollout, told apart by content.

    \b
    Example:
        transcript-log replay session.jsonl | less -R
    """
    for stream in (sys.stdout, sys.stderr):
        # A terminal of another encoding shows an escape instead of failing.
        getattr(stream, "reconfigure", lambda **_: None)(errors="backslashreplace")


for _command in (replay, inspect, check, salvage, list_):
    main.add_command(_command)
