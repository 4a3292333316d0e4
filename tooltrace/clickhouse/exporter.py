"""Insertion of a local store's history into the exporter's tables; each record once, however often it is sent.

New records normally arrive by OTLP through a collector; this module is for records from before there was one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from tooltrace.clickhouse import SCHEMES
from tooltrace.clickhouse.attribute_sql import quote_literal
from tooltrace.clickhouse.client import ClickHouseConnection, first_line, require_driver
from tooltrace.clickhouse.rows import lines, log_row, span_row
from tooltrace.core.records import Record
from tooltrace.errors import ConfigError, QueryError, StoreError
from tooltrace.exporters.otlp_records import RecordEncoder
from tooltrace.exporters.protocol import Refused, Target, Unavailable
from tooltrace.otel.content_policy import apply_policy, outgoing_log
from tooltrace.recording.settings import default_address
from tooltrace.store.url import address_of

_KEYS: Final = {"traces": "SpanId", "logs": "Timestamp, EventName, SpanId, toString(LogAttributes)"}
"""Columns that identify a record: rows that agree in them are duplicates."""


def create(target: Target) -> Backfill:
    """Create the destination of ``--endpoint``, or of ``$TOOLTRACE_STORE``. Raises ConfigError, ImportError."""
    address = address_of(target.endpoint) if target.endpoint else default_address()
    if address is None or address.scheme not in SCHEMES:
        raise ConfigError(
            "destination clickhouse needs an address: pass --endpoint clickhouse://host/database, or set $TOOLTRACE_STORE to it"
        )
    require_driver()
    return Backfill(ClickHouseConnection(address), RecordEncoder(target.service, target.host, target.attributes))


class Backfill:
    """A destination that inserts only records that are missing."""

    name = "clickhouse"

    def __init__(self, connection: ClickHouseConnection, encoder: RecordEncoder) -> None:
        self._connection = connection
        self._encoder = encoder
        self.description = str(connection.address)

    def send(self, records: Sequence[Record]) -> None:
        """Insert those of ``records`` that are missing. Raises Unavailable, Refused."""
        variant = self._connection.tables.variant
        spans = [span_row(apply_policy(form), variant) for form in map(self._encoder.span, records) if form is not None]
        logs = [log_row(outgoing_log(form), variant) for form in map(self._encoder.log, records) if form is not None]
        try:
            with self._connection.client() as client:
                self._require_variant(client)
                self._insert(client, "traces", self._connection.tables.traces, spans)
                self._insert(client, "logs", self._connection.tables.logs, logs)
        except QueryError as error:
            raise Refused(first_line(error), whole=True) from error
        except StoreError as error:
            raise Unavailable(first_line(error)) from error

    def close(self) -> None:
        """Do nothing: there are no open resources."""

    def _require_variant(self, client: Any) -> None:
        """Raise Unavailable if the tables store attributes in another variant than the address names.

        The views could not read the inserted rows.
        """
        tables = self._connection.tables
        database, name = map(quote_literal, tables.qualified_name(tables.traces))
        sql = f"SELECT type FROM system.columns WHERE database = {database} AND table = {name} AND name = 'SpanAttributes'"
        kinds = [str(row[0]) for row in self._connection.run(lambda: client.query(sql)).result_rows]
        if any(kind.startswith("JSON") != (tables.variant == "json") for kind in kinds):
            other = "map" if tables.variant == "json" else "json"
            raise Unavailable(f"the table stores attributes as {kinds[0]}: add ?variant={other} to the address")

    def _insert(self, client: Any, kind: str, table: str, rows: list[dict[str, Any]]) -> None:
        if not rows:
            return
        name, key, run = self._connection.tables.of(table), _KEYS[kind], self._connection.run
        # Deduplicate on the server: the time range of the new rows limits the partitions that it has to read.
        run(lambda: client.command(f"CREATE TEMPORARY TABLE new_rows ENGINE = Memory AS SELECT * FROM {name} LIMIT 0"))
        try:
            run(lambda: client.raw_insert("new_rows", insert_block=lines(rows), fmt="JSONEachRow"))
            run(
                lambda: client.command(
                    f"INSERT INTO {name} SELECT * FROM new_rows WHERE ({key}) NOT IN (SELECT {key} FROM {name} WHERE Timestamp >= "
                    "(SELECT min(Timestamp) FROM new_rows) AND Timestamp <= (SELECT max(Timestamp) FROM new_rows)) "
                    f"LIMIT 1 BY {key}"
                )
            )
        finally:
            run(lambda: client.command("DROP TEMPORARY TABLE new_rows"))
