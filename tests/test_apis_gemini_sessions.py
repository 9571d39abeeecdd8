"""Cases and real sessions in the words of Gemini: nothing of them is lost that is not told.

What a session says and does is read here from its items by their keys, apart from the package.
"""

from __future__ import annotations

import base64
import contextlib
import json
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pytest
from gemini_rules import problems
from test_cases import all_cases
from test_corpus_codex import CORPUS

from transcript_log import JsonlStore, Target, build_context, new_message
from transcript_log.apis import check_items
from transcript_log.codec import entry_from_value
from transcript_log.context import Context, live_rows
from transcript_log.entries import Entry
from transcript_log.errors import ContextError, TranscriptError
from transcript_log.importers.claude_code import import_claude_code
from transcript_log.importers.codex import import_codex
from transcript_log.importers.pi import import_pi

GEMINI: Final = Target("gemini", "gemini-3-pro")
OLDER: Final = Target("gemini", "gemini-2.5-pro")
Said = tuple[str, Any]


# ------------------------------------------------------------------- reading, apart from the package


def told(value: Any) -> str:
    """The text of an output in whatever form it is stored."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(filter(None, (told(one) for one in value)))
    if isinstance(value, dict):
        for key in ("text", "output", "content", "stdout"):
            if isinstance(value.get(key), str | list):
                return told(value[key])
        return ""
    return ""


def given(arguments: Any) -> Any:
    if isinstance(arguments, str):
        try:
            return json.loads(arguments or "{}")
        except ValueError:
            return arguments
    return {} if arguments is None else arguments


def said_in(item: Mapping[str, Any]) -> Iterator[Said]:
    """The texts, calls and outputs of an item of OpenAI, Anthropic or pi."""
    kind, role = item.get("type"), item.get("role")
    if kind == "function_call" and isinstance(item.get("call_id"), str):
        yield "call", (item.get("name"), given(item.get("arguments")))
        return
    if kind == "custom_tool_call":  # whose free text is a member of an object there
        yield "call", (item.get("name"), {"input": item.get("input")})
        return
    if kind in ("function_call_output", "custom_tool_call_output"):
        yield "output", told(item.get("output"))
        return
    if role in ("tool", "toolResult"):
        yield "output", told(item.get("content"))
        return
    if role not in ("user", "assistant", "system", "developer"):
        return
    content = item.get("content")
    for block in content if isinstance(content, list) else [content]:
        if isinstance(block, str):
            yield "text", block
        if not isinstance(block, dict):
            continue
        word = block.get("type")
        if word in ("text", "input_text", "output_text") and isinstance(block.get("text"), str):
            yield "text", block["text"]
        elif word == "tool_use":
            yield "call", (block.get("name"), given(block.get("input")))
        elif word == "toolCall":
            yield "call", (block.get("name"), given(block.get("arguments")))
        elif word == "tool_result":
            yield "output", told(block.get("content"))
    for call in item.get("tool_calls") or ():
        if isinstance(call, dict) and isinstance(call.get("function"), dict):
            yield "call", (call["function"].get("name"), given(call["function"].get("arguments")))


def plain(value: Any) -> str:
    """A value as text, half characters mended and white space at its ends gone."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
    return re.sub("[\ud800-\udfff]", "\ufffd", text).strip()


def sent_in(contents: Sequence[Mapping[str, Any]]) -> Counter[tuple[str, str]]:
    """The texts, calls and outputs of contents of Gemini."""
    found: Counter[tuple[str, str]] = Counter()
    for content in contents:
        for part in content["parts"]:
            if "text" in part:
                found["text", plain(part["text"])] += 1
            elif "functionCall" in part:
                call = part["functionCall"]
                found["call", plain([call["name"], call["args"]])] += 1
            elif "functionResponse" in part:
                (value,) = part["functionResponse"]["response"].values()
                found["output", plain(value)] += 1
    return found


def check_nothing_is_lost(entries: Sequence[Entry], target: Target) -> Context | None:
    """Hold a context against what the live entries of a log say."""
    try:
        context = build_context(entries, target)
    except ContextError as error:
        if [finding.rule for finding in error.findings] != ["empty-input"]:
            raise
        return None
    assert [f for f in check_items(context.items, target) if f.severity != "note"] == []
    if target is GEMINI:
        assert problems(context.items) == []
    sent = sent_in(context.items)
    listed = {change.entry for change in context.changes}
    for row in live_rows(entries, target):
        for what, value in said_in(row.item):
            key = (what, plain(list(value) if what == "call" else value))
            if what == "text" and not key[1]:
                continue
            if sent[key]:
                sent[key] -= 1
            else:
                assert row.entry in listed, (key, context.changes)
    return context


# ---------------------------------------------------------------------------------- sessions

IMPORTERS: Final = {"claude-code": import_claude_code, "codex": import_codex, "pi": import_pi}
SESSIONS: Final = sorted(
    str(path.relative_to(CORPUS)) for agent in IMPORTERS for path in (CORPUS / agent).glob("*.jsonl")
)


def entries_of(name: str) -> list[Entry]:
    path = Path(CORPUS, name)
    lines = [line + b"\n" for line in path.read_bytes().split(b"\n") if line]
    return list(IMPORTERS[name.partition("/")[0]](lines, path=str(path)).entries)


@pytest.mark.parametrize("target", [GEMINI, OLDER], ids=["newer", "older"])
@pytest.mark.parametrize("name", SESSIONS or [pytest.param("none", marks=pytest.mark.skip("no corpus"))])
def test_a_real_session_is_said_to_gemini_and_nothing_of_it_is_lost(name: str, target: Target) -> None:
    entries = entries_of(name)
    context = check_nothing_is_lost(entries, target)
    assert context is not None
    step = max(1, len(entries) // 12)
    for end in range(len(entries), 0, -step):
        check_nothing_is_lost(entries[:end], target)


def entries_of_case(case: Mapping[str, Any]) -> list[Entry]:
    """What a case has of a session, as a log; items that no log can hold are no part of it."""
    given_to = case["input"]
    if "file_bytes_b64" in given_to and case["operation"] == "build_context":
        with tempfile.TemporaryDirectory() as made_for:
            log = Path(made_for, "log.jsonl")
            log.write_bytes(base64.b64decode(given_to["file_bytes_b64"]))
            return list(JsonlStore(log).scan().entries)
    made: list[Entry] = []
    for value in (*(given_to.get("entries") or ()), *(given_to.get("items") or ())):
        if isinstance(value, dict):
            with contextlib.suppress(TranscriptError):
                is_entry = value.get("type") in ("message", "compaction") and "timestamp" in value
                made.append(entry_from_value(value) if is_entry else new_message(value))
    return made


CASES: Final = [case for case in all_cases() if entries_of_case(case)]


def test_there_are_cases_of_each_sort() -> None:
    assert {"reconcile", "family_filter", "build_context"} <= {case["operation"] for case in CASES}


@pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in CASES])
def test_a_case_is_said_to_gemini_and_nothing_of_it_is_lost(case: Mapping[str, Any]) -> None:
    for target in (GEMINI, OLDER):
        check_nothing_is_lost(entries_of_case(case), target)


def test_the_comparison_knows_what_is_said_and_done() -> None:
    items = [
        {"role": "user", "content": "go"},
        {"type": "function_call", "call_id": "c", "name": "bash", "arguments": '{"n": 1}'},
        {"type": "function_call_output", "call_id": "c", "output": "done"},
    ]
    entries = [new_message(item) for item in items]
    wanted = sent_in(build_context(entries, GEMINI).items)
    assert wanted == {("text", "go"): 1, ("call", '["bash", {"n": 1}]'): 1, ("output", "done"): 1}
    assert [list(said_in(item)) for item in items] == [
        [("text", "go")],
        [("call", ("bash", {"n": 1}))],
        [("output", "done")],
    ]
