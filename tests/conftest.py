"""What holds for every test.

None looks into the places in which agents keep the sessions of whoever runs it. A law is tried
on the same examples each time, so that a run can be repeated; ``TRANSCRIPT_LOG_SEARCH=2500``
tries so many new ones.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator

import pytest
from hypothesis import settings
from postgres_server import Server, binaries

for _variable in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "PI_CODING_AGENT_DIR"):
    os.environ[_variable] = os.path.join(os.sep, "no-such-folder")
os.environ.pop("PI_CODING_AGENT_SESSION_DIR", None)

# A machine that does other things besides is no reason for a test to fail.
_SEARCH = int(os.environ.get("TRANSCRIPT_LOG_SEARCH", "0"))
settings.register_profile("tests", deadline=None, derandomize=not _SEARCH, max_examples=_SEARCH or 100)
settings.load_profile("tests")


@pytest.fixture(scope="session")
def postgres_programs() -> str:
    """The folder of the server's programs, where they are installed; with ``CI`` set they have to be."""
    programs = binaries()
    if programs is None:
        reason = "no PostgreSQL server is installed: apt-get install postgresql"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    return programs


@pytest.fixture(scope="session")
def postgres_server(postgres_programs: str) -> Iterator[Server]:
    """A server for the whole run."""
    server = Server(postgres_programs)
    yield server
    server.end()


@pytest.fixture
def own_server(postgres_programs: str) -> Iterator[Server]:
    """A server that a test may stop."""
    server = Server(postgres_programs)
    yield server
    server.end()


@pytest.fixture
def postgres(postgres_server: Server) -> Iterator[str]:
    """The URL of an empty database of a test's own."""
    import psycopg

    name = f"t{uuid.uuid4().hex[:12]}"
    with psycopg.connect(postgres_server.url(), autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name}".encode())
    yield postgres_server.url(name)
    with psycopg.connect(postgres_server.url(), autocommit=True) as admin:
        admin.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())
