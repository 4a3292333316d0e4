"""Pruning: old attempts are added to the rollups, and deleted with what belongs to them."""

from __future__ import annotations

import contextlib
import os
from datetime import UTC, date, datetime, time
from typing import TYPE_CHECKING, Final

import duckdb

from tooltrace.store.database.connection import connect, explained
from tooltrace.store.database.rewrite import SOURCE, rewrite
from tooltrace.store.database.schema import STORE, quote_literal
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.fold.locked_fold import fold_locked
from tooltrace.store.upkeep import rollups
from tooltrace.store.upkeep.exclusive import existing, locked
from tooltrace.store.upkeep.retention import PrunePolicy, PruneReport

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_REWRITES: Final = 3
"""Maximum number of rewrites until the database has the wanted size: the size of what a rewrite deletes is an estimate."""


def prune(
    path: str | os.PathLike[str] | StorePaths, policy: PrunePolicy, *, dry_run: bool = False, wait: float | None = None
) -> PruneReport:
    """Fold the journals of the store ``path``, then delete what ``policy`` says and keep its rollups.

    The rollups and the deletion are one step: a kill at any moment leaves either all rows or the rollups. ``dry_run``:
    delete nothing, and report what would be deleted. ``wait``: seconds to wait for readers and folds; None waits
    without limit. Raises StoreMissing, StoreBusy where that time was not enough, and StoreError.
    """
    paths = existing(path)
    lock = locked(paths, wait, "pruning")
    try:
        fold_locked(paths)
        return prune_locked(paths, policy, dry_run=dry_run)
    finally:
        lock.release()


def prune_locked(paths: StorePaths, policy: PrunePolicy, *, dry_run: bool = False) -> PruneReport:
    """Prune as ``prune`` does, for a caller that holds the lock exclusively and has folded."""
    report = _prune_once(paths, policy, dry_run=dry_run)
    for _ in range(1, _REWRITES):
        if dry_run or policy.max_bytes is None or report.bytes_after <= policy.max_bytes or not report.rows:
            break
        again = _prune_once(paths, policy, dry_run=False)
        if again.before is None:
            break
        report = _joined(report, again)
    return report


def _prune_once(paths: StorePaths, policy: PrunePolicy, *, dry_run: bool) -> PruneReport:
    size = paths.database.stat().st_size
    selection = _PrunedAttempts(policy, size)
    try:
        _examine(paths, selection)
        if selection.before is None or dry_run or not (selection.rows or selection.emptied):
            return selection.report(size, selection.estimate)
        result = rewrite(
            paths,
            keep=rollups.KEEP,
            columns={"attempts": rollups.WITHOUT_CONTENT},
            prepare=selection.roll_up,
        )
    except duckdb.Error as error:
        raise explained(error, paths.database) from error
    return selection.report(result.bytes_before, result.bytes_after)


def _joined(first: PruneReport, second: PruneReport) -> PruneReport:
    names = {**first.rows, **second.rows}
    return PruneReport(
        before=second.before,
        rows={name: first.rows.get(name, 0) + second.rows.get(name, 0) for name in names},
        emptied=first.emptied + second.emptied,
        rollups=first.rollups + second.rollups,
        bytes_before=first.bytes_before,
        bytes_after=second.bytes_after,
    )


def _examine(paths: StorePaths, selection: _PrunedAttempts) -> None:
    con = connect(paths)
    try:
        con.execute(f"ATTACH {quote_literal(str(paths.database))} AS {SOURCE} (READ_ONLY)")
        selection.examine(con)
    finally:
        with contextlib.suppress(duckdb.Error):
            con.close()


class _PrunedAttempts:
    """The attempts that a policy prunes in one database, and the numbers of rows that go with them."""

    def __init__(self, policy: PrunePolicy, size: int) -> None:
        self._policy = policy
        self._size = size
        self.before: date | None = None
        self.rows: dict[str, int] = {}
        self.estimate = size
        self.emptied = 0
        self._rollups = 0

    def examine(self, con: DuckDBPyConnection) -> None:
        """Choose the day, and count the rows of the database attached as ``source``."""
        con.execute(f"USE {SOURCE}")
        self.before = self._choose_day(con)
        if self.before is None:
            return
        self._create_tables(con)
        for table, kept in rollups.KEEP.items():
            deleted = int(_number(con, f"SELECT count(*) FROM {table} WHERE ({kept}) IS NOT TRUE"))
            if deleted:
                self.rows[table] = deleted
        self.emptied = int(_number(con, rollups.EMPTIED_COUNT))
        self.estimate = int(self._size * (1 - _number(con, rollups.SHARE_OF_BYTES)))

    def roll_up(self, con: DuckDBPyConnection) -> None:
        """Add the rollups of the pruned attempts to the database attached as ``store``."""
        con.execute(f"USE {SOURCE}")
        # again: the rewrite has a connection of its own, without the temporary tables of ``examine``
        self._create_tables(con)
        con.execute(f"INSERT INTO {STORE}.rollups BY NAME {rollups.ROLL_UP}")
        self._rollups = int(_number(con, f"SELECT count(*) FROM {STORE}.rollups"))
        late = int(_number(con, f"SELECT {rollups.LATE}"))
        if late:
            con.execute(
                f"INSERT INTO {STORE}.losses BY NAME SELECT 'label_after_prune' AS reason, ? AS \"count\", "
                "CAST(? AS TIMESTAMP) AS \"at\", 'labels and corrections of pruned calls' AS detail",
                [late, datetime.now(UTC).replace(tzinfo=None)],
            )

    def report(self, bytes_before: int, bytes_after: int) -> PruneReport:
        """Return the report of this selection."""
        return PruneReport(
            before=self.before,
            rows=self.rows,
            emptied=self.emptied,
            rollups=self._rollups,
            bytes_before=bytes_before,
            bytes_after=bytes_after,
        )

    def _choose_day(self, con: DuckDBPyConnection) -> date | None:
        """Return the day before which attempts are pruned: the later one of those that age and size demand."""
        limits = []
        if self._policy.before is not None:
            limits.append(self._policy.before.astimezone(UTC).date())
        if self._policy.max_bytes is not None and self._size > self._policy.max_bytes:
            share = self._policy.max_bytes / self._size
            row = con.execute(rollups.FIRST_DAY_OF_SIZE, {"share": share}).fetchone()
            if row and row[0] is not None:
                limits.append(row[0])
        return max(limits, default=None)

    def _create_tables(self, con: DuckDBPyConnection) -> None:
        policy = self._policy
        before = _midnight(self.before)
        con.execute(rollups.LIMITS, {"before": before, "tool": policy.tool})
        con.execute(
            rollups.OLD_CALLS,
            {
                "before": before,
                "tool": policy.tool,
                "keep_errors": policy.keep_errors,
                "errors_before": _midnight(policy.errors_before and policy.errors_before.astimezone(UTC).date()),
            },
        )
        con.execute(rollups.PRUNED_NOW)
        con.execute(rollups.EMPTIED_NOW)


def _midnight(day: date | None) -> datetime | None:
    return None if day is None else datetime.combine(day, time())


def _number(con: DuckDBPyConnection, sql: str) -> float:
    row = con.execute(sql).fetchone()
    return 0 if row is None else float(row[0])
