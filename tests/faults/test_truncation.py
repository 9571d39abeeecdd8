"""A log and its sidecar cut at every byte: what is whole is there, and the next append lands."""

from __future__ import annotations

import itertools
from pathlib import Path

from batches import Batch, held

from transcript_log import CorruptLogError, JsonlStore

BATCHES = [Batch("one"), Batch("two", 3), Batch("three"), Batch("four", 2, 40)]


def made(path: Path) -> tuple[bytes, list[int]]:
    """A log of these batches, and where each of them ends."""
    store = JsonlStore(path, durability="os")
    store.create()
    ends = [path.stat().st_size]
    for batch in BATCHES:
        batch.append_to(store)
        ends.append(path.stat().st_size)
    return path.read_bytes(), ends


def test_a_log_cut_at_every_byte_reads_as_whole_batches_and_goes_on(folder: Path) -> None:
    path = folder / "log.jsonl"
    data, ends = made(path)
    assert held(path, BATCHES) == BATCHES
    more = Batch("more", 2)
    for cut in range(len(data) + 1):
        path.write_bytes(data[:cut])
        # A line that lacks nothing but its line feed counts; so does the header's.
        whole = BATCHES[: max(0, sum(end - 1 <= cut for end in ends) - 1)]
        store = JsonlStore(path, durability="os")
        assert [entry.id for entry in store.load()] == [name for batch in whole for name in batch.ids], cut
        assert (store.header() is None) == (cut < ends[0] - 1)
        if cut % 4:
            continue
        more.append_to(store)
        assert held(path, [*BATCHES, more]) == [*whole, more], cut
        assert store.scan().findings == ()
        store.close()


def test_zeros_behind_a_cut_at_every_byte_are_no_part_of_the_log(folder: Path) -> None:
    path = folder / "log.jsonl"
    data, ends = made(path)
    more = Batch("more", 2)
    for cut in range(0, len(data) + 1, 9):
        for zeros in (1, 4096):
            path.write_bytes(data[:cut] + bytes(zeros))
            whole = BATCHES[: max(0, sum(end <= cut for end in ends) - 1)]
            store = JsonlStore(path, durability="os")
            more.append_to(store)
            assert held(path, [*BATCHES, more]) == [*whole, more], (cut, zeros)
            store.close()


def test_a_sidecar_cut_at_every_byte_reads_as_whole_batches_and_goes_on(folder: Path) -> None:
    path = folder / "log.jsonl"
    made(path)
    sidecar = Path(JsonlStore(path).details_path)
    data = sidecar.read_bytes()
    lines = data.splitlines(keepends=True)
    ends = list(itertools.accumulate(len(lines[at]) + len(lines[at + 1]) for at in range(0, len(lines), 2)))
    more = Batch("more")
    for cut in range(len(data) + 1):
        sidecar.write_bytes(data[:cut])
        count = sum(end - 1 <= cut for end in ends)
        store = JsonlStore(path, durability="os")
        found = store.details()
        for at, batch in enumerate(BATCHES):
            for detail in batch.details:
                if at < count:
                    assert found[(detail.id, detail.entry)] == detail.payload, cut
        if cut % 5 == 0:
            store.append(details=more.details)
            assert len(store.details()) == len(found) + 2
            assert store.scan().findings == ()
            store.close()


def test_a_log_that_has_lost_any_of_its_bytes_in_the_middle_is_damaged_and_says_where(folder: Path) -> None:
    path = folder / "log.jsonl"
    data, ends = made(path)
    for at in range(ends[0], ends[2]):  # the two batches behind have to come through whole
        path.write_bytes(data[:at] + data[at + 1 :])
        store = JsonlStore(path)
        place = _damaged_at(store)
        if place is None:
            # Without a whole checksum a line is one that has none; what it says is unchanged.
            assert data.find(b"\n", at) - at <= len(b',"crc":"xxxxxxxx"}'), at
            assert [entry.id for entry in store.load()] == [name for batch in BATCHES for name in batch.ids]
            assert store.scan().unsealed == 1
        else:
            start = data.rfind(b"\n", 0, at) + 1
            assert place[1] in (start, data.find(b"\n", start) + 1), at
            assert place[0] == data.count(b"\n", 0, place[1]) + 1
        later = [name for batch in BATCHES[2:] for name in batch.ids]
        assert [entry.id for entry in store.scan().entries if entry.id in later][-2:] == later[-2:]


def _damaged_at(store: JsonlStore) -> tuple[int, int] | None:
    try:
        store.load()
    except CorruptLogError as error:
        return error.line, error.offset
    return None
