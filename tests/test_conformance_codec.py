"""Entries, times and the boundary against what the reference store did with the same input.

A case without a quirk has to match: errors by their class alone, times to the microsecond and
as instants, lines as JSON values. Where a case has one, the reference shows its platform rather
than its design, and ``QUIRKS`` says what is done here instead.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any, Final

import pytest
from conformance import Case, assemble, cases, instant, microseconds, params, same_json, same_line, sessions
from strategies import alike

from transcript_log import codec
from transcript_log._times import format_time
from transcript_log.boundary import kept_items, messages
from transcript_log.entries import CompactionEntry, Entry, MessageEntry, OpaqueEntry
from transcript_log.errors import BoundaryError, EntryError

Outcome = Entry | str
"""An entry, or the class of the error that stands for it."""


def read(line: bytes) -> Outcome:
    try:
        return codec.decode_entry(line)
    except EntryError as error:
        return error.kind


def written(entry: Entry) -> Any:
    return json.loads(codec.encode_entry(entry))


def respelled(value: Any) -> bytes:
    """The plainest text of a decoded value: no key twice, no escape, no odd number."""
    return json.dumps(value).encode()


# ----------------------------------------------------------------------- quirks of lines


def stored_as_given(line: bytes, expect: Any) -> None:
    """Any object is a message, and comes back as it stood. What JSON cannot hold is not written."""
    entry, value = read(line), json.loads(line)
    if not isinstance(value["message"], dict):
        assert entry == "message"
        return
    assert isinstance(entry, MessageEntry)
    assert alike(entry.message, value["message"])
    if "Infinity" in json.dumps(value["message"]):
        with pytest.raises(EntryError) as caught:
            codec.encode_entry(entry)
        assert caught.value.where.startswith("$.message")
    else:
        assert same_line(written(entry), _known(value))
    if expect.get("ok"):
        # All but the message is read as the reference reads it.
        reference = json.loads(expect["reencoded"])
        assert same_line({**written(entry), "message": None}, {**reference, "message": None})


def _known(value: dict[str, Any]) -> dict[str, Any]:
    """A message line without what is read past, and what is null."""
    keys = ("id", "timestamp", "type", "message", "invocation")
    return {key: value[key] for key in keys if value.get(key) is not None}


def kept_as_opaque(line: bytes, expect: Any) -> None:
    """An entry of a type that is not known is kept whole, but ``session`` and what is no name."""
    entry, value = read(line), json.loads(line)
    if value.get("type") in (None, "", "session"):
        assert entry == "invalid"
        return
    assert isinstance(entry, OpaqueEntry)
    assert entry.type == value["type"]
    assert same_line(written(entry), value)


_KEYS: Final = """
    id timestamp type message context compaction run invocation kind name source path attachmentId epoch
    placement revision rendered summary firstKeptEntryId tokensBefore tokensAfter readFiles modifiedFiles
    provider model responseModel responseId usage responseTimestamp firstEntryId startedAt completedAt input
    output cacheRead cacheWrite totalTokens cost total
"""
_FOLDED: Final = {key.casefold(): key for key in _KEYS.split()}


def exact_keys(line: bytes, expect: Any) -> None:
    """A key that differs from a known one in case only is unknown: as if it were not there."""

    def without(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        exact = {key: item for key, item in value.items() if _FOLDED.get(key.casefold(), key) == key}
        return {key: item if key == "message" else without(item) for key, item in exact.items()}

    value = json.loads(line)
    assert read(line) == read(respelled(without(value)))


def last_key_wins(line: bytes, expect: Any) -> None:
    """Of a key that stands twice the last value counts, and nothing is merged."""
    assert read(line) == read(respelled(json.loads(line)))


def surrogate_kept(line: bytes, expect: Any) -> None:
    """A lone surrogate comes back as one; replaced, it is what the reference reads."""
    entry = read(line)
    assert not isinstance(entry, str)
    assert same_line(written(entry), json.loads(line))
    replaced = re.sub("[\ud800-\udfff]", "\ufffd", json.dumps(written(entry), ensure_ascii=False))
    assert same_line(json.loads(replaced), json.loads(expect["reencoded"]))


def refused_as_json(line: bytes, expect: Any) -> None:
    """The line is no JSON, or holds no value of the right type."""
    assert read(line) == "json"


def exact_numbers(line: bytes, expect: Any) -> None:
    """Integers keep every digit, floats stay floats; rounded, they are what the reference reads.

    An integer past 64 bits is read, and not written.
    """
    entry, value = read(line), json.loads(line)
    assert isinstance(entry, MessageEntry)
    assert alike(entry.message, value["message"])
    if all(-(2**63) <= number < 2**64 for number in _integers(value)):
        assert alike(written(entry)["message"], value["message"])
    else:
        with pytest.raises(EntryError, match="an integer is outside"):
            codec.encode_entry(entry)
    if expect.get("ok"):
        reference = json.loads(expect["reencoded"])["message"]
        assert same_json(_rounded(entry.message), _rounded(reference))


def _integers(value: Any) -> Iterator[int]:
    if type(value) is int:
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _integers(item)


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return float(value) if type(value) is int else value


_INTEGERS: Final = {
    "epoch",
    "tokensBefore",
    "tokensAfter",
    "input",
    "output",
    "cacheRead",
    "cacheWrite",
    "totalTokens",
}


def integer_by_value(line: bytes, expect: Any) -> None:
    """``-0`` is the integer 0. A number with a point or an exponent is no integer, though whole."""
    value = json.loads(line)
    payload = value.get(value.get("type"))
    owners = [payload, payload.get("usage")] if isinstance(payload, dict) else []
    numbers = [owner[key] for owner in owners if isinstance(owner, dict) for key in _INTEGERS & owner.keys()]
    if value["type"] != "message" and any(isinstance(number, float) for number in numbers):
        refused_as_json(line, expect)
    else:
        assert read(line) == read(respelled(value))


def null_is_no_text(line: bytes, expect: Any) -> None:
    """A null where text has to be is refused; inside a message it is kept as it stands."""
    if isinstance(json.loads(line).get("message"), dict):
        stored_as_given(line, expect)
    else:
        refused_as_json(line, expect)


def nothing_kept(line: bytes, expect: Any) -> None:
    """An absent or empty kept id keeps nothing; a summary may be missing; that is not written."""
    entry, payload = read(line), json.loads(line)["compaction"]
    assert isinstance(entry, CompactionEntry)
    summary = payload.get("summary") or ""
    assert entry.compaction.summary == summary
    assert entry.compaction.first_kept_entry_id == (payload.get("firstKeptEntryId") or None)
    if summary:
        assert codec.decode_entry(codec.encode_entry(entry)) == entry
    else:
        with pytest.raises(EntryError) as caught:
            codec.encode_entry(entry)
        assert (caught.value.where, caught.value.kind) == ("$.compaction.summary", "invalid")


def microseconds_only(line: bytes, expect: Any) -> None:
    """Digits beyond microseconds are read past, so they cannot make a difference."""
    assert read(line) == read(re.sub(rb"(\.\d{6})\d+(?=[-+Z])", rb"\1", line))


def years_from_1(line: bytes, expect: Any) -> None:
    """A year 0 cannot be read; a year 1 can, whatever year it is in UTC."""
    if re.search(rb'"0000-\d\d-\d\dT', line):
        refused_as_json(line, expect)
    elif expect.get("ok"):
        entry = read(line)
        assert not isinstance(entry, str)
        assert same_line(written(entry), json.loads(expect["reencoded"]))
    else:
        assert read(line) == expect["class"]


def escapes_read(line: bytes, expect: Any) -> None:
    """A time is the text that its token stands for, escapes or not."""
    assert read(line) == read(respelled(json.loads(line)))


QUIRKS: Final[dict[str, Callable[[bytes, Any], None]]] = {
    "bom": refused_as_json,
    "case-insensitive-keys": exact_keys,
    "duplicate-keys": last_key_wins,
    "escaped-token": escapes_read,
    "float64-numbers": exact_numbers,
    "integer-spelling": integer_by_value,
    "invalid-utf8-replaced": refused_as_json,
    "lenient-time": refused_as_json,
    "lone-surrogate-replaced": surrogate_kept,
    "message-filled": stored_as_given,
    "message-shape": stored_as_given,
    "nanoseconds": microseconds_only,
    "nesting-limit": refused_as_json,
    "nothing-kept": nothing_kept,
    "null-becomes-zero-value": null_is_no_text,
    "null-is-an-empty-object": refused_as_json,
    "opaque-type": kept_as_opaque,
    "unicode-trim": refused_as_json,
    "year-zero": years_from_1,
}
"""What is done here where the reference shows its platform. Each says it in its first sentence."""


# -------------------------------------------------------------------------------- entries


@pytest.mark.parametrize("case", params("session_entry", quirks=False))
def test_a_line_is_read_as_the_reference_reads_it(case: Case) -> None:
    line = assemble(case.input["line"])
    assert line is not None
    entry = read(line)
    if "error" in case.expect:
        assert entry == case.expect["class"]
    else:
        assert not isinstance(entry, str), entry
        reference = case.expect["reencoded"].encode()
        assert same_line(written(entry), json.loads(reference))
        assert codec.decode_entry(codec.encode_entry(entry)) == entry


@pytest.mark.parametrize("case", params("session_entry", quirks=True))
def test_a_line_with_a_quirk_is_read_as_the_table_says(case: Case) -> None:
    line = assemble(case.input["line"])
    assert line is not None
    assert case.quirk is not None
    QUIRKS[case.quirk](line, case.expect)


def test_what_the_reference_writes_is_read_and_written_again_the_same() -> None:
    for case in cases("session_entry"):
        if "reencoded" in case.expect and case.quirk != "float64-numbers":
            line = case.expect["reencoded"].encode()
            entry = codec.decode_entry(line)
            assert same_line(written(entry), json.loads(line)), case.name


# ------------------------------------------------------------------------------- boundary


@pytest.mark.parametrize("case", params("session_context"))
def test_a_log_is_cut_where_the_reference_cuts_it(case: Case) -> None:
    assert case.quirk is None
    entries = [codec.decode_entry(line.encode()) for line in case.input["lines"]]
    by_id = {entry.id: entry.message for entry in entries if isinstance(entry, MessageEntry)}
    if "messages" in case.expect:
        found = messages(entries)
        assert len(found) == len(case.expect["messages"])
        assert all(item is by_id[name] for item, name in zip(found, case.expect["messages"], strict=True))
    if "error" in case.expect:
        with pytest.raises(BoundaryError) as caught:
            kept_items(entries)
        assert caught.value.kind == case.expect["class"]
        return
    kept = kept_items(entries)
    assert len(kept) == len(case.expect["context"])
    for item, ref in zip(kept, case.expect["context"], strict=True):
        if "entry" in ref:
            assert item is by_id[ref["entry"]]
        else:
            assert same_json(item, ref["summary_message"])


# ---------------------------------------------------------------------------------- times


def _compaction_at(token: str) -> bytes:
    """A compaction whose summary call was answered at a time given as a JSON token.

    There an unknown time is no error, so that every token can be told by what becomes of it.
    """
    return (
        '{"id":"k","timestamp":"2026-01-02T03:04:05Z","type":"compaction",'
        f'"compaction":{{"summary":"s","firstKeptEntryId":"e","responseTimestamp":{token}}}}}'
    ).encode()


def _read_time(token: str) -> datetime | str | None:
    entry = read(_compaction_at(token))
    if isinstance(entry, str):
        return entry
    assert isinstance(entry, CompactionEntry)
    return entry.compaction.response_timestamp


def _check_time(token: str, expect: Any) -> None:
    time = _read_time(token)
    if "error" in expect:
        assert time == expect["class"]
        return
    if expect["zero"]:
        assert time is None
    else:
        assert isinstance(time, datetime)
        assert microseconds(time) == expect["unix"] * 10**6 + expect["nanos"] // 1000
    entry = read(_compaction_at(token))
    assert not isinstance(entry, str)
    again = written(entry)["compaction"]["responseTimestamp"]
    assert instant(again) == instant(expect["rewritten"])
    assert again == (format_time(time) if isinstance(time, datetime) else "0001-01-01T00:00:00Z")


@pytest.mark.parametrize("case", params("time_read", quirks=False))
def test_a_time_is_read_as_the_reference_reads_it(case: Case) -> None:
    _check_time(case.input["token"], case.expect)


@pytest.mark.parametrize("case", params("time_read", quirks=True))
def test_a_time_with_a_quirk_is_read_as_the_table_says(case: Case) -> None:
    token = case.input["token"]
    match case.quirk:
        case "nanoseconds":
            _check_time(token, case.expect)
        case "year-zero" if not json.loads(token).startswith("0000"):
            _check_time(token, case.expect)
        case _:
            assert case.quirk is not None
            QUIRKS[case.quirk](_compaction_at(token), case.expect)


@pytest.mark.parametrize("case", params("time_write"))
def test_a_time_is_written_as_the_same_instant(case: Case) -> None:
    wanted = case.input["unix"] * 10**6 + case.input["nanos"] // 1000
    offset = case.input["offset"]
    try:
        utc = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=wanted)
        time = utc.astimezone(timezone(timedelta(seconds=offset)))
    except (ValueError, OverflowError):
        # No datetime is such a time: nobody can ask for it to be written. Where the reference
        # writes it, it is of the year 0.
        assert case.expect.get("class") == "json" or case.expect["written"].startswith("0000-")
        return
    text = format_time(time)
    assert instant(text) == wanted
    if offset % 60 == 0:
        assert instant(text) == instant(case.expect["written"])
    else:
        # The reference leaves the seconds of an offset away, and so names another instant.
        assert 0 < abs(instant(text) - instant(case.expect["written"])) < 60 * 10**6


# ------------------------------------------------------------------------- whole sessions


@pytest.mark.parametrize("path", sessions())
def test_a_session_of_the_reference_is_read_to_the_last_value(path: Path) -> None:
    expect = json.loads(path.with_suffix(".expect.json").read_bytes())
    first, *lines = path.read_bytes().rstrip(b"\n").split(b"\n")
    assert codec.decode_header(first).version == 3
    entries = [codec.decode_entry(line) for line in lines]

    assert len(entries) == len(expect["entries"])
    for entry, line, wanted in zip(entries, lines, expect["entries"], strict=True):
        assert same_line(written(entry), wanted)
        assert same_line(written(entry), json.loads(line))
    assert same_json(messages(entries), expect["messages"])
    if "context_error" in expect:
        with pytest.raises(BoundaryError) as caught:
            kept_items(entries)
        assert caught.value.kind == expect["context_error"]["class"]
    else:
        assert same_json(kept_items(entries), expect["context"])


@pytest.mark.parametrize("path", sessions())
def test_the_details_of_a_session_of_the_reference_are_read(path: Path) -> None:
    beside = path.with_suffix(".details.jsonl")
    wanted = json.loads(path.with_suffix(".expect.json").read_bytes()).get("details", {})
    assert beside.exists() == bool(wanted)
    records = beside.read_bytes().rstrip(b"\n").split(b"\n") if wanted else []
    last = {detail.id: detail.payload for line in records if (detail := codec.decode_detail(line))}
    assert same_json(last, wanted)
