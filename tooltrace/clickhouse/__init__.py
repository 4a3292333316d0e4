"""The shared store of a team: spans and log events that the collector's exporter wrote into ClickHouse.

Needs the extra ``clickhouse``. This module registers the URL schemes of the store and the destination ``clickhouse``;
their dependencies are imported at the first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tooltrace.store.base import StoreBackend, StoreExporter, register_store
from tooltrace.store.url import Address

if TYPE_CHECKING:
    from tooltrace.exporters.protocol import Destination, Target

SCHEMES: Final = ("clickhouse", "clickhouses", "chdb")
"""URL schemes: ``clickhouses`` uses TLS; ``chdb`` is ClickHouse's engine in this process."""


def _open(address: Address) -> StoreBackend:
    from tooltrace.clickhouse.store import ClickHouseStore

    return ClickHouseStore(address)


def _create(target: Target) -> Destination:
    from tooltrace.clickhouse.exporter import create

    return create(target)


register_store(*SCHEMES, factory=_open, exporter=StoreExporter(_create, extra="clickhouse"))
