"""Whether an API would take a log's own items as they are, and what a context changes for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from .apis import Api, check_items
from .context import build_context, live_rows
from .entries import Entry, MessageEntry
from .errors import ContextError
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


def check_acceptance(entries: Sequence[Entry], api: str, rules: Api | None = None) -> Acceptance:
    """Whether the items that the newest boundary leaves could be sent as they are.

    They would go to :func:`likely_target`.

    Args:
        entries: A whole log, or what its store's ``active()`` gives.
        api: The name of the API.
        rules: It, where it is one of :func:`transcript_log.apis.tables.load_rules`.

    Raises:
        TargetError: The API is not known here.
    """
    target = likely_target(entries, api, rules)
    rows = live_rows(entries, target)
    # A paused turn may end as it does. To the target itself it may be unreadable, and gone.
    found = check_items([row.item for row in rows], target, paused=build_context(entries).paused)
    findings = [
        finding if finding.item is None else replace(finding, entry=rows[finding.item].entry)
        for finding in found
    ]
    try:
        changes = build_context(entries, target).changes
    except ContextError as error:
        changes = ()
        findings.append(_refusal(error))
    return Acceptance(target=target, findings=tuple(findings), changes=changes)


def likely_target(entries: Sequence[Entry], api: str, rules: Api | None = None) -> Target:
    """An API with the model that a log names last for a response; :data:`ANY_MODEL` if it names none.

    It reads the family of this API that the log names last.
    """
    reads: frozenset[str] = frozenset()
    for entry in reversed(entries):
        family = entry.family if isinstance(entry, MessageEntry) else None
        if family is not None and family.startswith(f"{api}/"):
            reads = frozenset({family})
            break
    for entry in reversed(entries):
        response = entry.response if isinstance(entry, MessageEntry) else None
        if response is not None and response.model is not None and response.model.strip():
            return Target(api, response.model, reads=reads, rules=rules)
    return Target(api, ANY_MODEL, reads=reads, rules=rules)


def _refusal(error: ContextError) -> Finding:
    """That no context can be made, as a finding."""
    told = "; ".join(finding.message for finding in error.findings)
    return Finding(rule="no-context", severity="error", message=f"no context can be made of it: {told}")
