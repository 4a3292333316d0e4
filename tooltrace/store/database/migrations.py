"""Creation of the schema in a new database, and migrations from earlier released schemas to the current one.

A store carries the fingerprint of its schema. Until the first release no schema is migrated: another one is refused.
Migrations run in order, together with the new views in one transaction: a process that is killed on the way leaves the
earlier schema, complete with its views.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from functools import cache, partial
from typing import TYPE_CHECKING, Final

from tooltrace.errors import StoreError
from tooltrace.store.database import hashes
from tooltrace.store.database.macros import MACROS, create_macros
from tooltrace.store.database.schema import SCHEMA, STORE, TABLES, column_ddl, quote_identifier, quote_literal
from tooltrace.store.database.views import VIEWS
from tooltrace.store.files.store_file import foreign

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Step = Callable[["DuckDBPyConnection"], None]

STEPS: Final[dict[str, Step]] = {}
"""The step from each released schema, by its fingerprint, to the next one, in the order of the releases.

A released step is never changed: it contains the schema of that time, not of the current code.
"""


def create(con: DuckDBPyConnection, *, compressed: bool = True) -> None:
    """Create every table and view of a new store in the database attached as ``store``.

    ``compressed``: long texts have the compression of LONG_TEXTS.
    """
    for table in TABLES:
        con.execute(f"CREATE TABLE {STORE}.{table.name} ({column_ddl(table, compressed=compressed)})")
    con.execute(f"INSERT INTO {STORE}.meta VALUES ('schema', '{SCHEMA}')")
    hashes.stamp(con)
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


def has_current_views(con: DuckDBPyConnection) -> bool:
    """Whether the views, macros and comments of the database are those of this version."""
    rows = con.execute(f"SELECT value FROM {STORE}.meta WHERE key = 'views'").fetchall()
    return rows == [(_fingerprint(),)]


@cache
def _fingerprint() -> str:
    parts = [*(macro.signature for macro in MACROS), *(view.sql for view in VIEWS), *comments()]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def comments() -> list[str]:
    """Return the ``COMMENT ON`` statements of every table, view, column and macro."""
    statements = []
    for table in TABLES:
        statements.append(f"COMMENT ON TABLE {table.name} IS {quote_literal(table.comment)}")
        statements += [_comment(table.name, column.name, column.comment) for column in table.columns]
        statements += [_comment(table.name, column.name, column.comment) for column in table.hashes]
    for view in VIEWS:
        statements.append(f"COMMENT ON VIEW {view.name} IS {quote_literal(view.comment)}")
        statements += [_comment(view.name, name, text) for name, text in view.columns.items()]
    return statements + [f"COMMENT ON MACRO {macro.name} IS {quote_literal(macro.comment)}" for macro in MACROS]


def _comment(table: str, column: str, text: str) -> str:
    return f"COMMENT ON COLUMN {table}.{quote_identifier(column)} IS {quote_literal(text)}"


def schema_of(con: DuckDBPyConnection) -> str | None:
    """Return the fingerprint of the schema of the database attached as ``store``; None where it is no store."""
    import duckdb

    try:
        con.execute(
            f"SELECT rowid FROM {STORE}.attempts LIMIT 0"
        )  # not a view; a list of tables takes ten times as long
        rows = con.execute(f"SELECT value FROM {STORE}.meta WHERE key = 'schema'").fetchall()
    except (duckdb.CatalogException, duckdb.BinderException):  # a table does not exist, or has other columns
        return None
    return str(rows[0][0]) if rows else "unknown"


_OBJECTS: Final = {
    "table": "duckdb_tables()",
    "view": "(FROM duckdb_views() WHERE NOT internal)",
    "sequence": "duckdb_sequences()",
    "function": "(FROM duckdb_functions() WHERE NOT internal)",
}
"""DuckDB's list of each kind of object."""


def refuse_foreign(con: DuckDBPyConnection, location: str | os.PathLike[str]) -> None:
    """Raise StoreError where the database attached as ``store`` has objects of another program, and is not a store."""
    if schema_of(con) is not None:
        return
    for kind, listing in _OBJECTS.items():
        name = f"{kind}_name"
        found = con.execute(
            f"SELECT DISTINCT {name} FROM {listing} WHERE database_name = ? ORDER BY {name} LIMIT 4", [STORE]
        ).fetchall()
        if found:
            names = ", ".join(repr(each) for (each,) in found[:3]) + (", …" if len(found) > 3 else "")
            raise foreign(location, f"a DuckDB database of another program ({kind}s {names})")


def checked_schema(con: DuckDBPyConnection, location: str | os.PathLike[str]) -> str | None:
    """Return the fingerprint of the schema of the database attached as ``store``; None where it is empty.

    Raises StoreError for a schema that is neither the current one nor migrated, and for the database of another program.
    """
    schema = schema_of(con)
    if schema is None:
        refuse_foreign(con, location)
    elif schema != SCHEMA and schema not in STEPS:
        raise StoreError(
            f"the store {location} has another schema ({schema}) than this version of tooltrace ({SCHEMA}): with the version "
            f"that wrote it run 'tooltrace export jsonl -o calls.jsonl --store {location}', then with this one 'tooltrace "
            "import calls.jsonl --store' and a new file; the store was not changed"
        )
    return schema


def migrate(con: DuckDBPyConnection, location: str | os.PathLike[str]) -> None:
    """Create the schema in the database attached as ``store``, or bring an earlier released one to the current one.

    Views and macros from another tooltrace version are replaced: they contain no data, and are not part of the schema. So
    are the numbers of calls and clusters from another version of DuckDB. Raises StoreError as ``checked_schema`` does, and
    leaves the database unchanged. Where a step fails, all are rolled back.
    """
    schema = checked_schema(con, location)
    if schema is None:
        _in_transaction(con, create)
    elif schema != SCHEMA:
        _in_transaction(con, partial(_migrate, schema=schema))
    else:
        if not hashes.are_current(con):
            _in_transaction(con, hashes.refresh)
        if not has_current_views(con):
            _in_transaction(con, create_views_and_comments)


def _migrate(con: DuckDBPyConnection, *, schema: str) -> None:
    known = list(STEPS)
    for earlier in known[known.index(schema) :]:
        STEPS[earlier](con)
    con.execute(f"UPDATE {STORE}.meta SET value = '{SCHEMA}' WHERE key = 'schema'")
    if not hashes.are_current(con):
        hashes.refresh(con)
    create_views_and_comments(con)


def _in_transaction(con: DuckDBPyConnection, work: Step) -> None:
    con.execute("BEGIN")
    try:
        work(con)
    except BaseException:
        con.execute("ROLLBACK")
        raise
    con.execute("COMMIT")
