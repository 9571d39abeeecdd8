"""The rules of entries that hold on both sides, reading and writing."""

from __future__ import annotations

from typing import Final

from ..entries import ContextAttachment, Invocation, Json, Run
from ..errors import EntryError

__all__ = [
    "INT64",
    "NO_TIME",
    "PAYLOADS",
    "RUN_STATUSES",
    "TIME_UNKNOWN",
    "UINT64",
    "check_context",
    "check_invocation",
    "check_run",
]

INT64: Final = (-(2**63), 2**63 - 1)
UINT64: Final = (0, 2**64 - 1)
"""The least and the greatest integer of either kind."""

PAYLOADS: Final = ("message", "context", "compaction", "run")
"""The known types of entries, each with its payload under the key of that name."""

RUN_STATUSES: Final = ("completed", "failed", "cancelled")
"""How a run may end."""

TIME_UNKNOWN: Final = "timeUnknown"
"""The key that says, with true, that an entry's time stands there because one has to."""

NO_TIME: Final = "1970-01-01T00:00:00Z"
"""The time that stands there then."""


def check_invocation(invocation: Invocation, message: Json) -> None:
    """Check the prompt template of a message; raises :class:`EntryError`."""
    where = "$.invocation"
    if invocation.kind != "prompt_template":
        raise EntryError(f"{where}.kind", f"{invocation.kind!r} is no kind of an invocation")
    for key in ("name", "source", "path"):
        value = getattr(invocation, key)
        if type(value) is not str or not value:
            raise EntryError(f"{where}.{key}", "the invocation is incomplete")
    if message.get("role") != "user":
        raise EntryError(where, "only a user message is made from a prompt template")


def check_context(context: ContextAttachment) -> None:
    """Check a context attachment; raises :class:`EntryError`."""
    where = "$.context"
    for key, value in (
        ("attachmentId", context.attachment_id),
        ("kind", context.kind),
        ("placement", context.placement),
        ("revision", context.revision),
        ("rendered", context.rendered),
    ):
        if type(value) is not str or not value:
            raise EntryError(f"{where}.{key}", "the context attachment is incomplete")
    if type(context.epoch) is not int or context.epoch < 1:
        raise EntryError(f"{where}.epoch", "the epoch of a context attachment counts from 1")
    if context.path is not None and type(context.path) is not str:
        raise EntryError(f"{where}.path", "the path of a context attachment is no text")


def check_run(run: Run) -> None:
    """Check that a run ends after it starts; raises :class:`EntryError`."""
    if run.completed_at < run.started_at:
        raise EntryError("$.run.completedAt", "the run ends before it starts")
