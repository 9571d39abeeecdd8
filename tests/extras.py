"""Packages of other makers that some tests need."""

from __future__ import annotations

import importlib
import os
from typing import Any

import pytest


def needed(module: str, extra: str) -> Any:
    """A module of an extra. Where it is missing a test module is skipped, and fails in CI."""
    if os.environ.get("CI"):
        return importlib.import_module(module)
    return pytest.importorskip(module, reason=f"the extra {extra!r} is not installed", exc_type=ImportError)
