"""Sessions in PostgreSQL: what agents on many hosts share.

It takes the extra ``postgres`` (psycopg 3); nothing else of this package loads it. One row
holds one entry, as the line that a file would have; ``docs/scaling.md`` says when a database
is worth it, and how it is run.
"""

from ._driver import NoPostgresError
from .managing import Kept, Pruned, PrunePlan, apply_prune, list_sessions, migrate_schema, plan_prune
from .store import PostgresStore

__all__ = [
    "Kept",
    "NoPostgresError",
    "PostgresStore",
    "PrunePlan",
    "Pruned",
    "apply_prune",
    "list_sessions",
    "migrate_schema",
    "plan_prune",
]
