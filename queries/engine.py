"""Put a named question to the engine."""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from tooltrace.address import Address
from tooltrace.queries.catalogue import find
from tooltrace.queries.query import By

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection, DuckDBPyRelation

ELSEWHERE: Final = "tooltrace.clickhouse.asking"
"""What asks a store that has an address: loaded with the first question to one."""


def run(con: DuckDBPyConnection, name: str, *, by: By | None = None, **params: Any) -> DuckDBPyRelation:
    """The answer to the query ``name`` on ``con``, where the tables are.

    Raises UnknownQuery and BadParameter before anything is asked.
    """
    query = find(name)
    return con.sql(query.render(by), params=query.bind(**params))


def ask(
    store: str | os.PathLike[str], name: str, *, by: By | None = None, missing_ok: bool = False, **params: Any
) -> DuckDBPyRelation:
    """The answer to the query ``name`` from ``store``, already read: no lease is held any more.

    ``missing_ok``: a store that is not there yet gives an empty answer. Raises UnknownQuery, BadParameter, StoreMissing, StoreLocked.
    """
    if isinstance(store, Address):
        answer: DuckDBPyRelation = import_module(ELSEWHERE).ask(store, name, by=by, **params)
        return answer
    query = find(name)
    sql, bound = query.render(by), query.bind(**params)
    from tooltrace.store.lease import reading, settle

    with reading(store, missing_ok=missing_ok) as con:
        return settle(con, sql, bound)
