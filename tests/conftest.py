"""What holds for every test.

None looks into the places in which agents keep the sessions of whoever runs it. A law is tried
on the same examples each time, so that a run can be repeated; ``TRANSCRIPT_LOG_SEARCH=2500``
tries so many new ones.
"""

from __future__ import annotations

import os

from hypothesis import settings

for _variable in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "PI_CODING_AGENT_DIR"):
    os.environ[_variable] = os.path.join(os.sep, "no-such-folder")
os.environ.pop("PI_CODING_AGENT_SESSION_DIR", None)

# A machine that does other things besides is no reason for a test to fail.
_SEARCH = int(os.environ.get("TRANSCRIPT_LOG_SEARCH", "0"))
settings.register_profile("tests", deadline=None, derandomize=not _SEARCH, max_examples=_SEARCH or 100)
settings.load_profile("tests")
