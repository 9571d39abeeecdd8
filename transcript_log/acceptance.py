"""Whether an API would take a log's own items as they are, and what a context changes for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from .apis import check_items
from .boundary import kept_items, messages
from .context import build_context
from .entries import CompactionEntry, Entry, Item, MessageEntry
from .errors import BoundaryError, ContextError
from .families import Target
from .findings import Change, Finding

__all__ = ["ANY_MODEL", "Acceptance", "check_acceptance", "likely_target"]

ANY_MODEL: Final = "any"
"""Stands for the model of a log that names none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance:
    """What an API would say of a log's own items, and what is done about it.

    Attributes:
        target: Where they would be sent.
        findings: The rules that the items break as the log has them, each with the entry of
            its item; then, where no context can be made of them either, that.
        changes: What a context for this target changes; empty where none can be made.
    """

    target: Target
    findings: tuple[Finding, ...]
    changes: tuple[Change, ...]


def check_acceptance(entries: Sequence[Entry], api: str) -> Acceptance:
    """Whether the items that the newest boundary leaves could be sent as they are.

    They are those of :func:`~transcript_log.boundary.kept_items`; where that boundary is
    broken, the messages after its compaction. They would go to :func:`likely_target`.

    Raises:
        TargetError: The API is not known here.
    """
    target = likely_target(entries, api)
    items, ids = _as_stored(entries)
    # A paused turn may end as it does. To the target itself it may be unreadable, and gone.
    found = check_items(items, target, paused=build_context(entries).paused)
    findings = [*_with_entries(found, ids)]
    try:
        changes = build_context(entries, target).changes
    except ContextError as error:
        changes = ()
        findings.append(_refusal(error))
    return Acceptance(target=target, findings=tuple(findings), changes=changes)


def likely_target(entries: Sequence[Entry], api: str) -> Target:
    """An API with the model that a log names last for a response; :data:`ANY_MODEL` if it names none."""
    for entry in reversed(entries):
        response = entry.response if isinstance(entry, MessageEntry) else None
        if response is not None and response.model is not None and response.model.strip():
            return Target(api, response.model)
    return Target(api, ANY_MODEL)


def _as_stored(entries: Sequence[Entry]) -> tuple[list[Item], list[str]]:
    """The items that the newest boundary leaves, and the id of the entry of each."""
    told = [entry for entry in entries if isinstance(entry, MessageEntry)]
    try:
        items = kept_items(entries)
    except BoundaryError as error:
        ids = [entry.id for entry in entries]
        items = messages(entries[ids.index(error.compaction_id) :])
    # What is kept are the last messages, one and all; before them stands what the compaction gives.
    kept = 0
    for item, entry in zip(reversed(items), reversed(told), strict=False):
        if item is not entry.message:
            break
        kept += 1
    head = len(items) - kept
    return items, [_head_id(entries)] * head + [entry.id for entry in told[len(told) - kept :]]


def _head_id(entries: Sequence[Entry]) -> str:
    """The compaction that counts for :func:`kept_items`."""
    for entry in reversed(entries):
        if isinstance(entry, CompactionEntry) and (entry.compaction.replacement or entry.compaction.summary):
            return entry.id
    return ""


def _with_entries(findings: Sequence[Finding], ids: Sequence[str]) -> Iterator[Finding]:
    for finding in findings:
        yield finding if finding.item is None else replace(finding, entry=ids[finding.item])


def _refusal(error: ContextError) -> Finding:
    """That no context can be made, as a finding."""
    told = "; ".join(finding.message for finding in error.findings)
    return Finding(rule="no-context", severity="error", message=f"no context can be made of it: {told}")
