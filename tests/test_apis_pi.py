"""What pi's own shape keeps in signatures and ids goes back to its API as it came from there."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

from transcript_log.apis import check_items
from transcript_log.apis._signed import message_mark, reasoning_item, split_id
from transcript_log.context import Context, build_context
from transcript_log.entries import MessageEntry
from transcript_log.families import Target

Item = dict[str, Any]

RESPONSES: Final = Target("openai-responses", "gpt-5")
CHAT: Final = Target("openai-chat", "glm-5", "zai")
CLAUDE: Final = Target("anthropic-messages", "claude-opus-4-6")


def user(said: str = "go") -> Item:
    return {"role": "user", "content": [{"type": "text", "text": said}], "timestamp": 1}


def answer(*blocks: Item) -> Item:
    return {"role": "assistant", "content": list(blocks), "stopReason": "stop", "timestamp": 2}


def text(said: str, mark: str | None = None) -> Item:
    block: Item = {"type": "text", "text": said}
    return block if mark is None else {**block, "textSignature": mark}


def thought(said: str = "plan", mark: str = "") -> Item:
    return {"type": "thinking", "thinking": said, "thinkingSignature": mark}


def called(call_id: str = "call_1|fc_1", **more: Any) -> Item:
    return {"type": "toolCall", "id": call_id, "name": "bash", "arguments": {"n": 1}, **more}


def result(call_id: str = "call_1|fc_1", said: str = "out") -> Item:
    content = [{"type": "text", "text": said}]
    return {"role": "toolResult", "toolCallId": call_id, "toolName": "bash", "content": content}


def sealed(number: int = 1, **more: Any) -> str:
    """A reasoning item as pi keeps it."""
    item = {"id": f"rs_{number}", "type": "reasoning", "summary": [], "encrypted_content": f"seal {number}"}
    return json.dumps({**item, **more})


def built(target: Target, *items: Item, family: str | None = None) -> Context:
    """The context of items that the target's own model made, or one of another family."""
    entries = [
        MessageEntry(id=f"e{number}", timestamp=None, message=item, family=family or target.family)
        for number, item in enumerate(items, 1)
    ]
    context = build_context(entries, target)
    assert [finding for finding in check_items(context.items, target) if finding.severity != "note"] == []
    return context


def told(context: Context) -> list[tuple[str, str]]:
    return [(change.kind, change.rule) for change in context.changes]


REASONED: Final[Item] = {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "seal 1"}


def function_call(number: int = 1, **more: Any) -> Item:
    call: Item = {
        "type": "function_call",
        "call_id": f"call_{number}",
        "name": "bash",
        "arguments": '{"n":1}',
    }
    return {**call, **more}


# --------------------------------------------------------------------------- Responses


def test_an_answer_goes_back_to_responses_item_by_item_as_it_came() -> None:
    said = answer(
        thought(mark=sealed()),
        text("I look.", json.dumps({"v": 1, "id": "msg_1", "phase": "commentary"})),
        called(),
        called("call_2|fc_2"),
    )
    context = built(RESPONSES, user(), said, result("call_2|fc_2", "two"), result(said="one"))
    assert context.items[1:] == [
        REASONED,
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "I look.", "annotations": []}],
            "id": "msg_1",
            "status": "completed",
            "phase": "commentary",
        },
        function_call(id="fc_1"),
        function_call(2, id="fc_2"),
        {"type": "function_call_output", "call_id": "call_2", "output": "two"},
        {"type": "function_call_output", "call_id": "call_1", "output": "one"},
    ]


def test_reasoning_stays_before_the_call_that_it_led_to() -> None:
    said = answer(thought(mark=sealed()), called(), thought(mark=sealed(2)), called("call_2|fc_2"))
    context = built(RESPONSES, user(), said, result(), result("call_2|fc_2"))
    kinds = [item.get("type", "message") for item in context.items]
    assert kinds[1:5] == ["reasoning", "function_call", "reasoning", "function_call"]
    assert context.changes == ()


@pytest.mark.parametrize(
    "mark",
    ["", "rs_1", "{", '{"type":"message"}', json.dumps({"type": "reasoning", "id": "rs_1", "summary": []})],
)
def test_where_reasoning_cannot_go_back_nothing_of_the_answer_bears_its_id(mark: str) -> None:
    said = answer(thought(mark=mark), text("I look.", "msg_1"), called())
    context = built(RESPONSES, user(), said, result())
    assert [item.get("type", "message") for item in context.items[1:]] == [
        "message",
        "function_call",
        "function_call_output",
    ]
    assert not any("id" in item for item in context.items)
    assert ("left-out", "thought") in told(context) or ("left-out", "reasoning-content") in told(context)


def test_to_another_family_an_answer_bears_neither_reasoning_nor_ids() -> None:
    said = answer(thought(mark=sealed()), text("I look.", "msg_1"), called())
    context = built(RESPONSES, user(), said, result(), family="openai-responses/direct/other")
    assert context.items[1:] == [
        {"role": "assistant", "content": "I look."},
        function_call(),
        {"type": "function_call_output", "call_id": "call_1", "output": "out"},
    ]
    assert ("left-out", "private") in told(context) or ("rewritten", "private") in told(context)


def test_a_text_with_the_bare_id_of_its_message_or_none_goes_too() -> None:
    context = built(RESPONSES, user(), answer(text("one", "msg_1"), text("two", "x"), text("three")))
    one, two, three = context.items[1:]
    assert one["id"] == "msg_1"
    assert "id" not in two
    assert three == {"role": "assistant", "content": "three"}


def test_calls_that_have_one_id_without_that_of_their_items_are_told_apart() -> None:
    said = answer(called("call_1|fc_1"), called("call_1|fc_2"))
    context = built(RESPONSES, user(), said, result("call_1|fc_2", "two"), result("call_1|fc_1", "one"))
    first, second, *outputs = context.items[1:]
    assert first["call_id"] != second["call_id"]
    assert [(item["call_id"], item["output"]) for item in outputs] == [
        (second["call_id"], "two"),
        (first["call_id"], "one"),
    ]


def test_call_and_output_keep_one_id_whatever_else_they_look_like() -> None:
    """Keys of other APIs beside a message of pi, or an output in the words of this API."""
    odd = {**answer(called()), "reasoning_content": "hm"}
    flat = {"type": "function_call_output", "call_id": "call_1|fc_1", "output": "out"}
    for asked, given in ((odd, result()), (answer(called()), flat), (odd, flat)):
        call, output = built(RESPONSES, user(), asked, given).items[-2:]
        assert call["call_id"] == output["call_id"]


def test_a_call_that_nobody_answered_is_stood_in_for_under_its_id() -> None:
    context = built(RESPONSES, user(), answer(called()), user("and?"))
    assert context.items[1] == function_call(id="fc_1")
    assert context.items[2]["call_id"] == "call_1"
    assert told(context)[0] == ("added", "unanswered-call")


# -------------------------------------------------------------------------------- Chat


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning", "reasoning_text"])
def test_what_a_chat_model_thought_goes_back_under_the_key_that_it_came_in(key: str) -> None:
    said = answer(thought("one", key), thought("two", key), text("so"), called("c1"))
    context = built(CHAT, user(), said, result("c1"))
    assert context.items[1] == {
        "role": "assistant",
        "content": "so",
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"n":1}'}}
        ],
        key: "one\ntwo",
    }
    assert context.changes == ()


def test_thoughts_of_one_answer_are_not_lost_to_the_answer_before_it() -> None:
    context = built(
        CHAT,
        user(),
        answer(text("so")),
        answer(thought("hm", "reasoning_content"), called("c1")),
        result("c1"),
    )
    assert [item.get("reasoning_content") for item in context.items] == [None, None, "hm", None]


def test_thoughts_are_no_message_of_their_own() -> None:
    context = built(CHAT, user(), answer(thought("hm", "reasoning_content")), user("and?"))
    assert [item["role"] for item in context.items] == ["user", "user"]
    assert told(context) == [("left-out", "content")]


def test_thoughts_go_to_their_own_family_alone() -> None:
    said = answer(thought("hm", "reasoning_content"), text("so"))
    context = built(CHAT, user(), said, family="openai-chat/deepseek")
    assert context.items[1] == {"role": "assistant", "content": [{"type": "text", "text": "so"}]}
    (change,) = context.changes
    assert (change.kind, change.rule) == ("rewritten", "private")


def test_what_a_gateway_sealed_goes_back_beside_the_calls() -> None:
    detail = {"type": "reasoning.encrypted", "id": "c1", "data": "seal"}
    said = answer(called("c1", thoughtSignature=json.dumps(detail)), called("c2", thoughtSignature="odd"))
    context = built(CHAT, user(), said, result("c1"), result("c2"))
    assert context.items[1]["reasoning_details"] == [detail]
    others = built(CHAT, user(), said, result("c1"), result("c2"), family="openai-chat/other")
    assert "seal" not in repr(others.items)


def test_nothing_that_pi_writes_beside_a_message_is_sent() -> None:
    asked = {**user(), "attribution": "user", "importedFrom": {"type": "custom_message"}}
    said = {**answer(text("so", "sig")), "duration": 3, "ttft": 1, "api": "x", "usage": {}}
    for target in (CHAT, RESPONSES, CLAUDE):
        context = built(target, asked, said, user("and?"))
        for item in context.items:
            assert item.keys() <= {"role", "content", "type"}
        assert "sig" not in repr(context.items)


# ----------------------------------------------------------------------------- pictures


def test_a_picture_that_stands_elsewhere_is_told_and_not_sent() -> None:
    shown = {"type": "image", "data": "blob:sha256:00ff", "mimeType": "image/png"}
    asked = {**user("see"), "content": [text("see"), shown]}
    for target in (CHAT, RESPONSES, CLAUDE):
        context = built(target, asked)
        assert "blob:" not in repr(context.items)
        assert told(context) == [("left-out", "part-type")]


# ---------------------------------------------------------------------------- signatures


def test_signatures_that_are_none_are_nothing() -> None:
    assert reasoning_item("[1]") is None
    assert reasoning_item('{"type":"reasoning"') is None
    assert message_mark("") == {}
    assert message_mark('{"v":1}') == {}
    assert message_mark('{"v":1,"id":3,"phase":"x"}') == {"phase": "x"}
    assert split_id("call_1") == ("call_1", "")
    assert split_id("|fc_1") == ("|fc_1", "")
    assert split_id("a|b|c") == ("a", "b|c")
