"""Moving a session to another agent: a file that it goes on with, read back before it has its name.

What the file says is compared with what the session said. What is not the same must be one
of the changes that were told; all else is a finding.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Literal, Protocol

from . import _json, items
from ._logfile.files import make_folder, sync_folder, telling, write_file
from .apis._base import clean_text, with_clean_text
from .apis._neutral import File, Text, read
from .entries import Entry, Header, Item, Json, MessageEntry
from .errors import HeaderError, StorageError
from .exporters import Exported, Exporter, ExportSource
from .exporters._conversation import Details, is_history
from .exporters._resuming import session_uuid
from .exporters.claude_code import export_claude_code
from .exporters.codex import export_codex
from .exporters.pi import export_pi
from .findings import Change, Finding
from .history import (
    Called,
    Compacted,
    HostedCall,
    OutputWithoutCall,
    Reasoned,
    RepeatedOutput,
    Said,
    build_history,
)
from .importers import Imported
from .importers.claude_code import import_claude_code
from .importers.codex import import_codex
from .importers.pi import import_pi
from .importing import give_name

__all__ = ["AGENTS", "Agent", "Converted", "compare", "file_name", "write_converted"]

Agent = Literal["claude-code", "codex", "pi"]
"""Whose session is made."""

_DOING: Final = "make the session"


class _Importer(Protocol):
    def __call__(self, lines: Iterable[bytes], *, path: str | None = None) -> Imported: ...


@dataclass(frozen=True, slots=True)
class _Form:
    """How a session of an agent is made, read, and where the agent keeps it below its folder."""

    export: Exporter
    read: _Importer
    name: Callable[[ExportSource], tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Converted:
    """What became of a conversion.

    Attributes:
        path: The file.
        id: The session's id there.
        records: How many lines it has.
        changes: What the agent's format could not hold as it was.
        findings: What did not read back as it was, though no change tells of it.
    """

    path: str
    id: str
    records: int
    changes: tuple[Change, ...]
    findings: tuple[Finding, ...]

    __hash__ = None  # type: ignore[assignment]  # changes hold dicts


def write_converted(source: ExportSource, agent: Agent, path: str | os.PathLike[str]) -> Converted:
    """Write a session for another agent to a new file.

    It is there wholly or not at all, mode 0600, on disk on return.

    Args:
        source: The session.
        agent: Who is to go on with it.
        path: The file. Folders that are missing are made.

    Raises:
        ContextError: The agent's API would refuse the conversation, whatever is done.
        StorageError: There is a file at ``path``, the system refused, or what was written cannot be
            read as a session of the agent. Nothing is left behind.
    """
    form = AGENTS[agent]
    path = os.path.abspath(os.fspath(path))
    with telling(path, _DOING):
        if os.path.lexists(path):
            raise StorageError(path, _DOING, "there is a file already", None, "name one that is not there")
    exported = form.export(source)
    with telling(path, _DOING):
        make_folder(path)
        folder = tempfile.mkdtemp(dir=os.path.dirname(path), prefix=".transcript-log-convert-")
    try:
        draft = os.path.join(folder, "session.jsonl")
        write_file(draft, (piece.encode("utf-8") for piece in exported.pieces))
        with telling(path, _DOING), open(draft, "rb") as lines:
            imported = _read(form, lines, path)
        findings = tuple(compare(source, exported, imported))
        give_name(draft, path)
        sync_folder(path)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return Converted(
        path=path,
        id=imported.header.id or "",
        records=imported.counts["records"],
        changes=exported.changes,
        findings=findings,
    )


def _read(form: _Form, lines: Iterable[bytes], path: str) -> Imported:
    try:
        return form.read(lines, path=path)
    except HeaderError as error:
        reason = "nothing of the session can be said there"
        raise StorageError(path, _DOING, reason, None, "nothing was made") from error


# ------------------------------------------------------------------------------- names


def file_name(source: ExportSource, agent: Agent) -> tuple[str, ...]:
    """What an agent calls the file of a session: the folders below the one of all sessions, and the name.

    A working directory that is not known counts as ``/``; times in names are UTC.
    """
    return AGENTS[agent].name(source)


def _claude_name(source: ExportSource) -> tuple[str, ...]:
    # https://github.com/anthropics/claude-agent-sdk-python, ``_internal/sessions.py``, 2026-08-22.
    header = source.header or Header()
    cwd = unicodedata.normalize("NFC", header.cwd or "/")
    slug = re.sub(r"[^a-zA-Z0-9]", "-", cwd)
    if len(slug) > _LONGEST:
        slug = f"{slug[:_LONGEST]}-{_base36(cwd)}"
    return slug, f"{session_uuid(header, source.entries)}.jsonl"


_LONGEST: Final = 200


def _base36(text: str) -> str:
    """The number that ends the name of a long folder."""
    number = 0
    for char in text:
        number = (number * 31 + ord(char)) & 0xFFFFFFFF
    number = abs(number - (1 << 32) if number >= 1 << 31 else number)
    digits = ""
    while number:
        number, digit = divmod(number, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
    return digits or "0"


def _codex_name(source: ExportSource) -> tuple[str, ...]:
    time = _begun(source)
    name = f"rollout-{time:%Y-%m-%dT%H-%M-%S}-{session_uuid(source.header or Header(), source.entries)}.jsonl"
    return f"{time:%Y}", f"{time:%m}", f"{time:%d}", name


def _pi_name(source: ExportSource) -> tuple[str, ...]:
    # https://github.com/badlogic/pi-mono, ``packages/coding-agent/src/core/session-manager.ts``, 2026-03.
    header = source.header or Header()
    folder = re.sub(r"[/\\:]", "-", re.sub(r"\A[/\\]", "", header.cwd or "/"))
    time = _begun(source)
    named = re.sub(r"[^A-Za-z0-9_-]", "-", header.id or "session")[:128]
    return f"--{folder}--", f"{time:%Y-%m-%dT%H-%M-%S}-{time.microsecond // 1000:03d}Z_{named}.jsonl"


def _begun(source: ExportSource) -> datetime:
    told = (entry.timestamp for entry in source.entries if entry.timestamp is not None)
    made = None if source.header is None else source.header.timestamp
    return made or next(told, datetime(1970, 1, 1, tzinfo=UTC))


AGENTS: Final[Mapping[Agent, _Form]] = {
    "claude-code": _Form(export_claude_code, import_claude_code, _claude_name),
    "codex": _Form(export_codex, import_codex, _codex_name),
    "pi": _Form(export_pi, import_pi, _pi_name),
}
"""The agents that a session can be moved to."""


# -------------------------------------------------------------------------- comparing


_AT_CALLS: Final = ("output", "picture")
"""What stands with a call, wherever it came."""

_Told = tuple[str, ...]
"""One thing that a session says: a line of text, a call, an output."""


def compare(source: ExportSource, exported: Exported, imported: Imported) -> Iterator[Finding]:
    """What a session says that the file made of it does not, or the other way round.

    What a change tells of is no finding. Texts are compared line by line, for agents cut
    messages differently; what is history and no context is left aside.

    Args:
        source: The session.
        exported: What was made of it.
        imported: That, read back.
    """
    mine = list(_told(source.entries, source.details))
    theirs = [told for told, _ in _told(imported.entries, imported.details_by_call)]
    changed = {change.entry for change in exported.changes if change.entry and change.rule not in _BESIDE}
    added = sum(change.kind == "added" for change in exported.changes)
    missing = Counter(told for told, _ in mine)
    missing.subtract(theirs)
    unchanged: dict[_Told, list[str]] = {}
    for told, names in mine:
        if changed.isdisjoint(names):
            unchanged.setdefault(told, []).append(names[0])
    said = Counter(told for told, _ in mine)
    explained = 0
    for told, number in missing.items():
        if number > 0:
            left = unchanged.get(told, [])
            known = min(number, said[told] - len(left))
            explained += known
            for name in left[: number - known]:
                yield _finding(f"this is not in the session that was made: {_shown(told)}", name)
    more = [told for told, number in missing.items() for _ in range(-number)]
    for told in more[explained + added :]:
        yield _finding(f"this is in the session that was made, and was not in the log: {_shown(told)}", None)
    is_moved = any(change.kind in ("moved", "merged") for change in exported.changes)
    others = Counter(theirs)
    both = {told for told, number in said.items() if others[told] == number and told[0] not in _AT_CALLS}
    if not is_moved and [t for t, _ in mine if t in both] != [t for t in theirs if t in both]:
        yield _finding("what was said stands in another order in the session that was made", None)


_BESIDE: Final = frozenset(
    {
        "account",
        "call-id",
        "cost",
        "error-flag",
        "family",
        "files",
        "invocation",
        "outcome",
        "response",
        "stand-in",
        "time",
        "usage",
    }
)
"""The rules whose changes leave what is said alone."""


def _finding(message: str, entry: str | None) -> Finding:
    return Finding(rule="not-the-same", severity="error", message=message, entry=entry)


def _shown(told: Sequence[str]) -> str:
    text = " ".join(told)
    return repr(text if len(text) <= 100 else f"{text[:100]}…")


def _told(entries: Sequence[Entry], details: Details) -> Iterator[tuple[_Told, tuple[str, ...]]]:
    """What entries say, each thing with those that say so; without what is no context."""
    aside = {entry.id for entry in entries if isinstance(entry, MessageEntry) and is_history(entry)}
    events = [event for event in build_history(entries, details).events if event.entry not in aside]
    shown = {event.entry for event in events if isinstance(event, Said)}
    places = {entry.id: place for place, entry in enumerate(entries)}
    whole = {}  # what messages say, of those that hold documents
    for entry in entries:
        if isinstance(entry, MessageEntry) and entry.id not in aside:
            text = _with_documents(entry.message)
            if text is not None:
                whole[entry.id] = text
    silent = [name for name in whole if name not in shown]  # there is no event of a document alone
    for event in (*events, None):
        while silent and (event is None or places.get(event.entry, 0) > places[silent[0]]):
            name = silent.pop(0)
            for line in _lines(whole[name]):
                yield ("text", line), (name,)
        if event is None:
            return
        names = (event.entry,)
        match event:
            case Said(text=text, images=images):
                # Who said it an API may see otherwise, as of instructions.
                if event.entry in whole:  # by all of its events together
                    text = whole[event.entry]
                    whole[event.entry] = ""
                for line in _lines(text):
                    yield ("text", line), names
                for _ in images:
                    yield ("picture",), names
            case Reasoned(text=text):
                for line in _lines(text):
                    yield ("thought", line), names
            case Called(name=name, arguments=arguments):
                yield ("call", name, _canonical(arguments)), names
                also = names if event.output_entry is None else (event.output_entry, event.entry)
                for line in _lines(_output(event.output)):
                    yield ("output", line), also
                for _ in event.images:
                    yield ("picture",), also
            case HostedCall(name=name):
                yield ("hosted", name), names
            case OutputWithoutCall(output=output) | RepeatedOutput(output=output):
                for line in _lines(_output(output)):
                    yield ("output", line), names
            case Compacted():
                yield ("compacted",), names
            case _:
                pass


def _with_documents(item: Item) -> str | None:
    """What a message of the user says, with the documents in it that are text: many agents have no other.

    None for a message without any.
    """
    content = item.get("content")
    if items.role(item) != "user" or type(content) is not list:
        return None
    if not any(type(block) is dict and block.get("type") in _DOCUMENTS for block in content):
        return None
    blocks = read(item).blocks
    return "\n".join(
        block.text for block in blocks if isinstance(block, Text | File) and block.text is not None
    )


_DOCUMENTS: Final = frozenset({"document", "search_result"})


def _output(text: str | None) -> str:
    """What a tool gave back. Where it stands in a block, the JSON that Codex wraps it in is still there."""
    return "" if text is None else items.output_text(text)


def _lines(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        if shown := line.strip():
            yield clean_text(shown)


def _canonical(arguments: Json) -> str:
    """The arguments of a call as text, alike whether they were text or an object."""
    if type(arguments) is str:
        try:
            arguments = _json.read_text(arguments or "{}")
        except ValueError:
            return clean_text(str(arguments))
    return json.dumps({} if arguments is None else with_clean_text(arguments), sort_keys=True)
