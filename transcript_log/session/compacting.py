"""Where a session is cut by a compaction, and what is handed to the summariser."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Final, TypeAlias

from .. import items
from ..context import Context, ContextRow, build_context, live_rows, weigh
from ..entries import (
    Clock,
    Compaction,
    CompactionEntry,
    Detail,
    Entry,
    Item,
    Json,
    MessageEntry,
    RecordedUsage,
    new_compaction,
)
from ..errors import ConflictError, ContextError, EntryError, EntryNotFoundError
from ..families import Target
from ..items.portable import without_thinking
from ..items.shapes import is_from_model, user_item, with_output
from ..response import ModelResponse
from ..response.usage import ANTHROPIC
from ..store import DetailKey
from ._writing import Writer
from .calls import OpenCall

__all__ = ["CLEARED", "CompactionPlan", "Weigh", "draft_compaction", "make_plan", "put_compaction"]

CLEARED: Final = "[The output of this call was cleared to save space. Repeat the call if it is needed again.]"
"""Stands for an output that a compaction took out."""

Weigh: TypeAlias = Callable[[Item], int]
"""About how many tokens an item takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionPlan:
    """What a compaction would do. Nothing has been done.

    Attributes:
        summarize: What goes, as a context to hand to the summariser: the summary before first.
        keep: The entries that stay.
        first_kept: The id of the first of them; None if none stays.
        target: Whom the context is for.
        tokens_before: The size of the whole context now.
        tokens_summarized: What goes weighs.
        tokens_kept: What stays weighs.
        compaction: The compaction that is the newest now; None if there is none.
        head: The last entry of the log now; what comes later stays too.
        stand_ins: The entries among those that go which stand for outputs nobody recorded.
    """

    summarize: Context
    keep: tuple[MessageEntry, ...]
    first_kept: str | None
    target: Target
    tokens_before: int
    tokens_summarized: int
    tokens_kept: int
    compaction: str | None
    head: str
    stand_ins: frozenset[str] = frozenset()

    __hash__ = None  # type: ignore[assignment]  # entries hold dicts

    def cleared(self, note: str = CLEARED) -> tuple[Item, ...]:
        """What goes, without what its tools gave back: a replacement for ``Session.compact``.

        Costs no call of a model. The words of users and models, and the calls, stay; an output
        becomes the note, unless it is shorter already. The thinking of Anthropic's models goes
        too: some of them check what stands before it, and so may the one that goes on.

        Args:
            note: What the model is told in place of each output.
        """
        drops = self.target.api == ANTHROPIC
        found = []
        for row in self.summarize.rows:
            left = without_thinking(row.item) if drops else row.item
            if left is None:
                continue
            for output in () if row.entry in self.stand_ins else items.tool_outputs(left):
                cleared = with_output(left, output, note)
                left = cleared if weigh(cleared) < weigh(left) else left
            found.append(left if type(left) is dict else dict(left))
        return tuple(found)


def _newest_compaction(entries: Sequence[Entry]) -> str | None:
    """The id of the newest compaction; None if there is none."""
    return next((entry.id for entry in reversed(entries) if isinstance(entry, CompactionEntry)), None)


def make_plan(
    entries: Sequence[Entry],
    target: Target,
    details: Mapping[DetailKey, Json],
    open_calls: Sequence[OpenCall],
    *,
    keep_tokens: int | None,
    first_kept: str | None,
    weigh_item: Weigh | None,
) -> CompactionPlan | None:
    """The plan of a cut between two responses; None if there is nothing to cut off.

    No call is parted from its output, and a call that is open stays.

    Args:
        entries: The whole log.
        target: Whom the context is for.
        details: The sidecar's payloads.
        open_calls: The calls that nobody answered.
        keep_tokens: About how much to keep at most.
        first_kept: The entry to keep from, or an earlier one where no cut is possible there.
        weigh_item: Weighs an item; by default as ``Context.size`` does.
    """
    if (keep_tokens is None) == (first_kept is None):
        raise EntryError("$", "give either keep_tokens or first_kept")
    by_id = {entry.id: entry for entry in entries if isinstance(entry, MessageEntry)}
    rows = [row for row in live_rows(entries, target) if row.why == "kept" and row.entry in by_id]
    kept = [by_id[row.entry] for row in rows if row.entry is not None]
    cuts = _cuts(kept, rows, {call.entry for call in open_calls})
    weights = [(weigh_item or weigh)(row.item) for row in rows]
    # What stays if the cut is before each row, and after the last.
    suffix = [*list(accumulate(reversed(weights), initial=0))[::-1]]
    if first_kept is not None:
        at = next((place for place, entry in enumerate(kept) if entry.id == first_kept), None)
        if at is None:
            raise _no_such(first_kept, entries)
        wanted = [max((one for one in cuts if one <= at), default=0)]
    else:
        assert keep_tokens is not None
        if suffix[0] <= keep_tokens:
            return None
        wanted = [one for one in cuts if suffix[one] <= keep_tokens] or cuts[-1:]
    for cut in wanted:
        plan = _plan(entries, target, details, kept, cut, weigh_item or weigh, suffix[cut]) if cut else None
        if plan is not None:
            return plan
    return None


def _plan(
    entries: Sequence[Entry],
    target: Target,
    details: Mapping[DetailKey, Json],
    kept: Sequence[MessageEntry],
    cut: int,
    weigh_item: Weigh,
    tokens_kept: int,
) -> CompactionPlan | None:
    """The plan of a cut before ``kept[cut]``; None if nothing of what goes can be sent."""
    stays = {entry.id for entry in kept[cut:]}
    goes = [entry for entry in entries if entry.id not in stays or not isinstance(entry, MessageEntry)]
    try:
        summarize = build_context(goes, target, details=details)
    except ContextError:
        return None
    return CompactionPlan(
        summarize=summarize,
        keep=tuple(kept[cut:]),
        first_kept=kept[cut].id if cut < len(kept) else None,
        target=target,
        tokens_before=build_context(entries, target, details=details).size,
        tokens_summarized=sum(map(weigh_item, summarize.items)),
        tokens_kept=tokens_kept,
        compaction=_newest_compaction(entries),
        head=entries[-1].id,
        stand_ins=frozenset(entry.id for entry in goes if isinstance(entry, MessageEntry) and entry.stand_in),
    )


def _cuts(kept: Sequence[MessageEntry], rows: Sequence[ContextRow], waiting: set[str]) -> list[int]:
    """The places to cut before, in order: none is within a response, or between a call and its output."""
    parted = [0] * (len(kept) + 2)
    calls: dict[str, int] = {}
    early: dict[str, int] = {}
    for place, row in enumerate(rows):
        if kept[place].interrupted:
            continue
        asked, given = items.calls_and_outputs(row.item)
        hosted = [half.id for half in items.hosted_calls(row.item)]
        hosted += [half.id for half in items.hosted_outputs(row.item)]
        for output in given:
            if output.id is not None and output.id in calls:
                _part(parted, calls[output.id], place)
            elif output.id is not None:
                early.setdefault(output.id, place)
        for call in asked:
            if call.id is not None:
                _part(parted, early.pop(call.id, place), place)
                calls[call.id] = place
        for name in hosted:
            if name is not None:
                _part(parted, calls.setdefault(name, place), place)
    last = next((place for place, entry in enumerate(kept) if entry.id in waiting), len(kept))
    depth = list(accumulate(parted))
    return [
        place
        for place in range(1, last + 1)
        if not depth[place] and not (place < len(kept) and _goes_on(kept[place - 1], kept[place]))
    ]


def _part(parted: list[int], first: int, last: int) -> None:
    """Allow no cut after ``first`` up to before ``last``."""
    if first < last:
        parted[first + 1] += 1
        parted[last + 1] -= 1


def _goes_on(before: MessageEntry, entry: MessageEntry) -> bool:
    """Whether an entry is of the same response as the one before it, or of the same turn."""
    if not (is_from_model(entry.message) and is_from_model(before.message)):
        return False
    paused = before.response is not None and before.response.finish_reason == "pause"
    return entry.response is None or paused


def _no_such(entry_id: str, entries: Sequence[Entry]) -> Exception:
    found = next((entry for entry in entries if entry.id == entry_id), None)
    if found is None:
        return EntryNotFoundError(entry_id, "the session")
    what = "is compacted already" if isinstance(found, MessageEntry) else "is no message"
    return EntryError("$.first_kept", f"the entry {entry_id!r} {what}")


def draft_compaction(
    plan: CompactionPlan,
    summary: str | None,
    *,
    replacement: Sequence[Item],
    response: ModelResponse | None,
    read_files: Sequence[str],
    modified_files: Sequence[str],
    now: Clock,
) -> Compaction:
    """The payload of a compaction that carries out a plan.

    Raises:
        EntryError: The summary is blank, and there is no replacement.
    """
    text = response.text if summary is None and response is not None else summary
    text = text or ""
    if not text.strip() and not replacement:
        raise EntryError("$.compaction.summary", "the summary is blank, and nothing else replaces what goes")
    usage = None if response is None or response.usage is None else response.usage.recorded()
    added = sum(map(weigh, replacement or [user_item(text)]))
    return Compaction(
        summary=text,
        first_kept_entry_id=plan.first_kept,
        tokens_before=plan.tokens_before,
        # What the whole took was counted, system prompt and tools included; what goes was weighed.
        tokens_after=max(plan.tokens_before - plan.tokens_summarized, plan.tokens_kept) + added,
        read_files=tuple(read_files),
        modified_files=tuple(modified_files),
        provider=None if response is None else response.provider,
        model=None if response is None else plan.target.model,
        response_model=None if response is None else response.model,
        response_id=None if response is None else response.id,
        usage=usage or RecordedUsage(),
        response_timestamp=None if response is None else now(),
        replacement=tuple(replacement),
        family=plan.target.family if replacement else None,
    )


def put_compaction(writer: Writer, plan: CompactionPlan, draft: Compaction) -> CompactionEntry:
    """Carry out a plan, if the log still is as it was made for. What was added since is kept.

    Raises:
        ConflictError: There was another compaction since.
        EntryNotFoundError: The plan is of another session.
    """
    log = writer.log

    def checked() -> tuple[list[Entry], list[Detail]]:
        newest = _newest_compaction(log.entries)
        if newest != plan.compaction:
            raise ConflictError(log.path, plan.compaction or "", newest or "", "compaction")
        for entry_id in (plan.head, plan.first_kept):
            if entry_id is not None and log.entry(entry_id) is None:
                raise EntryNotFoundError(entry_id, log.path)
        kept = plan.first_kept or _first_since(plan.head, log.entries)
        made = replace(draft, first_kept_entry_id=kept)
        return [new_compaction(made, clock=writer.clock, id_source=writer.new_id)], []

    (entry,) = writer.write_in_view(checked, stays=True)
    assert isinstance(entry, CompactionEntry)
    return entry


def _first_since(head: str, entries: Sequence[Entry]) -> str | None:
    """The first message after an entry: of what came since a plan that keeps nothing."""
    found: str | None = None
    for entry in reversed(entries):
        if entry.id == head:
            break
        if isinstance(entry, MessageEntry):
            found = entry.id
    return found
