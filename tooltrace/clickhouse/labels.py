"""A label for a call that is in ClickHouse: a log event, by the collector where one is named, else inserted."""

from __future__ import annotations

import os

from tooltrace.address import Address
from tooltrace.clickhouse.backfill import create
from tooltrace.errors import StoreError
from tooltrace.exporters import loader
from tooltrace.exporters.protocol import ExportError, Target
from tooltrace.record import Outcome

_COLLECTOR = ("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")


def keep(address: Address, outcome: Outcome) -> str:
    """Send ``outcome``; where it went. Raises StoreError where it was not taken."""
    by_collector = any(os.environ.get(name) for name in _COLLECTOR)
    destination = (
        loader.create("otlp", Target(parts=("logs",))) if by_collector else create(Target(endpoint=address.url))
    )
    try:
        destination.send([outcome])
    except ExportError as error:
        road = "the collector" if by_collector else str(address)
        raise StoreError(f"the label was not taken by {road}: {error}; nothing was recorded") from error
    finally:
        destination.close()
    return "sent to the collector" if by_collector else f"inserted into {address}"
