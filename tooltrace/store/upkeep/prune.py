"""Pruning: the content of old attempts is removed and their rows stay; rows go by an age of their own."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, date
from typing import TYPE_CHECKING, Final

import duckdb

from tooltrace.store.database.connection import connect, explained
from tooltrace.store.database.content import CONTENT, content_since, set_content_since
from tooltrace.store.database.rewrite import SOURCE, rewrite
from tooltrace.store.database.schema import ATTEMPTS, MESSAGES, Table, quote_identifier, quote_literal
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.fold.fold_step import fold_locked
from tooltrace.store.upkeep.exclusive import existing, locked
from tooltrace.store.upkeep.retention import PrunePolicy, PruneReport

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_REWRITES: Final = 3
"""Maximum number of rewrites until the database has the wanted size: the size of what a rewrite removes is an estimate."""
_ROW_BYTES: Final = 80
"""Bytes of an attempt without content."""
_COMPRESSED_SHARE: Final = 0.25
"""Part of the bytes of long texts that their compression saves, against the engine's own choice."""
_COMPRESSED_BYTES: Final = 13
"""Bytes that the compression of long texts costs a row without them: two blocks for each column of a row group."""
_DELETED_CALLS: Final = """
CREATE OR REPLACE TEMP TABLE deleted_calls AS
SELECT call_hash FROM attempts GROUP BY call_hash HAVING max(started_at) < $before
"""
_DELETED: Final = """
CREATE OR REPLACE TEMP TABLE deleted AS
SELECT span_id, call_id FROM attempts WHERE call_hash IN (SELECT call_hash FROM deleted_calls)
"""
_STAYING: Final = "FROM attempts WHERE span_id NOT IN (SELECT span_id FROM deleted)"


def prune(
    path: str | os.PathLike[str] | StorePaths, policy: PrunePolicy, *, dry_run: bool = False, wait: float | None = None
) -> PruneReport:
    """Fold the journals of the store ``path``, then remove the content and the rows that ``policy`` names.

    All of it is one step: a kill at any moment leaves the store as it was, or pruned. ``dry_run``: change nothing, and
    report what would be removed. ``wait``: seconds to wait for readers and folds; None waits without limit. Raises
    StoreMissing, StoreBusy where that time was not enough, and StoreError.
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
        if dry_run or policy.max_bytes is None or report.bytes_after <= policy.max_bytes:
            break
        again = _prune_once(paths, policy, dry_run=False)
        if not (again.emptied or again.deleted):
            break
        report = replace(
            again,
            emptied=_sum(report.emptied, again.emptied),
            deleted=_sum(report.deleted, again.deleted),
            bytes_before=report.bytes_before,
        )
    return report


def _prune_once(paths: StorePaths, policy: PrunePolicy, *, dry_run: bool) -> PruneReport:
    size = paths.database.stat().st_size
    con = connect(paths)
    try:
        con.execute(f"ATTACH {quote_literal(str(paths.database))} AS {SOURCE} (READ_ONLY)")
        con.execute(f"USE {SOURCE}")
        content_before, rows_before = _days(con, policy, size)
        report, compressed = _examine(con, content_before, rows_before, size)
    except duckdb.Error as error:
        raise explained(error, paths.database) from error
    finally:
        with contextlib.suppress(duckdb.Error):
            con.close()
    if dry_run or content_before is None or not (report.emptied or report.deleted):
        return report

    def prepare(con: DuckDBPyConnection) -> None:
        con.execute(f"USE {SOURCE}")
        _create_tables(con, content_before, rows_before)
        set_content_since(con, max(content_before, content_since(con, SOURCE) or content_before))

    done = rewrite(
        paths,
        keep=_kept(content_before, rows_before),
        columns=_emptied(content_before),
        prepare=prepare,
        compressed=compressed,
    )
    return replace(report, bytes_before=done.bytes_before, bytes_after=done.bytes_after)


def _days(con: DuckDBPyConnection, policy: PrunePolicy, size: int) -> tuple[date | None, date | None]:
    """Return the days before which content and rows are removed: the later ones of those that age and size demand."""
    content, rows = ([time.astimezone(UTC).date()] if time else [] for time in (policy.before, policy.rows_before))
    if policy.max_bytes is not None and size > policy.max_bytes:
        by_size = _days_of_size(con, policy.max_bytes / size)
        content, rows = ([*days, day] if day else days for days, day in zip((content, rows), by_size, strict=True))
    # without its row, content has gone too
    return max([*content, *rows], default=None), max(rows, default=None)


def _days_of_size(con: DuckDBPyConnection, share: float) -> tuple[date | None, date | None]:
    """Return the days before which content and rows must go so that this share of the bytes is left.

    The rows of the last day stay in any case. Content goes first.
    """
    days = con.execute(
        f'SELECT CAST(started_at AS DATE) AS "day", sum({_bytes(ATTEMPTS)}), {_ROW_BYTES} * count(*) FROM attempts GROUP BY ALL '
        'ORDER BY "day" DESC'
    ).fetchall()
    budget = share * sum(content + rows for _, content, rows in days)
    every_row = sum(rows for _, _, rows in days)
    kept, content_from, rows_from = every_row, None, None
    for day, content, _ in days:
        kept += content
        if kept > budget:
            break
        content_from = day
    if content_from is not None or not days:
        return content_from, None
    kept = 0
    for day, _, rows in days:
        kept += rows
        if rows_from is not None and kept > budget:
            break
        rows_from = day
    return days[0][0], rows_from if every_row > budget else None


def _examine(
    con: DuckDBPyConnection, content_before: date | None, rows_before: date | None, size: int
) -> tuple[PruneReport, bool]:
    """Return what would be removed from the database in use, and whether to compress the long texts that are left.

    The new size is an estimate.
    """
    emptied, deleted = {}, {}
    bytes_after, compressed = size, True
    if content_before is not None:
        _create_tables(con, content_before, rows_before)
        kept = _kept(content_before, rows_before)
        for name, condition in kept.items():
            deleted[name] = con.execute(f"SELECT count(*) FROM {name} WHERE ({condition}) IS NOT TRUE").fetchall()[0][0]
        for table, names in CONTENT.items():
            found = con.execute(
                f"""
SELECT
    count(*) FILTER (WHERE stays AND is_old AND is_known),
    coalesce(sum(bytes), 0),
    coalesce(sum(bytes) FILTER (WHERE stays AND NOT is_old), 0),
    count(*),
    count(*) FILTER (WHERE stays),
    count(*) FILTER (WHERE stays AND is_old)
FROM (
    SELECT {_is_old(table, content_before)} AS is_old, ({kept.get(table.name, "true")}) IS TRUE AS stays,
        {" OR ".join(f"{quote_identifier(name)} IS NOT NULL" for name in names)} AS is_known, {_bytes(table)} AS bytes
    FROM {table.name}
)
"""
            ).fetchall()[0]
            emptied[table.name], content, content_left, rows, rows_left, rows_emptied = found
            if table is ATTEMPTS:
                before, after = content + _ROW_BYTES * rows, content_left + _ROW_BYTES * rows_left
                bytes_after = size * after // before if before else size
                compressed = bool(_COMPRESSED_SHARE * content_left >= _COMPRESSED_BYTES * rows_emptied)
    report = PruneReport(
        content_before=content_before,
        rows_before=rows_before,
        emptied={name: count for name, count in emptied.items() if count},
        deleted={name: count for name, count in deleted.items() if count},
        bytes_before=size,
        bytes_after=int(bytes_after),
    )
    return report, compressed


def _create_tables(con: DuckDBPyConnection, content_before: date, rows_before: date | None) -> None:
    """Create what the conditions and expressions need, from the database in use."""
    con.execute(
        'CREATE OR REPLACE TEMP TABLE old_tokens AS SELECT span_id, arg_max_null(tokens, "at") AS tokens FROM messages '
        f"WHERE {_is_old(MESSAGES, content_before)} AND tokens IS NOT NULL AND span_id IS NOT NULL GROUP BY span_id"
    )
    if rows_before is not None:
        con.execute(_DELETED_CALLS, {"before": rows_before})
        con.execute(_DELETED)


def _bytes(table: Table) -> str:
    """Return the expression of the bytes of a row's content."""
    return " + ".join(f"coalesce(strlen(CAST({quote_identifier(name)} AS VARCHAR)), 0)" for name in CONTENT[table])


def _is_old(table: Table, day: date) -> str:
    return f"{quote_identifier(table.time)} < TIMESTAMP '{day} 00:00:00'"


def _emptied(day: date) -> dict[str, dict[str, str]]:
    """Return the columns without the content before ``day``, by table."""
    columns = {
        table.name: {
            name: f"CASE WHEN {_is_old(table, day)} THEN NULL ELSE {quote_identifier(name)} END" for name in names
        }
        for table, names in CONTENT.items()
    }
    # the figure of a message that queries add up; the message itself goes
    columns[ATTEMPTS.name]["result_tokens"] = (
        "coalesce((SELECT t.tokens FROM old_tokens AS t WHERE t.span_id = attempts.span_id), result_tokens)"
    )
    return columns


def _kept(content_before: date, rows_before: date | None) -> dict[str, str]:
    """Return the condition of the rows that stay, by table. A message goes with its content."""
    kept = {MESSAGES.name: f"NOT {_is_old(MESSAGES, content_before)}"}
    if rows_before is None:
        return kept
    start = f"TIMESTAMP '{rows_before} 00:00:00'"

    def about_deleted(time: str) -> str:
        """Return the condition of a record about an attempt, or a call, that is deleted now or was before."""
        return (
            "coalesce(CASE WHEN span_id IS NOT NULL THEN span_id IN (SELECT span_id FROM deleted) "
            f"OR {time} < {start} AND span_id NOT IN (SELECT span_id FROM attempts) "
            f"ELSE ({time} < {start} OR call_id IN (SELECT call_id FROM deleted)) "
            f"AND call_id NOT IN (SELECT call_id {_STAYING}) END, false)"
        )

    about_conversation = (
        f"coalesce(target_kind = 'conversation' AND labeled_at < {start} AND conversation_id NOT IN "
        f"(SELECT conversation_id {_STAYING} AND conversation_id IS NOT NULL), false)"
    )
    return {
        **kept,
        "attempts": "span_id NOT IN (SELECT span_id FROM deleted)",
        "outcomes": f"NOT ({about_deleted('labeled_at')} OR {about_conversation})",
        "corrections": f"NOT {about_deleted('corrected_at')}",
        "gate_events": f"NOT {about_deleted('asked_at')}",
        "begun": f"started_at >= {start}",
        # the surroundings of calls
        "spans": f"started_at >= {start} OR trace_id IN (SELECT trace_id {_STAYING})",
    }


def _sum(some: Mapping[str, int], others: Mapping[str, int]) -> dict[str, int]:
    return {name: some.get(name, 0) + others.get(name, 0) for name in {**some, **others}}
