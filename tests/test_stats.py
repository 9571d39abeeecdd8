"""Each response counts once, and what is summed is what the providers told."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from transcript_log.entries import (
    Compaction,
    CompactionEntry,
    Entry,
    MessageEntry,
    RecordedUsage,
    ResponseRecord,
    Run,
    RunEntry,
)
from transcript_log.response import Usage
from transcript_log.stats import (
    GROUPINGS,
    NOTHING,
    Group,
    Spent,
    Tokens,
    context_size,
    find_spent,
    group_spent,
)

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)


def usage(input: int = 10, output: int = 5, **more: Any) -> RecordedUsage:
    total = input + output + more.get("cache_read", 0) + more.get("cache_write", 0)
    return RecordedUsage(input=input, output=output, **{"total_tokens": total, **more})


def answer(
    entry_id: str, response: str | None = None, *, time: datetime | None = NOON, **record: Any
) -> Entry:
    record.setdefault("usage", usage())
    return MessageEntry(
        id=entry_id,
        timestamp=time,
        message={"role": "assistant", "content": "hello"},
        response=ResponseRecord(id=response, **record),
    )


def question(entry_id: str) -> Entry:
    return MessageEntry(id=entry_id, timestamp=NOON, message={"role": "user", "content": "hi"})


def compaction(entry_id: str, **fields: Any) -> Entry:
    return CompactionEntry(id=entry_id, timestamp=NOON, compaction=Compaction(summary="gist", **fields))


def run(entry_id: str, first: str | None) -> Entry:
    return RunEntry(
        id=entry_id,
        timestamp=NOON,
        run=Run(started_at=NOON, completed_at=NOON, first_entry_id=first, status="completed"),
    )


def total(*sessions: list[Entry]) -> Tokens:
    spent = find_spent((f"s{n}", entries) for n, entries in enumerate(sessions))
    (group,) = group_spent(spent)
    return group.tokens


# ------------------------------------------------------------------------------- tokens


token_counts = st.builds(Tokens, **{name: st.integers(0, 10**9) for name in Tokens.__dataclass_fields__})


@given(token_counts, token_counts, token_counts)
def test_sums_add_up_in_any_order_and_nothing_adds_nothing(a: Tokens, b: Tokens, c: Tokens) -> None:
    assert a + b == b + a
    assert (a + b) + c == a + (b + c)
    assert a + NOTHING == a
    assert (a + b).all_input == a.all_input + b.all_input


@given(*[st.integers(0, 10**6)] * 4)
def test_the_total_is_the_sum_of_the_buckets(input: int, read: int, write: int, output: int) -> None:
    told = Usage(
        input=input,
        cache_read=read,
        cache_write=write,
        output=output,
        total=input + read + write + output,
    ).recorded()
    tokens = Tokens.of(told)
    assert tokens.total == tokens.all_input + tokens.output == told.total_tokens
    assert tokens == Tokens.of(replace(told, total_tokens=0))
    assert tokens.untold == (tokens.total == 0)


def test_what_nobody_told_counts_as_a_response_without_tokens() -> None:
    for unknown in (None, RecordedUsage()):
        assert Tokens.of(unknown) == Tokens(responses=1, untold=1)
    assert Tokens.of(RecordedUsage(output=3, total_tokens=9, input_unknown=True)) == Tokens(
        responses=1, untold=1, output=3, total=9
    )


# -------------------------------------------------------------------------------- once


def test_a_response_whose_pieces_repeat_its_usage_counts_once() -> None:
    entries = [answer("a", "r1"), answer("b", "r1"), answer("c", "r2")]
    assert total(entries) == Tokens(responses=2, input=20, output=10, total=30)


def test_of_usages_of_one_response_the_one_with_the_largest_output_counts() -> None:
    grown = usage(10, 90)
    for order in ([usage(10, 1), grown, None], [usage(99, 1), grown], [grown, usage(10, 1)], [None, grown]):
        entries = [answer(f"e{n}", "r1", usage=told) for n, told in enumerate(order)]
        (spent,) = find_spent([("s", entries)])
        assert spent.usage == grown
        assert spent.entry == "e0"


def test_responses_without_an_id_count_once_each() -> None:
    for nameless in (None, ""):
        assert total([answer("a", nameless), answer("b", nameless)]).responses == 2


def test_what_a_fork_copied_counts_once_in_the_file_that_is_given_first() -> None:
    parent = [question("q"), answer("a", "r1"), answer("b")]
    fork = [*parent, answer("c")]
    assert total(parent, fork).responses == 3
    assert total(fork, parent) == total(parent, fork)
    spent = find_spent([("parent", parent), ("fork", fork)])
    assert [(one.entry, one.session) for one in spent] == [("a", "parent"), ("b", "parent"), ("c", "fork")]


def test_a_copy_under_another_entry_id_counts_once_by_its_response_id() -> None:
    assert total([answer("a", "r1")], [answer("z", "r1")]).responses == 1


def test_a_log_given_twice_counts_once() -> None:
    entries = [answer("a"), compaction("k", usage=usage(3, 4)), answer("b", "r")]
    assert total(entries, entries) == total(entries)


def test_a_message_that_no_response_is_known_of_takes_nothing() -> None:
    assert total([question("q"), run("r", "q")]) == NOTHING


def test_a_compaction_counts_if_a_request_is_known_to_have_made_it() -> None:
    entries = [
        compaction("k1"),
        compaction("k2", usage=usage(30, 4), model="m", response_model="m-1", response_id="r9"),
        compaction("k3", response_id="r10"),
    ]
    first, second = find_spent([("s", entries)])
    assert (first.entry, first.model, first.compaction, first.tokens.total) == ("k2", "m-1", True, 34)
    assert (second.entry, second.usage, second.tokens.untold) == ("k3", None, 1)


# ------------------------------------------------------------------------------- groups


def test_groups_are_by_model_with_compactions_apart() -> None:
    entries = [
        answer("a", model="m1"),
        answer("b", model="m2"),
        compaction("k", usage=usage(1, 1), model="m1"),
        answer("c", model="m1"),
        answer("d"),
    ]
    groups = group_spent(find_spent([("s", entries)]), "model")
    assert [(group.key, group.compaction, group.tokens.responses) for group in groups] == [
        ("m1", False, 2),
        ("m2", False, 1),
        ("m1", True, 1),
        (None, False, 1),
    ]


def test_days_are_days_in_utc() -> None:
    late = datetime(2026, 1, 3, 1, tzinfo=UTC).astimezone(timezone(timedelta(hours=-5)))
    entries = [answer("a"), answer("b", time=late), answer("c", time=None)]
    assert [group.key for group in group_spent(find_spent([("s", entries)]), "day")] == [
        "2026-01-02",
        "2026-01-03",
        None,
    ]


def test_a_response_belongs_to_the_innermost_run_around_it() -> None:
    entries = [
        answer("before"),
        question("q1"),
        answer("a"),
        question("q2"),
        answer("b"),
        run("inner", "q2"),
        answer("c"),
        run("outer", "q1"),
        run("empty", None),
        answer("after"),
        run("of another log", "elsewhere"),
    ]
    told = {one.entry: one.run for one in find_spent([("s", entries)])}
    assert told == {"before": None, "a": "outer", "b": "inner", "c": "outer", "after": None}


def test_a_run_may_begin_with_a_response() -> None:
    (spent,) = find_spent([("s", [answer("a"), run("r", "a")])])
    assert spent.run == "r"


def test_sessions_are_named_by_the_caller() -> None:
    spent = find_spent([("one", [answer("a")]), ("two", [answer("b"), answer("c")])])
    assert [(group.key, group.tokens.responses) for group in group_spent(spent, "session")] == [
        ("one", 1),
        ("two", 2),
    ]


spents = st.lists(
    st.builds(
        Spent,
        entry=st.just("e"),
        session=st.sampled_from("xy"),
        time=st.sampled_from([None, NOON, NOON + timedelta(days=1)]),
        model=st.sampled_from([None, "m", "n"]),
        run=st.sampled_from([None, "r"]),
        compaction=st.booleans(),
        usage=st.one_of(st.none(), st.builds(usage, st.integers(0, 99), st.integers(0, 99))),
    )
)


@given(spents, st.sampled_from(GROUPINGS))
def test_every_grouping_adds_up_to_the_whole(spent: list[Spent], by: Any) -> None:
    def price(one: Spent) -> Decimal | None:
        return Decimal(one.tokens.total) if one.model == "m" else None

    (whole,) = group_spent(spent, price=price)
    groups = group_spent(spent, by, price=price)
    assert sum((group.tokens for group in groups), NOTHING) == whole.tokens
    assert sum(group.cost or 0 for group in groups) == (whole.cost or 0)
    assert sum(group.unpriced for group in groups) == whole.unpriced
    assert len({(group.key, group.compaction) for group in groups}) == len(groups)


def test_a_group_of_unknown_prices_has_no_cost() -> None:
    spent = find_spent([("s", [answer("a")])])
    assert group_spent(spent, price=lambda _: None)[0].cost is None
    assert group_spent(spent)[0].unpriced == 0
    assert group_spent([]) == [Group(key=None)]


# ------------------------------------------------------------------------------ context


def test_the_context_is_as_large_as_the_last_response_says_and_no_sum() -> None:
    entries = [
        answer("a", usage=usage(10, 1)),
        answer("b", usage=usage(20, 2, cache_read=7, cache_write=3)),
        question("q"),
    ]
    assert context_size(entries) == 30
    assert context_size([]) is None


def test_an_answer_that_told_nothing_does_not_hide_the_one_before() -> None:
    unknown = RecordedUsage(output=3, total_tokens=3, input_unknown=True)
    assert context_size([answer("a"), answer("b", usage=None), answer("c", usage=unknown)]) == 10


def test_of_the_last_response_the_largest_output_counts() -> None:
    entries = [answer("a", "r0", usage=usage(99, 9)), answer("b", "r", usage=usage(10, 50))]
    assert context_size([*entries, answer("c", "r", usage=usage(11, 2))]) == 10


def test_after_a_compaction_the_context_is_what_that_says_until_a_model_answers() -> None:
    assert context_size([answer("a"), compaction("k", tokens_after=7)]) == 7
    assert context_size([answer("a"), compaction("k")]) is None
    assert context_size([answer("a"), compaction("k", tokens_after=7), answer("b")]) == 10
