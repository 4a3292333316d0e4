"""Empty stores, made once and copied: a copy takes a tenth of the time."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from tooltrace.store import migrations
from tooltrace.store.connection import connect
from tooltrace.store.fold import fold
from tooltrace.store.schema import STORE

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

create_schema = migrations.create
"""The function that creates the schema of a new store, whichever one the tests put in its place."""


def create_empty_store(path: Path) -> Path:
    """Write the database of a store without records to ``path``, unless one is there; return ``path``."""
    if not path.exists():
        path.write_bytes(_database())
        path.chmod(0o600)
    return path


@cache
def _database() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "empty.duckdb"
        fold(path)
        return path.read_bytes()


def copy_schema(con: DuckDBPyConnection, template: Path) -> None:
    """Create the schema in the database attached as ``store``, as a copy of the one in ``template``.

    Three hundred comments take most of the time of ``create_schema``.
    """
    if not template.exists():
        _write_schema(template)
    con.execute(f"ATTACH '{template}' AS template (READ_ONLY)")
    con.execute(f"COPY FROM DATABASE template TO {STORE}")


def _write_schema(template: Path) -> None:
    part = template.with_suffix(".part")
    with connect() as con:
        con.execute(f"ATTACH '{part}' AS {STORE}")
        create_schema(con)
        con.execute(f"DETACH {STORE}")
    part.rename(template)
