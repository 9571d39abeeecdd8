"""What is said becomes items of any shape, and is read back out of them."""

from __future__ import annotations

from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transcript_log import items
from transcript_log.adapters._kept import folded, unfolded
from transcript_log.adapters._speech import (
    Block,
    Call,
    File,
    Hosted,
    Image,
    Other,
    Output,
    Text,
    Thought,
    answer_items,
    message_item,
    output_item,
    said,
)
from transcript_log.items import ToolCallPart

APIS: Final = ["openai-responses", "openai-chat", "anthropic-messages"]
TEXTS = st.text(max_size=9)
IMAGES = st.sampled_from(
    [
        Image(url="https://example.com/a.png"),
        Image(url="https://example.com/a.png", detail="low"),
        Image(data="iVBORw0KGgo=", media_type="image/png"),
        Image(data="R0lGODlh", media_type="image/gif", detail="high"),
    ]
)
FILES = st.sampled_from(
    [
        File(url="https://example.com/a.pdf"),
        File(name="a.pdf", url="https://example.com/a.pdf"),
        File(data="JVBERi0="),
        File(name="b.pdf", data="JVBERi0="),
    ]
)
SHOWN = st.builds(Text, TEXTS) | IMAGES | FILES
SPEAKERS = st.sampled_from(["user", "system", "developer"])


@given(SPEAKERS, st.lists(SHOWN, max_size=4))
def test_what_is_shown_is_read_back(speaker: str, blocks: list[Block]) -> None:
    item = message_item(speaker, blocks)
    read = said(item)
    assert (read.speaker, read.blocks) == (speaker, tuple(blocks))
    assert all(not isinstance(part, items.OtherPart) for part in items.parts(item) if not _documents(blocks))


def _documents(blocks: list[Block]) -> bool:
    return any(isinstance(block, File) for block in blocks)


@given(st.lists(SHOWN, max_size=3))
def test_what_is_shown_beside_a_part_of_another_kind_is_read_back(blocks: list[Block]) -> None:
    audio = Other({"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}})
    item = message_item("user", [*blocks, audio])
    assert said(item).blocks == (*blocks, audio)
    assert item["content"][-1] is audio.block


CALLS = st.builds(Call, st.sampled_from(["c1", "c2"]), st.just("shell"), st.sampled_from(['{"a":1}', "{}"]))
THOUGHTS = st.builds(Thought, st.text(min_size=1, max_size=9), st.sampled_from(["", "c2ln"]))


@given(
    st.lists(THOUGHTS, max_size=1), st.lists(st.builds(Text, TEXTS), max_size=2), st.lists(CALLS, max_size=2)
)
def test_an_answer_is_read_back_whatever_its_shape(
    thoughts: list[Block], texts: list[Block], calls: list[Block]
) -> None:
    blocks = [*thoughts, *texts, *calls]
    for api in APIS:
        read = [block for item in answer_items(blocks, api) for block in said(item).blocks]
        if api == "openai-chat":  # a signature has no place there, and no text is an empty one
            blocks_ = [Thought(one.text) if isinstance(one, Thought) else one for one in blocks]
            assert [one for one in read if one != Text("")] == [one for one in blocks_ if one != Text("")]
        elif api == "anthropic-messages":
            assert [_plain(one) for one in read] == [_plain(one) for one in blocks]
        else:
            assert read == blocks
        assert all(item.get("role", "assistant") == "assistant" for item in answer_items(blocks, api))


def _plain(block: Block) -> Any:
    """A call with its arguments as Anthropic has them."""
    if isinstance(block, Call) and isinstance(block.arguments, str):
        return (block.id, block.name, {"a": 1} if "a" in block.arguments else {})
    return (block.id, block.name, block.arguments) if isinstance(block, Call) else block


@pytest.mark.parametrize("api", APIS)
def test_what_a_provider_ran_itself_is_seen_as_that(api: str) -> None:
    blocks = [
        Hosted("s1", "web_search", {"q": "x"}),
        Hosted("s1", "web_search", [1], is_result=True),
        Text("So."),
    ]
    made = answer_items(blocks, api)
    calls = [call for item in made for call in items.hosted_calls(item)]
    results = [result for item in made for result in items.hosted_outputs(item)]
    assert [(one.id, one.name, one.arguments) for one in calls] == [("s1", "web_search", {"q": "x"})]
    assert [(one.id, one.content) for one in results] == [("s1", [1])]
    assert [items.text(item) for item in made if items.text(item)] == ["So."]


@pytest.mark.parametrize("api", APIS)
def test_an_answer_of_nothing_is_an_empty_message(api: str) -> None:
    assert answer_items([], api) == [{"role": "assistant", "content": []}]


def test_thoughts_of_one_item_are_one_item_again() -> None:
    thoughts = [
        Thought("One.", "gAAAA", "rs_1"),
        Thought("Two.", "", "rs_1"),
        Thought("Three.", "gBBBB", "rs_2"),
    ]
    first, second = answer_items(thoughts, "openai-responses")
    assert [part["text"] for part in first["summary"]] == ["One.", "Two."]
    assert (first["id"], first["encrypted_content"]) == ("rs_1", "gAAAA")
    assert (second["id"], second["encrypted_content"]) == ("rs_2", "gBBBB")


def test_what_only_a_model_can_say_is_told_by_its_kind_in_another_message() -> None:
    item = message_item("user", [Thought("Hm.", "c2ln"), Call("c", "shell", {}), Hosted("s", "search", {})])
    assert item["content"] == [{"type": "thought"}, {"type": "call"}, {"type": "hosted"}]


CALL: Final = ToolCallPart("c1", "shell", "{}", "function", 0)
GIVEN: Final = (
    Text("see"),
    Image(data="iVBORw0KGgo=", media_type="image/png"),
    File(name="a.pdf", data="JVBERi0="),
)


@pytest.mark.parametrize("shape", ["responses", "chat", "anthropic", "pi"])
def test_what_a_tool_gave_back_is_read_back(shape: Any) -> None:
    for blocks in ((Text("done"),), GIVEN, (File(url="https://example.com/a.pdf"),), ()):
        item = output_item(Output("c1", "shell", blocks), CALL, shape)
        (output,) = said(item).blocks
        assert isinstance(output, Output)
        assert output.id == "c1"
        expected = blocks or (Text(""),)
        assert output.blocks == expected
        assert said(item).speaker == "user"
    failed = output_item(Output("c1", "shell", (Text("no"),), is_error=True), CALL, shape)
    (part,) = items.tool_outputs(failed)
    assert part.is_error is (shape in ("anthropic", "pi"))


def test_the_output_of_a_call_that_takes_text_alone_is_text() -> None:
    shell = ToolCallPart("c1", "shell", {}, "shell", 0)
    item = output_item(Output("c1", "shell", GIVEN), shell, "responses")
    assert item["output"][0]["stdout"] == "see"


# ----------------------------------------------------------------------------------- forms

VALUES = st.recursive(
    st.none() | st.integers() | st.text(max_size=3) | st.sampled_from(["x" * 50, "y" * 600, "iVBOR" * 20]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "$item", "$text", "$plain"]), inner, max_size=2)
    ),
    max_leaves=9,
)


@given(
    VALUES,
    st.lists(
        st.fixed_dictionaries({"content": VALUES, "url": st.just("data:image/png;base64," + "iVBOR" * 20)}),
        max_size=2,
    ),
)
def test_what_was_folded_unfolds(value: Any, held: list[Any]) -> None:
    texts: dict[str, str] = {}
    made = folded(value, held, texts)
    assert unfolded(made, held, texts) == value
    assert all(len(text) >= 400 for text in texts.values())
    if held:
        assert "iVBOR" * 20 not in str(made)


@pytest.mark.parametrize(
    "broken", [{"$item": [3]}, {"$item": [0, "no"]}, {"$item": [0, "content", "x"]}, {"$text": "no"}]
)
def test_a_reference_to_nothing_raises(broken: Any) -> None:
    with pytest.raises((LookupError, TypeError)):
        unfolded(broken, [{"content": "text"}], {})
