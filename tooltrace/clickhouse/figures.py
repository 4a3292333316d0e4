"""What a database of ClickHouse holds of tool calls, in figures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tooltrace.clickhouse.client import House
from tooltrace.clickhouse.kept import PREFIX
from tooltrace.clickhouse.tables import literal


@dataclass(frozen=True, slots=True)
class Size:
    """A table: rows, and bytes on the disk."""

    name: str
    rows: int
    size: int

    @property
    def each(self) -> float:
        """Bytes of one row."""
        return self.size / self.rows if self.rows else 0.0


@dataclass(frozen=True, slots=True)
class Figures:
    """What is there."""

    attempts: int
    twice: int
    """Rows of spans that are there already."""
    sizes: tuple[Size, ...]

    def lines(self) -> Iterator[str]:
        """As sentences."""
        yield f"{self.attempts:,} attempts; {self.twice:,} rows too many"
        for one in self.sizes:
            yield f"{one.name}: {one.rows:,} rows, {one.size / 1e6:,.1f} MB, {one.each:,.0f} bytes a row"


def figures(house: House, client: Any) -> Figures:
    """The figures of ``house``. Raises StoreMissing where there are no views."""
    asked = f"SELECT count(), count() - uniqExact(span_id) FROM `{house.database}`.attempts"
    attempts, twice = house.told(lambda: client.query(asked)).result_rows[0]
    names = [house.tables.traces.rpartition(".")[2], house.tables.logs.rpartition(".")[2]]
    sizes = client.query(
        "SELECT concat(database, '.', table), toInt64(sum(rows)), toInt64(sum(bytes_on_disk)) FROM system.parts WHERE active "
        f"AND (table IN ({', '.join(map(literal, names))}) OR database = {literal(house.database)} "
        f"AND startsWith(table, '{PREFIX}')) GROUP BY 1 ORDER BY 1"
    )
    return Figures(int(attempts), int(twice), tuple(Size(*row) for row in sizes.result_rows))
