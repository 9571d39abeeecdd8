"""The command ``context``: the items as the API would get them, and what was done to them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from test_cli import (
    DETAILS,
    EVERYTHING,
    EXAMPLE,
    HOSTILE,
    NOON,
    answered,
    called,
    is_harmless,
    json_lines,
    make,
    message,
    process,
    run,
    said,
)

from transcript_log import Compaction, JsonlStore
from transcript_log.cli.contexts import glance
from transcript_log.context import build_context, context_at
from transcript_log.entries import CompactionEntry, ContextAttachment, ContextEntry, Entry, ResponseRecord
from transcript_log.families import Target

TARGETS = (
    "openai-responses/gpt-5",
    "openai-chat/some/model/with/slashes",
    "anthropic-messages/claude-opus-4-6",
)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "session.jsonl"


@pytest.fixture
def everything(log: Path) -> Path:
    return make(log, *EVERYTHING, details=DETAILS)


def target_of(named: str) -> Target:
    return Target(*named.split("/", 1))


def as_decoded(value: Any) -> Any:
    return json.loads(json.dumps(value))


# -------------------------------------------------------------------------------- the items


def test_without_a_target_the_items_keep_their_shapes(everything: Path) -> None:
    scan = JsonlStore(everything).scan()
    expected = build_context(scan.entries, details=scan.details)
    result = run("context", everything)
    assert json_lines(result) == expected.items
    assert result.stderr == f"{len(expected.items)} items, 2 changes; --explain shows them\n"
    assert len(expected.changes) == 2
    assert result.exit_code == 0
    assert run("context", everything, "--json").stdout == result.stdout


@pytest.mark.parametrize("named", TARGETS)
def test_for_a_target_they_are_what_its_api_gets(named: str, everything: Path) -> None:
    scan = JsonlStore(everything).scan()
    expected = build_context(scan.entries, target_of(named), details=scan.details)
    result = run("context", everything, "--target", named)
    assert json_lines(result) == expected.items
    assert f", {len(expected.changes)} changes; --explain shows them\n" in result.stderr
    assert result.exit_code == 0


def test_one_change_is_one_and_none_is_none(log: Path) -> None:
    make(log, said("u", "user", "go"))
    assert run("context", log).stderr == "1 item, 0 changes\n"
    make(log, called("c", "one"), said("v", "user", "on"))
    assert run("context", log).stderr == "4 items, 1 change; --explain shows them\n"


def test_the_platform_decides_who_can_read_what(log: Path) -> None:
    thought = {"type": "reasoning", "summary": [], "encrypted_content": "gAAA"}
    make(
        log,
        said("u", "user", "go"),
        message("r", thought, family="openai-responses/azure/gpt-5"),
        said("a", "assistant", "done"),
    )
    words = ("context", log, "--target", "openai-responses/gpt-5")
    assert thought not in json_lines(run(*words))
    assert thought not in json_lines(run(*words, "--platform", "direct"))
    assert thought in json_lines(run(*words, "--platform", "azure"))


def test_at_an_entry_it_is_as_it_was_then(everything: Path) -> None:
    scan = JsonlStore(everything).scan()
    for entry in ("u1", "c2", "o1", "a1"):
        expected = context_at(scan.entries, entry, details=scan.details)
        assert json_lines(run("context", everything, "--at", entry)) == expected.items, entry
    assert run("context", everything, "--at", "u1").stdout.count("\n") == 1


def test_attachments_are_placed_when_asked_for(log: Path) -> None:
    rules = ContextAttachment(
        attachment_id="a", epoch=1, kind="rules", placement="prefix", revision="1", rendered="Be brief."
    )
    make(log, said("u", "user", "go"), ContextEntry(id="x", timestamp=NOON, context=rules))
    assert "Be brief." not in run("context", log).stdout
    assert json_lines(run("context", log, "--attachments"))[0]["content"] == "Be brief."


def test_an_empty_log_has_no_items(log: Path) -> None:
    log.write_bytes(b"")
    assert run("context", log).exit_code == 1
    log.write_bytes(b'{"type":"sess')
    result = run("context", log)
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "0 items, 0 changes\n")


# ------------------------------------------------------------------------------ explanations

EXPLAINED = """\
   0  k1  summary      user  The conversation history before this point was compacted into the follow …
   1  p1  kept         user  [image/png]
   2  q1  kept         assistant  hologram
   3  c4  kept         function_call  shell {"cmd":"ls"}
   4  c5  kept         function_call  shell {"cmd":"ls"}
"""


def test_an_explanation_has_a_line_for_each_item_and_each_change(everything: Path) -> None:
    result = run("context", everything, "--explain")
    assert result.stdout.startswith(EXPLAINED)
    rest = result.stdout.removeprefix(EXPLAINED).splitlines()
    assert [line.split()[:3] for line in rest[:2]] == [["5", "c4", "stand-in"], ["6", "c5", "stand-in"]]
    assert [line.partition(":")[0] for line in rest[2:]] == [
        "change  entry c4, call four",
        "change  entry c5, call five",
    ]
    assert all(line.endswith("(unanswered-call)") for line in rest[2:])
    assert result.stderr == ""
    assert result.exit_code == 0


@pytest.mark.parametrize("named", [None, *TARGETS])
def test_an_explanation_as_json_has_every_row_and_every_change(named: str | None, everything: Path) -> None:
    scan = JsonlStore(everything).scan()
    built = build_context(scan.entries, None if named is None else target_of(named), details=scan.details)
    words = () if named is None else ("--target", named)
    lines = json_lines(run("context", everything, "--explain", "--json", *words))
    assert lines[: len(built.items)] == [
        {
            "row": place,
            "entry": row.entry,
            "entries": list(row.entries),
            "why": row.why,
            "item": as_decoded(row.item),
        }
        for place, row in enumerate(built.rows)
    ]
    assert lines[len(built.items) :] == [
        {
            "change": change.kind,
            "rule": change.rule,
            "message": change.message,
            "entry": change.entry,
            "call": change.call,
            "item": as_decoded(change.item),
        }
        for change in built.changes
    ]


def test_a_row_of_several_entries_names_the_first_and_how_many_more_there_are(log: Path) -> None:
    calls = [called(f"c{n}", f"call{n}") for n in range(6)]
    make(log, said("u", "user", "go"), *calls, *(answered(f"o{n}", f"call{n}") for n in range(6)))
    shown = run("context", log, "--explain", "--target", "openai-chat/m").stdout
    assert "   1  c0 +5  merged " in shown
    make(log, said("v", "user", "on"), called("d1", "x"), called("d2", "y"))
    assert " d1 +1  merged " in run("context", log, "--explain", "--target", "openai-chat/m").stdout


@pytest.mark.parametrize(
    ("item", "shown"),
    [
        ({"role": "user", "content": "  two\n words "}, "user  two words"),
        ({"role": "user", "content": ""}, "user"),
        ({"role": "user", "content": "x" * 200}, f"user  {'x' * 72} …"),
        ({"role": "user", "content": "\n" * 5000 + "late"}, "user  late"),
        ({"type": "reasoning", "encrypted_content": "g"}, "reasoning  (only its producer can read it)"),
        ({"type": "reasoning", "summary": []}, "reasoning"),
        ({"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}, "function_call  f {}"),
        ({"type": "function_call_output", "call_id": "c", "output": "ok"}, "function_call_output  ok"),
        (
            {"role": "assistant", "content": [{"type": "tool_use", "name": "f", "input": {"a": 1}}]},
            'assistant  f {"a":1}',
        ),
        ({"type": "hologram"}, "hologram"),
        ({}, "item"),
    ],
)
def test_a_glance_gives_the_kind_and_the_first_words(item: dict[str, Any], shown: str) -> None:
    assert glance(item) == shown


# ------------------------------------------------------------------------- told on stderr


def test_that_the_assistant_spoke_last_is_a_note(log: Path) -> None:
    make(log, said("u", "user", "go"), said("a", "assistant", "done"))
    for options in ((), ("--explain",), ("--explain", "--json")):
        result = run("context", log, "--target", "anthropic-messages/claude-opus-4-6", *options)
        assert (
            f"{log}: note: item 1: the last message is the assistant's, which newer models refuse"
            in result.stderr
        )
        assert result.exit_code == 0
    assert "note" not in run("context", log).stderr
    assert "note" not in run("context", log, "--target", "openai-chat/m").stderr
    make(log, said("v", "user", "on"))
    assert "note" not in run("context", log, "--target", "anthropic-messages/claude-opus-4-6").stderr


def test_a_paused_turn_is_to_end_with_the_assistant(log: Path) -> None:
    block = {"role": "assistant", "content": [{"type": "text", "text": "I go on"}]}
    make(
        log, said("u", "user", "go"), message("a", block, response=ResponseRecord(finish_reason="pause_turn"))
    )
    assert "note" not in run("context", log, "--target", "anthropic-messages/claude-opus-4-6").stderr


def test_damage_is_told_and_what_can_be_read_is_shown(log: Path) -> None:
    make(log, said("u", "user", "go"))
    with log.open("ab") as file:
        file.write(b"{broken\n")
    make(log, said("v", "user", "on"))
    result = run("context", log)
    assert [item["content"] for item in json_lines(result)] == ["go", "on"]
    assert result.stderr.startswith(f"{log}: line 3 ")
    assert result.exit_code == 0


# ----------------------------------------------------------------------------------- errors


def failed(result: Result, code: int = 1) -> str:
    assert (result.exit_code, result.stdout) == (code, ""), result.exception
    if code == 1:
        assert result.stderr.count("\n") == 1
    assert is_harmless(result.stderr)
    return result.stderr


def test_an_entry_that_is_not_there_is_told_with_the_file(everything: Path) -> None:
    told = failed(run("context", everything, "--at", "no\x1b[31m"))
    assert told.startswith(f"Error: {everything}: no entry has the id 'no\\x1b[31m'")


def test_what_no_api_would_take_is_told_with_the_file(log: Path) -> None:
    make(log, CompactionEntry(id="k", timestamp=NOON, compaction=Compaction(summary=" ")))
    told = failed(run("context", log, "--target", "openai-chat/m"))
    assert told.startswith(f"Error: {log}: openai-chat would refuse this context: ")


def test_strict_refuses_what_would_have_to_be_changed(everything: Path, log: Path) -> None:
    told = failed(run("context", everything, "--strict"))
    assert told.startswith(f"Error: {everything}: strict: the history is not right as it is,")
    told = failed(run("context", everything, "--strict", "--at", "o9"))
    assert told.startswith(f"Error: {everything}: at o9: strict: ")
    assert run("context", everything, "--strict", "--at", "u1").exit_code == 0


def test_strict_refuses_a_boundary_that_is_broken(log: Path) -> None:
    broken = Compaction(summary="the gist", first_kept_entry_id="nobody")
    make(log, said("u", "user", "go"), CompactionEntry(id="k", timestamp=NOON, compaction=broken))
    assert failed(run("context", log, "--strict")) == (
        f"Error: {log}: first kept entry nobody is not before compaction k\n"
    )
    result = run("context", log, "--explain")
    assert "(first-kept)" in result.stdout
    assert result.exit_code == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--target", "openai-telepathy/m"), "known are openai-responses, openai-chat, anthropic-messages"),
        (("--target", "openai-chat"), "'openai-chat' has no slash"),
        (("--target", "openai-chat/"), "the model of a target must not be blank"),
        (("--target", "/m"), "this API is not known here"),
        (("--target", "openai-chat/m", "--platform", "a/b"), "holds no slash"),
        (("--target", "openai-chat/m", "--platform", ""), "must not be blank"),
        (("--platform", "azure"), "give a --target too"),
        (("--target", "\x1b[31m\u202e/m"), "this API is not known here"),
    ],
)
def test_a_target_that_is_none_is_wrong_usage(words: tuple[str, ...], told: str, everything: Path) -> None:
    assert told in failed(run("context", everything, *words), code=2)


def test_a_missing_file_is_told_apart(tmp_path: Path) -> None:
    assert "there is no such file" in failed(run("context", tmp_path / "none"), code=2)


# ---------------------------------------------------------------------------- whole sessions

CODEX = sorted((Path(__file__).parent / "data" / "codex").rglob("*.jsonl"))


@pytest.mark.parametrize("file", [EXAMPLE, *CODEX], ids=lambda path: path.stem)
@pytest.mark.parametrize("named", [None, *TARGETS])
def test_every_session_has_a_context_and_an_explanation(file: Path, named: str | None) -> None:
    words = () if named is None else ("--target", named)
    items = json_lines(run("context", file, *words))
    explained = run("context", file, *words, "--explain")
    assert items
    assert explained.exit_code == 0
    rows = [line for line in explained.stdout.splitlines() if not line.startswith("change  ")]
    assert len(rows) == len(items)
    assert is_harmless(explained.output)


def test_it_works_as_a_process(everything: Path) -> None:
    result = process("context", everything, "--explain", "--json")
    assert (result.returncode, result.stderr) == (0, b"")
    assert all(json.loads(line) for line in result.stdout.splitlines())


WORDS = [
    ("context", *options, *target)
    for options in ((), ("--explain",), ("--explain", "--json"), ("--attachments", "--explain"))
    for target in ((), *(("--target", named) for named in TARGETS))
]


def hostile_entries(texts: list[str]) -> list[Entry]:
    text, tool, call_id, entry_id, kind, word = texts
    return [
        said("1" + entry_id, "user", text),
        said("2" + entry_id, word, text),
        called("3" + entry_id, call_id, tool, json.dumps({word: text})),
        called("4" + entry_id, "b" + call_id, tool, text),
        answered("5" + entry_id, "b" + call_id, [{"type": "text", "text": text}]),
        answered("6" + entry_id, "stray" + call_id, {word: text}),
        message("7" + entry_id, {"role": "assistant", "content": [{"type": kind}]}),
        message("8" + entry_id, {"role": "user", "content": [{"type": "image", "mimeType": kind}]}),
        message("9" + entry_id, {"type": kind, word: text}),
        message("10" + entry_id, {"type": "reasoning", "encrypted_content": text}, family=word),
        CompactionEntry(
            id="11" + entry_id,
            timestamp=NOON,
            compaction=Compaction(summary=text, first_kept_entry_id=word, replacement=(), family=kind),
        ),
        ContextEntry(
            id="12" + entry_id,
            timestamp=NOON,
            context=ContextAttachment(
                attachment_id=word, epoch=1, kind=kind, placement=word, revision=word, rendered=text
            ),
        ),
    ]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(HOSTILE, min_size=6, max_size=6), last=st.booleans())
@example(texts=["\x1b[31m\u202e\x9b\r\n\x08"] * 6, last=True)
def test_nothing_in_a_session_reaches_the_terminal(tmp_path: Path, texts: list[str], last: bool) -> None:
    log = tmp_path / "session.jsonl"
    log.unlink(missing_ok=True)
    entries = hostile_entries(texts)
    make(log, *(entries if last else entries[:-2]))
    for words in (*WORDS, ("context", "--strict"), ("context", "--at", texts[0])):
        result = run(*words, log)
        assert result.exit_code in (0, 1), result.exception
        assert result.exception is None or isinstance(result.exception, SystemExit)
        assert all(char.isprintable() or char == "\n" for char in result.output), words
