"""``context --at ENTRY --request``: the request that a response answers, as one JSON object."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from situations import user
from test_cli import HOSTILE, ROOT, is_harmless, json_lines, make, process, run, said
from test_cli_context import failed
from test_session_lifecycle import C, R, asked, rules

from transcript_log import Context, Session, Target
from transcript_log.entries import ResponseRecord

REQUEST: Final = {"model": "gpt-5.4", "instructions": "Be brief.", "tools": [], "store": False}


class Recorded:
    """A session with two responses: what was sent for each, and their entries."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.sent: list[Context] = []
        self.entries: list[list[str]] = []
        with Session.create(path, durability="os") as session:
            (question,) = session.add(user("go"))
            self.question = question.id
            for request, text in ((REQUEST, "Looking."), (None, "Done.")):
                self.sent.append(session.context(R))
                raw = asked_of_r("call_1", text=text) if request else asked_of_r(text=text)
                made = session.add_response(raw, to=self.sent[-1], request=request)
                self.entries.append([entry.id for entry in made.entries])


def asked_of_r(*ids: str, text: str) -> dict[str, Any]:
    return asked(R, *ids, text=text)


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    return Recorded(tmp_path / "session.jsonl")


def as_decoded(value: Any) -> Any:
    return json.loads(json.dumps(value))


def asked_for(path: Path, entry: str, *words: str) -> Any:
    return run("context", path, "--at", entry, "--request", *words)


def test_the_request_is_one_object_with_the_items_in_it(recorded: Recorded) -> None:
    first = recorded.entries[0][0]
    for entry in (*recorded.entries[0], recorded.entries[0][1][:14]):
        result = asked_for(recorded.path, entry)
        assert json_lines(result) == [{**REQUEST, "input": as_decoded(recorded.sent[0].items)}]
        assert result.stderr == f"the request that entry {first} answers: 1 item, 0 changes\n"
        assert result.exit_code == 0
        assert asked_for(recorded.path, entry, "--json").stdout == result.stdout


def test_the_words_are_those_of_the_target_that_is_named(recorded: Recorded) -> None:
    result = asked_for(recorded.path, recorded.entries[0][0], "--target", "openai-chat/glm-5")
    assert json_lines(result) == [{**REQUEST, "messages": [user("go")]}]


def test_attachments_are_placed_when_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    with Session.create(path, durability="os") as session:
        session.attach(rules("Be brief."))
        session.add(user("go"))
        sent = session.context(R, attachments=True)
        made = session.add_response(asked_of_r(text="so"), to=sent, request=REQUEST)
    (told,) = json_lines(asked_for(path, made.entries[0].id, "--attachments"))
    assert told["input"] == as_decoded(sent.items)
    (told,) = json_lines(asked_for(path, made.entries[0].id))
    assert told["input"] == [user("go")]


def test_items_that_were_recorded_are_shown_and_it_is_told(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    whole = {"model": "glm-5", "messages": [user("as it was")]}
    with Session.create(path, durability="os") as session:
        session.add(user("go"))
        answer = {"choices": [{"message": {"role": "assistant", "content": "so"}, "finish_reason": "stop"}]}
        made = session.add_response(answer, to=session.context(C), request=whole)
    result = asked_for(path, made.entries[0].id)
    assert json_lines(result) == [whole]
    assert result.stderr == (
        f"the request that entry {made.entries[0].id} answers, with the items that were recorded in it\n"
    )


# ------------------------------------------------------------------------------- errors


def test_a_response_without_a_request_is_told_with_its_entry(recorded: Recorded) -> None:
    first, last = recorded.entries[1][0], recorded.entries[1][-1]
    told = failed(asked_for(recorded.path, last))
    assert told == f"Error: {recorded.path}: entry {first}: no request is on record for this response\n"


def test_an_entry_of_no_response_is_told_with_the_next_one(recorded: Recorded) -> None:
    assert failed(asked_for(recorded.path, recorded.question)) == (
        f"Error: {recorded.path}: entry {recorded.question}: it belongs to no response that is on record;"
        f" the next one begins at entry {recorded.entries[0][0]}\n"
    )


def test_an_entry_that_is_not_there_is_told(recorded: Recorded) -> None:
    assert "no entry has the id 'nope'" in failed(asked_for(recorded.path, "nope"))


def test_a_lost_sidecar_is_told(recorded: Recorded) -> None:
    recorded.path.with_suffix(".details.jsonl").unlink()
    told = failed(asked_for(recorded.path, recorded.entries[0][0]))
    assert "the sidecar does not hold the request of this response" in told


def test_where_nobody_says_who_was_asked_a_target_is_wanted(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    with Session.create(path, durability="os") as session:
        session.add(user("go"))
        session.add_response(asked_of_r(text="so"), to=session.context(R), request={"a": 1})
        (digest,) = (name.partition(":")[2] for name, _ in session.store.details())
    make(path, said("x", "assistant", "so", response=ResponseRecord(request=digest)))
    assert "nothing tells which model was asked; name it as the target" in failed(asked_for(path, "x"))
    assert asked_for(path, "x", "--target", "openai-chat/m").exit_code == 0


def test_what_the_api_would_refuse_is_told_with_the_entry(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    with Session.create(path, durability="os") as session:
        session.add(user("go"))
        made = session.add_response(asked_of_r(text="so"), to=session.context(R), request={"a": 1})
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([lines[0], *lines[2:]]))
    told = failed(asked_for(path, made.entries[0].id))
    assert told.startswith(
        f"Error: {path}: at {made.entries[0].id}: openai-responses would refuse this context"
    )


@pytest.mark.parametrize(
    "words", [("--request",), ("--request", "--at", "x", "--explain"), ("--request", "--at", "x", "--strict")]
)
def test_wrong_usage_ends_with_2(words: tuple[str, ...], recorded: Recorded) -> None:
    told = failed(run("context", recorded.path, *words), code=2)
    assert "--request wants --at, and neither --explain nor --strict" in told


def test_sessions_that_record_no_requests_say_so(tmp_path: Path) -> None:
    usage = {"input_tokens": 9, "output_tokens": 1, "total_tokens": 10}
    records: list[dict[str, Any]] = [
        {"type": "session_meta", "payload": {"id": "s", "timestamp": "2026-01-02T12:00:00Z"}},
        {"type": "response_item", "payload": {"type": "message", "role": "assistant", "content": []}},
        {
            "type": "event_msg",
            "payload": {
                "type": "token_count",
                "info": {"total_token_usage": usage, "last_token_usage": usage},
            },
        },
    ]
    path = tmp_path / "rollout.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    (said_there,) = [
        event["entry"] for event in json_lines(run("replay", "--json", path)) if event["event"] == "said"
    ]
    assert "no request is on record for this response" in failed(asked_for(path, said_there))


def test_damage_is_told_and_the_request_is_shown(recorded: Recorded) -> None:
    with recorded.path.open("ab") as file:
        file.write(b"{broken\n")
    make(recorded.path, said("v", "user", "on"))
    result = asked_for(recorded.path, recorded.entries[0][0])
    assert result.stderr.startswith(f"{recorded.path}: line ")
    assert len(json_lines(result)) == 1
    assert result.exit_code == 0


# -------------------------------------------------------------------------- the terminal


def test_it_works_as_a_process_whose_output_nobody_reads(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    with Session.create(path, durability="os") as session:
        session.add(user("x" * 500_000))
        request = {"model": "gpt-5.4", "instructions": "y" * 500_000}
        made = session.add_response(asked_of_r(text="so"), to=session.context(R), request=request)
    entry = made.entries[0].id
    result = process("context", path, "--at", entry, "--request")
    assert json.loads(result.stdout) == {**request, "input": [user("x" * 500_000)]}
    with subprocess.Popen(
        [sys.executable, "-m", "transcript_log", "context", str(path), "--at", entry, "--request"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        assert len(child.stdout.read(100)) == 100
        child.stdout.close()
        assert b"Traceback" not in child.stderr.read()
        assert child.wait(60) in (0, 1)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(HOSTILE, min_size=4, max_size=4), is_object=st.booleans())
@example(texts=["\x1b[31m\u202e\x9b\r\n\x08"] * 4, is_object=True)
def test_nothing_in_a_request_reaches_the_terminal(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], is_object: bool
) -> None:
    path = tmp_path_factory.mktemp("hostile") / "session.jsonl"
    words, key, model, entry_id = texts
    numbers = iter(range(99))
    with Session.create(path, durability="os", new_id=lambda: f"{next(numbers)}{entry_id}") as session:
        session.add(user(words))
        request: Any = {key: {words: [words]}, "model": model} if is_object else words
        target = Target("openai-responses", model if model.strip() else "m")
        made = session.add_response(asked_of_r(text=words), to=session.context(target), request=request)
    for entry in (made.entries[0].id, "1" + entry_id, entry_id):
        result = asked_for(path, entry)
        assert result.exit_code in (0, 1, 2), result.exception
        assert is_harmless(result.output)
        assert "\t" not in result.output
    (told,) = json_lines(asked_for(path, made.entries[0].id))
    expected = request if is_object else {"request": request}
    assert {name: told[name] for name in expected} == as_decoded(expected)
