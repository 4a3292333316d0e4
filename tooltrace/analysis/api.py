"""Functions that query the store. DuckDB is imported at the first query."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from tooltrace.analysis import query_store
from tooltrace.recording import config
from tooltrace.recording.settings import default_store
from tooltrace.store.base import Store, open_store

if TYPE_CHECKING:
    from tooltrace.store.result import QueryResult


def connect(store: str | os.PathLike[str] | None = None) -> AbstractContextManager[Any]:
    """Open a read-only connection to the store: ``with tt.connect() as db: db.sql("SELECT …")``.

    ``docs/reference/columns.md`` documents the tables: tool_calls, calls, outcomes, gates, sources, losses and others.
    They include the calls of this process that have ended. ``store``: another store than the configured one; for an address,
    ``clickhouse://host/database``, ``db.sql`` is the only method.
    Raises StoreError (missing, locked by another program, damaged).
    """
    config.wait_until_written()
    return open_store(_store(store)).connect(missing_ok=_is_recording_store(store))


def query(name: str, *, store: str | os.PathLike[str] | None = None, **parameters: Any) -> QueryResult:
    """Return the result of a named query, read completely.

    The result offers ``.df()``, ``.pl()``, ``.arrow()``, ``.fetchall()`` and the methods of a DuckDB relation, such as
    ``.project("tool, n")``.
    ``parameters``: ``by``, ``since``, ``until``, ``tool``, ``min_n``, and the query's own parameters.
    The result is empty if this process has recorded nothing yet. Raises UnknownQuery, BadParameter, StoreError.
    """
    config.wait_until_written()
    return query_store(_store(store), name, missing_ok=_is_recording_store(store), **parameters)


def _is_recording_store(store: str | os.PathLike[str] | None) -> bool:
    """Whether this process records into the queried store: if so, a missing store counts as empty."""
    return store is None and config.configured_store() is not None


def _store(store: str | os.PathLike[str] | None) -> Store:
    if store is not None:
        return store
    return config.configured_address() or config.configured_store() or default_store()
