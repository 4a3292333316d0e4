"""Ask the store. DuckDB is loaded with the first question."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from tooltrace import runtime
from tooltrace.address import Address, Place, place_of
from tooltrace.settings import default_store

if TYPE_CHECKING:
    from duckdb import DuckDBPyRelation


def connect(store: str | os.PathLike[str] | None = None) -> AbstractContextManager[Any]:
    """A read-only lease on the store: ``with tt.connect() as db: db.sql("SELECT …")``.

    The tables are those of the README: tool_calls, calls, outcomes, gates, sources, losses. The calls of this
    process that have ended are there. ``store``: another store than the configured one; with an address,
    ``clickhouse://host/database``, ``db.sql`` is what there is.
    Raises StoreError (missing, locked by a foreign program, damaged).
    """
    runtime.wait_until_written()
    place = _store(store)
    if isinstance(place, Address):
        from tooltrace.clickhouse.asking import connect as elsewhere

        return elsewhere(place)
    from tooltrace.store.lease import reading

    return reading(place, missing_ok=_begun(store))


def query(name: str, *, store: str | os.PathLike[str] | None = None, **parameters: Any) -> DuckDBPyRelation:
    """The answer to a named query, already read: ``.df()``, ``.pl()``, ``.arrow()``, ``.fetchall()``.

    ``parameters``: ``by``, ``since``, ``until``, ``tool``, ``min_n``, and what the query takes besides.
    Where this process has recorded nothing yet, the answer is empty. Raises UnknownQuery, BadParameter, StoreError.
    """
    from tooltrace.queries import ask

    runtime.wait_until_written()
    return ask(_store(store), name, missing_ok=_begun(store), **parameters)


def _begun(store: str | os.PathLike[str] | None) -> bool:
    """Whether this process records into the store that is asked: nothing recorded yet is an answer then."""
    return store is None and runtime.configured_store() is not None


def _store(store: str | os.PathLike[str] | None) -> Place:
    if store is not None:
        return place_of(os.fspath(store) if not isinstance(store, Address) else store.url)
    return runtime.configured_address() or runtime.configured_store() or default_store()
