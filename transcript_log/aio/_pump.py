"""An iterator that blocks, for an event loop."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncGenerator, Iterator
from typing import Final, TypeVar

__all__ = ["pumped"]

T = TypeVar("T")

_AHEAD: Final = 16
"""How many values are taken before the first of them is asked for."""


async def pumped(values: Iterator[T], stop: threading.Event) -> AsyncGenerator[T, None]:
    """The values of an iterator, which runs in a thread of its own.

    Args:
        values: May block for ever, if it looks at ``stop`` from time to time.
        stop: Set when nobody asks for values any more.
    """
    loop = asyncio.get_running_loop()
    taken: asyncio.Queue[tuple[T | None, BaseException | None]] = asyncio.Queue()
    room = threading.Semaphore(_AHEAD)

    def give(value: T | None, error: BaseException | None) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(taken.put_nowait, (value, error))

    def pump() -> None:
        try:
            while room.acquire() and not stop.is_set():
                give(next(values), None)
        except StopIteration:
            give(None, StopAsyncIteration())
        except BaseException as error:  # noqa: BLE001 - it belongs to whoever asks for the value
            give(None, error)

    # A daemon: a program may end while somebody looks on.
    threading.Thread(target=pump, name="transcript-log-follow", daemon=True).start()
    try:
        while True:
            value, error = await taken.get()
            if isinstance(error, StopAsyncIteration):
                return
            if error is not None:
                raise error
            room.release()
            yield value  # type: ignore[misc]  # without an error there is one
    finally:
        stop.set()
        room.release()
