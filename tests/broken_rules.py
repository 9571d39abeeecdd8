"""Items that break one rule of an API, and what must come of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import pytest

from transcript_log.apis import api_for, check_items
from transcript_log.context import Context, build_context
from transcript_log.entries import Entry, MessageEntry, ResponseRecord
from transcript_log.errors import ContextError
from transcript_log.families import Target
from transcript_log.findings import Finding

__all__ = [
    "Row",
    "entries_of",
    "is_found_alone",
    "is_mended_alone",
    "is_mended_for_good",
    "is_sent_as_it_is",
    "is_told",
    "refusals",
    "rules_of",
]

Item = dict[str, Any]


@dataclass(frozen=True)
class Row:
    """Items that break one rule.

    ``also`` are rules that cannot but be broken with it; ``touched`` the places of the items
    that the mending changes, where they are others than those that the findings name.
    ``model`` is the model they go to, where that is another than the rest's.
    """

    rule: str
    items: list[Item]
    also: tuple[str, ...] = ()
    touched: tuple[int, ...] | None = None
    model: str = ""


def entries_of(items: Sequence[Item], target: Target | None, *, finish: str | None = None) -> list[Entry]:
    """Items as entries of the target's own family; the last one ends its response so."""
    family = None if target is None else target.family
    made: list[Entry] = []
    for place, item in enumerate(items):
        last = place == len(items) - 1 and finish is not None
        response = ResponseRecord(finish_reason=finish) if last else None
        made.append(
            MessageEntry(id=f"e{place}", timestamp=None, message=item, family=family, response=response)
        )
    return made


def rules_of(found: Sequence[Finding]) -> list[str]:
    return [finding.rule for finding in found]


def refusals(found: Sequence[Finding]) -> list[str]:
    """What is found, but for what is only worth knowing."""
    return [str(finding) for finding in found if finding.severity != "note"]


def is_found_alone(row: Row, target: Target) -> None:
    """What breaks a rule is found by that rule alone."""
    found = check_items(row.items, target)
    assert set(rules_of(found)) == {row.rule, *row.also}
    rules = api_for(target).rules
    for finding in found:
        assert finding.severity == rules[finding.rule].severity
        assert (finding.item is None) == (not row.items)
        assert bool(finding.advice) == (finding.severity != "note")
        assert finding.message


def is_mended_alone(row: Row, target: Target) -> None:
    """What breaks a rule is mended, and the rest is left alone."""
    entries = entries_of(row.items, target)
    if not row.items:
        with pytest.raises(ContextError, match="there is nothing to send"):
            build_context(entries, target)
        return
    found = check_items(row.items, target)
    context = build_context(entries, target)
    assert refusals(check_items(context.items, target)) == []
    if not refusals(found):  # a note is no reason to change a thing
        assert context.changes == ()
        assert all(a is b for a, b in zip(context.items, row.items, strict=True))
        return
    named = {finding.item for finding in found if finding.severity != "note"}
    touched = named if row.touched is None else set(row.touched)
    innocent = [item for place, item in enumerate(row.items) if place not in touched]
    kept = [item for item in context.items if any(item is other for other in innocent)]
    assert len(kept) == len(innocent)
    assert all(a is b for a, b in zip(kept, innocent, strict=True))


def is_told(row: Row, target: Target) -> None:
    """What is mended is told. What is said in the words of another API is no change: its row says so."""
    found = check_items(row.items, target)
    if not row.items or not refusals(found):
        return
    context = build_context(entries_of(row.items, target), target)
    told_of = {change.entry for change in context.changes} | {
        entry for each in context.rows if each.why in ("rendered", "merged") for entry in each.entries
    }
    calls = {finding.call for finding in found} & {change.call for change in context.changes}
    assert {f"e{finding.item}" for finding in found} & told_of or calls - {None}


def is_mended_for_good(row: Row, target: Target) -> None:
    """What was mended once is mended."""
    if not row.items:
        return
    once = build_context(entries_of(row.items, target), target)
    twice = build_context(entries_of(once.items, target), target)  # type: ignore[arg-type]  # they are dicts
    assert twice.changes == ()
    assert all(a is b for a, b in zip(twice.items, once.items, strict=True))


def is_sent_as_it_is(items: Sequence[Item], target: Target, notes: Sequence[str] = ()) -> Context:
    """What only looks wrong is sent as it is."""
    assert rules_of(check_items(items, target)) == list(notes)
    context = build_context(entries_of(items, target), target, strict=True)
    assert context.changes == ()
    assert all(a is b for a, b in zip(context.items, items, strict=True))
    # Not only because nothing was looked at: the steps themselves change nothing.
    odd = build_context([*entries_of(items, target), *_ODD_END], target)
    kept = odd.items[: len(items)]
    assert all(a is b for a, b in zip(kept, items, strict=True))
    return context


_ODD_END: Final[list[Entry]] = [
    MessageEntry(
        id="odd", timestamp=None, message={"role": "user", "content": "half \ud83d here"}, family=None
    )
]
"""What makes every step of a context be taken."""
