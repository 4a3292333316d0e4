"""Creation of the schema in a new database, and migrations from any older schema to the current one.

Migrations run forward, in order, together with the new views in one transaction: a process that is killed on the way
leaves the older version, complete with its views.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from functools import cache, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from tooltrace.errors import StoreError
from tooltrace.store import hashes
from tooltrace.store.macros import MACROS, create_macros
from tooltrace.store.schema import SCHEMA_VERSION, STORE, TABLES, column_ddl, quote_identifier, quote_literal
from tooltrace.store.store_file import foreign
from tooltrace.store.views import LOCAL_VIEWS

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Step = Callable[["DuckDBPyConnection"], None]


def _to_2(con: DuckDBPyConnection) -> None:
    """Migrate to version 2: add messages to the model, and one event each for a gate's question and answer.

    The tables ``tool_calls`` and ``gates`` get new names; views over these tables take the old names.
    """
    for view in ("calls", "sources"):
        con.execute(f"DROP VIEW IF EXISTS {STORE}.{view}")
    con.execute(f"ALTER TABLE {STORE}.tool_calls RENAME TO attempts")
    con.execute(f"ALTER TABLE {STORE}.gates RENAME TO gate_events")
    con.execute(
        f"CREATE TABLE {STORE}.messages (call_id VARCHAR NOT NULL, span_id VARCHAR, style VARCHAR, "
        '"text" VARCHAR, sha256 VARCHAR NOT NULL, "length" BIGINT NOT NULL, "error" BOOLEAN NOT NULL, '
        '"at" TIMESTAMP NOT NULL)'
    )


def _to_3(con: DuckDBPyConnection) -> None:
    """Migrate to version 3: add the spans around the calls."""
    con.execute(
        f"CREATE TABLE {STORE}.spans (trace_id VARCHAR NOT NULL, span_id VARCHAR NOT NULL, "
        'parent_span_id VARCHAR, "name" VARCHAR NOT NULL, span_kind VARCHAR, started_at TIMESTAMP NOT NULL, '
        'duration_ms DOUBLE, status VARCHAR, status_message VARCHAR, "attributes" JSON, events JSON, links JSON, '
        "scope VARCHAR, scope_version VARCHAR, service VARCHAR, host VARCHAR, pid BIGINT)"
    )


def _to_4(con: DuckDBPyConnection) -> None:
    """Migrate to version 4: add corrections of readings, and the kinds of labelers and of judged things."""
    con.execute(f"ALTER TABLE {STORE}.attempts ADD COLUMN status_recorded VARCHAR")
    con.execute(f"ALTER TABLE {STORE}.attempts ADD COLUMN reading_recorded JSON")
    for column in ("labeler_kind", "target_kind", "conversation_id"):
        con.execute(f"ALTER TABLE {STORE}.outcomes ADD COLUMN {column} VARCHAR")
    con.execute(
        f"CREATE TABLE {STORE}.corrections (call_id VARCHAR, span_id VARCHAR, status VARCHAR, code VARCHAR, "
        '"rule" VARCHAR, rule_grade VARCHAR, labeler VARCHAR NOT NULL, labeler_kind VARCHAR NOT NULL, reason VARCHAR, '
        "corrected_at TIMESTAMP NOT NULL)"
    )


def _to_5(con: DuckDBPyConnection) -> None:
    """Migrate to version 5: add the counts of pruned attempts, and fingerprints of the folded parts of journals."""
    con.execute(f"ALTER TABLE {STORE}.journals ADD COLUMN fingerprint BIGINT")
    con.execute(
        f"CREATE TABLE {STORE}.rollups (started_at TIMESTAMP NOT NULL, tool VARCHAR NOT NULL, tool_version VARCHAR, "
        'agent VARCHAR, status VARCHAR, ending VARCHAR, code VARCHAR, "rule" VARCHAR, rule_grade VARCHAR, '
        '"cached" BOOLEAN, "cluster" UBIGINT NOT NULL, singles BOOLEAN NOT NULL, attempts BIGINT NOT NULL, '
        "calls BIGINT NOT NULL, retried_calls BIGINT NOT NULL, duration_steps SMALLINT[], "
        "first_item_steps SMALLINT[], confidences DOUBLE[], correct BOOLEAN[])"
    )


def _to_6(con: DuckDBPyConnection) -> None:
    """Migrate to version 6: add how an attempt after the first is known to belong to its call."""
    con.execute(f"ALTER TABLE {STORE}.attempts ADD COLUMN linked_by VARCHAR")


def _to_7(con: DuckDBPyConnection) -> None:
    """Migrate to version 7: add tracebacks, the places of exported files, saved queries, and counts of tokens."""
    con.execute(f"ALTER TABLE {STORE}.attempts ADD COLUMN traceback VARCHAR")
    con.execute(
        f"CREATE TABLE {STORE}.exports (path VARCHAR NOT NULL, format VARCHAR NOT NULL, written_at TIMESTAMP NOT NULL)"
    )
    con.execute(
        f'CREATE TABLE {STORE}.saved_queries ("name" VARCHAR NOT NULL, "sql" VARCHAR, saved_by VARCHAR NOT NULL, '
        "saved_at TIMESTAMP NOT NULL)"
    )
    _add_token_columns(con)


def _add_token_columns(con: DuckDBPyConnection) -> None:
    """Add the tokens of results and of messages, which are part of version 7."""
    con.execute(f"ALTER TABLE {STORE}.attempts ADD COLUMN result_tokens BIGINT")
    con.execute(f"ALTER TABLE {STORE}.messages ADD COLUMN tokens BIGINT")


def _to_8(con: DuckDBPyConnection) -> None:
    """Migrate to version 8: add the numbers of calls and clusters, and the calls with several attempts.

    They are computed after the last step, as in a store that another version of DuckDB wrote.
    """
    con.execute(f"ALTER TABLE {STORE}.attempts ADD COLUMN call_hash UBIGINT")
    con.execute(f"ALTER TABLE {STORE}.attempts ADD COLUMN cluster_hash UBIGINT")
    con.execute(f"CREATE TABLE {STORE}.repeated_calls (call_hash UBIGINT NOT NULL)")


STEPS: Final[Mapping[int, Step]] = MappingProxyType(
    {2: _to_2, 3: _to_3, 4: _to_4, 5: _to_5, 6: _to_6, 7: _to_7, 8: _to_8}
)
"""The step that leads to each version: a function that migrates the database attached as ``store``.

A released step is never changed: it contains the schema of that version, not of the current code.
"""


def create(con: DuckDBPyConnection) -> None:
    """Create every table and view of a new store in the database attached as ``store``."""
    for table in TABLES:
        con.execute(f"CREATE TABLE {STORE}.{table.name} ({column_ddl(table, compressed=True)})")
    con.execute(f"INSERT INTO {STORE}.meta VALUES ('schema_version', '{SCHEMA_VERSION}')")
    hashes.stamp(con)
    create_views_and_comments(con)


def create_views_and_comments(con: DuckDBPyConnection) -> None:
    """Create or replace the macros, the views and all comments on tables, views, macros and columns. Idempotent."""
    con.execute(f"USE {STORE}")
    try:
        create_macros(con)
        for view in LOCAL_VIEWS:
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
    parts = [*(macro.signature for macro in MACROS), *(view.sql for view in LOCAL_VIEWS), *comments()]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def comments() -> list[str]:
    """Return the ``COMMENT ON`` statements of every table, view, column and macro."""
    statements = []
    for table in TABLES:
        statements.append(f"COMMENT ON TABLE {table.name} IS {quote_literal(table.comment)}")
        statements += [_comment(table.name, column.name, column.comment) for column in table.columns]
        statements += [_comment(table.name, column.name, column.comment) for column in table.hashes]
    for view in LOCAL_VIEWS:
        statements.append(f"COMMENT ON VIEW {view.name} IS {quote_literal(view.comment)}")
        statements += [_comment(view.name, name, text) for name, text in view.columns.items()]
    return statements + [f"COMMENT ON MACRO {macro.name} IS {quote_literal(macro.comment)}" for macro in MACROS]


def _comment(table: str, column: str, text: str) -> str:
    return f"COMMENT ON COLUMN {table}.{quote_identifier(column)} IS {quote_literal(text)}"


def version_of(con: DuckDBPyConnection) -> int:
    """Return the schema version of the database attached as ``store``; 0 where it has no tooltrace schema."""
    import duckdb

    try:
        rows = con.execute(f"SELECT value FROM {STORE}.meta WHERE key = 'schema_version'").fetchall()
    except (duckdb.CatalogException, duckdb.BinderException):  # the table does not exist, or has other columns
        return 0
    value = str(rows[0][0]) if rows else ""
    return int(value) if value.isdecimal() and _has_attempts(con) else 0


def _has_attempts(con: DuckDBPyConnection) -> bool:
    """Whether the database has the table of attempts: other programs have a table or a view ``meta`` too."""
    import duckdb

    try:
        con.execute(f"SELECT rowid FROM {STORE}.attempts LIMIT 0")  # a list of tables takes ten times as long
    except (duckdb.CatalogException, duckdb.BinderException):  # a view has no rowid; version 1 named it tool_calls
        named = f"database_name = '{STORE}' AND table_name IN ('attempts', 'tool_calls')"
        return bool(con.execute(f"FROM duckdb_tables() WHERE {named} LIMIT 1").fetchall())
    return True


_OBJECTS: Final = {
    "table": "duckdb_tables()",
    "view": "(FROM duckdb_views() WHERE NOT internal)",
    "sequence": "duckdb_sequences()",
    "function": "(FROM duckdb_functions() WHERE NOT internal)",
}
"""DuckDB's list of each kind of object."""


def refuse_foreign(con: DuckDBPyConnection, location: str | os.PathLike[str]) -> None:
    """Raise StoreError where the database attached as ``store`` has objects of another program, and is not a store."""
    if version_of(con) > 0:
        return
    for kind, listing in _OBJECTS.items():
        name = f"{kind}_name"
        found = con.execute(
            f"SELECT DISTINCT {name} FROM {listing} WHERE database_name = ? ORDER BY {name} LIMIT 4", [STORE]
        ).fetchall()
        if found:
            names = ", ".join(repr(each) for (each,) in found[:3]) + (", …" if len(found) > 3 else "")
            raise foreign(location, f"a DuckDB database of another program ({kind}s {names})")


def check(version: int, location: str, *, newest: int = SCHEMA_VERSION) -> None:
    """Raise StoreError where ``version``, that of the store at ``location``, is newer than ``newest``."""
    if version > newest:
        raise StoreError(
            f"the store {location} has schema version {version}: this version of tooltrace supports versions up to {newest}; "
            "upgrade tooltrace; the store was not changed"
        )


def checked_version(con: DuckDBPyConnection, location: str, *, newest: int = SCHEMA_VERSION) -> int:
    """Return the schema version of the database attached as ``store``; 0 where it is empty.

    Raises StoreError where the version is newer than ``newest``, and for the database of another program.
    """
    version = version_of(con)
    check(version, location, newest=newest)
    if version == 0:
        refuse_foreign(con, location)
    return version


def migrate(
    con: DuckDBPyConnection,
    location: str,
    *,
    steps: Mapping[int, Step] = STEPS,
    newest: int = SCHEMA_VERSION,
) -> int:
    """Bring the database attached as ``store`` to version ``newest``; return the number of steps taken.

    Views and macros from another tooltrace version are replaced: they contain no data and need no new schema version. So
    are the numbers of calls and clusters from another version of DuckDB.
    Raises StoreError for a newer schema version and for the database of another program, and leaves it unchanged. Where a step fails, all are rolled back.
    """
    version = checked_version(con, location, newest=newest)
    if version == newest:
        if newest == SCHEMA_VERSION and not hashes.are_current(con):
            _in_transaction(con, hashes.refresh)
        if newest == SCHEMA_VERSION and not has_current_views(con):
            _in_transaction(con, create_views_and_comments)
        return 0
    if version == 0:
        _in_transaction(con, create)
        return 1
    _in_transaction(con, partial(_migrate, version=version, newest=newest, steps=steps))
    return newest - version


def _migrate(con: DuckDBPyConnection, *, version: int, newest: int, steps: Mapping[int, Step]) -> None:
    for target in range(version + 1, newest + 1):
        steps[target](con)
    con.execute(f"UPDATE {STORE}.meta SET value = ? WHERE key = 'schema_version'", [str(newest)])
    if not hashes.are_current(con):  # a step from version 8 on need not compute them again
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
