"""Small sessions of pi, and what pi itself would have sent of each when it went on.

Each ``NAME.jsonl`` in ``tests/data/pi`` is a session that was made by hand; ``NAME.json``
beside it says why it is there and what is sent, as far as pi and this package agree: who
says what, which call has which output, which reasoning goes back. How the API spells that is
left aside. ``"*"`` is any id, ``"..."`` any output that was made up.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from transcript_log import items
from transcript_log.context import STAND_IN_UNKNOWN
from transcript_log.entries import Item, Json
from transcript_log.families import Target
from transcript_log.importers import Imported
from transcript_log.importers.pi import import_pi

__all__ = ["FOLDER", "NAMES", "lines_of", "read", "said", "wanted"]

FOLDER: Final = Path(__file__).resolve().parent / "data" / "pi"
NAMES: Final = sorted(path.stem for path in FOLDER.glob("*.jsonl"))


def lines_of(name: str) -> list[bytes]:
    with (FOLDER / f"{name}.jsonl").open("rb") as file:
        return list(file)


def read(name: str) -> Imported:
    return import_pi(lines_of(name), path=f"{name}.jsonl")


def wanted(name: str) -> tuple[Target, list[Json]]:
    """Where a session goes on, and what is sent there."""
    told = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return Target(told["api"], told["model"], told["platform"]), told["sent"]


def said(sent: Sequence[Item], like: Sequence[Json]) -> list[Json]:
    """What items say, one list for each thing; ids and made-up outputs as ``like`` has them."""
    found = [told for item in sent for told in _told(item)]
    for one, other in zip(found, like, strict=False):
        if one[0] in ("call", "output") and len(other) > 1 and other[1] == "*":
            one[1] = "*"
        if one[0] == "output" and one[2] == STAND_IN_UNKNOWN:
            one[2] = "..."
    return found


def _told(item: Item) -> Iterator[list[Any]]:
    content = item.get("content")
    name = [item["id"]] if "id" in item else []
    for part in items.parts(item):
        match part:
            case items.TextPart(text=text):
                yield [item["role"], text, *name]
            case items.ReasoningPart(text=text, place=place) if item.get("type") == "reasoning":
                yield ["reasoning", text, *name, item["encrypted_content"]]
            case items.ReasoningPart(text=text, place=place):
                block = content[place] if isinstance(content, list) else {}
                if "parts" in item:
                    block = {"signature": item["parts"][place].get("thoughtSignature")}
                keys = ("reasoning_content", "reasoning", "reasoning_text")
                mark = next((key for key in keys if key in item), None)
                yield ["reasoning", text, mark or block.get("signature") or block.get("data")]
            case items.ToolCallPart(id=call_id, name=tool, arguments=given):
                yield ["call", call_id, tool, json.loads(given) if type(given) is str else given, *name]
            case items.ToolOutputPart(id=call_id, content=output, is_error=is_error):
                yield ["output", call_id, items.output_text(output), *(["error"] if is_error else [])]
            case _:
                yield [type(part).__name__]
