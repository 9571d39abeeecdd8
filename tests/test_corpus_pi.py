"""Real sessions of pi: each one is shown, counted as an independent count has it, and can go on.

The sessions are found as those of ``test_corpus_codex`` are, and are no part of the repository.
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
from transcript_log.codec import decode_entry, encode_detail, encode_entry, encode_header
from transcript_log.context import Context, build_context, live_rows
from transcript_log.entries import CompactionEntry, Entry, MessageEntry
from transcript_log.errors import ContextError
from transcript_log.families import Target
from transcript_log.history import build_history
from transcript_log.importers import Imported
from transcript_log.importers.pi import import_pi
from transcript_log.items import has_opaque
from transcript_log.stats import find_spent, group_spent

PI: Final = sorted(name for name in FACTS if name.startswith("pi/"))
COMMANDS: Final = (
    ("replay",),
    ("replay", "--json"),
    ("inspect",),
    ("context",),
    *(("context", "--explain", "--target", f"{api}/any") for api in sorted(DIALECTS)),
    ("check",),
    *(("check", "--json", "--for", api) for api in sorted(DIALECTS)),
    ("stats",),
    ("stats", "--by", "day", "--json"),
)

needs_corpus = pytest.mark.skipif(not PI, reason=f"there is no corpus at {CORPUS}")


def read(name: str) -> Imported:
    path = CORPUS / name
    with path.open("rb") as lines:
        return import_pi(lines, path=str(path))


@needs_corpus
def test_every_pi_session_of_the_corpus_has_its_numbers() -> None:
    there = {str(path.relative_to(CORPUS)) for path in (CORPUS / "pi").rglob("*.jsonl")}
    assert there == set(PI)


@pytest.mark.parametrize("name", each(PI))
def test_a_pi_session_is_counted_as_others_count_it(name: str) -> None:
    result = run("inspect", "--json", str(CORPUS / name))
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert told["format"] == "pi"
    assert {key: told[key] for key in FACTS[name]} == FACTS[name]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("name", each(PI))
def test_every_command_takes_a_pi_session(name: str, words: tuple[str, ...]) -> None:
    command, *options = words
    result = run(command, str(CORPUS / name), *options)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.output
    assert result.exit_code == 0 or (command == "check" and result.exit_code == 1), result.output
    assert is_harmless(result.output)
    assert result.stdout


@pytest.mark.parametrize("name", each(PI))
def test_a_pi_session_is_shown_with_all_its_calls(name: str) -> None:
    lines = run("replay", "--json", str(CORPUS / name)).stdout.splitlines()
    events: list[dict[str, Any]] = [json.loads(line) for line in lines]
    called = [event for event in events if event["event"] == "called"]
    assert len(called) == FACTS[name]["calls"]
    assert sum(event["event"] == "reasoned" for event in events) == FACTS[name]["reasoning"]
    assert sum(not event["answered"] for event in called) == FACTS[name]["unanswered"]


@pytest.mark.parametrize("name", each(PI))
def test_a_pi_session_differs_from_itself_in_nothing(name: str) -> None:
    result = run("diff", str(CORPUS / name), str(CORPUS / name))
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize("name", each(PI))
def test_a_pi_session_is_never_salvaged(name: str) -> None:
    before = (CORPUS / name).read_bytes()
    result = run("salvage", str(CORPUS / name))
    assert result.exit_code == 1
    assert len(result.stderr.splitlines()) == 1
    assert (CORPUS / name).read_bytes() == before


@pytest.mark.parametrize("name", each(PI))
def test_a_pi_session_is_imported_alike_each_time_and_can_be_stored(name: str) -> None:
    once, again = read(name), read(name)
    assert once == again
    encode_header(once.header)
    for entry in once.entries:
        assert decode_entry(encode_entry(entry)) == entry
    for detail in once.details:
        encode_detail(detail)
    stored = [decode_entry(encode_entry(entry)) for entry in once.entries]
    details = once.details_by_call
    assert build_history(stored, details) == build_history(once.entries, details)


# ------------------------------------------------------------------------------ contexts


def built(entries: list[Entry], target: Target) -> Context | None:
    """The context of entries, acceptable to its API; None where nobody has said anything yet."""
    try:
        context = build_context(entries, target)
    except ContextError as error:
        if [finding.rule for finding in error.findings] != ["empty-input"]:
            raise
        return None
    assert [f for f in check_items(context.items, target) if f.severity != "note"] == []
    assert rules(cases_folder()).problems(DIALECTS[target.api], context.items) == []
    return context


@pytest.mark.parametrize("api", sorted(DIALECTS))
@pytest.mark.parametrize("name", each(PI))
def test_a_context_of_a_pi_session_is_acceptable_at_every_entry(name: str, api: str) -> None:
    entries = list(read(name).entries)
    family = family_of(entries)
    target = Target(api, "any", reads=frozenset() if family is None else frozenset({family}))
    step = max(1, len(entries) // 25)
    for end in [*range(len(entries), 0, -step)]:
        built(entries[:end], target)


@pytest.mark.parametrize("name", each(PI))
def test_a_pi_session_goes_on_with_the_model_that_it_ended_with(name: str) -> None:
    """What its own API sealed and can still be sent is sent, and every loss is told."""
    entries = list(read(name).entries)
    family = family_of(entries)
    assert family is not None
    target = Target(family.partition("/")[0], "any", reads=frozenset({family}))
    if target.api not in DIALECTS:
        return
    context = built(entries, target)
    assert context is not None
    told = {change.entry for change in context.changes}
    sent = {entry for row in context.rows for entry in row.entries}
    for row in live_rows(entries, target):
        assert row.entry in sent | told
    sealed = {row.entry for row in context.rows if has_opaque(row.item)}
    for entry in entries:
        if isinstance(entry, MessageEntry) and entry.id in sent and has_opaque(entry.message):
            assert entry.id in sealed or entry.id in told


def _sums(path: Path) -> dict[str, int]:
    """The tokens of all answers, added up from the lines of the file alone."""
    sums = dict.fromkeys(("input", "output", "cacheRead", "cacheWrite"), 0)
    decoder = json.JSONDecoder()
    for line in path.read_text(encoding="utf-8", errors="replace").split("\n"):
        at = 0
        while at < len(line):
            try:
                record, at = decoder.raw_decode(line, at)
            except ValueError:
                break
            usage = (record.get("message") or {}).get("usage") or record.get("usage") or {}
            for key in sums:
                sums[key] += usage.get(key, 0)
    return sums


@pytest.mark.parametrize("name", each(PI))
def test_the_sum_over_the_answers_is_what_pi_itself_counted(name: str) -> None:
    imported = read(name)
    answered = [entry for entry in imported.entries if isinstance(entry, MessageEntry) and entry.response]
    ids = [entry.response.id for entry in answered if entry.response and entry.response.id]
    compacted = [entry for entry in imported.entries if isinstance(entry, CompactionEntry)]
    (group,) = group_spent(find_spent([(name, [*answered, *compacted])])) or [None]
    assert group is not None
    told = _sums(CORPUS / name)
    if len(set(ids)) == len(ids):  # else one answer stands twice, and is counted once
        tokens = group.tokens
        assert (tokens.input, tokens.output, tokens.cache_read, tokens.cache_write) == tuple(told.values())
