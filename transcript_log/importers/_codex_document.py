"""The one JSON document that the first Codex CLI kept a session in: ``{"session": …, "items": […]}``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Final, NoReturn

from .. import _json
from ..entries import Json
from ..findings import Finding
from . import SourceRecord, is_doubtful

__all__ = ["Document", "first_lines", "read_document"]

_BOM: Final = b"\xef\xbb\xbf"
_BEGINNING: Final = re.compile(rb'\s*\{\s*"session"\s*:\s*\{')


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


_DECODER: Final = json.JSONDecoder(parse_constant=_no_number)
_BLANK: Final = re.compile(r"[ \t\r\n\0]*")


class Document:
    """The records of a document, with what is told of it as :class:`SourceLines` tells of lines.

    Attributes:
        findings: What was wrong.
        broken_lines: 1 if it is not JSON as a whole.
        recovered: How many records were read then.
    """

    def __init__(self, values: list[Json], *, is_doubtful: bool, fault: Finding | None = None) -> None:
        self._values = [value for value in values if type(value) is dict]
        self._is_doubtful = is_doubtful
        self.findings: list[Finding] = [] if fault is None else [fault]
        self.broken_lines = len(self.findings)
        self.recovered = len(self._values) if self.findings else 0

    def __iter__(self) -> Iterator[SourceRecord]:
        for value in self._values:
            yield SourceRecord(value=value, line=1, offset=0, is_doubtful=self._is_doubtful)


def first_lines(lines: Iterator[bytes]) -> Iterator[bytes]:
    """The lines up to the first that is not blank, with it."""
    for line in lines:
        yield line
        if line.strip():
            return


def read_document(first: list[bytes], rest: Iterator[bytes], path: str | None) -> Document | None:
    """The document that some lines are; None if they are none.

    Of one that is cut, or damaged, the records before the fault are read.

    Args:
        first: The first lines. Those that were looked at are added.
        rest: The others.
        path: For the findings.
    """
    text = b"".join(first).removeprefix(_BOM).strip()
    if text != b"{" and _BEGINNING.match(text) is None:
        return None
    first.extend(rest)
    whole = b"".join(first)
    text = whole.removeprefix(_BOM)
    try:
        value = _json.decode(text)
    except ValueError:
        begins = len(whole) - len(text)
        return _damaged(text, begins, path) if _BEGINNING.match(text) is not None else None
    if type(value) is not dict or type(value.get("session")) is not dict:
        return None
    listed = value.get("items")
    return Document(
        [value["session"], *(listed if type(listed) is list else ())], is_doubtful=is_doubtful(text)
    )


def _damaged(text: bytes, begins: int, path: str | None) -> Document:
    """What can be read of a document that is not JSON as a whole, and begins at that byte."""
    string = text.decode("utf-8", "replace")
    walk = _Walk(string)
    fault = walk.fault
    if fault is None:
        return Document(walk.values, is_doubtful=True)
    number = sum(type(value) is dict for value in walk.values)
    read = f"the {number} record{'' if number == 1 else 's'} before the fault were read"
    told = Finding(
        rule="torn-tail" if walk.is_cut else "broken-line",
        severity="warning" if walk.is_cut else "error",
        message=f"the file ends inside a record: {read}"
        if walk.is_cut
        else f"the document is not JSON; {read}",
        path=path,
        line=string.count("\n", 0, fault) + 1,
        offset=begins + len(string[:fault].encode("utf-8")),
    )
    return Document(walk.values, is_doubtful=True, fault=told)


class _Walk:
    """The records of a document up to the first fault.

    Attributes:
        values: The session's, if that was read, and then the items.
        fault: Where what cannot be read begins, in characters; None if all was read.
        is_cut: Whether there is nothing wrong with it but that it ends.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self.is_cut = False
        self.values: list[Json] = []
        self.fault: int | None = None
        try:
            self._object()
            self._skip()
            if self._at < len(text):
                self.fault = self._at
        except (ValueError, RecursionError) as error:
            self.fault = self._at
            # An unfinished text is told by where it begins, and a number or word may be cut too.
            self.is_cut = isinstance(error, json.JSONDecodeError) and (
                error.pos >= len(text) - 8 or error.msg.startswith("Unterminated string")
            )

    def _object(self) -> None:
        self._take("{")
        while not self._has("}"):
            key = self._value()
            self._take(":")
            if key == "items" and self._has("["):
                while not self._has("]"):
                    self.values.append(self._value())
                    self._has(",")
            else:
                value = self._value()
                if key == "session":
                    self.values.append(value)
            self._has(",")

    def _value(self) -> Json:
        self._skip()
        value, self._at = _DECODER.raw_decode(self._text, self._at)
        return value

    def _skip(self) -> None:
        found = _BLANK.match(self._text, self._at)
        self._at = self._at if found is None else found.end()

    def _has(self, mark: str) -> bool:
        self._skip()
        if not self._text.startswith(mark, self._at):
            return False
        self._at += 1
        return True

    def _take(self, mark: str) -> None:
        if not self._has(mark):
            raise json.JSONDecodeError(f"{mark} is missing", self._text, self._at)
