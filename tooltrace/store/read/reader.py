"""Read access to the store: a short lease on the database and on the journal lines that are not in it yet."""

from __future__ import annotations

import contextlib
import logging
import os
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from typing import TYPE_CHECKING, Any, Final

import duckdb

from tooltrace.errors import NetworkStore, QueryError, StoreDamaged, StoreError, StoreMissing, UnreadableJournals
from tooltrace.store.database import corrections, hashes
from tooltrace.store.database.connection import (
    MEMORY_CATALOG,
    attach,
    connect,
    detach,
    explained,
    is_attached,
    is_unreadable,
    limit_memory,
)
from tooltrace.store.database.first_use import check_database
from tooltrace.store.database.macros import create_macros
from tooltrace.store.database.migrations import checked_schema, has_current_views
from tooltrace.store.database.schema import (
    ANSWER,
    ATTEMPTS,
    BEGUN,
    RECORDS,
    REPEATED_CALLS,
    SCHEMA,
    STORE,
    TABLES,
    Table,
    quote_literal,
)
from tooltrace.store.database.views import VIEWS
from tooltrace.store.erase import tombstones
from tooltrace.store.files.file_lock import Lock
from tooltrace.store.files.file_system import network_problem
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.files.scratch import scratch
from tooltrace.store.fold import background
from tooltrace.store.fold.begun_calls import drop_ended, replaced_by_end
from tooltrace.store.fold.fold import Folding
from tooltrace.store.fold.fold_step import fold_locked
from tooltrace.store.fold.folded_journals import known_offsets
from tooltrace.store.fold.staging import SPACE, Staging
from tooltrace.store.journal import fold_marker
from tooltrace.store.journal.line_scan import batches, unreadable_journals
from tooltrace.store.result import Statement

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection, DuckDBPyRelation

WAIT_BYTES: Final = 8 * 1024 * 1024
"""Unfolded journal bytes above which a reader waits for the lock to fold them."""
FOLD_WAIT_SECONDS: Final = 0.5
"""Maximum seconds that a reader waits for the exclusive lock before each step of a fold."""
REPAIR_WAIT_SECONDS: Final = 1.0
"""Maximum seconds that a reader waits for the exclusive lock to rebuild or migrate a database."""
OTHERS_SECONDS: Final = 3.0
"""Seconds for which a reader waits for the next step of another process that folds a large backlog."""

_OBJECTS: Final = f"""
SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = '{STORE}'
UNION ALL
SELECT schema_name, view_name FROM duckdb_views() WHERE database_name = '{STORE}' AND NOT internal
"""
"""The tables and views of the database, with their schemas."""

_log = logging.getLogger("tooltrace")
_inherited: list[DuckDBPyConnection] = []
"""Connections that this process, a forked child, may not free: DuckDB's threads exist only in the parent."""


@contextmanager
def open_reader(
    path: str | os.PathLike[str] | StorePaths,
    *,
    missing_ok: bool = False,
    journals_only: bool = False,
    cursors: bool = True,
) -> Iterator[DuckDBPyConnection]:
    """Yield a connection to every record of the store ``path``, under the public names, until the block ends.

    The names are ``tool_calls, calls, outcomes, gates, sources, messages, spans, losses``. No fold can run during the
    lease, so keep it short; ``materialize`` returns a result that outlives it. Folds first where that is possible at
    once. ``missing_ok``: where nothing was recorded yet, the tables are empty. ``journals_only``: only the records that
    are still in journals, without the database and without any wait. ``cursors``: whether cursors of the connection know
    the names too; where they need not, opening often takes half the CPU time.
    Raises StoreMissing, StoreBusy (another process of tooltrace holds the lock for longer than ``wait_seconds()``),
    StoreLocked (another program has the database open), StoreDamaged (also from the block, where a query cannot read a
    part of the database), StoreError.
    """
    paths = StorePaths.of(path)
    check_database(paths)
    if journals_only:
        with _lease(_open(paths, paths.journals(), journals_only=True)) as con:
            yield con
        return
    if not missing_ok:
        _require(paths)
    lock = Lock(paths)
    try:
        # a fixed end: a reader must not follow writers that are faster than it folds
        until = paths.journals()
        _fold_if_possible(paths, lock, until)
        try:
            con = _open(paths, until, cursors=cursors)
        except (StoreDamaged, _OlderSchemaError):
            if not _repair(paths, lock):
                raise
            con = _open(paths, until, cursors=cursors)
        _warn_unreadable(paths)
        if problem := network_problem(paths):
            warnings.warn(problem, NetworkStore, stacklevel=3)
        with _lease(con):
            yield con
    finally:
        lock.release()


@contextmanager
def _lease(con: DuckDBPyConnection) -> Iterator[DuckDBPyConnection]:
    pid = os.getpid()
    try:
        yield con
    except duckdb.Error as error:  # of a query inside the block
        if damage := damage_of(error):
            raise damage from error
        raise
    finally:
        if pid == os.getpid():
            _close(con)
        else:
            _inherited.append(con)


def materialize(
    con: DuckDBPyConnection, sql: str, parameters: Sequence[Any] | Mapping[str, Any] | None = None
) -> DuckDBPyRelation:
    """Return the result of ``sql``, read whole into memory, for use after the lease of ``con`` has ended.

    Detaches the store: its tables are no longer available in ``con``. Raises DuckDB's errors for the SQL.
    """
    con.execute("CREATE SCHEMA memory.settled")
    con.execute(f"CREATE TABLE {ANSWER} AS {sql}", parameters)
    return _settled(con)


def materialize_statement(con: DuckDBPyConnection, sql: str, parameters: Any = None) -> DuckDBPyRelation:
    """Return the result of ``sql``, as :func:`materialize` does; it may be any statement that returns rows.

    Raises QueryError for a statement that returns none, such as SET.
    """
    relation = con.sql(sql, params=parameters)
    if relation is None:
        raise QueryError("the statement returns no rows, and outside of a with block it has no effect: pass a SELECT")
    con.execute("CREATE SCHEMA memory.settled")
    relation.create(ANSWER)
    return _settled(con)


def _settled(con: DuckDBPyConnection) -> DuckDBPyRelation:
    tables = (*RECORDS.values(), REPEATED_CALLS)
    for name in (*(view.name for view in VIEWS), *(table.name for table in tables)):
        con.execute(f"DROP VIEW IF EXISTS memory.main.{name}")
    con.execute(f"DROP SCHEMA IF EXISTS {SPACE} CASCADE")
    detach(con)
    return con.table(ANSWER)


def damage_of(error: duckdb.Error) -> StoreDamaged | None:
    """Return StoreDamaged where part of the database could not be read, else None."""
    if not is_unreadable(error):
        return None
    return StoreDamaged(
        f"part of the store cannot be read ({' '.join(str(error).split())[:200]}); "
        "run tooltrace doctor --mend to move it aside and recover the readable rows"
    )


def failure_of(error: duckdb.Error, statement: Statement) -> StoreDamaged | QueryError:
    """Return what ``error``, which the engine raised for ``statement``, means to a user."""
    if damage := damage_of(error):
        return damage
    line = " ".join(str(error).split())
    if isinstance(error, duckdb.OutOfMemoryException):
        return QueryError(
            "the query needs more memory than it may use: raise $TOOLTRACE_QUERY_MEMORY, or query a shorter time "
            f"({line[:150]})"
        )
    return QueryError(f"the query {statement.name or ''} failed in the engine: {line[:300]}".replace("  ", " "))


def _warn_unreadable(paths: StorePaths) -> None:
    if unreadable := unreadable_journals(paths):
        warnings.warn(
            f"records of other users are missing from this result: this user may not read {', '.join(unreadable[:3])}"
            f"{f' and {len(unreadable) - 3} more' if len(unreadable) > 3 else ''}; read the store as a user who may, "
            "or allow this user to read the files",
            UnreadableJournals,
            stacklevel=4,
        )


def _require(paths: StorePaths) -> None:
    try:
        exists = _exists(paths) or _exists_outside_folds(paths)
    except PermissionError as error:
        raise StoreError(f"cannot reach the store {paths.database}: {error}") from error
    if not exists:
        raise StoreMissing(
            f"found no store at {paths.database}: nothing was recorded there yet; "
            "run a traced tool, or name another store (--store, $TOOLTRACE_STORE)"
        )


def _exists(paths: StorePaths) -> bool:
    """Whether the store has a journal or a database.

    Journals are checked first: a fold creates the database before it removes journals, so one of the two is found.
    """
    return bool(paths.journals()) or paths.database.exists()


def _exists_outside_folds(paths: StorePaths) -> bool:
    """Whether the store exists, checked while no fold runs.

    During a fold, a damaged database is missing between its quarantine and its rebuild.
    """
    if not paths.lock.exists():
        return False
    lock = Lock(paths)
    try:
        lock.shared()
        return _exists(paths)
    finally:
        lock.release()


def _fold_if_possible(paths: StorePaths, lock: Lock, until: Mapping[str, int]) -> None:
    """Fold the journals ``until`` these sizes as far as that is possible without a long wait, then hold ``lock`` shared.

    A small rest is read from the journals where the lock is not free, or a background process folds. With a large rest,
    the reader takes turns with other folds, for as long as one of them makes progress.
    """
    if lock.has_file and fold_marker.has_unfolded(paths):
        try:
            with closing(Folding(paths, lock, until)) as folding:
                _fold(paths, folding, until)
        # reading works without a fold, or raises a clearer error
        except (StoreError, OSError, duckdb.Error) as error:
            _log.debug("the store %s was read without folding: %s", paths.database, error)
    lock.shared()


def _fold(paths: StorePaths, folding: Folding, until: Mapping[str, int]) -> None:
    left = fold_marker.unfolded_bytes(paths, until)
    while left <= WAIT_BYTES:
        if background.is_running(paths) or folding.step(0) is None or folding.complete:
            return
        left = fold_marker.unfolded_bytes(paths, until)
    is_folded_by_others = background.is_running(paths)
    while left > WAIT_BYTES and not folding.complete:
        if is_folded_by_others:  # waiting for the same lock would only delay them
            is_folded_by_others = _has_shrunk(paths, left, until)
        else:
            report = folding.step(FOLD_WAIT_SECONDS)
            if report is None and fold_marker.unfolded_bytes(paths, until) >= left:  # readers hold the lock, not a fold
                return
            is_folded_by_others = report is None or not report.bytes
        left = fold_marker.unfolded_bytes(paths, until)


def _has_shrunk(paths: StorePaths, left: int, until: Mapping[str, int]) -> bool:
    """Wait until fewer than ``left`` bytes before ``until`` are unfolded; return False where that does not happen."""
    deadline = time.monotonic() + OTHERS_SECONDS
    while fold_marker.unfolded_bytes(paths, until) >= left:
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.05)
    return True


class _OlderSchemaError(StoreError):
    """The error for a store with an earlier schema, which a fold migrates."""


def _repair(paths: StorePaths, lock: Lock) -> bool:
    """Rebuild a damaged database or migrate an older one by a fold; return False where others hold the lock."""
    # flock gives a shared lock back in any case before it becomes exclusive
    lock.unlock()
    if not lock.exclusive(REPAIR_WAIT_SECONDS):
        return False
    fold_locked(paths)
    lock.unlock()
    lock.shared()
    return True


def _open(
    paths: StorePaths, until: Mapping[str, int], *, journals_only: bool = False, cursors: bool = True
) -> DuckDBPyConnection:
    with ExitStack() as failed:
        try:
            con = connect(paths)
            failed.callback(con.close)
            limit_memory(con)
            _attach_views(con, paths, until, stored=not journals_only and paths.database.exists(), cursors=cursors)
        except duckdb.Error as error:
            raise explained(error, paths.database) from error
        except StoreError:  # some are OSErrors too
            raise
        except OSError as error:
            raise StoreError(
                f"cannot read the store {paths.database}: lines that are not folded need a temporary file, and it cannot be "
                f"written ({error.strerror or error}): free space on its disk"
            ) from error
        failed.pop_all()
    return con


def _attach_views(
    con: DuckDBPyConnection, paths: StorePaths, until: Mapping[str, int], *, stored: bool, cursors: bool
) -> None:
    offsets: dict[str, int] = {}
    if stored:
        attach(con, paths, read_only=True)
        schema = checked_schema(con, paths.database)
        if schema not in (None, SCHEMA):
            raise _OlderSchemaError(
                f"the store {paths.database} has the schema of an earlier version and cannot be migrated now: another "
                "process reads it, or it is not writable; try again, or copy the store and read the copy"
            )
        stored = schema is not None
        offsets = known_offsets(con, paths) if stored else {}
    staged = _stage(con, paths, offsets, until, stored=stored)
    hashed = not stored or hashes.are_current(con)
    has_views = stored and has_current_views(con)
    if has_views and not cursors:
        con.execute(f"SET search_path = 'memory.main,{STORE}.main'")
        if hashed and not staged:
            return
    is_copied = has_views and _copy_views(con)
    overridden = staged and corrections.is_pending(con, stored=stored) and corrections.apply_staged(con, stored=stored)
    left_out = _left_out(con, stored=stored, staged=staged, overridden=overridden)
    for table in RECORDS.values():
        columns = "*" if hashed or table is not ATTEMPTS else hashes.replaced()
        parts = [f"SELECT {columns} FROM {STORE}.{table.name}{left_out.get(table, '')}"] * stored + [
            f"SELECT * FROM {SPACE}.{table.name}"
        ] * staged
        con.execute(f"CREATE VIEW memory.main.{table.name} AS {' UNION ALL BY NAME '.join(parts)}")
    con.execute(
        f"CREATE VIEW memory.main.{REPEATED_CALLS.name} AS {_repeated(stored=stored, staged=staged, hashed=hashed)}"
    )
    if not is_copied:
        create_macros(con, "memory.main.")
        for view in VIEWS:
            con.execute(f"CREATE VIEW memory.main.{view.name} AS {view.sql}")


def _left_out(con: DuckDBPyConnection, *, stored: bool, staged: bool, overridden: bool) -> dict[Table, str]:
    """Return the condition of the stored rows to read, by table: not those in whose place there are staged ones."""
    if not (stored and staged):
        return {}
    attempts = f"{SPACE}.{ATTEMPTS.name}"
    found = {BEGUN: f" WHERE span_id NOT IN (SELECT span_id FROM {attempts})"}
    parts = [f"SELECT span_id FROM {corrections.OVERRIDDEN}"] * overridden
    parts += [f"SELECT {quote_literal(span_id)}" for span_id in replaced_by_end(con, attempts)]
    if parts:
        found[ATTEMPTS] = f" WHERE span_id NOT IN ({' UNION ALL '.join(parts)})"
    return found


def _copy_views(con: DuckDBPyConnection) -> bool:
    """Copy the database's views and macros to memory, which takes a tenth of the time of creating them.

    Return False, without a copy, where the database has tables or views of somebody else: DuckDB copies all of them.
    """
    tables = {table.name for table in TABLES}
    known = {("main", name) for name in (*tables, *(view.name for view in VIEWS))}
    if not known.issuperset(con.execute(_OBJECTS).fetchall()):
        return False
    con.execute(f"COPY FROM DATABASE {STORE} TO {MEMORY_CATALOG} (SCHEMA)")
    for name in tables:
        con.execute(f"DROP TABLE {MEMORY_CATALOG}.main.{name}")
    return True


def _stage(
    con: DuckDBPyConnection, paths: StorePaths, offsets: dict[str, int], until: Mapping[str, int], *, stored: bool
) -> bool:
    """Load the unfolded lines ``until`` these sizes of the journals into memory; return whether the staged tables exist.

    They exist where there are such lines, or no database (``stored`` is False): then they are the only tables.
    """
    staging: Staging | None = None if stored else Staging(con, scratch(paths))
    for batch in batches(paths, offsets, until):
        staging = staging or Staging(con, scratch(paths))
        staging.load(batch)
    if staging is None:
        return False
    staging.drop_forgotten(tombstones.load(paths))
    staging.drop_known(against=STORE if stored else None)
    attempts = f"{STORE if stored else SPACE}.{ATTEMPTS.name}"
    drop_ended(con, f"{SPACE}.{BEGUN.name}", attempts, lambda table: f"{SPACE}.{table.name}")
    return True


def _repeated(*, stored: bool, staged: bool, hashed: bool) -> str:
    """Return the query for the calls that may have several attempts: all staged ones too, which are few."""
    if not hashed:
        return f"SELECT call_hash FROM memory.main.{ATTEMPTS.name}"
    parts = [f"{STORE}.{REPEATED_CALLS.name}"] * stored + [f"{SPACE}.{ATTEMPTS.name}"] * staged
    return " UNION ALL ".join(f"SELECT call_hash FROM {part}" for part in parts)


def _close(con: DuckDBPyConnection) -> None:
    """End the lease. A connection that ``materialize`` has already detached stays usable."""
    with contextlib.suppress(duckdb.Error):
        if is_attached(con):
            detach(con)
            con.close()
