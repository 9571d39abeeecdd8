"""Entries as they come: whole batches, each once, whatever becomes of the file.

Nothing here waits: a follower asks after each look whether to stop, and is there that the
next thing happens to the log.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import logs
from test_seal import HEADER, batch_of, body_of, sealed

from transcript_log import CorruptLogError, Entry, HeaderError, JsonlStore, MessageEntry
from transcript_log.errors import EntryNotFoundError

_NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)


def said(entry_id: str, text: str = "hi") -> MessageEntry:
    return MessageEntry(id=entry_id, timestamp=_NOON, message={"role": "user", "content": text})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log.jsonl"


def quick(path: Path) -> JsonlStore:
    return JsonlStore(path, durability="os")


def follow(
    path: Path, *steps: Callable[[], object], after: str | None = None, **options: Any
) -> list[list[str]]:
    """The ids of the batches given while ``steps`` happen, one between two looks each."""
    todo = iter(steps)

    def stop() -> bool:
        step = next(todo, None)
        if step is None:
            return True
        step()
        return False

    batches = quick(path).follow(after, poll=0.0, stop=stop, **options)
    return [[entry.id for entry in batch] for batch in batches]


def writing(path: Path, data: bytes, mode: str = "ab") -> Callable[[], None]:
    def write() -> None:
        with path.open(mode) as file:
            file.write(data)

    return write


# ------------------------------------------------------------------------------ batches


@settings(max_examples=60)
@given(logs(max_size=10), st.data())
def test_every_batch_is_given_whole_and_once_whenever_it_comes(
    tmp_path_factory: pytest.TempPathFactory, log: list[Entry], data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("log") / "log.jsonl"
    store = quick(path)
    batches: list[list[Entry]] = []
    while log:
        size = data.draw(st.integers(1, 3))
        batches.append(log[:size])
        log = log[size:]
    before = data.draw(st.integers(0, len(batches)))
    for batch in batches[:before]:
        store.append(*batch)

    def add(some: list[list[Entry]]) -> Callable[[], None]:
        return lambda: [store.append(*batch) for batch in some] and None

    middle = data.draw(st.integers(before, len(batches)))
    steps = [add(batches[before:middle]), lambda: None, add(batches[middle:])]
    assert follow(path, *steps) == [[entry.id for entry in batch] for batch in batches]


def test_a_batch_that_grows_bit_by_bit_is_given_once_it_is_whole(path: Path) -> None:
    quick(path).append(said("a"))
    batch = batch_of(body_of("b"), body_of("c"))
    pieces = [batch[at : at + 3] for at in range(0, len(batch), 3)]
    assert follow(path, *[writing(path, piece) for piece in pieces]) == [["a"], ["b", "c"]]


def test_a_missing_file_is_waited_for(path: Path) -> None:
    assert follow(path) == []
    assert follow(path.parent / "no" / "folder.jsonl", lambda: None) == []
    assert follow(path, lambda: None, lambda: quick(path).append(said("a"), said("b"))) == [["a", "b"]]


def test_a_log_that_is_made_bit_by_bit_is_followed_from_its_first_batch(path: Path) -> None:
    steps = [
        writing(path, b""),
        writing(path, HEADER[:20]),
        writing(path, HEADER[20:]),
        writing(path, sealed(body_of("a"), more=True)),
        writing(path, sealed(body_of("b"))),
    ]
    assert follow(path, *steps) == [["a", "b"]]


def test_it_ends_when_it_is_told_to_and_closes_the_file(path: Path) -> None:
    quick(path).append(said("a"))
    gc.collect()
    before = len(os.listdir("/dev/fd"))
    assert follow(path) == [["a"]]
    batches = quick(path).follow()
    assert [entry.id for entry in next(batches)] == ["a"]
    assert len(os.listdir("/dev/fd")) == before + 1
    batches.close()
    assert len(os.listdir("/dev/fd")) == before


# -------------------------------------------------------------------------------- after


def test_after_an_entry_only_what_follows_is_given(path: Path) -> None:
    store = quick(path)
    store.append(said("a"), said("b"), said("c"))
    store.append(said("d"))
    more = (lambda: store.append(said("e"), said("f")),)
    assert follow(path, *more, after="b") == [["c"], ["d"], ["e", "f"]]
    assert follow(path, after="f") == []
    assert follow(path, after="") == [["a", "b", "c"], ["d"], ["e", "f"]]


def test_after_an_entry_that_is_not_there_is_an_error(path: Path) -> None:
    with pytest.raises(EntryNotFoundError):
        follow(path, after="a")
    quick(path).append(said("a"))
    with pytest.raises(EntryNotFoundError, match="'b'"):
        follow(path, after="b")


# --------------------------------------------------------------- cut, mended, exchanged


def test_a_torn_tail_that_is_cut_off_is_never_given(path: Path) -> None:
    store = quick(path)
    store.append(said("a"))
    for tail in (b'{"id":"torn"', sealed(body_of("torn"), more=True), bytes(700)):
        name = f"e{len(tail)}"
        steps = [writing(path, tail), lambda: None, lambda name=name: store.append(said(name))]  # type: ignore[misc]
        assert follow(path, *steps)[-1] == [name]
    assert "torn" not in {entry.id for entry in store.load()}


def test_a_batch_that_is_taken_back_after_it_was_seen_is_not_given_again(path: Path) -> None:
    quick(path).append(said("a"))
    size = path.stat().st_size
    batch = batch_of(body_of("b"), body_of("c"))
    steps = [
        writing(path, batch),
        lambda: os.truncate(path, size),
        lambda: None,
        writing(path, batch + sealed(body_of("d"))),
    ]
    assert follow(path, *steps) == [["a"], ["b", "c"], ["d"]]


def test_a_salvaged_log_is_followed_on_and_nothing_given_twice(path: Path) -> None:
    store = quick(path)
    store.append(said("a"), said("b"))
    store.append(said("c"))
    told: list[int] = []
    steps = [
        writing(path, b"junk\n"),
        lambda: store.append(said("d")),
        lambda: store.salvage(apply=True),
        lambda: store.append(said("e"), said("f")),
    ]
    batches = follow(path, *steps, on_damage=lambda error: told.append(error.line))
    assert batches == [["a", "b"], ["c"], ["d"], ["e", "f"]]
    assert told == [5]


def test_a_fork_that_takes_the_logs_place_is_followed_from_where_it_differs(path: Path) -> None:
    store = quick(path)
    for name in "abcd":
        store.append(said(name))

    def exchange() -> None:
        fork = path.with_name("fork.jsonl")
        quick(fork).append(said("a"), said("b"))
        quick(fork).append(said("x"), said("c"))
        os.replace(fork, path)

    steps = [exchange, lambda: None, lambda: quick(path).append(said("y"))]
    assert follow(path, *steps) == [["a"], ["b"], ["c"], ["d"], ["x"], ["y"]]


def test_a_log_that_goes_away_is_waited_for(path: Path) -> None:
    quick(path).append(said("a"))
    steps = [path.unlink, lambda: None, lambda: quick(path).append(said("b"))]
    assert follow(path, *steps) == [["a"], ["b"]]


def test_a_file_written_over_in_place_is_read_anew(path: Path) -> None:
    quick(path).append(said("a"))
    data = HEADER + sealed(body_of("a")) + sealed(body_of("b", "x" * 500))
    assert follow(path, writing(path, data, "wb")) == [["a"], ["b"]]


# ------------------------------------------------------------------------------- damage


def test_damage_raises_with_its_place(path: Path) -> None:
    good = HEADER + sealed(body_of("a"))
    path.write_bytes(good)
    batches = quick(path).follow(poll=0.0, stop=_after(writing(path, b"junk\n" + sealed(body_of("b")))))
    assert [entry.id for entry in next(batches)] == ["a"]
    with pytest.raises(CorruptLogError) as caught:
        next(batches)
    assert (caught.value.path, caught.value.line, caught.value.offset) == (str(path), 3, len(good))


def _after(step: Callable[[], object]) -> Callable[[], bool]:
    def stop() -> bool:
        step()
        return False

    return stop


def test_damage_is_told_and_passed_over_where_one_asks_for_it(path: Path) -> None:
    path.write_bytes(HEADER + sealed(body_of("a")) + b"junk\n" + sealed(body_of("b")))
    told: list[CorruptLogError] = []
    steps = [writing(path, sealed(body_of("c")).replace(b"hi", b"ho")), writing(path, sealed(body_of("d")))]
    assert follow(path, *steps, on_damage=told.append) == [["a"], ["b"], ["d"]]
    assert [error.line for error in told] == [3, 5]
    assert ["--reseal" in error.advice for error in told] == [False, True]


def test_a_file_that_is_no_log_raises(path: Path) -> None:
    with pytest.raises(HeaderError):
        follow(path, writing(path, b"junk\n"))
