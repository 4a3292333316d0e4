"""Figures on the tool calls in a ClickHouse database."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tooltrace.clickhouse.attribute_sql import quote_identifier, quote_literal, reader_of
from tooltrace.clickhouse.client import ClickHouseConnection
from tooltrace.clickhouse.materialized import TABLE_PREFIX
from tooltrace.clickhouse.tables import MARK
from tooltrace.core.plural import format_count
from tooltrace.otel import attributes as names


@dataclass(frozen=True, slots=True)
class TableSize:
    """Size of a table: rows, and bytes on disk."""

    name: str
    rows: int
    size: int

    @property
    def bytes_per_row(self) -> float:
        """Bytes of one row."""
        return self.size / self.rows if self.rows else 0.0


@dataclass(frozen=True, slots=True)
class StoreStats:
    """Figures on a store."""

    attempts: int
    duplicates: int
    """Rows whose span has another row already: duplicates."""
    sizes: tuple[TableSize, ...]
    external: int = 0
    """Attempts recorded only by other instrumentations."""
    probable_duplicates: int = 0
    """Attempts whose parent or child is an attempt of the same tool: probable duplicates."""

    def lines(self) -> Iterator[str]:
        """Yield the figures as sentences."""
        yield f"{format_count(self.attempts, 'attempt')}; {format_count(self.duplicates, 'duplicate row')}"
        if self.external:
            yield (
                f"{self.external:,} of them only from spans of other instrumentations; "
                f"{self.probable_duplicates:,} are probably duplicates of their parent or child"
            )
        for one in self.sizes:
            yield f"{one.name}: {format_count(one.rows, 'row')}, {one.size / 1e6:,.1f} MB, {one.bytes_per_row:,.0f} bytes per row"


def store_stats(connection: ClickHouseConnection, client: Any) -> StoreStats:
    """Return the figures of ``connection``. Raises StoreMissing if the views are missing."""
    sql = f"SELECT count(), count() - uniqExact(span_id) FROM {quote_identifier(connection.database)}.attempts"
    attempts, duplicates = connection.run(lambda: client.query(sql)).result_rows[0]
    external = connection.run(lambda: client.query(_others(connection))).result_rows[0][0]
    probable_duplicates = (
        connection.run(lambda: client.query(_pairs(connection.database))).result_rows[0][0] if external else 0
    )
    tables = map(connection.tables.qualified_name, (connection.tables.traces, connection.tables.logs))
    exporter_tables = ", ".join(f"({quote_literal(database)}, {quote_literal(name)})" for database, name in tables)
    sizes = client.query(
        "SELECT concat(database, '.', table), toInt64(sum(rows)), toInt64(sum(bytes_on_disk)) FROM system.parts WHERE active "
        f"AND ((database, table) IN ({exporter_tables}) OR database = {quote_literal(connection.database)} "
        f"AND startsWith(table, '{TABLE_PREFIX}')) GROUP BY 1 ORDER BY 1"
    )
    found = tuple(TableSize(*row) for row in sizes.result_rows)
    return StoreStats(int(attempts), int(duplicates), found, int(external), int(probable_duplicates))


def _others(connection: ClickHouseConnection) -> str:
    """Return the query that counts external spans: they have no recorder version.

    A few imported spans of ours have none either; the query excludes them.
    """
    tables = connection.tables
    is_native, version = (
        reader_of(tables.variant).has("SpanAttributes", key) for key in (MARK, names.FIELDS["recorder_version"])
    )
    native = f"SELECT SpanId FROM {tables.of(tables.traces)} WHERE {is_native} AND NOT {version}"
    return f"SELECT count() FROM {quote_identifier(connection.database)}.attempts WHERE recorder_version IS NULL AND span_id NOT IN ({native})"


def _pairs(database: str) -> str:
    attempts = f"{quote_identifier(database)}.attempts"
    return (
        f"SELECT count() FROM {attempts} AS inner_one JOIN {attempts} AS outer_one ON inner_one.trace_id = outer_one.trace_id "
        "AND inner_one.parent_span_id = outer_one.span_id AND inner_one.tool = outer_one.tool "
        "WHERE inner_one.recorder_version IS NULL OR outer_one.recorder_version IS NULL"
    )
