"""Materialized tables and indexes over the exporter's tables, which make queries fast."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tooltrace.clickhouse.attribute_sql import quote_identifier, reader_of
from tooltrace.clickhouse.tables import Tables, attempts, views
from tooltrace.otel import attributes as names
from tooltrace.store.database.content import CONTENT
from tooltrace.store.database.schema import ATTEMPTS, CORRECTIONS, GATE_EVENTS, LOSSES, MESSAGES, OUTCOMES, TIME, Table

INDEX_PREFIX: Final = "tooltrace_by_"
_FEW_VALUES_INDEX: Final = "set(64)"
"""Index for few values: a granule of about eight thousand rows has few tools, as the table is sorted by span name."""
_MANY_VALUES_INDEX: Final = "bloom_filter(0.01)"


def index_statements(tables: Tables) -> list[str]:
    """Return the statements that add the indexes and build them over existing rows."""
    tool = reader_of(tables.variant).required_text("SpanAttributes", names.TOOL_NAME)
    kinds = {
        "tool": (f"({tool})", _FEW_VALUES_INDEX),
        "span": ("SpanId", _MANY_VALUES_INDEX),
        "trace": ("TraceId", _MANY_VALUES_INDEX),
    }
    table = tables.of(tables.traces)
    statements = []
    for name, (expression, type_) in kinds.items():
        index = quote_identifier(INDEX_PREFIX + name)
        statements.append(
            f"ALTER TABLE {table} ADD INDEX IF NOT EXISTS {index} {expression} TYPE {type_} GRANULARITY 1"
        )
        statements.append(f"ALTER TABLE {table} MATERIALIZE INDEX {index}")
    return statements


TABLE_PREFIX: Final = "tooltrace_"
ORDER: Final = {
    ATTEMPTS.name: "tool, started_at, span_id",
    OUTCOMES.name: "labeled_at, labeler, ifNull(span_id, ''), ifNull(call_id, '')",
    CORRECTIONS.name: "corrected_at, labeler, ifNull(span_id, ''), ifNull(call_id, '')",
    MESSAGES.name: "at, ifNull(span_id, ''), sha256, ifNull(call_id, '')",
    GATE_EVENTS.name: "asked_at, ifNull(span_id, ''), kind, ifNull(decision, ''), ifNull(answered_at, toDateTime64(0, 6, 'UTC'))",
    LOSSES.name: "at, reason, ifNull(detail, ''), ifNull(pid, 0)",
}
"""Sort key of each table; rows that agree in it are duplicates."""
STORED: Final = (ATTEMPTS, OUTCOMES, CORRECTIONS, MESSAGES, GATE_EVENTS, LOSSES)
"""Tables of ``tooltrace clickhouse init --tables``."""
ALWAYS: Final = (CORRECTIONS,)
"""Tables that exist under the views too: every query on attempts reads the corrections, and they are few."""
_TYPES: Final = {
    "VARCHAR": "String",
    "JSON": "String",
    "BIGINT": "Int64",
    "DOUBLE": "Float64",
    "BOOLEAN": "Bool",
    "TIMESTAMP": "DateTime64(6, 'UTC')",
}


def table_statements(
    tables: Tables,
    database: str,
    *,
    days: int | None = None,
    row_days: int | None = None,
    of: Sequence[Table] = STORED,
) -> list[str]:
    """Return the statements that create and fill the tables in ``database``, in order.

    ``days``, ``row_days``: ages of content and of rows; None leaves those of an older table. ``of``: the documented tables that are stored. Tables of an older version get their missing columns, and are filled by
    the new SELECT.
    """
    statements = []
    for table in of:
        name = f"{quote_identifier(database)}.{quote_identifier(TABLE_PREFIX + table.name)}"
        statements += [_table(table, name), f"ALTER TABLE {name}\n    {_alterations(table, days, row_days)}"]
        selects = attempts(tables) if table is ATTEMPTS else [views(tables)[table.name]]
        fills = [
            f"{quote_identifier(database)}.{quote_identifier(f'{TABLE_PREFIX}{table.name}{kind}_fill')}"
            for kind in _kinds(table)
        ]
        statements += [f"DROP VIEW IF EXISTS {fill}" for fill in fills]
        # Without external spans the second view has no SELECT: it is only dropped, in case an earlier run created it.
        for fill, select in zip(fills, selects, strict=False):
            statements += [
                # The view first: rows that arrive during the INSERT are stored twice, and merged, but none is missed.
                f"CREATE MATERIALIZED VIEW {fill} TO {name} AS\n{select}",
                f"INSERT INTO {name} ({_names(table)})\n{select}",
            ]
    return statements


def _kinds(table: Table) -> tuple[str, ...]:
    """Return the suffixes of separately filled parts: our spans, and external ones."""
    return ("", "_foreign") if table is ATTEMPTS else ("",)


def _names(table: Table) -> str:
    return ", ".join(map(quote_identifier, table.names))


def materialized_selects(database: str, of: Sequence[Table] = STORED) -> dict[str, str]:
    """Return the SELECT that reads each base table from its materialized table."""
    return {
        table.name: f"SELECT {_names(table)} FROM {quote_identifier(database)}.{quote_identifier(TABLE_PREFIX + table.name)} FINAL"
        for table in of
    }


SETTINGS: Final = "do_not_merge_across_partitions_select_final = 1"
"""Setting for FINAL: duplicates have the same day, and so the same partition."""


def _columns(table: Table) -> list[str]:
    key = {part.strip() for part in ORDER[table.name].split(",")}
    return [
        f"{quote_identifier(column.name)} {_type(column.type, column.name, key)} CODEC({'Delta, ZSTD(1)' if column.type == TIME else 'ZSTD(1)'})"
        for column in table.columns
    ]


def _table(table: Table, name: str) -> str:
    columns = ",\n    ".join(_columns(table))
    indexes = "".join(
        f",\n    INDEX by_{column} {column} TYPE bloom_filter(0.01) GRANULARITY 1"
        for column in ("call_id", "span_id", "trace_id")
        if table is ATTEMPTS
    )
    return (
        f"CREATE TABLE IF NOT EXISTS {name} (\n    {columns}{indexes}\n) ENGINE = ReplacingMergeTree\n"
        f"PARTITION BY toDate({table.time})\nORDER BY ({ORDER[table.name]})"
    )


def _alterations(table: Table, days: int | None, row_days: int | None) -> str:
    """Return the changes for an older table: missing columns, and the retention."""

    def expiry(of: int) -> str:
        return f"toDateTime({table.time}) + INTERVAL {of} DAY"

    changes = [f"ADD COLUMN IF NOT EXISTS {column}" for column in _columns(table)]
    if days and table in CONTENT:
        changes += [f"MODIFY COLUMN {quote_identifier(name)} TTL {expiry(days)}" for name in CONTENT[table]]
    if last := (days if table is MESSAGES else row_days):  # a message is content as a whole
        changes.append(f"MODIFY TTL {expiry(last)}")
    return ",\n    ".join(changes)


def _type(type_: str, name: str, key: set[str]) -> str:
    is_key = name in key or name == "trace_id"
    return _TYPES[type_] if is_key else f"Nullable({_TYPES[type_]})"
