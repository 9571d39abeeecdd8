"""Times are read as RFC 3339 and as nothing else, and written in UTC."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo

import pytest
from conformance import microseconds
from hypothesis import example, given
from hypothesis import strategies as st
from strategies import times

from transcript_log._times import format_time, parse_foreign_time, parse_time, parse_time_leniently

_OFFSETS = st.integers(-23 * 60 - 59, 23 * 60 + 59).map(lambda minutes: timezone(timedelta(minutes=minutes)))
_WRITTEN = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{0,5}[1-9])?Z")


def read(text: str) -> datetime | str | None:
    """What a text is read as, or ``"refused"``."""
    try:
        return parse_time(text)
    except ValueError:
        return "refused"


@given(times())
@example(datetime(9999, 12, 31, 23, 59, 59, 999999, UTC))
@example(datetime(1, 1, 1, 0, 0, 0, 1, UTC))
def test_a_time_comes_back_as_it_was(time: datetime) -> None:
    text = format_time(time)
    assert _WRITTEN.fullmatch(text)
    again = parse_time(text)
    assert again is not None
    assert again == time
    assert again.tzinfo is UTC


@given(st.datetimes(timezones=_OFFSETS))
@example(datetime.max.replace(tzinfo=timezone(-timedelta(hours=5))))
@example(datetime.min.replace(tzinfo=timezone(timedelta(hours=5, minutes=45))))
def test_a_time_of_any_zone_comes_back_as_the_same_instant(time: datetime) -> None:
    again = parse_time(format_time(time))
    if microseconds(time) == microseconds(datetime(1, 1, 1, tzinfo=UTC)):
        assert again is None
    else:
        assert again is not None
        assert microseconds(again) == microseconds(time)


@given(st.datetimes(), _OFFSETS)
def test_an_offset_is_taken_away(local: datetime, zone: tzinfo) -> None:
    time = local.replace(tzinfo=zone)
    text = time.isoformat()
    again = read(text)
    if again is not None:
        assert isinstance(again, datetime)
        assert microseconds(again) == microseconds(time)


@given(
    times().map(format_time),
    st.integers(0, 30),
    st.sampled_from(list("0129:-.,TtZzW+ ٣²\n")),
    st.text("0123456789", max_size=9),
)
@example("2026-01-02T03:04:05.5Z", 30, "Z", "")
@example("2026-01-02T23:04:05.5Z", 12, "4", "0")
@example("2026-01-02T03:04:05.5Z", 19, ",", "0")
@example("2026-01-02T03:04:05.5Z", 5, "W", "0")
@example("2026-01-02T03:04:05.5Z", 10, " ", "0")
def test_the_short_cut_reads_what_the_whole_way_reads(text: str, at: int, char: str, digits: str) -> None:
    for spoilt in (text[:at] + char + text[at + 1 :], text[:at] + char + text[at:], text):
        if spoilt.endswith("Z"):
            with_fraction = spoilt[:-1] + ("" if "." in spoilt else ".0") + digits
            assert read(with_fraction + "Z") == read(with_fraction + "+00:00")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Z",
        "now",
        "2026-01-02",
        "2026-01-02T03:04Z",
        "2026-01-02T03:04:05",
        "2026-01-02T03:04:05.5",
        "2026-01-02 03:04:05Z",
        "2026-01-02t03:04:05Z",
        "2026-01-02T03:04:05z",
        "2026-01-02T03:04:05.Z",
        "2026-01-02T03:04:05,5Z",
        "2026-01-02T3:04:05Z",
        "2026-01-02T24:00:00Z",
        "2026-01-02T24:00:00.0Z",
        "2026-01-02T23:59:60Z",
        "2026-01-02T23:59:60.5Z",
        "2026-02-29T00:00:00Z",
        "2026-02-29T00:00:00.5Z",
        "0000-01-01T00:00:00Z",
        "0000-01-01T00:00:00.5Z",
        "2026-W01-5T03:04:05.5Z",
        "2026-01-02T03:04:05+02",
        "2026-01-02T03:04:05+0200",
        "2026-01-02T03:04:05+24:00",
        "2026-01-02T03:04:05+02:60",
        "2026-01-02T03:04:05+02:00:00",
        "2026-01-02T03:04:05−02:00",
        " 2026-01-02T03:04:05Z",
        "2026-01-02T03:04:05Z\n",
        "2026-01-02T03:04:05.5Z\n",
        "٢٠٢٦-01-02T03:04:05Z",
        "2026-01-02T03:04:05.٥Z",
        "2026-01-02T03:04:05.678901٣Z",
        "2026-01-02T03:04:05.678901²Z",
        "+2026-01-02T03:04:05Z",
        "12026-01-02T03:04:05Z",
        "x" * 1000,
    ],
)
def test_what_is_no_rfc_3339_time_is_refused_in_a_short_sentence(text: str) -> None:
    with pytest.raises(ValueError, match=r"time|instant|offset") as caught:
        parse_time(text)
    assert len(str(caught.value)) < 150


@given(times(), st.text("0123456789", max_size=12))
def test_digits_beyond_microseconds_are_read_past_and_never_rounded(time: datetime, digits: str) -> None:
    text = time.strftime("%m-%dT%H:%M:%S.%f")
    for zone in ("Z", "+00:00", "-00:00"):
        assert parse_time(f"{time.year:04}-{text}{digits}{zone}") == time


@pytest.mark.parametrize(
    "text",
    [
        "0001-01-01T00:00:00Z",
        "0001-01-01T00:00:00.000Z",
        "0001-01-01T00:00:00.0000001Z",
        "0001-01-01T01:00:00+01:00",
        "0001-01-01T23:59:00.0+23:59",
    ],
)
def test_the_first_instant_of_year_1_is_unknown_in_every_offset(text: str) -> None:
    assert parse_time(text) is None


def test_an_instant_outside_the_calendar_of_utc_keeps_its_offset() -> None:
    for text in ("0001-01-01T00:00:00+05:00", "9999-12-31T23:59:59-05:30"):
        time = parse_time(text)
        assert time is not None
        assert time.utcoffset() != timedelta()
        assert format_time(time) == text


def test_a_time_of_another_zone_is_written_in_utc() -> None:
    india = timezone(timedelta(hours=5, minutes=30))
    assert format_time(datetime(2026, 1, 2, 3, 4, 5, 120000, india)) == "2026-01-01T21:34:05.12Z"


def test_trailing_zeros_are_not_written() -> None:
    for micro, fraction in ((0, ""), (1, ".000001"), (100, ".0001"), (500000, ".5"), (678900, ".6789")):
        assert format_time(datetime(2026, 1, 2, 3, 4, 5, micro, UTC)) == f"2026-01-02T03:04:05{fraction}Z"
    assert format_time(datetime(800, 1, 2, tzinfo=UTC)) == "0800-01-02T00:00:00Z"
    assert format_time(datetime(2026, 10, 20, 10, 20, 30, tzinfo=UTC)) == "2026-10-20T10:20:30Z"


def test_a_naive_time_is_not_written() -> None:
    with pytest.raises(ValueError, match="naive"):
        format_time(datetime(2026, 1, 2))


# ----------------------------------------------------------------------------- leniently


@given(times())
def test_a_sound_time_is_read_leniently_without_a_doubt(time: datetime) -> None:
    assert parse_time_leniently(format_time(time)) == (time, None)


@given(st.datetimes(datetime(1, 1, 2)))
def test_a_time_without_an_offset_is_taken_as_utc_with_a_doubt(local: datetime) -> None:
    for separator in "T ":
        time, doubt = parse_time_leniently(local.isoformat(separator))
        assert time == local.replace(tzinfo=UTC)
        assert doubt is not None
        assert "no offset" in doubt


@given(st.integers(-(10**13), 10**14))
def test_an_integer_is_taken_as_milliseconds_since_1970(number: int) -> None:
    time, doubt = parse_time_leniently(number)
    assert time is not None
    assert microseconds(time) == number * 1000
    assert doubt is not None
    assert "milliseconds" in doubt


@given(st.none() | st.booleans() | st.floats() | st.text() | st.lists(st.integers()) | st.integers())
@example("0001-01-01T00:00:00Z")
@example("2026-02-30 00:00:00")
@example(10**30)
@example(-(10**30))
@example(True)
def test_a_time_that_cannot_be_read_is_unknown_and_said_to_be(value: object) -> None:
    time, doubt = parse_time_leniently(value)
    if time is None:
        assert doubt is not None
        assert "unknown" in doubt
    else:
        assert time.tzinfo is UTC or time.utcoffset() is not None


@pytest.mark.parametrize(
    "told",
    [
        "2026-01-01T00:00:01.5Z",
        "2026-01-01T00:00:01.5z",
        "2026-01-01 00:00:01.5",
        "2026-01-01 00:00:01.5Z",
        " 2026-01-01t01:00:01.5+0100\n",
        "2026-01-01 01:00:01.5 +01:00",
        "2025-12-31T23:30:01.5-0030",
        1767225601500,
        1767225601500.0,
        1767225601.5,
        "1767225601500",
        "1767225601.5",
    ],
)
def test_other_programs_tell_one_time_in_many_ways(told: object) -> None:
    assert parse_foreign_time(told) == datetime(2026, 1, 1, 0, 0, 1, 500_000, UTC)


def test_numbers_are_seconds_where_milliseconds_would_be_long_ago() -> None:
    assert parse_foreign_time(1767225601) == datetime(2026, 1, 1, 0, 0, 1, tzinfo=UTC)
    assert parse_foreign_time(99_999_999_999) == datetime(5138, 11, 16, 9, 46, 39, tzinfo=UTC)
    assert parse_foreign_time(1) == parse_foreign_time(1.0) == datetime(1970, 1, 1, 0, 0, 0, 1000, UTC)
    assert parse_foreign_time(100_000_000_000) == datetime(1973, 3, 3, 9, 46, 40, tzinfo=UTC)


@pytest.mark.parametrize(
    "told", [None, True, "", "soon", "12345678", "2026-01-01T00:00:01+1", [], {}, 1e400, -1e300, 1 << 70]
)
def test_what_is_no_time_of_another_program_is_none(told: object) -> None:
    assert parse_foreign_time(told) is None


@given(st.text() | st.integers() | st.floats() | times().map(format_time))
def test_what_is_a_time_here_is_the_same_one_of_another_program(told: object) -> None:
    known = parse_time_leniently(told)[0]
    read = parse_foreign_time(told)
    assert read == known or known is None or (type(told) is int and 10**8 <= told < 10**11)
