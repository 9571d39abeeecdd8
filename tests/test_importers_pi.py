"""A session of pi of any version becomes entries, and nothing of it is lost in silence."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest
from case_contexts import rules as api_rules
from gemini_rules import problems
from hypothesis import given, settings
from hypothesis import strategies as st
from pi_sessions import NAMES, lines_of, read, said, wanted
from strategies import json_values
from test_cases import folder as cases_folder

from transcript_log import _json, items
from transcript_log.apis import APIS, check_items
from transcript_log.check import check_entries
from transcript_log.codec import (
    decode_entry,
    decode_header,
    encode_detail,
    encode_entry,
    encode_header,
    read_outcome,
)
from transcript_log.context import build_context
from transcript_log.counts import count_entries
from transcript_log.entries import (
    HARNESS,
    Compaction,
    CompactionEntry,
    ContextEntry,
    MessageEntry,
    RecordedCost,
    RecordedUsage,
    ResponseRecord,
    ToolOutcome,
)
from transcript_log.errors import ContextError, EntryError, HeaderError
from transcript_log.families import Target
from transcript_log.history import Said, build_history
from transcript_log.importers import Imported, is_doubtful
from transcript_log.importers.pi import import_pi
from transcript_log.stats import find_spent

_START: Final = datetime(2026, 1, 2, 3, tzinfo=UTC)
_MODEL: Final = {"api": "anthropic-messages", "provider": "anthropic", "model": "claude-opus-4-6"}


class Session:
    """A session that is written entry by entry, one second apart, each the child of the one before."""

    def __init__(self, *, version: Any = 3, header: bool = True, **more: Any) -> None:
        self.lines: list[bytes] = []
        self.last: str | None = None
        self.is_linear = version == 1
        if header:
            told = {} if version == 1 else {"version": version}
            self.raw(
                {
                    "type": "session",
                    **told,
                    "id": "s1",
                    "timestamp": time(0),
                    "cwd": "/src/demo",
                    **more,
                }
            )

    def __call__(self, kind: str, /, id: str | None = None, **more: Any) -> Session:
        number = len(self.lines)
        record: dict[str, Any] = {"type": kind}
        if not self.is_linear:
            name = id or f"e{number}"
            record |= {"id": name, "parentId": self.last}
            self.last = name
        return self.raw({**record, "timestamp": time(number), **more})

    def raw(self, line: Any) -> Session:
        self.lines.append(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n")
        return self

    def said(self, message: dict[str, Any], **more: Any) -> Session:
        return self("message", message=message, **more)

    def user(self, text: str = "go", **more: Any) -> Session:
        return self.said({"role": "user", "content": text, "timestamp": 1}, **more)

    def answer(self, *blocks: dict[str, Any], id: str | None = None, **more: Any) -> Session:
        content = list(blocks) or [{"type": "text", "text": "done"}]
        message = {"role": "assistant", "content": content, **_MODEL, "stopReason": "stop", **more}
        return self.said(message, id=id)

    def result(self, call_id: str = "c1", text: str = "out", **more: Any) -> Session:
        content = [{"type": "text", "text": text}]
        message = {
            "role": "toolResult",
            "toolCallId": call_id,
            "toolName": "bash",
            "content": content,
            **more,
        }
        return self.said(message)

    def read(self) -> Imported:
        return import_pi(self.lines, path="session.jsonl")


def time(number: int) -> str:
    return (_START + timedelta(seconds=number)).isoformat().replace("+00:00", "Z")


def called(call_id: str = "c1") -> dict[str, Any]:
    return {"type": "toolCall", "id": call_id, "name": "bash", "arguments": {}}


def messages(imported: Imported) -> list[MessageEntry]:
    return [entry for entry in imported.entries if isinstance(entry, MessageEntry)]


def texts(imported: Imported) -> list[str]:
    return [items.text(entry.message) for entry in messages(imported)]


def live(imported: Imported) -> list[str]:
    return [items.text(entry.message) for entry in messages(imported) if not entry.interrupted]


def compactions(imported: Imported) -> list[Compaction]:
    return [entry.compaction for entry in imported.entries if isinstance(entry, CompactionEntry)]


def rules(imported: Imported) -> list[str]:
    return [finding.rule for finding in imported.findings]


def told(imported: Imported, rule: str) -> list[str]:
    return [finding.message for finding in imported.findings if finding.rule == rule]


# ----------------------------------------------------------------------- what pi would send


@pytest.mark.parametrize("name", NAMES)
def test_a_session_goes_on_as_pi_itself_would_go_on(name: str) -> None:
    """Or better, where ``tests/data/pi`` says so."""
    imported = read(name)
    target, sent = wanted(name)
    context = build_context(imported.entries, target, details=imported.details_by_call)
    assert said(context.items, sent) == sent
    again = build_context(read(name).entries, target, details=imported.details_by_call)
    assert again.items == context.items


# ------------------------------------------------------------------------------------ laws


def check(imported: Imported) -> None:
    """What holds of every import: it can be stored, comes back equal, and can go on anywhere."""
    ids = [entry.id for entry in imported.entries]
    assert len(set(ids)) == len(ids)
    assert len(imported.places) == len(ids)
    assert decode_header(encode_header(imported.header)) == imported.header
    for entry in imported.entries:
        if entry.timestamp is not None:
            assert decode_entry(encode_entry(entry)) == entry
    for detail in imported.details:
        encode_detail(detail)
        assert detail.entry is None or detail.entry in ids
    lines = [finding.line or 0 for finding in imported.findings]
    assert lines == sorted(lines)
    check_entries(imported.entries, imported.details_by_call, places=imported.places)
    families = frozenset(entry.family for entry in messages(imported) if entry.family is not None)
    for api in APIS:
        target = Target(api, "any", reads=families)
        try:
            context = build_context(imported.entries, target, details=imported.details_by_call)
        except ContextError as error:
            assert [finding.rule for finding in error.findings] == ["empty-input"]  # noqa: PT017
            continue
        assert [f for f in check_items(context.items, target) if f.severity != "note"] == []
        if api == "gemini":
            assert problems(context.items) == []
        elif cases_folder().exists():
            assert api_rules(cases_folder()).problems(CHECKED_AS[api], context.items) == []


CHECKED_AS = {
    "openai-responses": "responses",
    "anthropic-messages": "anthropic",
    **dict.fromkeys(("openai-chat", "deepseek-chat", "mistral-chat"), "chat"),
}
"""What the independent checker calls the APIs that it knows."""


def same(lines: list[bytes]) -> Imported | None:
    """What lines are imported as, alike each time; None if they are no session."""
    try:
        once = import_pi(lines)
    except HeaderError:
        with pytest.raises(HeaderError):
            import_pi(iter(lines))
        return None
    assert import_pi(iter(lines)) == once
    return once


def records() -> st.SearchStrategy[Any]:
    """Records with the keys that pi uses, and right or wrong values under them."""
    odd = json_values(3)
    names = st.sampled_from(["a", "b", "c", "", None])
    common = ("message", "compaction", "branch_summary", "custom_message", "custom", "label", "leaf")
    kinds = st.sampled_from([*common, "session", "session_info", "model_change", "new"])
    blocks = st.fixed_dictionaries(
        {"type": st.sampled_from(["text", "toolCall", "thinking", "image"])},
        optional={
            key: st.sampled_from(["x", "c1", "call_1|fc_1", ""]) | odd
            for key in ("text", "id", "name", "thinking", "thinkingSignature", "data", "arguments")
        },
    )
    content = st.lists(blocks, max_size=3) | st.just("hi") | odd
    roles = ("user", "assistant", "toolResult", "bashExecution", "custom", "hookMessage", "new")
    message = st.fixed_dictionaries(
        {"role": st.sampled_from(roles) | odd, "content": content},
        optional={
            "stopReason": st.sampled_from(["stop", "aborted", "error", "length"]),
            "toolCallId": st.sampled_from(["c1", "call_1|fc_1"]),
            **dict.fromkeys(("api", "provider", "model"), st.sampled_from(["x", "openai-responses"])),
            **dict.fromkeys(("usage", "details", "command", "output", "timestamp", "summary"), odd),
        },
    )
    optional = {
        "message": message | odd,
        "parentId": names | odd,
        "id": names,
        "summary": st.just("so far") | odd,
        "firstKeptEntryId": names | odd,
        "firstKeptEntryIndex": st.integers(-1, 5) | odd,
        "retainedTail": st.lists(message | odd, max_size=3) | odd,
        "version": st.sampled_from([1, 2, 3, 4]) | odd,
        **dict.fromkeys(("timestamp", "targetId", "label", "name", "content", "customType", "details"), odd),
    }
    return st.fixed_dictionaries({"type": kinds | odd}, optional=optional)


def source_lines() -> st.SearchStrategy[bytes]:
    """Records whole, joined or cut, or no records at all."""
    line = st.builds(lambda value: json.dumps(value).encode(), records())
    return st.one_of(
        line,
        line,
        st.builds(lambda one, two: one + two, line, line),
        st.builds(lambda one, cut: one[:cut], line, st.integers(0, 200)),
        st.sampled_from([b"", b"\0\0", b"[]", b'{"type":"custom","data":1e400}', b"[" * 300]),
    )


@settings(max_examples=300)
@given(st.lists(source_lines(), max_size=8))
def test_any_lines_are_imported_alike_each_time_or_are_no_session(physical: list[bytes]) -> None:
    imported = same([line + b"\n" for line in physical])
    if imported is not None:
        check(imported)


@st.composite
def damaged(draw: st.DrawFn) -> list[bytes]:
    """A session of those made by hand, after a few accidents."""
    lines = list(lines_of(draw(st.sampled_from(NAMES))))
    for _ in range(draw(st.integers(1, 4))):
        if not lines:
            break
        place = draw(st.integers(0, len(lines) - 1))
        other = draw(st.integers(0, len(lines) - 1))
        line = lines[place]
        match draw(st.sampled_from(["drop", "twice", "swap", "cut", "join", "end", "byte"])):
            case "drop":
                del lines[place]
            case "twice":
                lines.insert(other, line)
            case "swap":
                lines[place], lines[other] = lines[other], line
            case "cut":
                lines[place] = line[: draw(st.integers(0, len(line)))] + b"\n"
            case "join":
                lines[place] = line.rstrip(b"\r\n")
            case "end":
                lines = [*lines[:place], line[: draw(st.integers(0, len(line)))]]
            case _:
                at = draw(st.integers(0, max(0, len(line) - 1)))
                lines[place] = line[:at] + bytes([draw(st.integers(0, 255))]) + line[at + 1 :]
    return [line + b"\n" for line in b"".join(lines).split(b"\n")]


@settings(max_examples=300)
@given(damaged())
def test_a_damaged_session_can_go_on_anywhere(lines: list[bytes]) -> None:
    imported = same(lines)
    if imported is not None:
        check(imported)


@given(st.integers(-(2**70), 2**70) | st.sampled_from([1e308, float("inf"), 10**18, 2**63, 2**64]))
def test_a_number_that_a_log_cannot_hold_is_always_doubted(number: float) -> None:
    text = json.dumps({"n": number}).replace("Infinity", "1e400").encode()
    try:
        _json.encode(_json.decode(text))
    except EntryError:
        assert is_doubtful(text)


@pytest.mark.parametrize(
    "text", [b'{"timestamp":1767322800000}', b'{"id":"0199a2f4-7c1d-7000-8000-1a2b3c4d5e6f"}']
)
def test_times_and_ids_are_not_doubted(text: bytes) -> None:
    assert not is_doubtful(text)


# ---------------------------------------------------------------------------------- header


def test_the_header_is_that_of_the_source() -> None:
    (header,) = [Session(parentSession="/old.jsonl", metadata={"n": 1}).user().read().header]
    assert (header.id, header.cwd, header.timestamp, header.harness) == (
        "s1",
        "/src/demo",
        _START,
        HARNESS,
    )
    kept = {"format": "pi", "version": 3, "parentSession": "/old.jsonl", "metadata": {"n": 1}}
    assert header.extra == {"importedFrom": kept}


def test_names_and_marks_of_the_user_stand_in_the_header() -> None:
    session = Session().user(id="a").user(id="b").user(id="c")
    session("session_info", name="one")("session_info", name="two")("session_info")
    session("label", targetId="a", label="here")("label", targetId="b", label="there")
    session("label", targetId="b", label=None)("label", targetId="gone", label="lost")
    session("label", targetId="c", label="x")("label", targetId="c", label=3)
    imported = session.read()
    told = imported.header.extra["importedFrom"]
    assert told["name"] == "two"
    assert told["labels"] == {messages(imported)[0].id: "here"}
    assert imported.findings == ()


def test_a_session_without_its_header_is_told() -> None:
    imported = Session(header=False).user().read()
    assert imported.header.id is None
    assert rules(imported) == ["no-session-header"]
    assert texts(imported) == ["go"]


def test_what_is_no_session_is_refused() -> None:
    for lines in ([], [b"{}\n"], [b'{"type":"response_item","payload":{}}\n'], [b"broken\n"]):
        with pytest.raises(HeaderError, match="this is no pi session"):
            import_pi(lines)


def test_a_version_that_is_not_known_is_read_as_the_newest_and_told() -> None:
    imported = Session(version=4).user().read()
    assert rules(imported) == ["newer-version"]
    assert texts(imported) == ["go"]


def test_only_the_first_header_counts() -> None:
    session = Session().user()
    session.raw({"type": "session", "version": 3, "id": "s0", "cwd": "/old"}).user("on")
    imported = session.read()
    assert imported.header.id == "s1"
    assert live(imported) == ["go", "on"]
    assert told(imported, "repeated-header") == [
        "further session headers, here and after: 1; the first one counts"
    ]


@pytest.mark.parametrize(
    ("version", "linear"), [(1, True), (2, False), (3, False), (4, False), ("3", False), (None, True)]
)
def test_the_version_says_whether_entries_have_parents(version: Any, linear: bool) -> None:
    said = {"type": "message", "message": {"role": "user", "content": "x"}}
    header = {"type": "session", "id": "s1", **({} if version == 1 else {"version": version})}
    lines = [header, {**said, "id": "a", "parentId": None}, {**said, "id": "b", "parentId": None}]
    imported = import_pi([json.dumps(line).encode() + b"\n" for line in lines])
    assert len(live(imported)) == (2 if linear else 1)
    assert ("branch-left" in rules(imported)) == (not linear)


def test_without_a_header_the_entries_say_whether_they_have_parents() -> None:
    for is_linear in (True, False):
        session = Session(version=1 if is_linear else 3, header=False).user("one").user("two")
        assert rules(session.read()) == ["no-session-header"]
        assert live(session.read()) == ["one", "two"]


def test_entries_of_two_sessions_have_different_ids() -> None:
    one, two = Session().user().read(), Session().user()
    two.lines[0] = two.lines[0].replace(b'"s1"', b'"s2"')
    assert one.entries[0].id != two.read().entries[0].id
    assert one.counts["records"] == 2


# -------------------------------------------------------------------------------- messages


def test_messages_stay_as_they_are() -> None:
    user = {
        "role": "user",
        "content": [{"type": "text", "text": "go"}],
        "timestamp": 1,
        "attribution": "user",
    }
    answer = {"role": "assistant", "content": [called()], **_MODEL, "stopReason": "toolUse", "odd": {"n": 1}}
    result = {"role": "toolResult", "toolCallId": "c1", "content": [], "isError": False}
    imported = Session().said(user).said(answer).said(result).read()
    assert [entry.message for entry in messages(imported)] == [user, answer, result]
    assert imported.findings == ()


def test_entries_have_the_times_and_places_of_the_source() -> None:
    session = Session().user().answer(timestamp=1767322805000)
    session.raw({"type": "message", "id": "x", "parentId": "e2", "message": {"role": "user", "timestamp": 1}})
    session.raw(
        {"type": "message", "id": "y", "parentId": "x", "timestamp": "?", "message": {"role": "user"}}
    )
    imported = session.read()
    first, second, third, fourth = messages(imported)
    assert first.timestamp == _START + timedelta(seconds=1)
    assert second.timestamp == _START + timedelta(seconds=2)
    assert third.timestamp == datetime(1970, 1, 1, 0, 0, 0, 1000, tzinfo=UTC)
    assert fourth.timestamp is None
    assert rules(imported) == ["unreadable-time"]
    offsets = [sum(map(len, session.lines[:number])) for number in range(1, 5)]
    assert list(imported.places) == list(zip(range(2, 6), offsets, strict=True))


@pytest.mark.parametrize(
    ("api", "provider", "model", "family"),
    [
        ("anthropic-messages", "anthropic", "claude-opus-4-6", "anthropic-messages/direct"),
        ("anthropic-messages", "zai", "glm-5.2", "anthropic-messages/zai"),
        ("openai-responses", "openai", "gpt-5", "openai-responses/direct/gpt-5"),
        ("openai-codex-responses", "openai-codex", "gpt-5", "openai-responses/openai-codex/gpt-5"),
        ("azure-openai-responses", "azure", "gpt-5", "openai-responses/azure/gpt-5"),
        ("openai-completions", "openai", "gpt-5", "openai-chat/direct"),
        ("openai-completions", "openrouter", "z-ai/glm", "openai-chat/openrouter"),
        ("google-generative-ai", "google", "gemini-3", "gemini/direct/gemini-3"),
        ("google-vertex", "google-vertex", "gemini-3", "gemini/google-vertex/gemini-3"),
        ("mistral-conversations", "mistral", "large", "mistral-chat/direct/large"),
        ("bedrock/converse", "amazon/bedrock", "a/b", "bedrock-converse/amazon-bedrock/a%2Fb"),
        ("openai-responses", " ", "gpt-5", None),
        ("openai-responses", "openai", "", None),
        (None, "openai", "gpt-5", None),
    ],
)
def test_an_answer_is_of_the_family_that_it_names(
    api: Any, provider: Any, model: Any, family: str | None
) -> None:
    imported = Session().user().answer(api=api, provider=provider, model=model).read()
    assert [entry.family for entry in messages(imported)] == [None, family]


def test_an_answer_tells_its_tokens_once() -> None:
    cost = {"input": 0.1, "output": 0.2, "cacheRead": 0.01, "cacheWrite": 0.02, "total": 0.33}
    usage = {"input": 10, "output": 5, "cacheRead": 3, "cacheWrite": 2, "totalTokens": 20, "cost": cost}
    session = Session().user().answer(responseId="r1", usage=usage, responseModel="dated")
    (spent,) = find_spent([("", session.read().entries)])
    assert spent.usage == RecordedUsage(
        input=10,
        output=5,
        cache_read=3,
        cache_write=2,
        total_tokens=20,
        cost=RecordedCost(input=0.1, output=0.2, cache_read=0.01, cache_write=0.02, total=0.33),
    )
    assert messages(session.read())[1].response == ResponseRecord(
        id="r1", provider="anthropic", model="claude-opus-4-6", finish_reason="stop", usage=spent.usage
    )


@pytest.mark.parametrize(
    ("usage", "told"),
    [
        (None, None),
        ([], None),
        ({"input": 0, "output": 0, "cost": {"input": 1}}, None),
        ({"input": 3, "output": 4}, RecordedUsage(input=3, output=4, total_tokens=7)),
        ({"input": -3, "output": 4.5, "totalTokens": 9}, RecordedUsage(total_tokens=9)),
        ({"input": 1, "cost": {"total": "x", "input": -1}}, RecordedUsage(input=1, total_tokens=1)),
    ],
)
def test_tokens_that_nobody_told_are_none(usage: Any, told: RecordedUsage | None) -> None:
    (_, entry) = messages(Session().user().answer(usage=usage).read())
    assert entry.response is not None
    assert entry.response.usage == told


@pytest.mark.parametrize(
    ("word", "finish"),
    [("toolUse", "tool_use"), ("length", "max_tokens"), ("aborted", "aborted"), ("new", "new"), (3, None)],
)
def test_why_a_model_stopped_is_told_in_the_words_of_a_log(word: Any, finish: str | None) -> None:
    (_, entry) = messages(Session().user().answer(stopReason=word).read())
    assert entry.response is not None
    assert entry.response.finish_reason == finish


def test_answers_that_failed_are_told_with_the_reason() -> None:
    session = Session().user()
    for why in ("429 slow down\nmore", "429 slow down", "", None):
        session.answer(stopReason="error", errorMessage=why)
    session.answer(stopReason="aborted")
    imported = session.read()
    found = [message.rpartition(": ")[2] for message in told(imported, "answer-failed")]
    assert found == ["429 slow down", "error", "aborted"]
    assert told(imported, "answer-failed")[0].startswith("answers that failed, here and after: 2;")
    assert imported.counts["aborted"] == 5
    assert not any(entry.interrupted for entry in messages(imported))  # the message says so itself
    assert len(build_context(imported.entries, Target("openai-chat", "x")).items) == 1


def test_what_is_made_a_message_of_the_user_keeps_what_it_was() -> None:
    session = Session()
    bash = {"role": "bashExecution", "command": "ls", "output": "a", "exitCode": 0, "cancelled": False}
    session.said({**bash, "timestamp": 7})
    session("custom_message", customType="memo", content="note", display=False, details={"n": 1})
    session("branch_summary", fromId="x", summary="lost", details={"readFiles": []})
    first, second, third = [entry.message for entry in messages(session.read())]
    assert first["importedFrom"] == {"format": "pi", **bash}
    assert first["timestamp"] == 7
    kept = {"type": "custom_message", "customType": "memo", "display": False, "details": {"n": 1}}
    assert second["importedFrom"] == {"format": "pi", **kept}
    assert second["timestamp"] == 1767322802000
    assert third["importedFrom"]["fromId"] == "x"
    assert {first["role"], second["role"], third["role"]} == {"user"}
    assert session.read().counts["user"] == 0


def test_what_an_extension_says_may_have_blocks() -> None:
    blocks = [{"type": "text", "text": "a"}, {"type": "image", "data": "aGk=", "mimeType": "image/png"}]
    for role in ("custom", "hookMessage"):
        (entry,) = messages(Session().said({"role": role, "customType": "x", "content": blocks}).read())
        assert entry.message["content"] == blocks
        assert entry.message["importedFrom"] == {"format": "pi", "role": role, "customType": "x"}


def test_a_branch_summary_without_text_says_nothing() -> None:
    session = Session().user()
    assert texts(session("branch_summary", fromId="x", summary="").read()) == ["go"]


def test_a_command_that_was_run_aside_is_history_and_no_context() -> None:
    bash = {"role": "bashExecution", "command": "ls", "output": "a", "excludeFromContext": True}
    imported = Session().user().said(bash).read()
    assert [entry.interrupted for entry in messages(imported)] == [False, True]
    last = build_history(imported.entries).events[-1]
    assert isinstance(last, Said)
    assert (last.text, last.interrupted) == ("Ran `ls`\n```\na\n```", True)


def test_summaries_that_stand_as_messages_are_told_as_pi_tells_them() -> None:
    session = Session().said({"role": "branchSummary", "summary": "lost"})
    session.said({"role": "compactionSummary", "summary": "so far"})
    one, two = texts(session.read())
    assert one.endswith("came back from:\n\n<summary>\nlost</summary>")
    assert two.endswith("into the following summary:\n\n<summary>\nso far\n</summary>")


def test_a_role_that_is_not_known_is_history_and_told() -> None:
    session = Session().user().said({"role": "fileMention", "content": "x"})
    session.said({"role": "fileMention", "content": "y"})
    imported = session.read()
    assert texts(imported) == ["go", "x", "y"]
    assert live(imported) == ["go"]
    (message,) = told(imported, "unknown-role")
    assert "'fileMention'" in message
    assert "2" in message
    assert imported.counts["user"] == 1


@pytest.mark.parametrize("message", [None, "x", [], {}, {"role": 3}])
def test_a_message_that_is_none_is_told(message: Any) -> None:
    imported = Session().user(id="a")("message", message=message).user("on").read()
    assert rules(imported) == ["odd-record"]
    assert live(imported) == ["go", "on"]


def test_pictures_that_stand_elsewhere_are_told() -> None:
    shown = {"type": "image", "data": "blob:sha256:00", "mimeType": "image/png"}
    inside = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
    session = Session().said({"role": "user", "content": [shown, inside]})
    session("custom_message", customType="x", content=[inside])
    imported = session.read()
    assert rules(imported) == ["picture-elsewhere"]
    assert imported.counts["images"] == 2  # of the messages of the file
    text = {"type": "text", "text": "see data:image", "data": "blob:x"}
    assert Session().said({"role": "user", "content": [inside, text]}).read().findings == ()


def test_what_is_not_known_is_counted_and_named() -> None:
    session = Session().user()("new_kind")("new_kind")("custom", customType="memo", data=1)
    session.raw({"n": 1}).raw({"type": 3})
    session("message", message={"role": "user", "content": "on"}, evictedContent={})
    imported = session.read()
    named = told(imported, "not-imported")
    assert [message.rpartition(": ")[2] for message in named] == [
        "new_kind (2 times)",
        "custom/memo (1 times)",
        "message.evictedContent (1 times)",
    ]
    assert rules(imported).count("odd-record") == 2
    assert live(imported) == ["go", "on"]


def test_a_record_that_a_log_cannot_hold_is_left_out_and_its_children_stay() -> None:
    session = Session().user(id="a")
    number = b'{"type":"message","id":"b","parentId":"a","message":{"role":"user","content":"x","n":%d}}\n'
    session.raw(number % 2**70)
    session.last = "b"
    session.user("on")
    imported = session.read()
    assert rules(imported) == ["unstorable"]
    assert live(imported) == ["go", "on"]
    session("model_change", model=2**70)("compaction", summary="so far", tokensBefore=2**70)
    imported = session.read()
    assert rules(imported) == ["unstorable"] * 3
    assert len(imported.entries) == 2


# -------------------------------------------------------------------------------- settings


def test_settings_are_context_entries_unless_they_are_in_force() -> None:
    session = Session()("model_change", provider="anthropic", modelId="a")
    session("model_change", provider="anthropic", modelId="a")
    session("thinking_level_change", thinkingLevel="high").user()
    session("model_change", model="zai/glm", role="default")
    entries = [entry for entry in session.read().entries if isinstance(entry, ContextEntry)]
    assert [(entry.context.kind, entry.context.rendered) for entry in entries] == [
        ("model_change", '{"modelId":"a","provider":"anthropic"}'),
        ("thinking_level_change", '{"thinkingLevel":"high"}'),
        ("model_change", '{"model":"zai/glm","role":"default"}'),
    ]
    assert {entry.context.placement for entry in entries} == {"after-current"}


# ---------------------------------------------------------------------------------- details


@pytest.mark.parametrize(
    ("text", "is_error", "status", "code"),
    [
        ("done", False, "success", None),
        ("Command exited with code 3", False, "success", None),
        ("bad\n\nCommand exited with code 2", True, "failed", 2),
        ("Command exited with code -1", True, "failed", -1),
        ("slow\n\nCommand timed out after 1.5 seconds", True, "timeout", None),
        ("half\n\nCommand aborted", True, "cancelled", None),
        ("Operation aborted", True, "cancelled", None),
        ("it says: Command aborted", True, "failed", None),
        ("no such tool", True, "failed", None),
    ],
)
def test_a_result_tells_how_its_call_ended(text: str, is_error: bool, status: Any, code: int | None) -> None:
    session = Session().user().answer(called()).result(text=text, isError=is_error, details={"full": "x"})
    imported = session.read()
    ((key, payload),) = imported.details_by_call.items()
    assert key == ("c1", messages(imported)[1].id)
    assert read_outcome(payload) == ToolOutcome(
        status=status, exit_code=code, data_kind="bash", data={"full": "x"}
    )
    assert "details" not in messages(imported)[2].message


def test_details_stay_in_a_result_that_names_no_call() -> None:
    message = {"role": "toolResult", "content": [], "details": {"full": "x"}}
    imported = Session().user().said(message).read()
    assert messages(imported)[1].message == message
    assert imported.details == ()


def test_an_outcome_is_of_the_nearest_call_of_its_id() -> None:
    session = Session().user()
    for number in (1, 2):
        session.answer(called()).result(details=number)
    session.result(details=3)
    imported = session.read()
    first, second = (entry.id for entry in messages(imported) if items.tool_calls(entry.message))
    assert [detail.entry for detail in imported.details] == [first, second, second]
    early = Session().user().result(details=1).answer(called()).read()
    assert early.details[0].entry == messages(early)[2].id


# --------------------------------------------------------------------------------- branches


def branched() -> Session:
    session = Session().user("one", id="a").answer(id="b").user("left", id="c")
    session("model_change", id="m", provider="x", modelId="y")
    session.answer(called(), id="d").result("c1")("compaction", summary="left", firstKeptEntryId="c")
    session.last = "b"
    return session.user("two", id="e")


def test_a_branch_that_was_left_is_history_and_told() -> None:
    imported = branched().read()
    assert live(imported) == ["one", "done", "two"]
    assert texts(imported) == ["one", "done", "left", "", "", "two"]
    assert not any(isinstance(entry, ContextEntry | CompactionEntry) for entry in imported.entries)
    (finding,) = imported.findings
    assert (finding.rule, finding.severity, finding.line) == ("branch-left", "note", 4)
    assert "1 compaction, 3 message, 1 model_change; the last on line 8" in finding.message
    shown = build_history(imported.entries).events
    assert [event.text for event in shown if isinstance(event, Said)] == ["one", "done", "left", "two"]


def test_numbers_are_those_of_all_branches() -> None:
    imported = branched().read()
    counts = count_entries(imported.entries)
    assert (counts.calls, counts.results, counts.assistant) == (1, 1, 2)
    told = [imported.counts[key] for key in ("user", "compactions", "aborted", "roots")]
    assert told == [3, 1, 0, 1]
    assert len(find_spent([("", imported.entries)])) == 2


def test_messages_are_counted_whatever_becomes_of_them() -> None:
    signatures = ("reasoning_content", "s" * 60, "s" * 61, None, 7)
    blocks: list[Any] = [{"type": "thinking", "thinking": "t", "thinkingSignature": s} for s in signatures]
    blocks += [{"type": "toolCall", "id": f"c{n}", "name": "sh", "arguments": {}} for n in (1, 2)]
    picture = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
    unstorable = {"role": "user", "content": "x", "n": 1 << 70}
    messages = (
        {"role": "assistant", "content": blocks, "stopReason": "aborted", "id": "m1", "model": "m"},
        {"role": "assistant", "content": [], "stopReason": "stop", "id": "m1", "model": "m"},
        {"role": "toolResult", "toolCallId": "c1", "content": [picture], "isError": True},
        {"role": "toolResult", "content": [picture, "odd"]},
        {"role": "custom", "customType": "x", "content": [picture]},
        unstorable,
    )
    session = Session()
    for message in messages:
        session.said(message)
    counts = session.read().counts
    assert {name: number for name, number in counts.items() if name != "records"} == {
        "user": 1,
        "assistant": 2,
        "assistant_messages": 2,
        "calls": 2,
        "results": 2,
        "unanswered": 1,
        "orphan_results": 1,
        "parallel_groups": 1,
        "error_results": 1,
        "reasoning": 5,
        "opaque_reasoning": 1,
        "images": 3,
        "compactions": 0,
        "aborted": 1,
        "roots": 1,
        "broken_lines": 0,
        "recovered": 0,
        "sidechain": 0,
    }


def test_branches_at_different_places_are_told_one_by_one() -> None:
    session = Session().user("one", id="a").user("x", id="x").user("x2", id="x2")
    for parent, name in (("a", "y"), ("x", "z"), (None, "r")):
        session.last = parent
        session.user(name, id=name)
    session.last = "a"
    imported = session.user("two").read()
    assert [finding.line for finding in imported.findings] == [3, 5, 7]
    assert "(3 message; the last on line 6)" in imported.findings[0].message
    assert live(imported) == ["one", "two"]


def test_a_session_that_grows_keeps_the_ids_of_its_entries() -> None:
    lines = branched().lines
    before = import_pi(lines[:-1])
    after = import_pi(lines)
    assert {entry.id for entry in messages(before)} < {entry.id for entry in messages(after)}


def test_entries_that_stand_twice_are_told_and_said_once() -> None:
    session = Session().user("one", id="a").user("two", id="b")
    session.raw(session.lines[-1]).raw(session.lines[1])
    session.last = "b"
    imported = session.user("three").read()
    assert live(imported) == ["one", "two", "three"]
    assert rules(imported) == ["repeated-entry"]
    assert "2" in imported.findings[0].message


def test_of_entries_with_one_id_the_nearest_before_is_the_parent() -> None:
    session = Session().user("one", id="a").user("two", id="a").user("three", id="a").user("four", id="b")
    imported = session.read()
    assert live(imported) == ["one", "two", "three", "four"]
    assert imported.findings == ()


@pytest.mark.parametrize(
    ("parent", "words"),
    [
        ({}, "names no parent"),
        ({"parentId": 3}, "no text"),
        ({"parentId": "gone"}, "'gone' is not in the file"),
        ({"parentId": "x"}, "itself"),
    ],
)
def test_a_parent_that_is_not_there_is_guessed_and_told(parent: dict[str, Any], words: str) -> None:
    session = Session().user("one")
    session.raw({"type": "message", "id": "x", **parent, "message": {"role": "user", "content": "two"}})
    imported = session.read()
    assert live(imported) == ["one", "two"]
    (message,) = told(imported, "parent-missing")
    assert words in message
    assert message.endswith("the entry before it is taken for that")


def test_parents_that_lead_in_a_circle_are_told() -> None:
    said = {"role": "user", "content": "x"}
    session = Session()
    for name, parent in (("a", "c"), ("b", "a"), ("c", "b")):
        session.raw({"type": "message", "id": name, "parentId": parent, "message": said})
    imported = session.read()
    assert rules(imported) == ["parent-circle"]
    assert live(imported) == ["x", "x", "x"]


def test_a_circle_off_the_live_branch_is_a_branch() -> None:
    said = {"role": "user", "content": "x"}
    session = Session()
    for name, parent in (("a", "b"), ("b", "a"), ("c", None)):
        session.raw({"type": "message", "id": name, "parentId": parent, "message": said})
    imported = session.read()
    assert rules(imported) == ["branch-left"]
    assert live(imported) == ["x"]


def test_a_leaf_says_where_the_conversation_ends() -> None:
    def ended(target: Any) -> Imported:
        return Session().user("one", id="a").user("two", id="b")("leaf", targetId=target).read()

    assert live(ended("a")) == ["one"]
    assert live(ended(None)) == []
    assert texts(ended(None)) == ["one", "two"]
    assert live(ended("gone")) == ["one", "two"]
    assert "parent-missing" in rules(ended("gone"))


# ------------------------------------------------------------------------------- compactions


def test_a_compaction_has_what_the_source_tells_of_it() -> None:
    usage = {"input": 7, "output": 2, "cost": {"total": 0.5}}
    session = Session().user().user("kept", id="k")
    session(
        "compaction",
        summary="so far",
        firstKeptEntryId="k",
        tokensBefore=99,
        usage=usage,
        details={"readFiles": ["a", 3], "modifiedFiles": ["b"], "extra": 1},
        preserveData={},
    )
    imported = session.read()
    assert compactions(imported) == [
        Compaction(
            summary="so far",
            first_kept_entry_id=messages(imported)[1].id,
            tokens_before=99,
            read_files=("a",),
            modified_files=("b",),
            usage=RecordedUsage(input=7, output=2, total_tokens=9, cost=RecordedCost(total=0.5)),
        )
    ]
    assert [message.rpartition(": ")[2] for message in told(imported, "not-imported")] == [
        "compaction.preserveData (1 times)",
        "compaction.details.extra (1 times)",
    ]


@pytest.mark.parametrize("more", [{}, {"firstKeptEntryId": ""}, {"firstKeptEntryId": None}])
def test_a_compaction_that_names_nothing_keeps_nothing(more: dict[str, Any]) -> None:
    imported = Session().user()("compaction", summary="so far", **more).read()
    (made,) = compactions(imported)
    assert made.first_kept_entry_id is None
    assert imported.findings == ()


@pytest.mark.parametrize("named", ["gone", "later", 3])
def test_a_compaction_that_keeps_from_nowhere_is_told(named: Any) -> None:
    session = Session().user()("compaction", summary="so far", firstKeptEntryId=named)
    imported = session.user("on", id="later").read()
    assert compactions(imported)[0].first_kept_entry_id is None
    assert rules(imported) == ["first-kept"]


def test_what_is_kept_of_another_branch_is_not_kept() -> None:
    session = Session().user("one", id="a").user("left", id="b")
    session.last = "a"
    session.user("two", id="c")("compaction", summary="so far", firstKeptEntryId="b")
    assert "first-kept" in rules(session.read())


@pytest.mark.parametrize("summary", ["", " \n", None, 3])
def test_a_compaction_without_a_summary_is_told_and_has_one(summary: Any) -> None:
    imported = Session().user()("compaction", summary=summary).user("on").read()
    assert compactions(imported)[0].summary == "(no summary available)"
    assert rules(imported) == ["blank-summary"]


@pytest.mark.parametrize(("index", "kept"), [(1, 0), (2, 1), (3, 2), (0, None), (4, None), (-1, None)])
def test_version_1_counts_the_entries_of_the_file(index: int, kept: int | None) -> None:
    for header in (True, False):
        session = Session(version=1, header=header)
        for text in ("one", "two", "three"):
            session.user(text)
        imported = session("compaction", summary="so far", firstKeptEntryIndex=index).read()
        first = compactions(imported)[0].first_kept_entry_id
        assert first == (None if kept is None else messages(imported)[kept].id)
        assert ("first-kept" in rules(imported)) == (kept is None)


def test_version_1_counts_lines_that_cannot_be_read_any_more() -> None:
    session = Session(version=1).user("one").raw(b'{"type":"mess\n').raw(b"broken\n").user("four")
    joined = json.dumps({"type": "message", "message": {"role": "user", "content": "five"}}).encode()
    session.raw(joined + joined.replace(b"five", b"six") + b"\n").user("seven")
    for index, kept in ((1, "one"), (4, "four"), (5, "five"), (6, "six"), (7, "seven"), (2, None)):
        lines = [
            *session.lines,
            json.dumps({"type": "compaction", "summary": "s", "firstKeptEntryIndex": index}).encode() + b"\n",
        ]
        imported = import_pi(lines)
        first = compactions(imported)[0].first_kept_entry_id
        texts_by_id = {entry.id: items.text(entry.message) for entry in messages(imported)}
        assert texts_by_id.get(first or "") == kept


def test_a_header_that_cannot_be_read_counts_in_version_1() -> None:
    session = Session(version=1, header=False).raw(b'{"type":"sess\n').user("one").user("two")
    imported = session("compaction", summary="so far", firstKeptEntryIndex=2).read()
    assert compactions(imported)[0].first_kept_entry_id == messages(imported)[1].id


def test_messages_that_a_compaction_brings_along_are_those_before_it_or_its_own() -> None:
    session = Session().user("one").answer(called()).result(details={"n": 1}).user("two")
    kept = [json.loads(line)["message"] for line in session.lines[2:]]
    imported = session("compaction", summary="so far", retainedTail=kept).user("on").read()
    (made,) = compactions(imported)
    assert (made.first_kept_entry_id, made.replacement) == (messages(imported)[1].id, ())
    other = [{"role": "user", "content": "else"}, {"role": "assistant", "content": [], **_MODEL}, "odd"]
    own = Session().user("one")("compaction", summary="so far", retainedTail=other).read()
    (made,) = compactions(own)
    assert [items.text(item) for item in made.replacement][1:] == ["else", ""]
    assert "so far" in items.text(made.replacement[0])
    assert (made.first_kept_entry_id, made.family) == (None, "anthropic-messages/direct")
    mixed = [other[1], {**dict(_MODEL), "role": "assistant", "content": [], "provider": "x"}]
    (made,) = compactions(Session().user()("compaction", summary="s", retainedTail=mixed).read())
    assert made.family is None
    (made,) = compactions(Session().user()("compaction", summary="s", retainedTail=[]).read())
    assert (made.first_kept_entry_id, made.replacement) == (None, ())


# ----------------------------------------------------------------------------------- damage


def test_damage_is_read_round_and_told() -> None:
    session = Session().user("one", id="a").raw(b'{"type":"message","id":"b","pare\n')
    session.last = "b"
    session.user("three", id="c")
    session.raw(session.lines.pop() + b"")
    session.lines.append(b'{"type":"message","id":"d","parentId":"c","mess')
    imported = session.read()
    assert live(imported) == ["one", "three"]
    assert rules(imported) == ["broken-line", "parent-missing", "torn-tail"]
    assert (imported.counts["broken_lines"], imported.counts["recovered"]) == (2, 0)
    assert [finding.line for finding in imported.findings] == [3, 4, 5]
    assert {finding.path for finding in imported.findings} == {"session.jsonl"}


def test_two_records_on_one_line_are_two_entries() -> None:
    session = Session().user("one", id="a").user("two", id="b")
    second = session.lines.pop()
    session.lines[-1] = session.lines[-1].rstrip(b"\n") + second
    session.last = "b"
    imported = session.user("three").read()
    assert live(imported) == ["one", "two", "three"]
    assert rules(imported) == ["joined-lines"]
    assert len({entry.id for entry in imported.entries}) == 3
    assert imported.places[0] == imported.places[1]


def test_entries_that_nothing_is_made_of_are_kept_where_that_is_asked() -> None:
    lines = [
        b'{"type":"session","version":3,"id":"s","timestamp":"2026-01-02T03:00:00Z","cwd":"/"}\n',
        b'{"type":"from-the-future","id":"x","parentId":null,"timestamp":"2026-01-02T03:00:01Z","data":[1]}\n',
        b'{"type":"message","id":"a","parentId":"x","timestamp":"2026-01-02T03:00:02Z",'
        b'"message":{"role":"user","content":"go"}}\n',
        b'{"type":"custom","id":"y","parentId":"a","timestamp":"2026-01-02T03:00:03Z","customType":"t"}\n',
    ]
    plain, kept = import_pi(lines), import_pi(lines, keep_unknown=True)
    assert [entry.type for entry in plain.entries] == ["message"]
    assert [entry.type for entry in kept.entries] == ["pi:from-the-future", "message", "pi:custom/t"]
    assert [line for line, _ in kept.places] == [2, 3, 4]
    assert build_context(kept.entries).items == build_context(plain.entries).items
