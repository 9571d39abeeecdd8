"""Entries, headers and details become lines, and lines become them again."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from conformance import same_json, same_line
from hypothesis import example, given
from hypothesis import strategies as st
from strategies import (
    Refused,
    alike,
    details,
    entries,
    headers,
    json_objects,
    json_values,
    logs,
    outcomes,
    refused_values,
    times,
)
from test_json import at

from transcript_log import codec
from transcript_log.entries import (
    Compaction,
    CompactionEntry,
    ContextAttachment,
    ContextEntry,
    Detail,
    Entry,
    ForkOrigin,
    Header,
    Invocation,
    MessageEntry,
    OpaqueEntry,
    ParentCall,
    RecordedCost,
    RecordedUsage,
    ResponseRecord,
    Run,
    RunEntry,
    ToolOutcome,
    ToolStarted,
)
from transcript_log.errors import EntryError

_NOON = datetime(2026, 1, 2, 12, 0, 0, 250000, UTC)
_TEMPLATE = Invocation(kind="prompt_template", name="n", source="s", path="p")
_ATTACHMENT = ContextAttachment(
    attachment_id="a", epoch=1, kind="rules", placement="prefix", revision="r", rendered="text"
)


def message(item: Any = None, **more: Any) -> MessageEntry:
    item = {"role": "user", "content": "hi"} if item is None else item
    return dataclasses.replace(MessageEntry(id="e1", timestamp=_NOON, message=item), **more)


def context(**changes: Any) -> ContextEntry:
    return ContextEntry(id="e1", timestamp=_NOON, context=dataclasses.replace(_ATTACHMENT, **changes))


def compaction(**fields: Any) -> CompactionEntry:
    return CompactionEntry(id="e1", timestamp=_NOON, compaction=Compaction(**{"summary": "s", **fields}))


def run(**fields: Any) -> RunEntry:
    both: dict[str, Any] = {"started_at": _NOON, "completed_at": _NOON}
    return RunEntry(id="e1", timestamp=_NOON, run=Run(**{**both, **fields}))


def opaque(**fields: Any) -> OpaqueEntry:
    return OpaqueEntry(**{"id": "e1", "timestamp": _NOON, "type": "note", "data": {}, **fields})


def line(**fields: Any) -> bytes:
    """A line with an id, a time and the type ``message``, and what is given besides or instead."""
    given_or_not = {"id": "e1", "timestamp": "2026-01-02T12:00:00.25Z", "type": "message", **fields}
    return json.dumps({key: value for key, value in given_or_not.items() if value is not ...}).encode()


def refusal(call: Callable[[], object]) -> tuple[str, str]:
    """Where and of which sort the fault is that a call raises."""
    with pytest.raises(EntryError) as caught:
        call()
    assert type(caught.value) is EntryError
    return caught.value.where, caught.value.kind


# -------------------------------------------------------------------------- round trips


@given(entries())
@example(message({}))
@example(message(family=""))
@example(message({"n": 2**64 - 1, "m": -(2**63), "x": 1.0, "t": True, "s": "\ud83d"}))
@example(message(response=ResponseRecord()))
@example(message(response=ResponseRecord(usage=RecordedUsage())))
@example(compaction(summary=" \n"))
@example(compaction(summary="", replacement=({},)))
@example(context(epoch=2**64 - 1))
@example(opaque(data={"message": {"a": 1}, "timestamps": None}))
def test_an_entry_comes_back_as_it_was(entry: Entry) -> None:
    text = codec.encode_entry(entry)
    again = codec.decode_entry(text)
    assert type(again) is type(entry)
    assert again == entry
    assert alike(again, entry)
    assert codec.encode_entry(again) == text


@given(entries())
def test_an_entry_whose_time_nobody_knows_comes_back_where_that_is_asked_for(entry: Entry) -> None:
    untimed = dataclasses.replace(entry, timestamp=None)
    text = codec.encode_entry(untimed, untimed=True)
    assert alike(codec.decode_entry(text), untimed)
    assert alike(codec.entry_from_value(json.loads(text), pytest.fail), untimed)
    assert codec.encode_entry(entry, untimed=True) == codec.encode_entry(entry)
    assert refusal(lambda: codec.encode_entry(untimed))[0] == "$.timestamp"


def test_a_time_that_is_said_to_be_unknown_stands_there_for_other_readers() -> None:
    text = codec.encode_entry(dataclasses.replace(message(), timestamp=None), untimed=True)
    assert text.startswith(
        b'{"id":"e1","timestamp":"1970-01-01T00:00:00Z","type":"message","timeUnknown":true,'
    )
    assert (
        refusal(lambda: codec.decode_entry(text.replace(b'"1970-01-01T00:00:00Z"', b"null")))[0]
        == "$.timestamp"
    )
    timed = codec.decode_entry(text.replace(b"true", b"1"))
    assert timed.timestamp == datetime(1970, 1, 1, tzinfo=UTC)
    assert refusal(lambda: codec.encode_entry(opaque(data={"timeUnknown": True})))[0] == "$"
    other = opaque(data={"timeUnknown": 1})
    assert codec.decode_entry(codec.encode_entry(other)) == other
    untimed = dataclasses.replace(other, timestamp=None)
    assert refusal(lambda: codec.encode_entry(untimed, untimed=True))[0] == "$"


@given(logs(each=entries(), max_size=4))
def test_a_whole_log_comes_back_as_it_was(log: list[Entry]) -> None:
    text = b"\n".join(map(codec.encode_entry, log))
    assert [codec.decode_entry(each) for each in text.split(b"\n") if each] == log


@given(headers())
def test_a_header_comes_back_as_it_was(header: Header) -> None:
    again = codec.decode_header(codec.encode_header(header))
    assert again == header
    assert alike(again, header)


@given(details())
@example(Detail(id="c", payload=None))
def test_a_sidecar_record_comes_back_as_it_was(detail: Detail) -> None:
    again = codec.decode_detail(codec.encode_detail(detail))
    assert again == detail
    assert alike(again, detail)


@given(entries() | headers() | details())
def test_what_is_written_is_one_line_of_json_with_the_id_and_type_in_it(value: Any) -> None:
    encode: dict[type[Any], Callable[[Any], bytes]] = {
        Header: codec.encode_header,
        Detail: codec.encode_detail,
    }
    text = encode.get(type(value), codec.encode_entry)(value)
    assert b"\n" not in text
    assert text[:1] == b"{"
    assert text[-1:] == b"}"
    shown = json.loads(text)
    assert shown.get("id") == value.id
    assert shown.get("type") == (None if isinstance(value, Detail) else getattr(value, "type", "session"))


@given(entries(), st.sampled_from(["", " ", "\t", "\r", " \t\r\n"]), st.sampled_from(["", "\r", " \t"]))
def test_white_space_around_a_line_does_not_matter(entry: Entry, before: str, after: str) -> None:
    text = before.encode() + codec.encode_entry(entry) + after.encode()
    assert codec.decode_entry(text) == codec.decode_entry(text, sealed=True) == entry


@given(entries())
def test_a_seal_is_no_part_of_an_entry(entry: Entry) -> None:
    text = codec.encode_entry(entry)[:-1] + b',"crc":"0badcafe"}'
    for sealed in (False, True):
        again = codec.decode_entry(text, sealed=sealed)
        assert again == entry
        assert alike(again, entry)


@given(headers())
def test_a_seal_is_no_part_of_a_header(header: Header) -> None:
    assert codec.decode_header(codec.encode_header(header)[:-1] + b',"crc":"0badcafe"}') == header


@given(entries(), json_values())
def test_keys_that_are_not_known_are_ignored_but_on_opaque_entries(entry: Entry, more: Any) -> None:
    text = json.dumps({**json.loads(codec.encode_entry(entry)), "strange": more}).encode()
    again = codec.decode_entry(text)
    if isinstance(entry, OpaqueEntry):
        assert again == dataclasses.replace(entry, data={**entry.data, "strange": more})
    else:
        assert again == entry


@given(entries())
def test_a_line_and_its_decoded_value_give_the_same_entry(entry: Entry) -> None:
    text = codec.encode_entry(entry)
    doubts: list[str] = []
    assert codec.entry_from_value(json.loads(text)) == entry
    assert codec.entry_from_value(json.loads(text), doubts.append) == entry
    assert doubts == []


@given(entries())
def test_encoding_changes_nothing_that_was_given(entry: Entry) -> None:
    before = copy.deepcopy(entry)
    codec.encode_entry(entry)
    assert alike(entry, before)


@given(json_objects(), st.none() | st.text())
def test_a_message_is_the_very_dict_that_was_decoded(item: dict[str, Any], family: str | None) -> None:
    value = json.loads(codec.encode_entry(message(item, family=family)))
    entry = codec.entry_from_value(value)
    assert isinstance(entry, MessageEntry)
    assert entry.message is value["message"]
    assert type(entry.message) is dict


@given(st.binary() | json_values().map(lambda value: json.dumps(value).encode()))
def test_decoding_raises_nothing_but_an_entry_error(text: bytes) -> None:
    for decode in (codec.decode_entry, codec.decode_header, codec.decode_detail):
        with suppress(EntryError):
            decode(text)


_KEYS = (
    "id",
    "timestamp",
    "type",
    "message",
    "context",
    "compaction",
    "run",
    "invocation",
    "family",
    "response",
)


@given(st.dictionaries(st.sampled_from([*_KEYS, "standIn", "interrupted", "crc"]), json_values(4)), entries())
def test_a_line_with_a_strange_value_is_refused_or_read_never_worse(
    strange: dict[str, Any], entry: Entry
) -> None:
    value = {**json.loads(codec.encode_entry(entry)), **strange}
    for doubt in (None, lambda doubtful: None):
        try:
            again = codec.entry_from_value(value, doubt)
        except EntryError:
            continue
        assert again.id == value["id"]
        assert again.type == value["type"]


# ------------------------------------------------------------------------- the short way


@pytest.mark.parametrize("family", [None, "", "a/b"])
@pytest.mark.parametrize("sealed", [False, True])
@pytest.mark.parametrize("crc", [b"", b',"crc":"0badcafe"'])
def test_a_message_read_the_short_way_is_a_true_message_entry(
    family: str | None, sealed: bool, crc: bytes
) -> None:
    built = message(family=family)
    entry = codec.decode_entry(codec.encode_entry(built)[:-1] + crc + b"}", sealed=sealed)
    assert type(entry) is MessageEntry
    assert entry == built
    assert built == entry
    assert repr(entry) == repr(built)
    for field in dataclasses.fields(MessageEntry):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(entry, field.name, None)
        with pytest.raises(dataclasses.FrozenInstanceError):
            delattr(entry, field.name)
    with pytest.raises((AttributeError, TypeError)):
        entry.another = 1  # type: ignore[attr-defined]  # that there is no such attribute is the point
    with pytest.raises(TypeError):
        hash(entry)
    again = pickle.loads(pickle.dumps(entry))
    assert type(again) is MessageEntry
    assert again == entry
    assert copy.copy(entry) == copy.deepcopy(entry) == entry
    assert dataclasses.replace(entry, id="e2").message is entry.message
    match entry:
        case MessageEntry(id="e1", message={"role": role}):
            assert role == "user"
        case _:
            pytest.fail("a message entry is matched by its class")


@given(entries(), st.data())
def test_the_short_way_gives_what_the_long_way_gives(entry: Entry, data: st.DataObject) -> None:
    value = json.loads(codec.encode_entry(entry))
    key = data.draw(st.sampled_from([*value, "family", "standIn"]))
    value[key] = data.draw(
        st.sampled_from([None, "", "x", 5, True, [], {}, "2026-01-02T03:04:05Z", value.get(key)])
    )
    text = json.dumps(value).encode()
    try:
        wanted: object = codec.entry_from_value(json.loads(text))
    except EntryError as error:
        wanted = error.args
    try:
        found: object = codec.decode_entry(text)
    except EntryError as error:
        found = error.args
    assert found == wanted


@pytest.mark.parametrize("text", [b"null", b"1", b'"type"', b"[]", b"[1]", b'["type"]', b"true"])
def test_a_line_that_is_no_object_is_no_entry(text: bytes) -> None:
    for sealed in (False, True):
        assert refusal(lambda sealed=sealed: codec.decode_entry(text, sealed)) == ("$", "json")  # type: ignore[misc]  # a default binds it


def test_a_sealed_line_with_a_lone_surrogate_is_read() -> None:
    entry = message({"content": "cut \ud83d", "n": 2**64 - 1})
    assert alike(codec.decode_entry(codec.encode_entry(entry), sealed=True), entry)


def test_integers_that_others_wrote_keep_every_digit() -> None:
    entry = codec.decode_entry(line(message={"n": 123456789012345680001, "m": -(10**30)}))
    assert isinstance(entry, MessageEntry)
    assert alike(entry.message, {"n": 123456789012345680001, "m": -(10**30)})
    assert refusal(lambda: codec.encode_entry(entry)) == ("$.message.n", "json")


# -------------------------------------------------------------------------- keys on disk


def test_every_field_stands_under_its_key_on_disk() -> None:
    usage = RecordedUsage(
        input=1,
        output=2,
        cache_read=3,
        cache_write=4,
        total_tokens=10,
        cost=RecordedCost(input=0.5, total=0.5),
    )
    on_disk = {
        "input": 1,
        "output": 2,
        "cacheRead": 3,
        "cacheWrite": 4,
        "totalTokens": 10,
        "cost": {"input": 0.5, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0.5},
    }
    common = {"id": "e1", "timestamp": "2026-01-02T12:00:00.25Z"}
    samples: list[tuple[Entry, dict[str, Any]]] = [
        (
            message(
                family="f",
                response=ResponseRecord(
                    id="r", provider="p", model="m", finish_reason="stop", usage=usage, request="sha"
                ),
                invocation=_TEMPLATE,
                stand_in=True,
                interrupted=True,
            ),
            {
                "type": "message",
                "message": {"role": "user", "content": "hi"},
                "family": "f",
                "response": {
                    "id": "r",
                    "provider": "p",
                    "model": "m",
                    "finishReason": "stop",
                    "usage": on_disk,
                    "request": "sha",
                },
                "invocation": {"kind": "prompt_template", "name": "n", "source": "s", "path": "p"},
                "standIn": True,
                "interrupted": True,
            },
        ),
        (
            context(path="/x"),
            {
                "type": "context",
                "context": {
                    "attachmentId": "a",
                    "epoch": 1,
                    "kind": "rules",
                    "placement": "prefix",
                    "path": "/x",
                    "revision": "r",
                    "rendered": "text",
                },
            },
        ),
        (
            compaction(
                first_kept_entry_id="e0",
                tokens_before=9,
                tokens_after=3,
                read_files=("a",),
                modified_files=("b", "c"),
                provider="p",
                model="m",
                response_model="m-1",
                response_id="r",
                usage=usage,
                response_timestamp=_NOON,
                replacement=({"type": "compaction"},),
                family="f",
            ),
            {
                "type": "compaction",
                "compaction": {
                    "summary": "s",
                    "firstKeptEntryId": "e0",
                    "tokensBefore": 9,
                    "tokensAfter": 3,
                    "readFiles": ["a"],
                    "modifiedFiles": ["b", "c"],
                    "provider": "p",
                    "model": "m",
                    "responseModel": "m-1",
                    "responseId": "r",
                    "usage": on_disk,
                    "responseTimestamp": "2026-01-02T12:00:00.25Z",
                    "replacement": [{"type": "compaction"}],
                    "family": "f",
                },
            },
        ),
        (
            run(first_entry_id="e0", completed_at=_NOON + timedelta(seconds=1), status="failed"),
            {
                "type": "run",
                "run": {
                    "firstEntryId": "e0",
                    "startedAt": "2026-01-02T12:00:00.25Z",
                    "completedAt": "2026-01-02T12:00:01.25Z",
                    "status": "failed",
                },
            },
        ),
        (opaque(data={"a": [1]}), {"type": "note", "a": [1]}),
    ]
    for entry, wanted in samples:
        assert same_json(json.loads(codec.encode_entry(entry)), {**common, **wanted})
        assert codec.decode_entry(json.dumps({**common, **wanted}).encode()) == entry


def test_what_is_not_given_is_left_out_but_what_the_format_always_has() -> None:
    assert set(json.loads(codec.encode_entry(message()))) == {"id", "timestamp", "type", "message"}
    shown = json.loads(codec.encode_entry(compaction()))["compaction"]
    assert set(shown) == {
        "summary",
        "firstKeptEntryId",
        "tokensBefore",
        "tokensAfter",
        "usage",
        "responseTimestamp",
    }
    assert shown["firstKeptEntryId"] is None
    assert shown["responseTimestamp"] == "0001-01-01T00:00:00Z"
    assert json.loads(codec.encode_header(Header())) == {"type": "session", "version": 3}
    assert json.loads(codec.encode_detail(Detail(id="c", payload=None))) == {"id": "c", "payload": None}


def test_the_keys_of_a_header_stand_in_order() -> None:
    header = Header(
        id="s",
        timestamp=_NOON,
        harness="h",
        cwd="/w",
        forked_from=ForkOrigin("s0", "e0"),
        parent=ParentCall("s1", "c1"),
        extra={"more": 1},
    )
    assert codec.encode_header(header).decode() == (
        '{"type":"session","version":3,"id":"s","timestamp":"2026-01-02T12:00:00.25Z","harness":"h",'
        '"cwd":"/w","forkedFrom":{"session":"s0","entry":"e0"},"parent":{"session":"s1","call":"c1"},"more":1}'
    )


# ------------------------------------------------------------------------ refused: writing


@given(refused_values(), st.sampled_from(["message", "replacement", "opaque", "extra", "detail"]))
def test_what_json_would_not_give_back_is_refused_with_its_path(refused: Refused, place: str) -> None:
    held = {"x": refused.value}
    encode, prefix, root = {
        "message": (lambda: codec.encode_entry(message(held)), "$.message.x", refused.value),
        "replacement": (
            lambda: codec.encode_entry(compaction(replacement=(held,))),
            "$.compaction.replacement[0].x",
            refused.value,
        ),
        "opaque": (lambda: codec.encode_entry(opaque(data=held)), "$.x", refused.value),
        "extra": (lambda: codec.encode_header(Header(extra=held)), "$.x", refused.value),
        "detail": (
            lambda: codec.encode_detail(Detail(id="c", payload=refused.value)),
            "$.payload",
            refused.value,
        ),
    }[place]
    where, kind = refusal(encode)
    assert kind == "json"
    assert where.startswith(prefix)
    assert at(root, "$" + where[len(prefix) :]) is refused.culprit


_LATER = _NOON + timedelta(seconds=1)


@pytest.mark.parametrize(
    ("entry", "where", "kind"),
    [
        (None, "$", "invalid"),
        ({"type": "message"}, "$", "invalid"),
        (message(id=""), "$.id", "invalid"),
        (message(id=5), "$.id", "invalid"),
        (message(timestamp=None), "$.timestamp", "invalid"),
        (message(timestamp=_NOON.replace(tzinfo=None)), "$.timestamp", "json"),
        (message(timestamp="2026-01-02T03:04:05Z"), "$.timestamp", "json"),
        (message([1]), "$.message", "message"),
        (message("hi"), "$.message", "message"),
        (message(family=5), "$.family", "json"),
        (message(response=ResponseRecord(model=5)), "$.response.model", "json"),  # type: ignore[arg-type]  # wrong on purpose
        (
            message(response=ResponseRecord(usage=RecordedUsage(cache_read=2**63))),
            "$.response.usage.cacheRead",
            "json",
        ),
        (
            message(response=ResponseRecord(usage=RecordedUsage(input=True))),
            "$.response.usage.input",
            "json",
        ),
        (
            message(response=ResponseRecord(usage=RecordedUsage(cost=RecordedCost(total=float("nan"))))),
            "$.response.usage.cost.total",
            "json",
        ),
        (message({"role": "assistant"}, invocation=_TEMPLATE), "$.invocation", "invalid"),
        (message({}, invocation=_TEMPLATE), "$.invocation", "invalid"),
        (message(invocation=dataclasses.replace(_TEMPLATE, kind="x")), "$.invocation.kind", "invalid"),
        (message(invocation=dataclasses.replace(_TEMPLATE, name="")), "$.invocation.name", "invalid"),
        (message(invocation=dataclasses.replace(_TEMPLATE, path="")), "$.invocation.path", "invalid"),
        (context(attachment_id=""), "$.context.attachmentId", "invalid"),
        (context(kind=""), "$.context.kind", "invalid"),
        (context(placement=""), "$.context.placement", "invalid"),
        (context(revision=""), "$.context.revision", "invalid"),
        (context(rendered=""), "$.context.rendered", "invalid"),
        (context(epoch=0), "$.context.epoch", "invalid"),
        (context(epoch=True), "$.context.epoch", "invalid"),
        (context(epoch=2**64), "$.context.epoch", "json"),
        (context(path=5), "$.context.path", "invalid"),
        (compaction(summary=""), "$.compaction.summary", "invalid"),
        (compaction(summary="", first_kept_entry_id="e0"), "$.compaction.summary", "invalid"),
        (compaction(summary=5), "$.compaction.summary", "json"),
        (compaction(tokens_before=2**63), "$.compaction.tokensBefore", "json"),
        (compaction(tokens_after=1.0), "$.compaction.tokensAfter", "json"),
        (compaction(read_files=("a", 5)), "$.compaction.readFiles[1]", "json"),
        (compaction(replacement=({}, "x")), "$.compaction.replacement[1]", "message"),
        (compaction(response_timestamp=_NOON.replace(tzinfo=None)), "$.compaction.responseTimestamp", "json"),
        (run(started_at=_LATER), "$.run.completedAt", "invalid"),
        (run(started_at=None), "$.run.startedAt", "invalid"),
        (run(completed_at=None), "$.run.completedAt", "invalid"),
        (run(completed_at=_LATER.replace(tzinfo=None)), "$.run.completedAt", "json"),
        (run(status="done"), "$.run.status", "invalid"),
        (opaque(type=""), "$.type", "invalid"),
        (opaque(type="message"), "$.type", "invalid"),
        (opaque(type="session"), "$.type", "invalid"),
        (opaque(data={5: 1}), "$", "json"),
    ],
)
def test_an_entry_that_breaks_a_rule_is_not_written(entry: Any, where: str, kind: str) -> None:
    assert refusal(lambda: codec.encode_entry(entry)) == (where, kind)


@pytest.mark.parametrize(
    ("header", "where"),
    [
        (Header(version=4), "$.version"),
        (Header(id=5), "$.id"),  # type: ignore[arg-type]  # wrong on purpose
        (Header(timestamp=_NOON.replace(tzinfo=None)), "$.timestamp"),
        (Header(extra={"a": (1,)}), "$.a"),
    ],
)
def test_a_header_that_breaks_a_rule_is_not_written(header: Header, where: str) -> None:
    assert refusal(lambda: codec.encode_header(header))[0] == where


@pytest.mark.parametrize("key", ["id", "timestamp", "type", "crc"])
def test_the_data_of_an_opaque_entry_never_stand_in_for_what_every_line_has(key: str) -> None:
    with suppress(EntryError):
        text = codec.encode_entry(opaque(data={key: "mine"}))
        assert b"mine" not in text


# ------------------------------------------------------------------------ refused: reading

_MESSAGE = {"role": "user", "content": "hi"}
_RUN = {"startedAt": "2026-01-02T03:04:05Z", "completedAt": "2026-01-02T03:04:06Z"}
_CONTEXT = {"attachmentId": "a", "epoch": 1, "kind": "k", "placement": "p", "revision": "r", "rendered": "x"}


@pytest.mark.parametrize(
    ("text", "where", "kind"),
    [
        (b"{", "$", "json"),
        (b"", "$", "json"),
        (line(message=_MESSAGE)[:-1], "$", "json"),
        (line(message=_MESSAGE) + b"x", "$", "json"),
        (b"\xef\xbb\xbf" + line(message=_MESSAGE), "$", "json"),
        (line(message=_MESSAGE, id=5), "$.id", "json"),
        (line(message=_MESSAGE, id=...), "$.id", "invalid"),
        (line(message=_MESSAGE, id=""), "$.id", "invalid"),
        (line(message=_MESSAGE, timestamp=...), "$.timestamp", "invalid"),
        (line(message=_MESSAGE, timestamp=None), "$.timestamp", "invalid"),
        (line(message=_MESSAGE, timestamp="0001-01-01T00:00:00Z"), "$.timestamp", "invalid"),
        (line(message=_MESSAGE, timestamp="yesterday"), "$.timestamp", "json"),
        (line(message=_MESSAGE, timestamp=1767323045678), "$.timestamp", "json"),
        (line(message=_MESSAGE, type=...), "$.type", "invalid"),
        (line(message=_MESSAGE, type=""), "$.type", "invalid"),
        (line(message=_MESSAGE, type="session"), "$.type", "invalid"),
        (line(message=_MESSAGE, type=5), "$.type", "json"),
        (line(), "$.message", "invalid"),
        (line(message=None), "$.message", "invalid"),
        (line(message=[]), "$.message", "message"),
        (line(message="hi"), "$.message", "message"),
        (line(message=_MESSAGE, run=_RUN), "$.run", "invalid"),
        (line(message=_MESSAGE, run={}), "$.run", "invalid"),
        (line(message=_MESSAGE, family=5), "$.family", "json"),
        (line(message=_MESSAGE, standIn="yes"), "$.standIn", "json"),
        (line(message=_MESSAGE, interrupted=1), "$.interrupted", "json"),
        (line(message=_MESSAGE, response=[]), "$.response", "json"),
        (line(message=_MESSAGE, response={"usage": {"input": "1"}}), "$.response.usage.input", "json"),
        (
            line(message=_MESSAGE, response={"usage": {"cost": {"total": True}}}),
            "$.response.usage.cost.total",
            "json",
        ),
        (line(message=_MESSAGE, invocation="x"), "$.invocation", "json"),
        (line(message=_MESSAGE, invocation={}), "$.invocation.kind", "invalid"),
        (line(type="run", run={}), "$.run.startedAt", "invalid"),
        (line(type="run", run={**_RUN, "completedAt": None}), "$.run.completedAt", "invalid"),
        (line(type="run", run={**_RUN, "startedAt": "2026-01-02T03:04:07Z"}), "$.run.completedAt", "invalid"),
        (line(type="run", run={**_RUN, "status": "done"}), "$.run.status", "invalid"),
        (line(type="run", run={**_RUN, "startedAt": "x"}), "$.run.startedAt", "json"),
        (line(type="run", run=_RUN, invocation={}), "$.invocation", "invalid"),
        (line(type="run", run=_RUN, message=_MESSAGE), "$.message", "invalid"),
        (line(type="context", context={**_CONTEXT, "epoch": 0}), "$.context.epoch", "invalid"),
        (line(type="context", context={**_CONTEXT, "epoch": -1}), "$.context.epoch", "json"),
        (line(type="context", context={**_CONTEXT, "epoch": 2**64}), "$.context.epoch", "json"),
        (line(type="context", context={**_CONTEXT, "epoch": 1.0}), "$.context.epoch", "json"),
        (line(type="context", context={**_CONTEXT, "rendered": ""}), "$.context.rendered", "invalid"),
        (line(type="compaction", compaction=[]), "$.compaction", "json"),
        (line(type="compaction", compaction={"tokensBefore": 1.5}), "$.compaction.tokensBefore", "json"),
        (line(type="compaction", compaction={"readFiles": [None]}), "$.compaction.readFiles[0]", "json"),
        (line(type="compaction", compaction={"replacement": [5]}), "$.compaction.replacement[0]", "message"),
        (
            line(type="compaction", compaction={"responseTimestamp": "x"}),
            "$.compaction.responseTimestamp",
            "json",
        ),
    ],
)
def test_a_line_that_breaks_a_rule_is_no_entry(text: bytes, where: str, kind: str) -> None:
    assert refusal(lambda: codec.decode_entry(text)) == (where, kind)


def test_json_comes_first_then_the_message_then_the_rules() -> None:
    assert refusal(lambda: codec.decode_entry(line(id="", message=5, run="x"))) == ("$.run", "json")
    assert refusal(lambda: codec.decode_entry(line(id="", message=5))) == ("$.message", "message")
    assert refusal(lambda: codec.decode_entry(line(id="", message={}, run={}))) == ("$.id", "invalid")


def test_null_payloads_are_absent_payloads() -> None:
    nulls = {"context": None, "compaction": None, "run": None, "invocation": None, "family": None}
    entry = codec.decode_entry(line(message=_MESSAGE, response=None, standIn=None, interrupted=None, **nulls))
    assert entry == message()


@pytest.mark.parametrize("kept", [{}, {"firstKeptEntryId": None}, {"firstKeptEntryId": ""}])
def test_a_compaction_that_keeps_nothing_is_read(kept: dict[str, Any]) -> None:
    assert codec.decode_entry(line(type="compaction", compaction={"summary": "s", **kept})) == compaction()


def test_a_compaction_with_nothing_in_it_is_read_and_not_written() -> None:
    entry = codec.decode_entry(line(type="compaction", compaction={}))
    assert entry == compaction(summary="")
    assert refusal(lambda: codec.encode_entry(entry)) == ("$.compaction.summary", "invalid")


def test_an_entry_of_an_unknown_type_is_kept_whatever_it_holds() -> None:
    payload = {"message": 5, "run": "x", "family": [], "response": 1}
    entry = codec.decode_entry(line(type="note", **payload))
    assert entry == opaque(data=payload)
    assert codec.decode_entry(codec.encode_entry(entry)) == entry


# -------------------------------------------------------------------------- doubtful times


@pytest.mark.parametrize(
    ("time", "read"),
    [
        ("yesterday", None),
        (None, None),
        (True, None),
        ({}, None),
        ("0001-01-01T00:00:00Z", None),
        ("2026-01-02 12:00:00.25", _NOON),
        (1767355200250, _NOON),
    ],
)
def test_a_doubtful_time_is_read_where_that_is_asked_for_and_told(time: Any, read: datetime | None) -> None:
    doubts: list[str] = []
    value = json.loads(line(message=_MESSAGE, timestamp=time))
    assert codec.entry_from_value(value, doubts.append) == message(timestamp=read)
    assert len(doubts) == 1
    assert "$.timestamp" in doubts[0]
    with pytest.raises(EntryError):
        codec.entry_from_value(value)


def test_a_time_that_is_not_there_at_all_is_unknown_and_told() -> None:
    doubts: list[str] = []
    value = json.loads(line(message=_MESSAGE, timestamp=...))
    assert codec.entry_from_value(value, doubts.append) == message(timestamp=None)
    assert len(doubts) == 1


@given(times(), st.integers(-23 * 60, 23 * 60))
def test_a_time_of_any_zone_is_written_as_the_same_instant(time: datetime, minutes: int) -> None:
    try:
        local = time.astimezone(timezone(timedelta(minutes=minutes)))
    except OverflowError:
        return
    entry = message(timestamp=local)
    assert same_line(
        json.loads(codec.encode_entry(entry)), json.loads(codec.encode_entry(message(timestamp=time)))
    )
    assert codec.decode_entry(codec.encode_entry(entry)) == entry


# --------------------------------------------------------------------------------- header


@pytest.mark.parametrize(
    ("text", "where", "kind"),
    [
        (b"", "$", "json"),
        (b"{", "$", "json"),
        (b"[]", "$", "json"),
        (b"null", "$", "json"),
        (b"{}", "$.type", "invalid"),
        (b'{"type":"Session","version":3}', "$.type", "invalid"),
        (b'{"type":5,"version":3}', "$.type", "json"),
        (b'{"type":"message","version":"3"}', "$.version", "json"),
        (b'{"type":"session"}', "$.version", "invalid"),
        (b'{"type":"session","version":null}', "$.version", "invalid"),
        (b'{"type":"session","version":4}', "$.version", "invalid"),
        (b'{"type":"session","version":3.0}', "$.version", "json"),
        (b'{"type":"session","version":true}', "$.version", "json"),
    ],
)
def test_a_line_that_is_no_header_says_why(text: bytes, where: str, kind: str) -> None:
    assert refusal(lambda: codec.decode_header(text)) == (where, kind)


def test_of_a_header_only_the_type_and_the_version_are_required() -> None:
    assert codec.decode_header(b' {"version":3,"type":"session"} ') == Header()


def test_what_is_odd_in_a_header_is_read_past() -> None:
    odd = {
        "id": 5,
        "timestamp": "x",
        "harness": [],
        "cwd": None,
        "forkedFrom": "s",
        "parent": {"session": "s"},
    }
    header = codec.decode_header(json.dumps({"type": "session", "version": 3, **odd}).encode())
    assert header == Header(extra={"forkedFrom": "s", "parent": {"session": "s"}})


# -------------------------------------------------------------------------------- details


@given(outcomes())
@example(ToolOutcome(status="success", exit_code=0, data=False))
@example(ToolOutcome(status="unknown", raw_status="superseded"))
@example(ToolOutcome(status="unknown"))
def test_an_outcome_comes_back_as_it_was(outcome: ToolOutcome) -> None:
    payload = codec.outcome_payload(outcome)
    assert alike(codec.read_outcome(payload), outcome)
    detail = codec.decode_detail(codec.encode_detail(Detail(id="c", payload=payload)))
    assert detail is not None
    assert alike(codec.read_outcome(detail.payload), outcome)
    assert codec.read_started(payload) is None


def test_an_outcome_stands_in_its_payload_as_the_format_says() -> None:
    outcome = ToolOutcome(status="failed", error_code="E", exit_code=2, data_kind="k", data={"a": 1})
    assert codec.outcome_payload(outcome) == {
        "kind": "tool_outcome",
        "data": {"status": "failed", "errorCode": "E", "exitCode": 2, "dataKind": "k", "data": {"a": 1}},
    }
    assert codec.outcome_payload(ToolOutcome(status="timeout")) == {
        "kind": "tool_outcome",
        "data": {"status": "timeout"},
    }


@pytest.mark.parametrize(
    ("payload", "outcome"),
    [
        (
            {"kind": "tool_outcome", "data": {"status": "odd"}},
            ToolOutcome(status="unknown", raw_status="odd"),
        ),
        ({"kind": "tool_outcome", "data": {"status": ""}}, ToolOutcome(status="unknown", raw_status="")),
        ({"status": "cancelled", "exitCode": 1}, ToolOutcome(status="cancelled", exit_code=1)),
        (
            {"status": "error", "data": {"a": 1}},
            ToolOutcome(status="unknown", raw_status="error", data={"a": 1}),
        ),
        ({"kind": None, "status": "success"}, ToolOutcome(status="success")),
        ({"kind": "diff", "data": [1]}, ToolOutcome(status="success", data_kind="diff", data=[1])),
        ({"kind": "diff", "status": "failed"}, ToolOutcome(status="success", data_kind="diff")),
        (
            {
                "kind": "tool_outcome",
                "data": {"status": "failed", "exitCode": "1", "errorCode": 5, "dataKind": []},
            },
            ToolOutcome(status="failed"),
        ),
        (
            {"kind": "tool_outcome", "data": {"status": "failed", "exitCode": True}},
            ToolOutcome(status="failed"),
        ),
        ({"kind": "tool_outcome", "data": {"status": 5}}, None),
        ({"kind": "tool_outcome", "data": "failed"}, None),
        ({"kind": "tool_outcome", "status": "failed"}, None),
        ({"kind": "tool_started", "data": {"at": None}}, None),
        ({"kind": "request", "data": {"status": "success"}}, None),
        ({"exitCode": 1}, None),
        ({}, None),
        (None, None),
        ("success", None),
        (["success"], None),
    ],
)
def test_a_payload_tells_of_an_outcome_or_of_none(payload: Any, outcome: ToolOutcome | None) -> None:
    assert codec.read_outcome(payload) == outcome


@given(json_values())
def test_no_payload_is_too_odd_to_be_read(payload: Any) -> None:
    codec.read_outcome(payload)
    codec.read_started(payload)


@given(times() | st.none())
def test_the_start_of_a_call_comes_back_as_it_was(at: datetime | None) -> None:
    payload = codec.started_payload(ToolStarted(at=at))
    assert codec.read_started(payload) == ToolStarted(at=at)
    assert codec.read_outcome(payload) is None


@pytest.mark.parametrize(
    ("payload", "started"),
    [
        ({"kind": "tool_started"}, ToolStarted(at=None)),
        ({"kind": "tool_started", "data": {"at": "x"}}, ToolStarted(at=None)),
        ({"kind": "tool_started", "data": 5}, ToolStarted(at=None)),
        ({"kind": "tool_outcome", "data": {"at": "2026-01-02T03:04:05Z"}}, None),
        (5, None),
    ],
)
def test_a_payload_tells_of_a_start_or_of_none(payload: Any, started: ToolStarted | None) -> None:
    assert codec.read_started(payload) == started


@pytest.mark.parametrize("text", [b"null", b"{}", b'{"payload":1}', b'{"id":"","payload":1}', b'{"id":null}'])
def test_a_sidecar_record_without_an_id_counts_for_nothing(text: bytes) -> None:
    assert codec.decode_detail(text) is None


@pytest.mark.parametrize(
    ("text", "where"),
    [(b"[]", "$"), (b"5", "$"), (b"{", "$"), (b'{"id":5}', "$.id"), (b'{"id":"c","entry":5}', "$.entry")],
)
def test_a_line_that_is_no_sidecar_record_says_why(text: bytes, where: str) -> None:
    assert refusal(lambda: codec.decode_detail(text)) == (where, "json")


def test_an_empty_entry_of_a_sidecar_record_is_none() -> None:
    assert codec.decode_detail(b'{"id":"c","entry":"","more":1}') == Detail(id="c", payload=None)
