"""What can go wrong, as one tree of exceptions.

Each class answers a question that a caller would ask: is it my value, is it the
file, is it another writer, is it the machine? Every sentence says where, and what
to do. Arguments go to ``super().__init__``, so errors pickle and compare.
"""

from __future__ import annotations

import errno as _errno
import os
from collections.abc import Sequence
from typing import Any, Literal

from .findings import Change, Finding

__all__ = [
    "BoundaryError",
    "ConflictError",
    "ContextError",
    "CorruptLogError",
    "EntryError",
    "EntryNotFoundError",
    "FamilyRequiredError",
    "HeaderError",
    "IdError",
    "LateOutputError",
    "LogBusyError",
    "ReconciliationError",
    "RequestNotFoundError",
    "RulesError",
    "SessionIdError",
    "StorageError",
    "StrictContextError",
    "TargetError",
    "TranscriptError",
    "VersionError",
]


class TranscriptError(Exception):
    """The base of every error that this package raises on purpose.

    Attributes:
        entries: What a session was about to write when it was met: ``Session.retry`` writes it.
        details: The sidecar records of the same batch.
        after: The entry that it was to follow; None: any.
    """

    entries: tuple[Any, ...] = ()
    details: tuple[Any, ...] = ()
    after: str | None = None


class EntryError(TranscriptError, ValueError):
    """A value is no valid entry, or cannot be stored as it is.

    Attributes:
        where: The path inside the entry, as in ``$.message.content[2].text``.
        reason: What is wrong there.
        kind: ``"json"``: no JSON, or a value of the wrong JSON type, or an unreadable
            time; ``"message"``: the message payload; ``"invalid"``: a rule of entries.
    """

    def __init__(
        self, where: str, reason: str, kind: Literal["json", "message", "invalid"] = "invalid"
    ) -> None:
        super().__init__(where, reason, kind)
        self.where = where
        self.reason = reason
        self.kind = kind

    def __str__(self) -> str:
        return f"{self.reason} at {self.where}"


class IdError(TranscriptError, ValueError):
    """An entry id is already in the log, with other content. Nothing was written."""

    def __init__(self, entry_id: str, path: str) -> None:
        super().__init__(entry_id, path)
        self.entry_id = entry_id
        self.path = path

    def __str__(self) -> str:
        return (
            f"{self.path}: an entry with the id {self.entry_id!r} and other content is already there;"
            " nothing was written, give the new entry an id of its own"
        )


class EntryNotFoundError(TranscriptError, LookupError):
    """No entry of the log has this id."""

    def __init__(self, entry_id: str, path: str) -> None:
        super().__init__(entry_id, path)
        self.entry_id = entry_id
        self.path = path

    def __str__(self) -> str:
        return (
            f"{self.path}: no entry has the id {self.entry_id!r};"
            " 'transcript-log replay --json' on the file shows the ids there are"
        )


class RequestNotFoundError(TranscriptError, LookupError):
    """The request that a response answers cannot be told.

    Attributes:
        entry_id: The entry that was asked about.
        reason: Why not.
    """

    def __init__(self, entry_id: str, reason: str) -> None:
        super().__init__(entry_id, reason)
        self.entry_id = entry_id
        self.reason = reason

    def __str__(self) -> str:
        return f"entry {self.entry_id}: {self.reason}"


class FamilyRequiredError(TranscriptError, ValueError):
    """An item holds what its producer alone can read, and nobody said who that is.

    ``index`` is where the item stands among those given.
    """

    def __init__(self, index: int) -> None:
        super().__init__(index)
        self.index = index

    def __str__(self) -> str:
        return (
            f"item {self.index} holds what only its producer can read (reasoning, a signature, a checkpoint);"
            " say which target made it (target=), or no context will ever have that"
        )


class SessionIdError(TranscriptError, ValueError):
    """A session id could name a file outside its folder, or no file at all; or no table can hold it."""

    def __init__(
        self,
        session_id: object,
        advice: str = "use 1 to 128 of the characters A-Z a-z 0-9 _ -, beginning with a letter or digit",
    ) -> None:
        super().__init__(session_id, advice)
        self.session_id = session_id
        self.advice = advice

    def __str__(self) -> str:
        shown = repr(self.session_id)
        if len(shown) > 60:
            shown = shown[:57] + "..."
        return f"{shown} is no session id: {self.advice}"


class ConflictError(TranscriptError):
    """The log does not end where the caller thought. Nothing was written.

    Attributes:
        path: The log.
        expected: The id that was to be last; ``""`` for an empty log.
        found: The id that is.
        of: ``"log"``; ``"compaction"`` where these are the newest compactions; ``"lease"`` where the
            lease was lost, so that it cannot be known what others wrote.
    """

    def __init__(
        self, path: str, expected: str, found: str, of: Literal["log", "compaction", "lease"] = "log"
    ) -> None:
        super().__init__(path, expected, found, of)
        self.path = path
        self.expected = expected
        self.found = found
        self.of = of

    def __str__(self) -> str:
        if self.of == "compaction":
            return (
                f"{self.path}: the compaction {self.found!r} was added since the plan was made;"
                " nothing was written, plan again"
            )
        if self.of == "lease":
            return (
                f"{self.path}: the lease was lost with the connection that it lived on;"
                " nothing was written, open the session again"
            )
        expected = f"the entry {self.expected!r}" if self.expected else "an empty log"
        found = f"the log ends with {self.found!r}" if self.found else "the log is empty"
        return (
            f"{self.path}: expected {expected} to be last, but {found}; nothing was written,"
            " read what was added and append again"
        )


class LateOutputError(TranscriptError):
    """A tool ended when another call with the id of its own had been made; its output would answer that.

    How it ended is on record. What it gave back is not: it is to be told to the model in a
    message.

    Attributes:
        path: The log.
        call: The id of the call.
        entry: The entry that holds it.
        newer: The entry of the newer call with this id.
    """

    def __init__(self, path: str, call: str, entry: str, newer: str) -> None:
        super().__init__(path, call, entry, newer)
        self.path = path
        self.call = call
        self.entry = entry
        self.newer = newer

    def __str__(self) -> str:
        return (
            f"{self.path}: the output of the call {self.call!r} in the entry {self.entry!r} would answer the"
            f" newer call of that id in the entry {self.newer!r}; only how it ended was written,"
            " tell the model of the output in a message"
        )


class LogBusyError(TranscriptError):
    """Another writer holds the log's lock. Nothing was written.

    Attributes:
        path: The log.
        pid: The holder's process id on ``host``, or None if it could not be told.
        host: The holder's host name, or None.
        since: When it took the lock (RFC 3339, UTC), or None.
        state: What is known of the holder: ``"this process"``, ``"running"``,
            ``"stopped"`` (suspended by a signal), ``"gone"``, or ``"unknown"``.
    """

    def __init__(
        self,
        path: str,
        pid: int | None = None,
        host: str | None = None,
        since: str | None = None,
        state: str = "unknown",
    ) -> None:
        super().__init__(path, pid, host, since, state)
        self.path = path
        self.pid = pid
        self.host = host
        self.since = since
        self.state = state

    def __str__(self) -> str:
        if self.state == "this process":
            return (
                f"{self.path}: the log is in use (locked): this process holds a lease on it"
                f" since {self.since}; append through the store that holds it, or end that lease"
            )
        if self.pid is None:
            return f"{self.path}: the log is in use (locked) by another writer; try again later"
        advice = {
            "running": "wait for it, or close that session",
            "stopped": "it is stopped (suspended): resume or end it",
            "gone": "that process is gone, and its successor has not said its name: try again",
        }.get(self.state, "wait for it, or close that session")
        return (
            f"{self.path}: the log is in use (locked) by process {self.pid} on {self.host}"
            f" since {self.since}; {advice}"
        )


class StorageError(TranscriptError, OSError):
    """The system refused to read or write. Nothing was added to the log.

    ``errno``, ``strerror`` and ``filename`` are those of the system's own error, which
    is also the ``__cause__``; errno is None where a rule of ours was broken instead.
    """

    def __init__(self, path: str, doing: str, reason: str, code: int | None = None, advice: str = "") -> None:
        super().__init__(path, doing, reason, code, advice)
        # OSError would keep the first two of them only.
        self.args = (path, doing, reason, code, advice)
        self.path = path
        self.doing = doing
        self.reason = reason
        self.advice = advice
        self.errno = code
        self.strerror = reason
        self.filename = path

    def __reduce__(self) -> tuple[type[StorageError], tuple[object, ...], dict[str, Any]]:
        return type(self), self.args, self.__dict__

    @classmethod
    def of(cls, path: str, doing: str, error: OSError, advice: str = "") -> StorageError:
        """The error that tells of ``error``, met while ``doing`` something to ``path``."""
        code = error.errno
        reason = os.strerror(code) if code else (error.strerror or str(error))
        return cls(path, doing, reason, code, advice)

    def __str__(self) -> str:
        name = _errno.errorcode.get(self.errno or 0)
        code = f" ({name})" if name else ""
        advice = f"; {self.advice}" if self.advice else ""
        return f"{self.path}: cannot {self.doing}: {self.reason}{code}{advice}"


class CorruptLogError(TranscriptError):
    """A log holds something that no crash of a writer leaves behind.

    Attributes:
        path: The file.
        line: The physical line, counted from 1 (blank lines and the header count).
        offset: Where that line begins, in bytes from the start of the file.
        reason: What is wrong with it.
        advice: What to do.
        entry_id: The entry concerned, where it could be read.
        kind: ``"line"``, or ``"duplicate-id"`` for an id that stands twice.
    """

    def __init__(
        self,
        path: str,
        line: int,
        offset: int,
        reason: str,
        advice: str = "",
        entry_id: str | None = None,
        kind: str = "line",
    ) -> None:
        super().__init__(path, line, offset, reason, advice, entry_id, kind)
        self.path = path
        self.line = line
        self.offset = offset
        self.reason = reason
        self.advice = advice
        self.entry_id = entry_id
        self.kind = kind

    def __str__(self) -> str:
        advice = f"; {self.advice}" if self.advice else ""
        return f"{self.path}: line {self.line} (byte {self.offset}): {self.reason}{advice}"


class HeaderError(CorruptLogError):
    """The first line is no header of ours: the file is no session log, or a broken one.

    Such a file is never written to. ``kind`` is ``"header-json"``, ``"header-type"`` or
    ``"header-version"``.
    """


class VersionError(HeaderError):
    """The log is of another format version than this package understands."""

    def __init__(
        self,
        path: str,
        line: int,
        offset: int,
        found: object,
        understood: int,
        advice: str = "",
    ) -> None:
        reason = f"the log is of format version {found}, and only version {understood} is understood"
        super().__init__(path, line, offset, reason, advice, None, "header-version")
        self.args = (path, line, offset, found, understood, advice)
        self.found = found
        self.understood = understood


class BoundaryError(TranscriptError, ValueError):
    """A compaction keeps from an entry that is no earlier message.

    Attributes:
        compaction_id: The compaction.
        kept_id: The entry that it names.
        kind: ``"first-kept-not-before"`` or ``"first-kept-not-a-message"``.
    """

    def __init__(self, compaction_id: str, kept_id: str, kind: str) -> None:
        super().__init__(compaction_id, kept_id, kind)
        self.compaction_id = compaction_id
        self.kept_id = kept_id
        self.kind = kind

    def __str__(self) -> str:
        if self.kind == "first-kept-not-a-message":
            what = "is not a message"
        else:
            what = f"is not before compaction {self.compaction_id}"
        return f"first kept entry {self.kept_id} {what}"


class TargetError(TranscriptError, ValueError):
    """A target cannot be made or used: its API is not known here, or a part of its name is bad."""

    def __init__(self, named: str, reason: str) -> None:
        super().__init__(named, reason)
        self.named = named
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.named!r}: {self.reason}"


class RulesError(TranscriptError, ValueError):
    """A file of rules says something that is no rule.

    ``path`` is the file, ``key`` where in it, as in ``api."my-gateway".rules.call-id.length``;
    ``""`` for the whole.
    """

    def __init__(self, path: str, key: str, reason: str) -> None:
        super().__init__(path, key, reason)
        self.path = path
        self.key = key
        self.reason = reason

    def __str__(self) -> str:
        return ": ".join(filter(None, (self.path, self.key, self.reason)))


class ContextError(TranscriptError, ValueError):
    """A context was built, and its API would refuse it all the same. It is never given out.

    ``findings`` are the rules that are still broken, in the order of the items.
    """

    def __init__(self, api: str, findings: Sequence[Finding]) -> None:
        super().__init__(api, tuple(findings))
        self.api = api
        self.findings = tuple(findings)

    def __str__(self) -> str:
        told = "; ".join(str(finding) for finding in self.findings[:5])
        more = len(self.findings) - 5
        return f"{self.api} would refuse this context: {told}" + (f"; and {more} more" if more > 0 else "")


class StrictContextError(TranscriptError, ValueError):
    """A strict context would have needed a change. ``change`` is the first one."""

    def __init__(self, change: Change) -> None:
        super().__init__(change)
        self.change = change

    def __str__(self) -> str:
        return (
            f"strict: the history is not right as it is, and would have to be changed ({self.change});"
            " build the context without strict to have that done"
        )


class ReconciliationError(TranscriptError, ValueError):
    """Items that the strict core cannot put in order. Nothing was changed.

    Attributes:
        kind: ``"invalid_items"``: no sequence of items; ``"invalid_cutoff"``;
            ``"missing_call_id"``; ``"duplicate_call"``; ``"duplicate_output"``;
            ``"missing_output"``: nobody answered the call, and no repair was offered;
            ``"invalid_repair_output"``: what was offered does not answer the call.
        call_id: The call concerned; None where it has no usable id.
        item: The item concerned, the very object; None where none is.
    """

    def __init__(self, kind: str, call_id: str | None = None, item: object = None) -> None:
        super().__init__(kind, call_id, item)
        self.kind = kind
        self.call_id = call_id
        self.item = item

    def __str__(self) -> str:
        what = {
            "invalid_items": "a list of items is needed",
            "invalid_cutoff": "the cutoff must be a whole number of items from the start",
            "missing_call_id": "a call or an output has no call id",
            "duplicate_call": "two calls have one id; give each call an id of its own",
            "duplicate_output": "two outputs answer one call; keep one",
            "missing_output": "nobody answered the call; offer an output for it",
            "invalid_repair_output": "what was offered is no output of this call",
        }.get(self.kind, self.kind)
        return what if self.call_id is None else f"call {self.call_id}: {what}"
