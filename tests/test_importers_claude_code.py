"""A Claude Code session becomes the entries of what is live in it, and nothing is lost in silence."""

from __future__ import annotations

import gc
import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pytest
from case_contexts import rules
from claude_sessions import CLAUDE, START, Written, call, result, text, turns
from hypothesis import given, settings
from hypothesis import strategies as st
from test_cases import folder as cases_folder

from transcript_log.apis import check_items
from transcript_log.boundary import messages
from transcript_log.check import check_entries
from transcript_log.codec import encode_detail, encode_entry, encode_header, read_outcome
from transcript_log.context import build_context, context_at
from transcript_log.entries import (
    HARNESS,
    CompactionEntry,
    ContextEntry,
    Detail,
    Entry,
    ForkOrigin,
    MessageEntry,
    ParentCall,
    RecordedUsage,
    ResponseRecord,
    Run,
    RunEntry,
    ToolOutcome,
)
from transcript_log.errors import ContextError, HeaderError
from transcript_log.families import Target
from transcript_log.history import Said, build_history
from transcript_log.importers import Imported
from transcript_log.importers._claude_nodes import Group, Node
from transcript_log.importers._claude_records import Records
from transcript_log.importers.claude_code import import_claude_code, link_subagent
from transcript_log.importers.codex import import_codex
from transcript_log.session.calls import open_calls
from transcript_log.stats import find_spent

DATA: Final = Path(__file__).resolve().parent / "data" / "claude-code"
SESSIONS: Final = {
    "parallel-results": "outputs come in any order, between blocks, and off the chain of parents",
    "server-tool": "a call of the provider's own tool is answered within its message",
    "compaction": "a compaction is a mark and a summary",
    "kept-segment": "it may keep the end of the conversation, by its two ends",
    "kept-list": "or some of it, by a list that names no outputs",
    "kept-before": "or its beginning, before the summary",
    "rewound-past-compaction": "the newest one on the live branch counts",
    "cleared-outputs": "some outputs may be cleared alone",
    "replaced-output": "or replaced before they were sent",
    "thinking": "signed thinking stays byte for byte, and unsigned goes",
    "errors-and-interruptions": "errors and placeholders are no answers; declined calls have outputs",
    "unfinished-calls": "of a message with many calls all are answered, or none",
    "damaged": "torn and joined lines, unknown kinds, lost parents, repeats, clocks going back, CRLF",
    "echoes": "notes of progress repeat what others say; what the model saw is not what happened",
    "branches": "prompts said anew and answers tried again begin branches",
    "inline-subagent": "what a subagent did is another conversation",
    "resumed": "history that was copied keeps the id of its session",
}
"""Small sessions, each with what Claude Code itself would send of it, and the point it makes."""

DIALECTS: Final = {
    "openai-responses": "responses",
    "openai-chat": "chat",
    "anthropic-messages": "anthropic",
}


def told(imported: Imported, rule: str) -> list[str]:
    return [finding.message for finding in imported.findings if finding.rule == rule]


def said(imported: Imported) -> list[MessageEntry]:
    return [entry for entry in imported.entries if isinstance(entry, MessageEntry)]


def sent(imported: Imported) -> list[dict[str, Any]]:
    """What Claude Code would send, as turns."""
    return turns(build_context(imported.entries, CLAUDE, details=imported.details_by_call).items)


def sent_texts(imported: Imported) -> list[str]:
    return [block["text"] for turn in sent(imported) for block in turn["content"] if block["type"] == "text"]


def compactions(imported: Imported) -> list[CompactionEntry]:
    return [entry for entry in imported.entries if isinstance(entry, CompactionEntry)]


def outcomes(imported: Imported) -> dict[str, ToolOutcome | None]:
    return {detail.id: read_outcome(detail.payload) for detail in imported.details}


def check_acceptable(imported: Imported) -> None:
    """Every API takes a context of it, and ours agree with an independent checker."""
    for api, dialect in DIALECTS.items():
        target = Target(api, "any")
        try:
            context = build_context(imported.entries, target, details=imported.details_by_call)
        except ContextError as error:
            if {finding.rule for finding in error.findings} != {"empty-input"}:
                raise
            continue  # where nothing was said there is nothing to send
        assert [
            f for f in check_items(context.items, target, paused=context.paused) if f.severity != "note"
        ] == []
        assert context.paused or rules(cases_folder()).problems(dialect, context.items) == []


# -------------------------------------------------------------------- what would be sent


def test_every_small_session_makes_a_point() -> None:
    assert SESSIONS.keys() == {path.stem for path in DATA.glob("*.jsonl")}


@pytest.mark.parametrize("name", SESSIONS)
def test_a_context_is_what_claude_code_itself_would_send(name: str) -> None:
    with (DATA / f"{name}.jsonl").open("rb") as lines:
        imported = import_claude_code(lines, path=name)
    assert sent(imported) == json.loads((DATA / f"{name}.sent.json").read_bytes())
    check_acceptable(imported)


@pytest.mark.parametrize("name", SESSIONS)
def test_importing_twice_gives_the_same_bytes(name: str) -> None:
    def bytes_of(imported: Imported) -> list[bytes]:
        return [
            encode_header(imported.header),
            *(encode_entry(entry) for entry in imported.entries),
            *(encode_detail(detail) for detail in imported.details),
        ]

    lines = (DATA / f"{name}.jsonl").read_bytes().splitlines(keepends=True)
    first, again = import_claude_code(lines), import_claude_code(iter(lines))
    assert bytes_of(first) == bytes_of(again)
    assert first.findings == again.findings


@pytest.mark.parametrize("name", SESSIONS)
def test_what_is_left_of_a_session_that_is_cut_anywhere_can_be_sent(name: str) -> None:
    whole = (DATA / f"{name}.jsonl").read_bytes()
    for end in range(1, len(whole), 97):
        lines = whole[:end].splitlines(keepends=True)
        try:
            check_acceptable(import_claude_code(lines))
        except HeaderError:
            assert len(lines) == 1


# ------------------------------------------------------------------------ API messages


def test_the_records_of_an_api_message_become_one_message() -> None:
    imported = (
        Written()
        .user("u1", "go")
        .says("a1", "msg_1", {"type": "thinking", "thinking": "hm", "signature": "s"})
        .says("a2", "msg_1", text("two"))
        .says("a3", "msg_1", call("toolu_1"), stop="tool_use")
    ).imported()
    _, answer = said(imported)
    assert answer.message == {
        "role": "assistant",
        "content": [{"type": "thinking", "thinking": "hm", "signature": "s"}, text("two"), call("toolu_1")],
    }
    assert answer.timestamp == START + timedelta(seconds=2)
    assert imported.places[imported.entries.index(answer)][0] == 2


def test_the_usage_of_the_record_that_tells_most_output_counts_once() -> None:
    def usage(output: int, **more: int) -> dict[str, int]:
        return {
            "input_tokens": 2,
            "cache_read_input_tokens": 15030,
            "cache_creation_input_tokens": 8655,
            "output_tokens": output,
        } | more

    imported = (
        Written()
        .user("u1", "go")
        .says("a1", "msg_1", text("one"), usage=usage(1))
        .says("a2", "msg_1", text("two"), usage=usage(217), stop="end_turn")
        .says("a3", "msg_1", text("three"), usage=usage(30))
    ).imported()
    (spent,) = find_spent([("", imported.entries)])
    assert spent.response == "msg_1"
    recorded = RecordedUsage(input=2, output=217, cache_read=15030, cache_write=8655, total_tokens=23904)
    assert said(imported)[1].response == ResponseRecord(
        id="msg_1", provider="anthropic", model="claude-opus-4-6", finish_reason="stop", usage=recorded
    )


@pytest.mark.parametrize(
    ("stop", "reason"),
    [
        (None, None),
        ("end_turn", "stop"),
        ("tool_use", "tool_use"),
        ("max_tokens", "max_tokens"),
        ("pause_turn", "pause"),
        ("refusal", "refusal"),
        ("something_new", "something_new"),
    ],
)
def test_the_reason_to_stop_is_in_the_words_of_a_log(stop: str | None, reason: str | None) -> None:
    imported = Written().user("u1", "go").says("a1", "msg_1", text("a"), stop=stop).imported()
    response = said(imported)[1].response
    assert response is not None
    assert response.finish_reason == reason


def test_blocks_that_came_between_outputs_are_of_one_message() -> None:
    imported = (
        Written()
        .user("u1", "go")
        .says("a1", "msg_1", call("toolu_1"))
        .answers("r1", "toolu_1", "one")
        .says("a2", "msg_1", call("toolu_2"))
        .answers("r2", "toolu_2", "two")
    ).imported()
    assert [entry.message["content"] for entry in said(imported)[1:]] == [
        [call("toolu_1"), call("toolu_2")],
        [result("toolu_1", "one")],
        [result("toolu_2", "two")],
    ]


def test_answers_of_a_server_that_gives_all_one_id_stay_apart() -> None:
    for request in ({"requestId": None}, {}):
        written = Written().user("u1", "one")
        written.says("a1", "same", text("first"), **request or {"requestId": "req_1"})
        written.user("u2", "two").says("a2", "same", text("second"), **request or {"requestId": "req_2"})
        imported = written.imported()
        assert sent_texts(imported) == ["one", "first", "two", "second"]


def test_a_copy_of_an_answer_that_was_put_down_as_a_root_is_no_other_answer() -> None:
    imported = (
        Written()
        .user("u1", "say lol")
        .says("a1", "msg_1", text("lol"))
        .says("a2", "msg_1", text("lol"), parentUuid=None, requestId=None)
        .user("u2", "say kek")
        .says("a3", "msg_2", text("kek"))
    ).imported()
    assert sent_texts(imported) == ["say lol", "lol", "say kek", "kek"]
    assert told(imported, "repeated-block")


def test_the_pieces_of_an_answer_need_no_request() -> None:
    written = Written().user("u1", "go").says("a1", "msg_1", text("one"), requestId=None)
    written.says("a2", "msg_1", text("two"), requestId="req_1").says("a3", "msg_1", text("3"), requestId=None)
    imported = written.says("a4", "msg_1", text("other"), requestId="req_2").imported()
    assert [len(entry.message["content"]) for entry in said(imported)[1:]] == [3, 1]


def test_of_many_blocks_each_stands_once_and_in_its_place() -> None:
    blocks = [text(f"{number}") for number in range(40)] + [call(f"toolu_{number}") for number in range(40)]
    odd = [{"type": "odd", "n": number} for number in range(3)]
    written = Written().user("u1", "go")
    for number, block in enumerate([*blocks, *odd, *blocks, *odd, 7, 7]):
        written.says(f"a{number}", "msg_1", block)
    imported = written.imported()
    assert said(imported)[1].message["content"] == [*blocks, *odd, 7]
    (message,) = told(imported, "repeated-block")
    assert ": 84;" in message


def test_what_was_decoded_is_left_as_it_was() -> None:
    written = (
        Written().user("u1", "go").says("a1", "msg_1", text("1"), text("2")).says("a2", "msg_1", text("3"))
    )
    imported = written.says("b1", "msg_2", text("1"), text("1")).imported()
    assert [len(entry.message["content"]) for entry in said(imported)[1:]] == [3, 2]


def test_an_answer_may_be_plain_text() -> None:
    def said_in(*contents: Any) -> list[Any]:
        written = Written().user("u1", "go")
        for number, content in enumerate(contents):
            message = {"id": "msg_1", "model": "claude-2", "role": "assistant", "content": content}
            written.record("assistant", f"a{number}", message=message)
        return [entry.message["content"] for entry in said(written.imported())[1:]]

    assert said_in("plain") == ["plain"]
    assert said_in("plain", [text("more")]) == [[text("plain"), text("more")]]
    assert said_in(7) == []


def test_only_role_and_content_of_a_message_are_sent() -> None:
    for message in ({"role": "user", "content": "x", "id": "1"}, {"role": "human", "content": "x"}):
        imported = Written().record("user", "u1", message=message).imported()
        assert said(imported)[0].message == {"role": "user", "content": "x"}


def test_records_whose_ids_begin_alike_are_two_entries() -> None:
    uuid = "11111111-1111-4111-8111-111111111111"
    imported = Written().user(uuid, "one").user(uuid[:-1] + "2", "two").imported()
    first, second = said(imported)
    assert first.id == uuid.replace("-", "")[:24]
    assert second.id != first.id
    assert len(second.id) == 24


@pytest.mark.parametrize("uuid", ["u1", "1" * 36, "1" * 32, "11111111-1111-4111-8111-11111111111é", "-" * 36])
def test_a_record_without_a_uuid_has_an_entry_with_an_id(uuid: str) -> None:
    (entry,) = said(Written().user(uuid, "one").imported())
    assert len(entry.id) == 24
    assert set(entry.id) <= set("0123456789abcdef")


@pytest.mark.parametrize(
    ("time", "expected"),
    [
        ("2026-01-02T03:00:00.250Z", START + timedelta(milliseconds=250)),
        ("2026-01-02T03:00:00Z", START),
        ("2026-01-02T04:00:00.000+01:00", START),
        ("2026-01-02T03:00:00", START),
        (int(START.timestamp() * 1000), START),
        (None, None),
        ("2026/01-02T03:00:00.250Z", None),
        ("2026-01/02T03:00:00.250Z", None),
        ("2026-01-02 03:00:00.250Z", START + timedelta(milliseconds=250)),
        ("2026-01-02T03:00:00.250z", START + timedelta(milliseconds=250)),
        ("2026-13-02T03:00:00.250Z", None),
        ([], None),
    ],
)
def test_a_time_is_the_time_of_its_record(time: Any, expected: datetime | None) -> None:
    imported = Written().user("u1", "one", timestamp=time).imported()
    assert said(imported)[0].timestamp == expected
    assert bool(told(imported, "unreadable-time")) == (expected is None and time is not None)


def test_an_answer_without_an_id_is_one_by_itself() -> None:
    imported = (
        Written().user("u1", "go").says("a1", None, text("one")).says("a2", None, text("two"))
    ).imported()
    assert [entry.message["content"] for entry in said(imported)[1:]] == [[text("one")], [text("two")]]


@pytest.mark.parametrize(
    ("model", "message", "family"),
    [
        ("claude-opus-4-6", "msg_01A", "anthropic-messages/direct"),
        ("claude-opus-4-6", "msg_bdrk_01A", "anthropic-messages/bedrock"),
        ("claude-opus-4-6", "msg_vrtx_01A", "anthropic-messages/vertex"),
        ("qwen3.7-plus", "msg_01A", "anthropic-messages/qwen3.7-plus"),
        ("moonshotai/Kimi K3", "chatcmpl-1", "anthropic-messages/moonshotai-kimi-k3"),
        ("模型", "x", "anthropic-messages/direct"),
    ],
)
def test_a_message_has_the_family_of_who_said_it(model: str, message: str, family: str) -> None:
    imported = Written().user("u1", "go").says("a1", message, text("a"), model=model).imported()
    assert [entry.family for entry in said(imported)] == [None, family]
    response = said(imported)[1].response
    assert response is not None
    provider = family.rpartition("/")[2].replace("direct", "anthropic") if "claude" in model else None
    assert response.provider == provider


def test_thinking_of_another_backend_stays_in_the_log_and_goes_to_itself_alone() -> None:
    thought = {"type": "thinking", "thinking": "hm", "signature": "sig"}
    imported = (
        Written().user("u1", "go").says("a1", "m1", thought, text("a"), model="glm-4.7").user("u2", "and?")
    ).imported()
    assert said(imported)[1].message["content"][0] == thought
    assert sent(imported)[1]["content"] == [text("a")]
    itself = build_context(imported.entries, Target("anthropic-messages", "glm-4.7", platform="glm-4.7"))
    assert itself.items[1]["content"] == [thought, text("a")]


# ------------------------------------------------------------------------------ the tree


def parallel() -> Written:
    """Two calls; each output follows its own call, and what comes with the first one follows that."""
    return (
        Written()
        .user("u1", "go")
        .says("a1", "msg_1", call("toolu_1", "Skill"))
        .says("a2", "msg_1", call("toolu_2"))
        .answers("r1", "toolu_1", parentUuid="a1")
        .user("m1", [text("the skill's words")], isMeta=True, parentUuid="r1")
        .answers("r2", "toolu_2", parentUuid="a2")
        .says("a3", "msg_2", text("done"), parentUuid="r2")
        .user("u2", "thanks")
    )


def test_no_output_is_lost_beside_the_path_and_nothing_that_came_with_one() -> None:
    imported = parallel().imported()
    assert [result["tool_use_id"] for result in sent(imported)[2]["content"][:2]] == ["toolu_1", "toolu_2"]
    assert "the skill's words" in sent_texts(imported)
    assert told(imported, "branch-left-out") == []


def test_an_output_is_found_wherever_it_hangs() -> None:
    written = (
        Written().user("u1", "go").says("a1", "msg_1", call("toolu_1")).says("a2", "msg_1", call("toolu_2"))
    )
    written.answers("r2", "toolu_2", parentUuid="a2").says("a3", "msg_2", text("done"))
    written.answers("r1", "toolu_1", "late", parentUuid="nowhere").user("u2", "thanks", parentUuid="a3")
    imported = written.imported()
    assert {block["content"] for block in sent(imported)[2]["content"]} == {"late", "done"}
    assert told(imported, "parent-missing")


def test_a_second_output_of_an_answered_call_is_on_a_branch() -> None:
    written = Written().user("u1", "go").says("a1", "msg_1", call("toolu_1"))
    written.answers("r1", "toolu_1", "first").answers("r2", "toolu_1", "second", parentUuid="a1")
    imported = written.says("a2", "msg_2", text("done")).imported()
    assert sent(imported)[2]["content"] == [result("toolu_1", "second")]
    assert told(imported, "branch-left-out") == [
        "a branch begins here that the session did not go on with: one message record, left out"
    ]


def test_the_branch_of_the_last_record_counts_and_others_are_told() -> None:
    imported = (
        Written()
        .user("u1", "hello")
        .says("a1", "msg_1", text("hi"))
        .user("u2", "wrong")
        .says("a2", "msg_2", text("no"))
        .user("u3", "right", parentUuid="a1")
        .says("a3", "msg_3", text("yes"))
    ).imported()
    assert sent_texts(imported) == ["hello", "hi", "right", "yes"]
    (finding,) = [f for f in imported.findings if f.rule == "branch-left-out"]
    assert (finding.line, finding.severity) == (3, "note")
    assert "2 message records" in finding.message


def test_records_may_follow_notes_of_progress() -> None:
    imported = (
        Written()
        .record("progress", "p0", data={"type": "hook_progress"})
        .user("u1", "go")
        .says("a1", "msg_1", text("one"))
        .record("progress", "p1", data={"type": "hook_progress"})
        .record("progress", "p2", data={"type": "hook_progress"})
        .note("n1", "stop_hook_summary")
        .user("u2", "on")
    ).imported()
    assert sent_texts(imported) == ["go", "one", "on"]
    assert {finding.rule for finding in imported.findings} == {"not-imported"}
    assert told(imported, "not-imported") == [
        "not taken over, here and after: progress (3 times)",
        "not taken over, here and after: system/stop_hook_summary (1 times)",
    ]


def test_records_without_links_are_taken_in_their_order() -> None:
    lines = [
        json.dumps({"type": "user", "message": {"role": "user", "content": "one"}}),
        json.dumps(
            {"type": "assistant", "message": {"id": "m", "role": "assistant", "content": [text("1")]}}
        ),
        json.dumps({"type": "user", "uuid": "u2", "message": {"role": "user", "content": "two"}}),
    ]
    imported = import_claude_code([line.encode() + b"\n" for line in lines])
    assert sent_texts(imported) == ["one", "1", "two"]


def test_order_is_file_order_whatever_the_clocks_say() -> None:
    written = Written().user("u1", "one").says("a1", "msg_1", text("1"), timestamp="2020-01-01T00:00:00.000Z")
    imported = written.user("u2", "two", timestamp="2019-01-01T00:00:00.5Z").imported()
    assert sent_texts(imported) == ["one", "1", "two"]
    assert [entry.timestamp.year for entry in said(imported) if entry.timestamp] == [2026, 2020, 2019]


def test_a_broken_chain_goes_on_with_the_record_before_it() -> None:
    imported = Written().user("u1", "one").user("u2", "two", parentUuid="lost").imported()
    assert sent_texts(imported) == ["one", "two"]
    (finding,) = [f for f in imported.findings if f.rule == "parent-missing"]
    assert (finding.line, finding.severity) == (2, "warning")


def test_records_that_follow_each_other_in_a_circle_end_nothing() -> None:
    written = Written().user("u1", "one", parentUuid="a1").says("a1", "msg_1", text("1"), parentUuid="u1")
    written.user("x1", "beside", parentUuid="x2").user("x2", "beside too", parentUuid="x1")
    assert "beside too" in sent_texts(written.imported())


def test_a_record_may_stand_before_the_one_it_follows() -> None:
    written = Written().user("u1", "one").says("a1", "msg_1", text("1")).user("u2", "two")
    written.lines[1], written.lines[2] = written.lines[2], written.lines[1]
    assert set(sent_texts(written.imported())) == {"one", "1", "two"}


def test_a_record_that_stands_twice_counts_once() -> None:
    written = Written().user("u1", "one").says("a1", "msg_1", text("1")).note("n1", "turn_duration")
    imported = written.raw(written.lines[0]).raw(written.lines[1]).raw(written.lines[2]).imported()
    assert sent_texts(imported) == ["one", "1"]
    assert len(runs(imported)) == 1
    assert told(imported, "repeated") == [
        "records that stand in the file already, here and after: 3; left out"
    ]
    assert imported.counts["assistant"] == 2


def test_the_id_of_another_record_is_told() -> None:
    imported = Written().user("u1", "one").user("u1", "other", parentUuid=None).imported()
    assert sent_texts(imported) == ["one"]
    assert len(told(imported, "repeated-id")) == 1
    for block, rule in ((text("1"), "repeated"), (text("2"), "repeated-id")):
        written = Written().user("u1", "one").says("a1", "msg_1", text("1"), text("more"))
        imported = written.says("a1", "msg_1", block).imported()
        assert [finding.rule for finding in imported.findings] == [rule]


def test_a_repeat_may_tell_more_of_the_usage() -> None:
    written = Written().user("u1", "go").says("a1", "msg_1", text("1"))
    written.last = "u1"
    written.says("a1", "msg_1", text("1"), usage={"input_tokens": 1, "output_tokens": 99}, stop="end_turn")
    written.last = "u1"
    written.says("a1", "msg_9", text("1"), usage={"input_tokens": 1, "output_tokens": 999})
    imported = written.says("a1", "msg_1", call("toolu_1"), usage={"output_tokens": None}).imported()
    (spent,) = find_spent([("", imported.entries)])
    assert spent.tokens.output == 99
    assert imported.counts["calls"] == 1


def test_going_back_counts_until_something_is_said() -> None:
    written = Written().user("u1", "one").says("a1", "msg_1", text("1")).user("u2", "two")
    written.other("last-prompt", lastPrompt="one", leafUuid="a1", rewound=True, sessionId="s-1")
    assert sent_texts(written.imported()) == ["one", "1"]
    assert sent_texts(written.user("u3", "three", parentUuid="u2").imported()) == ["one", "1", "two", "three"]


def test_the_last_thing_said_is_not_what_the_program_or_a_team_said() -> None:
    written = Written().user("u1", "one").user("u2", "two", parentUuid=None)
    for members in ({"isMeta": True}, {"teamName": "t"}, {"isVirtual": True}):
        further = Written()
        further.lines = list(written.lines)
        further.user("m1", "beside", parentUuid="u1", **members)
        assert sent_texts(further.imported()) == ["two"]


def test_what_the_program_said_last_follows_what_was_said_last() -> None:
    imported = (
        Written()
        .user("u1", "one")
        .user("m1", "a caveat", isMeta=True)
        .record("attachment", "t1", attachment={"type": "date_change", "content": "a new day"})
        .user("m2", "another", isMeta=True)
    ).imported()
    assert sent_texts(imported) == ["one", "a caveat", "another"]


def test_a_file_of_notes_alone_has_no_messages() -> None:
    imported = (
        Written().note("n1", "turn_duration", durationMs=1500).other("mode", mode="normal", sessionId="s-1")
    ).imported()
    assert [type(entry) for entry in imported.entries] == [RunEntry]
    assert imported.header.id == "s-1"


def test_what_was_only_shown_is_no_message() -> None:
    written = Written().user("u1", "one").says("a1", "msg_1", text("shown"), isVirtual=True)
    imported = written.user("x1", "shown too", isVirtual=True).user("u2", "two").imported()
    assert sent_texts(imported) == ["one", "two"]
    assert told(imported, "not-imported") == [
        "not taken over, here and after: a message that was only shown (2 times)"
    ]


def test_a_block_beside_the_path_is_live() -> None:
    written = (
        Written().user("u1", "go").says("a1", "msg_1", call("toolu_1")).says("a2", "msg_1", call("toolu_2"))
    )
    written.answers("r2", "toolu_2", parentUuid="a2").answers("r1", "toolu_1", parentUuid="a1")
    imported = written.says("a3", "msg_2", text("done"), parentUuid="r1").imported()
    assert [len(turn["content"]) for turn in sent(imported)] == [1, 2, 2, 1]
    assert told(imported, "branch-left-out") == []


def test_what_was_said_between_the_blocks_of_a_message_is_kept() -> None:
    written = Written().user("u1", "go").says("a1", "msg_1", text("one"))
    imported = written.user("u2", "and now").says("a2", "msg_1", text("two")).user("u3", "on").imported()
    assert sent_texts(imported) == ["go", "one", "two", "and now", "on"]


def test_of_two_outputs_beside_the_path_the_first_counts() -> None:
    written = Written().user("u1", "go").says("a1", "msg_1", call("toolu_1"), call("toolu_2"))
    written.answers("r1", "toolu_1", "first", parentUuid="a1").answers(
        "r2", "toolu_1", "again", parentUuid="a1"
    )
    written.answers("r3", "toolu_2", "other", parentUuid="a1")
    imported = written.says("a2", "msg_2", text("done")).imported()
    assert [block["content"] for block in sent(imported)[2]["content"]] == ["first", "other"]
    assert len(told(imported, "branch-left-out")) == 1


def test_odd_blocks_and_odd_records_beside_the_path_end_nothing() -> None:
    written = Written().user("u1", "go").says("a1", "msg_1", call("toolu_1"), call("toolu_2"))
    written.user("r1", [7, result("toolu_1")], parentUuid="a1").record("assistant", "x1", parentUuid="u1")
    imported = written.answers("r2", "toolu_2", parentUuid="a1").says("a2", "m2", text("done")).imported()
    assert [block["tool_use_id"] for block in sent(imported)[2]["content"][:2]] == ["toolu_1", "toolu_2"]
    assert len(told(imported, "branch-left-out")) == 1


def test_a_branch_is_one_wherever_its_records_stand() -> None:
    written = Written().user("u1", "one").user("x1", "no", parentUuid="u1").says("x2", "msg_1", text("never"))
    written.lines[1], written.lines[2] = written.lines[2], written.lines[1]
    imported = written.user("u2", "two", parentUuid="u1").imported()
    assert told(imported, "branch-left-out") == [
        "a branch begins here that the session did not go on with: 2 message records, left out"
    ]


def test_what_the_program_said_on_another_branch_is_left_out() -> None:
    written = Written().user("u1", "one").user("m1", "a caveat", isMeta=True, parentUuid="u1")
    imported = written.user("x1", "no").user("u2", "two", parentUuid="u1").imported()
    assert sent_texts(imported) == ["one", "two"]
    assert len(told(imported, "branch-left-out")) == 1


def test_a_note_beside_the_path_counts() -> None:
    written = (
        Written().user("u1", "one").says("a1", "msg_1", text("1")).note("n1", "turn_duration", durationMs=1)
    )
    assert len(runs(written.user("u2", "two", parentUuid="a1").imported())) == 1


def test_a_member_of_a_team_has_branches_too() -> None:
    written = Written(teamName="t").user("u1", "one").user("u2", "no").user("u3", "two", parentUuid="u1")
    assert sent_texts(written.imported()) == ["one", "two"]


def test_a_second_root_begins_anew_in_any_file() -> None:
    written = compacted().user("x1", "gone").user("u9", "anew", parentUuid=None)
    assert sent_texts(written.imported()) == ["anew"]


def test_a_record_of_the_session_may_follow_one_of_a_subagent() -> None:
    side = {"isSidechain": True}
    written = (
        Written()
        .user("u1", "ask")
        .user("x1", "look", parentUuid="u1", **side)
        .says("x2", "m2", text("x"), **side)
        .user("y1", "given up", parentUuid="u1")
    )
    written.user("u2", "on", parentUuid="x2").user("u0", "lost", parentUuid="u1")
    imported = written.user("u3", "and on", parentUuid="u2").imported()
    assert sent_texts(imported) == ["ask", "on", "and on"]
    assert [sent_texts(linked) for linked in imported.linked] == [["look", "x"]]
    circle = Written().user("u1", "one").user("x1", "a", parentUuid="x2", **side).user("x2", "b", **side)
    assert sent_texts(circle.user("u2", "two", parentUuid="x1").imported()) == ["one", "two"]


# --------------------------------------------------------------------------- compactions


def compacted(**metadata: Any) -> Written:
    return (
        Written()
        .user("u1", "old")
        .says("a1", "msg_1", text("older"))
        .note("c1", "compact_boundary", parentUuid=None, logicalParentUuid="a1", compactMetadata=metadata)
        .user("m1", "SUMMARY of it", isCompactSummary=True)
        .user("u2", "new")
    )


def test_a_mark_and_a_summary_are_one_compaction() -> None:
    imported = compacted(trigger="auto", preTokens=155_068, postTokens=9_000).imported()
    (entry,) = compactions(imported)
    assert (entry.compaction.summary, entry.compaction.first_kept_entry_id) == ("SUMMARY of it", None)
    assert (entry.compaction.tokens_before, entry.compaction.tokens_after) == (155_068, 9_000)
    assert entry.compaction.replacement == ({"role": "user", "content": "SUMMARY of it"},)
    assert sent_texts(imported) == ["SUMMARY of it", "new"]
    assert [item["content"] for item in messages(imported.entries)] == ["old", [text("older")], "new"]
    assert imported.counts["compactions"] == 1


def test_the_summary_may_come_after_something_else() -> None:
    written = (
        Written().user("u1", "old").note("c1", "compact_boundary", parentUuid=None, logicalParentUuid="u1")
    )
    written.record("attachment", "t1", attachment={"type": "date_change", "content": "a new day"})
    written.user("m1", "SUMMARY", isCompactSummary=True).says("a1", "msg_1", text("on"))
    assert sent_texts(written.imported()) == ["SUMMARY", "on"]


def test_a_summary_that_nothing_marks_compacts_too() -> None:
    imported = (
        Written()
        .user("u1", "old")
        .user("m1", "SUMMARY", isCompactSummary=True, parentUuid=None)
        .user("u2", "new")
    ).imported()
    assert sent_texts(imported) == ["SUMMARY", "new"]
    assert imported.counts["compactions"] == 0


@pytest.mark.parametrize("summary", [[], [("m1", "  ")]])
def test_a_mark_without_a_summary_takes_nothing_away(summary: list[tuple[str, str]]) -> None:
    written = (
        Written().user("u1", "old").note("c1", "compact_boundary", parentUuid=None, logicalParentUuid="u1")
    )
    for uuid, words in summary:
        written.user(uuid, words, isCompactSummary=True)
    imported = written.user("u2", "new").imported()
    assert sent_texts(imported) == ["old", "new"]
    assert told(imported, "compaction-without-summary")


def test_a_mark_that_names_no_record_before_it_follows_the_one_there() -> None:
    for members in ({}, {"logicalParentUuid": "lost"}):
        written = Written().user("u1", "old").note("c1", "compact_boundary", parentUuid=None, **members)
        imported = written.user("m1", "SUMMARY", isCompactSummary=True).imported()
        assert [item["content"] for item in messages(imported.entries)] == ["old"]
        assert imported.findings == ()


def test_a_mark_follows_what_it_names_and_not_what_was_given_up() -> None:
    written = Written().user("u1", "old").says("a1", "msg_1", text("older")).user("x1", "no")
    written.note("c1", "compact_boundary", parentUuid=None, logicalParentUuid="a1")
    imported = written.user("m1", "SUMMARY", isCompactSummary=True).imported()
    assert [item["content"] for item in messages(imported.entries)] == ["old", [text("older")]]
    assert len(told(imported, "branch-left-out")) == 1


def test_a_summary_may_be_several_records() -> None:
    for mark in (True, False):
        written = Written().user("u1", "old")
        if mark:
            written.note("c1", "compact_boundary", parentUuid=None, logicalParentUuid="u1")
        written.user("m1", "SUMMARY one", isCompactSummary=True).user("m2", "two", isCompactSummary=True)
        imported = written.says("a1", "msg_1", text("on")).imported()
        assert sent_texts(imported) == ["SUMMARY one", "two", "on"]
        assert [entry.compaction.summary for entry in compactions(imported)] == ["SUMMARY one\n\ntwo"]


def test_summaries_with_an_answer_between_them_are_of_two_compactions() -> None:
    written = Written().user("u1", "old").user("m1", "SUMMARY one", isCompactSummary=True, parentUuid=None)
    written.says("a1", "msg_1", text("on")).user("m2", "SUMMARY two", isCompactSummary=True, parentUuid=None)
    imported = written.imported()
    assert [entry.compaction.summary for entry in compactions(imported)] == ["SUMMARY one", "SUMMARY two"]
    assert sent_texts(imported) == ["SUMMARY two"]


def test_sizes_that_are_none_are_unknown() -> None:
    for before, after in ((2**63, -1), ("many", None), (True, 1.5)):
        (entry,) = compactions(compacted(preTokens=before, postTokens=after).imported())
        assert (entry.compaction.tokens_before, entry.compaction.tokens_after) == (0, 0)


def test_the_newest_compaction_counts() -> None:
    written = compacted().says("a2", "msg_2", text("newer"))
    written.note("c2", "compact_boundary", parentUuid=None, logicalParentUuid="a2")
    imported = written.user("m2", "SUMMARY two", isCompactSummary=True).user("u3", "newest").imported()
    assert len(compactions(imported)) == 2
    assert sent_texts(imported) == ["SUMMARY two", "newest"]


def kept(tail: str, anchor: str = "m1") -> Written:
    """A compaction that kept the last question and its answer."""
    return (
        Written()
        .user("u1", "old")
        .says("a1", "msg_1", text("older"))
        .user("u2", "recent")
        .says("a2", "msg_2", text("answer"))
        .note(
            "c1",
            "compact_boundary",
            parentUuid=None,
            logicalParentUuid="a2",
            compactMetadata={"preservedSegment": {"headUuid": "u2", "anchorUuid": anchor, "tailUuid": tail}},
        )
        .user("m1", "SUMMARY", isCompactSummary=True)
    )


def test_what_was_kept_at_the_end_is_named_and_not_repeated() -> None:
    imported = kept("a2").user("u3", "new", parentUuid="a2").imported()
    (entry,) = compactions(imported)
    assert len(entry.compaction.replacement) == 1
    kept_entry = next(e for e in imported.entries if e.id == entry.compaction.first_kept_entry_id)
    assert isinstance(kept_entry, MessageEntry)
    assert kept_entry.message["content"] == "recent"
    assert imported.findings == ()
    assert sent_texts(imported) == ["SUMMARY", "recent", "answer", "new"]


def test_what_is_said_next_may_follow_the_summary_or_what_was_kept() -> None:
    for parent in ("a2", "m1"):
        assert sent_texts(kept("a2").user("u3", "new", parentUuid=parent).imported()) == [
            "SUMMARY",
            "recent",
            "answer",
            "new",
        ]


def test_a_segment_whose_ends_do_not_meet_keeps_nothing_and_is_told() -> None:
    imported = kept("lost").user("u3", "new").imported()
    assert sent_texts(imported) == ["SUMMARY", "new"]
    assert told(imported, "kept-missing")


def test_a_later_compaction_may_keep_what_an_earlier_one_kept() -> None:
    written = kept("a2").user("u3", "new", parentUuid="a2")
    written.note(
        "c2",
        "compact_boundary",
        parentUuid=None,
        logicalParentUuid="u3",
        compactMetadata={"preservedSegment": {"headUuid": "a2", "anchorUuid": "m2", "tailUuid": "u3"}},
    )
    imported = (
        written.user("m2", "SUMMARY two", isCompactSummary=True).user("u4", "on", parentUuid="u3").imported()
    )
    assert sent_texts(imported) == ["SUMMARY two", "answer", "new", "on"]
    assert told(imported, "branch-left-out") == []
    assert sent_texts(import_claude_code(written.lines[:7])) == ["SUMMARY", "recent", "answer", "new"]


def test_going_back_to_before_a_compaction_undoes_it() -> None:
    imported = compacted().user("u3", "instead", parentUuid="a1").imported()
    assert compactions(imported) == []
    assert sent_texts(imported) == ["old", "older", "instead"]


def cleared(*more: str) -> Written:
    """Three outputs; those of two calls are cleared."""
    written = Written().user("u1", "go")
    for number in ("1", "2", "3"):
        written.says(f"a{number}", f"msg_{number}", call(f"toolu_{number}"))
        written.answers(f"r{number}", f"toolu_{number}", f"long {number}", toolUseResult={"stdout": number})
    told_ids = ["toolu_1", "toolu_2", *more]
    metadata = {"preTokens": 60_888, "tokensSaved": 21_091, "compactedToolIds": told_ids}
    return written.note("c1", "microcompact_boundary", microcompactMetadata=metadata).says(
        "a9", "m9", text("on")
    )


def test_cleared_outputs_are_cleared_from_then_on_and_not_before() -> None:
    imported = cleared().imported()
    (entry,) = compactions(imported)
    (kept_call,) = [e for e in said(imported) if e.message["content"] == [call("toolu_3")]]
    assert entry.compaction.first_kept_entry_id == kept_call.id
    assert (entry.compaction.tokens_before, entry.compaction.tokens_after) == (60_888, 39_797)
    outputs = [b["content"] for turn in sent(imported) for b in turn["content"] if b["type"] == "tool_result"]
    assert outputs == ["[Old tool result content cleared]"] * 2 + ["long 3"]
    before = imported.entries[imported.entries.index(entry) - 1]
    then = turns(context_at(imported.entries, before.id, CLAUDE).items)
    outputs = [b["content"] for turn in then for b in turn["content"] if b["type"] == "tool_result"]
    assert outputs == ["long 1", "long 2", "long 3"]
    assert len(imported.details) == 3


def test_clearing_after_a_compaction_leaves_its_summary_there() -> None:
    written = compacted().says("a2", "msg_2", call("toolu_1")).answers("r2", "toolu_1", "long")
    written.note("c2", "microcompact_boundary", microcompactMetadata={"compactedToolIds": ["toolu_1"]})
    imported = written.user("u3", "on").imported()
    assert sent_texts(imported) == ["SUMMARY of it", "new", "on"]
    assert sent(imported)[2]["content"][0]["content"] == "[Old tool result content cleared]"


@pytest.mark.parametrize("metadata", [{"compactedToolIds": ["toolu_9", 7]}, {"compactedToolIds": 7}, None])
def test_clearing_what_is_not_there_is_told(metadata: Any) -> None:
    written = Written().user("u1", "go").note("c1", "microcompact_boundary", microcompactMetadata=metadata)
    imported = written.imported()
    assert compactions(imported) == []
    assert told(imported, "nothing-cleared")


def test_clearing_within_what_a_compaction_repeated_repeats_the_rest_of_it() -> None:
    with (DATA / "kept-list.jsonl").open("rb") as file:
        written = Written()
        written.lines, written.last = list(file), "u4"
    written.note("n1", "microcompact_boundary", microcompactMetadata={"compactedToolIds": ["toolu_1"]})
    imported = written.user("u5", "on").imported()
    assert sent_texts(imported)[1:] == ["a question to keep", "an answer to keep", "next", "on"]
    outputs = [b["content"] for turn in sent(imported) for b in turn["content"] if b["type"] == "tool_result"]
    assert outputs == ["[Old tool result content cleared]", "two"]


def test_what_is_repeated_is_of_one_family() -> None:
    """Of thinking that another server signed, what is repeated holds none."""
    ours = {"type": "thinking", "thinking": "ours", "signature": "s"}
    theirs = {"type": "thinking", "thinking": "theirs", "signature": "t"}
    written = Written().user("u1", "go").says("a1", "m1", theirs, call("toolu_1"), model="glm-4.7")
    written.answers("r1", "toolu_1").says("a2", "m2", ours, call("toolu_2")).answers("r2", "toolu_2")
    begun = list(written.lines)
    written.note("c1", "microcompact_boundary", microcompactMetadata={"compactedToolIds": ["toolu_2"]})
    imported = written.user("u2", "on").imported()
    (entry,) = compactions(imported)
    assert entry.compaction.family == "anthropic-messages/direct"
    assert [item["content"] for item in entry.compaction.replacement if item["role"] == "assistant"] == [
        [call("toolu_1")],
        [ours, call("toolu_2")],
    ]
    written.says("a3", "m3", call("toolu_3")).answers("r3", "toolu_3")
    written.note("c2", "microcompact_boundary", microcompactMetadata={"compactedToolIds": ["toolu_3"]})
    again = compactions(written.imported())[1].compaction
    assert again.family == "anthropic-messages/direct"
    assert {"role": "assistant", "content": [ours, call("toolu_2")]} in again.replacement

    further = Written()
    further.lines, further.last = [*begun, *written.lines[len(begun) : len(begun) + 1]], "c1"
    further.note("c2", "microcompact_boundary", microcompactMetadata={"compactedToolIds": ["toolu_1"]})
    last = compactions(further.imported())[1].compaction
    assert (last.family, last.first_kept_entry_id) == ("anthropic-messages/direct", None)

    written.lines, written.last = begun, "r2"
    kept_list = {"anchorUuid": "m1", "uuids": ["a1", "a2"]}
    written.user("u2", "dropped").note(
        "c1", "compact_boundary", parentUuid=None, compactMetadata={"preservedMessages": kept_list}
    )
    (entry,) = compactions(written.user("m1", "SUMMARY", isCompactSummary=True).imported())
    assert entry.compaction.family == "anthropic-messages/direct"
    assert [item["content"] for item in entry.compaction.replacement if item["role"] == "assistant"] == [
        [call("toolu_1")],
        [ours, call("toolu_2")],
    ]


def test_an_earlier_summary_may_be_kept() -> None:
    kept_list = {"anchorUuid": "m2", "uuids": ["m1", "u2"]}
    written = compacted().says("a2", "msg_2", text("dropped"))
    written.note("c2", "compact_boundary", parentUuid=None, compactMetadata={"preservedMessages": kept_list})
    imported = written.user("m2", "SUMMARY two", isCompactSummary=True).imported()
    assert sent_texts(imported) == ["SUMMARY two", "SUMMARY of it", "new"]


def test_any_block_of_a_message_keeps_the_message() -> None:
    written = Written().user("u1", "old").says("a1", "msg_1", text("one")).says("a2", "msg_1", text("two"))
    kept_list = {"anchorUuid": "m1", "uuids": ["a2"]}
    written.note("c1", "compact_boundary", parentUuid=None, compactMetadata={"preservedMessages": kept_list})
    imported = written.user("m1", "SUMMARY", isCompactSummary=True).imported()
    assert sent_texts(imported) == ["SUMMARY", "one", "two"]


@pytest.mark.parametrize(
    ("removed", "left"),
    [
        (["u1"], ["1", "two", "three"]),
        (["u1", "a1", "u2"], ["three"]),
        (["lost"], ["one", "1", "two", "three"]),
    ],
)
def test_what_begins_a_conversation_may_be_taken_out(removed: list[str], left: list[str]) -> None:
    written = Written().user("u1", "one").says("a1", "msg_1", text("1")).user("u2", "two")
    written.note("n1", "snip_boundary", snipMetadata={"removedUuids": removed})
    imported = written.user("u3", "three").imported()
    whole = len(removed) == 3
    assert [words for words in sent_texts(imported) if "not part" not in words] == (
        ["one", "1", "two", "three"] if whole else left
    )
    assert bool(told(imported, "nothing-cleared")) == (whole or removed == ["lost"])


def test_messages_that_were_taken_out_are_out_from_then_on() -> None:
    written = (
        Written()
        .user("u1", "one")
        .says("a1", "msg_1", text("1"))
        .user("u2", "two")
        .says("a2", "m2", text("2"))
    )
    written.note("n1", "snip_boundary", snipMetadata={"removedUuids": ["a1", "u2", "lost"]})
    imported = written.user("u3", "three").imported()
    assert sent_texts(imported) == ["one", "2", "three"]
    assert len(messages(imported.entries)) == 5


def test_a_replaced_output_stands_as_it_was_sent_and_as_it_was() -> None:
    written = (
        Written().user("u1", "go").says("a1", "msg_1", call("toolu_1")).answers("r1", "toolu_1", "all of it")
    )
    replaced = {"kind": "tool-result", "toolUseId": "toolu_1", "replacement": "a preview"}
    written.other("content-replacement", sessionId="s-1", replacements=7)
    imported = written.other("content-replacement", sessionId="s-1", replacements=[replaced, 7]).imported()
    assert told(imported, "odd-record")
    assert said(imported)[-1].message["content"] == [result("toolu_1", "a preview")]
    outcome = outcomes(imported)["toolu_1"]
    assert outcome is not None
    assert (outcome.status, outcome.data) == ("success", "all of it")
    assert told(imported, "output-replaced")
    assert told(imported, "odd-replacement")


def test_only_the_outputs_that_were_replaced_are_others() -> None:
    written = Written().user("u1", "go").says("a1", "msg_1", *(call(f"toolu_{n}") for n in (1, 2, 3)))
    blocks = [result("toolu_1", "one"), 7, result("toolu_2", "two"), result("toolu_3", "3")]
    written.user("r1", blocks, toolUseResult={"stdout": "one"})
    told_so = {"toolu_1": "first", "toolu_3": "3", "toolu_9": "nowhere"}
    replacements = [{"toolUseId": call_id, "replacement": words} for call_id, words in told_so.items()]
    imported = written.other("content-replacement", sessionId="s-1", replacements=replacements).imported()
    content = [result("toolu_1", "first"), 7, result("toolu_2", "two"), result("toolu_3", "3")]
    assert said(imported)[-1].message["content"] == content
    assert [(detail.id, detail.payload["data"]["data"]) for detail in imported.details] == [
        ("toolu_1", {"stdout": "one"})
    ]
    assert told(imported, "output-replaced") == [
        "outputs that were sent as something shorter, here and after: 1; they stand as they were sent"
    ]


# ----------------------------------------------------------- outcomes, runs, what is beside


@pytest.mark.parametrize(
    ("content", "flags", "beside", "expected"),
    [
        ("ok", {}, {"stdout": "ok", "interrupted": False}, ToolOutcome(status="success")),
        ("ok", {}, "a plain string", ToolOutcome(status="success")),
        ("ok", {}, [{"type": "text", "text": "ok"}], ToolOutcome(status="success")),
        ("no", {"is_error": True}, {"stderr": "no"}, ToolOutcome(status="failed")),
        ("no", {}, {"success": False}, ToolOutcome(status="failed")),
        (
            "no",
            {"is_error": True},
            "Error: Exit code 127\nno such",
            ToolOutcome(status="failed", exit_code=127),
        ),
        ("Exit code 2\nno", {"is_error": True}, None, ToolOutcome(status="failed", exit_code=2)),
        ("no", {"is_error": True}, "Error: boom", ToolOutcome(status="failed")),
        ("part", {}, {"stdout": "part", "interrupted": True}, ToolOutcome(status="cancelled")),
        ("no", {"is_error": True}, "User rejected tool use", ToolOutcome(status="cancelled")),
        (
            [text("The user doesn't want to proceed with this tool use. Stop.")],
            {"is_error": True},
            None,
            ToolOutcome(status="cancelled"),
        ),
        ("late", {"is_error": True}, "Error: Command timed out after 2m 0.0s", ToolOutcome(status="timeout")),
        ("x", {}, {"status": "completed", "agentId": "a1"}, ToolOutcome(status="success")),
        ("x", {}, {"status": "killed", "agentId": "a1"}, ToolOutcome(status="cancelled")),
    ],
)
def test_how_a_call_ended_is_a_detail_of_it(
    content: Any, flags: dict[str, Any], beside: Any, expected: ToolOutcome
) -> None:
    written = Written().user("u1", "go").says("a1", "msg_1", call("toolu_1"))
    written.user("r1", [result("toolu_1", content, **flags)], toolUseResult=beside)
    imported = written.imported()
    (detail,) = imported.details
    assert type(detail) is Detail
    outcome = read_outcome(detail.payload)
    assert outcome is not None
    assert (outcome.status, outcome.exit_code, outcome.data) == (expected.status, expected.exit_code, beside)
    assert (detail.id, detail.entry) == ("toolu_1", said(imported)[1].id)
    assert outcome.data_kind == (None if beside is None else "toolUseResult")


def test_what_is_told_beside_a_record_of_several_outputs_is_of_the_first() -> None:
    written = Written().user("u1", "go").says("a1", "msg_1", call("toolu_1"), call("toolu_2"))
    blocks = [result("", "no id"), result("toolu_1"), result("toolu_2")]
    imported = written.user("r1", blocks, toolUseResult={"stdout": "x"}).imported()
    assert [detail.id for detail in imported.details] == ["toolu_1"]


def test_an_output_of_which_nothing_more_is_known_has_no_detail() -> None:
    written = Written().user("u1", "go").says("a1", "msg_1", call("toolu_1"))
    assert written.user("r1", [result("toolu_1", "no", is_error=True)]).imported().details == ()


def test_the_detail_of_an_output_that_came_before_its_call_finds_it() -> None:
    written = Written().user("u1", "go").answers("r1", "toolu_1", toolUseResult={"stdout": ""})
    imported = written.says("a1", "msg_1", call("toolu_1")).imported()
    (detail,) = imported.details
    assert detail.entry == said(imported)[2].id


def runs(imported: Imported) -> list[Run]:
    return [entry.run for entry in imported.entries if isinstance(entry, RunEntry)]


def test_a_turn_is_a_run_where_its_duration_is_told() -> None:
    written = Written().user("u1", "go").says("a1", "msg_1", text("done"))
    imported = written.note("n1", "turn_duration", durationMs=1_500).imported()
    completed = START + timedelta(seconds=3)
    started = completed - timedelta(milliseconds=1_500)
    first = said(imported)[0].id
    assert runs(imported) == [
        Run(started_at=started, completed_at=completed, first_entry_id=first, status="completed")
    ]


@pytest.mark.parametrize("duration", [None, "long", -1, 10**17])
def test_a_turn_whose_duration_is_odd_began_with_its_prompt(duration: Any) -> None:
    written = Written().user("u1", "go").says("a1", "msg_1", text("done"))
    (run,) = runs(written.note("n1", "turn_duration", durationMs=duration).imported())
    assert (run.started_at, run.completed_at) == (START + timedelta(seconds=1), START + timedelta(seconds=3))


def test_a_turn_has_ended_where_its_last_hooks_ran_if_nothing_tells_more() -> None:
    written = Written().user("u1", "go").says("a1", "msg_1", text("1")).note("n1", "stop_hook_summary")
    written.user("u2", "a hook says: go on", isMeta=True).says("a2", "msg_2", text("2"))
    written.note("n2", "stop_hook_summary").user("u3", "next").says("a3", "msg_3", text("3"))
    written.note("n3", "stop_hook_summary")
    imported = written.imported()
    times = [(run.started_at, run.completed_at, run.first_entry_id, run.status) for run in runs(imported)]
    one, _, _, _, two, _ = said(imported)
    assert times == [
        (START + timedelta(seconds=1), START + timedelta(seconds=6), one.id, "completed"),
        (START + timedelta(seconds=7), START + timedelta(seconds=9), two.id, "completed"),
    ]
    assert [entry.type for entry in imported.entries if entry.type != "context"][4:6] == ["run", "message"]
    assert told(imported, "not-imported") == [
        "not taken over, here and after: system/stop_hook_summary (3 times)"
    ]


@pytest.mark.parametrize("status", ["completed", "cancelled", "failed"])
def test_what_tells_more_of_the_end_of_a_turn_goes_before_its_hooks(status: str) -> None:
    written = Written().user("u1", "go").says("a1", "msg_1", text("1")).note("n1", "stop_hook_summary")
    if status == "completed":
        written.note("n2", "turn_duration", durationMs=4_000)
    elif status == "cancelled":
        written.user("i1", [text("[Request interrupted by user]")])
    else:
        written.says("e1", "msg_2", text("API Error"), model="<synthetic>", isApiErrorMessage=True)
    (run,) = runs(written.user("u2", "next").imported())
    assert (run.status, run.completed_at) == (status, START + timedelta(seconds=4))


def test_an_interruption_may_be_plain_text() -> None:
    imported = Written().user("u1", "go").user("i1", "[Request interrupted by user]").imported()
    assert [run.status for run in runs(imported)] == ["cancelled"]
    assert imported.counts["aborted"] == 0  # the independent count looks at blocks alone


def test_a_blank_note_of_a_command_is_no_message() -> None:
    written = Written().user("u1", "go").note("n1", "local_command", content=" ").note("n2", "local_command")
    assert len(said(written.imported())) == 1


def test_a_turn_that_was_broken_off_is_a_cancelled_run() -> None:
    written = Written().user("u1", "go").says("a1", "msg_1", text("do"))
    written.user("i1", [text("[Request interrupted by user]")])
    imported = written.note("n1", "turn_duration", durationMs=9).imported()
    (run,) = runs(imported)
    assert (run.status, run.first_entry_id) == ("cancelled", said(imported)[0].id)
    assert (run.started_at, run.completed_at) == (START + timedelta(seconds=1), START + timedelta(seconds=3))
    assert imported.counts["aborted"] == 1
    assert sent_texts(imported) == ["go", "do", "[Request interrupted by user]"]


def test_what_is_said_with_an_interruption_begins_a_turn() -> None:
    written = Written().user("u1", "go").user("i1", [text("[Request interrupted by user]"), text("instead")])
    imported = written.note("n1", "turn_duration", durationMs=9).imported()
    assert [run.status for run in runs(imported)] == ["cancelled", "completed"]
    assert runs(imported)[1].first_entry_id == said(imported)[1].id


def test_words_about_an_interruption_are_counted_as_one() -> None:
    """The independent count of the corpus takes them for one, wherever in a text they stand."""
    written = Written().user("u1", [text("what is '[Request interrupted by user]'?")])
    imported = written.note("n1", "turn_duration", durationMs=1).imported()
    assert imported.counts["aborted"] == 1
    assert [run.status for run in runs(imported)] == ["completed"]


def test_an_error_of_the_api_is_history_and_a_failed_run() -> None:
    written = Written().user("u1", "go")
    written.says("e1", "x", text("API Error: 529"), model="<synthetic>", isApiErrorMessage=True)
    written.user("u2", "again").says("e2", "y", text("No response requested."), model="<synthetic>")
    imported = written.imported()
    assert [run.status for run in runs(imported)] == ["failed"]
    assert sent_texts(imported) == ["go", "again"]
    shown = [event for event in build_history(imported.entries).events if isinstance(event, Said)]
    assert [(event.text, event.interrupted) for event in shown if event.role == "assistant"] == [
        ("API Error: 529", True),
        ("No response requested.", True),
    ]
    assert find_spent([("", imported.entries)]) == []


def test_a_turn_of_which_no_time_is_known_is_no_run() -> None:
    written = Written().user("u1", "go", timestamp="yesterday")
    imported = written.user("i1", [text("[Request interrupted by user]")]).imported()
    assert runs(imported) == []
    assert told(imported, "run-without-times")
    assert told(imported, "unreadable-time")


def contexts(imported: Imported) -> list[tuple[str, str | None, str]]:
    return [
        (entry.context.kind, entry.context.path, entry.context.rendered)
        for entry in imported.entries
        if isinstance(entry, ContextEntry)
    ]


def test_settings_are_told_when_they_change() -> None:
    written = Written(gitBranch="main").user("u1", "one", permissionMode="plan").user("u2", "two")
    written.answers("r1", "toolu_1")
    written.other("permission-mode", permissionMode="acceptEdits", sessionId="s-1").user("u3", "three")
    written.user("u4", "four", cwd="/elsewhere").user("u5", "five", version="2.2.0")
    imported = written.user("u6", "six", gitBranch="side").imported()
    assert [json.loads(rendered) for kind, _, rendered in contexts(imported) if kind == "settings"] == [
        {"cwd": "/src", "gitBranch": "main", "permissionMode": "plan", "version": "2.1.112"},
        {"cwd": "/src", "gitBranch": "main", "permissionMode": "acceptEdits", "version": "2.1.112"},
        {"cwd": "/elsewhere", "gitBranch": "main", "permissionMode": "acceptEdits", "version": "2.1.112"},
        {"cwd": "/src", "gitBranch": "main", "permissionMode": "acceptEdits", "version": "2.2.0"},
        {"cwd": "/src", "gitBranch": "side", "permissionMode": "acceptEdits", "version": "2.1.112"},
    ]


def test_an_attachment_stands_beside_the_conversation() -> None:
    written = Written().user("u1", "one")
    for uuid in ("t1", "t2"):
        written.record("attachment", uuid, attachment={"type": "skill_listing", "content": "- a skill"})
    file = {"type": "file", "filename": "/src/a.py", "content": {"type": "text"}}
    imported = (
        written.record("attachment", "t3", attachment=file)
        .record("attachment", "t4", attachment=[])
        .imported()
    )
    assert contexts(imported)[1:] == [
        ("attachment/skill_listing", None, "- a skill"),
        ("attachment/file", "/src/a.py", '{"content":{"type":"text"},"filename":"/src/a.py"}'),
    ]
    assert told(imported, "odd-record")


def test_what_the_user_said_while_a_model_worked_is_a_message_once() -> None:
    written = Written().user("u1", "one").says("a1", "msg_1", call("toolu_1")).answers("r1", "toolu_1")
    prompts: list[dict[str, Any]] = [{"prompt": "hurry"}, {"prompt": [text("now")]}, {"prompt": 7}]
    for number, more in enumerate([*prompts, {"prompt": "one", "source_uuid": "u1"}]):
        queued = {"type": "queued_command", "commandMode": "prompt", **more}
        written.record("attachment", f"q{number}", attachment=queued)
    imported = written.says("a2", "msg_2", text("done")).imported()
    assert sent_texts(imported) == ["one", "hurry", "now", "done"]
    assert [kind for kind, _, _ in contexts(imported)] == ["settings"]
    assert told(imported, "not-imported")


# ------------------------------------------------------------------- header, counts, refusal


def test_the_header_says_what_the_records_say() -> None:
    written = Written(gitBranch="main", entrypoint="cli", userType="external", slug="a-slug").user(
        "u1", "one"
    )
    written.other("ai-title", aiTitle="Made up", sessionId="s-1")
    written.other("custom-title", customTitle="Said", sessionId="s-1")
    written.other("ai-title", aiTitle="Made up again", sessionId="s-1")
    assert (
        Written()
        .user("u1", "x")
        .other("ai-title", aiTitle="a")
        .other("ai-title", aiTitle="b")
        .imported()
        .header.extra["importedFrom"]["title"]
        == "b"
    )
    header = written.imported().header
    assert (header.id, header.cwd, header.harness) == ("s-1", "/src", HARNESS)
    assert header.timestamp == START + timedelta(seconds=1)
    assert header.extra == {
        "importedFrom": {
            "format": "claude-code",
            "version": "2.1.112",
            "gitBranch": "main",
            "entrypoint": "cli",
            "userType": "external",
            "slug": "a-slug",
            "title": "Said",
            "sessionId": "s-1",
        }
    }


def test_a_summary_is_the_title_of_the_session_it_is_about() -> None:
    written = Written().other("summary", summary="Another", leafUuid="x").user("u1", "one")
    imported = written.other("summary", summary="This one", leafUuid="u1").imported()
    assert imported.header.extra["importedFrom"]["title"] == "This one"
    assert told(imported, "not-imported") == ["not taken over, here and after: summary (1 times)"]


UUIDS: Final = [f"{number}1111111-1111-4111-8111-111111111111" for number in range(4)]


def test_history_that_was_copied_from_another_session_is_told_and_counts_once() -> None:
    old = Written(sessionId="s-0").user(UUIDS[0], "hello").says(UUIDS[1], "msg_1", text("hi"))
    new = Written()
    new.lines, new.last = list(old.lines), old.last
    before, after = old.imported(), new.user(UUIDS[2], "on").says(UUIDS[3], "msg_2", text("ok")).imported()
    assert after.header.id == "s-1"
    assert after.header.forked_from == ForkOrigin("s-0", said(before)[-1].id)
    assert said(after)[0].id == said(before)[0].id == UUIDS[0].replace("-", "")[:24]
    assert told(after, "inherited-history") == ["records of other sessions came along, here and after: s-0"]
    both = find_spent([("old", before.entries), ("new", after.entries)])
    assert [(spent.session, spent.response) for spent in both] == [("old", "msg_1"), ("new", "msg_2")]


def test_history_that_comes_back_to_a_session_is_no_other_one() -> None:
    written = Written().user("u0", "0", sessionId="s-2").user("u1", "1", sessionId="s-0").user("u2", "2")
    imported = written.user("u3", "3", sessionId="s-0").user("u4", "4", sessionId=7).imported()
    assert imported.header.id == "s-0"
    assert told(imported, "inherited-history") == [
        "records of other sessions came along, here and after: s-2, s-1"
    ]


def test_a_session_that_names_itself_beside_its_records_has_that_name() -> None:
    written = Written(sessionId=None).other("queue-operation", sessionId="s-9").user("u1", "one")
    assert written.imported().header.id == "s-9"
    nameless = Written(sessionId=None, isSidechain=True).user("x1", "one").imported()
    assert nameless.header.id is None
    assert sent_texts(nameless) == ["one"]


def test_a_fork_names_what_it_was_cut_off_from() -> None:
    written = Written()
    for place in (0, 1):
        written.user(f"u{place}", "x", forkedFrom={"sessionId": "s-0", "messageUuid": UUIDS[place]})
    header = written.user("u2", "on").imported().header
    assert header.forked_from == ForkOrigin("s-0", UUIDS[1].replace("-", "")[:24])


def test_unknown_records_are_counted_and_named() -> None:
    written = (
        Written().user("u1", "one").other("brand-new", sessionId="s-1").other("brand-new", sessionId="s-1")
    )
    written.other("last-prompt", sessionId="s-1").other("fork-context-ref", sessionId="s-1").other(
        "marble-origami-commit", sessionId="s-1"
    )
    imported = written.raw(b'{"sessionId":"s-1"}\n').raw(b"[1]\n").imported()
    assert [(finding.line, finding.rule, finding.severity) for finding in imported.findings] == [
        (2, "not-imported", "note"),
        (4, "not-imported", "note"),
        (5, "history-elsewhere", "warning"),
        (6, "not-applied", "warning"),
        (7, "not-imported", "note"),
        (8, "no-record", "warning"),
    ]
    assert "brand-new (2 times)" in imported.findings[0].message
    assert imported.counts["records"] == 7


def test_a_record_that_a_log_cannot_hold_is_left_out_and_others_follow_it() -> None:
    written = (
        Written().user("u1", "one").says("a1", "msg_1", call("toolu_1", big=2**70)).answers("r1", "toolu_1")
    )
    imported = written.user("u2", "two").imported()
    assert sent_texts(imported) == ["one", "two"]
    assert [finding.line for finding in imported.findings if finding.rule == "unstorable"] == [2]
    assert len(said(imported)) == 3


@pytest.mark.parametrize(
    ("kind", "members"),
    [
        ("user", {"message": {"role": "user", "content": "x"}, "toolUseResult": {"n": 2**70}}),
        ("attachment", {"attachment": {"type": "file", "n": 2**70}}),
        ("system", {"subtype": "turn_duration", "durationMs": 2**70}),
    ],
)
def test_nothing_of_a_record_that_a_log_cannot_hold_is_taken_over(kind: str, members: dict[str, Any]) -> None:
    written = Written().user("u1", "one").record(kind, "x1", **members)
    imported = written.user("u2", "two").imported()
    assert len(told(imported, "unstorable")) == 1
    assert sent_texts(imported) == ["one", "two"]
    assert [type(entry) for entry in imported.entries] == [ContextEntry, MessageEntry, MessageEntry]


BIG: Final = {"n": 2**70}


@pytest.mark.parametrize(
    "record",
    [
        {"content": [{"type": "text", "text": "x", "more": BIG}]},
        {"content": [{"type": "tool_use", "id": "t", "name": "n", "input": BIG}]},
        {"content": [{"type": "tool_use", "id": "t", "name": "n", "input": {}, "caller": BIG}]},
        {"content": [{"type": "tool_use", "id": BIG, "name": "n", "input": {}}]},
        {"content": [{"type": "tool_use", "id": "t", "name": BIG, "input": {}}]},
        {"content": [{"type": "tool_result", "tool_use_id": "t", "content": [BIG]}]},
        {"content": [{"type": "tool_result", "tool_use_id": "t", "content": "x", "is_error": BIG}]},
        {
            "content": [
                {"type": "tool_result", "tool_use_id": "t", "content": "x", "is_error": False, "n": BIG}
            ]
        },
        {"content": [text("x"), BIG]},
        {"content": [[BIG]]},
        {"content": BIG},
        {"content": "x", "beside": BIG},
        {"content": [text("x")], "beside": [BIG]},
        {"content": [result("t", "x")], "beside": BIG},
        {"content": [result("t", ["x"])], "beside": BIG},
    ],
)
def test_no_large_number_is_rounded_in_silence(record: dict[str, Any]) -> None:
    for kind in ("user", "assistant"):
        message = {"role": kind, "content": record["content"]}
        written = Written().record(kind, "x1", message=message, toolUseResult=record.get("beside"))
        assert len(told(written.imported(), "unstorable")) == 1


def test_large_numbers_matter_only_where_they_would_be_stored() -> None:
    imported = Written().user("u1", "one", someId=2**70).record("progress", "p", data={"n": 2**70}).imported()
    assert told(imported, "unstorable") == []
    assert len(said(imported)) == 1


def test_nothing_of_an_import_waits_for_the_cyclic_collector() -> None:
    written = Written().user("u1", "one").says("a1", "msg_1", call("toolu_1")).says("a2", "msg_1", text("x"))
    written.answers("r1", "toolu_1").says("a3", None, text("y")).user("u2", "two")
    gc.collect()
    gc.disable()
    try:
        written.imported()
        left = [one for one in gc.get_objects() if isinstance(one, Node | Group | Records)]
    finally:
        gc.enable()
    assert left == []


def test_records_without_a_message_are_told_and_others_follow_them() -> None:
    written = Written().user("u1", "one").record("assistant", "a1", message="none").record("user", "u2")
    written.record("user", "u3", message={"role": "user", "content": 7})
    written.record("assistant", "a4", message={"id": "m", "role": "assistant", "content": 7})
    imported = written.user("u4", "two").imported()
    assert [entry.message["content"] for entry in said(imported)] == ["one", "two"]
    assert sorted(told(imported, "odd-record")) == [
        "records that cannot be read, here and after: 2; the message has no content that can be read",
        "records that cannot be read, here and after: 2; the record has no message",
    ]


def test_what_no_record_of_claude_code_is_in_is_refused() -> None:
    with pytest.raises(HeaderError, match="no Claude Code session"):
        import_claude_code([b'{"type":"event"}\n', b"broken\n"], path="x")
    with pytest.raises(HeaderError, match="the session"):
        import_claude_code([])
    with pytest.raises(HeaderError):
        import_codex(Written().user("u1", "one").lines)


def test_records_are_counted_whatever_becomes_of_them() -> None:
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": ""}}
    thoughts = [
        {"type": "thinking", "thinking": "hm", "signature": ""},
        {"type": "redacted_thinking", "data": "x"},
    ]
    written = Written().user("u1", [text("go"), picture])
    written.says("a1", "msg_1", *thoughts, call("toolu_1")).says("a2", "msg_1", call("toolu_2"))
    written.says("a3", "msg_2", {"type": "thinking", "thinking": "hm", "signature": "s"}, call("toolu_3"))
    written.answers("r1", "toolu_1", [picture, picture, text("x"), 7], parentUuid="a1")
    written.user("r2", [result("toolu_2", "no", is_error=True), result("toolu_9")], parentUuid="a2")
    written.user("x1", "given up").raw(written.lines[0])
    written.user("y1", "aside", isSidechain=True, parentUuid=None)
    written.note("n1", "compact_boundary", parentUuid=None).user("u2", "anew", parentUuid=None)
    assert written.imported().counts == {
        "records": 11,
        "broken_lines": 0,
        "recovered": 0,
        "user": 7,
        "assistant": 3,
        "assistant_messages": 2,
        "calls": 3,
        "results": 3,
        "unanswered": 1,
        "orphan_results": 1,
        "parallel_groups": 1,
        "error_results": 1,
        "reasoning": 3,
        "opaque_reasoning": 2,
        "images": 4,
        "compactions": 1,
        "sidechain": 1,
        "aborted": 0,
        "roots": 5,
    }


# ------------------------------------------------------------------------------ subagents


def inline() -> Written:
    task = call("toolu_1", "Task", prompt="look for it")
    written = Written().user("u1", "ask").says("a1", "msg_1", task)
    side = {"isSidechain": True}
    written.user("x1", "look for it", parentUuid=None, **side).says("x2", "msg_8", call("toolu_8"), **side)
    written.user("x3", [result("toolu_8", "seen")], **side).says("x4", "msg_9", text("there"), **side)
    return written.answers("r1", "toolu_1", "there", parentUuid="a1").says("a2", "msg_2", text("it is there"))


@pytest.mark.parametrize("odd", ["text", None, 7, ["list"]])
def test_the_call_of_a_subagent_is_found_beside_blocks_that_are_none(odd: Any) -> None:
    session = Written().user("u1", "go").says("a1", "m1", call("c1", "Task", prompt="look"))
    session.says("a2", "m2", text("so"), odd)
    session.user("t1", "look", isSidechain=True, parentUuid=None)
    (linked,) = session.imported().linked
    assert linked.header.parent == ParentCall("s-1", "c1")


def test_a_subagent_within_the_file_is_a_session_of_its_own() -> None:
    imported = inline().imported()
    assert sent_texts(imported) == ["ask", "it is there"]
    (linked,) = imported.linked
    assert sent_texts(linked) == ["look for it", "there"]
    assert linked.header.parent == ParentCall("s-1", "toolu_1")
    assert linked.header.id == "s-1-3"
    assert told(imported, "subagent") == [
        "what a subagent did begins here: 4 message records, a session of their own"
    ]
    assert (imported.counts["sidechain"], imported.counts["calls"], imported.counts["roots"]) == (4, 2, 2)


def test_subagents_within_the_file_are_told_apart_by_their_names() -> None:
    written = (
        Written().user("u1", "ask").says("a1", "msg_1", call("toolu_1", "Agent"), call("toolu_2", "Agent"))
    )
    for agent in ("one", "two"):
        more = {"isSidechain": True, "agentId": agent, "parentUuid": None}
        written.user(f"{agent}-1", f"do {agent}", **more)
    for agent, number in (("one", 1), ("two", 2)):
        more = {"isSidechain": True, "agentId": agent, "parentUuid": f"{agent}-1"}
        written.says(f"{agent}-2", f"msg_{agent}", text(f"done {agent}"), **more)
        written.answers(f"r{number}", f"toolu_{number}", toolUseResult={"agentId": agent}, parentUuid="a1")
    imported = written.imported()
    assert [(linked.header.id, linked.header.parent) for linked in imported.linked] == [
        ("one", ParentCall("s-1", "toolu_1")),
        ("two", ParentCall("s-1", "toolu_2")),
    ]
    assert [sent_texts(linked) for linked in imported.linked] == [
        ["do one", "done one"],
        ["do two", "done two"],
    ]
    assert told(imported, "subagent-elsewhere") == []


def subagent() -> Written:
    written = Written(isSidechain=True, agentId="a775a67").user("x1", "do it")
    return (
        written.says("x2", "msg_9", call("toolu_9"))
        .answers("x3", "toolu_9")
        .says("x4", "msg_10", text("did it"))
    )


def test_subagents_without_names_are_told_apart_by_their_roots() -> None:
    def bare(**members: Any) -> bytes:
        return (
            json.dumps({"type": "user", "isSidechain": True, "sessionId": "s-1", **members}).encode() + b"\n"
        )

    written = Written().user("u1", "ask")
    written.raw(bare(uuid="x1", parentUuid=None, message={"role": "user", "content": "one"}))
    written.raw(bare(uuid="x2", message={"role": "user", "content": "one more"}))
    written.raw(bare(uuid="y1", parentUuid=None, message={"role": "user", "content": "two"}))
    written.raw(bare(uuid="x3", parentUuid="x2", message={"role": "user", "content": "one again"}))
    linked = written.imported().linked
    assert [sent_texts(one) for one in linked] == [["one", "one more", "one again"], ["two"]]
    assert [one.header.id for one in linked] == ["s-1-2", "s-1-4"]
    alone = import_claude_code(written.lines[1:])
    assert sent_texts(alone) == ["two"]
    assert [sent_texts(one) for one in alone.linked] == [["one", "one more", "one again"]]


def test_the_file_of_a_subagent_is_about_that_subagent() -> None:
    imported = subagent().imported()
    assert sent_texts(imported) == ["do it", "did it"]
    assert imported.header.id == "a775a67"
    assert imported.header.extra["importedFrom"]["sessionId"] == "s-1"
    assert imported.linked == ()
    assert imported.counts["sidechain"] == 4


def test_a_subagent_is_linked_to_its_call_by_its_session() -> None:
    written = Written().user("u1", "ask").says("a1", "msg_1", call("toolu_1", "Task"))
    written.answers("r0", "toolu_0", toolUseResult=[text("blocks")])
    written.answers("r9", "toolu_9", toolUseResult={"agentId": 7})
    session = written.answers(
        "r1", "toolu_1", toolUseResult={"agentId": "a775a67", "status": "completed"}
    ).imported()
    (message,) = told(session, "subagent-elsewhere")
    assert "agent-a775a67.jsonl" in message
    linked = link_subagent(subagent().imported(), session)
    assert linked.header.parent == ParentCall("s-1", "toolu_1")
    assert linked.entries == subagent().imported().entries
    other = Written().user("u1", "ask").imported()
    assert link_subagent(subagent().imported(), other) == subagent().imported()
    assert link_subagent(other, session) is other


def test_replacements_go_to_the_conversation_they_are_for() -> None:
    def replaced(agent: dict[str, str], words: str) -> dict[str, Any]:
        one = {"kind": "tool-result", "toolUseId": "toolu_9", "replacement": words}
        return {"sessionId": "s-1", "replacements": [one], **agent}

    written = subagent().other("content-replacement", **replaced({"agentId": "a775a67"}, "of the subagent"))
    imported = written.other("content-replacement", **replaced({}, "of the session")).imported()
    assert said(imported)[2].message["content"] == [result("toolu_9", "of the subagent")]


# ---------------------------------------------------------------------------------- laws


def whole() -> list[bytes]:
    """All the small sessions, each of which may be cut up and mixed."""
    return [
        line for name in SESSIONS for line in (DATA / f"{name}.jsonl").read_bytes().splitlines(keepends=True)
    ]


LINES: Final = whole()


@st.composite
def damaged(draw: st.DrawFn) -> list[bytes]:
    """Lines of real shape, dropped, repeated, cut, out of order, and of other sessions."""
    name = draw(st.sampled_from(sorted(SESSIONS)))
    lines = (DATA / f"{name}.jsonl").read_bytes().splitlines(keepends=True)
    for _ in range(draw(st.integers(1, 5))):
        at = draw(st.integers(0, len(lines) - 1))
        match draw(st.integers(0, 5)):
            case 0:
                del lines[at]
            case 1:
                lines.insert(draw(st.integers(0, len(lines))), lines[at])
            case 2:
                lines[at] = lines[at][: draw(st.integers(0, len(lines[at])))]
            case 3:
                lines = draw(st.permutations(lines))
            case 4:
                lines.insert(at, draw(st.sampled_from(LINES)))
            case _:
                lines = lines[: at + 1]
        if not lines:
            return LINES[:1]
    return list(lines)


@settings(max_examples=150, deadline=None)
@given(damaged())
def test_a_damaged_session_never_fails_and_can_always_be_sent(lines: list[bytes]) -> None:
    try:
        imported = import_claude_code(lines, path="x")
    except HeaderError:
        return
    assert len({entry.id for entry in imported.entries}) == len(imported.entries) == len(imported.places)
    assert imported == import_claude_code(iter(lines), path="x")
    check_entries(imported.entries, imported.details_by_call, places=imported.places)
    for conversation in (imported, *imported.linked):
        for entry in conversation.entries:
            if entry.timestamp is not None:
                encode_entry(entry)
        check_acceptable(conversation)


TELLING: Final = frozenset({"branch-left-out", "repeated", "repeated-id", "unstorable", "odd-record"})


@settings(max_examples=150, deadline=None)
@given(damaged())
def test_nothing_that_was_said_is_lost_in_silence(lines: list[bytes]) -> None:
    """Each text of a message is in the log, or a finding says of something that it was left out."""
    try:
        imported = import_claude_code(lines)
    except HeaderError:
        return
    if TELLING & {finding.rule for finding in imported.findings} or imported.counts["broken_lines"]:
        return
    held = json.dumps([encode(entry) for one in (imported, *imported.linked) for entry in one.entries])
    for line in lines:
        if not line.strip(b"\0 \r\n"):
            continue
        record = json.loads(line.removeprefix(b"\xef\xbb\xbf"))
        content = (
            record.get("message", {}).get("content", "") if record["type"] in ("user", "assistant") else ""
        )
        for block in [text(content)] if isinstance(content, str) else content:
            assert json.dumps(block.get("text", ""))[1:-1] in held


def encode(entry: Entry) -> Any:
    if isinstance(entry, MessageEntry):
        return entry.message
    return entry.compaction.replacement if isinstance(entry, CompactionEntry) else None


def test_a_call_that_waits_is_whole_though_no_record_says_how_its_message_ended() -> None:
    block = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "make"}}
    record = {
        "type": "assistant",
        "uuid": "a",
        "parentUuid": None,
        "sessionId": "s",
        "message": {"id": "m", "role": "assistant", "model": "x", "stop_reason": None, "content": [block]},
    }
    imported = import_claude_code([json.dumps(record).encode() + b"\n"])
    (waiting,) = open_calls(imported.entries, imported.details_by_call)
    assert waiting.call.is_runnable
    assert waiting.call.arguments == {"command": "make"}


def test_records_that_nothing_is_made_of_are_kept_where_that_is_asked() -> None:
    def line(kind: str, **more: Any) -> bytes:
        return json.dumps({"type": kind, "sessionId": "s", **more}).encode() + b"\n"

    said = {"role": "user", "content": "go"}
    lines = [
        line("from-the-future", data=[1]),
        line("user", uuid="u1", parentUuid=None, message=said),
        line("from-the-future", data=[2]),
        line("from-the-future", data=[3]).rstrip()
        + line("from-the-future", data=0).replace(b": 0}", b": 1e400}"),
    ]
    plain = import_claude_code(lines)
    kept = import_claude_code(lines, keep_unknown=True)
    assert [entry.type for entry in plain.entries] == ["message"]
    assert [entry.type for entry in kept.entries] == [
        "claude-code:from-the-future",
        "message",
        "claude-code:from-the-future",
        "claude-code:from-the-future",
    ]
    assert [line for line, _ in kept.places] == [1, 2, 3, 4]
    assert len({entry.id for entry in kept.entries}) == 4
    assert kept == import_claude_code(lines, keep_unknown=True)
    rules_told = [finding.rule for finding in kept.findings]
    assert "kept-unknown" in rules_told
    assert "unstorable" in rules_told  # of the number that a log cannot hold
    assert build_context(kept.entries).items == build_context(plain.entries).items == [said]
