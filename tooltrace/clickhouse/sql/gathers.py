"""ClickHouse's SQL of queries that gather and of views: sqlglot's own translation, and what it would translate wrongly.

They filter, group, count and add up. What sqlglot 30.30 writes wrongly in them is in two tables and one function here:
functions that ClickHouse does not have under the name, and those that differ in NULL, in microseconds, in the sign of a
count, or in characters beyond ASCII.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any, Final

import sqlglot
from sqlglot import exp
from sqlglot.dialects.clickhouse import ClickHouse
from sqlglot.errors import ErrorLevel, SqlglotError

from tooltrace.clickhouse.sql import rewrites
from tooltrace.clickhouse.sql.functions import FIRST_VALUES, HALF_AWAY, TYPES
from tooltrace.clickhouse.sql.literals import replace_parameters
from tooltrace.errors import QueryError
from tooltrace.store.database.macros import MACROS, Macro

_MACROS: Final = {macro.name: macro for macro in MACROS}
_MICROSECONDS: Final = "toUnixTimestamp64Micro(toDateTime64({0}, 6, 'UTC'))"
_CLASSES: Final[Mapping[type[exp.Expr], str]] = {
    exp.FirstValue: "first_value({0}) RESPECT NULLS",
    exp.IntDiv: "intDiv({0}, {1})",
    exp.LastValue: "last_value({0}) RESPECT NULLS",
    exp.Left: "leftUTF8({0}, {1})",
    exp.Length: "lengthUTF8({0})",
    exp.LogicalAnd: "min({0})",
    exp.LogicalOr: "max({0})",
    exp.Lower: "lowerUTF8({0})",
    exp.Median: "quantileExactInclusive(0.5)({0})",
    exp.RegexpLike: "match({0}, concat('(?-s)', {1}))",
    exp.TimeToUnix: f"{_MICROSECONDS} / 1e6",
    exp.TryCast: "toFloat64OrNull(trimBoth(toString({0})))",
    exp.UnixToTime: "fromUnixTimestamp64Micro({0}, 'UTC')",
    exp.Upper: "upperUTF8({0})",
}
"""ClickHouse's text of what sqlglot knows; ``{0}`` and ``{1}`` are its operands."""
_SAID: Final = frozenset(("this", "expression", "safe", "scale", "to"))
"""The parts that such a text has, or implies; a call with another one is refused."""
_NAMES: Final = {
    "arg_max_null": "tupleElement(argMax(tuple({0}), {1}), 1)",
    "epoch_us": _MICROSECONDS,
    "hash": "reinterpretAsInt64(sipHash64(tuple({all})))",
    "row": "tuple({all})",
    "starts_with": "startsWith({0}, {1})",
    "strlen": "length({0})",
    "to_microseconds": "toIntervalMicrosecond({0})",
}
"""The same of what it does not know; ``{all}`` are all arguments."""


def gather_sql(sql: str, values: Mapping[str, Any] | None = None, *, database: str | None = None) -> str:
    """Return ``sql`` for ClickHouse, with ``values`` in place of its parameters. ``database``: of its tables.

    Raises QueryError.
    """
    try:
        tree = _parsed(sql).copy()
        replace_parameters(tree, values or {})
        return _Writer().write(_prepared(tree, database))
    except SqlglotError as error:
        raise QueryError(f"cannot translate to ClickHouse SQL: {error}") from error


@lru_cache(maxsize=256)
def _parsed(sql: str) -> exp.Expr:
    return sqlglot.parse_one(sql, read="duckdb")


def _prepared(tree: exp.Expr, database: str | None) -> exp.Expr:
    rewrites.find_repeated_calls(tree)
    for star in tree.find_all(exp.Star):
        star.set("except_", [one for one in star.args.get("except_") or () if one.name not in rewrites.HASHES] or None)
    tree = _inlined(rewrites.compute_hashes(tree))
    rewrites.resolve_order_by_aliases(tree)
    for step in tree.find_all(exp.CTE):
        step.set("materialized", None)
    for select in tree.find_all(exp.Select):  # ClickHouse would name a column of two tables ``t.name``
        select.set("expressions", [_named(item) for item in select.expressions])
    if database is not None:
        rewrites.qualify_tables(tree, database)
    return tree


def _named(item: exp.Expr) -> exp.Expr:
    is_qualified = isinstance(item, exp.Column) and item.table and not item.is_star
    return exp.alias_(item, item.name, quoted=True) if is_qualified else item


def _inlined(tree: exp.Expr) -> exp.Expr:
    """Replace each use of a macro by its body."""
    used = [call for call in tree.find_all(exp.Anonymous) if call.name.lower() in _MACROS]
    for call in reversed(used):
        macro = _MACROS[call.name.lower()]
        body = _with_values(_body(macro).copy(), dict(zip(macro.parameters, call.expressions, strict=True)))
        if call is tree:
            return body
        call.replace(body)
    return tree


@cache
def _body(macro: Macro) -> exp.Expr:
    if macro.clickhouse is not None:
        return exp.paren(_inlined(sqlglot.parse_one(macro.clickhouse, read="clickhouse")))
    return _inlined(exp.paren(sqlglot.parse_one(macro.body, read="duckdb")))


def _with_values(body: exp.Expr, values: Mapping[str, exp.Expr]) -> exp.Expr:
    for column in list(body.find_all(exp.Column)):
        if column.name in values:
            column.replace(exp.paren(values[column.name]))
    return body


class _Writer:
    """Writes one tree: innermost first, each part of the tables as text, and sqlglot the rest around it."""

    def __init__(self) -> None:
        self._generator = ClickHouse().generator(comments=False, unsupported_level=ErrorLevel.IMMEDIATE)

    def write(self, tree: exp.Expr) -> str:
        for node in reversed(list(tree.walk())):
            text = self._text(node)
            if text is None:
                continue
            if node is tree:
                return text
            node.replace(exp.Var(this=text))
        return str(self._generator.generate(tree, copy=False))

    def _sql(self, node: Any) -> str:
        return str(self._generator.sql(node))

    def _text(self, node: exp.Expr) -> str | None:
        if isinstance(node, exp.FirstValue | exp.LastValue) and isinstance(node.parent, exp.IgnoreNulls):
            return None
        if type(node) in _CLASSES:
            lost = sorted(key for key, value in node.args.items() if value and key not in _SAID)
            if lost:
                raise QueryError(f"cannot translate to ClickHouse SQL: {node.sql('duckdb')}, for its {', '.join(lost)}")
            return _CLASSES[type(node)].format(self._sql(node.this), self._sql(node.args.get("expression")))
        if isinstance(node, exp.Anonymous) and node.name.lower() in _NAMES:
            arguments = list(map(self._sql, node.expressions))
            is_filtered = isinstance(node.parent, exp.Filter) and node.name.lower() == "arg_max_null"
            return None if is_filtered else _NAMES[node.name.lower()].format(*arguments, all=", ".join(arguments))
        return self._aggregate(node) or self._scalar(node) or self._of_text(node)

    def _aggregate(self, node: exp.Expr) -> str | None:
        """Write counts with a sign, as those of DuckDB; with FILTER or OVER, the sign is of the whole."""
        inside = isinstance(node.parent, exp.Filter | exp.Window)
        match node:
            case exp.Filter(this=exp.Anonymous()) if node.this.name.lower() == "arg_max_null":
                value, at = map(self._sql, node.this.expressions)
                return f"tupleElement(argMax(tuple({value}), {at}) FILTER({self._sql(node.expression).strip()}), 1)"
            case exp.Count() | exp.Filter(this=exp.Count()) if not inside:
                return f"toInt64({self._sql(node)})"
            case exp.Window(this=exp.Count() | exp.RowNumber() | exp.Filter(this=exp.Count())):
                return f"toInt64({self._sql(node)})"
            case exp.ArgMin() if node.args.get("count") is not None:
                return FIRST_VALUES.format(*map(self._sql, (node.this, node.expression, node.args["count"])))
            case exp.PercentileCont():
                return self._percentiles(node)
        return None

    def _scalar(self, node: exp.Expr) -> str | None:
        match node:
            case exp.Lag() | exp.Lead():  # for a type without NULL, the row before the first would be 0
                far = "" if node.args.get("offset") is None else f", {self._sql(node.args['offset'])}"
                return f"{type(node).__name__.lower()}(toNullable({self._sql(node.this)}){far})"
            case exp.Round():
                places = node.args.get("decimals")
                scale = f"1e{0 if places is None else self._sql(places)}"
                return f"{HALF_AWAY.format(f'({self._sql(node.this)}) * {scale}')} / {scale}"
            case exp.AtTimeZone(this=exp.CurrentTimestamp()):
                return "now64(6, 'UTC')"
            case exp.TimestampTrunc():
                return f"CAST(dateTrunc('{node.args['unit'].name}', {self._sql(node.this)}) AS {TYPES['TIMESTAMPNTZ']})"
            case exp.Cast() if (kind := TYPES.get(node.to.this.name)) is not None:
                value = self._sql(node.this)
                # DuckDB rounds, and refuses what the type cannot hold
                return f"accurateCast(round({value}), '{kind}')" if "(Int" in kind else f"CAST({value} AS {kind})"
        return None

    def _of_text(self, node: exp.Expr) -> str | None:
        match node:
            case exp.StrPosition():
                return f"positionUTF8({self._sql(node.this)}, {self._sql(node.args['substr'])})"
            case exp.Substring():
                parts = (node.this, node.args.get("start"), node.args.get("length"))
                return f"substringUTF8({', '.join(self._sql(part) for part in parts if part is not None)})"
            case exp.RegexpReplace():
                name = "replaceRegexpAll" if "g" in self._sql(node.args.get("modifiers")) else "replaceRegexpOne"
                text, pattern, to = (self._sql(part) for part in (node.this, node.expression, node.args["replacement"]))
                return f"{name}({text}, concat('(?-s)', {pattern}), {to})"
            case exp.JSONExtract() if node.expression.find(exp.JSONPathWildcard):
                return f"JSONExtractArrayRaw(ifNull({self._sql(node.this)}, '[]'))"
            case exp.JSONExtractScalar():
                return self._json_text(node)
        return None

    def _percentiles(self, node: exp.PercentileCont) -> str:
        of = self._sql(node.this)
        if isinstance(node.expression, exp.Array):
            levels = map(self._sql, node.expression.expressions)
            return f"[{', '.join(f'quantileExactInclusive({level})({of})' for level in levels)}]"
        return f"quantileExactInclusive({self._sql(node.expression)})({of})"

    def _json_text(self, node: exp.JSONExtractScalar) -> str:
        """Write a member as text: NULL if it is missing or null, a string without quotes, any other value as written."""
        path = node.expression
        keys = (
            [str(part.this) for part in path.expressions[1:]]
            if isinstance(path, exp.JSONPath)
            else [key.replace("~1", "/").replace("~0", "~") for key in path.name.removeprefix("/").split("/")]
        )
        at = ", ".join(
            [f"ifNull({self._sql(node.this)}, '')", *(exp.Literal.string(key).sql("clickhouse") for key in keys)]
        )
        return (
            f"if(JSONType({at}) = 'String', JSONExtractString({at}), nullIf(nullIf(JSONExtractRaw({at}), 'null'), ''))"
        )
