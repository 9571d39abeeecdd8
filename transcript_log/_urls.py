"""Names of sessions in a database, and of anything that may hold a password.

A session in PostgreSQL is named ``postgresql://user@host/database#SESSION``. What stands before
``#`` is libpq's, query parameters too; behind it stands the session's id, percent-encoded
where a URL demands it.
"""

from __future__ import annotations

import re
from typing import Final, Self
from urllib.parse import quote, unquote

__all__ = ["SessionUrl", "is_misspelt", "is_url", "without_passwords"]

_SCHEME: Final = re.compile(r"postgres(?:ql)?://")
_LIKE: Final = re.compile(r"(?i)postgres(?:ql)?(?:\+\w+)?://")
_IN_URL: Final = re.compile(r"(?i)(postgres(?:ql)?(?:\+\w+)?://[^\s:/@?#]*):(?!\d+(?:[/?#,\s]|$))[^\s#]*@")
_CUT_OFF: Final = re.compile(r"(postgres(?:ql)?://[^:/@?\[]*):(?!\d*(?:,|$))[^/@?\[]*")
"""What stands before ``#`` where a password holds one as it is."""
_AS_WORD: Final = re.compile(r"(?i)\b((?:ssl)?password\s*=\s*)(?:'(?:[^'\\]|\\.)*'|[^\s&#']+)")
_FRAGMENT: Final = "!$&'()*+,;=:@/?-._~"
"""What may stand in a fragment as it is."""


def is_url(name: object) -> bool:
    """Whether a name is that of a database, and not of a file."""
    return isinstance(name, str) and _SCHEME.match(name) is not None


def is_misspelt(name: object) -> bool:
    """Whether a name is meant for a database, and libpq would not take it, as ``postgresql+psycopg://``."""
    return isinstance(name, str) and not is_url(name) and _LIKE.match(name) is not None


def without_passwords(text: str) -> str:
    """A text with the passwords of the connection strings in it left out."""
    return _AS_WORD.sub(r"\1***", _IN_URL.sub(r"\1@", text))


class SessionUrl(str):
    """The URL of a database or of a session in it. As text it shows no password.

    Attributes:
        conninfo: What libpq takes, with the password if one was given.
        session: The id of the session; empty where the whole database is meant, and where what
            stands behind ``#`` is the rest of a password.
    """

    conninfo: str
    session: str

    def __new__(cls, given: str) -> Self:
        if isinstance(given, cls):
            return given
        conninfo, sharp, fragment = given.partition("#")
        cut_off = _CUT_OFF.fullmatch(conninfo)
        if cut_off is not None:
            self = super().__new__(cls, f"{cut_off[1]}:***")
            self.conninfo, self.session = conninfo, ""
            return self
        shown = without_passwords(conninfo)
        self = super().__new__(cls, f"{shown}#{fragment}" if sharp else shown)
        self.conninfo = conninfo
        self.session = unquote(fragment, errors="surrogatepass")
        return self

    def of(self, session: str) -> SessionUrl:
        """The URL of a session of this database."""
        return SessionUrl(f"{self.conninfo}#{quote(session, safe=_FRAGMENT, errors='surrogatepass')}")
