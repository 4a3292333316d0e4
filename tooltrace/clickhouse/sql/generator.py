"""Generation of ClickHouse's SQL from a tree of DuckDB's SQL.

sqlglot writes most of it. What it would write wrongly is written here, from the innermost part outwards: each such part of
the tree is replaced by its text, and sqlglot writes the rest around it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, ClassVar, Final

from sqlglot import exp
from sqlglot.dialects.clickhouse import ClickHouse
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import ErrorLevel

from tooltrace.clickhouse.sql import json_paths as json
from tooltrace.clickhouse.sql.functions import (
    FIRST_VALUES,
    FORMS,
    FUNCTIONS,
    HALF_AWAY,
    INTEGER_TYPES,
    OPTIONAL,
    TIMES,
    TRY_CAST,
    TYPES,
    VARIADIC,
)
from tooltrace.errors import QueryError

MAX_QUERY_LENGTH: Final = 262_144
"""Maximum characters of a translated query; the server accepts no longer one (``max_query_size``)."""
_COUNTS: Final = (exp.Count, exp.RowNumber, exp.DenseRank)
_KIND: Final = "kind"
"""Key in ``meta`` of a written part: the class of the node that it was."""
_ROUNDS: Final = "rounds"
"""Key in ``meta`` of a written part: whether ``round`` is called in it."""


def to_sql(tree: exp.Expr) -> str:
    """Return ``tree``, which this uses up, as ClickHouse's SQL.

    Raises SqlglotError, and QueryError for SQL that has no translation.
    """
    return _SqlWriter().write(tree)


class _SqlWriter:
    """Writes one tree."""

    def __init__(self) -> None:
        self._generator = ClickHouse().generator(comments=False, unsupported_level=ErrorLevel.IMMEDIATE)
        self._duckdb = DuckDB().generator(comments=False)

    def write(self, tree: exp.Expr) -> str:
        # find_all yields a part after the part around it: innermost first
        for node in reversed(list(tree.find_all(*self._WRITERS))):
            write = self._WRITERS.get(type(node))
            text = None if write is None else write(self, node)
            if text is None:
                continue
            part = _written(node, _checked(text))
            if node is tree:
                tree = part
            else:
                node.replace(part)
        return _checked(self._generator.generate(tree, copy=False))

    def _sql(self, node: exp.Expr, part: str | None = None) -> str:
        return str(self._generator.sql(node, part))

    def _anonymous(self, call: exp.Anonymous) -> str | None:
        name, arguments = str(call.this).lower(), [self._sql(argument) for argument in call.expressions]
        if name in FUNCTIONS:
            optional = OPTIONAL.get(name, {})
            return optional.get(len(arguments), FUNCTIONS[name]).format(*arguments)
        if name in VARIADIC:
            texts = map(self._text, call.expressions) if name == "concat" else arguments
            return VARIADIC[name].format(", ".join(texts))
        write = self._FUNCTIONS.get(name)
        return None if write is None else write(self, call, *arguments)

    def _text(self, node: exp.Expr) -> str:
        """Write text as DuckDB formats it: NULL is empty in ``concat``, a whole number as a double has ``.0``."""
        sql = self._sql(node)
        if node.is_string:
            return sql
        sql = f"replaceRegexpOne(toString({sql}), '^(-?\\\\d+)$', '\\\\1.0')" if _rounds(node) else f"toString({sql})"
        call = node.parent
        is_optional = isinstance(call, exp.Anonymous) and str(call.this).lower() == "concat_ws"
        return sql if is_optional else f"ifNull({sql}, '')"

    def _quantile_cont(self, call: exp.Anonymous, value: str, part: str) -> str:
        argument = call.expressions[1]
        if isinstance(argument, exp.Array):
            levels = map(self._sql, argument.expressions)
            return f"[{', '.join(f'quantileExactInclusive({level})({value})' for level in levels)}]"
        return f"quantileExactInclusive({part})({value})"

    def _round(self, _call: exp.Anonymous, value: str, places: str = "0") -> str:
        """Round halves away from zero, as DuckDB does; ClickHouse rounds them to even."""
        if places == "0":
            return HALF_AWAY.format(value)
        scale = f"1e{places}"
        return f"{HALF_AWAY.format(f'({value}) * {scale}')} / {scale}"

    def _arg_max_null(self, call: exp.Anonymous, value: str, at: str) -> str | None:
        if isinstance(call.parent, exp.Filter):
            return None  # the condition belongs inside: see _filter
        return f"tupleElement(argMax(tuple({value}), {at}), 1)"

    def _arg_min(self, first: exp.ArgMin) -> str | None:
        if first.args.get("count") is None:
            return None
        return FIRST_VALUES.format(*(self._sql(first, part) for part in ("this", "expression", "count")))

    def _concat_ws(self, call: exp.Anonymous, between: str, *_values: str) -> str:
        parts = ", ".join(map(self._text, call.expressions[1:]))
        return f"arrayStringConcat(arrayFilter(part -> part IS NOT NULL, [{parts}]), {between})"

    def _regexp_matches(self, call: exp.Anonymous, text: str, pattern: str, *_options: str) -> str:
        return f"match({text}, concat('{_flags(call.expressions[2:])}', {pattern}))"

    def _regexp_replace(self, call: exp.Anonymous, text: str, pattern: str, to: str, *_options: str) -> str:
        options = call.expressions[3:]
        name = "replaceRegexpAll" if options and "g" in options[0].name else "replaceRegexpOne"
        return f"{name}({text}, concat('{_flags(options)}', {pattern}), {to})"

    def _strftime(self, call: exp.Anonymous, moment: str, _form: str) -> str:
        argument = call.expressions[1]
        if not argument.is_string:
            raise QueryError("cannot translate to ClickHouse SQL: the format of strftime must be a literal")
        return f"formatDateTime({moment}, {self._sql(exp.Literal.string(_time_form(argument.name)))})"

    def _generate_series(self, series: exp.GenerateSeries) -> str:
        bounds = (self._sql(series, part) for part in ("start", "end", "step"))
        return f"generate_series({', '.join(filter(None, bounds))})"

    def _count(self, count: exp.Count) -> str | None:
        """Cast counts to signed, as in DuckDB.

        ClickHouse's unsigned type has no common type with negative values. A count with FILTER or OVER is cast with it.
        """
        return None if isinstance(count.parent, exp.Filter | exp.Window) else f"toInt64({self._sql(count)})"

    def _count_if(self, count: exp.CountIf) -> str:
        """Count true values; NULL when every input is NULL."""
        value = self._sql(count, "this")
        return f"if(count({value}) = 0, NULL, toInt64(countIf({value})))"

    def _filter(self, filtered: exp.Filter) -> str | None:
        call = filtered.this
        if isinstance(call, exp.Anonymous) and str(call.this).lower() == "arg_max_null":
            value, at = map(self._sql, call.expressions)
            return f"tupleElement(argMax(tuple({value}), {at}) FILTER({self._sql(filtered, 'expression').strip()}), 1)"
        is_count = isinstance(call, exp.Count) and not isinstance(filtered.parent, exp.Window)
        return f"toInt64({self._sql(filtered)})" if is_count else None

    def _window(self, window: exp.Window) -> str | None:
        counted = window.this.this if isinstance(window.this, exp.Filter) else window.this
        return f"toInt64({self._sql(window)})" if isinstance(counted, _COUNTS) else None

    def _last_value(self, value: exp.LastValue) -> str:
        return self._valued(value, "last_value")

    def _first_value(self, value: exp.FirstValue) -> str:
        return self._valued(value, "first_value")

    def _valued(self, value: exp.Expr, name: str) -> str:
        """Write a window value that respects NULLs by default, as DuckDB does; ClickHouse skips them."""
        is_explicit = isinstance(value.parent, exp.IgnoreNulls | exp.RespectNulls)
        return f"{name}({self._sql(value, 'this')}){'' if is_explicit else ' RESPECT NULLS'}"

    def _week(self, week: exp.Week) -> str:
        return f"toISOWeek({self._sql(week, 'this')})"

    def _timestamp_trunc(self, truncated: exp.TimestampTrunc) -> str:
        unit = str(truncated.args["unit"].name).upper()
        cut = f"dateTrunc('{unit}', {self._sql(truncated, 'this')})"
        return f"CAST({cut} AS {TYPES['TIMESTAMPNTZ']})" if unit in TIMES else cut

    def _at_time_zone(self, zoned: exp.AtTimeZone) -> str | None:
        return "now64(6, 'UTC')" if isinstance(zoned.this, exp.CurrentTimestamp) else None

    def _regexp_like(self, matched: exp.RegexpLike) -> str:
        return f"match({self._sql(matched, 'this')}, concat('(?-s)', {self._sql(matched, 'expression')}))"

    def _str_position(self, found: exp.StrPosition) -> str:
        return f"positionUTF8({self._sql(found, 'this')}, {self._sql(found, 'substr')})"

    def _array_contains(self, contains: exp.ArrayContains) -> str:
        sought = self._sql(contains, "expression")
        return f"if(isNull({sought}), NULL, has({self._sql(contains, 'this')}, {sought}))"

    def _in(self, found: exp.In) -> str:
        text = self._membership(found)
        return f"({text})" if isinstance(found.parent, exp.Not) else text  # sqlglot would set it in parentheses too

    def _membership(self, found: exp.In) -> str:
        """Write IN with DuckDB's NULL semantics: a value that is not found among values with a NULL is NULL.

        Computed items are compared with ``=``: ClickHouse would read a single name in the list as a table.
        """
        items = found.expressions
        if not all(map(_is_constant, items)):
            # exp.paren copies its argument
            same = [exp.EQ(this=exp.paren(found.this), expression=exp.paren(item)) for item in items]
            return self._sql(exp.paren(exp.or_(*same)))
        some = [item for item in items if not isinstance(item, exp.Null)]
        if len(some) < len(items):
            return f"nullIf({self._sql(found, 'this')} IN ({', '.join(map(self._sql, some)) or 'NULL'}), 0)"
        result = self._sql(found)
        # Only under NOT can a row depend on whether IN is false or NULL.
        if found.args.get("query") is None or not isinstance(found.find_ancestor(exp.Not, exp.Select), exp.Not):
            return result
        # The subquery has one column, whose name is not known here.
        unknown = f"SELECT max(isNull(COLUMNS('.*'))) FROM {self._sql(found, 'query')}"
        # IN is 0 or 1, so that 2 keeps it. The subquery is written twice only, because ClickHouse analyses each copy.
        return f"nullIf({result}, if(ifNull(({unknown}), 0) = 1, 0, 2))"

    def _json_text(self, member: exp.JSONExtractScalar) -> str:
        return json.text(self._sql(member, "this"), json.steps(member.expression))

    def _json(self, member: exp.JSONExtract) -> str:
        value = self._sql(member, "this")
        if json.is_every(member.expression):
            return f"JSONExtractArrayRaw(ifNull({value}, '[]'))"
        return json.raw(value, json.steps(member.expression))

    def _cast(self, cast: exp.Cast) -> str | None:
        kind = TYPES.get(self._duckdb.sql(cast.to).upper()) or TYPES.get(cast.to.this.name)
        if kind is None:
            return None
        value = self._sql(cast, "this")
        return _cast_to_integer(cast.this, value, kind) if kind in INTEGER_TYPES else f"CAST({value} AS {kind})"

    def _try_cast(self, cast: exp.TryCast) -> str:
        kind = cast.to.this.name
        if kind not in TRY_CAST:
            raise QueryError(f"cannot translate to ClickHouse SQL: TRY_CAST to {cast.to.sql('duckdb')}")
        return TRY_CAST[kind].format(f"toString({self._sql(cast, 'this')})")

    def _int_div(self, division: exp.IntDiv) -> str:
        return f"intDiv({self._sql(division, 'this')}, {self._sql(division, 'expression')})"

    _WRITERS: ClassVar[dict[type[exp.Expr], Callable[[_SqlWriter, Any], str | None]]] = {
        exp.Anonymous: _anonymous,
        exp.ArgMin: _arg_min,
        exp.ArrayContains: _array_contains,
        exp.AtTimeZone: _at_time_zone,
        exp.Cast: _cast,
        exp.Count: _count,
        exp.CountIf: _count_if,
        exp.Filter: _filter,
        exp.FirstValue: _first_value,
        exp.GenerateSeries: _generate_series,
        exp.In: _in,
        exp.IntDiv: _int_div,
        exp.JSONExtract: _json,
        exp.JSONExtractScalar: _json_text,
        exp.LastValue: _last_value,
        exp.RegexpLike: _regexp_like,
        exp.StrPosition: _str_position,
        exp.TimestampTrunc: _timestamp_trunc,
        exp.TryCast: _try_cast,
        exp.Week: _week,
        exp.Window: _window,
    }
    """The parts that are written here. A writer that returns None leaves the part to sqlglot."""
    _FUNCTIONS: ClassVar[dict[str, Callable[..., str | None]]] = {
        "arg_max_null": _arg_max_null,
        "concat_ws": _concat_ws,
        "quantile_cont": _quantile_cont,
        "regexp_matches": _regexp_matches,
        "regexp_replace": _regexp_replace,
        "round": _round,
        "strftime": _strftime,
    }
    """The functions that need more than a template."""


def _written(node: exp.Expr, text: str) -> exp.Var:
    """Return the text of ``node`` as a part of the tree."""
    part = exp.Var(this=text)
    part.meta.update({_KIND: type(node), _ROUNDS: _rounds(node)})
    return part


def _checked(text: str) -> str:
    if len(text) > MAX_QUERY_LENGTH:  # a template that repeats its argument doubles the text at each level
        raise QueryError(
            f"cannot translate to ClickHouse SQL: the result would be longer than {MAX_QUERY_LENGTH:,} characters"
        )
    return text


def _rounds(node: exp.Expr) -> bool:
    """Whether ``round`` is called in ``node``, of which parts are written already."""
    if isinstance(node, exp.Anonymous) and str(node.this).lower() == "round":
        return True
    return any(part.meta.get(_ROUNDS, False) for part in node.find_all(exp.Var))


def _is_constant(item: exp.Expr) -> bool:
    return not any(
        isinstance(part, exp.Column | exp.Func | exp.Dot | exp.Query) or _KIND in part.meta for part in item.walk()
    )


def _cast_to_integer(operand: exp.Expr, value: str, kind: str) -> str:
    """Round to the nearest integer, where CAST alone truncates.

    Values outside the type are refused; CAST would silently return another number.
    """
    is_text = isinstance(operand, exp.Literal) or operand.meta.get(_KIND) is exp.JSONExtractScalar
    if is_text and not operand.is_number:
        value = f"toFloat64({value})"
    # DuckDB reads such a literal as DECIMAL, which rounds halves away from zero; a double rounds them to even.
    if operand.is_number and not operand.is_int and "e" not in operand.name.lower():
        value = HALF_AWAY.format(value)
    return f"accurateCast(round({value}), '{kind}')"


def _flags(options: list[exp.Expr]) -> str:
    """Translate DuckDB's regular expression options into inline flags: ``.`` does not match a newline without ``s``."""
    letters = options[0].name if options else ""
    if set(letters) - set("cgims") or (options and not options[0].is_string):
        raise QueryError(f"cannot translate to ClickHouse SQL: the options {letters!r} of a regular expression")
    return f"(?{'i' if 'i' in letters else ''}{'m' if 'm' in letters else ''}{'s' if 's' in letters else '-s'})"


def _time_form(form: str) -> str:
    """Translate the format of strftime. Raises QueryError for a part that ClickHouse lacks or interprets otherwise."""
    parts = re.findall(r"%-?.|[^%]+|%", form, re.DOTALL)
    unsupported = [part for part in parts if part.startswith("%") and part not in FORMS]
    if unsupported:
        raise QueryError(f"cannot translate to ClickHouse SQL: {', '.join(unsupported)} in the format of strftime")
    return "".join(FORMS.get(part, part) for part in parts)
