"""A Codex rollout of any generation becomes entries, and nothing of it is lost in silence."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import json_values

from transcript_log import items
from transcript_log.codec import (
    decode_entry,
    decode_header,
    encode_detail,
    encode_entry,
    encode_header,
    read_outcome,
)
from transcript_log.context import build_context
from transcript_log.counts import count_entries
from transcript_log.entries import (
    HARNESS,
    Compaction,
    CompactionEntry,
    ContextEntry,
    MessageEntry,
    OpaqueEntry,
    RecordedUsage,
    Run,
    RunEntry,
    ToolOutcome,
)
from transcript_log.errors import ContextError, HeaderError
from transcript_log.families import Target
from transcript_log.history import Called, Ran, Said, build_history
from transcript_log.importers import Imported
from transcript_log.importers.codex import import_codex

_DATA = Path(__file__).resolve().parent / "data" / "codex"
_START = datetime(2026, 1, 2, 3, tzinfo=UTC)


class Rollout:
    """An enveloped rollout that is written line by line, one second apart."""

    def __init__(self, **meta: Any) -> None:
        self.lines: list[bytes] = []
        self("session_meta", id="s1", timestamp="2026-01-02T03:00:00Z", cwd="/home/user/demo", **meta)

    def __call__(self, envelope: str, /, **payload: Any) -> Rollout:
        time = _START + timedelta(seconds=len(self.lines))
        record = {"timestamp": time.isoformat().replace("+00:00", "Z"), "type": envelope, "payload": payload}
        return self.raw(json.dumps(record).encode() + b"\n")

    def raw(self, line: bytes) -> Rollout:
        self.lines.append(line)
        return self

    def item(self, **item: Any) -> Rollout:
        return self("response_item", **item)

    def event(self, kind: str, **event: Any) -> Rollout:
        return self("event_msg", type=kind, **event)

    def said(self, text: str, role: str = "user") -> Rollout:
        return self.item(type="message", role=role, content=[{"type": "input_text", "text": text}])

    def called(self, call_id: str, output: Any = "done") -> Rollout:
        self.item(type="function_call", call_id=call_id, name="sh", arguments="{}")
        return self.item(type="function_call_output", call_id=call_id, output=output)

    def read(self, *, keep_unknown: bool = False) -> Imported:
        return import_codex(self.lines, path="rollout.jsonl", keep_unknown=keep_unknown)


def read(name: str) -> Imported:
    with (_DATA / name).open("rb") as lines:
        return import_codex(lines, path=name)


def second(number: int) -> datetime:
    return _START + timedelta(seconds=number)


def held(imported: Imported) -> list[Any]:
    return [entry.message for entry in imported.entries if isinstance(entry, MessageEntry)]


def runs(imported: Imported) -> list[Run]:
    return [entry.run for entry in imported.entries if isinstance(entry, RunEntry)]


def compactions(imported: Imported) -> list[Compaction]:
    return [entry.compaction for entry in imported.entries if isinstance(entry, CompactionEntry)]


def contexts(imported: Imported, kind: str) -> list[str]:
    found = [entry.context for entry in imported.entries if isinstance(entry, ContextEntry)]
    return [context.rendered for context in found if context.kind == kind]


def rules(imported: Imported) -> list[str]:
    return [finding.rule for finding in imported.findings]


def outcomes(imported: Imported) -> dict[tuple[str, str | None], ToolOutcome | None]:
    return {key: read_outcome(payload) for key, payload in imported.details_by_call.items()}


def place_of(imported: Imported, entry_id: str | None) -> int:
    return [entry.id for entry in imported.entries].index(entry_id or "")


# --------------------------------------------------------------------------------- laws


def payloads() -> st.SearchStrategy[dict[str, Any]]:
    """Payloads with the keys that Codex uses, and right or wrong values under them."""
    texts = st.sampled_from(["", "x", "completed", "user", "assistant", "turn-1", "2026-01-02T03:00:00Z"])
    odd = json_values(3)
    of_items = ("message", "function_call", "function_call_output", "reasoning", "web_search_call")
    of_turns = ("task_started", "task_complete", "turn_aborted", "user_message", "thread_rolled_back")
    of_others = ("ghost_snapshot", "error", "exec_command_end", "item_completed", "token_count", "new_event")
    kinds = st.sampled_from((*of_items, *of_turns, *of_others))
    keys = ("id", "timestamp", "cwd", "call_id", "turn_id", "role", "content", "output", "status", "message")
    more = ("exit_code", "success", "result", "error", "started_at", "completed_at", "duration_ms", "item")
    rest = ("replacement_history", "state", "full", "base_instructions", "instructions", "num_turns")
    counted = st.dictionaries(st.sampled_from(("input_tokens", "output_tokens")), st.integers(0, 9) | odd)
    infos = st.fixed_dictionaries({"total_token_usage": counted, "last_token_usage": counted})
    optional = {"type": kinds | odd, "info": infos | odd, **dict.fromkeys((*keys, *more, *rest), texts | odd)}
    return st.fixed_dictionaries({}, optional=optional)


def source_lines() -> st.SearchStrategy[bytes]:
    """Records of every kind, well or badly made, whole, joined, cut, or no records at all."""
    envelopes = st.sampled_from(
        ["session_meta", "response_item", "compacted", "turn_context", "event_msg", "world_state", "new"]
    )
    times = st.sampled_from(
        ["2026-01-02T03:00:00Z", "9999-12-31T23:59:59Z", "0001-01-01T00:00:01Z", "?", None]
    )
    record = st.one_of(
        st.fixed_dictionaries(
            {"timestamp": times, "type": envelopes, "payload": payloads() | json_values(2)}
        ),
        payloads(),
    )
    line = st.builds(lambda value: json.dumps(value).encode(), record)
    return st.one_of(
        line,
        st.builds(lambda one, two: one + two, line, line),
        st.builds(lambda one, cut: one[:cut], line, st.integers(0, 200)),
        st.sampled_from(
            [b"", b"\0\0", b"[]", b'{"type":"response_item","payload":{"type":"message","n":1e400}}']
        ),
    )


@settings(max_examples=300)
@given(st.lists(source_lines(), max_size=8))
def test_any_lines_are_imported_alike_each_time_or_are_no_session(physical: list[bytes]) -> None:
    lines = [line + b"\n" for line in physical]
    try:
        once = import_codex(lines)
    except HeaderError:
        with pytest.raises(HeaderError):
            import_codex(iter(lines))
        return
    again = import_codex(iter(lines))
    assert (once.header, once.entries, once.details) == (again.header, again.entries, again.details)
    assert (once.findings, once.counts) == (again.findings, again.counts)
    check(once)


def check(imported: Imported) -> None:
    """What holds of every import: it can be stored, and comes back equal."""
    ids = [entry.id for entry in imported.entries]
    assert len(set(ids)) == len(ids)
    assert decode_header(encode_header(imported.header)) == imported.header
    for entry in imported.entries:
        if entry.timestamp is not None:
            assert decode_entry(encode_entry(entry)) == entry
        if isinstance(entry, MessageEntry):
            assert entry.family is None or entry.family.startswith("openai-responses/")
        if isinstance(entry, CompactionEntry):
            family = entry.compaction.family
            assert family is None or family.startswith("openai-responses/")
            assert entry.compaction.summary or entry.compaction.replacement
        if isinstance(entry, RunEntry):
            assert entry.run.started_at <= entry.run.completed_at
            assert entry.run.first_entry_id is None or entry.run.first_entry_id in ids
    for detail in imported.details:
        encode_detail(detail)
        assert detail.entry is None or detail.entry in ids
    called = sum(len(items.tool_calls(item)) for item in held(imported))
    history = build_history(imported.entries, imported.details_by_call)
    assert sum(isinstance(event, Called) for event in history.events) == called


# -------------------------------------------------------------------------- generations


def test_a_flat_file_is_imported_without_times() -> None:
    imported = read("flat.jsonl")
    check(imported)
    assert imported.header.id == "5a1d7c1e-0000-4000-8000-000000000001"
    assert imported.header.timestamp == datetime(2025, 7, 1, 9, tzinfo=UTC)
    assert contexts(imported, "instructions") == ["Be brief."]
    assert len(held(imported)) == 8
    assert all(e.timestamp is None for e in imported.entries if isinstance(e, MessageEntry))
    assert imported.findings == ()
    assert imported.counts["records"] == 12


def test_the_outcomes_that_old_outputs_tell_become_details() -> None:
    imported = read("flat.jsonl")
    history = build_history(imported.entries, imported.details_by_call)
    listed, counted = (event for event in history.events if isinstance(event, Called))
    assert listed.outcome == ToolOutcome(status="success", exit_code=0)
    assert counted.outcome == ToolOutcome(status="failed")
    assert (counted.kind, counted.output) == ("local_shell", "exec failed: denied")


def test_the_first_document_format_is_imported() -> None:
    imported = read("document.json")
    check(imported)
    assert imported.header.id == "0000000000000000000000000000abcd"
    assert [items.role(item) for item in held(imported)] == ["user", None, None, "assistant"]
    assert imported.counts["records"] == 5
    compact = json.dumps(json.loads((_DATA / "document.json").read_bytes())).encode()
    assert import_codex([compact]) == imported


def texts_of(imported: Imported) -> list[str]:
    return [items.text(item) for item in held(imported)]


def document_of(*texts: str) -> bytes:
    said = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
        for text in texts
    ]
    session = {"id": "d1", "timestamp": "2025-05-07T17:24:21.123Z", "instructions": ""}
    return json.dumps({"session": session, "items": said}).encode()


@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
def test_a_document_that_is_cut_is_read_as_far_as_it_goes(bom: bytes) -> None:
    document = bom + document_of("one", "two")
    whole = import_codex([document])
    assert (texts_of(whole), whole.header.id, rules(whole)) == (["one", "two"], "d1", [])
    begins = len(bom) + document_of("one", "two").index(b'"items"') - 2  # where the session is whole
    for size in range(begins, len(document)):
        cut = import_codex([document[:size]], path="rollout.json")
        assert cut.header.id == "d1"
        assert texts_of(cut) == texts_of(whole)[: len(texts_of(cut))]
        (finding,) = cut.findings
        assert (finding.rule, finding.line) == ("torn-tail", 1)
        assert begins <= (finding.offset or 0) <= size
        assert (cut.counts["broken_lines"], cut.counts["recovered"]) == (1, 1 + len(texts_of(cut)))


@pytest.mark.parametrize("fault", [b"xx", b"]", b"{}"])
def test_what_follows_a_document_is_told(fault: bytes) -> None:
    imported = import_codex([document_of("one", "two"), fault])
    assert (texts_of(imported), rules(imported)) == (["one", "two"], ["broken-line"])


@pytest.mark.parametrize("broken", [b"two", b"NaN", b"{,}", b"[" * 100_000])
def test_a_document_with_a_fault_is_read_up_to_it_and_told(broken: bytes) -> None:
    document = document_of("one", "X", "three")
    at = document.index(
        b', {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "X"'
    )
    imported = import_codex([document[:at] + b",\n" + broken + document[at:]])
    assert texts_of(imported) == ["one"]
    (finding,) = imported.findings
    assert (finding.rule, finding.severity, finding.line) == ("broken-line", "error", 2)
    assert finding.offset == at + 2


def test_a_document_without_items_is_a_session_without_messages() -> None:
    for lines in (
        [b'{"session":{"id":"d1","timestamp":null}}'],
        [b'{"session":{"id":"d1","timestamp":null},"items":null}\n'],
    ):
        imported = import_codex(lines)
        assert (imported.header.id, imported.entries, rules(imported)) == ("d1", (), [])
    for odd in (b'{"session":{"id":"d1"', b'{\n"session":7}', b'{\n"other":{}}'):
        with pytest.raises(HeaderError):
            import_codex(odd.splitlines(keepends=True))


def test_items_are_the_very_objects_that_were_decoded() -> None:
    item = {
        "type": "message",
        "role": "user",
        "content": [{"type": "new", "x": [1.0, None]}],
        "phase": "input",
    }
    imported = Rollout().item(**item).read()
    (message,) = held(imported)
    assert message == item
    assert list(message) == list(item)


def test_items_have_the_family_of_the_model_in_force() -> None:
    rollout = Rollout().item(type="reasoning", summary=[], encrypted_content="gAAA")
    rollout("turn_context", model="gpt-5-codex").item(type="reasoning", summary=[], encrypted_content="gAAB")
    rollout("compacted", message="", replacement_history=[{"type": "compaction", "encrypted_content": "c"}])
    rollout("turn_context", model="gpt-5.1").item(type="reasoning", summary=[], encrypted_content="gAAC")
    entries = rollout.read().entries
    families = [entry.family for entry in entries if isinstance(entry, MessageEntry)]
    assert families == [None, "openai-responses/direct/gpt-5-codex", "openai-responses/direct/gpt-5.1"]
    (compaction,) = [entry.compaction for entry in entries if isinstance(entry, CompactionEntry)]
    assert compaction.family == "openai-responses/direct/gpt-5-codex"


def test_items_of_no_known_model_have_no_family() -> None:
    rollout = Rollout().item(type="reasoning", summary=[], encrypted_content="gAAA")
    rollout(
        "compacted", message="", replacement_history=[{"type": "compaction", "encrypted_content": "gAAA"}]
    )
    message, compaction = rollout.read().entries
    assert isinstance(message, MessageEntry)
    assert message.family is None
    assert isinstance(compaction, CompactionEntry)
    assert compaction.compaction.family is None


# -------------------------------------------------------------------------------- header


def test_the_first_session_meta_names_the_session_and_others_are_told() -> None:
    rollout = Rollout(forked_from_id="s0", base_instructions={"text": "Be kind."})
    rollout("session_meta", id="s0", timestamp="2025-01-01T00:00:00Z", base_instructions={"text": "Be rude."})
    imported = rollout.said("hi").read()
    assert (imported.header.id, imported.header.cwd) == ("s1", "/home/user/demo")
    assert imported.header.harness == HARNESS
    assert imported.header.extra["importedFrom"]["forked_from_id"] == "s0"
    assert contexts(imported, "base_instructions") == ["Be kind."]
    assert rules(imported) == ["inherited-history"]


def test_a_subagent_keeps_the_thread_it_came_from() -> None:
    spawn = {"subagent": {"thread_spawn": {"parent_thread_id": "s0", "depth": 1}}}
    imported = Rollout(parent_thread_id="s0", source=spawn, agent_nickname="Socrates").read()
    assert imported.header.parent is None
    kept = imported.header.extra["importedFrom"]
    assert (kept["parent_thread_id"], kept["source"], kept["agent_nickname"]) == ("s0", spawn, "Socrates")


def test_a_session_that_continues_another_file_says_so() -> None:
    assert rules(Rollout(history_base={"thread_id": "s0", "ordinal": 5}).read()) == ["history-elsewhere"]


def test_a_rollout_without_its_header_is_imported_and_told() -> None:
    rollout = Rollout().said("hi")
    imported = import_codex(rollout.lines[1:])
    assert imported.header.id is None
    assert rules(imported) == ["no-session-header"]
    assert len(imported.entries) == 1


@pytest.mark.parametrize(
    "lines",
    [
        [],
        [b"\n"],
        [b"not json\n"],
        [b'{"type":"event","data":"other log"}\n'],
        [b'{"type":"session","version":3,"id":"s","timestamp":"2026-01-02T03:04:05Z"}\n'],
        [b'{"parentUuid":null,"sessionId":"s","type":"user","message":{"role":"user","content":"hi"}}\n'],
        [b'{"type":"message","id":"1","parentId":null,"message":{"role":"user","content":"hi"}}\n'],
    ],
)
def test_what_holds_no_record_of_codex_is_refused(lines: list[bytes]) -> None:
    with pytest.raises(HeaderError, match=r"sess\.jsonl: line 1 .*no Codex session"):
        import_codex(lines, path="sess.jsonl")


# ------------------------------------------------------------------------------ contexts


def test_settings_become_a_context_entry_only_when_they_change() -> None:
    rollout = Rollout()
    for turn, model in enumerate(["a", "a", "b", "b", "a"]):
        rollout("turn_context", turn_id=f"t{turn}", trace_id=f"x{turn}", model=model, cwd="/tmp")
    assert contexts(rollout.read(), "turn_context") == [
        '{"cwd":"/tmp","model":"a"}',
        '{"cwd":"/tmp","model":"b"}',
        '{"cwd":"/tmp","model":"a"}',
    ]


def test_a_world_state_patch_is_put_over_the_last_state() -> None:
    rollout = Rollout()
    rollout("world_state", full=True, state={"a": {"b": 1, "c": 2}, "d": 3})
    rollout("world_state", full=False, state={"a": {"b": None, "e": 4}})
    rollout("world_state", full=False, state={"d": 3})
    rollout("world_state", full=True, state={"f": 5})
    assert contexts(rollout.read(), "world_state") == [
        '{"a":{"b":1,"c":2},"d":3}',
        '{"a":{"c":2,"e":4},"d":3}',
        '{"f":5}',
    ]


def test_instructions_stand_before_the_conversation() -> None:
    imported = Rollout(base_instructions={"text": "Be kind."}, instructions="Be brief.").read()
    assert [e.context.placement for e in imported.entries if isinstance(e, ContextEntry)] == [
        "prefix",
        "prefix",
    ]


# ---------------------------------------------------------------------------------- runs


def test_a_task_becomes_a_run_that_names_its_first_message() -> None:
    rollout = Rollout().event("task_started", turn_id="t1")
    rollout("turn_context", turn_id="t1", model="m").said("go").called("c1")
    imported = rollout.event("task_complete", turn_id="t1").read()
    first = next(entry for entry in imported.entries if isinstance(entry, MessageEntry))
    assert runs(imported) == [
        Run(started_at=second(1), completed_at=second(6), first_entry_id=first.id, status="completed")
    ]


def test_the_times_that_an_event_gives_count_where_the_records_were_copied_later() -> None:
    rollout = Rollout().event("task_started", turn_id="t1", started_at=1_700_000_000)
    rollout.event("task_complete", turn_id="t1", completed_at=1_700_000_060)
    (run,) = runs(rollout.read())
    assert run.started_at == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
    assert run.completed_at - run.started_at == timedelta(seconds=60)


def test_whole_seconds_of_an_event_do_not_replace_the_finer_time_of_its_record() -> None:
    rollout = Rollout()
    at = int(second(1).timestamp())
    rollout.event("task_started", turn_id="t1", started_at=at).event("task_complete", turn_id="t1")
    assert runs(rollout.read())[0].started_at == second(1)


def test_an_abort_that_precedes_its_items_is_recorded_after_them() -> None:
    imported = read("late-abort.jsonl")
    check(imported)
    (run,) = runs(imported)
    assert run.status == "cancelled"
    assert run.started_at == datetime(2025, 9, 24, 10, 1, tzinfo=UTC)
    assert run.completed_at == datetime(2025, 9, 24, 10, 1, 9, tzinfo=UTC)
    texts = [items.text(entry.message) for entry in imported.entries if isinstance(entry, MessageEntry)]
    assert texts == ["first", "done", "second", "", "", "", "third"]
    kinds = [entry.type for entry in imported.entries]
    assert kinds == [*["message", "context"], *["message"] * 5, "context", "run", "message"]
    first = imported.entries[place_of(imported, run.first_entry_id)]
    assert isinstance(first, MessageEntry)
    assert first.message["type"] == "reasoning"
    assert imported.counts["aborted"] == count_entries(imported.entries).aborted == 1


def test_an_abort_before_any_start_mark_is_a_run_without_a_length() -> None:
    (run,) = runs(Rollout().event("turn_aborted", reason="interrupted").read())
    assert (run.started_at, run.completed_at, run.first_entry_id) == (second(1), second(1), None)


def test_an_abort_before_which_only_settings_stand_begins_with_the_first_of_them() -> None:
    rollout = Rollout()("turn_context", model="a")("turn_context", model="b").event("turn_aborted")
    (run,) = runs(rollout.read())
    assert (run.started_at, run.completed_at) == (second(1), second(3))


def test_an_end_before_its_start_is_clamped() -> None:
    rollout = Rollout().event("task_started", turn_id="t1")
    rollout.event("task_complete", turn_id="t1", completed_at="2020-01-01T00:00:00Z")
    (run,) = runs(rollout.read())
    assert run.started_at == run.completed_at == second(1)


def test_a_task_that_never_ended_gives_no_run_and_is_told() -> None:
    rollout = Rollout().event("task_started", turn_id="t1").event("task_started", turn_id="t2")
    imported = rollout.event("task_complete", turn_id="t2").read()
    assert [run.started_at for run in runs(imported)] == [second(2)]
    (finding,) = imported.findings
    assert (finding.rule, finding.severity, finding.line) == ("run-not-ended", "note", 2)


def test_an_error_makes_the_run_a_failed_one() -> None:
    rollout = Rollout().event("turn_started", turn_id="t1").event("error", message="overloaded")
    rollout.event("turn_complete", turn_id="t1")
    rollout.event("task_started", turn_id="t2").event("task_complete", turn_id="t2", error={"message": "x"})
    rollout.event("task_started", turn_id="t3").event("task_complete", turn_id="t3", error=None)
    assert [run.status for run in runs(rollout.read())] == ["failed", "failed", "completed"]


def test_a_turn_that_ended_at_an_unknown_time_gives_no_run_and_is_told() -> None:
    rollout = Rollout()
    rollout.raw(b'{"timestamp":"soon","type":"event_msg","payload":{"type":"turn_aborted"}}\n')
    imported = rollout.read()
    assert runs(imported) == []
    assert imported.counts["aborted"] == 1
    assert rules(imported) == ["unreadable-time", "run-without-times"]


def test_the_history_shows_how_long_a_run_took() -> None:
    rollout = Rollout().event("task_started", turn_id="t1").said("go").event("task_complete", turn_id="t1")
    (ran,) = [e for e in build_history(rollout.read().entries).events if isinstance(e, Ran)]
    assert ran.duration == timedelta(seconds=2)


# --------------------------------------------------------------------------- compactions


def test_a_replacement_history_is_kept_as_it_is() -> None:
    history: list[Any] = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "kept"}]},
        {"type": "compaction", "encrypted_content": "gAAA"},
    ]
    rollout = Rollout().said("old")("compacted", message="", replacement_history=history, window_number=2)
    imported = rollout.read()
    assert compactions(imported) == [Compaction(summary="", replacement=tuple(history))]
    assert imported.findings == ()


def test_an_old_compaction_is_rebuilt_from_the_users_messages_and_its_summary() -> None:
    prefix = "Another language model started to solve this problem and produced a summary."
    rollout = Rollout().said("# AGENTS.md instructions for /tmp").said("<environment_context>x").said("do it")
    rollout.said("ok", "assistant").called("c1").said("and this")
    rollout("compacted", message=f"{prefix}\nall done").said("more")("compacted", message="")
    imported = rollout.read()
    first, second_ = compactions(imported)
    assert first.summary == f"{prefix}\nall done"
    assert [items.text(item) for item in first.replacement] == ["do it", "and this", f"{prefix}\nall done"]
    assert first.replacement[0] is held(imported)[2]
    texts = [items.text(item) for item in second_.replacement]
    assert texts == ["do it", "and this", "more", "(no summary available)"]
    assert rules(imported) == ["compaction-rebuilt", "compaction-rebuilt"]


def test_a_rebuilt_compaction_carries_no_more_than_codex_does() -> None:
    rollout = Rollout().said("x").said("é" * 25_000).said("b" * 49_998).said("c")
    (compaction,) = compactions(rollout("compacted", message="sum").read())
    cut, *others = [items.text(item) for item in compaction.replacement]
    # 20,000 tokens of four bytes: 12,500 are of b, one of c; the rest is cut between letters.
    assert cut == "é" * 7_499 + "…5001 tokens truncated…" + "é" * 7_499
    assert others == ["b" * 49_998, "c", "sum"]


@pytest.mark.parametrize("size", [79_996, 79_997, 80_000])
def test_nothing_is_carried_where_no_room_is_left(size: int) -> None:
    rollout = Rollout().said("older").said("b" * size)
    (compaction,) = compactions(rollout("compacted", message="sum").read())
    texts = [items.text(item) for item in compaction.replacement]
    assert texts[-2:] == ["b" * size, "sum"]
    assert texts[:-2] == (["ol…1 tokens truncated…er"] if size == 79_996 else [])


def test_a_compaction_to_nothing_can_still_be_stored() -> None:
    imported = Rollout()("compacted", message="", replacement_history=[]).read()
    check(imported)
    assert [compaction.summary for compaction in compactions(imported)] == ["(no summary available)"]


# ------------------------------------------------------------------------------- details


@pytest.mark.parametrize(
    ("kind", "event", "status", "code"),
    [
        ("exec_command_end", {"exit_code": 0, "status": "completed", "stdout": "x"}, "success", 0),
        ("exec_command_end", {"exit_code": 2, "status": "failed"}, "failed", 2),
        ("exec_command_end", {"exit_code": -1, "status": "declined"}, "cancelled", -1),
        ("patch_apply_end", {"success": False, "stderr": "x"}, "failed", None),
        ("patch_apply_end", {"success": True, "status": "completed"}, "success", None),
        ("mcp_tool_call_end", {"result": {"Ok": {"content": [], "isError": False}}}, "success", None),
        ("mcp_tool_call_end", {"result": {"Ok": {"content": [], "isError": True}}}, "failed", None),
        ("mcp_tool_call_end", {"result": {"Err": "no such tool"}}, "failed", None),
        ("web_search_end", {"query": "q"}, "success", None),
        ("collab_close_end", {"status": {"completed": "x"}}, "success", None),
        ("collab_close_end", {"status": "interrupted"}, "cancelled", None),
        ("dynamic_tool_call_response", {"success": False, "error": None}, "failed", None),
        ("new_end", {"status": "half"}, "unknown", None),
    ],
)
def test_an_end_event_becomes_a_detail_of_its_call(
    kind: str, event: dict[str, Any], status: str, code: int | None
) -> None:
    rollout = Rollout().item(type="function_call", call_id="c1", name="sh", arguments="{}")
    imported = rollout.event(kind, call_id="c1", **event).read()
    (call,) = imported.entries
    outcome = outcomes(imported)["c1", call.id]
    assert outcome is not None
    assert (outcome.status, outcome.exit_code, outcome.data_kind) == (status, code, kind)
    assert outcome.data == {"type": kind, "call_id": "c1", **event}
    assert outcome.raw_status == (event["status"] if status == "unknown" else None)


def test_items_that_are_completed_are_details_and_those_that_echo_are_not() -> None:
    rollout = Rollout().item(type="custom_tool_call", call_id="c1", name="exec", input="ls")
    ran = {"type": "CommandExecution", "id": "c1", "status": "failed", "exit_code": 1}
    rollout.event("item_completed", item=ran)
    rollout.event("item_completed", item={"type": "AgentMessage", "id": "m1", "content": []})
    imported = rollout.read()
    assert len(imported.details) == 1
    outcome = outcomes(imported)["c1", imported.entries[0].id]
    assert outcome == ToolOutcome(status="failed", exit_code=1, data_kind="CommandExecution", data=ran)


def test_a_detail_names_the_nearest_earlier_call_else_the_next_else_none() -> None:
    rollout = Rollout().event("exec_command_end", call_id="c1", exit_code=0)
    rollout.item(type="function_call", call_id="c1", name="sh", arguments="{}")
    rollout.event("exec_command_end", call_id="c1", exit_code=1)
    rollout.item(type="function_call", call_id="c1", name="sh", arguments="{}")
    rollout.event("exec_command_end", call_id="c1", exit_code=2)
    rollout.event("exec_command_end", call_id="c9", exit_code=3)
    imported = rollout.read()
    first, second_ = (entry.id for entry in imported.entries)
    assert [detail.entry for detail in imported.details] == [first, first, second_, None]


def test_a_hosted_call_takes_the_event_that_names_its_item() -> None:
    rollout = Rollout().item(type="image_generation_call", id="ig_1", status="completed", result="QUJD")
    imported = rollout.event("image_generation_end", call_id="ig_1", status="completed").read()
    assert [detail.entry for detail in imported.details] == [imported.entries[0].id]


def test_what_an_event_tells_goes_before_what_the_output_tells() -> None:
    rollout = Rollout().item(type="function_call", call_id="c1", name="sh", arguments="{}")
    rollout.event("exec_command_end", call_id="c1", exit_code=1, stderr="boom")
    rollout.item(type="function_call_output", call_id="c1", output="Exit code: 1\nWall time: 0.1 seconds\n")
    (outcome,) = outcomes(rollout.read()).values()
    assert outcome is not None
    assert outcome.data_kind == "exec_command_end"


@pytest.mark.parametrize(
    ("output", "outcome"),
    [
        ("Exit code: 3\nWall time: 0.1 seconds\nOutput:\nx", ToolOutcome(status="failed", exit_code=3)),
        (
            "Chunk ID: 1ca3b1\nWall time: 0.0 seconds\nProcess exited with code 0\nOutput:\nx",
            ToolOutcome(status="success", exit_code=0),
        ),
        ('{"output":"x","metadata":{"exit_code":0}}', ToolOutcome(status="success", exit_code=0)),
        ('{"output":"x"}', None),
        ('{"output":', None),
        ("Chunk ID: 1\nWall time: 9 seconds\nProcess running with session ID 4\n", None),
        ("I saw Process exited with code 1\n", None),
        ([{"type": "input_text", "text": "x"}], None),
        ({"content": "x", "success": True}, ToolOutcome(status="success")),
        ({"type": "input_text", "text": "x"}, None),
    ],
)
def test_an_output_that_tells_its_exit_code_has_a_detail(output: Any, outcome: ToolOutcome | None) -> None:
    imported = Rollout().called("c1", output).read()
    assert list(outcomes(imported).values()) == ([] if outcome is None else [outcome])


# ----------------------------------------------------------------------------- left out


def test_what_repeats_items_is_no_message() -> None:
    rollout = Rollout().said("hi").event("user_message", message="hi").said("ho", "assistant")
    rollout.event("agent_message", message="ho").event("agent_reasoning", text="hm").event("token_count")
    rollout.item(type="ghost_snapshot", ghost_commit={"id": "x"})
    imported = rollout.read()
    assert [items.text(item) for item in held(imported)] == ["hi", "ho"]
    assert imported.findings == ()


def test_unknown_kinds_are_counted_and_named_once_each() -> None:
    rollout = Rollout().event("brand_new").event("brand_new").event("other_new")
    rollout("inter_agent_communication", content="x")("state_of_things", x=1)
    imported = rollout.read()
    assert [(finding.rule, finding.line) for finding in imported.findings] == [
        ("not-imported", 2),
        ("not-imported", 4),
        ("not-imported", 5),
        ("not-imported", 6),
    ]
    assert "event_msg/brand_new (2 times)" in imported.findings[0].message


def test_records_that_nothing_is_made_of_are_kept_where_that_is_asked_for() -> None:
    rollout = Rollout().said("hi").event("brand_new", a=1).called("c").event("brand_new", b=[2])
    rollout("state_of_things", x=1)("inter_agent_communication", content="x")
    rollout.event("odd_end", output="no call").raw(b'{"type":7,"payload":{}}\n').raw(b'{"n":1}\n')
    rollout.raw(b'{"type":"huge","payload":{"n":[1e400]}}\n')
    plain, kept = rollout.read(), rollout.read(keep_unknown=True)
    known = [entry for entry in kept.entries if not isinstance(entry, OpaqueEntry)]
    assert known == list(plain.entries)
    opaque = [entry for entry in kept.entries if isinstance(entry, OpaqueEntry)]
    records = [json.loads(line) for line in rollout.lines]
    assert [(entry.type, entry.data) for entry in opaque] == [
        (f"codex:{kind}", {"record": records[line]})
        for line, kind in (
            (2, "event_msg/brand_new"),
            (5, "event_msg/brand_new"),
            (6, "state_of_things"),
            (7, "inter_agent_communication"),
            (8, "event_msg/odd_end"),
            (9, "record"),
            (10, "record"),
        )
    ]
    assert opaque[0].timestamp == _START + timedelta(seconds=2)
    assert len({entry.id for entry in kept.entries}) == len(kept.entries) == len(kept.places)
    told = [(finding.rule, finding.line) for finding in kept.findings]
    assert told == [
        ("kept-unknown", 3),
        ("kept-unknown", 7),
        ("kept-unknown", 8),
        ("kept-unknown", 9),
        ("odd-record", 10),
        ("kept-unknown", 10),
        ("kept-unknown", 11),
        ("unstorable", 12),
    ]
    assert "$.payload.n[0]" in kept.findings[-1].message
    assert all(decode_entry(encode_entry(entry, untimed=True)) == entry for entry in kept.entries)
    target = Target("openai-responses", "gpt-5")
    assert build_context(kept.entries, target).items == build_context(plain.entries, target).items


def said_in(imported: Imported) -> list[str]:
    """What a model of the file's own is sent, by its texts."""
    context = build_context(imported.entries, Target("openai-responses", "gpt-5"))
    return [items.text(item) for item in context.items]


def test_turns_that_were_taken_back_are_history_and_no_context() -> None:
    rollout = Rollout().said("one").said("1", "assistant").said("two").said("2", "assistant")
    rollout.event("thread_rolled_back", num_turns=1).said("three")
    imported = rollout.read()
    assert said_in(imported) == ["one", "1", "three"]
    (finding,) = [finding for finding in imported.findings if finding.rule == "rolled-back"]
    assert (finding.severity, finding.line) == ("note", 6)
    assert "line 4" in finding.message
    shown = [event.text for event in build_history(imported.entries).events if isinstance(event, Said)]
    assert shown == ["one", "1", "two", "2", "three"]


def test_turns_are_counted_over_rollbacks_and_over_what_the_program_said() -> None:
    rollout = (
        Rollout().said("one").said("<environment_context>x</environment_context>").said("two").said("three")
    )
    rollout.event("thread_rolled_back", num_turns=1).event("thread_rolled_back", num_turns=1).said("four")
    assert said_in(rollout.read())[0] == "one"
    assert said_in(rollout.read())[-1] == "four"
    assert "two" not in said_in(rollout.read())
    rollout.event("thread_rolled_back", num_turns=9)
    with pytest.raises(ContextError):
        said_in(rollout.read())


def test_a_compaction_is_taken_back_with_its_turn() -> None:
    rollout = Rollout().said("one").said("1", "assistant").said("two")
    rollout("compacted", message="so far").said("2", "assistant").event(
        "thread_rolled_back", num_turns=1
    ).said("three")
    imported = rollout.read()
    assert said_in(imported) == ["one", "1", "three"]
    assert [entry.type for entry in imported.entries if isinstance(entry, OpaqueEntry)] == ["codex:compacted"]


def test_records_are_counted_whatever_becomes_of_them() -> None:
    rollout = Rollout().said("one").said("two", role="developer").said("1", role="assistant")
    rollout("compacted", message="so far").event("turn_aborted").event("thread_rolled_back", num_turns=1)
    for call_id in ("c1", "c2"):
        rollout.item(type="function_call", call_id=call_id, name="sh", arguments="{}")
    rollout.item(type="custom_tool_call", call_id="c3", name="sh", input="").item(type="ghost_snapshot")
    rollout.item(type="web_search_call", call_id="c4", action={})
    rollout.item(type="web_search_call", action={})  # which names no call
    rollout.item(type="function_call_output", call_id="c1", output="done")
    rollout.item(type="function_call_output", call_id="c9", output="done")
    rollout.item(type="tool_search_output", tools=[], execution="server")
    rollout.item(type="reasoning", summary=[], encrypted_content="x").item(type="reasoning", summary=[])
    picture = {"type": "input_image", "image_url": "data:image/png;base64,AAAA"}
    rollout.item(type="message", role="user", content=[picture])
    rollout.raw(b'{"type":"response_item","payload":{"type":"message","role":"user","n":1e400}}\n')
    counts = rollout.read().counts
    assert {name: number for name, number in counts.items() if name not in ("records", "roots")} == {
        "user": 4,
        "assistant": 1,
        "assistant_messages": 1,
        "calls": 4,
        "results": 3,
        "unanswered": 3,
        "orphan_results": 2,
        "parallel_groups": 1,
        "reasoning": 2,
        "opaque_reasoning": 1,
        "images": 1,
        "compactions": 1,
        "aborted": 1,
        "broken_lines": 0,
        "recovered": 0,
        "sidechain": 0,
    }


def test_a_mark_between_calls_of_a_flat_file_parts_them() -> None:
    call = b'{"type":"function_call","name":"sh","arguments":"{}","call_id":"c%d"}\n'
    header, mark = b'{"id":"s1","timestamp":"2025-08-01T00:00:00Z"}\n', b'{"record_type":"state"}\n'
    assert import_codex([header, call % 1, call % 2]).counts["parallel_groups"] == 1
    assert import_codex([header, call % 1, mark, call % 2]).counts["parallel_groups"] == 0


@pytest.mark.parametrize("turns", [0, -1, "1", None, True])
def test_a_rollback_of_no_number_is_told(turns: Any) -> None:
    imported = Rollout().said("hi").event("thread_rolled_back", num_turns=turns).read()
    assert [(finding.rule, finding.line) for finding in imported.findings] == [("odd-record", 3)]
    assert said_in(imported) == ["hi"]


def test_a_record_that_a_log_cannot_hold_is_left_out_and_told() -> None:
    rollout = Rollout()
    for number in (b"1e400", b"123456789012345678901234567890"):
        rollout.raw(
            b'{"type":"response_item","payload":{"type":"message","role":"user","n":' + number + b"}}\n"
        )
    imported = rollout.said("hi").read()
    assert len(held(imported)) == 1
    assert rules(imported) == ["unstorable", "unstorable"]
    assert "$.payload.n" in imported.findings[0].message


# -------------------------------------------------------------------------------- damage


def test_joined_torn_and_broken_lines_give_what_they_hold_and_are_told() -> None:
    lines = Rollout().said("one").said("two").said("three").said("four").lines
    damaged = [
        b"\xef\xbb\xbf\r\n",
        lines[0].replace(b"\n", b"\r\n"),
        lines[1].rstrip() + lines[2],
        b'{"timestamp":"2026\n',
        b"\0\0\0\0" + lines[3],
        lines[4][:40],
    ]
    imported = import_codex(damaged, path="rollout.jsonl")
    check(imported)
    assert [items.text(item) for item in held(imported)] == ["one", "two", "three"]
    assert [(finding.rule, finding.line) for finding in imported.findings] == [
        ("joined-lines", 3),
        ("broken-line", 4),
        ("joined-lines", 5),
        ("torn-tail", 6),
    ]
    assert imported.findings[1].offset == sum(map(len, damaged[:3]))
    numbers = {"records": 4, "broken_lines": 4, "recovered": 3, "sidechain": 0, "roots": 0, "aborted": 0}
    assert {name: imported.counts[name] for name in numbers} == numbers


def test_records_joined_on_one_line_get_ids_of_their_own() -> None:
    lines = Rollout().said("one").said("two").lines
    imported = import_codex([lines[0], lines[1].rstrip() + lines[2]])
    assert len({entry.id for entry in imported.entries}) == 2


def test_a_file_cut_anywhere_gives_a_prefix_of_its_entries() -> None:
    whole = (_DATA / "flat.jsonl").read_bytes()
    entries = import_codex(whole.splitlines(keepends=True)).entries
    for cut in range(len(whole)):
        try:
            part = import_codex(whole[:cut].splitlines(keepends=True)).entries
        except HeaderError:
            continue
        assert part == entries[: len(part)]


# -------------------------------------------------------------------------------- corpus


def corpus() -> list[Any]:
    named = os.environ.get("TRANSCRIPT_LOG_SHARED")
    shared = Path(named) if named else Path(__file__).resolve().parents[2] / "shared"
    facts = shared / "corpus" / "FACTS.tsv"
    files = sorted((shared / "corpus" / "codex").rglob("*.jsonl")) if facts.exists() else []
    if not files:
        reason = (
            f"there are no Codex sessions under {shared / 'corpus'}; TRANSCRIPT_LOG_SHARED names the folder"
        )
        return [pytest.param(None, {}, marks=pytest.mark.skip(reason=reason))]
    with facts.open(encoding="utf-8", newline="") as lines:
        rows = {row.pop("file"): row for row in csv.DictReader(lines, delimiter="\t")}
    found = [(path, path.relative_to(facts.parent).as_posix()) for path in files]
    return [pytest.param(path, rows.get(name, {}), id=name) for path, name in found]


def columns(imported: Imported) -> dict[str, int]:
    """The numbers of an import under the names of the independent counter."""
    counts = count_entries(imported.entries)
    names: Sequence[str] = tuple(type(counts).__dataclass_fields__)
    return {**{name: getattr(counts, name) for name in names}, **imported.counts}


@pytest.mark.parametrize(("path", "facts"), corpus())
def test_a_real_session_holds_what_an_independent_counter_found(path: Path, facts: dict[str, str]) -> None:
    assert facts, f"{path} has no row in FACTS.tsv"
    with path.open("rb") as lines:
        found = columns(import_codex(lines, path=str(path)))
    assert {name: found[name] for name in facts} == {name: int(value) for name, value in facts.items()}


@pytest.mark.parametrize(("path", "facts"), corpus())
def test_a_real_session_can_be_stored_and_imports_alike_each_time(path: Path, facts: dict[str, str]) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    imported = import_codex(lines)
    assert import_codex(lines) == imported
    check(imported)


@pytest.mark.parametrize(("path", "facts"), corpus())
def test_every_response_item_of_a_real_session_is_a_message_as_it_was(
    path: Path, facts: dict[str, str]
) -> None:
    wanted = []
    for line in path.read_bytes().split(b"\n"):
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if value.get("type") == "response_item" or ("payload" not in value and "type" in value):
            wanted.append(value.get("payload", value))
    wanted = [item for item in wanted if item["type"] != "ghost_snapshot"]
    with path.open("rb") as lines:
        imported = import_codex(lines)
    found = iter(held(imported))
    assert all(any(item == other for other in found) for item in wanted)
    if not imported.counts["broken_lines"]:
        assert len(held(imported)) == len(wanted)


# -------------------------------------------------------------------------------- usage


class Counted(Rollout):
    """A rollout with token counts, which keeps their running total as Codex does."""

    def __init__(self) -> None:
        super().__init__(model_provider="openai")
        self.running = {"input_tokens": 0, "cached_input_tokens": 0, "output_tokens": 0, "total_tokens": 0}
        self("turn_context", model="gpt-5")

    def count(self, input: int, output: int, cached: int = 0) -> Counted:
        last = {
            "input_tokens": input,
            "cached_input_tokens": cached,
            "output_tokens": output,
            "total_tokens": input + output,
        }
        self.running = {name: self.running[name] + last[name] for name in last}
        return self.again(last)

    def again(self, last: Any) -> Counted:
        self(
            "event_msg",
            type="token_count",
            info={"total_token_usage": self.running, "last_token_usage": last},
        )
        return self

    def user(self) -> Counted:
        self("response_item", type="message", role="user", content=[{"type": "input_text", "text": "go"}])
        return self

    def says(self) -> Counted:
        text = [{"type": "output_text", "text": "well"}]
        self("response_item", type="message", role="assistant", content=text)
        return self

    def calls(self, call_id: str) -> Counted:
        self("response_item", type="function_call", name="sh", call_id=call_id, arguments="{}")
        return self

    def outputs(self, call_id: str) -> Counted:
        self("response_item", type="function_call_output", call_id=call_id, output="ok")
        return self

    def told(self) -> dict[int, RecordedUsage]:
        """The usages, by where their entries stand among the messages."""
        messages = [entry for entry in import_codex(self.lines).entries if isinstance(entry, MessageEntry)]
        return {
            place: entry.response.usage
            for place, entry in enumerate(messages)
            if entry.response is not None and entry.response.usage is not None
        }


A = RecordedUsage(input=6, output=2, cache_read=4, total_tokens=12)
B = RecordedUsage(input=20, output=3, total_tokens=23)


def test_a_count_after_a_response_stands_on_its_first_item() -> None:
    rollout = Counted().user().says().calls("c1").calls("c2").count(10, 2, 4)
    rollout.outputs("c1").outputs("c2").says().count(20, 3)
    assert rollout.told() == {1: A, 6: B}


def test_a_count_after_the_outputs_belongs_to_the_response_that_called() -> None:
    assert Counted().user().calls("c").outputs("c").count(10, 2, 4).says().count(20, 3).told() == {1: A, 3: B}


def test_a_count_before_a_response_stands_on_its_first_item_too() -> None:
    rollout = Counted().user().count(10, 2, 4).says().calls("c").outputs("c").count(20, 3).says()
    assert rollout.told() == {1: A, 4: B}


def test_a_session_that_a_later_version_goes_on_with_counts_both_ways() -> None:
    rollout = Counted().user().count(10, 2, 4).calls("c").outputs("c").says().count(20, 3)
    assert rollout.told() == {1: A, 3: B}


def test_a_count_that_is_told_again_counts_once() -> None:
    rollout = Counted().user().calls("c").count(10, 2, 4)
    last = {"input_tokens": 10, "cached_input_tokens": 4, "output_tokens": 2, "total_tokens": 12}
    rollout.again(last).outputs("c").again(last).says().count(20, 3).user().again(last).says()
    assert rollout.told() == {1: A, 3: B}


def test_an_answer_that_was_broken_off_gets_no_count_of_the_next() -> None:
    assert Counted().user().says().user().says().count(10, 2, 4).told() == {3: A}


def test_the_count_of_a_summary_stands_with_the_compaction() -> None:
    rollout = Counted().user().says().count(20, 3).count(10, 2, 4)
    rollout("compacted", message="the gist")
    (entry,) = [entry for entry in import_codex(rollout.lines).entries if isinstance(entry, CompactionEntry)]
    assert entry.compaction.usage == A
    assert (entry.compaction.provider, entry.compaction.model) == ("openai", "gpt-5")
    assert rollout.told() == {1: B}


def test_the_record_names_the_model_and_the_provider_and_no_more() -> None:
    (entry,) = [
        entry
        for entry in import_codex(Counted().says().count(1, 1).lines).entries
        if isinstance(entry, MessageEntry)
    ]
    assert entry.response is not None
    assert (entry.response.provider, entry.response.model) == ("openai", "gpt-5")
    assert (entry.response.id, entry.response.finish_reason) == (None, None)
    assert decode_entry(encode_entry(entry)) == entry


def test_counts_of_no_response_are_told() -> None:
    imported = import_codex(Counted().count(10, 2).user().count(1, 1).count(2, 2).lines)
    (finding,) = [finding for finding in imported.findings if finding.rule == "usage-without-response"]
    assert finding.severity == "note"
    assert ": 3; left out" in finding.message


@pytest.mark.parametrize(
    "info",
    [
        None,
        [],
        {},
        {"total_token_usage": {"total_tokens": 5}},
        {"total_token_usage": {"total_tokens": 5}, "last_token_usage": {"total_tokens": 5}},
        {"total_token_usage": {"a": 1}, "last_token_usage": {"input_tokens": 0, "output_tokens": 0}},
        {"total_token_usage": 7, "last_token_usage": {"input_tokens": 1, "output_tokens": 1}},
        {"total_token_usage": {"a": 2}, "last_token_usage": {"input_tokens": -1, "output_tokens": "x"}},
        {"total_token_usage": {"a": 2}, "last_token_usage": {"input_tokens": 2**70, "output_tokens": 1}},
    ],
)
def test_an_odd_count_tells_nothing(info: Any) -> None:
    rollout = Counted().user().says()
    rollout("event_msg", type="token_count", info=info)
    assert rollout.told() == {}


def test_what_was_taken_back_is_not_carried_over_a_later_compaction() -> None:
    rollout = Rollout().said("one").said("two").event("thread_rolled_back", num_turns=1).said("three")
    said = said_in(rollout("compacted", message="so far").read())
    assert "two" not in said
    assert said[:2] == ["one", "three"]
