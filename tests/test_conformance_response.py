"""Responses against the vectors: usage, finish reasons, reasoning, text, and what follows from them.

Names that the reference spells with hyphens are spelled with underscores here, in what is given
back; a raw usage is read with either. Three quirks of the reference are not copied. Where it fails
on a number, an array or an object in the place of a text or a count (``type-error``), the answer
here is what it is for a value that is not there. What it takes unchecked (``unchecked-value``) is not
there either. And a usage that is no object (``not-a-map``) is none, not one of zeros.
"""

from __future__ import annotations

import copy
from typing import Any

import pytest
from conformance import Case, params, same_json

from transcript_log.response import (
    ChatResponse,
    FinishReason,
    extract_reasoning,
    make_response,
    normalize_finish_reason,
    normalize_usage,
    parse_rate_limit,
)


def spelled(value: Any) -> Any:
    """What the reference expects, with its names spelled as they are here."""
    if isinstance(value, dict):
        return {name.replace("-", "_"): spelled(inner) for name, inner in value.items()}
    return value


def reason(word: str | None) -> FinishReason | None:
    return None if word is None else FinishReason(word.replace("-", "_"))


@pytest.mark.parametrize("case", params("usage", quirks=False))
def test_usage_is_counted_as_the_reference_counts_it(case: Case) -> None:
    usage = case.input["usage"]
    before = copy.deepcopy(usage)
    assert same_json(normalize_usage(usage), spelled(case.expect))
    assert usage == before


@pytest.mark.parametrize("case", params("usage", quirks=True))
def test_what_is_no_count_is_not_there(case: Case) -> None:
    usage = case.input["usage"]
    found = normalize_usage(usage)
    match case.quirk:
        case "not-a-map":
            assert found is None
        case "type-error" | "unchecked-value":
            assert found is not None
            assert all(type(value) in (int, float) for value in found.values())
            real = {name: value for name, value in usage.items() if type(value) in (int, float)}
            assert found == normalize_usage(real)
        case _:  # "overflow": integers have no end here
            assert same_json(found, spelled(case.expect)) or "error" in case.expect


@pytest.mark.parametrize("case", params("finish_reason"))
def test_a_reason_is_named_as_the_reference_names_it(case: Case) -> None:
    assert normalize_finish_reason(case.input["reason"]) is reason(case.expect)


@pytest.mark.parametrize("case", params("reasoning", quirks=False))
def test_reasoning_is_found_where_the_reference_finds_it(case: Case) -> None:
    raw = case.input["raw"]
    before = copy.deepcopy(raw)
    assert extract_reasoning(raw) == case.expect
    assert raw == before


@pytest.mark.parametrize("case", params("reasoning", quirks=True))
def test_reasoning_that_is_no_text_is_none(case: Case) -> None:
    assert case.quirk in ("type-error", "unchecked-value")
    assert extract_reasoning(case.input["raw"]) is None


@pytest.mark.parametrize("case", params("has_text"))
def test_text_is_what_the_reference_calls_text(case: Case) -> None:
    expect = case.expect
    if case.quirk is not None:
        assert case.quirk == "type-error"
        expect = False
    assert make_response(text=case.input["text"]).has_text is expect


FIELDS = {"args": "arguments", "raw_response": "raw"}


def made(given: dict[str, Any]) -> ChatResponse:
    """The response that has the fields of a vector."""
    return make_response(**{FIELDS.get(name, name): value for name, value in given.items()})


@pytest.mark.parametrize("case", params("response"))
def test_what_follows_from_a_response_is_what_the_reference_says(case: Case) -> None:
    response = made(case.input)
    for name, value in case.expect.items():
        match name:
            case "finish_reason":
                assert response.finish_reason is reason(value)
            case "usage":
                assert same_json(response.counts, spelled(value))
                assert (response.usage is None) == (value is None)
            case _:
                assert same_json(getattr(response, name), value), name


@pytest.mark.parametrize("case", params("response_contract"))
def test_the_contract_holds(case: Case) -> None:
    given = case.input
    match given["fn"]:
        case "empty_completion":
            assert made(given["response"]).is_empty is case.expect
        case "pause_turn":
            assert made(given["response"]).is_paused is case.expect
        case "pause_turn_resumable":
            response = made(given["response"])
            last = {"last_iteration": given["last_iteration"]} if "last_iteration" in given else {}
            assert response.can_resume_pause(**last) is case.expect
        case "attempts":
            assert made(given["response"]).attempts == case.expect
        case "rate_limit":
            limit = parse_rate_limit(given["headers"])
            found = (
                None
                if limit is None
                else {name: value for name in limit.__slots__ if (value := getattr(limit, name)) is not None}
            )
            assert found == spelled(case.expect)
        case unknown:
            pytest.fail(f"a function that is not known: {unknown}")
