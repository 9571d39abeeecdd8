"""``replay --follow`` shows what others add, as they add it, until Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from queue import Empty, Queue
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import logs, simple_entries
from test_history import recorded_logs

from transcript_log import Detail, JsonlStore, ToolOutcome, new_message, outcome_payload
from transcript_log.cli.watching import Shown, added_events
from transcript_log.entries import CompactionEntry, Entry, MessageEntry, RecordedUsage, ResponseRecord
from transcript_log.history import Called, Event, Ran, Responded, build_history

ROOT: Final = Path(__file__).resolve().parent.parent
NOON: Final = datetime(2026, 1, 2, 12, tzinfo=UTC)
PATIENCE: Final = 60.0
"""How long a line may take to come, in seconds. A busy machine is no reason for a test to fail."""

QUIET: Final = 0.6
"""How long nothing has to come, to believe that nothing will: three looks at the file."""


class Follower:
    """The command in a process of its own, its lines as they come."""

    def __init__(self, *words: str | Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "transcript_log", "replay", "--follow", *map(str, words)],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._out: Queue[str] = Queue()
        self._err: Queue[str] = Queue()
        self._readers = [
            threading.Thread(target=self._read, args=args, daemon=True)
            for args in ((self.process.stdout, self._out), (self.process.stderr, self._err))
        ]
        for reader in self._readers:
            reader.start()

    @staticmethod
    def _read(stream: Any, queue: Queue[str]) -> None:
        for line in stream:
            queue.put(line.decode().rstrip("\n"))

    def until(self, wanted: str) -> list[str]:
        """The lines up to the one that is wanted."""
        return self._until(self._out, wanted)

    def told(self, wanted: str) -> list[str]:
        """The same of stderr."""
        return self._until(self._err, wanted)

    def _until(self, queue: Queue[str], wanted: str) -> list[str]:
        lines: list[str] = []
        while not lines or wanted not in lines[-1]:
            try:
                lines.append(queue.get(timeout=PATIENCE))
            except Empty:
                raise AssertionError(f"{wanted!r} never came: {lines}") from None
        return lines

    def event(self) -> dict[str, Any]:
        """The next line of ``--json``."""
        return dict(json.loads(self._out.get(timeout=PATIENCE)))

    def more(self, seconds: float = QUIET) -> list[str]:
        """What comes within a while, which is nothing if all is well."""
        time.sleep(seconds)
        lines = []
        while not self._out.empty():
            lines.append(self._out.get())
        return lines

    def interrupt(self) -> tuple[int, list[str], list[str]]:
        """Ctrl-C: the exit status, and what is left on stdout and stderr."""
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(PATIENCE)
        for reader in self._readers:
            reader.join(PATIENCE)
        return code, list(self._out.queue), list(self._err.queue)


@pytest.fixture
def followers() -> Iterator[list[Follower]]:
    started: list[Follower] = []
    yield started
    for follower in started:
        follower.process.kill()
        follower.process.wait()
        for stream in (follower.process.stdout, follower.process.stderr):
            assert stream is not None
            stream.close()


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "session.jsonl"


def said(role: str, text: str) -> MessageEntry:
    return new_message({"role": role, "content": text})


def calls(*ids: str) -> MessageEntry:
    blocks = [{"type": "tool_use", "id": name, "name": f"tool-{name}", "input": {}} for name in ids]
    return new_message({"role": "assistant", "content": blocks})


def result(call_id: str, text: str) -> MessageEntry:
    block = {"type": "tool_result", "tool_use_id": call_id, "content": text}
    return new_message({"role": "user", "content": [block]})


def outcome(call: MessageEntry, call_id: str, code: int) -> Detail:
    status = ToolOutcome(status="failed" if code else "success", exit_code=code)
    return Detail(id=call_id, entry=call.id, payload=outcome_payload(status))


def test_what_another_process_appends_is_shown_as_it_comes(log: Path, followers: list[Follower]) -> None:
    store = JsonlStore(log)
    store.append(said("user", "first"))
    follower = Follower(log)
    followers.append(follower)
    follower.until("user       first")
    store.append(said("assistant", "second"))
    assert follower.until("assistant  second") == ["assistant  second"]
    store.append(said("user", "third"), said("assistant", "fourth"))
    lines = follower.until("assistant  fourth")
    assert lines[0] == ""
    assert lines[1].startswith("── turn 2 ──")
    assert lines[2:] == ["user       third", "assistant  fourth"]
    assert follower.more() == []
    assert follower.interrupt() == (0, [], [])


def test_an_answer_that_comes_later_is_shown_with_its_outcome(log: Path, followers: list[Follower]) -> None:
    store = JsonlStore(log)
    both = calls("a", "b")
    store.append(said("user", "go"), both)
    follower = Follower(log)
    followers.append(follower)
    lines = follower.until("tool-b")
    assert "         → not answered so far" in lines
    follower.until("→ not answered so far")
    # The outcomes of calls in one message come one by one, and in no order.
    store.append(result("b", "of b"), details=[outcome(both, "b", 0)])
    assert follower.until("of b") == [
        "output     tool-b",
        "         → success, exit status 0",
        "           of b",
    ]
    store.append(said("assistant", "meanwhile"))
    assert follower.until("meanwhile") == ["assistant  meanwhile"]
    store.append(result("a", "of a"), details=[outcome(both, "a", 2)])
    assert follower.until("of a") == [
        "output     tool-a",
        "         → failed, exit status 2",
        "           of a",
    ]
    later = calls("c")
    store.append(later)
    store.append(result("c", "of c"))
    follower.until("of c")
    assert follower.more() == []
    assert follower.interrupt() == (0, [], [])


def test_each_event_is_a_line_of_json_at_once(log: Path, followers: list[Follower]) -> None:
    store = JsonlStore(log)
    first = said("user", "first")
    store.append(first)
    follower = Follower("--json", log)
    followers.append(follower)
    assert follower.event()["text"] == "first"
    for number in range(3):
        store.append(said("assistant", f"answer {number}"))
        event = follower.event()
        assert (event["event"], event["text"], event["turn"]) == ("said", f"answer {number}", 1)
    assert follower.interrupt() == (0, [], [])


def test_a_limit_ends_it(log: Path, followers: list[Follower]) -> None:
    store = JsonlStore(log)
    store.append(said("user", "first"))
    follower = Follower("--json", "--limit", "2", log)
    followers.append(follower)
    assert follower.event()["text"] == "first"
    store.append(said("user", "second"), said("user", "third"))
    assert follower.event()["text"] == "second"
    assert follower.process.wait(PATIENCE) == 0
    assert follower.more(0) == []


def test_what_is_damaged_later_is_told_once_and_the_rest_shown(log: Path, followers: list[Follower]) -> None:
    store = JsonlStore(log)
    store.append(said("user", "first"))
    with log.open("ab") as file:
        file.write(b"{old damage\n")
    follower = Follower(log)
    followers.append(follower)
    (line,) = follower.told("line 3")
    assert f"{log}: line 3 (byte " in line
    follower.until("user       first")
    with log.open("ab") as file:
        file.write(b"{new damage\n")
    (line,) = follower.told("line 4")
    assert f"{log}: line 4 (byte " in line
    assert ": error: not JSON" in line
    JsonlStore(log).append(said("assistant", "all the same"))
    assert follower.until("all the same") == ["assistant  all the same"]
    assert follower.interrupt() == (0, [], [])


def test_half_of_a_line_is_not_shown_before_it_is_whole(log: Path, followers: list[Follower]) -> None:
    store = JsonlStore(log)
    store.append(said("user", "first"))
    follower = Follower(log)
    followers.append(follower)
    follower.until("user       first")
    item = {"role": "user", "content": "x"}
    entry = {"id": "e2", "timestamp": "2026-01-02T12:00:00Z", "type": "message", "message": item}
    line = json.dumps(entry).encode()
    with log.open("ab", buffering=0) as file:
        file.write(line[:40])
        assert follower.more() == []
        file.write(line[40:] + b"\n")
    assert follower.until("user       x")[-1] == "user       x"
    assert follower.interrupt() == (0, [], [])


def test_a_log_that_is_mended_under_its_eyes_gives_nothing_twice(
    log: Path, followers: list[Follower]
) -> None:
    store = JsonlStore(log)
    store.append(said("user", "first"))
    with log.open("ab") as file:
        file.write(b"{damage\n")
    follower = Follower(log)
    followers.append(follower)
    follower.until("user       first")
    store.salvage(apply=True)
    assert follower.more() == []
    JsonlStore(log).append(said("assistant", "second"))
    assert follower.until("second") == ["assistant  second"]
    code, out, _ = follower.interrupt()
    assert (code, out) == (0, [])


# -------------------------------------------------------------------------------- Codex


def rollout(*payloads: dict[str, Any]) -> list[bytes]:
    return [
        json.dumps({"timestamp": "2026-01-02T12:00:00Z", "type": kind, "payload": payload}).encode() + b"\n"
        for kind, payload in (
            (
                (
                    "session_meta"
                    if "cwd" in payload
                    else "event_msg"
                    if "turn" in payload
                    else "response_item"
                ),
                payload,
            )
            for payload in payloads
        )
    ]


CODEX: Final = rollout(
    {"id": "s-1", "timestamp": "2026-01-02T12:00:00Z", "cwd": "/home/user"},
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "first"}]},
    {"type": "function_call", "name": "shell", "call_id": "one", "arguments": '{"cmd":"ls"}'},
    {"type": "exec_command_end", "call_id": "one", "exit_code": 0, "turn": 1},
    {"type": "function_call_output", "call_id": "one", "output": "a.txt"},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "second"}]},
    {"type": "turn_aborted", "turn": 1, "reason": "interrupted"},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "late"}]},
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "third"}]},
)


def test_a_codex_rollout_that_grows_is_shown_as_it_comes(log: Path, followers: list[Follower]) -> None:
    log.write_bytes(b"".join(CODEX[:3]))
    follower = Follower(log)
    followers.append(follower)
    follower.until("→ not answered so far")
    with log.open("ab", buffering=0) as file:
        file.write(CODEX[3] + CODEX[4][:30])
        assert follower.more() == []
        file.write(CODEX[4][30:])
        assert follower.until("a.txt") == [
            "output     shell",
            "         → success, exit status 0",
            "           a.txt",
        ]
        file.write(CODEX[5])
        assert follower.until("second") == ["assistant  second"]
        # The run that is broken off here stands before what Codex writes after its mark, or behind.
        file.write(CODEX[6])
        assert follower.until("run ")[0].startswith("run        cancelled")
        file.write(CODEX[7])
        assert follower.until("late") == ["assistant  late"]
        file.write(CODEX[8])
        assert follower.until("third")[-1] == "user       third"
    assert follower.more() == []
    assert follower.interrupt() == (0, [], [])


def counted(total: int, output: int) -> dict[str, Any]:
    """A token count of Codex: of the last response, and of all so far."""
    last = {
        "input_tokens": 20,
        "cached_input_tokens": 5,
        "output_tokens": output,
        "total_tokens": 20 + output,
    }
    info = {"last_token_usage": last, "total_token_usage": {**last, "total_tokens": total}}
    return {"type": "token_count", "turn": 1, "info": info}


def test_what_a_response_took_is_shown_when_codex_tells(log: Path, followers: list[Follower]) -> None:
    """That is after its items were shown, at times after the outputs of its calls too."""
    told = rollout(counted(23, 3), counted(47, 4), counted(47, 4))
    log.write_bytes(b"".join(CODEX[:3]))
    follower = Follower(log)
    followers.append(follower)
    follower.until("→ not answered so far")
    with log.open("ab", buffering=0) as file:
        file.write(told[0])
        assert follower.until("response") == ["response   20 in (5 cached), 3 out"]
        file.write(CODEX[4])
        follower.until("a.txt")
        file.write(CODEX[5] + told[1])
        assert follower.until("response") == ["assistant  second", "response   20 in (5 cached), 4 out"]
        file.write(told[2])
    assert follower.more() == []
    assert follower.interrupt() == (0, [], [])


def test_what_is_learned_of_a_session_that_is_read_again_is_given_once() -> None:
    ask, said_so, done = said("user", "go"), calls("a", "b"), result("a", "x")
    known = replace(said_so, response=ResponseRecord(id="r", usage=RecordedUsage(input=3, output=1)))
    better = replace(said_so, response=ResponseRecord(id="r", usage=RecordedUsage(input=3, output=9)))
    shown = Shown()

    def more(*entries: Entry) -> list[tuple[str, Any]]:
        return [
            (type(event).__name__, getattr(event, "call_id", None))
            for event in shown.more(build_history(entries).events)
        ]

    assert more(ask, said_so) == [("Said", None), ("Called", "a"), ("Called", "b")]
    assert more(ask, said_so) == []
    assert more(ask, known) == [("Responded", None)]
    assert more(ask, known, done) == [("Called", "a")]
    assert more(ask, better, done) == [("Responded", None)]
    again = result("a", "y")
    assert more(ask, better, done, again) == [("Called", "a"), ("RepeatedOutput", "a")]
    assert more(ask, better, done, again) == []


def test_a_codex_rollout_may_go_away_and_come_back(log: Path, followers: list[Follower]) -> None:
    log.write_bytes(b"".join(CODEX[:2]))
    follower = Follower(log)
    followers.append(follower)
    follower.until("user       first")
    aside = log.with_name("aside")
    log.rename(aside)
    assert follower.more() == []
    with aside.open("ab") as file:
        file.write(CODEX[5])
    aside.rename(log)
    assert follower.until("second") == ["assistant  second"]
    assert follower.interrupt() == (0, [], [])


def test_a_line_of_a_codex_rollout_that_is_broken_is_told_once(log: Path, followers: list[Follower]) -> None:
    log.write_bytes(b"".join(CODEX[:2]))
    follower = Follower(log)
    followers.append(follower)
    follower.until("user       first")
    with log.open("ab", buffering=0) as file:
        file.write(b"{broken\n")
        (line,) = follower.told("line 3")
        assert line.startswith(f"{log}: line 3 (byte ")
        file.write(CODEX[5])
    assert follower.until("second") == ["assistant  second"]
    assert follower.interrupt() == (0, [], [])


def test_a_session_that_cannot_be_read_any_more_ends_it_with_a_line(
    log: Path, followers: list[Follower]
) -> None:
    log.write_bytes(b"".join(CODEX[:2]))
    follower = Follower(log)
    followers.append(follower)
    follower.until("user       first")
    log.write_bytes(b"something else\n")
    assert follower.process.wait(PATIENCE) == 1
    (line,) = follower.told("Error: ")
    assert line.startswith(f"Error: {log}: line 1")


# ------------------------------------------------------------------- events of batches


def key(event: Event) -> tuple[str, object]:
    """What tells one event from another: an entry holds several calls, but one of anything else here."""
    return event.entry, getattr(event, "call_id", None)


def conversation() -> st.SearchStrategy[Entry]:
    """Entries with calls and outputs among them, in any order; each call has an id of its own."""
    ids = st.sampled_from("abcdef")

    def call(names: list[str]) -> dict[str, Any]:
        return {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": n, "name": "t", "input": {}} for n in names],
        }

    def output(name: str) -> dict[str, Any]:
        return {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": name, "content": f"of {name}"}],
        }

    question = st.just({"role": "user", "content": "go on"})
    items = st.one_of(
        st.lists(ids, min_size=1, max_size=2, unique=True).map(call),
        ids.map(output),
        ids.map(output),
        question,
    )
    messages = items.map(lambda item: MessageEntry(id="?", timestamp=NOON, message=item))
    return st.one_of(messages, messages, messages, simple_entries())


def in_good_order(log: list[Entry]) -> list[Entry]:
    """The log with no call twice, and with no output before its call or twice."""
    open_calls: set[str] = set()
    seen: set[str] = set()
    kept = []
    for entry in log:
        content = entry.message.get("content") if isinstance(entry, MessageEntry) else None
        blocks = content if isinstance(content, list) else []
        called = {block["id"] for block in blocks if "id" in block}
        answered = {block["tool_use_id"] for block in blocks if "tool_use_id" in block}
        if not seen & called and answered <= open_calls:
            seen |= called
            open_calls = (open_calls | called) - answered
            kept.append(entry)
    return kept


@given(logs(conversation(), max_size=24).map(in_good_order), st.data())
def test_what_comes_in_batches_is_what_the_whole_log_gives(log: list[Entry], data: st.DataObject) -> None:
    """Each event once, but a call once more when its answer comes; and the last word is right."""
    edges = sorted(data.draw(st.lists(st.integers(0, len(log)), max_size=4)))
    first, *pieces = [log[start:end] for start, end in zip([0, *edges], [*edges, len(log)], strict=True)]
    shown = [*build_history(first).events, *added_events(first, {}, [(tuple(piece), {}) for piece in pieces])]
    whole = build_history(log).events
    last = {key(event): event for event in shown}
    assert last == {key(event): event for event in whole}
    times = Counter(map(key, shown))
    for event in whole:
        late = isinstance(event, Called) and event.answered and times[key(event)] == 2
        assert times[key(event)] == 1 or late
    others = [event for event in shown if not isinstance(event, Called)]
    assert others == [event for event in whole if not isinstance(event, Called)]


def steady(log: list[Entry]) -> list[Entry]:
    """The log with no more to learn of a response from its later pieces."""

    def told(entry: Entry) -> Entry:
        if isinstance(entry, MessageEntry) and entry.response is not None and entry.response.id is not None:
            usage = RecordedUsage(input=len(entry.response.id), output=7)
            return replace(entry, response=ResponseRecord(id=entry.response.id, model="m", usage=usage))
        if isinstance(entry, CompactionEntry):
            return replace(entry, compaction=replace(entry.compaction, response_id=None))
        return entry

    return [told(entry) for entry in log]


@given(recorded_logs().map(steady), st.data())
def test_responses_and_runs_that_come_in_batches_are_those_of_the_whole_log(
    log: list[Entry], data: st.DataObject
) -> None:
    edges = sorted(data.draw(st.lists(st.integers(0, len(log)), max_size=4)))
    first, *pieces = [log[start:end] for start, end in zip([0, *edges], [*edges, len(log)], strict=True)]
    shown = [*build_history(first).events, *added_events(first, {}, [(tuple(piece), {}) for piece in pieces])]
    whole = build_history(log).events
    for kind in (Responded, Ran):
        # In a batch of its own a response ends earlier than with more of its items behind it.
        assert [event for event in shown if isinstance(event, kind)] == [
            event for event in whole if isinstance(event, kind)
        ]


def test_a_call_is_given_again_only_for_its_own_answer() -> None:
    both, of_b = calls("a", "b"), result("b", "of b")
    batches: list[tuple[tuple[Entry, ...], dict[Any, Any]]] = [
        ((of_b,), {}),
        ((said("user", "next"),), {("a", both.id): outcome(both, "a", 0).payload}),
        ((result("a", "of a"),), {("a", both.id): outcome(both, "a", 0).payload}),
    ]
    events = list(added_events([said("user", "go"), both], {}, batches))
    given_again = [(e.call_id, e.output, e.turn) for e in events if isinstance(e, Called)]
    assert given_again == [("b", "of b", 1), ("a", "of a", 1)]
    assert [event.turn for event in events] == [1, 2, 1]


def test_an_answer_that_a_model_was_told_of_stays_the_one_that_counts() -> None:
    both = calls("a", "b")
    made_up = replace(result("b", "unknown"), stand_in=True)
    batches: list[tuple[tuple[Entry, ...], dict[Any, Any]]] = [((made_up,), {}), ((result("b", "of b"),), {})]
    events = list(added_events([said("user", "go"), both], {}, batches))
    assert [(type(event).__name__, getattr(event, "output", None)) for event in events] == [
        ("Called", "unknown"),
        ("RepeatedOutput", "of b"),
    ]
