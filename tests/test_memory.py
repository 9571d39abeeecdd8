"""A log in memory takes, refuses and gives back what a file does."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import alike, details, entries, headers, logs

from transcript_log import (
    Detail,
    Entry,
    Header,
    JsonlStore,
    LogBusyError,
    MessageEntry,
    Store,
    TranscriptError,
)
from transcript_log.errors import EntryNotFoundError
from transcript_log.memory import MemoryStore
from transcript_log.store import ScannableStore

_NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)


def said(entry_id: str, text: str = "hi") -> MessageEntry:
    return MessageEntry(id=entry_id, timestamp=_NOON, message={"role": "user", "content": text})


@st.composite
def _appends(draw: st.DrawFn) -> list[tuple[list[Entry], list[Detail], str | None]]:
    """Appends in a row: some repeat entries, some take an id with other content, some expect another end."""
    log = draw(logs(max_size=8))
    pool: list[Entry] = [*log, said("e0", "other"), said("e1", "another")]
    calls = []
    for _ in range(draw(st.integers(0, 4))):
        batch = draw(st.lists(st.sampled_from(pool), max_size=3))
        after = draw(st.sampled_from([None, None, None, "", *(entry.id for entry in log)]))
        calls.append((batch, draw(st.lists(details(), max_size=2)), after))
    return calls


@settings(max_examples=40)
@given(_appends())
def test_a_log_in_memory_answers_every_call_as_a_file_does(
    tmp_path_factory: pytest.TempPathFactory, calls: list[tuple[list[Entry], list[Detail], str | None]]
) -> None:
    path = tmp_path_factory.mktemp("log") / "log.jsonl"
    stores: list[Store] = [MemoryStore(), JsonlStore(path, durability="os")]
    for batch, records, after in calls:
        said = []
        for store in stores:
            try:
                said.append(store.append(*batch, after=after, details=records))
            except TranscriptError as error:
                said.append(type(error).__name__)
        assert said[0] == said[1]
    one, other = stores
    assert alike(one.load(), other.load())
    assert alike(one.active(), other.active())
    assert alike(dict(one.details()), dict(other.details()))
    assert (one.header() is None) == (other.header() is None)
    assert isinstance(one, ScannableStore)
    assert isinstance(other, ScannableStore)
    assert one.scan().findings == other.scan().findings == ()
    assert (one.scan().lines, one.scan().sealed) == (
        other.scan().lines if one.load() else 1,
        other.scan().sealed,
    )


@settings(max_examples=40)
@given(logs(entries(), max_size=4))
def test_entries_come_back_equal_and_are_not_the_objects_given(log: list[Entry]) -> None:
    store = MemoryStore()
    store.append(*log)
    assert alike(store.load(), log)
    assert all(found is not given for found, given in zip(store.read(), log, strict=True))


@settings(max_examples=30)
@given(headers())
def test_a_header_that_is_given_is_the_logs(header: Header) -> None:
    store = MemoryStore(header=header)
    assert store.header() is None
    store.append(said("a"))
    assert alike(store.header(), header)


def test_a_reading_does_not_see_what_comes_after_it_began() -> None:
    store = MemoryStore()
    store.append(said("a"), said("b"))
    reading = store.read()
    store.append(said("c"))
    assert [entry.id for entry in reading] == ["a", "b"]
    with pytest.raises(EntryNotFoundError):
        store.read(after="nowhere")


def test_a_second_lease_fails_at_once_and_an_ended_one_is_over() -> None:
    store = MemoryStore()
    with store.lease():
        with pytest.raises(LogBusyError, match="this process"):
            store.lease(5.0).__enter__()
        store.append(said("a"))
    with pytest.raises(KeyError), store.lease():
        raise KeyError
    with store.lease():
        pass


def test_threads_that_share_a_store_lose_nothing() -> None:
    store = MemoryStore()
    threads = [
        threading.Thread(target=lambda n=n: [store.append(said(f"{n}-{k}")) for k in range(50)])  # type: ignore[misc]
        for n in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(entry.id for entry in store.load()) == sorted(
        f"{n}-{k}" for n in range(4) for k in range(50)
    )


def test_it_leaves_no_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with MemoryStore().lease():
        MemoryStore().append(said("a"), details=[Detail(id="c", payload=1)])
    MemoryStore().close()
    assert list(tmp_path.iterdir()) == []
