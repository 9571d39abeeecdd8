"""Gemini's ``generateContent``: ``gemini``.

Neighbours of one role are put together only where the API wants it: a content with calls, and
what the model said right before and after them; and the outputs of the calls of one content.

Models since Gemini 3 want a signature on the first call of each content since the user last
spoke, and take bytes in an output. A model whose name does not tell is taken to be one of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from .._pairing import Order
from .._pieces import Joint, Piece
from ..entries import Item
from ..findings import Finding
from ..items.gemini import NO_SIGNATURE, content_calls, is_content
from ._base import IdRule, Notes, word
from ._gemini_check import check_contents, turn_start
from ._gemini_mending import mended
from ._gemini_quick import CALLS, OUTPUTS, TEXT, quick_parts
from ._gemini_rendering import rendered
from ._gemini_rules import RULES
from .anthropic import OPENING

__all__ = ["GEMINI", "Gemini", "gemini_of"]

_IDS: Final = IdRule(re.compile(r"[^\ud800-\udfff]+"), 1000, unique=False)
_OLDER: Final = re.compile(r"gemini-([12](\D|$)|pro$|pro-vision|ultra)|gemma|learnlm")


class Gemini:
    """The rules and the words of ``generateContent``.

    Attributes:
        is_newer: It speaks to Gemini 3 or a later model.
    """

    name: Final = "gemini"
    items_key: Final = "contents"
    order: Final[Order] = "anthropic"
    rules: Final = RULES

    def __init__(self, *, is_newer: bool) -> None:
        self.is_newer: Final = is_newer

    def of_model(self, model: str) -> Gemini:
        """The API as a model takes it."""
        return gemini_of(model)

    def check(self, items: Sequence[Item], *, paused: bool = False) -> Iterator[Finding]:  # noqa: ARG002
        """See :meth:`Api.check`."""
        return check_contents(items, is_newer=self.is_newer)

    def render(self, pieces: Sequence[Piece], notes: Notes, *, paused: bool = False) -> list[Piece]:  # noqa: ARG002
        """See :meth:`Api.render`."""
        return _Rendering(notes, is_newer=self.is_newer).all(pieces)


def gemini_of(model: str) -> Gemini:
    """The API as a model takes it."""
    return _OLDER_GEMINI if _OLDER.match(model.lower().rpartition("/")[2]) else GEMINI


# ------------------------------------------------------------------------------ rendering

SAID: Final = 3
"""What a model says without calls, as the last piece; of the user it is ``TEXT``."""


def _kind(parts: Sequence[dict[str, Any]]) -> int:
    """What a content of these parts holds."""
    if "functionResponse" in parts[0]:
        return OUTPUTS
    return CALLS if any("functionCall" in part for part in parts) else TEXT


class _Rendering:
    """One walk over the pieces of a conversation, in which they become contents."""

    def __init__(self, notes: Notes, *, is_newer: bool) -> None:
        self._notes = notes
        self._is_newer = is_newer
        self._out: list[Piece] = []
        self._joint: Joint | None = None  # what the last piece of ``_out`` is a part of
        self._last = TEXT  # what the last piece is
        self._run = 0  # how many of the last pieces are the model's
        self._beside: list[Piece] = []  # what goes after the outputs that are being put together
        self._ids: set[str] = set()
        self._numbers: dict[str, int] = {}
        self._dealt: dict[str, list[tuple[str, str, int]]] = {}
        self._nameless: dict[
            str, list[tuple[str, str, int]]
        ] = {}  # calls without ids, by the names they go by
        self._given: Item = {}  # the item that is being said, as it is stored
        self._ranks: list[int] = []  # of each last output the place of its call, if that has no id

    def all(self, pieces: Sequence[Piece]) -> list[Piece]:
        """The contents of a conversation."""
        for piece in pieces:
            quick = quick_parts(piece.item)
            if quick is not None:
                role, parts, kind = quick
                self._add(piece.now({"role": role, "parts": parts}, "rendered"), kind, is_made=True)
                continue
            is_made = not is_content(piece.item)
            if not is_made:
                self._given = piece.item
                made, shown = mended(piece, self._notes, is_newer=self._is_newer)
            else:
                made, shown = rendered(piece, self._notes, is_newer=self._is_newer)
            for new in made:
                self._add(new, _kind(new.item["parts"]), is_made=is_made)
                if shown and self._last == OUTPUTS:
                    self._beside.append(piece.now({"role": "user", "parts": shown}, "rendered"))
                    shown = []
        self._flush()
        out = self._out
        if self._is_newer:
            _sign_turn(out, self._notes)
        if out and out[0].item["role"] != "user":
            self._notes.add("added", "first-user", "a first content of the user was put before it", out[0])
            out.insert(0, Piece({"role": "user", "parts": [{"text": OPENING}]}, why="opening"))
        return out

    # -------------------------------------------------------------------------- placing

    def _add(self, piece: Piece, kind: int, *, is_made: bool) -> None:
        """Put a content after what is there, or into it.

        Args:
            piece: The content.
            kind: What it holds.
            is_made: Its parts were made here, and may be changed.
        """
        last = self._last
        if kind == OUTPUTS:
            if last != OUTPUTS:
                self._close()
            piece = self._answering(piece, is_made=is_made)
            if last == OUTPUTS:
                self._join(piece, "output-missing", "the outputs of the calls of a content go together")
                return
            self._out.append(piece)
            self._last = OUTPUTS
            return
        if self._beside:
            self._flush()
            last = TEXT
        is_model = piece.item["role"] == "model"
        is_next = is_model and last in (CALLS, SAID)
        if kind == CALLS:
            piece = self._calling(piece, is_made=is_made, is_first=last != CALLS)
        if is_next and CALLS in (kind, last):
            self._join_run(piece)
            self._last = CALLS
            return
        if self._joint is not None or self._ranks:
            self._close()
        self._out.append(piece)
        self._run = self._run + 1 if is_next else 1
        self._last = kind if kind or not is_model else SAID

    def _flush(self) -> None:
        """Put what stands beside outputs after them."""
        self._close()
        self._out += self._beside
        self._beside = []

    def _close(self) -> None:
        """Nothing more goes into the last piece."""
        if self._joint is not None:
            self._out[-1] = self._joint.piece("parts", self._out[-1].item)
            self._joint = None
        if self._ranks:
            if max(self._ranks) > 0:
                self._in_order()
            self._ranks = []

    def _in_order(self) -> None:
        """Bring outputs of one tool without ids into the order of their calls: all that tells them apart."""
        piece = self._out[-1]
        given = piece.item["parts"]
        tools: dict[str, list[int]] = {}
        for place, rank in enumerate(self._ranks):
            if rank >= 0:
                tools.setdefault(given[place]["functionResponse"]["name"], []).append(place)
        parts = list(given)
        for places in tools.values():
            for place, source in zip(places, sorted(places, key=self._ranks.__getitem__), strict=True):
                parts[place] = given[source]
        if all(a is b for a, b in zip(parts, given, strict=True)):
            return
        why = "outputs of calls without ids go in the order of the calls"
        self._notes.add("moved", "output-id", why, piece)
        self._out[-1] = piece.now({**piece.item, "parts": parts}, "mended")

    def _join(self, piece: Piece, rule: str, why: str) -> None:
        """Put a content into the last one."""
        last = self._out[-1]
        if self._joint is None:
            self._joint = Joint(last, last.item["parts"])
        if piece.why not in _UNTOLD or last.why not in _UNTOLD:
            self._notes.add("merged", rule, why, piece)
        self._joint.add(piece, piece.item["parts"])

    def _join_run(self, piece: Piece) -> None:
        """Put a content into what the model said right before it, as one."""
        run = self._out[-self._run :]
        why = "what the model said in a row goes as one content"
        if len(run) > 1:
            del self._out[-self._run + 1 :]
            for other in run[1:]:
                self._join(other, "call-order", why)
            self._run = 1
        self._join(piece, "call-order", why)

    # ------------------------------------------------------------------------------ ids

    def _calling(self, piece: Piece, *, is_made: bool, is_first: bool) -> Piece:
        """A content with ids that no other call of it has, and signed where that is due.

        Args:
            piece: The content.
            is_made: Its parts were made here.
            is_first: It goes into no content that has calls already.
        """
        if is_first:
            self._ids, self._numbers, self._dealt, self._nameless = set(), {}, {}, {}
        counts: dict[str, int] = {}
        known: Iterator[str] | None = None
        new: list[Any] | None = None
        is_due = is_first and self._is_newer and (is_made or piece.why != "kept")
        parts = piece.item["parts"]
        for place, part in enumerate(parts):
            call = part.get("functionCall")
            if call is None:
                continue
            given, name = word(call.get("id")), call["name"]
            if given or is_made:
                call_id = self._fresh(given, place, piece)
                self._dealt.setdefault(given, []).append((call_id, name, -1))
            else:
                if known is None:  # by their ids elsewhere, which are made of the names as they are stored
                    known = iter([call.id or "" for call in content_calls(self._given) if call.nameless])
                counts[name] = counts.get(name, 0) + 1
                call_id = ""
                queue = self._nameless.setdefault(f"{name}-{counts[name]}", [])
                queue.append(("", name, place))
                self._dealt.setdefault(next(known, ""), queue)
            signs = is_due and not part.get("thoughtSignature")
            is_due = False
            if call_id == given and not signs:
                continue
            if is_made:
                call["id"] = call_id
            else:
                new = new or list(parts)
                new[place] = part = {**part, "functionCall": {**call, "id": call_id}}  # noqa: PLW2901
                if not call_id:
                    new[place]["functionCall"].pop("id")
            if signs:
                part["thoughtSignature"] = NO_SIGNATURE
                if not is_made:
                    _tell_signature(piece, given or name, self._notes)
        return piece if new is None else piece.now({**piece.item, "parts": new}, "mended")

    def _fresh(self, call_id: str, place: int, piece: Piece) -> str:
        """The id of a call: the same, or one that no other call of the content has."""
        if call_id not in self._ids and 0 < len(call_id) <= _IDS.length and call_id.isascii():
            self._ids.add(call_id)
            return call_id
        new = call_id
        number = self._numbers.get(call_id, 0)
        while new in self._ids or not _IDS.fits(new):
            new = _IDS.other(call_id, f"{number}" if call_id else f"{piece.entry} {place} {number}")
            number += 1
        self._numbers[call_id] = number
        self._ids.add(new)
        if new != call_id:
            why = f"the call id goes as {new!r}"
            self._notes.add("rewritten", "call-id", why, piece, call=call_id)
        return new

    def _answering(self, piece: Piece, *, is_made: bool) -> Piece:
        """A content of outputs with the ids and the names of their calls."""
        counts: dict[str, int] = {}
        new: list[Any] | None = None
        parts = piece.item["parts"]
        for place, part in enumerate(parts):
            answer = part["functionResponse"]
            given, name = word(answer.get("id")), word(answer.get("name"))
            key = given
            queue = self._dealt.get(key)
            if not given and not is_made:
                counts[name] = counts.get(name, 0) + 1
                key = f"{name}-{counts[name]}"
                queue = self._nameless.get(key) or self._dealt.get(key)
            call_id, called, rank = queue.pop(0) if queue else (given, name, -1)
            self._ranks.append(rank)
            if given == call_id and name == called:
                continue
            if is_made:
                answer["id"], answer["name"] = call_id, called
                if not call_id:
                    del answer["id"]
                continue
            new = new or list(parts)
            rest = {key: value for key, value in answer.items() if key not in ("id", "name")}
            named = {"id": call_id, "name": called} if call_id else {"name": called}
            new[place] = {**part, "functionResponse": {**named, **rest}}
            if bool(given) != bool(call_id):
                why = "the output has the id of its call" if call_id else "the output goes without its id"
                self._notes.add("rewritten", "output-id", why, piece, call=key)
            elif name != called:
                self._notes.add("rewritten", "output-name", f"the output is of {called!r}", piece, call=key)
        return piece if new is None else piece.now({**piece.item, "parts": new}, "mended")


_UNTOLD: Final = frozenset({"rendered", "stand-in"})
"""Why pieces are there whose joining goes without saying."""


def _sign_turn(contents: list[Piece], notes: Notes) -> None:
    """Sign the first calls of the contents since the user last spoke, where they are not."""
    for place in range(turn_start([piece.item for piece in contents]) + 1, len(contents)):
        piece = contents[place]
        parts = piece.item["parts"]
        first = next((n for n, part in enumerate(parts) if "functionCall" in part), None)
        if first is None or parts[first].get("thoughtSignature"):
            continue
        signed = [*parts]
        signed[first] = {**parts[first], "thoughtSignature": NO_SIGNATURE}
        call = parts[first]["functionCall"]
        _tell_signature(piece, word(call.get("id")) or call["name"], notes)
        contents[place] = piece.now({**piece.item, "parts": signed}, "mended")


def _tell_signature(piece: Piece, call: str, notes: Notes) -> None:
    why = "the call is not signed: it goes with the mark of one that another model made"
    notes.add("rewritten", "signature", why, piece, call=call)


GEMINI: Final = Gemini(is_newer=True)
"""``generateContent`` of Gemini 3 and of what came after it."""

_OLDER_GEMINI: Final = Gemini(is_newer=False)
