"""Who wrote a session file is told by its first few kilobytes."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transcript_log.importers import SourceFormat, SourceLines, sniff

_FOLDERS: dict[str, SourceFormat] = {"codex": "codex", "claude-code": "claude-code", "pi": "pi"}


def lines(*values: Any) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


_TIME = "2026-01-02T03:04:05Z"
_SHARED = {"type": "session", "version": 3, "id": "s", "timestamp": _TIME, "cwd": "/tmp"}
_OURS = {**_SHARED, "harness": "transcript-log"}
_SAID = {"role": "user", "content": "hi"}
_PI_ENTRY = {"type": "message", "id": "1", "parentId": None, "timestamp": _TIME, "message": _SAID}
_OUR_ENTRY = {"id": "1" * 24, "timestamp": _TIME, "type": "message", "message": _SAID}
_CLAUDE = {"parentUuid": None, "isSidechain": False, "sessionId": "s", "type": "user", "message": _SAID}

_EXAMPLES: list[tuple[str, bytes, SourceFormat | None]] = [
    ("our header", lines(_OURS), "transcript-log"),
    ("our header before an entry with a parent", lines(_OURS, _PI_ENTRY), "transcript-log"),
    ("a shared header and our entry", lines(_SHARED, _OUR_ENTRY), "transcript-log"),
    (
        "a shared header and an entry of ours with foreign keys",
        lines(_SHARED, {**_OUR_ENTRY, "sessionId": "x"}),
        "transcript-log",
    ),
    ("the barest header", b'{"type":"session","version":3}\n', "transcript-log"),
    ("a newer header", lines({"type": "session", "version": 4}, _OUR_ENTRY), "transcript-log"),
    ("our entries behind a broken header", b'{"type":"sess\n' + lines(_OUR_ENTRY), "transcript-log"),
    ("a shared header and a pi entry", lines(_SHARED, _PI_ENTRY), "pi"),
    ("a shared header and a pi entry that is cut", lines(_SHARED, _PI_ENTRY)[:-40], "pi"),
    ("a shared header and a change of model", lines(_SHARED, {"type": "model_change", "id": "1"}), "pi"),
    ("a fork's header", lines({**_SHARED, "parentSession": "/old.jsonl"}), "pi"),
    (
        "pi version 1",
        lines({"type": "session", "id": "s", "timestamp": _TIME, "cwd": "/", "provider": "x"}),
        "pi",
    ),
    ("pi version 2", lines({**_SHARED, "version": 2}), "pi"),
    ("pi without a header", lines(_PI_ENTRY), "pi"),
    ("pi version 1 without a header", lines({"type": "message", "timestamp": _TIME, "message": _SAID}), "pi"),
    ("codex", lines({"timestamp": _TIME, "type": "session_meta", "payload": {"id": "s"}}), "codex"),
    (
        "codex with an unknown first record",
        lines({"timestamp": _TIME, "type": "new", "payload": {}}, {"type": "event_msg", "payload": {}}),
        "codex",
    ),
    ("flat codex", lines({"id": "s", "timestamp": _TIME, "instructions": None, "git": {}}), "codex"),
    (
        "flat codex, its long header cut",
        lines({"id": "s", "timestamp": _TIME, "instructions": "x" * 9000})[:4096],
        "codex",
    ),
    ("flat codex without its header", lines({"record_type": "state"}), "codex"),
    ("flat codex items", lines({"type": "message", **_SAID}), "codex"),
    ("the first codex", b'{\n  "session": {\n    "id": "s"\n  },\n  "items": []\n}\n', "codex"),
    ("claude", lines(_CLAUDE), "claude-code"),
    (
        "claude beginning with a snapshot",
        lines({"type": "file-history-snapshot", "messageId": "m"}, _CLAUDE),
        "claude-code",
    ),
    (
        "claude beginning with a summary",
        lines({"type": "summary", "summary": "s", "leafUuid": "u"}),
        "claude-code",
    ),
    (
        "claude beginning with a kind of its own",
        lines({"type": "brand-new", "sessionId": "s"}),
        "claude-code",
    ),
    ("claude without ids", lines({"type": "assistant", "uuid": "u", "message": _SAID}), "claude-code"),
    ("nothing", b"", None),
    ("no JSON", b"hello\nworld\n", None),
    ("another log", lines({"type": "event", "data": "other log"}), None),
    ("another log with payloads", lines({"timestamp": _TIME, "type": "other", "payload": {}}), None),
    (
        "events chained by a parent",
        lines(
            {"type": "session.start", "data": {}, "id": "1", "timestamp": _TIME, "parentId": None},
            {"type": "abort", "data": {}, "id": "2", "parentId": "1"},
        ),
        None,
    ),
    ("metadata of another agent", lines({"sessionId": "s", "projectHash": "h", "startTime": _TIME}), None),
    ("a list", b"[1,2]\n", None),
]


@pytest.mark.parametrize(("head", "format_"), [pytest.param(h, f, id=name) for name, h, f in _EXAMPLES])
def test_each_writer_is_told_by_what_it_writes(head: bytes, format_: SourceFormat | None) -> None:
    assert sniff(head) == format_


@pytest.mark.parametrize(("head", "format_"), [pytest.param(h, f, id=name) for name, h, f in _EXAMPLES])
def test_a_byte_order_mark_blank_lines_and_crlf_do_not_matter(
    head: bytes, format_: SourceFormat | None
) -> None:
    assert sniff(b"\xef\xbb\xbf\r\n\n" + head.replace(b"\n", b"\r\n")) == format_


@pytest.mark.parametrize(("head", "format_"), [pytest.param(h, f, id=name) for name, h, f in _EXAMPLES])
def test_a_torn_line_before_does_not_matter(head: bytes, format_: SourceFormat | None) -> None:
    if format_ is not None and not head.startswith(b"{\n"):
        assert sniff(b'{"timestamp": "20\n\0\0\0\n' + head) == format_


@given(st.binary(max_size=300))
def test_no_bytes_make_it_raise(head: bytes) -> None:
    sniff(head)


@pytest.mark.parametrize("odd", [{}, [], None, 7, True, {"a": []}])
@pytest.mark.parametrize("key", ["type", "version", "payload", "id", "parentId", "harness", "message"])
def test_no_member_that_is_something_else_makes_it_raise(key: str, odd: Any) -> None:
    for record in (_SHARED, _OURS, _PI_ENTRY, _OUR_ENTRY, _CLAUDE):
        for before in ((), (_SHARED,)):
            sniff(lines(*before, {**record, key: odd}, {key: odd}))


@given(st.sampled_from(_EXAMPLES), st.integers(min_value=0, max_value=400), st.binary(max_size=5))
def test_no_cut_and_no_flaw_makes_it_raise(example: Any, cut: int, flaw: bytes) -> None:
    _, head, _ = example
    sniff(head[:cut])
    sniff(head[:cut] + flaw + head[cut:])


def corpus() -> list[Any]:
    named = os.environ.get("TRANSCRIPT_LOG_SHARED")
    shared = Path(named) if named else Path(__file__).resolve().parents[2] / "shared"
    files = sorted((shared / "corpus").rglob("*.jsonl"))
    if not files:
        reason = (
            f"there are no session files under {shared / 'corpus'}; TRANSCRIPT_LOG_SHARED names the folder"
        )
        return [pytest.param(None, "", marks=pytest.mark.skip(reason=reason))]
    return [
        pytest.param(path, _FOLDERS[folder], id=f"{folder}/{path.name}")
        for path in files
        if (folder := path.relative_to(shared / "corpus").parts[0]) in _FOLDERS
    ]


@pytest.mark.parametrize(("path", "format_"), corpus())
def test_real_sessions_are_told_apart(path: Path, format_: SourceFormat) -> None:
    content = path.read_bytes()
    for size in (1024, 4096, len(content)):
        assert sniff(content[:size]) == format_


# ------------------------------------------------------------------------ reading lines


def read(*physical: bytes) -> tuple[list[tuple[int, Any]], SourceLines]:
    source = SourceLines(physical, "file.jsonl")
    return [(record.line, record.value) for record in source], source


def test_records_come_with_their_lines_and_offsets() -> None:
    source = SourceLines([b"\xef\xbb\xbf\n", b'{"a":1}\r\n', b"  \n", b'{"a":2}'])
    places = [(record.line, record.offset, record.value["a"]) for record in source]
    assert places == [(2, 4, 1), (4, 16, 2)]
    assert (source.records, source.broken_lines, source.findings) == (2, 0, [])


@pytest.mark.parametrize(
    ("line", "values", "rule"),
    [
        (b'{"a":1}{"a":2}\n', [1, 2], "joined-lines"),
        (b'{"a":1} \0\0 {"a":2}\n', [1, 2], "joined-lines"),
        (b'\0\0\0{"a":1}\n', [1], "joined-lines"),
        (b'{"a":1}{"a":\n', [1], "broken-line"),
        (b'{"a":{"a":1}\n', [], "broken-line"),
        (b"\0\0\0\n", [], "broken-line"),
        (b'{"a":NaN}\n', [], "broken-line"),
    ],
)
def test_a_broken_line_gives_what_can_be_read_of_it_and_is_told(
    line: bytes, values: list[int], rule: str
) -> None:
    found, source = read(b'{"a":0}\n', line, b'{"a":9}\n')
    assert [value["a"] for _, value in found] == [0, *values, 9]
    (finding,) = source.findings
    assert (finding.rule, finding.line, finding.offset, finding.path) == (rule, 2, 8, "file.jsonl")
    assert (source.broken_lines, source.recovered) == (1, len(values))


def test_a_record_that_a_log_cannot_hold_says_why() -> None:
    lines = [b'{"a":1}\n', b'{"a":123456789012345678901}\n', b'{"a":"\\ud800"}\n', b'{"a":1e999}\n']
    refusals = [record.refusal() for record in SourceLines(lines)]
    assert [refusal is None for refusal in refusals] == [True, False, True, False]
    assert [record.is_doubtful for record in SourceLines(lines)] == [False, True, True, True]
    kept = SourceLines(lines, stored=lambda value: value.get("b"))
    assert [record.refusal() is None for record in kept] == [True, True, True, False]


def test_a_file_that_ends_inside_a_record_has_a_torn_tail() -> None:
    found, source = read(b'{"a":0}\n', b'{"a":1}{"a":')
    assert [value["a"] for _, value in found] == [0, 1]
    assert [finding.rule for finding in source.findings] == ["torn-tail"]


def test_bytes_that_are_no_utf8_are_replaced_and_told() -> None:
    found, source = read(b'{"a":"x\xff"}\n')
    assert found == [(1, {"a": "x\ufffd"})]
    assert [finding.rule for finding in source.findings] == ["invalid-utf8"]
    assert source.broken_lines == 0


def test_what_is_no_object_is_told() -> None:
    found, source = read(b"[1]\n", b'{"a":0}\n')
    assert [value for _, value in found] == [{"a": 0}]
    assert [finding.rule for finding in source.findings] == ["no-record"]


@given(st.lists(st.binary(max_size=40), max_size=5))
def test_no_lines_make_reading_raise(physical: list[bytes]) -> None:
    found, source = read(*physical)
    assert source.records == len(found)
