"""Batches that tell of themselves whose they are, and what has become of them in a log."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from transcript_log import Detail, JsonlStore, MessageEntry

_NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)


@dataclass(frozen=True)
class Batch:
    """A batch of ``count`` entries of ``size`` bytes each, with a detail for its first."""

    name: str
    count: int = 1
    size: int = 20

    @property
    def ids(self) -> list[str]:
        return [f"{self.name}.{number}" for number in range(self.count)]

    @property
    def entries(self) -> list[MessageEntry]:
        return [
            MessageEntry(
                id=name, timestamp=_NOON, message={"role": "user", "content": name * (self.size // 4)}
            )
            for name in self.ids
        ]

    @property
    def details(self) -> list[Detail]:
        return [
            Detail(id=self.ids[0], payload={"of": self.name}),
            Detail(id=self.ids[-1], payload=1, entry="x"),
        ]

    def append_to(self, store: JsonlStore) -> None:
        assert store.append(*self.entries, details=self.details)


def held(path: Path, batches: Iterable[Batch]) -> list[Batch]:
    """Which of these batches a log holds, every one whole; it may hold nothing else.

    Whichever way it is read gives the same entries, and every batch has its details.
    """
    store = JsonlStore(path)
    entries = store.load()
    assert store.active() == list(store.scan().entries) == entries
    by_first = {batch.ids[0]: batch for batch in batches}
    found: list[Batch] = []
    at = 0
    while at < len(entries):
        assert entries[at].id in by_first, f"{entries[at].id} begins no batch"
        batch = by_first.pop(entries[at].id)
        assert entries[at : at + batch.count] == batch.entries, f"{batch.name} is there in part"
        found.append(batch)
        at += batch.count
    details = store.details()
    for batch in found:
        for detail in batch.details:
            assert details[(detail.id, detail.entry)] == detail.payload, f"{batch.name} lacks its details"
    return found


def take_one_more(path: Path, batches: Sequence[Batch], name: str, *, durable: bool = False) -> None:
    """Whatever happened, a fresh store takes one more batch, behind all that is there."""
    before = held(path, batches)
    more = Batch(name, 2)
    store = JsonlStore(path, durability="fsync" if durable else "os")
    more.append_to(store)
    assert held(path, [*batches, more]) == [*before, more]
    rules = {finding.rule for finding in store.scan().findings}
    assert rules == set()
    store.close()
