"""What is public is written down, documented, and cheap to import."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import os
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import pytest

import transcript_log

ROOT: Final = Path(__file__).resolve().parent.parent

PUBLIC: Final = [
    "FORMAT_VERSION",
    "Change",
    "Compaction",
    "CompactionEntry",
    "ConflictError",
    "Context",
    "ContextAttachment",
    "ContextEntry",
    "ContextError",
    "CorruptLogError",
    "Detail",
    "Entry",
    "EntryError",
    "FamilyRequiredError",
    "Finding",
    "Header",
    "HeaderError",
    "IdError",
    "Invocation",
    "Item",
    "JsonlStore",
    "LogBusyError",
    "MessageEntry",
    "OpaqueEntry",
    "Run",
    "RunEntry",
    "Scan",
    "Session",
    "StorageError",
    "Store",
    "Target",
    "ToolOutcome",
    "TranscriptError",
    "VersionError",
    "build_context",
    "context_at",
    "new_compaction",
    "new_context",
    "new_header",
    "new_id",
    "new_message",
    "new_run",
    "outcome_payload",
    "read_outcome",
    "session_path",
]
"""The names that others may take from the package itself."""

MODULES: Final = [
    importlib.import_module(info.name)
    for info in pkgutil.walk_packages(transcript_log.__path__, "transcript_log.")
    if info.name != "transcript_log.__main__"
    if not info.name.startswith(("transcript_log.adapters.", "transcript_log.postgres"))
]
ADAPTERS: Final = {
    "claude_agent_sdk": "claude_agent_sdk",
    "langchain": "langchain_core",
    "openai_agents": "agents",
    "pydantic_ai": "pydantic_ai",
}
"""The adapters, each with the package that it is for."""

for _name, _package in ADAPTERS.items():
    if os.environ.get("CI") or importlib.util.find_spec(_package):
        MODULES.append(importlib.import_module(f"transcript_log.adapters.{_name}"))
if os.environ.get("CI") or importlib.util.find_spec("psycopg_pool"):
    import transcript_log.postgres as _postgres

    MODULES.append(_postgres)
    for _info in pkgutil.walk_packages(_postgres.__path__, "transcript_log.postgres."):
        MODULES.append(importlib.import_module(_info.name))
HEAVY: Final = {"asyncio", "click", "filelock", "logging", "sqlite3", *ADAPTERS.values()}


def test_the_adapters_are_these() -> None:
    names = {path.stem for path in (ROOT / "transcript_log" / "adapters").glob("[!_]*.py")}
    assert names == ADAPTERS.keys()


def test_the_public_names_are_these() -> None:
    assert sorted(transcript_log.__all__) == sorted(PUBLIC)


@pytest.mark.parametrize("module", [transcript_log, *MODULES], ids=lambda module: module.__name__)
def test_every_module_says_what_is_public_and_it_is_true(module: ModuleType) -> None:
    assert module.__doc__ or module.__name__.endswith("_version")
    names = getattr(module, "__all__", [])
    assert names or hasattr(module, "__all__") or not list(tree_of(module).body[1:])
    assert len(set(names)) == len(names)
    assert not [name for name in names if name.startswith("_") and name != "__version__"]
    for name in names:
        assert hasattr(module, name)
    assert set(public_definitions(module)) <= set(names)


def public_definitions(module: ModuleType) -> Iterator[str]:
    """The functions and classes without an underscore that a module itself defines."""
    for node in tree_of(module).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            yield node.name


def tree_of(module: ModuleType) -> ast.Module:
    return ast.parse(Path(str(module.__file__)).read_bytes())


def documented(module: ModuleType) -> set[str]:
    """The constants and aliases of a module that have a text below them."""
    body = tree_of(module).body
    found = set()
    for node, below in pairwise(body):
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
            match node:
                case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
                    found.add(name)
    return found


DOCUMENTED: Final = {name for module in MODULES for name in documented(module)}


def is_private(module: ModuleType) -> bool:
    """Whether it is there for its own package alone."""
    return "._" in module.__name__ or module.__name__ == "transcript_log.codec.rules"


def has_words(name: str, value: Any) -> bool:
    if name in DOCUMENTED or getattr(value, "help", None):
        return True
    # A dataclass without a docstring gets its signature for one.
    words = value.__doc__ if inspect.isclass(value) or inspect.isroutine(value) else None
    return bool(words) and not str(words).startswith(f"{value.__name__}(")


@pytest.mark.parametrize(
    "module",
    [module for module in (transcript_log, *MODULES) if not is_private(module)],
    ids=lambda module: module.__name__,
)
def test_every_public_name_has_a_docstring(module: ModuleType) -> None:
    bare = [
        name
        for name in getattr(module, "__all__", ())
        if name != "__version__" and not has_words(name, getattr(module, name))
    ]
    assert not bare


@pytest.mark.parametrize(
    "value",
    [value for name in PUBLIC if inspect.isclass(value := getattr(transcript_log, name))],
    ids=lambda value: value.__name__,
)
def test_every_public_method_has_a_docstring(value: type) -> None:
    bare = [
        name
        for name, member in vars(value).items()
        if not name.startswith("_")
        and (inspect.isroutine(member) or isinstance(member, property | classmethod | staticmethod))
        and not inspect.getdoc(member)
    ]
    assert not bare


def loaded_by(statement: str) -> set[str]:
    """The modules that a fresh process has once it has run a statement."""
    program = f"import sys; {statement}; print(*sys.modules)"
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    run = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, check=True, text=True)
    return set(run.stdout.split())


def test_the_import_of_the_package_is_light() -> None:
    loaded = loaded_by("import transcript_log")
    assert "transcript_log" in loaded
    assert not loaded & HEAVY
    assert "transcript_log.cli" not in loaded


def test_the_use_of_every_public_name_is_light_too() -> None:
    loaded = loaded_by("import transcript_log as t; [getattr(t, name) for name in t.__all__]")
    assert "transcript_log.jsonl" in loaded
    assert not loaded & HEAVY
    assert "transcript_log.cli" not in loaded


def test_a_name_that_is_not_public_is_not_there() -> None:
    assert not hasattr(transcript_log, "no_such_name")
    assert set(PUBLIC) <= set(dir(transcript_log))


def test_reading_a_log_takes_no_lock_and_so_loads_none(tmp_path: Path) -> None:
    loaded = loaded_by(
        f"import transcript_log; transcript_log.JsonlStore({str(tmp_path / 'no.jsonl')!r}).scan()"
    )
    assert not loaded & {"click", "filelock", "asyncio"}


def test_the_version_is_that_of_the_project() -> None:
    from transcript_log._version import __version__

    assert __version__.count(".") == 2
