"""The tools and versions that a store contains, read at once or not at all: for a shell that completes names."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tooltrace.core.records import ToolCall
from tooltrace.errors import StoreError
from tooltrace.store.database.schema import STORE
from tooltrace.store.files.file_lock import Lock
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.journal.line_format import LineError, decode

TAIL_BYTES: Final = 512 * 1024
"""Number of bytes at the end of each journal in which tools are looked for."""
MAX_JOURNALS: Final = 8

Tool = tuple[str, str | None]
"""The name of a tool and its version."""


def tools_at_once(path: str | os.PathLike[str]) -> set[Tool]:
    """Return the tools in the store ``path`` that can be found without a wait.

    Nothing is folded or created. A database that is locked, damaged or missing is left out; of each journal, only the
    last lines are read.
    """
    paths = StorePaths.of(path)
    found: set[Tool] = set()
    with contextlib.suppress(Exception):
        found.update(_in_database(paths))
    for name in list(paths.journals())[-MAX_JOURNALS:]:
        with contextlib.suppress(OSError):
            found.update(_in_journal(paths.journal / name))
    return found


def _in_database(paths: StorePaths) -> list[Tool]:
    """Return the tools of the database. Raises StoreError where it is in use, and DuckDB's errors."""
    if not paths.lock.exists() or not paths.database.exists():  # opening the lock of a store would create it
        return []
    from tooltrace.store.database.connection import attach, connect

    lock = Lock(paths)
    try:
        lock.shared(wait=0)
        if not lock.has_file:
            raise StoreError(f"cannot lock {paths.lock}")
        with connect() as con:
            attach(con, paths, read_only=True)
            rows: list[Tool] = con.execute(f"SELECT DISTINCT tool, tool_version FROM {STORE}.attempts").fetchall()
        return rows
    finally:
        lock.release()


def _in_journal(journal: Path) -> Iterator[Tool]:
    with journal.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - TAIL_BYTES))
        lines = file.read(TAIL_BYTES).splitlines()
    for line in lines:
        with contextlib.suppress(LineError):  # the first line may be cut, the last one torn
            record = decode(line)
            if isinstance(record, ToolCall):
                yield record.tool, record.tool_version
