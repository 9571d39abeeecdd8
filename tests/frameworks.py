"""The packages of others that an adapter is tried with."""

from __future__ import annotations

import importlib
import os
from types import ModuleType

import pytest

__all__ = ["needed"]


def needed(name: str) -> ModuleType:
    """A package. Where it is missing the tests of the module are passed over, but never in CI."""
    return importlib.import_module(name) if os.environ.get("CI") else pytest.importorskip(name)
