"""What a message says, in the words of no framework and of no provider, and the items that say it.

A framework's message becomes blocks, and blocks become items in the shape of the API that
answered, so that what is private in them can go back to it. The other way round any item can
be read as blocks, whoever wrote it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Final, TypeAlias

from .. import items
from ..apis import _neutral as neutral
from ..apis._neutral import File, Image
from ..apis._signed import reasoning_item, split_id
from ..entries import Item, Json
from ..items.shapes import Shape, answer_item

__all__ = [
    "Block",
    "Call",
    "File",
    "Hosted",
    "Image",
    "Other",
    "Output",
    "Speech",
    "Text",
    "Thought",
    "answer_items",
    "arguments_object",
    "message_item",
    "output_item",
    "said",
]


@dataclass(frozen=True, slots=True)
class Text:
    """Text for people; ``id`` is that of the message item it came in."""

    text: str
    id: str = ""


@dataclass(frozen=True, slots=True)
class Thought:
    """What a model thought.

    Attributes:
        text: The readable part of it.
        signature: What only its producer can read: a signature, or the whole of it encrypted.
        id: The reasoning item it came in.
        redacted: There is nothing but the signature.
    """

    text: str
    signature: str = ""
    id: str = ""
    redacted: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call; ``arguments`` are text or a decoded value, ``item`` is the id of its item."""

    id: str
    name: str
    arguments: Json
    item: str = ""

    __hash__ = None  # type: ignore[assignment]  # arguments may be a dict


@dataclass(frozen=True, slots=True)
class Hosted:
    """A call of a provider's own tool, or what it gave back."""

    id: str
    name: str
    value: Json
    is_result: bool = False

    __hash__ = None  # type: ignore[assignment]  # the value may be a dict


@dataclass(frozen=True, slots=True)
class Other:
    """A block that is written as it is given, or that was read and is of no kind known here."""

    block: Item

    __hash__ = None  # type: ignore[assignment]  # it is a dict


@dataclass(frozen=True, slots=True)
class Output:
    """What a tool gave back.

    Attributes:
        id: The call it answers.
        name: The tool; ``""`` where that is not told.
        blocks: What it gave.
        is_error: Whether the model is told of a failure.
    """

    id: str
    name: str = ""
    blocks: tuple[Text | Image | File | Other, ...] = ()
    is_error: bool = False

    __hash__ = None  # type: ignore[assignment]  # blocks may hold dicts

    @property
    def text(self) -> str:
        """The text of it, each block on lines of its own."""
        return "\n".join(block.text for block in self.blocks if isinstance(block, Text))


Block: TypeAlias = Text | Thought | Call | Hosted | Image | File | Output | Other
"""One thing that is said."""


@dataclass(frozen=True, slots=True)
class Speech:
    """What an item says, in its order, and who says it: a role, as OpenAI has them."""

    speaker: str
    blocks: tuple[Block, ...] = field(default=())

    __hash__ = None  # type: ignore[assignment]  # blocks may hold dicts


# ------------------------------------------------------------------------------- writing


_OF_A_MODEL: Final = (Call, Hosted, Thought)


def message_item(speaker: str, blocks: Sequence[Block]) -> Item:
    """A message of somebody who is no model: of the user, of the program.

    Of what only a model can say, the kind alone is told.
    """
    blocks = [
        Other({"type": type(block).__name__.lower()}) if isinstance(block, _OF_A_MODEL) else block
        for block in blocks
    ]
    match blocks:
        case [Text(text=text)]:
            return {"role": speaker, "content": text}
    if any(isinstance(block, Image | File) for block in blocks) and not _has_other(blocks):
        content = [_responses_block(block) for block in blocks]
        return {"type": "message", "role": speaker, "content": content}
    return {"role": speaker, "content": [_chat_block(block) for block in blocks]}


def answer_items(blocks: Sequence[Block], api: str) -> list[Item]:
    """What a model said, in the shape of an API; an empty message where it said nothing."""
    if not blocks:
        return [{"role": "assistant", "content": []}]
    if api == "openai-responses":
        return [*_responses_items(blocks)]
    if api == "anthropic-messages" or any(isinstance(block, Hosted) for block in blocks):
        return [{"role": "assistant", "content": [_anthropic_block(block) for block in blocks]}]
    return [_chat_message(blocks)]


def output_item(output: Output, call: items.ToolCallPart | None, shape: Shape) -> Item:
    """What a tool gave back, in the shape of the item that holds its call.

    ``call`` is None where no call is known; the shape is that of Chat then.
    """
    asked = call or items.ToolCallPart(output.id, output.name, None, "function", 0)
    write = _OUTPUT_BLOCKS.get(shape, _chat_block)
    content: Any
    if all(isinstance(block, Text) for block in output.blocks) or asked.kind not in ("function", "custom"):
        content = output.text
    else:
        content = [write(block) for block in output.blocks]
    return answer_item(asked, content, shape, is_error=output.is_error)


def _has_other(blocks: Sequence[Block]) -> bool:
    return any(isinstance(block, Other) for block in blocks)


def _responses_items(blocks: Sequence[Block]) -> Iterator[Item]:
    for (kind, name), group in groupby(blocks, _item_of):
        some = [*group]
        if kind is Thought:
            yield _reasoning([one for one in some if isinstance(one, Thought)], name)
            continue
        for block in some:
            match block:
                case Call():
                    made = {
                        "type": "function_call",
                        "call_id": block.id,
                        "name": block.name,
                        "arguments": _arguments_text(block),
                    }
                    yield {"id": block.item, **made} if block.item else made
                case Text():
                    part = {"type": "output_text", "text": block.text, "annotations": []}
                    message = {"type": "message", "role": "assistant", "content": [part]}
                    yield {"id": block.id, "status": "completed", **message} if block.id else message
                case Other(block={"type": "compaction"}):
                    yield block.block
                case _:
                    yield {"role": "assistant", "content": [_anthropic_block(block)]}


def _item_of(block: Block) -> tuple[type[Block], str]:
    """What blocks of one item have in common: several thoughts may be of one reasoning item."""
    return type(block), block.id if isinstance(block, Thought) else ""


def _reasoning(thoughts: Sequence[Thought], name: str) -> Item:
    sealed = next((one.signature for one in thoughts if one.signature), "")
    made: dict[str, Any] = {"type": "reasoning"}
    if name:
        made["id"] = name
    made["summary"] = [{"type": "summary_text", "text": one.text} for one in thoughts if one.text]
    if sealed:
        made["encrypted_content"] = sealed
    return made


def _chat_message(blocks: Sequence[Block]) -> Item:
    thoughts = [block.text for block in blocks if isinstance(block, Thought) and block.text]
    calls = [block for block in blocks if isinstance(block, Call)]
    spoken = [block for block in blocks if not isinstance(block, Thought | Call)]
    message: dict[str, Any] = {"role": "assistant", "content": None}
    match spoken:
        case [Text(text=text)]:
            message["content"] = text
        case [_, *_]:
            message["content"] = [_chat_block(block) for block in spoken]
        case []:
            message["content"] = None if calls else ""
    if thoughts:
        message["reasoning_content"] = "\n\n".join(thoughts)
    if calls:
        message["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": _arguments_text(call)},
            }
            for call in calls
        ]
    return message


def _anthropic_block(block: Block) -> Item:
    match block:
        case Text(text=text):
            return {"type": "text", "text": text}
        case Thought(redacted=True, signature=data):
            return {"type": "redacted_thinking", "data": data}
        case Thought(text=text, signature=""):
            return {"type": "thinking", "thinking": text}
        case Thought(text=text, signature=signature):
            return {"type": "thinking", "thinking": text, "signature": signature}
        case Call():
            return {"type": "tool_use", "id": block.id, "name": block.name, "input": arguments_object(block)}
        case Hosted(is_result=True):
            kind = f"{block.name}_tool_result"
            return {"type": kind, "tool_use_id": block.id, "content": block.value}
        case Hosted():
            return {"type": "server_tool_use", "id": block.id, "name": block.name, "input": block.value}
        case Image(url=str(url)):
            return {"type": "image", "source": {"type": "url", "url": url}}
        case Image():
            source = {"type": "base64", "media_type": block.media_type, "data": block.data}
            return {"type": "image", "source": source}
        case File():
            named = {} if block.name is None else {"title": block.name}
            return {"type": "document", "source": _source(block), **named}
        case _:
            return _chat_block(block)


def _source(file: File) -> Item:
    if file.url is not None:
        return {"type": "url", "url": file.url}
    if file.text is not None:
        return {"type": "text", "media_type": "text/plain", "data": file.text}
    return {"type": "base64", "media_type": file.media_type, "data": file.data}


def _responses_block(block: Block) -> Item:
    match block:
        case Text(text=text):
            return {"type": "input_text", "text": text}
        case Image():
            detail = {} if block.detail is None else {"detail": block.detail}
            return {"type": "input_image", "image_url": block.link, **detail}
        case File(text=str(text)):
            return {"type": "input_text", "text": text}
        case File():
            named = {} if block.name is None else {"filename": block.name}
            if block.url is not None:
                return {"type": "input_file", "file_url": block.url, **named}
            return {"type": "input_file", "file_data": _data_url(block), **named}
        case _:
            return _chat_block(block)


def _chat_block(block: Block) -> Item:
    match block:
        case Text(text=text):
            return {"type": "text", "text": text}
        case Image():
            detail = {} if block.detail is None else {"detail": block.detail}
            return {"type": "image_url", "image_url": {"url": block.link, **detail}}
        case File(text=str(text)):
            return {"type": "text", "text": text}
        case File():
            named = {} if block.name is None else {"filename": block.name}
            place = {"file_url": block.url} if block.url is not None else {"file_data": _data_url(block)}
            return {"type": "file", "file": {**named, **place}}
        case Other(block=given):
            return given
        case _:
            return _anthropic_block(block)


def _pi_block(block: Block) -> Item:
    if isinstance(block, Image) and block.data is not None:
        return {"type": "image", "data": block.data, "mimeType": block.media_type}
    return _chat_block(block)


_OUTPUT_BLOCKS: Final[Mapping[Shape, Callable[[Block], Item]]] = {
    "responses": _responses_block,
    "anthropic": _anthropic_block,
    "pi": _pi_block,
}


def _data_url(file: File) -> str:
    return f"data:{file.media_type};base64,{file.data}"


def arguments_object(call: Call) -> dict[str, Any]:
    """The arguments of a call as an object; what is none stands under ``arguments``."""
    return neutral.arguments_object(neutral.Call(call.id, call.name, call.arguments))[0]


def _arguments_text(call: Call) -> str:
    if type(call.arguments) is str:
        return call.arguments
    return neutral.arguments_text(neutral.Call(call.id, call.name, call.arguments))[0]


# ------------------------------------------------------------------------------- reading


def said(item: Item) -> Speech:
    """What an item of any shape says."""
    read = neutral.read(item)
    content = item.get("content")
    raw = content if type(content) is list else []
    blocks: list[Block] = []
    beside: list[Block] = []  # what a Chat message thought stands beside its content
    for place, block in enumerate(read.blocks):
        source = raw[place] if place < len(raw) and type(raw[place]) is dict else item
        match block:
            case neutral.Text(text=text):
                blocks.append(Text(text))
            case neutral.Thought():
                (beside if source is item else blocks).extend(_thoughts(block, source))
            case neutral.Call(id=name):
                blocks.append(Call(split_id(name)[0], block.name, block.arguments))
            case neutral.Output():
                given = tuple(_shown(one) for one in block.blocks)
                blocks.append(Output(split_id(block.id)[0], block.name or "", given, block.is_error))
            case neutral.Hosted(name=name):
                blocks.append(Hosted("", name, None))
            case neutral.Image() | neutral.File():
                blocks.append(block)
            case neutral.Unknown():
                blocks.append(Other(source))
    # What a tool gave back is no model's, whatever the item says of itself.
    speaker = "user" if any(isinstance(block, Output) for block in blocks) else read.speaker
    return Speech(speaker, (*beside, *blocks))


def _shown(block: neutral.Text | Image | File | neutral.Unknown) -> Text | Image | File | Other:
    match block:
        case neutral.Text(text=text):
            return Text(text)
        case neutral.Unknown():
            return Other({"type": block.type})
        case _:
            return block


def _thoughts(block: neutral.Thought, source: Item) -> Iterator[Thought]:
    """What a thought is with what is private in it, which no renderer needs."""
    item = reasoning_item(block.signature) if block.signature else None
    if item is None and source.get("type") == "reasoning":
        item = dict(source)
    if item is not None:
        sealed, name = item.get("encrypted_content"), item.get("id")
        texts = [part.text for part in items.reasoning(item)]
        yield Thought(
            "\n\n".join(texts), sealed if type(sealed) is str else "", name if type(name) is str else ""
        )
        return
    if source.get("type") == "redacted_thinking":
        data = source.get("data")
        yield Thought("", data if type(data) is str else "", redacted=True)
        return
    signature = source.get("signature")
    mark = block.signature or (signature if type(signature) is str else "")
    yield Thought(block.text, mark, redacted=block.redacted)
