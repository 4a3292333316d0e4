"""One step of a fold, for a caller that holds the lock: lines become rows, and folded journals are removed."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Final, NamedTuple

import duckdb

from tooltrace.core.records import Loss
from tooltrace.store.database.connection import attach, checkpoint, connect, detach, explained
from tooltrace.store.database.migrations import migrate
from tooltrace.store.database.schema import STORE
from tooltrace.store.erase import erasure, tombstones
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.fold.begun_calls import Running
from tooltrace.store.fold.folded_journals import drop_stale_offsets, known_offsets, remove_folded
from tooltrace.store.fold.insertion import insert_lines, settle_begun
from tooltrace.store.fold.staging import insert_losses

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MEMORY_BYTES: Final = 112 * 1024 * 1024
"""DuckDB's limit for the memory of a fold; beyond it, DuckDB writes to temporary files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldReport:
    """The result of a fold, in numbers."""

    rows: int = 0
    """New rows in the database, not counting losses."""
    losses: int = 0
    """Lines that this fold found torn, damaged or unreadable."""
    bytes: int = 0
    """Journal bytes that were read."""
    forgotten: int = 0
    """Records that were not stored, because they were forgotten before; see ``tooltrace.store.erase.tombstones``."""
    removed: int = 0
    """Journals that were removed: wholly folded, without a living writer, and not needed by any destination."""
    salvaged: int = 0
    """Rows recovered from a damaged database that was quarantined."""
    seconds: float = 0.0

    def plus(self, step: FoldReport) -> FoldReport:
        """Return the numbers of this fold and of its next step."""
        return FoldReport(**{each.name: getattr(self, each.name) + getattr(step, each.name) for each in fields(self)})


class FoldStep(NamedTuple):
    """The result of one step."""

    report: FoldReport
    offsets: dict[str, int]
    """Byte offset to which each journal is folded now."""
    is_last: bool
    """Whether the step reached the end of the journals."""
    running: Running
    """The calls that run on this machine."""


def connect_to_fold(paths: StorePaths) -> DuckDBPyConnection:
    """Return a connection with the settings of a fold of the store ``paths``."""
    con = connect(paths)
    con.execute("SET threads = 1")  # costs less CPU time, and leaves the other cores to the program that is traced
    con.execute(f"SET memory_limit = '{MEMORY_BYTES} B'")
    return con


def merge_row_groups(con: DuckDBPyConnection, *, allowed: bool) -> None:
    """Choose whether a commit of ``con`` merges small row groups, which takes up to a second of CPU time now and then."""
    con.execute("RESET max_vacuum_tasks" if allowed else "SET max_vacuum_tasks = 0")


@contextmanager
def attached(con: DuckDBPyConnection, paths: StorePaths) -> Iterator[None]:
    """Attach the database to ``con``, migrated to the current schema, until the block ends. Raises StoreError."""
    try:
        attach(con, paths, read_only=False)
        migrate(con, paths.database)
        yield
        checkpoint(con)
    except duckdb.Error as error:
        raise explained(error, paths.database) from error
    finally:
        with contextlib.suppress(duckdb.Error):
            detach(con)


def fold_step(
    con: DuckDBPyConnection,
    paths: StorePaths,
    is_enough: Callable[[int], bool],
    losses: Sequence[Loss] = (),
    until: Mapping[str, int] | None = None,
) -> FoldStep:
    """Fold lines until ``is_enough`` of the bytes that were read. ``losses``: further losses to store.

    ``until``: sizes of the journals at an earlier time; lines that were written later are left to a later fold.
    Raises duckdb.Error and OSError.
    """
    offsets = known_offsets(con, paths)
    inserted = insert_lines(con, paths, offsets, is_enough, losses, until)
    lost, running = settle_begun(con, paths, offsets)
    # before a journal is removed: a commit alone writes nothing to the file
    checkpoint(con)
    # a forgotten line must not stay on the disk until its journal is removed, which may be long after
    if inserted.forgotten:
        erasure.update_fingerprints(con, paths, erasure.blank_journals(paths, tombstones.load(paths)))
    removed = remove_folded(paths, offsets)
    if undelivered := [loss for found in removed.values() for loss in found]:
        insert_losses(con, STORE, undelivered)
        checkpoint(con)
    # the files go before their offsets: a journal without an offset would be read again after a kill in between
    drop_stale_offsets(con, paths, offsets)
    report = FoldReport(
        rows=inserted.rows + lost,
        losses=sum(loss.count for loss in inserted.batch.losses),
        bytes=inserted.batch.bytes,
        forgotten=inserted.forgotten,
        removed=len(removed),
    )
    return FoldStep(report, offsets, inserted.is_last, running)
