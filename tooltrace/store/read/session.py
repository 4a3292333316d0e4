"""A session: several queries on one lease of a local store, which share what many of them compute."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, Final

import duckdb

from tooltrace.errors import QueryCancelled, QueryError
from tooltrace.store.base import Cancellation
from tooltrace.store.database.schema import quote_literal
from tooltrace.store.database.views import JUDGED
from tooltrace.store.read.reader import failure_of
from tooltrace.store.read.removed_content import read_stating
from tooltrace.store.result import QueryResult, Statement

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MORE_MIB: Final = 1024
"""Memory limit that a query gets when a smaller one was not enough."""

SHARED: Final = (JUDGED,)
"""Views that a session computes once: they read many rows, and most queries about confidence read them."""

_NAMED: Final = {view.name: re.compile(rf"\b{view.name}\b") for view in SHARED}


class LeasedSession:
    """Answers named queries on one lease, from any number of threads. All of them see the same records.

    ``threads``: threads that one query may use. ``memory_mib``: memory that all queries together may use before DuckDB
    writes to temporary files. A query whose steps cannot all do so, as in a large store, runs again with MORE_MIB, one at
    a time.
    """

    def __init__(self, con: DuckDBPyConnection, *, threads: int | None = None, memory_mib: int | None = None) -> None:
        self._con = con
        (self._search_path,) = con.execute("SELECT current_setting('search_path')").fetchone() or ("",)
        self._computed: set[str] = set()
        self._computing = threading.Lock()
        if threads is not None:
            con.execute(f"SET threads = {threads}")
        self._memory_mib = memory_mib
        self._enlarging = threading.Lock()
        if memory_mib is not None:
            con.execute(_limit(memory_mib))

    def query(self, statement: Statement, *, cancellation: Cancellation | None = None) -> QueryResult:
        """Return the complete result of a named query, as Python objects.

        Raises QueryError, QueryCancelled and StoreDamaged.
        """
        cancellation = cancellation or Cancellation()
        with closing(self._con.cursor()) as con, cancellation.interrupting(con.interrupt):
            try:
                con.execute(f"SET search_path = {quote_literal(self._search_path)}")  # a cursor does not inherit it
                try:
                    return self._answer(con, statement)
                except duckdb.OutOfMemoryException:
                    if self._memory_mib is None or self._memory_mib >= MORE_MIB:
                        raise
                    with self._more_memory(con, self._memory_mib):
                        return self._answer(con, statement)
            except (duckdb.InterruptException, QueryError) as error:
                if not cancellation.cancelled:
                    raise
                raise QueryCancelled("the query was cancelled while it ran") from error
            except duckdb.Error as error:
                raise failure_of(error, statement) from error

    def _answer(self, con: DuckDBPyConnection, statement: Statement) -> QueryResult:
        self._share(con, statement.sql)
        return read_stating(con, statement)

    @contextmanager
    def _more_memory(self, con: DuckDBPyConnection, usual_mib: int) -> Iterator[None]:
        """Set the limit of all queries to MORE_MIB until the block ends."""
        with self._enlarging:
            con.execute(_limit(MORE_MIB))
            try:
                yield
            finally:
                # refused while other queries use more than that: then the next query in such a block sets it back
                with suppress(duckdb.OutOfMemoryException):
                    con.execute(_limit(usual_mib))

    def _share(self, con: DuckDBPyConnection, sql: str) -> None:
        """Replace each shared view that ``sql`` names by a table in memory with its rows."""
        for name, named in _NAMED.items():
            if name in self._computed or not named.search(sql):
                continue
            with self._computing:
                # tested again: another thread may have computed it while this one waited
                if name not in self._computed:
                    rows = f"memory.main.{name}_rows"
                    con.execute(f"CREATE OR REPLACE TABLE {rows} AS SELECT * FROM {name}")
                    con.execute(f"CREATE OR REPLACE VIEW memory.main.{name} AS SELECT * FROM {rows}")
                    self._computed.add(name)


def _limit(mib: int) -> str:
    return f"SET memory_limit = '{mib}MiB'"
