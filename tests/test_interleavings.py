"""What one does while another is at work, or where a step was interrupted: found by review, kept by these."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import transcript_log._logfile.reader
import transcript_log._reading
from transcript_log import (
    ConflictError,
    CorruptLogError,
    Detail,
    Entry,
    HeaderError,
    JsonlStore,
    MessageEntry,
    StorageError,
    TranscriptError,
    new_header,
)
from transcript_log.listing import list_logs

_NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
_HUGE = 36893488147419103233
"""An integer past 64 bits, of an odd value that a float cannot hold."""


def said(entry_id: str, text: str = "hi") -> MessageEntry:
    return MessageEntry(id=entry_id, timestamp=_NOON, message={"role": "user", "content": text})


def quick(path: Path) -> JsonlStore:
    return JsonlStore(path, durability="os", wait=2.0)


def ids(entries: Sequence[Entry]) -> list[str]:
    return [entry.id for entry in entries]


def foreign(entry_id: str, number: str, time: str = '"2026-01-02T03:04:05Z"') -> bytes:
    """An unsealed line, as another writer may leave it, that holds a number."""
    line = f'{{"id":"{entry_id}","timestamp":{time},"type":"message","message":{{"n":{number}}}}}\n'
    return line.encode()


def add(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def once(monkeypatch: pytest.MonkeyPatch, name: str, when: Callable[[], bool] = lambda: True) -> list[str]:
    """Let a function of ``os`` be interrupted the first time that it is called ``when`` says so."""
    real = getattr(os, name)
    done: list[str] = []

    def interrupted(*args: Any, **options: Any) -> Any:
        if not done and when():
            done.append(name)
            raise KeyboardInterrupt
        return real(*args, **options)

    monkeypatch.setattr(os, name, interrupted)
    return done


def full(fd: int, data: Any) -> int:
    """What ``os.write`` does on a disk that is full."""
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log.jsonl"


# ---------------------------------------------------------------- interrupts and failures


@pytest.mark.parametrize("name", ["write", "fstat", "fsync", "fdatasync"])
def test_a_store_interrupted_while_it_made_a_log_never_takes_back_what_another_wrote(
    path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    # Interrupted once the log has its name: while it is opened, listed, or given its first batch.
    first = JsonlStore(path)
    with monkeypatch.context() as patched:
        done = once(patched, name, path.exists)
        with pytest.raises(KeyboardInterrupt):
            first.append(said("a"))
        assert done
    JsonlStore(path).append(said("b"))
    before = path.read_bytes()
    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        with pytest.raises(StorageError):
            first.append(said("c"))
    assert path.read_bytes() == before
    first.append(said("d"))
    assert ids(JsonlStore(path).load())[-2:] == ["b", "d"]


def test_a_child_forked_during_the_first_batch_never_takes_back_the_log_of_its_parent(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = JsonlStore(path)
    real = os.fdatasync
    reading, writing = os.pipe()
    calls: list[int] = []
    child = 0

    def forking(fd: int) -> None:
        nonlocal child
        calls.append(fd)
        if len(calls) == 2:  # the first is that of the header
            child = os.fork()
            if child == 0:
                code = 1
                try:
                    os.close(writing)
                    os.read(reading, 1)  # until the parent's batch is acknowledged
                    os.fdatasync, os.write = real, full
                    try:
                        store.append(said("c"))
                    except StorageError:
                        code = 0
                finally:
                    os._exit(code)
        real(fd)

    monkeypatch.setattr(os, "fdatasync", forking)
    store.append(said("p"))
    monkeypatch.undo()
    before = path.read_bytes()
    os.close(reading)
    os.close(writing)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert path.read_bytes() == before


def test_an_interrupt_while_the_record_of_the_holder_is_written_leaves_the_lock_free(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = quick(path)
    store.append(said("a"))
    with monkeypatch.context() as patched:
        once(patched, "pwrite")
        with pytest.raises(KeyboardInterrupt):
            store.append(said("b"))
    JsonlStore(path, wait=0.0).append(said("c"))
    store.append(said("d"))
    assert ids(JsonlStore(path).load()) == ["a", "c", "d"]


def test_closing_a_store_while_another_thread_appends_costs_nothing_that_was_acknowledged(path: Path) -> None:
    store = quick(path)
    acknowledged: list[str] = []
    raised: list[BaseException] = []

    def append() -> None:
        for number in range(300):
            try:
                store.append(said(f"i{number}", "x" * 2000))
            except BaseException as error:
                raised.append(error)
            else:
                acknowledged.append(f"i{number}")

    thread = threading.Thread(target=append)
    thread.start()
    while thread.is_alive():
        store.close()
    thread.join()
    assert [error for error in raised if not isinstance(error, TranscriptError)] == []
    store.append(said("last"))
    assert ids(JsonlStore(path).load()) == [*acknowledged, "last"]


def test_a_retry_of_an_entry_that_is_there_is_on_disk_before_it_is_acknowledged(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick(path).append(said("a"))
    real = os.fdatasync
    synced: list[int] = []

    def counted(fd: int) -> None:
        real(fd)
        synced.append(os.fstat(fd).st_ino)

    monkeypatch.setattr(os, "fdatasync", counted)
    assert JsonlStore(path).append(said("a")) == "a"
    assert path.stat().st_ino in synced


def test_details_that_come_with_the_retry_of_an_entry_are_kept(path: Path) -> None:
    store = quick(path)
    store.append(said("a"))
    assert store.append(said("a"), details=[Detail(id="c", payload=1)]) == "a"
    assert list(quick(path).details().values()) == [1]
    assert ids(quick(path).load()) == ["a"]


def test_a_log_can_be_made_where_there_are_no_hard_links(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*args: Any, **options: Any) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refused)
    JsonlStore(path).append(said("a"))
    quick(path).append(said("b"))
    assert ids(quick(path).load()) == ["a", "b"]
    assert sorted(file.name for file in path.parent.iterdir()) == ["log.jsonl", "log.jsonl.lock"]


# -------------------------------------------------------------------- crashes and recovery


def with_hole_in(path: Path, index: int) -> bytes:
    """Five acknowledged batches of one line; a sector within one of them reads as zeros."""
    store = quick(path)
    for number in range(5):
        store.append(said(f"i{number}", "x" * 3000))
    data = bytearray(path.read_bytes())
    begin = sum(map(len, bytes(data).splitlines(keepends=True)[: index + 1]))
    hole = (begin // 512 + 2) * 512
    data[hole : hole + 512] = bytes(512)
    path.write_bytes(data)
    return bytes(data)


def test_a_hole_in_a_batch_that_another_follows_is_damage_and_never_cut_off(path: Path) -> None:
    data = with_hole_in(path, 3)
    with pytest.raises(CorruptLogError):
        JsonlStore(path).load()
    assert ids(JsonlStore(path).scan().entries) == ["i0", "i1", "i2", "i4"]
    JsonlStore(path).append(said("new"))
    assert path.read_bytes().startswith(data)
    assert not path.with_name("log.jsonl.corrupt").exists()


def test_a_hole_in_the_last_batch_is_a_torn_tail(path: Path) -> None:
    with_hole_in(path, 4)
    assert ids(JsonlStore(path).load()) == ["i0", "i1", "i2", "i3"]
    assert [finding.rule for finding in JsonlStore(path).scan().findings] == ["torn-tail"]


@pytest.mark.parametrize("difference", [-64, -1, 0, 1, 64])
def test_a_log_that_another_store_recovered_keeps_its_entries_whatever_its_size(
    path: Path, tmp_path: Path, difference: int
) -> None:
    model = tmp_path / "model.jsonl"
    header = new_header()
    JsonlStore(model, header=header).append(said("b"))
    torn = b'{"type":"session","version":3'
    path.write_bytes(torn.ljust(model.stat().st_size + difference, b"\0"))
    first = quick(path)
    with pytest.raises(ConflictError):
        first.append(said("a"), after="other")
    JsonlStore(path, header=header).append(said("b"))
    assert path.stat().st_size == model.stat().st_size  # so that the difference is what it says
    first.append(said("c"))
    assert ids(quick(path).load()) == ["b", "c"]


# ------------------------------------------------------------------- readers beside writers


def test_a_follower_is_given_what_took_the_place_of_a_batch_that_was_taken_back(path: Path) -> None:
    store = quick(path)
    store.append(said("a"))
    size = path.stat().st_size
    looks = iter(range(1000))  # it fails rather than waits for ever
    following = store.follow(poll=0.001, stop=lambda: next(looks) == 999)
    assert ids(next(following)) == ["a"]
    quick(path).append(said("R", "R" * 300))
    taken = path.stat().st_size
    assert ids(next(following)) == ["R"]
    os.truncate(path, size)  # as a sync that failed does
    quick(path).append(said("N", "N" * 300))
    assert path.stat().st_size == taken
    assert ids(next(following)) == ["N"]
    quick(path).append(said("M"))
    assert ids(next(following)) == ["M"]


def replacing(path: Path, size: int, data: bytes) -> Callable[..., int]:
    """An ``os.preadv`` behind whose first look at the entries the file is cut, and something else added."""
    real = os.preadv
    done: list[int] = []

    def read(*args: Any) -> int:
        got = real(*args)
        if not done and args[2]:  # not the header's
            done.append(got)
            os.truncate(path, size)
            add(path, data)
        return got

    return read


def read_while_replaced(path: Path, monkeypatch: pytest.MonkeyPatch, read: Callable[[], Any]) -> Any:
    """What a reading gives during which a batch is taken back and a longer one added."""
    store = quick(path)
    store.append(said("a", "a" * 200))
    size = path.stat().st_size
    store.append(said("N", "N" * 500))
    data = path.read_bytes()[size:]
    os.truncate(path, size)
    quick(path).append(said("R", "R" * 300))
    monkeypatch.setattr(os, "preadv", replacing(path, size, data))
    return read()


@pytest.mark.parametrize("kind", ["load", "scan"])
def test_a_reading_begins_anew_when_what_it_read_was_taken_back(
    path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    def read() -> list[str]:
        return ids(JsonlStore(path).load() if kind == "load" else JsonlStore(path).scan().entries)

    assert read_while_replaced(path, monkeypatch, read) == ["a", "N"]


def test_the_active_part_refuses_a_line_over_the_limit_as_a_load_does(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick(path).append(said("a"))
    quick(path).append(said("long", "x" * 6000))
    for number in range(3):
        quick(path).append(said(f"z{number}"))
    for module in (transcript_log._reading, transcript_log._logfile.reader):
        monkeypatch.setattr(module, "LINE_LIMIT", 5000)
    for read in (JsonlStore(path).load, JsonlStore(path).active):
        with pytest.raises(CorruptLogError, match="over 5000 bytes"):
            read()


def test_the_active_part_is_refused_if_an_id_stands_twice_in_it(path: Path) -> None:
    for entry in (said("a"), said("b"), said("c"), said("a", "other")):
        quick(path).append(entry)
    for read in (JsonlStore(path).load, JsonlStore(path).active):
        with pytest.raises(CorruptLogError, match="'a' stands on line 2 already"):
            read()


# -------------------------------------------------------------------------------- mending


def test_salvage_never_rounds_an_integer_past_64_bits(path: Path) -> None:
    quick(path).append(said("a"))
    add(path, b"\0\0" + foreign("b", str(_HUGE)))
    add(path, foreign("c", str(-_HUGE)))
    JsonlStore(path).salvage(apply=True)
    numbers = [entry.message["n"] for entry in JsonlStore(path).load()[1:] if isinstance(entry, MessageEntry)]
    assert numbers == [_HUGE, -_HUGE]
    assert [type(number) for number in numbers] == [int, int]


def test_reseal_never_rounds_an_integer_past_64_bits(path: Path) -> None:
    for entry in (said("a"), said("b", "edited"), said("c", "edited"), said("d")):
        quick(path).append(entry)
    path.write_bytes(path.read_bytes().replace(b'"edited"', str(_HUGE).encode()))
    with pytest.raises(CorruptLogError, match="salvage"):
        JsonlStore(path).reseal(apply=True)
    JsonlStore(path).salvage(apply=True)
    entries = [entry for entry in JsonlStore(path).load() if isinstance(entry, MessageEntry)]
    assert [entry.message["content"] for entry in entries] == ["hi", _HUGE, _HUGE, "hi"]


@pytest.mark.parametrize("number", ["1e400", str(_HUGE)])
def test_salvage_gives_a_new_id_to_an_entry_whose_numbers_only_its_spelling_can_tell(
    path: Path, number: str
) -> None:
    quick(path).append(said("a"))
    add(path, foreign("a", number))
    JsonlStore(path).salvage(apply=True)
    first, second = ids(JsonlStore(path).load())
    assert first == "a"
    assert second != "a"
    assert f'"n":{number}'.encode() in path.read_bytes()


@pytest.mark.parametrize("number", ["1e400", str(_HUGE)])
@pytest.mark.parametrize("time", ["1700000000000", '"soon"'])
def test_salvage_gives_a_time_to_an_entry_whose_numbers_only_its_spelling_can_tell(
    path: Path, number: str, time: str
) -> None:
    quick(path).append(said("a"))
    add(path, foreign("b", number, time))
    JsonlStore(path).salvage(apply=True)
    entries = JsonlStore(path).load()
    assert ids(entries) == ["a", "b"]
    assert entries[1].timestamp == (
        _NOON if "soon" in time else datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
    )
    assert f'"n":{number}'.encode() in path.read_bytes()
    assert not JsonlStore(path).salvage()[0].is_needed


def test_an_error_in_mending_the_sidecar_names_the_backup_of_the_log(path: Path) -> None:
    store = quick(path)
    store.append(said("a"), details=[Detail(id="c", payload=1)])
    details = Path(store.details_path)
    for damaged in (path, details):
        add(damaged, b"junk\n")
    details.with_name(details.name + ".salvage").mkdir()
    with pytest.raises(StorageError) as caught:
        JsonlStore(path).salvage(apply=True)
    (backup,) = path.parent.glob("log.jsonl.before-salvage-*")
    assert str(backup) in str(caught.value)


def test_a_log_with_a_byte_order_mark_and_an_edited_header_is_resealed(path: Path) -> None:
    quick(path).append(said("a"))
    data = bytearray(b"\xef\xbb\xbf" + path.read_bytes())
    at = data.index(b'"id":"') + 6
    data[at : at + 2] = b"zz"
    path.write_bytes(data)
    with pytest.raises(HeaderError):
        JsonlStore(path).load()
    assert JsonlStore(path).reseal(apply=True)[0].applied
    assert ids(JsonlStore(path).load()) == ["a"]
    header = JsonlStore(path).header()
    assert header is not None
    assert header.id is not None
    assert header.id.startswith("zz")


# ---------------------------------------------------------------------------------- links


def test_a_link_that_leads_nowhere_leaves_nothing_at_its_target(path: Path, tmp_path: Path) -> None:
    path.symlink_to(tmp_path / "evil" / "deep" / "target.jsonl")
    store = JsonlStore(path)
    for write in (
        lambda: store.append(said("a"), details=[Detail(id="c", payload=1)]),
        store.create,
        lambda: store.lease().__enter__(),
    ):
        with pytest.raises(StorageError):
            write()
    assert list(tmp_path.rglob("*")) == [path]


def test_a_link_to_itself_does_not_stop_a_listing(path: Path) -> None:
    quick(path).create()
    loop = path.with_name("loop.jsonl")
    loop.symlink_to(loop.name)
    listed = {log.path: log.problem for log in list_logs(path.parent)}
    assert set(listed) == {str(path), str(loop)}
    assert listed[str(path)] == ""
    assert listed[str(loop)]


def test_a_sidecar_that_is_a_link_is_not_followed(path: Path, tmp_path: Path) -> None:
    other = quick(tmp_path / "other.jsonl")
    other.append(said("a"), details=[Detail(id="c", payload="secret")])
    store = quick(path)
    store.append(said("a"))
    Path(store.details_path).symlink_to(other.details_path)
    for read in (store.details, store.scan):
        with pytest.raises(StorageError):
            read()
