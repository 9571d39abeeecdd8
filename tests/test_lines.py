"""A store over lines keeps every promise, wherever the lines are kept."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime

import pytest

from transcript_log import (
    ConflictError,
    CorruptLogError,
    Detail,
    MessageEntry,
    Session,
    Store,
    Target,
    new_header,
)
from transcript_log.lines import Kind, LineStore, Row
from transcript_log.testing import StoreContract

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)


def said(entry_id: str) -> MessageEntry:
    return MessageEntry(id=entry_id, timestamp=NOON, message={"role": "user", "content": entry_id})


class ListStore(LineStore):
    """The plainest there can be: rows in a list, which others may have too."""

    def __init__(self, rows: list[Row]) -> None:
        super().__init__("a list", header=new_header(id="s1"))
        self.rows = rows
        self.broken = False

    def lines(self, kind: Kind) -> Iterator[tuple[str, bytes]]:
        return ((entry_id, line) for one, entry_id, line in self.rows if one == kind)

    def write(self, rows: Sequence[Row]) -> None:
        self.rows += rows
        if self.broken:
            raise OSError("full")

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        before = list(self.rows)
        try:
            yield
        except BaseException:
            self.rows[:] = before
            raise


class TestListStore(StoreContract):
    def make_store(self) -> Store:
        self.rows: list[Row] = []
        return ListStore(self.rows)

    def reopen(self, store: Store) -> Store:
        return ListStore(self.rows)


def test_stores_that_share_their_lines_see_each_others_entries() -> None:
    rows: list[Row] = []
    one, two = ListStore(rows), ListStore(rows)
    one.append(said("a"))
    assert two.append(said("b"), after="a") == "b"
    with pytest.raises(ConflictError, match="a list"):
        one.append(said("c"), after="a")
    assert one.load() == two.load() == [said("a"), said("b")]


def test_the_header_is_written_once_before_the_first_entry() -> None:
    rows: list[Row] = []
    ListStore(rows).append(said("a"))
    ListStore(rows).append(said("b"))
    assert [kind for kind, _, _ in rows] == ["header", "entry", "entry"]
    header = ListStore(rows).header()
    assert header is not None
    assert header.id == "s1"


def test_nothing_is_left_of_a_batch_that_could_not_be_kept() -> None:
    rows: list[Row] = []
    store = ListStore(rows)
    store.append(said("a"))
    store.broken = True
    with pytest.raises(OSError, match="full"):
        store.append(said("b"))
    store.broken = False
    assert store.load() == [said("a")]
    assert store.append(said("b")) == "b"


@pytest.mark.parametrize(
    ("row", "read"),
    [
        (("entry", "b", b'{"type":"message"}'), lambda store: store.load()),
        (("detail", "", b"[]"), lambda store: store.details()),
    ],
)
def test_a_line_that_cannot_be_read_is_damage(row: Row, read: Callable[[ListStore], object]) -> None:
    store = ListStore([])
    store.append(said("a"), details=[Detail(id="c", payload=1)])
    store.rows.append(row)
    with pytest.raises(CorruptLogError, match=r"a list: line 2 .*: no (entry|detail): "):
        read(store)


def test_a_header_that_cannot_be_read_is_damage() -> None:
    with pytest.raises(CorruptLogError, match="no header: "):
        ListStore([("header", "", b"{}")]).header()


def test_a_session_in_two_windows_runs_over_it() -> None:
    rows: list[Row] = []
    target = Target("openai-chat", "m")
    with Session(ListStore(rows)) as one, Session(ListStore(rows)) as two:
        one.add({"role": "user", "content": "x"})
        two.add({"role": "user", "content": "y"})
        assert one.context(target).items == two.context(target).items
        assert len(one.entries()) == 2
