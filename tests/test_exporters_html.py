"""A page shows all of a session, asks for nothing, and nothing in the session can act in it."""

from __future__ import annotations

import base64
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Final

import pytest
from hostile import FRAGMENTS, is_shown, picture, session, sessions, texts
from hypothesis import example, given, settings
from hypothesis import strategies as st
from test_cli import DETAILS, EVERYTHING, HEADER, NOON, answered, called, message, said

from transcript_log._plain import one_line, plain
from transcript_log.codec import outcome_payload
from transcript_log.entries import Entry, MessageEntry, RecordedUsage, ResponseRecord, Run, ToolOutcome
from transcript_log.errors import TranscriptError
from transcript_log.exporters import ExportSource
from transcript_log.exporters._rich import Rich, is_safe_link, language_of
from transcript_log.exporters.html import NoHtmlError, export_html
from transcript_log.findings import Finding

for _name in ("jinja2", "markdown_it", "pygments"):
    pytest.importorskip(_name)

TEMPLATES: Final = Path(__file__).resolve().parent.parent / "transcript_log" / "exporters" / "templates"
STYLE: Final = (TEMPLATES / "page.css").read_text(encoding="utf-8")
CLASSES: Final = {*re.findall(r"\.([a-z]+)", STYLE), "assistant", "completed", "mono", "run", "untold"}
VOID: Final = {"br", "hr", "img", "link", "meta"}
ALLOWED: Final[dict[str, set[str]]] = {
    "html": {"lang"},
    "meta": {"charset", "content", "http-equiv", "name"},
    "link": {"href", "rel"},
    "a": {"class", "href", "rel", "title"},
    "details": {"class", "id", "open", "title"},
    "section": {"class", "title"},
    "p": {"class", "title"},
    "span": {"class", "title"},
    "div": {"class", "dir"},
    "pre": {"tabindex"},
    "img": {"alt", "src"},
    "ol": {"start"},
    **{tag: {"class"} for tag in ("dd", "dl", "dt", "h1", "h3", "header", "li", "small", "summary")},
    **{tag: {"class"} for tag in ("ul", "b", "td", "th")},
    **{tag: set() for tag in ("blockquote", "body", "br", "code", "em", "footer", "h2", "h4", "h5", "h6")},
    "main": {"class"},
    **{tag: set() for tag in ("head", "hr", "s", "strong", "style", "table", "tbody", "thead")},
    **{tag: set() for tag in ("title", "tr")},
}
"""The tags that the templates and Markdown make, each with its attributes."""


class Page(HTMLParser):
    """A page as a parser sees it: its tags, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.parts: list[str] = []
        self.style = ""
        self.declarations: list[str] = []
        self.feed(page)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs)
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "style":
            self.style += data
        else:
            self.parts.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)

    def handle_decl(self, decl: str) -> None:
        self.declarations.append(decl)

    handle_pi = unknown_decl = handle_comment

    @property
    def text(self) -> str:
        return "".join(self.parts)

    def values(self, tag: str, name: str) -> list[str]:
        return [str(attrs[name]) for found, attrs in self.tags if found == tag and name in attrs]


def exported(source: ExportSource) -> str:
    return "".join(export_html(source).pieces)


def page_of(*entries: Entry, **more: Any) -> Page:
    return Page(exported(ExportSource(name="log", entries=entries, **more)))


def assert_inert(page: str) -> Page:
    """Every tag, attribute and value is one that the templates or Markdown make; nothing hides."""
    assert is_shown(page)
    page.encode("utf-8")
    seen = Page(page)
    assert seen.declarations == ["doctype html"]
    assert seen.style == STYLE
    for tag, attrs in seen.tags:
        assert attrs.keys() <= ALLOWED[tag], (tag, attrs)
        assert set((attrs.get("class") or "").split()) <= CLASSES, (tag, attrs)
        assert attrs.get("dir") in (None, "auto")
        assert re.fullmatch(r"t\d+", attrs.get("id") or "t1")
        assert re.fullmatch(r"\d+", attrs.get("start") or "1")
    heads = [attrs for tag, attrs in seen.tags if tag in ("meta", "link")]
    plainly = Page(exported(ExportSource(name="x", entries=())))
    assert heads == [attrs for tag, attrs in plainly.tags if tag in ("meta", "link")]
    for attrs in (attrs for tag, attrs in seen.tags if tag == "a"):
        href = attrs["href"] or ""
        assert re.fullmatch(r"#t\d+", href) or re.match(r"https?://", href, re.IGNORECASE)
        assert href.startswith("#t") or attrs["rel"] == "nofollow noopener noreferrer"
    for source in seen.values("img", "src"):
        assert re.fullmatch(r"data:image/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+={0,2}", source)
    return seen


# ------------------------------------------------------------------------------ the page


def everything(**more: Any) -> ExportSource:
    details = {(detail.id, detail.entry): detail.payload for detail in DETAILS}
    return ExportSource(name="log", entries=EVERYTHING, details=details, header=HEADER, **more)


def test_everything_that_happened_is_there() -> None:
    page = assert_inert(exported(everything()))
    words = " ".join(page.text.split())
    for shown in (
        "Session log 2 turns 6 calls, 1 failed, 2 unanswered 1 compaction",
        "Session s-1 Begun 2026-01-02 12:00:00Z Folder /home/user",
        "Before the first turn",
        "Context: rules R.md",
        "User from the template fix Fix it. Please.",
        "Reasoning I look first.",
        "Reasoning only its producer can read it",
        "shell make failed, exit status 2, build cmd make text a b Output boom again",
        "success, exit status 0",
        "one more for call one",
        "for call nine, which is not in the log",
        "a stand-in: how the call ended was not recorded",
        "web_search make run by the provider",
        "Assistant interrupted Half an ans",
        "[image image/png, 3 bytes]",
        "Compacted 900 to 100 tokens; kept from entry p1 on The gist.",
        "An item of type 'hologram'",
        "An entry of type 'from-the-future'",
        "not answered so far; it was started",
        "not answered so far; recorded as timeout",
        "Run failed after 1 min 15 s",
    ):
        assert " ".join(shown.replace(" ", "").split()) in words.replace(" ", ""), shown


def test_the_policy_allows_this_style_and_inline_pictures_and_nothing_else() -> None:
    page = exported(everything())
    digest = base64.b64encode(sha256(STYLE.encode()).digest()).decode()
    assert (
        '<meta charset="utf-8">\n<meta http-equiv="Content-Security-Policy" content="'
        f"default-src &#39;none&#39;; style-src &#39;sha256-{digest}&#39;; img-src data:;"
        ' base-uri &#39;none&#39;; form-action &#39;none&#39;">'
    ) in page
    assert "url(" not in STYLE
    assert "@import" not in STYLE


def test_what_can_be_long_folds_and_turns_are_open() -> None:
    page = Page(exported(everything()))
    folds = [(attrs.get("class"), "open" in attrs) for tag, attrs in page.tags if tag == "details"]
    assert folds.count(("turn", True)) == 3
    assert {kind for kind, _ in folds} == {"turn", "thought", "call", "mark kept"}
    assert [kind for kind, is_open in folds if is_open] == ["turn"] * 3
    assert [tag for tag, _ in page.tags].count("summary") == len(folds)


def test_use_and_time_are_told_of_the_session_each_turn_and_each_run() -> None:
    usage = RecordedUsage(input=4_000, output=1_000, cache_read=95_000, total_tokens=100_000)
    response = ResponseRecord(id="r1", model="gpt-5", usage=usage)
    entries = [said("u1", "user", "go"), said("a1", "assistant", "ok", response=response), EVERYTHING[-1]]
    words = " ".join(page_of(*entries).text.split())
    assert "100ktokens: 99k in (95k cached), 1.0k out" in words
    assert "Model gpt-5" in words.replace("Modelgpt", "Model gpt")
    assert "Turn 1gpt-52026-01-02 12:00:00Z100k tokens" in words
    assert "gpt-5: 99,000 in (95,000 cached), 1,000 out" in words
    assert "Run failed after 1 min 15 s; 1 response: 99,000 in (95,000 cached), 1,000 out" in words


def test_a_turn_says_what_it_was() -> None:
    later = MessageEntry(id="z", timestamp=NOON + timedelta(seconds=75), message={"role": "assistant"})
    outcome = outcome_payload(ToolOutcome(status="failed"))
    entries = [said("u", "user", "go"), called("c", "one"), answered("o", "one"), called("d", "two"), later]
    page = exported(ExportSource(name="log", entries=entries, details={("one", None): outcome}))
    facts = re.findall(r'<span class="fact ([a-z]*)">([^<]*)</span>', page)
    assert facts == [
        ("", "2026-01-02 12:00:00Z"),
        ("", "1 min 15 s"),
        ("", "2 calls"),
        ("bad", "1 failed"),
        ("wary", "1 unanswered"),
    ]
    assert (
        re.findall(
            r'<span class="fact ([a-z]*)">([^<]*)</span>', exported(ExportSource(name="x", entries=()))
        )
        == []
    )


def test_what_is_missing_is_told() -> None:
    nowhen = MessageEntry(id="z", timestamp=None, message={"role": "assistant", "content": ""})
    shown = {"type": "input_image", "image_url": f"data:image/png;base64,{picture()}"}
    page = page_of(
        nowhen,
        called("c", "one"),
        answered("o", "one", ""),
        called("d", "two"),
        answered("p", "two", [shown]),
    )
    assert page.values("section", "title") == ["entry z"]
    assert page.values("details", "title")[0] == "2026-01-02 12:00:00Z, entry c"
    assert "Assistant no text" in page.text
    assert page.text.count("The output is empty.") == 1
    ended = replace(EVERYTHING[-1], run=Run(started_at=NOON, completed_at=NOON))
    assert 'class="mark run "' in exported(ExportSource(name="log", entries=[ended]))


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        (0, "0"),
        (999, "999"),
        (1000, "1.0k"),
        (9_949, "9.9k"),
        (12_345, "12k"),
        (999_499, "999k"),
        (999_500, "1.0M"),
    ],
)
def test_numbers_at_the_head_are_short(number: int, shown: str) -> None:
    usage = RecordedUsage(output=number, total_tokens=number + 1)
    page = page_of(said("a", "assistant", "x", response=ResponseRecord(usage=usage)))
    assert f", {shown} out" in page.text


def test_damage_is_told_at_the_head_without_the_path() -> None:
    finding = Finding(rule="r", severity="error", message="it is broken", path="/secret", line=7, offset=3)
    page = page_of(findings=(finding,))
    assert "The file is damaged" in page.text
    assert "line 7 (byte 3): error: it is broken" in page.text
    assert "secret" not in page.text
    assert "damaged" not in page_of().text


def test_turns_are_listed_where_there_are_many() -> None:
    page = page_of(*(said(f"u{n}", "user", f"question {n}\nmore") for n in range(1, 4)))
    assert page.values("a", "href") == ["#t1", "#t2", "#t3"]
    assert page.values("details", "id") == ["t1", "t2", "t3"]
    assert "3question 3 more" in page.text
    assert not page_of(said("u", "user", "one"), said("v", "user", "two")).values("a", "href")


def test_pictures_of_the_session_are_shown_and_others_are_named() -> None:
    inline = {"type": "input_image", "image_url": f"data:text/html;base64,{picture()}"}
    outside = {"type": "input_image", "image_url": "https://example.invalid/a.png"}
    page = page_of(
        message("u", {"role": "user", "content": [inline, outside]}),
        message("a", {"role": "assistant", "content": "![x](https://example.invalid/b.png)"}),
    )
    assert page.values("img", "src") == [f"data:image/png;base64,{picture()}"]
    assert page.values("img", "alt") == [f"[image text/html, {len(base64.b64decode(picture()))} bytes]"]
    assert "[image of unknown type]" in page.text


def test_the_page_comes_in_pieces_and_is_the_same_each_time() -> None:
    entries = [said(f"e{n}", "user", "long " * 400) for n in range(200)]
    source = ExportSource(name="log", entries=entries)
    pieces = list(export_html(source).pieces)
    assert len(pieces) > 4
    assert max(map(len, pieces)) < 100_000
    assert "".join(pieces) == exported(source)


def test_a_long_page_is_drawn_as_it_is_read() -> None:
    entries = [said(f"e{n}", "user", "x") for n in range(2001)]
    page = assert_inert(exported(ExportSource(name="log", entries=entries)))
    assert page.values("main", "class") == ["long"]
    assert not page_of(*entries[:2000]).values("main", "class")


def test_pieces_are_made_as_they_are_asked_for() -> None:
    made: list[int] = []

    class Watched(dict[str, Any]):
        def __init__(self, number: int) -> None:
            super().__init__(command="x" * 5000)
            self.number = number

        def items(self) -> Any:
            made.append(self.number)
            return super().items()

    entries = [
        message(f"e{n}", {"type": "function_call", "call_id": f"c{n}", "name": "f", "arguments": Watched(n)})
        for n in range(100)
    ]
    pieces = iter(export_html(ExportSource(name="log", entries=entries)).pieces)
    next(pieces)
    assert 0 < len(made) < 50


@pytest.mark.parametrize("missing", ["jinja2", "markdown_it", "pygments"])
def test_without_the_extra_the_error_says_what_to_install(
    missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(NoHtmlError, match=r"pip install 'transcript-log\[html\]'") as caught:
        export_html(ExportSource(name="log", entries=()))
    assert isinstance(caught.value, TranscriptError)


@pytest.mark.parametrize("text", ["\x0b", "\x0c", "\x1c", "\x85", "\u2028"])
def test_what_only_looks_blank_is_shown(text: str) -> None:
    page = page_of(
        said("u", "user", text),
        said("a", "assistant", text),
        message("r", {"type": "reasoning", "summary": [{"type": "summary_text", "text": text}]}),
        called("c", "one", arguments=text),
        answered("o", "one", text),
    )
    assert page.text.count(plain(text)) >= 5
    assert "no text" not in page.text
    assert "empty" not in page.text


# ------------------------------------------------------------------------------ hostile


@settings(max_examples=200)
@given(sessions())
def test_no_text_of_a_session_acts_or_hides(source: ExportSource) -> None:
    assert_inert(exported(source))


def test_each_hostile_fragment_is_inert_everywhere() -> None:
    for text in FRAGMENTS:
        assert_inert(exported(session(lambda text=text: text)))


@settings(max_examples=200)
@given(texts())
@example("\n\nbegins with line feeds")
@example("</pre></textarea><script>")
def test_text_that_is_no_markdown_is_there_as_it_is(text: str) -> None:
    page = page_of(
        said("d", "developer", text),
        said("u", "user", text),
        called("c", "one", arguments="a " + text),
        answered("o", "one", "b " + text),
        called("c2", "two", name="n" + text, arguments=text),
    )
    shown = plain(text.replace("\r\n", "\n"))
    assert page.text.count(shown.strip("\n")) >= 4
    assert f"a {shown}".strip("\n") in page.text
    assert f"b {shown}".strip("\n") in page.text
    assert f"n{one_line(text)}" in page.text


def structure(text: str) -> list[tuple[str, dict[str, str | None]]]:
    """The tags of a page, without what stands in attributes for people to read."""
    page = page_of(
        said("u", "user", f"x{text}"),
        called("c", "one", name=f"x{text}", arguments=f"x{text}"),
        answered("o", "one", f"x{text}"),
    )
    return [
        (tag, {name: value for name, value in attrs.items() if name != "title"}) for tag, attrs in page.tags
    ]


@given(texts())
def test_text_adds_no_tag(text: str) -> None:
    assert structure(text) == structure("plain")


# -------------------------------------------------------------------------------- links


@pytest.mark.parametrize(
    "url", ["https://example.invalid", "http://example.invalid/a?b#c", "HTTPS://example.invalid/"]
)
def test_links_to_the_web_are_links(url: str) -> None:
    assert is_safe_link(url)
    page = page_of(said("a", "assistant", f"[text]({url})"))
    assert len(page.values("a", "href")) == 1
    assert page.values("a", "rel") == ["nofollow noopener noreferrer"]


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        "java&#10;script:alert(1)",
        "&#1;javascript:alert(1)",
        "vbscript:x",
        "data:text/html,x",
        "data:image/png;base64,AAAA",
        "file:///etc/passwd",
        "src/chart.py:12",
        "/etc/passwd",
        "//example.invalid",
        "#t1",
        "?x",
        "http:/example.invalid",
        "https:example.invalid",
        "http:///example.invalid",
        "mailto:me@example.invalid",
        "blob:https://example.invalid/x",
        "x-help:whatever",
    ],
)
def test_all_other_links_are_text_with_where_they_would_lead(url: str) -> None:
    page = page_of(said("a", "assistant", f"see [the text]({url}) there"))
    assert not page.values("a", "href")
    assert "see the text there" in page.text
    told = [attrs for tag, attrs in page.tags if attrs.get("class") == "unlinked"]
    assert len(told) == 1
    assert told[0]["title"]


def test_a_link_that_is_made_text_does_not_reach_the_next() -> None:
    page = page_of(
        said("a", "assistant", "[a](x) [b](https://example.invalid) [c](y) <https://example.invalid>")
    )
    assert len(page.values("a", "href")) == 2
    assert [attrs.get("title") for tag, attrs in page.tags if attrs.get("class") == "unlinked"] == ["x", "y"]


# ----------------------------------------------------------------------------- Markdown


@pytest.fixture
def rich() -> Rich:
    return Rich()


def test_markdown_of_a_model_is_laid_out(rich: Rich) -> None:
    text = "# Head\n\n- *a*\n- `b`\n\n| x | y |\n|--:|:-:|\n| 1 | 2 |\n\n```py\nx = 1  # <\n```\n\n3. three\n"
    assert rich.markdown(text) == (
        "<h4>Head</h4>\n<ul>\n<li><em>a</em></li>\n<li><code>b</code></li>\n</ul>\n"
        '<table>\n<thead>\n<tr>\n<th class="right">x</th>\n<th class="center">y</th>\n</tr>\n</thead>\n'
        '<tbody>\n<tr>\n<td class="right">1</td>\n<td class="center">2</td>\n</tr>\n</tbody>\n</table>\n'
        '<div class="block"><span>py</span><pre tabindex="0">\n<code>x = <span class="number">1  </span>'
        '<span class="remark"># &lt;\n</span></code></pre></div>\n<ol start="3">\n<li>three</li>\n</ol>\n'
    )


def letters(text: str) -> str:
    return "".join(sorted(char for char in text.casefold() if char.isalpha()))


@settings(max_examples=500)
@given(texts().filter(lambda text: "&" not in text and "<" not in text))
@example("[a]: https://example.invalid 'hidden'\n\n[a] [b][a] [c]")
@example("```py hidden words\nx\n```")
@example("| a |\n|---|\n| b | hidden |\n| c |")
@example("[a](/b 'hidden')")
@example("> " * 70 + "hidden")
@example("\n".join(" " * n + "- a" for n in range(0, 120, 2)))
def test_markdown_leaves_out_no_letter(text: str) -> None:
    shown = plain(text)
    made = Rich().markdown(shown)
    if made is None:
        return
    page = Page(f"<!doctype html>{made}")
    told = "".join(
        re.sub(r"%[0-9A-F]{2}", "", value or "")
        for _, attrs in page.tags
        for name, value in attrs.items()
        if name in ("href", "title")
    )
    there, wanted = letters(page.text + told), letters(shown)
    for char in set(wanted):
        assert there.count(char) >= wanted.count(char) or not char.isascii()


@pytest.mark.parametrize(
    "text",
    [
        "| a |\n|---|\n| b | hidden |",
        "x\n\n- | a |\n  |---|\n  | b | hidden |",
        "> " * 70 + "deep",
        "\n".join(" " * n + "- a" for n in range(0, 160, 2)),
        "long " * 20_000,
    ],
)
def test_what_markdown_would_leave_out_is_shown_as_it_is(text: str, rich: Rich) -> None:
    assert rich.markdown(text) is None
    assert not rich.is_spent
    assert plain(text).strip("\n") in page_of(said("a", "assistant", text)).text


def test_tables_of_other_words_are_no_reason_to_refuse(rich: Rich) -> None:
    assert rich.markdown("| a | b |\n|---|\n| c |") is not None
    assert "<td>c</td>" in str(rich.markdown("| a | b |\n|---|---|\n| c |\n| d \\| e | `f\\|g` |"))


def test_a_page_lays_out_no_more_than_its_share_and_says_where_that_ends() -> None:
    text = "*word* " * 9_000
    page = page_of(*(said(f"a{n}", "assistant", text) for n in range(12)))
    assert page.text.count("From here on, text is shown as it was written") == 1
    before, after = page.text.split("From here on")
    assert before.count("*word*") == 9_000  # the first that is
    assert after.count("*word*") > 9_000
    assert page.text.count("word") == 12 * 9_000


@pytest.mark.parametrize(
    "unit", ["[", "![[", "|a", "*a_", "`", "> ", "- ", "<a ", "&#x", "~~", "[a](", "\\", "\n- a\n"]
)
def test_markdown_of_a_kind_takes_bounded_time(unit: str) -> None:
    import time

    start = time.perf_counter()
    rich = Rich(share=1 << 19)
    while not rich.is_spent:
        rich.markdown((unit * 8_000)[:8_000])
    assert time.perf_counter() - start < 15


# --------------------------------------------------------------------------------- code

LANGUAGES: Final = sorted(
    {language_of(name) for name in ("x.py", "a.ts", "b.rs", "c.json", "d.diff", "e.sh", "f.html")}
)


def unmarked(html: str) -> Iterator[str]:
    page = Page(html)
    assert {tag for tag, _ in page.tags} <= {"span"}
    assert all(attrs.keys() == {"class"} and attrs["class"] in CLASSES for _, attrs in page.tags)
    yield page.text


@settings(max_examples=200)
@given(texts() | st.text(), st.sampled_from(LANGUAGES))
@example("\n\n  x = '''a\n\n", "python")
@example("", "json")
def test_colours_change_no_character(text: str, language: str) -> None:
    shown = plain(text)
    made = Rich().code(shown, language)
    assert made is not None
    assert list(unmarked(made)) == [shown]


def test_only_known_languages_and_short_texts_are_coloured(rich: Rich) -> None:
    assert rich.code("x", "brainfuck") is None
    assert rich.code("x = 1\n" * 9_000, "python") is None
    assert rich.code("x = 1; " * 500, "python") is None
    assert rich.code("@@ x\n-a\n+b\n c<", "diff") == (
        '<span class="remark">@@ x</span>\n<span class="removed">-a</span>\n'
        '<span class="added">+b</span>\n c&lt;'
    )
    assert 'class="word"' in str(rich.code("def f(): pass", "python"))
    little = Rich(color_share=7_000)
    assert [little.code("x = 1\n" * 500, "python") is None for _ in range(4)] == [False, False, True, True]
    assert little.code("x = 1", "python") is not None


def test_an_output_is_coloured_as_json_if_all_of_it_is_json() -> None:
    told = '{"branch": "main"}'
    page = exported(
        ExportSource(
            name="log",
            entries=[
                called("c", "one"),
                answered("o", "one", told),
                called("d", "two"),
                answered("p", "two", f"{told}\nSwitched to another branch"),
            ],
        )
    )
    assert page.count('<span class="string">') == 1
    assert "\nSwitched to another branch</pre>" in page


@pytest.mark.parametrize(
    ("name", "language"),
    [("a/b.PY", "python"), ("x.tar.gz", ""), ("ts", "typescript"), ("Makefile", ""), ("", ""), ("a.h", "c")],
)
def test_a_language_is_told_by_a_name(name: str, language: str) -> None:
    assert language_of(name) == language


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    "unit", ['"', "'", "(", "\\", "<", "/*", "{", "a=", "$(", "#", "`", "[[", "\n+", " ", "-a "]
)
def test_colours_take_bounded_time(unit: str, language: str) -> None:
    import time

    start = time.perf_counter()
    for text in ((unit * 2_000)[:2_000], f"{unit * 50}\n" * 100):
        Rich().code(text[:16_000], language)
    assert time.perf_counter() - start < 5


# ---------------------------------------------------------------------------- arguments


@pytest.mark.parametrize(
    ("arguments", "gist"),
    [
        ('{"command": "make all", "description": "Build"}', "make all"),
        ('{"command": ["bash", "-lc", "ls | wc"]}', "ls | wc"),
        ('{"command": ["ls", "-l"]}', "ls -l"),
        ('{"file_path": "a.py", "limit": 3}', "a.py"),
        ('{"limit": 3, "other": "word\\n  word"}', "word word"),
        ('{"limit": 3}', ""),
        (
            "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n*** Add File: b\n+y\n",
            "Update File: a.py, Add File: b",
        ),
        ("{broken", "{broken"),
        ("x" * 300, "x" * 200 + "…"),
    ],
)
def test_a_folded_call_shows_what_says_the_most(arguments: str, gist: str) -> None:
    page = exported(ExportSource(name="log", entries=[called("c", "one", arguments=arguments)]))
    shown = re.search(r'<span class="gist mono">([^<]*)</span>', page)
    assert shown is not None
    assert shown[1] == gist


def test_arguments_are_shown_by_name_and_null_and_empty_ones_too() -> None:
    page = page_of(called("c", "one", arguments='{"a": null, "b": "", "": [1, "x"], "c": ["p\\nq", "r"]}'))
    words = page.text.split()
    assert words[words.index("a") : words.index("Exported")] == [
        *("a", "null", "b", '""', '""', '[1,"x"]', "c", "p", "q", "r"),
    ]
