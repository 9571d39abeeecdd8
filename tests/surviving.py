"""What of a log's items is still there in a context, told by a reading of its own.

Nothing of the package reads items here: what each shape holds is spelled out again, from the
providers' documents. A thing survives if it stands in the context; if not, it must be listed:
in a change of the entry it was in, or in what a change holds.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from transcript_log.context import Context, ContextRow

__all__ = ["Thing", "lost", "things_in"]

Thing = tuple[str, str]
"""What sort of thing it is (``text``, ``call``, ``output``), and what it says."""

_TEXTS = frozenset({"text", "input_text", "output_text"})


def things_in(item: Any) -> Iterator[Thing]:
    """The texts, calls and outputs of one item of any shape."""
    if not isinstance(item, dict):
        return
    kind, role = item.get("type"), item.get("role")
    if isinstance(kind, str) and kind != "message" and role is None:
        yield from _flat(item, kind)
        return
    if role in ("tool", "toolResult", "function"):
        yield ("output", _joined(item.get("content")))
        return
    if isinstance(item.get("parts"), list):  # Gemini
        yield from _gemini(item["parts"])
        return
    content = item.get("content")
    for block in content if isinstance(content, list) else [content]:
        if isinstance(block, str):
            yield ("text", block)
        elif isinstance(block, dict):
            yield from _block(block)
    if isinstance(item.get("refusal"), str):
        yield ("text", item["refusal"])
    for call in item.get("tool_calls") or () if isinstance(item.get("tool_calls"), list) else ():
        body = call.get("function") or call.get("custom") if isinstance(call, dict) else None
        if isinstance(body, dict):
            yield ("call", _call(body.get("name"), body.get("arguments", body.get("input"))))


_TOOLS = ("local_shell", "shell", "apply_patch", "computer")


def _flat(item: dict[str, Any], kind: str) -> Iterator[Thing]:
    if kind in ("function_call", "custom_tool_call"):
        yield ("call", _call(item.get("name"), item.get("arguments", item.get("input"))))
    elif kind in ("function_call_output", "custom_tool_call_output"):
        yield ("output", _joined(item.get("output")))
    elif kind in (f"{tool}_call" for tool in _TOOLS):
        yield ("call", _call(kind.removesuffix("_call"), item.get("action", item.get("operation"))))
    elif kind in (f"{tool}_call_output" for tool in _TOOLS):
        yield ("output", _joined(item.get("output")))


def _block(block: dict[str, Any]) -> Iterator[Thing]:
    kind = block.get("type")
    if kind in _TEXTS or kind is None:
        if isinstance(block.get("text"), str):
            yield ("text", block["text"])
    elif kind == "refusal":
        yield ("text", str(block.get("refusal") or ""))
    elif kind == "tool_use":
        yield ("call", _call(block.get("name"), block.get("input")))
    elif kind == "toolCall":
        yield ("call", _call(block.get("name"), block.get("arguments")))
    elif kind == "tool_result":
        yield ("output", _joined(block.get("content")))


def _gemini(parts: list[Any]) -> Iterator[Thing]:
    for part in parts:
        if not isinstance(part, dict) or part.get("thought") is True:
            continue
        if isinstance(part.get("text"), str):
            yield ("text", part["text"])
        call, answer = part.get("functionCall"), part.get("functionResponse")
        if isinstance(call, dict):
            yield ("call", _call(call.get("name"), call.get("args")))
        if isinstance(answer, dict):
            given = answer.get("response")
            said = (
                given.get("output", given.get("error", given.get("result")))
                if isinstance(given, dict)
                else given
            )
            yield ("output", _joined(said))


def _call(name: Any, arguments: Any) -> str:
    """A call by its name and what it is given, whatever the words."""
    safe = re.sub(r"[^A-Za-z0-9_-]", "_", name if isinstance(name, str) else "")
    given = arguments
    if isinstance(given, str):
        try:
            value = json.loads(given)
        except ValueError:
            value = {"input": given}
        given = value if isinstance(value, dict) else {"arguments": value}
    return f"{safe} {json.dumps({} if given is None else given, sort_keys=True)}"


def _joined(content: Any) -> str:
    """The text of an output, without the places where its parts meet."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(
            part if isinstance(part, str) else str(part.get("text") or part.get("stdout") or "")
            for part in content
            if isinstance(part, str | dict)
        )
    return ""


def _plain(thing: Thing) -> Thing:
    """A thing without what rendering may change: white space, and halves of characters."""
    sort, said = thing
    return sort, "".join(re.sub("[\ud800-\udfff]", "\ufffd", said).split())


_HARMLESS = frozenset(
    {"call-id", "error-flag", "foreign-key", "item-id", "private", "reasoning-missing", "role"}
)
"""Rewordings that leave what was said, called and given back as it was."""


def lost(rows: Iterable[ContextRow], context: Context) -> list[str]:
    """What of the live items of a log is neither in a context nor listed by its changes.

    Args:
        rows: The live items, each with its entry (:func:`transcript_log.context.live_rows`).
        context: The context that was made of them.
    """
    sent = Counter(_plain(thing) for item in context.items for thing in things_in(item))
    texts = "\0".join(said for sort, said in sent if sort == "text")
    told = {
        change.entry
        for change in context.changes
        if change.kind == "left-out" or (change.kind == "rewritten" and change.rule not in _HARMLESS)
    }
    held = json.dumps([change.item for change in context.changes], ensure_ascii=True, default=str)
    missing = []
    for row in rows:
        for thing in map(_plain, things_in(row.item)):
            sort, said = thing
            if not said or said == _plain(("", "(no output)"))[1]:
                continue
            if sent[thing] > 0:
                sent[thing] -= 1
            elif not (
                told.intersection(row.entries)
                or (sort == "text" and said in texts)
                or (len(said) > 8 and json.dumps(said)[1:-1] in "".join(held.split()))
            ):
                missing.append(f"entry {row.entry}: {sort} {said[:60]!r}")
    return missing
