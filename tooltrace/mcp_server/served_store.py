"""Access to the store for the tools: named queries in threads, SQL in the sandbox, and errors without texts of traces."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Final

from anyio import CapacityLimiter, to_thread

from tooltrace.analysis import query_store
from tooltrace.analysis.query import GroupBy
from tooltrace.errors import BadParameter, LabelError, QueryError, TooltraceError, UnknownQuery
from tooltrace.mcp_server.answer import MAX_CHARACTERS
from tooltrace.store.base import Cancellation, SqlSandbox, StoreBackend
from tooltrace.store.database.documented_tables import documented_tables
from tooltrace.store.result import QueryResult, Statement
from tooltrace.store.sandbox import SandboxLimits

MAX_CONCURRENT: Final = 2
"""Queries that run at a time for all clients of the server."""
LIMITS: Final = SandboxLimits(rows=1_000)
"""Limits of SQL: an answer holds far fewer rows than a page."""

_QUOTED: Final = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"|`[^`\n]*`")


@dataclass(frozen=True)
class ServedStore:
    """The store that the tools query, and the limits of their answers."""

    store: StoreBackend
    characters: int = MAX_CHARACTERS
    """Characters of one answer."""
    _limiter: CapacityLimiter = field(default_factory=partial(CapacityLimiter, MAX_CONCURRENT), repr=False)

    @cached_property
    def sandbox(self) -> SqlSandbox:
        """The executor of SQL that a model wrote."""
        return self.store.sandbox(LIMITS)

    async def query(self, name: str, by: GroupBy | None = None, **params: Any) -> QueryResult:
        """Return the result of a named query, empty for a store without records. Raises TooltraceError."""
        cancellation = Cancellation()
        run = partial(
            query_store,
            self.store,
            name,
            by=by,
            missing_ok=True,
            cancellation=cancellation,
            **{key: value for key, value in params.items() if value is not None},
        )
        return await self._in_thread(run, cancellation)

    async def rows(self, statement: Statement) -> list[dict[str, Any]]:
        """Return the rows of ``statement``, whose SQL is ours. Raises TooltraceError."""
        cancellation = Cancellation()
        run = partial(self.store.query, statement, missing_ok=True, cancellation=cancellation)
        return (await self._in_thread(run, cancellation)).dicts()

    async def run(self, function: Any, *arguments: Any) -> Any:
        """Return the result of ``function``, called in a thread. Raises its errors, without values of rows."""
        with self._errors_without_values():
            return await to_thread.run_sync(partial(function, *arguments), limiter=self._limiter)

    async def sql(self, sql: str) -> QueryResult:
        """Return the result of a statement that a model wrote, within :data:`LIMITS`.

        Raises QueryError, with a message that quotes no value of a row.
        """
        try:
            return await self.sandbox.query(sql)
        except QueryError as error:
            raise QueryError(self._without_values(error, sql)) from None

    async def close(self) -> None:
        """Release the processes of the sandbox."""
        # The cached property exists only after the first SQL; to close it must not start its processes.
        if "sandbox" in self.__dict__:
            await self.sandbox.close()

    async def _in_thread(self, run: Any, cancellation: Cancellation) -> QueryResult:
        try:
            with self._errors_without_values():
                result: QueryResult = await to_thread.run_sync(run, limiter=self._limiter, abandon_on_cancel=True)
        except asyncio.CancelledError:
            cancellation.cancel()
            raise
        return result

    @contextmanager
    def _errors_without_values(self) -> Iterator[None]:
        """Replace the message of an error of the engine or the store; those about arguments quote the arguments alone."""
        try:
            yield
        except (BadParameter, UnknownQuery, LabelError):
            raise
        except TooltraceError as error:
            raise QueryError(self._without_values(error, "")) from None

    def _without_values(self, error: TooltraceError, sql: str) -> str:
        """Return the message of ``error`` about ``sql`` without anything that may come from a row.

        Quoted names stay if they occur in the SQL or are those of tables and columns.
        """
        return _with_known_names(self.store.safe_message(error), sql)


def _with_known_names(message: str, sql: str) -> str:
    lines = [line for line in message.splitlines() if line.strip() and not line.startswith(("LINE ", " "))]
    known = {name for table in documented_tables() for name in (table.name, *(each.name for each in table.columns))}
    text = " ".join(lines)[:600]
    return _QUOTED.sub(lambda quoted: quoted[0] if quoted[0][1:-1] in known or quoted[0][1:-1] in sql else "'…'", text)
