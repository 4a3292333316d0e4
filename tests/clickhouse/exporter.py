"""The tables of the collector's ClickHouse exporter.

``SPANS`` and ``LOGS`` are those that it makes (contrib v0.161.0, `internal/sqltemplates`), without the secondary indexes and the columns
that it makes for Kubernetes: none of them changes an answer.
"""

from __future__ import annotations

SPANS = """
CREATE TABLE IF NOT EXISTS {name} (
    Timestamp DateTime64(9) CODEC(Delta, ZSTD(1)),
    TraceId String CODEC(ZSTD(1)),
    SpanId String CODEC(ZSTD(1)),
    ParentSpanId String CODEC(ZSTD(1)),
    TraceState String CODEC(ZSTD(1)),
    SpanName LowCardinality(String) CODEC(ZSTD(1)),
    SpanKind LowCardinality(String) CODEC(ZSTD(1)),
    ServiceName LowCardinality(String) CODEC(ZSTD(1)),
    ResourceAttributes {map} CODEC(ZSTD(1)),
    {resource_keys}
    ScopeName String CODEC(ZSTD(1)),
    ScopeVersion String CODEC(ZSTD(1)),
    SpanAttributes {map} CODEC(ZSTD(1)),
    {span_keys}
    Duration UInt64 CODEC(ZSTD(1)),
    StatusCode LowCardinality(String) CODEC(ZSTD(1)),
    StatusMessage String CODEC(ZSTD(1)),
    Events Nested (Timestamp DateTime64(9), Name LowCardinality(String), Attributes {map}) CODEC(ZSTD(1)),
    Links Nested (TraceId String, SpanId String, TraceState String, Attributes {map}) CODEC(ZSTD(1))
) ENGINE = MergeTree()
PARTITION BY toDate(Timestamp)
ORDER BY (ServiceName, SpanName, toDateTime(Timestamp){sort})
SETTINGS index_granularity = 8192, ttl_only_drop_parts = 1
"""
LOGS = """
CREATE TABLE IF NOT EXISTS {name} (
    Timestamp DateTime64(9) CODEC(Delta(8), ZSTD(1)),
    TraceId String CODEC(ZSTD(1)),
    SpanId String CODEC(ZSTD(1)),
    TraceFlags UInt8,
    SeverityText LowCardinality(String) CODEC(ZSTD(1)),
    SeverityNumber UInt8,
    ServiceName LowCardinality(String) CODEC(ZSTD(1)),
    Body String CODEC(ZSTD(1)),
    ResourceSchemaUrl LowCardinality(String) CODEC(ZSTD(1)),
    ResourceAttributes {map} CODEC(ZSTD(1)),
    {resource_keys}
    ScopeSchemaUrl LowCardinality(String) CODEC(ZSTD(1)),
    ScopeName String CODEC(ZSTD(1)),
    ScopeVersion LowCardinality(String) CODEC(ZSTD(1)),
    ScopeAttributes {map} CODEC(ZSTD(1)),
    {scope_keys}
    LogAttributes {map} CODEC(ZSTD(1)),
    {log_keys}
    EventName String CODEC(ZSTD(1))
) ENGINE = MergeTree()
PARTITION BY toDate(Timestamp)
ORDER BY (toStartOfFiveMinutes(Timestamp), ServiceName, Timestamp)
SETTINGS index_granularity = 8192, ttl_only_drop_parts = 1
"""
KEYS = "{column}AttributesKeys Array(LowCardinality(String)) CODEC(ZSTD(1)),"
COLUMNS = {"resource_keys": "Resource", "span_keys": "Span", "scope_keys": "Scope", "log_keys": "Log"}


def definition(template: str, name: str, variant: str) -> str:
    """The table ``name`` as the exporter makes it, with ``json: true`` for the variant json."""
    if variant == "json":
        keys = {key: KEYS.format(column=column) for key, column in COLUMNS.items()}
        return template.format(name=name, map="JSON", sort=", Timestamp", **keys)
    return template.format(name=name, map="Map(LowCardinality(String), String)", sort="", **dict.fromkeys(COLUMNS, ""))
