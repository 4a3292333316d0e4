"""Figures on the tool calls in a ClickHouse database."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tooltrace.clickhouse.attribute_sql import quote_identifier, quote_literal, reader_of
from tooltrace.clickhouse.client import ClickHouseConnection
from tooltrace.clickhouse.materialized import TABLE_PREFIX
from tooltrace.clickhouse.tables import MARK
from tooltrace.otel import attributes as names


@dataclass(frozen=True, slots=True)
class TableSize:
    """Size of a table: rows, and bytes on disk."""

    name: str
    rows: int
    size: int

    @property
    def each(self) -> float:
        """Bytes of one row."""
        return self.size / self.rows if self.rows else 0.0


@dataclass(frozen=True, slots=True)
class StoreStats:
    """Figures on a store."""

    attempts: int
    twice: int
    """Rows whose span has another row already: duplicates."""
    sizes: tuple[TableSize, ...]
    foreign: int = 0
    """Attempts recorded only by other instrumentations."""
    told_twice: int = 0
    """Attempts whose parent or child is an attempt of the same tool: probable duplicates."""

    def lines(self) -> Iterator[str]:
        """Yield the figures as sentences."""
        yield f"{self.attempts:,} attempts; {self.twice:,} rows too many"
        if self.foreign:
            yield (
                f"{self.foreign:,} of them by the spans of other instrumentations alone; "
                f"{self.told_twice:,} likely the same call as the one right around or inside"
            )
        for one in self.sizes:
            yield f"{one.name}: {one.rows:,} rows, {one.size / 1e6:,.1f} MB, {one.each:,.0f} bytes a row"


def store_stats(house: ClickHouseConnection, client: Any) -> StoreStats:
    """Return the figures of ``house``. Raises StoreMissing if the views are missing."""
    asked = f"SELECT count(), count() - uniqExact(span_id) FROM {quote_identifier(house.database)}.attempts"
    attempts, twice = house.run(lambda: client.query(asked)).result_rows[0]
    foreign = house.run(lambda: client.query(_others(house))).result_rows[0][0]
    told_twice = house.run(lambda: client.query(_pairs(house.database))).result_rows[0][0] if foreign else 0
    places = map(house.tables.place, (house.tables.traces, house.tables.logs))
    theirs = ", ".join(f"({quote_literal(database)}, {quote_literal(name)})" for database, name in places)
    sizes = client.query(
        "SELECT concat(database, '.', table), toInt64(sum(rows)), toInt64(sum(bytes_on_disk)) FROM system.parts WHERE active "
        f"AND ((database, table) IN ({theirs}) OR database = {quote_literal(house.database)} "
        f"AND startsWith(table, '{TABLE_PREFIX}')) GROUP BY 1 ORDER BY 1"
    )
    found = tuple(TableSize(*row) for row in sizes.result_rows)
    return StoreStats(int(attempts), int(twice), found, int(foreign), int(told_twice))


def _others(house: ClickHouseConnection) -> str:
    """Return the query that counts external spans: they have no recorder version.

    A few imported spans of ours have none either; the query excludes them.
    """
    tables = house.tables
    own, version = (
        reader_of(tables.variant).has("SpanAttributes", key) for key in (MARK, names.FIELDS["recorder_version"])
    )
    ours = f"SELECT SpanId FROM {tables.of(tables.traces)} WHERE {own} AND NOT {version}"
    return f"SELECT count() FROM {quote_identifier(house.database)}.attempts WHERE recorder_version IS NULL AND span_id NOT IN ({ours})"


def _pairs(database: str) -> str:
    attempts = f"{quote_identifier(database)}.attempts"
    return (
        f"SELECT count() FROM {attempts} AS inner_one JOIN {attempts} AS outer_one ON inner_one.trace_id = outer_one.trace_id "
        "AND inner_one.parent_span_id = outer_one.span_id AND inner_one.tool = outer_one.tool "
        "WHERE inner_one.recorder_version IS NULL OR outer_one.recorder_version IS NULL"
    )
