"""What well-known secrets look like, and shapes of one's own.

A small table, and precise: each row is a shape that a provider documents or that scanners of
repositories know, so that what is found is a secret nearly always. What has no shape (a
password in prose) is not found.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from ..errors import TranscriptError

__all__ = ["SHAPES", "Finder", "SecretShape", "ShapeError", "parse_shape", "parse_shapes"]

Finder = Callable[[str], Iterable[tuple[int, int, str]]]
"""Finds secrets in a text: where each begins, where it ends, and its kind (``a-z``, ``0-9``, ``-``)."""

_KIND: Final = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_GROUP: Final = "secret"


class ShapeError(TranscriptError, ValueError):
    """A shape of a secret cannot be used."""

    def __init__(self, named: str, reason: str) -> None:
        super().__init__(named, reason)
        self.named = named
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.named!r} is no shape of a secret: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretShape:
    """A kind of secret, and how to see one.

    Attributes:
        kind: Its name in a placeholder: lower case, digits and single hyphens.
        pattern: Where it matches, its group ``secret`` is one, or, without such a group, all of it.
        hints: Texts of which one is in every text that holds such a secret; none: no telling.
        source: Who says that it looks so.
        date: When that was looked up.
    """

    kind: str
    pattern: re.Pattern[str]
    hints: tuple[str, ...] = ()
    source: str = ""
    date: str = ""

    def __post_init__(self) -> None:
        if _KIND.fullmatch(self.kind) is None:
            raise ShapeError(self.kind, "a kind is of a-z, 0-9 and single hyphens, as in my-token")

    @property
    def group(self) -> str | int:
        """The group of the pattern that is the secret."""
        return _GROUP if _GROUP in self.pattern.groupindex else 0


def parse_shape(text: str) -> SecretShape:
    """A shape as it is given on the command line: ``KIND=REGEX``.

    Raises:
        ShapeError: It is none.
    """
    kind, equals, pattern = text.partition("=")
    if not equals:
        raise ShapeError(text, "give it as KIND=REGEX")
    return _shape(kind, pattern)


def parse_shapes(text: str) -> tuple[SecretShape, ...]:
    """The shapes of a TOML document: tables ``[[shape]]``, each with ``kind`` and ``regex``.

    Raises:
        ShapeError: It is no TOML, or one of them is none.
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ShapeError("the file", f"no TOML: {error}") from error
    tables: Any = document.get("shape")
    if document.keys() != {"shape"} or type(tables) is not list:
        raise ShapeError("the file", "it holds tables [[shape]], and nothing else")
    found = []
    for table in tables:
        if type(table) is not dict or table.keys() != {"kind", "regex"}:
            raise ShapeError("a table", "each [[shape]] has a kind and a regex, and nothing else")
        found.append(_shape(table["kind"], table["regex"]))
    return tuple(found)


def _shape(kind: object, pattern: object) -> SecretShape:
    if type(kind) is not str or type(pattern) is not str:
        raise ShapeError(str(kind), "its kind and its regex are texts")
    try:
        return SecretShape(kind=kind, pattern=re.compile(pattern), source="the user")
    except re.error as error:
        raise ShapeError(kind, f"its regex cannot be read: {error}") from error


_GITLEAKS: Final = "gitleaks, config/gitleaks.toml at 009e025"
_LOOKED_UP: Final = "2026-12-01"


def _row(kind: str, hints: str, pattern: str, source: str, flags: re.RegexFlag = re.NOFLAG) -> SecretShape:
    return SecretShape(
        kind=kind,
        pattern=re.compile(pattern, flags),
        hints=tuple(hints.split(" ")),
        source=source,
        date=_LOOKED_UP,
    )


# No letter or digit beside it: inside of a longer word, such as base64, it is chance. And what
# ends in xxxxxxxx stands for one that is not told.
_BEGIN: Final = r"(?<![A-Za-z0-9_])"
_END: Final = r"(?<![xX]{8})(?![A-Za-z0-9_])"
_QUOTE: Final = r"(?:\\{0,7}[\"'`])?"  # JSON in a text has escaped ones
# Between the lines of a block: also escaped line ends, numbers of lines, and marks of a diff.
_LINE_END: Final = r"(?:\s|\\{1,7}[nrt])"
_LINE_MARK: Final = r"(?:[0-9]{1,7}(?:→|[\t|:] ?)|(?:[+>|]|-(?!-)) ?)?"

SHAPES: Final[tuple[SecretShape, ...]] = (
    _row(
        "private-key",
        "PRIVATE",
        # To its end; of one whose end or beginning is cut off, its lines of base64.
        r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----"
        r"(?:(?=(?:(?!-----)[\s\S]){0,600}?[A-Za-z0-9+/]{20})"
        r"(?:(?!-----)[\s\S]){1,20000}?-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----"
        rf"|(?:{_LINE_END}*{_LINE_MARK}[A-Za-z0-9+/=]{{20,}})+)"
        rf"|(?:(?<=\\[nrt])|(?<![A-Za-z0-9+/=\\]))(?:[A-Za-z0-9+/=]{{20,}}+{_LINE_END}++{_LINE_MARK}){{1,64}}+"
        rf"(?:[A-Za-z0-9+/=]{{1,76}}+{_LINE_END}++{_LINE_MARK})?"
        r"-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----",
        "RFC 7468; RFC 4880; OpenSSH PROTOCOL.key",
    ),
    _row(
        "aws-access-key-id",
        "AKIA ASIA ABIA ACCA",
        rf"{_BEGIN}(?:AKIA|ASIA|ABIA|ACCA)(?![A-Z2-7]*EXAMPLE{_END})[A-Z2-7]{{16}}{_END}",
        "AWS, IAM identifiers, unique ID prefixes",
    ),
    _row(
        "aws-secret-access-key",
        "ecret SECRET",
        rf"(?i:aws_?secret_?access_?key|secret_?access_?key|aws_?secret_?key){_QUOTE}\s*[:=]+\s*{_QUOTE}"
        r"(?P<secret>(?=[A-Za-z+/]*[0-9])[A-Za-z0-9+/]{40})(?![A-Za-z0-9+/=])(?<!EXAMPLEKEY)",
        "AWS, managing access keys: 40 characters",
    ),
    _row(
        "aws-session-token",
        "session_token essionToken SESSION_TOKEN ecurity-Token ecurity-token",
        rf"(?i:aws_?session_?token|session_?token|x-amz-security-token){_QUOTE}\s*[:=]+\s*{_QUOTE}"
        r"(?P<secret>(?=[A-Za-z+/]*[0-9])[A-Za-z0-9+/]{100,}={0,2})(?![A-Za-z0-9+/=])",
        "AWS, STS, Credentials: SessionToken, which has no fixed size",
    ),
    _row(
        "github-token",
        "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_",
        rf"{_BEGIN}(?:gh[opusr]_[A-Za-z0-9_]{{36,255}}(?:\.[A-Za-z0-9_-]{{10,}}){{0,2}}"
        rf"|github_pat_[A-Za-z0-9]{{22}}_[A-Za-z0-9]{{59}}){_END}",
        "GitHub changelog 2021-03-31, authentication token format; 2026 for ghs_ with two dots",
    ),
    _row(
        "gitlab-token",
        "glpat- gldt- glrt- glcbt- glptt- glimt- glagent- glsoat-",
        rf"{_BEGIN}gl(?:pat|dt|rt|cbt|ptt|imt|agent|soat)-[A-Za-z0-9_-]{{20,300}}"
        rf"(?:\.[0-9a-z]{{2}})?(?:\.[0-9a-z]{{9}})?{_END}",
        f"{_GITLEAKS}; GitLab, routable tokens, for the parts behind dots",
    ),
    _row(
        "openai-key",
        "T3BlbkFJ",
        rf"{_BEGIN}sk-(?:(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{{20,160}}|[A-Za-z0-9]{{20}})"
        rf"T3BlbkFJ[A-Za-z0-9_-]{{20,160}}{_END}",
        _GITLEAKS,
    ),
    _row(
        "anthropic-key",
        "sk-ant-",
        rf"{_BEGIN}sk-ant-[a-z]{{3,6}}[0-9]{{2}}-[A-Za-z0-9_-]{{80,200}}{_END}",
        _GITLEAKS,
    ),
    _row(
        "openrouter-key",
        "sk-or-v1-",
        rf"{_BEGIN}sk-or-v1-[0-9a-f]{{64}}{_END}",
        "kingfisher, rule kingfisher.openrouter.1",
    ),
    _row("groq-key", "gsk_", rf"{_BEGIN}gsk_[A-Za-z0-9]{{52}}{_END}", "trufflehog, pkg/detectors/groq"),
    _row("xai-key", "xai-", rf"{_BEGIN}xai-[A-Za-z0-9_]{{80}}{_END}", "trufflehog, pkg/detectors/xai"),
    _row("google-api-key", "AIza", rf"{_BEGIN}AIza[A-Za-z0-9_-]{{35}}(?!-){_END}", _GITLEAKS),
    _row(
        "google-oauth-token",
        "ya29. GOCSPX-",
        rf"{_BEGIN}(?:ya29\.[A-Za-z0-9_-]{{40,}}|GOCSPX-[A-Za-z0-9_-]{{28}}){_END}",
        "Google, OAuth 2.0 for web server applications",
    ),
    _row(
        "slack-token",
        "xox xapp-",
        rf"{_BEGIN}(?:xox[abeprs](?:-[0-9]{{8,13}}){{1,3}}-[A-Za-z0-9-]{{18,}}|xoxe(?:\.xox[bp])?-[0-9]-[A-Za-z0-9]{{100,}}"
        rf"|xapp-[0-9]-[A-Z0-9]+-[0-9]+-[a-z0-9]{{30,}}){_END}",
        _GITLEAKS,
    ),
    _row(
        "slack-webhook",
        "hooks.slack.com",
        r"https://hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[A-Za-z0-9+/]{40,60})",
        "Slack, incoming webhooks",
    ),
    _row(
        "stripe-key",
        "sk_live_ rk_live_ sk_test_ rk_test_",
        rf"{_BEGIN}[rs]k_(?:live|test)_[A-Za-z0-9]{{20,247}}{_END}",
        _GITLEAKS,
    ),
    _row("npm-token", "npm_", rf"{_BEGIN}npm_[A-Za-z0-9]{{36}}{_END}", _GITLEAKS),
    _row("pypi-token", "pypi-AgE", rf"{_BEGIN}pypi-AgE[A-Za-z0-9_-]{{50,1000}}{_END}", _GITLEAKS),
    _row("huggingface-token", "hf_", rf"{_BEGIN}hf_[A-Za-z]{{34}}{_END}", _GITLEAKS),
    _row(
        "jwt",
        "eyJ",
        rf"{_BEGIN}eyJ[A-Za-z0-9_-]{{14,2048}}+\.eyJ[A-Za-z0-9_-]{{14,65536}}+\.[A-Za-z0-9_-]{{20,}}{_END}",
        "RFC 7519: header and claims are objects, so both begin with eyJ",
    ),
    _row(
        "bearer-token",
        "earer BEARER",
        # A word such as YOUR-ACCESS-TOKEN-GOES-HERE has no digit.
        rf"(?i:\bbearer)[ \t]+(?P<secret>(?=[A-Za-z._~+/-]*[0-9])[A-Za-z0-9._~+/-]{{20,}}=*){_END}",
        "RFC 6750, 2.1",
    ),
    _row(
        "basic-credentials",
        "asic BASIC",
        rf"(?i:authorization){_QUOTE}\s*[:=]\s*{_QUOTE}(?i:basic)[ \t]+"
        r"(?P<secret>(?![a-z]+\b)[A-Za-z0-9+/]{8,}={0,2})",  # no word, as in basic authentication
        "RFC 7617",
    ),
    _row(
        "url-password",
        "://",
        # Not a variable, a stand-in or a port: $PASSWORD, ${PW}, <password>, {pw}, %s, ***, xxx.
        # Nor the tag of a container image before its digest, as in docker://alpine:3.19@sha256:….
        r"(?i:\b[a-z][a-z0-9+.-]{1,20})://[^\s/@:\"'`<>\\()]{0,80}:"
        r"(?P<secret>(?![$<{%*\[]|[xX.]+@|(?i:password|passwd|pass|pw|pwd|secret|token)@)[^\s/@\"'`<>\\]{3,200})"
        r"@(?!sha(?:256|512):)[A-Za-z0-9\[]",
        "RFC 3986, 3.2.1",
    ),
)
"""What is looked for. The first of two that fit counts, if neither is longer."""
