"""A page as a browser shows it: light and dark, folded and unfolded, and with nothing asked for.

Skipped where Chromium is not installed. ``TRANSCRIPT_LOG_PICTURES`` names a folder to keep the
pictures in, to be looked at.
"""

from __future__ import annotations

import base64
import os
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from chromium import CHROMIUM, Page, colors, started
from hostile import FRAGMENTS, session
from test_cli import EXAMPLE, said
from test_corpus_codex import CORPUS

from transcript_log.cli.export import source_of as as_source
from transcript_log.cli.source import open_session
from transcript_log.exporters import ExportSource
from transcript_log.exporters.html import export_html

pytest.importorskip("jinja2")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")

PAPER: Final = {"light": bytes.fromhex("fcfcfb"), "dark": bytes.fromhex("15181b")}
"""What the page is written on."""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with started(tmp_path_factory.mktemp("browser")) as page:
        yield page


@pytest.fixture
def shown(browser: Page, tmp_path: Path) -> Iterator[Page]:
    """The page of the example, opened; nothing may have gone wrong with it in the end."""
    open_page(browser, source_of(EXAMPLE), tmp_path)
    yield browser
    assert_quiet(browser)


def source_of(path: Path) -> ExportSource:
    return as_source(open_session(str(path)))


def open_page(browser: Page, source: ExportSource, folder: Path) -> str:
    path = folder / "page.html"
    path.write_text("".join(export_html(source).pieces), encoding="utf-8")
    browser.open(path.as_uri())
    browser.resize(1000, 1200)
    return path.as_uri()


def assert_quiet(browser: Page) -> None:
    """Nothing was asked for but the page itself, and nobody complained."""
    asked = [url for url in browser.requests() if not url.startswith("data:image/")]
    assert [url for url in asked if url != "data:,"] == asked[:1]
    assert asked[0].startswith("file:///")
    assert browser.complaints() == []


def kept(name: str, png: bytes) -> bytes:
    if folder := os.environ.get("TRANSCRIPT_LOG_PICTURES"):
        Path(folder, f"{name}.png").write_bytes(png)
    return png


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_shown_on_its_paper_in_many_colours(shown: Page, scheme: str) -> None:
    shown.prefer(scheme)
    kept(f"example-{scheme}", shown.picture())
    shown.resize(800, 700)
    found = colors(shown.picture())
    assert max(found, key=found.__getitem__) == PAPER[scheme]
    assert len(found) > 100
    ink = sum(count for color, count in found.items() if color != PAPER[scheme])
    assert 0.02 < ink / sum(found.values()) < 0.7


def test_calls_fold_and_unfold_at_a_click(shown: Page) -> None:
    def heights() -> list[float]:
        script = "[...document.querySelectorAll('.call')].map(call => call.getBoundingClientRect().height)"
        return [float(height) for height in shown.value(script)]

    folded = heights()
    assert len(folded) == 6
    assert max(folded) < 60
    shown.click(".call summary")
    unfolded = heights()
    assert unfolded[0] > folded[0] + 80
    assert unfolded[1:] == folded[1:]
    assert "too few arguments" in shown.value("document.querySelector('.call').innerText")
    kept("example-unfolded", shown.picture())
    shown.click(".call summary")
    assert heights() == folded


def test_turns_fold_and_show_what_they_were_about(shown: Page) -> None:
    height = "document.querySelector('#t1').getBoundingClientRect().height"
    whole = shown.value(height)
    assert "Can you fix it?" in shown.value("document.querySelector('#t1').innerText")
    shown.click("#t1 > summary h2")
    assert shown.value(height) < 100 < whole - 300
    assert "Can you fix it?" in shown.value("document.querySelector('#t1 > summary').innerText")


def test_reasoning_folds(shown: Page) -> None:
    shown.click(".thought summary")
    assert shown.value("document.querySelector('.thought').open") is True
    assert shown.value("document.querySelector('.thought > div').getBoundingClientRect().height") > 20


def test_nothing_is_wider_than_a_telephone(shown: Page) -> None:
    shown.resize(380, 800)
    shown.value("document.querySelectorAll('details').forEach(one => one.open = true)")
    kept("example-narrow", shown.picture())
    assert shown.value("document.documentElement.scrollWidth") <= 380


def test_what_is_folded_is_printed_too(shown: Page) -> None:
    pdf = base64.b64decode(shown.ask("Page.printToPDF")["data"])
    folded = _printed(pdf)
    shown.value("document.querySelectorAll('details').forEach(one => one.open = true)")
    assert folded == _printed(base64.b64decode(shown.ask("Page.printToPDF")["data"]))
    assert len(folded) > 1000


def _printed(pdf: bytes) -> list[bytes]:
    """The glyphs that a PDF shows, in order, in whatever coding its fonts have."""
    streams = re.findall(rb"stream\r?\n(.*?)\r?\nendstream", pdf, re.DOTALL)
    texts = []
    for stream in streams:
        try:
            texts.append(zlib.decompress(stream))
        except zlib.error:
            continue
    return [glyphs for text in texts for glyphs in re.findall(rb"<([0-9A-Fa-f]+)>(?= Tj|[^\]]*\] ?TJ)", text)]


def test_pictures_of_the_session_are_drawn(browser: Page, tmp_path: Path) -> None:
    open_page(browser, session(lambda: "x"), tmp_path)
    browser.value("document.querySelectorAll('details').forEach(one => one.open = true)")
    kept("everything", browser.picture(whole=True))
    assert browser.value("[...document.images].map(one => one.naturalWidth)") == [32, 32]
    assert_quiet(browser)


def test_a_hostile_session_runs_nothing_and_asks_for_nothing(browser: Page, tmp_path: Path) -> None:
    texts = iter(FRAGMENTS * 9)
    open_page(browser, session(lambda: f"{next(texts)} {next(texts)}"), tmp_path)
    browser.value("document.querySelectorAll('details').forEach(one => one.open = true)")
    kept("hostile", browser.picture(whole=True))
    assert browser.value("document.scripts.length") == 0
    assert browser.value("document.querySelectorAll('iframe, object, embed, form, base, svg').length") == 0
    assert browser.value("document.title").startswith("n")
    assert_quiet(browser)


def test_the_policy_stops_a_script_and_a_picture_from_outside(browser: Page, tmp_path: Path) -> None:
    """What the tests above would see, were something to slip through."""
    page = "".join(export_html(ExportSource(name="x", entries=[said("u", "user", "SLOT")])).pieces)
    hole = (
        '<script>document.title = "ran"</script>'
        '<img src="https://example.invalid/x.png"><b style="color: red">red</b>'
    )
    (tmp_path / "page.html").write_text(page.replace("SLOT", hole), encoding="utf-8")
    browser.open((tmp_path / "page.html").as_uri())
    assert browser.value("document.title") == "x"
    complaints = " ".join(browser.complaints())
    for directive in ("script-src", "img-src", "style-src"):
        assert directive in complaints or f"{directive.removesuffix('-src')}" in complaints
    assert len(browser.complaints()) >= 3


SESSIONS: Final = sorted(CORPUS.glob("*/*.jsonl")) if CORPUS.is_dir() else []


@pytest.mark.parametrize("path", SESSIONS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_real_session_is_shown(path: Path, browser: Page, tmp_path: Path) -> None:
    open_page(browser, source_of(path), tmp_path)
    browser.resize(800, 600)
    for scheme in ("light", "dark"):
        browser.prefer(scheme)
        found = colors(kept(f"{path.parent.name}-{path.stem}-{scheme}", browser.picture()))
        assert max(found, key=found.__getitem__) == PAPER[scheme]
        assert len(found) > 100
    browser.value("document.querySelectorAll('details').forEach(one => one.open = true)")
    assert browser.value("document.documentElement.scrollWidth") <= 800
    assert_quiet(browser)
