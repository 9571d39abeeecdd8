"""A session of pi of any version becomes entries, and nothing of it is lost in silence."""

from __future__ import annotations

import pytest
from pi_sessions import NAMES, read, said, wanted

from transcript_log.context import build_context
from transcript_log.importers.pi import import_pi

# ----------------------------------------------------------------------- what pi would send


@pytest.mark.parametrize("name", NAMES)
def test_a_session_goes_on_as_pi_itself_would_go_on(name: str) -> None:
    imported = read(name)
    target, sent = wanted(name)
    context = build_context(imported.entries, target, details=imported.details_by_call)
    assert said(context.items, sent) == sent
