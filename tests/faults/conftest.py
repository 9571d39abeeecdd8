"""Where the files of these tests go."""

from __future__ import annotations

import gc
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="module", autouse=True)
def _nothing_left_open() -> None:
    """Files that other tests left open are not closed in the middle of one of these."""
    gc.collect()


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder in memory, where there is one: hundreds of syncs there take no time."""
    memory = "/dev/shm"
    usable = os.path.isdir(memory) and os.access(memory, os.W_OK)
    with tempfile.TemporaryDirectory(dir=memory if usable else None) as name:
        yield Path(os.path.realpath(name))
