"""What tools gave back, as text and pictures, whatever form it is stored in."""

from __future__ import annotations

import json
from typing import Any, Final

from ._pictures import IMAGE_BLOCKS, images_in
from ._values import is_text
from .part_types import ImagePart

__all__ = ["output_images", "output_text"]

_MAX_DEPTH: Final = 8
_BLOBS: Final = frozenset({"inlineData", "inline_data"})
"""Where a part of Gemini's has bytes."""


def output_text(output: Any) -> str:
    """The readable text of a tool output of any stored form.

    Text is given as it is, taken out of a JSON wrapper around it; blocks are joined by one
    newline, pictures left out; what has no text of its own is shown as JSON.
    """
    return _readable(output, _MAX_DEPTH)


def _readable(value: Any, depth: int) -> str:
    if type(value) is str:
        return _wrapped(value)
    if value is None:
        return ""
    if type(value) is list and depth:
        return "\n".join(shown for block in value if (shown := _readable(block, depth - 1)))
    if type(value) is dict and depth:
        kind = value.get("type")
        if (type(kind) is str and kind in IMAGE_BLOCKS) or not _BLOBS.isdisjoint(value):
            return ""
        for key in ("text", "logs", "refusal"):
            if type(value.get(key)) is str:
                return str(value[key])
        for key in ("output", "content"):
            if type(value.get(key)) in (str, list, dict):
                return _readable(value[key], depth - 1)
        for keys in (("stdout", "stderr"), ("title", "url")):
            told = [value[key] for key in keys if is_text(value.get(key))]
            if told or all(type(value.get(key)) is str for key in keys):
                return "\n".join(told)
    try:
        return json.dumps(value, ensure_ascii=False, default=repr)
    except (ValueError, TypeError, RecursionError):  # no decoded JSON, or nested past all use
        return f"({type(value).__name__})"


_WRAPPER: Final = {"output", "metadata"}


def _wrapped(text: str) -> str:
    """The text itself, or what it wraps: older tools answer with JSON, the output one member of it."""
    if text.startswith('{"output":'):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return text
        if type(value) is dict and type(value.get("output")) is str and value.keys() <= _WRAPPER:
            return str(value["output"])
    return text


def output_images(output: Any) -> tuple[ImagePart, ...]:
    """The pictures in a tool output; ``place`` is the index among its blocks."""
    if type(output) is list:
        return tuple(image for place, block in enumerate(output) for image in images_in(block, place))
    return tuple(images_in(output, 0))
