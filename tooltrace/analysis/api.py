"""Functions that query the store. DuckDB is imported at the first query."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Unpack, cast

from tooltrace.analysis import query_store
from tooltrace.analysis.parameters import QueryOptions
from tooltrace.analysis.query import GroupBy
from tooltrace.core.keywords import checked_keywords
from tooltrace.recording import config
from tooltrace.store.base import Store, open_store

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from tooltrace.store.result import QueryResult


@checked_keywords()
def connect(
    store: str | os.PathLike[str] | None = None, *, journals_only: bool = False
) -> AbstractContextManager[DuckDBPyConnection]:
    """Open a read-only connection to the store: ``with tt.connect() as db: db.sql("SELECT …")``.

    ``docs/reference/columns.md`` documents the tables: tool_calls, calls, outcomes, gates, sources, losses and others.
    They include the calls of this process that have ended. ``db`` is a connection of DuckDB: ``db.sql`` returns a
    relation, ``db.execute`` accepts parameters. ``store``: another store than the configured one; for an address,
    ``clickhouse://host/database``, ``db.sql`` and ``db.execute`` without parameters are the only methods. ``journals_only``: only the records that are still in
    journals, without the database of a local store and without any wait for other processes.
    Raises StoreError (missing, in use for longer than ``configure(wait=…)``, locked by another program, damaged).
    """
    config.wait_until_written()
    opened = open_store(_store(store, journals_only=journals_only)).connect(missing_ok=_is_recording_store(store))
    return cast("AbstractContextManager[DuckDBPyConnection]", opened)


def query(
    name: str,
    *,
    by: GroupBy | None = None,
    store: str | os.PathLike[str] | None = None,
    journals_only: bool = False,
    **parameters: Unpack[QueryOptions],
) -> QueryResult:
    """Return the result of a named query, read completely.

    The result offers ``.df()``, ``.pl()``, ``.arrow()``, ``.fetchall()`` and the methods of a DuckDB relation, such as
    ``.project("tool, n")``.
    ``by``: dimensions to group by, such as ``["tool", "version"]``. ``journals_only``: as in :func:`connect`.
    ``parameters``: most queries have ``since``, ``until``, ``tool`` and ``min_n``; ``docs/reference/queries.md`` has those
    of each query. The result is empty if this process has recorded nothing yet. Raises UnknownQuery, BadParameter, StoreError.
    """
    config.wait_until_written()
    return query_store(
        _store(store, journals_only=journals_only),
        name,
        by=by,
        missing_ok=_is_recording_store(store),
        **parameters,
    )


def _is_recording_store(store: str | os.PathLike[str] | None) -> bool:
    """Whether this process records into the queried store: if so, a missing store counts as empty."""
    return store is None and config.configured_store() is not None


def _store(store: str | os.PathLike[str] | None, *, journals_only: bool) -> Store:
    found = open_store(config.queried_store(store))
    return found.journals_only() if journals_only else found
