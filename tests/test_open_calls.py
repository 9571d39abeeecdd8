"""Which calls wait for an answer, in logs that no session of ours would have made."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

import pytest
from situations import call, output, user

from transcript_log import Compaction, MessageEntry
from transcript_log.codec import started_payload
from transcript_log.entries import CompactionEntry, Entry, Item, Json, ToolStarted
from transcript_log.session.calls import open_calls

NOON: Final = datetime(2026, 1, 1, 12, tzinfo=UTC)
BEGAN: Final[Mapping[tuple[str, str | None], Json]] = {
    ("c1", "said"): started_payload(ToolStarted(at=NOON)),
}


def message(entry_id: str, item: Item) -> MessageEntry:
    return MessageEntry(id=entry_id, timestamp=NOON, message=item)


def taken_over(*items: Item) -> CompactionEntry:
    """A compaction of an agent that did so while calls ran."""
    return CompactionEntry(
        id="k", timestamp=NOON, compaction=Compaction(summary="the gist", replacement=items)
    )


def told(entries: list[Entry], details: Mapping[tuple[str, str | None], Json] = BEGAN) -> list[Any]:
    return [(one.call.id, one.entry, one.state) for one in open_calls(entries, details)]


def test_a_call_that_a_compaction_took_over_is_open_where_it_was_said() -> None:
    entries: list[Entry] = [message("u", user("do")), message("said", call("c1"))]
    assert told(entries) == [("c1", "said", "began")]
    entries.append(taken_over(user("do"), call("c1")))
    assert told(entries) == [("c1", "said", "began")]
    entries.append(message("o", output("c1", "done")))
    assert told(entries) == []


def test_a_call_that_only_a_compaction_holds_is_open_there() -> None:
    entries: list[Entry] = [
        taken_over(user("do"), call("c1"), call("c2")),
        message("o", output("c1", "done")),
    ]
    assert told(entries) == [("c2", "k", "never-began")]
    (one,) = open_calls(entries, {})
    assert (one.call.name, one.call.is_cut) == (call("c2")["name"], False)


@pytest.mark.parametrize("answered", [(), ("c1",), ("c2",)])
def test_two_entries_of_one_id_hold_their_own_calls(answered: tuple[str, ...]) -> None:
    """As a damaged log has them."""
    twice: list[Entry] = [message("e", call(name)) for name in ("c1", "c2")]
    twice += [message(f"o-{name}", output(name, "done")) for name in answered]
    expected = [(name, "e", "never-began") for name in ("c1", "c2") if name not in answered]
    assert told(twice) == expected
