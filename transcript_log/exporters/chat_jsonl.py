"""A session as what a Chat Completions server would be sent next: one message per line.

It is the context of :func:`transcript_log.context.build_context` for ``openai-chat``: what the
newest compaction leaves, with an output for each call, without what only its producer can
read. Every difference to the log is told as a change.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from .._plain import json_line
from ..context import Context, build_context
from ..families import Target
from . import Exported, ExportSource

__all__ = ["export_chat"]

_TARGET: Final = Target("openai-chat", "any")
"""Chat Completions bind nothing to a model; reasoning in plain text that came of such a server stays."""


def export_chat(source: ExportSource) -> Exported:
    """The context of a session as Chat Completions messages, each a line of JSON in ASCII escapes
    where a character could hide.

    Raises:
        ContextError: No context can be made that such a server takes, as of a session without
            any message.
    """
    context = build_context(source.entries, _TARGET, details=source.details)
    return Exported(pieces=_lines(context), changes=context.changes)


def _lines(context: Context) -> Iterator[str]:
    for item in context.items:
        yield json_line(item) + "\n"
