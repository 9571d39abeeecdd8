"""A damaged log becomes one that can be read, and nothing that was there is lost."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from test_lock import holder
from test_seal import HEADER, batch_of, body_of, sealed

from transcript_log import (
    CorruptLogError,
    Detail,
    HeaderError,
    JsonlStore,
    LogBusyError,
    MessageEntry,
    StorageError,
)

_NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)


def said(entry_id: str, text: str = "hi") -> MessageEntry:
    return MessageEntry(id=entry_id, timestamp=_NOON, message={"role": "user", "content": text})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log.jsonl"


def quick(path: Path, **options: Any) -> JsonlStore:
    return JsonlStore(path, **{"durability": "os", **options})


def salvaged(path: Path, data: bytes) -> bytes:
    """What a salvage makes of a file."""
    path.write_bytes(data)
    quick(path).salvage(apply=True)
    return path.read_bytes()


def rules(findings: Sequence[Any]) -> list[tuple[str, int | None]]:
    return [(finding.rule, finding.line) for finding in findings]


# ------------------------------------------------------------------- any damage at all

_BATCHES = [
    [body_of("a", "x" * 30)],
    [body_of("b"), body_of("c", "é\u2028日"), body_of("d")],
    [body_of("e", "1234567890" * 3)],
    [body_of("f"), body_of("g")],
    [b'{"id":"k","timestamp":"2026-01-02T03:04:05Z","type":"compaction","compaction":{"summary":"s"}}'],
    [body_of("h", "x" * 700)],
]


_ACCIDENTS = ["flip", "cut", "delete", "zero", "copy", "junk", "batch", "glue", "line"]


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """The lines of a log behind its header, and what accidents of many sorts have made of them."""
    plain = draw(st.sets(st.sampled_from([0, 2, 4])))
    batches = [bodies[0] + b"\n" if at in plain else batch_of(*bodies) for at, bodies in enumerate(_BATCHES)]
    data = bytearray(b"".join(batches))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(data)))
        size = draw(st.integers(0, 80))
        match draw(st.sampled_from(_ACCIDENTS)):
            case "flip" if at < len(data):
                data[at] ^= draw(st.integers(1, 255))
            case "cut":
                del data[at:]
            case "delete":
                del data[at : at + size]
            case "zero":
                data[at : at + size] = bytes(min(size, len(data) - at))
            case "copy":
                data += data[at : at + 10 * size]
            case "junk":
                data[at:at] = draw(st.binary(max_size=20))
            case "batch":
                data += draw(st.sampled_from(batches))
            case "glue" if (found := data.find(b"\n", at)) >= 0:
                data[found : found + 1] = draw(st.sampled_from([b"", b"\0" * 20, b" ", b"\r"]))
            case "line":
                number = draw(st.integers(0, 3))
                data += draw(st.sampled_from(_ODD)) % {b"id": b"abcz"[number : number + 1]}
    return bytes(data)


_ODD = [
    b'{"id":"%(id)s","timestamp":"2026-01-02T03:04:05Z","type":"message","message":{"role":"user"}}\n',
    b'{"id":"%(id)s","timestamp":1767323045678,"type":"message","message":{"role":"user"}}\n',
    b'{"id":"%(id)s","timestamp":null,"type":"message","message":{"role":"user"}}\n',
    b'{"id":"%(id)s","timestamp":"2026-01-02 03:04:05","type":"note","text":"t"}\n',
    b'{"id":"%(id)s","type":"note"}{"id":"z%(id)s","type":"note","timestamp":"2026-01-02T03:04:05Z"}\n',
    b'\0\0{"id":"%(id)s","timestamp":"2026-01-02T03:04:05Z","type":"note"} \0\n',
    b'{"id":"%(id)s","timestamp":"2026-01-02T03:04:05Z","type":"run","run":{}}\n',
    b'{"id":"n%(id)s","timestamp":"2026-01-02T03:04:05Z","type":"message","message":{"n":1e400}}\n',
]


@settings(max_examples=80)
@given(damaged())
@example(b"")
@example(batch_of(*_BATCHES[1]) + batch_of(*_BATCHES[1])[:-40])
def test_whatever_happened_behind_the_header_a_salvaged_log_can_be_read(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    path = tmp_path_factory.mktemp("log") / "log.jsonl"
    old = HEADER + data
    path.write_bytes(old)
    store = quick(path)
    scan = store.scan()
    plan, sidecar = store.salvage()
    assert path.read_bytes() == old
    assert sorted(os.listdir(path.parent)) == ["log.jsonl"]
    deed, _ = store.salvage(apply=True)

    assert (deed.kept, deed.rewritten, deed.applied) == (plan.kept, plan.rewritten, plan.is_needed)
    assert rules(deed.findings) == rules(plan.findings)
    assert not sidecar.is_needed
    if plan.is_needed:
        assert deed.backup == f"{path}.before-salvage-1"
        assert Path(deed.backup).read_bytes() == old
    else:
        assert (deed.backup, path.read_bytes()) == (None, old)
    loaded = quick(path).load()
    assert {finding.rule for finding in quick(path).scan().findings} <= {"torn-tail"}
    # What a scan reads is still there, under another id where its own was taken.
    said_now = [replace(entry, id="", timestamp=None) for entry in loaded]
    assert all(replace(entry, id="", timestamp=None) in said_now for entry in scan.entries)
    assert {entry.id for entry in scan.entries} <= {entry.id for entry in loaded}
    assert len(loaded) <= len(scan.entries)
    again, _ = quick(path).salvage(apply=True)
    assert (again.is_needed, again.applied, again.backup) == (False, False, None)
    for line in _whole_lines(data):
        assert line in path.read_bytes()
    assert store.append(said("new")) == "new"
    assert [entry.id for entry in quick(path).load()] == [*(entry.id for entry in loaded), "new"]


def _whole_lines(data: bytes) -> list[bytes]:
    """The batches that came through undamaged: each line of them is that of a batch made above."""
    lines = data.split(b"\n")[:-1]
    whole, at = [], 0
    while at < len(lines):
        for bodies in _BATCHES:
            batch = batch_of(*bodies)
            size = len(bodies)
            if b"\n".join(lines[at : at + size]) + b"\n" == batch and (at == 0 or lines[at - 1][:1] != b"\t"):
                whole.append(batch)
                at += size - 1
                break
        at += 1
    # One whose ids stand elsewhere too may be left out, or get other ids.
    return [
        batch for batch in whole if all(data.count(name) == 1 for name in re.findall(rb'"id":"."', batch))
    ]


def test_a_sound_log_is_left_alone_to_the_last_byte_and_inode(path: Path) -> None:
    store = quick(path)
    store.append(said("a"), said("b"), details=[Detail(id="c", payload=1)])
    before = [(place.read_bytes(), place.stat().st_ino) for place in (path, Path(store.details_path))]
    for plan in store.salvage(apply=True):
        assert (plan.is_needed, plan.applied, plan.backup, plan.findings) == (False, False, None, ())
    assert [(place.read_bytes(), place.stat().st_ino) for place in (path, Path(store.details_path))] == before
    assert quick(path.with_name("missing.jsonl")).salvage(apply=True)[0].kept == 0
    assert not path.with_name("missing.jsonl").exists()


# ---------------------------------------------------------------------------- each kind


def test_what_is_whole_stays_byte_for_byte(path: Path) -> None:
    batch, crlf = batch_of(body_of("b"), body_of("c")), body_of("d") + b" \r\n"
    assert salvaged(path, HEADER + batch + b"junk\n" + crlf + b"\n" + sealed(body_of("e"))) == (
        HEADER + batch + crlf + sealed(body_of("e"))
    )


def test_a_batch_with_a_damaged_line_comes_apart_and_keeps_the_rest(path: Path) -> None:
    batch = batch_of(body_of("a"), body_of("b"), body_of("c"))
    lines = batch.splitlines(keepends=True)
    lines[1] = lines[1].replace(b"hi", b"h\0")
    assert salvaged(path, HEADER + b"".join(lines)) == HEADER + sealed(body_of("a")) + sealed(body_of("c"))
    lines[1] = b"\t" + body_of("b", "edited") + b"\n"
    assert salvaged(path, HEADER + b"".join(lines)) == HEADER + b"".join(
        sealed(body) for body in (body_of("a"), body_of("b", "edited"), body_of("c"))
    )


def test_an_edited_line_is_kept_as_it_reads_now(path: Path) -> None:
    edited = sealed(body_of("a", "before")).replace(b"before", b"after")
    salvaged(path, HEADER + edited)
    (entry,) = quick(path).load()
    assert isinstance(entry, MessageEntry)
    assert entry.message["content"] == "after"
    assert quick(path).scan().findings == ()


def test_values_that_fill_a_line_are_each_kept_on_a_line_of_their_own(path: Path) -> None:
    glued = b"\0\0" + sealed(body_of("a"))[:-1] + b" " + body_of("b") + b"\0\n"
    assert salvaged(path, HEADER + glued) == HEADER + sealed(body_of("a")) + sealed(body_of("b"))


def test_half_of_a_line_is_no_value(path: Path) -> None:
    for bad in (body_of("a") + b'{"id":"b","time\n', b"x" + body_of("a") + b"\n", body_of("a") + b"]\n"):
        path.write_bytes(HEADER + bad + sealed(body_of("c")))
        plan, _ = quick(path).salvage(apply=True)
        assert path.read_bytes() == HEADER + sealed(body_of("c"))
        (finding,) = plan.findings
        assert (finding.rule, finding.line, finding.offset) == ("damaged-line", 2, len(HEADER))
        assert "it is left out" in finding.message


def test_an_identical_repeat_goes_and_a_different_entry_of_the_same_id_gets_a_new_one(path: Path) -> None:
    data = (
        HEADER + sealed(body_of("a")) + batch_of(body_of("b"), body_of("a")) + sealed(body_of("a", "other"))
    )
    path.write_bytes(data)
    plan, _ = quick(path).salvage(apply=True)
    assert rules(plan.findings) == [("repeated-entry", 4), ("repeated-id", 5)]
    first, second, third = quick(path).load()
    assert [first.id, second.id] == ["a", "b"]
    assert isinstance(third, MessageEntry)
    assert third.message["content"] == "other"
    assert third.id not in ("a", "b")
    assert repr(third.id) in plan.findings[1].message


def test_a_time_that_is_doubtful_is_written_as_it_was_understood(path: Path) -> None:
    entry = '{"id":"%s","timestamp":%s,"type":"note","x":1}\n'
    lines = [
        entry % ("a", "1767323045678"),
        entry % ("b", '"2026-01-02 03:04:06"'),
        entry % ("c", "null"),
        entry % ("d", '"yesterday"'),
    ]
    path.write_bytes(HEADER + "".join(lines).encode())
    plan, _ = quick(path).salvage(apply=True)
    assert rules(plan.findings) == [
        ("doubtful-time", 2), ("doubtful-time", 3), ("unknown-time", 4), ("unknown-time", 5)
    ]  # fmt: skip
    sixth = datetime(2026, 1, 2, 3, 4, 6, tzinfo=UTC)
    assert [entry.timestamp for entry in quick(path).load()] == [
        datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=UTC), sixth, sixth, sixth
    ]  # fmt: skip


def test_a_torn_tail_goes_with_the_rest_and_stays_in_the_old_file(path: Path) -> None:
    torn = batch_of(body_of("b"), body_of("c"))[:-5]
    path.write_bytes(HEADER + b"junk\n" + sealed(body_of("a")) + torn)
    plan, _ = quick(path).salvage(apply=True)
    assert rules(plan.findings) == [("damaged-line", 2), ("torn-tail", 4)]
    assert path.read_bytes() == HEADER + sealed(body_of("a"))
    assert plan.backup is not None
    assert Path(plan.backup).read_bytes().endswith(torn)


def test_a_torn_tail_alone_is_left_to_the_next_writer(path: Path) -> None:
    data = HEADER + sealed(body_of("a")) + batch_of(body_of("b"), body_of("c"))[:-5]
    path.write_bytes(data)
    plan, _ = quick(path).salvage(apply=True)
    assert (plan.is_needed, plan.applied, rules(plan.findings)) == (False, False, [("torn-tail", 3)])
    assert path.read_bytes() == data


def test_a_header_with_a_wrong_checksum_is_kept_with_a_new_one(path: Path) -> None:
    header = sealed(HEADER[:-1].replace(b'"s"', b'"t"'))
    path.write_bytes(header.replace(b'"t"', b'"u"') + sealed(body_of("a")))
    plan, _ = quick(path).salvage(apply=True)
    assert rules(plan.findings) == [("checksum", 1)]
    assert path.read_bytes() == sealed(HEADER[:-1].replace(b'"s"', b'"u"')) + sealed(body_of("a"))


def test_the_sidecar_is_mended_like_the_log(path: Path) -> None:
    store = quick(path)
    store.append(said("a"), details=[Detail(id="c", payload=1), Detail(id="d", payload=2)])
    sidecar = Path(store.details_path)
    good = sidecar.read_bytes()
    bad = b'junk\n{"id":"e","payload":3}{"id":"f","payload":4}\n' + sealed(b'{"id":"g","payload":5}')[:-3]
    sidecar.write_bytes(good + bad)
    with pytest.raises(CorruptLogError):
        store.details()
    log_plan, plan = store.salvage(apply=True)
    assert not log_plan.is_needed
    assert rules(plan.findings) == [("damaged-line", 3), ("damaged-line", 4), ("torn-tail", 5)]
    assert sidecar.read_bytes() == good + sealed(b'{"id":"e","payload":3}') + sealed(
        b'{"id":"f","payload":4}'
    )
    assert plan.backup == f"{sidecar}.before-salvage-1"
    assert Path(plan.backup).read_bytes() == good + bad
    assert store.details() == {("c", None): 1, ("d", None): 2, ("e", None): 3, ("f", None): 4}
    assert not any(plan.is_needed for plan in store.salvage(apply=True))


def test_every_old_file_is_kept_under_a_name_of_its_own(path: Path) -> None:
    store = quick(path)
    store.append(said("a"))
    for number in (1, 2, 3):
        with path.open("ab") as file:
            file.write(b"junk %d\n" % number)
        old = path.read_bytes()
        plan, _ = store.salvage(apply=True)
        assert plan.backup == f"{path}.before-salvage-{number}"
        assert Path(plan.backup).read_bytes() == old
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert store.append(said("b"), after="a") == "b"


def test_what_a_salvage_that_was_killed_left_behind_is_no_hindrance(path: Path) -> None:
    path.write_bytes(HEADER + b"junk\n" + sealed(body_of("a")))
    path.with_name("log.jsonl.salvage").write_bytes(b"half a file")
    path.with_name("log.jsonl.before-salvage-1").symlink_to("precious")
    plan, _ = quick(path).salvage(apply=True)
    assert plan.backup == f"{path}.before-salvage-2"
    assert path.read_bytes() == HEADER + sealed(body_of("a"))
    assert sorted(os.listdir(path.parent)) == [
        "log.jsonl", "log.jsonl.before-salvage-1", "log.jsonl.before-salvage-2", "log.jsonl.lock"
    ]  # fmt: skip


# ------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    "data",
    [
        b"junk\n",
        b'{"type":"session","version":4}\njunk\n',
        b'{"type":"x","version":3}\n',
        body_of("a") + b"\n",
    ],
)
def test_a_file_whose_header_cannot_be_read_is_not_mended(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    for apply in (False, True):
        with pytest.raises(HeaderError):
            quick(path).salvage(apply=apply)
    assert path.read_bytes() == data
    assert set(os.listdir(path.parent)) <= {"log.jsonl", "log.jsonl.lock"}


def test_a_log_that_another_writer_holds_is_not_mended(path: Path) -> None:
    path.write_bytes(HEADER + b"junk\n")
    with holder(path):
        assert quick(path).salvage()[0].is_needed
        for mend in (quick(path, wait=0.0).salvage, quick(path, wait=0.0).reseal):
            with pytest.raises(LogBusyError):
                mend(apply=True)
    assert path.read_bytes() == HEADER + b"junk\n"
    store = quick(path)
    with store.lease():
        assert store.salvage(apply=True)[0].applied


def test_a_salvage_that_fails_leaves_the_log_as_it_was(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = HEADER + b"junk\n" + sealed(body_of("a"))
    path.write_bytes(data)
    for name in ("fsync", "rename"):
        with monkeypatch.context() as patch:
            patch.setattr(os, name, _failing)
            with pytest.raises(StorageError, match="EIO"):
                quick(path).salvage(apply=True)
        assert path.read_bytes() == data
        assert not Path(f"{path}.salvage").exists()
    quick(path).salvage(apply=True)
    assert path.read_bytes() == HEADER + sealed(body_of("a"))


def _failing(*_: Any, **__: Any) -> Any:
    raise OSError(5, "Input/output error")


def test_where_there_are_no_links_the_old_file_is_copied(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_bytes(HEADER + b"junk\n")
    monkeypatch.setattr(os, "link", _failing)
    plan, _ = quick(path).salvage(apply=True)
    assert plan.backup is not None
    assert Path(plan.backup).read_bytes() == HEADER + b"junk\n"
    assert stat.S_IMODE(Path(plan.backup).stat().st_mode) == 0o600


# --------------------------------------------------------------------------------- reseal


def test_resealing_gives_edited_lines_the_checksum_they_should_have_and_changes_no_other(path: Path) -> None:
    batch = batch_of(body_of("a"), body_of("b"))
    edited = batch.replace(b"hi", b"ho", 1)
    junk = (
        b"junk\n"
        + sealed(b'{"n":1}').replace(b"1", b"}", 1)
        + body_of("c")
        + b"\r\n"
        + sealed(body_of("d"))[:-4]
    )
    path.write_bytes(HEADER + edited + junk)
    plan, _ = quick(path).reseal()
    assert (plan.rewritten, rules(plan.findings)) == (1, [("checksum", 2)])
    assert path.read_bytes() == HEADER + edited + junk
    deed, _ = quick(path).reseal(apply=True)
    assert (deed.kept, deed.rewritten, deed.findings, deed.applied) == (plan.kept, 1, plan.findings, True)
    assert path.read_bytes() == HEADER + batch_of(body_of("a", "ho"), body_of("b")) + junk
    assert deed.backup is not None
    assert Path(deed.backup).read_bytes() == HEADER + edited + junk
    assert not quick(path).reseal(apply=True)[0].is_needed


def test_resealing_makes_a_log_readable_that_was_edited_on_purpose(path: Path) -> None:
    store = quick(path)
    store.append(said("a", "secret"), said("b"), details=[Detail(id="c", payload="secret")])
    for place in (path, Path(store.details_path)):
        place.write_bytes(
            place.read_bytes().replace(b"secret", b"******").replace(b"transcript", b"Transcript")
        )
    for reading in (store.load, store.details):
        with pytest.raises(CorruptLogError, match="--reseal"):
            reading()
    assert [plan.applied for plan in store.reseal(apply=True)] == [True, True]
    (first, _) = store.load()
    assert isinstance(first, MessageEntry)
    assert first.message["content"] == "******"
    assert store.details() == {("c", None): "******"}
    assert store.scan().findings == ()


# ----------------------------------------------------------------------------------- scan


def test_a_scan_finds_every_fault_where_it_is(path: Path) -> None:
    note = '{"id":"%s","timestamp":%s,"type":"note"}\n'
    lines = [
        HEADER,
        sealed(body_of("a")),
        b"junk\n",
        b"\n",
        sealed(body_of("b")).replace(b"hi", b"ho"),
        (note % ("c", "null")).encode(),
        sealed(body_of("a")),
        body_of("a", "other") + b"\n",
        b"\0" * 9 + body_of("d") + body_of("e") + b'{"id":"","type":"note"}\n',
        sealed(body_of("f"), more=True),
        sealed(body_of("g"), more=True)[:20],
    ]
    path.write_bytes(b"".join(lines))
    scan = quick(path).scan()
    starts = [sum(map(len, lines[:at])) for at in range(len(lines))]
    found = [(finding.rule, finding.severity, finding.line, finding.entry) for finding in scan.findings]
    assert found == [
        ("damaged-line", "error", 3, None),
        ("checksum", "error", 5, None),
        ("doubtful-time", "warning", 6, "c"),
        ("repeated-entry", "warning", 7, "a"),
        ("repeated-id", "error", 8, "a"),
        ("damaged-line", "error", 9, None),
        ("torn-tail", "note", 10, None),
    ]
    assert [finding.offset for finding in scan.findings] == [
        starts[finding.line - 1] for finding in scan.findings
    ]  # type: ignore[operator]
    assert all(finding.path == str(path) for finding in scan.findings)
    assert [entry.id for entry in scan.entries] == ["a", "b", "c", "a", "d", "e"]
    assert scan.places == tuple((line, starts[line - 1]) for line in (2, 5, 6, 8, 9, 9))
    assert (scan.lines, scan.sealed, scan.unsealed, scan.damaged) == (10, 1, 5, 3)
    assert "2 of the 3 values" in scan.findings[5].message
    assert scan.entries[2].timestamp is None


@settings(max_examples=60)
@given(damaged())
def test_a_scan_reads_any_damage_and_a_load_stops_at_the_first(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    path = tmp_path_factory.mktemp("log") / "log.jsonl"
    path.write_bytes(HEADER + data)
    store = quick(path)
    scan = store.scan()
    lines = (HEADER + data).split(b"\n")
    for finding in scan.findings:
        assert finding.line is not None
        assert finding.offset == sum(len(line) + 1 for line in lines[: finding.line - 1])
    doubted = {finding.entry for finding in scan.findings if finding.rule == "doubtful-time"}
    assume(all(entry.timestamp is not None or entry.id in doubted for entry in scan.entries))
    serious = [finding for finding in scan.findings if finding.severity != "note"]
    if not serious:
        assert store.load() == list(scan.entries)
        return
    with pytest.raises(CorruptLogError) as caught:
        store.load()
    # What cannot be read is told before what stands twice.
    first = [finding for finding in serious if not finding.rule.startswith("repeated")] or serious
    assert (caught.value.line, caught.value.offset) == (first[0].line, first[0].offset)
    assert path.read_bytes() == HEADER + data
