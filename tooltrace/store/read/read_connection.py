"""The object that ``tooltrace.connect`` returns: one lease in a ``with`` block, else a lease for each statement."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn

from tooltrace.store.database.schema import ANSWER

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection, DuckDBPyRelation


class ReadConnection:
    """A read-only connection to a store.

    ``with`` gives a connection of DuckDB, which is open until the end of the block. Outside of a block, ``sql`` and
    ``execute`` open the store for one statement and return its result, read completely; nothing stays open.
    """

    def __init__(self, open_lease: Callable[[], AbstractContextManager[Any]]) -> None:
        self._open_lease = open_lease
        self._leases: list[AbstractContextManager[Any]] = []

    def sql(self, statement: str, *, params: Any = None) -> DuckDBPyRelation:
        """Return the result of ``statement`` as a relation; ``params`` are values for ``$name`` or ``?``. Raises StoreError."""
        return self._run(statement, params)[0]  # type: ignore[no-any-return]

    def execute(self, statement: str, parameters: Any = None) -> DuckDBPyConnection:
        """Return the result of ``statement``, with ``fetchall()``, ``fetchone()`` and ``df()``. Raises StoreError."""
        relation, con = self._run(statement, parameters)
        return relation if con is None else con.execute(f"FROM {ANSWER}")

    def _run(self, statement: str, parameters: Any) -> tuple[Any, DuckDBPyConnection | None]:
        """Return the result of ``statement`` in memory, and the connection of DuckDB that has it."""
        with self._open_lease() as con:
            if not hasattr(con, "cursor"):  # the session of another kind of store: its results are in memory
                return con.execute(statement, parameters), None
            from tooltrace.store.read.reader import materialize_statement

            return materialize_statement(con, statement, parameters), con

    def close(self) -> None:
        """Return at once: outside of a ``with`` block, nothing stays open."""

    def __enter__(self) -> DuckDBPyConnection:
        lease = self._open_lease()
        con = lease.__enter__()
        self._leases.append(lease)
        return con  # type: ignore[no-any-return]

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leases.pop().__exit__(kind, error, trace)

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):  # copy and pickle look these up
            raise AttributeError(name)
        raise AttributeError(
            f"outside of a with block, a connection has only sql() and execute(); use: "
            f"with tt.connect() as db: db.{name}(…)"
        )
