"""Functions that query the store. DuckDB is imported at the first query."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Any, NewType, Unpack, overload

from tooltrace.analysis import query_store
from tooltrace.analysis.dimensions import ATTRIBUTES
from tooltrace.analysis.names import DimensionName, QueryName
from tooltrace.analysis.parameters import QueryOptions
from tooltrace.errors import BadParameter
from tooltrace.recording import config
from tooltrace.store.base import Store, open_store
from tooltrace.store.read.read_connection import ReadConnection
from tooltrace.store.result import QueryResult, Statement

AttributeName = NewType("AttributeName", str)
"""A dimension ``attributes.NAME``, as :func:`attribute` returns it."""

By = DimensionName | AttributeName | Iterable[DimensionName | AttributeName]


def attribute(name: str) -> AttributeName:
    """Return the attribute ``name`` of a call as a dimension: ``by=["tool", tt.attribute("tenant")]``."""
    return AttributeName(f"{ATTRIBUTES}.{name}")


def connect(store: str | os.PathLike[str] | None = None, *, journals_only: bool = False) -> ReadConnection:
    """Open a read-only connection to the store: ``with tt.connect() as db: db.sql("SELECT …")``.

    ``docs/reference/columns.md`` documents the tables: tool_calls, calls, outcomes, gates, sources, losses and others.
    They include the calls of this process that have ended. ``db`` is a connection of DuckDB: ``db.sql`` returns a
    relation, ``db.execute`` accepts parameters. Without a block, ``tt.connect().sql("SELECT …")`` returns a relation that
    is read completely; nothing stays open. ``store``: another store than the configured one; for an address,
    ``clickhouse://host/database``, ``db.sql`` and ``db.execute`` without parameters are the only methods.
    ``journals_only``: only the records that are still in journals, without the database of a local store and without any
    wait for other processes.
    Raises StoreError (missing, in use for longer than ``configure(wait=…)``, locked by another program, damaged).
    """
    config.wait_until_written()

    def open_lease() -> AbstractContextManager[Any]:
        config.wait_until_written()
        return open_store(_store(store, journals_only=journals_only)).connect(missing_ok=_is_recording_store(store))

    return ReadConnection(open_lease)


@overload
def query(
    name: QueryName,
    *,
    by: By | None = None,
    store: str | os.PathLike[str] | None = None,
    journals_only: bool = False,
    **parameters: Unpack[QueryOptions],
) -> QueryResult: ...
@overload
def query(*, saved: str, store: str | os.PathLike[str] | None = None, journals_only: bool = False) -> QueryResult: ...
def query(
    name: QueryName | None = None,
    *,
    saved: str | None = None,
    by: By | None = None,
    store: str | os.PathLike[str] | None = None,
    journals_only: bool = False,
    **parameters: Unpack[QueryOptions],
) -> QueryResult:
    """Return the result of a named query: rows, and a table in a terminal or a notebook.

    ``for row in tt.query("failure_rate")`` reads rows; :class:`tooltrace.QueryResult` has ``.dicts()``, ``.df()`` and others.
    ``saved``: the name of a query that was saved in the store, in place of ``name``. ``by``: dimensions to group by, such as
    ``["tool", "version"]``; :func:`tooltrace.attribute` makes one of an attribute. ``journals_only``: as in :func:`connect`.
    ``parameters``: most queries have ``since``, ``until``, ``tool`` and ``min_n``; ``docs/reference/queries.md`` has those
    of each query. The result is empty if this process has recorded nothing yet. Raises UnknownQuery, BadParameter, StoreError.
    """
    if (name is None) is (saved is None):
        raise BadParameter("query() needs the name of a query, such as 'failure_rate', or saved=…, and not both")
    config.wait_until_written()
    where = _store(store, journals_only=journals_only)
    if name is None:
        given = [option for option, value in {"by": by, **parameters}.items() if value is not None]
        if given:
            raise BadParameter(f"a saved query has no parameters: leave {', '.join(given)} out")
        return _query_saved(where, str(saved))
    return query_store(where, name, by=by, missing_ok=_is_recording_store(store), **parameters)


def _query_saved(store: Store, name: str) -> QueryResult:
    from tooltrace.analysis.saved_queries import saved_query

    opened = open_store(store)
    return opened.query(Statement(sql=saved_query(opened, name).sql or ""))


def _is_recording_store(store: str | os.PathLike[str] | None) -> bool:
    """Whether this process records into the queried store: if so, a missing store counts as empty."""
    return store is None and config.configured_store() is not None


def _store(store: str | os.PathLike[str] | None, *, journals_only: bool) -> Store:
    found = open_store(config.queried_store(store))
    return found.journals_only() if journals_only else found
