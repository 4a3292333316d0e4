"""Translation of a user's SQL, and of queries with chains of steps, for ClickHouse. Each query has one text, in DuckDB's SQL.

:mod:`tooltrace.clickhouse.sql.gathers` translates queries that gather, and views.

sqlglot parses and writes the SQL; :mod:`tooltrace.clickhouse.sql.functions` has what sqlglot would translate wrongly.
Needs the extra ``clickhouse``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sqlglot import exp
from sqlglot.errors import SqlglotError

from tooltrace.clickhouse.attribute_sql import quote_identifier
from tooltrace.clickhouse.sql import rewrites, validate
from tooltrace.clickhouse.sql.functions import TRANSLATED, UNCHANGED
from tooltrace.clickhouse.sql.generator import to_sql
from tooltrace.clickhouse.sql.literals import replace_parameters
from tooltrace.clickhouse.sql.parser import parse
from tooltrace.clickhouse.sql.rewrites import TempTable
from tooltrace.clickhouse.sql.scope import rename_steps
from tooltrace.clickhouse.sql.validate import MACRO_NAMES, inline_macros
from tooltrace.errors import QueryError
from tooltrace.store.database.macros import without_definitions


@dataclass(frozen=True, slots=True)
class TranslatedQuery:
    """A query in ClickHouse's SQL: its temporary tables in order, and the query itself."""

    temp_tables: tuple[TempTable, ...]
    select: str
    steps: frozenset[str] = frozenset()
    """Names of the query's own steps."""

    def __str__(self) -> str:
        statements = [*map(create_temp_table, self.temp_tables), self.select]
        return ";\n".join(statements)


def create_temp_table(table: TempTable) -> str:
    """Return the statement that stores the rows of ``table`` for this session."""
    return f"CREATE TEMPORARY TABLE {quote_identifier(table.name)} ENGINE = Memory AS {table.sql}"


def drop_temp_table(name: str) -> str:
    """Return the statement that drops the table."""
    return f"DROP TEMPORARY TABLE IF EXISTS {quote_identifier(name)}"


def to_clickhouse(
    sql: str, values: Mapping[str, Any] | None = None, *, only: Collection[str] | None = None
) -> TranslatedQuery:
    """Translate DuckDB's ``sql`` for ClickHouse, with ``values`` in place of its ``$name`` parameters.

    ``only``: the tables that it may read; only functions that the translation knows are then allowed. Raises
    QueryError.
    """
    try:
        return _script(sql, values or {}, only)
    except RecursionError as error:
        raise QueryError("cannot translate to ClickHouse SQL: the SQL is nested too deeply") from error


def _script(sql: str, values: Mapping[str, Any], only: Collection[str] | None) -> TranslatedQuery:
    # A copy, because the parsed tree is cached and the rewrites change it.
    tree = _parsed(without_definitions(sql)).copy()
    replace_parameters(tree, values)
    validate.require_select(tree)
    validate.require_translatable(tree)
    rewrites.find_repeated_calls(tree)
    if only is not None:
        validate.require_tables(tree, only)
        validate.require_functions(tree, TRANSLATED | UNCHANGED | MACRO_NAMES)
    # After the checks: the bodies of macros use functions of ClickHouse that a user may not call.
    tree = inline_macros(rewrites.compute_hashes(tree))
    rename_steps(tree, rewrites.known_tables())
    try:
        rewrites.resolve_order_by_aliases(tree)
        rewrites.escape_like_backslashes(tree)
        # Before the aliases, which expand ``t.*`` by the columns of the table that remains.
        rewrites.drop_unused_messages_join(tree)
        rewrites.alias_joined_columns(tree)
        rewrites.unnest_to_array_join(tree, to_sql)
        # The names are collected before the steps become temporary tables.
        steps = frozenset(step.alias for step in tree.find_all(exp.CTE))
        temp_tables = rewrites.extract_temp_tables(tree, to_sql)
        return TranslatedQuery(temp_tables, to_sql(tree), steps)
    except SqlglotError as error:
        raise QueryError(f"cannot translate to ClickHouse SQL: {error}") from error


@lru_cache(maxsize=256)
def _parsed(sql: str) -> rewrites.Node:
    try:
        return parse(sql)
    except SqlglotError as error:
        raise QueryError(f"cannot parse the SQL: {error}") from error
