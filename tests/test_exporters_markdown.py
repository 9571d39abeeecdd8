"""Markdown shows all of a session, and nothing in it can break out of its block."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

import pytest
from hostile import is_shown, session, sessions, texts
from hypothesis import example, given, settings
from hypothesis import strategies as st
from test_cli import DETAILS, EVERYTHING, HEADER, answered, called, message, said

from transcript_log._plain import plain
from transcript_log.entries import (
    Compaction,
    CompactionEntry,
    ForkOrigin,
    Header,
    Invocation,
    ParentCall,
    RecordedUsage,
    ResponseRecord,
)
from transcript_log.exporters import ExportSource
from transcript_log.exporters._marking import fenced, inline, literal, prose, quoted, quoted_prose, spanned
from transcript_log.exporters.markdown import export_markdown
from transcript_log.findings import Finding

markdown_it = pytest.importorskip("markdown_it")

PARSER: Final = markdown_it.MarkdownIt("commonmark").enable(["table", "strikethrough"])
"""Reads Markdown as CommonMark has it, HTML and links included."""


def tokens_of(markdown: str) -> list[Any]:
    """All tokens, those within lines in their places."""
    return [one for token in PARSER.parse(markdown) for one in (token, *(token.children or ()))]


def assert_inert(markdown: str, headings: Sequence[str] = ()) -> None:
    """No HTML, link or picture, no heading but these, and nothing that hides."""
    assert is_shown(markdown)
    tokens = tokens_of(markdown)
    assert not {token.type for token in tokens} & {"html_block", "html_inline", "link_open", "image"}
    assert [token.tag for token in tokens if token.type == "heading_open"] == list(headings)


def exported(source: ExportSource) -> str:
    return "".join(export_markdown(source).pieces)


def everything(**more: Any) -> ExportSource:
    details = {(detail.id, detail.entry): detail.payload for detail in DETAILS}
    return ExportSource(name="log", entries=EVERYTHING, details=details, header=HEADER, **more)


SHOWN: Final = """\
# log

- Session: s-1
- Begun: 2026-01-02 12:00:00Z
- Folder: /home/user
- Holds: 2 turns, 1 compaction, 6 calls, 1 failed, 2 unanswered

## Before the first turn

2026-01-02 12:00:00Z

### Context: rules `R.md`

```text
Be brief.
```

## Turn 1: Fix it. Please.

2026-01-02 12:00:00Z, 4 calls, 1 failed

### User (from the template fix)

> Fix it.\x20\x20
> Please.

### Reasoning

> I look first.

### Reasoning (only its producer can read it)

### Call `shell`: failed, exit status 2, build

```text
cmd: make
text:
  a
  b
```

Output:

```text
boom again
```

### Call `shell`: success, exit status 0

```json
{"cmd":"ls"}
```

Output:

```text
a.txt
```

### Output (one more for call one)

```text
boom
```

### Output (for call nine, which is not in the log)

```text
stray
```

### Call `shell`: a stand-in: how the call ended was not recorded

```json
{"cmd":"ls"}
```

Output:

```text
nobody knows
```

### Call `web_search` by the provider

```json
{"type":"search","query":"make"}
```

### Assistant (interrupted)

Half an ans

## Turn 2

2026-01-02 12:00:00Z, 2 calls, 2 unanswered

### User

\\[image image/png, 3 bytes\\]

### Compacted (900 to 100 tokens; kept from entry p1 on)

> The gist.

### An item of type `hologram`

### An entry of type `from-the-future`

### Call `shell`: not answered so far; it was started

```json
{"cmd":"ls"}
```

### Call `shell`: not answered so far; recorded as timeout

```json
{"cmd":"ls"}
```

### Run failed after 1 min 15 s

2026-01-02 12:00:00Z to 2026-01-02 12:01:15Z
"""


def test_everything_that_happened_is_there() -> None:
    assert exported(everything()) == SHOWN


def test_damage_is_told_at_the_head_without_the_path() -> None:
    finding = Finding(rule="r", severity="error", message="it is broken", path="/secret", line=7, offset=3)
    note = Finding(rule="r", severity="note", message="nothing", path="/secret")
    text = exported(everything(findings=(finding, note)))
    assert "\n- line 7 (byte 3): error: it is broken\n" in text
    assert "secret" not in text
    assert "nothing" not in text


def test_it_comes_in_a_piece_for_each_event() -> None:
    pieces = list(export_markdown(everything()).pieces)
    assert len(pieces) > len(EVERYTHING)
    assert "".join(pieces) == SHOWN


def test_an_empty_session_is_a_head() -> None:
    assert exported(ExportSource(name="", entries=())) == "# Session\n\n- Holds: 0 turns\n"


def test_use_and_time_are_told_of_the_session_each_response_each_turn_and_each_run() -> None:
    usage = RecordedUsage(input=4_000, output=1_000, cache_read=95_000, total_tokens=100_000)
    entries = [
        said("u1", "user", "go"),
        said("a1", "assistant", "ok", response=ResponseRecord(id="r1", model="gpt-5", usage=usage)),
        said("a2", "assistant", "more", response=ResponseRecord(id="r2", model="o_9", usage=usage)),
        EVERYTHING[-1],
    ]
    lines = exported(ExportSource(name="log", entries=entries)).splitlines()
    assert "- Models: gpt-5, o_9" in lines
    both = "2 responses: 198,000 in (190,000 cached), 2,000 out"
    assert f"- Holds: 1 turn, {both}" in lines
    assert f"2026-01-02 12:00:00Z, {both}, `gpt-5`, `o_9`" in lines
    assert lines.count("###### gpt-5: 99,000 in (95,000 cached), 1,000 out") == 1
    run = lines.index("### Run failed after 1 min 15 s")
    assert lines[run + 2] == f"2026-01-02 12:00:00Z to 2026-01-02 12:01:15Z; {both}"


def test_where_a_session_comes_from_is_told() -> None:
    header = Header(forked_from=ForkOrigin("s_1", "e1"), parent=ParentCall("p1", "c1"))
    text = exported(ExportSource(name="log", entries=(), header=header, maker="a Codex rollout"))
    assert text == (
        "# log\n\n- Format: a Codex rollout\n- Answers: call c1 of session p1\n"
        "- Forked from: session s_1 at entry e1\n- Holds: 0 turns\n"
    )


def test_what_is_missing_is_told() -> None:
    shown = {"type": "input_image", "image_url": "data:image/png;base64,QUJD"}
    entries = [
        said("a", "assistant", " "),
        called("c", "one", arguments=""),
        answered("o", "one", ""),
        called("d", "two", arguments=""),
        answered("p", "two", [shown]),
        message("r", {"type": "reasoning", "summary": []}),
    ]
    assert exported(ExportSource(name="log", entries=entries)).split("12:00:00Z, 2 calls\n\n")[1] == (
        "### Assistant (no text)\n\n### Call `shell`\n\nOutput: nothing\n\n### Call `shell`\n\n"
        "\\[image image/png, 3 bytes\\]\n\n### Reasoning (no text)\n"
    )


def test_a_turn_is_called_by_the_first_words_of_the_user() -> None:
    entries = [said("u", "user", "word " * 90), said("a", "assistant", "answer"), said("v", "user", "b\nc")]
    lines = exported(ExportSource(name="log", entries=entries)).splitlines()
    assert f"## Turn 1: {('word ' * 20).strip()}…" in lines
    assert "## Turn 2: b c" in lines
    template = said("w", "user", "d", invocation=Invocation(kind="k", name="n", source="s", path="p"))
    assert "## Turn 1: d" in exported(ExportSource(name="log", entries=[template]))


@pytest.mark.parametrize("text", ["\x0b", "\x0c", "\x1c", "\x85", "\u2028"])
def test_what_only_looks_blank_is_shown(text: str) -> None:
    entries = [
        said("u", "user", text),
        said("a", "assistant", text),
        message("r", {"type": "reasoning", "summary": [{"type": "summary_text", "text": text}]}),
        called("c", "one", arguments=text),
        answered("o", "one", text),
    ]
    shown = exported(ExportSource(name="log", entries=entries))
    assert shown.count(plain(text)) + shown.count(f"\\{plain(text)}") >= 5
    assert "no text" not in shown
    assert "Output: nothing" not in shown


# ------------------------------------------------------------------------------ hostile


@settings(max_examples=200)
@given(sessions())
def test_no_text_of_a_session_breaks_out(source: ExportSource) -> None:
    plainly = exported(session(lambda: "x"))
    headings = [token.tag for token in tokens_of(plainly) if token.type == "heading_open"]
    assert len(headings) > 20
    assert_inert(exported(source), headings)


AROUND: Final = "## Before\n\n{}\n\n## After\n"


@settings(max_examples=1000)
@given(texts())
@example("```\n</details>\n# x")
@example("- x\n  ---\n\t# y")
@example("| `a | <b>` |\n|---|---|\n| `c|d` `e <f> |")
@example("\\\\[x](https://example.invalid) \\\\<b> \\\\`<i>`")
@example("``` `` ` <b> `` ```")
@example("1.# x\n1) # x\n+ # x\n-\t# x\n> > # x")
@example("x\n- \n=\n> -\n1. -\n   =")
@example("~~~html\n<b>\n~~~\n<i>")
@example("[x]: https://example.invalid\n\n[x]")
def test_prose_stays_in_its_block(text: str) -> None:
    for made in (prose(text), quoted_prose(text), f"- item\n\n{prose(text)}", f"text\n\n{prose(text)}"):
        assert_inert(AROUND.format(made), ["h2", "h2"])


@settings(max_examples=500)
@given(texts())
def test_literal_text_and_names_stay_in_their_line(text: str) -> None:
    assert_inert(AROUND.format(quoted(literal(text))), ["h2", "h2"])
    assert_inert(AROUND.format(inline(text)), ["h2", "h2"])
    assert_inert(f"### Call {spanned(text)} {inline(text)}\n\nx", ["h3"])
    assert_inert(f"x\n\n- {inline(text)}\n- {spanned(text)}\n", [])
    assert "\n" not in inline(text) + spanned(text)


def read(markdown: str) -> str:
    """What a reader sees of paragraphs, a line for each line."""
    lines = []
    for token in tokens_of(markdown):
        match token.type:
            case "text" | "code_inline":
                lines.append(token.content)
            case "softbreak" | "hardbreak":
                lines.append("\n")
            case "paragraph_close":
                lines.append("\n\n")
    return "".join(lines).strip("\n")


def seen(text: str) -> str:
    """What literal text is to read as: as it stands, but for room at ends and between paragraphs."""
    lines = [line.expandtabs(4).rstrip(" ") for line in plain(text.replace("\r\n", "\n")).split("\n")]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n")


@settings(max_examples=500)
@given(texts())
@example("1. one\n2) two\n+ three\n- four\n# five\n=\n---\n    six\n\tseven")
@example("snake_case __init__ *.py **/x `a` \\d <b> &lt; &amp a|b ~~x~~ $HOME {x} ![y](z)")
def test_literal_text_reads_as_it_is(text: str) -> None:
    assert read(literal(text)).replace("\xa0", " ") == seen(text)


@given(texts())
def test_a_name_reads_as_it_is(text: str) -> None:
    name = plain(text).replace("\n", "\\n").replace("\t", "\\t").strip()
    for made in (inline(text), spanned(text)):
        assert read(f"## x {made} y").replace("x ", "", 1).removesuffix(" y").strip() in (name, "")
    assert read(f"{spanned(text)}").strip() == name


INFOS: Final = ("", "text", "json", "c++", "mermaid", "a b", "`", "x\n# y", "{=html}", "x" * 99)


@given(texts(), st.sampled_from(INFOS))
def test_code_is_in_its_fence_and_whole(text: str, info: str) -> None:
    fences = [token for token in tokens_of(AROUND.format(fenced(text, info))) if token.type == "fence"]
    (fence,) = fences
    assert fence.content.removesuffix("\n") == plain(text.replace("\r\n", "\n")).strip("\n")
    assert re.fullmatch(r"[A-Za-z0-9_+#.-]{0,32}", fence.info)
    assert fence.info != "mermaid"


# -------------------------------------------------------------------------------- prose


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("Plain **bold** and *em*, `code`.", "Plain **bold** and *em*, `code`."),
        ("- one\n- two\n  1. three", "- one\n- two\n  1. three"),
        ("| a | b |\n|---|--:|\n| 1 | 2 |", "| a | b |\n|---|--:|\n| 1 | 2 |"),
        ("> quote", "> quote"),
        ("## Head", "\\## Head"),
        ("Head\n===", "Head\n\\=\\=\\="),
        ("`Vec<T>` and Vec<T>", "`Vec<T>` and Vec&lt;T>"),
        ("[text](url) ![p](q)", "\\[text](url) !\\[p](q)"),
        ("a\n```py\nx = 1\n```\nb", "a\n\n```py\nx = 1\n```\n\nb"),
        ("1. a\n   ```sh\n   ls\n     x\n   ```\n2. b", "1. a\n\n```sh\nls\n  x\n```\n\n2. b"),
        ("~~~\n```\n~~~", "````\n```\n````"),
        ("  ```\n  a\n  ```\n```\n    b\n```", "```\na\n```\n\n```\n    b\n```"),
        ("```\nnever closed", "```\nnever closed\n```"),
        ("```mermaid\ngraph\n```", "```\ngraph\n```"),
        ("a & b &lt; R&D; &#60;", "a & b &amp;lt; R&amp;D; &amp;#60;"),
        ("lone ` tick", "lone &#96; tick"),
        ("`` a`b ``", "``a`b``"),
        ("`a|b`", "a\\|b"),
        ("$x$ {y}", "\\$x\\$ \\{y}"),
        ("\\* \\< \\[ \\`", "\\* &lt; \\[ &#96;"),
        ("a\u202eb\x1b[0m", "a\\u202eb\\x1b\\[0m"),
        ("\n\n", ""),
        ("*word* " * 3_000, ("\\*word\\* " * 3_000).strip()),
        ("https://e.invalid/a_b", "https\\://e.invalid/a_b"),
        # GFM's address reaches to the next room, over marks of code: cmark-gfm makes an element of <b>.
        ("https://e.invalid/`<b>`", "https\\://e.invalid/`<b>`"),
        ("www.e.invalid/`<b>` WWW.e", "www\\.e.invalid/`<b>` WWW\\.e"),
        ("at //e.invalid/ // not a/b", "at \\//e.invalid/ // not a/b"),
        ("mailto:me@e.invalid, @me, me@ x", "mailto:me\\@e.invalid, @me, me@ x"),
        ("`https://e.invalid`", "`https://e.invalid`"),
    ],
)
def test_prose_keeps_its_marks_and_loses_what_could_act(text: str, made: str) -> None:
    assert prose(text) == made


ESCAPED: Final = re.compile(r"\\[!-/:-@\[-`{-~]")


@settings(max_examples=500)
@given(texts())
@example("https://e.invalid/ HTTP://e www.e.invalid //e.invalid me@e.invalid ftp://me@e")
def test_no_viewer_finds_an_address_in_text_that_is_no_code(text: str) -> None:
    for made in (inline(text), literal(text)):
        bare = ESCAPED.sub("\0", made)
        assert not re.search(r"://|www\.|\w@\w|(?<![/\0])//[^\s/]", bare, re.IGNORECASE)


def test_code_stands_in_no_quotation() -> None:
    """Python-Markdown knows no fences there, and would take the code for text and HTML."""
    assert quoted_prose("a\n```html\n<b>\n```\nb\n\nc") == "> a\n\n```html\n<b>\n```\n\n> b\n>\n> c"
    source = ExportSource(
        name="log",
        entries=[
            message("r", {"type": "reasoning", "summary": [{"type": "summary_text", "text": "a\n```\nb"}]}),
            CompactionEntry(id="k", timestamp=None, compaction=Compaction(summary="```\nc\n```\nd")),
        ],
    )
    made = exported(source)
    assert "> a\n\n```\nb\n```" in made
    assert "```\nc\n```\n\n> d" in made


def test_prose_takes_linear_time() -> None:
    import time

    def taken(text: str) -> float:
        start = time.perf_counter()
        prose(text)
        return time.perf_counter() - start

    for unit in (
        "`",
        "` ",
        "[",
        "\\",
        "~",
        "``` x\n",
        "`a",
        "- ",
        "a" * 9 + " ",
        "``a` ",
        "www.",
        "a@",
        "//a",
    ):
        short, long = (min(taken(unit * n) for _ in range(3)) for n in (4_000, 16_000))
        assert long < 0.2 or long < 12 * short, unit
    assert taken(" ".join("`" * n for n in range(1, 2_000))) < 2


def test_the_marks_of_a_text_do_not_reach_the_next() -> None:
    first, second = prose("*a `b ~~c **d"), prose("e** f~~ g` h*")
    types = {token.type for token in tokens_of(f"{first}\n\n### x\n\n{second}")}
    assert not types & {"em_open", "strong_open", "s_open", "code_inline"}
