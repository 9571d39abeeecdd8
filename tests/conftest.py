"""No test looks into the places in which agents keep the sessions of whoever runs it."""

from __future__ import annotations

import os

for _variable in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "PI_CODING_AGENT_DIR"):
    os.environ[_variable] = os.path.join(os.sep, "no-such-folder")
os.environ.pop("PI_CODING_AGENT_SESSION_DIR", None)
