"""What an adapter adds in view of the log."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from transcript_log import (
    Detail,
    Entry,
    EntryError,
    IdError,
    MessageEntry,
    Session,
    StorageError,
    new_message,
)
from transcript_log.aio import AsyncSession
from transcript_log.session import LogView

Batch = tuple[Sequence[Entry], Sequence[Detail]]


def numbered(view: LogView) -> Batch:
    """A message that says how many stand before it, and a detail that says it too."""
    count = len(view.entries)
    entry = new_message({"role": "user", "content": str(count)}, clock=view.clock, id_source=view.new_id)
    return [entry], [Detail(id="count", payload=count, entry=entry.id)]


def test_a_batch_is_made_in_view_of_the_log_and_written_whole() -> None:
    ids = iter(["header", "a", "b"])
    with Session.in_memory(new_id=lambda: next(ids)) as session:
        assert [entry.id for entry in (*session.append(numbered), *session.append(numbered))] == ["a", "b"]
        view = session.view()
        assert [e.message["content"] for e in view.entries if isinstance(e, MessageEntry)] == ["0", "1"]
        assert dict(view.details) == {("count", "a"): 0, ("count", "b"): 1}
        assert dict(session.store.details()) == dict(view.details)


def test_nothing_is_written_for_an_empty_batch() -> None:
    with Session.in_memory() as session:
        assert session.append(lambda view: ((), ())) == ()
        assert session.store.load() == []


def test_a_view_stays_as_it_was() -> None:
    with Session.in_memory() as session:
        before = session.view()
        session.append(numbered)
        assert (tuple(before.entries), dict(before.details)) == ((), {})


def test_it_is_made_anew_where_others_wrote_in_between(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    with (
        Session.open(path, mode="shared", create=True) as one,
        Session.open(path, mode="shared") as two,
    ):
        seen: list[int] = []

        def slowly(view: LogView) -> Batch:
            seen.append(len(view.entries))
            if len(seen) == 1:
                two.append(numbered)
            return numbered(view)

        one.append(slowly)
        assert seen == [0, 1]
        assert [e.message["content"] for e in two.entries() if isinstance(e, MessageEntry)] == ["0", "1"]


def test_what_cannot_be_stored_leaves_the_log_as_it_was() -> None:
    with Session.in_memory() as session:
        first = session.append(numbered)
        with pytest.raises(EntryError):
            session.append(lambda view: ([new_message({"role": "user", "content": float("nan")})], ()))
        with pytest.raises(IdError):
            session.append(lambda view: ([new_message({}, id_source=lambda: first[0].id)], ()))
        assert session.entries() == first
        session.close()
        with pytest.raises(StorageError, match="closed"):
            session.append(numbered)


def test_what_was_awaited_is_added_in_order() -> None:
    async def main() -> None:
        async with AsyncSession.in_memory() as session:
            await asyncio.gather(*(session.append(numbered) for _ in range(9)))
            view = await session.view()
            said = [e.message["content"] for e in view.entries if isinstance(e, MessageEntry)]
            assert said == [str(n) for n in range(9)]

    asyncio.run(main())
