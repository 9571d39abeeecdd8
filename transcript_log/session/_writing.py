"""How a session adds to its log: entries made by its clock, and batches made in view of the log."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ..entries import Clock, Detail, Entry, IdSource, Item, Json, MessageEntry, new_message, new_run
from ..errors import ConflictError, IdError
from ..store import DetailKey
from ._log import SessionLog
from .runs import RunRecorder

__all__ = ["LogView", "Writer", "noting", "record_run"]

_ATTEMPTS: Final = 100
"""How often a batch makes way for those of others before it gives up."""


@dataclass(frozen=True, slots=True)
class LogView:
    """A log as it was at one moment, and what entries that follow are made with.

    Attributes:
        entries: All entries, in the order of the log.
        details: The payloads beside them, by call id and entry id.
        new_id: Where the session takes the ids of entries from.
        clock: Where it takes their times from.
    """

    entries: Sequence[Entry]
    details: Mapping[DetailKey, Json]
    new_id: IdSource
    clock: Clock

    __hash__ = None  # type: ignore[assignment]  # entries hold dicts


class Writer:
    """What writes to the log of a session.

    Attributes:
        log: The log.
        new_id: Where the ids of entries come from.
        clock: Where their times come from.
        runs: The runs that are under way; each learns what is added first.
    """

    def __init__(self, log: SessionLog, new_id: IdSource, clock: Clock) -> None:
        self.log: Final = log
        self.new_id: Final = new_id
        self.clock: Final = clock
        self.runs: Final[list[RunRecorder]] = []

    def message(self, item: Item, **more: Any) -> MessageEntry:
        """An entry for an item, not written yet; ``more`` as of :func:`transcript_log.new_message`."""
        return new_message(item, clock=self.clock, id_source=self.new_id, **more)

    def write(
        self, entries: Sequence[Entry], details: Sequence[Detail] = (), after: str | None = None
    ) -> None:
        """Add a batch; see :meth:`SessionLog.write`."""
        with self.log.lock:
            self.log.write(entries, details, after)
            self._told(entries)

    def write_again(self, entries: Sequence[Entry], details: Sequence[Detail], after: str | None) -> None:
        """Add a batch that may be there already; see :meth:`SessionLog.write_again`."""
        with self.log.lock:
            self.log.write_again(entries, details, after)
            self._told(entries)

    def view(self) -> LogView:
        """The log as far as it is known."""
        return LogView(tuple(self.log.entries), dict(self.log.details), self.new_id, self.clock)

    def _told(self, entries: Sequence[Entry]) -> None:
        for run in self.runs if entries else ():
            run.first_entry_id = run.first_entry_id or entries[0].id

    def write_in_view(
        self,
        make: Callable[[], tuple[list[Entry], list[Detail]]],
        after: str | None = None,
        *,
        stays: bool = False,
    ) -> list[Entry]:
        """Write what is made in view of the log as it is; made anew if others write in between.

        Args:
            make: Gives a batch; an empty one is not written.
            after: The id that the log must end with; None: whatever it ends with.
            stays: Whether a retry may write the batch only where it was to stand.
        """
        log = self.log
        with log.lock:
            for attempt in range(_ATTEMPTS):
                log.refresh()
                entries, details = make()
                if not (entries or details):
                    return entries
                try:
                    self.write(entries, details, log.last if after is None else after)
                except (ConflictError, IdError):
                    if after is not None or log.mode == "exclusive" or attempt == _ATTEMPTS - 1:
                        raise
                    before = log.last
                    log.refresh()
                    if log.last == before:
                        raise
                except BaseException as error:
                    if after is None and not stays and getattr(error, "after", None) is not None:
                        error.after = None  # type: ignore[attr-defined]  # it has one
                    raise
                else:
                    return entries
        raise AssertionError("unreachable")


@contextlib.contextmanager
def record_run(writer: Writer) -> Iterator[RunRecorder]:
    """Run an agent inside this; see :meth:`transcript_log.Session.run`."""

    def end(error: BaseException | None) -> None:
        with writer.log.lock:
            writer.runs.remove(recorder)
            run = recorder.ended(writer.clock(), error)
            writer.write([new_run(run, clock=writer.clock, id_source=writer.new_id)])

    recorder = RunRecorder(writer.clock())
    with writer.log.lock:
        writer.runs.append(recorder)
    try:
        yield recorder
    except BaseException as error:
        with noting(error, "the run"):
            end(error)
        raise
    end(None)


@contextlib.contextmanager
def noting(error: BaseException, what: str) -> Iterator[list[Exception]]:
    """What goes wrong in the body is noted on an error that matters more, with what it carries.

    Gives the list of what went wrong.
    """
    wrong: list[Exception] = []
    try:
        yield wrong
    except Exception as other:  # noqa: BLE001 - see above
        wrong.append(other)
        error.add_note(f"transcript_log could not record {what}: {other}")
        with contextlib.suppress(AttributeError):
            # Both, if the body's error is of a write of its own; a retry writes them one after another.
            for name in ("entries", "details"):
                setattr(error, name, (*getattr(error, name, ()), *getattr(other, name, ())))
            error.after = getattr(error, "after", None)  # type: ignore[attr-defined]  # any error may come by
