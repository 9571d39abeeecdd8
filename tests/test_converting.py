"""Sessions moved between agents: the same turns, read back, but for what is told."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pytest
from claude_sessions import START, Written, call, text
from histories import SHAPES, TARGETS, as_entries, conversations, faulty
from hypothesis import given, settings
from hypothesis import strategies as st
from situations import SITUATIONS
from test_corpus_codex import CORPUS, FACTS, each

from transcript_log import items
from transcript_log.acceptance import check_acceptance
from transcript_log.cli.export import source_of
from transcript_log.cli.source import open_session
from transcript_log.codec import outcome_payload
from transcript_log.context import build_context
from transcript_log.converting import AGENTS, Agent, compare, file_name, write_converted
from transcript_log.entries import (
    Compaction,
    CompactionEntry,
    ContextAttachment,
    ContextEntry,
    Entry,
    ForkOrigin,
    Header,
    Invocation,
    MessageEntry,
    OpaqueEntry,
    RecordedCost,
    RecordedUsage,
    ResponseRecord,
    Run,
    RunEntry,
    ToolOutcome,
)
from transcript_log.errors import ContextError, StorageError
from transcript_log.exporters import Exported, ExportSource
from transcript_log.exporters.claude_code import target_of_claude
from transcript_log.exporters.codex import target_of_codex
from transcript_log.families import Target
from transcript_log.history import Compacted, Responded, build_history
from transcript_log.importers import Imported

DATA: Final = Path(__file__).resolve().parent / "data"
SMALL: Final = [str(path.relative_to(DATA)) for path in sorted(DATA.glob("*/*.jsonl"))]
NOON: Final = datetime(2026, 1, 2, 12, tzinfo=UTC)
APIS: Final[dict[str, str]] = {"claude-code": "anthropic-messages", "codex": "openai-responses"}
TWO: Final[tuple[Agent, ...]] = ("claude-code", "codex")
SESSION: Final = "0199a213-81c0-7800-8aa1-bbab2a035a53"

PIXEL: Final = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
"""A picture of one point, which agents look into."""

GONE: Final = frozenset(
    {
        "context",
        "cost",
        "entry-type",
        "files",
        "header",
        "outcome",
        "request",
        "response",
        "run",
        "settings",
        "usage",
    }
)
"""The rules whose changes leave alone what was said, called and given back."""


def moved(source: ExportSource, agent: Agent) -> tuple[Exported, Imported, list[dict[str, Any]]]:
    """What is made for an agent, read back by its importer, and its records; the same each time."""
    form = AGENTS[agent]
    made = form.export(source)
    lines = [piece.encode() for piece in made.pieces]
    assert lines == [piece.encode() for piece in form.export(source).pieces]
    assert all(line.endswith(b"\n") and line.count(b"\n") == 1 for line in lines)
    back = form.read(lines)
    assert [f for f in back.findings if f.severity != "note"] == []
    return made, back, [json.loads(line) for line in lines]


def log(*entries: Entry, details: Any = None, header: Header | None = None) -> ExportSource:
    header = header or Header(id=SESSION, cwd="/home/user/demo", timestamp=NOON)
    return ExportSource(name="s", header=header, entries=entries, details=details or {})


def entry(number: int, message: dict[str, Any], **more: Any) -> MessageEntry:
    time = NOON + timedelta(seconds=number)
    return MessageEntry(id=f"{number:024x}", timestamp=time, message=message, **more)


def user(words: str = "go") -> dict[str, Any]:
    return {"role": "user", "content": words}


def said(words: str) -> dict[str, Any]:
    return {"role": "assistant", "content": [text(words)]}


def told(made: Exported) -> list[tuple[str, str]]:
    return [(change.kind, change.rule) for change in made.changes]


# ------------------------------------------------------------- an independent comparison


def turns(entries: Sequence[Entry], details: Any) -> Iterator[tuple[Any, ...]]:
    """Who said what, which tool was called with what, and what it gave: by the items alone."""
    outputs: dict[str, list[str]] = {}
    live = [one for one in entries if isinstance(one, MessageEntry)]
    live = [one for one in live if not (one.interrupted or (items.is_aborted(one.message) and _from(one)))]
    for one in live:
        for part in items.tool_outputs(one.message):
            outputs.setdefault(part.id or "", []).append(plain(items.output_text(part.content)))
    for one in live:
        for part in items.parts(one.message):
            match part:
                case items.TextPart(text=words) if words.strip():
                    yield from ((_from(one), line.strip()) for line in words.split("\n") if line.strip())
                case items.ImagePart():
                    yield "picture", _from(one)
                case items.ToolCallPart(id=name, kind=kind) if kind != items.HOSTED:
                    given = outputs.get(name or "", [])
                    yield "call", part.name, arguments(part.arguments), given.pop(0) if given else None
                case _:
                    pass


def _from(one: MessageEntry) -> bool:
    return items.role(one.message) == "assistant" or items.type_of(one.message) == "agent_message"


def plain(output: str) -> str:
    """An output without what Codex once wrapped it in."""
    return items.output_text(output).strip()


def arguments(given: Any) -> Any:
    if isinstance(given, str):
        try:
            return json.loads(given or "{}")
        except ValueError:
            return given
    return given or {}


def is_same(source: ExportSource, made: Exported, back: Imported) -> None:
    """Both say the same, in the same order, but for what a change tells of."""
    mine, theirs = [list(turns(one, None)) for one in (source.entries, back.entries)]
    explained = Counter(change.kind for change in made.changes if change.rule not in GONE)
    lost = Counter(map(repr, mine)) - Counter(map(repr, theirs))
    more = Counter(map(repr, theirs)) - Counter(map(repr, mine))
    assert sum(lost.values()) == 0 or explained, lost
    assert sum(more.values()) == 0 or explained, more
    if not explained:
        assert mine == theirs


# --------------------------------------------------------------------------- all sessions


def sources() -> list[Any]:
    return [*(f"data/{name}" for name in SMALL), *each(sorted(FACTS))]


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("name", sources())
def test_a_session_of_any_agent_is_moved_to_any_agent(name: str, agent: Agent) -> None:
    path = DATA / name.removeprefix("data/") if name.startswith("data/") else CORPUS / name
    session = open_session(str(path))
    source = source_of(session)
    made, back, _ = moved(source, agent)
    assert list(compare(source, made, back)) == []
    is_same(source, made, back)
    if agent not in APIS:
        return
    target = {"claude-code": target_of_claude, "codex": target_of_codex}[agent](source.entries)
    families = {one.family for one in back.entries if isinstance(one, MessageEntry)} - {None}
    again = replace(target, reads=frozenset(filter(None, families)))
    theirs = sent(back.entries, again)
    # Texts that stand for older messages, and items of the API that an agent has no record for.
    if not {"replacement", "item-type", "part-type", "call-kind"} & {change.rule for change in made.changes}:
        assert theirs == sent(source.entries, target, source.details)
    accepted = check_acceptance(back.entries, APIS[agent])
    aside = {one.id for one in back.entries if isinstance(one, MessageEntry) and one.interrupted}
    # Codex itself answers its calls of a local shell so.
    found = {f.rule for f in accepted.findings if f.severity != "note"} - {"output-kind"}
    assert not found or aside


def sent(entries: Sequence[Entry], target: Target, details: Any = None) -> list[Any]:
    """What a model is told, item by item, ids aside."""
    try:
        context = build_context(entries, target, details=details)
    except ContextError:
        return []
    found = []
    for item in context.items:
        for part in items.parts(item):
            match part:
                case items.TextPart(text=words):
                    found += [line.strip() for line in words.split("\n") if line.strip()]
                case items.ToolCallPart():
                    found.append((part.name, arguments(part.arguments)))
                case items.ToolOutputPart():
                    found.append(plain(items.output_text(part.content)))
                case items.ReasoningPart():
                    found.append(part.text)
                case _:
                    found.append(type(part).__name__)
    return found


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda one: one.title)
def test_a_log_in_a_bad_way_is_moved(situation: Any, agent: Agent) -> None:
    source = log(*situation.entries, details=situation.details)
    made, back, _ = moved(source, agent)
    assert list(compare(source, made, back)) == []
    is_same(source, made, back)


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("shape", SHAPES)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_a_conversation_of_any_shape_is_the_same_with_any_agent(
    agent: Agent, shape: str, data: st.DataObject
) -> None:
    target = TARGETS.get(shape, TARGETS["anthropic"])
    source = log(*as_entries(data.draw(conversations()), shape, target.family))
    made, back, _ = moved(source, agent)
    assert list(turns(back.entries, None)) == list(turns(source.entries, None))
    assert list(compare(source, made, back)) == []
    kinds = {change.kind for change in made.changes if change.rule not in GONE}
    assert kinds <= {"rewritten", "left-out", "added"}


@pytest.mark.parametrize("agent", TWO)
@settings(max_examples=150, deadline=None)
@given(entries=faulty())
def test_any_log_can_be_gone_on_with(agent: Agent, entries: list[Entry]) -> None:
    source = log(*entries)
    made = AGENTS[agent].export(source)
    lines = [piece.encode() for piece in made.pieces]
    assert lines == [piece.encode() for piece in AGENTS[agent].export(source).pieces]
    assert not any(b"\\ud" in line for line in lines)
    if not lines:
        return
    back = AGENTS[agent].read(lines)
    assert list(compare(source, made, back)) == []
    found = check_acceptance(back.entries, APIS[agent]).findings
    said_all = [one for one in entries if isinstance(one, MessageEntry)]
    names = [part.id for one in said_all for part in items.tool_calls(one.message)]
    # Of several calls with one id, whose an output is depends on what a compaction keeps.
    is_clear = len(set(names)) == len(names)
    if is_clear and not any(isinstance(one, MessageEntry) and one.interrupted for one in back.entries):
        rules = {finding.rule for finding in found if finding.severity != "note"}
        assert rules <= {"empty-input", "no-context", "output-kind"}


@pytest.mark.parametrize("agent", TWO)
@given(entries=faulty())
@settings(max_examples=60, deadline=None)
def test_moving_again_changes_nothing(agent: Agent, entries: list[Entry]) -> None:
    source = log(*entries)
    lines = [piece.encode() for piece in AGENTS[agent].export(source).pieces]
    if not lines:
        return
    back = AGENTS[agent].read(lines)
    again = ExportSource(name="s", header=back.header, entries=back.entries, details=back.details_by_call)
    once = AGENTS[agent].read([piece.encode() for piece in AGENTS[agent].export(again).pieces])
    assert list(turns(once.entries, None)) == list(turns(back.entries, None))


# ------------------------------------------------------------------------- every entry


def everything() -> tuple[list[Entry], dict[Any, Any]]:
    """A log of ours with all that one can hold."""
    openai, claude = Target("openai-responses", "gpt-5").family, "anthropic-messages/direct"
    usage = RecordedUsage(input=7, output=3, cache_read=5, cache_write=2, total_tokens=17)
    cost = replace(usage, cost=RecordedCost(total=0.5))
    picture = {"type": "base64", "media_type": "image/png", "data": PIXEL}
    settings = ContextAttachment(
        attachment_id="x", kind="agents", placement="prefix", revision="1", rendered="Be brief."
    )
    given: list[Entry] = [
        entry(
            1, user("begin"), invocation=Invocation(kind="prompt_template", name="n", source="s", path="p")
        ),
        ContextEntry(id="c1", timestamp=NOON, context=settings),
        entry(
            2,
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAA"},
            family=openai,
            response=ResponseRecord(id="resp_1", model="gpt-5", finish_reason="tool_use", usage=cost),
        ),
        entry(
            3,
            {"type": "function_call", "call_id": "call_1", "name": "sh", "arguments": '{"n":1}'},
            family=openai,
        ),
        entry(
            4,
            {"type": "custom_tool_call", "call_id": "call_2", "name": "patch", "input": "*** x"},
            family=openai,
        ),
        entry(5, {"type": "function_call_output", "call_id": "call_1", "output": "one\ntwo"}),
        entry(
            6, {"type": "custom_tool_call_output", "call_id": "call_2", "output": "made up"}, stand_in=True
        ),
        RunEntry(
            id="r1",
            timestamp=NOON,
            run=Run(
                started_at=NOON,
                completed_at=NOON + timedelta(seconds=9),
                first_entry_id=f"{1:024x}",
                status="completed",
            ),
        ),
        entry(7, user("and now?")),
        entry(8, said("I was about"), family=claude, interrupted=True),
        entry(
            9,
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "seal"},
                    text("looking"),
                    call("toolu_1", "Read", path="a"),
                    call("toolu_2", "Read", path="b"),
                ],
            },
            family=claude,
            response=ResponseRecord(
                id="msg_1", model="claude-opus-4-6", finish_reason="tool_use", usage=usage
            ),
        ),
        entry(
            10,
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "toolu_1",
                        "content": [{"type": "image", "source": picture}],
                    },
                    text("half \ud83d here"),
                ],
            },
        ),
        CompactionEntry(
            id=f"{11:024x}",
            timestamp=NOON + timedelta(seconds=11),
            compaction=Compaction(
                summary="so far", first_kept_entry_id=f"{9:024x}", tokens_before=90, tokens_after=9
            ),
        ),
        entry(12, user("go on")),
        OpaqueEntry(id="o1", timestamp=NOON, type="surprise", data={"a": 1}),
        entry(
            13, {"role": "assistant", "content": "done", "reasoning_content": "well"}, family="openai-chat/x"
        ),
    ]
    return given, {("call_1", f"{3:024x}"): outcome_payload(ToolOutcome(status="failed", exit_code=2))}


@pytest.mark.parametrize("agent", AGENTS)
def test_a_log_with_all_that_one_can_hold_is_moved_and_its_losses_are_told(agent: Agent) -> None:
    given, details = everything()
    source = log(*given, details=details)
    made, back, _ = moved(source, agent)
    assert list(compare(source, made, back)) == []
    is_same(source, made, back)
    rules = {change.rule for change in made.changes}
    lost = {
        "claude-code": {"context", "cost", "entry-type", "interrupted", "invocation", "outcome", "stand-in"},
        "codex": {"context", "cost", "entry-type", "interrupted", "invocation", "outcome", "response"},
        "pi": {"entry-type", "invocation", "stand-in"},
    }[agent]
    assert lost <= rules
    assert ("unanswered-call" in rules) == (agent != "pi")  # pi answers it itself
    kept = [event for event in build_history(back.entries).events if isinstance(event, Compacted)]
    assert len(kept) == 1
    assert "so far" in kept[0].summary
    for number in (5, 9, 12):
        (found,) = [
            (one.timestamp, one.message)
            for one in back.entries
            if isinstance(one, MessageEntry) and one.timestamp == NOON + timedelta(seconds=number)
        ][:1]
        assert found


@pytest.mark.parametrize(
    ("first", "second"), [("claude-code", "codex"), ("codex", "pi"), ("pi", "claude-code")]
)
def test_a_session_is_moved_on_and_on(first: Agent, second: Agent) -> None:
    given, details = everything()
    source = log(*given, details=details)
    for agent in (first, second):
        made, back, _ = moved(source, agent)
        assert list(compare(source, made, back)) == []
        is_same(source, made, back)
        source = ExportSource(
            name="s", header=back.header, entries=back.entries, details=back.details_by_call
        )
    calls = [one for one in turns(source.entries, None) if one[0] == "call"]
    assert [one[1:3] for one in calls] == [
        ("sh", {"n": 1}),
        ("patch", {"input": "*** x"}),
        ("Read", {"path": "a"}),
        ("Read", {"path": "b"}),
    ]


# ------------------------------------------------------------------------- Claude Code


def test_each_block_is_a_record_of_its_message() -> None:
    given, details = everything()
    _, back, records = moved(log(*given, details=details), "claude-code")
    parts = [record for record in records if record.get("message", {}).get("id") == "msg_1"]
    assert [record["message"]["content"][0]["type"] for record in parts] == [
        *("thinking", "text", "tool_use", "tool_use")
    ]
    assert len({record["requestId"] for record in parts}) == 1
    assert [record["message"]["stop_reason"] for record in parts] == [None, None, None, "tool_use"]
    assert all(record["message"]["usage"]["cache_read_input_tokens"] == 5 for record in parts)
    uuids = [record["uuid"] for record in records]
    assert len(set(uuids)) == len(uuids)
    parents = {record["uuid"]: record["parentUuid"] for record in records}
    roots = [record for record in records if record["parentUuid"] is None]
    assert [record.get("subtype") for record in roots] == [None, "compact_boundary"]
    assert all(parent in parents for parent in parents.values() if parent is not None)
    # Ids of our own form are those of the entries that come back.
    ours = {one.id for one in given if len(one.id) == 24}
    assert {one.id for one in back.entries if isinstance(one, MessageEntry)} >= {f"{1:024x}", f"{9:024x}"}
    assert {one.id for one in back.entries if isinstance(one, CompactionEntry)} <= ours
    spent = [event for event in build_history(back.entries).events if isinstance(event, Responded)]
    assert [event.response for event in spent][:2] == ["resp_1", "msg_1"]
    assert spent[1].usage is not None
    assert (spent[1].usage.input, spent[1].usage.output, spent[1].usage.cache_write) == (7, 3, 2)


def test_a_compaction_names_what_it_keeps() -> None:
    given, details = everything()
    _, back, records = moved(log(*given, details=details), "claude-code")
    (mark,) = [record for record in records if record.get("subtype") == "compact_boundary"]
    summary = records[records.index(mark) + 1]
    assert summary["isCompactSummary"]
    assert summary["parentUuid"] == mark["uuid"]
    assert mark["logicalParentUuid"] == records[records.index(mark) - 1]["uuid"]
    kept = mark["compactMetadata"]["preservedMessages"]
    assert kept["anchorUuid"] == summary["uuid"]
    assert kept["uuids"][0].replace("-", "").startswith(f"{9:024x}")
    (made,) = [one.compaction for one in back.entries if isinstance(one, CompactionEntry)]
    assert made.first_kept_entry_id == f"{9:024x}"
    assert (made.tokens_before, made.tokens_after) == (90, 9)


def test_what_a_compaction_cleared_is_marked_as_cleared() -> None:
    session = Written().user("u1", "go").says("a1", "m1", call("c1")).answers("a2", "c1", "long")
    session.note("n1", "microcompact_boundary", microcompactMetadata={"compactedToolIds": ["c1"]})
    session.user("u2", "on")
    imported = session.imported()
    source = ExportSource(name="s", header=imported.header, entries=imported.entries)
    made, back, records = moved(source, "claude-code")
    assert [
        r["microcompactMetadata"]["compactedToolIds"] for r in records if "microcompactMetadata" in r
    ] == [["c1"]]
    assert sent(back.entries, CLAUDE) == sent(imported.entries, CLAUDE)
    assert told(made) == [("rewritten", "session-id")]


CLAUDE: Final = Target("anthropic-messages", "claude-opus-4-6")


def test_a_broken_off_answer_is_shown_and_not_sent() -> None:
    source = log(entry(1, user()), entry(2, said("I was"), interrupted=True), entry(3, user("again")))
    made, back, records = moved(source, "claude-code")
    assert [(r["message"]["model"], r["isApiErrorMessage"]) for r in records if "isApiErrorMessage" in r] == [
        ("<synthetic>", True)
    ]
    assert [one.interrupted for one in back.entries if isinstance(one, MessageEntry)] == [False, True, False]
    assert ("left-out", "interrupted") in told(made)


def test_outcomes_of_claude_code_go_beside_their_outputs() -> None:
    session = Written().user("u1", "go").says("a1", "m1", call("c1"))
    session.answers("a2", "c1", "out", toolUseResult={"stdout": "out", "interrupted": False})
    imported = session.imported()
    source = source_of_imported(imported)
    _, back, records = moved(source, "claude-code")
    assert [record["toolUseResult"]["stdout"] for record in records if "toolUseResult" in record] == ["out"]
    assert [one.payload for one in back.details] == [one.payload for one in imported.details]
    assert records[0]["timestamp"] == f"{START + timedelta(seconds=1):%Y-%m-%dT%H:%M:%S}.000Z"


def source_of_imported(imported: Imported) -> ExportSource:
    return ExportSource(
        name="s", header=imported.header, entries=imported.entries, details=imported.details_by_call
    )


@pytest.mark.parametrize(
    ("families", "reads"),
    [
        (["anthropic-messages/direct", "anthropic-messages/bedrock", "anthropic-messages/zai"], 2),
        (["anthropic-messages/zai"], 1),
        (["openai-responses/direct/m"], 0),
    ],
)
def test_claude_code_reads_the_thinking_of_anthropic(families: list[str], reads: int) -> None:
    entries = [entry(n, said("x"), family=family) for n, family in enumerate(families)]
    assert target_of_claude(entries).reads == frozenset(families[:reads])


def test_ids_that_two_responses_share_are_told_apart() -> None:
    same = ResponseRecord(id="same", model="m")
    source = log(
        entry(1, user()),
        entry(2, said("a"), response=same),
        entry(3, user()),
        entry(4, said("b"), response=same),
    )
    made, back, _ = moved(source, "claude-code")
    assert [r for r in told(made) if r[1] == "response"] == [("rewritten", "response")]
    assert [t for t in turns(back.entries, None) if t[0] is True] == [(True, "a"), (True, "b")]


# ------------------------------------------------------------------------------- Codex


def test_a_rollout_begins_with_its_header_and_shows_what_was_said() -> None:
    given, details = everything()
    _, back, records = moved(log(*given, details=details), "codex")
    first = records[0]
    assert first["type"] == "session_meta"
    assert (first["payload"]["id"], first["payload"]["cwd"]) == (SESSION, "/home/user/demo")
    assert first["payload"]["model_provider"] == "openai"
    assert back.header.id == SESSION
    echoes = [
        r["payload"]["message"]
        for r in records
        if r["payload"].get("type") in ("user_message", "agent_message")
    ]
    assert echoes == ["begin", "and now?", "looking", "half \ufffd here", "go on", "done"]
    models = [r["payload"]["model"] for r in records if r["type"] == "turn_context"]
    assert models == ["gpt-5", "claude-opus-4-6"]
    assert [
        r["payload"]["type"] for r in records if r["payload"].get("type") in ("task_started", "task_complete")
    ] == [*("task_started", "task_complete")]
    (run,) = [one.run for one in back.entries if isinstance(one, RunEntry)]
    assert (run.started_at, run.completed_at, run.status) == (NOON, NOON + timedelta(seconds=9), "completed")


def test_a_compaction_of_codex_holds_all_that_stands_after_it() -> None:
    given, details = everything()
    _, back, records = moved(log(*given, details=details), "codex")
    (payload,) = [record["payload"] for record in records if record["type"] == "compacted"]
    assert payload["message"] == "so far"
    kinds = [item["type"] for item in payload["replacement_history"]]
    assert kinds[0] == "message"
    assert "so far" in payload["replacement_history"][0]["content"][0]["text"]
    assert Counter(kinds)["function_call"] == Counter(kinds)["function_call_output"] == 2
    (made,) = [one.compaction for one in back.entries if isinstance(one, CompactionEntry)]
    assert made.replacement == tuple(payload["replacement_history"])


def test_tokens_go_with_the_response_that_took_them() -> None:
    usage = RecordedUsage(input=7, output=3, cache_read=5, total_tokens=15)

    def answer(number: int, told: RecordedUsage | None) -> MessageEntry:
        return entry(number, said(f"a{number}"), response=ResponseRecord(model="m", usage=told))

    source = log(entry(1, user()), answer(2, usage), entry(3, user()), answer(4, None), answer(5, usage))
    made, back, records = moved(source, "codex")
    counts = [r["payload"]["info"] for r in records if r["payload"].get("type") == "token_count"]
    assert [info["total_token_usage"]["input_tokens"] for info in counts] == [12]
    assert ("left-out", "usage") in told(made)
    spent = [event for event in build_history(back.entries).events if isinstance(event, Responded)]
    assert [event.usage and event.usage.input for event in spent] == [7]


def test_what_was_taken_back_is_taken_back() -> None:
    source = log(
        entry(1, user("one")),
        entry(2, said("first")),
        entry(3, user("two"), interrupted=True),
        entry(4, said("second"), interrupted=True),
        entry(5, user("three")),
    )
    made, back, records = moved(source, "codex")
    marks = [
        r["payload"]["type"] for r in records if r["payload"].get("type", "").startswith(("task", "thread"))
    ]
    # Without the last one Codex would take back what comes after it too.
    assert marks == ["task_started", "task_complete", "thread_rolled_back", "task_started"]
    assert [
        (items.text(one.message), one.interrupted) for one in back.entries if isinstance(one, MessageEntry)
    ] == [*(("one", False), ("first", False), ("two", True), ("second", True), ("three", False))]
    assert [rule for kind, rule in told(made) if kind == "left-out"] == []


@pytest.mark.parametrize(
    ("item", "stored"),
    [
        (
            {"type": "shell_call", "call_id": "c", "action": {"commands": ["ls"]}},
            {"type": "function_call", "name": "shell"},
        ),
        ({"type": "mcp_call", "id": "mcp_1", "name": "x", "arguments": "{}"}, None),
    ],
)
def test_items_that_codex_does_not_store_go_as_others(
    item: dict[str, Any], stored: dict[str, Any] | None
) -> None:
    made, _, records = moved(
        log(entry(1, user()), entry(2, item, family=Target("openai-responses", "m").family)), "codex"
    )
    found = [r["payload"] for r in records if r["type"] == "response_item"][1:]
    if stored is None:
        assert found == []
        assert ("left-out", "item-type") in told(made)
    else:
        assert found[0].items() >= stored.items()
        assert ("rewritten", "call-kind") in told(made)


# ------------------------------------------------------------------------------- files


def test_files_are_called_as_their_agents_call_them() -> None:
    source = log(entry(1, user()))
    assert file_name(source, "claude-code") == ("-home-user-demo", f"{SESSION}.jsonl")
    assert file_name(source, "codex") == ("2026", "01", "02", f"rollout-2026-01-02T12-00-00-{SESSION}.jsonl")
    assert file_name(source, "pi") == ("--home-user-demo--", f"2026-01-02T12-00-00-000Z_{SESSION}.jsonl")
    deep = replace(source, header=Header(id="no uuid", cwd="/x" * 200))
    folder, name = file_name(deep, "claude-code")
    assert (len(folder), folder[:201]) == (206, "-x" * 100 + "-")
    assert name == file_name(deep, "claude-code")[1] != f"{SESSION}.jsonl"


@pytest.mark.parametrize("agent", AGENTS)
def test_a_file_is_there_wholly_and_never_twice(agent: Agent, tmp_path: Path) -> None:
    source = log(entry(1, user()), entry(2, said("done")))
    path = tmp_path / "new" / "session.jsonl"
    made = write_converted(source, agent, path)
    assert made.findings == ()
    assert (made.path, made.id) == (str(path), SESSION)
    assert path.stat().st_mode & 0o777 == 0o600
    assert made.records == path.read_bytes().count(b"\n")
    with pytest.raises(StorageError, match="there is a file already"):
        write_converted(source, agent, path)
    assert [one.name for one in path.parent.iterdir()] == ["session.jsonl"]


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize(
    "more", [[], [{"type": "text", "text": "read it"}], [{"type": "text", "text": "a"}] * 2]
)
def test_documents_that_are_text_are_what_was_said(
    agent: Agent, more: list[dict[str, Any]], tmp_path: Path
) -> None:
    blank = {"type": "text", "text": " "}
    held = {"type": "text", "media_type": "text/plain", "data": "first\nsecond"}
    found = {"type": "search_result", "source": "s", "title": "t", "content": [{"type": "text", "text": "x"}]}
    content = [blank, {"type": "document", "source": held}, *more, found]
    source = log(entry(1, user("go")), entry(2, {"role": "user", "content": content}), entry(3, said("so")))
    assert write_converted(source, agent, tmp_path / "made.jsonl").findings == ()
    made = AGENTS[agent].export(log(entry(1, user("go")), entry(2, user("second")), entry(3, said("so"))))
    back = AGENTS[agent].read([piece.encode() for piece in made.pieces], path=None)
    lost = [finding.message for finding in compare(source, made, back) if finding.entry is not None]
    assert len(lost) == len(more) + 4


@pytest.mark.parametrize("agent", AGENTS)
def test_an_output_of_the_first_functions_is_told_to_be_the_users(agent: Agent, tmp_path: Path) -> None:
    given = {"role": "function", "name": "f", "content": "two files"}
    made = write_converted(log(entry(1, user("go")), entry(2, given)), agent, tmp_path / "made.jsonl")
    assert made.findings == ()
    assert "role" in [change.rule for change in made.changes]


def test_what_is_no_session_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="nothing of the session can be said there"):
        write_converted(log(), "claude-code", tmp_path / "s.jsonl")
    assert list(tmp_path.iterdir()) == []


def test_what_did_not_come_back_is_a_finding() -> None:
    source = log(entry(1, user("one\ntwo")), entry(2, said("done")), entry(3, user("on")))
    made, back, _ = moved(source, "pi")
    assert list(compare(source, made, back)) == []
    less = replace(back, entries=back.entries[1:], places=back.places[1:])
    assert [f.entry for f in compare(source, made, less)] == [f"{1:024x}"] * 2
    turned = replace(back, entries=back.entries[::-1])
    assert [f.rule for f in compare(source, made, turned)] == ["not-the-same"]
    more = replace(back, entries=(*back.entries, entry(9, user("and more"))))
    assert ["and more" in f.message for f in compare(source, made, more)] == [True]
    other = replace(source, entries=source.entries[:1])
    assert len(list(compare(other, made, back))) == 2


@pytest.mark.parametrize("agent", TWO)
def test_what_was_sent_beside_the_items_is_told_to_be_lost(agent: Agent) -> None:
    made, _, _ = moved(log(entry(1, user()), details={("request:ab", None): {"kind": "request"}}), agent)
    assert told(made).count(("left-out", "request")) == 1


def test_events_of_codex_find_their_call_under_another_id() -> None:
    long, family = "c" * 70, Target("openai-responses", "m").family
    asked = {"type": "function_call", "call_id": long, "name": "sh", "arguments": "{}"}
    event = {"type": "exec_command_end", "call_id": long, "exit_code": 1}
    outcome = ToolOutcome(status="failed", exit_code=1, data_kind="exec_command_end", data=event)
    source = log(
        entry(1, user()),
        entry(2, asked, family=family),
        entry(3, {"type": "function_call_output", "call_id": long, "output": "no"}, family=family),
        details={(long, f"{2:024x}"): outcome_payload(outcome)},
    )
    made, back, records = moved(source, "codex")
    (name,) = {record["payload"]["call_id"] for record in records if "call_id" in record["payload"]}
    assert len(name) <= 64
    assert [(one.id, one.payload["data"]["exitCode"]) for one in back.details] == [(name, 1)]
    assert ("left-out", "outcome") not in told(made)


def test_what_a_header_says_of_others_is_told_to_be_lost() -> None:
    header = Header(id="odd", forked_from=ForkOrigin("a", "b"))
    for agent in TWO:
        made, _, _ = moved(log(entry(1, user()), header=header), agent)
        assert ("left-out", "header") in told(made)
        assert ("rewritten", "session-id") in told(made)


# ------------------------------------------------------------------------------ corners


def flat_call(name: str) -> dict[str, Any]:
    return {"type": "function_call", "call_id": name, "name": "sh", "arguments": "{}"}


def flat_output(name: str) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": name, "output": f"of {name}"}


def compacted(number: int, kept: int | None = None) -> CompactionEntry:
    first = None if kept is None else f"{kept:024x}"
    made = Compaction(summary="so far", first_kept_entry_id=first)
    return CompactionEntry(id=f"{number:024x}", timestamp=NOON, compaction=made)


def test_an_output_is_not_kept_without_its_call() -> None:
    source = log(
        *(entry(1, user()), entry(2, flat_call("c1")), entry(3, flat_output("c1"))),
        *(compacted(4, 3), entry(5, user("on"))),
    )
    _, _, records = moved(source, "claude-code")
    (mark,) = [record["compactMetadata"] for record in records if "compactMetadata" in record]
    assert "preservedMessages" not in mark


def test_an_output_names_the_record_of_its_call() -> None:
    source = log(entry(1, user()), entry(2, flat_call("c1")), entry(3, flat_output("c1")))
    _, _, (_, asked, answered) = moved(source, "claude-code")
    assert answered["sourceToolAssistantUUID"] == asked["uuid"] == answered["parentUuid"]


def test_a_turn_that_a_message_ends_is_ended_once() -> None:
    run = Run(started_at=NOON, completed_at=NOON, status="cancelled")
    source = log(
        *(entry(1, user()), entry(2, user("[Request interrupted by user]"))),
        RunEntry(id="r", timestamp=NOON, run=run),
    )
    made, back, _ = moved(source, "claude-code")
    assert told(made) == []
    assert [one.run.status for one in back.entries if isinstance(one, RunEntry)] == ["cancelled"]


@pytest.mark.parametrize("name", ["kept-list", "kept-before"])
def test_messages_that_a_compaction_repeats_are_named_and_not_said_again(name: str) -> None:
    source = source_of(open_session(str(DATA / "claude-code" / f"{name}.jsonl")))
    made, back, _ = moved(source, "claude-code")
    assert told(made) == [("rewritten", "session-id")]
    one, two = [
        [each.compaction.replacement for each in entries if isinstance(each, CompactionEntry)]
        for entries in (source.entries, back.entries)
    ]
    assert one == two


@pytest.mark.parametrize("agent", TWO)
def test_a_late_output_goes_with_a_call_that_was_compacted(agent: Agent) -> None:
    source = log(
        *(entry(1, user()), entry(2, flat_call("c1")), compacted(3), entry(4, flat_call("c2"))),
        *(entry(5, flat_output("c1")), entry(6, flat_output("c2"))),
    )
    made, back, _ = moved(source, agent)
    place = next(n for n, one in enumerate(back.entries) if isinstance(one, CompactionEntry))
    said_before = [one for one in back.entries[:place] if isinstance(one, MessageEntry)]
    assert [part.id for one in said_before for part in items.tool_outputs(one.message)] == ["c1"]
    assert "moved" in dict(told(made))


def test_a_run_without_a_first_entry_begins_where_it_ends() -> None:
    run = Run(started_at=NOON, completed_at=NOON + timedelta(seconds=5), status="failed")
    _, back, _ = moved(log(entry(1, user()), RunEntry(id="r", timestamp=NOON, run=run)), "codex")
    (found,) = [one.run for one in back.entries if isinstance(one, RunEntry)]
    assert (found.started_at, found.completed_at, found.status) == (
        run.started_at,
        run.completed_at,
        "failed",
    )
