"""Insertion of a local store's history into the exporter's tables; each record once, however often it is sent.

New records normally arrive by OTLP through a collector; this module is for records from before there was one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from tooltrace.clickhouse import SCHEMES
from tooltrace.clickhouse.attribute_sql import quote_literal
from tooltrace.clickhouse.client import ClickHouseConnection, first_line
from tooltrace.clickhouse.rows import lines, log_row, span_row
from tooltrace.core.records import Record
from tooltrace.errors import ConfigError, QueryError, StoreError
from tooltrace.exporters.otlp_records import RecordEncoder
from tooltrace.exporters.protocol import Refused, Target, Unavailable
from tooltrace.otel.content_policy import apply_policy, outgoing_log
from tooltrace.recording.settings import default_address
from tooltrace.store.url import address_of

_SAME: Final = {"traces": "SpanId", "logs": "Timestamp, EventName, SpanId, toString(LogAttributes)"}
"""Columns that identify a record: rows that agree in them are duplicates."""


def create(target: Target) -> Backfill:
    """Create the destination of ``--endpoint``, or of ``$TOOLTRACE_STORE``. Raises ConfigError."""
    address = address_of(target.endpoint) if target.endpoint else default_address()
    if address is None or address.scheme not in SCHEMES:
        raise ConfigError(
            "clickhouse needs --endpoint clickhouse://host/database, or such a $TOOLTRACE_STORE; nothing is exported"
        )
    return Backfill(ClickHouseConnection(address), RecordEncoder(target.service, target.host))


class Backfill:
    """A destination that inserts only records that are missing."""

    def __init__(self, house: ClickHouseConnection, forms: RecordEncoder) -> None:
        self._house = house
        self._forms = forms
        self.description = str(house.address)

    def send(self, records: Sequence[Record]) -> None:
        """Insert those of ``records`` that are missing. Raises Unavailable, Refused."""
        variant = self._house.tables.variant
        spans = [span_row(apply_policy(form), variant) for form in map(self._forms.span, records) if form is not None]
        logs = [log_row(outgoing_log(form), variant) for form in map(self._forms.log, records) if form is not None]
        try:
            with self._house.client() as client:
                self._require_variant(client)
                self._insert(client, "traces", self._house.tables.traces, spans)
                self._insert(client, "logs", self._house.tables.logs, logs)
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
        tables = self._house.tables
        database, name = map(quote_literal, tables.place(tables.traces))
        asked = f"SELECT type FROM system.columns WHERE database = {database} AND table = {name} AND name = 'SpanAttributes'"
        kinds = [str(row[0]) for row in self._house.run(lambda: client.query(asked)).result_rows]
        if any(kind.startswith("JSON") != (tables.variant == "json") for kind in kinds):
            other = "map" if tables.variant == "json" else "json"
            raise Unavailable(f"the attributes there are {kinds[0]}; the address needs ?variant={other}")

    def _insert(self, client: Any, kind: str, table: str, rows: list[dict[str, Any]]) -> None:
        if not rows:
            return
        name, same, told = self._house.tables.of(table), _SAME[kind], self._house.run
        # Deduplicate on the server: the time range of the new rows limits the partitions that it has to read.
        told(lambda: client.command(f"CREATE TEMPORARY TABLE coming ENGINE = Memory AS SELECT * FROM {name} LIMIT 0"))
        try:
            told(lambda: client.raw_insert("coming", insert_block=lines(rows), fmt="JSONEachRow"))
            told(
                lambda: client.command(
                    f"INSERT INTO {name} SELECT * FROM coming WHERE ({same}) NOT IN (SELECT {same} FROM {name} WHERE Timestamp >= "
                    "(SELECT min(Timestamp) FROM coming) AND Timestamp <= (SELECT max(Timestamp) FROM coming)) "
                    f"LIMIT 1 BY {same}"
                )
            )
        finally:
            told(lambda: client.command("DROP TEMPORARY TABLE coming"))
