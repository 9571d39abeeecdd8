"""What is so of every context, whatever the log has been through."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any, Final

import pytest
from case_contexts import rules
from gemini_rules import problems
from histories import SHAPES, TARGETS, as_entries, conversations, faulty
from hypothesis import given, settings
from hypothesis import strategies as st
from test_cases import folder

from transcript_log import items
from transcript_log._pairing import pair
from transcript_log._pieces import Piece
from transcript_log.apis import api_of, check_items
from transcript_log.apis._base import Notes, clean_text
from transcript_log.apis.mistral import BRIDGE
from transcript_log.boundary import newest_compaction
from transcript_log.context import Context, ContextRow, build_context, context_at
from transcript_log.entries import Entry, MessageEntry, new_message
from transcript_log.errors import BoundaryError, ContextError, EntryError, StrictContextError, TranscriptError
from transcript_log.families import Target
from transcript_log.findings import Finding
from transcript_log.memory import MemoryStore

DIALECTS: Final = TARGETS
CHECKED_AS: Final = {"deepseek": "chat", "mistral": "chat"}
"""What the independent checker calls those that it does not know by a name of their own."""

targets = st.sampled_from(sorted(DIALECTS))
SEARCH: Final = int(os.environ.get("TRANSCRIPT_LOG_SEARCH", "0"))
"""How many new examples of each law to try; 0: the same few each time, so that a run can be repeated."""
many = settings(max_examples=SEARCH or 200, derandomize=not SEARCH)


def built(entries: Sequence[Entry], target: Target | None) -> Context | None:
    """The context; None where there is nothing to send."""
    try:
        return build_context(entries, target)
    except ContextError as error:
        if [finding.rule for finding in error.findings] != ["empty-input"]:
            raise
        return None


def faults(found: list[Finding]) -> list[str]:
    return [str(finding) for finding in found if finding.severity != "note"]


def dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=False)


# ------------------------------------------------------------------------- acceptance


@many
@given(faulty(), targets)
def test_an_api_takes_every_context_made_for_it(entries: list[Entry], dialect: str) -> None:
    target = DIALECTS[dialect]
    context = built(entries, target)
    if context is not None:
        assert faults(check_items(context.items, target, paused=context.paused)) == []


@many
@given(faulty(), targets)
def test_the_independent_checker_has_nothing_to_say(entries: list[Entry], dialect: str) -> None:
    context = built(entries, DIALECTS[dialect])
    if context is None:
        return
    if dialect == "gemini":
        assert problems(context.items) == []
        return
    sent = [item for item in context.items if item.get("type") != "item_reference"]
    assert rules(folder()).problems(CHECKED_AS.get(dialect, dialect), sent) == []


@many
@given(faulty(), targets)
def test_nothing_that_another_family_sealed_is_sent(entries: list[Entry], dialect: str) -> None:
    target = DIALECTS[dialect]
    context = built(entries, target)
    if context is None:
        return
    own = {e.id for e in entries if isinstance(e, MessageEntry) and e.family == target.family}
    for row in context.rows:
        if row.why not in ("replacement", "summary", "merged") and row.entry not in own:
            assert "sealed-" not in dumped(row.item), row


# ---------------------------------------------------------------------------- identity


@many
@given(conversations(), targets)
def test_a_right_history_comes_back_as_the_same_objects(turns: list[Any], dialect: str) -> None:
    target = DIALECTS[dialect]
    entries = as_entries(turns, dialect, target.family)
    context = build_context(entries, target, strict=True)
    stored = [entry.message for entry in entries if isinstance(entry, MessageEntry)]
    assert len(context.items) == len(stored)
    assert all(a is b for a, b in zip(context.items, stored, strict=True))
    assert context.changes == ()
    assert {row.why for row in context.rows} == {"kept"}


@many
@given(faulty(), targets)
def test_no_step_touches_what_an_api_takes(entries: list[Entry], dialect: str) -> None:
    """Each step by itself has nothing to do on a context, not only all of them together."""
    target = DIALECTS[dialect]
    context = built(entries, target)
    if context is None or context.paused:
        return
    pieces = [Piece(item, (str(n),), family=target.family) for n, item in enumerate(context.items)]
    paired, changes = pair(pieces, api_of(target.api).order)
    assert changes == []
    assert all(a is b for a, b in zip(paired, pieces, strict=True))
    notes = Notes()
    rendered = api_of(target.api).render(paired, notes)
    assert notes.changes == []
    assert all(a is b for a, b in zip(rendered, pieces, strict=True))


@many
@given(faulty(), targets)
def test_a_context_goes_through_unchanged(entries: list[Entry], dialect: str) -> None:
    target = DIALECTS[dialect]
    context = built(entries, target)
    if context is None or context.paused:
        return
    again = build_context([new_message(item, family=target.family) for item in context.items], target)
    assert again.changes == ()
    assert all(a is b for a, b in zip(again.items, context.items, strict=True))


@many
@given(faulty(), targets)
def test_what_is_given_is_never_changed(entries: list[Entry], dialect: str) -> None:
    before = [repr(entry) for entry in entries]
    built(entries, DIALECTS[dialect])
    built(entries, None)
    assert [repr(entry) for entry in entries] == before


@many
@given(faulty(), targets)
def test_the_same_log_gives_the_same_bytes(entries: list[Entry], dialect: str) -> None:
    one, other = built(entries, DIALECTS[dialect]), built(list(entries), DIALECTS[dialect])
    assert (one is None) == (other is None)
    if one is not None and other is not None:
        assert dumped(one.items) == dumped(other.items)
        assert [str(change) for change in one.changes] == [str(change) for change in other.changes]


# ------------------------------------------------------------------------- nothing lost


def said_in(entry: MessageEntry) -> list[str]:
    """The texts of a user or an assistant in an entry."""
    found = items.parts(entry.message)
    texts = [part.text for part in found if isinstance(part, items.TextPart)]
    return [clean_text(text).strip() for text in texts if text.strip()]


@many
@given(faulty(), targets | st.none())
def test_every_text_is_sent_or_told_of(entries: list[Entry], dialect: str | None) -> None:
    context = built(entries, None if dialect is None else DIALECTS[dialect])
    if context is None:
        return
    at = newest_compaction(entries)
    live = entries[0 if at is None else at :]
    sent = dumped(context.items)
    told = dumped([change.item for change in context.changes])
    for entry in live:
        if isinstance(entry, MessageEntry):
            for text in said_in(entry):
                shown = dumped(text)[1:-1]
                assert shown in clean_text(sent) or shown in clean_text(told), (text, context.changes)


def renamed(row: ContextRow, context: Context) -> bool:
    new = {output.id for output in items.tool_outputs(row.item)}
    return any(
        change.rule == "call-id" and any(repr(i) in change.message for i in new) for change in context.changes
    )


@many
@given(faulty(), targets | st.none())
def test_what_departs_from_the_log_is_told(entries: list[Entry], dialect: str | None) -> None:
    """An item that is not as it was stored, and an entry that is not there, has a change or a reason."""
    context = built(entries, None if dialect is None else DIALECTS[dialect])
    if context is None:
        return
    told = {change.entry for change in context.changes}
    stored = {entry.id: entry.message for entry in entries if isinstance(entry, MessageEntry)}
    for row in context.rows:
        if row.why == "kept":
            assert row.item is stored[row.entry or ""]
        elif row.why in ("mended", "moved", "split", "stand-in", "opening"):
            # That a call has another id is told at the call, and so for its output.
            assert not told.isdisjoint(row.entries) or row.why == "opening" or renamed(row, context), row
    at = newest_compaction(entries)
    present = {source for row in context.rows for source in row.entries}
    for entry in entries[0 if at is None else at :]:
        if isinstance(entry, MessageEntry):
            assert entry.id in present or entry.id in told, (entry, context.changes)


# ------------------------------------------------------------------------------ strict


@many
@given(faulty(), targets | st.none())
def test_strict_refuses_just_what_the_first_steps_would_change(
    entries: list[Entry], dialect: str | None
) -> None:
    target = None if dialect is None else DIALECTS[dialect]
    context = built(entries, target)
    try:
        strict = build_context(entries, target, strict=True)
    except StrictContextError as error:
        refused: TranscriptError | None = error
    except (BoundaryError, ContextError) as error:
        refused = error
    else:
        assert context is not None
        assert dumped(strict.items) == dumped(context.items)
        assert target is not None or context.changes == ()
        return
    assert context is None or context.changes
    if isinstance(refused, StrictContextError) and context is not None:
        assert str(refused.change) in [str(change) for change in context.changes]
    if isinstance(refused, ContextError):
        assert context is None


# ------------------------------------------------------------------------ other readings


@many
@given(faulty(), targets | st.none())
def test_the_context_at_the_last_entry_is_the_context(entries: list[Entry], dialect: str | None) -> None:
    target = None if dialect is None else DIALECTS[dialect]
    context = built(entries, target)
    if not entries or context is None:
        return
    then = context_at(entries, entries[-1].id, target)
    assert all(a is b or a == b for a, b in zip(then.items, context.items, strict=True))
    assert then.head == context.head == entries[-1].id


@settings(max_examples=SEARCH or 80, derandomize=not SEARCH)
@given(faulty(), targets | st.none())
def test_the_active_part_of_a_log_gives_the_same_context(entries: list[Entry], dialect: str | None) -> None:
    target = None if dialect is None else DIALECTS[dialect]
    store = MemoryStore()
    try:
        store.append(*entries)
    except EntryError:
        return  # such a log cannot be written
    whole, active = built(store.load(), target), built(store.active(), target)
    assert (whole is None) == (active is None)
    if whole is not None and active is not None:
        assert dumped(whole.items) == dumped(active.items)
        assert whole.changes == active.changes
        assert whole.size == active.size


@many
@given(faulty(), st.data(), targets)
def test_what_is_appended_leaves_the_bytes_before_it_or_says_so(
    entries: list[Entry], data: st.DataObject, dialect: str
) -> None:
    cut = data.draw(st.integers(0, len(entries)))
    if newest_compaction(entries) is not None and newest_compaction(entries) >= cut:  # type: ignore[operator]
        return
    before, after = built(entries[:cut], DIALECTS[dialect]), built(entries, DIALECTS[dialect])
    if before is None or after is None:
        return
    for place, (one, other) in enumerate(zip(before.rows, after.rows, strict=False)):
        if dumped(one.item) == dumped(other.item):
            continue
        sources = {*one.entries, *other.entries}
        told = {change.entry for change in (*before.changes, *after.changes)}
        made = {"stand-in", "merged", "opening"} & {one.why, other.why}
        assert made or not told.isdisjoint(sources), (place, one, other)
        return


# ------------------------------------------------------------------------ there and back


def answers(sent: Sequence[Any]) -> list[Any]:
    """Names, arguments and outputs of the calls, in order, whatever their ids."""
    names = [(call.name, arguments(call.arguments)) for item in sent for call in items.tool_calls(item)]
    outputs = [items.output_text(output.content) for item in sent for output in items.tool_outputs(item)]
    return [*names, *outputs]


def arguments(given: Any) -> Any:
    return json.loads(given) if isinstance(given, str) else given


@many
@given(conversations(), st.sampled_from(SHAPES), targets, targets)
def test_there_and_back_keeps_what_was_said_and_done(
    turns: list[Any], shape: str, there: str, back: str
) -> None:
    stored = as_entries(turns, shape, None)
    said = [text for entry in stored if isinstance(entry, MessageEntry) for text in said_in(entry)]
    rounds = []
    last: Sequence[Entry] = stored
    for _ in range(3):
        rounds.append((through(last, there), through(through(last, there), back)))
        last = rounds[-1][1]
    for sent in (sent for pair_of in rounds for sent in pair_of):
        texts = [text for entry in sent for text in said_in(entry) if text != BRIDGE]
        assert texts == said
        assert answers([entry.message for entry in sent]) == answers([e.message for e in stored])  # type: ignore[union-attr]
    for second, third in zip(rounds[1], rounds[2], strict=True):
        assert dumped([entry.message for entry in second]) == dumped([entry.message for entry in third])


def through(entries: Sequence[Entry], dialect: str) -> list[MessageEntry]:
    """What an API is sent of a conversation, as a conversation."""
    return [new_message(item) for item in build_context(entries, DIALECTS[dialect]).items]


# ----------------------------------------------------------------------------- oddities


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
def test_an_empty_log_gives_an_error_that_says_so(dialect: str) -> None:
    with pytest.raises(ContextError, match="nothing to send"):
        build_context([], DIALECTS[dialect])


def test_an_empty_log_has_an_empty_context_without_a_target() -> None:
    context = build_context([])
    assert context.items == []
    assert context.head == ""
    assert context.size == 0


def test_every_refusal_is_an_error_of_ours() -> None:
    assert issubclass(ContextError, TranscriptError)
