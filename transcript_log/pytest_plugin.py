"""For tests of agents with pytest: a recorded session that plays the model and the tools.

::

    @pytest.mark.recorded_session("fix-the-build.jsonl")
    def test_it_fixes_the_build(recorded_session):
        run_agent(model=recorded_session.model, tool=recorded_session.tool)

The test fails, with what is different, where the agent asks for something else than what is on record,
and where it asks less often or more often. ``recorded_session`` is a
:class:`transcript_log.recorded.RecordedSession`. A test without the marker costs nothing.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from .families import Target
    from .recorded import Normalize, RecordedSession

__all__ = ["normalize_recorded", "pytest_configure", "pytest_runtest_call", "recorded_session"]

_MARKER: Final = "recorded_session"
_HELP: Final = (
    "recorded_session(path, *, target=None, attachments=False): the session file that the fixture of this"
    " name plays, beside the test's own file; target is who is asked, as in 'openai-responses/gpt-5.4'"
)


def pytest_configure(config: pytest.Config) -> None:
    """Tell pytest of the marker."""
    config.addinivalue_line("markers", _HELP)


@pytest.fixture
def normalize_recorded() -> Normalize | None:
    """What is applied to every text of a request before it is compared: override it.

    As for temporary paths: ``return lambda text: text.replace(str(tmp_path), "TMP")``.
    """
    return None


@pytest.fixture
def recorded_session(request: pytest.FixtureRequest, normalize_recorded: Normalize | None) -> RecordedSession:
    """The session that the marker of this name names, to be played once."""
    from .cli.source import open_session  # noqa: PLC0415 - a test run without a marker loads nothing
    from .errors import TranscriptError  # noqa: PLC0415
    from .recorded import RecordedSession  # noqa: PLC0415

    marker = request.node.get_closest_marker(_MARKER)
    if marker is None:
        pytest.fail(
            f"mark the test with @pytest.mark.{_MARKER}(path): which session is to be played?", pytrace=False
        )
    path, target, attachments = _arguments(*marker.args, **marker.kwargs)
    found = str(Path(request.node.path).parent / path)
    try:
        session = open_session(found)
        return RecordedSession(
            session.entries,
            session.details,
            target=_target(target) if isinstance(target, str) else target,
            normalize=normalize_recorded,
            attachments=attachments,
        )
    except (TranscriptError, OSError) as error:
        pytest.fail(f"{found}: {error}", pytrace=False)


def _arguments(
    path: str | os.PathLike[str], *, target: Target | str | None = None, attachments: bool = False
) -> tuple[str | os.PathLike[str], Target | str | None, bool]:
    """The arguments of the marker."""
    return path, target, attachments


def _target(named: str) -> Target:
    from .errors import TargetError  # noqa: PLC0415
    from .families import Target  # noqa: PLC0415

    api, slash, model = named.partition("/")  # a model's name may hold more of them
    if not slash:
        raise TargetError(named, "a target is API/MODEL, as in openai-chat/gpt-5")
    return Target(api, model)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Fail a test whose agent did not do what is on record, also where it went on all the same."""
    session = getattr(item, "funcargs", {}).get(_MARKER)
    if session is None:
        return (yield)
    from .recorded import RecordedSession  # noqa: PLC0415

    if not isinstance(session, RecordedSession):  # a fixture of somebody else's
        return (yield)
    try:
        result = yield
    except BaseException as error:
        if session.model.failure is not None and error is not session.model.failure:
            item.add_report_section("call", "recorded session", str(session.model.failure))
        raise
    from .errors import TranscriptError  # noqa: PLC0415

    try:
        session.check()
    except TranscriptError as error:
        pytest.fail(str(error), pytrace=False)
    return result
