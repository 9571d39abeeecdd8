"""A price is a list price or none at all."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from transcript_log.costs import NoPricesError, listed_prices
from transcript_log.entries import RecordedUsage
from transcript_log.errors import TranscriptError
from transcript_log.stats import Spent

USAGE = RecordedUsage(input=1_000_000, output=1_000_000, total_tokens=2_000_000)


def spent(**fields: Any) -> Spent:
    made = {"provider": "openai", "model": "gpt-4o", "usage": USAGE, **fields}
    return Spent(entry="e", session="s", time=datetime(2026, 1, 2, tzinfo=UTC), **made)


def test_a_known_model_costs_what_the_list_says() -> None:
    pytest.importorskip("genai_prices")
    price = listed_prices()
    assert price(spent()) == Decimal("12.5")
    assert price(spent(provider=None)) == Decimal("12.5")


def test_cached_input_is_a_part_of_the_input_and_paid_once() -> None:
    pytest.importorskip("genai_prices")
    cached = RecordedUsage(input=0, cache_read=1_000_000, total_tokens=1_000_000)
    assert listed_prices()(spent(usage=cached)) == Decimal("1.25")


@pytest.mark.parametrize(
    "fields",
    [
        {"model": "nobodys-model"},
        {"model": "nobodys-model", "provider": None},
        {"model": None},
        {"model": ""},
        {"provider": "nobody"},
        {"usage": None},
        {"usage": RecordedUsage()},
        {"usage": RecordedUsage(output=5, total_tokens=5, input_unknown=True)},
    ],
)
def test_what_is_not_known_has_no_price(fields: dict[str, Any]) -> None:
    pytest.importorskip("genai_prices")
    assert listed_prices()(spent(**fields)) is None


def test_without_the_extra_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    with pytest.raises(NoPricesError, match=r"pip install 'transcript-log\[cost\]'") as caught:
        listed_prices()
    assert isinstance(caught.value, TranscriptError)
