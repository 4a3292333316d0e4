"""The store backend for a DuckDB file and its journals."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tooltrace.core.records import Record
from tooltrace.errors import QueryCancelled, QueryError, StoreError, TooltraceError
from tooltrace.store.base import Cancellation, QuerySession, SqlSandbox, StoreBackend
from tooltrace.store.database.first_use import check_database
from tooltrace.store.database.schema import STORE
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.journal.line_format import encode
from tooltrace.store.journal.writer import Journal
from tooltrace.store.result import QueryResult, Statement, result_of

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from tooltrace.store.read.history import History
    from tooltrace.store.sandbox import SandboxLimits
    from tooltrace.store.upkeep.retention import PrunePolicy, PruneReport

_LEASE_ROWS: Final = 10_000
"""Attempts that a scan reads in one lease."""
_PAGE_ROWS: Final = 500
"""Attempts of a scan in memory at once: a result may be large."""

_ERROR_KIND: Final = re.compile(r"([A-Z][A-Za-z ]*?(?: Error| Exception)): ")
_ABOUT_SQL: Final = ("Parser Error", "Binder Error", "Catalog Error", "Syntax Error")
"""Kinds of DuckDB's errors that are found before any row is read."""
_CANDIDATES: Final = re.compile("Candidate bindings|Did you mean")
"""Beginnings of the part of a message that lists other names."""


class DuckDBStore(StoreBackend):
    """The store whose database file is at ``path``, whether it exists or not.

    ``journals_only``: queries read the records that are still in journals, without the database and without any wait.
    """

    def __init__(self, path: Path, *, journals_only: bool = False) -> None:
        self._path = path
        self._journals_only = journals_only

    def __str__(self) -> str:
        return str(self._path)

    def __repr__(self) -> str:
        return f"DuckDBStore({str(self._path)!r})"

    @property
    def name(self) -> str:
        """The name of the file."""
        return self._path.name

    @property
    def path(self) -> Path:
        """The database file."""
        return self._path

    @property
    def files(self) -> StorePaths:
        """The database file and its journals."""
        return StorePaths.of(self._path)

    @property
    def can_save_queries(self) -> bool:
        """Return true: the database has a table of saved queries."""
        return True

    def journals_only(self) -> DuckDBStore:
        """Return the store without its database, which is not opened and whose lock is not awaited."""
        return DuckDBStore(self._path, journals_only=True)

    def exists(self) -> bool:
        """Whether there is a database or a journal. Opens no file."""
        paths = self.files
        return paths.database.exists() or bool(paths.journals())

    def version(self) -> str:
        """Return a text of the database's inode, size and time, and the journals' sizes. Opens no file."""
        paths = self.files
        try:
            found = paths.database.stat()
            database = f"{found.st_ino}.{found.st_size}.{found.st_mtime_ns}"
        except OSError:
            database = "-"
        # the hash of names differs between processes: a page that another process cached is loaded again
        return f"{database}.{hash(tuple(paths.journals().items())) & 0xFFFFFFFFFFFF:x}"

    def query(
        self, statement: Statement, *, missing_ok: bool = False, cancellation: Cancellation | None = None
    ) -> QueryResult:
        """Return the result of ``statement``. See StoreBackend."""
        import duckdb

        from tooltrace.store.read.reader import failure_of
        from tooltrace.store.read.removed_content import read_stating

        cancellation = cancellation or Cancellation()
        opened = self._open(missing_ok=missing_ok, cursors=False)
        with opened as con, cancellation.interrupting(con.interrupt):
            try:
                if statement.name is None:
                    return _read_user_sql(con, statement)
                return read_stating(con, statement)
            except (duckdb.InterruptException, QueryError) as error:
                if not cancellation.cancelled:
                    raise
                raise QueryCancelled("the query was cancelled while it ran") from error
            except duckdb.Error as error:
                raise failure_of(error, statement) from error

    def connect(self, *, missing_ok: bool = False) -> AbstractContextManager[DuckDBPyConnection]:
        """Return a lease on the database; see ``tooltrace.store.read.reader.open_reader``."""
        return self._open(missing_ok=missing_ok, cursors=True)

    def _open(self, *, missing_ok: bool, cursors: bool) -> AbstractContextManager[DuckDBPyConnection]:
        from tooltrace.store.read.reader import open_reader

        return open_reader(self._path, missing_ok=missing_ok, journals_only=self._journals_only, cursors=cursors)

    @contextmanager
    def session(self, *, threads: int | None = None, memory_mib: int | None = None) -> Iterator[QuerySession]:
        """Yield a session on one lease; see ``tooltrace.store.read.session``. See StoreBackend."""
        from tooltrace.store.read.session import LeasedSession

        with self._open(missing_ok=False, cursors=False) as con:
            yield LeasedSession(con, threads=threads, memory_mib=memory_mib)

    def sandbox(self, limits: SandboxLimits) -> SqlSandbox:
        """Return a sandbox that runs each query in a process of its own."""
        from tooltrace.store.sandbox import Sandbox

        return Sandbox(self._path, limits)

    def history(
        self,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        tool: str | None = None,
        without: Collection[str] = (),
    ) -> History:
        """Return the records, in the order in which they were folded. See StoreBackend."""
        from tooltrace.store.read.history import History

        return History(self._path, since=since, until=until, tool=tool, without=without)

    def prune(self, policy: PrunePolicy, *, dry_run: bool = False) -> PruneReport:
        """Remove the content of old calls, and old rows. See ``tooltrace.store.upkeep.prune``."""
        from tooltrace.store.upkeep.prune import prune

        return prune(self._path, policy, dry_run=dry_run)

    def write(self, records: Sequence[Record]) -> None:
        """Append ``records`` to a journal of the store. Raises StoreError where the disk write fails, or where the path is not that of a store."""
        check_database(self._path)
        with contextlib.closing(Journal(self.files.journal)) as journal:
            try:
                journal.write(b"".join(map(encode, records)))
            except OSError as error:
                raise StoreError(f"cannot write the journal of {self._path}: {error}; nothing was recorded") from error

    def scan_attempts(
        self, columns: Sequence[str], where: str, params: Mapping[str, Any]
    ) -> Iterator[tuple[list[tuple[Any, ...]], int]]:
        """Yield attempts in pages; each lease on the file ends after ``_LEASE_ROWS`` attempts. See StoreBackend."""
        with self._open(missing_ok=False, cursors=False):  # folds, so that the tables of the database have every record
            pass
        matching = f"FROM {STORE}.attempts WHERE ({where})"
        last, total = -1, None
        while True:
            found = 0
            with self._open(missing_ok=False, cursors=False) as con:
                if total is None:
                    total = con.execute(f"SELECT count(*) {matching}", dict(params)).fetchall()[0][0]
                page = con.execute(
                    f"SELECT rowid, {', '.join(columns)} {matching} AND rowid > {last} ORDER BY rowid LIMIT {_LEASE_ROWS}",
                    dict(params),
                )
                while rows := page.fetchmany(_PAGE_ROWS):
                    found += len(rows)
                    last = rows[-1][0]
                    yield [row[1:] for row in rows], total
            if found < _LEASE_ROWS:
                return

    def labels_of_select(
        self, sql: str, columns: Sequence[str], labeler: str, *, again: bool, check: Callable[[list[str]], None]
    ) -> list[tuple[Any, ...]]:
        """Return the labels of a SELECT, which runs once. See StoreBackend."""
        from tooltrace.store.read.label_select import labels_of_select

        with self._open(missing_ok=False, cursors=False) as con:
            found = labels_of_select(con, sql, columns, labeler, again=again, check=check)
        return found.fetchall()

    def safe_message(self, error: TooltraceError) -> str:
        """Return a message about the SQL itself; of an error at run time, only its kind. See StoreBackend."""
        found = _ERROR_KIND.match(str(error))
        if found is None:
            return str(error)
        if found[1] in _ABOUT_SQL:
            return _CANDIDATES.split(str(error), maxsplit=1)[0].strip()
        # ``error(error_message)`` is a query too: its text is that of a row
        return f"the query failed while it read rows ({found[1]}): TRY_CAST, or a WHERE without the rows in question, may help"

    def forget(
        self, *, conversation_id: str | None = None, call_id: str | None = None, where: str | None = None
    ) -> int:
        """Delete calls from every file of the store; see ``tooltrace.store.upkeep.forget``. See StoreBackend.

        Raises StoreError where a file may still have records; the next fold tries again.
        """
        from tooltrace.store.upkeep.forget import Selection, forget

        report = forget(self._path, Selection(conversation_id=conversation_id, call_id=call_id, where=where))
        if report.erased.remaining:
            raise StoreError("; ".join(report.erased.remaining))
        return report.attempts


def _read_user_sql(con: DuckDBPyConnection, statement: Statement) -> QueryResult:
    """Return the result of a user's SQL, which may be any statement that reads.

    All rows are read while the tables are attached, because such a statement cannot always become a table.
    """
    import duckdb

    try:
        con.execute("SET python_enable_replacements=false")
        relation = con.sql(statement.sql)
        if relation is None:
            return QueryResult((), [], [])
        return result_of(relation, statement)
    except duckdb.OutOfMemoryException:
        raise
    except duckdb.Error as error:
        raise QueryError(str(error).strip()) from error
