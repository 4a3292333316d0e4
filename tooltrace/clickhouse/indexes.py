"""Indexes over the exporter's own table of spans: a question after one tool, one attempt or one trace reads little of it.

They are no projections: ClickHouse uses none where a sum over no rows is to be NULL, and the queries ask for that.
"""

from __future__ import annotations

from typing import Final

from tooltrace.clickhouse.readers import quoted, reader_of
from tooltrace.clickhouse.tables import Tables
from tooltrace.otel import attributes as names

PREFIX: Final = "tooltrace_by_"
_FEW: Final = "set(64)"
"""Tools in eight thousand spans that stand side by side, as the table is sorted by the spans' names."""
_MANY: Final = "bloom_filter(0.01)"


def statements(tables: Tables) -> list[str]:
    """What adds them, and makes them of what is there."""
    tool = reader_of(tables.variant).sure("SpanAttributes", names.TOOL_NAME)
    kinds = {"tool": (f"({tool})", _FEW), "span": ("SpanId", _MANY), "trace": ("TraceId", _MANY)}
    table = tables.of(tables.traces)
    made = []
    for name, (expression, type_) in kinds.items():
        index = quoted(PREFIX + name)
        made.append(f"ALTER TABLE {table} ADD INDEX IF NOT EXISTS {index} {expression} TYPE {type_} GRANULARITY 1")
        made.append(f"ALTER TABLE {table} MATERIALIZE INDEX {index}")
    return made
