"""Labels for calls that are in ClickHouse: log events, by the collector where one is named, else inserted."""

from __future__ import annotations

import os
from collections.abc import Sequence

from tooltrace.address import Address
from tooltrace.clickhouse.backfill import create
from tooltrace.errors import StoreError
from tooltrace.exporters import loader
from tooltrace.exporters.protocol import ExportError, Target
from tooltrace.record import Record

_COLLECTOR = ("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")


def send(address: Address, records: Sequence[Record]) -> str:
    """Send ``records``, which are labels; return where they went. Raises StoreError where they were not accepted."""
    by_collector = any(os.environ.get(name) for name in _COLLECTOR)
    destination = (
        loader.create("otlp", Target(parts=("logs",))) if by_collector else create(Target(endpoint=address.url))
    )
    try:
        destination.send(records)
    except ExportError as error:
        road = "the collector" if by_collector else str(address)
        raise StoreError(f"the label was not taken by {road}: {error}; nothing was recorded") from error
    finally:
        destination.close()
    return "sent to the collector" if by_collector else f"inserted into {address}"
