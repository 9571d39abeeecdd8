"""What commands and exports say in the same words."""

from __future__ import annotations

from typing import Any

import pytest

from transcript_log._wording import compaction_words
from transcript_log.events import Compacted


def compacted(**fields: Any) -> Compacted:
    made = {
        "tokens_before": 0,
        "tokens_after": 0,
        "first_kept": None,
        "replacement_items": 0,
        "opaque": False,
    }
    return Compacted(entry="k", time=None, turn=1, summary="", **{**made, **fields})


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, ""),
        ({"tokens_before": 900, "tokens_after": 100}, "900 to 100 tokens"),
        ({"tokens_before": 900}, "900 tokens before"),
        ({"tokens_after": 100}, "100 tokens after"),
        ({"replacement_items": 1}, "1 item in place of what was before"),
        (
            {"tokens_after": 9, "replacement_items": 2, "opaque": True, "first_kept": "e"},
            "9 tokens after; 2 items in place of what was before, only its producer can read it whole;"
            " kept from entry e on",
        ),
    ],
)
def test_of_a_compaction_what_is_known_is_told(fields: dict[str, Any], words: str) -> None:
    assert compaction_words(compacted(**fields)) == words
