"""An append-only session log for coding agents, and the projections of it.

Start with :class:`Session`; below it are :class:`JsonlStore` and :func:`build_context`. The modules
hold more: ``adapters``, ``aio``, ``apis``, ``boundary``, ``check``, ``compaction``, ``context``, ``copying``,
``counts``, ``families``, ``history``, ``importers``, ``items``, ``lines``, ``memory``, ``postgres``,
``projection``, ``reconcile``, ``recorded``, ``sent``, ``stats``, ``stores`` and ``testing``.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from .codec import outcome_payload, read_outcome
    from .context import Context, build_context, context_at
    from .entries import (
        FORMAT_VERSION,
        Compaction,
        CompactionEntry,
        ContextAttachment,
        ContextEntry,
        Detail,
        Entry,
        Header,
        Invocation,
        Item,
        MessageEntry,
        OpaqueEntry,
        Run,
        RunEntry,
        ToolOutcome,
        new_compaction,
        new_context,
        new_header,
        new_id,
        new_message,
        new_run,
    )
    from .errors import (
        ConflictError,
        ContextError,
        CorruptLogError,
        EntryError,
        FamilyRequiredError,
        HeaderError,
        IdError,
        LogBusyError,
        StorageError,
        TranscriptError,
        VersionError,
    )
    from .families import Target
    from .findings import Change, Finding
    from .jsonl import JsonlStore, session_path
    from .session import Session
    from .store import Scan, Store

__all__ = [
    "FORMAT_VERSION",
    "Change",
    "Compaction",
    "CompactionEntry",
    "ConflictError",
    "Context",
    "ContextAttachment",
    "ContextEntry",
    "ContextError",
    "CorruptLogError",
    "Detail",
    "Entry",
    "EntryError",
    "FamilyRequiredError",
    "Finding",
    "Header",
    "HeaderError",
    "IdError",
    "Invocation",
    "Item",
    "JsonlStore",
    "LogBusyError",
    "MessageEntry",
    "OpaqueEntry",
    "Run",
    "RunEntry",
    "Scan",
    "Session",
    "StorageError",
    "Store",
    "Target",
    "ToolOutcome",
    "TranscriptError",
    "VersionError",
    "build_context",
    "context_at",
    "new_compaction",
    "new_context",
    "new_header",
    "new_id",
    "new_message",
    "new_run",
    "outcome_payload",
    "read_outcome",
    "session_path",
]

_WHERE: Final = {
    "FORMAT_VERSION": "entries",
    "Change": "findings",
    "Compaction": "entries",
    "CompactionEntry": "entries",
    "ConflictError": "errors",
    "Context": "context",
    "ContextAttachment": "entries",
    "ContextEntry": "entries",
    "ContextError": "errors",
    "CorruptLogError": "errors",
    "Detail": "entries",
    "Entry": "entries",
    "EntryError": "errors",
    "FamilyRequiredError": "errors",
    "Finding": "findings",
    "Header": "entries",
    "HeaderError": "errors",
    "IdError": "errors",
    "Invocation": "entries",
    "Item": "entries",
    "JsonlStore": "jsonl",
    "LogBusyError": "errors",
    "MessageEntry": "entries",
    "OpaqueEntry": "entries",
    "Run": "entries",
    "RunEntry": "entries",
    "Scan": "store",
    "Session": "session",
    "StorageError": "errors",
    "Store": "store",
    "Target": "families",
    "ToolOutcome": "entries",
    "TranscriptError": "errors",
    "VersionError": "errors",
    "build_context": "context",
    "context_at": "context",
    "new_compaction": "entries",
    "new_context": "entries",
    "new_header": "entries",
    "new_id": "entries",
    "new_message": "entries",
    "new_run": "entries",
    "outcome_payload": "codec",
    "read_outcome": "codec",
    "session_path": "jsonl",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for: importing the package costs nothing else."""
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_WHERE[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
