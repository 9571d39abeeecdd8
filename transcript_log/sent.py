"""What a model was sent, once it has answered.

A session records a request without its items: those are in the log. Here the two are put
together again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from . import items
from .apis import api_for
from .context import Context, context_then
from .entries import Entry, Json, MessageEntry
from .errors import EntryNotFoundError, RequestNotFoundError
from .families import Target, target_of
from .items.shapes import is_from_model
from .store import DetailKey

__all__ = ["SentRequest", "request_at"]

_INSTRUCTING: Final = frozenset({"developer", "system"})


@dataclass(frozen=True, slots=True, eq=False)
class SentRequest:
    """A request, and the response that it got.

    Attributes:
        entry: The first entry of the response.
        recorded: What was recorded of the request: all but the items.
        context: The items, and how they came about; its target is who was asked.
    """

    entry: str
    recorded: Json
    context: Context

    @property
    def has_own_items(self) -> bool:
        """Whether the record has items too, against what it is for; those were sent, then."""
        own = self.recorded.get(self._key) if type(self.recorded) is dict else None
        return own is not None and not _instructs(own)

    @property
    def body(self) -> dict[str, Json]:
        """The whole request: what was recorded, with the items where the API wants them.

        System and developer messages that were recorded there stand before the items; other
        items that were recorded there stand alone. What was recorded as anything but an
        object stands under ``request``.
        """
        recorded = self.recorded if type(self.recorded) is dict else {"request": self.recorded}
        if self.has_own_items:
            return dict(recorded)
        return {**recorded, self._key: [*(recorded.get(self._key) or ()), *self.context.items]}

    @property
    def _key(self) -> str:
        assert self.context.target is not None
        return api_for(self.context.target).items_key


def _instructs(own: Json) -> bool:
    return type(own) is list and all(type(one) is dict and items.role(one) in _INSTRUCTING for one in own)


def request_at(
    entries: Sequence[Entry],
    entry_id: str,
    details: Mapping[DetailKey, Json],
    *,
    target: Target | None = None,
    attachments: bool = False,
) -> SentRequest:
    """The request that was answered by the response that an entry belongs to.

    Its items are the context as it was before the response: with the stand-ins that were put
    on record with it, for those were sent, and without the response. The log does not say
    when a request was made, so what somebody added while the model answered, and which thus
    stands before the response, is taken to have been sent. For an answer that was cut off no
    stand-in was put on record: those of its context are worded by what is known now.

    Args:
        entries: The whole log.
        entry_id: Any entry of the response.
        details: The sidecar's payloads.
        target: Who was asked; by default as the family of the response, the request and the
            record of the response tell.
        attachments: Whether context entries were placed. That is not on record.

    Raises:
        EntryNotFoundError: There is no such entry.
        RequestNotFoundError: It belongs to no response; or no request is on record for that; or
            nothing tells who was asked.
        TranscriptError: As :func:`transcript_log.context_at`.
    """
    place = next((n for n, entry in enumerate(entries) if entry.id == entry_id), None)
    if place is None:
        raise EntryNotFoundError(entry_id, "the entries given")
    first = _first_of_response(entries, place)
    if first is None:
        raise RequestNotFoundError(
            entry_id, f"it belongs to no response that is on record{_next(entries, place)}"
        )
    entry = entries[first]
    assert isinstance(entry, MessageEntry)
    recorded = _recorded(entry, details)
    asked = target or _told_target(entry, recorded)
    if asked is None:
        raise RequestNotFoundError(entry.id, "nothing tells which model was asked; name it as the target")
    then = context_then(entries, first, asked, details=details, attachments=attachments)
    return SentRequest(entry.id, recorded, then)


def _first_of_response(entries: Sequence[Entry], place: int) -> int | None:
    """Where the response begins that the entry at a place belongs to; None if it belongs to none."""
    for first in range(place, -1, -1):
        entry = entries[first]
        if not isinstance(entry, MessageEntry) or entry.stand_in or not is_from_model(entry.message):
            return None
        if entry.response is not None:
            return first
    return None


def _next(entries: Sequence[Entry], place: int) -> str:
    for entry in entries[place + 1 :]:
        if isinstance(entry, MessageEntry) and entry.response is not None:
            return f"; the next one begins at entry {entry.id}"
    return ""


def _recorded(entry: MessageEntry, details: Mapping[DetailKey, Json]) -> Json:
    digest = None if entry.response is None else entry.response.request
    if digest is None:
        raise RequestNotFoundError(entry.id, "no request is on record for this response")
    payload = details.get((f"request:{digest}", None))
    if type(payload) is not dict or payload.get("kind") != "request" or "data" not in payload:
        raise RequestNotFoundError(entry.id, "the sidecar does not hold the request of this response")
    return payload["data"]


def _told_target(entry: MessageEntry, recorded: Json) -> Target | None:
    model = recorded.get("model") if type(recorded) is dict else None
    if type(model) is not str and entry.response is not None:
        model = entry.response.model
    return None if entry.family is None else target_of(entry.family, model)
