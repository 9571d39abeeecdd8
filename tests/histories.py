"""Generated conversations: right ones in each of the five shapes, and what goes wrong with them.

A conversation is drawn as turns of no shape, and said in one shape or in several. Faults are
then drawn over the entries, of every kind that was seen in real sessions.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import count
from typing import Any, Final

from hypothesis import strategies as st

from transcript_log.entries import Compaction, CompactionEntry, Entry, MessageEntry, ResponseRecord
from transcript_log.families import Target

__all__ = [
    "SHAPES",
    "TARGETS",
    "Call",
    "Model",
    "User",
    "as_entries",
    "conversations",
    "faulty",
    "say",
]

TIME: Final = datetime(2026, 1, 2, tzinfo=UTC)
SHAPES: Final = ("responses", "chat", "anthropic", "pi", "gemini")
TARGETS: Final = {
    "responses": Target("openai-responses", "m-1"),
    "chat": Target("openai-chat", "m-1"),
    "anthropic": Target("anthropic-messages", "m-1"),
    "deepseek": Target("deepseek-chat", "deepseek-v4-pro"),
    "mistral": Target("mistral-chat", "m-1"),
    "gemini": Target("gemini", "m-1"),
}
FAMILIES: Final = (*(target.family for target in TARGETS.values()), "another/family", None)

Item = dict[str, Any]


@dataclass(frozen=True)
class Call:
    """A tool call and what came of it; no output if it was never answered."""

    id: str
    name: str
    arguments: dict[str, Any]
    output: str | None


@dataclass(frozen=True)
class User:
    """What the user said."""

    text: str
    picture: bool = False


@dataclass(frozen=True)
class Model:
    """What a model answered, and what its tools gave back."""

    text: str
    thought: bool
    calls: tuple[Call, ...]


Turn = User | Model


# ------------------------------------------------------------------------------- turns


def words() -> st.SearchStrategy[str]:
    return st.text("abc dé日\n", min_size=1, max_size=8).filter(lambda text: text.strip() == text)


@st.composite
def conversations(draw: st.DrawFn, *, min_turns: int = 1) -> list[Turn]:
    """Turns that any API takes: the user begins, ids are used once, all calls are answered."""
    number = count()
    turns: list[Turn] = [User(f"u{next(number)} " + draw(words()))]
    for _ in range(draw(st.integers(min_turns, 5))):
        if draw(st.booleans()):
            turns.append(User(f"u{next(number)} " + draw(words()), draw(st.integers(0, 4)) == 0))
        else:
            calls = tuple(
                Call(
                    f"call_{next(number)}",
                    draw(st.sampled_from(["bash", "read_file"])),
                    {"n": next(number)} if draw(st.booleans()) else {},
                    f"o{next(number)} " + draw(words()),
                )
                for _ in range(draw(st.integers(0, 3)))
            )
            said = draw(st.booleans()) or not calls
            text = f"a{next(number)} " + draw(words()) if said else ""
            turns.append(Model(text, draw(st.booleans()), calls))
    return turns


# ------------------------------------------------------------------------------ shapes


def say(turn: Turn, shape: str, number: int = 0) -> list[Item]:
    """A turn as the items of one shape, as its API gives them and takes them back."""
    return _SAY[shape](turn, number)


def _responses(turn: Turn, number: int) -> list[Item]:
    if isinstance(turn, User):
        content: list[Item] = [{"type": "input_text", "text": turn.text}]
        if turn.picture:
            content.append({"type": "input_image", "image_url": PICTURE, "detail": "auto"})
        return [{"type": "message", "role": "user", "content": content}]
    out: list[Item] = []
    if turn.thought:
        out.append(
            {
                "type": "reasoning",
                "id": f"rs_{number}",
                "summary": [],
                "encrypted_content": f"sealed-{number}",
            }
        )
    if turn.text:
        part = {"type": "output_text", "text": turn.text, "annotations": []}
        out.append({"type": "message", "role": "assistant", "id": f"msg_{number}", "content": [part]})
    for place, call in enumerate(turn.calls):
        out.append(
            {
                "type": "function_call",
                "id": f"fc_{number}_{place}",
                "call_id": call.id,
                "name": call.name,
                "arguments": json.dumps(call.arguments),
            }
        )
    for call in turn.calls:
        if call.output is not None:
            out.append({"type": "function_call_output", "call_id": call.id, "output": call.output})
    return out


def _chat(turn: Turn, number: int) -> list[Item]:
    if isinstance(turn, User):
        if not turn.picture:
            return [{"role": "user", "content": turn.text}]
        link = {"type": "image_url", "image_url": {"url": PICTURE}}
        return [{"role": "user", "content": [{"type": "text", "text": turn.text}, link]}]
    message: Item = {"role": "assistant", "content": turn.text or None}
    if turn.thought:
        message["reasoning_content"] = f"sealed-{number}"
    if turn.calls:
        message["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
            }
            for call in turn.calls
        ]
    return [
        message,
        *(
            {"role": "tool", "tool_call_id": call.id, "content": call.output}
            for call in turn.calls
            if call.output is not None
        ),
    ]


def _anthropic(turn: Turn, number: int) -> list[Item]:
    if isinstance(turn, User):
        content: list[Item] = [{"type": "text", "text": turn.text}]
        if turn.picture:
            source = {"type": "base64", "media_type": "image/png", "data": "aGk="}
            content.append({"type": "image", "source": source})
        return [{"role": "user", "content": content}]
    blocks: list[Item] = []
    if turn.thought:
        blocks.append({"type": "thinking", "thinking": "", "signature": f"sealed-{number}"})
    if turn.text:
        blocks.append({"type": "text", "text": turn.text})
    blocks += [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments} for call in turn.calls
    ]
    results = [
        {"type": "tool_result", "tool_use_id": call.id, "content": call.output}
        for call in turn.calls
        if call.output is not None
    ]
    said = {"role": "assistant", "content": blocks}
    return [said, {"role": "user", "content": results}] if results else [said]


def _pi(turn: Turn, number: int) -> list[Item]:
    if isinstance(turn, User):
        content: list[Item] = [{"type": "text", "text": turn.text}]
        if turn.picture:
            content.append({"type": "image", "data": "aGk=", "mimeType": "image/png"})
        return [{"role": "user", "content": content, "timestamp": number}]
    blocks: list[Item] = []
    if turn.thought:
        blocks.append({"type": "thinking", "thinking": "plan", "thinkingSignature": f"sealed-{number}"})
    if turn.text:
        blocks.append({"type": "text", "text": turn.text})
    blocks += [
        {"type": "toolCall", "id": call.id, "name": call.name, "arguments": call.arguments}
        for call in turn.calls
    ]
    stop = "toolUse" if turn.calls else "stop"
    return [
        {"role": "assistant", "content": blocks, "stopReason": stop, "timestamp": number},
        *(
            {
                "role": "toolResult",
                "toolCallId": call.id,
                "toolName": call.name,
                "content": [{"type": "text", "text": call.output}],
                "isError": False,
                "timestamp": number,
            }
            for call in turn.calls
            if call.output is not None
        ),
    ]


def _deepseek(turn: Turn, number: int) -> list[Item]:
    """As a model that thinks: each message bears its reasoning. Nothing there is seen."""
    if isinstance(turn, User):
        return [{"role": "user", "content": turn.text}]
    first, *outputs = _chat(turn, number)
    thought = f"sealed-{number}" if turn.thought else ""
    return [{**first, "content": turn.text, "reasoning_content": thought}, *outputs]


def _mistral(turn: Turn, number: int) -> list[Item]:
    """With ids of nine letters and digits, and an answer after each output."""
    if isinstance(turn, User):
        return _chat(turn, number)
    calls = tuple(replace(call, id=f"{call.id:x>9}"[-9:].replace("_", "0")) for call in turn.calls)
    first, *outputs = _chat(replace(turn, calls=calls, thought=False), number)
    if turn.thought:
        led: Item = {"type": "thinking", "thinking": [{"type": "text", "text": f"sealed-{number}"}]}
        first["content"] = [led, {"type": "text", "text": turn.text}] if turn.text else [led]
    elif not turn.text:
        first["content"] = ""
    if outputs:
        outputs.append({"role": "assistant", "content": f"a{number} so much for that"})
    return [first, *outputs]


def _gemini(turn: Turn, number: int) -> list[Item]:
    if isinstance(turn, User):
        parts: list[Item] = [{"text": turn.text}]
        if turn.picture:
            parts.append({"inlineData": {"mimeType": "image/png", "data": "aGk="}})
        return [{"role": "user", "parts": parts}]
    said: list[Item] = [{"text": "plan", "thought": True}] if turn.thought else []
    if turn.text:
        said.append({"text": turn.text})
    said += [
        {"functionCall": {"id": call.id, "name": call.name, "args": call.arguments}} for call in turn.calls
    ]
    first = next((part for part in said if "functionCall" in part), said[-1])
    first["thoughtSignature"] = f"sealed-{number:04}"
    answers = [
        {"functionResponse": {"id": call.id, "name": call.name, "response": {"output": call.output}}}
        for call in turn.calls
        if call.output is not None
    ]
    contents = [{"role": "model", "parts": said}]
    return [*contents, {"role": "user", "parts": answers}] if answers else contents


PICTURE: Final = "data:image/png;base64,aGk="
_SAY: Final[dict[str, Callable[[Any, int], list[Item]]]] = {
    "responses": _responses,
    "chat": _chat,
    "anthropic": _anthropic,
    "pi": _pi,
    "deepseek": _deepseek,
    "mistral": _mistral,
    "gemini": _gemini,
}


def as_entries(turns: Sequence[Turn], shape: str, family: str | None) -> list[Entry]:
    """A conversation as the entries of a log, all of one shape and family."""
    ids = count()
    if shape == "gemini":
        turns = _taking_turns(turns)
    return list(_entries(turns, [shape] * len(turns), [family] * len(turns), ids))


def _taking_turns(turns: Sequence[Turn]) -> list[Turn]:
    """Turns in which a model says all in one that it says before a call, as Gemini has it."""
    made: list[Turn] = []
    for turn in turns:
        while isinstance(turn, Model) and turn.calls and isinstance(last := made[-1], Model):
            if last.calls:
                break
            said = " ".join(filter(None, (last.text, turn.text)))
            turn = Model(said, last.thought or turn.thought, turn.calls)  # noqa: PLW2901
            made.pop()
        made.append(turn)
    return made


def _entries(
    turns: Sequence[Turn], shapes: Sequence[str], families: Sequence[str | None], ids: Iterator[int]
) -> Iterator[Entry]:
    for number, (turn, shape, family) in enumerate(zip(turns, shapes, families, strict=True)):
        for place, item in enumerate(say(turn, shape, number)):
            first = isinstance(turn, Model) and place == 0
            yield MessageEntry(
                id=f"e{next(ids)}",
                timestamp=TIME,
                message=item,
                family=family,
                response=ResponseRecord(finish_reason="stop") if first else None,
            )


# ------------------------------------------------------------------------------ faults


@st.composite
def faulty(draw: st.DrawFn, shapes: Sequence[str] = SHAPES, *, boundaries: bool = True) -> list[Entry]:
    """A conversation of any shape, or of several, to which anything may have happened."""
    turns = draw(conversations())
    mixed = draw(st.booleans())
    one, family = draw(st.sampled_from(shapes)), draw(st.sampled_from(FAMILIES))
    by_turn = [draw(st.sampled_from(shapes)) if mixed else one for _ in turns]
    families = [draw(st.sampled_from(FAMILIES)) if mixed else family for _ in turns]
    entries = list(_entries(turns, by_turn, families, count()))
    fresh = count(1000)
    for _ in range(draw(st.integers(0, 4))):
        kinds = FAULTS if boundaries else [fault for fault in FAULTS if fault is not _compact]
        fault = draw(st.sampled_from(kinds))
        entries = fault(draw, entries, fresh)
    return entries


def _at(draw: st.DrawFn, entries: Sequence[Entry]) -> int:
    return draw(st.integers(0, len(entries) - 1)) if entries else 0


def _drop(draw: st.DrawFn, entries: list[Entry], fresh: Iterator[int]) -> list[Entry]:
    at = _at(draw, entries)
    return entries[:at] + entries[at + 1 :]


def _cut(draw: st.DrawFn, entries: list[Entry], fresh: Iterator[int]) -> list[Entry]:
    return entries[: _at(draw, entries) + 1]


def _repeat(draw: st.DrawFn, entries: list[Entry], fresh: Iterator[int]) -> list[Entry]:
    if not entries:
        return entries
    entry = replace(draw(st.sampled_from(entries)), id=f"e{next(fresh)}")
    at = draw(st.integers(0, len(entries)))
    return [*entries[:at], entry, *entries[at:]]


def _move(draw: st.DrawFn, entries: list[Entry], fresh: Iterator[int]) -> list[Entry]:
    if not entries:
        return entries
    left = list(entries)
    entry = left.pop(_at(draw, entries))
    left.insert(draw(st.integers(0, len(left))), entry)
    return left


def _interject(draw: st.DrawFn, entries: list[Entry], fresh: Iterator[int]) -> list[Entry]:
    shape = draw(st.sampled_from(SHAPES))
    number = next(fresh)
    turn: Turn = User(f"u{number} steer")
    if draw(st.booleans()):
        turn = Model(f"a{number} more", draw(st.booleans()), ())
    at = draw(st.integers(0, len(entries)))
    family = draw(st.sampled_from(FAMILIES))
    made = [
        MessageEntry(id=f"e{next(fresh)}", timestamp=TIME, message=item, family=family)
        for item in say(turn, shape, number)
    ]
    return [*entries[:at], *made, *entries[at:]]


def _change(
    draw: st.DrawFn, entries: list[Entry], how: Callable[[st.DrawFn, MessageEntry], MessageEntry]
) -> list[Entry]:
    if not entries:
        return entries
    at = _at(draw, entries)
    entry = entries[at]
    if not isinstance(entry, MessageEntry):
        return entries
    return [*entries[:at], how(draw, entry), *entries[at + 1 :]]


BAD_IDS: Final = ["", "call_0", "call_1", "call_1", "a|b:c", "x" * 70, "é", "\ud83d"]
ID_KEYS: Final = ("call_id", "tool_call_id", "toolCallId", "tool_use_id", "id")


def _rename(draw: st.DrawFn, entries: list[Entry], fresh: Iterator[int]) -> list[Entry]:
    """Another id for one call, in one item or in all that name it."""
    new = draw(st.sampled_from(BAD_IDS))
    everywhere = draw(st.booleans())
    old = draw(st.sampled_from(["call_1", "call_2", "call_3", "call_4"]))

    def renamed(value: Any) -> Any:
        if isinstance(value, dict):
            return {
                key: new if key in ID_KEYS and inner == old else renamed(inner)
                for key, inner in value.items()
            }
        return [renamed(inner) for inner in value] if isinstance(value, list) else value

    at = _at(draw, entries)
    return [
        replace(entry, message=renamed(entry.message))
        if isinstance(entry, MessageEntry) and (everywhere or place == at)
        else entry
        for place, entry in enumerate(entries)
    ]


TEXTS: Final = ["", "  \n", "half \ud83d here", "end  \n", "\x1b[31m"]


def _retext(draw: st.DrawFn, entries: list[Entry], fresh: Iterator[int]) -> list[Entry]:
    """Another text for one item."""
    new = draw(st.sampled_from(TEXTS))

    def retexted(value: Any) -> Any:
        if isinstance(value, dict):
            return {
                key: new
                if key in ("text", "content", "output") and isinstance(inner, str)
                else retexted(inner)
                for key, inner in value.items()
            }
        return [retexted(inner) for inner in value] if isinstance(value, list) else value

    return _change(draw, entries, lambda _, entry: replace(entry, message=retexted(entry.message)))


def _rearg(draw: st.DrawFn, entries: list[Entry], fresh: Iterator[int]) -> list[Entry]:
    """Arguments that were cut, or are no object."""
    new = draw(st.sampled_from(['{"path": "a', "[1]", "", "null", "word", None, 3, {"a": "\ud83d"}]))
    finish = draw(st.sampled_from(["stop", "max_tokens"]))

    def changed(value: Any) -> Any:
        if isinstance(value, dict):
            return {
                key: new if key in ("arguments", "input", "args") else changed(inner)
                for key, inner in value.items()
            }
        return [changed(inner) for inner in value] if isinstance(value, list) else value

    def how(_: st.DrawFn, entry: MessageEntry) -> MessageEntry:
        response = ResponseRecord(finish_reason=finish) if entry.response is not None else None
        return replace(entry, message=changed(entry.message), response=response)

    return _change(draw, entries, how)


def _rename_tool(draw: st.DrawFn, entries: list[Entry], fresh: Iterator[int]) -> list[Entry]:
    new = draw(st.sampled_from(["mcp:server.tool", "", "t" * 200, None]))

    def changed(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: new if key == "name" else changed(inner) for key, inner in value.items()}
        return [changed(inner) for inner in value] if isinstance(value, list) else value

    return _change(draw, entries, lambda _, entry: replace(entry, message=changed(entry.message)))


def _unsign(draw: st.DrawFn, entries: list[Entry], fresh: Iterator[int]) -> list[Entry]:
    """Without what is sealed, or its item id."""
    gone = draw(
        st.sampled_from(
            [
                "encrypted_content",
                "signature",
                "thoughtSignature",
                "id",
                "summary",
                "content",
                "parts",
                "role",
                "type",
            ]
        )
    )

    def changed(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: changed(inner) for key, inner in value.items() if key != gone}
        return [changed(inner) for inner in value] if isinstance(value, list) else value

    return _change(draw, entries, lambda _, entry: replace(entry, message=changed(entry.message)))


def _item_id(draw: st.DrawFn, entries: list[Entry], fresh: Iterator[int]) -> list[Entry]:
    new = draw(st.sampled_from(["custom", "fc_a:1", "fc_1_0", "msg_1", "rs_1"]))
    return _change(draw, entries, lambda _, entry: replace(entry, message={**entry.message, "id": new}))


def _flag(draw: st.DrawFn, entries: list[Entry], fresh: Iterator[int]) -> list[Entry]:
    flag = draw(st.sampled_from(["interrupted", "stand_in"]))
    return _change(draw, entries, lambda _, entry: replace(entry, **{flag: True}))  # type: ignore[arg-type]


def _role(draw: st.DrawFn, entries: list[Entry], fresh: Iterator[int]) -> list[Entry]:
    new = draw(st.sampled_from(["system", "developer", "assistant", "user", "tool"]))

    def how(_: st.DrawFn, entry: MessageEntry) -> MessageEntry:
        return replace(entry, message={**entry.message, "role": new}) if "role" in entry.message else entry

    return _change(draw, entries, how)


ODD: Final[list[Item]] = [
    {"role": "model", "parts": [{"functionCall": {"name": "bash", "args": {}}}]},
    {"role": "model", "parts": [{"function_call": {"id": "call_1", "name": "bash", "args": {"n": 1}}}]},
    {"role": "model", "parts": [{"text": "a-odd"}, {"functionCall": {"id": 3, "name": "9!", "args": "[1]"}}]},
    {"role": "user", "parts": [{"functionResponse": {"name": "bash", "response": {"output": "o-odd"}}}]},
    {"role": "user", "parts": [{"functionResponse": {"id": "call_1", "name": "sh", "response": "o-text"}}]},
    {"role": "user", "parts": [{"text": "u-before"}, {"function_response": {"name": "bash"}}]},
    {"role": "function", "parts": [{"functionResponse": {"id": "call_2", "response": []}}, {"text": "u-r"}]},
    {"role": "model", "parts": [{"text": "", "thoughtSignature": "sealed-e"}, {"text": " "}, 3, {}]},
    {"role": "model", "parts": [{"text": "a-two", "functionCall": {"name": "bash"}, "thought": []}]},
    {"role": "model", "parts": [{"text": "hm", "thought": True, "thoughtSignature": "sealed!"}]},
    {"role": "model", "parts": [{"executableCode": {"code": "1"}}, {"codeExecutionResult": {"output": "1"}}]},
    {"role": "user", "parts": [{"inlineData": {"data": ""}}, {"file_data": {}}, {"hologram": 1}]},
    {"role": "model"},
    {"parts": [{"text": "u-no-role"}], "timestamp": 1},
    {"parts": []},
    {
        "type": "web_search_call",
        "id": "ws_1",
        "status": "completed",
        "action": {"type": "search", "query": "q"},
    },
    {"type": "image_generation_call", "id": "ig_1", "result": "aGk="},
    {"type": "custom_tool_call", "call_id": "call_c", "name": "apply_patch", "input": "*** Begin"},
    {"type": "custom_tool_call_output", "call_id": "call_c", "output": "done"},
    {
        "type": "function_call_output",
        "call_id": "call_c",
        "output": [{"type": "input_text", "text": "o-list"}],
    },
    {
        "type": "local_shell_call",
        "call_id": "call_l",
        "action": {"type": "exec", "command": ["ls"]},
        "status": "completed",
    },
    {"type": "function_call_output", "call_id": "call_l", "output": "o-shell"},
    {"type": "tool_search_call", "call_id": "call_1", "arguments": {}},
    {"type": "tool_search_output", "call_id": "call_1", "tools": []},
    {"type": "computer_call", "call_id": "call_m", "action": {"type": "click"}},
    {"type": "shell_call", "call_id": "call_s", "action": {"commands": ["ls"]}},
    {
        "type": "apply_patch_call",
        "call_id": "call_2",
        "status": "completed",
        "operation": {"type": "delete_file"},
    },
    {"type": "function_call_output", "call_id": "call_s", "output": "o-other"},
    {"type": "compaction", "encrypted_content": "sealed-c"},
    {"type": "surprise", "value": 1},
    {"type": "item_reference", "id": "msg_9"},
    {
        "role": "assistant",
        "content": [{"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {}}],
    },
    {
        "role": "assistant",
        "content": [
            {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": []},
            {"type": "text", "text": "a-found"},
        ],
    },
    {"role": "assistant", "content": [{"type": "redacted_thinking", "data": "sealed-r"}]},
    {
        "role": "user",
        "content": [{"type": "text", "text": "u-first"}, {"type": "tool_result", "tool_use_id": "call_1"}],
    },
    {
        "role": "user",
        "content": [
            {
                "type": "tool_result",
                "tool_use_id": "call_2",
                "content": [{"type": "text", "text": " "}],
                "is_error": True,
            }
        ],
    },
    {"role": "assistant", "content": None, "tool_calls": []},
    {"role": "assistant", "content": [], "refusal": "a-no"},
    {"role": "assistant", "content": "a-aborted", "stopReason": "aborted", "timestamp": 1},
    {"type": [], "role": {}, "content": {}},
    {"role": ["user"], "content": [{"type": []}, 3, None, "u-bare"]},
    {"type": "function_call", "call_id": [], "name": {}, "arguments": {"a": 1}, "id": {}},
    {"type": "function_call_output", "call_id": {}, "output": {"a": "o"}},
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": []}]},
    {
        "role": "assistant",
        "content": {},
        "tool_calls": [3, {"id": [], "function": []}, {"function": {"name": []}}],
    },
    {"role": "tool", "tool_call_id": [], "content": {}},
    {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": {}, "content": {}}, {"type": "text", "text": {}}],
    },
    {"role": "assistant", "content": [{"type": "tool_use", "id": [], "name": [], "input": []}]},
    {"role": "assistant", "content": [{"type": "thinking", "thinking": [], "signature": {}}]},
    {
        "role": "user",
        "content": [{"type": "image", "source": {}}, {"type": "document"}, {"type": "image_url"}],
    },
    {"type": "reasoning", "summary": {}, "encrypted_content": [], "id": []},
    {"type": "compaction_summary", "encrypted_content": "sealed-s", "id": 3},
    {},
    {"role": "user"},
    {"content": "u-no-role"},
]


def _odd(draw: st.DrawFn, entries: list[Entry], fresh: Iterator[int]) -> list[Entry]:
    at = draw(st.integers(0, len(entries)))
    made = MessageEntry(
        id=f"e{next(fresh)}",
        timestamp=TIME,
        message=draw(st.sampled_from(ODD)),
        family=draw(st.sampled_from(FAMILIES)),
    )
    return [*entries[:at], made, *entries[at:]]


def _compact(draw: st.DrawFn, entries: list[Entry], fresh: Iterator[int]) -> list[Entry]:
    at = draw(st.integers(0, len(entries)))
    number = next(fresh)
    earlier = [entry.id for entry in entries[:at]]
    kept = draw(st.sampled_from([None, "gone", *earlier, *earlier]))
    replacement: tuple[Item, ...] = draw(
        st.sampled_from(
            [
                (),
                ({"type": "compaction", "encrypted_content": "sealed-k"},),
                ({"role": "user", "content": "u-kept"},),
            ]
        )
    )
    entry = CompactionEntry(
        id=f"k{number}",
        timestamp=TIME,
        compaction=Compaction(
            summary=draw(st.sampled_from([f"s{number} summary", f"s{number} half \ud83d", " ", ""])),
            first_kept_entry_id=kept,
            replacement=replacement,
            family=draw(st.sampled_from(FAMILIES)),
        ),
    )
    return [*entries[:at], entry, *entries[at:]]


Fault = Callable[[st.DrawFn, list[Entry], Iterator[int]], list[Entry]]
FAULTS: Final[list[Fault]] = [
    _drop,
    _cut,
    _repeat,
    _move,
    _interject,
    _rename,
    _retext,
    _rearg,
    _rename_tool,
    _unsign,
    _item_id,
    _flag,
    _role,
    _odd,
    _odd,
    _compact,
]
