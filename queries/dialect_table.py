"""What the queries' SQL is called in ClickHouse: the one table of it.

The queries are written for DuckDB. Of most functions the two engines mean the same by the same name, and sqlglot knows many
of the others. Here stands what it does not know, or turns into something that is silently another: what is left out
where it is missing, what is rounded, what is NULL.
"""

from __future__ import annotations

from typing import Final

FUNCTIONS: Final = {
    # time: columns are DateTime64
    "epoch_us": "toUnixTimestamp64Micro(toDateTime64({0}, 6, 'UTC'))",
    "make_timestamp": "fromUnixTimestamp64Micro({0}, 'UTC')",
    "to_microseconds": "toIntervalMicrosecond({0})",
    "to_seconds": "toIntervalSecond({0})",
    # aggregates
    "arg_max": "argMax({0}, {1})",
    "arg_min": "argMin({0}, {1})",
    "bool_and": "min({0})",
    "bool_or": "max({0})",
    "quantile_disc": "if(count({0}) = 0, NULL, arrayElement(arraySort(groupArray({0})), toUInt32(ceil({1} * count({0})))))",
    "stddev_samp": "if(count({0}) > 1, stddevSampStable({0}), NULL)",
    # windows: of what cannot be NULL, the row before the first would be 0
    "lag": "lag(toNullable({0}))",
    "lead": "lead(toNullable({0}))",
    # text: in characters, and `.` is no newline
    "contains": "position({0}, {1}) > 0",
    "left": "leftUTF8({0}, {1})",
    "length": "lengthUTF8({0})",
    "lower": "lowerUTF8({0})",
    "md5": "lower(hex(MD5({0})))",
    "regexp_matches": "match({0}, concat('(?-s)', {1}))",
    "regexp_replace": "replaceRegexpAll({0}, concat('(?-s)', {1}), {2})",
    "starts_with": "startsWith({0}, {1})",
    "string_split": "splitByString({1}, {0})",
    "strpos": "position({0}, {1})",
    # JSON is text
    "json_type": "upper(toString(JSONType({0})))",
    # lists
    "unnest": "arrayJoin({0})",
    "ln": "log({0})",
}
"""Name of a function in DuckDB to its text in ClickHouse; ``{0}`` is the first argument."""

MANY: Final = {
    "concat": "concat({0})",
    "concat_ws": "arrayStringConcat(arrayFilter(part -> part IS NOT NULL, [{0}]), ' ')",
    "range": "arrayMap(at -> toInt32(at), range({0}))",
}
"""The same of functions with any number of arguments, ``{0}`` is all of them."""

TYPES: Final = {
    "BIGINT": "Nullable(Int64)",
    "BOOLEAN": "Nullable(Bool)",
    "DATE": "Nullable(Date32)",
    "DOUBLE": "Nullable(Float64)",
    "TEXT": "Nullable(String)",
    "TIMESTAMPNTZ": "Nullable(DateTime64(6, 'UTC'))",
    "VARCHAR": "Nullable(String)",
}
"""sqlglot's name of a type to ClickHouse's."""

SETTINGS: Final = {
    "aggregate_functions_null_for_empty": 1,
    "cast_keep_nullable": 1,
    "data_type_default_nullable": 0,
    "join_use_nulls": 1,
    "least_greatest_legacy_null_behavior": 0,
    "precise_float_parsing": 1,
    "prefer_column_name_to_alias": 1,
    "session_timezone": "UTC",
    "union_default_mode": "DISTINCT",
}
"""With these, ClickHouse answers as DuckDB does: NULL where there is nothing, a name is a column before it is an alias, and
what a query uses twice is the same both times."""
