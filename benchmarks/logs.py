"""Logs of a coding agent as it might have written them, made from a seed.

A session is a chain of turns: a user's text, at times with a screenshot, then steps (some
reasoning that only its producer can read, some prose, a tool call, its output), then an
answer. OpenAI Responses items and Anthropic messages take turns every 500 entries, as when
a user changes models. Sizes: an entry takes 3 KB on average; a tool's output is log-normal
with a median of 2 KB and at most 200 KB, a quarter of the steps carry 2 to 8 KB of encrypted
reasoning, and a turn in fifty a picture of 300 KB.

Two runs on one Python version make equal bytes.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from transcript_log import Compaction, Entry, JsonlStore, new_compaction, new_header, new_message
from transcript_log.entries import RecordedUsage, ResponseRecord
from transcript_log.families import Target

__all__ = ["KEPT", "TAIL", "Author", "clean", "entries", "items", "log", "outputs", "parallel", "sessions"]

TAIL = 170
"""A compacted log ends in as many entries that are the same ones however long it is."""

KEPT = 50
"""The compaction among those keeps as many entries before it: the whole tail counts."""

_START = datetime(2026, 1, 5, 9, 30, 0, 123456, tzinfo=UTC)
_BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_NOUNS = [
    "parser",
    "buffer",
    "session",
    "reader",
    "writer",
    "config",
    "token",
    "lock",
    "cache",
    "index",
    "header",
    "client",
    "request",
    "response",
    "handler",
    "stream",
    "path",
    "offset",
    "batch",
    "record",
    "schema",
    "worker",
    "queue",
    "state",
    "result",
]
_VERBS = [
    "reads",
    "writes",
    "opens",
    "checks",
    "drops",
    "keeps",
    "returns",
    "raises",
    "parses",
    "updates",
    "misses",
    "skips",
    "holds",
]
_ODD = ("naïve", "→", "✓", "日本語", "“as is”", "–", "é", "🙂")

Step = tuple[str, Any]


class Author:
    """Writes a session's steps. Texts are cut from pools, so that 300 MB take seconds."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.prose = self._pool(self._sentence, 200_000)
        self.code = self._pool(self._code_line, 700_000)
        self.secret = "".join(self.random.choices(_BASE64, k=1_000_000))

    def _pool(self, piece: Any, size: int) -> str:
        pieces: list[str] = []
        while size > 0:
            pieces.append(piece())
            size -= len(pieces[-1])
        return "".join(pieces)

    def _sentence(self) -> str:
        pick = self.random.choice
        words = [
            f"{pick(_NOUNS)} {pick(_VERBS)} the {pick(_NOUNS)}" for _ in range(self.random.randint(1, 4))
        ]
        if self.random.random() < 0.05:
            words.append(pick(_ODD))
        return ", and the ".join(words).capitalize() + pick(
            (". ", ". ", ".\n\n", f" in `{pick(_NOUNS)}.py`. ")
        )

    def _code_line(self) -> str:
        pick, number = self.random.choice, self.random.randint(1, 9999)
        indent = "    " * self.random.randint(0, 4)
        line = pick(
            (
                f'{indent}{pick(_NOUNS)} = self._{pick(_NOUNS)}.{pick(_NOUNS)}("{pick(_NOUNS)}")',
                f"{indent}if {pick(_NOUNS)}.{pick(_NOUNS)} is None and {pick(_NOUNS)} > {number}:",
                f"src/{pick(_NOUNS)}/{pick(_NOUNS)}.py:{number}: def {pick(_NOUNS)}(self) -> int:",
                f"tests/test_{pick(_NOUNS)}.py::test_{pick(_VERBS)} PASSED [{number % 101:3}%]",
                f'{number:6}\t{indent}return {{"{pick(_NOUNS)}": [{number}, null]}}',
                "",
            )
        )
        if self.random.random() < 0.004:
            line += f"  # {pick(_ODD)}"
        return line + "\n"

    def cut(self, pool: str, size: float) -> str:
        """A piece of a pool, of this size in characters."""
        length = max(20, int(size))
        at = self.random.randrange(max(1, len(pool) - length))
        return pool[at : at + length]

    def name(self) -> str:
        return f"{self.random.getrandbits(96):024x}"

    def steps(self) -> Iterator[Step]:
        """Turns for ever, each step with the text or the pair that makes it up."""
        draw = self.random
        while True:
            yield "user", self.cut(self.prose, draw.gauss(250, 100))
            if draw.random() < 0.02:
                yield "image", self.cut(self.secret, 300_000)
            for _ in range(max(1, int(draw.expovariate(1 / 7)))):
                if draw.random() < 0.25:
                    yield "reasoning", self.cut(self.secret, draw.uniform(2_000, 8_000))
                if draw.random() < 0.45:
                    yield "assistant", self.cut(self.prose, draw.gauss(800, 300))
                call = self.name()
                yield (
                    "call",
                    (call, draw.choice(("shell", "edit", "grep")), self.cut(self.code, draw.gauss(220, 80))),
                )
                yield (
                    "output",
                    (call, self.cut(self.code, min(200_000, 2_000 * draw.lognormvariate(0, 1.35)))),
                )
            yield "assistant", self.cut(self.prose, draw.gauss(800, 300))

    def responses_item(self, kind: str, given: Any) -> dict[str, Any]:
        """The step as an OpenAI Responses item."""
        match kind:
            case "user":
                return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": given}]}
            case "image":
                image = {
                    "type": "input_image",
                    "image_url": f"data:image/png;base64,{given}",
                    "detail": "auto",
                }
                return {"type": "message", "role": "user", "content": [image]}
            case "reasoning":
                return {
                    "type": "reasoning",
                    "id": f"rs_{self.name()}",
                    "summary": [],
                    "encrypted_content": given,
                }
            case "assistant":
                content = [{"type": "output_text", "text": given, "annotations": []}]
                return {
                    "type": "message",
                    "id": f"msg_{self.name()}",
                    "role": "assistant",
                    "status": "completed",
                    "content": content,
                }
            case "call":
                call, name, command = given
                return {
                    "type": "function_call",
                    "id": f"fc_{self.name()}",
                    "call_id": f"call_{call}",
                    "name": name,
                    "arguments": json.dumps({"command": command, "timeout_ms": 120_000}),
                    "status": "completed",
                }
            case _:
                return {"type": "function_call_output", "call_id": f"call_{given[0]}", "output": given[1]}

    def anthropic_message(self, kind: str, given: Any) -> dict[str, Any]:
        """The step as an Anthropic message."""
        match kind:
            case "user":
                return {"role": "user", "content": [{"type": "text", "text": given}]}
            case "image":
                source = {"type": "base64", "media_type": "image/png", "data": given}
                return {"role": "user", "content": [{"type": "image", "source": source}]}
            case "output":
                call, text = given
                result = {
                    "type": "tool_result",
                    "tool_use_id": f"toolu_{call}",
                    "is_error": False,
                    "content": [{"type": "text", "text": text}],
                }
                return {"role": "user", "content": [result]}
        if kind == "reasoning":
            block = {"type": "thinking", "thinking": self.cut(self.prose, 300), "signature": given}
        elif kind == "assistant":
            block = {"type": "text", "text": given}
        else:
            call, name, command = given
            block = {"type": "tool_use", "id": f"toolu_{call}", "name": name, "input": {"command": command}}
        usage = {
            "input_tokens": self.random.randint(1, 99),
            "cache_read_input_tokens": self.random.randint(1_000, 99_999),
            "output_tokens": self.random.randint(10, 2_000),
        }
        return {"id": f"msg_{self.name()}", "role": "assistant", "content": [block], "usage": usage}

    def bare_message(self, kind: str, given: Any) -> dict[str, Any]:
        """The step as an Anthropic message that may be sent as it is: its role and its content."""
        message = self.anthropic_message(kind, given)
        return {"role": message["role"], "content": message["content"]}

    def chat_message(self, kind: str, given: Any) -> dict[str, Any]:
        """The step as a Chat message. Reasoning cannot stand alone there."""
        match kind:
            case "user" | "assistant":
                return {"role": kind, "content": given}
            case "image":
                link = {"url": f"data:image/png;base64,{given}"}
                return {"role": "user", "content": [{"type": "image_url", "image_url": link}]}
            case "call":
                call, name, command = given
                function = {
                    "name": name,
                    "arguments": json.dumps({"command": command, "timeout_ms": 120_000}),
                }
                listed = {"id": f"call_{call}", "type": "function", "function": function}
                return {"role": "assistant", "content": None, "tool_calls": [listed]}
            case "output":
                return {"role": "tool", "tool_call_id": f"call_{given[0]}", "content": given[1]}
        raise ValueError(f"a Chat message of {kind}")

    def writer(self, api: str) -> Callable[[str, Any], dict[str, Any]]:
        """What writes steps as this API takes them."""
        return {
            "openai-responses": self.responses_item,
            "openai-chat": self.chat_message,
            "anthropic-messages": self.bare_message,
        }[api]

    def whole_steps(self, count: int, *, reasoning: bool) -> Iterator[Step]:
        """So many steps: every call answered, all reasoning followed, and the user speaks last."""
        stream = (step for step in self.steps() if reasoning or step[0] != "reasoning")
        kind, given = "", None
        for index in range(count):
            if index < count - 2:
                kind, given = next(stream)
            elif kind == "call":
                kind, given = "output", (given[0], self.cut(self.code, 2_000))
            elif kind == "reasoning":
                kind, given = "assistant", self.cut(self.prose, 800)
            else:
                kind, given = "user", self.cut(self.prose, 250)
            yield kind, given

    def items(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """The items for ever, each with the kind of its step."""
        for index, (kind, given) in enumerate(self.steps()):
            write = self.responses_item if index // 500 % 2 == 0 else self.anthropic_message
            yield kind, write(kind, given)

    def recorded(self, kind: str, before: str) -> dict[str, Any]:
        """What a session notes beside an item: its family, and its response on that one's first item."""
        if kind not in _BY_MODEL:
            return {}
        if before in _BY_MODEL:
            return {"family": _FAMILY}
        usage = RecordedUsage(input=self.random.randint(1, 99), output=self.random.randint(10, 2_000))
        record = ResponseRecord(
            id=f"resp_{self.name()}",
            provider="openai",
            model="gpt-5-2026-01-01",
            finish_reason="stop",
            usage=usage,
            request=f"{self.random.getrandbits(256):064x}",
        )
        return {"family": _FAMILY, "response": record}


_BY_MODEL = ("reasoning", "assistant", "call")
_FAMILY = "openai-responses/direct"


def items(count: int, seed: int = 7) -> list[dict[str, Any]]:
    """The first items of a session."""
    stream = Author(seed).items()
    return [next(stream)[1] for _ in range(count)]


def outputs(count: int, seed: int = 7) -> list[dict[str, Any]]:
    """Tool outputs of which each makes a line of 3 KB."""
    author = Author(seed)
    return [
        author.responses_item("output", (author.name(), author.cut(author.code, 2_700))) for _ in range(count)
    ]


def entries(
    count: int,
    seed: int = 7,
    *,
    compacted: bool = False,
    recorded: bool = False,
    author: Author | None = None,
) -> Iterator[Entry]:
    """The entries of a session.

    Args:
        count: How many.
        seed: Another seed, another session.
        compacted: Whether there is a compaction every 2,000 entries and one near the end; see
            :data:`TAIL`. Each keeps the :data:`KEPT` entries before it.
        recorded: Whether families and responses stand beside the items.
        author: One to go on with, in place of a new one of this seed.
    """
    writer = author or Author(seed)
    stream = writer.items()
    places = {*range(2_000, count - 400, 2_000), count - TAIL + KEPT} if compacted else set()
    ids: list[str] = []
    before = ""
    for index in range(count):
        if compacted and index == count - TAIL:
            writer = Author(seed + 1)
            stream = writer.items()
        ids.append(writer.name())

        def now(at: datetime = _START + timedelta(microseconds=1_371_337 * index)) -> datetime:
            return at

        if index in places:
            summary = writer.cut(writer.prose, 6_000)
            compaction = Compaction(
                summary=summary, first_kept_entry_id=ids[index - KEPT], tokens_before=180_000
            )
            yield new_compaction(compaction, clock=now, id_source=lambda: ids[-1])
            continue
        kind, item = next(stream)
        beside = writer.recorded(kind, before) if recorded else {}
        yield new_message(item, clock=now, id_source=lambda: ids[-1], **beside)
        before = kind


def clean(count: int, target: Target, seed: int = 7, *, reasoning: bool = False) -> Iterator[Entry]:
    """A session of one API alone, in which nothing has to be changed for ``target``.

    Args:
        count: How many entries; at least 4.
        target: Where it can be sent as it is. What the model said is of its family.
        seed: Another seed, another session.
        reasoning: Whether the model's own reasoning is in it; not for Chat.
    """
    author = Author(seed)
    write = author.writer(target.api)
    for index, (kind, given) in enumerate(author.whole_steps(count, reasoning=reasoning)):
        yield new_message(
            write(kind, given),
            clock=lambda at=_START + timedelta(microseconds=1_371_337 * index): at,
            id_source=author.name,
            family=target.family if kind in _BY_MODEL else None,
        )


def parallel(target: Target, width: int, *, answered: bool) -> Iterator[Entry]:
    """A question, so many calls made at once, and their outputs from the last to the first, or none.

    The calls of a Chat message stand in it together; those of the other APIs are entries each.
    """
    author = Author(3)
    write = author.writer(target.api)
    names = [author.name() for _ in range(width)]
    calls = [write("call", (name, "shell", author.cut(author.code, 200))) for name in names]
    if target.api == "openai-chat":
        calls = [{**calls[0], "tool_calls": [call for item in calls for call in item["tool_calls"]]}]
    steps = [(write("user", "Look at all of them."), None), *((call, target.family) for call in calls)]
    if answered:
        steps += [(write("output", (name, author.cut(author.code, 1_000))), None) for name in reversed(names)]
    for item, family in [*steps, (write("user", "Go on."), None)]:
        yield new_message(item, clock=lambda: _START, id_source=author.name, family=family)


def log(
    work: str,
    count: int,
    *,
    sealed: bool = True,
    compacted: bool = False,
    recorded: bool = False,
    target: Target | None = None,
    reasoning: bool = False,
) -> str:
    """The path of a log with this many entries; made if it is not there yet.

    With a target it is a :func:`clean` one, otherwise see :func:`entries`.
    """
    if target is not None:
        name = f"{target.api}{'-reasoning' if reasoning else ''}-{count}.jsonl"
        path = os.path.join(work, name)
        if not os.path.exists(path):
            _write(path, clean(count, target, reasoning=reasoning), sealed)
        return path
    kind = "compacted" if compacted else "recorded" if recorded else "plain"
    path = os.path.join(work, f"{kind}-{count}{'' if sealed else '-unsealed'}.jsonl")
    if not os.path.exists(path):
        _write(path, entries(count, compacted=compacted, recorded=recorded), sealed)
    return path


def _write(path: str, session: Iterator[Entry], sealed: bool) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    making = path.removesuffix(".jsonl") + ".making.jsonl"
    for left in (making, making + ".lock"):
        if os.path.exists(left):
            os.remove(left)
    header = new_header(id="bench", clock=lambda: _START)
    with JsonlStore(making, durability="os", checksum=sealed, header=header) as store, store.lease():
        for entry in session:
            store.append(entry)
    os.remove(making + ".lock")
    os.rename(making, path)


def sessions(work: str, count: int, seed: int = 11) -> str:
    """A folder of sessions, with 4 to 800 entries each (log-normal, median 25); made if it is not there."""
    folder = os.path.join(work, f"sessions-{count}")
    if not os.path.exists(os.path.join(folder, "done")):
        os.makedirs(folder, exist_ok=True)
        author = Author(seed)
        for index in range(count):
            size = int(min(800, max(4, author.random.lognormvariate(0, 1) * 25)))
            _write(os.path.join(folder, f"session-{index:05}.jsonl"), entries(size, author=author), True)
        open(os.path.join(folder, "done"), "w").close()
    return folder
