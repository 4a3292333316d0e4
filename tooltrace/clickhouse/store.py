"""A store in ClickHouse, behind the interface of all stores."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Final

from tooltrace.address import Address
from tooltrace.record import Record
from tooltrace.store.base import Cancellation, SqlSandbox, StoreBackend
from tooltrace.store.result import QueryResult, Statement

if TYPE_CHECKING:
    from tooltrace.clickhouse.asking import Lease
    from tooltrace.sandbox import Limits

UNITS: Final = {"flag": "BOOLEAN", "mark": "BOOLEAN"}
"""Type of a column by its unit, where ClickHouse has none for it."""


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
        """The URL, without its password."""
        return str(self.address)

    def exists(self) -> bool:
        """Always true: only a query could tell."""
        return True

    def version(self) -> None:
        """None: only a query could tell."""

    def query(
        self, statement: Statement, *, missing_ok: bool = False, cancellation: Cancellation | None = None
    ) -> QueryResult:
        """Return the result of ``statement``. ``missing_ok`` changes nothing: without the views there is no result.

        A query that runs already is not interrupted.
        """
        from tooltrace.clickhouse.asking import connect
        from tooltrace.queries.dialect import to_clickhouse

        script = to_clickhouse(statement.sql, statement.params)
        types = {column.name: UNITS[column.unit] for column in statement.columns if column.unit in UNITS}
        with connect(self.address) as lease, (cancellation or Cancellation()).interrupting(lambda: None):
            return QueryResult.of_relation(lease.answer(script, types), statement)

    def connect(self, *, missing_ok: bool = False) -> AbstractContextManager[Lease]:
        """Return a session whose ``sql`` answers in DuckDB's SQL, by DuckDB relations."""
        from tooltrace.clickhouse.asking import connect

        return connect(self.address)

    def sandbox(self, limits: Limits) -> SqlSandbox:
        """Return a sandbox whose limits the server keeps."""
        from tooltrace.clickhouse.typed import TypedSql

        return TypedSql(self.address, limits)

    def write(self, records: Sequence[Record]) -> str:
        """Send ``records`` to the collector where the environment names one, else insert them. See StoreBackend."""
        from tooltrace.clickhouse.labels import send

        return send(self.address, records)
