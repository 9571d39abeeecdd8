"""A session in SQLite. `pytest custom_store.py` holds the store to what every store promises."""

import sqlite3

from transcript_log import Session
from transcript_log.lines import LineStore
from transcript_log.testing import StoreContract


class SqliteStore(LineStore):
    def __init__(self, path):
        super().__init__(path)
        self.db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self.db.execute("CREATE TABLE IF NOT EXISTS line (kind TEXT, id TEXT, json BLOB)")

    def lines(self, kind):
        return self.db.execute("SELECT id, json FROM line WHERE kind = ? ORDER BY rowid", (kind,)).fetchall()

    def write(self, rows):
        self.db.executemany("INSERT INTO line VALUES (?, ?, ?)", rows)

    def alone(self):
        self.db.execute("BEGIN IMMEDIATE")
        return self.db  # at the end of its block a connection commits; on an error it rolls back

    def close(self):
        self.db.close()


class TestSqliteStore(StoreContract):
    def make_store(self):
        return SqliteStore(":memory:")


if __name__ == "__main__":
    with Session(SqliteStore("session.db")) as session:
        session.add({"role": "user", "content": "Is this in a database?"})
    with Session(SqliteStore("session.db")) as session:
        print(session.entries()[-1].message["content"], "It is.")
