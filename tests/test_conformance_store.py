"""Whole files against what the reference store did with the same bytes.

A case without a quirk has to match: errors by their class, the line they name counted as the
reference counts, written files line by line as JSON values. Our own marks, checksums and
further header keys are read past by the reference. Where a case has a quirk, the tables say
what is done here instead; for cases of the same kind that no table knows, ``by_the_book`` does.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, cast

import pytest
from conformance import Case, assemble, params, same_json, same_line, sessions

from transcript_log import CorruptLogError, Detail, Entry, EntryError, JsonlStore, MessageEntry, Run, RunEntry
from transcript_log.boundary import kept_items, messages
from transcript_log.codec import decode_entry, encode_entry
from transcript_log.errors import BoundaryError, HeaderError

_NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
_SPACE = b" \t\r\n"

Outcome = dict[str, Any]
"""What became of a call, as the vectors spell it."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s.jsonl"


def quick(path: Path) -> JsonlStore:
    return JsonlStore(path, durability="os", checksum=True)


def put(path: Path, parts: Any) -> bytes | None:
    """Make the file that a vector begins with."""
    data = assemble(parts)
    if data is not None:
        path.write_bytes(data)
    return data


def outcome(call: Callable[[], Any], path: Path, *, blank_lines_count: bool = False) -> Outcome:
    """``{"ok": True}``, or the error by its class, and the line as the reference counts it."""
    try:
        call()
    except EntryError:
        return {"class": "invalid-entry"}
    except HeaderError as error:
        return {"class": error.kind}
    except CorruptLogError as error:
        if error.kind == "duplicate-id":
            return {"class": "duplicate-id"}
        lines = path.read_bytes().split(b"\n")[: error.line]
        line = error.line if blank_lines_count else sum(bool(line.strip(_SPACE)) for line in lines)
        if "over 67108864 bytes" in error.reason:
            return {"class": "line-too-long"}
        return {"class": "line", "line": line, "line_class": cast(EntryError, error.__cause__).kind}
    return {"ok": True}


def wanted(expect: Outcome) -> Outcome:
    """What the reference did, without its words."""
    if expect.get("ok"):
        return {"ok": True}
    return {key: value for key, value in expect.items() if key != "error"}


def loaded(path: Path) -> Outcome:
    """What a load does: the ids, or the error."""
    found: list[Entry] = []
    result = outcome(lambda: found.extend(quick(path).load()), path)
    return {**result, "entries": [entry.id for entry in found]} if result.get("ok") else result


def as_values(data: bytes) -> list[Any]:
    """The lines of a file as JSON values, without what is ours alone."""
    lines = [json.loads(line) for line in data.split(b"\n") if line.strip(_SPACE)]
    for line in lines:
        line.pop("crc", None)
    if lines and lines[0].get("type") == "session":
        lines[0] = {key: lines[0][key] for key in ("type", "version")}
    return lines


def same_file(data: bytes, expect: str) -> bool:
    ours, theirs = as_values(data), as_values(expect.encode())
    return len(ours) == len(theirs) and all(map(same_line, ours, theirs))


# -------------------------------------------------------------------------------- by the book


def _strict_json(text: bytes) -> Any:
    def refuse(word: str) -> None:
        raise ValueError(word)

    return json.loads(text.decode("utf-8"), parse_constant=refuse)


def _header_class(text: bytes) -> str | None:
    """The class of error that a header line is, by what the format says; None for a good one."""
    try:
        value = _strict_json(text)
    except (ValueError, RecursionError):
        return "header-json"
    if not isinstance(value, dict):
        return "header-json"
    kind, version = value.get("type"), value.get("version")
    whole = version is None or (type(version) is int and -(2**63) <= version < 2**63)
    if not whole or not isinstance(kind, str | None):
        return "header-json"
    return "header-type" if kind != "session" else None if version == 3 else "header-version"


def by_the_book(data: bytes) -> Outcome:
    """What a load does here, by what the format says, each line read by the codec for itself.

    JSON white space is trimmed, a byte order mark read past, and a last line that a crash has
    cut left out; an id stands once.
    """
    lines = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    texts = [text for line in lines if (text := line.strip(_SPACE))]
    unfinished = len(texts) if lines[-1].strip(_SPACE) else 0
    if not texts:
        return {"ok": True, "entries": []}
    if (broken := _header_class(texts[0])) is not None:
        begun = b'{"type":"session","version":3'
        torn = texts[0].startswith(begun) or begun.startswith(texts[0])
        return {"ok": True, "entries": []} if torn and unfinished == 1 else {"class": broken}
    ids: list[str] = []
    for number, text in enumerate(texts[1:], 2):
        try:
            ids.append(decode_entry(text).id)
        except EntryError as error:
            if number != unfinished:
                return {"class": "line", "line": number, "line_class": error.kind}
    return {"ok": True, "entries": ids} if len(set(ids)) == len(ids) else {"class": "duplicate-id"}


# ----------------------------------------------------------------------------------- load

_LOADS: Final[dict[str, Outcome]] = {
    # JSON white space alone is trimmed.
    "unicode-blank-lines": {"class": "line", "line": 2, "line_class": "json"},
    "vertical-tab-form-feed-around": {"class": "header-json"},
    # A byte order mark is understood.
    "bom": {"ok": True, "entries": ["a"]},
    # Null is no object.
    "header-null": {"class": "header-json"},
    "null-line": {"class": "line", "line": 2, "line_class": "json"},
    # A version is an integer.
    "header-version-float": {"class": "header-json"},
    "header-version-exponent": {"class": "header-json"},
    # Keys are known by their exact spelling; of one that stands twice the last counts.
    "header-key-case": {"class": "header-type"},
    "header-duplicate-version-last-bad": {"class": "header-version"},
    # What a crash has cut is left out.
    "trailing-partial-header": {"ok": True, "entries": []},
    "trailing-partial-multibyte": {"ok": True, "entries": []},
    # An entry of a type that is not known is kept.
    "invalid-type": {"ok": True, "entries": ["a", "b"]},
    # Lines may be four times as long.
    "line-16MiB-exact": {"ok": True, "entries": ["big", "a"]},
    "line-16MiB-exact-with-cr": {"ok": True, "entries": ["big"]},
    "line-16MiB-plus-1": {"ok": True, "entries": ["big", "a"]},
    "line-16MiB-plus-1-with-cr": {"ok": True, "entries": ["big"]},
    "blank-line-over-16MiB": {"ok": True, "entries": ["a"]},
    "multibyte-line-counted-in-bytes": {"ok": True, "entries": ["big"]},
    "bad-entry-before-long-line": {"class": "line", "line": 2, "line_class": "json"},
}
"""What a load does here with the cases that have a quirk."""


@pytest.mark.parametrize("case", params("session_load", quirks=False))
def test_a_file_is_loaded_as_the_reference_loads_it(case: Case, path: Path) -> None:
    data = put(path, case.input["file"]) or b""
    found = loaded(path)
    assert found == by_the_book(data)
    if case.expect.get("ok"):
        assert found == {"ok": True, "entries": case.expect["entries"]}
        assert [entry.id for entry in quick(path).read()] == case.expect["entries"]
    else:
        assert found == wanted(case.expect)


@pytest.mark.parametrize("case", params("session_load", quirks=True))
def test_a_file_with_a_quirk_is_loaded_as_the_table_says(case: Case, path: Path) -> None:
    data = put(path, case.input["file"]) or b""
    found = loaded(path)
    assert found == by_the_book(data)
    assert found == _LOADS.get(case.name, found)


# --------------------------------------------------------------------------------- append


def _built(name: str) -> Entry | None:
    """An entry that no line can express; None if no value of Python's can either."""
    match name:
        case "zero":
            return MessageEntry(id="", timestamp=None, message={})
        case "no-message":
            return MessageEntry(id="e1", timestamp=_NOON, message=cast(Any, None))
        case "custom-message":
            return MessageEntry(id="e1", timestamp=_NOON, message=cast(Any, object()))
        case "run-backwards":
            earlier = _NOON - timedelta(microseconds=1)
            return RunEntry(id="e1", timestamp=_NOON, run=Run(started_at=_NOON, completed_at=earlier))
        case "nan-argument":
            call = {"type": "toolCall", "id": "c", "name": "n", "arguments": {"x": float("nan")}}
            return MessageEntry(id="e1", timestamp=_NOON, message={"role": "assistant", "content": [call]})
        case "year-10000":
            with pytest.raises(ValueError, match="year"):
                datetime(10000, 1, 1, tzinfo=UTC)
            return None
    raise ValueError(name)


def _batches(case: Case) -> list[list[Entry]] | None:
    batches = []
    for batch in case.input["batches"]:
        entries = [
            decode_entry(given["line"].encode()) if "line" in given else _built(given["build"])
            for given in batch
        ]
        if None in entries:
            return None
        batches.append(cast(list[Entry], entries))
    return batches


def _append_all(case: Case, path: Path, *, read: bool = False) -> list[Outcome]:
    batches = _batches(case)
    assert batches is not None
    store = quick(path)
    steps = []
    for batch in batches:
        store = store if case.input["same_store"] else quick(path)
        if read:  # the ids that a store looks among are those it has read or written
            store.load()
        steps.append(outcome(lambda store=store, batch=batch: store.append(*batch), path))  # type: ignore[misc]
    return steps


@pytest.mark.parametrize("case", params("session_append", quirks=False))
def test_entries_are_appended_as_the_reference_appends_them(case: Case, path: Path) -> None:
    before = put(path, case.input["file"])
    if _batches(case) is None:
        assert case.expect["file"] is None
        return
    assert _append_all(case, path) == [wanted(step) for step in case.expect["steps"]]
    if case.expect["file"] is None:
        assert not path.exists()
    elif all(step.get("ok") for step in case.expect["steps"]):
        assert same_file(path.read_bytes(), case.expect["file"])
    else:
        assert path.read_bytes() == before == case.expect["file"].encode()
    reload = case.expect["reload"]
    found = loaded(path)
    assert found == ({"ok": True, "entries": reload["entries"]} if reload.get("ok") else wanted(reload))


_APPENDS: Final[dict[str, list[str]]] = {
    # The header, and a last line without a line feed, are ended first; a blank file gets a header.
    "header-only-unterminated": ["a"],
    "last-line-unterminated": ["a", "b"],
    "last-line-unterminated-same-store": ["a", "b", "c"],
    "blank-file": ["a"],
    # What a crash has cut is moved aside.
    "trailing-partial": ["b"],
    # The same entry again is not written again.
    "duplicate-of-existing": ["a"],
    "duplicate-in-one-batch": ["a"],
    "duplicate-across-batches-same-store": ["a", "b"],
}
"""What a log holds after the appends that have a quirk. None of them is refused."""


@pytest.mark.parametrize("case", params("session_append", quirks=True))
def test_appends_with_a_quirk_do_what_the_table_says(case: Case, path: Path) -> None:
    before = put(path, case.input["file"]) or b""
    given = [entry.id for batch in _batches(case) or () for entry in batch]
    ids = list(dict.fromkeys([*by_the_book(before)["entries"], *given]))
    steps = _append_all(case, path, read=case.quirk == "append-duplicate-accepted")
    assert steps == [{"ok": True}] * len(case.input["batches"])
    assert loaded(path) == {"ok": True, "entries": ids}
    assert ids == _APPENDS.get(case.name, ids)
    if case.quirk == "torn-tail":
        cut = before.rfind(b"\n") + 1
        assert path.read_bytes().startswith(before[:cut])
        assert Path(f"{path}.corrupt").read_bytes().endswith(before[cut:] + b"\n")
    else:
        assert path.read_bytes().startswith(before)


# -------------------------------------------------------------------------------- details


def _details(path: Path) -> tuple[Outcome, dict[str, Any]]:
    found: dict[str, Any] = {}
    store = quick(path)
    sidecar = Path(store.details_path)
    result = outcome(
        lambda: found.update({name: value for (name, _), value in store.details().items()}),
        sidecar,
        blank_lines_count=True,
    )
    result.pop("line_class", None)
    return result, found


def _payloads(expect: Outcome) -> dict[str, Any]:
    texts = expect.get("payload_texts", {})
    return {name: None if text is None else json.loads(text) for name, text in texts.items()}


def _details_by_the_book(data: bytes) -> tuple[Outcome, dict[str, Any]]:
    """What is read of a sidecar: every line for itself, but for a last one that a crash has cut."""
    lines = data.split(b"\n")
    found: dict[str, Any] = {}
    for number, line in enumerate(lines, 1):
        try:
            value = _strict_json(line) if line.strip(_SPACE) else None
            value = {} if value is None else value
            if not isinstance(value, dict) or not isinstance(value.get("id"), str | None):
                raise ValueError("no record")
        except ValueError:
            if number == len(lines):
                break
            return {"class": "line", "line": number}, {}
        if value.get("id"):
            found[value["id"]] = value.get("payload")
    return {"ok": True}, found


_DETAILS: Final[dict[str, tuple[Outcome, Any]]] = {
    "trailing-partial": ({"ok": True}, {"c1": 1}),
    "key-case": ({"ok": True}, {}),
    "invalid-utf8-payload": ({"class": "line", "line": 1}, {}),
    "line-at-16MiB": ({"ok": True}, {"c1": "x" * 16777192}),
}
"""What is read here of the sidecars that have a quirk."""


@pytest.mark.parametrize("case", params("details_load", quirks=False))
def test_a_sidecar_is_read_as_the_reference_reads_it(case: Case, path: Path) -> None:
    data = put(Path(quick(path).details_path), case.input["file"]) or b""
    found, payloads = _details(path)
    assert (found, payloads) == _details_by_the_book(data)
    assert found == wanted({key: value for key, value in case.expect.items() if key != "payload_texts"})
    assert same_json(payloads, _payloads(case.expect))


@pytest.mark.parametrize("case", params("details_load", quirks=True))
def test_a_sidecar_with_a_quirk_is_read_as_the_table_says(case: Case, path: Path) -> None:
    data = put(Path(quick(path).details_path), case.input["file"]) or b""
    found = _details(path)
    assert found == _details_by_the_book(data)
    assert found == _DETAILS.get(case.name, found)


def _put_all(case: Case, path: Path) -> list[Outcome]:
    store = quick(path)
    steps: list[Outcome] = []
    for given in case.input["puts"]:
        try:
            payload = None if given["payload"] is None else json.loads(given["payload"])
        except ValueError:
            # A payload is a value here: there is none that stands for this text.
            steps.append({"class": "invalid-payload"})
            continue
        detail = Detail(id=given["id"], payload=payload)
        steps.append(outcome(lambda detail=detail: store.append(details=[detail]), path))  # type: ignore[misc]
    return steps


@pytest.mark.parametrize("case", params("details_put", quirks=False))
def test_details_are_put_as_the_reference_puts_them(case: Case, path: Path) -> None:
    sidecar = Path(quick(path).details_path)
    put(sidecar, case.input["file"])
    assert _put_all(case, path) == [wanted(step) for step in case.expect["steps"]]
    if case.expect["file"] is None:
        assert not sidecar.exists()
    else:
        ours, theirs = as_values(sidecar.read_bytes()), as_values(case.expect["file"].encode())
        assert same_json(ours, theirs)
    assert not path.exists()
    found, payloads = _details(path)
    assert found == wanted({"ok": case.expect["reload"]["ok"]})
    assert same_json(payloads, _payloads(case.expect["reload"]))


@pytest.mark.parametrize("case", params("details_put", quirks=True))
def test_details_with_a_quirk_are_put_behind_whatever_is_there(case: Case, path: Path) -> None:
    sidecar = Path(quick(path).details_path)
    before = put(sidecar, case.input["file"]) or b""
    assert _put_all(case, path) == [{"ok": True}] * len(case.input["puts"])
    assert sidecar.read_bytes().startswith(before)
    new = [(given["id"], given["payload"]) for given in case.input["puts"] if given["id"]]
    payloads = {name: None if text is None else json.loads(text) for name, text in new}
    there, known = _details_by_the_book(before)
    # A last line without a line feed is ended first. A line that cannot be read is told when it is
    # read, and stands in nobody's way.
    assert _details(path) == (there, {**known, **payloads} if there == {"ok": True} else {})
    quick(path).create()
    assert quick(path).scan().details == {
        (name, None): value for name, value in {**known, **payloads}.items()
    }


# ------------------------------------------------------------------------- whole sessions


@pytest.mark.parametrize("session", sessions())
def test_a_session_of_the_reference_is_loaded_whole_and_can_be_added_to(session: Path, path: Path) -> None:
    expect = json.loads(session.with_suffix(".expect.json").read_bytes())
    data = session.read_bytes()
    path.write_bytes(data)
    beside = session.with_suffix(".details.jsonl")
    store = quick(path)
    if beside.exists():
        Path(store.details_path).write_bytes(beside.read_bytes())

    entries = store.load()
    assert [entry.id for entry in entries] == [entry["id"] for entry in expect["entries"]]
    assert list(store.read()) == entries
    scan = store.scan()
    assert list(scan.entries) == entries
    assert scan.findings == ()
    assert scan.unsealed == len(entries)
    assert same_json(messages(entries), expect["messages"])
    for kept in (entries, store.active()):
        if "context_error" in expect:
            with pytest.raises(BoundaryError) as caught:
                kept_items(kept)
            assert caught.value.kind == expect["context_error"]["class"]
        else:
            assert same_json(kept_items(kept), expect["context"])
    details = {name: payload for (name, _), payload in store.details().items()}
    assert same_json(details, expect.get("details", {}))

    last = entries[-1].id if entries else ""
    new = MessageEntry(id="new", timestamp=_NOON, message={"role": "user", "content": "hi"})
    assert store.append(new, after=last, details=[Detail(id="new", payload=1)]) == "new"
    assert path.read_bytes().startswith(data)
    assert quick(path).load() == [*entries, new]
    assert quick(path).details() == {**store.details(), ("new", None): 1}
    assert not store.salvage()[0].is_needed


@pytest.mark.parametrize("session", sessions())
def test_what_is_written_of_a_session_of_the_reference_is_the_same_session(session: Path, path: Path) -> None:
    theirs = JsonlStore(session).load()
    try:
        bodies = [encode_entry(entry) for entry in theirs]
    except EntryError:
        bodies = []
    if bodies:
        quick(path).append(*theirs)
        assert quick(path).load() == theirs
