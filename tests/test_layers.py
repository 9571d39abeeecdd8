"""Imports point down only, and what a module may touch is written down here.

The floors are those of the table in ``docs/architecture.md``, which must say the same.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parent.parent
PACKAGE: Final = "transcript_log"

FLOORS: Final = {
    "_collector": 0,
    "_identity": 0,
    "_twins": 0,
    "_version": 0,
    "errors": 0,
    "findings": 0,
    "items": 0,
    "_json": 1,
    "_times": 1,
    "_urls": 1,
    "entries": 1,
    "families": 1,
    "_active": 2,
    "_logfile": 2,
    "boundary": 2,
    "codec": 2,
    "projection": 2,
    "response": 2,
    "store": 2,
    "_pieces": 2,
    "_plain": 2,
    "_batch": 3,
    "_following": 3,
    "_forking": 3,
    "_hosted": 3,
    "_pairing": 3,
    "_reading": 3,
    "_recordfile": 3,
    "_recordtree": 3,
    "_salvaging": 3,
    "_scanning": 3,
    "_zst": 3,
    "compaction": 3,
    "apis": 3,
    "jsonl": 3,
    "lines": 3,
    "memory": 3,
    "postgres": 3,
    "reconcile": 3,
    "_wording": 4,
    "context": 4,
    "counts": 4,
    "events": 4,
    "history": 4,
    "stats": 4,
    "stores": 4,
    "_glimpse": 5,
    "_played": 5,
    "acceptance": 5,
    "check": 5,
    "converting": 5,
    "copying": 5,
    "costs": 5,
    "diffing": 5,
    "exporters": 5,
    "importers": 5,
    "importing": 5,
    "listing": 5,
    "sent": 5,
    "places": 5,
    "recorded": 5,
    "redaction": 5,
    "session": 5,
    "subagents": 5,
    "testing": 5,
    "aio": 6,
    "cli": 6,
    "adapters": 7,
    "pytest_plugin": 7,
    "sql": 6,
}
"""The floor of each module; a package is one, with all that is in it."""

IO: Final = frozenset(
    {
        "apis.tables",
        "_following",
        "_forking",
        "_logfile.files",
        "_logfile.lock",
        "_logfile.reader",
        "_logfile.writer",
        "_reading",
        "_recordfile",
        "_recordtree",
        "_salvaging",
        "_scanning",
        "cli.convert",
        "cli.export",
        "converting",
        "copying",
        "session.forking",
        "_zst",
        "cli.import_",
        "cli.list",
        "cli.naming",
        "cli.output",
        "cli.parquet",
        "cli.redacting",
        "cli.source",
        "cli.parameters",
        "cli.sql",
        "cli.watching",
        "importing",
        "jsonl",
        "listing",
        "places",
        "sql.asking",
        "sql.gathering",
        "sql.parquet",
        "sql.reading",
        "subagents",
        "pytest_plugin",
        "postgres._connections",
    }
)
"""Who may read and write files."""

OTHER_USES_OF_OS: Final = {
    "adapters.claude_agent_sdk": {"PathLike"},
    "adapters.openai_agents": {"PathLike"},
    "aio._order": {"getpid", "register_at_fork"},
    "aio.session": {"PathLike"},
    "entries": {"urandom"},
    "errors": {"strerror"},
    "postgres._leases": {"getpid", "uname"},
    "session.facade": {"PathLike"},
    "stores": {"PathLike"},
}
"""Who needs something of ``os`` that is neither a file nor a process."""

CLOCKS: Final = frozenset(
    {
        "_following",
        "_logfile.lock",
        "_logfile.writer",
        "cli.prune",
        "cli.watching",
        "entries",
        "postgres._following",
        "postgres._leases",
    }
)
"""Who may ask what time it is, or wait."""

LAZY: Final = {
    "_logfile.lock": {"filelock"},
    "_zst": {"compression", "zstandard"},
    "cli.migrate": {""},  # sessions in a database
    "cli.prune": {""},
    "listing": {""},
    "stores": {""},
    "costs": {"genai_prices"},
    "exporters._rich": {"markdown_it", "pygments"},
    "exporters.html": {"jinja2", "markupsafe", "pygments"},
    "pytest_plugin": {""},  # pytest imports it whether or not a test wants it
    "sql.engine": {"duckdb"},
    "sql.reading": {""},  # how the commands open a file, without click until one is opened
}
"""What is imported inside a function, because it is not always needed and takes long."""

FOREIGN: Final = {
    "agents": "adapters.openai_agents",
    **dict.fromkeys(("anyio", "claude_agent_sdk"), "adapters.claude_agent_sdk"),
    "click": "cli",
    "compression": "_zst",  # of Python itself from 3.14 on
    "duckdb": "sql",
    "filelock": "_logfile.lock",
    "genai_prices": "costs",
    **dict.fromkeys(("langchain_core", "pydantic_ai"), "adapters"),
    "psycopg": "postgres",
    "psycopg_pool": "postgres",
    **dict.fromkeys(("jinja2", "markdown_it", "markupsafe", "pygments"), "exporters"),
    "orjson": "",
    "pytest": "pytest_plugin",
    "zstandard": "_zst",
}
"""What does not come with Python, and the part that alone may import it."""

PROVIDER_WORDS: Final = frozenset(
    {
        "custom_tool_call",
        "encrypted_content",
        "function_call",
        "function_call_output",
        "reasoning_content",
        "thinking",
        "toolCall",
        "toolResult",
        "tool_call_id",
        "tool_calls",
        "tool_result",
        "tool_use",
        "tool_use_id",
    }
)
"""Words of providers, which only some modules spell."""

SPELLERS: Final = frozenset({"adapters", "apis", "exporters", "importers", "items", "response"})
"""Whose business they are."""

SPELLED_TOO: Final = {
    "counts": {"toolResult"},
    "sql.views": {"tool_calls"},
    "testing": {"encrypted_content"},
}
"""Who spells one all the same: a role that is nobody's turn, a view of that name, an item of an example."""

_FILE_MODULES: Final = frozenset(
    {"io", "os", "pathlib", "shutil", "socket", "stat", "subprocess", "tempfile"}
)


@cache
def modules() -> dict[str, Path]:
    """Every module of the package by its name within it; the package itself is ``""``."""
    found = {}
    for path in sorted((ROOT / PACKAGE).rglob("*.py")):
        parts = path.relative_to(ROOT / PACKAGE).with_suffix("").parts
        found[".".join(part for part in parts if part != "__init__")] = path
    return found


@cache
def tree(module: str) -> ast.Module:
    return ast.parse(modules()[module].read_bytes())


def imports(module: str, within: ast.AST | None = None) -> Iterator[str]:
    """What a module imports, wherever in it; of this package without its name and a leading dot."""
    path = modules()[module]
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(within or tree(module)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield own(alias.name)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = [PACKAGE, *package.split(".")] if package else [PACKAGE]
                base = ".".join([*parts[: len(parts) - node.level + 1], *([base] if base else [])])
            base = own(base)
            for alias in node.names:
                inner = f"{base.rstrip('.')}.{alias.name}"
                yield inner if inner.removeprefix(".") in modules() and base.startswith(".") else base


def own(name: str) -> str:
    """``transcript_log.a.b`` as ``.a.b``, another package's name as it is."""
    return re.sub(rf"^{PACKAGE}(?=\.|$)", ".", name).replace("..", ".")


def own_imports(module: str) -> set[str]:
    return {name.removeprefix(".") for name in imports(module) if name.startswith(".")}


def floor(module: str) -> int:
    return FLOORS[module.partition(".")[0]]


INNER: Final = [module for module in modules() if module not in ("", "__main__")]


def test_every_module_stands_on_a_floor() -> None:
    assert {module.partition(".")[0] for module in INNER} == FLOORS.keys()


@pytest.mark.parametrize("module", INNER)
def test_imports_point_down(module: str) -> None:
    for imported in own_imports(module):
        assert floor(imported) <= floor(module), f"{module} imports {imported}"


def test_no_import_goes_in_a_circle() -> None:
    order = TopologicalSorter({module: own_imports(module) for module in modules()})
    assert len(list(order.static_order())) == len(modules())


def test_the_package_itself_imports_no_command() -> None:
    assert all(floor(name) < FLOORS["cli"] for name in own_imports(""))
    assert own_imports("__main__") == {"cli"}


@pytest.mark.parametrize("module", modules())
def test_what_is_imported_late_is_written_down(module: str) -> None:
    late = {
        name.partition(".")[0]
        for node in ast.walk(tree(module))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for name in imports(module, node)
    }
    assert late == LAZY.get(module, set())


@pytest.mark.parametrize("module", modules())
def test_other_packages_are_imported_where_they_belong(module: str) -> None:
    for name in imports(module):
        top = name.partition(".")[0]
        if top and top not in sys.stdlib_module_names:
            assert top in FOREIGN, f"{module} imports {name}"
            assert module.startswith(FOREIGN[top]), f"{module} imports {name}"


@pytest.mark.parametrize("module", modules())
def test_only_some_modules_touch_files(module: str) -> None:
    if module in IO:
        return
    assert not {"open", "input"} & {
        node.func.id
        for node in ast.walk(tree(module))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    taken = {name for name in imports(module) if name.partition(".")[0] in _FILE_MODULES}
    allowed = OTHER_USES_OF_OS.get(module, set())
    assert taken <= ({"os"} if allowed else set())
    used = {
        node.attr
        for node in ast.walk(tree(module))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "os"
    }
    # A path is given as text or as something that stands for it.
    assert used <= allowed | {"PathLike", "fspath"}


def test_nobody_is_allowed_files_without_need() -> None:
    for module in IO:
        assert {name.partition(".")[0] for name in imports(module)} & _FILE_MODULES, module


@pytest.mark.parametrize("module", modules())
def test_only_some_modules_read_a_clock(module: str) -> None:
    asked = {
        f"{node.value.id}.{node.attr}"
        for node in ast.walk(tree(module))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and (
            (node.value.id in ("datetime", "date") and node.attr in ("now", "utcnow", "today"))
            or node.value.id == "time"
        )
        and node.value.id in _imported_names(module)
    }
    assert bool(asked) == (module in CLOCKS), asked


def _imported_names(module: str) -> set[str]:
    return {
        alias.asname or alias.name
        for node in ast.walk(tree(module))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }


@pytest.mark.parametrize("module", [name for name in modules() if name.partition(".")[0] not in SPELLERS])
def test_only_some_modules_spell_the_words_of_providers(module: str) -> None:
    spelled = {
        node.value
        for node in ast.walk(tree(module))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    assert spelled & PROVIDER_WORDS == SPELLED_TOO.get(module, set())


def test_the_architecture_page_has_the_same_floors() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d) \| (`[^|]*`) \|", page, re.MULTILINE)
    told = {name: int(number) for number, names in rows for name in re.findall(r"`([^`]+)`", names)}
    assert told == FLOORS
