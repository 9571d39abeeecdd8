"""What an item holds is read by its shape, and by nothing else."""

from __future__ import annotations

import base64
import copy
import re
from types import MappingProxyType
from typing import Any

import pytest
from histories import faulty
from hypothesis import given
from hypothesis import strategies as st
from strategies import json_objects, json_values

from transcript_log import items
from transcript_log.entries import Entry, MessageEntry
from transcript_log.items import (
    HOSTED,
    ImagePart,
    OtherPart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolOutputPart,
)

_PIXEL = base64.b64encode(b"\x89PNG\r\n\x1a\n????").decode()
_READERS = (
    items.parts,
    items.tool_calls,
    items.tool_outputs,
    items.hosted_calls,
    items.hosted_outputs,
    items.reasoning,
    items.text,
    items.images,
    items.made_images,
    items.role,
    items.type_of,
    items.message_id,
    items.is_user_turn,
    items.is_aborted,
    items.has_opaque,
)
_TYPES = (
    *("message", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output"),
    *("local_shell_call", "shell_call_output", "apply_patch_call_output", "computer_call"),
    *("tool_search_call", "tool_search_output", "web_search_call", "mcp_call", "image_generation_call"),
    *("reasoning", "reasoning_content", "compaction", "future_call", "future_call_output"),
    *("text", "input_text", "output_text", "refusal", "image", "input_image", "image_url"),
    *("tool_use", "tool_result", "toolCall", "server_tool_use", "web_search_tool_result"),
    *("thinking", "redacted_thinking", "document", "base64"),
)
_KEYS = (
    *("role", "content", "text", "call_id", "id", "name", "arguments", "input", "action", "output"),
    *("tools", "tool_calls", "tool_call_id", "function", "custom", "tool_use_id", "is_error"),
    *("toolCallId", "toolName", "isError", "summary", "encrypted_content", "reasoning_content"),
    *("reasoning_details", "thinking", "signature", "thinkingSignature", "redacted", "data"),
    *("source", "media_type", "mimeType", "image_url", "url", "result", "error", "refusal"),
    *("stopReason", "stop_reason", "status", "model"),
    *("parts", "functionCall", "functionResponse", "function_call", "inlineData", "fileData", "response"),
    *("executableCode", "codeExecutionResult", "tool_call", "toolResponse", "thought", "thoughtSignature"),
)


def shaped(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Objects with the keys of the five shapes, and anything at all under them."""
    return st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(_TYPES) | json_values(3),
            "role": st.sampled_from(["user", "assistant", "model", "tool", "toolResult", "developer"]),
            **{key: inner | st.lists(inner, max_size=3) for key in _KEYS if key != "role"},
        },
    )


def any_items() -> st.SearchStrategy[dict[str, Any]]:
    scalars = st.sampled_from(["", " ", "x", "data:image/png;base64,QUJD", "a:b", None, True, 0, 1.5])
    blocks = shaped(scalars)
    return json_objects() | shaped(scalars) | shaped(scalars | blocks) | shaped(shaped(blocks))


def call(call_id: str | None = "c1", name: str = "sh", arguments: Any = "{}", kind: str = "function") -> Any:
    return ToolCallPart(call_id, name, arguments, kind, 0)


# --------------------------------------------------------------------------------- laws


@given(any_items())
def test_no_reader_raises_or_changes_anything_on_any_object(item: dict[str, Any]) -> None:
    before = copy.deepcopy(item)
    for reader in _READERS:
        reader(item)
    for value in item.values():
        items.output_text(value)
        items.output_images(value)
    assert item == before


@given(any_items())
def test_the_readers_of_one_sort_agree_with_the_reader_of_all(item: dict[str, Any]) -> None:
    parts = items.parts(item)
    calls = [part for part in parts if isinstance(part, ToolCallPart)]
    outputs = [part for part in parts if isinstance(part, ToolOutputPart)]
    assert list(items.tool_calls(item)) == [part for part in calls if part.kind != HOSTED]
    assert list(items.hosted_calls(item)) == [part for part in calls if part.kind == HOSTED]
    assert list(items.tool_outputs(item)) == [part for part in outputs if part.kind != HOSTED]
    assert list(items.hosted_outputs(item)) == [part for part in outputs if part.kind == HOSTED]
    assert items.text(item) == "\n".join(part.text for part in parts if isinstance(part, TextPart))


@given(any_items())
def test_an_item_that_is_plain_holds_no_call_and_no_output(item: dict[str, Any]) -> None:
    if items.is_plain(item):
        assert not [part for part in items.parts(item) if isinstance(part, ToolCallPart | ToolOutputPart)]
        assert items.is_user_turn(item) == (item.get("role") == "user")


@pytest.mark.parametrize(
    ("item", "is_plain"),
    [
        ({"role": "user", "content": "x"}, True),
        ({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "x"}]}, True),
        ({"role": "assistant", "content": [{"type": "thinking", "thinking": "x"}, {"type": "text"}]}, True),
        ({"type": "reasoning", "summary": []}, True),
        ({"role": "assistant", "content": None, "tool_calls": []}, False),
        ({"role": "assistant", "content": [{"type": "tool_use"}]}, False),
        ({"role": "tool", "content": "x"}, False),
        ({"type": "function_call"}, False),
    ],
)
def test_most_items_without_calls_are_told_at_once(item: dict[str, Any], is_plain: bool) -> None:
    assert items.is_plain(item) is is_plain


@given(any_items())
def test_an_id_is_text_that_is_not_empty_or_none(item: dict[str, Any]) -> None:
    ids = [call.id for call in items.tool_calls(item)] + [output.id for output in items.tool_outputs(item)]
    assert all(found is None or found != "" for found in ids)
    assert {type(found) for found in ids} <= {str, type(None)}


@given(st.binary(max_size=200), st.booleans())
def test_an_inline_picture_counts_its_decoded_bytes(data: bytes, wrapped: bool) -> None:
    encode = base64.encodebytes if wrapped else base64.b64encode
    text = encode(data).decode()
    anthropic = {
        "role": "user",
        "content": [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": text}}],
    }
    pi = {"role": "user", "content": [{"type": "image", "mimeType": "image/png", "data": text}]}
    flat = {
        "role": "user",
        "content": [{"type": "input_image", "image_url": f"data:image/png;base64,{text}"}],
    }
    for item in (anthropic, pi, flat):
        assert items.images(item) == (ImagePart("image/png", len(data), 0),)


_WEBP = b"RIFF\x24\x00\x00\x00WEBPVP8 "


@pytest.mark.parametrize(
    ("beginning", "kind"),
    [
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF87a", "image/gif"),
        (b"GIF89a", "image/gif"),
        (_WEBP, "image/webp"),
    ],
)
def test_a_picture_of_a_safe_kind_has_a_data_url_whatever_it_is_called(beginning: bytes, kind: str) -> None:
    data = beginning + b"?" * 40
    text = base64.encodebytes(data).decode()
    blocks = (
        {"type": "image", "source": {"type": "base64", "media_type": "text/html", "data": text}},
        {"type": "image", "mimeType": "image/svg+xml", "data": text},
        {"type": "input_image", "image_url": f"data:text/html;base64,{text}"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;charset=x;base64,{text}"}},
    )
    made = items.made_images({"type": "image_generation_call", "result": text})
    found = items.images({"role": "user", "content": list(blocks)})
    for image in (*found, *made):
        assert items.data_url(image) == f"data:{kind};base64,{base64.b64encode(data).decode()}"
    assert len(found) == len(blocks)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "https://example.invalid/a.png",
        "data:image/png;base64",
        "data:image/png,%89PNG%0D%0A%1A%0A????????????",
        "data:image/png;base64," + base64.b64encode(b"<svg onload='alert(1)'></svg>").decode(),
        base64.b64encode(b"<!doctype html><script>alert(1)</script>").decode(),
        base64.b64encode(b"\x89PNG\r\n\x1a\n").decode(),
        base64.b64encode(b"\x89PNG\r\n\x1a\n????????????").decode() + '" onerror="alert(1)',
        "\ud83d" * 20,
        "blob:sha256:" + "0" * 64,
    ],
)
def test_anything_else_has_no_data_url(content: str) -> None:
    assert items.data_url(ImagePart("image/png", 1, 0, content)) is None


@given(st.text() | any_items().map(str))
def test_a_data_url_holds_nothing_but_base64(content: str) -> None:
    for text in (content, _PIXEL * 2 + content, f"data:image/png;base64,{_PIXEL * 2}{content}"):
        url = items.data_url(ImagePart(None, 0, 0, text))
        assert url is None or re.fullmatch(r"data:image/[a-z]+;base64,[A-Za-z0-9+/]+={0,2}", url)


# ---------------------------------------------------------------------- Responses items


@pytest.mark.parametrize(
    ("item", "part"),
    [
        ({"type": "function_call", "call_id": "c1", "name": "sh", "arguments": "{}"}, call()),
        (
            {"type": "custom_tool_call", "call_id": "c1", "name": "patch", "input": "*** Begin"},
            call(name="patch", arguments="*** Begin", kind="custom"),
        ),
        (
            {"type": "local_shell_call", "call_id": "c1", "action": {"command": ["ls"]}},
            call(name="local_shell", arguments={"command": ["ls"]}, kind="local_shell"),
        ),
        (
            {"type": "local_shell_call", "call_id": None, "id": "ls_1", "action": {}},
            call("ls_1", "local_shell", {}, "local_shell"),
        ),
        (
            {"type": "shell_call", "call_id": "c1", "action": {"commands": ["ls"]}},
            call(name="shell", arguments={"commands": ["ls"]}, kind="shell"),
        ),
        (
            {"type": "apply_patch_call", "call_id": "c1", "operation": {"type": "delete_file"}},
            call(name="apply_patch", arguments={"type": "delete_file"}, kind="apply_patch"),
        ),
        (
            {"type": "tool_search_call", "call_id": "c1", "execution": "client", "arguments": {"query": "q"}},
            call(name="tool_search", arguments={"query": "q"}, kind="tool_search"),
        ),
        (
            {"type": "future_call", "call_id": "c1", "arguments": "x"},
            call(name="future", arguments="x", kind="future"),
        ),
        ({"type": "function_call", "name": "sh", "arguments": "{}"}, call(None)),
    ],
)
def test_a_flat_item_is_one_call(item: dict[str, Any], part: ToolCallPart) -> None:
    assert items.tool_calls(item) == (part,)
    assert items.parts(item) == (part,)


@pytest.mark.parametrize(
    ("item", "kind", "content"),
    [
        ({"type": "function_call_output", "call_id": "c1", "output": "done"}, "function", "done"),
        (
            {
                "type": "custom_tool_call_output",
                "call_id": "c1",
                "output": [{"type": "input_text", "text": "a"}],
            },
            "custom",
            [{"type": "input_text", "text": "a"}],
        ),
        ({"type": "local_shell_call_output", "call_id": "c1", "output": "a"}, "local_shell", "a"),
        ({"type": "shell_call_output", "call_id": "c1", "output": []}, "shell", []),
        ({"type": "apply_patch_call_output", "call_id": "c1", "output": None}, "apply_patch", None),
        ({"type": "tool_search_output", "call_id": "c1", "tools": []}, "tool_search", []),
        ({"type": "future_call_output", "call_id": "c1", "output": "a"}, "future", "a"),
    ],
)
def test_a_flat_item_is_one_output(item: dict[str, Any], kind: str, content: Any) -> None:
    (output,) = items.tool_outputs(item)
    assert (output.id, output.kind, output.content, output.is_error) == ("c1", kind, content, False)
    assert items.tool_calls(item) == ()


def test_a_patch_that_failed_is_an_error() -> None:
    (output,) = items.tool_outputs({"type": "apply_patch_call_output", "call_id": "c1", "status": "failed"})
    assert output.is_error


def test_a_search_that_the_server_ran_names_no_call_and_is_hosted() -> None:
    called: Any = {"type": "tool_search_call", "call_id": None, "execution": "server", "arguments": {}}
    gave: Any = {
        "type": "tool_search_output",
        "call_id": None,
        "execution": "server",
        "tools": [{"name": "t"}],
    }
    assert not items.tool_calls(called)
    assert not items.tool_outputs(gave)
    (hosted,), (output,) = items.hosted_calls(called), items.hosted_outputs(gave)
    assert (hosted.id, hosted.name) == (output.id, output.name) == (None, "tool_search")


@pytest.mark.parametrize(
    ("item", "name", "arguments"),
    [
        ({"type": "web_search_call", "id": "h1", "action": {"query": "q"}}, "web_search", {"query": "q"}),
        ({"type": "file_search_call", "id": "h1", "queries": ["q"]}, "file_search", ["q"]),
        ({"type": "code_interpreter_call", "id": "h1", "code": "1"}, "code_interpreter", "1"),
        ({"type": "mcp_call", "id": "h1", "name": "lookup", "arguments": "{}"}, "lookup", "{}"),
        (
            {"type": "image_generation_call", "id": "h1", "revised_prompt": "cat", "result": _PIXEL},
            "image_generation",
            "cat",
        ),
    ],
)
def test_a_hosted_call_is_owed_no_output(item: dict[str, Any], name: str, arguments: Any) -> None:
    assert items.tool_calls(item) == ()
    assert items.hosted_calls(item) == (ToolCallPart("h1", name, arguments, HOSTED, 0),)


def test_a_hosted_call_may_bring_its_own_output_or_error() -> None:
    gave = {"type": "mcp_call", "id": "h1", "name": "n", "arguments": "{}", "output": "found"}
    failed = {"type": "mcp_call", "id": "h1", "name": "n", "arguments": "{}", "error": "no"}
    (output,), (error,) = items.hosted_outputs(gave), items.hosted_outputs(failed)
    assert (output.id, output.content, output.is_error) == ("h1", "found", False)
    assert (error.content, error.is_error) == ("no", True)


def test_a_picture_that_a_model_made_is_a_picture() -> None:
    item = {"type": "image_generation_call", "id": "h1", "result": _PIXEL}
    assert items.images(item) == (ImagePart(None, 12, 0),)


def test_reasoning_is_its_summary_and_its_text_and_opaque_when_encrypted() -> None:
    item = {
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": "short"}],
        "content": [{"type": "reasoning_text", "text": "long"}],
        "encrypted_content": "gAAA",
    }
    assert items.reasoning(item) == (ReasoningPart("short\n\nlong", True, 0),)
    assert items.has_opaque(item)
    plain: Any = {"type": "reasoning", "summary": [], "content": None, "encrypted_content": " "}
    assert items.reasoning(plain) == (ReasoningPart("", False, 0),)


def test_an_item_of_an_unknown_type_is_kept_as_such() -> None:
    item = {"type": "compaction", "encrypted_content": "gAAA"}
    assert items.parts(item) == (OtherPart("compaction", 0),)
    assert items.has_opaque(item)
    assert not items.has_opaque({"type": "compaction", "encrypted_content": "\n"})


# ------------------------------------------------------------------------------ messages


def test_a_message_gives_its_parts_in_their_order() -> None:
    item = {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "sig"},
            {"type": "text", "text": "first"},
            {"type": "tool_use", "id": "t1", "name": "sh", "input": {"a": 1}},
            {"type": "text", "text": "second"},
            {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "q"}},
            {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"title": "T", "url": "u"}]},
            {"type": "document", "source": {}},
        ],
    }
    assert items.parts(item) == (
        ReasoningPart("hm", True, 0),
        TextPart("first", 1),
        ToolCallPart("t1", "sh", {"a": 1}, "function", 2),
        TextPart("second", 3),
        ToolCallPart("s1", "web_search", {"query": "q"}, HOSTED, 4),
        ToolOutputPart("s1", [{"title": "T", "url": "u"}], HOSTED, False, 5, "web_search"),
        OtherPart("document", 6),
    )
    assert items.text(item) == "first\nsecond"


def test_tool_results_of_anthropic_are_outputs_with_their_error_flag() -> None:
    item = {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "t1", "content": "ok"},
            {"type": "tool_result", "tool_use_id": "t2", "content": [], "is_error": True},
            {"type": "text", "text": "go on"},
        ],
    }
    one, two = items.tool_outputs(item)
    assert (one.id, one.is_error, one.place) == ("t1", False, 0)
    assert (two.id, two.is_error, two.place) == ("t2", True, 1)
    assert items.text(item) == "go on"
    assert not items.is_user_turn(item)


def test_chat_calls_and_outputs_are_read() -> None:
    asks = {
        "role": "assistant",
        "content": None,
        "reasoning_content": "hm",
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "sh", "arguments": "{}"}},
            {"id": "c2", "type": "custom", "custom": {"name": "patch", "input": "***"}},
            "odd",
        ],
    }
    assert items.tool_calls(asks) == (
        ToolCallPart("c1", "sh", "{}", "function", 0),
        ToolCallPart("c2", "patch", "***", "custom", 1),
    )
    assert items.reasoning(asks) == (ReasoningPart("hm", False, 0),)
    gave = {"role": "tool", "tool_call_id": "c1", "content": "done", "name": "sh"}
    assert items.tool_outputs(gave) == (ToolOutputPart("c1", "done", "function", False, 0, "sh"),)
    assert items.text(gave) == ""


def test_pi_calls_and_outputs_are_read() -> None:
    asks = {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "hm", "thinkingSignature": "sig=="},
            {"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": "ls"}},
        ],
    }
    assert items.tool_calls(asks) == (ToolCallPart("c1", "bash", {"command": "ls"}, "function", 1),)
    gave = {
        "role": "toolResult",
        "toolCallId": "c1",
        "toolName": "bash",
        "content": [
            {"type": "text", "text": "a"},
            {"type": "image", "data": _PIXEL, "mimeType": "image/png"},
        ],
        "isError": True,
    }
    (output,) = items.tool_outputs(gave)
    assert (output.id, output.name, output.is_error) == ("c1", "bash", True)
    assert items.output_text(output.content) == "a"
    assert items.images(gave) == (ImagePart("image/png", 12, 0),)


@pytest.mark.parametrize(
    ("block", "text", "opaque"),
    [
        ({"type": "thinking", "thinking": "hm", "signature": ""}, "hm", False),
        ({"type": "thinking", "thinking": "hm", "signature": "s"}, "hm", True),
        ({"type": "redacted_thinking", "data": "x"}, "", True),
        ({"type": "thinking", "thinking": "hm", "thinkingSignature": "reasoning_content"}, "hm", False),
        ({"type": "thinking", "thinking": "", "thinkingSignature": '{"type":"reasoning"}'}, "", True),
        ({"type": "thinking", "thinking": "", "redacted": True}, "", True),
    ],
)
def test_thinking_is_opaque_when_it_is_signed_or_redacted(block: Any, text: str, opaque: bool) -> None:
    item = {"role": "assistant", "content": [block]}
    assert items.reasoning(item) == (ReasoningPart(text, opaque, 0),)


def test_reasoning_details_of_chat_are_read_and_opaque_when_encrypted() -> None:
    details = [{"type": "reasoning.text", "text": "a"}, {"type": "reasoning.encrypted", "data": "x"}]
    item = {"role": "assistant", "content": "b", "reasoning_details": details}
    assert items.reasoning(item) == (ReasoningPart("a", True, 0),)


def test_refusals_are_text() -> None:
    assert items.text({"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]}) == "no"
    assert items.text({"role": "assistant", "content": None, "refusal": "no"}) == "no"


def test_a_link_to_a_picture_counts_no_bytes() -> None:
    for block in (
        {"type": "input_image", "image_url": "https://example.invalid/a.png"},
        {"type": "image_url", "image_url": {"url": "https://example.invalid/a.png"}},
        {"type": "image", "source": {"type": "url", "url": "https://example.invalid/a.png"}},
        {"type": "image", "data": "blob:sha256:00ff", "mimeType": None},
    ):
        assert items.images({"role": "user", "content": [block]}) == (ImagePart(None, 0, 0),)


def test_pieces_of_one_anthropic_message_share_its_id() -> None:
    assert items.message_id({"role": "assistant", "id": "msg_1", "stop_reason": None}) == "msg_1"
    assert items.message_id({"type": "message", "role": "assistant", "id": "msg_1"}) is None


def test_an_aborted_turn_says_so_in_its_item() -> None:
    assert items.is_aborted({"role": "assistant", "content": [], "stopReason": "aborted"})
    assert not items.is_aborted({"role": "assistant", "content": [], "stopReason": "stop"})
    stop = [{"type": "text", "text": "[Request interrupted by user for tool use]"}]
    assert items.is_aborted({"role": "user", "content": stop})


# ------------------------------------------------------------------------------- outputs


@pytest.mark.parametrize(
    ("output", "text"),
    [
        ("plain", "plain"),
        (None, ""),
        ([], ""),
        ([{"type": "text", "text": "a"}, {"type": "input_text", "text": "b"}], "a\nb"),
        ({"type": "input_text", "text": "a"}, "a"),
        ({"content": "boom", "success": False}, "boom"),
        ({"output": "out", "metadata": {"exit_code": 0}}, "out"),
        ([{"stdout": "o", "stderr": "e", "outcome": {"type": "exit"}}], "o\ne"),
        ([{"stdout": "", "stderr": ""}], ""),
        ([{"type": "logs", "logs": "l"}], "l"),
        ([{"type": "input_image", "image_url": "data:image/png;base64,QUJD"}], ""),
        ([{"title": "T", "url": "https://example.invalid"}], "T\nhttps://example.invalid"),
        ({"a": [1, "é"]}, '{"a": [1, "é"]}'),
        (True, "true"),
    ],
)
def test_a_tool_output_of_any_stored_form_has_a_readable_text(output: Any, text: str) -> None:
    assert items.output_text(output) == text


def test_a_deep_output_is_still_shown() -> None:
    output: Any = "x"
    for _ in range(5_000):
        output = [output]
    assert items.output_text(output)


@given(json_objects(), st.sampled_from(["user", "assistant", None]))
def test_the_text_of_an_item_is_that_of_its_parts_whatever_way_it_is_read(
    given_item: dict[str, Any], speaker: str | None
) -> None:
    item = given_item if speaker is None else {**given_item, "role": speaker}
    for content in (
        item.get("content"),
        "said",
        ["said", {"type": "text", "text": "more"}, {"type": "image"}],
    ):
        whole = {**item, "content": content}
        told = [part.text for part in items.parts(whole) if isinstance(part, items.TextPart)]
        assert items.text(whole) == "\n".join(told)


# --------------------------------------------------------------------- reference vocabulary

_PREDICATES = (
    items.is_reasoning,
    items.is_chat_reasoning,
    items.is_native_compaction,
    items.is_backend_search_call,
    items.is_tool_search,
    items.is_function_call,
    items.is_function_call_output,
)
_COMPACTIONS = ("compaction", "compaction_summary", "context_compaction")


def flat_items() -> st.SearchStrategy[Any]:
    """Flat items of every type, right and wrong, and values that are no objects."""
    kinds = st.sampled_from([*_TYPES, *_COMPACTIONS, "Reasoning", "reasoning "]) | json_values(2)
    blank = st.sampled_from(["x", "", " \t\n\r\f", "\xa0", "\v", None, 5, ["x"]])
    members = {"type": kinds, "encrypted_content": blank, "call_id": blank, "role": blank, "content": blank}
    return json_values(6) | st.fixed_dictionaries({}, optional=members)


@given(flat_items() | any_items())
def test_no_predicate_raises_or_changes_anything_on_any_value(item: Any) -> None:
    before = copy.deepcopy(item)
    answers = [predicate(item) for predicate in _PREDICATES]
    assert set(map(type, answers)) == {bool}
    assert sum(answers) <= 1
    assert items.is_family_private(item) == any(answers[:5])
    assert items.call_id(item) is None or items.non_blank(item["call_id"])
    assert items.assistant_text(item) is None or item["role"] == "assistant"
    assert item == before


@given(flat_items())
def test_a_compaction_gets_its_one_type_as_a_copy_and_all_else_stays_itself(item: Any) -> None:
    before = copy.deepcopy(item)
    canonical = items.canonicalize_native_compaction(item)
    assert item == before
    if isinstance(item, dict) and item.get("type") == "compaction_summary":
        assert canonical is not item
        assert canonical == {**item, "type": "compaction"}
        assert list(canonical) == list(item)
        assert all(canonical[key] is item[key] for key in item if key != "type")
    else:
        assert canonical is item
    assert items.canonicalize_native_compaction(canonical) is canonical
    assert items.is_native_compaction(canonical) == items.is_native_compaction(item)


@given(st.text(st.sampled_from(" \t\n\r\f\v\xa0x")))
def test_only_five_characters_are_blank(said: str) -> None:
    blank = not set(said) - set(" \t\n\r\f")
    assert items.non_blank(said) is not blank
    leading: Any = [None, {"type": "input_image"}]
    message = items.user_message(said, leading=leading)
    assert message["content"] == leading + ([] if blank else [items.input_text(said)])
    assert message["content"][1] is leading[1]
    assert leading == [None, {"type": "input_image"}]


def test_the_text_of_an_assistant_joins_its_text_parts_and_only_those() -> None:
    def said(*parts: Any, role: Any = "assistant") -> str | None:
        return items.assistant_text({"type": "message", "role": role, "content": list(parts)})

    one, two = {"type": "output_text", "text": "a\n"}, {"type": "text", "text": ""}
    other = [{"type": kind, "text": "no"} for kind in ("refusal", "input_text", None)]
    assert said(one, *other, two, None) == "a\n\n"
    assert said(two) == ""
    assert said() is None
    assert said({"type": ["text"], "text": "x"}, {"type": "text", "text": None}) is None
    assert said(one, role="user") is said(one, role=["assistant"]) is None


@pytest.mark.parametrize("kind", _COMPACTIONS)
@pytest.mark.parametrize("content", [None, "", " \t\n\r\f", 5, "\xa0", "x"])
def test_a_compaction_is_private_only_with_content(kind: str, content: Any) -> None:
    item = {"type": kind, "encrypted_content": content}
    private = content in ("\xa0", "x")
    assert items.is_native_compaction(item) is items.is_family_private(item) is private
    assert not items.is_family_private({"type": kind})


def test_a_mapping_that_is_no_dict_is_an_item_too() -> None:
    item = MappingProxyType({"type": "compaction_summary", "encrypted_content": "x", "call_id": "a"})
    assert items.is_native_compaction(item)
    assert items.call_id(item) == "a"
    assert items.canonicalize_native_compaction(item)["type"] == "compaction"


def test_every_name_of_the_package_can_be_taken_from_it() -> None:
    assert set(items.__all__) <= set(vars(items))
    assert callable(items.parts)
    assert callable(items.text)


@given(faulty())
def test_reading_calls_and_outputs_at_once_is_reading_them_apart(entries: list[Entry]) -> None:
    for entry in entries:
        if isinstance(entry, MessageEntry):
            item = entry.message
            assert items.calls_and_outputs(item) == (items.tool_calls(item), items.tool_outputs(item))
