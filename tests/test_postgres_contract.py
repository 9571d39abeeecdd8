"""The store in a database keeps what every store promises, whatever it was made of."""

from __future__ import annotations

import pytest
from postgres_driver import ConnectionPool, dict_row, psycopg

from transcript_log import Store
from transcript_log.postgres import PostgresStore
from transcript_log.store import FollowableStore, LeasableStore, ScannableStore, VersionedStore
from transcript_log.testing import StoreContract


class TestPostgresStore(StoreContract):
    checksum = True

    @pytest.fixture(autouse=True)
    def _database(self, postgres: str) -> None:
        self._where = postgres

    def make_store(self) -> Store:
        return PostgresStore(self._where, "s", checksum=self.checksum)

    def reopen(self, store: Store) -> Store:
        assert isinstance(store, PostgresStore)
        store.close()
        return PostgresStore(self._where, "s")

    def test_the_store_can_be_leased_followed_scanned_and_told_apart(self) -> None:
        store = self.make_store()
        assert isinstance(store, LeasableStore)
        assert isinstance(store, FollowableStore)
        assert isinstance(store, ScannableStore)
        assert isinstance(store, VersionedStore)


class TestPostgresStoreWithoutChecksums(TestPostgresStore):
    checksum = False


class TestPostgresStoreOnALentConnection(TestPostgresStore):
    @pytest.fixture(autouse=True)
    def _database(self, postgres: str):  # type: ignore[no-untyped-def, override]
        # Rows as somebody else wants them, and no autocommit: neither is the store's to change.
        with psycopg.connect(postgres, row_factory=dict_row) as connection:
            self._where = connection  # type: ignore[assignment]
            yield
            assert not connection.autocommit
            assert connection.row_factory is dict_row
            assert connection.info.transaction_status == 0


class TestPostgresStoreOnAPool(TestPostgresStore):
    @pytest.fixture(autouse=True)
    def _database(self, postgres: str):  # type: ignore[no-untyped-def, override]
        with ConnectionPool(postgres, min_size=1, max_size=3, timeout=5, open=True) as pool:
            self._where = pool  # type: ignore[assignment]
            yield
            assert not pool.closed
