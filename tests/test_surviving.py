"""Every case and every real session, rendered for every API: nothing is refused, and nothing gets lost."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import pytest
from case_contexts import with_families
from surviving import lost, things_in
from test_cases import CASES, CONTEXT_OPERATIONS
from test_corpus_codex import CORPUS

from transcript_log.apis import APIS, check_items
from transcript_log.codec import entry_from_value
from transcript_log.context import build_context, live_rows
from transcript_log.entries import Entry, new_message
from transcript_log.errors import ContextError, TranscriptError
from transcript_log.families import Target
from transcript_log.importers.claude_code import import_claude_code
from transcript_log.importers.codex import import_codex
from transcript_log.importers.pi import import_pi

IMPORTERS: Final[dict[str, Any]] = {
    "claude-code": import_claude_code,
    "codex": import_codex,
    "pi": import_pi,
}
MODELS: Final = {"deepseek-chat": ("deepseek-v4-pro", "deepseek-r1", "deepseek-chat")}
TARGETS: Final = [Target(api, model) for api in APIS for model in MODELS.get(api, ("m-1",))]


def sessions() -> list[str]:
    kinds = [sorted((CORPUS / kind).rglob("*.jsonl")) for kind in IMPORTERS]
    return [str(path.relative_to(CORPUS)) for found in kinds for path in found]


@cache
def entries_of(name: str) -> list[Entry]:
    path = CORPUS / name
    with path.open("rb") as lines:
        return list(IMPORTERS[name.split("/", maxsplit=1)[0]](lines, path=str(path)).entries)


def entries_of_case(case: dict[str, Any]) -> list[Entry]:
    given = case["input"]
    if given.get("items") is not None:
        made: list[Entry] = [new_message(item) for item in given["items"]]
    else:
        made = [entry_from_value(value) for value in given["entries"]]
    return with_families(given, made)


CONTEXT_CASES: Final = [
    case
    for case in CASES
    if case["operation"] in CONTEXT_OPERATIONS
    and "dialect" in case["input"]
    and (case["input"].get("items") is not None or case["input"].get("entries") is not None)
]


def survives(entries: list[Entry], target: Target) -> None:
    try:
        context = build_context(entries, target)
    except ContextError as error:
        if [finding.rule for finding in error.findings] != ["empty-input"]:
            raise
        return  # there is nothing to send
    found = check_items(context.items, target, paused=context.paused)
    assert [str(finding) for finding in found if finding.severity != "note"] == []
    assert lost(live_rows(entries, target), context) == []


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: f"{target.api}-{target.model}")
@pytest.mark.parametrize("case", CONTEXT_CASES, ids=lambda case: str(case["id"]))
def test_every_case_goes_to_every_api_with_all_it_says(case: dict[str, Any], target: Target) -> None:
    try:
        entries = entries_of_case(case)
    except TranscriptError:
        pytest.fail(f"the entries of {case['id']} cannot be read")
    survives(entries, target)


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: f"{target.api}-{target.model}")
@pytest.mark.parametrize("name", sessions() or ["none"])
def test_every_session_goes_to_every_api_with_all_it_says(name: str, target: Target) -> None:
    if name == "none":
        pytest.skip(f"there is no session in {CORPUS}")
    survives(entries_of(name), target)


def test_what_is_taken_out_without_a_word_is_seen() -> None:
    """The comparison is no comparison if it misses what it is for."""
    said = {"role": "user", "content": "do it"}
    asked = {"type": "function_call", "call_id": "c1", "name": "bash", "arguments": '{"a": 1}'}
    gave = {"type": "function_call_output", "call_id": "c1", "output": "all of it"}
    entries: list[Entry] = [new_message(item) for item in (said, asked, gave)]
    rows = live_rows(entries)
    for api in APIS:
        context = build_context(entries, Target(api, "m-1"))
        assert lost(rows, context) == []
        for place in range(len(context.items)):
            item = context.items[place]
            context.items[place] = {"role": "user", "content": ""}
            assert len(lost(rows, context)) == sum(said != "" for _, said in things_in(item))
            context.items[place] = item
