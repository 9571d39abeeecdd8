"""Texts that try to act, to hide, or to break out of where they stand; and sessions made of them."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import cycle
from typing import Any, Final

import strategies  # noqa: F401 - for its profile, which knows no deadline
from hypothesis import strategies as st

from transcript_log.codec import outcome_payload
from transcript_log.entries import (
    Compaction,
    CompactionEntry,
    ContextAttachment,
    ContextEntry,
    Entry,
    ForkOrigin,
    Header,
    Invocation,
    MessageEntry,
    OpaqueEntry,
    ParentCall,
    RecordedUsage,
    ResponseRecord,
    Run,
    RunEntry,
    ToolOutcome,
)
from transcript_log.exporters import ExportSource
from transcript_log.findings import Finding

__all__ = ["FRAGMENTS", "is_shown", "picture", "session", "sessions", "texts"]

FRAGMENTS: Final = (
    *("<script>alert(1)</script>", "<img src=x onerror=alert(1)>", '"><svg onload=alert(1)>', "'><b>"),
    *("</pre>", "</style>", "</title>", "</textarea>", "</details>", "<!--", "-->", "]]>", "<![CDATA["),
    *("<?x", "</p><style>*{display:none}</style>", "<a href=javascript:alert(1)>x</a>"),
    *("<base href=//evil>", "<x", "&lt;script&gt;", "&#60;b&#62;", "&#x202e;", "&#8203;", "&nbsp;", "&"),
    *("&amp;lt;", "{{7*7}}", "{% x %}", "# head", "## head", "head\n===", "head\n---", "\n---\n", "***"),
    *("> quote", "- item", "1. item", "    code", "- # head", "> - 1. # head", "- x\n  ---", "# Turn 1"),
    *("### User", "`", "``", "```", "````\n", "~~~", "~~~~\n", "```html\n<b>\n", "```{=html}\n"),
    *("`<b>`{=html}", "\n```\n# out\n", "`a|b` | <i> `", "|---|---|", "| a | b |", "\\", "\\\\", "\\`"),
    *("\\<b>", "\\[x](y)", "[x](https://example.invalid/)", "[x](javascript:alert(1))"),
    *("[x](data:text/html,<b>)", "![x](https://example.invalid/a.png)", "![x](data:image/svg+xml,<svg>)"),
    *("<https://example.invalid>", "<javascript:alert(1)>", "[x]: https://example.invalid", "[^1]: note"),
    *("[x]", "https://example.invalid/", "<me@example.invalid>", "*em*", "**strong", "_u_", "~~gone~~"),
    *("$x$", "{: onclick=x}", "[a](<b\nc>)", '[a](/b "c")', "[a](https://e.invalid/?q=\"'<>)"),
    *("[a](//e.invalid)", "[a](#t1)", "[a](file:///x)", "\x1b[31mred\x1b[0m", "\x1b]0;t\x07", "\x9b31m"),
    *("\x1b]8;;file:///x\x1b\\y\x1b]8;;\x1b\\", "\x00", "\x7f", "\x85", "\u202eevil\u202c"),
    *("\u2066x\u2069", "\u200b", "\u200d", "\ufeff", "\u2028", "\u2029", "\xad", "\U000e0041", "\ud800"),
    *("\udfff", "\r", "\r\n", "\n", "\n\n", "\t", " ", "\xa0", "\u3000", "\x0b", "\x0c", "é", "日本", "🤖"),
)
"""HTML, Markdown, and what acts on a terminal or hides: what hostile texts are put together from."""


def texts() -> st.SearchStrategy[str]:
    """Fragments one after another, with any text between."""
    marks = st.text("`~#<>[]()!|\\*_-=+.1 \n\t&;", max_size=12)
    return st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=6) | marks, max_size=6).map("".join)


def sessions() -> st.SearchStrategy[ExportSource]:
    """Sessions with everything in them, made of a few such texts."""
    return st.lists(texts(), min_size=1, max_size=7).map(lambda some: session(cycle(some).__next__))


def is_shown(text: str) -> bool:
    """Whether each character is one that is seen, or a line feed or a tab."""
    return all(char.isprintable() or char in "\n\t" for char in text)


def picture(width: int = 32, height: int = 20) -> str:
    """A PNG in base64."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    line = b"".join(bytes((7 * x & 0xFF, 99, 180)) for x in range(width))
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    body = chunk(b"IDAT", zlib.compress((b"\0" + line) * height))
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + head + body + chunk(b"IEND", b"")).decode()


_NOON: Final = datetime(2026, 1, 2, 12, tzinfo=UTC)


def session(text: Callable[[], str]) -> ExportSource:
    """A session with everything in it that there is; each of its texts is one that ``text`` gives."""
    number = 0

    def entry(item: dict[str, Any], **more: Any) -> MessageEntry:
        nonlocal number
        number += 1
        time = _NOON + timedelta(seconds=number)
        return MessageEntry(id=f"e{number} {text()}", timestamp=time, message=item, **more)

    def said(role: str, **more: Any) -> MessageEntry:
        return entry({"role": role, "content": text()}, **more)

    def call(call_id: str, arguments: Any) -> MessageEntry:
        item = {"type": "function_call", "call_id": call_id, "name": "n" + text(), "arguments": arguments}
        return entry(item)

    def output(call_id: str, value: Any) -> MessageEntry:
        return entry({"type": "function_call_output", "call_id": call_id, "output": value})

    usage = RecordedUsage(input=5, output=7, cache_read=90, total_tokens=102)
    image = {"type": "input_image", "image_url": f"data:image/png;base64,{picture()}"}
    link = {"type": "input_image", "image_url": f"https://example.invalid/{text()}"}
    wrong = {"type": "image", "source": {"type": "base64", "media_type": text(), "data": text()}}
    # How many arguments there are, and whether they are an object, is not for the text to say.
    arguments = {
        "command": text(),
        "k" + text(): [text()],
        "path": text() + ".py",
        "content": text(),
        "z": None,
    }
    entries: list[Entry] = [
        said("developer"),
        said("user", invocation=Invocation(kind="prompt_template", name="n" + text(), source="s", path="p")),
        entry({"type": "reasoning", "summary": [{"type": "summary_text", "text": "t" + text()}]}),
        said("assistant", response=ResponseRecord(id="r", model="m" + text(), usage=usage)),
        call("c1", json.dumps(arguments)),
        output("c1", text()),
        call("c2", "a" + text()),
        output("c2", [{"type": "input_text", "text": text()}, image, link, wrong]),
        output("c2", "more" + text()),
        output("lost" + text(), text()),
        call("c3", {"x" + text(): {"y" + text(): text()}}),
        entry({"type": "web_search_call", "id": "w", "action": {"query": text()}}),
        said("assistant", interrupted=True),
        said("role" + text()),
        entry({"role": "user", "content": [{"type": "input_text", "text": text()}, image, link]}),
        entry({"role": "assistant", "content": [{"type": "hologram" + text()}]}),
        OpaqueEntry(id="o" + text(), timestamp=_NOON, type="t" + text(), data={}),
        ContextEntry(
            id="x" + text(),
            timestamp=_NOON,
            context=ContextAttachment(
                attachment_id="a",
                epoch=1,
                kind="k" + text(),
                placement="prefix",
                revision="1",
                rendered=text(),
                path="p" + text(),
            ),
        ),
        CompactionEntry(
            id="k" + text(),
            timestamp=_NOON,
            compaction=Compaction(summary=text(), first_kept_entry_id="f" + text(), tokens_before=9),
        ),
        RunEntry(
            id="run" + text(),
            timestamp=_NOON,
            run=Run(started_at=_NOON, completed_at=_NOON + timedelta(seconds=75), status="failed"),
        ),
    ]
    outcome = ToolOutcome(status="unknown", raw_status="s" + text(), error_code=text(), exit_code=2)
    finding = Finding(rule="r", severity="error", message="m" + text(), path="/p", line=3, offset=9)
    return ExportSource(
        name="n" + text(),
        entries=entries,
        details={("c1", None): outcome_payload(outcome)},
        header=Header(
            id="h" + text(),
            cwd="d" + text(),
            forked_from=ForkOrigin("s" + text(), "e" + text()),
            parent=ParentCall("s" + text(), "c" + text()),
        ),
        findings=(finding,),
    )
