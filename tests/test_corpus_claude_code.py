"""Real sessions of Claude Code: each one is shown, counted as an independent count has it, and sendable.

The sessions are those of the folder that ``test_corpus_codex`` speaks of.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest
from case_contexts import rules
from test_cases import folder as cases_folder
from test_corpus_codex import CORPUS, DIALECTS, FACTS, each, family_of, is_harmless, run

from transcript_log.apis import check_items
from transcript_log.codec import encode_detail, encode_entry, encode_header
from transcript_log.context import build_context
from transcript_log.entries import CompactionEntry, MessageEntry
from transcript_log.errors import ContextError
from transcript_log.families import Target
from transcript_log.importers import Imported
from transcript_log.importers.claude_code import import_claude_code, link_subagent
from transcript_log.items import reasoning, text, tool_calls, tool_outputs
from transcript_log.stats import find_spent

CLAUDE: Final = sorted(name for name in FACTS if name.startswith("claude-code/"))
LEFT_OUT: Final = frozenset({"branch-left-out", "repeated", "repeated-id", "repeated-block", "unstorable"})
"""Rules that tell of something that is in the file and not in the log."""
COMMANDS: Final = ("replay", "inspect", "check", "context", "stats")

needs_corpus = pytest.mark.skipif(not CLAUDE, reason=f"there is no such session in {CORPUS}")


def imported_of(name: str) -> Imported:
    path = CORPUS / name
    with path.open("rb") as lines:
        return import_claude_code(lines, path=str(path))


def records_of(name: str) -> list[dict[str, Any]]:
    """The records that stand on lines of their own, read without the importer."""
    records = []
    for line in (CORPUS / name).read_bytes().split(b"\n"):
        try:
            records.append(json.loads(line))
        except ValueError:
            continue
    return [record for record in records if isinstance(record, dict)]


@needs_corpus
def test_every_claude_code_session_of_the_corpus_has_its_numbers() -> None:
    there = {str(path.relative_to(CORPUS)) for path in (CORPUS / "claude-code").rglob("*.jsonl")}
    assert there == set(CLAUDE)


@pytest.mark.parametrize("name", each(CLAUDE))
def test_a_claude_code_session_is_counted_as_others_count_it(name: str) -> None:
    result = run("inspect", "--json", str(CORPUS / name))
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert told["format"] == "claude-code"
    assert {key: told[key] for key in FACTS[name]} == FACTS[name]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", each(CLAUDE))
def test_every_command_takes_a_claude_code_session(name: str, command: str) -> None:
    for options in ((), ("--json",)):
        result = run(command, *options, str(CORPUS / name))
        assert result.exit_code in ((0, 1) if command == "check" else (0,)), result.output
        assert is_harmless(result.output)
        assert result.stdout or command == "check"  # which says nothing where nothing is wrong


@pytest.mark.parametrize("name", each(CLAUDE))
def test_a_claude_code_session_is_the_same_as_itself(name: str) -> None:
    path = str(CORPUS / name)
    assert run("diff", path, path).exit_code == 0


@pytest.mark.parametrize("name", each(CLAUDE))
def test_a_claude_code_session_is_checked_in_its_order(name: str) -> None:
    result = run("check", "--json", str(CORPUS / name))
    found = [json.loads(line) for line in result.stdout.splitlines()]
    assert result.exit_code == int(any(finding["severity"] != "note" for finding in found))
    lines = [finding["line"] for finding in found]
    assert lines == sorted(lines)
    assert {finding["path"] for finding in found} <= {str(CORPUS / name)}


@pytest.mark.parametrize("name", each(CLAUDE))
def test_importing_a_real_session_twice_gives_the_same_bytes(name: str) -> None:
    def bytes_of(imported: Imported) -> list[bytes]:
        return [
            encode_header(imported.header),
            *(encode_entry(entry) for entry in imported.entries if entry.timestamp is not None),
            *(encode_detail(detail) for detail in imported.details),
        ]

    first, again = imported_of(name), imported_of(name)
    assert bytes_of(first) == bytes_of(again)
    assert first == again


@pytest.mark.parametrize("api", sorted(DIALECTS))
@pytest.mark.parametrize("name", each(CLAUDE))
def test_a_context_of_a_real_session_is_acceptable_at_every_entry(name: str, api: str) -> None:
    imported = imported_of(name)
    for conversation in (imported, *imported.linked):
        entries = list(conversation.entries)
        family = family_of(entries)
        target = Target(api, "any", reads=frozenset() if family is None else frozenset({family}))
        step = max(1, len(entries) // 25)
        for end in range(len(entries), 0, -step):
            try:
                context = build_context(entries[:end], target, details=conversation.details_by_call)
            except ContextError as error:
                # Before anybody said anything there is nothing to send.
                if [finding.rule for finding in error.findings] != ["empty-input"]:
                    raise
                continue
            paused = context.paused
            assert [
                f for f in check_items(context.items, target, paused=paused) if f.severity != "note"
            ] == []
            assert paused or rules(cases_folder()).problems(DIALECTS[api], context.items) == []


@pytest.mark.parametrize("name", each(CLAUDE))
def test_every_call_and_output_of_a_real_session_is_in_its_log_or_told(name: str) -> None:
    imported = imported_of(name)
    if FACTS[name]["broken_lines"]:
        pytest.skip("what cannot be read is told, and may have held calls")
    items = [
        entry.message
        for conversation in (imported, *imported.linked)
        for entry in conversation.entries
        if isinstance(entry, MessageEntry)
    ]
    calls = [part.id for item in items for part in tool_calls(item)]
    outputs = [part.id for item in items for part in tool_outputs(item)]
    thoughts = sum(len(reasoning(item)) for item in items)
    if LEFT_OUT & {finding.rule for finding in imported.findings}:
        assert len(calls) <= FACTS[name]["calls"]
        return
    assert len(calls) == FACTS[name]["calls"]
    assert len(outputs) == FACTS[name]["results"]
    assert thoughts == FACTS[name]["reasoning"]


@pytest.mark.parametrize("name", each(CLAUDE))
def test_the_usage_of_a_real_session_is_that_of_each_message_once(name: str) -> None:
    """Recounted from the records alone: of each message the record that tells most output."""
    imported = imported_of(name)
    if (LEFT_OUT - {"repeated", "repeated-block"}) & {finding.rule for finding in imported.findings}:
        pytest.skip("what was given up is not in the log")
    best: dict[str, int] = {}
    for record in records_of(name):
        message = record.get("message")
        if record.get("type") != "assistant" or not isinstance(message, dict):
            continue
        if message.get("model") != "<synthetic>" and not record.get("isApiErrorMessage"):
            output = (message.get("usage") or {}).get("output_tokens") or 0
            best[message["id"]] = max(best.get(message["id"], 0), output)
    spent = find_spent(("", one.entries) for one in (imported, *imported.linked))
    assert {one.response: one.tokens.output for one in spent} == best


@pytest.mark.parametrize("name", each(CLAUDE))
def test_every_summary_of_a_real_session_stands_in_a_compaction(name: str) -> None:
    imported = imported_of(name)
    if LEFT_OUT & {finding.rule for finding in imported.findings}:
        pytest.skip("what was given up is not in the log")
    made = "".join(e.compaction.summary for e in imported.entries if isinstance(e, CompactionEntry))
    for record in records_of(name):
        if record.get("isCompactSummary") and not record.get("isSidechain"):
            assert text(record["message"]) in made


@needs_corpus
def test_the_files_of_subagents_are_linked_by_their_session() -> None:
    for folder in sorted((CORPUS / "claude-code").rglob("subagents")):
        session = folder.parent.with_suffix(".jsonl")
        if not session.exists():
            continue
        parent = imported_of(str(session.relative_to(CORPUS)))
        told = {
            outcome.get("agentId")
            for record in records_of(str(session.relative_to(CORPUS)))
            if isinstance(outcome := record.get("toolUseResult"), dict)
        }
        calls = {
            call.id
            for entry in parent.entries
            if isinstance(entry, MessageEntry)
            for call in tool_calls(entry.message)
        }
        for path in sorted(folder.glob("agent-*.jsonl")):
            linked = link_subagent(imported_of(str(path.relative_to(CORPUS))), parent)
            assert linked.header.id == path.stem.removeprefix("agent-")
            if linked.header.id not in told:
                continue  # it never came to an end
            assert linked.header.parent is not None
            assert linked.header.parent.session == parent.header.id
            assert linked.header.parent.call in calls


@needs_corpus
def test_claude_code_sessions_are_listed_with_their_ids_and_times() -> None:
    result = run("list", "--json", str(CORPUS / "claude-code"))
    listed = {Path(log["path"]).name: log for log in map(json.loads, result.stdout.splitlines())}
    for name in CLAUDE:
        log = listed.get(Path(name).name)
        if log is not None:
            assert log["format"] == "claude-code"
            assert log["started"] is not None or log["text"] == ""
