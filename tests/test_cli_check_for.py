"""The command ``check --for``: would each API take the items of a session as they are?"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from test_cli import EXAMPLE, HOSTILE, called, is_harmless, json_lines, make, message, run, said
from test_cli_context import CODEX, hostile_entries

from transcript_log.apis import APIS
from transcript_log.entries import ResponseRecord

EVERY = ",".join(APIS)
PLAIN = [api for api in APIS if api not in ("deepseek-chat", "gemini")]
"""Those that take what another model said as it is: a model that thinks wants to have thought."""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "session.jsonl"


@pytest.fixture
def unanswered(log: Path) -> Path:
    """A log of which nothing is wrong but that a call has no output so far."""
    return make(log, said("u", "user", "go"), called("c", "one"))


def test_each_api_is_named_with_what_it_finds_and_what_is_changed(unanswered: Path) -> None:
    result = run("check", unanswered, "--for", "openai-responses,openai-chat")
    note, *lines = result.stdout.splitlines()
    assert note == run("check", unanswered).stdout.rstrip("\n")
    assert [line.split(": ")[1:4] for line in lines] == [
        ["openai-responses", "error", "item 1, entry c, call one"],
        ["openai-responses", "entry c, call one", "added"],
        ["openai-chat", "error", "item 1, entry c"],
        ["openai-chat", "entry c, call one", "added"],
    ]
    assert all(line.startswith(f"{unanswered}: ") for line in lines)
    assert result.stderr == (
        "nothing is wrong, 1 note\n"
        "openai-responses/any: 1 thing wrong; 1 change\n"
        "openai-chat/any: 1 thing wrong; 1 change\n"
    )
    assert result.exit_code == 1
    assert run("check", unanswered).exit_code == 0


def test_as_json_it_is_one_object_per_finding_and_per_change(unanswered: Path) -> None:
    result = run("check", unanswered, "--for", "openai-responses", "--json")
    note, finding, change = json_lines(result)
    assert [note] == json_lines(run("check", unanswered, "--json"))
    assert finding.pop("message")
    assert finding.pop("item") == 1
    assert finding == {
        "api": "openai-responses",
        "rule": "output-missing",
        "severity": "error",
        "advice": "build_context mends it",
        "path": str(unanswered),
        "line": None,
        "offset": None,
        "entry": "c",
        "call": "one",
    }
    assert change.pop("message")
    assert change == {
        "api": "openai-responses",
        "change": "added",
        "rule": "unanswered-call",
        "entry": "c",
        "call": "one",
        "item": None,
    }
    assert (result.exit_code, result.stderr) == (1, "")


def test_items_that_every_api_takes_are_fine(log: Path) -> None:
    make(log, said("u", "user", "go"), said("a", "assistant", "done"), said("v", "user", "on"))
    result = run("check", log, "--for", ",".join(PLAIN))
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr.splitlines()[1:] == [f"{api}/any: nothing is wrong; 0 changes" for api in PLAIN]


def test_what_gemini_said_is_fine_for_it_and_put_in_the_words_of_the_others(log: Path) -> None:
    make(
        log,
        message("u", {"role": "user", "parts": [{"text": "go"}]}),
        message("a", {"role": "model", "parts": [{"text": "done"}]}),
        message("v", {"role": "user", "parts": [{"text": "on"}]}),
    )
    result = run("check", log, "--for", "gemini")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr.endswith("gemini/any: nothing is wrong; 0 changes\n")
    assert run("check", log, "--for", "openai-chat").exit_code == 1
    shown = run("context", log, "--target", "openai-chat/m", "--json")
    assert [item["content"] for item in json_lines(shown)] == ["go", "done", "on"]


def test_notes_and_changes_are_no_faults(log: Path) -> None:
    make(log, said("u", "user", "go"), said("a", "assistant", "done"))
    result = run("check", log, "--for", "anthropic-messages")
    assert result.stdout.startswith(f"{log}: anthropic-messages: note: item 1, entry a: ")
    assert "anthropic-messages/any: nothing is wrong, 1 note; 0 changes\n" in result.stderr
    assert result.exit_code == 0
    make(
        log,
        said("v", "user", "on"),
        message("r", {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "g"}),
        said("b", "assistant", "done"),
    )
    result = run("check", log, "--for", "openai-responses")
    assert result.stdout.startswith(f"{log}: openai-responses: entry r: left-out: ")
    assert result.exit_code == 0


def test_the_model_is_that_of_the_last_response(log: Path) -> None:
    thought = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "g"}
    family = "openai-responses/direct/gpt-5"
    response = ResponseRecord(model="gpt-5")
    make(
        log,
        said("u", "user", "go"),
        message("r", thought, family=family, response=response),
        said("a", "assistant", "done", family=family),
        said("v", "user", "on"),
    )
    assert run("check", log, "--for", "openai-responses").stdout == ""


def test_an_api_named_twice_is_asked_once(unanswered: Path) -> None:
    once = run("check", unanswered, "--for", "openai-chat")
    assert run("check", unanswered, "--for", " openai-chat ,openai-chat").output == once.output


@pytest.mark.parametrize("named", ["openai-telepathy", "openai-chat,", "", "\x1b[31m\u202e", EVERY + ",x"])
def test_an_api_that_is_not_known_is_wrong_usage(named: str, unanswered: Path) -> None:
    result = run("check", unanswered, "--for", named)
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"known are {', '.join(APIS)}" in result.stderr
    assert is_harmless(result.stderr)


def test_a_log_of_which_no_context_can_be_made_is_told(log: Path) -> None:
    log.write_bytes(b'{"type":"sess')
    result = run("check", log, "--for", "openai-chat")
    assert "openai-chat: error: no context can be made of it: there is nothing to send\n" in result.stdout
    assert result.exit_code == 1


@pytest.mark.parametrize("file", [EXAMPLE, *CODEX], ids=lambda path: path.stem)
def test_every_session_can_be_checked_for_every_api(file: Path) -> None:
    result = run("check", file, "--for", EVERY)
    assert result.exit_code == 1  # nobody takes the items of all the others
    assert is_harmless(result.output)
    lines = result.stdout.splitlines()
    more = [int(found[1]) for line in lines if (found := re.search(r"(\d+) more like these", line))]
    listed = len(json_lines(run("check", file, "--for", EVERY, "--json")))
    assert listed == len(lines) - len(more) + sum(more)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(HOSTILE, min_size=6, max_size=6), last=st.booleans())
@example(texts=["\x1b[31m\u202e\x9b\r\n\x08"] * 6, last=True)
def test_nothing_in_a_session_reaches_the_terminal(log: Path, texts: list[str], last: bool) -> None:
    log.unlink(missing_ok=True)
    entries = hostile_entries(texts)
    make(log, *(entries if last else entries[:-2]))
    for options in ((), ("--json",)):
        result = run("check", log, "--for", EVERY, *options)
        assert result.exit_code in (0, 1), result.exception
        assert result.exception is None or isinstance(result.exception, SystemExit)
        assert all(char.isprintable() or char == "\n" for char in result.output)
