"""Refusal of SQL that is not a query, or that would silently mean something else in ClickHouse."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from sqlglot import exp

from tooltrace.clickhouse.sql.functions import FUNCTIONS, OPTIONAL, TYPES
from tooltrace.clickhouse.sql.scope import step_of
from tooltrace.errors import QueryError

_WRITES: Final = (exp.DML, exp.DDL, exp.Command, exp.Into)
_PARTS: Final = frozenset(
    ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "DOY", "DOW", "ISODOW", "HOUR", "MINUTE", "SECOND")
)
_UNITS: Final = frozenset((*_PARTS, "MICROSECOND", "MILLISECOND"))
_TYPES: Final = frozenset(
    (*TYPES, "UTINYINT", "USMALLINT", "UINT", "UBIGINT", "INT128", "UINT128", "FLOAT", "DECIMAL", "ARRAY", "UUID")
)
_OF_THE_SERVER: Final = ("Current", "Session")
_TIMES: Final = (exp.CurrentDate, exp.CurrentDatetime, exp.CurrentTime, exp.CurrentTimestamp)


def require_select(tree: exp.Expr) -> None:
    """Raise QueryError unless ``tree`` is one SELECT or DESCRIBE: a store is read-only, whatever its user's rights."""
    if not isinstance(tree, exp.Query | exp.Describe) or tree.find(*_WRITES):
        raise QueryError(
            "one SELECT is answered here, and nothing that writes or changes the server; nothing was asked"
        )


def require_translatable(tree: exp.Expr) -> None:
    """Raise QueryError for SQL without an equivalent in ClickHouse."""
    for call in tree.find_all(exp.Anonymous):
        _require_arguments(call)
        if call.name.lower() in ("microsecond", "millisecond"):
            raise _refusal(call.name, "there the seconds are no part of it; epoch_us(…) has the whole of a time")
    if tree.find(exp.Typeof):
        raise _refusal("typeof(…)", "types have other names; DESCRIBE tells the columns'")
    for found in tree.find_all(exp.In):
        if found.args.get("field") is not None:
            raise _refusal("IN without a list", "it would name a table; write IN (SELECT …), or list_contains(…)")
    _require_times(tree)
    _require_words(tree)
    _require_names(tree)


def require_tables(tree: exp.Expr, known: Collection[str]) -> None:
    """Raise QueryError if ``tree`` reads anything but the tables ``known``.

    A name in a SELECT can make ClickHouse read files, other servers and other databases.
    """
    for table in tree.find_all(exp.Table):
        made = isinstance(table.this, exp.GenerateSeries) or table.this.name.lower() == "json_each"
        plain = isinstance(table.this, exp.Identifier) and not table.db
        named = plain and (table.name in known or step_of(table) is not None)
        if not (named or (made and not isinstance(table.this, exp.Identifier))):
            raise QueryError(f"only the tables of the store are asked here, not {table.sql()[:100]}; nothing was asked")


def require_functions(tree: exp.Expr, known: Collection[str]) -> None:
    """Raise QueryError for an unknown function: some of ClickHouse's functions read more than their arguments."""
    for call in tree.find_all(exp.Anonymous):
        if call.name.lower() not in known:
            raise QueryError(f"there is no function {call.name}() to be asked here; nothing was asked")
    for told in tree.find_all(exp.Func):
        if type(told).__name__.startswith(_OF_THE_SERVER) and not isinstance(told, _TIMES):
            raise QueryError(f"{told.sql('duckdb')} tells of the server, not of the store; nothing was asked")


def _require_arguments(call: exp.Anonymous) -> None:
    """Refuse a wrong number of arguments: the template would drop additional ones."""
    name, given = str(call.this).lower(), len(call.expressions)
    if name not in FUNCTIONS:
        return
    takes = {len(set(re.findall(r"\{\d\}", FUNCTIONS[name])))} | set(OPTIONAL.get(name, ()))
    if given not in takes:
        raise _refusal(f"{name} with {given} arguments", f"it takes {' or '.join(map(str, sorted(takes)))} here")


def _require_times(tree: exp.Expr) -> None:
    for zoned in tree.find_all(exp.AtTimeZone):
        if not isinstance(zoned.this, exp.CurrentTimestamp):
            raise _refusal("AT TIME ZONE", "times are UTC; add an INTERVAL")
    for part in tree.find_all(exp.Extract):
        if part.name.upper() not in _PARTS:
            raise _refusal(f"extract({part.name.lower()} …)", "epoch_us(…) has the whole of a time")
    for between in tree.find_all(exp.DateDiff):
        if str(between.args.get("unit") or "").upper().startswith("WEEK"):
            raise _refusal("date_diff('week', …)", "its weeks begin on another day; divide days by 7")


def _require_words(tree: exp.Expr) -> None:
    """Refuse unknown types and units, which are written as parsed."""
    for kind in tree.find_all(exp.DataType):
        if getattr(kind.this, "name", "") not in _TYPES:
            raise _refusal(f"the type {kind.sql('duckdb')[:100]}", "VARCHAR, DOUBLE, BIGINT and TIMESTAMP can be")
    for word in tree.find_all(exp.Var):
        unit = word.arg_key == "unit"
        if not re.fullmatch(r"\w+", word.name) or (unit and word.name.upper().removesuffix("S") not in _UNITS):
            raise _refusal(f"{word.name[:100]} there", "units are year, month, week, day, hour, minute, second")


def _require_names(tree: exp.Expr) -> None:
    """Refuse two result columns with the same name: one would be lost."""
    named = [item.alias_or_name for item in getattr(tree, "selects", ()) if not item.is_star and item.alias_or_name]
    for name in named:
        if named.count(name) > 1:
            raise QueryError(
                f"two columns of the answer are called {name}; give one another name with AS; nothing was asked"
            )


def _refusal(what: str, instead: str) -> QueryError:
    return QueryError(
        f"{what} cannot be said in ClickHouse's SQL so that it means the same: {instead}; nothing was asked"
    )
