"""Expansion of the queries' shared macros for ClickHouse, which has no macros."""

from __future__ import annotations

from functools import cache
from typing import Final

import sqlglot
from sqlglot import exp

from tooltrace.clickhouse.sql.parser import parse
from tooltrace.errors import QueryError
from tooltrace.store.database.macros import MACROS, Macro

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
