"""The driver of PostgreSQL; without it the test modules that import this are skipped, and fail in CI."""

from __future__ import annotations

from extras import needed

needed("psycopg", "postgres")
needed("psycopg_pool", "postgres")
import psycopg  # noqa: E402
from psycopg.rows import dict_row  # noqa: E402
from psycopg_pool import ConnectionPool  # noqa: E402

__all__ = ["ConnectionPool", "dict_row", "psycopg"]
