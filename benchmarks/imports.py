"""What importing the package costs, in fresh processes.

python imports.py STATEMENT        # one of them: seconds, and what it loaded
"""

from __future__ import annotations

import json
import statistics
import sys
import time

__all__ = ["measure"]

_UNWANTED = ("filelock", "click", "asyncio", "logging")


def measure(setting: object) -> object:
    from timing import Goal, Report, Setting, Table, child

    assert isinstance(setting, Setting)
    statements = {
        "import orjson": "import orjson",
        "import transcript_log": "import transcript_log",
        "from transcript_log import JsonlStore": "from transcript_log import JsonlStore",
        "all public names": "from transcript_log import *",
        "import filelock": "import filelock",
    }
    seconds: dict[str, list[float]] = {name: [] for name in statements}
    loaded: dict[str, list[str]] = {}
    names = list(statements)
    for index in range(1 + (9 if setting.quick else 41)):
        for name in names if index % 2 else reversed(names):
            taken, loaded[name] = child("imports.py", statements[name])
            if index:
                seconds[name].append(taken)
    table = Table(
        "Import in a fresh process, files in the page cache",
        ("statement", "ms", "× of import orjson", "loads, of " + ", ".join(_UNWANTED)),
    )
    found = {}
    for name, taken in seconds.items():
        found[name] = statistics.median(a / b for a, b in zip(taken, seconds["import orjson"], strict=True))
        table.rows.append(
            (
                f"`{name}`" if " " in name else name,
                f"{statistics.median(taken) * 1e3:.1f}",
                f"{found[name]:.2f}",
                ", ".join(loaded[name]) or "none",
            )
        )
    assert not loaded["import transcript_log"], loaded
    assert not loaded["from transcript_log import JsonlStore"], loaded
    goal = Goal("`import transcript_log` of `import orjson`", 1.3, found["import transcript_log"])
    return Report([table], [goal])


if __name__ == "__main__":
    begin = time.process_time()
    exec(sys.argv[1])
    taken = time.process_time() - begin
    print(json.dumps([taken, [name for name in _UNWANTED if name in sys.modules]]))
