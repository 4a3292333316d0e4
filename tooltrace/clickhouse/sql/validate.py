"""Refusal of SQL that is not a query, or that would silently mean something else in ClickHouse."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cache
from typing import Final

import sqlglot
from sqlglot import exp

from tooltrace.clickhouse.sql.functions import CODED, FUNCTIONS, OPTIONAL, TYPES
from tooltrace.clickhouse.sql.parser import parse
from tooltrace.clickhouse.sql.scope import step_of
from tooltrace.errors import QueryError
from tooltrace.store.database.macros import MACROS, Macro

_WRITES: Final = (exp.DML, exp.DDL, exp.Command, exp.Into)
_PARTS: Final = frozenset(
    ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "DOY", "DOW", "ISODOW", "HOUR", "MINUTE", "SECOND")
)
_UNITS: Final = frozenset((*_PARTS, "MICROSECOND", "MILLISECOND"))
_TYPES: Final = frozenset(
    (*TYPES, "UTINYINT", "USMALLINT", "UINT", "UBIGINT", "INT128", "UINT128", "FLOAT", "DECIMAL", "ARRAY", "UUID")
)
_SERVER_FUNCTIONS: Final = ("Current", "Session")
_TIMES: Final = (exp.CurrentDate, exp.CurrentDatetime, exp.CurrentTime, exp.CurrentTimestamp)


def require_select(tree: exp.Expr) -> None:
    """Raise QueryError unless ``tree`` is one SELECT or DESCRIBE: a store is read-only, whatever its user's rights."""
    if not isinstance(tree, exp.Query | exp.Describe) or tree.find(*_WRITES):
        raise QueryError("the store is read-only here: pass one SELECT or DESCRIBE statement")


def require_translatable(tree: exp.Expr) -> None:
    """Raise QueryError for SQL without an equivalent in ClickHouse."""
    for call in tree.find_all(exp.Anonymous):
        _require_arguments(call)
        if call.name.lower() in ("microsecond", "millisecond"):
            raise _refusal(call.name, "ClickHouse does not include the seconds; use epoch_us(…)")
    if tree.find(exp.Typeof):
        raise _refusal("typeof(…)", "types have other names; use DESCRIBE")
    for found in tree.find_all(exp.In):
        if found.args.get("field") is not None:
            raise _refusal("IN without a list", "it would name a table; use IN (SELECT …) or list_contains(…)")
    _require_times(tree)
    _require_words(tree)
    _require_names(tree)


def require_tables(tree: exp.Expr, known: Collection[str]) -> None:
    """Raise QueryError if ``tree`` reads anything but the tables ``known``.

    A name in a SELECT can make ClickHouse read files, other servers and other databases.
    """
    for table in tree.find_all(exp.Table):
        is_function = isinstance(table.this, exp.GenerateSeries) or table.this.name.lower() == "json_each"
        is_name = isinstance(table.this, exp.Identifier) and not table.db
        is_known = is_name and (table.name in known or step_of(table) is not None)
        if not (is_known or (is_function and not isinstance(table.this, exp.Identifier))):
            raise QueryError(f"only the tables of the store can be read here; got {table.sql()[:100]}")


def require_functions(tree: exp.Expr, known: Collection[str]) -> None:
    """Raise QueryError for an unknown function: some of ClickHouse's functions read more than their arguments."""
    for call in tree.find_all(exp.Anonymous):
        if call.name.lower() not in known:
            raise QueryError(f"the function {call.name}() is not available here")
    for function in tree.find_all(exp.Func):
        # sqlglot has a class for each of these functions, so the class tells that it is one.
        if type(function).__name__.startswith(_SERVER_FUNCTIONS) and not isinstance(function, _TIMES):
            raise QueryError(f"{function.sql('duckdb')} is not available here, because it describes the server")


def _require_arguments(call: exp.Anonymous) -> None:
    """Refuse a wrong number of arguments: the template would drop additional ones."""
    name, count = str(call.this).lower(), len(call.expressions)
    if name in CODED:
        least, most = CODED[name]
        if count < least or (most is not None and count > most):
            numbers = f"{least} or more" if most is None else f"{least} to {most}" if most > least else f"{least}"
            raise _refusal(f"{name} with {count} arguments", f"pass {numbers}")
    if name not in FUNCTIONS:
        return
    allowed = {len(set(re.findall(r"\{\d\}", FUNCTIONS[name])))} | set(OPTIONAL.get(name, ()))
    if count not in allowed:
        raise _refusal(f"{name} with {count} arguments", f"pass {' or '.join(map(str, sorted(allowed)))}")


def _require_times(tree: exp.Expr) -> None:
    for zoned in tree.find_all(exp.AtTimeZone):
        if not isinstance(zoned.this, exp.CurrentTimestamp):
            raise _refusal("AT TIME ZONE", "times are UTC; add an INTERVAL")
    for part in tree.find_all(exp.Extract):
        if part.name.upper() not in _PARTS:
            raise _refusal(f"extract({part.name.lower()} …)", "use epoch_us(…)")
    for between in tree.find_all(exp.DateDiff):
        if str(between.args.get("unit") or "").upper().startswith("WEEK"):
            raise _refusal("date_diff('week', …)", "weeks start on another day; divide days by 7")


def _require_words(tree: exp.Expr) -> None:
    """Refuse unknown types and units, which are written as parsed."""
    for kind in tree.find_all(exp.DataType):
        if getattr(kind.this, "name", "") not in _TYPES:
            raise _refusal(f"the type {kind.sql('duckdb')[:100]}", "use VARCHAR, DOUBLE, BIGINT or TIMESTAMP")
    for word in tree.find_all(exp.Var):
        unit = word.arg_key == "unit"
        if not re.fullmatch(r"\w+", word.name) or (unit and word.name.upper().removesuffix("S") not in _UNITS):
            raise _refusal(f"the unit {word.name[:100]}", "use year, month, week, day, hour, minute or second")


def _require_names(tree: exp.Expr) -> None:
    """Refuse two result columns with the same name: one would be lost."""
    aliases = [item.alias_or_name for item in getattr(tree, "selects", ()) if not item.is_star and item.alias_or_name]
    for name in aliases:
        if aliases.count(name) > 1:
            raise QueryError(f"two columns of the result are called {name}: rename one with AS")


def _refusal(what: str, instead: str) -> QueryError:
    return QueryError(f"cannot translate to ClickHouse SQL with the same meaning: {what}; {instead}")


_BY_NAME: Final = {macro.name: macro for macro in MACROS}


MACRO_NAMES: Final = frozenset(_BY_NAME)


def inline_macros(tree: exp.Expr) -> exp.Expr:
    """Replace each use of a macro in ``tree`` by its body. Raises QueryError for a wrong number of arguments."""
    used = [call for call in tree.find_all(exp.Anonymous) if call.name.lower() in _BY_NAME]
    for call in reversed(used):  # find_all yields a nested call after the call around it: innermost first
        body = _expanded(_BY_NAME[call.name.lower()], call.expressions)
        if call is tree:
            return body
        call.replace(body)
    return tree


def _expanded(macro: Macro, arguments: list[exp.Expr]) -> exp.Expr:
    if len(arguments) != len(macro.parameters):
        names = ", ".join(macro.parameters)
        raise QueryError(f"{macro.name} needs {len(macro.parameters)} arguments ({names}); got {len(arguments)}")
    body = exp.paren(_body(macro))
    _replace_columns(body, dict(zip(macro.parameters, arguments, strict=True)))
    return body


def _replace_columns(body: exp.Expr, values: dict[str, exp.Expr]) -> None:
    """Replace the columns in ``body`` that ``values`` has."""
    for column in list(body.find_all(exp.Column)):
        if column.name in values:
            column.replace(_grouped(values[column.name]))


def _grouped(argument: exp.Expr) -> exp.Expr:
    """Return a copy of ``argument`` in parentheses if an operator around it could split it."""
    is_atomic = isinstance(argument, exp.Column | exp.Literal | exp.Paren | exp.Anonymous)
    return argument.copy() if is_atomic else exp.paren(argument)


@cache
def _body(macro: Macro) -> exp.Expr:
    """Return the body of ``macro`` for ClickHouse, with the macros inside it expanded."""
    if macro.clickhouse is not None:
        return inline_macros(sqlglot.parse_one(macro.clickhouse, read="clickhouse"))
    return inline_macros(exp.paren(parse(macro.body)))
