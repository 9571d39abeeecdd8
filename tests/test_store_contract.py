"""Every store that comes with the package passes the contract that is shipped for others."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import pytest

from transcript_log import JsonlStore, Store
from transcript_log.memory import MemoryStore
from transcript_log.store import FollowableStore, LeasableStore, ScannableStore
from transcript_log.testing import StoreContract


class _JsonlContract(StoreContract):
    options: ClassVar[dict[str, Any]] = {}

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self._path = tmp_path / "log.jsonl"

    def make_store(self) -> Store:
        return JsonlStore(self._path, **self.options)

    def reopen(self, store: Store) -> Store:
        return JsonlStore(self._path, **self.options)

    def test_the_store_can_be_leased_followed_and_scanned(self) -> None:
        store = self.make_store()
        assert isinstance(store, LeasableStore)
        assert isinstance(store, FollowableStore)
        assert isinstance(store, ScannableStore)


class TestDurableJsonlStore(_JsonlContract):
    options: ClassVar[dict[str, Any]] = {"durability": "fsync"}


class TestQuickJsonlStore(_JsonlContract):
    options: ClassVar[dict[str, Any]] = {"durability": "os"}


class TestJsonlStoreWithoutChecksums(_JsonlContract):
    options: ClassVar[dict[str, Any]] = {"durability": "os", "checksum": False}


class TestJsonlStoreInAFolderToBeMade(_JsonlContract):
    options: ClassVar[dict[str, Any]] = {"durability": "os"}

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self._path = tmp_path / "new" / "folder" / "log.jsonl"


class TestMemoryStore(StoreContract):
    def make_store(self) -> Store:
        return MemoryStore()

    def test_the_store_can_be_leased_and_scanned(self) -> None:
        assert isinstance(MemoryStore(), LeasableStore)
        assert isinstance(MemoryStore(), ScannableStore)


def test_a_store_that_breaks_a_promise_fails_the_contract() -> None:
    class Forgetful(MemoryStore):
        def append(self, *entries: Any, **more: Any) -> str:
            return super().append(*entries[:1], **more)

    class Contract(StoreContract):
        def make_store(self) -> Store:
            return Forgetful()

    with pytest.raises(AssertionError):
        Contract().test_what_was_appended_is_read_back_in_order()


def test_the_contract_says_what_a_subclass_has_to_give() -> None:
    with pytest.raises(NotImplementedError, match="make_store"):
        StoreContract().test_a_new_store_is_empty()
