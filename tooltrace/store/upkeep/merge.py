"""Merging: the records of several stores in one, each once."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import duckdb

from tooltrace.errors import StoreError, StoreMissing
from tooltrace.store.database.connection import attach, checkpoint, connect, detach, explained
from tooltrace.store.database.content import content_since, set_content_since
from tooltrace.store.database.recovery import GROUP_ROWS
from tooltrace.store.database.schema import BEGUN, RECORDS, STORE, Table, quote_identifier, quote_literal
from tooltrace.store.erase import tombstones
from tooltrace.store.files.file_lock import Lock
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.files.scratch import scratch
from tooltrace.store.fold.fold import fold
from tooltrace.store.fold.fold_step import fold_locked
from tooltrace.store.fold.insertion import commit_staged
from tooltrace.store.fold.staging import Staging
from tooltrace.store.journal.line_scan import JournalBatch
from tooltrace.store.upkeep.backup import WAIT_SECONDS, copy_tombstones

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

SOURCE: Final = "source"


def merge(
    sources: Sequence[str | os.PathLike[str]],
    into: str | os.PathLike[str] | StorePaths,
    *,
    wait: float | None = WAIT_SECONDS,
    advance: Callable[[int], None] = lambda _rows: None,
) -> int:
    """Add the records of the stores ``sources`` to the store ``into``, which is created if necessary; return their number.

    A record that ``into`` already has is left out: attempts and spans by their span id, other records where all values
    are equal. Corrections apply to attempts of every source. The tombstones of all stores are united, and what one of
    them names is removed from ``into``. The journals of each source are folded first.

    ``wait``: seconds to wait for each store. ``advance`` is called with numbers of rows read. After a kill, the same
    call completes the merge. Raises StoreMissing, StoreBusy, StoreError.
    """
    target = StorePaths.of(into)
    others = [StorePaths.of(source) for source in sources]
    for source in others:
        if source.database == target.database:
            raise StoreError(f"{source.database} is the store to merge into: name other stores as sources")
        if not source.database.exists() and not source.journals():
            raise StoreMissing(f"found no store at {source.database}; nothing was merged")
    lock = Lock(target, activity="merging")
    try:
        if not lock.has_file:
            raise lock.no_file("merge into")
        if not lock.exclusive(wait):
            raise lock.busy(wait or 0)
        return sum(_merge_one(source, target, wait, advance) for source in others)
    finally:
        lock.release()


def _merge_one(source: StorePaths, target: StorePaths, wait: float | None, advance: Callable[[int], None]) -> int:
    # tombstones first: the fold then erases their records from the target before those of the source arrive
    fold(source, wait=wait)
    copy_tombstones(source, target)
    fold_locked(target)
    with _both(source, target) as con:
        staging = Staging(con, scratch(target))
        forgotten = tombstones.load(target)
        rows = 0
        # a call that runs comes with its end: only the journals of its own store say whether its process is gone
        for table in (table for table in RECORDS.values() if table is not BEGUN):
            for count in _stage(con, staging, table):
                _, after = staging.drop_forgotten(forgotten)
                tombstones.add_late(target, forgotten, after)
                forgotten = after
                staging.drop_known()
                rows += commit_staged(con, staging, JournalBatch())
                staging.clear()
                advance(count)
        days = [day for catalog in (STORE, SOURCE) if (day := content_since(con, catalog))]
        set_content_since(con, max(days, default=None))
        checkpoint(con)
        return rows


@contextmanager
def _both(source: StorePaths, target: StorePaths) -> Iterator[DuckDBPyConnection]:
    """Yield a connection to ``target``, with ``source`` attached under its name; no fold changes the source meanwhile."""
    lock = Lock(source)
    con = connect(target)
    try:
        lock.shared()
        attach(con, target, read_only=False)
        con.execute(f"ATTACH {quote_literal(str(source.database))} AS {SOURCE} (READ_ONLY)")
        yield con
    except duckdb.Error as error:
        raise explained(error, source.database) from error
    finally:
        with contextlib.suppress(duckdb.Error):
            detach(con)
        con.close()
        lock.release()


def _stage(con: DuckDBPyConnection, staging: Staging, table: Table) -> Iterator[int]:
    """Stage the rows of ``table`` in pieces; yield the number of rows of each piece."""
    names = ", ".join(quote_identifier(name) for name in table.names)
    found = con.execute(f"SELECT coalesce(max(rowid) + 1, 0) FROM {SOURCE}.{table.name}").fetchone()
    for first in range(0, found[0] if found else 0, GROUP_ROWS):
        yield staging.load_query(
            table,
            f"(SELECT {names} FROM {SOURCE}.{table.name} WHERE rowid >= {first} AND rowid < {first + GROUP_ROWS})",
        )
