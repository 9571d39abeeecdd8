"""What a model is sent: the boundary, what it may read, what stands beside, and how much it is."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

import pytest

from transcript_log.codec import outcome_payload, started_payload
from transcript_log.context import (
    IMAGE_TOKENS,
    STAND_IN_BEGAN,
    STAND_IN_FINISHED,
    STAND_IN_UNKNOWN,
    SUMMARY_PREFIX,
    SUMMARY_SUFFIX,
    Context,
    build_context,
    context_at,
    weigh,
)
from transcript_log.entries import (
    Compaction,
    CompactionEntry,
    ContextAttachment,
    ContextEntry,
    Entry,
    MessageEntry,
    RecordedUsage,
    ResponseRecord,
    ToolOutcome,
    ToolStarted,
)
from transcript_log.errors import (
    BoundaryError,
    ContextError,
    EntryNotFoundError,
    StrictContextError,
    TargetError,
)
from transcript_log.families import BINDINGS, Target

Item = dict[str, Any]

RESPONSES: Final = Target("openai-responses", "m-1")
CHAT: Final = Target("openai-chat", "m-1")
ANTHROPIC: Final = Target("anthropic-messages", "m-1")
TARGETS: Final = (RESPONSES, CHAT, ANTHROPIC)
ANY: Final = (None, *TARGETS)


def message(entry_id: str, item: Item, **more: Any) -> MessageEntry:
    return MessageEntry(id=entry_id, timestamp=None, message=item, **more)


def user(entry_id: str, said: Any = None, **more: Any) -> MessageEntry:
    return message(entry_id, {"role": "user", "content": entry_id if said is None else said}, **more)


def answer(entry_id: str, said: Any = None, **more: Any) -> MessageEntry:
    return message(entry_id, {"role": "assistant", "content": entry_id if said is None else said}, **more)


def call(entry_id: str, call_id: str = "a", more: Item | None = None, **fields: Any) -> MessageEntry:
    item = {"type": "function_call", "call_id": call_id, "name": "bash", "arguments": "{}"}
    return message(entry_id, {**item, **(more or {})}, **fields)


def output(entry_id: str, call_id: str = "a", said: str = "out", **fields: Any) -> MessageEntry:
    return message(entry_id, {"type": "function_call_output", "call_id": call_id, "output": said}, **fields)


def reasoning(entry_id: str, **fields: Any) -> MessageEntry:
    item = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "seal"}
    return message(entry_id, item, **fields)


def compacted(entry_id: str, summary: str = "gist", **fields: Any) -> CompactionEntry:
    return CompactionEntry(id=entry_id, timestamp=None, compaction=Compaction(summary=summary, **fields))


def beside(entry_id: str, rendered: str, **fields: Any) -> ContextEntry:
    given: dict[str, Any] = {
        "attachment_id": f"at-{entry_id}",
        "epoch": 1,
        "kind": "file",
        "placement": "prefix",
        "revision": "1",
        "path": "/a",
        **fields,
    }
    return ContextEntry(id=entry_id, timestamp=None, context=ContextAttachment(rendered=rendered, **given))


def text(said: str) -> Item:
    return {"type": "text", "text": said}


def summary_of(said: str) -> Item:
    return {"role": "user", "content": SUMMARY_PREFIX + said + SUMMARY_SUFFIX}


def sources(context: Context) -> list[str | None]:
    return [row.entry for row in context.rows]


def why(context: Context) -> list[str]:
    return [row.why for row in context.rows]


def told(context: Context) -> list[tuple[str, str, str | None]]:
    return [(change.kind, change.rule, change.entry) for change in context.changes]


def rules(context: Context) -> list[str]:
    return [change.rule for change in context.changes]


# --------------------------------------------------------------------------- the boundary


@pytest.mark.parametrize("target", TARGETS)
def test_a_summary_stands_for_what_was_compacted(target: Target) -> None:
    entries: Sequence[Entry] = [
        user("u1"),
        answer("a1"),
        user("u2"),
        compacted("k", first_kept_entry_id="u2"),
        user("u3"),
    ]
    context = build_context(entries, target, strict=True)
    assert context.items == [
        summary_of("gist"),
        {"role": "user", "content": "u2"},
        {"role": "user", "content": "u3"},
    ]
    assert why(context) == ["summary", "kept", "kept"]
    assert sources(context) == ["k", "u2", "u3"]
    assert context.changes == ()


def test_without_a_target_a_summary_has_the_form_of_the_boundary_alone() -> None:
    context = build_context([user("u1"), compacted("k")])
    assert context.items == [{"role": "user", "content": [text(SUMMARY_PREFIX + "gist" + SUMMARY_SUFFIX)]}]


SEALED: Final = {"type": "compaction", "encrypted_content": "seal"}


def test_a_replacement_that_can_be_read_stands_alone() -> None:
    kept = {"role": "user", "content": "kept"}
    entries = [user("u1"), compacted("k", replacement=(kept, SEALED), family=RESPONSES.family), user("u2")]
    for target in (RESPONSES, None, Target("openai-responses", "m-2", reads=frozenset({RESPONSES.family}))):
        context = build_context(entries, target, strict=True)
        assert context.items[0] is kept
        assert context.items[1] is SEALED
        assert why(context) == ["replacement", "replacement", "kept"]
        assert context.changes == ()


@pytest.mark.parametrize("target", [CHAT, ANTHROPIC, Target("openai-responses", "m-2")])
@pytest.mark.parametrize("family", [RESPONSES.family, None])
def test_a_replacement_that_cannot_be_read_is_summed_up(target: Target, family: str | None) -> None:
    kept = {"role": "user", "content": "kept"}
    entries = [user("u1"), compacted("k", replacement=(SEALED, kept), family=family), user("u2")]
    context = build_context(entries, target)
    assert context.items == [summary_of("gist"), kept, {"role": "user", "content": "u2"}]
    assert context.items[1] is kept
    assert why(context) == ["summary", "replacement", "kept"]
    assert told(context) == [("left-out", "private", "k")]
    with pytest.raises(StrictContextError, match="replacement"):
        build_context(entries, target, strict=True)


def test_a_replacement_without_anything_private_stands_alone_for_all() -> None:
    kept = {"role": "user", "content": "kept"}
    for target in ANY:
        context = build_context([user("u1"), compacted("k", replacement=(kept,))], target, strict=True)
        assert context.items[0] is kept
        assert len(context.items) == 1


@pytest.mark.parametrize("target", TARGETS)
def test_where_nothing_of_a_compaction_is_left_the_one_before_it_counts(target: Target) -> None:
    other = "somebody/else"
    entries: list[Entry] = [
        user("u1"),
        compacted("k1", "first"),
        user("u2"),
        compacted("k2", " \n", replacement=(SEALED,), family=other, first_kept_entry_id="u2"),
        user("u3"),
    ]
    context = build_context(entries, target)
    assert context.items[0] == summary_of("first")
    assert sources(context) == ["k1", "u2", "u3"]
    assert told(context) == [("left-out", "private", "k2"), ("left-out", "empty-boundary", "k2")]
    with pytest.raises(StrictContextError):
        build_context(entries, target, strict=True)


def test_where_nothing_of_any_compaction_is_left_all_is_kept_and_that_is_told() -> None:
    entries: list[Entry] = [user("u1"), compacted("k1", ""), user("u2"), compacted("k2", ""), user("u3")]
    for target in ANY:
        context = build_context(entries, target)
        assert sources(context) == ["u1", "u2", "u3"]
        assert told(context) == [("left-out", "empty-boundary", "k2"), ("left-out", "empty-boundary", "k1")]


def test_a_blank_summary_is_one_without_a_target_and_none_with_one() -> None:
    entries: list[Entry] = [user("u1"), compacted("k", " \n"), user("u2")]
    assert sources(build_context(entries)) == ["k", "u2"]
    for target in TARGETS:
        context = build_context(entries, target)
        assert sources(context) == ["u1", "u2"]
        assert rules(context) == ["empty-boundary"]


@pytest.mark.parametrize("target", ANY)
def test_a_kept_id_that_is_nowhere_before_keeps_what_follows_and_that_is_told(target: Target | None) -> None:
    for kept in ("nobody", "u3", "k"):
        entries: list[Entry] = [
            user("u1"),
            answer("a1"),
            compacted("k", first_kept_entry_id=kept),
            user("u3"),
        ]
        context = build_context(entries, target)
        assert sources(context) == ["k", "u3"]
        assert told(context) == [("left-out", "first-kept", "k")]
        with pytest.raises(BoundaryError, match=kept) as caught:
            build_context(entries, target, strict=True)
        assert (caught.value.compaction_id, caught.value.kept_id) == ("k", kept)


def test_a_kept_id_that_is_no_message_is_as_good_as_none() -> None:
    entries: list[Entry] = [
        beside("c", "text"),
        user("u1"),
        compacted("k", first_kept_entry_id="c"),
        user("u2"),
    ]
    context = build_context(entries, CHAT)
    assert sources(context) == ["k", "u2"]
    assert rules(context) == ["first-kept"]
    with pytest.raises(BoundaryError, match="is not a message"):
        build_context(entries, CHAT, strict=True)


def test_a_kept_id_in_the_middle_of_a_group_keeps_what_still_belongs_together() -> None:
    entries: list[Entry] = [
        user("u1"),
        call("c1", "a"),
        call("c2", "b"),
        output("o1", "a"),
        output("o2", "b"),
        compacted("k", first_kept_entry_id="c2"),
        user("u2"),
    ]
    for target in (None, RESPONSES):
        context = build_context(entries, target)
        assert sources(context) == ["k", "c2", "o2", "u2"]
        assert told(context) == [("left-out", "output-without-call", "o1")]
        with pytest.raises(StrictContextError, match="answers no call") as caught:
            build_context(entries, target, strict=True)
        assert caught.value.change == context.changes[0]


def test_a_kept_id_that_is_an_output_leaves_it_out() -> None:
    entries: list[Entry] = [
        user("u1"),
        call("c1"),
        output("o1"),
        compacted("k", first_kept_entry_id="o1"),
        user("u2"),
    ]
    for target in ANY:
        assert sources(build_context(entries, target)) == ["k", "u2"]


def test_what_lost_its_reasoning_to_the_cut_loses_its_item_ids() -> None:
    own = {"family": RESPONSES.family}
    entries: list[Entry] = [
        user("u1"),
        reasoning("r1", response=ResponseRecord(), **own),
        call("c1", more={"id": "fc_1"}, **own),
        output("o1"),
        answer("a1", **own),
        compacted("k", first_kept_entry_id="c1"),
        call("c2", "b", more={"id": "fc_2"}, response=ResponseRecord(), **own),
        output("o2", "b"),
    ]
    context = build_context(entries, RESPONSES)
    assert sources(context) == ["k", "c1", "o1", "a1", "c2", "o2"]
    assert "id" not in context.items[1]
    assert context.items[4] is entries[6].message  # type: ignore[union-attr]
    assert told(context) == [("rewritten", "item-id-alone", "c1")]
    whole = [*entries[:5], compacted("k", first_kept_entry_id="r1"), *entries[6:]]
    assert build_context(whole, RESPONSES).changes == ()
    begun = [entries[0], *whole_response(own), compacted("k", first_kept_entry_id="c1"), user("u2")]
    assert build_context(begun, RESPONSES).changes == ()


def whole_response(own: dict[str, Any]) -> list[Entry]:
    """A response that begins with its call."""
    return [call("c1", more={"id": "fc_1"}, response=ResponseRecord(), **own), output("o1")]


def test_of_two_compactions_the_newest_counts_and_the_older_is_no_message() -> None:
    entries: list[Entry] = [
        user("u1"),
        user("u2"),
        compacted("k1", "first", first_kept_entry_id="u2"),
        user("u3"),
        compacted("k2", "second", first_kept_entry_id="u2"),
        user("u4"),
    ]
    for target in ANY:
        context = build_context(entries, target, strict=True)
        assert sources(context) == ["k2", "u2", "u3", "u4"]
        assert "first" not in repr(context.items)


def test_an_older_broken_boundary_does_not_matter() -> None:
    entries: list[Entry] = [
        user("u1"),
        compacted("k1", first_kept_entry_id="nobody"),
        user("u2"),
        compacted("k2"),
    ]
    context = build_context(entries, CHAT, strict=True)
    assert sources(context) == ["k2"]


# -------------------------------------------------------------------------------- privacy


def own(target: Target) -> str:
    return target.family


@pytest.mark.parametrize("family", [None, "somebody/else", "openai-responses/azure/m-1"])
def test_what_another_family_sealed_is_left_out_and_told(family: str | None) -> None:
    entries = [user("u1"), reasoning("r1", family=family), answer("a1", family=family), user("u2")]
    context = build_context(entries, RESPONSES)
    assert sources(context) == ["u1", "a1", "u2"]
    assert told(context) == [("left-out", "private", "r1")]
    assert context.changes[0].item is entries[1].message
    assert build_context(entries).items[1] is entries[1].message


def test_what_the_family_or_one_that_it_reads_sealed_is_sent() -> None:
    entries = [user("u1"), reasoning("r1", family=own(RESPONSES)), answer("a1"), user("u2")]
    other = Target("openai-responses", "m-2", "azure", reads=frozenset({own(RESPONSES)}))
    for target in (RESPONSES, other):
        context = build_context(entries, target, strict=True)
        assert context.items[1] is entries[1].message
        assert context.changes == ()


def test_platform_and_account_are_of_the_family() -> None:
    targets = [
        RESPONSES,
        Target("openai-responses", "m-2"),
        Target("openai-responses", "m-1", "azure"),
        Target("openai-responses", "m-1", account="org"),
    ]
    for maker in targets:
        entries = [user("u1"), reasoning("r1", family=maker.family), answer("a1"), user("u2")]
        for reader in targets:
            assert (len(build_context(entries, reader).items) == 4) == (maker is reader)


def test_of_a_mixed_message_what_anybody_can_read_stays() -> None:
    blocks = [
        {"type": "thinking", "thinking": "plan", "signature": "seal"},
        text("so"),
        {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
        {"type": "web_search_tool_result", "tool_use_id": "s", "content": []},
        {"type": "tool_use", "id": "t", "name": "bash", "input": {"signature": "mine"}},
    ]
    results = [{"type": "tool_result", "tool_use_id": "t", "content": "out"}]
    entries = [user("u1"), answer("a1", blocks, family="somebody/else"), user("u2", results)]
    context = build_context(entries, ANTHROPIC)
    assert context.items[1]["content"] == [blocks[1], blocks[4]]
    assert context.items[1]["content"][1] is blocks[4]
    assert told(context) == [("rewritten", "private", "a1")]
    assert context.changes[0].item is entries[1].message
    assert why(context) == ["kept", "mended", "kept"]


def test_what_is_private_alone_takes_its_message_with_it() -> None:
    sealed = [{"type": "redacted_thinking", "data": "seal"}]
    context = build_context([user("u1"), answer("a1", sealed, family="somebody/else"), user("u2")], ANTHROPIC)
    assert sources(context) == ["u1", "u2"]


def test_signatures_on_calls_of_another_go_and_the_call_stays() -> None:
    asked = {
        "id": "t",
        "type": "function",
        "function": {"name": "bash", "arguments": '{"signature": "mine"}'},
        "extra_content": {"google": {"thought_signature": "seal"}},
    }
    item = {"role": "assistant", "content": None, "tool_calls": [asked], "reasoning_content": "plan"}
    entries = [
        user("u1"),
        message("a1", item, family="somebody/else"),
        message("o1", {"role": "tool", "tool_call_id": "t", "content": "out"}),
    ]
    context = build_context(entries, CHAT)
    (sent,) = context.items[1]["tool_calls"]
    assert sent == {key: value for key, value in asked.items() if key != "extra_content"}
    assert "reasoning_content" not in context.items[1]
    assert told(context) == [("rewritten", "private", "a1")]
    same = [entries[0], message("a1", item, family=own(CHAT)), entries[2]]
    assert build_context(same, CHAT).items[1] is item


def test_reasoning_that_is_left_out_takes_the_ids_of_what_it_led_to() -> None:
    entries = [
        user("u1"),
        reasoning("r1", family="somebody/else"),
        call("c1", more={"id": "fc_1"}, family="somebody/else"),
        output("o1"),
        call("c2", "b", more={"id": "fc_2"}, family="somebody/else"),
        output("o2", "b"),
    ]
    context = build_context(entries, RESPONSES)
    assert [item.get("id") for item in context.items] == [None, None, None, "fc_2", None]
    assert told(context) == [("left-out", "private", "r1"), ("rewritten", "item-id-alone", "c1")]


def test_what_the_user_wrote_is_never_private() -> None:
    said = [{**text("see"), "signature": "mine"}]
    item = {"role": "user", "content": said}
    context = build_context([message("u1", item, family="somebody/else")], CHAT)
    assert context.items[0] is item


# --------------------------------------------------------- thinking that binds to what is before

THINKING: Final = {"type": "thinking", "thinking": "plan", "signature": "seal"}
NEWER: Final = [
    "claude-opus-5-5",
    "claude-sonnet-5-5-20261001",
    "claude-haiku-5.5",
    "anthropic.claude-fable-5-1-v1:0",
]


@pytest.mark.parametrize("model", NEWER)
def test_thinking_from_before_a_compaction_is_not_sent_to_newer_models(model: str) -> None:
    target = Target("anthropic-messages", model)
    assert target.binds_to_prefix
    entries: list[Entry] = [
        user("u1"),
        answer("a1", [THINKING, text("so")], family=target.family),
        user("u2"),
        compacted("k", first_kept_entry_id="a1"),
        answer("a2", [THINKING, text("and")], family=target.family),
        user("u3"),
    ]
    context = build_context(entries, target)
    assert context.items[1]["content"] == [text("so")]
    assert context.items[3] is entries[4].message  # type: ignore[union-attr]
    assert told(context) == [("rewritten", "private", "a1")]
    assert "compaction" in context.changes[0].message
    before = build_context(entries[:3], target)
    assert before.changes == ()
    assert before.items[1] is entries[1].message  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "target",
    [
        Target("anthropic-messages", "claude-opus-4-6"),
        Target("anthropic-messages", "claude-sonnet-4-5-20250929"),
        Target("openai-chat", "claude-opus-5-5"),
    ],
)
def test_others_take_thinking_whatever_stands_before_it(target: Target) -> None:
    assert not target.binds_to_prefix
    if target.api != "anthropic-messages":
        return
    entries: list[Entry] = [
        user("u1"),
        answer("a1", [THINKING, text("so")], family=target.family),
        user("u2"),
        compacted("k", first_kept_entry_id="a1"),
        user("u3"),
    ]
    context = build_context(entries, target)
    assert context.changes == ()
    assert context.items[1] is entries[1].message  # type: ignore[union-attr]


# ----------------------------------------------------------------------------- broken off


@pytest.mark.parametrize("target", ANY)
def test_an_answer_that_was_broken_off_is_history_alone(target: Target | None) -> None:
    aborted = {"role": "assistant", "content": [text("half")], "stopReason": "aborted", "timestamp": 1}
    for entry in (
        answer("a1", "half", interrupted=True),
        message("a1", aborted),
        call("a1", interrupted=True),
    ):
        context = build_context([user("u1"), entry, user("u2")], target)
        assert sources(context) == ["u1", "u2"]
        assert told(context) == [("left-out", "interrupted", "a1")]
        assert context.changes[0].item is entry.message
        with pytest.raises(StrictContextError, match="broken off"):
            build_context([user("u1"), entry, user("u2")], target, strict=True)


def test_what_a_broken_answer_called_goes_with_it_and_what_was_given_back_too() -> None:
    entries = [user("u1"), call("c1", interrupted=True), output("o1"), user("u2")]
    context = build_context(entries, RESPONSES)
    assert sources(context) == ["u1", "u2"]
    assert rules(context) == ["interrupted", "output-without-call"]


def test_an_aborted_message_with_many_calls_is_left_out_whole() -> None:
    calls = [{"type": "toolCall", "id": f"t{n}", "name": "bash", "arguments": {}} for n in range(16)]
    aborted = {"role": "assistant", "content": calls, "stopReason": "aborted", "timestamp": 1}
    for target in TARGETS:
        context = build_context([user("u1"), message("a1", aborted), user("u2")], target)
        assert sources(context) == ["u1", "u2"]


# ---------------------------------------------------------------------------- attachments


def placed(*entries: Entry, target: Target | None = CHAT, **more: Any) -> Context:
    return build_context([user("u1"), *entries, user("u2")], target, attachments=True, **more)


def test_attachments_stand_before_and_after_the_conversation() -> None:
    for target in ANY:
        context = placed(
            beside("c1", "rules"), beside("c2", "now", kind="time", placement="after-current"), target=target
        )
        assert sources(context) == ["c1", "u1", "u2", "c2"]
        assert why(context) == ["attachment", "kept", "kept", "attachment"]
        assert context.items[0] == {"role": "user", "content": "rules"}
        assert context.changes == ()


def test_attachments_are_off_unless_asked_for() -> None:
    context = build_context([beside("c1", "rules"), user("u1")], CHAT)
    assert sources(context) == ["u1"]
    assert context.changes == ()


def test_of_each_kind_and_path_the_newest_revision_stands_and_only_of_the_last_epoch() -> None:
    context = placed(
        beside("c1", "old epoch", kind="other", epoch=1),
        beside("c2", "one", epoch=2),
        beside("c3", "elsewhere", epoch=2, path="/b"),
        beside("c4", "nowhere", epoch=2, path=None),
        beside("c5", "two", epoch=2, revision="2"),
        beside("c6", "late, but of the old epoch", epoch=1),
    )
    assert sources(context) == ["c3", "c4", "c5", "u1", "u2"]


def test_an_unknown_placement_stands_after_and_is_told() -> None:
    context = placed(beside("c1", "rules", placement="somewhere"))
    assert sources(context) == ["u1", "u2", "c1"]
    assert told(context) == [("moved", "attachment", "c1")]
    assert "at-c1" in context.changes[0].message
    assert "'somewhere'" in context.changes[0].message


def test_a_blank_attachment_takes_the_place_of_the_one_before_it_and_is_told() -> None:
    context = placed(beside("c1", "rules"), beside("c2", " \n"))
    assert sources(context) == ["u1", "u2"]
    assert told(context) == [("left-out", "attachment", "c2")]


def test_attachments_are_no_change_to_a_strict_context() -> None:
    assert sources(placed(beside("c1", "rules"), strict=True)) == ["c1", "u1", "u2"]


def test_attachments_are_those_of_the_live_part_of_a_log() -> None:
    """A store's ``active()`` has no others, and gives the same context."""
    entries: list[Entry] = [
        beside("c1", "rules"),
        user("u1"),
        beside("c2", "more", path="/b"),
        compacted("k", first_kept_entry_id="u1"),
        user("u2"),
    ]
    for given in (entries, entries[1:]):
        assert sources(build_context(given, CHAT, attachments=True)) == ["c2", "k", "u1", "u2"]


# ----------------------------------------------------------------------- as it was then


def test_the_context_at_an_entry_knows_nothing_of_what_came_later() -> None:
    entries: list[Entry] = [user("u1"), call("c1"), output("o1"), user("u2"), compacted("k"), user("u3")]
    assert sources(context_at(entries, "u3", RESPONSES)) == ["k", "u3"]
    assert sources(context_at(entries, "u2", RESPONSES)) == ["u1", "c1", "o1", "u2"]
    then = context_at(entries, "c1", RESPONSES)
    assert then.items[2]["output"] == STAND_IN_UNKNOWN
    assert then.head == "c1"
    with pytest.raises(EntryNotFoundError, match="nobody"):
        context_at(entries, "nobody", RESPONSES)
    with pytest.raises(StrictContextError):
        context_at(entries, "c1", RESPONSES, strict=True)


def test_the_context_at_an_entry_has_the_words_of_that_time() -> None:
    started = started_payload(ToolStarted(at=datetime(2026, 1, 2, tzinfo=UTC)))
    ended = outcome_payload(ToolOutcome(status="failed"))
    entries: list[Entry] = [user("u1"), call("c1", "a"), call("c2", "b"), output("o1", "a"), user("u2")]
    details = {("a", "c1"): ended, ("b", "c2"): started}
    then = context_at(entries, "c2", RESPONSES, details=details)
    assert [item["output"] for item in then.items[3:]] == [then.items[3]["output"], STAND_IN_BEGAN]
    assert then.items[3]["output"] != STAND_IN_FINISHED.format(status="failed")
    now = context_at(entries, "u2", RESPONSES, details=details)
    assert [item.get("output") for item in now.items[3:5]] == ["out", STAND_IN_BEGAN]
    lost = build_context([user("u1"), call("c1")], RESPONSES, details={("a", "c1"): ended})
    assert lost.items[2]["output"] == STAND_IN_FINISHED.format(status="failed")
    assert context_at(entries, "c2", RESPONSES).items[3]["output"] == STAND_IN_UNKNOWN


def test_the_context_at_an_entry_places_the_attachments_of_that_time() -> None:
    entries: list[Entry] = [user("u1"), beside("c1", "one"), user("u2"), beside("c2", "two", epoch=2)]
    assert sources(context_at(entries, "u2", CHAT, attachments=True)) == ["c1", "u1", "u2"]
    assert sources(context_at(entries, "c2", CHAT, attachments=True)) == ["c2", "u1", "u2"]


# --------------------------------------------------------------------------------- size


def used(**tokens: int) -> ResponseRecord:
    return ResponseRecord(usage=RecordedUsage(**tokens))


def test_the_size_is_what_was_counted_last_and_what_came_after() -> None:
    entries: list[Entry] = [
        user("u1", "x" * 4000),
        answer("a1", response=used(input=100, output=10), family=own(CHAT)),
        user("u2"),
        answer("a2", response=used(input=700, cache_read=20, cache_write=3, output=10), family=own(CHAT)),
        user("u3", "y" * 400),
    ]
    context = build_context(entries, CHAT)
    assert context.size == 733 + weigh(context.items[-1])
    assert build_context(entries[:4], CHAT).size == 733
    assert build_context(entries).size == context.size
    assert context.size == context.size


def test_what_another_family_counted_does_not_count() -> None:
    entries: list[Entry] = [
        user("u1"),
        answer("a1", response=used(input=7000), family="somebody/else"),
        user("u2"),
    ]
    context = build_context(entries, CHAT)
    assert context.size == sum(map(weigh, context.items))
    assert build_context(entries).size == 7000 + weigh(context.items[-1])


def test_what_was_counted_before_a_compaction_does_not_count() -> None:
    entries: list[Entry] = [
        user("u1"),
        answer("a1", response=used(input=7000), family=own(CHAT)),
        compacted("k", first_kept_entry_id="a1"),
        user("u2"),
    ]
    context = build_context(entries, CHAT)
    assert context.size == sum(map(weigh, context.items))
    entries += [answer("a2", response=used(input=50, output=5), family=own(CHAT)), user("u3")]
    assert build_context(entries, CHAT).size == 55 + weigh({"role": "user", "content": "u3"})


def test_a_response_of_several_items_was_counted_whole() -> None:
    entries: list[Entry] = [
        user("u1"),
        reasoning("r1", response=used(input=500, output=50), family=own(RESPONSES)),
        answer("a1", "x" * 4000, family=own(RESPONSES)),
        call("c1", family=own(RESPONSES)),
        output("o1"),
    ]
    context = build_context(entries, RESPONSES)
    assert context.size == 550 + weigh(context.items[-1])


def test_a_usage_of_nothing_is_none() -> None:
    entries: list[Entry] = [
        user("u1"),
        answer("a1", response=used(input=500), family=own(CHAT)),
        user("u2"),
        answer("a2", response=used(), family=own(CHAT)),
    ]
    context = build_context(entries, CHAT)
    assert context.size == 500 + sum(map(weigh, context.items[2:]))


@pytest.mark.parametrize("data", ["aGk=" * 100, "aGk=" * 100_000])
def test_a_picture_weighs_the_same_however_large_it_is(data: str) -> None:
    shapes: list[Item] = [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}},
        {"type": "input_image", "image_url": f"data:image/png;base64,{data}"},
        {"type": "image", "data": data, "mimeType": "image/png"},
    ]
    for shape in shapes:
        for seen in (1, 2):
            weight = weigh({"role": "user", "content": [text("x" * 400), *[shape] * seen]})
            assert seen * IMAGE_TOKENS + 100 <= weight <= seen * IMAGE_TOKENS + 220


def test_text_weighs_a_quarter_of_its_bytes() -> None:
    assert weigh({}) == 1
    assert 100 <= weigh({"role": "user", "content": "x" * 400}) <= 110
    assert 1000 <= weigh({"role": "user", "content": "日" * 1333}) <= 1020
    assert weigh({"role": "user", "content": "\ud83d" * 40}) > 10
    assert weigh({"n": 2**80}) > 0


# ------------------------------------------------------------------------ what it tells


def test_each_row_says_where_its_item_is_from_and_why_it_is_there() -> None:
    picture = {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}
    entries: list[Entry] = [
        user("u0"),
        compacted("k"),
        user("u1"),
        call("c1", "a|b"),
        call("c2", "b"),
        user("u2"),
        output("o1", "a|b"),
        user("u3", [text("see"), picture]),
        answer("a1", "end \n"),
    ]
    context = build_context(entries, ANTHROPIC)
    assert [(row.why, row.entries) for row in context.rows] == [
        ("summary", ("k",)),
        ("kept", ("u1",)),
        ("merged", ("c1", "c2")),
        ("merged", ("o1", "c2")),
        ("kept", ("u2",)),
        ("kept", ("u3",)),
        ("mended", ("a1",)),
    ]
    assert all(row.entry == row.entries[0] for row in context.rows)
    assert [row.item for row in context.rows] == context.items
    assert all(row.item is item for row, item in zip(context.rows, context.items, strict=True))
    assert {change.entry for change in context.changes} >= {"c2", "o1", "a1"}
    with pytest.raises(TypeError):
        hash(context.rows[0])


def test_the_head_is_the_last_entry_whatever_it_is() -> None:
    assert build_context([user("u1"), beside("c1", "rules")], CHAT).head == "c1"
    assert build_context([user("u1"), compacted("k")], CHAT).head == "k"
    assert build_context([]).head == ""


def test_a_context_tells_what_it_is_in_a_line() -> None:
    assert repr(build_context([user("u1")], CHAT)) == "<Context of 1 items for openai-chat/direct, 0 changes>"
    assert "no target" in repr(build_context([user("u1")]))


BLOCK: Final = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
PAUSED: Final = ResponseRecord(finish_reason="pause")


def test_a_paused_turn_is_sent_back_as_it_is() -> None:
    last = answer("a1", [BLOCK], response=PAUSED, family=own(ANTHROPIC))
    context = build_context([user("u1"), last], ANTHROPIC, strict=True)
    assert context.paused
    assert context.items[1] is last.message
    after = build_context([user("u1"), last, user("u2")], ANTHROPIC)
    assert not after.paused
    assert rules(after) == ["hosted-pair"]
    assert sources(after) == ["u1", "u2"]
    assert not build_context([user("u1"), answer("a1")], ANTHROPIC).paused


def test_a_paused_turn_that_cannot_be_read_is_gone() -> None:
    last = answer("a1", [BLOCK], response=PAUSED, family="somebody/else")
    context = build_context([user("u1"), last], ANTHROPIC)
    assert not context.paused
    assert sources(context) == ["u1"]


def test_a_turn_is_paused_too_where_the_message_alone_says_so() -> None:
    item = {"role": "assistant", "content": [BLOCK], "stop_reason": "pause_turn"}
    context = build_context([user("u1"), message("a1", item, family=own(ANTHROPIC))], ANTHROPIC)
    assert context.items[1] == {"role": "assistant", "content": [BLOCK]}
    assert context.paused


# ------------------------------------------------------------------------------- errors


def test_a_strict_error_carries_the_change_and_pickles() -> None:
    entries = [user("u1"), call("c1"), user("u2")]
    with pytest.raises(StrictContextError) as caught:
        build_context(entries, RESPONSES, strict=True)
    again = pickle.loads(pickle.dumps(caught.value))
    assert again.change == caught.value.change == build_context(entries, RESPONSES).changes[0]
    assert str(again) == str(caught.value)
    assert "never answered" in str(again)


def test_strict_takes_what_the_api_alone_would_have_mended() -> None:
    context = build_context([user("u1"), user("u2", "half \ud83d")], CHAT, strict=True)
    assert rules(context) == ["surrogate"]


def test_a_context_error_names_the_rule_and_advises_nothing_that_does_not_help() -> None:
    for entries in ([], [reasoning("r1")], [user("u1", "")]):
        for target in TARGETS:
            with pytest.raises(ContextError, match="there is nothing to send") as caught:
                build_context(entries, target)
            assert [finding.rule for finding in caught.value.findings] == ["empty-input"]
            assert caught.value.api == target.api
            assert "build_context" not in str(caught.value)
            assert all(finding.advice == "" for finding in caught.value.findings)
            assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_many_findings_are_told_briefly() -> None:
    from transcript_log.findings import Finding

    found = [Finding(rule="r", severity="error", message=f"m{n}") for n in range(8)]
    told_of = str(ContextError("x", found))
    assert "m4" in told_of
    assert "m5" not in told_of
    assert told_of.endswith("and 3 more")
    assert "more" not in str(ContextError("x", found[:5]))


# ------------------------------------------------------------------------------ targets


@pytest.mark.parametrize(
    ("target", "family"),
    [
        (Target("openai-responses", "m-1"), "openai-responses/direct/m-1"),
        (Target("openai-responses", "m-1", "azure", "org"), "openai-responses/azure/org/m-1"),
        (Target("openai-responses", "a/b"), "openai-responses/direct/a%2Fb"),
        (Target("openai-chat", "m-1"), "openai-chat/direct"),
        (Target("openai-chat", "m-1", "openrouter", "key"), "openai-chat/openrouter/key"),
        (Target("anthropic-messages", "m-1", "bedrock"), "anthropic-messages/bedrock"),
        (Target("unheard-of", "m-1"), "unheard-of/direct/m-1"),
    ],
)
def test_a_family_names_what_private_content_is_bound_to(target: Target, family: str) -> None:
    assert target.family == family
    assert target.can_read(family)
    assert not target.can_read(None)
    assert not target.can_read(family + "x")


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"api": ""}, "api"),
        ({"api": " "}, "api"),
        ({"model": ""}, "model"),
        ({"platform": ""}, "platform"),
        ({"api": "a/b"}, "api"),
        ({"platform": "a/b"}, "platform"),
        ({"account": "a/b"}, "account"),
    ],
)
def test_a_target_whose_name_would_be_two_things_is_refused(fields: dict[str, str], named: str) -> None:
    with pytest.raises(TargetError, match=f"the {named} of a target"):
        Target(**{"api": "openai-chat", "model": "m", **fields})  # type: ignore[arg-type]  # all text


def test_a_target_is_a_value() -> None:
    assert Target("a", "m", reads=frozenset({"x"})) == Target("a", "m", reads=frozenset({"x"}))
    assert len({Target("a", "m"), Target("a", "m"), Target("a", "n")}) == 2
    assert Target("a", "m", reads=frozenset({"x"})).can_read("x")


def test_every_binding_names_its_source() -> None:
    for binding in BINDINGS.values():
        assert binding.source.startswith("https://")
        assert datetime.fromisoformat(binding.date)


# ------------------------------------------------------------------ what met in odd ways


SEARCH: Final[Item] = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}
FOUND: Final[Item] = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}


def use(call_id: str = "a") -> Item:
    return {"type": "tool_use", "id": call_id, "name": "bash", "input": {}}


def result(call_id: str = "a", said: str = "out") -> Item:
    return {"type": "tool_result", "tool_use_id": call_id, "content": said}


def paused(entry_id: str, *blocks: Item) -> MessageEntry:
    record = ResponseRecord(finish_reason="pause")
    return answer(entry_id, list(blocks), family=ANTHROPIC.family, response=record)


def claude(*entries: MessageEntry) -> Context:
    given = [user("u1"), *entries]
    return build_context([_owned(entry, ANTHROPIC) for entry in given], ANTHROPIC)


def _owned(entry: MessageEntry, target: Target) -> MessageEntry:
    return replace(entry, family=entry.family or target.family)


@pytest.mark.parametrize("target", TARGETS)
def test_a_local_shell_call_that_has_only_its_own_id_is_answered(target: Target) -> None:
    asked = {"type": "local_shell_call", "id": "lsh_1", "call_id": None, "action": {"command": ["ls"]}}
    entries = [user("u1"), message("c", asked), output("o", "lsh_1"), user("u2")]
    context = build_context([_owned(entry, RESPONSES) for entry in entries], target)
    assert "out" in str(context.items)
    assert "unanswered-call" not in rules(context)
    open_context = build_context([_owned(entry, RESPONSES) for entry in entries[:2]], target)
    assert rules(open_context)[0] == "unanswered-call"


def test_a_paused_turn_is_none_where_more_stands_after_it() -> None:
    turn = paused("p", text("looking"), SEARCH)
    assert claude(turn).paused
    attached = build_context(
        [user("u1"), turn, beside("b", "note", placement="after-current")], ANTHROPIC, attachments=True
    )
    assert not attached.paused
    assert [item["content"] for item in attached.items] == ["u1", [text("looking")], "note"]
    assert "hosted-pair" in rules(attached)
    both = claude(paused("p", SEARCH, use()))
    assert both.items[1]["content"] == [use()]
    assert rules(both) == ["unanswered-call", "hosted-pair"]


def test_a_paused_turn_may_be_stored_in_pieces_and_be_followed_by_what_goes() -> None:
    context = claude(paused("p", text("looking")), answer("q", [SEARCH]), user("o", [result("gone")]))
    assert context.paused
    assert context.items[-1]["content"] == [SEARCH]
    assert rules(context) == ["output-without-call"]


def test_halves_of_a_server_call_in_two_families_go_together() -> None:
    asked = answer("a1", [SEARCH], family="another/family")
    context = claude(asked, answer("a2", [FOUND, text("found")]), user("u2"))
    assert context.items[1:] == [
        {"role": "assistant", "content": [text("found")]},
        {"role": "user", "content": "u2"},
    ]
    assert {"private", "hosted-pair"} <= set(rules(context))


def test_a_server_call_that_shares_its_id_keeps_one_result() -> None:
    context = claude(answer("a1", [SEARCH, text("one")]), answer("a2", [SEARCH, FOUND]), user("u2"))
    assert [item["content"] for item in context.items[1:3]] == [[text("one")], [SEARCH, FOUND]]


def test_a_result_after_outputs_of_the_client_comes_alone() -> None:
    context = claude(
        answer("a1", [SEARCH, use()]), user("o", [result()]), answer("a2", [FOUND, text("fin")]), user("u2")
    )
    assert [item["content"] for item in context.items[1:4]] == [
        [SEARCH, use(), FOUND],
        [result()],
        [text("fin")],
    ]


def test_made_up_moved_and_own_outputs_go_into_one_message() -> None:
    asked = answer("a1", [use("a"), use("b"), use("c")])
    context = claude(asked, user("o", [result("a"), result("c")]), answer("a2", "on"))
    (blocks,) = (item["content"] for item in context.items[2:3])
    assert [block["tool_use_id"] for block in blocks] == ["a", "b", "c"]
    assert len(context.items) == 4
    # That the stand-in is stored later changes no byte of what was sent.
    stopped = [answer("a1", [use()]), user("s", "stop")]
    sent = claude(*stopped)
    made = {"role": "user", "content": [sent.items[2]["content"][0]]}
    published = claude(*stopped, message("p", made, stand_in=True), answer("a2", "so"))
    assert published.items[:3] == sent.items


def test_thinking_from_before_a_compaction_stays_old_when_messages_are_joined() -> None:
    target = Target("anthropic-messages", "claude-opus-5-5")
    thought = {"type": "thinking", "thinking": "", "signature": "seal"}
    entries: list[Entry] = [
        _owned(user("u1"), target),
        _owned(answer("a1", [thought, SEARCH]), target),
        _owned(user("u2"), target),
        _owned(answer("a2", [FOUND, text("found")]), target),
        compacted("k", first_kept_entry_id="a1"),
        _owned(user("u3"), target),
    ]
    assert "seal" not in str(build_context(entries, target).items)


def test_reasoning_goes_with_the_call_that_a_limit_cut() -> None:
    cut = call("c1", more={"arguments": '{"a": '})
    entries = [
        user("u1"),
        reasoning("r1", response=ResponseRecord(finish_reason="max_tokens")),
        cut,
        message("r2", {"type": "reasoning", "id": "rs_2", "summary": [], "encrypted_content": "seal"}),
        answer("a1"),
    ]
    context = build_context([_owned(entry, RESPONSES) for entry in entries], RESPONSES)
    assert sources(context) == ["u1", "r2", "a1"]
    assert rules(context) == ["reasoning-alone", "cut-call"]


def test_reasoning_lost_to_a_compaction_that_keeps_nothing_takes_ids_along() -> None:
    entries: list[Entry] = [
        _owned(user("u1"), RESPONSES),
        _owned(reasoning("r1"), RESPONSES),
        compacted("k"),
        _owned(call("c1", more={"id": "fc_1"}), RESPONSES),
        _owned(output("o1"), RESPONSES),
    ]
    assert "id" not in build_context(entries, RESPONSES).items[1]


def test_functions_from_before_tools_stay_as_they_are() -> None:
    asked = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}}
    told_of = {"role": "function", "name": "f", "content": "out"}
    entries = [user("u1"), message("a", asked), message("f", told_of), user("b", ""), user("u2")]
    context = build_context([_owned(entry, CHAT) for entry in entries], CHAT)
    assert context.items[1:3] == [asked, told_of]


def test_a_search_for_tools_of_another_family_leaves_ones_own_alone() -> None:
    asked = {"type": "tool_search_call", "call_id": "t0", "arguments": {}}
    found = {"type": "tool_search_output", "call_id": "t0", "tools": []}
    entries = [
        user("u1"),
        message("a", asked, family="x"),
        message("b", found, family=RESPONSES.family),
        user("u2"),
        message("c", dict(asked), family=RESPONSES.family),
        message("d", dict(found), family=RESPONSES.family),
    ]
    context = build_context(entries, RESPONSES)
    assert sources(context) == ["u1", "u2", "c", "d"]


def test_signed_thinking_with_half_a_character_is_left_out() -> None:
    thought = {"type": "thinking", "thinking": "half \ud83d", "signature": "seal"}
    context = claude(answer("a1", [thought, text("half \ud83d here")]), user("u2"))
    assert context.items[1]["content"] == [text("half \ufffd here")]
    assert [kind for kind, rule, _ in told(context) if rule == "surrogate"] == ["left-out", "rewritten"]


def test_one_odd_part_costs_a_message_nothing_else() -> None:
    thought = {"type": "thinking", "thinking": "hm", "signature": "seal"}
    odd = {"type": "output_text", "text": "odd"}
    context = claude(answer("a1", [thought, odd, None, use()]), user("o", [result()]))
    assert context.items[1]["content"] == [thought, text("odd"), use()]
    assert rules(context) == ["part-type", "part-type"]
    own = {
        "role": "assistant",
        "content": [None, text("a")],
        "reasoning_content": "hm",
        "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
    }
    entries = [
        user("u1"),
        message("a", own),
        message("o", {"role": "tool", "tool_call_id": "c", "content": "x"}),
    ]
    sent = build_context([_owned(entry, CHAT) for entry in entries], CHAT).items[1]
    assert sent == {**own, "content": [text("a")]}


def test_what_pi_kept_of_ones_own_thinking_goes_back() -> None:
    thought = {"type": "thinking", "thinking": "hm", "thinkingSignature": "seal"}
    said = {"role": "assistant", "content": [thought, text("so")], "stopReason": "stop", "timestamp": 1}
    context = claude(message("a1", said), user("u2"))
    assert context.items[1]["content"] == [
        {"type": "thinking", "thinking": "hm", "signature": "seal"},
        text("so"),
    ]
    foreign = claude(message("a1", said, family="x"), user("u2"))
    assert foreign.items[1]["content"] == [text("so")]


def test_an_account_and_a_model_with_a_slash_are_no_one_family() -> None:
    one = Target("openai-responses", "openai/gpt-5", platform="openrouter")
    other = Target("openai-responses", "gpt-5", platform="openrouter", account="openai")
    assert one.family != other.family


def test_one_private_item_among_ones_own_is_enough_to_be_looked_at() -> None:
    own = [_owned(user("u1"), CHAT), _owned(user("u2"), CHAT)]
    foreign = answer("a1", "so", family="x")
    sealed = replace(foreign, message={**foreign.message, "reasoning_content": "hm"})
    context = build_context([own[0], sealed, own[1]], CHAT)
    assert context.items[1] == {"role": "assistant", "content": "so"}
    assert rules(context) == ["private"]


def test_a_usage_counts_for_nothing_where_its_response_is_not_in_the_context() -> None:
    record = ResponseRecord(usage=RecordedUsage(input=5000, output=100))
    entries = [
        _owned(user("u1"), CHAT),
        answer("a1", "so", family=CHAT.family, response=record, interrupted=True),
        _owned(user("u2"), CHAT),
    ]
    context = build_context(entries, CHAT)
    assert context.size == sum(weigh(item) for item in context.items)


def test_of_two_searches_of_one_id_the_own_one_keeps_its_output() -> None:
    asked = {"type": "tool_search_call", "call_id": "t0", "arguments": {}}
    entries = [
        message("a", asked, family="x"),
        message("b", dict(asked), family=RESPONSES.family),
        _owned(user("u1"), RESPONSES),
    ]
    context = build_context(entries, RESPONSES)
    assert sources(context) == ["b", "b", "u1"]
    assert why(context) == ["kept", "stand-in", "kept"]


def test_it_is_told_who_alone_can_read_what_goes() -> None:
    entries = [_owned(user("u1"), RESPONSES), reasoning("r1", family="x/y"), reasoning("r2"), user("u2")]
    said = [change.message for change in build_context(entries, RESPONSES).changes]
    assert said == [
        "what is private goes: x/y alone can read it",
        "what is private goes: nobody said who can read it",
    ]


def test_it_is_told_where_outputs_are_put_into_a_message_of_the_user() -> None:
    context = claude(answer("a1", [use()]), user("s", "stop"))
    assert told(context) == [("added", "unanswered-call", "a1"), ("merged", "outputs-lead", "s")]
