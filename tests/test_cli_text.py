"""No character of a transcript can act on a terminal, or hide."""

from __future__ import annotations

import contextlib
import io
import json
import unicodedata
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from strategies import json_values

from transcript_log.cli.output import counted, echo_json, show_duration, show_size, show_time
from transcript_log.cli.text import dumped, laid_out, one_line, plain, show


def is_harmless(text: str) -> bool:
    """Whether each character is printable, a line feed or a tab."""
    return all(char.isprintable() or char in "\n\t" for char in text)


@given(st.text())
@example("".join(map(chr, range(0x300))))
@example("\u202ereversed\u202c \u2066isolated\u2069 zero\u200bwidth \ufeff \U000e0041 \ud83d \ufff9")
def test_what_is_shown_is_printable(text: str) -> None:
    assert is_harmless(plain(text))
    assert is_harmless(show(text))
    assert "\n" not in one_line(text)
    assert "\t" not in one_line(text)


def test_every_character_that_there_is_comes_out_harmless() -> None:
    everything = "".join(map(chr, range(0x110000)))
    assert is_harmless(plain(everything))


@given(st.text(st.characters(exclude_categories=("C", "Z"))))
def test_letters_marks_and_signs_of_any_script_stay(text: str) -> None:
    assert plain(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("two\nlines\tand a tab", "two\nlines\tand a tab"),
        ("日本 – é 🤖 \ufffd", "日本 – é 🤖 \ufffd"),
        ("a\u00a0b\u3000c", "a b c"),
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("\x9b31m \x07\b\r\x00\x7f", "\\x9b31m \\x07\\x08\\x0d\\x00\\x7f"),
        ("\u202egnp\u2069", "\\u202egnp\\u2069"),
        ("\u2028\u2029\u0085", "\\u2028\\u2029\\x85"),
        ("cut \ud83d", "cut \\ud83d"),
        ("\U000e0041", "\\U000e0041"),
    ],
)
def test_a_text_is_shown_as(text: str, shown: str) -> None:
    assert plain(text) == shown


def test_one_line_is_one_line() -> None:
    assert one_line("a\nb\tc\x1b") == "a\\nb\\tc\\x1b"


@given(json_values())
def test_any_value_is_shown_harmless(value: Any) -> None:
    assert is_harmless(show(value))
    assert is_harmless(plain(laid_out(value)))


def printed(value: Any) -> str:
    """What ``echo_json`` prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        echo_json(value)
    return out.getvalue()


@given(json_values())
def test_a_line_of_json_is_printable_and_gives_the_value_back(value: Any) -> None:
    line = printed(value)
    assert line.endswith("\n")
    assert line[:-1].isprintable()
    assert json.loads(line) == value


def test_json_of_any_character_is_printable() -> None:
    everything = "".join(char for char in map(chr, range(0x110000)) if unicodedata.category(char) != "Cs")
    line = printed({"text": everything})
    assert line[:-1].isprintable()
    assert json.loads(line) == {"text": everything}


def test_json_that_nests_very_deep_is_cut_and_not_refused() -> None:
    value: Any = "core"
    for _ in range(5000):
        value = [value]
    assert "…" in json.dumps(json.loads(printed(value)), ensure_ascii=False)
    assert "…" in show(value)
    assert "…" in dumped({"k": value})


# ------------------------------------------------------------------------- laid out


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("free text", "free text"),
        ('{"cmd":"ls"}', '{"cmd":"ls"}'),
        ('{"cmd": "ls"', '{"cmd": "ls"'),
        ({"command": ["ls", "-l"]}, '{"command":["ls","-l"]}'),
        ([1, 2], "[1,2]"),
        (None, ""),
        ("{" + "x" * 200, "{" + "x" * 200),
        ('{"n":12345678901234567890123,"m":1.50}', '{"n":12345678901234567890123,"m":1.50}'),
    ],
)
def test_what_is_short_or_no_object_stays_as_it_is(value: Any, shown: str) -> None:
    assert laid_out(value) == shown


def test_long_arguments_are_laid_out_by_their_keys() -> None:
    value = {
        "path": "src/" + "a" * 80,
        "text": "one\ntwo\n",
        "flags": [1, None],
        "command": ["sh", "a\nb"],
        "none": [],
    }
    lines = [
        "path: src/" + "a" * 80,
        "text:",
        "  one",
        "  two",
        "flags: [1,null]",
        "command:",
        "  sh",
        "  a",
        "  b",
        "none: []",
    ]
    assert laid_out(value) == "\n".join(lines)
    assert laid_out(json.dumps(value)) == "\n".join(lines)


def test_numbers_in_long_arguments_keep_their_digits() -> None:
    assert "n: 12345678901234567890123" in laid_out(
        '{"n": 12345678901234567890123, "text": "' + "x" * 99 + '"}'
    )


def test_a_short_object_with_a_line_feed_in_it_is_laid_out() -> None:
    assert laid_out('{"a":"b\\nc"}') == "a:\n  b\n  c"


# ------------------------------------------------------------------------- for people


@pytest.mark.parametrize(
    ("size", "shown"),
    [(0, "0 bytes"), (999, "999 bytes"), (1000, "1.0 kB"), (3_440_000, "3.4 MB"), (7 * 10**12, "7000.0 GB")],
)
def test_sizes(size: int, shown: str) -> None:
    assert show_size(size) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0, "0.0 s"),
        (3.44, "3.4 s"),
        (10, "10 s"),
        (59.6, "1 min 00 s"),
        (65, "1 min 05 s"),
        (3725, "1 h 02 min"),
    ],
)
def test_durations(seconds: float, shown: str) -> None:
    assert show_duration(timedelta(seconds=seconds)) == shown


def test_times() -> None:
    assert show_time(None) == "unknown"
    assert show_time(datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)) == "2026-01-02 03:04:05Z"


def test_numbers_of_things() -> None:
    assert [counted(number, "call") for number in (0, 1, 2)] == ["0 calls", "1 call", "2 calls"]
