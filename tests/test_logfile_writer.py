"""A batch is added wholly or not at all, behind whatever a crash has left, on bytes alone."""

from __future__ import annotations

import gc
import os
import re
import stat
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_logfile_reader import EDGE, Seen, body, decode, files, look, read
from test_seal import batch_of, sealed

from transcript_log._logfile.writer import AppendFile, Beginning
from transcript_log.errors import StorageError

START = b'{"start":1}\n'
"""How the files of these tests begin, where they have a beginning at all."""


class Log(AppendFile[int]):
    """A file that begins with ``START``, and remembers what it was told of."""

    def __init__(self, path: Path, *, durable: bool = False, create: bool = True) -> None:
        self.told: list[int] = []
        super().__init__(
            str(path),
            decode,
            durable=durable,
            create=create,
            fresh=lambda: START,
            begin=self._begins,
            seen=self.told.append,
        )

    def _begins(self, fd: int) -> Beginning:
        there = os.pread(fd, len(START), 0)
        return Beginning(0, START) if there != START else Beginning(len(START))

    def append(self, *numbers: int) -> None:
        self.settle()
        self.add(batch_of(*map(body, numbers)), numbers[-1])


def whole(path: Path) -> Seen:
    with path.open("rb") as file:
        return look(file, len(START))


def aside(path: Path) -> Path:
    return Path(f"{path}.corrupt")


# ----------------------------------------------------------------------------- batches


@settings(max_examples=30)
@given(st.lists(st.lists(st.integers(0, 99), min_size=1, max_size=4), max_size=6), st.booleans())
def test_a_file_is_the_batches_that_were_added_one_after_another(
    tmp_path_factory: pytest.TempPathFactory, batches: list[list[int]], again: bool
) -> None:
    path = tmp_path_factory.mktemp("log") / "log"
    log = Log(path)
    for batch in batches:
        log.append(*batch)
        assert log.last == batch[-1]
        log = Log(path) if again else log
    written = b"".join(batch_of(*map(body, batch)) for batch in batches)
    assert not batches or path.read_bytes() == START + written


def test_nothing_is_made_before_the_first_batch(tmp_path: Path) -> None:
    log = Log(tmp_path / "folder" / "log")
    log.settle()
    assert not log.is_made
    assert log.last is None
    assert list(tmp_path.iterdir()) == []


def test_files_and_folders_are_private(tmp_path: Path) -> None:
    path = tmp_path / "one" / "two" / "log"
    log = Log(path)
    log.append(1)
    with path.open("ab") as file:
        file.write(b"torn")
    log.append(2)
    modes = [
        stat.S_IMODE(place.stat().st_mode) for place in (path, aside(path), path.parent, tmp_path / "one")
    ]
    assert modes == [0o600, 0o600, 0o700, 0o700]


def test_a_file_that_may_not_be_made_is_not(tmp_path: Path) -> None:
    log = Log(tmp_path / "log", create=False)
    with pytest.raises(StorageError, match="ENOENT"):
        log.append(1)
    assert list(tmp_path.iterdir()) == []


def test_two_writers_in_turn_see_what_the_other_added(tmp_path: Path) -> None:
    one, other = Log(tmp_path / "log"), Log(tmp_path / "log")
    one.append(1)
    other.append(2, 3)
    one.append(4)
    other.settle()
    assert (one.told, one.last) == ([2, 3], 4)
    assert (other.told, other.last) == ([1, 4], 4)
    assert whole(tmp_path / "log").batches == [[1], [2, 3], [4]]


def test_the_last_value_of_a_file_that_was_there_is_known(tmp_path: Path) -> None:
    Log(tmp_path / "log").append(1, 2)
    Log(tmp_path / "log").append(3)
    log = Log(tmp_path / "log")
    log.settle()
    assert (log.last, log.told) == (3, [3])


def test_a_file_that_went_away_is_made_anew(tmp_path: Path) -> None:
    log = Log(tmp_path / "log")
    log.append(1)
    os.unlink(log.path)
    log.settle()
    assert (log.is_made, log.last) == (False, None)
    log.append(2)
    assert (tmp_path / "log").read_bytes() == START + batch_of(body(2))


def test_a_file_that_took_the_place_of_another_is_the_one_written_to(tmp_path: Path) -> None:
    log = Log(tmp_path / "log")
    log.append(1)
    (tmp_path / "new").write_bytes(START + batch_of(body(7)))
    os.rename(tmp_path / "log", tmp_path / "old")
    os.rename(tmp_path / "new", tmp_path / "log")
    log.append(8)
    assert whole(tmp_path / "log").batches == [[7], [8]]
    assert whole(tmp_path / "old").batches == [[1]]


def test_a_file_cut_shorter_by_another_hand_is_looked_at_from_its_start(tmp_path: Path) -> None:
    path = tmp_path / "log"
    log = Log(path)
    for number in range(4):
        log.append(number)
    os.truncate(path, len(START) + len(batch_of(body(0))) + 5)
    log.append(9)
    assert whole(path).batches == [[0], [9]]
    assert aside(path).exists()


def test_a_closed_file_is_opened_again(tmp_path: Path) -> None:
    gc.collect()
    before = len(os.listdir("/dev/fd"))
    log = Log(tmp_path / "log")
    log.append(1)
    log.close()
    log.append(2)
    log.close()
    log.append(3)
    assert whole(tmp_path / "log").values == [1, 2, 3]
    del log
    gc.collect()
    assert len(os.listdir("/dev/fd")) == before


def test_a_batch_that_was_taken_back_was_never_there(tmp_path: Path) -> None:
    log = Log(tmp_path / "log")
    log.append(1)
    before = (tmp_path / "log").read_bytes()
    log.append(2, 3)
    log.take_back()
    assert (tmp_path / "log").read_bytes() == before
    assert log.last == 1
    log.append(4)
    assert whole(tmp_path / "log").batches == [[1], [4]]


# ----------------------------------------------------------------------------- torn tails


@settings(max_examples=120)
@given(files(), st.lists(st.integers(100, 199), min_size=1, max_size=3))
def test_a_batch_lands_whole_behind_anything_and_changes_nothing_before_it(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, numbers: Sequence[int]
) -> None:
    path = tmp_path_factory.mktemp("log") / "log"
    path.write_bytes(START + data)
    before = whole(path)
    log = Log(path)
    log.append(*numbers)
    after = whole(path)

    assert after.batches == [*before.batches, list(numbers)]
    assert [fault.offset for fault in after.faults] == [fault.offset for fault in before.faults]
    assert after.torn is None
    kept = (START + data)[: before.torn.offset if before.torn else None] + (b"" if before.ended else b"\n")
    assert path.read_bytes() == kept + batch_of(*map(body, numbers))
    if before.torn is None:
        assert not aside(path).exists()
    else:
        note, _, rest = aside(path).read_bytes().partition(b"\n")
        assert rest == (START + data)[before.end :] + b"\n"
        said = rf"# \S+Z: {before.torn.size} bytes from byte {before.torn.offset} of log"
        assert re.fullmatch(said, note.decode())
    assert before.values[-1:] == log.told[-1:]


def test_a_file_cut_at_any_byte_takes_the_next_batch(tmp_path: Path) -> None:
    batches = [[1], [2, 3, 4], [5]]
    lines = [batch_of(*map(body, batch)) for batch in batches]
    data = b"".join(lines)
    path = tmp_path / "log"
    log = Log(path)
    for cut in range(len(data) + 1):
        path.write_bytes(START + data[:cut])
        count = sum(len(b"".join(lines[: at + 1])) - 1 <= cut for at in range(3))
        log.close()
        log.append(6, 7)
        assert whole(path).batches == [*batches[:count], [6, 7]], cut
        assert whole(path).faults == []


def test_torn_tails_are_gathered_in_one_file_with_when_and_from_where(tmp_path: Path) -> None:
    path = tmp_path / "log"
    log = Log(path)
    log.append(1)
    for tail in (b"\tfirst", b"second"):
        with path.open("ab") as file:
            file.write(tail)
        log.append(2)
    notes = aside(path).read_text().splitlines()
    first = len(START) + len(batch_of(body(1)))
    second = first + len(batch_of(body(2)))
    assert [re.sub(r"# \S+Z", "# NOW", line) for line in notes] == [
        f"# NOW: 6 bytes from byte {first} of log",
        "\tfirst",
        f"# NOW: 6 bytes from byte {second} of log",
        "second",
    ]


def test_a_link_where_a_torn_tail_would_go_is_not_followed(tmp_path: Path) -> None:
    path, target = tmp_path / "log", tmp_path / "precious"
    target.write_bytes(b"precious")
    path.write_bytes(START + batch_of(body(1)) + b"torn")
    os.symlink(target, aside(path))
    before = path.read_bytes()
    with pytest.raises(StorageError, match="it is a link"):
        Log(path).append(2)
    assert target.read_bytes() == b"precious"
    assert path.read_bytes() == before


def test_a_last_line_that_lacks_its_line_feed_is_ended_first(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(START + batch_of(body(1), body(2))[:-1])
    Log(path).append(3)
    assert path.read_bytes() == START + batch_of(body(1), body(2)) + batch_of(body(3))
    assert not aside(path).exists()


def test_an_open_batch_is_not_closed_by_the_next_one(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(START + sealed(body(1), more=True))
    Log(path).append(2)
    assert path.read_bytes() == START + batch_of(body(2))


def test_what_a_crash_left_before_the_beginning_goes_aside_too(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(START[:7])
    Log(path).append(1)
    assert path.read_bytes() == START + batch_of(body(1))
    assert aside(path).read_bytes().endswith(b"\n" + START[:7] + b"\n")


def test_a_lost_write_larger_than_any_block_is_moved_aside_whole(tmp_path: Path) -> None:
    path = tmp_path / "log"
    first = START + batch_of(body(1))
    torn = bytes(-len(first) % EDGE + 3 * (1 << 20)) + b"end"
    path.write_bytes(first + torn)
    Log(path).append(2)
    assert path.read_bytes() == first + batch_of(body(2))
    assert aside(path).read_bytes().partition(b"\n")[2] == torn + b"\n"


def test_damage_before_the_end_is_left_for_its_readers(tmp_path: Path) -> None:
    path = tmp_path / "log"
    data = START + batch_of(body(1)) + b"junk\n" + batch_of(body(2))
    path.write_bytes(data)
    Log(path).append(3)
    assert path.read_bytes() == data + batch_of(body(3))
    assert [fault.line for fault in read(path.read_bytes()[len(START) :]).faults] == [2]
