"""Rewriting: the new file has every kept row, and none of the deleted bytes."""

from __future__ import annotations

import os
import signal
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tooltrace.errors import StoreError
from tooltrace.store.database.rewrite import rewrite
from tooltrace.store.database.schema import TABLES
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.fold.fold import fold

from .conftest import MakeCall, Write

Rows = Callable[[str], list[tuple[Any, ...]]]
SECRET = os.urandom(4096).hex()
"""A text whose bytes can be found in a file: DuckDB cannot compress it in a column without ZSTD."""


@pytest.fixture
def filled(store: StorePaths, write: Write, call: MakeCall) -> StorePaths:
    write(*(call(number, conversation_id=f"conversation {number % 2}") for number in range(10)))
    write(call(10, conversation_id="secret", error_message=SECRET))
    fold(store)
    return store


def contains(paths: StorePaths, text: str) -> bool:
    """Whether a file of the store's folder contains ``text``; the store must not be open in this process."""
    found = [path for path in paths.database.parent.rglob("*") if path.is_file()]
    return any(text.encode() in path.read_bytes() for path in found)


def test_a_rewrite_keeps_the_rows_of_a_condition_and_removes_the_bytes_of_the_others(
    filled: StorePaths, rows: Rows
) -> None:
    assert contains(filled, SECRET[:2000])
    before = rows("SELECT * FROM attempts WHERE conversation_id <> 'secret'")
    report = rewrite(filled, keep={"attempts": "conversation_id <> 'secret'"})
    assert report.deleted == {"attempts": 1}
    assert not contains(filled, SECRET[:2000])
    assert rows("SELECT * FROM attempts") == before


def test_a_row_whose_condition_is_unknown_is_deleted(filled: StorePaths, rows: Rows) -> None:
    rewrite(filled, keep={"attempts": "agent <> 'x'"})
    assert rows("SELECT count(*) FROM attempts") == [(0,)]


@pytest.mark.long
def test_a_rewrite_without_conditions_keeps_every_table_and_its_order(filled: StorePaths, rows: Rows) -> None:
    names = [table.name for table in TABLES if table.name not in ("meta", "journals")]
    before = {name: rows(f"SELECT * FROM {name}") for name in names}
    filled.database.chmod(0o640)
    report = rewrite(filled)
    assert report.deleted == {}
    assert {name: rows(f"SELECT * FROM {name}") for name in names} == before
    assert stat.S_IMODE(filled.database.stat().st_mode) == 0o640
    assert not list(filled.database.parent.glob("*.tmp*"))


def test_a_journal_that_is_folded_is_not_folded_again_after_a_rewrite(
    filled: StorePaths, write: Write, call: MakeCall, rows: Rows
) -> None:
    rewrite(filled, keep={"attempts": "false"})
    write(call(20))
    assert fold(filled).rows == 1
    assert rows("SELECT call_id FROM attempts") == [(call(20).call_id,)]


def test_a_rewrite_that_cannot_write_leaves_the_database(filled: StorePaths, rows: Rows, tmp_path: Path) -> None:
    before = rows("SELECT * FROM attempts")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / filled.database.name).mkdir()
    with pytest.raises(StoreError, match="cannot rewrite the store"):
        rewrite(filled, to=StorePaths.of(tmp_path / "full" / filled.database.name))
    assert rows("SELECT * FROM attempts") == before


@pytest.mark.processes
@pytest.mark.parametrize(
    "step", ["rewrite.create", "rewrite._copy_table", "rewrite._sync", "Path.replace", "rewrite.sync_directory"]
)
def test_a_kill_leaves_the_old_or_the_new_database(
    filled: StorePaths, run: Callable[..., str], rows: Rows, step: str
) -> None:
    run(
        "import os, signal\nfrom pathlib import Path\n"
        "from tooltrace.store.database import rewrite\n"
        "from tooltrace.store.files.paths import StorePaths\n"
        f"{step} = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)\n"
        f"rewrite.rewrite(StorePaths.of({str(filled.database)!r}), keep={{'attempts': 'false'}})",
        code_expected=-signal.SIGKILL,
    )
    assert rows("SELECT count(*) FROM attempts") == [(11 if step != "rewrite.sync_directory" else 0,)]
    rewrite(filled, keep={"attempts": "false"})
    assert rows("SELECT count(*) FROM attempts") == [(0,)]
