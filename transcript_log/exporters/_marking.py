"""Text of a transcript inside Markdown, where it can be read and cannot act.

What comes out holds no heading, no HTML, no link and no picture, and ends every block that it
begins: whatever a transcript says, headings are the exporter's own. Everything is first made
fit to be shown, so nothing hides in it either.

The rules are those of CommonMark 0.31 (https://spec.commonmark.org/0.31.2/, 2024-01-28) with
the tables and autolinks of GFM (https://github.github.com/gfm/, 0.29, 2019-04-06), and on the
safe side of both: braces and dollars go too, to which other dialects give a meaning, and code
in fences stands in no quotation, where Python-Markdown 3 knows none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from .._plain import one_line, plain

__all__ = ["fenced", "inline", "literal", "prose", "quoted", "quoted_prose", "spanned"]

_RUNS: Final = re.compile("`+")
_WORD: Final = re.compile(r"[A-Za-z0-9_+#.-]{1,32}")
# GitHub draws these; they are read here.
_DRAWN: Final = frozenset({"geojson", "math", "mermaid", "stl", "topojson"})


def fenced(text: str, info: str = "") -> str:
    """Text as a block of code, just as it is; ``info`` names a language.

    The fence is longer than any run of backticks in the text, so that nothing ends it early.
    """
    shown = _clean(text).strip("\n")
    fence = "`" * max(3, 1 + max(map(len, _RUNS.findall(shown)), default=0))
    word = _WORD.match(info)
    name = "" if word is None or word[0].lower() in _DRAWN else word[0]
    return f"{fence}{name}\n{shown}\n{fence}"


def spanned(text: str) -> str:
    """Text as code within a line; as escaped text where that would come apart in a table."""
    shown = one_line(text)
    if "|" in shown or not shown.strip():
        return inline(shown)
    taken = set(map(len, _RUNS.findall(shown)))
    ticks = "`" * next(n for n in range(1, len(taken) + 2) if n not in taken)
    room = " " if shown[0] in "` " or shown[-1] in "` " else ""
    return f"{ticks}{room}{shown}{room}{ticks}"


def quoted(markdown: str) -> str:
    """Blocks of Markdown as a quotation."""
    return "\n".join(f"> {line}" if line else ">" for line in markdown.split("\n"))


# ------------------------------------------------------------------------------ literal

_ENTITY: Final = r"&(?=#?\w+;)"
# What begins or holds a link that GFM makes of a bare address. It would reach over marks of code
# too, and so set free what stands between them.
_ADDRESS: Final = r":(?=//)|(?<![:/])/(?=/[^\s/])|(?<=[wW]{3})\.|(?<=[\w.+-])@(?=\w)"
# Between letters and digits an underscore marks nothing.
_ACTIVE: Final = re.compile(rf"[\\`*\[\]{{}}<$~|]|(?<![^\W_])_|_(?![^\W_])|{_ENTITY}|{_ADDRESS}")
_ENTITIES: Final = {"<": "&lt;", "&": "&amp;", "`": "&#96;"}
_LEADING: Final = re.compile(r"(?=[#>+=-])|(?<=\d)(?=[.)])")
_OPENING: Final = re.compile(r"[#>+=-]|\d{1,9}[.)]")


def inline(text: str) -> str:
    """Text on one line that reads as it is; at the beginning of a line too."""
    escaped = _ACTIVE.sub(_escaped, one_line(text).strip())
    if _OPENING.match(escaped):
        escaped = _LEADING.sub(r"\\", escaped, count=1)
    return escaped


def literal(text: str) -> str:
    """Text that reads as it is, line by line: no character of it marks anything up."""
    lines = []
    for line in _clean(text).strip("\n").split("\n"):
        spaced = line.expandtabs(4)
        body = spaced.lstrip(" ")
        lines.append("&nbsp;" * (len(spaced) - len(body)) + inline(body) if body else "")
    # Two spaces break a line; a blank one ends the paragraph, and needs none.
    return "\n".join(
        f"{line}  " if line and following else line
        for line, following in zip(lines, [*lines[1:], ""], strict=True)
    )


def _escaped(match: re.Match[str]) -> str:
    char = match[0]
    return _ENTITIES.get(char) or f"\\{char}"


# -------------------------------------------------------------------------------- prose

_LONGEST: Final = 1 << 14
"""How long a line of prose may be, in characters: what nobody wrote is escaped whole."""

_FENCE: Final = re.compile(r"([ \t]*)(`{3,}(?=[^`]*$)|~{3,})[ \t]*(.*)")
_PUNCTUATION: Final = r"[!-/:-@\[-`{-~]"
_INLINE: Final = re.compile(
    rf"\\(?P<kept>{_PUNCTUATION})"
    r"|(?<!`)(?P<ticks>`+)(?!`)(?P<code>.+?)(?<!`)(?P=ticks)(?!`)"
    rf"|(?P<stray>`)|(?P<active>[\[{{<$]|{_ENTITY}|{_ADDRESS}|~(?=~~)|(?<=~~)~)"
)
# What may stand before the content of a line: marks of quotations and lists, and room.
_MARKS: Final = re.compile(r"[ \t>*+\-0-9.)]*")
_UNDERLINE: Final = re.compile(r"[ \t>*+\-0-9.)=]*[-=]")


def prose(text: str) -> str:
    """Text of a model as Markdown: lists, tables, emphasis and code stay, all else is escaped."""
    return "\n\n".join(block for _, block in _blocks(text))


def quoted_prose(text: str) -> str:
    """The same as a quotation, with code in fences between its parts."""
    return "\n\n".join(block if is_code else quoted(block) for is_code, block in _blocks(text))


def _blocks(text: str) -> Iterator[tuple[bool, str]]:
    """The parts of a prose, and which of them are code in fences."""
    for is_code, info, lines in _segments(_clean(text).split("\n")):
        if is_code:
            yield True, fenced("\n".join(lines), info)
        elif body := "\n".join(map(_line, lines)).strip("\n"):
            yield False, body


def _segments(lines: list[str]) -> Iterator[tuple[bool, str, list[str]]]:
    """Text, and code in fences: whether it is code, in which language, and its lines."""
    held: list[str] = []
    fence = info = ""
    room = 0
    for line in lines:
        if fence:
            body = line.strip(" \t")
            if len(body) >= len(fence) and not body.strip(fence[0]):
                yield True, info, held
                held, fence = [], ""
            else:
                inner = line.lstrip(" \t")
                held.append(line[min(room, len(line) - len(inner)) :])
            continue
        match = _FENCE.fullmatch(line)
        if match is None:
            held.append(line)
            continue
        yield False, "", held
        held, room, fence, info = [], len(match[1]), match[2], match[3]
    yield bool(fence), info, held


def _line(line: str) -> str:
    """One line of prose, without what it could become a heading or a fence by."""
    line = line.rstrip()
    if len(line) > _LONGEST:
        return inline(line)
    if _UNDERLINE.fullmatch(line):
        # It could make a heading of the line before it.
        return re.sub("[=-]", r"\\\g<0>", line)
    escaped = _INLINE.sub(_safe, line)
    marks = _MARKS.match(escaped)
    at = 0 if marks is None else marks.end()
    return f"{escaped[:at]}\\{escaped[at:]}" if escaped[at : at + 1] == "#" else escaped


def _safe(match: re.Match[str]) -> str:
    if (kept := match["kept"]) is not None:
        return _ENTITIES.get(kept) or f"\\{kept}"
    if (code := match["code"]) is not None:
        code = code.replace("\t", " ")
        return spanned(code[1:-1] if code[0] == code[-1] == " " and code.strip() else code)
    char: str = match[0]
    return _ENTITIES.get(char) or f"\\{char}"


def _clean(text: str) -> str:
    return plain(text.replace("\r\n", "\n"))
