"""Text of a transcript as HTML: Markdown laid out, and code in colours.

Both are made by packages of the extra ``html``, which are imported when they are first needed.
What comes out has the tags that those packages make and no other, and all of the text that
went in: where Markdown would leave some of it out, it is not taken for Markdown.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, MutableMapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, Final

from .._plain import plain

if TYPE_CHECKING:
    from markdown_it.token import Token
    from markdown_it.utils import OptionsDict

__all__ = ["Rich", "is_safe_link", "language_of"]

_LONGEST: Final = 1 << 16
"""How many characters of one text are laid out; a longer one is a paste, and is shown as it is."""

_COLORED: Final = 1 << 14
"""How many of one piece of code are coloured."""

_LAID_OUT: Final = 1 << 21
"""What may be laid out on one page, in the characters of plain text that take as long."""

_COSTS: Final = (("[", 40), ("|", 40), ("\n", 20), ("*", 10), ("_", 10))
"""What a character costs more than a letter does, since the parser looks further for it."""

_WIDEST: Final = 1 << 11
"""How long a line may be in it: what no person wrote is seldom worth its colours, and takes long."""

_ALL_COLORED: Final = 1 << 19
"""What may be coloured on one page."""

_DEEPEST: Final = 60
"""How deep Markdown may nest; the parser would leave out what stands deeper than a hundred."""

_LEXERS: Final[Mapping[str, str]] = {
    **{name: name for name in ("bash", "c", "cpp", "css", "diff", "go", "html", "ini", "java", "javascript")},
    **{name: name for name in ("json", "kotlin", "lua", "make", "php", "python", "ruby", "rust", "sql")},
    **{name: name for name in ("swift", "toml", "typescript", "xml", "yaml")},
    "c++": "cpp",
    "h": "c",
    "hpp": "cpp",
    "cc": "cpp",
    "cfg": "ini",
    "console": "bash",
    "go": "go",
    "htm": "html",
    "js": "javascript",
    "jsx": "javascript",
    "jsonc": "json",
    "kt": "kotlin",
    "mk": "make",
    "patch": "diff",
    "py": "python",
    "python3": "python",
    "pyi": "python",
    "rb": "ruby",
    "rs": "rust",
    "sh": "bash",
    "shell": "bash",
    "zsh": "bash",
    "ts": "typescript",
    "tsx": "typescript",
    "yml": "yaml",
}
"""The languages that are coloured, by their names and by the ends of files' names."""

_COLORS: Final = {
    "k": "word",
    "ow": "word",
    "nt": "word",
    "s": "string",
    "m": "number",
    "no": "number",
    "nv": "number",
    "nf": "named",
    "nc": "named",
    "nn": "named",
    "nb": "named",
    "fm": "named",
    "nd": "named",
    "na": "named",
    "c": "remark",
    "gu": "remark",
    "gh": "remark",
    "gi": "added",
    "gd": "removed",
}
"""The class of each sort of token, by the short names of Pygments, or by their first letters."""

_ALIGNMENTS: Final = {"text-align:right": "right", "text-align:center": "center"}


def language_of(name: str) -> str:
    """The language that a file's name, or a name of a language, tells of; empty if none."""
    return _LEXERS.get(name.rpartition(".")[2].lower(), "")


def is_safe_link(url: str) -> bool:
    """Whether a link may lead there: to the web, and so neither to a script nor to a file."""
    return re.match(r"https?://[^/?#\\]", url, re.IGNORECASE) is not None


class Rich:
    """Lays out the texts of one page, as far as that takes bounded time.

    Args:
        share: What may be laid out; see ``_COSTS``.
        color_share: How many characters of code may be coloured.

    Attributes:
        is_spent: Whether a text was refused because the page has had its share.

    Raises:
        ImportError: The extra is not installed.
    """

    def __init__(self, share: int = _LAID_OUT, color_share: int = _ALL_COLORED) -> None:
        from markdown_it import MarkdownIt  # noqa: PLC0415 - an extra, and slow to import
        from markdown_it.renderer import RendererHTML  # noqa: PLC0415

        # No images, which would be loaded; no reference definitions, which would be hidden.
        self._parser = MarkdownIt("js-default", {"html": False}).disable(["image", "reference"])
        # All are links to the parser; those that lead nowhere safe are made text in ``_adapt``.
        self._parser.validateLink = _any_link  # type: ignore[method-assign]  # its own way to say so
        renderer = self._parser.renderer
        assert isinstance(renderer, RendererHTML)
        rules: dict[str, Any] = {"fence": self._fence, "code_block": self._fence}
        renderer.rules |= rules
        self._left = share
        self._color_left = color_share
        self.is_spent = False

    def markdown(self, text: str) -> str | None:
        """A text that is fit to be shown, laid out as Markdown; None if it is to be shown as it is."""
        if len(text) > _LONGEST:
            return None
        cost = len(text) + sum(more * text.count(char) for char, more in _COSTS)
        if cost > self._left:
            self.is_spent = True
            return None
        self._left -= cost
        env: MutableMapping[str, Any] = {}
        tokens = self._parser.parse(text, env)
        lines = text.split("\n")
        if any(token.level > _DEEPEST for token in tokens) or not _keeps_cells(tokens, lines):
            return None
        for token in tokens:
            _adapt(token)
        # Entities are decoded only here, and may stand for what hides.
        return plain(self._parser.renderer.render(tokens, self._parser.options, env))

    def code(self, text: str, language: str) -> str | None:
        """Code that is fit to be shown, in colours; None if it is to be shown as it is."""
        name = _LEXERS.get(language)
        if name is None or len(text) > min(_COLORED, self._color_left):
            return None
        if max(map(len, text.split("\n"))) > _WIDEST:
            return None
        self._color_left -= len(text)
        if name == "diff":
            return "\n".join(map(_diff_line, text.split("\n")))
        from pygments.lexers import get_lexer_by_name  # noqa: PLC0415 - an extra, and slow to import
        from pygments.token import STANDARD_TYPES  # noqa: PLC0415

        parts: list[str] = []
        color = ""
        for kind, value in get_lexer_by_name(name, stripnl=False, ensurenl=False).get_tokens(text):
            short = STANDARD_TYPES.get(kind, "")
            wanted = _COLORS.get(short) or _COLORS.get(short[:1], "")
            if wanted != color and not value.isspace():
                parts += ["</span>" if color else "", f'<span class="{wanted}">' if wanted else ""]
                color = wanted
            parts.append(escape(value))
        return "".join([*parts, "</span>" if color else ""])

    def _fence(self, tokens: Sequence[Token], at: int, options: OptionsDict, env: Any) -> str:  # noqa: ARG002
        token = tokens[at]
        info = token.info.strip()
        body = self.code(token.content, language_of(info.split()[0]) if info else "")
        label = f"<span>{escape(info)}</span>" if info else ""
        shown = escape(token.content) if body is None else body
        return f'<div class="block">{label}<pre tabindex="0">\n<code>{shown}</code></pre></div>\n'


def _diff_line(line: str) -> str:
    # Pygments takes quadratic time for a long line of it.
    color = {"+": "added", "-": "removed", "@": "remark"}.get(line[:1])
    return escape(line) if color is None else f'<span class="{color}">{escape(line)}</span>'


def _any_link(url: str) -> bool:  # noqa: ARG001 - the parser calls it
    return True


def _keeps_cells(tokens: Sequence[Token], lines: Sequence[str]) -> bool:
    """Whether no row of a table has more cells than its head: those would be left out."""
    for at, token in enumerate(tokens):
        if token.type != "table_open" or token.map is None:
            continue
        end = next(n for n in range(at, len(tokens)) if tokens[n].type == "table_close")
        kept = sum(map(_letters, (one.content for one in tokens[at:end] if one.type == "inline")))
        if kept != sum(map(_letters, lines[token.map[0] : token.map[1]])):
            return False
    return True


def _letters(text: str) -> int:
    return sum(map(str.isalnum, text))


def _adapt(token: Token) -> None:
    """Make a token fit for the page: its headings stand below the page's own, and it allows no style."""
    if token.type in ("heading_open", "heading_close"):
        token.tag = f"h{min(6, int(token.tag[1:]) + 3)}"
    elif token.type in ("td_open", "th_open"):
        side = _ALIGNMENTS.get(str(token.attrs.pop("style", None)))
        if side is not None:
            token.attrSet("class", side)
    is_text = False
    for child in token.children or ():
        if child.type == "link_open":
            target = str(child.attrs.get("href", ""))
            is_text = not is_safe_link(target)
            if is_text:
                words = str(child.attrs.get("title", ""))
                child.tag = "span"
                child.attrs = {"class": "unlinked", "title": f"{target} {words}".strip() or "nowhere"}
            else:
                child.attrSet("rel", "nofollow noopener noreferrer")
        elif child.type == "link_close" and is_text:  # links do not nest
            child.tag = "span"
