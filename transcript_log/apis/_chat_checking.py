"""Whether messages obey the rules of a dialect of Chat Completions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from .._json import is_json
from ..entries import Item
from ..findings import Finding
from ._base import has_surrogate
from ._dialect import FOREIGN_KEYS, ChatDialect

__all__ = ["body_of", "check_chat", "is_blank", "is_right", "may_be_empty"]


def check_chat(items: Sequence[Item], dialect: ChatDialect) -> Iterator[Finding]:
    """The rules that messages break, in their order."""
    rules = dialect.rules
    if not items:
        yield rules["empty-input"].at(None, "there is nothing to send")
    waiting: dict[str, bool] = {}
    asked = -1
    for place, message in enumerate(items):
        speaker = message.get("role")
        if speaker == "tool":
            call_id = message.get("tool_call_id")
            if type(call_id) is not str or call_id not in waiting:
                why = "no call of the message before it has this id"
                yield rules["output-without-call"].at(place, why, str(call_id))
            elif waiting[call_id]:
                yield rules["output-twice"].at(place, "the call has an output already", call_id)
            else:
                waiting[call_id] = True
        elif waiting:
            yield from _unanswered(asked, waiting, dialect)
            waiting = {}
        if not _is_plain(message, speaker, dialect):
            yield from _check_message(place, message, speaker, dialect)
        calls = message.get("tool_calls")
        if calls is not None and speaker != "assistant":
            yield rules["foreign-shape"].at(place, f"a message of the {speaker} has no calls")
        elif calls is not None:
            asked = place
            if type(calls) is not list or not calls:
                yield rules["calls-empty"].at(place, "the list of calls is empty")
            else:
                for call in calls:
                    yield from _check_call(place, call, waiting, dialect)
        if has_surrogate(message):
            yield rules["surrogate"].at(place, "some text holds half a character")
    yield from _unanswered(asked, waiting, dialect)


def _unanswered(place: int, waiting: Mapping[str, bool], dialect: ChatDialect) -> Iterator[Finding]:
    for call_id, is_answered in waiting.items():
        if not is_answered:
            why = "the call has no tool message right after it"
            yield dialect.rules["output-missing"].at(place, why, call_id)


def _is_plain(message: Item, speaker: Any, dialect: ChatDialect) -> bool:
    """Whether a message is text under its role, and plainly right."""
    content = message.get("content")
    if type(content) is not str or not content or content.isspace() or type(speaker) is not str:
        return False
    if dialect.keys is None:
        return speaker in dialect.parts and FOREIGN_KEYS.isdisjoint(message)
    known = dialect.keys.get(speaker)
    return known is not None and message.keys() <= known and "name" not in message


def is_right(message: Item, dialect: ChatDialect) -> bool:
    """Whether a message is plainly right but for the ids of its calls."""
    speaker = message.get("role")
    content = message.get("content")
    if "tool_calls" not in message:
        if type(content) is list:
            return _are_plain(message, speaker, content, dialect)
        return _is_plain(message, speaker, dialect)
    calls = message["tool_calls"]
    if speaker != "assistant" or type(calls) is not list or not calls or "refusal" in message:
        return False
    if content is not None and (type(content) is not str or content.isspace()):
        return False
    known = None if dialect.keys is None else dialect.keys["assistant"]
    if not (FOREIGN_KEYS.isdisjoint(message) if known is None else message.keys() <= known):
        return False
    for call in calls:
        body = call.get("function") if type(call) is dict else None
        if type(body) is not dict or not dialect.names.fits(body.get("name")):
            return False
        arguments = body.get("arguments")
        if type(arguments) is not str or not is_json(arguments):
            return False
        known = dialect.call_keys
        if known is not None and not (call.keys() <= known and body.keys() <= _BODY):
            return False
    return True


def _are_plain(message: Item, speaker: Any, content: list[Any], dialect: ChatDialect) -> bool:
    """Whether the parts of a message are text, and plainly right."""
    if type(speaker) is not str or speaker not in dialect.parts or not content:
        return False
    if dialect.foreign(message, speaker) or "refusal" in message or "name" in message:
        return False
    known = dialect.part_keys.get("text")
    for part in content:
        if type(part) is not dict or part.get("type") != "text" or "textSignature" in part:
            return False
        said = part.get("text")
        if type(said) is not str or not said or said.isspace() or (known and not part.keys() <= known):
            return False
    return True


_BODY: Final = frozenset({"name", "arguments"})


def _check_message(place: int, message: Item, speaker: Any, dialect: ChatDialect) -> Iterator[Finding]:
    rules = dialect.rules
    allowed = dialect.parts.get(speaker) if type(speaker) is str else None
    if allowed is None or (type(message.get("type")) is str and message["type"] != "message"):
        yield rules["foreign-shape"].at(place, f"it is no message of this API (role {speaker!r})")
        return
    if foreign := dialect.foreign(message, speaker):
        yield rules["foreign-key"].at(place, f"the message bears {', '.join(sorted(foreign))}")
    name = message.get("name")
    if speaker == "tool" and dialect.keys is not None and name is not None and not dialect.names.fits(name):
        yield rules["name"].at(place, f"{name!r} is no name of a tool")
    content = message.get("content")
    if type(content) is list and content:
        yield from _check_parts(place, content, speaker, dialect)
    elif not (type(content) is str and (content or speaker == "tool")) and not may_be_empty(message, speaker):
        yield rules["content"].at(place, "the message is empty")
    elif type(content) is str and content.isspace() and speaker != "tool":
        yield rules["blank-text"].at(place, "the text is blank")
    elif content == []:
        yield rules["content"].at(place, "the list of parts is empty")


def _check_parts(place: int, content: list[Any], speaker: str, dialect: ChatDialect) -> Iterator[Finding]:
    for part in content:
        if is_blank(part):
            yield dialect.rules["blank-text"].at(place, "a text is blank")
        if not dialect.takes(part, speaker):
            named = part.get("type") if type(part) is dict else type(part).__name__
            yield dialect.rules["part-type"].at(place, f"a message of the {speaker} has no part {named!r}")
            break
        if spare := dialect.spare(part):
            extra = ", ".join(sorted(map(str, spare)))
            yield dialect.rules["foreign-key"].at(place, f"a part of type {part['type']!r} bears {extra}")


def is_blank(part: Any) -> bool:
    """Whether a part is a text of white space."""
    if type(part) is not dict or part.get("type") != "text":
        return False
    said = part.get("text")
    return type(said) is str and not said.strip()


def may_be_empty(message: Item, speaker: Any) -> bool:
    """Whether a message says enough without content."""
    return speaker == "assistant" and bool(
        message.get("tool_calls") or message.get("function_call") or message.get("audio")
    )


def body_of(call: Any, dialect: ChatDialect) -> tuple[str, dict[str, Any]] | None:
    """The kind of an entry of ``tool_calls`` and its body; None if it is no call of this dialect."""
    if type(call) is dict:
        for kind in dialect.kinds:
            body = call.get(kind)
            if type(body) is dict:
                return kind, body
    return None


def _check_call(place: int, call: Any, waiting: dict[str, bool], dialect: ChatDialect) -> Iterator[Finding]:
    rules = dialect.rules
    found = body_of(call, dialect)
    if found is None:
        yield rules["foreign-shape"].at(place, "an entry of tool_calls is no call")
        return
    kind, body = found
    call_id = call.get("id")
    if type(call_id) is not str or not dialect.ids.fits(call_id):
        yield rules["call-id"].at(place, f"{call_id!r} is no call id", str(call_id))
        call_id = str(call_id)
    if call_id in waiting:
        yield rules["call-twice"].at(place, "two calls of the message have one id", call_id)
    waiting[call_id] = False
    name = body.get("name")
    if not dialect.names.fits(name):
        yield rules["name"].at(place, f"{name!r} is no name of a tool", call_id)
    if kind == "function":
        arguments = body.get("arguments")
        if type(arguments) is not str or not is_json(arguments):
            yield rules["arguments"].at(place, "the arguments are no JSON", call_id)
    known = dialect.call_keys
    if known is not None and not (call.keys() <= known and body.keys() <= _BODY):
        extra = ", ".join(sorted({*(call.keys() - known), *(body.keys() - _BODY)}))
        yield rules["foreign-key"].at(place, f"the call bears {extra}", call_id)
