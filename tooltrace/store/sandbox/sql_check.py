"""The check of SQL in the sandbox: exactly one statement, which reads."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import duckdb

from tooltrace.errors import QueryError
from tooltrace.store.database.macros import without_definitions

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_EXPLAIN = re.compile(
    r"\s*(?:(?:--[^\n]*\n|/\*.*?\*/)\s*)*explain\b\s*(?:analyze\b|\([^)]*\))?", re.IGNORECASE | re.DOTALL
)
_READS = "SELECT, WITH, FROM, VALUES, DESCRIBE, SUMMARIZE or EXPLAIN of one of these"


def checked(con: DuckDBPyConnection, sql: str) -> str:
    """Return the single reading statement of ``sql``. Raises QueryError for anything else.

    The macro definitions that ``tooltrace query --explain`` prints before the SQL are removed: the reading connection
    already has the macros.
    """
    statement = _only(con, without_definitions(sql))
    kind = _kind(statement)
    if kind == duckdb.StatementType.EXPLAIN:
        inner = _only(con, _EXPLAIN.sub("", statement.query, count=1))
        if _kind(inner) != duckdb.StatementType.SELECT:
            raise QueryError(f"EXPLAIN of {_name(inner)} is not allowed: use {_READS}")
    elif kind != duckdb.StatementType.SELECT:
        raise QueryError(f"{_name(statement)} is not allowed, because the store is read-only here: use {_READS}")
    if statement.named_parameters:
        missing = ", ".join(f"${name}" for name in sorted(statement.named_parameters))
        raise QueryError(f"the statement has parameters without a value ({missing}): write values in their place")
    return statement.query.strip().rstrip(";")


def _only(con: DuckDBPyConnection, sql: str) -> duckdb.Statement:
    try:
        statements = con.extract_statements(sql)
    except duckdb.Error as error:
        raise QueryError(str(error).strip()) from error
    if len(statements) != 1:
        raise QueryError(f"pass exactly one statement; got {len(statements)}")
    return statements[0]


def _kind(statement: duckdb.Statement) -> duckdb.StatementType | None:
    """Return the kind of a statement; None for a kind that DuckDB's Python package does not name."""
    try:
        return statement.type
    except ValueError:
        return None


def _name(statement: duckdb.Statement) -> str:
    kind = _kind(statement)
    return "a statement of this kind" if kind is None else str(kind).rpartition(".")[2].replace("_", " ")
