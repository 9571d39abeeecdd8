"""What a few KB of a session tell: the same whichever way they are read, and never an error."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any, Final

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from strategies import names, texts, times
from test_corpus_codex import CORPUS, FACTS, each

from transcript_log import _glimpse
from transcript_log._glimpse import Glimpse, first_text, glimpse
from transcript_log._logfile.seal import line_of
from transcript_log.codec import encode_entry, encode_header
from transcript_log.entries import Header, MessageEntry, ParentCall

NOON: Final = datetime(2026, 1, 2, 12, tzinfo=UTC)
HEADER: Final = Header(id="s", timestamp=NOON, harness="transcript-log")


def own(*messages: Any, header: Header = HEADER) -> bytes:
    """A log of this package."""
    entries = [
        encode_entry(MessageEntry(id=f"e{index}", timestamp=NOON, message=message))
        for index, message in enumerate(messages)
    ]
    return b"".join(map(line_of, (encode_header(header), *entries)))


def user(content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": content, **more}


def text_block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def lines(*records: Any) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def ends(data: bytes) -> tuple[bytes, bytes]:
    return data[:4096], data[-4096:]


def messages() -> st.SearchStrategy[dict[str, Any]]:
    said = (
        texts()
        | st.text(min_size=60, max_size=400)
        | st.sampled_from(["<skill>x</skill>", "# AGENTS.md instructions", " \n"])
    )
    content = (
        said
        | said.map(lambda text: [text_block(text)])
        | said.map(lambda text: [{"type": "input_text", "text": text}, text_block("b")])
    )
    item = st.builds(user, content) | st.builds(lambda text: {"role": "assistant", "content": text}, said)
    return item | st.builds(lambda item, key: {key: 1, **item}, item, names())


@given(
    st.lists(messages(), max_size=4),
    st.builds(
        Header,
        id=names(),
        timestamp=times(),
        harness=st.just("transcript-log"),
        cwd=st.none() | texts(),
        parent=st.none() | st.just(ParentCall("p", "c")),
    ),
    st.integers(0, 12),
)
@example([user("\u00e9" * 79 + "\\")], HEADER, 0)
@example([user('"' * 300)], HEADER, 0)
@example([user("a" * 159 + "\U0001f600")], HEADER, 0)
@example([user("a" * 155 + "\ud83d")], HEADER, 0)
@example([user("x" * 9000)], HEADER, 0)
def test_a_log_of_ours_tells_the_same_when_it_is_read_by_its_spelling(
    items: list[dict[str, Any]], header: Header, cut: int
) -> None:
    data = own(*items, header=header)
    head, tail = ends(data[: len(data) - cut])
    seen, slow = glimpse(head, tail), _glimpse._any(head, tail)
    if _glimpse.glimpse_own(head, tail) is None:
        assert seen == slow
    else:
        assert seen._replace(text="", is_persons=True) == slow._replace(text="", is_persons=True)
        assert slow.text.startswith(seen.text)  # it looks at fewer bytes
        assert bool(seen.text) == bool(slow.text)
    if cut == 0 and header.parent is None and header.cwd is None and str(header.id).isascii():
        assert slow.id == header.id
        assert slow.started == header.timestamp


LATER: Final = Header(id="s", timestamp=datetime(1, 1, 2, tzinfo=UTC), harness="transcript-log")


@pytest.mark.parametrize(
    ("data", "quick"),
    [
        (own(), True),
        (own(user("hi")), True),
        (own({"role": "assistant", "content": "no"}), True),
        (own(user("x" * 9000)), True),
        (own(header=Header(id="s", timestamp=NOON, harness="transcript-log", cwd="/")), True),
        (own(header=LATER), False),
        (own(header=Header(id="s", timestamp=NOON, harness="other")), False),
        (own(header=Header(id="s", timestamp=NOON)), False),
        (own(header=Header(id="s", harness="transcript-log")), False),
        (own(header=Header(id='a"b', timestamp=NOON, harness="transcript-log")), False),
        (own(header=Header(id="é", timestamp=NOON, harness="transcript-log")), False),
        (
            own(header=Header(id="s", timestamp=NOON, harness="transcript-log", parent=ParentCall("p", "c"))),
            False,
        ),
        (own(user("hi"))[:-1], False),
        (own(user("hi")).replace(b'"hi"', b'"ho"'), False),
        (own(user("hi")).replace(b'"id":"s"', b'"id":"t"'), False),
    ],
)
def test_only_whole_logs_of_ours_are_read_by_their_spelling(data: bytes, quick: bool) -> None:
    head, tail = ends(data)
    assert (_glimpse.glimpse_own(head, tail) is not None) == quick
    assert glimpse(head, tail) == _glimpse._any(head, tail)._replace(text=glimpse(head, tail).text)


@given(st.binary(max_size=300), st.binary(max_size=60))
@example(b'{"type":"session","version":3,"id":"', b"\n")
@example(own()[:50], b"\n")
@example(b'{"role":"user","content":"\\u12', b"")
@example(b'{"role":"user","content":"\xff\\', b"")
def test_no_bytes_make_it_fail(head: bytes, tail: bytes) -> None:
    for before in (b"", own(), own(user("hi"))[:-30]):
        seen = glimpse(before + head, tail)
        assert len(seen.text) <= 80
        assert "\n" not in seen.text


@given(st.data())
def test_one_changed_byte_of_a_small_log_is_seen(data: st.DataObject) -> None:
    whole = own(user("hi"), user("ho"))
    first, last = whole.index(b"\n"), whole.rindex(b"\n", 0, -1)
    known = whole.index(b'"id"')  # before that it may look like another's
    at = data.draw(st.integers(known, first - 20) | st.integers(last + 1, len(whole) - 21))
    flipped = bytearray(whole)
    flipped[at] ^= data.draw(st.integers(1, 255))
    seen = glimpse(bytes(flipped), bytes(flipped))
    assert seen.problem


# --------------------------------------------------------------------- the first message


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (own(user("Fix\n  the   build")), "Fix the build"),
        (own({"role": "assistant", "content": "no"}, user("yes")), "yes"),
        (own(user("<environment_context>x</environment_context>"), user("mine")), "mine"),
        (own(user("# AGENTS.md instructions for /x\n…"), user([text_block("mine")])), "mine"),
        (
            own(user("<environment_context>only</environment_context>")),
            "<environment_context>only</environment_context>",
        ),
        (own(user("Caveat emptor")), "Caveat emptor"),
        (own(user("<b>bold</b> words")), "<b>bold</b> words"),
        (own(user("é" * 5000)), "é" * 40),  # by bytes
        (own(user("x", type="message"), user("y")), "x"),
        (own(), ""),
        (own({"role": "assistant", "content": "no"}), ""),
        (own({"content": "late role", "role": "user"}), "late role"),
    ],
)
def test_the_first_message_of_a_person_in_a_log_of_ours(data: bytes, text: str) -> None:
    assert glimpse(*ends(data)).text[: len(text) or None] == text


@pytest.mark.parametrize(
    ("records", "text"),
    [
        (
            [
                {"type": "user", "sessionId": "s", "isMeta": True, "message": user("Caveat: x")},
                {"type": "user", "message": user("mine")},
            ],
            "mine",
        ),
        (
            [
                {
                    "type": "user",
                    "sessionId": "s",
                    "message": user("<command-name>/clear</command-name>\n <command-args></command-args>"),
                },
                {"type": "user", "message": user("mine")},
            ],
            "mine",
        ),
        (
            [
                {
                    "type": "user",
                    "sessionId": "s",
                    "message": user(
                        [text_block("<system-reminder>\nx</system-reminder>"), text_block("mine")]
                    ),
                }
            ],
            "mine",
        ),
        ([{"type": "user", "sessionId": "s", "isSidechain": True, "message": user("the task")}], "the task"),
        (
            [
                {"type": "user", "sessionId": "s", "message": user("[Request interrupted by user]")},
                {"type": "user", "message": user([text_block("mine")])},
            ],
            "mine",
        ),
        (
            [
                {
                    "type": "user",
                    "sessionId": "s",
                    "message": user([{"type": "tool_result", "tool_use_id": "t", "content": "out"}]),
                }
            ],
            "",
        ),
        (
            [
                {
                    "type": "assistant",
                    "sessionId": "s",
                    "message": {"role": "assistant", "content": 'a "user"'},
                },
                {"type": "user", "message": 7, "text": "user"},
            ],
            "",
        ),
        (
            [
                {"type": "session_meta", "payload": {"id": "i"}},
                {
                    "type": "response_item",
                    "payload": user([{"type": "input_text", "text": "mine"}], type="message"),
                },
            ],
            "mine",
        ),
        ([{"id": "i", "timestamp": "t", "instructions": None}, user("mine", type="message")], "mine"),
        ([{"type": "session", "id": "i"}, {"type": "message", "message": user("mine")}], "mine"),
    ],
)
def test_the_first_message_of_a_person_in_other_sessions(records: list[Any], text: str) -> None:
    assert glimpse(*ends(lines(*records))).text == text


def test_what_an_editor_puts_before_a_persons_words_is_passed_over() -> None:
    said = "# Context from my IDE setup:\n\n## Open tabs:\n- a.md\n\n## My request for Codex:\nFix it"
    meta = {"type": "session_meta", "payload": {"id": "i"}}
    item = user([{"type": "input_text", "text": said}], type="message")
    seen = glimpse(*ends(lines(meta, {"type": "response_item", "payload": item})))
    assert (seen.text, seen.is_persons) == ("Fix it", True)
    assert glimpse(*ends(own(user(said)))).text == "Fix it"


def test_of_a_line_that_is_cut_its_beginning_is_told() -> None:
    record = {"type": "user", "sessionId": "s", "message": user("The first words " + "x" * 9000)}
    assert glimpse(lines(record)[:4096], b"").text.startswith("The first words xxx")
    long = {"type": "user", "sessionId": "s", "message": user("<system-reminder>" + "x" * 9000)}
    text, is_persons = first_text(lines(long)[:4096])
    assert text.startswith("<system-reminder>")
    assert not is_persons


# ------------------------------------------------------------------------ the other facts


def test_what_each_format_tells_of_itself() -> None:
    time = "2026-01-02T12:00:00Z"
    codex = {
        "timestamp": time,
        "type": "session_meta",
        "payload": {
            "id": "i",
            "timestamp": time,
            "source": {"subagent": {}},
            "base_instructions": "x" * 9000,
        },
    }
    assert glimpse(lines(codex)[:4096], b"\n") == Glimpse("codex", "i", NOON, "", "", True)
    document = json.dumps(
        {
            "session": {"id": "i", "timestamp": time, "instructions": ""},
            "items": [user([{"type": "input_text", "text": "hi"}], type="message")],
        },
        indent=2,
    ).encode()
    assert glimpse(document, document + b"\n") == Glimpse("codex", "i", NOON, "hi", is_persons=True)
    claude = [
        {"type": "summary", "leafUuid": "u", "summary": "t"},
        {"type": "user", "sessionId": "i", "timestamp": time, "isSidechain": True, "message": user("hi")},
    ]
    assert glimpse(*ends(lines(*claude))) == Glimpse("claude-code", "i", NOON, "hi", "", True, False)
    two = [{**claude[1], "sessionId": name, "timestamp": time} for name, time in (("a", None), ("b", time))]
    assert glimpse(*ends(lines(*two)))[1:3] == ("a", NOON)
    assert (
        glimpse(b'{"type":"session","version":4,"harness":"x"}\n', b"\n").problem
        == "its header cannot be read"
    )
    pi = [{"type": "session", "version": 3, "id": "i", "timestamp": time, "parentSession": "p"}]
    assert glimpse(*ends(lines(*pi))) == Glimpse("pi", "i", NOON)
    ours = own(
        user("hi"),
        header=Header(id="s", timestamp=NOON, harness="transcript-log", parent=ParentCall("p", "c")),
    )
    assert glimpse(*ends(ours)) == Glimpse("transcript-log", "s", NOON, "hi", "", True, True)
    assert glimpse(ours, b"") == Glimpse("transcript-log", "s", NOON, "hi", "", True, True)


@pytest.mark.parametrize("name", each(sorted(FACTS)))
def test_a_real_session_tells_who_wrote_it_and_what_a_person_said_first(name: str) -> None:
    data = (CORPUS / name).read_bytes()
    seen = glimpse(data[:57344], data[-4096:])
    assert seen.format == name.partition("/")[0]
    assert seen.id is not None or "no-header" in name
    assert seen.started is not None or "no-header" in name
    if FACTS[name]["user"] and "no-header" not in name:
        assert seen.text
    assert not seen.text.startswith(("<", "Caveat", "# AGENTS"))
