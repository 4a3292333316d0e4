"""Functions that run a named query on a connection or a store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tooltrace.analysis.catalog import find
from tooltrace.analysis.query import GroupBy
from tooltrace.store.base import Cancellation, Store, open_store
from tooltrace.store.result import QueryResult, read

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


def run(con: DuckDBPyConnection, name: str, *, by: GroupBy | None = None, **params: Any) -> QueryResult:
    """Return the result of the query ``name`` on ``con``, a connection with the store's tables.

    Raises UnknownQuery and BadParameter before anything is executed.
    """
    return read(con, find(name).statement(by, **params))


def query_store(
    store: Store,
    name: str,
    *,
    by: GroupBy | None = None,
    missing_ok: bool = False,
    cancellation: Cancellation | None = None,
    **params: Any,
) -> QueryResult:
    """Return the result of the query ``name`` from ``store``; the store is closed again.

    ``missing_ok``: a store that does not exist yet gives an empty result. Raises UnknownQuery and BadParameter before
    anything is executed, then StoreMissing, StoreLocked, QueryError, and QueryCancelled on ``cancellation``.
    """
    statement = find(name).statement(by, **params)
    return open_store(store).query(statement, missing_ok=missing_ok, cancellation=cancellation)
