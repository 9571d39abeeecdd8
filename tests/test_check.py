"""Every rule finds its fault where it stands, and a sound log gives nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import entries as any_entries
from strategies import logs, texts

from transcript_log import Detail, Finding, JsonlStore, Scan, outcome_payload
from transcript_log.check import check_entries, check_scan, is_sound
from transcript_log.codec import encode_entry, entry_from_value
from transcript_log.entries import Entry, ToolOutcome
from transcript_log.memory import MemoryStore

HEADER = {"type": "session", "version": 3, "id": "s", "timestamp": "2026-01-02T03:04:05Z"}
TIME = "2026-01-02T03:04:06Z"
USAGE = {"usage": {}, "tokensBefore": 0, "tokensAfter": 0, "responseTimestamp": "0001-01-01T00:00:00Z"}


def message(entry_id: str, **item: Any) -> dict[str, Any]:
    return {"id": entry_id, "timestamp": TIME, "type": "message", "message": item}


def user(entry_id: str, text: str = "go") -> dict[str, Any]:
    return message(entry_id, role="user", content=text)


def call(entry_id: str, call_id: str = "c", arguments: str = "{}") -> dict[str, Any]:
    return message(entry_id, type="function_call", call_id=call_id, name="shell", arguments=arguments)


def output(entry_id: str, call_id: str = "c") -> dict[str, Any]:
    return message(entry_id, type="function_call_output", call_id=call_id, output="done")


def compaction(entry_id: str, kept: str | None, summary: str = "the gist") -> dict[str, Any]:
    payload = {"summary": summary, "firstKeptEntryId": kept, **USAGE}
    return {"id": entry_id, "timestamp": TIME, "type": "compaction", "compaction": payload}


def run(entry_id: str, first: str | None = None) -> dict[str, Any]:
    payload: dict[str, Any] = {"startedAt": TIME, "completedAt": TIME}
    if first is not None:
        payload["firstEntryId"] = first
    return {"id": entry_id, "timestamp": TIME, "type": "run", "run": payload}


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "session.jsonl"


def found_in(log: Path, *lines: dict[str, Any] | bytes) -> list[Finding]:
    """What is found in a log of these lines, but for the note that they bear no checksum."""
    raw = [
        line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n" for line in (HEADER, *lines)
    ]
    log.write_bytes(b"".join(raw))
    store = JsonlStore(log)
    return [f for f in check_scan(store.scan(), store.path) if f.rule != "unsealed"]


# ------------------------------------------------------------------ what entries say


CLEAN = [
    user("u1"),
    message("r", type="reasoning", summary=[], encrypted_content="x"),
    call("c1", "a"),
    call("c2", "b"),
    output("o2", "b"),
    output("o1", "a"),
    message("a1", role="assistant", content="done"),
    run("run1", "u1"),
    user("u2"),
    compaction("k", "u2"),
    message("a2", role="assistant", content="still there"),
    run("run2"),
    {"id": "x", "timestamp": TIME, "type": "from-the-future", "data": 1},
]

SAYING: dict[str, tuple[list[dict[str, Any]], int, dict[str, Any]]] = {
    # What the log holds, the line of the fault, and what the finding says.
    "blank-summary": (
        [user("u"), compaction("k", "u", "  \n")],
        3,
        {"severity": "warning", "entry": "k"},
    ),
    "first-kept: not there": (
        [user("u"), compaction("k", "nowhere")],
        3,
        {"rule": "first-kept", "severity": "error", "entry": "k", "says": "'nowhere'"},
    ),
    "first-kept: later": (
        [user("u"), compaction("k", "v"), user("v")],
        3,
        {"rule": "first-kept", "severity": "error", "entry": "k", "says": "no earlier entry"},
    ),
    "first-kept: no message": (
        [user("u"), run("r"), compaction("k", "r")],
        4,
        {"rule": "first-kept", "severity": "error", "entry": "k", "says": "no message"},
    ),
    "run-first-entry": (
        [user("u"), run("r", "nowhere")],
        3,
        {"severity": "warning", "entry": "r", "says": "'nowhere'"},
    ),
    "unanswered-call": (
        [user("u"), call("c1"), user("v")],
        3,
        {"severity": "warning", "entry": "c1", "call": "c", "says": "'shell'"},
    ),
    "unanswered-call: it may still be open": (
        [user("u"), call("c1")],
        3,
        {"rule": "unanswered-call", "severity": "note", "entry": "c1", "call": "c", "says": "still be open"},
    ),
    "output-without-call": (
        [user("u"), output("o", "stray")],
        3,
        {"severity": "warning", "entry": "o", "call": "stray"},
    ),
    "repeated-output": (
        [user("u"), call("c1"), output("o1"), output("o2")],
        4,
        {"severity": "warning", "entry": "o1", "call": "c"},
    ),
    "cut-arguments": (
        [user("u"), call("c1", arguments='{"cmd": "ls'), output("o")],
        3,
        {"severity": "warning", "entry": "c1", "call": "c"},
    ),
}


@pytest.mark.parametrize("name", SAYING)
def test_a_fault_in_what_entries_say_is_found_where_it_stands(name: str, log: Path) -> None:
    lines, line, wanted = SAYING[name]
    (finding,) = found_in(log, *lines)
    assert finding.rule == wanted.get("rule", name)
    assert finding.severity == wanted["severity"]
    assert finding.entry == wanted["entry"]
    assert finding.call == wanted.get("call")
    assert finding.line == line
    assert finding.offset == sum(len(raw) + 1 for raw in log.read_bytes().split(b"\n")[: line - 1])
    assert finding.path == str(log.resolve())
    assert wanted.get("says", "") in finding.message
    assert is_sound([finding]) == (finding.severity == "note")


@pytest.mark.parametrize("name", SAYING)
def test_the_same_fault_is_found_without_a_file(name: str) -> None:
    lines, _, wanted = SAYING[name]
    (finding,) = check_entries([entry_from_value(line) for line in lines])
    assert (finding.rule, finding.entry) == (wanted.get("rule", name), wanted["entry"])
    assert (finding.path, finding.line, finding.offset) == (None, None, None)


def test_a_sound_log_gives_nothing(log: Path) -> None:
    assert found_in(log, *CLEAN) == []
    assert check_entries([entry_from_value(line) for line in CLEAN]) == ()


def test_a_replacement_makes_up_for_a_summary(log: Path) -> None:
    entry = compaction("k", None, "")
    entry["compaction"]["replacement"] = [{"type": "compaction", "encrypted_content": "x"}]
    assert found_in(log, user("u"), entry) == []


def test_what_an_older_compaction_kept_may_lie_before_it(log: Path) -> None:
    lines = [user("u1"), user("u2"), compaction("k1", "u2"), user("u3"), compaction("k2", "u1")]
    assert found_in(log, *lines) == []


def test_calls_whose_ids_come_again_in_a_later_turn_are_no_fault(log: Path) -> None:
    lines = [user("u1"), call("c1"), output("o1"), user("u2"), call("c2"), output("o2")]
    assert found_in(log, *lines) == []


def test_arguments_that_are_no_json_are_none_of_a_custom_tool(log: Path) -> None:
    custom = message("c1", type="custom_tool_call", call_id="c", name="patch", input="*** Begin")
    answer = message("o1", type="custom_tool_call_output", call_id="c", output="ok")
    assert found_in(log, user("u"), custom, answer, call("c2", "d", ""), output("o2", "d")) == []


def test_calls_in_one_message_are_judged_one_by_one(log: Path) -> None:
    blocks = [{"type": "tool_use", "id": name, "name": "shell", "input": {}} for name in ("a", "b")]
    result = [{"type": "tool_result", "tool_use_id": "b", "content": "ok"}]
    found = found_in(
        log,
        user("u"),
        message("m", role="assistant", content=blocks),
        message("o", role="user", content=result),
        message("a", role="assistant", content="done"),
    )
    assert [(f.rule, f.call, f.line) for f in found] == [("unanswered-call", "a", 3)]


# ----------------------------------------------------------------- what the bytes hold


def test_faults_of_the_bytes_and_of_what_they_say_come_in_the_order_of_the_file(log: Path) -> None:
    found = found_in(
        log,
        user("u"),
        output("o", "stray"),
        b"{broken\n",
        run("r", "nowhere"),
        user("u"),
        b'{"id":"torn","times',
    )
    assert [(f.line, f.rule, f.severity) for f in found] == [
        (3, "output-without-call", "warning"),
        (4, "damaged-line", "error"),
        (5, "run-first-entry", "warning"),
        (6, "repeated-entry", "warning"),
        (7, "torn-tail", "note"),
    ]
    assert not is_sound(found)


@pytest.mark.parametrize(
    ("rule", "severity", "line"),
    [
        ("damaged-line", "error", {"id": "", "timestamp": TIME, "type": "message", "message": {}}),
        (
            "checksum",
            "error",
            b'{"id":"e","timestamp":"2026-01-02T03:04:06Z","type":"note","crc":"00000000"}\n',
        ),
        ("repeated-id", "error", user("u", "something else")),
        ("repeated-entry", "warning", user("u")),
        ("doubtful-time", "warning", {**user("v"), "timestamp": "yesterday"}),
        ("torn-tail", "note", b'{"id":"v","timesta'),
    ],
)
def test_a_fault_of_the_bytes_is_found_where_it_stands(
    rule: str, severity: str, line: dict[str, Any] | bytes, log: Path
) -> None:
    (finding,) = found_in(log, user("u"), line)
    offset = len(b"\n".join(log.read_bytes().split(b"\n")[:2])) + 1
    assert (finding.rule, finding.severity, finding.line, finding.offset) == (rule, severity, 3, offset)


def test_lines_without_a_checksum_are_worth_a_note(log: Path) -> None:
    found_in(log, user("u"), user("v"))
    store = JsonlStore(log)
    (finding,) = check_scan(store.scan(), store.path)
    assert (finding.rule, finding.severity) == ("unsealed", "note")
    assert "2 of 2" in finding.message
    assert is_sound([finding])


def test_a_log_of_our_own_has_nothing_to_find(log: Path) -> None:
    store = JsonlStore(log)
    outcome = outcome_payload(ToolOutcome(status="success"))
    store.append(*map(entry_from_value, CLEAN), details=[Detail(id="a", payload=outcome)])
    assert check_scan(store.scan(), store.path) == ()


def test_a_fault_in_the_sidecar_comes_last_and_names_its_file(log: Path) -> None:
    log.with_name("session.details.jsonl").write_bytes(b'{"id":"c","payload":1}\n[]\n{"id":"d"')
    found = found_in(log, user("u"), output("o"))
    assert [(f.rule, f.line, Path(f.path or "").name) for f in found] == [
        ("output-without-call", 3, "session.jsonl"),
        ("damaged-line", 2, "session.details.jsonl"),
        ("torn-tail", 3, "session.details.jsonl"),
    ]


def test_a_log_that_is_not_there_has_nothing_wrong_with_it(log: Path) -> None:
    assert check_scan(JsonlStore(log).scan(), str(log)) == ()


def test_a_store_in_memory_can_be_checked_too() -> None:
    store = MemoryStore()
    store.append(entry_from_value(user("u")), entry_from_value(output("o")))
    (finding,) = check_scan(store.scan())
    assert (finding.rule, finding.line, finding.path) == ("output-without-call", 3, None)


# ---------------------------------------------------------------------------- whatever


def in_order(findings: tuple[Finding, ...]) -> bool:
    lines = [finding.line for finding in findings if finding.line is not None]
    return lines == sorted(lines)


@given(
    st.lists(any_entries(), max_size=8),
    st.dictionaries(st.tuples(texts(1), st.none()), st.none(), max_size=2),
)
@settings(max_examples=200)
def test_no_entries_make_it_fail(log: list[Entry], details: dict[tuple[str, str | None], None]) -> None:
    scan = Scan(
        header=None,
        entries=tuple(log),
        places=tuple((line, 10 * line) for line, _ in enumerate(log, 2)),
        details=details,
    )
    found = check_scan(scan, "x.jsonl")
    assert in_order(found)
    assert all(str(finding) and finding.message for finding in found)
    assert check_scan(scan, "x.jsonl") == found


@given(logs())
def test_a_log_whose_ids_lead_somewhere_has_no_fault_in_its_runs_and_boundaries(log: list[Entry]) -> None:
    found = {finding.rule for finding in check_entries(log)}
    assert not found & {"first-kept", "run-first-entry"}


@given(
    st.lists(
        st.one_of(
            logs(max_size=3).map(lambda log: b"".join(encode_entry(entry) + b"\n" for entry in log)),
            st.binary(max_size=30),
            st.sampled_from([b"{broken\n", b"\0" * 20, b"[]\n", b"\n", b'{"id":"e0","type":1}\n', b"\t{}\n"]),
        ),
        max_size=5,
    )
)
def test_no_file_makes_it_fail(tmp_path_factory: pytest.TempPathFactory, parts: list[bytes]) -> None:
    log = tmp_path_factory.getbasetemp() / "any.jsonl"
    log.write_bytes(json.dumps(HEADER).encode() + b"\n" + b"".join(parts))
    store = JsonlStore(log)
    scan = store.scan()
    found = check_scan(scan, store.path)
    assert in_order(found)
    assert is_sound(found) == all(finding.severity == "note" for finding in found)
    assert set(scan.findings) <= set(found)
