"""A session is counted from its entries alone."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from hypothesis import given, settings
from strategies import logs

from transcript_log import items
from transcript_log.counts import count_entries
from transcript_log.entries import (
    Compaction,
    CompactionEntry,
    Entry,
    Item,
    MessageEntry,
    OpaqueEntry,
    Run,
    RunEntry,
    RunStatus,
)

_NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
_LATER = datetime(2026, 1, 2, 13, tzinfo=UTC)


def messages(*all_items: Item) -> list[Entry]:
    return [MessageEntry(id=f"e{n}", timestamp=_NOON, message=item) for n, item in enumerate(all_items)]


def call(call_id: str) -> Item:
    return {"type": "function_call", "call_id": call_id, "name": "sh", "arguments": "{}"}


def gave(call_id: str | None) -> Item:
    return {"type": "function_call_output", "call_id": call_id, "output": "r"}


def says(role: str, *blocks: Any, **more: Any) -> Item:
    return {"role": role, "content": list(blocks), **more}


def use(call_id: str) -> Item:
    return {"type": "tool_use", "id": call_id, "name": "sh", "input": {}}


def ran(entry_id: str, status: RunStatus) -> RunEntry:
    return RunEntry(
        id=entry_id, timestamp=_NOON, run=Run(started_at=_NOON, completed_at=_NOON, status=status)
    )


@settings(max_examples=40)
@given(logs())
def test_the_numbers_of_a_log_agree_with_its_entries(log: list[Entry]) -> None:
    counts = count_entries(log)
    held = [entry.message for entry in log if isinstance(entry, MessageEntry)]
    assert counts.entries == len(log) == sum(counts.by_type.values())
    assert counts.calls == sum(call.id is not None for item in held for call in items.tool_calls(item))
    assert counts.results >= sum(len(items.tool_outputs(item)) for item in held)
    assert counts.unanswered <= counts.calls
    assert counts.opaque_reasoning <= counts.reasoning == sum(len(items.reasoning(item)) for item in held)
    assert counts.images + counts.tool_images == sum(len(items.images(item)) for item in held)
    assert count_entries(iter(log)) == counts
    times = [entry.timestamp for entry in log if entry.timestamp is not None]
    assert (counts.first_time, counts.last_time) == ((times[0], times[-1]) if times else (None, None))


def test_calls_are_unanswered_and_results_orphaned_by_distinct_id() -> None:
    counts = count_entries(messages(call("a"), call("a"), call("b"), gave("b"), gave("c"), gave("c")))
    assert (counts.calls, counts.results, counts.unanswered, counts.orphan_results) == (3, 3, 1, 1)


def test_an_output_that_names_no_call_is_one_more_orphan() -> None:
    server: Item = {"type": "tool_search_output", "call_id": None, "execution": "server", "tools": []}
    counts = count_entries(messages(server, gave(None), gave("c")))
    assert (counts.results, counts.orphan_results) == (3, 2)


def test_hosted_calls_are_no_calls() -> None:
    counts = count_entries(messages({"type": "web_search_call", "id": "w"}, says("assistant", use("a"))))
    assert (counts.calls, counts.unanswered) == (1, 1)


def test_adjacent_flat_calls_are_one_parallel_group_and_anything_between_parts_them() -> None:
    reasoning = {"type": "reasoning", "summary": []}
    counts = count_entries(
        messages(call("a"), call("b"), call("c"), gave("a"), call("d"), reasoning, call("e"), call("f"))
    )
    assert counts.parallel_groups == 2


def test_what_is_no_message_does_not_part_a_group() -> None:
    log = messages(call("a"), call("b"))
    log.insert(1, ran("r", "completed"))
    assert count_entries(log).parallel_groups == 1


def test_a_message_with_several_calls_is_a_group_and_its_pieces_are_counted_together() -> None:
    whole = says("assistant", use("a"), use("b"))
    pieces = [says("assistant", use(i), id="msg_1", stop_reason=None) for i in "cd"]
    counts = count_entries(messages(whole, says("assistant", use("x")), *pieces))
    assert counts.parallel_groups == 2
    assert (counts.assistant, counts.assistant_messages) == (4, 3)


def test_roles_are_counted_and_a_tool_is_no_user() -> None:
    counts = count_entries(
        messages(
            says("user"),
            says("developer"),
            says("assistant"),
            {"role": "tool", "tool_call_id": "a", "content": ""},
            {"role": "toolResult", "toolCallId": "b", "content": [], "isError": True},
        )
    )
    assert (counts.user, counts.assistant, counts.error_results) == (2, 1, 1)
    assert counts.by_role == {"user": 1, "developer": 1, "assistant": 1, "tool": 1, "toolResult": 1}


def test_pictures_in_flat_outputs_are_counted_apart_and_all_bytes_together() -> None:
    picture = {"type": "input_image", "image_url": "data:image/png;base64,QUJD"}
    flat = {"type": "function_call_output", "call_id": "a", "output": [picture]}
    result = {"type": "tool_result", "tool_use_id": "b", "content": [{"type": "image", "data": "QUJD"}]}
    counts = count_entries(messages(says("user", picture), flat, says("user", result)))
    assert (counts.images, counts.tool_images, counts.image_bytes) == (2, 1, 9)


def test_reasoning_is_counted_and_what_of_it_is_opaque() -> None:
    counts = count_entries(
        messages(
            {"type": "reasoning", "summary": [], "encrypted_content": "x"},
            {"type": "reasoning", "summary": []},
            says("assistant", {"type": "thinking", "thinking": "", "signature": "s"}),
        )
    )
    assert (counts.reasoning, counts.opaque_reasoning) == (3, 2)


def test_aborts_are_the_cancelled_runs_or_in_a_log_without_runs_the_messages_broken_off() -> None:
    broken: list[Entry] = [
        MessageEntry(id="a", timestamp=_NOON, message=says("assistant"), interrupted=True),
        MessageEntry(id="b", timestamp=_NOON, message=says("assistant", stopReason="error")),
    ]
    assert count_entries(broken).aborted == 2
    assert count_entries([*broken, ran("r", "cancelled"), ran("s", "completed")]).aborted == 1


def test_entries_are_counted_by_type_and_times_are_the_first_and_last_known_ones() -> None:
    log: list[Entry] = [
        MessageEntry(id="a", timestamp=None, message=says("user")),
        CompactionEntry(id="b", timestamp=_LATER, compaction=Compaction(summary="s")),
        OpaqueEntry(id="c", timestamp=_NOON, type="mark", data={}),
    ]
    counts = count_entries(log)
    assert counts.by_type == {"message": 1, "compaction": 1, "mark": 1}
    assert counts.compactions == 1
    assert (counts.first_time, counts.last_time) == (_LATER, _NOON)


def test_an_empty_log_counts_nothing() -> None:
    counts = count_entries([])
    assert (counts.entries, counts.calls, counts.first_time) == (0, 0, None)
