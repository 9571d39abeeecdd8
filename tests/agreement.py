"""Where the rules of the APIs and the checker beside the cases say different things, and why.

The checker (``tests/data/cases/api_rules.py``) was written by others from the same bug reports. It
speaks of three shapes, and of fewer rules; the dialects of Chat Completions are asked as ``chat``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import test_apis
import test_apis_dialects
from case_contexts import rules
from test_cases import folder

from transcript_log.apis import APIS

__all__ = ["PARTLY", "SILENT", "TAKEN", "agreement_part", "found_alone", "taken_alone"]

_ROWS: Final[dict[str, tuple[str, list[Any], list[list[Any]]]]] = {
    test_apis.TARGETS[short].api: (short, test_apis.BROKEN[short], test_apis.NEAR[short])
    for short in ("responses", "chat", "anthropic")
} | {
    test_apis_dialects.TARGETS[short].api: (
        "chat",
        test_apis_dialects.BROKEN[short],
        test_apis_dialects.NEAR[short],
    )
    for short in ("deepseek", "mistral")
}
"""Of each API, what the checker calls it, items that break rules, and items that only seem to."""

SILENT: Final[dict[str, frozenset[str]]] = {
    "openai-responses": frozenset(
        {"blank-text", "content", "foreign-key", "foreign-shape", "item-id-twice", "name"}
        | {"output-content", "part-type", "reasoning-keys", "surrogate"}
    ),
    "openai-chat": frozenset(
        {"blank-text", "calls-empty", "foreign-key", "foreign-shape", "name", "part-type", "surrogate"}
    ),
    "anthropic-messages": frozenset(
        {"arguments", "ends-with-assistant", "foreign-key", "name", "output-content", "part-type", "role"}
        | {"surrogate"}
    ),
    "deepseek-chat": frozenset(
        {
            "blank-text",
            "calls-empty",
            "call-id",
            "ends-with-assistant",
            "foreign-key",
            "foreign-shape",
            "name",
        }
        | {"part-type", "reasoning-missing", "reasoning-refused", "surrogate"}
    ),
    "mistral-chat": frozenset(
        {"blank-text", "calls-empty", "ends-with-assistant", "first-user", "foreign-key", "foreign-shape"}
        | {"name", "part-type", "prefix", "role-order", "surrogate"}
    ),
}
"""The rules that the checker says nothing of."""

PARTLY: Final[dict[tuple[str, str], str]] = {
    ("openai-responses", "item-id"): "it looks at the ids of function calls, and not at their length",
    ("openai-responses", "reasoning-content"): "white space passes for encrypted content there",
    ("openai-responses", "arguments"): "it reads only arguments that are text",
    ("openai-chat", "call-id"): "it allows 64 characters; OpenAI allows 40",
    ("openai-chat", "content"): "it asks nothing of the content of a tool message",
    ("openai-chat", "arguments"): "it reads only arguments that are text",
    ("anthropic-messages", "signature"): "it does not look at redacted thinking",
    ("anthropic-messages", "call-id"): "it does not ask how long an id is",
    ("mistral-chat", "call-id"): "it knows nothing of nine letters and digits",
}
"""The rules that it has too, and sees broken in fewer ways."""

TAKEN: Final[dict[tuple[str, str], str]] = {
    (
        "openai-responses",
        "local_shell_call",
    ): "it looks for `call_id`; the output of a local shell may have `id`",
    ("openai-chat", "custom"): "it knows calls of functions alone",
    ("openai-chat", "audio"): "it does not know that an answer may be sound",
}
"""What it refuses, and the API takes."""


def _says(api: str, items: list[Any]) -> bool | None:
    """Whether the checker has something to say; None where it cannot read the items."""
    try:
        return bool(rules(folder()).problems(_ROWS[api][0], items))
    except (AttributeError, KeyError, TypeError):
        return None


def found_alone() -> Iterator[tuple[str, str, bool]]:
    """Each rule of each API that is broken here without a word there, and whether only at times."""
    for api, (_, broken, _) in _ROWS.items():
        for rule in APIS[api].rules:
            said = [_says(api, row.items) is True for row in broken if row.rule == rule]
            if not all(said):
                yield api, rule, any(said)


def taken_alone() -> Iterator[tuple[str, str]]:
    """Each API, and what it is in items that break no rule here, and one there."""
    for api, (_, _, near) in _ROWS.items():
        for items in near:
            if _says(api, items) is not False:
                yield api, repr(items)


def agreement_part() -> str:
    """The table of ``docs/context.md``."""
    lines = ["| API | the checker says nothing of |", "| --- | --- |"]
    lines += [
        f"| `{api}` | {', '.join(f'`{rule}`' for rule in APIS[api].rules if rule in silent)} |"
        for api, silent in SILENT.items()
    ]
    lines += ["", "| API | | why they differ |", "| --- | --- | --- |"]
    lines += [f"| `{api}` | `{rule}`, in part | {why} |" for (api, rule), why in PARTLY.items()]
    lines += [f"| `{api}` | `{what}`, which it refuses | {why} |" for (api, what), why in TAKEN.items()]
    return "\n".join(lines)
