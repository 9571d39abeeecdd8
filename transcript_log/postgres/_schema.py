"""The tables, as numbered migrations. A step that was released is never changed; another follows it.

Everything stands in one schema of the database. What a step did is done once and whole:
the steps that are missing run in one transaction, under a lock of their own.
"""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Any, Final

from ..errors import StorageError
from ._connections import read_committed
from ._driver import psycopg

__all__ = [
    "CHANNEL",
    "LATEST",
    "MIGRATIONS",
    "SCHEMA",
    "check_schema",
    "check_version",
    "migrate",
    "version_of",
]

SCHEMA: Final = "transcript_log"
"""The schema that is used where none is named."""

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")

_TABLES: Final = """
CREATE TABLE {schema}.sessions (
    key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text NOT NULL UNIQUE,
    header text,
    last_seq bigint NOT NULL DEFAULT 0,
    last_id text NOT NULL DEFAULT '',
    details_seq bigint NOT NULL DEFAULT 0,
    size bigint NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    changed_at timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (fillfactor = 50);
COMMENT ON TABLE {schema}.sessions IS 'one row per session: its first line, and where its log ends';

-- No foreign keys: they take a third of the time of an append, and whoever adds or deletes
-- has the session's lock.
CREATE TABLE {schema}.entries (
    session bigint NOT NULL,
    seq bigint NOT NULL,
    batch bigint NOT NULL,
    id text NOT NULL,
    type text NOT NULL,
    boundary smallint,
    kept text,
    line text NOT NULL,
    PRIMARY KEY (session, seq),
    UNIQUE (session, id)
);
COMMENT ON TABLE {schema}.entries IS 'one row per entry: the line as it stands in a file';
CREATE INDEX entries_boundaries ON {schema}.entries (session, seq) WHERE boundary IS NOT NULL;

CREATE TABLE {schema}.details (
    session bigint NOT NULL,
    seq bigint NOT NULL,
    call text NOT NULL,
    entry text,
    line text NOT NULL,
    PRIMARY KEY (session, seq)
);
COMMENT ON TABLE {schema}.details IS 'one row per record of a sidecar';

DO $$
BEGIN
    -- A line of a few KB stays in its row, packed at little cost, where the server can do that.
    EXECUTE 'ALTER TABLE {schema}.entries ALTER COLUMN line SET COMPRESSION lz4';
    EXECUTE 'ALTER TABLE {schema}.details ALTER COLUMN line SET COMPRESSION lz4';
EXCEPTION WHEN syntax_error OR feature_not_supported OR invalid_parameter_value THEN
    NULL;
END $$;
"""

_APPEND: Final = """
CREATE FUNCTION {schema}.append_batch(
    p_session text, p_lock bigint, p_listen bigint, p_wait integer,
    p_header bytea, p_look boolean, p_after text, p_size bigint,
    p_ids text[], p_types text[], p_boundaries smallint[], p_kept text[], p_lines bytea[],
    p_calls text[], p_owners text[], p_records bytea[],
    OUT status text, OUT head text, OUT ids text[], OUT lines bytea[])
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    v_key bigint;
    v_last bigint := 0;
    v_details bigint := 0;
    v_count integer := coalesce(array_length(p_ids, 1), 0);
    v_records integer := coalesce(array_length(p_records, 1), 0);
BEGIN
    -- A backend that holds the lease gets its own lock once more.
    IF NOT pg_try_advisory_xact_lock(p_lock) THEN
        IF p_wait <= 0 THEN
            status := 'busy';
            RETURN;
        END IF;
        BEGIN
            PERFORM set_config('lock_timeout', p_wait::text, true);
            PERFORM pg_advisory_xact_lock(p_lock);
        EXCEPTION WHEN lock_not_available THEN
            status := 'busy';
            RETURN;
        END;
    END IF;
    head := '';
    -- Each statement from here on sees what was committed before the lock was had.
    SELECT s.key, s.last_seq, s.last_id, s.details_seq INTO v_key, v_last, head, v_details
        FROM {schema}.sessions s WHERE s.id = p_session;
    IF v_key IS NULL THEN
        v_last := 0;
        v_details := 0;
        head := '';
    END IF;
    IF p_look OR p_after <> head THEN
        -- What is there already need not follow anything.
        SELECT array_agg(e.id), array_agg(convert_to(e.line, 'UTF8')) INTO ids, lines
            FROM {schema}.entries e WHERE e.session = v_key AND e.id = ANY (p_ids);
        IF ids IS NOT NULL THEN
            status := 'there';
            RETURN;
        END IF;
    END IF;
    IF p_after <> head THEN
        status := 'conflict';
        RETURN;
    END IF;
    IF v_key IS NULL THEN
        INSERT INTO {schema}.sessions (id) VALUES (p_session) RETURNING key INTO v_key;
    END IF;
    IF v_records > 0 THEN
        INSERT INTO {schema}.details (session, seq, call, entry, line)
            SELECT v_key, v_details + r.n, r.call, r.owner, convert_from(r.line, 'UTF8')
            FROM unnest(p_calls, p_owners, p_records) WITH ORDINALITY AS r(call, owner, line, n);
    END IF;
    IF v_count = 1 THEN
        INSERT INTO {schema}.entries (session, seq, batch, id, type, boundary, kept, line)
            VALUES (v_key, v_last + 1, v_last + 1, p_ids[1], p_types[1], p_boundaries[1], p_kept[1],
                convert_from(p_lines[1], 'UTF8'));
    ELSIF v_count > 1 THEN
        INSERT INTO {schema}.entries (session, seq, batch, id, type, boundary, kept, line)
            SELECT v_key, v_last + r.n, v_last + 1, r.id, r.type, r.boundary, r.kept,
                convert_from(r.line, 'UTF8')
            FROM unnest(p_ids, p_types, p_boundaries, p_kept, p_lines)
                WITH ORDINALITY AS r(id, type, boundary, kept, line, n);
    END IF;
    IF v_count > 0 THEN
        head := p_ids[v_count];
    END IF;
    UPDATE {schema}.sessions s SET
            header = CASE WHEN s.header IS NULL AND v_count > 0
                THEN convert_from(p_header, 'UTF8') ELSE s.header END,
            last_seq = v_last + v_count, last_id = head, details_seq = v_details + v_records,
            size = s.size + p_size
                + CASE WHEN s.header IS NULL AND v_count > 0 THEN length(p_header) + 1 ELSE 0 END,
            changed_at = clock_timestamp()
        WHERE s.key = v_key AND s.last_seq = v_last AND s.details_seq = v_details;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the session was changed by somebody who took no lock'
            USING ERRCODE = 'serialization_failure';
    END IF;
    -- Telling makes all who tell wait for each other, in the whole database: only where one listens.
    IF NOT pg_try_advisory_xact_lock(p_listen) THEN
        PERFORM pg_notify('{channel}' || to_hex(p_lock), '');
    END IF;
    -- What is acknowledged is on the server's disk, whatever the role's setting.
    IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    status := 'written';
END $$;
"""

MIGRATIONS: Final = (_TABLES, _APPEND)
"""The steps, the first of which makes version 1."""

LATEST: Final = len(MIGRATIONS)
"""The version of the schema that this package works with."""

CHANNEL: Final = "transcript_log_"
"""How the channels begin on which batches are told."""


def check_schema(name: str) -> str:
    """The name of a schema, if it needs no quoting beyond its case.

    Raises:
        ValueError: It is another.
    """
    if _NAME.fullmatch(name) is None:
        raise ValueError(f"{name!r} is no schema name: use letters, digits and _, not beginning with a digit")
    return name


def version_of(cursor: psycopg.Cursor[Any], schema: str) -> int | None:
    """The version of the schema in the database; None if it is not there."""
    cursor.execute("SELECT to_regclass(%s)::text", (f'"{schema}".migrations',))
    row = cursor.fetchone()
    if row is None or row[0] is None:
        return None
    cursor.execute(f'SELECT coalesce(max(version), 0) FROM "{schema}".migrations'.encode())  # noqa: S608
    row = cursor.fetchone()
    return 0 if row is None else int(row[0])


def migrate(
    connection: psycopg.Connection[Any], cursor: psycopg.Cursor[Any], schema: str, path: str
) -> tuple[int | None, int]:
    """Bring the schema to the newest version, if it is older or not there.

    Returns:
        The version before, None for none, and the one now.

    Raises:
        StorageError: It is of a newer version, or the database is not in UTF-8.
    """
    name = f'"{schema}"'
    lock = int.from_bytes(sha256(f"{schema} migrations".encode()).digest()[:8], signed=True)
    with read_committed(connection):
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", (lock,))
        cursor.execute("SELECT current_setting('server_encoding')")
        row = cursor.fetchone()
        if row is None or row[0] != "UTF8":
            reason = f"the database is in {row and row[0]}, and a log in UTF-8"
            raise StorageError(path, "make the tables", reason, None, "make a database with ENCODING 'UTF8'")
        before = version_of(cursor, schema)
        check_version(before, path)
        if before is None:
            cursor.execute(f"CREATE SCHEMA IF NOT EXISTS {name}".encode())
            cursor.execute(
                f"CREATE TABLE {name}.migrations (version integer PRIMARY KEY,"
                " applied_at timestamptz NOT NULL DEFAULT clock_timestamp())".encode()
            )
        for version in range((before or 0) + 1, LATEST + 1):
            step = MIGRATIONS[version - 1].replace("{schema}", name).replace("{channel}", CHANNEL)
            cursor.execute(step.encode())
            done = f"INSERT INTO {name}.migrations (version) VALUES (%s)"  # noqa: S608 - a checked name
            cursor.execute(done.encode(), (version,))
    return before, LATEST


def check_version(found: int | None, path: str) -> None:
    """Raise for a schema that a newer version of this package made."""
    if found is not None and found > LATEST:
        reason = f"its tables are of version {found}, and only versions up to {LATEST} are understood"
        raise StorageError(
            path, "use the database", reason, None, "use the newer transcript-log that made it"
        )
