"""Whole batches, torn tails and damage are told apart, on bytes alone.

A line here is any JSON object with a number ``n``: framing knows nothing of entries.
"""

from __future__ import annotations

import itertools
import os
import tempfile
import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import IO

import orjson
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from test_seal import batch_of, sealed

from transcript_log._logfile.reader import (
    BatchReader,
    Fault,
    Torn,
    lines_backwards,
    raw_lines,
    whole_end_before,
)
from transcript_log._logfile.seal import LINE_LIMIT
from transcript_log.errors import EntryError

EDGE = 512
"""What a device writes as a whole, in bytes."""


def decode(raw: bytes, sealed: bool) -> int:
    try:
        number = orjson.loads(raw)["n"]
    except (ValueError, TypeError, KeyError) as error:
        raise EntryError("$", "no number") from error
    assert type(number) is int
    return number


def body(number: int, size: int = 0) -> bytes:
    return b'{"n":%d,"t":"%s"}' % (number, b"x" * size)


@dataclass
class Seen:
    """What one reading of a file gave."""

    batches: list[list[int]] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    places: list[tuple[int, int, bool]] = field(default_factory=list)
    torn: Torn | None = None
    end: int = 0
    end_line: int = 0
    ended: bool = True
    lines: int = 0

    @property
    def values(self) -> list[int]:
        return list(itertools.chain.from_iterable(self.batches))


def look(file: IO[bytes], offset: int = 0, saved: Iterable[int] = ()) -> Seen:
    """Read a file from a batch edge on; ``saved`` is what is given back for each damaged line."""
    seen = Seen()

    def on_fault(fault: Fault) -> Iterable[int]:
        seen.faults.append(fault)
        return saved

    reader = BatchReader("log", file.fileno(), decode, on_fault, offset=offset)
    whole = True
    for value in reader:
        if whole:
            seen.batches.append([])
        seen.batches[-1].append(value)
        seen.places.append((reader.line, reader.offset, reader.sealed))
        whole = not reader.more
    assert whole
    seen.torn, seen.end, seen.end_line = reader.torn, reader.end, reader.end_line
    seen.ended, seen.lines = reader.ended, reader.lines
    return seen


def holding(data: bytes) -> IO[bytes]:
    file = tempfile.TemporaryFile()  # noqa: SIM115 - closed by its user
    file.write(data)
    file.flush()
    return file


def read(data: bytes, saved: Iterable[int] = ()) -> Seen:
    with holding(data) as file:
        return look(file, saved=saved)


# ----------------------------------------------------------------------- cut at any byte

_NUMBERS = [[0], [1, 2, 3], [4], [5, 6], [7, 8, 9, 10]]
_BATCHES = [
    batch_of(body(0)),
    batch_of(body(1, 5), body(2, 40), body(3)),
    body(4) + b"\n",  # another writer's
    batch_of(body(5), body(6, 9)),
    batch_of(body(7), body(8), body(9, 30), body(10)),
]
_ENDS = list(itertools.accumulate(map(len, _BATCHES)))


def test_a_file_cut_at_any_byte_reads_as_a_prefix_of_whole_batches() -> None:
    data = b"".join(_BATCHES)
    assert read(data).batches == _NUMBERS
    for cut in range(len(data)):
        # A last line that lacks nothing but its line feed counts.
        count = sum(end - 1 <= cut for end in _ENDS)
        seen = read(data[:cut])
        assert seen.batches == _NUMBERS[:count], cut
        assert seen.faults == []
        end = min(_ENDS[count - 1], cut) if count else 0
        if data[end:cut] == b"\t":
            # A mark alone is white space: there is nothing to move aside.
            assert (seen.torn, seen.ended) == (None, False)
            continue
        assert seen.end == end
        assert seen.ended == (end == 0 or data[end - 1 : end] == b"\n")
        if cut > end:
            assert seen.torn is not None
            assert (seen.torn.offset, seen.torn.size, seen.torn.line) == (end, cut - end, seen.end_line)
        else:
            assert seen.torn is None


@pytest.mark.parametrize("zeros", [1, 511, 512, 5000])
def test_zeros_after_a_cut_at_any_byte_change_nothing(zeros: int) -> None:
    data = b"".join(_BATCHES)
    for cut in range(len(data) + 1):
        count = sum(end <= cut for end in _ENDS)
        seen = read(data[:cut] + bytes(zeros))
        assert seen.batches == _NUMBERS[:count], cut
        assert seen.faults == []
        assert seen.torn is not None
        assert seen.torn.offset == seen.end == (_ENDS[count - 1] if count else 0)
        assert seen.torn.size == cut + zeros - seen.end


def test_a_torn_tail_says_what_it_is() -> None:
    whole, batch = batch_of(body(1)), batch_of(body(2, 600), body(3))
    for tail, reason in (
        (batch[:-20], "a batch that was never finished"),
        (batch[:100], "a line that was never finished"),
        (bytes(100), "zeros up to the end of the file"),
        (batch[:100] + bytes(100), "a batch of which blocks were never written"),
    ):
        torn = read(whole + tail).torn
        assert torn is not None
        assert torn.reason == reason


# --------------------------------------------------------------------------- lost blocks


def _with_lost_blocks(data: bytes, first: int, last: int, lost: Iterable[int]) -> bytes:
    """The bytes from ``first`` to ``last`` with some of the blocks they stand in never written."""
    out = bytearray(data)
    for block in lost:
        at, to = max(first, block * EDGE), min(last, (block + 1) * EDGE)
        out[at:to] = bytes(to - at)
    return bytes(out)


def _some_of(blocks: range) -> Iterator[tuple[int, ...]]:
    for count in range(1, len(blocks) + 1):
        yield from itertools.combinations(blocks, count)


@pytest.mark.parametrize(
    "sizes", [(20, 900, 10, 1200), (3000,), (500, 500, 500, 500, 500), (1, 1, 1, 2500, 1)], ids=str
)
@pytest.mark.parametrize("before", [30, 512 - 29 - len(batch_of(body(1))), 700])
def test_a_last_batch_with_any_of_its_blocks_lost_is_torn(sizes: tuple[int, ...], before: int) -> None:
    kept = batch_of(body(0, before)) + batch_of(body(1), body(2))
    data = kept + batch_of(*[body(3 + at, size) for at, size in enumerate(sizes)])
    for lost in _some_of(range(len(kept) // EDGE, -(-len(data) // EDGE))):
        seen = read(_with_lost_blocks(data, len(kept), len(data), lost))
        assert seen.batches == [[0], [1, 2]], lost
        assert seen.faults == [], lost
        assert seen.torn is not None
        assert (seen.torn.offset, seen.torn.size) == (len(kept), len(data) - len(kept))


@pytest.mark.parametrize("later", [batch_of(body(8), body(9)) + batch_of(body(10)), batch_of(body(8)) * 3])
def test_blocks_lost_in_an_earlier_batch_are_damage(later: bytes) -> None:
    first = batch_of(body(0)) + batch_of(body(1, 900), body(2, 900), body(3, 900))
    data = first + later
    start = len(batch_of(body(0)))
    for lost in _some_of(range(start // EDGE, len(first) // EDGE)):
        seen = read(_with_lost_blocks(data, start, len(first), lost))
        assert seen.faults, lost
        assert seen.torn is None, lost
        assert seen.batches[0] == [0]
        assert seen.batches[-1] == read(later).batches[-1]


def test_zeros_that_are_no_whole_blocks_are_damage_where_a_line_follows() -> None:
    data = batch_of(body(0)) + batch_of(body(1, 2000)) + batch_of(body(2))
    for first, last in ((600, 1023), (513, 1024), (700, 701)):
        seen = read(data[:first] + bytes(last - first) + data[last:])
        assert seen.values == [0, 2]
        assert [fault.line for fault in seen.faults] == [2]


# ----------------------------------------------------------------------- damaged batches

_KINDS = ["sealed", "marked", "plain", "tabbed", "broken", "junk", "blank", "crlf"]


def _line(kind: str, number: int) -> bytes:
    match kind:
        case "sealed":
            return sealed(body(number))
        case "marked":
            return sealed(body(number), more=True)
        case "plain":
            return body(number) + b"\n"
        case "tabbed":  # a TAB is no mark without a seal
            return b"\t" + body(number) + b" \n"
        case "broken":
            return sealed(body(number)).replace(b'"n"', b'"N"')
        case "junk":
            return b"junk %d\n" % number
        case "crlf":
            return sealed(body(number))[:-1] + b"\r\n"
    return b" \r\t\n"


def _model(kinds: list[str]) -> tuple[list[list[int]], list[int], int]:
    """The batches, the damaged lines and the line on which the torn tail begins, by the book."""
    batches: list[list[int]] = []
    faults: list[int] = []
    pending: list[int] = []
    first = 0
    for number, kind in enumerate(kinds):
        if kind in ("broken", "junk") or (pending and kind in ("plain", "tabbed")):
            batches += [[value] for value in pending]
            pending = []
            faults.append(number + 1)
        elif kind == "marked":
            first = first if pending else number
            pending.append(number)
        elif kind != "blank":
            batches.append([*pending, number])
            pending = []
    return batches, faults, first if pending else len(kinds)


@given(st.lists(st.sampled_from(_KINDS), max_size=12))
def test_any_mixture_of_lines_is_read_by_the_book(kinds: list[str]) -> None:
    lines = [_line(kind, number) for number, kind in enumerate(kinds)]
    starts = [0, *itertools.accumulate(map(len, lines))]
    batches, faults, end = _model(kinds)
    seen = read(b"".join(lines))
    assert seen.batches == batches
    assert [fault.line for fault in seen.faults] == faults
    assert [fault.offset for fault in seen.faults] == [starts[line - 1] for line in faults]
    assert [fault.raw for fault in seen.faults] == [lines[line - 1] for line in faults]
    assert (seen.end, seen.end_line) == (starts[end], end + 1)
    assert seen.torn == (
        None
        if end == len(kinds)
        else Torn(end + 1, starts[end], starts[-1] - starts[end], "a batch that was never finished")
    )
    where = [
        (number + 1, starts[number], kinds[number] in ("sealed", "marked", "crlf")) for number in seen.values
    ]
    assert seen.places == where


@given(st.lists(st.sampled_from(_KINDS), max_size=8))
def test_what_is_saved_from_a_damaged_line_stands_in_its_place_alone(kinds: list[str]) -> None:
    lines = [_line(kind, number) for number, kind in enumerate(kinds)]
    batches, faults, _ = _model(kinds)
    seen = read(b"".join(lines), saved=(-1, -2))
    assert [value for value in seen.values if value >= 0] == list(itertools.chain.from_iterable(batches))
    assert [batch for batch in seen.batches if batch[0] < 0] == [[-1], [-2]] * len(faults)
    assert [place[0] for place, value in zip(seen.places, seen.values, strict=True) if value == -1] == faults


def test_a_fault_says_why_and_what_to_do() -> None:
    seen = read(_line("broken", 1) + _line("junk", 2) + _line("marked", 3) + _line("plain", 4))
    assert [fault.reason for fault in seen.faults] == [
        "the checksum does not match the line",
        "no number at $",
        "a batch before this line was never finished",
    ]
    assert ["--reseal" in fault.advice for fault in seen.faults] == [True, False, False]
    assert [fault.sealed for fault in seen.faults] == [True, False, False]
    assert [isinstance(fault.error, EntryError) for fault in seen.faults] == [False, True, False]


@settings(max_examples=150)
@given(st.lists(st.sampled_from(_KINDS), max_size=12), st.integers(0, 40))
def test_a_file_read_at_once_gives_what_it_gives_line_by_line(kinds: list[str], cut: int) -> None:
    data = b"".join(_line(kind, number) for number, kind in enumerate(kinds))
    with holding(data[: max(0, len(data) - cut)]) as file:
        seen = look(file)
        faults: list[Fault] = []

        def on_fault(fault: Fault) -> Iterable[int]:
            faults.append(fault)
            return ()

        reader = BatchReader("log", file.fileno(), decode, on_fault)
        assert reader.all() == seen.values
    assert [(fault.line, fault.offset, fault.raw) for fault in faults] == [
        (fault.line, fault.offset, fault.raw) for fault in seen.faults
    ]
    assert (reader.torn, reader.end, reader.ended) == (seen.torn, seen.end, seen.ended)


# ------------------------------------------------------------------ backwards and forwards


@st.composite
def files(draw: st.DrawFn) -> bytes:
    """A file of whole lines, damage and zeros in any order, perhaps cut."""
    pieces = st.one_of(
        st.sampled_from(_KINDS).flatmap(lambda kind: st.integers(0, 99).map(lambda n: _line(kind, n))),
        st.integers(0, 99).map(lambda n: sealed(body(n, 700), more=True)),
        st.integers(0, 99).map(lambda n: sealed(body(n, 700))),
        st.binary(max_size=6),
        st.sampled_from([1, 512, 700]).map(bytes),
        st.none(),
    )
    data = b""
    for piece in draw(st.lists(pieces, max_size=12)):
        # None stands for zeros up to the next edge, as a lost block leaves them.
        data += bytes(-len(data) % EDGE) if piece is None else piece
    return data[: draw(st.integers(max(0, len(data) - 40), len(data)))]


@settings(max_examples=250)
@given(files())
@example(_line("marked", 1) + b"\0" * 512)
@example(_line("sealed", 1) + _line("marked", 2) + _line("plain", 3) + _line("marked", 4))
@example(_line("sealed", 1) * 2 + bytes(512 - 2 * len(_line("sealed", 1))) + _line("sealed", 3))
def test_the_end_found_from_behind_is_the_end_that_a_reading_of_the_whole_finds(data: bytes) -> None:
    with holding(data) as file:
        edge = whole_end_before(file.fileno(), 0, decode)
        forwards, backwards = look(file), look(file, edge)
    assert backwards.end == forwards.end
    assert backwards.ended == forwards.ended
    assert backwards.values == forwards.values[len(forwards.values) - len(backwards.values) :]
    assert backwards.values or not forwards.values
    if forwards.torn is None:
        assert backwards.torn is None
    else:
        assert backwards.torn is not None
        same = (forwards.torn.offset, forwards.torn.size, forwards.torn.reason)
        assert (backwards.torn.offset, backwards.torn.size, backwards.torn.reason) == same
    damaged = [fault.offset for fault in forwards.faults if fault.offset >= edge]
    assert [fault.offset for fault in backwards.faults] == damaged


_LENGTHS = st.sampled_from([0, 0, 1, 7, 65534, 65535, 65536, 65537, 200_000, 1 << 20])


@settings(max_examples=60)
@given(st.lists(_LENGTHS, max_size=8), st.booleans(), st.data())
def test_lines_are_the_same_from_behind(lengths: list[int], ended: bool, data: st.DataObject) -> None:
    lines = [b"%d\r\x0b" % (length % 10) * (length // 3) + b"\n" for length in lengths]
    if lines and not ended:
        lines[-1] = lines[-1][:-1]
    lines = [line for line in lines if line]
    starts = [0, *itertools.accumulate(map(len, lines))]
    first = data.draw(st.integers(0, len(lines)))
    last = data.draw(st.integers(first, len(lines)))
    with holding(b"".join(lines)) as file:
        found = list(lines_backwards(file.fileno(), starts[first], starts[last]))
        whole = list(lines_backwards(file.fileno(), 0))
        assert list(raw_lines(file.fileno(), starts[first])) == lines[first:]
    expected = list(zip(starts, lines, strict=False))
    assert found[::-1] == expected[first:last]
    assert whole[::-1] == expected


def test_the_end_of_a_long_file_is_found_without_reading_the_rest() -> None:
    with holding(b"") as file:
        os.ftruncate(file.fileno(), 1 << 30)
        file.seek(0, os.SEEK_END)
        start = file.tell()
        file.write(b"\n" + batch_of(body(1)) * 1000)
        file.flush()
        tracemalloc.start()
        edge = whole_end_before(file.fileno(), 0, decode)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert edge > start
    assert peak < 1 << 20


# --------------------------------------------------------------------- a writer at work


def _changing(data: bytes, change: Callable[[IO[bytes]], object]) -> Seen:
    """Read a file to which ``change`` happens when its first line has been given."""
    with holding(data) as file:
        faults: list[Fault] = []

        def on_fault(fault: Fault) -> Iterable[int]:
            faults.append(fault)
            return ()

        seen = Seen()
        reader = BatchReader("log", file.fileno(), decode, on_fault)
        for value in reader:
            seen.batches.append([value])
            if len(seen.batches) == 1:
                change(file)
                file.flush()
        seen.faults, seen.torn = faults, reader.torn
        return seen


def test_a_line_that_a_writer_has_mended_meanwhile_is_no_damage() -> None:
    # The first read takes in old bytes: a torn tail that is cut off, and a batch in its place.
    whole, torn = batch_of(body(1)), b'{"n":2,"t":"xx\n'
    batch = batch_of(body(3), body(4))

    def mend(file: IO[bytes]) -> None:
        os.ftruncate(file.fileno(), len(whole))
        file.seek(len(whole))
        file.write(batch)

    seen = _changing(whole + torn, mend)
    assert seen.values == [1, 3, 4]
    assert seen.faults == []


def test_a_line_that_stays_bad_is_damage() -> None:
    seen = _changing(batch_of(body(1)) + b"junk\n" + batch_of(body(2)), lambda file: None)
    assert seen.values == [1, 2]
    assert [fault.line for fault in seen.faults] == [2]


def test_a_batch_that_comes_while_the_end_is_read_is_seen_whole_or_not_at_all() -> None:
    batch = batch_of(body(2), body(3))
    for size in range(len(batch) + 1):

        def add(file: IO[bytes], size: int = size) -> None:
            file.seek(0, os.SEEK_END)
            file.write(batch[:size])

        seen = _changing(batch_of(body(1)), add)
        assert seen.values in ([1], [1, 2, 3])
        assert seen.faults == []


# -------------------------------------------------------------------------------- limits


def test_a_line_may_be_as_long_as_the_limit_and_no_longer() -> None:
    room = LINE_LIMIT - len(sealed(body(2)))
    fits = batch_of(body(1)) + sealed(body(2, room)) + batch_of(body(3))
    too_long = sealed(body(4, room + 1))
    assert len(too_long) == LINE_LIMIT + 1
    seen = read(fits + too_long + batch_of(body(5)))
    assert seen.values == [1, 2, 3, 5]
    (fault,) = seen.faults
    assert (fault.line, fault.offset) == (4, len(fits))
    assert str(LINE_LIMIT) in fault.reason


def test_a_line_far_over_the_limit_is_passed_over_in_bounded_memory() -> None:
    first, last = batch_of(body(1)), batch_of(body(2), body(3))
    for ended in (True, False):
        with holding(first) as file:
            size = len(first) + 6 * LINE_LIMIT
            os.ftruncate(file.fileno(), size)
            os.pwrite(file.fileno(), b"\n" + last if ended else b"x", size)
            tracemalloc.start()
            seen = look(file)
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        assert peak < 3 * LINE_LIMIT
        assert seen.values == ([1, 2, 3] if ended else [1])
        assert [fault.line for fault in seen.faults] == ([2] if ended else [])
        assert (seen.torn is None) == ended


def test_lines_end_at_a_line_feed_alone() -> None:
    odd = "a\rb\x0bc\x0cd\x1ce\x85f\u2028g".encode()
    with holding(odd + b"\n" + odd) as file:
        assert list(raw_lines(file.fileno(), 0)) == [odd + b"\n", odd]
        assert list(raw_lines(file.fileno(), len(odd))) == [b"\n", odd]
