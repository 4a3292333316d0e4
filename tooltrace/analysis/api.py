"""Ask the store. DuckDB is loaded with the first question."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from tooltrace.recording import config
from tooltrace.recording.settings import default_store
from tooltrace.store.base import Store, open_store

if TYPE_CHECKING:
    from tooltrace.store.result import QueryResult


def connect(store: str | os.PathLike[str] | None = None) -> AbstractContextManager[Any]:
    """A read-only lease on the store: ``with tt.connect() as db: db.sql("SELECT …")``.

    The tables are those of the README: tool_calls, calls, outcomes, gates, sources, losses. The calls of this
    process that have ended are there. ``store``: another store than the configured one; with an address,
    ``clickhouse://host/database``, ``db.sql`` is what there is.
    Raises StoreError (missing, locked by a foreign program, damaged).
    """
    config.wait_until_written()
    return open_store(_store(store)).connect(missing_ok=_begun(store))


def query(name: str, *, store: str | os.PathLike[str] | None = None, **parameters: Any) -> QueryResult:
    """The answer to a named query, already read: ``.df()``, ``.pl()``, ``.arrow()``, ``.fetchall()``, and what else a
    DuckDB relation offers, such as ``.project("tool, n")``.

    ``parameters``: ``by``, ``since``, ``until``, ``tool``, ``min_n``, and what the query takes besides.
    Where this process has recorded nothing yet, the answer is empty. Raises UnknownQuery, BadParameter, StoreError.
    """
    from tooltrace.analysis import ask

    config.wait_until_written()
    return ask(_store(store), name, missing_ok=_begun(store), **parameters)


def _begun(store: str | os.PathLike[str] | None) -> bool:
    """Whether this process records into the store that is asked: nothing recorded yet is an answer then."""
    return store is None and config.configured_store() is not None


def _store(store: str | os.PathLike[str] | None) -> Store:
    if store is not None:
        return store
    return config.configured_address() or config.configured_store() or default_store()
