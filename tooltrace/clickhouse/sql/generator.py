"""Generation of ClickHouse's SQL from DuckDB's: sqlglot parses and writes, with our table of functions in between."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar, Final

from sqlglot import exp
from sqlglot.dialects.clickhouse import ClickHouse
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import ErrorLevel

from tooltrace.clickhouse.sql import json_paths as json
from tooltrace.clickhouse.sql.functions import (
    FORMS,
    FUNCTIONS,
    INTEGER_TYPES,
    OPTIONAL,
    TIMES,
    TRY_CAST,
    TYPES,
    VARIADIC,
)
from tooltrace.errors import QueryError

KNOWN: Final = {
    *FUNCTIONS, *VARIADIC, "json_each", "quantile_cont", "round", "arg_max_null", "concat_ws", "regexp_matches", "regexp_replace",
    "strftime",
}  # fmt: skip
"""DuckDB functions that this module translates, rather than sqlglot."""
UNCHANGED_FUNCTIONS: Final = frozenset(("gcd", "lcm", "lgamma", "now", "octet_length"))
"""Functions that are equal in both engines, but unknown to sqlglot."""
MAX_QUERY_LENGTH: Final = 262_144
"""Maximum characters of a translated query; the server accepts no longer one (``max_query_size``)."""
_REPLACED_GENERATORS: Final = (
    exp.JSONExtract, exp.JSONExtractScalar, exp.IntDiv, exp.Cast, exp.TryCast, exp.AtTimeZone, exp.Filter, exp.TimestampTrunc,
    exp.RegexpLike, exp.StrPosition, exp.LastValue, exp.FirstValue, exp.CountIf, exp.Week, exp.ArrayContains,
)  # fmt: skip
_COUNTS: Final = (exp.Count, exp.RowNumber, exp.DenseRank)


def _without_table_functions(made: Mapping[str, Any]) -> dict[str, Any]:
    return {name: how for name, how in made.items() if name.lower() not in KNOWN}


class DuckDBDialect(DuckDB):
    """DuckDB's dialect, without the conversion of functions that our table translates."""

    class Parser(DuckDB.Parser):  # type: ignore[misc,valid-type]  # sqlglot's own way to make a dialect
        FUNCTIONS: ClassVar = _without_table_functions(DuckDB.Parser.FUNCTIONS)
        FUNCTION_PARSERS: ClassVar = _without_table_functions(DuckDB.Parser.FUNCTION_PARSERS)

    def to_json_path(self, path: exp.Expr | None) -> exp.Expr | None:
        """Keep the path as written: after parsing, ``a.b`` and ``$.a.b`` would be equal."""
        return path


class ClickHouseDialect(ClickHouse):
    """ClickHouse's dialect with our table."""

    class Generator(ClickHouse.Generator):  # type: ignore[misc,valid-type]  # as above
        TRANSFORMS: ClassVar = {
            kind: made for kind, made in ClickHouse.Generator.TRANSFORMS.items() if kind not in _REPLACED_GENERATORS
        }

        def sql(self, expression: str | exp.Expr | None, key: str | None = None, comment: bool = True) -> str:
            sql = str(super().sql(expression, key, comment))
            if len(sql) > MAX_QUERY_LENGTH:  # a template that repeats its argument doubles the text at each level
                raise QueryError(
                    f"cannot translate to ClickHouse SQL: the result would be longer than {MAX_QUERY_LENGTH:,} characters"
                )
            return sql

        def generateseries_sql(self, expression: exp.GenerateSeries) -> str:
            bounds = (self.sql(expression, part) for part in ("start", "end", "step"))
            return f"generate_series({', '.join(filter(None, bounds))})"

        def anonymous_sql(self, expression: exp.Anonymous) -> str:
            name = str(expression.this).lower()
            arguments = [self.sql(argument) for argument in expression.expressions]
            if name in FUNCTIONS:
                return (
                    FUNCTIONS[name] if len(arguments) not in OPTIONAL.get(name, {}) else OPTIONAL[name][len(arguments)]
                ).format(*arguments)
            if name in VARIADIC:
                texts = map(self._text, expression.expressions) if name == "concat" else arguments
                return VARIADIC[name].format(", ".join(texts))
            special = getattr(self, f"_{name}", None) if name in KNOWN else None
            return str(special(expression, *arguments)) if special else str(super().anonymous_sql(expression))

        def _text(self, expression: exp.Expr) -> str:
            """Return text as DuckDB formats it: NULL is empty in ``concat``, a whole number as a double has ``.0``."""
            sql = str(self.sql(expression))
            if expression.is_string:
                return sql
            ws = isinstance(expression.parent, exp.Anonymous) and str(expression.parent.this).lower() == "concat_ws"
            if any(str(found.this).lower() == "round" for found in expression.find_all(exp.Anonymous)):
                sql = f"replaceRegexpOne(toString({sql}), '^(-?\\\\d+)$', '\\\\1.0')"
            else:
                sql = f"toString({sql})"
            return sql if ws else f"ifNull({sql}, '')"

        def count_sql(self, expression: exp.Count) -> str:
            return self._signed(expression, self.function_fallback_sql(expression))

        def countif_sql(self, expression: exp.CountIf) -> str:
            """Count true values; NULL when every input is NULL."""
            value = self.sql(expression, "this")
            return f"if(count({value}) = 0, NULL, toInt64(countIf({value})))"

        def week_sql(self, expression: exp.Week) -> str:
            return f"toISOWeek({self.sql(expression, 'this')})"

        def arraycontains_sql(self, expression: exp.ArrayContains) -> str:
            sought = self.sql(expression, "expression")
            return f"if(isNull({sought}), NULL, has({self.sql(expression, 'this')}, {sought}))"

        def rownumber_sql(self, expression: exp.RowNumber) -> str:
            return self._signed(expression, "ROW_NUMBER()")

        def denserank_sql(self, expression: exp.DenseRank) -> str:
            return self._signed(expression, "DENSE_RANK()")

        def window_sql(self, expression: exp.Window) -> str:
            sql = super().window_sql(expression)
            counted = expression.this.this if isinstance(expression.this, exp.Filter) else expression.this
            return f"toInt64({sql})" if isinstance(counted, _COUNTS) else sql

        def _signed(self, expression: exp.Expr, sql: str) -> str:
            """Cast counts to signed, as in DuckDB.

            ClickHouse's unsigned type has no common type with negative values.
            """
            outside = expression.parent
            return sql if isinstance(outside, (exp.Filter, exp.Window)) else f"toInt64({sql})"

        def _quantile_cont(self, call: exp.Anonymous, value: str, part: str) -> str:
            argument = call.expressions[1]
            if isinstance(argument, exp.Array):
                levels = map(self.sql, argument.expressions)
                return f"[{', '.join(f'quantileExactInclusive({level})({value})' for level in levels)}]"
            return f"quantileExactInclusive({part})({value})"

        def _round(self, _call: exp.Anonymous, value: str, places: str = "0") -> str:
            """Round halves away from zero, as DuckDB does; ClickHouse rounds them to even."""
            if places == "0":
                return f"arrayMap(x -> if(abs(x - trunc(x)) = 0.5, trunc(x) + sign(x), round(x)), [{value}])[1]"
            scale = f"1e{places}"
            return f"{self._round(_call, f'({value}) * {scale}')} / {scale}"

        def _arg_max_null(self, _call: exp.Anonymous, value: str, at: str) -> str:
            return f"tupleElement(argMax(tuple({value}), {at}), 1)"

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
            return f"formatDateTime({moment}, {exp.Literal.string(_time_form(argument.name)).sql(ClickHouseDialect)})"

        def regexplike_sql(self, expression: exp.RegexpLike) -> str:
            return f"match({self.sql(expression, 'this')}, concat('(?-s)', {self.sql(expression, 'expression')}))"

        def lastvalue_sql(self, expression: exp.LastValue) -> str:
            return self._valued(expression, "last_value")

        def firstvalue_sql(self, expression: exp.FirstValue) -> str:
            return self._valued(expression, "first_value")

        def _valued(self, expression: exp.Expr, name: str) -> str:
            """Write a window value that respects NULLs by default, as DuckDB does; ClickHouse skips them."""
            known = isinstance(expression.parent, exp.IgnoreNulls | exp.RespectNulls)
            return f"{name}({self.sql(expression, 'this')}){'' if known else ' RESPECT NULLS'}"

        def timestamptrunc_sql(self, expression: exp.TimestampTrunc) -> str:
            unit = str(expression.args["unit"].name).upper()
            cut = f"dateTrunc('{unit}', {self.sql(expression, 'this')})"
            return f"CAST({cut} AS {TYPES['TIMESTAMPNTZ']})" if unit in TIMES else cut

        def strposition_sql(self, expression: exp.StrPosition) -> str:
            return f"positionUTF8({self.sql(expression, 'this')}, {self.sql(expression, 'substr')})"

        def in_sql(self, expression: exp.In) -> str:
            """Write IN with DuckDB's NULL semantics: a value that is not found among values with a NULL is NULL.

            Computed items are compared with ``=``: ClickHouse would read a single name in the list as a table.
            """
            if not all(map(_is_constant, expression.expressions)):
                same = [
                    exp.EQ(this=exp.paren(expression.this.copy()), expression=exp.paren(item.copy()))
                    for item in expression.expressions
                ]
                return str(self.sql(exp.paren(exp.or_(*same))))
            some = [item for item in expression.expressions if not isinstance(item, exp.Null)]
            if len(some) < len(expression.expressions):
                return f"nullIf({self.sql(expression, 'this')} IN ({', '.join(map(self.sql, some)) or 'NULL'}), 0)"
            result = str(super().in_sql(expression))
            # Only under NOT can a row depend on whether IN is false or NULL.
            if expression.args.get("query") is None or not isinstance(
                expression.find_ancestor(exp.Not, exp.Select), exp.Not
            ):
                return result
            # The subquery has one column, whose name is not known here.
            unknown = f"SELECT max(isNull(COLUMNS('.*'))) FROM {self.sql(expression, 'query')}"
            return f"if(ifNull(({unknown}), 0) = 1, nullIf({result}, 0), {result})"

        def jsonextractscalar_sql(self, expression: exp.JSONExtractScalar) -> str:
            return json.text(self.sql(expression, "this"), json.steps(expression.expression))

        def jsonextract_sql(self, expression: exp.JSONExtract) -> str:
            value = self.sql(expression, "this")
            if json.is_every(expression.expression):
                return f"JSONExtractArrayRaw(ifNull({value}, '[]'))"
            return json.raw(value, json.steps(expression.expression))

        def filter_sql(self, expression: exp.Filter) -> str:
            call = expression.this
            if isinstance(call, exp.Anonymous) and str(call.this).lower() == "arg_max_null":
                value, at = map(self.sql, call.expressions)
                return f"tupleElement(argMax(tuple({value}), {at}) FILTER({self.sql(expression, 'expression').strip()}), 1)"
            sql = super().filter_sql(expression)
            # A window function is cast around its OVER, by window_sql.
            counted = isinstance(call, exp.Count) and not isinstance(expression.parent, exp.Window)
            return f"toInt64({sql})" if counted else sql

        def cast_sql(self, expression: exp.Cast, safe_prefix: str | None = None) -> str:
            kind = TYPES.get(expression.to.sql("duckdb").upper()) or TYPES.get(expression.to.this.name)
            value = self.sql(expression, "this")
            if kind is None:
                return str(super().cast_sql(expression, safe_prefix))
            if kind in INTEGER_TYPES:
                return self._rounded(expression.this, value, kind)
            return f"CAST({value} AS {kind})"

        def _rounded(self, operand: exp.Expr, value: str, kind: str) -> str:
            """Round to the nearest integer, where CAST alone truncates.

            Values outside the type are refused; CAST would silently return another number.
            """
            if isinstance(operand, exp.Literal | exp.JSONExtractScalar) and not operand.is_number:
                value = f"toFloat64({value})"
            # DuckDB reads such a literal as DECIMAL, which rounds halves away from zero; a double rounds them to
            # even.
            if operand.is_number and not operand.is_int and "e" not in operand.name.lower():
                value = self._round(exp.Anonymous(this="round"), value)
            return f"accurateCast(round({value}), '{kind}')"

        def trycast_sql(self, expression: exp.TryCast) -> str:
            kind = expression.to.this.name
            if kind not in TRY_CAST:
                raise QueryError(f"cannot translate to ClickHouse SQL: TRY_CAST to {expression.to.sql('duckdb')}")
            return TRY_CAST[kind].format(f"toString({self.sql(expression, 'this')})")

        def attimezone_sql(self, expression: exp.AtTimeZone) -> str:
            return (
                "now64(6, 'UTC')"
                if isinstance(expression.this, exp.CurrentTimestamp)
                else super().attimezone_sql(expression)
            )

        def intdiv_sql(self, expression: exp.IntDiv) -> str:
            return f"intDiv({self.sql(expression, 'this')}, {self.sql(expression, 'expression')})"


def _is_constant(item: exp.Expr) -> bool:
    return not any(isinstance(part, exp.Column | exp.Func | exp.Dot | exp.Query) for part in item.walk())


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


def to_sql(tree: exp.Expr) -> str:
    """Return ``tree`` as ClickHouse's SQL. Raises SqlglotError."""
    return tree.sql(ClickHouseDialect, comments=False, unsupported_level=ErrorLevel.RAISE)
