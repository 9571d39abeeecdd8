"""A fork has the lines of the log that it is of, byte for byte, and its records."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import alike, details, logs

from transcript_log import Detail, EntryError, HeaderError, IdError, JsonlStore, StorageError, new_message
from transcript_log._logfile.seal import line_of, unsealed
from transcript_log.check import check_scan
from transcript_log.entries import Entry, ForkOrigin, MessageEntry
from transcript_log.errors import EntryNotFoundError
from transcript_log.memory import MemoryStore


def message(name: str, text: str = "x") -> MessageEntry:
    return new_message({"role": "user", "content": text}, id_source=lambda: name)


def lines(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


def faults(log: JsonlStore) -> list[str]:
    return [str(found) for found in check_scan(log.scan(), log.path) if found.severity != "note"]


@pytest.fixture
def log(tmp_path: Path) -> JsonlStore:
    return JsonlStore(tmp_path / "log.jsonl")


def test_lines_are_copied_with_keys_that_nobody_here_knows(log: JsonlStore, tmp_path: Path) -> None:
    log.append(message("a"))
    theirs = b' { "type":"message", "id":"b","timestamp":"2026-01-02T03:04:05+00:00",'
    theirs += b'"message":{"role":"user","content":"x"},"theirs":{"a":1.50} }\r\n'
    sealed = line_of(theirs.strip().replace(b'"id":"b"', b'"id":"c"'))
    with Path(log.path).open("ab") as file:
        file.write(theirs + sealed)
    log.append(message("d"), message("e"))
    fork = log.fork(tmp_path / "fork.jsonl", "e")
    assert lines(tmp_path / "fork.jsonl")[1:] == lines(Path(log.path))[1:]
    assert fork.load() == log.load()
    header, mine = fork.header(), log.header()
    assert header is not None
    assert mine is not None
    assert header.forked_from == ForkOrigin(session=str(mine.id), entry="e")
    assert header.id != mine.id


@given(sizes=st.lists(st.integers(1, 4), min_size=1, max_size=5), data=st.data())
def test_a_fork_is_the_beginning_of_its_log(
    sizes: list[int], data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("fork")
    log = JsonlStore(folder / "log.jsonl", durability="os", checksum=data.draw(st.booleans()))
    number = 0
    for size in sizes:
        batch = [message(f"e{number + n}") for n in range(size)]
        log.append(*batch, details=[Detail(id="c", payload=one.id, entry=one.id) for one in batch])
        number += size
    cut = data.draw(st.integers(0, number - 1))
    fork = log.fork(folder / "fork.jsonl", f"e{cut}")
    assert fork.load() == log.load()[: cut + 1]
    assert fork.details() == {("c", f"e{n}"): f"e{n}" for n in range(cut + 1)}
    assert not faults(fork)
    copied, theirs = lines(folder / "fork.jsonl")[1:], lines(folder / "log.jsonl")[1:]
    assert copied[:-1] == theirs[:cut]
    assert unsealed(copied[-1]) == unsealed(theirs[cut])
    # Both go on.
    fork.append(message("fork"))
    log.append(message("log"))
    assert [entry.id for entry in fork.load()][cut + 1 :] == ["fork"]
    assert [entry.id for entry in log.load()][number:] == ["log"]


def test_a_fork_inside_a_batch_ends_in_a_whole_batch(log: JsonlStore, tmp_path: Path) -> None:
    log.append(message("a"), message("b"), message("c"))
    log.fork(tmp_path / "fork.jsonl", "b")
    first, second = lines(tmp_path / "fork.jsonl")[1:]
    assert first == lines(Path(log.path))[1]
    assert second == lines(Path(log.path))[2].removeprefix(b"\t")[:-20] + second[-20:]
    assert second == line_of(orjson.dumps({k: v for k, v in orjson.loads(second).items() if k != "crc"}))


def test_records_of_other_entries_stay_behind(log: JsonlStore, tmp_path: Path) -> None:
    details = [Detail(id="c1", payload=1, entry="a"), Detail(id="request:x", payload=2)]
    log.append(message("a"), message("b"), details=[*details, Detail(id="c2", payload=3, entry="b")])
    log.append(details=[Detail(id="c1", payload=4, entry="a")])
    fork = log.fork(tmp_path / "fork.jsonl", "a")
    assert fork.details() == {("c1", "a"): 4, ("request:x", None): 2}


def test_damage_does_not_come_along_but_what_can_be_read_of_it_does(log: JsonlStore, tmp_path: Path) -> None:
    for name in "abc":
        log.append(message(name))
    there = lines(Path(log.path))
    Path(log.path).write_bytes(
        b"".join([there[0], there[1].rstrip() + there[2], b"{broken\n", there[3], b"torn"])
    )
    fork = log.fork(tmp_path / "fork.jsonl", "c")
    assert [entry.id for entry in fork.load()] == ["a", "b", "c"]
    assert not faults(fork)


def test_nothing_is_made_where_nothing_can_be(log: JsonlStore, tmp_path: Path) -> None:
    log.append(message("a"))
    new = tmp_path / "new" / "fork.jsonl"
    with pytest.raises(EntryNotFoundError, match="'b'"):
        log.fork(new, "b")
    assert not new.parent.exists()
    log.fork(new, "a")
    before = new.read_bytes()
    with pytest.raises(StorageError, match="already"):
        log.fork(new, "a")
    assert new.read_bytes() == before
    (tmp_path / "theirs.jsonl").write_text('{"type":"session_meta","payload":{}}\n')
    with pytest.raises(HeaderError):
        log.fork(tmp_path / "theirs.jsonl", "a")
    with pytest.raises(EntryNotFoundError):
        JsonlStore(tmp_path / "missing.jsonl").fork(tmp_path / "of-nothing.jsonl", "a")
    assert not (tmp_path / "of-nothing.jsonl").exists()


def test_an_empty_file_is_not_written_over(log: JsonlStore, tmp_path: Path) -> None:
    log.append(message("a"))
    (tmp_path / "empty.jsonl").touch()
    with pytest.raises(StorageError):
        log.fork(tmp_path / "empty.jsonl", "a")
    assert (tmp_path / "empty.jsonl").read_bytes() == b""


def copied(log: JsonlStore, new: Path) -> None:
    """The same entries in a log of their own, made in another way."""
    details = [Detail(id=name, payload=value, entry=entry) for (name, entry), value in log.details().items()]
    JsonlStore(new).create(log.load(), details)


@pytest.mark.parametrize("made", [lambda log, new: log.fork(new, "a"), copied], ids=["fork", "create"])
@pytest.mark.parametrize("call", ["write", "fdatasync", "link", "fsync"])
def test_a_fork_that_fails_leaves_no_log(
    log: JsonlStore,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    call: str,
    made: Callable[[JsonlStore, Path], object],
) -> None:
    log.append(message("a"), details=[Detail(id="c", payload=1, entry="a")])
    real = getattr(os, call)
    left = 40

    def failing(*args: Any, **more: Any) -> Any:
        nonlocal left
        left -= 1
        if left == 0:
            raise OSError(28, "No space left on device")
        return real(*args, **more)

    new = tmp_path / "fork.jsonl"
    failures = 0
    for place in range(1, 8):
        left = place
        monkeypatch.setattr(os, call, failing)
        try:
            made(log, new)
        except StorageError:
            failures += 1
            assert not new.exists()
            assert not Path(f"{new}.new").exists()
            assert not JsonlStore(new).scan().details
        monkeypatch.setattr(os, call, real)
        if new.exists():
            break
    assert failures
    if not new.exists():
        made(log, new)
    assert [entry.id for entry in JsonlStore(new).load()] == ["a"]
    assert JsonlStore(new).details() == {("c", "a"): 1}
    assert len([name for name in os.listdir(tmp_path) if ".new" in name]) == 0


# -------------------------------------------------------------- a log made with its entries


@given(entries=logs(), records=st.lists(details(), max_size=4), checksum=st.booleans())
def test_a_log_is_made_with_its_entries(
    entries: list[Entry], records: list[Detail], checksum: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("made") / "log.jsonl"
    JsonlStore(path, checksum=checksum).create(entries, records)
    made = JsonlStore(path)
    assert alike(made.load(), entries)
    expected = MemoryStore()
    expected.append(*entries, details=records)
    assert alike(made.details(), dict(expected.details()))
    assert not [finding for finding in made.scan().findings if finding.severity != "note"]
    # Readers need not hold more than one of them.
    assert not [line for line in lines(path) if line[:1] == b"\t"]
    made.append(message("next"))
    assert [entry.id for entry in made.load()] == [*(entry.id for entry in entries), "next"]


def test_what_is_there_is_never_written_over(tmp_path: Path) -> None:
    log, empty, torn, theirs = (tmp_path / f"{name}.jsonl" for name in ("log", "empty", "torn", "theirs"))
    JsonlStore(log).create([message("a")])
    for path, held in ((empty, b""), (torn, b'{"type":"sess'), (theirs, b"no log\n")):
        path.write_bytes(held)
    before = {path: path.read_bytes() for path in (log, empty, torn, theirs)}
    for path in before:
        with pytest.raises((StorageError, HeaderError)):
            JsonlStore(path).create([message("b")], [Detail(id="c", payload=1)])
        assert not path.with_suffix(".details.jsonl").exists() or not JsonlStore(path).details()
    assert {path: path.read_bytes() for path in before} == before
    JsonlStore(log).create([message("b")], exist_ok=True)
    assert log.read_bytes() == before[log]


def test_what_cannot_be_stored_makes_no_log(tmp_path: Path) -> None:
    endless = new_message({"role": "user", "content": float("inf")}, id_source=lambda: "b")
    for bad, error in (([message("a"), endless], EntryError), ([message("a"), message("a", "y")], IdError)):
        with pytest.raises(error):
            JsonlStore(tmp_path / "log.jsonl").create(bad, [Detail(id="c", payload=1)])
        assert os.listdir(tmp_path) == []


def test_a_sidecar_without_its_log_is_not_added_to(log: JsonlStore, tmp_path: Path) -> None:
    log.append(message("a"), details=[Detail(id="c", payload=1, entry="a")])
    notes = tmp_path / "fork.details.jsonl"
    notes.write_bytes(b"my notes\n")
    with pytest.raises(StorageError, match="a sidecar stands there"):
        log.fork(tmp_path / "fork.jsonl", "a")
    assert notes.read_bytes() == b"my notes\n"
    assert not (tmp_path / "fork.jsonl").exists()
    # What a fork leaves that was killed between the two is what the next one would write.
    notes.write_bytes(Path(log.details_path).read_bytes())
    fork = log.fork(tmp_path / "fork.jsonl", "a")
    assert fork.details() == {("c", "a"): 1}
    assert notes.read_bytes() == Path(log.details_path).read_bytes()
