"""The interface that every kind of store implements, and the registry that opens a store by its path or URL.

A new kind of store is a class that inherits ``StoreBackend``, and one registration: ``register_store("memory",
factory=MemoryStore)``, or an entry point of an installed package in the group ``tooltrace.stores`` whose name is the
scheme. An optional method that a backend does not override raises UnsupportedByStore.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from tooltrace.errors import ConfigError, QueryCancelled, QueryError, TooltraceError, UnsupportedByStore
from tooltrace.store.url import SCHEMES, Address, installed_stores, place_of

if TYPE_CHECKING:
    from duckdb import DuckDBPyRelation

    from tooltrace.core.records import Record
    from tooltrace.store.files.paths import StorePaths
    from tooltrace.store.read.history import History
    from tooltrace.store.result import QueryResult, Statement
    from tooltrace.store.sandbox import SandboxFile, SandboxLimits
    from tooltrace.store.upkeep.retention import PrunePolicy, PruneReport


class Cancellation:
    """A handle that cancels one query from another thread."""

    def __init__(self) -> None:
        self.cancelled = False
        self._interrupt: Callable[[], None] | None = None

    def cancel(self) -> None:
        """Interrupt a running query; prevent a query that still waits for the store from running."""
        self.cancelled = True
        interrupt = self._interrupt
        if interrupt is not None:
            with contextlib.suppress(Exception):  # the query may just have ended and closed its connection
                interrupt()

    @contextmanager
    def interrupting(self, interrupt: Callable[[], None]) -> Iterator[None]:
        """Let ``cancel`` call ``interrupt`` until the block ends.

        Raises QueryCancelled where ``cancel`` was called before.
        """
        # set before the test: a ``cancel`` between the two then interrupts, and is not lost
        self._interrupt = interrupt
        try:
            if self.cancelled:
                raise QueryCancelled("the query was cancelled before it ran")
            yield
        finally:
            self._interrupt = None


class SqlSandbox(Protocol):
    """An executor of SQL from untrusted users, which reads only the store's tables, within limits."""

    def warm(self) -> None:
        """Prepare for a query that is about to come."""

    async def query(self, sql: str) -> QueryResult:
        """Return the result of ``sql`` with JSON-compatible values. Raises QueryError."""

    async def write(
        self, sql: str, form: Literal["csv", "parquet"], limits: SandboxLimits | None = None
    ) -> SandboxFile:
        """Return the result of ``sql`` as a file. Raises QueryError."""

    async def close(self) -> None:
        """Release the sandbox's processes and connections."""


class QuerySession(Protocol):
    """Answers several named queries."""

    def query(self, statement: Statement, *, cancellation: Cancellation | None = None) -> QueryResult:
        """Return the complete result of ``statement``. Raises QueryError, QueryCancelled and StoreError."""


class StoreConnection(Protocol):
    """A read-only session on the tables of a store. A local store has all methods of a DuckDB connection."""

    def sql(self, statement: str, /) -> DuckDBPyRelation:
        """Return the result of ``statement``. Raises QueryError, or an error of the engine."""

    def execute(self, statement: str, parameters: Any = None, /) -> Any:
        """Return the result of ``statement``, with ``fetchall()``, ``fetchone()`` and ``df()``."""


class StoreBackend(Protocol):
    """One store. No connection stays open between two method calls.

    ``str()`` gives the path, or the URL without its password.
    """

    @property
    def name(self) -> str:
        """The store's name to show on other machines, without folder and password."""

    @property
    def location(self) -> str:
        """The store's location to show in a document: the name of a local file, or the URL without its password."""
        return self.name

    @property
    def path(self) -> Path:
        """The database file of a local store. Raises UnsupportedByStore for other stores."""
        raise UnsupportedByStore(f"the store {self} has no database file: pass the path of a local store")

    @property
    def files(self) -> StorePaths | None:
        """The files of a store on this machine: the database and its journals. None for other stores."""
        return None

    @property
    def can_save_queries(self) -> bool:
        """Whether ``write`` accepts a ``SavedQuery``, and queries find it in the table ``saved_queries``."""
        return False

    def journals_only(self) -> StoreBackend:
        """Return the store with only the records that are still in journals. Raises UnsupportedByStore."""
        raise self._unsupported("be read without its database, because it has no journals: leave journals_only out")

    def exists(self) -> bool:
        """Whether the store contains records, as far as this can be known without a query."""

    def version(self) -> str | None:
        """Return a text that changes whenever the content does; None where only a query could find out."""

    def query(
        self, statement: Statement, *, missing_ok: bool = False, cancellation: Cancellation | None = None
    ) -> QueryResult:
        """Return the complete result of ``statement``, a named query or SQL that a trusted user wrote.

        ``missing_ok``: a store that does not exist yet gives an empty result.
        Raises QueryError, QueryCancelled, and StoreError (missing, locked, damaged).
        """

    def connect(self, *, missing_ok: bool = False) -> AbstractContextManager[StoreConnection]:
        """Return a read-only session: ``with store.connect() as db: db.sql("SELECT …")``. Raises StoreError."""

    @contextmanager
    def session(self, *, threads: int | None = None, memory_mib: int | None = None) -> Iterator[QuerySession]:
        """Yield an object that answers several named queries, at less cost than one at a time.

        A local store keeps one lease for all of them, so keep it short; they see the same records. ``threads`` and
        ``memory_mib`` limit what the queries use on this machine. Raises StoreError.
        """
        yield self

    def sandbox(self, limits: SandboxLimits) -> SqlSandbox:
        """Return an executor of SQL from untrusted users. Raises UnsupportedByStore."""
        raise self._unsupported("run untrusted SQL within limits")

    def history(
        self,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        tool: str | None = None,
        without: Collection[str] = (),
    ) -> History:
        """Return the records for export, in the order in which they arrived. Raises UnsupportedByStore.

        ``without``: span ids of records to leave out.
        """
        raise self._unsupported("export its records")

    def write(self, records: Sequence[Record]) -> str | None:
        """Add ``records``: labels, or imported calls. Raises StoreError where they were not accepted.

        Returns a note on where the records were sent, such as "sent to the collector"; None where the store itself
        contains them.
        """
        raise self._unsupported("accept records")

    def scan_attempts(
        self, columns: Sequence[str], where: str, params: Mapping[str, Any]
    ) -> Iterator[tuple[list[tuple[Any, ...]], int]]:
        """Yield the ``columns`` of all attempts that satisfy ``where``, in pages, each with the number of all attempts.

        ``columns`` and ``where`` are DuckDB's SQL, with ``params`` as ``$name``. Corrections may be written between two
        pages. Raises StoreError, UnsupportedByStore.
        """
        raise self._unsupported("read all attempts in pages")

    def labels_of_select(
        self, sql: str, columns: Sequence[str], labeler: str, *, again: bool, check: Callable[[list[str]], None]
    ) -> list[tuple[Any, ...]]:
        """Return the labels that a SELECT of a trusted user gives: its ``columns`` as text, NULL where it lacks one.

        Behind these each row has the trace id and the span id of the attempt that it judges. Without ``again``, what
        ``labeler`` has judged before is left out. ``check`` receives the names of the SELECT's columns before it runs.
        Raises LabelError for other SQL than one SELECT, the errors of ``check``, StoreError, UnsupportedByStore.
        """
        raise self._unsupported("label by a SELECT")

    def safe_message(self, error: TooltraceError) -> str:
        """Return the message of ``error`` without values of rows; quoted names may stay.

        An engine quotes values in its messages, and knows which of them cannot: one about the SQL itself. A store that
        does not override this method keeps no message of a query.
        """
        return "the query failed: check its names and types" if isinstance(error, QueryError) else str(error)

    def destination(self) -> Any:
        """Return a destination (``tooltrace.exporters.protocol``) that adds calls to a store on another machine.

        Raises UnsupportedByStore for a local store, whose journal accepts calls, and ExportError where a package is missing.
        """
        raise self._unsupported("accept calls over the network")

    def prune(self, policy: PrunePolicy, *, dry_run: bool = False) -> PruneReport:
        """Remove the content of old calls, and old rows; ``dry_run`` only reports. Raises UnsupportedByStore."""
        raise self._unsupported("delete old calls")

    def forget(
        self, *, conversation_id: str | None = None, call_id: str | None = None, where: str | None = None
    ) -> int:
        """Delete the calls that satisfy every given condition, for good; return the number of attempts.

        ``where``: a condition in SQL on the columns of ``tool_calls``. At least one condition is required.
        Raises ConfigError, QueryError, StoreError, UnsupportedByStore.
        """
        raise self._unsupported("delete calls")

    def _unsupported(self, what: str) -> UnsupportedByStore:
        return UnsupportedByStore(f"the store {self} cannot {what}")


Store = str | os.PathLike[str] | StoreBackend
"""A store, or its location: a path or a URL."""

Factory = Callable[[Address], StoreBackend]

_factories: dict[str, Factory] = {}


def register_store(*schemes: str, factory: Factory) -> None:
    """Let ``factory`` open the URLs that begin with one of ``schemes``, such as ``clickhouse``.

    ``factory`` is called with the URL, and must not connect.
    """
    for scheme in schemes:
        _factories[scheme] = factory
        SCHEMES.add(scheme)


def open_store(store: Store) -> StoreBackend:
    """Return the store at a path or URL, without connecting to it. An open store is returned unchanged.

    Raises ConfigError for a URL of an unknown scheme and for a value that is not a store.
    """
    if not isinstance(store, str | os.PathLike):
        if StoreBackend not in type(store).__mro__:
            raise ConfigError(f"store must be the path of a DuckDB file, a URL or an open store, got {store!r}")
        return store
    place = place_of(os.fspath(store))
    if isinstance(place, Path):
        from tooltrace.store.duckdb_store import DuckDBStore

        return DuckDBStore(place.absolute())
    if place.scheme not in _factories:
        register_store(place.scheme, factory=installed_stores()[place.scheme].load())
    return _factories[place.scheme](place)
