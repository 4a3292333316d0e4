"""The words of DuckDB's SQL in ClickHouse's: sqlglot reads one and writes the other, with our table between."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from sqlglot import exp
from sqlglot.dialects.clickhouse import ClickHouse
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import ErrorLevel

from tooltrace.queries.dialect_table import FUNCTIONS, MANY, TYPES

_OWN: Final = {*FUNCTIONS, *MANY, "json_extract_string", "json_each", "quantile_cont", "round", "arg_max_null"}
_WRITTEN_BY_US: Final = (
    exp.JSONExtract, exp.JSONExtractScalar, exp.IntDiv, exp.Cast, exp.TryCast, exp.AtTimeZone, exp.Filter,
)  # fmt: skip
_COUNTS: Final = (exp.Count, exp.RowNumber, exp.DenseRank)
_POINTS: Final = (("~1", "/"), ("~0", "~"))


def _without_ours(made: Mapping[str, Any]) -> dict[str, Any]:
    return {name: how for name, how in made.items() if name.lower() not in _OWN}


class Source(DuckDB):
    """DuckDB, but what the table has is kept as it is written."""

    class Parser(DuckDB.Parser):  # type: ignore[misc,valid-type]  # sqlglot's own way to make a dialect
        FUNCTIONS: ClassVar = _without_ours(DuckDB.Parser.FUNCTIONS)
        FUNCTION_PARSERS: ClassVar = _without_ours(DuckDB.Parser.FUNCTION_PARSERS)


class Target(ClickHouse):
    """ClickHouse, with the table."""

    class Generator(ClickHouse.Generator):  # type: ignore[misc,valid-type]  # as above
        TRANSFORMS: ClassVar = {
            kind: made for kind, made in ClickHouse.Generator.TRANSFORMS.items() if kind not in _WRITTEN_BY_US
        }

        def anonymous_sql(self, expression: exp.Anonymous) -> str:
            name = str(expression.this).lower()
            given = [self.sql(argument) for argument in expression.expressions]
            if name in FUNCTIONS:
                return FUNCTIONS[name].format(*given)
            if name in MANY:
                texts = map(self._text, expression.expressions) if name.startswith("concat") else given
                return MANY[name].format(", ".join(texts))
            special = getattr(self, f"_{name}", None) if name in _OWN else None
            return str(special(expression, *given)) if special else str(super().anonymous_sql(expression))

        def _text(self, expression: exp.Expr) -> str:
            """As DuckDB writes it: a missing one is nothing in ``concat``, a whole number as a double has ``.0``."""
            written = str(self.sql(expression))
            if expression.is_string:
                return written
            ws = isinstance(expression.parent, exp.Anonymous) and str(expression.parent.this).lower() == "concat_ws"
            if any(str(found.this).lower() == "round" for found in expression.find_all(exp.Anonymous)):
                written = f"replaceRegexpOne(toString({written}), '^(-?\\\\d+)$', '\\\\1.0')"
            else:
                written = f"toString({written})"
            return written if ws else f"ifNull({written}, '')"

        def count_sql(self, expression: exp.Count) -> str:
            return self._signed(expression, self.function_fallback_sql(expression))

        def rownumber_sql(self, expression: exp.RowNumber) -> str:
            return self._signed(expression, "ROW_NUMBER()")

        def denserank_sql(self, expression: exp.DenseRank) -> str:
            return self._signed(expression, "DENSE_RANK()")

        def window_sql(self, expression: exp.Window) -> str:
            written = super().window_sql(expression)
            counted = expression.this.this if isinstance(expression.this, exp.Filter) else expression.this
            return f"toInt64({written})" if isinstance(counted, _COUNTS) else written

        def _signed(self, expression: exp.Expr, written: str) -> str:
            """Counts are signed in DuckDB; unsigned ones have no type in common with what may be below 0."""
            outside = expression.parent
            return written if isinstance(outside, (exp.Filter, exp.Window)) else f"toInt64({written})"

        def _quantile_cont(self, call: exp.Anonymous, value: str, part: str) -> str:
            asked = call.expressions[1]
            if isinstance(asked, exp.Array):
                levels = map(self.sql, asked.expressions)
                return f"[{', '.join(f'quantileExactInclusive({level})({value})' for level in levels)}]"
            return f"quantileExactInclusive({part})({value})"

        def _round(self, _call: exp.Anonymous, value: str, places: str = "0") -> str:
            """Halves away from zero: ClickHouse's goes to the even one."""
            if places == "0":
                return f"arrayMap(x -> if(abs(x - trunc(x)) = 0.5, trunc(x) + sign(x), round(x)), [{value}])[1]"
            scale = f"1e{places}"
            return f"{self._round(_call, f'({value}) * {scale}')} / {scale}"

        def _arg_max_null(self, _call: exp.Anonymous, value: str, at: str) -> str:
            return f"tupleElement(argMax(tuple({value}), {at}), 1)"

        def _json_extract_string(self, call: exp.Anonymous, value: str, _path: str) -> str:
            return _json_text(value, _keys(call.expressions[1].name))

        def jsonextractscalar_sql(self, expression: exp.JSONExtractScalar) -> str:
            keys = [str(part.this) for part in expression.expression.expressions if isinstance(part, exp.JSONPathKey)]
            return _json_text(self.sql(expression, "this"), keys)

        def jsonextract_sql(self, expression: exp.JSONExtract) -> str:
            if any(isinstance(part, exp.JSONPathWildcard) for part in expression.find_all(exp.JSONPathWildcard)):
                return f"JSONExtractArrayRaw(ifNull({self.sql(expression, 'this')}, '[]'))"
            return str(super().jsonextract_sql(expression))

        def filter_sql(self, expression: exp.Filter) -> str:
            call = expression.this
            if isinstance(call, exp.Anonymous) and str(call.this).lower() == "arg_max_null":
                value, at = map(self.sql, call.expressions)
                return f"tupleElement(argMax(tuple({value}), {at}) FILTER({self.sql(expression, 'expression').strip()}), 1)"
            written = super().filter_sql(expression)
            counted = isinstance(call, exp.Count) and not isinstance(expression.parent, exp.Window)
            return f"toInt64({written})" if counted else written

        def cast_sql(self, expression: exp.Cast, safe_prefix: str | None = None) -> str:
            kind = TYPES.get(expression.to.sql("duckdb").upper()) or TYPES.get(expression.to.this.name)
            value = self.sql(expression, "this")
            if kind is None:
                return str(super().cast_sql(expression, safe_prefix))
            if kind == TYPES["BIGINT"]:
                value = f"round({value})"  # to the nearest: CAST alone cuts
            return f"CAST({value} AS {kind})"

        def trycast_sql(self, expression: exp.TryCast) -> str:
            return f"toFloat64OrNull({self.sql(expression, 'this')})"

        def attimezone_sql(self, expression: exp.AtTimeZone) -> str:
            return (
                "now64(6, 'UTC')"
                if isinstance(expression.this, exp.CurrentTimestamp)
                else super().attimezone_sql(expression)
            )

        def intdiv_sql(self, expression: exp.IntDiv) -> str:
            return f"intDiv({self.sql(expression, 'this')}, {self.sql(expression, 'expression')})"


def _keys(path: str) -> list[str]:
    """Names of the members that a JSON pointer, or a path of plain names, goes through."""
    if path.startswith("/"):
        keys = path[1:].split("/")
        for written, meant in _POINTS:
            keys = [key.replace(written, meant) for key in keys]
        return keys
    return [key for key in path.removeprefix("$").split(".") if key]


def _json_text(value: str, keys: list[str]) -> str:
    """A member as text: NULL where it is missing or null, a string without its quotes, else as it is written."""
    if not keys:
        raw = f"ifNull({value}, 'null')"
        return f"if(JSONType({raw}) = 'String', JSONExtractString({raw}), nullIf({raw}, 'null'))"
    place = ", ".join(exp.Literal.string(key).sql(Target) for key in keys)
    text = f"ifNull({value}, '')"
    plain = f"JSONExtractString({text}, {place})"
    return f"if(JSONType({text}, {place}) = 'String', {plain}, nullIf(nullIf(JSONExtractRaw({text}, {place}), 'null'), ''))"


def written(tree: exp.Expr) -> str:
    """``tree`` as ClickHouse's SQL. Raises SqlglotError."""
    return tree.sql(Target, comments=False, unsupported_level=ErrorLevel.RAISE)
