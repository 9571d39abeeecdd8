"""Corners where the log, its sidecar or its lock once broke a promise, each with the input that showed it."""

from __future__ import annotations

import os
import stat
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from test_follow import follow, writing
from test_jsonl import FOREIGN, ids, picture, quick, said
from test_logfile_reader import EDGE, _some_of, _with_lost_blocks, body, decode, holding, read
from test_seal import HEADER, batch_of, body_of, sealed

from transcript_log import Detail, HeaderError, JsonlStore, StorageError
from transcript_log._batch import encode_batch
from transcript_log._json import is_same
from transcript_log._logfile.reader import whole_end_before
from transcript_log._logfile.seal import LINE_LIMIT, line_of
from transcript_log.codec import encode_entry


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log.jsonl"


def test_lines_within_the_limit_are_never_too_long_however_long_the_file() -> None:
    data = b"".join(sealed(body(number, 3 << 20)) for number in range(30))
    seen = read(data)
    assert (seen.values, seen.faults) == (list(range(30)), [])


def test_blocks_lost_in_a_line_that_closed_a_batch_are_damage() -> None:
    first = batch_of(body(0)) + batch_of(body(1, 2500))
    data = first + batch_of(body(2))
    start = len(batch_of(body(0)))
    for lost in _some_of(range(1, len(first) // EDGE)):
        seen = read(_with_lost_blocks(data, start, len(first), lost))
        assert seen.torn is None, lost
        assert seen.values == [0, 2]
        assert [fault.line for fault in seen.faults] == [2]


def test_a_batch_that_grows_byte_by_byte_is_given_once_it_is_whole(path: Path) -> None:
    quick(path).append(said("a"))
    batch = batch_of(body_of("b"), body_of("c"))
    steps = [writing(path, batch[at : at + 1]) for at in range(len(batch))]
    assert follow(path, *steps) == [["a"], ["b", "c"]]


@pytest.mark.parametrize(
    "data",
    [
        b"x" * (LINE_LIMIT + (3 << 20)),
        b'{"type":"session","version":3}\n' + b"x" * (LINE_LIMIT + (3 << 20)) + b"\n",
    ],
)
def test_a_line_over_the_limit_at_the_start_is_told_as_an_error_of_ours(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    store = quick(path)
    if data[:1] == b"x":
        for call in (
            store.header,
            store.load,
            store.active,
            store.scan,
            store.append,
            lambda: store.append(said("a")),
        ):
            with pytest.raises(HeaderError):
                call()
    else:
        assert store.append(said("a")) == "a"


def test_a_link_that_leads_nowhere_makes_nothing_beside_its_target(tmp_path: Path) -> None:
    target = tmp_path / "elsewhere" / "target.jsonl"
    link = tmp_path / "link.jsonl"
    link.symlink_to(target)
    store = quick(link)
    for call in (
        lambda: store.append(said("a"), details=[Detail(id="c", payload=1)]),
        store.create,
        lambda: store.lease().__enter__(),
    ):
        with pytest.raises(StorageError):
            call()
        assert not target.parent.exists()


@pytest.mark.parametrize("name", ["pi", "version-4", "sealed-version-4", "text"])
def test_no_writer_touches_a_file_that_is_no_log_of_ours(path: Path, name: str) -> None:
    path.write_bytes(
        FOREIGN[name].replace(b'4,"crc":"', b'4,"x":1,"crc":"')
        + (b'{"type":"compaction","id":"a2","parentId":"a1"}\n' if name == "pi" else b"")
    )
    before = picture(path.parent)
    store = quick(path)
    for call in (
        lambda: store.lease().__enter__(),
        lambda: store.salvage(apply=True),
        lambda: store.reseal(apply=True),
    ):
        with pytest.raises(HeaderError):
            call()
        assert picture(path.parent) == before


def test_a_log_always_gets_its_header_whatever_another_writer_left(path: Path) -> None:
    path.write_bytes(b"")
    store = quick(path)
    with pytest.raises(Exception, match="nowhere"):
        store.append(said("a"), after="nowhere")
    path.write_bytes(b'{"type":"session","version":3,"id')  # another writer was killed at it
    store.append(said("a"))
    assert ids(quick(path).load()) == ["a"]


@pytest.mark.parametrize(
    "lines",
    [
        body_of("a")
        + b'\n{"id":"a","timestamp":"2026-01-02T03:04:05Z","type":"message","message":{"n":1e400}}\n',
        b'{"id":"a","timestamp":null,"type":"message","message":{"n":1e400}}\n',
        b'{"id":"a","timestamp":1767323045678,"type":"message","message":{"n":123456789012345678901234567890}}\n',
        b'{"id":"a","timestamp":null,"type":"compaction","compaction":{"summary":""}}\n',
    ],
)
def test_a_salvaged_log_can_be_read_whatever_only_others_can_write(path: Path, lines: bytes) -> None:
    path.write_bytes(HEADER + lines)
    assert quick(path).salvage(apply=True)[0].applied
    assert len(quick(path).load()) == lines.count(b"\n")
    assert not quick(path).salvage()[0].is_needed


def test_what_equals_in_python_only_is_no_repeat(path: Path) -> None:
    line = '{"id":"a","timestamp":"2026-01-02T03:04:05Z","type":"message","message":{"n":%s}}\n'
    path.write_bytes(HEADER + "".join(line % number for number in ("1", "true", "1.0")).encode())
    found = quick(path).scan().findings
    assert [finding.rule for finding in found] == ["repeated-id", "repeated-id"]
    assert all(finding.entry is not None and repr(finding.entry) in finding.message for finding in found)
    quick(path).salvage(apply=True)
    assert [repr(entry.message["n"]) for entry in quick(path).load()] == ["1", "True", "1.0"]  # type: ignore[union-attr]


@pytest.mark.parametrize("version", ["99999999999999999999", "3.0", '"3"', "true"])
def test_a_version_that_is_no_integer_is_no_version(path: Path, version: str) -> None:
    path.write_bytes(b'{"type":"session","version":' + version.encode() + b"}\n")
    with pytest.raises(HeaderError) as caught:
        quick(path).load()
    assert caught.value.kind == "header-json"
    assert "is of format version" not in str(caught.value)


def test_a_folder_whose_making_could_not_be_made_durable_is_not_left_as_if_it_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = JsonlStore(tmp_path / "new" / "log.jsonl")
    synced: list[int] = []
    really = os.fsync

    def once(fd: int) -> None:
        synced.append(os.fstat(fd).st_ino)
        if len(synced) == 1:
            raise OSError(5, "Input/output error")
        really(fd)

    monkeypatch.setattr(os, "fsync", once)
    with pytest.raises(StorageError):
        store.append(said("a"))
    store.append(said("a"))
    assert tmp_path.stat().st_ino in synced[1:]


def test_a_lock_file_that_is_there_is_tightened_too(path: Path) -> None:
    quick(path).append(said("a"))
    lock = Path(f"{path}.lock")
    lock.chmod(0o644)
    quick(path).append(said("b"))
    assert stat.S_IMODE(lock.stat().st_mode) == 0o600


def test_a_line_may_be_as_long_as_the_limit_when_it_is_written_too() -> None:
    room = LINE_LIMIT - len(line_of(encode_entry(said("a", "")), more=True))
    (_, fits), *_ = encode_batch([said("a", "x" * room)], (), "log").entries
    assert len(line_of(fits, more=True)) == LINE_LIMIT


def test_the_end_is_found_in_bounded_memory_behind_a_line_far_over_the_limit() -> None:
    with holding(batch_of(body(1))) as file:
        os.ftruncate(file.fileno(), 5 * LINE_LIMIT)
        os.pwrite(file.fileno(), b"\n" + batch_of(body(2)), 5 * LINE_LIMIT)
        tracemalloc.start()
        whole_end_before(file.fileno(), 0, decode)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 3 * LINE_LIMIT


def test_details_alone_are_scanned_too(path: Path) -> None:
    store = quick(path)
    store.append(details=[Detail(id="c", payload=1)])
    assert store.scan().details == store.details() == {("c", None): 1}


def test_an_undamaged_line_indented_by_a_tab_stays_byte_for_byte(path: Path) -> None:
    line = b"\t" + body_of("a") + b"\n"
    path.write_bytes(HEADER + line + b"junk\n")
    quick(path).salvage(apply=True)
    assert path.read_bytes() == HEADER + line


def test_a_link_in_the_sidecars_place_is_not_read_through(path: Path, tmp_path: Path) -> None:
    store = quick(path)
    store.append(said("a"))
    (tmp_path / "other").write_bytes(b'{"id":"c","payload":"secret"}\n')
    Path(store.details_path).symlink_to(tmp_path / "other")
    for call in (store.details, store.scan):
        with pytest.raises(StorageError):
            call()


def test_a_log_can_be_made_where_there_are_no_hard_links(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any, **__: Any) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refused)
    assert quick(path).append(said("a")) == "a"
    assert sorted(os.listdir(path.parent)) == ["log.jsonl", "log.jsonl.lock"]


def test_a_readable_record_of_the_sidecar_survives_its_damaged_line(path: Path) -> None:
    store = quick(path)
    sidecar = Path(store.details_path)
    sidecar.write_bytes(b'\0{"id":"c","payload":123456789012345678901234567890}\n')
    assert store.salvage(apply=True)[1].applied
    assert store.details() == {("c", None): 123456789012345678901234567890}


def test_a_file_that_is_lost_while_a_folder_is_listed_does_not_stop_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from transcript_log.listing import list_logs

    for name in "ab":
        (tmp_path / f"{name}.jsonl").write_bytes(HEADER)
    really = os.open

    def opening(name: Any, *args: Any, **options: Any) -> int:
        if name == "a.jsonl":
            os.unlink(tmp_path / "a.jsonl")
        return really(name, *args, **options)

    monkeypatch.setattr(os, "open", opening)
    lost, there = sorted(list_logs(tmp_path))
    assert lost.problem == "it cannot be read: No such file or directory"
    assert (os.path.basename(there.path), there.problem) == ("b.jsonl", "")


def test_reading_a_short_log_entry_by_entry_takes_little_memory(path: Path) -> None:
    quick(path).append(said("a"))
    tracemalloc.start()
    list(quick(path).read())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3 << 20


def test_a_salvage_does_not_change_a_long_integer(path: Path) -> None:
    number = 123456789012345678901234567890
    path.write_bytes(HEADER + b"\0" + body_of("a").replace(b'"hi"', b"%d" % number) + b"\n")
    before = quick(path).scan().entries
    quick(path).salvage(apply=True)
    assert tuple(quick(path).load()) == before
    assert before[0].message["content"] == number  # type: ignore[union-attr]


def test_an_error_of_fstat_is_told_as_ours(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    quick(path).append(said("a"))
    really, calls = os.fstat, 0
    raised: list[int | None] = []
    for at in range(1, 12):
        calls = 0

        def failing(fd: int, at: int = at) -> os.stat_result:
            nonlocal calls
            calls += 1
            if calls == at:
                raise OSError(5, "Input/output error")
            return really(fd)

        with monkeypatch.context() as patch:
            patch.setattr(os, "fstat", failing)
            try:
                quick(path).append(said(f"b{at}"))
            except StorageError as error:
                raised.append(error.errno)
    assert set(raised) == {5}


def test_an_entry_without_a_time_is_told_by_a_scan_too(path: Path) -> None:
    path.write_bytes(HEADER + b'{"id":"a","type":"message","message":{}}\n')
    assert [finding.rule for finding in quick(path).scan().findings] == ["doubtful-time"]


def test_an_append_interrupted_once_it_is_written_is_not_doubled_by_its_retry(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = quick(path)
    store.append(said("a"))
    add = store._log.add

    def add_and_interrupt(*arguments: Any) -> None:
        add(*arguments)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(store._log, "add", add_and_interrupt)
        with pytest.raises(KeyboardInterrupt):
            store.append(said("b"))
    store.append(said("b"))
    assert ids(store.load()) == ["a", "b"]


def test_values_are_compared_with_their_types_however_deep_they_nest() -> None:
    def nested(inner: Any) -> Any:
        for _ in range(5000):
            inner = [{"in": inner}]
        return inner

    assert is_same(nested(1), nested(1))
    assert not is_same(nested(1), nested(True))
    assert not is_same({"a": 1}, {"a": 1, "b": 1})
    assert not is_same([1], [1, 1])
