"""Real sessions of Codex: each one is shown, and counted as an independent count has it.

``TRANSCRIPT_LOG_SHARED`` names a folder with a folder ``corpus`` in it; without it the folder
``shared`` beside the checkout is used. The sessions themselves are not part of the repository.
"""

from __future__ import annotations

import csv
import json
import os
import re
from pathlib import Path
from typing import Any, Final

import pytest
from case_contexts import rules
from click.testing import CliRunner, Result
from test_cases import folder as cases_folder

from transcript_log.apis import check_items
from transcript_log.cli import main
from transcript_log.context import build_context, live_rows
from transcript_log.entries import Entry, Item, MessageEntry
from transcript_log.errors import ContextError
from transcript_log.families import Target
from transcript_log.importers.codex import import_codex
from transcript_log.items import has_opaque
from transcript_log.stats import find_spent, group_spent

DIALECTS: Final = {
    "openai-responses": "responses",
    "openai-chat": "chat",
    "anthropic-messages": "anthropic",
}


def folder() -> Path:
    named = os.environ.get("TRANSCRIPT_LOG_SHARED")
    shared = Path(named) if named else Path(__file__).resolve().parent.parent.parent / "shared"
    return shared / "corpus"


CORPUS: Final = folder()


def facts() -> dict[str, dict[str, int]]:
    """The numbers of each session, by its path in the corpus."""
    table = CORPUS / "FACTS.tsv"
    if not table.exists():
        return {}
    with table.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    return {
        row["file"]: {name: int(value) for name, value in row.items() if name != "file"}
        for row in rows
        if (CORPUS / row["file"]).exists()
    }


FACTS: Final = facts()
CODEX: Final = sorted(name for name in FACTS if name.startswith("codex/"))


def each(names: list[str]) -> list[Any]:
    """The sessions to parametrize a test with, or one that is skipped and says why."""
    missing = pytest.mark.skip(reason=f"there is no such session in {CORPUS}")
    return [pytest.param(name) for name in names] or [pytest.param("none", marks=missing)]


needs_corpus = pytest.mark.skipif(not CODEX, reason=f"there is no corpus at {CORPUS}")


def run(*words: str) -> Result:
    return CliRunner().invoke(main, list(words))


def is_harmless(text: str) -> bool:
    return all(char.isprintable() or char in "\n\t" for char in text)


@needs_corpus
def test_every_codex_session_of_the_corpus_has_its_numbers() -> None:
    there = {str(path.relative_to(CORPUS)) for path in (CORPUS / "codex").rglob("*.jsonl")}
    assert there == set(CODEX)


@pytest.mark.parametrize("name", each(CODEX))
def test_a_codex_session_is_counted_as_others_count_it(name: str) -> None:
    result = run("inspect", "--json", str(CORPUS / name))
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert told["format"] == "codex"
    assert {key: told[key] for key in FACTS[name]} == FACTS[name]


@pytest.mark.parametrize("name", each(CODEX))
def test_a_codex_session_is_shown(name: str) -> None:
    result = run("replay", str(CORPUS / name))
    assert result.exit_code == 0, result.output
    assert is_harmless(result.output)
    assert not [line for line in result.stdout.split("\n") if line != line.rstrip()]
    calls = [line for line in result.stdout.split("\n") if line.startswith("call ")]
    assert len(calls) >= FACTS[name]["calls"]
    assert result.stdout.count("→ not answered") == FACTS[name]["unanswered"]
    assert result.stdout.count("\ncompacted") == FACTS[name]["compactions"]


@pytest.mark.parametrize("name", each(CODEX))
def test_a_codex_session_is_shown_as_json(name: str) -> None:
    result = run("replay", "--json", str(CORPUS / name))
    assert result.exit_code == 0, result.output
    assert is_harmless(result.output)
    events: list[dict[str, Any]] = [json.loads(line) for line in result.stdout.splitlines()]
    called = [event for event in events if event["event"] == "called"]
    assert len(called) == FACTS[name]["calls"]
    assert sum(not event["answered"] for event in called) == FACTS[name]["unanswered"]
    assert sum(event["event"] == "reasoned" for event in events) == FACTS[name]["reasoning"]
    assert sum(event["event"] == "compacted" for event in events) == FACTS[name]["compactions"]
    assert (
        not [event for event in events if event["event"] == "output_without_call"]
        or (FACTS[name]["orphan_results"])
    )


@pytest.mark.parametrize("name", each(CODEX))
def test_a_codex_session_is_checked(name: str) -> None:
    result = run("check", "--json", str(CORPUS / name))
    found = [json.loads(line) for line in result.stdout.splitlines()]
    assert result.exit_code == int(any(finding["severity"] != "note" for finding in found))
    unanswered = [finding for finding in found if finding["rule"] == "unanswered-call"]
    assert len(unanswered) == FACTS[name]["unanswered"]
    lines = [finding["line"] for finding in found]
    assert lines == sorted(lines)
    assert {finding["path"] for finding in found} <= {str(CORPUS / name)}


@needs_corpus
def test_a_folder_of_the_corpus_is_listed() -> None:
    for agent in ("codex", "claude-code", "pi"):
        there = {path.name for path in (CORPUS / agent).glob("*.jsonl")}
        result = run("list", "--json", str(CORPUS / agent))
        listed = [json.loads(line) for line in result.stdout.splitlines()]
        assert {Path(log["path"]).name for log in listed} == there
        assert {log["format"] for log in listed} == {agent}


@pytest.mark.parametrize("name", each(CODEX))
def test_a_foreign_session_is_never_salvaged(name: str) -> None:
    before = (CORPUS / name).read_bytes()
    result = run("salvage", str(CORPUS / name))
    assert result.exit_code == 1
    assert len(result.stderr.splitlines()) == 1
    assert (CORPUS / name).read_bytes() == before


# ------------------------------------------------------------------------------ contexts


def entries_of(name: str) -> list[Entry]:
    path = CORPUS / name
    with path.open("rb") as file:
        return list(
            import_codex([line + b"\n" for line in file.read().split(b"\n") if line], path=str(path)).entries
        )


def family_of(entries: list[Entry]) -> str | None:
    """The family of the last item of a model that told one."""
    told = [entry.family for entry in entries if isinstance(entry, MessageEntry) and entry.family is not None]
    return told[-1] if told else None


@pytest.mark.parametrize("api", sorted(DIALECTS))
@pytest.mark.parametrize("name", each(CODEX))
def test_a_context_of_a_real_session_is_acceptable_at_every_entry(name: str, api: str) -> None:
    entries = entries_of(name)
    family = family_of(entries)
    reads = frozenset() if family is None else frozenset({family})
    target = Target(api, "any", reads=reads)
    step = max(1, len(entries) // 25)
    for end in [*range(len(entries), 0, -step)]:
        try:
            context = build_context(entries[:end], target)
        except ContextError as error:
            # Before anybody said anything there is nothing to send.
            if [finding.rule for finding in error.findings] != ["empty-input"]:
                raise
            continue
        assert [f for f in check_items(context.items, target) if f.severity != "note"] == []
        problems = rules(cases_folder()).problems(DIALECTS[api], context.items)
        assert [problem for problem in problems if not leads_to_search(problem, context.items)] == []


def leads_to_search(problem: str, items: list[Item]) -> bool:
    """Whether the checker misses the search for tools that a reasoning led to: it knows of none."""
    place = re.fullmatch(r"reasoning without following item at (\d+)", problem)
    return place is not None and items[int(place[1]) + 1].get("type") == "tool_search_call"


@pytest.mark.parametrize("name", each(CODEX))
def test_a_real_session_keeps_its_reasoning_for_its_own_model(name: str) -> None:
    """What its own model sealed and can still be sent is sent, and every loss is told."""
    entries = entries_of(name)
    family = family_of(entries)
    if family is None:
        return
    target = Target("openai-responses", "any", reads=frozenset({family}))
    context = build_context(entries, target)
    sent = [row.entry for row in context.rows if has_opaque(row.item)]
    told = {change.entry for change in context.changes if change.kind == "left-out"}
    live = {row.entry for row in live_rows(entries, target)}
    for entry in entries:
        if isinstance(entry, MessageEntry) and entry.id in live and has_opaque(entry.message):
            assert (entry.id in sent) != (entry.id in told)


def _running_total(path: Path) -> dict[str, int]:
    """The last running total that the rollout itself tells, read from its lines alone."""
    total: dict[str, int] = {}
    for line in path.read_bytes().splitlines():
        payload = json.loads(line).get("payload") or {}
        if payload.get("type") == "token_count" and payload.get("info"):
            told = payload["info"]["total_token_usage"]
            total = told if told["total_tokens"] else total
    return total


@pytest.mark.parametrize("name", each(CODEX))
def test_the_sum_over_the_responses_is_what_codex_itself_counted(name: str) -> None:
    path = CORPUS / name
    with path.open("rb") as lines:
        (group,) = group_spent(find_spent([(name, import_codex(lines).entries)]))
    told, tokens = _running_total(path), group.tokens
    assert tokens.untold == 0
    assert (tokens.all_input, tokens.cache_read, tokens.output, tokens.total) == tuple(
        told.get(key, 0) for key in ("input_tokens", "cached_input_tokens", "output_tokens", "total_tokens")
    )
