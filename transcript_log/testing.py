"""For the tests of those who write a store: the contract that every store must pass.

::

    class TestMyStore(StoreContract):
        def make_store(self) -> Store:
            return MyStore(...)

Each method whose name begins with ``test_`` is a test for pytest or unittest-like runners;
``make_store`` is called for each, and must give an empty store. ``reopen`` may give a new
store on the same log, where the kind of store allows that.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from .boundary import kept_items
from .entries import (
    Compaction,
    CompactionEntry,
    ContextAttachment,
    ContextEntry,
    Detail,
    Entry,
    MessageEntry,
    OpaqueEntry,
    Run,
    RunEntry,
)
from .errors import ConflictError, EntryError, IdError
from .store import LeasableStore, Store

__all__ = ["StoreContract"]

_START: Final = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)


def _message(entry_id: str, text: str = "hello", second: int = 0) -> MessageEntry:
    return MessageEntry(
        id=entry_id, timestamp=_START + timedelta(seconds=second), message={"role": "user", "content": text}
    )


def _raised(kind: type[Exception], call: Callable[[], object]) -> Exception:
    try:
        call()
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} was not raised")


class StoreContract:
    """What every :class:`transcript_log.Store` promises, as tests."""

    def make_store(self) -> Store:
        """An empty store. Subclasses say which."""
        raise NotImplementedError("a subclass of StoreContract defines make_store()")

    def reopen(self, store: Store) -> Store:
        """The same log through a new store, where there can be one; else the same store."""
        return store

    # ---------------------------------------------------------------------------- empty

    def test_a_new_store_is_empty(self) -> None:
        store = self.make_store()
        assert store.header() is None
        assert store.load() == []
        assert list(store.read()) == []
        assert store.active() == []
        assert dict(store.details()) == {}

    def test_appending_nothing_makes_nothing(self) -> None:
        store = self.make_store()
        assert store.append() == ""
        assert self.reopen(store).header() is None

    # ------------------------------------------------------------------------ appending

    def test_what_was_appended_is_read_back_in_order(self) -> None:
        store = self.make_store()
        entries = [_message(f"e{n}", f"text {n}") for n in range(5)]
        assert store.append(entries[0]) == "e0"
        assert store.append(*entries[1:]) == "e4"
        again = self.reopen(store)
        assert again.load() == entries
        assert list(again.read()) == entries
        header = again.header()
        assert header is not None
        assert header.version == 3

    def test_every_type_of_entry_comes_back_equal(self) -> None:
        store = self.make_store()
        entries: list[Entry] = [
            _message("m"),
            ContextEntry(
                id="c",
                timestamp=_START,
                context=ContextAttachment(
                    attachment_id="a",
                    epoch=1,
                    kind="rules",
                    placement="prefix",
                    revision="1",
                    rendered="Be brief.",
                ),
            ),
            CompactionEntry(
                id="k",
                timestamp=_START,
                compaction=Compaction(summary="so far", first_kept_entry_id="m", read_files=("a.py",)),
            ),
            RunEntry(
                id="r",
                timestamp=_START,
                run=Run(started_at=_START, completed_at=_START, first_entry_id="m", status="completed"),
            ),
            OpaqueEntry(id="o", timestamp=_START, type="from-the-future", data={"key": [1, None, 2.5]}),
        ]
        store.append(*entries)
        assert self.reopen(store).load() == entries

    def test_values_come_back_with_their_types(self) -> None:
        store = self.make_store()
        numbers = [0, 1, 1.0, True, None, -(2**63), 2**64 - 1, 5e-324, 1e22]
        values: list[Any] = [*numbers, "", "\x00", "a\nb\r\n\u2028\x85", "\ud800", {}, [[]]]
        message = {"role": "user", "content": values, "": {"\udfff": 1}}
        store.append(MessageEntry(id="v", timestamp=_START, message=message))
        (entry,) = self.reopen(store).load()
        assert isinstance(entry, MessageEntry)
        assert entry.message == message
        assert [type(value) for value in entry.message["content"]] == [type(value) for value in values]

    def test_a_batch_with_a_bad_value_writes_nothing(self) -> None:
        store = self.make_store()
        store.append(_message("first"))
        for bad in (float("nan"), float("inf"), 2**64, -(2**63) - 1, (1,), {1: 2}, _START, b"bytes", {1, 2}):
            broken = MessageEntry(id="bad", timestamp=_START, message={"role": "user", "content": [bad]})
            error = _raised(EntryError, lambda entry=broken: store.append(_message("good"), entry))  # type: ignore[misc]
            assert "content[0]" in str(error)
        assert [entry.id for entry in self.reopen(store).load()] == ["first"]

    def test_a_message_that_is_changed_later_does_not_change_the_log(self) -> None:
        store = self.make_store()
        message = {"role": "user", "content": "as it was"}
        store.append(MessageEntry(id="m", timestamp=_START, message=message))
        message["content"] = "as it is"
        (entry,) = store.load()
        assert isinstance(entry, MessageEntry)
        assert entry.message["content"] == "as it was"

    # -------------------------------------------------------------------------- retries

    def test_the_same_entry_again_is_not_written_again(self) -> None:
        store = self.make_store()
        batch = [_message("a"), _message("b")]
        store.append(*batch)
        store.append(_message("c"))
        assert store.append(*batch) == "c"
        assert store.append(*batch, after="") == "c"
        assert [entry.id for entry in self.reopen(store).load()] == ["a", "b", "c"]

    def test_the_same_id_with_other_content_is_refused(self) -> None:
        store = self.make_store()
        store.append(_message("a", "one"))
        error = _raised(IdError, lambda: store.append(_message("b"), _message("a", "two")))
        assert "'a'" in str(error)
        _raised(IdError, lambda: store.append(_message("x", "one"), _message("x", "two")))
        assert [entry.id for entry in self.reopen(store).load()] == ["a"]

    # ---------------------------------------------------------------------------- after

    def test_after_says_where_the_log_must_end(self) -> None:
        store = self.make_store()
        _raised(ConflictError, lambda: store.append(_message("a"), after="nowhere"))
        assert self.reopen(store).header() is None
        assert store.append(_message("a"), after="") == "a"
        assert store.append(_message("b"), after="a") == "b"
        error = _raised(ConflictError, lambda: store.append(_message("c"), after="a"))
        assert "'b'" in str(error)
        _raised(ConflictError, lambda: store.append(_message("c"), after=""))
        assert [entry.id for entry in self.reopen(store).load()] == ["a", "b"]

    def test_read_after_gives_what_follows(self) -> None:
        store = self.make_store()
        store.append(*[_message(f"e{n}") for n in range(4)])
        assert [entry.id for entry in store.read(after="e1")] == ["e2", "e3"]
        assert list(store.read(after="e3")) == []
        _raised(LookupError, lambda: list(store.read(after="e9")))

    # -------------------------------------------------------------------------- details

    def test_of_several_details_for_one_call_the_last_counts(self) -> None:
        store = self.make_store()
        store.append(_message("m"), details=[Detail(id="c", payload=1), Detail(id="c", payload=2, entry="m")])
        store.append(details=[Detail(id="c", payload=3), Detail(id="d", payload={"k": None})])
        assert dict(self.reopen(store).details()) == {("c", None): 3, ("c", "m"): 2, ("d", None): {"k": None}}

    def test_details_alone_leave_the_head_as_it_is(self) -> None:
        store = self.make_store()
        store.append(_message("m"))
        assert store.append(details=[Detail(id="c", payload="x")]) == "m"
        _raised(ConflictError, lambda: store.append(details=[Detail(id="e", payload=1)], after="nowhere"))
        assert dict(self.reopen(store).details()) == {("c", None): "x"}

    def test_a_detail_that_cannot_be_stored_keeps_the_entries_out_too(self) -> None:
        store = self.make_store()
        _raised(
            EntryError, lambda: store.append(_message("m"), details=[Detail(id="c", payload=float("nan"))])
        )
        assert store.load() == []
        assert dict(store.details()) == {}

    # -------------------------------------------------------------------------- boundary

    def test_active_keeps_all_that_a_context_needs(self) -> None:
        store = self.make_store()
        summary = Compaction(summary="the gist", first_kept_entry_id="e3")
        store.append(*[_message(f"e{n}") for n in range(5)])
        store.append(CompactionEntry(id="k", timestamp=_START, compaction=summary), _message("e5"))
        active = self.reopen(store).active()
        assert [entry.id for entry in active] == ["e3", "e4", "k", "e5"]
        assert kept_items(active) == kept_items(store.load())

    def test_a_compaction_that_keeps_nothing_is_where_active_begins(self) -> None:
        store = self.make_store()
        store.append(
            _message("e0"), CompactionEntry(id="k", timestamp=_START, compaction=Compaction(summary="gist"))
        )
        assert [entry.id for entry in self.reopen(store).active()] == ["k"]

    def test_a_replacement_alone_does_not_end_what_is_active(self) -> None:
        store = self.make_store()
        opaque = Compaction(summary="", replacement=({"type": "compaction", "encrypted_content": "x"},))
        store.append(
            _message("e0"), CompactionEntry(id="k", timestamp=_START, compaction=opaque), _message("e1")
        )
        assert [entry.id for entry in self.reopen(store).active()] == ["e0", "k", "e1"]

    # ---------------------------------------------------------------------------- lease

    def test_a_lease_allows_appends_and_no_second_lease(self) -> None:
        store = self.make_store()
        if not isinstance(store, LeasableStore):
            return
        with store.lease():
            store.append(_message("a"))
            _raised(Exception, lambda: store.lease(0.0).__enter__())
            store.append(_message("b"))
        with store.lease():
            store.append(_message("c"))
        assert [entry.id for entry in self.reopen(store).load()] == ["a", "b", "c"]
