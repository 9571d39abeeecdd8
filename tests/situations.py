"""Situations that sessions end up in, and what a model is then sent: the table of ``docs/context.md``.

Run as a script, this writes the generated parts of that page anew.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from agreement import agreement_part

from transcript_log import items
from transcript_log.apis import APIS
from transcript_log.codec import outcome_payload
from transcript_log.context import Context, build_context
from transcript_log.entries import (
    Compaction,
    CompactionEntry,
    Entry,
    MessageEntry,
    ResponseRecord,
    ToolOutcome,
)
from transcript_log.families import Target

__all__ = ["SITUATIONS", "Situation", "agreement_part", "page", "rules_part", "situations_part"]

PAGE: Final = Path(__file__).resolve().parent.parent / "docs" / "context.md"
TIME: Final = datetime(2026, 1, 2, tzinfo=UTC)

OPENAI: Final = Target("openai-responses", "gpt-5")
CHAT: Final = Target("openai-chat", "gpt-5")
CLAUDE: Final = Target("anthropic-messages", "claude-opus-4-6")
GEMINI: Final = Target("gemini", "gemini-3-pro")

Item = dict[str, Any]


@dataclass(frozen=True)
class Situation:
    """A log in a bad way, and where it goes."""

    title: str
    why: str
    entries: Sequence[Entry]
    target: Target
    details: Mapping[tuple[str, str | None], Any] = field(default_factory=dict)

    def context(self) -> Context:
        """What is sent."""
        return build_context(self.entries, self.target, details=self.details)


# ----------------------------------------------------------------------------- making


def log(*given: Item | Entry, family: str | None) -> list[Entry]:
    """Items as message entries ``e1``, ``e2``, …; ready entries as they are."""
    made: list[Entry] = []
    for number, one in enumerate(given, 1):
        if isinstance(one, dict):
            made.append(MessageEntry(id=f"e{number}", timestamp=TIME, message=one, family=family))
        else:
            made.append(one)
    return made


def entry(number: int, item: Item, family: str | None, **more: Any) -> MessageEntry:
    return MessageEntry(id=f"e{number}", timestamp=TIME, message=item, family=family, **more)


def compaction(number: int, summary: str, kept: str | None) -> CompactionEntry:
    made = Compaction(summary=summary, first_kept_entry_id=kept)
    return CompactionEntry(id=f"k{number}", timestamp=TIME, compaction=made)


def user(text: str) -> Item:
    return {"role": "user", "content": text}


def said(text: str) -> Item:
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"type": "message", "role": "assistant", "content": [part]}


def call(call_id: str, name: str = "bash") -> Item:
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": '{"cmd":"make"}'}


def output(call_id: str, text: str) -> Item:
    return {"type": "function_call_output", "call_id": call_id, "output": text}


def sealed(number: int) -> Item:
    return {"type": "reasoning", "id": f"rs_{number}", "summary": [], "encrypted_content": f"gAAAA{number}"}


def use(*calls: str, text: str = "") -> Item:
    blocks: list[Item] = [{"type": "text", "text": text}] if text else []
    blocks += [{"type": "tool_use", "id": one, "name": "bash", "input": {"cmd": "make"}} for one in calls]
    return {"role": "assistant", "content": blocks}


def result(*answers: tuple[str, str], text: str = "", text_first: bool = False) -> Item:
    blocks: list[Item] = [
        {"type": "tool_result", "tool_use_id": one, "content": answer} for one, answer in answers
    ]
    told: list[Item] = [{"type": "text", "text": text}] if text else []
    return {"role": "user", "content": told + blocks if text_first else blocks + told}


def chat_calls(*calls: str) -> Item:
    made = [
        {"id": one, "type": "function", "function": {"name": "bash", "arguments": '{"cmd":"make"}'}}
        for one in calls
    ]
    return {"role": "assistant", "content": None, "tool_calls": made}


def asks(*names: str, signed: bool = True) -> Item:
    """Calls of Gemini without ids, the first of them signed."""
    parts: list[Item] = [{"functionCall": {"name": name, "args": {"cmd": "make"}}} for name in names]
    if signed:
        parts[0]["thoughtSignature"] = "CiQB0e2K"
    return {"role": "model", "parts": parts}


def answers(name: str, text: str) -> Item:
    return {
        "role": "user",
        "parts": [{"functionResponse": {"name": name, "response": {"output": text}}}],
    }


def tool(call_id: str, text: str) -> Item:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


R: Final = OPENAI.family
C: Final = CHAT.family
A: Final = CLAUDE.family
G: Final = GEMINI.family

SITUATIONS: Final = [
    Situation(
        "Killed between a call and its output",
        "Nobody knows what the call did. A stand-in says so; the log stays as it is.",
        log(user("build it"), call("c1"), user("are you there?"), family=R),
        OPENAI,
    ),
    Situation(
        "Killed after the call ended, before its output was stored",
        "The sidecar knows how it ended, and the stand-in tells.",
        log(user("build it"), call("c1"), family=R),
        OPENAI,
        {("c1", "e2"): outcome_payload(ToolOutcome(status="failed", exit_code=2))},
    ),
    Situation(
        "Killed inside a group of parallel calls",
        "Only what is missing is made up, in the place of its call.",
        log(
            user("go"),
            chat_calls("c1", "c2", "c3"),
            tool("c1", "one"),
            tool("c3", "three"),
            user("go on"),
            family=C,
        ),
        CHAT,
    ),
    Situation(
        "A second window's message between calls and outputs",
        "Outputs go up to their calls, what the user said after them.",
        log(
            user("go"),
            chat_calls("c1", "c2"),
            tool("c1", "one"),
            user("and be quick"),
            tool("c2", "two"),
            family=C,
        ),
        CHAT,
    ),
    Situation(
        "Text before the output in one message",
        "Anthropic wants the outputs first.",
        log(
            user("go"),
            use("c1"),
            result(("c1", "one"), text="by the way", text_first=True),
            family=A,
        ),
        CLAUDE,
    ),
    Situation(
        "Unanswered call, then the user",
        "The stand-in leads the message that follows it.",
        log(user("go"), use("c1", text="sure"), user("stop, do this instead"), family=A),
        CLAUDE,
    ),
    Situation(
        "One id in two turns",
        "An output belongs to the nearest call before it; where ids must differ, the later pair is renamed.",
        log(
            user("a"),
            use("call_0"),
            result(("call_0", "first")),
            user("b"),
            use("call_0"),
            result(("call_0", "second")),
            family=A,
        ),
        CLAUDE,
    ),
    Situation(
        "Another provider",
        "What only the first can read goes, the rest is said in the words of the other.",
        log(
            user("go"),
            sealed(1),
            said("looking"),
            call("c1"),
            output("c1", "done"),
            said("it is done"),
            family=R,
        ),
        CLAUDE,
    ),
    Situation(
        "And back again",
        "What was sealed at first can be read again: the log has it still.",
        [
            *log(user("go"), sealed(1), call("c1"), output("c1", "done"), family=R),
            entry(5, use("t1", text="on it"), A),
            entry(6, result(("t1", "built")), A),
            entry(7, user("thanks"), R),
        ],
        OPENAI,
    ),
    Situation(
        "Two compactions",
        "The newest counts; the older one inside of what it keeps adds nothing.",
        [
            *log(user("one"), user("two"), call("c1"), family=R),
            compaction(1, "SUMMARY ONE", "e2"),
            entry(4, output("c1", "done"), R),
            compaction(2, "SUMMARY TWO", "e2"),
            entry(5, user("three"), R),
        ],
        OPENAI,
    ),
    Situation(
        "Compaction with a call open",
        "What is kept begins at the call, and the output that comes later finds it.",
        [
            *log(user("one"), call("c1"), family=R),
            compaction(1, "SUMMARY", "e2"),
            entry(3, output("c1", "done"), R),
        ],
        OPENAI,
    ),
    Situation(
        "What is kept begins inside a group",
        "An output whose call was compacted goes.",
        [
            *log(user("one"), chat_calls("c1", "c2"), tool("c1", "one"), tool("c2", "two"), family=C),
            compaction(1, "SUMMARY", "e4"),
            entry(5, user("two"), C),
        ],
        CHAT,
    ),
    Situation(
        "A compaction that keeps from an entry that is not there",
        "The summary and what follows it are kept, and that is told.",
        [*log(user("one"), family=C), compaction(1, "SUMMARY", "gone"), entry(2, user("two"), C)],
        CHAT,
    ),
    Situation(
        "The real output, after a stand-in was sent",
        "What came later was made from the stand-in, so that stays.",
        [
            *log(user("go"), call("c1"), family=R),
            entry(3, output("c1", "[outcome unknown]"), R, stand_in=True),
            *(entry(4 + n, item, R) for n, item in enumerate([said("I will check"), output("c1", "real")])),
        ],
        OPENAI,
    ),
    Situation(
        "An output while it runs, and the final one",
        "A call has one output: the last.",
        log(
            user("go"), call("c1"), output("c1", "pending"), said("waiting"), output("c1", "final"), family=R
        ),
        OPENAI,
    ),
    Situation(
        "An answer that was broken off",
        "It is history, and no context; outputs of its calls go with it.",
        [
            *log(user("go"), family=R),
            entry(2, said("I was about to"), R, interrupted=True),
            entry(3, call("c1"), R, interrupted=True),
            entry(4, user("again"), R),
        ],
        OPENAI,
    ),
    Situation(
        "Arguments cut by a token limit",
        "Nobody can have run that call as it was meant.",
        [
            *log(user("write it"), family=R),
            entry(
                2,
                {"type": "function_call", "call_id": "c1", "name": "write", "arguments": '{"text":"hel'},
                R,
                response=ResponseRecord(finish_reason="max_tokens"),
            ),
            entry(3, user("shorter"), R),
        ],
        OPENAI,
    ),
    Situation(
        "A paused turn",
        "It goes back as it is, with its open call; it is no fault while it is last.",
        [
            *log(user("search"), family=A),
            entry(
                2,
                {
                    "role": "assistant",
                    "content": [
                        {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {}}
                    ],
                },
                A,
                response=ResponseRecord(finish_reason="pause"),
            ),
        ],
        CLAUDE,
    ),
    Situation(
        "A server's result apart from its call",
        "Both go into one turn of the assistant; what came between goes after.",
        log(
            user("search"),
            {
                "role": "assistant",
                "content": [{"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {}}],
            },
            user("(settings closed)"),
            {
                "role": "assistant",
                "content": [
                    {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": []},
                    {"type": "text", "text": "found"},
                ],
            },
            user("thanks"),
            family=A,
        ),
        CLAUDE,
    ),
    Situation(
        "Reasoning that nothing followed",
        "OpenAI refuses it alone.",
        log(user("go"), sealed(1), user("are you there?"), sealed(2), said("yes"), family=R),
        OPENAI,
    ),
    Situation(
        "Reasoning that the server never stored",
        "It goes, and what came with it goes without the id that points to it.",
        log(
            user("go"),
            {"type": "reasoning", "id": "rs_1", "summary": []},
            {**call("c1"), "id": "fc_1"},
            output("c1", "done"),
            family=R,
        ),
        OPENAI,
    ),
    Situation(
        "Calls without ids, answered one by one",
        "Gemini need not name its calls: outputs go to those of their tool in order, and into one content.",
        log(
            {"role": "user", "parts": [{"text": "go"}]},
            asks("bash", "read", "bash"),
            answers("bash", "one"),
            answers("read", "two"),
            answers("bash", "three"),
            family=G,
        ),
        GEMINI,
    ),
    Situation(
        "Another model's calls, sent to Gemini",
        "Since Gemini 3 the first call of a step is signed; a mark stands for another model's signature.",
        log(user("go"), use("c1", "c2", text="sure"), result(("c1", "one"), ("c2", "two")), family=A),
        GEMINI,
    ),
    Situation(
        "Blank text and half a character",
        "Blank text goes, half a character becomes U+FFFD.",
        log(
            user("cut \ud83d here"),
            {"role": "assistant", "content": [{"type": "text", "text": " "}]},
            user("hello?"),
            family=A,
        ),
        CLAUDE,
    ),
]


# ---------------------------------------------------------------------------- showing


def shown(item: Mapping[str, Any]) -> str:
    """An item in few words."""
    told = [f"{items.role(item)}:"] if items.role(item) is not None else []
    for part in items.parts(item):
        match part:
            case items.TextPart(text=text):
                told.append(
                    json.dumps(text, ensure_ascii=True)
                    if "\ud83d" in text
                    else json.dumps(text, ensure_ascii=False)
                )
            case items.ToolCallPart(id=call_id, name=name):
                told.append(f"call {call_id} {name}")
            case items.ToolOutputPart(id=call_id, content=content):
                told.append(f"output {call_id} {short(items.output_text(content))}")
            case items.ReasoningPart():
                told.append("reasoning" + (" (sealed)" if part.opaque else ""))
            case _:
                told.append(str(items.type_of(item)))
    return " ".join(told)


def short(text: str) -> str:
    told = json.dumps(text, ensure_ascii=False)
    return told if len(told) < 48 else told[:44] + '…"'


def before(situation: Situation) -> list[str]:
    lines = []
    for one in situation.entries:
        if isinstance(one, MessageEntry):
            marks = [
                word
                for word, is_so in (("stand-in", one.stand_in), ("interrupted", one.interrupted))
                if is_so
            ]
            if one.response is not None and one.response.finish_reason is not None:
                marks.append(one.response.finish_reason)
            lines.append(f"{one.id}  {shown(one.message)}" + (f"  [{', '.join(marks)}]" if marks else ""))
        elif isinstance(one, CompactionEntry):
            made = one.compaction
            lines.append(f"{one.id}  compaction {made.summary!r}, kept from {made.first_kept_entry_id}")
    return lines


def after(context: Context) -> list[str]:
    lines = [f"{'+'.join(row.entries) or '-'}  {shown(row.item)}  ({row.why})" for row in context.rows]
    return [*lines, *(f"told: {change}" for change in context.changes)]


def situations_part() -> str:
    """The situations, each with the log before and the context after."""
    parts = []
    for situation in SITUATIONS:
        context = situation.context()
        parts.append(
            "\n".join(
                [
                    f"### {situation.title}",
                    "",
                    f"{situation.why} For `{situation.target.api}`.",
                    "",
                    "```text",
                    *before(situation),
                    "→",
                    *after(context),
                    "```",
                ]
            )
        )
    return "\n\n".join(parts)


def rules_part() -> str:
    """The rules of each API, with their sources."""
    parts = []
    for api in APIS.values():
        rows = [
            f"| `{rule.id}` | {rule.demand} | {rule.severity} | {link(rule.source)} | {rule.date} |"
            for rule in api.rules.values()
        ]
        head = ["| rule | what is demanded | severity | source | date |", "| --- | --- | --- | --- | --- |"]
        parts.append("\n".join([f"### `{api.name}`", "", *head, *rows]))
    return "\n\n".join(parts)


def link(url: str) -> str:
    """A link to a source, under a short name."""
    found = re.match(r"https://github\.com/([^/]+/[^/]+)/(?:issues|pull)/(\d+)", url)
    name = f"{found[1]}#{found[2]}" if found else url.removeprefix("https://").split("/")[0]
    return f"[{name}]({url})"


def page(text: str) -> str:
    """The page with its generated parts made anew."""
    parts = {
        "situations": situations_part(),
        "rules": rules_part(),
        "agreement": agreement_part(),
    }
    for name, part in parts.items():
        begin, end = f"<!-- generated: {name} -->", f"<!-- end of {name} -->"
        head, found, tail = text.partition(begin)
        _, also, rest = tail.partition(end)
        assert found, name
        assert also, name
        text = f"{head}{begin}\n\n{part}\n\n{end}{rest}"
    return text


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
