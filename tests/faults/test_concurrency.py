"""Many writers and readers at once: nothing is lost, doubled or mixed, and no half is seen."""

from __future__ import annotations

import threading
from pathlib import Path

from batches import Batch, held
from children import Child, Say

from transcript_log import JsonlStore

PROCESSES, THREADS, BATCHES = 3, 2, 15


def todo(process: int, thread: int) -> list[Batch]:
    """What one thread of one process appends, in this order."""
    return [
        Batch(f"{process}-{thread}-{number}", 1 + number % 3, (20, 400, 9000)[number % 3])
        for number in range(BATCHES)
    ]


EVERYTHING = [
    batch for process in range(PROCESSES) for thread in range(THREADS) for batch in todo(process, thread)
]


def write(path: Path, process: int) -> None:
    """Append from all the threads of a process, through one store that they share or one for each stretch."""
    shared = JsonlStore(path, durability="fsync" if process == 1 else "os", wait=60.0)
    errors: list[BaseException] = []

    def work(thread: int) -> None:
        try:
            store = shared
            for number, batch in enumerate(todo(process, thread)):
                if process == 2 and number % 5 == 0:
                    store = JsonlStore(path, durability="os", wait=60.0)
                batch.append_to(store)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(thread,)) for thread in range(THREADS)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    if errors:
        raise errors[0]


def in_order(found: list[Batch]) -> bool:
    """Whether each thread's batches stand in the order in which it appended them."""
    names = [batch.name for batch in found]
    return all(
        [name for name in names if name.startswith(f"{process}-{thread}-")]
        == [batch.name for batch in todo(process, thread) if batch.name in names]
        for process in range(PROCESSES)
        for thread in range(THREADS)
    )


def test_many_writers_and_readers_at_once_see_whole_batches_and_lose_none(folder: Path) -> None:
    path = folder / "log.jsonl"
    finished = folder / "finished"

    def read(say: Say) -> None:
        seen: list[Batch] = []
        looks = 0
        while True:
            last = finished.exists()
            store = JsonlStore(path)
            entries = store.load()
            for reading in (
                store.active,
                lambda store=store: list(store.read()),
                lambda store=store: list(store.scan().entries),
            ):  # type: ignore[misc]
                later = reading()
                assert later[: len(entries)] == entries
                entries = later
            found = _batches([entry.id for entry in entries])
            assert found[: len(seen)] == seen
            seen = found
            looks += 1
            if last:
                say(f"{looks} {len(seen)}")
                return

    def follow(say: Say) -> None:
        given = [
            entry.id
            for batch in JsonlStore(path).follow(poll=0.001, stop=finished.exists)
            for entry in batch
            if _batches([entry.id for entry in batch])
        ]
        assert in_order(_batches(given))
        say(f"{len(given)}")

    readers = [Child(read), Child(read)]
    follower = Child(follow)
    writers = [Child(lambda say, process=process: write(path, process)) for process in range(PROCESSES)]  # type: ignore[misc]
    for writer in writers:
        assert writer.ends() == (0, [])
    finished.touch()
    for reader in readers:
        code, (said,) = reader.ends()
        looks, count = map(int, said.split())
        assert code == 0
        assert count == len(EVERYTHING)
        assert looks > 1
    code, said_last = follower.ends()
    assert code == 0
    assert int(said_last[0]) <= sum(batch.count for batch in EVERYTHING)

    found = held(path, EVERYTHING)
    assert len(found) == len(EVERYTHING)
    assert in_order(found)
    assert JsonlStore(path).scan().findings == ()


def _batches(ids: list[str]) -> list[Batch]:
    """The batches that these ids are of, every one whole."""
    by_first = {batch.ids[0]: batch for batch in EVERYTHING}
    found = []
    at = 0
    while at < len(ids):
        batch = by_first.pop(ids[at])
        assert ids[at : at + batch.count] == batch.ids
        found.append(batch)
        at += batch.count
    return found


def test_a_log_that_many_make_at_once_has_one_header_and_all_their_batches(folder: Path) -> None:
    for turn in range(5):
        path = folder / f"{turn}" / "log.jsonl"
        batches = [Batch(f"{number}", 2) for number in range(4)]
        children = [
            Child(lambda say, batch=batch, path=path: batch.append_to(JsonlStore(path, durability="os")))  # type: ignore[misc]
            for batch in batches
        ]
        assert [child.ends() for child in children] == [(0, [])] * 4
        assert sorted(batch.name for batch in held(path, batches)) == ["0", "1", "2", "3"]
        assert path.read_bytes().count(b'"type":"session"') == 1


def test_a_store_that_is_open_at_a_fork_serves_parent_and_child(folder: Path) -> None:
    path = folder / "log.jsonl"
    store = JsonlStore(path, durability="os", wait=60.0)
    Batch("before").append_to(store)
    mine = [Batch(f"mine{number}", 2) for number in range(20)]
    theirs = [[Batch(f"{child}theirs{number}", 2) for number in range(20)] for child in range(2)]

    def work(batches: list[Batch]) -> None:
        for batch in batches:
            batch.append_to(store)

    children = [Child(lambda say, batches=batches: work(batches)) for batches in theirs]  # type: ignore[misc]
    work(mine)
    for child in children:
        assert child.ends() == (0, [])
    everything = [Batch("before"), *mine, *theirs[0], *theirs[1]]
    found = held(path, everything)
    assert len(found) == len(everything)
    for batches in (mine, *theirs):
        assert [batch for batch in found if batch in batches] == batches
    Batch("after").append_to(store)
    assert held(path, [*everything, Batch("after")])[-1] == Batch("after")
