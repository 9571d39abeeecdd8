"""Pictures: in blocks of content, and in the outputs of tools."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from typing import Any, Final

from ._values import Item, named
from .part_types import ImagePart

__all__ = ["IMAGE_BLOCKS", "data_url", "decoded_size", "image", "images_in"]

IMAGE_BLOCKS: Final = frozenset({"image", "input_image", "image_url", "output_image", "computer_screenshot"})


def images_in(value: Any, place: int) -> Iterator[ImagePart]:
    """The pictures among the blocks of a value, and one level below them."""
    for block in value if type(value) is list else (value,):
        if type(block) is not dict:
            continue
        kind = block.get("type")
        if type(kind) is str and kind in IMAGE_BLOCKS:
            yield image(block, place)
        elif "inlineData" in block or "inline_data" in block:  # of Gemini
            held = block.get("inlineData") or block.get("inline_data")
            if type(held) is dict:
                yield _inline(
                    named(held.get("mimeType")) or named(held.get("mime_type")), held.get("data"), place
                )
        elif type(inner := block.get("content")) is list:
            for nested in inner:
                if type(nested) is dict and type(word := nested.get("type")) is str and word in IMAGE_BLOCKS:
                    yield image(nested, place)


def image(block: Item, place: int) -> ImagePart:
    """The picture that an image block of any shape is."""
    source = block.get("source")
    if type(source) is dict:  # Anthropic
        return _inline(named(source.get("media_type")), source.get("data"), place)
    link = block.get("image_url")
    if type(link) is dict:  # Chat
        link = link.get("url")
    if type(link) is str:
        return ImagePart(*_linked(link), place, link)
    return _inline(named(block.get("mimeType")), block.get("data"), place)


def _inline(media_type: str | None, data: Any, place: int) -> ImagePart:
    return ImagePart(media_type, decoded_size(data), place, data if type(data) is str else "")


def _linked(url: str) -> tuple[str | None, int]:
    """The media type and size of what a data URL holds; of another link, nothing is known."""
    if not url.startswith("data:"):
        return None, 0
    head, _, body = url[5:].partition(",")
    media_type = head.partition(";")[0] or None
    if head.endswith(";base64"):
        return media_type, decoded_size(body)
    return media_type, len(body.encode("utf-8", "surrogatepass")) - 2 * body.count("%")


def decoded_size(data: Any) -> int:
    """How many bytes a base64 text stands for; 0 for a reference such as ``blob:sha256:…``."""
    if type(data) is not str or ":" in data[:32]:
        return 0
    blank = sum(data.count(space) for space in " \t\r\n")
    return (len(data) - blank - data[-4:].count("=")) * 3 // 4


_KINDS: Final = (
    (re.compile(rb"\x89PNG\r\n\x1a\n"), "image/png"),
    (re.compile(rb"\xff\xd8\xff"), "image/jpeg"),
    (re.compile(rb"GIF8[79]a"), "image/gif"),
    (re.compile(rb"RIFF....WEBP", re.DOTALL), "image/webp"),
)
_BASE64: Final = re.compile(r"[A-Za-z0-9+/]{16,}={0,2}")


def data_url(image: ImagePart) -> str | None:
    """A ``data:`` URL of a picture that stands in its item; it asks for nothing from elsewhere.

    None for a link, and for what is not PNG, JPEG, GIF or WebP by its own first bytes: what
    an item says of the type is not believed, and SVG is a document, not a picture.
    """
    head, comma, body = image.content[:128].partition(",")
    if head.startswith("data:"):
        if not comma or not head.endswith(";base64"):
            return None
        body = image.content[len(head) + 1 :]
    else:
        body = image.content
    body = "".join(body.split())
    if not _BASE64.fullmatch(body):
        return None
    first = base64.b64decode(body[:16])
    kind = next((kind for signature, kind in _KINDS if signature.match(first)), None)
    return None if kind is None else f"data:{kind};base64,{body}"
