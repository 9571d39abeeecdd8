"""What is made for Mistral, before the checks that Mistral's own servers make."""

from __future__ import annotations

import os
from typing import Any, Final

import pytest
from histories import TARGETS, faulty
from hypothesis import given, settings
from test_apis_dialects import BROKEN, NEAR, entries_of
from test_apis_dialects import TARGETS as NAMED

from transcript_log.context import build_context
from transcript_log.entries import Entry
from transcript_log.errors import ContextError

exceptions = pytest.importorskip("mistral_common.exceptions")
request = pytest.importorskip("mistral_common.protocol.instruct.request")
validator = pytest.importorskip("mistral_common.protocol.instruct.validator")

SEARCH: Final = int(os.environ.get("TRANSCRIPT_LOG_SEARCH", "0"))
SERVING: Final = validator.ValidationMode.serving
OLD: Final = validator.MistralRequestValidatorV5(SERVING)
"""It checks for models that do not think."""
CHECKS: Final = (
    validator.MistralRequestValidatorV11(SERVING),
    validator.MistralRequestValidatorV13(SERVING),
    validator.MistralRequestValidatorV15(SERVING),
)
_SERVER_ONLY: Final = frozenset({"document_url", "file_id", "input_audio", "reference_ids"})
"""What parts hold that the servers read before these checks."""


def parts_of(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message.get("content")
    return content if isinstance(content, list) else []


def checked(items: list[Any]) -> None:
    """Raise what a server would say of a request with these messages."""
    messages = []
    for item in items:
        parts = [
            # Its own types have a text where the wire has parts.
            {"type": "thinking", "thinking": "".join(inner["text"] for inner in part["thinking"])}
            if part["type"] == "thinking"
            else part
            for part in parts_of(item)
            if _SERVER_ONLY.isdisjoint(part)
        ]
        message = {**item, "content": parts or "(a file)"} if parts_of(item) else dict(item)
        if message.get("tool_calls"):
            message["tool_calls"] = [
                {key: value for key, value in call.items() if key != "index"}
                for call in message["tool_calls"]
            ]
        messages.append(message)
    if messages[-1]["role"] == "assistant" and not messages[-1].get("prefix"):
        messages.append({"role": "user", "content": "go on"})  # the caller's part
    asked = request.ChatCompletionRequest.model_validate({"model": "m", "messages": messages})
    thinks = any(part["type"] == "thinking" for message in messages for part in parts_of(message))
    for check in CHECKS if thinks else (OLD, *CHECKS):
        check.validate_request(asked)


@settings(max_examples=SEARCH or 200, derandomize=not SEARCH)
@given(faulty())
def test_a_server_takes_every_context(entries: list[Entry]) -> None:
    try:
        context = build_context(entries, TARGETS["mistral"])
    except ContextError:
        return  # there is nothing to send
    checked(context.items)


@pytest.mark.parametrize("said", NEAR["mistral"])
def test_a_server_takes_what_no_rule_is_broken_by(said: list[Any]) -> None:
    checked(said)


REFUSED: Final = {
    "call-id",
    "call-twice",
    "first-user",
    "foreign-key",
    "foreign-shape",
    "name",
    "output-missing",
    "output-twice",
    "output-without-call",
    "part-type",
    "prefix",
}
"""The rules that these checks have too."""

REFUSED_ROWS: Final = [row for row in BROKEN["mistral"] if row.rule in REFUSED]


@pytest.mark.parametrize("row", REFUSED_ROWS, ids=[f"{n}-{row.rule}" for n, row in enumerate(REFUSED_ROWS)])
def test_a_server_refuses_what_breaks_a_rule_and_takes_what_is_made_of_it(row: Any) -> None:
    target = NAMED["mistral"]
    with pytest.raises((exceptions.MistralCommonException, ValueError)):
        checked(row.items)
    checked(build_context(entries_of(row.items, target), target).items)
