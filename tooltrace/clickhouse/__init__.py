"""The store of a team: the spans and log events that the collector's exporter wrote into ClickHouse.

Needs the extra ``clickhouse``.
"""
