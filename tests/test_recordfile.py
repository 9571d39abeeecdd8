"""Records of other programs come back as they were, and as safely as the entries of a log."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transcript_log import CorruptLogError, EntryError, StorageError
from transcript_log._logfile.lock import WriterLock
from transcript_log._recordfile import RecordFile, load_records

Record = dict[str, Any]

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(), max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
RECORDS = st.dictionaries(st.sampled_from(["type", "crc", "uuid", "a", "\n"]), JSON, min_size=1, max_size=4)


def opened(path: Path) -> RecordFile:
    return RecordFile(str(path), WriterLock(str(path), f"{path}.lock", 5.0), durable=False)


def named(uuid: str, n: int = 0) -> Record:
    return {"type": "x", "uuid": uuid, "n": n}


@given(batches=st.lists(st.lists(RECORDS, max_size=4), max_size=5), data=st.data())
def test_what_was_added_comes_back_in_order_each_record_once(
    tmp_path_factory: pytest.TempPathFactory, batches: list[list[Record]], data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("r") / "s.jsonl"
    file = opened(path)
    wanted: list[Record] = []
    for batch in batches:
        file.append(batch)
        for record in batch:
            is_there = any(
                json.dumps(record, sort_keys=True) == json.dumps(one, sort_keys=True) for one in wanted
            )
            if type(record.get("uuid")) is not str or not is_there:
                wanted.append(record)
        if data.draw(st.booleans()):
            file.close()
            file = opened(path)
    found = load_records(str(path))
    assert (found or []) == wanted
    assert json.dumps(found or [], sort_keys=True) == json.dumps(wanted, sort_keys=True)
    file.close()


def test_a_record_that_says_something_else_under_its_id_is_kept_too(tmp_path: Path) -> None:
    file = opened(tmp_path / "s.jsonl")
    file.append([named("a"), named("a"), named("a", 1)])
    file.append([{"n": 0, "uuid": "a", "type": "x"}, named("b"), {"type": "x"}, {"type": "x"}])
    assert load_records(file.path) == [named("a"), named("a", 1), named("b"), {"type": "x"}, {"type": "x"}]
    file.close()


def test_a_record_may_look_as_if_it_had_a_seal(tmp_path: Path) -> None:
    file = opened(tmp_path / "s.jsonl")
    sealed: list[Record] = [{"type": "x", "crc": "00000000"}, {"crc": "01234567"}]
    file.append(sealed)
    file.append(sealed[:1])
    assert load_records(file.path) == [*sealed, sealed[0]]
    file.close()


def test_nothing_is_made_for_nothing(tmp_path: Path) -> None:
    file = opened(tmp_path / "folder" / "s.jsonl")
    file.append([])
    assert list(tmp_path.iterdir()) == []
    assert load_records(file.path) is None


def test_what_others_add_is_known(tmp_path: Path) -> None:
    one, two = opened(tmp_path / "s.jsonl"), opened(tmp_path / "s.jsonl")
    one.append([named("a")])
    two.append([named("a"), named("b")])
    one.append([named("b"), named("c")])
    assert load_records(one.path) == [named("a"), named("b"), named("c")]
    os.unlink(one.path)
    one.append([named("a")])
    two.append([named("b"), named("d")])
    assert load_records(one.path) == [named("a"), named("b"), named("d")]
    one.close()
    two.close()


def test_what_was_there_long_before_is_known_too(tmp_path: Path) -> None:
    records = [named(str(n)) for n in range(50)]
    for record in records:
        file = opened(tmp_path / "s.jsonl")
        file.append([record])
        file.close()
    file = opened(tmp_path / "s.jsonl")
    file.append(records)
    assert load_records(file.path) == records
    file.close()


def test_what_is_there_already_is_acknowledged_once_it_is_on_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "s.jsonl"
    file = opened(path)  # which waits for no disk
    file.append([named("a")])
    file.close()
    file = RecordFile(str(path), WriterLock(str(path), f"{path}.lock", 5.0), durable=True)
    synced: list[str] = []
    real = os.fdatasync
    monkeypatch.setattr(
        "os.fdatasync", lambda fd: (synced.append(os.readlink(f"/proc/self/fd/{fd}")), real(fd))
    )
    file.append([named("a")])
    assert synced == [str(path)]
    file.close()


def test_no_file_stays_open(tmp_path: Path) -> None:
    def descriptors() -> int:
        links = [f"/proc/self/fd/{fd}" for fd in os.listdir("/proc/self/fd")]
        return sum(str(tmp_path) in os.readlink(link) for link in links if os.path.exists(link))

    lock = WriterLock(str(tmp_path / "s.jsonl"), str(tmp_path / "s.lock"), 5.0)
    file = RecordFile(str(tmp_path / "s.jsonl"), lock, durable=False)
    file.append([named("a")])
    file.close()
    lock.close()
    assert load_records(file.path) == [named("a")]
    assert descriptors() == 0
    file.append([named("b")])
    assert descriptors() > 0
    file.close()
    lock.close()


def test_of_a_batch_that_a_crash_has_cut_nothing_is_there(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    file = opened(path)
    file.append([named("a")])
    start = path.stat().st_size
    file.append([named("b"), named("c"), named("d")])
    file.close()
    whole = path.read_bytes()
    for end in range(start, len(whole)):
        path.write_bytes(whole[:end])
        found = load_records(str(path))
        is_whole = end == len(whole) - 1  # but for its last line feed
        assert found == [named(uuid) for uuid in ("abcd" if is_whole else "a")]
        again = opened(path)
        again.append([named("b"), named("c"), named("d")])
        again.close()
        assert load_records(str(path)) == [named("a"), named("b"), named("c"), named("d")]
    assert list(tmp_path.glob("*.corrupt"))


def test_damage_is_told_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    file = opened(path)
    file.append([named("a")])
    file.append([named("bbb")])
    file.append([named("c")])
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([lines[0], lines[1].replace(b"bbb", b"bxb"), lines[2]]))
    with pytest.raises(CorruptLogError) as told:
        load_records(str(path))
    assert (told.value.line, told.value.offset) == (2, len(lines[0]))
    assert "checksum" in str(told.value)
    file.close()
    file = opened(path)  # a writer goes on behind it
    file.append([named("d"), named("c")])
    assert path.read_bytes().count(b'"uuid":"c"') == 1
    file.close()


def test_lines_of_the_program_itself_are_taken_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text('{"uuid": "a", "n": 1}\n{"type":"x"}')
    file = opened(path)
    file.append([{"n": 1, "uuid": "a"}, named("b")])
    assert load_records(str(path)) == [{"uuid": "a", "n": 1}, {"type": "x"}, named("b")]
    path.write_text("[1]\n{}\n")
    with pytest.raises(CorruptLogError, match="no JSON object"):
        load_records(str(path))
    file.close()


@pytest.mark.parametrize(
    "bad",
    [{"n": float("nan")}, {"n": 2**64}, {"n": (1,)}, {1: 2}, {}, [1], {"n": "x" * (64 << 20)}],
    ids=lambda bad: str(bad)[:20],
)
def test_a_batch_with_a_record_that_cannot_be_kept_writes_nothing(tmp_path: Path, bad: Any) -> None:
    file = opened(tmp_path / "s.jsonl")
    with pytest.raises(EntryError) as told:
        file.append([named("a"), bad])
    assert told.value.where.startswith("$[1]")
    assert load_records(file.path) is None


def test_a_batch_that_could_not_be_written_can_be_sent_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = opened(tmp_path / "s.jsonl")
    file.append([named("a")])
    real: Callable[..., int] = os.write
    left = [20]

    def short(fd: int, data: Any) -> int:
        if left[0] <= 0:
            raise OSError(28, "No space left on device")
        done = real(fd, bytes(data)[: left[0]])
        left[0] -= done
        return done

    with monkeypatch.context() as patch:
        patch.setattr("os.write", short)
        with pytest.raises(StorageError):
            file.append([named("b"), named("c")])
    assert load_records(file.path) == [named("a")]
    file.append([named("b"), named("c")])
    assert load_records(file.path) == [named("a"), named("b"), named("c")]
    file.close()
