"""A line's mark and checksum, recomputed here from the specification alone."""

from __future__ import annotations

import json
from zlib import crc32 as zlib_crc32

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import json_objects

from transcript_log._json import encode
from transcript_log._logfile.seal import SPACE, is_intact, is_sealed, line_of, resealed, unsealed

HEADER = (
    b'{"type":"session","version":3,"id":"s","timestamp":"2026-01-02T03:04:05Z","harness":"transcript-log"}\n'
)
"""The first line of a log, without a checksum."""


def body_of(entry_id: str, text: str = "hi") -> bytes:
    """The JSON object of a message entry."""
    message = {"role": "user", "content": text}
    entry = {"id": entry_id, "timestamp": "2026-01-02T03:04:05Z", "type": "message", "message": message}
    return json.dumps(entry, separators=(",", ":"), ensure_ascii=False).encode()


def sealed(body: bytes, *, more: bool = False) -> bytes:
    """The line of a JSON object, sealed; marked if more lines of the batch follow."""
    head = (b"\t" if more else b"") + body[:-1]
    return head + b',"crc":"' + f"{zlib_crc32(head):08x}".encode() + b'"}\n'


def batch_of(*bodies: bytes) -> bytes:
    """The lines of one batch: all but the last are marked."""
    return b"".join(sealed(body, more=at < len(bodies) - 1) for at, body in enumerate(bodies))


def crc32(data: bytes) -> int:
    """The CRC-32 of ISO 3309, bit by bit."""
    rest = 0xFFFFFFFF
    for byte in data:
        rest ^= byte
        for _ in range(8):
            rest = rest >> 1 ^ (0xEDB88320 if rest & 1 else 0)
    return rest ^ 0xFFFFFFFF


def bodies() -> st.SearchStrategy[bytes]:
    """JSON objects as a store spells them: compact, with at least one member, without a checksum."""
    return json_objects(without=frozenset({"crc"})).map(lambda value: encode({"id": "e", **value}))


# -------------------------------------------------------------------------------- a seal


@settings(max_examples=50)
@given(bodies(), st.booleans())
def test_a_seal_is_the_crc_of_the_lines_own_bytes_up_to_it(body: bytes, more: bool) -> None:
    head = (b"\t" if more else b"") + body[:-1]
    assert line_of(body, more=more) == head + b',"crc":"%08x"}\n' % crc32(head)
    assert sealed(body, more=more) == line_of(body, more=more)


@settings(max_examples=50)
@given(bodies(), st.booleans())
def test_a_sealed_line_is_the_same_object_with_one_member_more(body: bytes, more: bool) -> None:
    value = json.loads(line_of(body, more=more))
    assert list(value)[-1] == "crc"
    del value["crc"]
    assert value == json.loads(body)


@settings(max_examples=50)
@given(bodies())
def test_only_the_last_line_of_a_batch_can_go_without_a_seal(body: bytes) -> None:
    assert line_of(body, checksum=False) == body + b"\n"
    assert line_of(body, more=True, checksum=False) == line_of(body, more=True)


@settings(max_examples=50)
@given(bodies(), st.booleans(), st.sampled_from([b"", b"\r", b" ", b"\t \r"]))
def test_a_sealed_line_is_known_whatever_white_space_follows_it(
    body: bytes, more: bool, space: bytes
) -> None:
    text = (line_of(body, more=more)[:-1] + space).rstrip(SPACE)
    assert is_sealed(text)
    assert is_intact(text)


@settings(max_examples=50)
@given(bodies(), st.booleans(), st.data())
def test_no_byte_of_a_sealed_line_can_change_unseen(body: bytes, more: bool, data: st.DataObject) -> None:
    text = bytearray(line_of(body, more=more)[:-1])
    at = data.draw(st.integers(0, len(text) - 1))
    text[at] ^= data.draw(st.integers(1, 255))
    changed = bytes(text)
    assert not (is_sealed(changed) and is_intact(changed))


def test_every_single_bit_of_a_sealed_line_counts() -> None:
    text = sealed(body_of("e1"), more=True)[:-1]
    for at in range(len(text) * 8):
        changed = bytearray(text)
        changed[at // 8] ^= 1 << at % 8
        assert not (is_sealed(bytes(changed)) and is_intact(bytes(changed))), at


def test_a_mark_that_was_added_or_lost_breaks_the_seal() -> None:
    marked, last = sealed(body_of("e1"), more=True)[:-1], sealed(body_of("e1"))[:-1]
    assert not is_intact(marked[1:])
    assert not is_intact(b"\t" + last)


@settings(max_examples=50)
@given(bodies())
def test_an_object_without_a_checksum_is_not_taken_for_a_sealed_one(body: bytes) -> None:
    assert not is_sealed(body)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{}",
        b'"}',
        b'","crc":"',
        b'{"a":{"b":1,"crc":"00000000"}}',
        b'{"a":1,"crc":"0000000"}',
        b'{"a":1,"crc": "00000000"}',
        b'{"a":1,"crc":"00000000" }',
        b'{"a":1,"crc":"00000000","b":2}',
        rb'{"a":",\"crc\":\"00000000"}',
    ],
)
def test_what_only_resembles_a_seal_is_none(text: bytes) -> None:
    assert not is_sealed(text)


def test_a_seal_in_capital_letters_is_not_intact() -> None:
    text = next(
        text for n in range(99) if (text := sealed(body_of(f"e{n}"))[:-1])[-10:-2].upper() != text[-10:-2]
    )
    assert is_intact(text)
    assert not is_intact(text[:-10] + text[-10:-2].upper() + b'"}')


# -------------------------------------------------------------------- taking it off, anew


@settings(max_examples=50)
@given(bodies(), st.booleans(), st.booleans())
def test_an_unsealed_line_is_the_object_it_was_made_of(body: bytes, more: bool, checksum: bool) -> None:
    line = line_of(body, more=more, checksum=checksum)
    assert unsealed(line) == body
    assert unsealed(line[:-1] + b" \r\n") == body


@settings(max_examples=50)
@given(bodies(), bodies(), st.booleans())
def test_an_edited_line_gets_the_seal_of_what_it_says_now(body: bytes, other: bytes, more: bool) -> None:
    text = line_of(body, more=more)[:-1]
    edited = (b"\t" if more else b"") + other[:-1] + text[-len(b',"crc":"xxxxxxxx"}') :]
    assert resealed(edited) == line_of(other, more=more)
    assert resealed(text) == text + b"\n"
