"""Chromium without a window, told what to do over a pair of pipes."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import struct
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

__all__ = ["CHROMIUM", "Page", "colors", "pixels", "started"]

CHROMIUM: Final = shutil.which("chromium") or shutil.which("chromium-browser")
"""The browser; None where none is installed."""

_FLAGS: Final = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars"),
    *(
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--disable-extensions",
    ),
    *("--disable-dev-shm-usage", "--remote-debugging-pipe", "--force-color-profile=srgb"),
)
# The browser reads descriptor 3 and writes descriptor 4.
_LAUNCHER: Final = """
import fcntl, os, sys
read, write = (fcntl.fcntl(int(fd), fcntl.F_DUPFD, 10) for fd in sys.argv[1:3])
os.dup2(read, 3)
os.dup2(write, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
_COMPLAINTS: Final = ("Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown")


class Page:
    """One page in the browser: what it shows, what it says, and what it asks for."""

    def __init__(self, to: int, back: int) -> None:
        self._to = to
        self._back = back
        self._number = 0
        self._held = b""
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []

    def open(self, url: str) -> None:
        """Show a page; what it says and asks for from now on is kept in ``events``."""
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Log", "Runtime", "DOM"):
            self.ask(f"{domain}.enable")
        self.events.clear()
        self.ask("Page.navigate", url=url)
        self._until(lambda: any(event["method"] == "Page.loadEventFired" for event in self.events))

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """What a method of the browser's protocol gives."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._to, data) :]
        answer: list[dict[str, Any]] = []

        def answered() -> bool:
            answer.extend(event for event in self.events if event.get("id") == self._number)
            return bool(answer)

        self._until(answered)
        self.events.remove(answer[0])
        assert "error" not in answer[0], answer[0]["error"]
        result: dict[str, Any] = answer[0]["result"]
        return result

    def _until(self, is_done: Any) -> None:
        deadline = time.monotonic() + 60
        while not is_done():
            ready, _, _ = select.select([self._back], [], [], max(0, deadline - time.monotonic()))
            assert ready, "the browser does not answer"
            block = os.read(self._back, 1 << 20)
            assert block, "the browser is gone"
            *messages, self._held = (self._held + block).split(b"\0")
            self.events += map(json.loads, messages)

    def value(self, expression: str) -> Any:
        """What JavaScript of ours gives, run in the page from outside."""
        result = self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def prefer(self, scheme: str) -> None:
        """Light or dark."""
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def resize(self, width: int, height: int) -> None:
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def picture(self, *, whole: bool = False) -> bytes:
        """What is seen, as PNG; ``whole`` for the whole length of the page."""
        return base64.b64decode(self.ask("Page.captureScreenshot", captureBeyondViewport=whole)["data"])

    def click(self, selector: str) -> None:
        """Click on the first element that a selector of CSS finds."""
        self.value(f"document.querySelector({json.dumps(selector)}).scrollIntoView({{block: 'center'}})")
        box = self.value(
            f"(b => [b.x + Math.min(20, b.width / 2), b.y + b.height / 2])"
            f"(document.querySelector({json.dumps(selector)}).getBoundingClientRect())"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.ask(
                "Input.dispatchMouseEvent",
                type=kind,
                x=box[0],
                y=box[1],
                button="left",
                clickCount=1,
            )

    def requests(self) -> list[str]:
        """All that was asked for so far, by URL."""
        return [
            event["params"]["request"]["url"]
            for event in self.events
            if event.get("method") == "Network.requestWillBeSent"
        ]

    def complaints(self) -> list[str]:
        """Whatever stood on the console so far, breaches of the page's policy included."""
        return [
            json.dumps(event["params"])
            for event in self.events
            if event.get("method")
            in ("Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown")
        ]


@contextmanager
def started(folder: Path) -> Iterator[Page]:
    """A page of a browser of its own, whose files are in ``folder``."""
    assert CHROMIUM is not None
    read, to = os.pipe()
    back, write = os.pipe()
    command = [sys.executable, "-c", _LAUNCHER, str(read), str(write), CHROMIUM, *_FLAGS]
    process = subprocess.Popen(
        [*command, "about:blank"],
        pass_fds=(read, write),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    os.close(read)
    os.close(write)
    page = Page(to, back)
    try:
        yield page
    finally:
        page._session = None
        try:
            os.write(to, b'{"id":0,"method":"Browser.close"}\0')
            process.wait(10)
        except (OSError, subprocess.TimeoutExpired):
            process.kill()
            process.wait()
        os.close(to)
        os.close(back)


def pixels(png: bytes) -> tuple[int, int, list[bytes]]:
    """The width and height of a picture as the browser makes them, and its rows, three bytes a pixel."""
    at, data = 8, b""
    width = height = channels = 0
    while at < len(png):
        (size,) = struct.unpack(">I", png[at : at + 4])
        kind, body = png[at + 4 : at + 8], png[at + 8 : at + 8 + size]
        if kind == b"IHDR":
            width, height, depth, color = struct.unpack(">IIBB", body[:10])
            assert depth == 8
            channels = {2: 3, 6: 4}[color]
        elif kind == b"IDAT":
            data += body
        at += size + 12
    raw = zlib.decompress(data)
    stride = width * channels
    before = bytearray(stride)
    rows = []
    for row in range(height):
        start = row * (stride + 1)
        line = bytearray(raw[start + 1 : start + 1 + stride])
        _unfilter(raw[start], line, before, channels)
        before = line
        rows.append(bytes(b for n in range(0, stride, channels) for b in line[n : n + 3]))
    return width, height, rows


def _unfilter(kind: int, line: bytearray, before: bytearray, step: int) -> None:
    for n in range(len(line)):
        left = line[n - step] if n >= step else 0
        up = before[n]
        corner = before[n - step] if n >= step else 0
        if kind == 1:
            guess = left
        elif kind == 2:
            guess = up
        elif kind == 3:
            guess = (left + up) // 2
        elif kind == 4:
            paeth = left + up - corner
            guess = min((left, up, corner), key=lambda value: abs(paeth - value))
        else:
            guess = 0
        line[n] = (line[n] + guess) & 0xFF


def colors(png: bytes) -> dict[bytes, int]:
    """How many pixels of each colour a picture has."""
    _, _, rows = pixels(png)
    found: dict[bytes, int] = {}
    for row in rows:
        for n in range(0, len(row), 3):
            pixel = row[n : n + 3]
            found[pixel] = found.get(pixel, 0) + 1
    return found
