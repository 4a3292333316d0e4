"""Queries on a store in ClickHouse; results are DuckDB relations, as from a local store."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from tooltrace.clickhouse.attribute_sql import quote_identifier
from tooltrace.clickhouse.client import ClickHouseConnection, first_line
from tooltrace.clickhouse.plan_check import require_allowed_tables
from tooltrace.clickhouse.sql.translate import TranslatedQuery, create_temp_table, drop_temp_table, to_clickhouse
from tooltrace.errors import QueryError, UnsupportedByStore
from tooltrace.store.database import schema
from tooltrace.store.files.scratch import outside_folder
from tooltrace.store.url import Address

if TYPE_CHECKING:
    from duckdb import DuckDBPyRelation

SECONDS: Final = "max_execution_time"
BYTES: Final = "max_memory_usage"


class QueryBudget:
    """Time and memory left for the remaining statements of a query.

    The clock starts at creation. A limit that ``settings`` does not contain does not apply.
    """

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._started = time.monotonic()
        self._seconds: float | None = settings.get(SECONDS)
        self._bytes: int | None = settings.get(BYTES)

    @property
    def limits_memory(self) -> bool:
        """Whether the memory is limited."""
        return self._bytes is not None

    def left(self, used_bytes: int = 0) -> dict[str, Any]:
        """Return the settings of the next statement, while ``used_bytes`` bytes are in use.

        Raises QueryError if nothing is left.
        """
        settings: dict[str, Any] = {}
        if self._seconds is not None:
            settings[SECONDS] = round(self._seconds - (time.monotonic() - self._started), 3)
            if settings[SECONDS] <= 0:
                raise QueryError("the temporary tables of the query used all of its time (TIMEOUT_EXCEEDED)")
        if self._bytes is not None:
            settings[BYTES] = self._bytes - used_bytes
            if settings[BYTES] <= 0:
                raise QueryError("the temporary tables of the query use all of its memory (MEMORY_LIMIT_EXCEEDED)")
        return settings


_TYPES: Final = {
    "TIMESTAMP WITH TIME ZONE": "TIMESTAMP",
    **dict.fromkeys(("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"), "BIGINT"),
}


@contextmanager
def connect(
    address: Address, settings: Mapping[str, Any] | None = None, max_rows: int | None = None
) -> Iterator[ClickHouseSession]:
    """Open a connection for SQL until the block ends.

    ``settings`` of ClickHouse apply to all its statements; at most ``max_rows`` rows of a result are read.
    """
    connection = ClickHouseConnection(address)
    with connection.client(settings) as client:
        yield ClickHouseSession(connection, client, max_rows, settings)


class ClickHouseSession:
    """A session that executes SQL on the views of a store."""

    def __init__(
        self,
        connection: ClickHouseConnection,
        client: Any,
        max_rows: int | None = None,
        limits: Mapping[str, Any] | None = None,
    ) -> None:
        self._connection = connection
        self._client = client
        self._limits = limits or {}
        self._bound = {} if max_rows is None else {"limit": max_rows}

    def sql(self, statement: str, *, only: Collection[str] | None = None) -> DuckDBPyRelation:
        """Return the result of ``statement``, read completely.

        The statement is DuckDB's SQL, as the queries are; functions that only ClickHouse has are passed on unchanged.
        ``only``: the tables that it may read. Raises QueryError.
        """
        script = to_clickhouse(statement, only=only)
        if only is not None:
            require_allowed_tables(self._explained, script, only)
        return self.answer(script)

    def execute(self, statement: str, parameters: Any = None, /) -> DuckDBPyRelation:
        """Return the result of ``statement``, as :meth:`sql` does. Raises UnsupportedByStore for ``parameters``."""
        if parameters is not None:
            raise UnsupportedByStore("a ClickHouse store cannot bind parameters: write the values into the statement")
        return self.sql(statement)

    def answer(self, script: TranslatedQuery, types: Mapping[str, str] | None = None) -> DuckDBPyRelation:
        """Return the result of ``script``. ``types``: types of columns that ClickHouse does not distinguish."""
        with self._temp_tables(script) as left:
            data = self._connection.run(
                # Parquet: its types are those of DuckDB, where JSON or text would lose them.
                lambda: self._client.raw_query(script.select, settings={**self._bound, **left}, fmt="Parquet")
            )
        return relation(data, types or {})

    @contextmanager
    def _temp_tables(self, script: TranslatedQuery) -> Iterator[dict[str, Any]]:
        """Create the temporary tables of ``script`` for the block; yield the limits left for the query itself."""
        # Temporary tables and views are named without a database in the translated SQL.
        self._command(f"USE {quote_identifier(self._connection.database)}")
        budget = QueryBudget(self._limits)
        names: list[str] = []
        try:
            for table in script.temp_tables:
                self._command(create_temp_table(table), budget.left(self._used_bytes(budget)))
                names.append(table.name)
            yield budget.left(self._used_bytes(budget))
        finally:
            for name in names:
                self._command(drop_temp_table(name))

    def _explained(self, statement: str) -> str:
        plan: bytes = self._connection.run(lambda: self._client.raw_query(statement, fmt="TSVRaw"))
        return plan.decode(errors="replace")

    def _used_bytes(self, budget: QueryBudget) -> int:
        """Return the bytes of the temporary tables."""
        if not budget.limits_memory:
            return 0
        return int(self._command("SELECT toInt64(ifNull(sum(total_bytes), 0)) FROM system.tables WHERE is_temporary"))

    def _command(self, statement: str, settings: Mapping[str, Any] | None = None) -> Any:
        return self._connection.run(lambda: self._client.command(statement, settings=dict(settings or {})))


def relation(data: bytes, types: Mapping[str, str]) -> DuckDBPyRelation:
    """Return the Parquet file ``data`` as a persistent relation.

    Raises QueryError for values that DuckDB cannot represent.
    """
    import duckdb

    try:
        return _read(data, types)
    except duckdb.Error as error:
        raise QueryError(f"the result contains a value that DuckDB cannot represent: {first_line(error)}") from error


def _read(data: bytes, types: Mapping[str, str]) -> DuckDBPyRelation:
    from tooltrace.store.database.connection import connect as memory

    con = memory()
    with outside_folder("result") as folder:
        file = folder.path / "result.parquet"
        file.write_bytes(data)
        found = con.read_parquet(str(file))
        kinds = zip(found.columns, map(str, found.types), strict=True)
        columns = ", ".join(_column(name, types.get(name) or _TYPES.get(kind)) for name, kind in kinds)
        con.execute(f"CREATE TABLE result AS SELECT {columns} FROM read_parquet(?)", [str(file)])
    return con.table("result")


def _column(name: str, type_: str | None) -> str:
    column = schema.quote_identifier(name)
    return column if type_ is None else f"CAST({column} AS {type_}) AS {column}"
