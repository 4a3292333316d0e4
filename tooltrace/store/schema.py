"""The current schema of the database, for new stores; ``migrations`` brings older databases to it."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

from tooltrace.store.columns import TABLES, Column, Table
from tooltrace.store.macros import MACROS, create_macros
from tooltrace.store.views import VIEWS, View

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

SCHEMA_VERSION: Final = 3
STORAGE_VERSION: Final = "v1.5.0"
"""The oldest DuckDB file format with all features that the store needs; DuckDB 1.5 and 2.0 read it."""
STORE: Final = "store"
"""The name under which the database is attached."""


def create(con: DuckDBPyConnection) -> None:
    """Create every table and view of a new store in the database attached as ``store``."""
    for table in TABLES:
        con.execute(f"CREATE TABLE {STORE}.{table.name} ({column_ddl(table)})")
    con.execute(f"INSERT INTO {STORE}.meta VALUES ('schema_version', '{SCHEMA_VERSION}')")
    create_views_and_comments(con)


def create_views_and_comments(con: DuckDBPyConnection) -> None:
    """Create or replace the macros, the views and all comments on tables, views, macros and columns. Idempotent."""
    con.execute(f"USE {STORE}")
    try:
        create_macros(con)
        for view in VIEWS:
            con.execute(f"CREATE OR REPLACE VIEW {view.name} AS {view.sql}")
        for statement in comments():
            con.execute(statement)
        con.execute("DELETE FROM meta WHERE key = 'views'")
        con.execute(f"INSERT INTO meta VALUES ('views', '{_fingerprint()}')")
    finally:
        con.execute("USE memory")


def is_dressed(con: DuckDBPyConnection) -> bool:
    """Whether the views, macros and comments of the database are those of this version."""
    rows = con.execute(f"SELECT value FROM {STORE}.meta WHERE key = 'views'").fetchall()
    return rows == [(_fingerprint(),)]


def _fingerprint() -> str:
    made = [*(macro.signature for macro in MACROS), *(view.sql for view in VIEWS), *comments()]
    return hashlib.sha256("\0".join(made).encode()).hexdigest()


def column_ddl(table: Table) -> str:
    """Return the column list of a ``CREATE TABLE``."""
    return ", ".join(_column(column) for column in table.columns)


def quote_identifier(name: str) -> str:
    """Return ``name`` as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def quote_literal(text: str) -> str:
    """Return ``text`` as an SQL string, for statements that accept no parameters."""
    return "'" + text.replace("'", "''") + "'"


def comments() -> list[str]:
    """Return the ``COMMENT ON`` statements of every table, view, column and macro."""
    statements = []
    for table in TABLES:
        statements.append(f"COMMENT ON TABLE {table.name} IS {quote_literal(table.comment)}")
        statements += [_comment(table.name, column.name, column.comment) for column in table.columns]
    for view in VIEWS:
        statements += _view_comments(view)
    return statements + [f"COMMENT ON MACRO {macro.name} IS {quote_literal(macro.comment)}" for macro in MACROS]


def _view_comments(view: View) -> list[str]:
    statements = [f"COMMENT ON VIEW {view.name} IS {quote_literal(view.comment)}"]
    return statements + [_comment(view.name, name, text) for name, text in view.columns.items()]


def _comment(table: str, column: str, text: str) -> str:
    return f"COMMENT ON COLUMN {table}.{quote_identifier(column)} IS {quote_literal(text)}"


def _column(column: Column) -> str:
    return f"{quote_identifier(column.name)} {column.type}{' NOT NULL' if column.required else ''}"
