"""What a model thought, where an answer shows it."""

from __future__ import annotations

from ._values import as_list, as_object, as_text

__all__ = ["extract_reasoning"]


def extract_reasoning(raw: object) -> str | None:
    """The reasoning text of a raw Anthropic or Chat answer; None where there is none.

    All ``thinking`` blocks with nothing between them, and else the ``reasoning_content`` of the
    first choice. White space is reasoning. Takes any JSON value, and never raises.
    """
    answer = as_object(raw)
    thought = "".join(
        said
        for block in as_list(answer.get("content"))
        if as_object(block).get("type") == "thinking" and (said := as_text(block.get("thinking")))
    )
    if thought:
        return thought
    choices = as_list(answer.get("choices"))
    message = as_object(as_object(choices[0]).get("message")) if choices else {}
    return as_text(message.get("reasoning_content")) or None
