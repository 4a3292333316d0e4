"""The shared store of a team: spans and log events that the collector's exporter wrote into ClickHouse.

Needs the extra ``clickhouse``. Entry points of the package name the functions here: the store of each URL scheme, and the
destination ``clickhouse``. Their dependencies are imported at the first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tooltrace.exporters.protocol import Destination, Target
    from tooltrace.store.base import StoreBackend
    from tooltrace.store.url import Address

SCHEMES: Final = ("clickhouse", "clickhouses", "chdb")
"""URL schemes: ``clickhouses`` uses TLS; ``chdb`` is ClickHouse's engine in this process."""


def open_address(address: Address) -> StoreBackend:
    """Return the store at ``address``, without connecting to it."""
    from tooltrace.clickhouse.store import ClickHouseStore

    return ClickHouseStore(address)


def create(target: Target) -> Destination:
    """Return the destination that inserts records into ``target``."""
    from tooltrace.clickhouse.exporter import create

    return create(target)
