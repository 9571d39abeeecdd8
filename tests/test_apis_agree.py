"""The rules of the APIs, and a checker that others wrote: they agree where both speak."""

from __future__ import annotations

from agreement import PARTLY, SILENT, TAKEN, found_alone, taken_alone


def test_every_difference_is_in_the_table_and_has_a_reason() -> None:
    found = list(found_alone())
    assert {(api, rule) for api, rule, at_times in found if not at_times} == {
        (api, rule) for api, silent in SILENT.items() for rule in silent
    }
    assert {(api, rule) for api, rule, at_times in found if at_times} == PARTLY.keys()


def test_the_checker_refuses_nothing_else_that_an_api_takes() -> None:
    taken = list(taken_alone())
    assert len(taken) == len(TAKEN)
    for (api, what), (same, items) in zip(TAKEN, taken, strict=True):
        assert api == same
        assert repr(what) in items
