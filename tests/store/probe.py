"""A search for a text in every file of a store: raw bytes, and every column of every DuckDB file."""

from __future__ import annotations

from pathlib import Path

import duckdb


def places_of(text: str, folder: Path) -> list[str]:
    """The files below ``folder`` that have ``text``, with the table where it is in a column of a database.

    DuckDB compresses texts, so that raw bytes alone do not show them. The store must not be open in this process.
    """
    found = []
    for path in sorted(file for file in folder.rglob("*") if file.is_file()):
        data = path.read_bytes()
        if text.encode() in data:
            found.append(path.name)
        if data[8:12] == b"DUCK" and not path.name.endswith(".wal"):
            found += [f"{path.name}:{table}" for table in _tables_with(path, text)]
    return found


def _tables_with(path: Path, text: str) -> list[str]:
    try:
        with duckdb.connect(str(path), read_only=True) as db:
            tables = [name for (name,) in db.sql("SELECT table_name FROM duckdb_tables()").fetchall()]
            return [
                name
                for name in tables
                if db.execute(
                    f'SELECT 1 FROM "{name}" AS t WHERE contains(CAST(t AS VARCHAR), ?) LIMIT 1', [text]
                ).fetchone()
            ]
    except duckdb.Error:  # a damaged copy: only its raw bytes can be searched
        return []
