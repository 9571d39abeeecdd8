"""A model's response as it goes into the log."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from .. import items
from ..codec import encode_detail
from ..context import Context
from ..entries import Detail, Entry, Item, Json, MessageEntry, ResponseRecord
from ..errors import EntryError
from ..families import Target
from ..items.shapes import is_from_model
from ..response import (
    ChatResponse,
    FinishReason,
    ModelResponse,
    ReplayBlocks,
    ToolCall,
    Usage,
    parse_response,
)
from ..response.usage import FORMATS, GEMINI
from ..response.wire import raw_answer

__all__ = [
    "Recorded",
    "items_of",
    "record_of",
    "refuse_other_api",
    "request_detail",
    "response_of",
    "unpublished",
]


@dataclass(frozen=True, slots=True)
class Recorded:
    """A response that is in the log.

    Attributes:
        entries: Its items. Where the provider answered with none, an empty message stands for
            it, so that what it took is on record.
        response: What was read of it.
        stand_ins: The outputs that were made up for its context, and are on record since.
    """

    entries: tuple[MessageEntry, ...]
    response: ModelResponse
    stand_ins: tuple[MessageEntry, ...] = ()

    __hash__ = None  # type: ignore[assignment]  # items are dicts

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The calls to answer, in their order, without those that were cut off: none of them may run.

        Run those that are runnable (``ToolCall.is_runnable``), and answer the others with an error.
        """
        if any(entry.interrupted for entry in self.entries):
            return ()
        holders: dict[str, deque[tuple[str, str]]] = {}
        for entry in self.entries:
            for part in items.tool_calls(entry.message):
                # One without an id is known by its tool and its number.
                key = f"{part.name}-" if part.nameless else part.id or ""
                holders.setdefault(key, deque()).append((part.id or "", entry.id))
        found = []
        for call in self.response.tool_calls:
            waiting = holders.get(call.id or f"{call.name}-") or holders.get(call.id)
            call_id, entry_id = waiting.popleft() if waiting else (call.id, call.entry)
            if not call.is_cut:
                found.append(replace(call, id=call_id, entry=entry_id))
        return tuple(found)

    @property
    def text(self) -> str | None:
        """What the model said."""
        return self.response.text

    @property
    def usage(self) -> Usage | None:
        """Its tokens; None where nobody told."""
        return self.response.usage

    @property
    def finish_reason(self) -> FinishReason | None:
        """Why it stopped; None where nobody told."""
        return self.response.finish_reason


def response_of(raw: Any) -> ModelResponse:
    """The response that was given: one already, an answer as it came, or an SDK's object for it."""
    if isinstance(raw, ChatResponse) or (not hasattr(raw, "model_dump") and isinstance(raw, ModelResponse)):
        return raw
    return parse_response(raw)


def refuse_other_api(response: ModelResponse, target: Target) -> None:
    """Raise for an answer of another API than the one that was asked: its private parts would be lost.

    Raises:
        EntryError: It is.
    """
    blocks = getattr(response, "replay_blocks", None)
    asked = GEMINI if target.api == "gemini" else target.api
    made_by = blocks.format if isinstance(blocks, ReplayBlocks) else asked
    if made_by != asked and {made_by, asked} <= FORMATS:
        raise EntryError(
            "$.response",
            f"the answer is of the API {made_by!r}, and the context that it answers is for {target.api!r}:"
            " build the context for the target that is asked",
        )


def items_of(response: ModelResponse, target: Target) -> tuple[Item, ...]:
    """The items of a response, as the provider made them.

    Of one that offers none, what it says and calls, in the words of the target's API; what it
    thought is not kept, for no model could read it back. Where it says nothing, an empty message
    stands for it.

    Raises:
        EntryError: It is no answer of an API that is known here.
    """
    blocks = getattr(response, "replay_blocks", None)
    if not isinstance(blocks, ReplayBlocks):
        blocks = None if response.raw is None else parse_response(response.raw).replay_blocks
    if blocks is not None and blocks.data:
        return tuple(blocks.data)
    if blocks is None and (response.text or response.tool_calls):
        return _spoken(response, target)
    if blocks is None and response.finish_reason is None and response.usage is None:
        raise EntryError("$.response", "it is no answer of an API that is known here, and says nothing")
    return ({"role": "assistant", "content": []},)


def _spoken(response: ModelResponse, target: Target) -> tuple[Item, ...]:
    odd = next((call.kind for call in response.tool_calls if call.kind not in ("function", "custom")), None)
    if odd is not None:
        raise EntryError("$.response", f"it has no replay_blocks, and a call of the kind {odd!r} needs them")
    try:
        raw = raw_answer(
            target.api,
            id=response.id or "",
            model=target.model,
            text=response.text,
            calls=response.tool_calls,
        )
    except KeyError:
        raise EntryError(
            "$.response", f"it has no replay_blocks, and what an answer of {target.api!r} is, is not known"
        ) from None
    except ValueError as error:
        raise EntryError("$.response", f"it has no replay_blocks, and {error}") from None
    made = parse_response(raw).replay_blocks
    assert made is not None
    # The ids of items are the provider's to give.
    return tuple({key: value for key, value in item.items() if key != "id"} for item in made.data)


def record_of(response: ModelResponse, request: str | None) -> ResponseRecord:
    """What the log keeps of a response beside its items."""
    finish = response.finish_reason
    word = None if finish is None else finish.value
    return ResponseRecord(
        id=response.id,
        provider=response.provider,
        model=response.model,
        finish_reason=response.raw_finish_reason if finish is FinishReason.UNKNOWN else word,
        usage=None if response.usage is None else response.usage.recorded(),
        request=request,
    )


def request_detail(request: Json) -> Detail:
    """The sidecar record of what was sent beside the items, under the digest of its JSON.

    Raises:
        EntryError: It holds what JSON would not give back.
    """
    encode_detail(Detail(id="request", payload=request))
    text = json.dumps(request, sort_keys=True, separators=(",", ":"))
    return Detail(
        id=f"request:{sha256(text.encode()).hexdigest()}", payload={"kind": "request", "data": request}
    )


def unpublished(context: Context, entries: Sequence[Entry]) -> list[tuple[Item, str]]:
    """The stand-ins of a context that the log does not have, each with the entry of its call.

    What is added now is taken for an output of the newest answer that calls with its id, so a
    stand-in for an older one stays unsaid.
    """
    wanted = {part.id for row in context.stand_ins for part in items.tool_outputs(row.item)}
    holders: dict[str | None, set[str]] = {}
    closed: set[str | None] = set()  # ids whose newest answer lies behind us
    there: set[str | None] = set()
    for entry in reversed(entries):
        if not wanted - closed:
            break
        if not isinstance(entry, MessageEntry) or entry.interrupted:
            continue
        calls, outputs = items.calls_and_outputs(entry.message)
        if not is_from_model(entry.message):
            closed |= holders.keys()
        if entry.stand_in:
            there.update(part.id for part in outputs if part.id not in holders)
        for call in calls:
            if call.id in wanted and call.id not in closed:
                holders.setdefault(call.id, set()).add(entry.id)
    return [
        (row.item, row.entry)
        for row in context.stand_ins
        for part in items.tool_outputs(row.item)
        if row.entry is not None and part.id not in there and row.entry in holders.get(part.id, ())
    ]
