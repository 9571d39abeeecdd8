"""What is compressed is read as it was before, as a stream; what of it is damaged is told."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from transcript_log import _zst
from transcript_log._logfile.reader import TooLongError
from transcript_log._logfile.seal import LINE_LIMIT
from transcript_log.cli import main

zstandard = pytest.importorskip("zstandard")

ROOT: Final = Path(__file__).resolve().parent.parent
EXAMPLE: Final = ROOT / "examples" / "fix-the-build.jsonl"
CODEX: Final = ROOT / "tests" / "data" / "codex"
SKIPPABLE: Final = b"\x50\x2a\x4d\x18\x03\x00\x00\x00abc"


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words])


def packed(data: bytes, level: int = 3) -> bytes:
    made: bytes = zstandard.ZstdCompressor(level=level).compress(data)
    return made


def pack(source: Path, folder: Path) -> Path:
    target = folder / f"{source.name}.zst"
    target.write_bytes(packed(source.read_bytes()))
    return target


@given(
    pieces=st.lists(st.binary(max_size=64) | st.just(b"ab" * 200_000) | st.just(bytes(300_000)), min_size=1),
    checksum=st.booleans(),
    sized=st.booleans(),
    data=st.data(),
)
def test_a_file_is_cut_unless_it_ends_with_a_frame(
    pieces: list[bytes], checksum: bool, sized: bool, data: st.DataObject
) -> None:
    context = zstandard.ZstdCompressor(write_checksum=checksum, write_content_size=sized)
    frames = [SKIPPABLE if piece == b"" else context.compress(piece) for piece in pieces]
    ends = {sum(map(len, frames[:count])) for count in range(len(frames) + 1)}
    whole = b"".join(frames)
    size = data.draw(st.sampled_from(sorted(ends)) | st.integers(0, len(whole)))
    with tempfile.TemporaryFile() as file:
        file.write(whole[:size])
        file.flush()
        assert _zst.is_cut(file.fileno()) == (size not in ends)


@pytest.fixture
def unpacked(tmp_path: Path) -> Iterator[_zst.Unpacked]:
    with (tmp_path / "file").open("wb") as file:
        file.write(packed(b"one\ntwo"))
    fd = os.open(tmp_path / "file", os.O_RDONLY)
    yield _zst.Unpacked("file", fd)
    os.close(fd)


def read(data: bytes) -> tuple[bytes, str]:
    """What a file decompresses to, and why that ended early."""
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.flush()
        source = _zst.Unpacked("file", file.fileno())
        return b"".join(source.lines()), source.fault


@given(st.lists(st.binary(max_size=300).map(lambda piece: piece * 40), max_size=4), st.data())
def test_frames_in_a_row_are_read_as_one_stream(pieces: list[bytes], data: st.DataObject) -> None:
    frames = [packed(piece) for piece in pieces]
    if frames and data.draw(st.booleans()):
        frames.insert(data.draw(st.integers(0, len(frames))), SKIPPABLE)
    assert read(b"".join(frames)) == (b"".join(pieces), "")


@given(st.binary(max_size=2000), st.data())
def test_of_a_file_that_was_cut_its_beginning_is_read(content: bytes, data: st.DataObject) -> None:
    frame = packed(content)
    cut = data.draw(st.integers(1, len(frame) - 1))
    got, fault = read(frame[:cut])
    assert content.startswith(got)
    assert fault == "it ends inside of what is compressed"
    assert read(frame + frame[:cut])[0].startswith(content)


@given(st.binary(min_size=1, max_size=200))
def test_what_is_not_compressed_ends_the_reading_with_a_fault(garbage: bytes) -> None:
    got, fault = read(packed(b"before\n") + garbage)
    assert got.startswith(b"before\n")
    assert fault or garbage.startswith((b"\x28\xb5\x2f\xfd", b"\x2a\x4d\x18"))


def test_lines_come_as_they_were(unpacked: _zst.Unpacked) -> None:
    assert list(unpacked.lines()) == [b"one\n", b"two"]


def test_a_line_over_the_limit_is_refused_and_one_at_the_limit_is_not() -> None:
    longest = b"x" * (LINE_LIMIT - 1) + b"\n"
    assert read(packed(longest * 2, 1)) == (longest * 2, "")
    for data in (b"x" + longest, b"a\n" + longest[:-1] + b"xx", b"a\nx" + longest + b"b\n"):
        with pytest.raises(TooLongError):
            read(packed(data, 1))


def test_a_file_is_read_in_bounded_memory_however_much_it_becomes(tmp_path: Path) -> None:
    path = tmp_path / "bomb"
    compressor = zstandard.ZstdCompressor(level=1).compressobj()
    with path.open("wb") as file:
        for _ in range(512):
            file.write(compressor.compress(b"0" * (1 << 20)))
        file.write(compressor.flush())
    fd = os.open(path, os.O_RDONLY)
    tracemalloc.start()
    try:
        source = _zst.Unpacked("bomb", fd)
        size = 0
        while piece := source.read(1 << 20):
            size += len(piece)
        assert tracemalloc.get_traced_memory()[1] < 40 << 20
    finally:
        tracemalloc.stop()
        os.close(fd)
    assert size == 512 << 20


COMMANDS: Final = (
    ("replay",),
    ("replay", "--json"),
    ("inspect", "--json"),
    ("check", "--json"),
    ("context", "--target", "openai-responses/gpt-5"),
    ("stats", "--json"),
)


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("name", ["document.json", "flat.jsonl", "late-abort.jsonl", EXAMPLE.name])
def test_every_command_reads_a_compressed_session_as_it_reads_the_session(
    name: str, words: tuple[str, ...], tmp_path: Path
) -> None:
    source = EXAMPLE if name == EXAMPLE.name else CODEX / name
    plain = tmp_path / "plain" / name
    plain.parent.mkdir()
    shutil.copy(source, plain)
    target = pack(source, tmp_path)
    if source == EXAMPLE:
        sidecar = source.with_name("fix-the-build.details.jsonl")
        shutil.copy(sidecar, plain.parent)
        pack(sidecar, tmp_path)
    before = sorted(os.listdir(tmp_path))
    results = [run(*words, plain), run(*words, target)]
    told = [
        result.output.replace(str(path), "FILE").replace(f'"size":{path.stat().st_size}', "SIZE")
        for result, path in zip(results, (plain, target), strict=True)
    ]
    assert told[0] == told[1]
    assert results[0].exit_code == results[1].exit_code
    assert sorted(os.listdir(tmp_path)) == before


def test_a_line_of_a_compressed_log_that_is_too_long_is_damage_as_in_any_log(tmp_path: Path) -> None:
    plain = tmp_path / "long.jsonl"
    with plain.open("wb") as file:
        file.write(EXAMPLE.read_bytes())
        file.write(b"x" * LINE_LIMIT + b"\n")
    target = pack(plain, tmp_path)
    results = [run("check", path) for path in (plain, target)]
    assert results[0].output.replace(str(plain), "FILE") == results[1].output.replace(str(target), "FILE")
    assert results[1].exit_code == 1


def test_the_sidecar_of_a_compressed_log_may_be_uncompressed(tmp_path: Path) -> None:
    target = pack(EXAMPLE, tmp_path)
    bare = run("replay", target).stdout
    shutil.copy(EXAMPLE.with_name("fix-the-build.details.jsonl"), tmp_path)
    assert run("replay", target).stdout == run("replay", EXAMPLE).stdout.replace(str(EXAMPLE), str(target))
    assert run("replay", target).stdout != bare


@pytest.mark.parametrize("source", [CODEX / "late-abort.jsonl", EXAMPLE], ids=lambda path: path.name)
def test_damage_of_a_compressed_file_is_told_and_read_round(source: Path, tmp_path: Path) -> None:
    frame = packed(source.read_bytes())
    path = tmp_path / "cut.jsonl.zst"
    half = source.read_bytes()[: source.stat().st_size // 2]
    path.write_bytes(packed(half) + frame[: len(frame) // 2])
    result = run("check", "--json", path)
    found = [json.loads(line) for line in result.stdout.splitlines()]
    (told,) = [finding for finding in found if finding["rule"] == "compressed"]
    assert (told["severity"], told["path"]) == ("error", str(path))
    assert "ends inside" in told["message"]
    assert result.exit_code == 1
    shown = run("replay", path)
    assert shown.exit_code == 0
    assert "ends inside" in shown.stderr
    assert shown.stdout.count("\n") > 5
    assert str(tmp_path.parent) not in shown.stderr.replace(str(path), "")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (packed(b""), "nothing comes of decompressing it"),
        (b"\x28\xb5\x2f\xfd", "nothing comes of decompressing it"),
        (b"\x28\xb5\x2f\xfdgarbage", "nothing comes of decompressing it"),
        (packed(b"Dear diary,\n"), "no session of a known format"),
        (packed(b'{"type":"session","version":4,"id":"s","harness":"transcript-log"}\n'), "version 4"),
    ],
)
def test_a_compressed_file_that_is_no_session_is_told_in_one_line(
    data: bytes, reason: str, tmp_path: Path
) -> None:
    path = tmp_path / "odd.jsonl.zst"
    path.write_bytes(data)
    result = run("replay", path)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.count("\n") == 1
    assert reason in result.stderr
    assert result.stderr.startswith(f"Error: {path}: ")


def test_a_compressed_log_is_never_written_to(tmp_path: Path) -> None:
    target = pack(EXAMPLE, tmp_path)
    before = target.read_bytes()
    result = run("salvage", "--apply", target)
    assert result.exit_code == 1
    assert "decompress it first" in result.stderr
    assert target.read_bytes() == before
    assert os.listdir(tmp_path) == [target.name]


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="it comes with Python")
def test_without_the_extra_one_line_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = pack(EXAMPLE, tmp_path)
    monkeypatch.setitem(sys.modules, "zstandard", None)
    result = run("inspect", target)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.count("\n") == 1
    assert "pip install 'transcript-log[zst]'" in result.stderr
