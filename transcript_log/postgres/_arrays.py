"""Arrays as the server takes them in binary; the driver's own way takes as long as the insert."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import Any, Final

from psycopg.adapt import AdaptersMap, Dumper
from psycopg.pq import Format

__all__ = ["Byteas", "Shorts", "Texts", "register"]

_HEAD: Final = struct.Struct("!iiIii")
_SIZE: Final = struct.Struct("!i")
_SHORT: Final = struct.Struct("!ih")
_NULL: Final = _SIZE.pack(-1)


class _Array:
    """An array, packed."""

    element: int
    head_of_one: bytes
    __slots__ = ("packed",)

    def __init__(self, values: Sequence[Any]) -> None:
        if len(values) == 1 and values[0] is not None:
            self.packed = b"".join((self.head_of_one, *self.parts(values[0])))
            return
        parts = [_HEAD.pack(1, None in values, self.element, len(values), 1)]
        for value in values:
            parts += (_NULL,) if value is None else self.parts(value)
        self.packed = b"".join(parts)

    def parts(self, value: Any) -> Iterable[bytes]:
        raise NotImplementedError


class Byteas(_Array):
    """An array of bytes."""

    element = 17
    head_of_one = _HEAD.pack(1, 0, element, 1, 1)
    __slots__ = ()

    def parts(self, value: bytes) -> Iterable[bytes]:
        return _SIZE.pack(len(value)), value


class Texts(_Array):
    """An array of texts."""

    element = 25
    head_of_one = _HEAD.pack(1, 0, element, 1, 1)
    __slots__ = ()

    def parts(self, value: str) -> Iterable[bytes]:
        encoded = value.encode()
        return _SIZE.pack(len(encoded)), encoded


class Shorts(_Array):
    """An array of small integers."""

    element = 21
    head_of_one = _HEAD.pack(1, 0, element, 1, 1)
    __slots__ = ()

    def parts(self, value: int) -> Iterable[bytes]:
        return (_SHORT.pack(2, value),)


class _Dumper(Dumper):
    format = Format.BINARY

    def dump(self, obj: Any) -> bytes:
        packed: bytes = obj.packed
        return packed


class _ByteasDumper(_Dumper):
    oid = 1001


class _TextsDumper(_Dumper):
    oid = 1009


class _ShortsDumper(_Dumper):
    oid = 1005


def register(adapters: AdaptersMap) -> None:
    """Let the statements of a cursor take these arrays."""
    adapters.register_dumper(Byteas, _ByteasDumper)
    adapters.register_dumper(Texts, _TextsDumper)
    adapters.register_dumper(Shorts, _ShortsDumper)
