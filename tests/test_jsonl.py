"""One session in one file: what is made, what is read, and what is left alone."""

from __future__ import annotations

import gc
import json
import os
import re
import stat
import tracemalloc
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from math import inf
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from strategies import alike, details, entries, headers, logs
from test_active import odd_logs, outcome
from test_seal import HEADER, batch_of, body_of, sealed

from transcript_log import (
    Compaction,
    CompactionEntry,
    ConflictError,
    CorruptLogError,
    Detail,
    Entry,
    EntryError,
    Header,
    HeaderError,
    IdError,
    JsonlStore,
    MessageEntry,
    OpaqueEntry,
    StorageError,
    VersionError,
    new_header,
    new_message,
    session_path,
)
from transcript_log._logfile.seal import LINE_LIMIT
from transcript_log.codec import encode_detail, encode_entry, encode_header
from transcript_log.entries import ForkOrigin, ParentCall
from transcript_log.errors import EntryNotFoundError, SessionIdError

_NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)

PI = (
    b'{"type":"session","version":3,"id":"0199","timestamp":"2026-01-02T03:04:05.000Z","cwd":"/w"}\n'
    b'{"type":"message","id":"a1b2c3d4","parentId":null,"timestamp":"2026-01-02T03:04:06.000Z",'
    b'"message":{"role":"user","content":[{"type":"text","text":"hi"}]}}\n'
)
"""The first lines of a pi session. Only the ``parentId`` of its entries tells it from a log of ours."""


def said(entry_id: str, text: str = "hi") -> MessageEntry:
    return MessageEntry(id=entry_id, timestamp=_NOON, message={"role": "user", "content": text})


def quick(path: Path, **options: Any) -> JsonlStore:
    return JsonlStore(path, **{"durability": "os", **options})


def ids(entries: Sequence[Entry]) -> list[str]:
    return [entry.id for entry in entries]


def picture(folder: Path) -> dict[str, Any]:
    """All that a folder holds: of each name its mode, and what it is or where it leads.

    What a lock file says of its last holder is left out.
    """
    found: dict[str, Any] = {}
    for place in folder.rglob("*"):
        mode = place.lstat().st_mode
        if place.suffix == ".lock":
            found[place.name] = mode
            continue
        if stat.S_ISLNK(mode):
            what: Any = os.readlink(place)
        else:
            what = place.read_bytes() if stat.S_ISREG(mode) else None
        found[str(place.relative_to(folder))] = (mode, what)
    return found


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log.jsonl"


# ------------------------------------------------------------------------ what is made


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
@pytest.mark.parametrize("durability", ["fsync", "os"])
def test_files_and_folders_are_private_whatever_the_umask(
    tmp_path: Path, umask: int, durability: str
) -> None:
    folder = tmp_path / "one" / "two"
    before = os.umask(umask)
    try:
        store = quick(folder / "log.jsonl", durability=durability)
        store.append(said("a"), details=[Detail(id="c", payload=1)])
        with (folder / "log.jsonl").open("ab") as file:
            file.write(b"torn")
        store.append(said("b"))
    finally:
        os.umask(before)
    names = {"log.jsonl", "log.details.jsonl", "log.jsonl.lock", "log.jsonl.corrupt"}
    assert {place.name: stat.S_IMODE(place.stat().st_mode) for place in folder.iterdir()} == dict.fromkeys(
        names, 0o600
    )
    assert [stat.S_IMODE(place.stat().st_mode) for place in (folder, folder.parent)] == [0o700, 0o700]


def test_writers_tighten_what_is_there_and_readers_change_nothing(path: Path) -> None:
    store = quick(path)
    store.append(said("a"), details=[Detail(id="c", payload=1)])
    loose = [path, Path(store.details_path)]
    path.parent.chmod(0o755)
    for place in loose:
        place.chmod(0o644)
    before = picture(path.parent)

    reader = quick(path)
    assert ids(reader.load()) == ids(list(reader.read())) == ids(reader.active()) == ["a"]
    assert reader.header() is not None
    assert reader.details() == {("c", None): 1}
    assert reader.scan().findings == ()
    assert reader.append() == "a"
    assert picture(path.parent) == before

    quick(path).append(said("b"), details=[Detail(id="c", payload=2)])
    assert [stat.S_IMODE(place.stat().st_mode) for place in loose] == [0o600] * 2
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o755


def test_readers_open_for_reading_alone(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    quick(path).append(said("a"), details=[Detail(id="c", payload=1)])
    flags: list[int] = []
    really_open = os.open

    def watched(name: Any, flag: int, *more: Any, **options: Any) -> int:
        flags.append(flag)
        return really_open(name, flag, *more, **options)

    monkeypatch.setattr(os, "open", watched)
    store = quick(path)
    for reading in (store.header, store.load, store.active, store.scan, store.details, store.append):
        reading()
    list(store.follow(stop=lambda: True))
    store.salvage()
    assert len(flags) > 8
    assert all(flag & (os.O_ACCMODE | os.O_CREAT | os.O_TRUNC) == os.O_RDONLY for flag in flags)


def test_the_header_of_a_new_log_says_what_made_it_and_when(path: Path) -> None:
    before = datetime.now(UTC)
    quick(path).append(said("a"))
    line = json.loads(path.read_bytes().split(b"\n")[0])
    assert list(line) == ["type", "version", "id", "timestamp", "harness", "crc"]
    assert (line["type"], line["version"], line["harness"]) == ("session", 3, "transcript-log")
    assert re.fullmatch("[0-9a-f]{24}", line["id"])
    assert line["timestamp"].endswith("Z")
    assert before <= datetime.fromisoformat(line["timestamp"]) <= datetime.now(UTC)
    header = quick(path).header()
    assert header is not None
    assert (header.id, header.harness, header.extra) == (line["id"], "transcript-log", {})


@settings(max_examples=40)
@given(headers())
@example(
    new_header(
        cwd="/w", forked_from=ForkOrigin("s", "e"), parent=ParentCall("s", "c"), id="id", clock=lambda: _NOON
    )
)
def test_a_header_that_is_given_is_written_sealed_and_without_a_mark(
    tmp_path_factory: pytest.TempPathFactory, header: Header
) -> None:
    path = tmp_path_factory.mktemp("log") / "log.jsonl"
    quick(path, header=header).create()
    assert path.read_bytes() == sealed(encode_header(header))
    assert alike(quick(path).header(), header)


@settings(max_examples=40)
@given(
    st.lists(st.tuples(logs(entries(), max_size=3), st.lists(details(), max_size=3)), max_size=3),
    st.booleans(),
)
def test_the_files_hold_the_batches_as_the_format_says(
    tmp_path_factory: pytest.TempPathFactory, batches: list[tuple[list[Entry], list[Detail]]], checksum: bool
) -> None:
    path = tmp_path_factory.mktemp("log") / "log.jsonl"
    header = new_header()
    store = quick(path, header=header, checksum=checksum)

    def lines(bodies: list[bytes]) -> bytes:
        return bodies[0] + b"\n" if len(bodies) == 1 and not checksum else batch_of(*bodies)

    log, sidecar, written = b"", b"", []
    for number, (batch, records) in enumerate(batches):
        renamed = [_renamed(entry, f"{number}-{entry.id}") for entry in batch]
        store.append(*renamed, details=records)
        log += lines(list(map(encode_entry, renamed)))
        sidecar += lines(list(map(encode_detail, records)))
        written += renamed
    if written:
        assert path.read_bytes() == lines([encode_header(header)]) + log
    else:
        assert not path.exists()
    sidecar_path = Path(store.details_path)
    assert sidecar_path.read_bytes() == sidecar if sidecar else not sidecar_path.exists()
    assert alike(quick(path).load(), written)
    scan = quick(path).scan()
    assert scan.findings == ()
    assert scan.sealed + scan.unsealed == len(written)


def _renamed(entry: Entry, name: str) -> Entry:
    copy = object.__new__(type(entry))
    for key in type(entry).__slots__:
        object.__setattr__(copy, key, name if key == "id" else getattr(entry, key))
    return copy


def test_without_checksums_a_single_line_is_plain_and_a_batch_of_several_is_sealed(path: Path) -> None:
    store = quick(path, checksum=False, header=Header())
    store.append(said("a"))
    store.append(said("b"), said("c"))
    bodies = [encode_entry(said(name)) for name in "abc"]
    assert path.read_bytes() == b'{"type":"session","version":3}\n' + bodies[0] + b"\n" + batch_of(
        *bodies[1:]
    )
    scan = store.scan()
    assert (scan.sealed, scan.unsealed) == (2, 1)


def test_a_log_can_be_made_with_its_header_alone(path: Path) -> None:
    store = quick(path)
    store.create()
    before = path.read_bytes()
    assert (store.load(), store.active(), store.append()) == ([], [], "")
    assert store.header() is not None
    store.create(exist_ok=True)
    with pytest.raises(StorageError, match="there is one already"):
        store.create()
    assert path.read_bytes() == before
    store.append(said("a"), after="")
    assert path.read_bytes() == before + sealed(encode_entry(said("a")))


def test_a_store_says_what_it_is_and_refuses_what_it_is_not(path: Path) -> None:
    assert repr(quick(path)) == f"JsonlStore({str(path)!r}, durability='os')"
    with pytest.raises(ValueError, match="durability"):
        JsonlStore(path, durability="sometimes")  # type: ignore[arg-type]
    with pytest.raises(StorageError, match="NUL"):
        JsonlStore("a\0b.jsonl")
    with pytest.raises(StorageError):
        quick(path.parent / ("x" * 300) / "log.jsonl").append(said("a"))


def test_a_closed_store_holds_no_descriptor(path: Path) -> None:
    gc.collect()
    before = len(os.listdir("/dev/fd"))
    with quick(path) as store:
        store.append(said("a"), details=[Detail(id="c", payload=1)])
        store.load()
        next(store.read())
        next(store.follow())
    gc.collect()
    assert len(os.listdir("/dev/fd")) == before
    assert store.append(said("b")) == "b"
    store.close()
    assert len(os.listdir("/dev/fd")) == before


# ------------------------------------------------------------------------- other writers


def _plain(*names: str) -> bytes:
    return b"".join(body_of(name) + b"\n" for name in names)


@pytest.mark.parametrize(
    "data",
    [
        HEADER + _plain("a", "b"),
        b"\xef\xbb\xbf" + HEADER + _plain("a", "b"),
        (HEADER + _plain("a", "b")).replace(b"\n", b"\r\n"),
        (HEADER + _plain("a", "b")).replace(b"\n", b"\r\r\n"),
        (HEADER + _plain("a", "b")).replace(b"\n", b" \t \n"),
        (HEADER + _plain("a", "b")).replace(b"\n", b"\n\n \r\n"),
        b"\n \n" + HEADER + b"\n" + _plain("a", "b") + b"\n\n",
        b"\xef\xbb\xbf\n" + HEADER + _plain("a", "b"),
        HEADER + b"".join(b"\t" + line + b"\n" for line in _plain("a", "b").split(b"\n")),
        (HEADER + _plain("a", "b"))[:-1],
        (HEADER + _plain("a", "b"))[:-1] + b"   \r",
        b'{ "version" : 3 , "type" : "session" }\n' + _plain("a", "b"),
        HEADER + batch_of(body_of("a"), body_of("b")).replace(b"\n", b"\r\n"),
        HEADER + batch_of(body_of("a"), body_of("b")).replace(b"\n", b"\n\n"),
        sealed(HEADER[:-1]) + sealed(body_of("a")) + body_of("b") + b"\n",
    ],
    ids=range(15),
)
def test_lines_of_other_writers_are_read_and_added_to(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    store = quick(path)
    assert store.header() is not None
    for reading in (store.load, store.active, lambda: list(store.read()), lambda: list(store.scan().entries)):
        assert ids(reading()) == ["a", "b"]
    assert store.scan().findings == ()
    assert store.append() == "b"
    assert store.append(said("c"), said("d"), after="b") == "d"
    assert path.read_bytes().startswith(data)
    assert ids(quick(path).load()) == ids(quick(path).active()) == ["a", "b", "c", "d"]
    assert quick(path).scan().findings == ()


def test_unsealed_lines_are_counted(path: Path) -> None:
    path.write_bytes(HEADER + _plain("a", "b") + sealed(body_of("c")) + batch_of(body_of("d"), body_of("e")))
    scan = quick(path).scan()
    assert (scan.lines, scan.sealed, scan.unsealed, scan.damaged) == (6, 3, 2, 0)
    assert scan.size == path.stat().st_size
    starts = [line.start() for line in re.finditer(rb"^.", path.read_bytes(), re.MULTILINE)]
    assert scan.places == tuple((at + 1, starts[at]) for at in range(1, 6))


def test_values_that_only_others_write_are_understood(path: Path) -> None:
    message = rb'{"role":"user","n":[123456789012345678901234567890,1e400,-1e400,-0,1E2],"t":"\ud800"}'
    body = b'{"id":"a","timestamp":"2026-01-02T03:04:05.123456789+02:00","type":"message","message":%b}'
    path.write_bytes(HEADER + body % message + b"\n" + _plain("b"))
    (entry, _) = quick(path).load()
    assert isinstance(entry, MessageEntry)
    wanted = {"role": "user", "n": [123456789012345678901234567890, inf, -inf, 0, 100.0], "t": "\ud800"}
    assert alike(entry.message, wanted)
    assert entry.timestamp == datetime(2026, 1, 2, 1, 4, 5, 123456, tzinfo=UTC)


def test_what_is_not_known_stays_in_the_file(path: Path) -> None:
    future = b'{"id":"f","timestamp":"2026-01-02T03:04:05Z","type":"from-the-future","data":{"a":[1]}}'
    more = body_of("a")[:-1] + b',"unknown":{"k":1}}'
    path.write_bytes(b'{"type":"session","version":3,"mood":"calm"}\n' + future + b"\n" + more + b"\n")
    store = quick(path)
    opaque, message = store.load()
    assert isinstance(opaque, OpaqueEntry)
    assert (opaque.type, opaque.data) == ("from-the-future", {"data": {"a": [1]}})
    assert message == MessageEntry(
        id="a", timestamp=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), message={"role": "user", "content": "hi"}
    )
    header = store.header()
    assert header is not None
    assert header.extra == {"mood": "calm"}
    before = path.read_bytes()
    store.append(said("b"))
    assert path.read_bytes().startswith(before)


# -------------------------------------------------------------------- empty and foreign


@pytest.mark.parametrize("data", [b"", b"\n\n", b"   ", b" \r\n\t", b"\xef\xbb\xbf", b"\xef\xbb\xbf\n"])
def test_a_blank_file_is_an_empty_log(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    store = quick(path)
    assert store.header() is None
    assert (store.load(), store.active(), list(store.read()), store.scan().entries) == ([], [], [], ())
    assert store.scan().findings == ()
    with pytest.raises(EntryNotFoundError):
        next(store.read(after="a"))
    with pytest.raises(ConflictError, match="the log is empty"):
        store.append(said("a"), after="b")
    assert path.read_bytes() == data
    assert store.append(said("a"), after="") == "a"
    assert path.read_bytes().startswith(data)
    assert ids(quick(path).load()) == ["a"]
    assert quick(path).header() is not None


def test_a_creation_that_was_torn_at_any_byte_is_an_empty_log(path: Path) -> None:
    quick(path).create()
    header = path.read_bytes()
    for end in range(len(header) - 1):
        for tail in (b"", bytes(600)):
            path.write_bytes(header[:end] + tail)
            store = quick(path)
            assert (store.header(), store.load(), store.active()) == (None, [], [])
            torn = [] if end + len(tail) == 0 else ["torn-tail"]
            assert [finding.rule for finding in store.scan().findings] == torn
        if end % 10 == 1:
            assert store.append(said("a"), after="") == "a"
            assert ids(quick(path).load()) == ["a"]
            moved = Path(f"{path}.corrupt").read_bytes()
            assert moved.endswith(b"\n" + header[:end] + bytes(600) + b"\n")


FOREIGN = {
    "text": b"once upon a time\n",
    "unfinished": b"once upon a time",
    "number": b"3\n",
    "list": b"[]\n",
    "object": b"{}\n",
    "entry": _plain("a", "b"),
    "unfinished-entry": body_of("a"),
    "binary": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
    "zero-line": bytes(100) + b"\n",
    "utf16": b"\xff\xfe" + HEADER.decode().encode("utf-16-le"),
    "torn-in-the-middle": b'{"type":"session","ver\n' + _plain("a"),
    "codex": b'{"timestamp":"2026-01-02T03:04:05Z","type":"session_meta","payload":{"id":"x"}}\n',
    "version-1": b'{"type":"session","version":1}\n',
    "version-4": b'{"type":"session","version":4,"harness":"transcript-log"}\n' + _plain("a"),
    "version-99-unfinished": b'{"type":"session","version":99}',
    "no-version": b'{"type":"session"}\n' + _plain("a"),
    "text-version": b'{"type":"session","version":"3"}\n',
    "pi": PI,
    "pi-after-blank-lines": PI.replace(b"\n", b"\n \n", 1),
    "sealed-version-4": sealed(b'{"type":"session","version":4}'),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_a_file_that_is_no_log_of_ours_is_never_written_to(path: Path, name: str) -> None:
    path.write_bytes(FOREIGN[name])
    before = picture(path.parent)
    store = quick(path)
    for call in (
        lambda: store.append(said("a")),
        lambda: store.append(said("a"), after="x", details=[Detail(id="c", payload=1)]),
        lambda: store.append(details=[Detail(id="c", payload=1)]),
        store.create,
        lambda: store.create(exist_ok=True),
    ):
        with pytest.raises(HeaderError, match="never written to") as caught:
            call()
        assert caught.value.path == str(path)
        # Neither a lock file nor a sidecar is left beside it.
        assert picture(path.parent) == before
    if not name.startswith("pi"):
        for reading in (store.header, store.load, store.active, store.scan, lambda: list(store.read())):
            with pytest.raises(HeaderError):
                reading()


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("version-1", 1),
        ("version-4", 4),
        ("version-99-unfinished", 99),
        ("no-version", 0),
        ("sealed-version-4", 4),
    ],
)
def test_another_version_is_refused_naming_both(path: Path, name: str, found: int) -> None:
    path.write_bytes(FOREIGN[name])
    store = quick(path)
    for call in (store.load, store.scan, lambda: store.append(said("a")), lambda: store.salvage(apply=False)):
        with pytest.raises(VersionError, match=f"format version {found}, and only version 3") as caught:
            call()
        error = caught.value
        assert (error.found, error.understood, error.kind) == (str(found), 3, "header-version")
        assert (error.line, error.offset) == (1, 0)


def test_a_pi_session_is_refused_by_its_name(path: Path) -> None:
    path.write_bytes(PI)
    with pytest.raises(HeaderError, match="this is a pi session"):
        quick(path).append(said("a"))
    # The same entries under a header that names who made it are nobody else's.
    path.write_bytes(PI.replace(b'"cwd"', b'"harness":"transcript-log","cwd"'))
    assert quick(path).append(said("a"), after="a1b2c3d4") == "a"


@settings(max_examples=100)
@given(st.binary(min_size=1, max_size=60))
def test_any_bytes_are_an_empty_log_or_none_that_is_written_to(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    path = tmp_path_factory.mktemp("log") / "log.jsonl"
    path.write_bytes(data)
    store = quick(path)
    try:
        assert store.header() is None
    except HeaderError:
        with pytest.raises(HeaderError):
            store.append(said("a"))
        assert list(path.parent.iterdir()) == [path]
        assert path.read_bytes() == data
    else:
        assert store.load() == []
        assert store.append(said("a")) == "a"
        assert ids(quick(path).load()) == ["a"]


def test_a_header_with_a_checksum_that_does_not_match_is_told(path: Path) -> None:
    quick(path).append(said("a"))
    path.write_bytes(path.read_bytes().replace(b'"session"', b'"session" ', 1))
    store = quick(path)
    with pytest.raises(HeaderError, match="checksum") as caught:
        store.load()
    assert (caught.value.kind, "--reseal" in str(caught.value)) == ("header-json", True)
    scan = store.scan()
    assert ids(scan.entries) == ["a"]
    assert [(finding.rule, finding.line, finding.offset) for finding in scan.findings] == [("checksum", 1, 0)]


# ---------------------------------------------------------------- links, pipes, folders


def test_a_link_to_a_log_shares_all_that_is_the_logs(path: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    link, chain = tmp_path / "elsewhere" / "link.jsonl", tmp_path / "elsewhere" / "chain.jsonl"
    link.symlink_to("../log.jsonl")
    chain.symlink_to(link)
    quick(path).append(said("a"))
    store = quick(chain)
    assert store.append(said("b"), after="a", details=[Detail(id="c", payload=1)]) == "b"
    assert (store.path, store.lock_path) == (str(path), f"{path}.lock")
    assert sorted(os.listdir(link.parent)) == ["chain.jsonl", "link.jsonl"]
    assert ids(quick(path).load()) == ["a", "b"]
    assert quick(path).details() == quick(link).details() == {("c", None): 1}


def test_a_link_that_leads_nowhere_never_makes_its_target(tmp_path: Path) -> None:
    target = tmp_path / "elsewhere" / "target.jsonl"
    target.parent.mkdir()
    link = tmp_path / "link.jsonl"
    link.symlink_to(target)
    store = quick(link)
    assert (store.header(), store.load()) == (None, [])
    for call in (lambda: store.append(said("a")), store.create):
        with pytest.raises(StorageError, match="leads to no log"):
            call()
    assert not target.exists()
    assert link.is_symlink()
    # It is the link as it was when the store was made that counts.
    link.unlink()
    with pytest.raises(StorageError, match="leads to no log"):
        store.append(said("a"))
    assert not target.exists()
    assert not link.exists()


def test_a_link_that_is_put_in_the_logs_place_later_is_not_followed(path: Path, tmp_path: Path) -> None:
    store = quick(path)
    store.append(said("a"))
    target = tmp_path / "precious"
    target.write_bytes(b"precious")
    path.unlink()
    path.symlink_to(target)
    with pytest.raises(StorageError):
        store.append(said("b"))
    assert target.read_bytes() == b"precious"


@pytest.mark.parametrize("there", [True, False])
def test_a_link_in_the_sidecars_place_is_never_written_through(
    path: Path, tmp_path: Path, there: bool
) -> None:
    store = quick(path)
    store.append(said("a"))
    target = tmp_path / "precious"
    if there:
        target.write_bytes(b"precious\n")
    Path(store.details_path).symlink_to(target)
    before = picture(tmp_path)
    with pytest.raises(StorageError, match="it is a link"):
        store.append(said("b"), details=[Detail(id="c", payload=1)])
    assert picture(tmp_path) == before
    assert store.append(said("b")) == "b"


@pytest.mark.parametrize("kind", ["fifo", "folder"])
@pytest.mark.parametrize("sidecar", [False, True])
def test_what_is_no_regular_file_is_refused_at_once(path: Path, kind: str, sidecar: bool) -> None:
    store = quick(path)
    if sidecar:
        store.append(said("a"))
    place = store.details_path if sidecar else store.path
    os.mkfifo(place) if kind == "fifo" else os.mkdir(place)
    before = sorted(os.listdir(path.parent))
    calls: list[Callable[[], object]] = [
        store.scan,
        lambda: store.append(said("b"), details=[Detail(id="c", payload=1)]),
    ]
    calls += [store.details] if sidecar else [store.header, store.load, store.active, store.create]
    for call in calls:
        with pytest.raises(StorageError, match=r"it is no regular file|it is a directory|Is a directory"):
            call()
    assert sorted(os.listdir(path.parent)) == before
    assert ids(quick(path).load()) == ["a"] if sidecar else True


def test_a_folder_that_is_a_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    store = quick(tmp_path / "file" / "log.jsonl")
    for call in (store.load, lambda: store.append(said("a"))):
        with pytest.raises(StorageError, match="file") as caught:
            call()
        assert isinstance(caught.value, OSError)
        assert caught.value.errno is not None


# ------------------------------------------------------------------------------- damage


def test_damage_is_told_with_its_line_and_what_to_do(path: Path) -> None:
    good = HEADER + _plain("a") + sealed(body_of("b"))
    for bad, reason in (
        (b"junk\n", "not JSON"),
        (sealed(body_of("c")).replace(b"hi", b"ho"), "the checksum does not match the line"),
        (b'{"id":"c"}\n', r"\$"),
        (bytes(700) + b"\n", "not JSON"),
        (body_of("c") + body_of("d") + b"\n", "not JSON"),
    ):
        path.write_bytes(good + bad + _plain("e", "f"))
        store = quick(path)
        for reading in (store.load, store.active, lambda store=store: list(store.read())):  # type: ignore[misc]
            with pytest.raises(CorruptLogError, match=reason) as caught:
                reading()
            assert (caught.value.path, caught.value.line, caught.value.offset) == (str(path), 4, len(good))
            assert caught.value.kind == "line"
            assert "salvage" in caught.value.advice
        entries = iter(store.read())
        assert ids([next(entries), next(entries)]) == ["a", "b"]
        before = path.read_bytes()
        assert store.append(said("g"), after="f") == "g"
        assert path.read_bytes() == before + sealed(encode_entry(said("g")))


def test_an_id_that_stands_twice_is_found_by_load_and_by_read(path: Path) -> None:
    data = HEADER + _plain("a", "b")
    path.write_bytes(data + sealed(body_of("a", "other")) + _plain("c"))
    store = quick(path)
    for reading in (store.load, lambda: list(store.read()), lambda: list(store.read(after="c"))):
        with pytest.raises(CorruptLogError, match="'a' stands on line 2 already") as caught:
            reading()
        error = caught.value
        assert (error.kind, error.entry_id) == ("duplicate-id", "a")
        assert (error.line, error.offset) == (4, len(data))


def test_garbage_is_told_before_a_repeated_id(path: Path) -> None:
    path.write_bytes(HEADER + _plain("a", "a") + b"junk\n" + _plain("b"))
    store = quick(path)
    for reading in (store.load, lambda: list(store.read())):
        with pytest.raises(CorruptLogError) as caught:
            reading()
        assert (caught.value.kind, caught.value.line) == ("line", 4)


def test_reading_entry_by_entry_takes_bounded_memory_and_still_finds_a_repeated_id(path: Path) -> None:
    text = "x" * 10_000
    with path.open("wb") as file:
        file.write(HEADER)
        for number in range(3000):
            file.write(sealed(body_of(f"e{number}", text)))
        file.write(sealed(body_of("e1234", "again")))
    count = 0

    def read() -> None:
        nonlocal count
        for _ in quick(path).read():
            count += 1

    tracemalloc.start()
    with pytest.raises(CorruptLogError, match="'e1234' stands on line 1236 already"):
        read()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 3001
    assert peak < 22 << 20


@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_is_left_as_it_was(path: Path, enabled: bool) -> None:
    bad = path.with_name("bad.jsonl")
    path.write_bytes(HEADER + _plain("a"))
    bad.write_bytes(HEADER + b"junk\n" + _plain("a"))
    was_enabled = gc.isenabled()
    try:
        gc.enable() if enabled else gc.disable()
        for store in (quick(path), quick(bad)):
            for reading in (store.load, store.active, store.scan, store.details):
                try:
                    reading()
                except CorruptLogError:
                    assert store.path == str(bad)
                assert gc.isenabled() == enabled
    finally:
        gc.enable() if was_enabled else gc.disable()


def test_what_looks_like_damage_at_the_end_is_a_torn_tail(path: Path) -> None:
    whole = HEADER + _plain("a") + batch_of(body_of("b"), body_of("c"))
    batch = batch_of(body_of("d"), body_of("e"))
    for tail in (batch[:-1][:-30], batch[:10], sealed(body_of("d"), more=True), bytes(99), b"junk"):
        path.write_bytes(whole + tail)
        store = quick(path)
        for reading in (store.load, store.active, lambda store=store: list(store.scan().entries)):  # type: ignore[misc]
            assert ids(reading()) == ["a", "b", "c"]
        (finding,) = store.scan().findings
        assert (finding.rule, finding.severity) == ("torn-tail", "note")
        assert (finding.line, finding.offset) == (5, len(whole))
        assert store.append() == "c"
        assert path.read_bytes() == whole + tail
        assert store.append(said("f"), after="c") == "f"
        assert path.read_bytes() == whole + sealed(encode_entry(said("f")))
        assert Path(f"{path}.corrupt").read_bytes().endswith(tail + b"\n")


# ------------------------------------------------------------------------------ sidecar


def test_a_damaged_sidecar_is_told_and_read_round(path: Path) -> None:
    store = quick(path)
    store.append(said("a"), details=[Detail(id="c", payload=1)])
    sidecar = Path(store.details_path)
    good = sidecar.read_bytes()
    sidecar.write_bytes(good + b"junk\n" + sealed(b'{"id":"d","payload":2}'))
    with pytest.raises(CorruptLogError) as caught:
        store.details()
    assert (caught.value.path, caught.value.line, caught.value.offset) == (str(sidecar), 2, len(good))
    assert ids(store.load()) == ["a"]
    scan = store.scan()
    assert scan.details == {("c", None): 1, ("d", None): 2}
    (finding,) = scan.findings
    assert (finding.path, finding.line, finding.offset) == (str(sidecar), 2, len(good))
    assert scan.damaged == 0
    assert store.append(said("b"), details=[Detail(id="e", payload=3)]) == "b"
    assert store.scan().details[("e", None)] == 3


def test_a_torn_sidecar_is_cut_and_kept_like_a_log(path: Path) -> None:
    store = quick(path)
    store.append(said("a"), details=[Detail(id="c", payload=1), Detail(id="d", payload=1)])
    sidecar = Path(store.details_path)
    good = sidecar.read_bytes()
    for end in range(len(good)):
        sidecar.write_bytes(good[:end])
        found = quick(path).details()
        assert found in ({}, {("c", None): 1, ("d", None): 1})
        assert bool(found) == (end == len(good) - 1)
    sidecar.write_bytes(good[:-9])
    assert [finding.rule for finding in store.scan().findings] == ["torn-tail"]
    store.append(details=[Detail(id="e", payload=2)])
    assert sidecar.read_bytes() == sealed(b'{"id":"e","payload":2}')
    assert Path(f"{sidecar}.corrupt").read_bytes().endswith(good[:-9] + b"\n")
    assert not Path(f"{path}.corrupt").exists()


def test_the_sidecar_of_a_log_of_another_name_stands_beside_it(tmp_path: Path) -> None:
    for name, wanted in (
        ("a.jsonl", "a.details.jsonl"),
        ("b.log", "b.log.details.jsonl"),
        ("c", "c.details.jsonl"),
    ):
        store = quick(tmp_path / name)
        store.append(said("a"), details=[Detail(id="c", payload=1)])
        assert store.details_path == str(tmp_path / wanted)
        assert store.details() == {("c", None): 1}


# ------------------------------------------------------------------ appending once more


@pytest.mark.parametrize("reading", ["load", "active", "scan"])
def test_a_retry_through_a_store_that_has_read_the_log_writes_nothing(path: Path, reading: str) -> None:
    quick(path).append(said("a"), said("b"))
    store = quick(path)
    getattr(store, reading)()
    before = path.read_bytes()
    assert store.append(said("a"), said("b"), after="nowhere") == "b"
    assert store.append(said("b")) == "b"
    with pytest.raises(IdError, match="'a'"):
        store.append(said("c"), said("a", "other"))
    assert path.read_bytes() == before
    assert store.append(said("b"), said("c")) == "c"
    assert ids(quick(path).load()) == ["a", "b", "c"]


def test_what_another_store_added_meanwhile_is_known_too(path: Path) -> None:
    store, other = quick(path), quick(path)
    store.append(said("a"))
    other.append(said("b"))
    store.append(said("c"))
    assert store.append(said("b")) == "c"
    with pytest.raises(IdError):
        store.append(said("b", "other"))
    assert ids(store.load()) == ["a", "b", "c"]


def test_a_conflict_names_what_the_log_ends_with(path: Path) -> None:
    store = quick(path)
    store.append(said("a"))
    quick(path).append(said("b"))
    before = picture(path.parent)
    with pytest.raises(ConflictError, match="ends with 'b'") as caught:
        store.append(said("c"), after="a", details=[Detail(id="c", payload=1)])
    assert (caught.value.expected, caught.value.found) == ("a", "b")
    assert picture(path.parent) == before
    assert store.append(after="b") == "b"
    with pytest.raises(ConflictError):
        store.append(after="a")


def test_a_line_over_the_limit_makes_no_file(path: Path) -> None:
    store = quick(path)
    long = said("a", "x" * LINE_LIMIT)
    for batch, records in (
        ([long], []),
        ([said("b"), long], []),
        ([said("b")], [Detail(id="c", payload="x" * LINE_LIMIT)]),
    ):
        with pytest.raises(EntryError, match=str(LINE_LIMIT)):
            store.append(*batch, details=records)
    assert list(path.parent.iterdir()) == []


def test_a_line_within_the_limit_is_written_and_read_from_either_end(path: Path) -> None:
    room = LINE_LIMIT - len(sealed(encode_entry(said("b", "")), more=True)) - 2
    store = quick(path)
    store.append(said("a"), said("b", "x" * room), said("c"))
    assert LINE_LIMIT - 2 <= max(map(len, path.read_bytes().splitlines(keepends=True))) <= LINE_LIMIT
    assert ids(quick(path).load()) == ["a", "b", "c"]
    assert quick(path).append(said("d"), after="c") == "d"
    assert ids(quick(path).active()) == ["a", "b", "c", "d"]


# ------------------------------------------------------------------------------- active


def _spelled(entry: Entry) -> bytes:
    """An entry as other writers may spell it, compactions of nothing by nothing too."""
    if not isinstance(entry, CompactionEntry):
        return encode_entry(entry)
    compaction = entry.compaction
    payload: dict[str, Any] = {
        "summary": compaction.summary,
        "firstKeptEntryId": compaction.first_kept_entry_id,
    }
    if compaction.replacement:
        payload["replacement"] = list(compaction.replacement)
    line = {"id": entry.id, "timestamp": "2026-01-02T03:04:05Z", "type": "compaction", "compaction": payload}
    return json.dumps(line, separators=(",", ":")).encode()


@st.composite
def _files(draw: st.DrawFn) -> tuple[list[Entry], bytes]:
    """A log and its file: batches, unsealed lines and blank ones in any mixture, some of them long."""
    log = draw(odd_logs())
    padding = draw(st.sampled_from([0, 0, 0, 30_000, 70_000]))
    data = HEADER
    at = 0
    while at < len(log):
        batch = log[at : at + draw(st.integers(1, 3))]
        at += len(batch)
        bodies = [_spelled(entry)[:-1] + b',"pad":"' + b"x" * padding + b'"}' for entry in batch]
        if draw(st.booleans()):
            data += b"".join(body + b"\r\n" for body in bodies)
        else:
            data += batch_of(*bodies).replace(b"\n", draw(st.sampled_from([b"\n", b"\n", b" \n\n"])))
    return log, data + draw(st.sampled_from([b"", b"", b"\n \n", b'{"id":"torn', bytes(600), b"\t"]))


@settings(max_examples=120)
@given(_files())
def test_what_is_active_is_what_a_full_load_keeps(
    tmp_path_factory: pytest.TempPathFactory, file: tuple[list[Entry], bytes]
) -> None:
    log, data = file
    path = tmp_path_factory.mktemp("log") / "log.jsonl"
    path.write_bytes(data)
    store = quick(path)
    loaded, active = store.load(), store.active()
    assert ids(loaded) == ids(log)
    assert outcome(active) == outcome(loaded)
    assert active == loaded[len(loaded) - len(active) :]


def compacted(entry_id: str, kept: str | None) -> CompactionEntry:
    compaction = Compaction(summary="gist", first_kept_entry_id=kept)
    return CompactionEntry(id=entry_id, timestamp=_NOON, compaction=compaction)


def test_active_reads_back_over_lines_that_span_many_blocks(path: Path) -> None:
    sizes = [10, 65_400, 65_536, 131_072, 200_000, 9_000_000, 64, 5_000_000]
    store = quick(path)
    store.append(said("old", "x" * 300_000))
    store.append(*[said(f"e{at}", "x" * size) for at, size in enumerate(sizes)])
    assert store.active() == store.load()
    store.append(compacted("k", "e2"))
    assert ids(store.active()) == ["e2", "e3", "e4", "e5", "e6", "e7", "k"]
    store.append(said("last", "y" * 70_000))
    assert store.active() == store.load()[3:]


def test_active_neither_reads_nor_checks_what_lies_before(path: Path) -> None:
    store = quick(path)
    store.append(said("a"))
    with path.open("ab") as file:
        file.write(b"junk\n")
        file.truncate(200 << 20)  # a hole: reading it would take its time, and is damage
        file.seek(0, os.SEEK_END)
        file.write(b"\n" + _plain("b") + sealed(body_of("c")))
    store.append(compacted("k", None), said("d"))
    tracemalloc.start()
    assert ids(store.active()) == ["k", "d"]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 << 20
    with pytest.raises(CorruptLogError):
        store.load()


def test_active_tells_of_damage_in_what_it_reads_as_a_load_does(path: Path) -> None:
    head = HEADER + _plain("a") + sealed(body_of("b"))
    for bad in (b"junk\n", sealed(body_of("c")).replace(b"hi", b"ho"), sealed(body_of("c"), more=True)):
        path.write_bytes(head + bad + _plain("d", "e", "f"))
        store = quick(path)
        errors = []
        for reading in (store.load, store.active):
            with pytest.raises(CorruptLogError) as caught:
                reading()
            errors.append(caught.value.args)
        assert errors[0] == errors[1]


# ---------------------------------------------------------------------------- read after


@settings(max_examples=40)
@given(logs(max_size=8), st.data())
def test_reading_after_an_entry_gives_what_follows_it(
    tmp_path_factory: pytest.TempPathFactory, log: list[Entry], data: st.DataObject
) -> None:
    store = quick(tmp_path_factory.mktemp("log") / "log.jsonl")
    for entry in log:
        store.append(entry)
    at = data.draw(st.integers(0, len(log)))
    after = "" if at == 0 else log[at - 1].id
    assert list(store.read(after)) == log[at:]
    assert list(store.read()) == log
    with pytest.raises(EntryNotFoundError, match="'nowhere'"):
        list(store.read("nowhere"))


# ---------------------------------------------------------------------------- session ids


@given(st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}", fullmatch=True))
def test_a_session_id_names_one_file_in_its_folder(session_id: str) -> None:
    path = Path(session_path("/folder", session_id))
    assert path == Path("/folder") / f"{session_id}.jsonl"
    assert path.parent == Path("/folder")


@given(st.text(max_size=5))
@example("a\n")
@example("é")
@example("\u0661")
@example("a" * 129)
@example("-rf")
@example("a/b")
@example("..")
@example("a.details")
def test_any_other_session_id_is_refused(session_id: str) -> None:
    if re.fullmatch("[A-Za-z0-9][A-Za-z0-9_-]{0,127}", session_id) is None:
        with pytest.raises(SessionIdError, match="is no session id"):
            session_path("/folder", session_id)


def test_a_session_id_is_text(tmp_path: Path) -> None:
    class Text(str):
        __slots__ = ()

    assert session_path(tmp_path, "a" * 128) == str(tmp_path / ("a" * 128 + ".jsonl"))
    for value in (None, 1, b"a", Text("a"), timedelta()):
        with pytest.raises(SessionIdError):
            session_path(tmp_path, value)  # type: ignore[arg-type]


# ------------------------------------------------------------------------- reading on


@given(data=st.data())
def test_reading_on_gives_what_reading_from_the_start_gives(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("on") / "log.jsonl"
    store, other = JsonlStore(path, durability="os"), JsonlStore(path, durability="os")
    numbers = iter(range(1000))
    ids: list[str] = []

    def entry() -> MessageEntry:
        ids.append(f"e{next(numbers)}")
        return new_message({"role": "user", "content": "x"}, id_source=lambda: ids[-1])

    for _ in range(data.draw(st.integers(1, 12))):
        match data.draw(st.sampled_from(["mine", "theirs", "batch", "torn", "replaced", "read"])):
            case "mine":
                store.append(entry())
            case "theirs":
                other.append(entry())
            case "batch":
                other.append(entry(), entry(), entry())
            case "torn" if ids:
                with path.open("ab") as file:
                    file.write(b'{"type":"message","id":"torn"')
            case "replaced" if ids:
                path.with_suffix(".copy").write_bytes(path.read_bytes())
                path.with_suffix(".copy").replace(path)
        if ids:
            after = data.draw(st.sampled_from(ids))
            expected = ids[ids.index(after) + 1 :]
            assert [found.id for found in store.read(after)] == expected
    if ids:
        with pytest.raises(EntryNotFoundError):
            list(store.read("nowhere"))


def test_reading_on_reads_only_what_was_added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = JsonlStore(tmp_path / "log.jsonl", durability="os")
    batch = [new_message({"role": "user", "content": "x" * 1000}) for _ in range(2000)]
    store.append(*batch)
    assert len(list(store.read(batch[0].id))) == 1999
    read = 0
    real = os.preadv

    def counted(fd: int, buffers: Any, offset: int) -> int:
        nonlocal read
        got = real(fd, buffers, offset)
        read += got
        return got

    monkeypatch.setattr(os, "preadv", counted)
    store.append(new_message({"role": "user", "content": "y"}))
    read = 0
    assert len(list(store.read(batch[-1].id))) == 1
    assert read < 10_000
    assert len(list(store.read(batch[5].id))) == 1995  # from the start, for it is before the mark


def test_a_log_that_was_cut_and_written_on_is_read_anew(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    store = JsonlStore(path, durability="os")

    def entry(name: str) -> MessageEntry:
        return new_message({"role": "user", "content": "x"}, id_source=lambda: name)

    store.append(entry("e0"))
    size = path.stat().st_size
    store.append(entry("e1"))
    assert [found.id for found in store.read("e0")] == ["e1"]
    os.truncate(path, size)  # as a writer does that takes a failed batch back
    JsonlStore(path, durability="os").append(entry("o1"))
    JsonlStore(path, durability="os").append(entry("o2"))
    with pytest.raises(EntryNotFoundError):
        list(store.read("e1"))  # it is gone; what stands in its place must not be passed over
    assert [found.id for found in store.read("e0")] == ["o1", "o2"]
