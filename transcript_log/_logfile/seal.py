"""How one line is marked and sealed.

A seal is the last member of the line's object, ``"crc":"xxxxxxxx"``: the CRC-32 (zlib)
of this line's own bytes up to and without ``,"crc":``, as eight lower-case hex digits.
Every line of a batch but its last begins with one TAB, which the seal covers; on a line
without an intact seal a TAB is white space and no mark.
"""

from __future__ import annotations

from typing import Final
from zlib import crc32

__all__ = ["LINE_LIMIT", "SPACE", "is_intact", "is_sealed", "line_of", "resealed", "unsealed"]

LINE_LIMIT: Final = 64 * 1024 * 1024
"""How long a line may be, in bytes with its line feed. Refused beyond that on both sides."""

SPACE: Final = b" \t\r\n"
"""The white space that may surround a line's object."""

_SEAL: Final = b',"crc":"'
_TAIL: Final = len(b',"crc":"xxxxxxxx"}')


def line_of(body: bytes, *, more: bool = False, checksum: bool = True) -> bytes:
    """The line, line feed included, that stores a JSON object.

    Args:
        body: A compact JSON object with at least one member.
        more: True for every line of a batch but its last; such a line is always sealed.
        checksum: False to leave the seal out.
    """
    if not (checksum or more):
        return body + b"\n"
    head = b"\t" + body[:-1] if more else body[:-1]
    return b'%b,"crc":"%08x"}\n' % (head, crc32(head))


def is_sealed(text: bytes) -> bool:
    """Whether a line, without white space after it, has a seal, intact or not."""
    return text[-_TAIL : -_TAIL + len(_SEAL)] == _SEAL and text[-2:] == b'"}'


def is_intact(text: bytes) -> bool:
    """Whether a sealed line, without white space after it, is as it was written."""
    return text[-10:] == b'%08x"}' % crc32(memoryview(text)[:-_TAIL])


def unsealed(text: bytes) -> bytes:
    """A line's JSON object without mark, seal and surrounding white space."""
    text = text.strip(SPACE)
    return text[:-_TAIL] + b"}" if is_sealed(text) else text


def resealed(text: bytes) -> bytes:
    """The same line with the seal that its bytes should have; its mark stays."""
    marked = text[:1] == b"\t"
    return line_of(unsealed(text), more=marked)
