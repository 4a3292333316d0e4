"""A third kind of store, as somebody else would add it: records in a list of this process."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, ClassVar

import duckdb

from tooltrace.core.fields import fields_of
from tooltrace.core.records import Record
from tooltrace.errors import QueryError, StoreMissing
from tooltrace.store.base import Cancellation, StoreBackend
from tooltrace.store.database import hashes, migrations
from tooltrace.store.database.schema import RECORDS
from tooltrace.store.journal.line_format import KINDS
from tooltrace.store.result import QueryResult, Statement
from tooltrace.store.url import Address


class MemoryStore(StoreBackend):
    """``memory://name``: gone with the process."""

    kept: ClassVar[defaultdict[str, list[Record]]] = defaultdict(list)

    def __init__(self, address: Address) -> None:
        self._address = address
        self._records = self.kept[address.name]

    def __str__(self) -> str:
        return str(self._address)

    @property
    def name(self) -> str:
        return self._address.name

    def exists(self) -> bool:
        return bool(self._records)

    def version(self) -> str:
        return str(len(self._records))

    def query(
        self, statement: Statement, *, missing_ok: bool = False, cancellation: Cancellation | None = None
    ) -> QueryResult:
        with self.connect(missing_ok=missing_ok) as con, (cancellation or Cancellation()).interrupting(con.interrupt):
            try:
                found = con.execute(statement.sql, dict(statement.params or {}))
                columns = [(column[0], column[1]) for column in found.description or ()]
                return QueryResult.of_rows(columns, found.fetchall(), statement)
            except duckdb.Error as error:
                raise QueryError(str(error)) from error

    @contextmanager
    def connect(self, *, missing_ok: bool = False) -> Iterator[duckdb.DuckDBPyConnection]:
        if not self._records and not missing_ok:
            raise StoreMissing(f"nothing was recorded in {self}")
        with duckdb.connect(":memory:") as con:
            con.execute("SET TimeZone = 'UTC'")
            con.execute("ATTACH ':memory:' AS store")
            migrations.create(con)
            con.execute("USE store")
            for record in self._records:
                _insert(con, record)
            hashes.refresh(con)
            yield con

    def write(self, records: Sequence[Record]) -> None:
        self._records.extend(records)


def _insert(con: duckdb.DuckDBPyConnection, record: Record) -> None:
    table = next(RECORDS[kind].name for kind, known in KINDS.items() if isinstance(record, known))
    values: dict[str, Any] = {field.name: getattr(record, field.name) for field in fields_of(type(record))}
    values = {
        name: value.replace(tzinfo=None) if isinstance(value, datetime) else value for name, value in values.items()
    }
    names = ", ".join(f'"{name}"' for name in values)
    con.execute(f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' * len(values))})", list(values.values()))
