"""A log as a session of pi: what goes as it is, what goes in pi's words, and what is told."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

import pytest
from histories import SHAPES, TARGETS, as_entries, conversations, faulty
from hostile import sessions
from hypothesis import given, settings
from hypothesis import strategies as st
from pi_sessions import NAMES, read, said
from test_corpus_codex import CORPUS, FACTS, each

from transcript_log import items
from transcript_log.apis import APIS, check_items
from transcript_log.codec import outcome_payload
from transcript_log.context import build_context
from transcript_log.entries import (
    Compaction,
    CompactionEntry,
    ContextAttachment,
    ContextEntry,
    Entry,
    Header,
    Invocation,
    MessageEntry,
    OpaqueEntry,
    RecordedUsage,
    ResponseRecord,
    Run,
    RunEntry,
    ToolOutcome,
)
from transcript_log.errors import ContextError
from transcript_log.exporters import ExportSource
from transcript_log.exporters.pi import export_pi
from transcript_log.families import Target
from transcript_log.findings import Change
from transcript_log.history import build_history
from transcript_log.importers import Imported
from transcript_log.importers.pi import import_pi

NOON: Final = datetime(2026, 1, 2, 12, tzinfo=UTC)
PI: Final = sorted(name for name in FACTS if name.startswith("pi/"))


def entry(number: int, message: dict[str, Any], **more: Any) -> MessageEntry:
    return MessageEntry(id=f"m{number}", timestamp=NOON + timedelta(seconds=number), message=message, **more)


def user(text: str = "go") -> dict[str, Any]:
    return {"role": "user", "content": text}


class Written(NamedTuple):
    """The lines of a file of pi, and what they could not say."""

    lines: tuple[bytes, ...]
    changes: tuple[Change, ...]


def written(header: Header | None, entries: Iterable[Entry], details: Any = None) -> Written:
    source = ExportSource(name="s", header=header, entries=tuple(entries), details=details or {})
    exported = export_pi(source)
    return Written(tuple(piece.encode() for piece in exported.pieces), exported.changes)


def records(out: Written) -> list[dict[str, Any]]:
    """The records after the header. Each is the child of one before it, or a root."""
    first, *rest = [json.loads(line) for line in out.lines]
    assert (first["type"], first["version"]) == ("session", 3)
    assert isinstance(first["id"], str)
    assert isinstance(first["cwd"], str)
    known: set[Any] = {None}
    for record in rest:
        assert record["parentId"] in known
        assert record["id"] not in known
        assert datetime.fromisoformat(record["timestamp"]).tzinfo is not None
        known.add(record["id"])
    assert all(line.endswith(b"\n") and line.count(b"\n") == 1 for line in out.lines)
    return rest


def exported(*entries: Entry, header: Header | None = None, details: Any = None) -> list[dict[str, Any]]:
    return records(written(header, entries, details))


def told(*entries: Entry) -> list[tuple[str, str, str | None]]:
    return [(change.kind, change.rule, change.entry) for change in written(None, entries).changes]


def events(imported: Imported) -> list[Any]:
    """What happened, entries by their numbers: ids are made of lines."""
    numbers = {each.id: number for number, each in enumerate(imported.entries)}
    found = []
    for event in build_history(imported.entries, imported.details_by_call).events:
        values = {name: getattr(event, name) for name in event.__dataclass_fields__}
        for key in ("entry", "output_entry", "first_kept"):
            values[key] = numbers.get(values.get(key) or "")
        found.append((type(event).__name__, values))
    return found


def is_same(imported: Imported) -> None:
    """A session goes out and comes back as it was."""
    out = written(imported.header, imported.entries, imported.details_by_call)
    assert out.changes == ()
    records(out)
    again = import_pi(out.lines)
    assert events(again) == events(imported)
    mine = [each for each in imported.entries if isinstance(each, MessageEntry)]
    theirs = [each for each in again.entries if isinstance(each, MessageEntry)]
    for one, two in zip(mine, theirs, strict=True):
        assert (one.family, one.response, one.interrupted) == (two.family, two.response, two.interrupted)
    for api in APIS:
        families = frozenset(each.family for each in mine if each.family is not None)
        target = Target(api, "any", reads=families)
        assert sent(imported.entries, target) == sent(again.entries, target)


def sent(entries: Sequence[Entry], target: Target) -> list[Any] | None:
    """What a model is told, API aside; None where there is nothing to send."""
    try:
        context = build_context(entries, target)
    except ContextError as error:
        assert [finding.rule for finding in error.findings] == ["empty-input"]  # noqa: PT017
        return None
    assert [f for f in check_items(context.items, target) if f.severity != "note"] == []
    return said(context.items, [])


# ---------------------------------------------------------------------------- round trips


@pytest.mark.parametrize("name", NAMES)
def test_a_session_of_pi_goes_out_as_it_came_in(name: str) -> None:
    is_same(read(name))


@pytest.mark.parametrize("name", each(PI))
def test_a_real_session_of_pi_goes_out_as_it_came_in(name: str) -> None:
    with (CORPUS / name).open("rb") as lines:
        is_same(import_pi(lines))


def heard(entries: Sequence[Entry]) -> list[Any]:
    """What was said, thought, called and given back; texts of one speaker in a row are one."""
    found: list[Any] = []
    for event in build_history(entries).events:
        match type(event).__name__:
            case "Said" if event.text or event.images:  # type: ignore[union-attr]
                role, text = event.role, event.text  # type: ignore[union-attr]
                if found and found[-1][0] == role:
                    found[-1][1] += f"\n{text}"
                else:
                    found.append([role, text])
            case "Reasoned":
                found.append(["thought", event.text, event.opaque])  # type: ignore[union-attr]
            case "Called":
                given = event.arguments  # type: ignore[union-attr]
                with contextlib.suppress(ValueError):  # of text that is no JSON, the text
                    given = json.loads(given or "{}") if isinstance(given, str) else given or {}
                found.append(["call", event.name, given, event.output])  # type: ignore[union-attr]
            case _:
                pass
    return found


@pytest.mark.parametrize("shape", SHAPES)
@given(data=st.data())
def test_a_conversation_of_any_shape_is_the_same_with_pi(shape: str, data: st.DataObject) -> None:
    turns = data.draw(conversations())
    target = TARGETS.get(shape, TARGETS["anthropic"])
    entries = as_entries(turns, shape, target.family)
    out = written(None, entries)
    assert {change.rule for change in out.changes} <= {"time"}
    again = import_pi(out.lines)
    assert again.findings == ()
    assert heard(again.entries) == heard(entries)
    own = Target(target.api, "any", reads=frozenset({target.family}))
    theirs = {item.family for item in again.entries if isinstance(item, MessageEntry)} - {None}
    assert theirs <= {target.family}
    assert sent(again.entries, own) == sent(entries, own)


@settings(max_examples=200)
@given(faulty())
def test_any_log_can_be_opened_by_pi(entries: list[Entry]) -> None:
    out = written(None, entries)
    assert written(None, entries) == out
    records(out)
    again = import_pi(out.lines)
    assert {finding.rule for finding in again.findings} <= {
        *("answer-failed", "blank-summary", "branch-left", "not-imported"),
    }
    families = frozenset(each.family for each in again.entries if isinstance(each, MessageEntry)) - {None}
    for api in APIS:
        sent(again.entries, Target(api, "any", reads=families))  # type: ignore[arg-type]
    names = [
        call.id
        for each in entries
        if isinstance(each, MessageEntry)
        for call in items.tool_calls(each.message)
    ]
    # Of several calls with one id, whose an output is depends on which of them are one answer.
    if not out.changes and len(set(names)) == len(names):
        assert heard(again.entries) == heard(entries)


# --------------------------------------------------------------------------------- answers


def test_items_of_one_response_are_one_answer() -> None:
    family = TARGETS["responses"].family
    sealed = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "seal"}
    text = {"type": "output_text", "text": "I look."}
    asked = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "sh", "arguments": '{"n":1}'}
    usage = RecordedUsage(input=3, output=2, total_tokens=5)
    response = ResponseRecord(id="resp_1", model="m-1", finish_reason="tool_use", usage=usage)
    entries = [
        entry(1, user()),
        entry(2, sealed, family=family, response=response),
        entry(
            3,
            {"type": "message", "role": "assistant", "id": "msg_1", "phase": "commentary", "content": [text]},
            family=family,
        ),
        entry(4, asked, family=family),
        entry(5, {"type": "function_call_output", "call_id": "call_1", "output": "out"}),
        entry(6, sealed, family=family, response=ResponseRecord(id="resp_2")),
    ]
    _, answer, result, last = [record["message"] for record in exported(*entries)]
    assert answer["content"] == [
        {"type": "thinking", "thinking": "", "thinkingSignature": json.dumps(sealed, separators=(",", ":"))},
        {
            "type": "text",
            "text": "I look.",
            "textSignature": '{"v":1,"id":"msg_1","phase":"commentary"}',
        },
        {"type": "toolCall", "id": "call_1|fc_1", "name": "sh", "arguments": {"n": 1}},
    ]
    assert (answer["api"], answer["provider"], answer["model"]) == ("openai-responses", "openai", "m-1")
    assert (answer["stopReason"], answer["responseId"]) == ("toolUse", "resp_1")
    assert answer["usage"]["totalTokens"] == 5
    assert answer["timestamp"] == round((NOON.timestamp() + 2) * 1000)
    assert (result["toolCallId"], result["toolName"]) == ("call_1|fc_1", "sh")
    assert last["responseId"] == "resp_2"
    assert told(*entries) == []


@pytest.mark.parametrize(
    ("family", "maker"),
    [
        ("anthropic-messages/direct", ("anthropic-messages", "anthropic", "m")),
        ("anthropic-messages/zai", ("anthropic-messages", "zai", "m")),
        ("openai-chat/deepseek", ("openai-completions", "deepseek", "m")),
        ("mistral-chat/direct/large", ("mistral-conversations", "mistral", "large")),
        ("openai-responses/direct/a%2Fb", ("openai-responses", "openai", "a/b")),
        ("gemini/direct/gemini-3", ("google-generative-ai", "google", "gemini-3")),
        ("gemini/google-vertex/gemini-3", ("google-vertex", "google-vertex", "gemini-3")),
        ("another-api/google/gemini-3", ("another-api", "google", "gemini-3")),
        (None, ("unknown", "unknown", "m")),
    ],
)
def test_an_answer_names_its_maker(family: str | None, maker: tuple[str, ...]) -> None:
    message = {"role": "assistant", "content": "done"}
    made = entry(1, message, family=family, response=ResponseRecord(model="m"))
    (record,) = exported(made)
    answer = record["message"]
    assert (answer["api"], answer["provider"], answer["model"]) == maker
    (back,) = import_pi(written(None, [made]).lines).entries
    assert isinstance(back, MessageEntry)
    assert family is None or back.family == family


def test_an_answer_of_deepseek_is_one_that_pi_had_of_it() -> None:
    message = {"role": "assistant", "content": "done", "reasoning_content": "hm"}
    made = entry(1, message, family="deepseek-chat/direct", response=ResponseRecord(model="m"))
    (record,) = exported(made)
    answer = record["message"]
    assert (answer["api"], answer["provider"]) == ("openai-completions", "deepseek")
    (back,) = import_pi(written(None, [made]).lines).entries
    assert isinstance(back, MessageEntry)
    assert Target("deepseek-chat", "m").can_read(back.family)


def test_what_a_model_said_with_an_output_is_told_to_go_as_the_users() -> None:
    content = [{"type": "text", "text": "so"}, {"type": "tool_result", "tool_use_id": "c1", "content": "2"}]
    made = entry(1, {"role": "assistant", "content": content})
    assert [record["message"]["role"] for record in exported(made)] == ["toolResult", "user"]
    assert told(made) == [("rewritten", "role", "m1")]


def test_an_account_is_told_to_be_lost() -> None:
    made = entry(1, {"role": "assistant", "content": "x"}, family="openai-responses/direct/acct/gpt-5")
    assert told(made) == [("rewritten", "account", "m1")]
    assert exported(made)[0]["message"]["model"] == "gpt-5"


def test_pieces_of_one_anthropic_message_are_one_answer() -> None:
    def piece(number: int, name: str, block: dict[str, Any]) -> MessageEntry:
        message = {"role": "assistant", "id": name, "model": "m", "content": [block]}
        return entry(number, message, family="anthropic-messages/direct")

    answers = exported(
        piece(1, "msg_1", {"type": "thinking", "thinking": "hm", "signature": "seal"}),
        piece(2, "msg_1", {"type": "redacted_thinking", "data": "seal 2"}),
        piece(3, "msg_1", {"type": "tool_use", "id": "c1", "name": "sh", "input": {}}),
        piece(4, "msg_2", {"type": "text", "text": "so"}),
    )
    first, second = [record["message"]["content"] for record in answers]
    assert first == [
        {"type": "thinking", "thinking": "hm", "thinkingSignature": "seal"},
        {"type": "thinking", "thinking": "", "thinkingSignature": "seal 2", "redacted": True},
        {"type": "toolCall", "id": "c1", "name": "sh", "arguments": {}},
    ]
    assert second == [{"type": "text", "text": "so"}]


def test_what_a_chat_model_thought_bears_the_key_that_it_came_in() -> None:
    message = {"role": "assistant", "content": "so", "reasoning_content": "hm"}
    (record,) = exported(entry(1, message, family="openai-chat/deepseek"))
    assert record["message"]["content"] == [
        {"type": "thinking", "thinking": "hm", "thinkingSignature": "reasoning_content"},
        {"type": "text", "text": "so"},
    ]


def test_what_a_model_of_mistral_thought_is_a_text() -> None:
    thought = {
        "type": "thinking",
        "thinking": [{"type": "text", "text": "hm, "}, {"type": "text", "text": "so"}],
    }
    message = {"role": "assistant", "content": [thought, {"type": "text", "text": "done"}]}
    (record,) = exported(entry(1, message, family="mistral-chat/direct/m"))
    assert [block.get("thinking") for block in record["message"]["content"]] == ["hm, so", None]


@pytest.mark.parametrize(
    "more",
    [
        {"family": "openai-responses/direct/other"},
        {"interrupted": True},
        {"response": ResponseRecord(id="r2")},
        {"response": ResponseRecord()},
    ],
)
def test_items_that_are_not_of_one_response_are_two_answers(more: dict[str, Any]) -> None:
    def said_so(number: int, **more: Any) -> MessageEntry:
        content = [{"type": "output_text", "text": "so"}]
        message = {"type": "message", "role": "assistant", "content": content}
        return entry(number, message, **{"family": "openai-responses/direct/m", **more})

    first = said_so(1, response=ResponseRecord(id="r1"))
    assert len([r for r in exported(first, said_so(2, **more)) if r["type"] == "message"]) == 2
    assert len(exported(first, said_so(2))) == 1
    assert len(exported(first, said_so(2, response=ResponseRecord(id="r1")))) == 1


def test_what_pi_has_no_place_for_in_an_answer_is_told() -> None:
    sealed = {"role": "assistant", "content": "so", "reasoning_details": [{"data": "seal"}]}
    assert told(entry(1, sealed)) == [("rewritten", "private", "m1")]
    searched = {"type": "web_search_call", "id": "ws_1", "status": "completed"}
    assert told(entry(1, searched)) == [("rewritten", "part-type", "m1")]
    assert told(entry(1, {"content": "who says so?"})) == [("rewritten", "role", "m1")]


def test_what_only_looks_like_a_message_of_pi_is_one_of_the_user() -> None:
    for source in ({"format": "other", "role": "bashExecution"}, "pi", None):
        (record,) = exported(entry(1, {**user(), "importedFrom": source}))
        assert (record["message"]["role"], record["message"]["content"]) == ("user", "go")


def test_a_message_of_pi_has_its_time() -> None:
    source = {"format": "pi", "role": "bashExecution", "command": "ls", "output": ""}
    (timed,) = exported(entry(1, {**user(), "timestamp": 7, "importedFrom": source}))
    assert timed["message"] == {"role": "bashExecution", "command": "ls", "output": "", "timestamp": 7}
    (untimed,) = exported(entry(1, {**user(), "importedFrom": source}))
    assert untimed["message"]["timestamp"] == round((NOON.timestamp() + 1) * 1000)


# -------------------------------------------------------------------------------- outputs


def test_a_result_has_what_the_sidecar_knows() -> None:
    asked = {"type": "function_call", "call_id": "c1", "name": "sh", "arguments": "{}"}
    entries = [entry(1, asked), entry(2, {"type": "function_call_output", "call_id": "c1", "output": "bad"})]
    outcome = outcome_payload(ToolOutcome(status="failed", exit_code=2, data={"full": "x"}))
    for key in (("c1", "m1"), ("c1", None)):
        result = exported(*entries, details={key: outcome})[1]["message"]
        assert (result["isError"], result["details"]) == (True, {"full": "x"})
    assert "details" not in exported(*entries)[1]["message"]


def test_outputs_and_what_is_said_beside_them_are_messages_of_their_own() -> None:
    blocks = [
        {"type": "tool_result", "tool_use_id": "c1", "content": "out", "is_error": True},
        {"type": "text", "text": "and?"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}},
        {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}},
    ]
    made = entry(1, {"role": "user", "content": blocks})
    result, said_too = [record["message"] for record in exported(made)]
    assert (result["role"], result["isError"]) == ("toolResult", True)
    assert said_too["content"] == [
        {"type": "text", "text": "and?"},
        {"type": "image", "data": "aGk=", "mimeType": "image/png"},
    ]
    assert told(made) == [("rewritten", "part-type", "m1")]


# ------------------------------------------------------------------------- branches, words


def test_what_no_model_is_sent_stands_on_a_branch_that_was_left() -> None:
    entries = [
        entry(1, user("one")),
        entry(2, user("left"), interrupted=True),
        entry(3, {"role": "assistant", "content": "left too"}, interrupted=True),
        entry(4, user("two")),
        entry(5, user("left last"), interrupted=True),
    ]
    a, b, c, d, e, leaf = exported(*entries)
    parents = [record["parentId"] for record in (a, b, c, d, e, leaf)]
    assert parents == [None, a["id"], b["id"], a["id"], d["id"], d["id"]]
    assert leaf["type"] == "custom"
    again = import_pi(written(None, entries).lines)
    assert [m.interrupted for m in again.entries if isinstance(m, MessageEntry)] == [
        each.interrupted for each in entries
    ]


def test_what_pi_has_no_entry_for_goes_as_data_and_is_told() -> None:
    context = ContextAttachment(
        attachment_id="a", epoch=1, kind="rules", placement="prefix", revision="r", rendered="text"
    )
    entries: list[Entry] = [
        ContextEntry(id="c", timestamp=NOON, context=context),
        RunEntry(id="r", timestamp=NOON, run=Run(started_at=NOON, completed_at=NOON, status="failed")),
        OpaqueEntry(id="o", timestamp=NOON, type="odd", data={"n": 1}),
    ]
    assert [record["customType"] for record in exported(*entries)] == [
        "transcript-log/context",
        "transcript-log/run",
        "transcript-log/odd",
    ]
    assert told(*entries) == [("rewritten", "entry-type", name) for name in "cro"]


def test_what_a_message_loses_is_told() -> None:
    invocation = Invocation(kind="prompt_template", name="n", source="s", path="p")
    assert told(entry(1, user(), invocation=invocation)) == [("rewritten", "invocation", "m1")]
    output = {"role": "tool", "tool_call_id": "c", "content": "x"}
    assert told(entry(1, output, stand_in=True)) == [("rewritten", "stand-in", "m1")]
    assert told(MessageEntry(id="m1", timestamp=None, message=user())) == [("rewritten", "time", "m1")]
    assert told(entry(1, {"role": "system", "content": "rule"})) == [("rewritten", "role", "m1")]
    call = {"type": "custom_tool_call", "call_id": "c", "name": "patch", "input": "*** Begin"}
    assert told(entry(1, call)) == [("rewritten", "arguments", "m1")]


@given(sessions())
def test_nothing_in_a_file_for_pi_acts_or_hides_and_no_text_is_another(source: ExportSource) -> None:
    lines = "".join(export_pi(source).pieces).removesuffix("\n").split("\n")
    assert all(map(str.isprintable, lines))
    assert source.header is not None
    first = json.loads(lines[0])
    assert (first["id"], first["cwd"]) == (source.header.id, source.header.cwd)


def test_the_header_is_that_of_the_log() -> None:
    kept = {"format": "pi", "version": 1, "parentSession": "/old.jsonl", "name": "A name"}
    header = Header(id="s1", cwd="/demo", timestamp=NOON, extra={"importedFrom": kept})
    out = written(header, [entry(1, user())])
    assert json.loads(out.lines[0]) == {
        "type": "session",
        "version": 3,
        "id": "s1",
        "timestamp": "2026-01-02T12:00:00Z",
        "cwd": "/demo",
        "parentSession": "/old.jsonl",
    }
    assert records(out)[-1]["name"] == "A name"
    marked = Header(extra={"importedFrom": {"format": "pi", "labels": {"m1": "here", "gone": "x"}}})
    first, label = exported(entry(1, user()), header=marked)
    assert (label["targetId"], label["label"]) == (first["id"], "here")


# ----------------------------------------------------------------------------- compactions


def compacted(**more: Any) -> CompactionEntry:
    return CompactionEntry(id="k", timestamp=NOON, compaction=Compaction(**{"summary": "so far", **more}))


def test_a_compaction_names_the_record_that_it_keeps_from() -> None:
    entries = [entry(1, user("one")), entry(2, user("two"))]
    made = compacted(
        first_kept_entry_id="m2", tokens_before=9, read_files=("a",), usage=RecordedUsage(input=1)
    )
    *_, second, record = exported(*entries, made)
    assert record["firstKeptEntryId"] == second["id"]
    assert (record["summary"], record["tokensBefore"]) == ("so far", 9)
    assert record["details"] == {"readFiles": ["a"], "modifiedFiles": []}
    assert record["usage"]["input"] == 1
    assert exported(*entries, compacted())[-1]["firstKeptEntryId"] == ""
    assert told(*entries, compacted(first_kept_entry_id="gone")) == [("left-out", "first-kept", "k")]


def test_what_stands_for_older_messages_goes_as_text_of_the_summary() -> None:
    sealed = {"type": "compaction", "encrypted_content": "seal"}
    replacement = (user("kept"), {"role": "user", "content": "all so far: so far"}, sealed)
    entries = [entry(1, user("one")), entry(2, user("two"))]
    for summary, text in (
        ("", "kept\n\nall so far: so far"),
        ("so far", "kept\n\nall so far: so far"),
        ("else", "kept\n\nall so far: so far\n\nelse"),
    ):
        made = compacted(summary=summary, replacement=replacement, first_kept_entry_id="m2")
        *_, second, record = exported(*entries, made)
        assert (record["summary"], record["firstKeptEntryId"]) == (text, second["id"])
        assert told(*entries, made) == [("rewritten", "replacement", "k")]
    assert exported(compacted(summary="", replacement=(sealed,)))[0]["summary"] == "(no summary available)"
