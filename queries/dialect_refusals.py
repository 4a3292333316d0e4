"""What is not put to ClickHouse: what is no question, and what would mean something else there without a word."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from sqlglot import exp

from tooltrace.errors import QueryError
from tooltrace.queries.dialect_table import FUNCTIONS, OPTIONAL

_WRITES: Final = (exp.DML, exp.DDL, exp.Command, exp.Into)
_PARTS: Final = frozenset(
    ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "DOY", "DOW", "ISODOW", "HOUR", "MINUTE", "SECOND")
)


def require_question(tree: exp.Expr) -> None:
    """Raise QueryError unless ``tree`` is one SELECT, or DESCRIBE: a store is only read, whatever its user may do."""
    if not isinstance(tree, exp.Query | exp.Describe) or tree.find(*_WRITES):
        raise QueryError(
            "one SELECT is answered here, and nothing that writes or changes the server; nothing was asked"
        )


def require_sayable(tree: exp.Expr) -> None:
    """Raise QueryError for what has no words in ClickHouse that mean the same."""
    for call in tree.find_all(exp.Anonymous):
        _require_arguments(call)
    for zoned in tree.find_all(exp.AtTimeZone):
        if not isinstance(zoned.this, exp.CurrentTimestamp):
            raise _refusal("AT TIME ZONE", "times are UTC; add an INTERVAL")
    for part in tree.find_all(exp.Extract):
        if part.name.upper() not in _PARTS:
            raise _refusal(f"extract({part.name.lower()} …)", "epoch_us(…) has the whole of a time")
    _require_names(tree)


def require_tables(tree: exp.Expr, known: Collection[str]) -> None:
    """Raise QueryError for what reads anything but the tables that are ``known``: ClickHouse can be made to read
    files, other servers and other databases by a name in a SELECT."""
    steps = {step.alias for step in tree.find_all(exp.CTE)}
    for table in tree.find_all(exp.Table):
        made = isinstance(table.this, exp.GenerateSeries) or table.this.name.lower() == "json_each"
        named = isinstance(table.this, exp.Identifier) and not table.db and table.name in {*known, *steps}
        if not (named or (made and not isinstance(table.this, exp.Identifier))):
            raise QueryError(f"only the tables of the store are asked here, not {table.sql()[:100]}; nothing was asked")
    if tree.find(exp.In) and any(isinstance(found.args.get("field"), exp.Column) for found in tree.find_all(exp.In)):
        raise _refusal("IN without a list", "it would name a table; write IN (SELECT …), or list_contains(…)")


def require_functions(tree: exp.Expr, known: Collection[str]) -> None:
    """Raise QueryError for a function that nobody here knows: some of ClickHouse's read more than their arguments."""
    for call in tree.find_all(exp.Anonymous):
        if call.name.lower() not in known:
            raise QueryError(f"there is no function {call.name}() to be asked here; nothing was asked")


def _require_arguments(call: exp.Anonymous) -> None:
    """A template says how many arguments it takes; what is beyond would be left out."""
    name, given = str(call.this).lower(), len(call.expressions)
    if name not in FUNCTIONS:
        return
    takes = {len(set(re.findall(r"\{\d\}", FUNCTIONS[name])))} | set(OPTIONAL.get(name, ()))
    if given not in takes:
        raise _refusal(f"{name} with {given} arguments", f"it takes {' or '.join(map(str, sorted(takes)))} here")


def _require_names(tree: exp.Expr) -> None:
    """Of two columns of the answer with one name, one would be left out."""
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
