"""Calls are run, and answered: what of that is put on record, and when."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, Final

from ..codec import outcome_payload, started_payload
from ..entries import Detail, Entry, MessageEntry, ToolOutcome, ToolStarted
from ..errors import EntryError, EntryNotFoundError, LateOutputError
from ..response import ToolCall
from ._log import SessionLog
from ._writing import Writer, noting
from .calls import CallRecorder, OpenCall, Place, answer, find_call, has_started, newer_holder

__all__ = ["journal_call", "place_of", "put_output"]

_UNSTORED: Final = "[The tool has run, but what it gave back could not be recorded: {error}]"
"""Stands for an output that is no JSON."""


def place_of(log: SessionLog, given: ToolCall | OpenCall) -> Place:
    """Where a call stands in the log.

    Raises:
        EntryNotFoundError: The entry that it names is not there.
        EntryError: No entry holds it.
    """
    call = given.call if isinstance(given, OpenCall) else given
    if call.entry is None:
        try:
            return find_call(call, log.entries, None)
        except EntryError:  # others may have added it
            log.refresh()
            return find_call(call, log.entries, None)
    if log.entry(call.entry) is None:
        log.refresh()
    holder = log.entry(call.entry)
    if holder is None:
        raise EntryNotFoundError(call.entry, log.path)
    return find_call(call, log.entries, holder)


def put_output(
    writer: Writer, place: Place, content: Any, *, is_error: bool, outcome: ToolOutcome | None
) -> MessageEntry:
    """Answer a call: its output, and how it ended, in one batch.

    Raises:
        EntryError: The content cannot be stored.
        LateOutputError: It would answer a newer call with the same id. How it ended is written.
    """
    log = writer.log
    name, holder = place.part.id or "", place.entry.id
    with log.lock:
        item = answer(place, content, is_error=is_error, outcome=outcome)
        if outcome is None and (is_error or has_started(name, holder, log.details)):
            outcome = ToolOutcome(status="failed" if is_error else "success")
        entry = writer.message(item, family=place.entry.family)
        told = [] if outcome is None else [Detail(id=name, payload=outcome_payload(outcome), entry=holder)]
        newer: str | None = None

        def output() -> tuple[list[Entry], list[Detail]]:
            nonlocal newer
            newer = newer_holder(place, log.entries)
            return ([entry] if newer is None else []), told

        writer.write_in_view(output)
        if newer is not None:
            raise LateOutputError(log.path, name, holder, newer)
    return entry


@contextlib.contextmanager
def journal_call(
    writer: Writer, call: ToolCall | OpenCall, suppress: type[Exception] | tuple[type[Exception], ...]
) -> Iterator[CallRecorder]:
    """Run a tool inside this; see :meth:`transcript_log.Session.call`."""
    given = call.call if isinstance(call, OpenCall) else call
    if given.is_cut:
        raise EntryError("$.call", f"the call {given.id!r} was cut off before it was whole: it must not run")
    with writer.log.lock:
        place = place_of(writer.log, call)
        started = started_payload(ToolStarted(at=writer.clock()))
        writer.write((), [Detail(id=place.part.id or "", payload=started, entry=place.entry.id)])
    recorder = CallRecorder(given)
    try:
        yield recorder
    except BaseException as error:
        failed = isinstance(error, Exception)
        outcome = ToolOutcome(status="failed" if failed else "cancelled", error_code=type(error).__name__)
        with noting(error, "that") as noted:
            put_output(writer, place, _told(error), is_error=True, outcome=outcome)
        if noted or not isinstance(error, suppress):
            raise
        return
    outcome = recorder.outcome or ToolOutcome(status="failed" if recorder.is_error else "success")
    try:
        put_output(writer, place, recorder.content, is_error=recorder.is_error, outcome=outcome)
    except EntryError as error:
        # The tool has run: it must not look as if nobody knew how it ended.
        put_output(writer, place, _UNSTORED.format(error=error), is_error=True, outcome=outcome)
        raise


def _told(error: BaseException) -> str:
    """What a model is told of a tool that raised."""
    said = str(error).strip()
    name = type(error).__name__
    if isinstance(error, Exception):
        return f"The tool failed: {name}: {said}" if said else f"The tool failed: {name}"
    return f"[This tool call was cancelled ({name}) before it ended. Check what it did before repeating it.]"
