"""Table of DuckDB's functions, types and formats with their equivalents in ClickHouse.

The queries are written for DuckDB. Most functions have the same name and meaning in both engines, and sqlglot knows
many of the others. This module has those that sqlglot does not know, or silently translates into something with a
different meaning: missing values, rounding, NULL.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

FUNCTIONS: Final = {
    # time: columns are DateTime64
    "epoch": "toUnixTimestamp64Micro(toDateTime64({0}, 6, 'UTC')) / 1e6",
    "epoch_ms": "toUnixTimestamp64Milli(toDateTime64({0}, 3, 'UTC'))",
    "epoch_us": "toUnixTimestamp64Micro(toDateTime64({0}, 6, 'UTC'))",
    "make_timestamp": "fromUnixTimestamp64Micro({0}, 'UTC')",
    "to_microseconds": "toIntervalMicrosecond({0})",
    "to_seconds": "toIntervalSecond({0})",
    # aggregates
    "arg_max": "argMax({0}, {1})",
    "arg_min": "argMin({0}, {1})",
    # min and max ignore NULL as bool_and and bool_or do, and a Bool remains a Bool.
    "bool_and": "min({0})",
    "bool_or": "max({0})",
    # Inclusive: interpolates between two rows, as DuckDB does; the default of ClickHouse takes one of them.
    "median": "quantileExactInclusive(0.5)({0})",
    # quantile_disc is the value at place ceil(p * n) of the sorted ones, which no function of ClickHouse is.
    "quantile": "if(count({0}) = 0, NULL, arrayElement(arraySort(groupArray({0})), toUInt32(greatest(1, ceil({1} * count({0}))))))",
    "quantile_disc": "if(count({0}) = 0, NULL, arrayElement(arraySort(groupArray({0})), toUInt32(greatest(1, ceil({1} * count({0}))))))",
    # groupArray leaves out NULL; a tuple is never NULL.
    "list": "tupleElement(groupArray(tuple({0})), 1)",
    "array_agg": "tupleElement(groupArray(tuple({0})), 1)",
    # DuckDB has NULL for a single value, ClickHouse NaN.
    "stddev": "if(count({0}) > 1, stddevSampStable({0}), NULL)",
    "var_samp": "if(count({0}) > 1, varSampStable({0}), NULL)",
    "variance": "if(count({0}) > 1, varSampStable({0}), NULL)",
    "stddev_samp": "if(count({0}) > 1, stddevSampStable({0}), NULL)",
    # windows: for a type without NULL, the row before the first would be 0
    "lag": "lag(toNullable({0}))",
    "lead": "lead(toNullable({0}))",
    # text: counted in characters; `.` does not match a newline
    "contains": "(position({0}, {1}) > 0)",
    "instr": "positionUTF8({0}, {1})",
    "lcase": "lowerUTF8({0})",
    "lpad": "leftPadUTF8({0}, {1}, {2})",
    "reverse": "reverseUTF8({0})",
    "right": "rightUTF8({0}, {1})",
    "rpad": "rightPadUTF8({0}, {1}, {2})",
    "sha256": "lower(hex(SHA256({0})))",
    "substr": "substringUTF8({0}, {1})",
    "substring": "substringUTF8({0}, {1})",
    "ucase": "upperUTF8({0})",
    "upper": "upperUTF8({0})",
    "left": "leftUTF8({0}, {1})",
    "length": "lengthUTF8({0})",
    "lower": "lowerUTF8({0})",
    "md5": "lower(hex(MD5({0})))",
    "starts_with": "startsWith({0}, {1})",
    "string_split": "splitByString({1}, {0})",
    "strlen": "length({0})",
    "strpos": "positionUTF8({0}, {1})",
    # JSON is stored as text
    "json_type": "multiIf(JSONType({0}) = 'String', 'VARCHAR', JSONType({0}) = 'Bool', 'BOOLEAN', JSONType({0}) = 'UInt64', 'UBIGINT', "
    "JSONType({0}) = 'Int64', if(startsWith({0}, '-'), 'BIGINT', 'UBIGINT'), upper(toString(JSONType({0}))))",
    # lists
    "unnest": "arrayJoin({0})",
    # DuckDB's log is that of base 10.
    "ln": "log({0})",
    "log": "log10({0})",
}
"""ClickHouse's text of each DuckDB function; ``{0}`` is the first argument."""

OPTIONAL: Final = {
    "lag": {2: "lag(toNullable({0}), {1})", 3: "lag(toNullable({0}), {1}, {2})"},
    "lead": {2: "lead(toNullable({0}), {1})", 3: "lead(toNullable({0}), {1}, {2})"},
    "log": {2: "log({1}) / log({0})"},
    "substr": {3: "substringUTF8({0}, {1}, {2})"},
    "substring": {3: "substringUTF8({0}, {1}, {2})"},
}
"""The same for other numbers of arguments; calls with an unlisted number are rejected."""

VARIADIC: Final = {
    "concat": "concat({0})",
    # a tuple, because the hash of NULL alone would be NULL; signed, as counts are
    "hash": "reinterpretAsInt64(sipHash64(tuple({0})))",
    "range": "arrayMap(at -> toInt32(at), range({0}))",
    "row": "tuple({0})",
}
"""The same for functions with any number of arguments; ``{0}`` is all of them."""

HALF_AWAY: Final = "arrayMap(x -> if(abs(x - trunc(x)) = 0.5, trunc(x) + sign(x), round(x)), [{0}])[1]"
"""A figure rounded to a whole number, halves away from zero, as DuckDB does; ClickHouse rounds them to even."""

FIRST_VALUES: Final = "arrayMap(x -> x.2, groupArraySortedIf({2})(tuple(assumeNotNull({1}), {0}), {1} IS NOT NULL))"
"""``min_by`` with a number: the first values in the order of another, as a list."""

CODED: Final[Mapping[str, tuple[int, int | None]]] = {
    "arg_max_null": (2, 2),
    "concat_ws": (1, None),
    "json_each": (1, 1),
    "quantile_cont": (2, 2),
    "regexp_matches": (2, 3),
    "regexp_replace": (3, 4),
    "round": (1, 2),
    "strftime": (2, 2),
}
"""The functions that need more than a template, with their least and greatest number of arguments; None: any."""

TRANSLATED: Final = frozenset((*FUNCTIONS, *VARIADIC, *CODED))
"""DuckDB functions that this package translates, rather than sqlglot."""

UNCHANGED: Final = frozenset(("gcd", "lcm", "lgamma", "now", "octet_length"))
"""Functions that are equal in both engines, but unknown to sqlglot."""

FORMS: Final = {
    **{part: part for part in ("%Y", "%y", "%m", "%d", "%H", "%I", "%S", "%f", "%a", "%b", "%j", "%p", "%%")},
    "%M": "%i",
    "%B": "%M",
    "%A": "%W",
}
"""Parts of strftime's format in formatDateTime's; a part that is missing here is not supported."""

TIMES: Final = frozenset(("WEEK", "MONTH", "QUARTER", "YEAR"))
"""Units for which date_trunc yields a date in ClickHouse, unless cast."""

TYPES: Final = {
    "BIGINT": "Nullable(Int64)",
    "BOOLEAN": "Nullable(Bool)",
    "DATE": "Nullable(Date32)",
    "DOUBLE": "Nullable(Float64)",
    "INT": "Nullable(Int32)",
    "JSON": "Nullable(String)",
    "SMALLINT": "Nullable(Int16)",
    "TINYINT": "Nullable(Int8)",
    "TEXT": "Nullable(String)",
    "TIMESTAMPNTZ": "Nullable(DateTime64(6, 'UTC'))",
    "VARCHAR": "Nullable(String)",
}
"""ClickHouse's type for each of sqlglot's type names."""

INTEGER_TYPES: Final = frozenset(TYPES[name] for name in ("BIGINT", "INT", "SMALLINT", "TINYINT"))
TRY_CAST: Final = {
    # By way of a double, because DuckDB accepts "1.5" and rounds it.
    "BIGINT": "accurateCastOrNull(round(toFloat64OrNull({0})), 'Int64')",
    "INT": "accurateCastOrNull(round(toFloat64OrNull({0})), 'Int32')",
    "BOOLEAN": "CAST(multiIf(lower({0}) IN ('true', 't', '1'), true, lower({0}) IN ('false', 'f', '0'), false, NULL) AS Nullable(Bool))",
    "DATE": "toDate32OrNull({0})",
    "DOUBLE": "toFloat64OrNull(trimBoth({0}))",
    "TIMESTAMPNTZ": "parseDateTime64BestEffortOrNull({0}, 6, 'UTC')",
}
"""The same for TRY_CAST; ``{0}`` is text."""

SETTINGS: Final = {
    # sum() of no rows is NULL, not 0.
    "aggregate_functions_null_for_empty": 1,
    "cast_keep_nullable": 1,
    "data_type_default_nullable": 0,
    # A row without a partner has NULL, not the default of the type.
    "join_use_nulls": 1,
    # least() and greatest() ignore NULL.
    "least_greatest_legacy_null_behavior": 0,
    # Some queries recur once for each row that they walk over.
    "max_recursive_cte_evaluation_depth": 1_000_000,
    # Without it, a figure read from text can differ from DuckDB's in its last digit.
    "precise_float_parsing": 1,
    "prefer_column_name_to_alias": 1,
    "session_timezone": "UTC",
    "union_default_mode": "DISTINCT",
}
"""Settings with which ClickHouse gives DuckDB's results.

NULL for missing values, a name is a column before it is an alias, and a step that a query uses twice has the same rows
both times.
"""
