"""Stores of the tests: empty ones are made once and copied, which takes a tenth of the time; and journals."""

from __future__ import annotations

import tempfile
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tooltrace.core.records import Record
from tooltrace.store.database import connection, migrations, rewrite
from tooltrace.store.database.schema import STORE, quote_literal
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.fold import fold_step
from tooltrace.store.journal.line_format import encode
from tooltrace.store.journal.writer import Journal
from tooltrace.store.upkeep import merge

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_create = migrations.create


def create_empty_store(path: Path) -> Path:
    """Write the database of a store without records to ``path``, unless one is there; return ``path``."""
    if not path.exists():
        path.write_bytes(_database())
        path.chmod(0o600)
    return path


def write_records(store: StorePaths, *records: Record) -> Path:
    """Write records to a journal of ``store`` whose writer then ends; return the file."""
    journal = Journal(store.journal)
    journal.write(b"".join(map(encode, records)))
    path = journal.path
    journal.close()
    assert path is not None
    return path


@cache
def _database() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        paths = StorePaths.of(Path(folder) / "empty.duckdb")
        con = connection.connect()
        connection.attach(con, paths, read_only=False)
        _create(con)
        connection.checkpoint(con)
        connection.detach(con)
        con.close()
        return paths.database.read_bytes()


def copy_new_stores(patch: pytest.MonkeyPatch, template: Path) -> None:
    """Let each new database be a copy of an empty one, which is written to ``template``.

    Three hundred comments take most of the time of a new schema.
    """
    for module in (fold_step, merge):
        patch.setattr(module, "attach", _attach_copy)
    for module in (migrations, rewrite):
        patch.setattr(module, "create", partial(_copy_schema, template=template))


def create_new_stores(patch: pytest.MonkeyPatch) -> None:
    """Let each new database be created, as outside of tests."""
    for module in (fold_step, merge):
        patch.setattr(module, "attach", connection.attach)
    for module in (migrations, rewrite):
        patch.setattr(module, "create", _create)


def _attach_copy(con: DuckDBPyConnection, paths: StorePaths, *, read_only: bool) -> None:
    if not read_only and paths.database.parent.is_dir():
        create_empty_store(paths.database)
    connection.attach(con, paths, read_only=read_only)


def _copy_schema(con: DuckDBPyConnection, template: Path, *, compressed: bool = True) -> None:
    if not compressed:
        _create(con, compressed=False)
        return
    con.execute(f"ATTACH {quote_literal(str(create_empty_store(template)))} AS template (READ_ONLY)")
    con.execute(f"COPY FROM DATABASE template TO {STORE}")
