"""The tables and views for users, with their meanings, read from the schema itself."""

from __future__ import annotations

from functools import cache
from typing import Final, NamedTuple

import duckdb

from tooltrace.store.database.migrations import migrate
from tooltrace.store.database.schema import STORE

TABLES: Final = (
    *(
        "tool_calls",
        "facts",
        "attempts",
        "calls",
        "repeated_calls",
        "outcomes",
        "judged",
        "conversation_labels",
        "corrections",
    ),
    "gates",
    *("sources", "messages", "spans", "model_spans", "begun", "saved_queries", "losses"),
)
"""The names, in the order in which they are listed."""


class DocumentedColumn(NamedTuple):
    """A column of a table: its name, its type in DuckDB and its meaning."""

    name: str
    type: str
    comment: str


class DocumentedTable(NamedTuple):
    """A table or view: its name, the meaning of a row, and its columns."""

    name: str
    comment: str
    columns: tuple[DocumentedColumn, ...]


@cache
def documented_tables() -> tuple[DocumentedTable, ...]:
    """Return every table and view that users may query, read from a new store in memory."""
    with duckdb.connect() as con:
        con.execute(f"ATTACH ':memory:' AS {STORE}")
        migrate(con, "memory")
        comments: dict[str, str] = dict(
            con.execute(
                "SELECT table_name, comment FROM duckdb_tables() WHERE database_name = ? "
                "UNION ALL SELECT view_name, comment FROM duckdb_views() WHERE database_name = ?",
                [STORE, STORE],
            ).fetchall()
        )
        columns = con.execute(
            "SELECT table_name, column_name, data_type, comment FROM duckdb_columns() WHERE database_name = ? "
            "ORDER BY table_name, column_index",
            [STORE],
        ).fetchall()
    return tuple(
        DocumentedTable(table, comments[table], tuple(DocumentedColumn(*row) for of, *row in columns if of == table))
        for table in TABLES
    )
