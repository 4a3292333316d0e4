"""Execution of untrusted SQL on a store in ClickHouse, within limits that the server enforces."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

from tooltrace.clickhouse.client import ClickHouseConnection
from tooltrace.clickhouse.query import connect
from tooltrace.errors import QueryError, TooltraceError
from tooltrace.store.database.views import NAMES
from tooltrace.store.files.scratch import outside_folder
from tooltrace.store.result import QueryResult, Statement
from tooltrace.store.sandbox import FileForm, SandboxFile, SandboxLimits
from tooltrace.store.sandbox.limits import MIB, limited_rows, memory_exceeded, time_exceeded
from tooltrace.store.url import Address

if TYPE_CHECKING:
    from duckdb import DuckDBPyRelation


class ClickHouseSandbox:
    """A sandbox that queries only the tables of the store at ``address``.

    ``at_once``: maximum number of concurrent queries.
    """

    def __init__(self, address: Address, limits: SandboxLimits | None = None, *, at_once: int = 2) -> None:
        self._address = address
        self._limits = limits or SandboxLimits()
        self._turns = asyncio.Semaphore(at_once)

    def warm(self) -> None:
        """Do nothing: no process needs to start."""

    async def close(self) -> None:
        """Do nothing: there are no open resources."""

    async def query(self, sql: str) -> QueryResult:
        """Return the rows of ``sql`` as JSON values. Raises QueryError with a message for the author of the SQL."""
        async with self._turns:
            return await asyncio.to_thread(self._query, sql)

    async def write(self, sql: str, form: FileForm, limits: SandboxLimits | None = None) -> SandboxFile:
        """Return the result as a file. Raises QueryError."""
        async with self._turns:
            return await asyncio.to_thread(self._write, sql, form, limits or self._limits)

    def _query(self, sql: str) -> QueryResult:
        started = time.monotonic()
        relation = self._execute(sql, self._limits)
        rows, cut = limited_rows(relation.fetchall(), self._limits)
        columns = list(zip(relation.columns, map(str, relation.types), strict=True))
        result = QueryResult.of_rows(columns, rows, Statement(sql=sql), cut)
        result.ms = round(1000 * (time.monotonic() - started), 1)
        return result

    def _write(self, sql: str, form: FileForm, limits: SandboxLimits) -> SandboxFile:
        relation = self._execute(sql, limits)
        with outside_folder("result") as folder:
            file = folder.path / f"result.{form}"
            shown = relation.limit(limits.rows)
            if form == "csv":
                shown.write_csv(str(file))
            else:
                shown.write_parquet(str(file), compression="zstd")
            if file.stat().st_size > limits.file_bytes:
                raise QueryError(f"the file would be larger than {limits.file_bytes // MIB} MiB: select less")
            return SandboxFile(file.read_bytes(), full=len(relation) > limits.rows)

    def _execute(self, sql: str, limits: SandboxLimits) -> DuckDBPyRelation:
        try:
            # One row more than allowed shows that the result was cut.
            with connect(self._address, settings_for(limits), limits.rows + 1) as session:
                return session.sql(sql, only=NAMES | self._exporter_tables())
        except QueryError as error:
            raise QueryError(_message(str(error), limits)) from error
        except TooltraceError as error:
            raise QueryError(f"cannot read the store: {error}") from error

    def _exporter_tables(self) -> set[str]:
        tables = ClickHouseConnection(self._address).tables
        return {tables.traces, tables.logs}


def settings_for(limits: SandboxLimits) -> dict[str, Any]:
    """Return ClickHouse's settings for ``limits``."""
    return {
        "max_execution_time": limits.seconds,
        "max_memory_usage": limits.memory_bytes,
        "max_threads": 2,
        "max_result_bytes": limits.file_bytes,
    }


def _message(text: str, limits: SandboxLimits) -> str:
    if "TIMEOUT_EXCEEDED" in text:
        return time_exceeded(limits)
    if "MEMORY_LIMIT_EXCEEDED" in text:
        return memory_exceeded(limits)
    if "TOO_MANY_ROWS_OR_BYTES" in text:
        return f"the result would be larger than {limits.file_bytes // MIB} MiB: select less"
    return text
