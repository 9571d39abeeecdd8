"""JSON gives back what was put in, or refuses it before it is written."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from math import inf
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from strategies import Refused, alike, json_objects, json_values, refused_values, texts

from transcript_log import _json
from transcript_log.errors import EntryError

_SPACES = st.text(st.sampled_from(" \t\r\n"), max_size=3)


def nested(depth: int, innermost: Any = None) -> Any:
    """A value that nests ``depth`` lists and objects by turns."""
    value = innermost
    for level in range(depth):
        value = [value] if level % 2 else {"k": value}
    return value


def steps(where: str) -> list[str | int]:
    """The keys and indices that a path is made of."""
    parts = re.findall(r'\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]|\.([^.\[]+)', where)
    assert where == "$" + "".join(f"[{i}]" if i else f"[{k}]" if k else f".{n}" for i, k, n in parts)
    return [int(index) if index else json.loads(key) if key else name for index, key, name in parts]


def at(value: Any, where: str) -> Any:
    """The part of ``value`` that a path names."""
    for step in steps(where):
        value = value[step]
    return value


# ----------------------------------------------------------------------------- writing


@given(json_values())
@example({"a": 1, "b": 1.0, "c": True, "d": -0.0, "e": None})
@example([2**64 - 1, -(2**63), 2**63, 10**18, 10**19, 1.8446744073709552e19])
@example({"cut \ud83d": ["\udd16\ud83e", "\ud800\ud800"]})
@example(nested(200))
@example(nested(199, "\ud800"))
def test_what_is_accepted_comes_back_equal_types_too(value: Any) -> None:
    assert alike(_json.decode(_json.encode(value)), value)


@given(json_values())
@example({"a\nb": "\n\r\u2028\u2029\x85"})
@example("\n\ud800")
def test_what_is_written_is_one_line_of_utf8(value: Any) -> None:
    line = _json.encode(value)
    assert b"\n" not in line
    line.decode("utf-8")


@given(json_values())
def test_another_reader_reads_what_is_written(value: Any) -> None:
    assert alike(json.loads(_json.encode(value)), value)


@given(json_values())
def test_the_exact_way_of_reading_gives_the_same(value: Any) -> None:
    assert alike(_json.decode_exact(_json.encode(value)), value)


@given(json_values())
def test_writing_changes_nothing_that_was_given(value: Any) -> None:
    before = json.dumps(value)
    _json.encode(value)
    assert json.dumps(value) == before


def test_what_is_written_is_compact_and_keeps_the_order_of_keys() -> None:
    assert _json.encode({"b": [1, 2.5], "a": {"é": None}}) == '{"b":[1,2.5],"a":{"é":null}}'.encode()


def test_a_lone_surrogate_is_written_as_an_escape() -> None:
    assert _json.encode(["cut \ud83d", "é"]) == b'["cut \\ud83d","\\u00e9"]'


@given(refused_values())
def test_what_is_refused_is_named_by_its_path(refused: Refused) -> None:
    with pytest.raises(EntryError) as caught:
        _json.encode(refused.value)
    assert at(refused.value, caught.value.where) is refused.culprit
    assert caught.value.kind == "json"


@pytest.mark.parametrize(
    ("value", "where", "reason"),
    [
        ({"a": [0, {"b": (1,)}]}, "$.a[1].b", "tuple"),
        ({"a b": {"é": {"1": {0}}}}, '$["a b"].é["1"]', "set"),
        ({"": [b""]}, '$[""][0]', "bytes"),
        ({'"\\': {"\n": object()}}, '$["\\"\\\\"]["\\n"]', "object"),
        ({"a": {1: 2}}, "$.a", "a key is int"),
        ({"a": [float("nan")]}, "$.a[0]", "nan"),
        ([-inf], "$[0]", "-inf"),
        (2**64, "$", "an integer"),
        ({"n": -(2**63) - 1}, "$.n", "an integer"),
        ({"a": [{"b": "x\ud83e\udd16"}]}, "$.a[0].b", "two surrogates"),
        ({"\ud83d": (1,)}, '$["\\ud83d"]', "tuple"),
    ],
)
def test_the_path_is_spelled_as_one_would_write_it(value: Any, where: str, reason: str) -> None:
    with pytest.raises(EntryError, match=reason) as caught:
        _json.encode(value)
    assert caught.value.where == where


def test_a_path_begins_where_the_caller_says() -> None:
    with pytest.raises(EntryError) as caught:
        _json.encode({"a": ()}, "$.payload")
    assert caught.value.where == "$.payload.a"


@pytest.mark.parametrize("innermost", [None, 1, "", "\ud800", 1e300])
def test_200_levels_are_written_and_201_are_not(innermost: Any) -> None:
    deepest = nested(200, innermost)
    assert alike(_json.decode(_json.encode(deepest)), deepest)
    for value in (nested(201, innermost), nested(200, []), nested(200, {}), [nested(199, []), 0]):
        with pytest.raises(EntryError, match="nest more than 200 deep") as caught:
            _json.encode(value)
        assert len(steps(caught.value.where)) == 200
        assert isinstance(at(value, caught.value.where), list | dict)


def test_a_value_that_holds_itself_is_refused() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(EntryError, match="nest more than 200 deep"):
        _json.encode({"loop": loop})


# ----------------------------------------------------------------------------- reading


@given(json_values(), st.booleans(), st.sampled_from([None, 0, 2]), _SPACES, _SPACES)
def test_what_another_writer_wrote_is_read(
    value: Any, escaped: bool, indent: int | None, before: str, after: str
) -> None:
    text = json.dumps(value, ensure_ascii=True, indent=indent)
    if not escaped:
        # Surrogates have no UTF-8: only these stay escapes.
        raw = json.dumps(value, ensure_ascii=False, indent=indent)
        text = re.sub("[\ud800-\udfff]", lambda match: f"\\u{ord(match[0]):04x}", raw)
    assert alike(_json.decode(f"{before}{text}{after}".encode()), value)


@given(st.integers() | st.integers(-(10**400), 10**400))
@example(2**64)
@example(18446744073709551617)
@example(-(2**63) - 1)
def test_an_integer_keeps_every_digit(number: int) -> None:
    for text, read in (("%d", number), ('{"a":[%d,"é"]}', {"a": [number, "é"]}), (" -0.5e1 ", -5.0)):
        assert alike(_json.decode((text % number if "%" in text else text).encode()), read)


@given(json_values() | st.integers() | st.floats(), st.booleans())
def test_a_value_that_a_log_may_refuse_is_never_thought_to_be_sound(value: Any, wrapped: bool) -> None:
    text = json.dumps({"a": [value]} if wrapped else value).replace("NaN", "1e999").encode()
    text = text.replace(b"Infinity", b"1e999")
    read, is_doubtful = _json.decode_doubting(text)
    assert alike(read, _json.decode(text))
    if not is_doubtful:
        _json.encode(read)


def test_what_nests_too_deep_for_a_log_is_doubted() -> None:
    for depth, expected in ((100, False), (200, False), (201, True), (900, True)):
        text = b"[" * depth + b"]" * depth
        assert _json.decode_doubting(text)[1] is expected


def test_only_what_will_be_stored_is_searched_for_rounded_numbers() -> None:
    text = b'{"kept":{"n":1},"rest":{"n":123456789012345678901}}'
    read, is_doubtful = _json.decode_doubting(text, lambda value: value["kept"])
    assert (read["kept"], is_doubtful) == ({"n": 1}, False)
    read, is_doubtful = _json.decode_doubting(text, lambda value: value["rest"])
    assert (read["rest"], is_doubtful) == ({"n": 123456789012345678901}, True)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b"1e400", inf),
        (b'{"a":[-1e400,1]}', {"a": [-inf, 1]}),
        (b'"\\ud800"', "\ud800"),
        (b'"\\udd16\\ud83e"', "\udd16\ud83e"),
        (b'"\\ud83e\\udd16"', "🤖"),
        (b'{"a":1,"a":2}', {"a": 2}),
        (b'{"a":"\\ud800","a":2}', {"a": 2}),
        (b"-0", 0),
        (b"-0.0", -0.0),
        (b"5.0", 5.0),
        (b"1E2", 100.0),
        (b'"\x7f\\/\\u0000"', "\x7f/\0"),
        (b"0.12345678901234567890123", 0.12345678901234568),
        (b"[12345678901234567890.0]", [12345678901234567890.0]),
    ],
)
def test_a_spelling_that_others_use_is_read(text: bytes, value: Any) -> None:
    assert alike(_json.decode(text), value)
    assert alike(_json.decode_exact(text), value)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b" ",
        b"{",
        b"[1,]",
        b"{}{}",
        b"NaN",
        b"[Infinity]",
        b'{"a":-Infinity}',
        b"01",
        b"+1",
        b"1.",
        b"0x1",
        b"'a'",
        b'"\t"',
        b'"\\x"',
        b'"\xff"',
        b'"\xed\xa0\x80"',
        b"\xef\xbb\xbf{}",
        b"{}\0",
        b"\x0b{}",
        b"\xc2\xa0{}",
        "１".encode(),
        b"[" * 2000 + b"]" * 2000,
        b"[" * 100_000,
        b'{"a":' * 100_000,
    ],
    ids=lambda text: repr(text[:12]),
)
def test_what_is_no_json_is_a_value_error(text: bytes) -> None:
    for read in (_json.decode, _json.decode_exact):
        with pytest.raises(ValueError, match=r"."):
            read(text)


@given(st.binary() | st.text(st.sampled_from('{}[]",:0123456789.eE+-tfn\\u d8"é')).map(str.encode))
def test_reading_raises_nothing_but_a_value_error(text: bytes) -> None:
    for read in (_json.decode, _json.decode_exact):
        with suppress(ValueError):
            read(text)


@pytest.mark.parametrize("innermost", [None, "\ud800", 10**30])
def test_200_levels_are_read_in_every_way(innermost: Any) -> None:
    text = json.dumps(nested(200, innermost)).encode()
    assert alike(_json.decode(text), nested(200, innermost))
    assert alike(_json.decode_exact(text), nested(200, innermost))


def test_201_levels_are_not_read_in_the_exact_way() -> None:
    text = json.dumps(nested(201)).encode()
    with pytest.raises(ValueError, match="nest more than 200 deep"):
        _json.decode_exact(text)
    assert _json.decode_all(text) == []


def test_brackets_inside_text_do_not_nest() -> None:
    value = {"a": "[" * 500 + '"\\' + "{" * 500, "b": ["\ud800"], "c": ["]}" * 300]}
    assert alike(_json.decode_exact(json.dumps(value).encode()), value)


# ------------------------------------------------------------------- 19 digits in a row


@given(st.binary(max_size=40), st.text("0123456789", min_size=19, max_size=60), st.binary(max_size=40))
def test_no_run_of_19_digits_is_overlooked(before: bytes, digits: str, after: bytes) -> None:
    assert _json.has_long_digits(before + digits.encode() + after)


def test_no_run_of_19_digits_is_overlooked_wherever_it_begins() -> None:
    for length in (19, 20, 27):
        for begin in range(40):
            for end in range(12):
                assert _json.has_long_digits(b"x" * begin + b"9" * length + b"x" * end)


@given(st.text('abc{":', min_size=9), st.text("0123456789", max_size=9))
def test_a_short_run_of_digits_among_letters_is_not_suspected(letters: str, digits: str) -> None:
    assert not _json.has_long_digits((letters + digits + letters).encode())


# ------------------------------------------------------------------------- several values

_GLUE = st.text(st.sampled_from(" \t\r\n\0"), max_size=3)


@given(
    st.lists(st.tuples(json_objects() | st.lists(json_values(4), max_size=2), _GLUE)), _GLUE, st.booleans()
)
@example([({"é": "日本語 🤖"}, ""), ({"b": "\ud800"}, "\0\0"), ([], "")], "\0", False)
def test_values_that_stand_glued_are_all_recovered(
    glued: list[tuple[Any, str]], before: str, escaped: bool
) -> None:
    text = before.encode()
    wanted = []
    for value, after in glued:
        body = json.dumps(value).encode() if escaped else _json.encode(value)
        wanted.append((len(text), len(text) + len(body), value))
        text += body + after.encode()
    found = _json.decode_all(text)
    assert [(begin, end) for begin, end, _ in found] == [(begin, end) for begin, end, _ in wanted]
    assert alike([value for *_, value in found], [value for *_, value in wanted])
    assert all(alike(_json.decode(text[begin:end]), value) for begin, end, value in found)


@given(json_objects(), texts(1))
def test_nothing_is_recovered_from_a_text_that_is_only_half_read(value: Any, garbage: str) -> None:
    whole = _json.encode(value)
    assert _json.decode_all(whole + b"{") == []
    assert _json.decode_all(b"}" + whole) == []
    assert _json.decode_all(whole[:-1]) == []
    assert _json.decode_all(whole + b"\xff") == []
    assert _json.decode_all(b"x" + whole) == []


def test_white_space_and_nuls_alone_are_no_values() -> None:
    assert _json.decode_all(b"") == []
    assert _json.decode_all(b" \0\0\r\n") == []


@given(st.binary() | st.text(st.sampled_from('{}[]",:01 \0é')).map(str.encode))
def test_recovering_values_never_raises(text: bytes) -> None:
    for begin, end, value in _json.decode_all(text):
        assert alike(_json.decode(text[begin:end]), value)
