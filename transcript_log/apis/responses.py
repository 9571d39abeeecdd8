"""OpenAI Responses: ``openai-responses``.

Requests are taken to be stateless (``store=false``): nothing that the server would have to
look up is sent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from .. import items
from .._json import read_text
from .._pairing import Order
from .._pieces import Piece
from ..entries import Item
from ..findings import Finding
from ..items.shapes import is_from_model, shape_of
from ._base import (
    IdRule,
    NameRule,
    Notes,
    Rule,
    Terms,
    all_fit,
    fresh_ids,
    has_surrogate,
    rule_of,
    word,
)
from ._neutral import (
    Block,
    Call,
    File,
    Image,
    Neutral,
    Output,
    Text,
    Thought,
    arguments_text,
    read,
    read_output,
)
from ._signed import SplitIds, message_mark, reasoning_item
from ._telling import (
    in_own_shape,
    is_elsewhere,
    named,
    tell_arguments,
    tell_error_flag,
    tell_nothing_left,
    tell_unsaid,
)

__all__ = ["OPENAI_RESPONSES", "OpenAIResponses"]

_API: Final = "https://platform.openai.com/docs/api-reference/responses/create"


_rule: Final = rule_of(_API)


_RULES: Final[Mapping[str, Rule]] = dict(
    [
        _rule("empty-input", "There is at least one item."),
        _rule(
            "call-id",
            "A call id has 1 to 64 characters.",
            "https://github.com/NousResearch/hermes-agent/issues/73492",
        ),
        _rule("call-twice", "No two calls have one id.", "https://github.com/ducks/claux/issues/40"),
        _rule(
            "output-missing",
            "Each client-run call has an output after it.",
            "https://github.com/farion1231/cc-switch/issues/7509",
        ),
        _rule(
            "output-without-call",
            "Each output has a call before it.",
            "https://github.com/openai/openai-agents-python/issues/4827",
        ),
        _rule(
            "output-twice",
            "A call has one output.",
            "https://github.com/google-gemini/gemini-cli/issues/29365",
        ),
        _rule(
            "output-kind",
            "An output is of the type that answers its call.",
            "https://github.com/openai/openai-agents-python/issues/2665",
        ),
        _rule(
            "output-order",
            "No message stands between a call and its output; OpenAI allows it, others of this API do not.",
            "https://github.com/charmbracelet/crush/issues/3847",
        ),
        _rule(
            "item-id",
            "An item id is of 1 to 64 letters, digits, _ and -, and begins as its type wants.",
            "https://github.com/code-yeongyu/senpi/issues/271",
        ),
        _rule(
            "item-id-twice", "No two items have one id.", "https://github.com/microsoft/vscode/issues/321977"
        ),
        _rule(
            "reasoning-content",
            "Reasoning carries encrypted_content, for the server has stored none.",
            "https://github.com/anomalyco/opencode/issues/7724",
        ),
        _rule(
            "reasoning-alone",
            "Reasoning is followed by what it led to.",
            "https://github.com/vercel/ai/issues/7099",
        ),
        _rule(
            "reasoning-keys",
            "Reasoning has a summary, if only an empty list, no status, and no content of its own.",
            "https://github.com/musistudio/claude-code-router/issues/1783",
        ),
        _rule(
            "arguments",
            "The arguments of a function call are the text of a JSON object.",
            "https://github.com/justrach/codegraff/issues/752",
        ),
        _rule("name", "A tool's name is of 1 to 64 letters, digits, _ and -."),
        _rule("content", "A message has content.", "https://github.com/github/copilot-cli/issues/4269"),
        _rule(
            "blank-text",
            "What is said is more than white space; OpenAI takes it, others of this API do not.",
            "https://github.com/NousResearch/hermes-agent/issues/63983",
            warning=True,
        ),
        _rule("part-type", "The parts of a message are of the types that its role may have."),
        _rule("foreign-shape", "An item is of a type that this API has."),
        _rule(
            "foreign-key",
            "An item bears no keys but its own.",
            "https://github.com/openai/openai-python/pull/3146",
            "2026-04-29",
        ),
        _rule("output-content", "An output is text, or a list of text, images and files."),
        _rule(
            "surrogate",
            "Text can be sent as UTF-8.",
            "https://github.com/anthropics/claude-code/issues/56064",
        ),
    ]
)

_TERMS: Final = Terms(
    name="openai-responses",
    wire="openai-responses",
    rules=_RULES,
    ids=IdRule(re.compile(r"[^\ud800-\udfff]+"), 64, unique=True),
    names=NameRule(re.compile(r"[A-Za-z0-9_-]+"), 64),
    optional=frozenset({"blank-text", "call-id", "foreign-key", "item-id", "name"}),
)
_ITEM_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_PREFIXES: Final = {
    "function_call": "fc",
    "function_call_output": "fc",
    "compaction": "cmp",
    "custom_tool_call": "ctc",
    "message": "msg",
    "reasoning": "rs",
    "web_search_call": "ws",
}
_CALLS: Final = {
    "function_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
    "local_shell_call": "local_shell_call_output",
    "shell_call": "shell_call_output",
    "apply_patch_call": "apply_patch_call_output",
    "computer_call": "computer_call_output",
    "tool_search_call": "tool_search_output",
}
_OUTPUTS: Final = {output: call for call, output in _CALLS.items()}
_SEARCHES: Final = frozenset({"tool_search_call", "tool_search_output"})
_HOSTED: Final = frozenset(
    {
        "web_search_call",
        "file_search_call",
        "image_generation_call",
        "code_interpreter_call",
        "mcp_call",
    }
)
_OTHERS: Final = frozenset(
    {
        "mcp_list_tools",
        "mcp_approval_request",
        "mcp_approval_response",
        "compaction",
        "context_compaction",
        "additional_tools",
        "configuration_update",
        "program",
        "program_output",
    }
)
_ELSEWHERE: Final = frozenset({"image_url", "input_audio", "tool_result", "tool_use"})
"""What a message begins with that is surely of another shape, and not pi's."""

_CALLING: Final = frozenset({"tool_result", "tool_use", "toolCall"})
"""What a message ends with that is said anew in any case."""

_PLAIN_KINDS: Final = frozenset({"", "function_call", "function_call_output", "message", "reasoning"})
"""The kinds of items among which no output is of another kind than its call."""

_TYPES: Final = _CALLS.keys() | _OUTPUTS.keys() | _HOSTED | _OTHERS | {"reasoning", "message"}
_LED_TO: Final = _CALLS.keys() | _HOSTED | {"reasoning"}
_PARTS: Final[Mapping[Any, frozenset[str]]] = {
    "user": frozenset({"input_text", "input_image", "input_file"}),
    "system": frozenset({"input_text", "input_image", "input_file"}),
    "developer": frozenset({"input_text", "input_image", "input_file"}),
    "assistant": frozenset({"output_text", "refusal"}),
}
_OUTPUT_PARTS: Final = frozenset({"input_text", "input_image", "input_file"})
_MESSAGE_KEYS: Final = frozenset({"type", "role", "content", "id", "status", "phase"})
_CONTENT_KEYS: Final = frozenset({"tool_calls", "function_call", "refusal", "audio", "tool_call_id"})
"""Where messages of Chat have more to say."""

_ADDED_KEYS: Final = frozenset(
    {"parsed", "parsed_arguments", "metadata", "internal_chat_message_metadata_passthrough"}
)
"""What libraries and servers put on items, and the API refuses to take back."""


class OpenAIResponses:
    """The rules and the words of the Responses API."""

    items_key: Final = "input"
    order: Final[Order] = "responses"

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

    def under(self, terms: Terms) -> OpenAIResponses:
        """See :meth:`Amendable.under`."""
        return OpenAIResponses(terms)

    # ------------------------------------------------------------------------- checking

    def check(self, items: Sequence[Item], *, paused: bool = False) -> Iterator[Finding]:  # noqa: ARG002
        """See :meth:`Api.check`."""
        return self.terms.heard(self._found(items), items)

    def _found(self, items: Sequence[Item]) -> Iterator[Finding]:
        if not items:
            yield _RULES["empty-input"].at(None, "there is nothing to send")
        calls: dict[str, tuple[int, str]] = {}
        answered: set[str] = set()
        ids: set[str] = set()
        last_message = -1
        count = len(items)
        for place, item in enumerate(items):
            kind = word(item.get("type", "message"))
            if kind == "message":
                last_message = place
                if not _is_plain(item):
                    yield from _check_message(place, item)
            elif kind in _SEARCHES and item.get("call_id") is None:
                pass  # the server ran that search itself
            elif kind in _CALLS:
                call_id = _asked_id(item)
                if type(call_id) is not str or not self.terms.ids.fits(call_id):
                    yield _RULES["call-id"].at(
                        place, "the call id is missing, empty or too long", word(call_id)
                    )
                    call_id = str(call_id)
                if call_id in calls:
                    yield _RULES["call-twice"].at(place, "a call before it has the same id", call_id)
                calls[call_id] = (place, kind)
                if kind in ("function_call", "custom_tool_call"):
                    yield from _check_call(place, item, kind, call_id, self.terms.names)
            elif kind in _OUTPUTS:
                call_id = str(_answered_id(item))
                asked = calls.get(call_id)
                if asked is None:
                    yield _RULES["output-without-call"].at(place, "no call before it has this id", call_id)
                    continue
                if _OUTPUTS[kind] != asked[1]:
                    yield _RULES["output-kind"].at(place, f"{kind} does not answer {asked[1]}", call_id)
                if call_id in answered:
                    yield _RULES["output-twice"].at(place, "the call has an output already", call_id)
                answered.add(call_id)
                if last_message > asked[0]:
                    yield _RULES["output-order"].at(
                        place, f"item {last_message} is a message before it", call_id
                    )
                if kind in ("function_call_output", "custom_tool_call_output"):
                    output = item.get("output")
                    if type(output) is not str and not _is_output_list(output):
                        yield _RULES["output-content"].at(
                            place, "the output is neither text nor parts", call_id
                        )
            elif kind == "reasoning":
                encrypted = item.get("encrypted_content")
                if type(encrypted) is not str or not encrypted.strip():
                    yield _RULES["reasoning-content"].at(place, "the reasoning has no encrypted_content")
                if type(item.get("summary")) is not list or item.get("content") or "status" in item:
                    yield _RULES["reasoning-keys"].at(
                        place, "the reasoning has no summary, or more than that"
                    )
                if not (place + 1 < count and _led_to(items[place + 1])):
                    yield _RULES["reasoning-alone"].at(place, "nothing of the model follows the reasoning")
            elif type(kind) is not str or kind not in _TYPES:
                yield _RULES["foreign-shape"].at(place, f"there is no item type {item.get('type')!r}")
            if kind != "message" and not _ADDED_KEYS.isdisjoint(item):
                extra = ", ".join(sorted(_ADDED_KEYS & item.keys()))
                yield _RULES["foreign-key"].at(place, f"the {kind} bears {extra}")
            item_id = item.get("id")
            if item_id is not None and kind != "local_shell_call_output":
                if not _is_item_id(item_id, kind):
                    yield _RULES["item-id"].at(place, f"the item id {item_id!r} is none of a {kind}")
                elif item_id in ids:
                    yield _RULES["item-id-twice"].at(place, f"an item before it has the id {item_id!r}")
                else:
                    ids.add(item_id)
            elif item_id is None and "id" in item and kind != "reasoning":
                yield _RULES["item-id"].at(place, f"the item id of a {kind} is null")
            if has_surrogate(item):
                yield _RULES["surrogate"].at(place, "some text holds half a character")
        for call_id, (place, kind) in calls.items():
            if call_id not in answered:
                yield _RULES["output-missing"].at(place, f"the {kind} has no output", call_id)

    # ------------------------------------------------------------------------ rendering

    def render(self, pieces: Sequence[Piece], notes: Notes, *, paused: bool = False) -> list[Piece]:  # noqa: ARG002
        """See :meth:`Api.render`."""
        notes.terms = self.terms
        return self.terms.finished(self._rendered(pieces, notes), notes)

    def _rendered(self, pieces: Sequence[Piece], notes: Notes) -> list[Piece]:
        out: list[Piece] = []
        reasoning_ids: set[str] = set()
        orphaned = False
        ids = SplitIds()
        for piece in pieces:
            item = piece.item
            kind = item.get("type", "message")
            if _is_right(item, kind, self.terms.names):
                if kind == "function_call_output" or (kind == "message" and item["role"] != "assistant"):
                    orphaned = False
                out.append(piece.alone() if orphaned else piece)
                continue
            is_own = not is_elsewhere(item, _ELSEWHERE, _CALLING)
            if is_own and kind == "message":
                piece = in_own_shape(piece, "responses", _is_own_part, _part_of, notes)  # noqa: PLW2901
            is_own = is_own and _is_own(piece.item)
            if not is_own or not is_from_model(piece.item):
                orphaned = False
            for new in [piece] if is_own else _rendered(piece, notes, ids):
                is_reasoning = new.item.get("type") == "reasoning"
                mended = _mended(new, notes) if is_own or is_reasoning else new
                if is_reasoning:
                    if mended is not None and mended.item.get("id") in reasoning_ids:
                        notes.add(
                            "left-out", "item-id-twice", "the reasoning stands twice", new, item=new.item
                        )
                        continue
                    if mended is None:
                        orphaned = True
                        continue
                    reasoning_ids.add(str(mended.item.get("id") or id(mended)))
                if mended is not None:
                    out.append(mended.alone() if orphaned else mended)
        if any(word(piece.item.get("type")) not in _PLAIN_KINDS for piece in out):
            out = _with_output_kinds(out, notes)
        if reasoning_ids:
            out = _without_lone_reasoning(out, notes)
        out = _with_item_ids(out, notes)
        return _with_call_ids(_with_split_ids(out, ids), notes, self.terms.ids)


def _is_right(item: Item, kind: Any, names: NameRule) -> bool:
    """Whether an item is plainly one of this API, with nothing to mend but its ids."""
    if item.get("id", "") is None:
        return False
    if kind == "message":
        return _is_plain(item)
    if kind == "function_call":
        return (
            _ADDED_KEYS.isdisjoint(item)
            and names.fits(item.get("name"))
            and _is_object_text(item.get("arguments"))
        )
    return (
        type(kind) is str
        and kind == "function_call_output"
        and type(item.get("output")) is str
        and _ADDED_KEYS.isdisjoint(item)
    )


def _is_plain(item: Item) -> bool:
    """Whether a message is plainly right."""
    allowed = _PARTS.get(word(item.get("role")))
    content = item.get("content")
    if allowed is None or not content or not item.keys() <= _MESSAGE_KEYS:
        return False
    if type(content) is list:
        return all(
            type(part) is dict and word(part.get("type")) in allowed and not _is_blank(part)
            for part in content
        )
    return type(content) is str and not content.isspace()


def _is_blank(part: Any) -> bool:
    """Whether a part is a text of white space."""
    said = part.get("text") if type(part) is dict else None
    return type(said) is str and not said.strip()


def _check_message(place: int, item: Item) -> Iterator[Finding]:
    speaker = item.get("role")
    allowed = _PARTS.get(speaker) if type(speaker) is str else None
    if allowed is None:
        yield _RULES["foreign-shape"].at(place, f"there is no role {speaker!r}")
        return
    if not item.keys() <= _MESSAGE_KEYS:
        extra = ", ".join(sorted(item.keys() - _MESSAGE_KEYS))
        yield _RULES["foreign-key"].at(place, f"a message has no {extra}")
    content = item.get("content")
    if type(content) is list:
        if not content:
            yield _RULES["content"].at(place, "the message is empty")
        if any(map(_is_blank, content)):
            yield _RULES["blank-text"].at(place, "a text is blank")
        for part in content:
            if type(part) is not dict or word(part.get("type")) not in allowed:
                named = part.get("type") if type(part) is dict else type(part).__name__
                yield _RULES["part-type"].at(place, f"a message of the {speaker} has no part {named!r}")
                break
    elif type(content) is not str or not content:
        yield _RULES["content"].at(place, "the message is empty")
    elif content.isspace():
        yield _RULES["blank-text"].at(place, "the text is blank")


def _check_call(place: int, item: Item, kind: str, call_id: str, names: NameRule) -> Iterator[Finding]:
    name = item.get("name")
    if not names.fits(name):
        yield _RULES["name"].at(place, f"{name!r} is no name of a tool", call_id)
    if kind == "custom_tool_call":
        if type(item.get("input")) is not str:
            yield _RULES["arguments"].at(place, "the input of the custom tool is no text", call_id)
        return
    if not _is_object_text(item.get("arguments")):
        yield _RULES["arguments"].at(place, "the arguments are no JSON object", call_id)


def _asked_id(item: Item) -> Any:
    """The id that the output of a call has to name; a local shell's may be the item's own."""
    call_id = item.get("call_id")
    return item.get("id") if call_id is None and item.get("type") == "local_shell_call" else call_id


def _answered_id(item: Item) -> Any:
    """The id of the call that an output answers; the output of a local shell has it as its own."""
    call_id = item.get("call_id")
    return item.get("id") if call_id is None and item.get("type") == "local_shell_call_output" else call_id


def _is_object_text(arguments: Any) -> bool:
    if type(arguments) is not str:
        return False
    try:
        return type(read_text(arguments)) is dict
    except ValueError:
        return False


def _is_output_list(output: Any) -> bool:
    return type(output) is list and all(
        type(part) is dict and word(part.get("type")) in _OUTPUT_PARTS for part in output
    )


def _led_to(item: Item) -> bool:
    kind = word(item.get("type", "message"))
    return kind in _LED_TO or (kind == "message" and item.get("role") == "assistant")


def _is_item_id(item_id: Any, kind: Any) -> bool:
    return (
        type(item_id) is str
        and _ITEM_ID.fullmatch(item_id) is not None
        and item_id.startswith(_PREFIXES.get(kind, ""))
    )


# ------------------------------------------------------------------------ one's own items


def _is_own(item: Item) -> bool:
    """Whether an item is of this API's shape, so that it is mended where it stands."""
    kind = word(item.get("type", "message"))
    if kind != "message":
        return kind in _TYPES or kind == "compaction_summary"
    allowed = _PARTS.get(word(item.get("role")))
    if allowed is None or "parts" in item or not _CONTENT_KEYS.isdisjoint(item):
        return False
    content = item.get("content")
    if type(content) is not list:
        return type(content) is str or content is None
    return all(type(part) is dict and word(part.get("type")) in allowed for part in content)


def _is_own_part(part: Any, speaker: str) -> bool:
    """Whether a part may stand in a message of this API."""
    return type(part) is dict and word(part.get("type")) in _PARTS.get(speaker, ())


def _part_of(block: Block, speaker: str) -> dict[str, Any] | None:
    return _assistant_part(block) if speaker == "assistant" else _input_part(block)


def _mended(piece: Piece, notes: Notes) -> Piece | None:
    """An item of this API under its rules; None if nothing is left of it."""
    piece = _with_ids(piece, notes)
    item = piece.item
    kind = word(item.get("type", "message"))
    new: dict[str, Any] = {}
    if kind == "reasoning":
        return _mended_reasoning(piece, notes)
    extra = item.keys() - _MESSAGE_KEYS if kind == "message" else item.keys() & _ADDED_KEYS
    if extra and (notes.asks("foreign-key") or shape_of(piece.item) == "pi"):
        item = {key: value for key, value in item.items() if key not in extra}
        if shape_of(piece.item) != "pi":
            told = ", ".join(sorted(extra))
            notes.add("rewritten", "foreign-key", f"the {kind} goes without {told}", piece)
    if kind == "message":
        content = item.get("content")
        if type(content) is list and any(map(_is_blank, content)) and notes.asks("blank-text"):
            content = new["content"] = [part for part in content if not _is_blank(part)]
            notes.add("left-out", "blank-text", "blank text was taken out", piece, item=piece.item)
        if not content or (type(content) is str and content.isspace() and notes.asks("blank-text")):
            notes.add("left-out", "content", "nothing is left of the message", piece, item=piece.item)
            return None
    elif kind == "function_call":
        call = items.tool_calls(item)[0]
        text, _ = arguments_text(Call(call.id or "", call.name, call.arguments))
        if text != call.arguments:
            new["arguments"] = text
            tell_arguments(call.id, piece, notes)
    elif kind == "custom_tool_call" and type(item.get("input")) is not str:
        new["input"] = "" if item.get("input") is None else items.output_text(item["input"])
        tell_arguments(word(item.get("call_id")), piece, notes)
    elif kind in ("function_call_output", "custom_tool_call_output"):
        output = item.get("output")
        if type(output) is not str and not _is_output_list(output):
            new["output"] = _output_value(_read_output(item), piece, notes)
            notes.add(
                "rewritten", "output-content", "the output goes as text", piece, call=item.get("call_id")
            )
    elif kind == "compaction_summary":
        new["type"] = "compaction"
        notes.add("rewritten", "foreign-shape", "the checkpoint goes by its type of today", piece)
    if kind in ("function_call", "custom_tool_call"):
        name = item.get("name")
        safe = notes.names.safe(word(name))
        if safe != name and notes.asks("name"):
            new["name"] = safe
            notes.add(
                "rewritten", "name", f"the tool {name!r} goes as {safe!r}", piece, call=item.get("call_id")
            )
    if new:
        item = {**item, **new}
    if item is piece.item:
        return piece
    return piece.now(item, "rendered" if shape_of(piece.item) not in ("responses", "plain") else "mended")


def _with_ids(piece: Piece, notes: Notes) -> Piece:
    """An item without an id that is null, and a call with the id that an output answers it by.

    Early files of Codex spell out that there is none; a call of its shell may bear its own id alone.
    """
    item = piece.item
    if item.get("id", "") is None and item.get("type") != "reasoning":
        piece = piece.now({key: value for key, value in item.items() if key != "id"}, "mended")
        notes.add("rewritten", "item-id", "the item goes without an id that is null", piece, item=item)
    if item.get("type") == "local_shell_call" and item.get("call_id") is None and _asked_id(item):
        piece = piece.now({**piece.item, "call_id": _asked_id(item)}, "mended")
        notes.add("rewritten", "call-id", "the call is answered by its own id", piece, item=item)
    return piece


def _mended_reasoning(piece: Piece, notes: Notes) -> Piece | None:
    """Reasoning as the server takes it back; None if it would not.

    What is encrypted is bound to the id that it came under, so that is never changed.
    """
    item = piece.item
    item_id = item.get("id")
    if not items.has_opaque(item):
        rule, why = (
            "reasoning-content",
            "the reasoning has no encrypted_content, and the server has stored none",
        )
    elif item_id is not None and not _is_item_id(item_id, "reasoning"):
        rule, why = "item-id", f"the item id {item_id!r} is none of reasoning"
    else:
        gone = _ADDED_KEYS | {"status"}
        kept = {key: v for key, v in item.items() if key not in gone and (key != "content" or not v)}
        if type(item.get("summary")) is not list:
            kept["summary"] = []
        if len(kept) == len(item) and kept.get("summary") is item.get("summary"):
            return piece
        notes.add(
            "rewritten", "reasoning-keys", "the reasoning goes without what the API refuses", piece, item=item
        )
        return piece.now(kept, "mended")
    notes.add("left-out", rule, why, piece, item=item)
    return None


def _read_output(item: Item) -> Output:
    return read_output(items.tool_outputs(item)[0])


def _with_output_kinds(pieces: list[Piece], notes: Notes) -> list[Piece]:
    """With outputs of the type that answers their call."""
    kinds: dict[str, list[str]] = {}
    for place, piece in enumerate(pieces):
        kind = word(piece.item.get("type", "message"))
        if kind == "message" or kind in _SEARCHES:
            continue
        if kind in _CALLS:
            kinds.setdefault(str(_asked_id(piece.item)), []).append(kind)
        elif kind in _OUTPUTS:
            queue = kinds.get(str(_answered_id(piece.item)))
            call = queue.pop(0) if queue else _OUTPUTS[kind]
            if call != _OUTPUTS[kind]:
                pieces[place] = piece.now(_output_of_kind(piece, call, notes), "mended")
                notes.add(
                    "rewritten",
                    "output-kind",
                    f"the output goes as a {_CALLS[call]}",
                    piece,
                    call=word(piece.item.get("call_id")),
                )
    return pieces


def _output_of_kind(piece: Piece, call: str, notes: Notes) -> dict[str, Any]:
    output = _read_output(piece.item)
    made: dict[str, Any] = {"type": _CALLS[call], "call_id": output.id}
    value = _output_value(output, piece, notes)
    text = value if type(value) is str else items.output_text(value)
    if call == "shell_call":
        made["output"] = [{"stdout": text, "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}]
    elif call == "apply_patch_call":
        made |= {"status": "failed" if output.is_error else "completed", "output": text}
    elif call == "local_shell_call":
        # The page wants the id of the call here; others who serve this API, under its usual key.
        made = {"type": _CALLS[call], "id": output.id, "call_id": output.id, "output": text}
    else:
        made["output"] = value if call in ("function_call", "custom_tool_call") else text
    return made


def _without_lone_reasoning(pieces: list[Piece], notes: Notes) -> list[Piece]:
    """Without reasoning that nothing of the model follows."""
    kept: list[Piece] = []
    follows = False
    for piece in reversed(pieces):
        if piece.item.get("type") == "reasoning" and not follows:
            why = "nothing of the model follows the reasoning"
            notes.add("left-out", "reasoning-alone", why, piece, item=piece.item)
            continue
        follows = _led_to(piece.item)
        kept.append(piece)
    kept.reverse()
    return kept


def _with_item_ids(pieces: list[Piece], notes: Notes) -> list[Piece]:
    """Without item ids that are none, that stand twice, or that belong to reasoning left out."""
    seen: set[str] = set()
    for place, piece in enumerate(pieces):
        item_id = piece.item.get("id")
        if item_id is None or piece.item.get("type") == "local_shell_call_output":
            continue
        kind = word(piece.item.get("type", "message"))
        if not _is_item_id(item_id, kind) and notes.asks("item-id"):
            rule, why = "item-id", f"the item id {item_id!r} is none of a {kind}"
        elif item_id in seen:
            rule, why = "item-id-twice", f"an item before it has the id {item_id!r}"
        elif piece.orphaned:
            rule, why = "item-id-alone", f"the reasoning that {item_id!r} came with is not sent"
        else:
            seen.add(item_id)
            continue
        pieces[place] = piece.now({key: v for key, v in piece.item.items() if key != "id"}, "mended")
        notes.add("rewritten", rule, f"{why}: it goes without", piece)
    return pieces


def _is_hosted_search(item: Item) -> bool:
    """Whether the server ran a search of tools itself, which nobody answers."""
    return item.get("type") in _SEARCHES and item.get("call_id") is None


def _with_split_ids(pieces: list[Piece], ids: SplitIds) -> list[Piece]:
    """With the ids of calls alone, where they were split."""
    for place, piece in enumerate(pieces if ids.names else ()):
        name = ids.names.get(word(piece.item.get("call_id")))
        if name is not None and piece.item.get("type") in _CALLS.keys() | _OUTPUTS.keys():
            pieces[place] = piece.now({**piece.item, "call_id": name}, "mended")
    return pieces


def _with_call_ids(pieces: list[Piece], notes: Notes, ids: IdRule) -> list[Piece]:
    """With call ids that this API takes, the same on call and output."""
    asking = (piece.item for piece in pieces if piece.item.get("type") in _CALLS)
    if all_fit(ids, ([_asked_id(item)] for item in asking if not _is_hosted_search(item))):
        return pieces
    found = []
    places = []
    for place, piece in enumerate(pieces):
        kind = word(piece.item.get("type", "message"))
        if kind == "message":
            continue
        own = [word(_asked_id(piece.item) if kind in _CALLS else _answered_id(piece.item))]
        if _is_hosted_search(piece.item):
            own = []
        if kind in _CALLS or kind in _OUTPUTS:
            found.append((piece, own if kind in _CALLS else (), own if kind in _OUTPUTS else ()))
            places.append(place)
    renamed = fresh_ids(ids, found, notes)
    for place, (piece, calls, outputs), (new_calls, new_outputs) in zip(places, found, renamed, strict=True):
        if new_calls is not calls or new_outputs is not outputs:
            new = (*new_calls, *new_outputs)[0]
            named_by = {"call_id": new}
            if piece.item.get("type") == "local_shell_call_output":
                named_by["id"] = new
            pieces[place] = piece.now({**piece.item, **named_by}, "mended")
    return pieces


# ----------------------------------------------------------------------- other shapes


def _rendered(piece: Piece, notes: Notes, ids: SplitIds) -> list[Piece]:
    """An item of another shape in this API's words: messages and calls in their order."""
    neutral = read(piece.item)
    quick = _quick(neutral, piece, notes)
    if quick:
        return [piece.now(item, "rendered") for item in quick]
    is_pi = not is_elsewhere(piece.item, _ELSEWHERE) and shape_of(piece.item) == "pi"
    made: list[dict[str, Any]] = []
    parts: list[dict[str, Any]] = []
    calls: list[dict[str, Any]] = []  # and the reasoning among them
    is_model = neutral.speaker == "assistant"

    def say() -> None:
        if len(parts) == 1 and "text" in parts[0]:
            made.append({"role": neutral.speaker, "content": parts[0]["text"]})
        elif parts:
            made.append({"type": "message", "role": neutral.speaker, "content": list(parts)})
        parts.clear()

    for block in neutral.blocks:
        match block:
            case Call():
                item_id = ids.item_of(block.id) if is_pi else ""
                calls.append(_call_item(block, item_id, piece, notes))
            case Output():
                say()
                value = _output_value(block, piece, notes)
                made.append({"type": "function_call_output", "call_id": block.id, "output": value})
                if block.is_error:
                    tell_error_flag(block, piece, notes)
            case Text(text=text) if not text.strip():
                pass
            case Thought(signature=mark) if (item := reasoning_item(mark)) is not None:
                say()
                (calls or made).append(item)
            case _:
                part = _assistant_part(block) if is_model else _input_part(block)
                if part is None:
                    if isinstance(block, Thought):
                        piece = piece.alone()
                    tell_unsaid(block, piece, notes)
                    continue
                if calls:
                    why = "what was said after a call goes before it"
                    notes.add("moved", "output-order", why, piece)
                if is_model and isinstance(block, Text) and block.signature:
                    say()
                    made.append(_signed_message(part, block.signature))
                else:
                    parts.append(part)
    say()
    # No message may stand between a call and its output.
    made += calls
    if not made:
        tell_nothing_left(piece, notes)
    return [piece.now(item, "rendered") for item in made]


def _quick(neutral: Neutral, piece: Piece, notes: Notes) -> list[dict[str, Any]]:
    """Items that say a text and then call, or give outputs of text; nothing for any other.

    This says nothing that the long way does not say too. It only says it sooner.
    """
    item = piece.item
    content = item.get("content")
    texts: list[str] = []
    made: list[dict[str, Any]] = []
    calls: list[Call] = []
    for block in neutral.blocks:
        if type(block) is Text:
            if texts or made or calls or block.signature or not block.text.strip():
                return []
            texts.append(block.text)
        elif type(block) is Call and not made:
            calls.append(block)
        elif type(block) is Output and len(block.blocks) == 1 and not (texts or calls or block.is_error):
            shown = block.blocks[0]
            if type(shown) is not Text:
                return []
            made.append({"type": "function_call_output", "call_id": block.id, "output": shown.text})
        else:
            return []
    if calls and "tool_calls" not in item and not _PI_KEYS.isdisjoint(item):
        return []
    if (
        calls
        and type(content) is list
        and any(type(block) is dict and block.get("type") == "toolCall" for block in content)
    ):
        return []
    if texts:
        made.append({"role": neutral.speaker, "content": texts[0]})
    return made + [_call_item(call, "", piece, notes) for call in calls]


_PI_KEYS: Final = frozenset({"stopReason", "timestamp"})
"""What messages of pi bear, whose call ids hold the ids of items."""


def _signed_message(part: dict[str, Any], signature: str) -> dict[str, Any]:
    """A text as the message that it came in, where its signature tells that."""
    mark = message_mark(signature)
    made: dict[str, Any] = {"type": "message", "role": "assistant", "content": [part]}
    if _is_item_id(mark.get("id"), "message"):
        made |= {"id": mark["id"], "status": "completed"}
    return {**made, "phase": mark["phase"]} if "phase" in mark else made


def _call_item(call: Call, item_id: str, piece: Piece, notes: Notes) -> dict[str, Any]:
    name = named(call, piece, notes)
    if call.kind == "custom" and type(call.arguments) is str:
        return {"type": "custom_tool_call", "call_id": call.id, "name": name, "input": call.arguments}
    text, is_object = arguments_text(call)
    if not is_object:
        tell_arguments(call.id, piece, notes)
    made = {"type": "function_call", "call_id": call.id, "name": name, "arguments": text}
    return {**made, "id": item_id} if _is_item_id(item_id, "function_call") else made


def _output_value(output: Output, piece: Piece, notes: Notes) -> Any:
    """Text, or a list of parts where there is more than one."""
    parts = []
    for block in output.blocks:
        part = _input_part(block)
        if part is None:
            tell_unsaid(block, piece, notes)
        elif part.get("text") != "":
            parts.append(part)
    if not parts:
        return ""
    if len(parts) == 1 and "text" in parts[0]:
        return parts[0]["text"]
    return parts


def _input_part(block: Any) -> dict[str, Any] | None:
    match block:
        case Text(text=text):
            return {"type": "input_text", "text": text}
        case Image(detail=detail):
            return {"type": "input_image", "image_url": block.link, "detail": detail or "auto"}
        case File(text=str(text)):
            return {"type": "input_text", "text": text}
        case File(data=str(data), name=name, media_type=media_type):
            link = f"data:{media_type};base64,{data}"
            return {"type": "input_file", "filename": name or "document", "file_data": link}
        case File(url=str(url)):
            return {"type": "input_file", "file_url": url}
    return None


def _assistant_part(block: Any) -> dict[str, Any] | None:
    if isinstance(block, Text):
        return {"type": "output_text", "text": block.text, "annotations": []}
    return None


OPENAI_RESPONSES: Final = OpenAIResponses()
"""The Responses API."""
