"""Ask a store a named question."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tooltrace.analysis.catalog import find
from tooltrace.analysis.query import GroupBy
from tooltrace.store.base import Cancellation, Store, open_store
from tooltrace.store.result import QueryResult

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection, DuckDBPyRelation


def run(con: DuckDBPyConnection, name: str, *, by: GroupBy | None = None, **params: Any) -> DuckDBPyRelation:
    """The answer to the query ``name`` on ``con``, where the tables are.

    Raises UnknownQuery and BadParameter before anything is asked.
    """
    query = find(name)
    return con.sql(query.render(by), params=query.bind(**params))


def ask(
    store: Store,
    name: str,
    *,
    by: GroupBy | None = None,
    missing_ok: bool = False,
    cancellation: Cancellation | None = None,
    **params: Any,
) -> QueryResult:
    """Return the result of the query ``name`` from ``store``, which is not held open any more.

    ``missing_ok``: a store that is not there yet gives an empty result. Raises UnknownQuery and BadParameter before
    anything is asked, then StoreMissing, StoreLocked, and QueryCancelled where ``cancellation`` says so.
    """
    statement = find(name).statement(by, **params)
    return open_store(store).query(statement, missing_ok=missing_ok, cancellation=cancellation)
