"""A store in ClickHouse, with the interface of all stores."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime, time, timedelta
from typing import TYPE_CHECKING, Any, Final, Literal

from tooltrace.clickhouse.attribute_sql import quote_identifier
from tooltrace.clickhouse.client import ClickHouseConnection
from tooltrace.clickhouse.corrections_sql import CORRECTIONS_IN_FORCE, with_span_ids
from tooltrace.clickhouse.exporter import create
from tooltrace.core.records import Correction, Record, SavedQuery
from tooltrace.errors import StoreError, StoreMissing, TooltraceError, UnsupportedByStore
from tooltrace.exporters import registry
from tooltrace.exporters.protocol import Destination, ExportError, Target
from tooltrace.store.base import Cancellation, SqlSandbox, StoreBackend
from tooltrace.store.result import QueryResult, Statement, result_of
from tooltrace.store.url import Address

if TYPE_CHECKING:
    from tooltrace.clickhouse.query import ClickHouseSession
    from tooltrace.store.sandbox import SandboxLimits
    from tooltrace.store.upkeep.retention import PrunePolicy, PruneReport


def destination(address: Address, signal: Literal["traces", "logs"]) -> tuple[Destination, bool]:
    """Return where records of ``signal`` go, and whether it is the collector that the environment names.

    Without one they are inserted into the exporter's tables.
    """
    names = (f"OTEL_EXPORTER_OTLP_{signal.upper()}_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
    if any(os.environ.get(name) for name in names):
        return registry.create("otlp", Target(parts=(signal,))), True
    return create(Target(endpoint=address.url)), False


def send(address: Address, records: Sequence[Record]) -> str:
    """Send labels or corrections and return their target. Raises StoreError if they were not accepted."""
    receiver, is_collector = destination(address, "logs")
    try:
        receiver.send(records)
    except ExportError as error:
        name = "the collector" if is_collector else str(address)
        raise StoreError(f"{name} did not accept the record: {error}; nothing was recorded") from error
    finally:
        receiver.close()
    return "sent to the collector" if is_collector else f"inserted into {address}"


_PAGE_ROWS: Final = 1_000
"""Attempts of a scan in memory at once: a result may be large."""

_ERROR_CODE: Final = re.compile(r"\(([A-Z][A-Z_]+)\)")

UNITS: Final = {"flag": "BOOLEAN", "mark": "BOOLEAN"}
"""Types of columns by unit, where ClickHouse's type is less exact."""


class ClickHouseStore(StoreBackend):
    """The store at ``address``: the views over the tables of the collector's exporter."""

    def __init__(self, address: Address) -> None:
        self.address = address

    def __str__(self) -> str:
        return str(self.address)

    def __repr__(self) -> str:
        return f"ClickHouseStore({str(self.address)!r})"

    @property
    def name(self) -> str:
        """Host and database."""
        return self.address.name

    @property
    def location(self) -> str:
        """The URL without its password."""
        return str(self.address)

    def exists(self) -> bool:
        """Return true: only a query could check."""
        return True

    def version(self) -> None:
        """Return None: only a query could determine it."""

    def query(
        self, statement: Statement, *, missing_ok: bool = False, cancellation: Cancellation | None = None
    ) -> QueryResult:
        """Return the result of ``statement``. ``missing_ok`` has no effect: without the views there is no result.

        A query that already runs is not interrupted.
        """
        from tooltrace.clickhouse.query import connect
        from tooltrace.clickhouse.sql.gathers import gather_sql
        from tooltrace.clickhouse.sql.translate import TranslatedQuery, to_clickhouse

        script = (
            to_clickhouse(statement.sql, statement.params)
            if statement.conclude is None
            else TranslatedQuery((), gather_sql(statement.sql, statement.params))
        )
        types = {column.name: UNITS[column.unit] for column in statement.columns if column.unit in UNITS}
        with connect(self.address) as session, (cancellation or Cancellation()).interrupting(lambda: None):
            result = result_of(session.answer(script, types), statement)
        # chosen here: the translation finds the steps of a query in its outermost WITH
        return result.select(*statement.only) if statement.only else result

    def connect(self, *, missing_ok: bool = False) -> AbstractContextManager[ClickHouseSession]:
        """Return a session whose ``sql`` accepts DuckDB's SQL and returns DuckDB relations."""
        from tooltrace.clickhouse.query import connect

        return connect(self.address)

    def sandbox(self, limits: SandboxLimits) -> SqlSandbox:
        """Return a sandbox whose limits the server enforces."""
        from tooltrace.clickhouse.sandbox import ClickHouseSandbox

        return ClickHouseSandbox(self.address, limits)

    def prune(self, policy: PrunePolicy, *, dry_run: bool = False) -> PruneReport:
        """Raise UnsupportedByStore: ClickHouse removes content and rows by itself, by TTLs."""
        raise UnsupportedByStore(
            f"the store {self} cannot remove content or rows on request: set 'ttl' in the collector's ClickHouse exporter, or run "
            "tooltrace clickhouse init --tables --days N --row-days M"
        )

    def write(self, records: Sequence[Record]) -> str:
        """Send ``records`` to the collector if the environment names one, else insert them. See StoreBackend.

        A correction of a call gets the span id of the attempt that it names, so that queries need not look for it.
        Raises UnsupportedByStore for a saved query, because ClickHouse has no table of saved queries, and StoreMissing for
        a correction if the views are of an older version, which applies none.
        """
        if any(isinstance(record, Correction) for record in records):
            self._require_correction_views()
            records = with_span_ids(records, self._rows)
        if any(isinstance(record, SavedQuery) for record in records):
            raise UnsupportedByStore(
                f"the store {self} cannot save queries: keep the SQL in a file, or use a local store; nothing was saved"
            )
        return send(self.address, records)

    def scan_attempts(
        self, columns: Sequence[str], where: str, params: Mapping[str, Any]
    ) -> Iterator[tuple[list[tuple[Any, ...]], int]]:
        """Yield attempts in pages of one day at a time, because the tables are partitioned by day. See StoreBackend."""
        days = self._rows(
            f"SELECT CAST(started_at AS DATE) AS day, count(*) AS n FROM attempts WHERE {where} GROUP BY day ORDER BY day",
            params,
        )
        total = sum(count for _day, count in days)
        for day, _count in days:
            start = datetime.combine(day, time())
            after, last_span = start, ""
            while True:
                rows = self._rows(
                    f"SELECT started_at, span_id AS page_span_id, {', '.join(columns)} FROM attempts WHERE {where} "
                    "AND started_at >= $after AND started_at < $day_end "
                    "AND (started_at > $after OR span_id > $last_span) "
                    f"ORDER BY started_at, page_span_id LIMIT {_PAGE_ROWS}",
                    {**params, "after": after, "day_end": start + timedelta(days=1), "last_span": last_span},
                )
                if rows:
                    after, last_span = rows[-1][:2]
                    yield [row[2:] for row in rows], total
                if len(rows) < _PAGE_ROWS:
                    break

    def _rows(self, sql: str, params: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        return self.query(Statement(sql=sql, params=params)).rows

    def _require_correction_views(self) -> None:
        connection = ClickHouseConnection(self.address)
        view = f"{quote_identifier(connection.database)}.{quote_identifier(CORRECTIONS_IN_FORCE)}"
        with connection.client() as client:
            if not int(connection.run(lambda: client.command(f"EXISTS TABLE {view}"))):
                raise StoreMissing(
                    f"the store {self} lacks the view {CORRECTIONS_IN_FORCE}, which applies corrections: run tooltrace "
                    "clickhouse init --apply, with the options of its first run; nothing was recorded"
                )

    def safe_message(self, error: TooltraceError) -> str:
        """Return only the code of an error of the engine, which quotes values anywhere in its text. See StoreBackend."""
        text = str(error)
        if "DB::Exception" not in text and "Code: " not in text:
            return text
        codes = _ERROR_CODE.findall(text)
        return f"the query failed ({codes[-1] if codes else 'unknown error'}): check its names and types"

    def destination(self) -> Destination:
        """Return the collector that the environment names, else the insertion of calls. See StoreBackend."""
        return destination(self.address, "traces")[0]
