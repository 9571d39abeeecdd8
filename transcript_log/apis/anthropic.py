"""Anthropic Messages: ``anthropic-messages``.

Neighbours of one role are one turn to this API, so they are never put together for its sake.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from .. import items
from .._pairing import Order
from .._pieces import Joint, Piece
from ..entries import Item
from ..findings import Finding
from ..items.shapes import blocks_of, holds_outputs_alone, shape_of
from ._base import IdRule, NameRule, Notes, Rule, Terms, all_fit, fresh_ids, has_surrogate, rule_of, word
from ._neutral import Block, Call, File, Image, Neutral, Output, Text, Thought, arguments_object, read
from ._telling import in_own_shape, is_elsewhere, named, tell_arguments, tell_nothing_left, tell_unsaid
from .chat import NO_OUTPUT

__all__ = ["ANTHROPIC_MESSAGES", "OPENING", "AnthropicMessages"]

OPENING: Final = "(What was said before this point is not part of the conversation.)"
"""Stands first where a conversation would begin with the assistant."""

_API: Final = "https://github.com/anthropics/anthropic-sdk-python/tree/main/src/anthropic/types"
_ERRORS: Final = "https://platform.claude.com/docs/en/api/errors"


_rule: Final = rule_of(_API)


_RULES: Final[Mapping[str, Rule]] = dict(
    [
        _rule(
            "empty-input",
            "There is at least one message.",
            "https://github.com/decolua/9router/pull/419",
            "2026-03-24",
        ),
        _rule(
            "first-user",
            "The first message is the user's.",
            "https://github.com/lobehub/lobehub/issues/1601",
            "2024-03-16",
        ),
        _rule(
            "role",
            "A message is the user's or the assistant's; only some models take a system message among them.",
            "https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages",
        ),
        _rule(
            "content",
            "A message has content.",
            "https://github.com/anthropics/claude-code/issues/3196",
            "2025-07-09",
        ),
        _rule(
            "blank-text",
            "A text holds more than white space.",
            "https://github.com/anthropics/claude-code/issues/23352",
            "2026-02-05",
        ),
        _rule(
            "trailing-space",
            "The text that ends a final message of the assistant does not end in white space.",
            "https://github.com/tailcallhq/forgecode/issues/1872",
            "2025-11-08",
        ),
        _rule(
            "thinking-last",
            "A final message of the assistant does not end in thinking.",
            "https://github.com/tailcallhq/forgecode/issues/2107",
            "2025-12-11",
        ),
        _rule(
            "signature",
            "Thinking has a signature, and redacted thinking its data.",
            "https://github.com/openclaw/openclaw/issues/84430",
        ),
        _rule(
            "output-missing",
            "Each tool_use has its tool_result in the next message.",
            "https://github.com/anthropics/claude-code/issues/8210",
            "2025-09-26",
        ),
        _rule(
            "output-without-call",
            "Each tool_result answers a tool_use of the message before it.",
            "https://github.com/anthropics/claude-code/issues/13460",
            "2025-12-09",
        ),
        _rule(
            "output-twice",
            "A tool_use has one tool_result.",
            "https://github.com/QwenLM/qwen-code/pull/8163",
            "2026-07-30",
        ),
        _rule(
            "output-order",
            "The tool_results lead the message that they are in.",
            "https://github.com/QwenLM/qwen-code/issues/8161",
            "2026-07-30",
        ),
        _rule(
            "output-content",
            "A tool_result that flags an error holds text, and nothing but text.",
            "https://github.com/can1357/oh-my-pi/issues/12809",
            "2026-09-22",
        ),
        _rule(
            "call-id",
            "A call id is of 1 to 64 letters, digits, _ and -.",
            "https://github.com/maximhq/bifrost/issues/5097",
            "2026-07-10",
        ),
        _rule(
            "call-twice",
            "No two calls of a request have one id.",
            "https://github.com/trycua/cua/issues/524",
            "2025-10-01",
        ),
        _rule(
            "name",
            "A tool's name is of 1 to 128 letters, digits, _ and -.",
            "https://platform.claude.com/docs/en/agents-and-tools/tool-use/define-tools",
        ),
        _rule(
            "arguments",
            "The input of a tool_use is an object.",
            "https://github.com/anthropics/claude-code/issues/6696",
            "2025-08-28",
        ),
        _rule(
            "hosted-pair",
            "A call of a server's tool and its result stand in one turn; a paused turn may end in the call.",
            "https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons",
        ),
        _rule(
            "foreign-key",
            "Messages and blocks bear no keys but their own.",
            "https://github.com/anthropics/anthropic-sdk-python/tree/main/src/anthropic/types",
        ),
        _rule("part-type", "A block is of a type that its role may have."),
        _rule(
            "surrogate",
            "Text can be sent as UTF-8.",
            "https://github.com/anthropics/claude-code/issues/56064",
        ),
        (
            "ends-with-assistant",
            Rule(
                "ends-with-assistant",
                "The last message is the user's: models since Claude 4.6 continue no text of the assistant.",
                "note",
                _ERRORS,
                "2026-10-01",
            ),
        ),
    ]
)

_TERMS: Final = Terms(
    name="anthropic-messages",
    wire="anthropic-messages",
    rules=_RULES,
    ids=IdRule(re.compile(r"[A-Za-z0-9_-]+"), 64, unique=True),
    names=NameRule(re.compile(r"[A-Za-z0-9_-]+"), 128),
    optional=frozenset(
        {"blank-text", "call-id", "first-user", "foreign-key", "name", "thinking-last", "trailing-space"}
    ),
)
_MESSAGE_KEYS: Final = frozenset({"role", "content"})
_KEYS: Final[Mapping[str, frozenset[str]]] = {
    "text": frozenset({"type", "text", "cache_control", "citations"}),
    "thinking": frozenset({"type", "thinking", "signature"}),
    "redacted_thinking": frozenset({"type", "data"}),
    "tool_use": frozenset({"type", "id", "name", "input", "cache_control", "caller", "toolset_name"}),
    "tool_result": frozenset({"type", "tool_use_id", "content", "is_error", "cache_control", "toolset_name"}),
    "image": frozenset({"type", "source", "cache_control", "transformations"}),
    "document": frozenset({"type", "source", "title", "context", "citations", "cache_control"}),
}
"""The keys of the commonest blocks; others may bear what they bear."""

_FOREIGN_BLOCKS: Final = frozenset(
    {
        "file",
        "image_url",
        "input_audio",
        "input_file",
        "input_image",
        "input_text",
        "output_text",
        "reasoning_text",
        "refusal",
        "summary_text",
        "toolCall",
    }
)
_ELSEWHERE: Final = frozenset(
    {"file", "image_url", "input_audio", "input_file", "input_image", "input_text", "output_text", "toolCall"}
)
"""What a message begins with that is surely of another shape."""

_NOT_USER: Final = frozenset({"tool_use", "thinking", "redacted_thinking", "server_tool_use", "mcp_tool_use"})
_NOT_ASSISTANT: Final = frozenset({"tool_result", "image", "document"})


class AnthropicMessages:
    """The rules and the words of the Messages API."""

    items_key: Final = "messages"
    order: Final[Order] = "anthropic"

    def __init__(self, terms: Terms = _TERMS) -> None:
        self.terms: Final = terms

    @property
    def name(self) -> str:
        """See :attr:`Api.name`."""
        return self.terms.name

    @property
    def rules(self) -> Mapping[str, Rule]:
        """See :attr:`Api.rules`."""
        return self.terms.rules

    def under(self, terms: Terms) -> AnthropicMessages:
        """See :meth:`Amendable.under`."""
        return AnthropicMessages(terms)

    # ------------------------------------------------------------------------- checking

    def check(self, items: Sequence[Item], *, paused: bool = False) -> Iterator[Finding]:
        """See :meth:`Api.check`."""
        return self.terms.heard(self._found(items, paused=paused), items)

    def _found(self, items: Sequence[Item], *, paused: bool) -> Iterator[Finding]:
        if not items:
            yield _RULES["empty-input"].at(None, "there is nothing to send")
            return
        turns = _Turns(self.terms)
        for place, message in enumerate(items):
            speaker = message.get("role")
            if speaker not in ("user", "assistant"):
                yield _RULES["role"].at(place, f"the role is {speaker!r}")
                continue
            if turns.turn_of(place, speaker):
                yield from turns.begin(place, speaker)
            if message.keys() != _MESSAGE_KEYS:
                extra = ", ".join(sorted(message.keys() - _MESSAGE_KEYS))
                if extra:
                    yield _RULES["foreign-key"].at(place, f"the message bears {extra}")
            content = message.get("content")
            if type(content) is str:
                if not content or content.isspace():
                    yield _RULES["blank-text"].at(place, "the text is blank")
                turns.other()
            elif type(content) is list and content:
                for block in content:
                    if type(block) is not dict or type(block.get("type")) is not str:
                        yield _RULES["part-type"].at(place, "a block has no type")
                        continue
                    if not turns.takes(block, block["type"]):
                        yield from turns.block(place, block, block["type"])
            else:
                yield _RULES["content"].at(place, "the message is empty")
            if has_surrogate(message):
                yield _RULES["surrogate"].at(place, "some text holds half a character")
        yield from turns.end(paused=paused)
        yield from _check_last(len(items) - 1, items[-1], paused=paused)

    # ------------------------------------------------------------------------ rendering

    def render(self, pieces: Sequence[Piece], notes: Notes, *, paused: bool = False) -> list[Piece]:
        """See :meth:`Api.render`."""
        notes.terms = self.terms
        return self.terms.finished(self._rendered(pieces, notes, paused=paused), notes)

    def _rendered(self, pieces: Sequence[Piece], notes: Notes, *, paused: bool) -> list[Piece]:
        out: list[Piece] = []
        joint: Joint | None = None  # what the last piece of ``out`` is a part of
        was_made = False  # whether that piece was put into these words here
        for piece in pieces:
            item = piece.item
            is_own = _is_right(item, self.terms.names)
            if is_own:
                made = [piece]
            elif type(item.get("content")) is not list or not is_elsewhere(item, _ELSEWHERE):
                piece = in_own_shape(piece, "anthropic", _is_own_block, _block_of, notes)  # noqa: PLW2901
                is_own = _is_own(piece.item)
                if is_own:
                    mended = _mended(piece, notes)
                    made = [] if mended is None else [mended]
            if not is_own:
                made = _rendered(piece, notes)
            for new in made:
                # A stand-in does as it will once it is published: then it is rendered as well.
                is_made = new.why == "rendered" or (new.why == "stand-in" and not is_own)
                last = out[-1] if out and is_made and was_made else None
                was_made = is_made
                if last is not None and _may_join(last.item, new.item):
                    joint = joint or Joint(last, blocks_of(last.item))
                    joint.add(new, blocks_of(new.item))
                    out[-1] = new
                    continue
                if joint is not None:
                    out[-1] = joint.piece("content", out[-1].item)
                    joint = None
                out.append(new)
        if joint is not None:
            out[-1] = joint.piece("content", out[-1].item)
        out = _with_call_ids(out, notes, self.terms.ids)
        if not paused:
            _end(out, notes)
        if out and out[0].item.get("role") != "user" and notes.asks("first-user"):
            opening = Piece({"role": "user", "content": OPENING}, why="opening")
            notes.add("added", "first-user", "a first message of the user was put before it", out[0])
            out.insert(0, opening)
        return out


class _Turns:
    """The turns of a conversation, as one role after the other comes by."""

    def __init__(self, terms: Terms) -> None:
        self._ids: Final = terms.ids
        self._names: Final = terms.names
        self._speaker = ""
        self._place = 0
        self._all: set[str] = set()
        self._asked: dict[str, bool] = {}
        self._hosted: dict[str, bool] = {}
        self._others = False

    def turn_of(self, place: int, speaker: str) -> bool:
        """A message begins; whether a turn begins with it. Neighbours of one role are one turn."""
        if speaker == self._speaker:
            self._place = place
            return False
        return True

    def begin(self, place: int, speaker: str) -> Iterator[Finding]:
        """A turn begins, and the one before it is over."""
        if not self._speaker and speaker != "user":
            yield _RULES["first-user"].at(place, "the first message is the assistant's")
        if speaker == "assistant":
            yield from self._missing()
            self._asked = {}
        else:
            yield from self._unpaired(paused=False)
        self._others = False
        self._speaker = speaker
        self._place = place

    def other(self) -> None:
        """Something that is no output was said."""
        self._others = True

    def takes(self, block: Mapping[str, Any], kind: str) -> bool:
        """Take one block in, if it is of a common kind and plainly right; nothing is done if not.

        This says nothing that :meth:`block` does not say too. It only says it sooner.
        """
        if kind == "text":
            said = block.get("text")
            if type(said) is not str or not said or said.isspace() or not block.keys() <= _KEYS["text"]:
                return False
            self._others = True
            return True
        if kind == "tool_use":
            call_id, name = block.get("id"), block.get("name")
            if (
                self._speaker == "user"
                or type(call_id) is not str
                or call_id in self._all
                or not self._ids.fits(call_id)
                or not self._names.fits(name)
                or type(block.get("input")) is not dict
                or not block.keys() <= _KEYS["tool_use"]
            ):
                return False
            self._all.add(call_id)
            self._asked[call_id] = False
            return True
        if kind == "tool_result" and self._speaker == "user" and not self._others:
            call_id = block.get("tool_use_id")
            if (
                type(call_id) is not str
                or self._asked.get(call_id) is not False
                or not block.keys() <= _KEYS["tool_result"]
                or not _is_plain_result(block)
            ):
                return False
            self._asked[call_id] = True
            return True
        return False

    def block(self, place: int, block: Mapping[str, Any], kind: str) -> Iterator[Finding]:
        """One block of the message."""
        speaker = self._speaker
        if kind == "text":
            said = block.get("text")
            if type(said) is not str:
                yield _RULES["part-type"].at(place, "a text block has no text")
            elif not said or said.isspace():
                yield _RULES["blank-text"].at(place, "a text block is blank")
            self._others = True
        elif kind == "tool_result":
            yield from self._result(place, block)
        elif kind == "tool_use":
            yield from self._use(place, block)
        else:
            self._others = True
            if kind in ("thinking", "redacted_thinking"):
                sign = block.get("signature" if kind == "thinking" else "data")
                if type(sign) is not str or not sign:
                    yield _RULES["signature"].at(place, f"a {kind} block is not signed")
            elif kind in ("server_tool_use", "mcp_tool_use"):
                call_id = str(block.get("id"))
                if self._hosted.get(call_id) is False:
                    why = "a call before it has the same id, and no result yet"
                    yield _RULES["hosted-pair"].at(place, why, call_id)
                self._hosted[call_id] = False
            elif kind.endswith("_tool_result"):
                call_id = str(block.get("tool_use_id"))
                if self._hosted.get(call_id) is not False:
                    yield _RULES["hosted-pair"].at(place, f"the {kind} answers no call of its turn", call_id)
                else:
                    self._hosted[call_id] = True
            elif not _is_block(block, kind):
                yield _RULES["part-type"].at(place, f"there is no block like this of type {kind!r}")
        if kind in (_NOT_USER if speaker == "user" else _NOT_ASSISTANT):
            yield _RULES["part-type"].at(place, f"a message of the {speaker} has no {kind}")
        keys = _KEYS.get(kind)
        if keys is not None and not block.keys() <= keys:
            extra = ", ".join(sorted(block.keys() - keys))
            yield _RULES["foreign-key"].at(place, f"a {kind} block bears {extra}")

    def _use(self, place: int, block: Mapping[str, Any]) -> Iterator[Finding]:
        call_id = block.get("id")
        if type(call_id) is not str or not self._ids.fits(call_id):
            yield _RULES["call-id"].at(place, f"{call_id!r} is no call id", str(call_id))
            call_id = str(call_id)
        if call_id in self._all:
            yield _RULES["call-twice"].at(place, "a call before it has the same id", call_id)
        self._all.add(call_id)
        self._asked[call_id] = False
        name = block.get("name")
        if not self._names.fits(name):
            yield _RULES["name"].at(place, f"{name!r} is no name of a tool", call_id)
        if type(block.get("input")) is not dict:
            yield _RULES["arguments"].at(place, "the input is no object", call_id)

    def _result(self, place: int, block: Mapping[str, Any]) -> Iterator[Finding]:
        call_id = str(block.get("tool_use_id"))
        answered = self._asked.get(call_id) if self._speaker == "user" else None
        if answered is None:
            yield _RULES["output-without-call"].at(place, "no call of the turn before has this id", call_id)
        elif answered:
            yield _RULES["output-twice"].at(place, "the call has an output already", call_id)
        else:
            self._asked[call_id] = True
        if self._others:
            yield _RULES["output-order"].at(place, "something else stands before the output", call_id)
        yield from _check_result(place, block, call_id)

    def _missing(self) -> Iterator[Finding]:
        for call_id, is_answered in self._asked.items():
            if not is_answered:
                yield _RULES["output-missing"].at(
                    self._place, "the call has no output in the next turn", call_id
                )

    def _unpaired(self, *, paused: bool) -> Iterator[Finding]:
        for call_id, is_answered in self._hosted.items():
            if not is_answered and not paused:
                why = "the call of a server's tool has no result in its turn"
                yield _RULES["hosted-pair"].at(self._place, why, call_id)
        self._hosted = {}

    def end(self, *, paused: bool) -> Iterator[Finding]:
        """There are no more messages."""
        yield from self._missing()
        yield from self._unpaired(paused=paused and self._speaker == "assistant")


def _is_plain_result(block: Mapping[str, Any]) -> bool:
    """Whether an output is text that is not blank, and nothing else."""
    content = block.get("content")
    if type(content) is str:
        return bool(content) and not content.isspace()
    if type(content) is not list or not content:
        return False
    for inner in content:
        if type(inner) is not dict or inner.get("type") != "text" or "thinkingSignature" in inner:
            return False
        said = inner.get("text")
        if type(said) is not str or not said or said.isspace():
            return False
    return True


def _check_result(place: int, block: Mapping[str, Any], call_id: str) -> Iterator[Finding]:
    content = block.get("content")
    blocks = content if type(content) is list else []
    texts = [inner.get("text") for inner in blocks if type(inner) is dict and inner.get("type") == "text"]
    if type(content) is str and content:
        texts.append(content)
    if any(type(said) is not str or not said or said.isspace() for said in texts):
        yield _RULES["blank-text"].at(place, "a text in the output is blank", call_id)
    if any(type(inner) is not dict or not _is_block(inner, str(inner.get("type"))) for inner in blocks):
        yield _RULES["part-type"].at(place, "the output holds a block of another API", call_id)
    if content is not None and type(content) is not str and type(content) is not list:
        yield _RULES["part-type"].at(place, "the output is neither text nor blocks", call_id)
    if block.get("is_error") is True and not (texts and len(texts) == len(blocks or texts)):
        yield _RULES["output-content"].at(place, "an output that flags an error is not text alone", call_id)


def _check_last(place: int, message: Item, *, paused: bool) -> Iterator[Finding]:
    if message.get("role") != "assistant" or paused:
        return
    content = message.get("content")
    last = content[-1] if type(content) is list and content else content
    said = last.get("text") if type(last) is dict and last.get("type") == "text" else last
    if type(last) is dict and last.get("type") in ("thinking", "redacted_thinking"):
        yield _RULES["thinking-last"].at(place, "the last message ends in thinking")
    elif type(said) is str and said != said.rstrip():
        yield _RULES["trailing-space"].at(place, "the last message ends in white space")
    yield _RULES["ends-with-assistant"].at(
        place, "the last message is the assistant's, which newer models refuse"
    )


def _is_block(block: Mapping[str, Any], kind: str) -> bool:
    """Whether a block may be one of this API."""
    if kind in _FOREIGN_BLOCKS or "thinkingSignature" in block:
        return False
    if kind in ("image", "document"):
        return type(block.get("source")) is dict
    return kind != "text" or type(block.get("text")) is str


# ------------------------------------------------------------------------ one's own items


def _is_own(item: Item) -> bool:
    """Whether an item is a message of this API, so that it is mended where it stands."""
    speaker = item.get("role")
    if speaker not in ("user", "assistant") or item.get("type", "message") != "message":
        return False
    if "tool_calls" in item or "parts" in item or type(item.get("refusal")) is str:
        return False
    content = item.get("content")
    if type(content) is not list:
        return content is None or type(content) is str
    return all(_is_own_block(block, speaker) for block in content)


def _is_right(item: Item, names: NameRule) -> bool:
    """Whether a message is plainly one of this API, with nothing to mend but its call ids."""
    if item.keys() != _MESSAGE_KEYS:
        return False
    speaker, content = item["role"], item["content"]
    if type(content) is str:
        return bool(content) and not content.isspace() and speaker in ("user", "assistant")
    if type(content) is not list or not content:
        return False
    for block in content:
        kind = block.get("type") if type(block) is dict else None
        if kind == "text":
            said = block.get("text")
            if type(said) is not str or not said or said.isspace() or not block.keys() <= _KEYS["text"]:
                return False
        elif kind == "tool_use":
            if speaker != "assistant" or type(block.get("input")) is not dict:
                return False
            if not (block.keys() <= _KEYS["tool_use"] and names.fits(block.get("name"))):
                return False
        elif (
            kind != "tool_result"
            or speaker != "user"
            or not block.keys() <= _KEYS["tool_result"]
            or not _is_plain_result(block)
        ):
            return False
    return speaker in ("user", "assistant")


def _is_own_block(block: Any, speaker: str) -> bool:
    """Whether a block may stand in a message of this API."""
    kind = block.get("type") if type(block) is dict else None
    wrong = _NOT_USER if speaker == "user" else _NOT_ASSISTANT
    if type(kind) is not str or kind in wrong or not _is_block(block, kind):
        return False
    if speaker == "user" and kind.endswith("_tool_result"):  # results of the provider's own tools
        return False
    inner = block.get("content") if kind == "tool_result" else None
    return type(inner) is not list or all(
        type(part) is dict and type(part.get("type")) is str and _is_block(part, part["type"])
        for part in inner
    )


def _block_of(block: Block, speaker: str) -> dict[str, Any] | None:
    return _said(block, is_text_only=speaker == "assistant")


def _mended(piece: Piece, notes: Notes) -> Piece | None:
    """A message of this API under its rules; None if nothing is left of it."""
    item = piece.item
    content = item.get("content")
    new = content
    if type(content) is str:
        if not content.strip() and (not content or notes.asks("blank-text")):
            new = None
    elif type(content) is list:
        blocks = [made for block in content if (made := _mended_block(block, piece, notes)) is not None]
        if not all(a is b for a, b in zip(blocks, content, strict=False)) or len(blocks) != len(content):
            new = blocks
    if not new:
        notes.add("left-out", "content", "nothing is left of the message", piece, item=item)
        return None
    extra = [key for key in item if key not in _MESSAGE_KEYS]
    is_foreign = shape_of(item) == "pi"
    if extra and not is_foreign:
        if notes.asks("foreign-key"):
            notes.add("rewritten", "foreign-key", f"the message goes without {', '.join(extra)}", piece)
        else:
            extra = []
    if extra:
        message: Item = {"role": item["role"], "content": new}
    else:
        message = item if new is content else {**item, "content": new}
    if message is item:
        return piece
    return piece.now(message, "rendered" if is_foreign else "mended")


def _mended_block(block: Any, piece: Piece, notes: Notes) -> Any:
    """A block under the rules; the same one if it is under them, None if it has to go."""
    kind = block["type"]
    new = block
    if kind == "text":
        if not block["text"].strip() and notes.asks("blank-text"):
            notes.add("left-out", "blank-text", "a text was blank", piece, item=block)
            return None
    elif kind in ("thinking", "redacted_thinking"):
        sign = block.get("signature" if kind == "thinking" else "data")
        if type(sign) is not str or not sign:
            notes.add("left-out", "signature", f"a {kind} block was not signed", piece, item=block)
            return None
    elif kind == "tool_use":
        new = _mended_use(block, piece, notes)
    elif kind == "tool_result":
        new = _mended_result(block, piece, notes)
    keys = _KEYS.get(kind)
    if keys is not None and not new.keys() <= keys and notes.asks("foreign-key"):
        extra = ", ".join(key for key in new if key not in keys)
        notes.add("rewritten", "foreign-key", f"a {kind} block goes without {extra}", piece)
        new = {key: value for key, value in new.items() if key in keys}
    return new


def _mended_use(block: Mapping[str, Any], piece: Piece, notes: Notes) -> Mapping[str, Any]:
    call_id = block.get("id")
    name = block.get("name")
    safe = notes.names.safe(word(name))
    if safe != name and notes.asks("name"):
        notes.add("rewritten", "name", f"the tool {name!r} goes as {safe!r}", piece, call=call_id)
        block = {**block, "name": safe}
    if type(block.get("input")) is not dict:
        value, _ = arguments_object(Call(str(call_id), safe, block.get("input")))
        notes.add(
            "rewritten", "arguments", "the arguments go as an object", piece, call=call_id, item=piece.item
        )
        block = {**block, "input": value}
    return block


def _mended_result(block: Mapping[str, Any], piece: Piece, notes: Notes) -> Mapping[str, Any]:
    call_id = block.get("tool_use_id")
    content = block.get("content")
    new = content
    rule, why = "blank-text", "blank text was taken out of the output"
    if type(content) is str:
        if content and not content.strip() and notes.asks("blank-text"):
            new = None
    elif type(content) is list:
        kept = (
            content
            if not notes.asks("blank-text")
            else [
                inner
                for inner in content
                if not (inner["type"] == "text" and not str(inner.get("text") or "").strip())
            ]
        )
        new = content if len(kept) == len(content) else kept or None
    elif content is not None:
        new = items.output_text(content)
        rule, why = "output-content", "an output that is neither text nor blocks goes as text"
    if new is not content:
        notes.add("rewritten", rule, why, piece, call=call_id, item=block)
        block = {key: value for key, value in block.items() if key != "content"}
        if new is not None:
            block["content"] = new
    if block.get("is_error") is True:
        if not new:
            block = {**block, "content": NO_OUTPUT}
            notes.add("rewritten", "output-content", "the error gave no text", piece, call=call_id)
        elif type(new) is list and any(inner["type"] != "text" for inner in new):
            block = {key: value for key, value in block.items() if key != "is_error"}
            notes.add(
                "rewritten",
                "output-content",
                "an error that holds pictures goes without its flag",
                piece,
                call=call_id,
            )
    return block


def _with_call_ids(pieces: list[Piece], notes: Notes, ids: IdRule) -> list[Piece]:
    """With call ids that this API takes, the same on call and output."""
    lists = [content for piece in pieces if type(content := piece.item["content"]) is list]
    groups = ([block.get("id") for block in content if block["type"] == "tool_use"] for content in lists)
    if all_fit(ids, groups):
        return pieces
    found = []
    places = []
    for place, piece in enumerate(pieces):
        content = piece.item["content"]
        if type(content) is not list:
            continue
        asked: list[str] = []
        answered: list[str] = []
        for block in content:
            kind = block["type"]
            if kind == "tool_use":
                asked.append(word(block.get("id")))
            elif kind == "tool_result":
                answered.append(word(block.get("tool_use_id")))
        if asked or answered:
            found.append((piece, asked, answered))
            places.append(place)
    renamed = fresh_ids(ids, found, notes)
    for place, (piece, asked, answered), (new_calls, new_outputs) in zip(places, found, renamed, strict=True):
        if new_calls is asked and new_outputs is answered:
            continue
        uses, results = iter(new_calls), iter(new_outputs)
        content = []
        for block in piece.item["content"]:
            if block["type"] == "tool_use":
                content.append({**block, "id": next(uses)})
            elif block["type"] == "tool_result":
                content.append({**block, "tool_use_id": next(results)})
            else:
                content.append(block)
        pieces[place] = piece.now({**piece.item, "content": content}, "mended")
    return pieces


def _end(pieces: list[Piece], notes: Notes) -> None:
    """Bring a final message of the assistant under the rules for what comes last."""
    while pieces and pieces[-1].item.get("role") == "assistant":
        piece = pieces[-1]
        content = piece.item["content"]
        if type(content) is str:
            if content != content.rstrip() and notes.asks("trailing-space"):
                _tell_trailing(piece, notes)
                pieces[-1] = piece.now({**piece.item, "content": content.rstrip()}, "mended")
            return
        last = content[-1]
        if last["type"] in ("thinking", "redacted_thinking") and notes.asks("thinking-last"):
            notes.add("left-out", "thinking-last", "the last message ended in thinking", piece, item=last)
            kept = content[:-1]
        elif (
            last["type"] == "text" and last["text"] != last["text"].rstrip() and notes.asks("trailing-space")
        ):
            _tell_trailing(piece, notes)
            kept = [*content[:-1], {**last, "text": last["text"].rstrip()}]
        else:
            return
        if kept:
            pieces[-1] = piece.now({**piece.item, "content": kept}, "mended")
        else:
            pieces.pop()


def _tell_trailing(piece: Piece, notes: Notes) -> None:
    notes.add("rewritten", "trailing-space", "the last text goes without the white space at its end", piece)


# ----------------------------------------------------------------------- other shapes


def _may_join(last: Item, new: Item) -> bool:
    """Whether two neighbours that were both rendered here go into one message.

    All of a turn of the assistant does, and outputs do.
    """
    if last["role"] != new["role"]:
        return False
    return new["role"] == "assistant" or (holds_outputs_alone(last) and holds_outputs_alone(new))


def _rendered(piece: Piece, notes: Notes) -> list[Piece]:
    """An item of another shape as a message of this API."""
    item = piece.item
    if item.get("type") == "function_call_output":
        output, call_id = item.get("output"), item.get("call_id")
        if type(output) is str and output.strip() and type(call_id) is str:
            shown = {"type": "tool_result", "tool_use_id": call_id, "content": output}
            return [piece.now({"role": "user", "content": [shown]}, "rendered")]
    neutral = read(item)
    if len(neutral.blocks) == 1 and (message := _single(neutral, piece, notes)) is not None:
        return [piece.now(message, "rendered")]
    is_model = neutral.speaker == "assistant"
    results: list[dict[str, Any]] = []
    blocks: list[dict[str, Any]] = []
    for block in neutral.blocks:
        match block:
            case Call():
                blocks.append(_use(block, piece, notes))
            case Output():
                results.append(_result(block, piece, notes))
            case Text(text=text) if not text.strip():
                pass
            case _:
                made = _said(block, is_text_only=is_model)
                if made is None:
                    tell_unsaid(block, piece, notes)
                else:
                    blocks.append(made)
    if neutral.speaker in ("system", "developer") and blocks:
        notes.add("rewritten", "role", f"the {neutral.speaker} message goes as the user's", piece)
    content: Any = results + blocks
    if not content:
        tell_nothing_left(piece, notes)
        return []
    if len(content) == 1 and content[0]["type"] == "text":
        content = content[0]["text"]
    message = {"role": "assistant" if is_model and not results else "user", "content": content}
    return [piece.now(message, "rendered")]


def _single(neutral: Neutral, piece: Piece, notes: Notes) -> dict[str, Any] | None:
    """An item that says a single thing, of the commonest ones; None for another.

    This says nothing that the long way does not say too. It only says it sooner.
    """
    block = neutral.blocks[0]
    if type(block) is Call:
        return {"role": "assistant", "content": [_use(block, piece, notes)]}
    if type(block) is Text and neutral.speaker in ("user", "assistant") and block.text.strip():
        return {"role": neutral.speaker, "content": block.text}
    if type(block) is Output and not block.is_error and len(block.blocks) == 1:
        shown = block.blocks[0]
        if type(shown) is Text and shown.text.strip():
            made = {"type": "tool_result", "tool_use_id": block.id, "content": shown.text}
            return {"role": "user", "content": [made]}
    return None


def _use(call: Call, piece: Piece, notes: Notes) -> dict[str, Any]:
    name = named(call, piece, notes)
    value, is_object = arguments_object(call)
    if not is_object:
        tell_arguments(call.id, piece, notes)
    return {"type": "tool_use", "id": call.id, "name": name, "input": value}


def _result(output: Output, piece: Piece, notes: Notes) -> dict[str, Any]:
    made: dict[str, Any] = {"type": "tool_result", "tool_use_id": output.id}
    content = []
    for block in output.blocks:
        if isinstance(block, Text) and not block.text.strip():
            continue
        said = _said(block, is_text_only=False)
        if said is None:
            tell_unsaid(block, piece, notes)
        else:
            content.append(said)
    is_text = all(said["type"] == "text" for said in content)
    if len(content) == 1 and is_text:
        made["content"] = content[0]["text"]
    elif content:
        made["content"] = content
    elif output.is_error:
        made["content"] = NO_OUTPUT
    if output.is_error:
        if is_text:
            made["is_error"] = True
        else:
            why = "an error that holds pictures goes without its flag"
            notes.add("rewritten", "output-content", why, piece, call=output.id)
    return made


def _said(block: Any, *, is_text_only: bool) -> dict[str, Any] | None:
    match block:
        case Text(text=text) | File(text=str(text)):
            return {"type": "text", "text": text}
        case Thought(text=text, signature=str(mark), redacted=redacted) if mark and is_text_only:
            if redacted:
                return {"type": "redacted_thinking", "data": mark}
            return {"type": "thinking", "thinking": text, "signature": mark}
        case _ if is_text_only:
            return None
        case Image(url=str(url)):
            return {"type": "image", "source": {"type": "url", "url": url}}
        case Image(data=str(data), media_type=media_type):
            return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}
        case File(data=str(data), media_type=media_type, name=name):
            return _document(data, media_type, name)
        case File(url=str(url)):
            return {"type": "document", "source": {"type": "url", "url": url}}
    return None


def _document(data: str, media_type: str, name: str | None) -> dict[str, Any] | None:
    if media_type == "application/pdf":
        source = {"type": "base64", "media_type": media_type, "data": data}
    elif media_type.startswith("text/"):
        try:
            text = base64.b64decode(data, validate=True).decode("utf-8")
        except ValueError:
            return None
        if not text.strip():
            return None
        source = {"type": "text", "media_type": "text/plain", "data": text}
    else:
        return None
    made: dict[str, Any] = {"type": "document", "source": source}
    if name is not None:
        made["title"] = name
    return made


ANTHROPIC_MESSAGES: Final = AnthropicMessages()
"""The Messages API."""
