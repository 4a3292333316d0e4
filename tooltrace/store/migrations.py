"""Migrations from any older schema to the current one: forward, in order, each in its own transaction."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from tooltrace.errors import StoreError
from tooltrace.store import schema

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Step = Callable[["DuckDBPyConnection"], None]


def _to_2(con: DuckDBPyConnection) -> None:
    """Migrate to version 2: add messages to the model, and one event each for a gate's question and answer.

    The tables ``tool_calls`` and ``gates`` get new names; views over these tables take the old names.
    """
    for view in ("calls", "sources"):
        con.execute(f"DROP VIEW IF EXISTS {schema.STORE}.{view}")
    con.execute(f"ALTER TABLE {schema.STORE}.tool_calls RENAME TO attempts")
    con.execute(f"ALTER TABLE {schema.STORE}.gates RENAME TO gate_events")
    con.execute(
        f"CREATE TABLE {schema.STORE}.messages (call_id VARCHAR NOT NULL, span_id VARCHAR, style VARCHAR, "
        '"text" VARCHAR, sha256 VARCHAR NOT NULL, "length" BIGINT NOT NULL, "error" BOOLEAN NOT NULL, '
        '"at" TIMESTAMP NOT NULL)'
    )


def _to_3(con: DuckDBPyConnection) -> None:
    """Migrate to version 3: add the spans around the calls."""
    con.execute(
        f"CREATE TABLE {schema.STORE}.spans (trace_id VARCHAR NOT NULL, span_id VARCHAR NOT NULL, "
        'parent_span_id VARCHAR, "name" VARCHAR NOT NULL, span_kind VARCHAR, started_at TIMESTAMP NOT NULL, '
        'duration_ms DOUBLE, status VARCHAR, status_message VARCHAR, "attributes" JSON, events JSON, links JSON, '
        "scope VARCHAR, scope_version VARCHAR, service VARCHAR, host VARCHAR, pid BIGINT)"
    )


STEPS: Final[Mapping[int, Step]] = MappingProxyType({2: _to_2, 3: _to_3})
"""The step that leads to each version: a function that migrates the database attached as ``store``.

A released step is never changed: it contains the schema of that version, not of the current code.
"""


def version_of(con: DuckDBPyConnection) -> int:
    """Return the schema version of the database attached as ``store``; 0 where it has no tooltrace schema."""
    import duckdb

    try:
        rows = con.execute(f"SELECT value FROM {schema.STORE}.meta WHERE key = 'schema_version'").fetchall()
    except duckdb.CatalogException:  # the table does not exist
        return 0
    return int(rows[0][0]) if rows else 0


def check(version: int, place: str, *, newest: int = schema.SCHEMA_VERSION) -> None:
    """Raise StoreError where ``version``, that of the store at ``place``, is newer than ``newest``."""
    if version > newest:
        raise StoreError(
            f"the store {place} has schema version {version}, this tooltrace knows up to {newest}: "
            "upgrade tooltrace; nothing was changed"
        )


def migrate(
    con: DuckDBPyConnection,
    place: str,
    *,
    steps: Mapping[int, Step] = STEPS,
    newest: int = schema.SCHEMA_VERSION,
) -> int:
    """Bring the database attached as ``store`` to version ``newest``; return the number of steps taken.

    Views and macros from another tooltrace version are replaced: they contain no data and need no new schema version.
    Raises StoreError for a newer schema version and leaves that database unchanged. A step that fails is rolled back.
    """
    version = version_of(con)
    check(version, place, newest=newest)
    if version == newest:
        if newest == schema.SCHEMA_VERSION and not schema.is_dressed(con):
            _in_transaction(con, schema.create_views_and_comments)
        return 0
    if version == 0:
        _in_transaction(con, schema.create)
        return 1
    for target in range(version + 1, newest + 1):
        _in_transaction(con, lambda con, target=target: _take(con, target, steps))  # type: ignore[misc]
    _in_transaction(con, schema.create_views_and_comments)
    return newest - version


def _take(con: DuckDBPyConnection, target: int, steps: Mapping[int, Step]) -> None:
    steps[target](con)
    con.execute(f"UPDATE {schema.STORE}.meta SET value = ? WHERE key = 'schema_version'", [str(target)])


def _in_transaction(con: DuckDBPyConnection, work: Step) -> None:
    con.execute("BEGIN")
    try:
        work(con)
    except BaseException:
        con.execute("ROLLBACK")
        raise
    con.execute("COMMIT")
