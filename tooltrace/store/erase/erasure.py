"""Erasure: the removal of forgotten records from every file of a store.

What is to be removed is in the tombstones alone, so that a fold completes an erasure that was killed.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tooltrace.errors import StoreError
from tooltrace.store.database import recovery
from tooltrace.store.database.connection import checkpoint, opened
from tooltrace.store.database.rewrite import RewriteReport, rewrite
from tooltrace.store.database.schema import RECORDS, STORE
from tooltrace.store.erase import tombstones
from tooltrace.store.erase.blanking import Change, change_lines
from tooltrace.store.erase.tombstones import Tombstones, digest
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.files.syncing import sync_directory
from tooltrace.store.journal.delivery_cursors import DestinationFiles, destinations, folder_of
from tooltrace.store.journal.line_scan import fingerprint_of, open_journal

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_TIME: Final = re.compile(r"\.(?:damaged|replaced)-(\d{8}T\d{6}\.\d{6})Z")
_log = logging.getLogger("tooltrace")


@dataclass(slots=True, kw_only=True)
class ErasureReport:
    """The records that an erasure removed, and those that remain."""

    rows: dict[str, int] = field(default_factory=dict)
    """Removed rows by table."""
    lines: dict[str, int] = field(default_factory=dict)
    """Overwritten lines by journal, and by file of records that a destination refused."""
    rewritten: list[str] = field(default_factory=list)
    """Copies of the database that were rewritten without the records."""
    removed: list[str] = field(default_factory=list)
    """Copies of the database that were removed, because they could not be read whole."""
    remaining: list[str] = field(default_factory=list)
    """One sentence for each file that may still have the records."""
    bytes_before: int = 0
    bytes_after: int = 0


def complete(paths: StorePaths) -> ErasureReport | None:
    """Remove the records of all pending tombstones; None where there are none.

    The caller holds the lock exclusively and has folded. After a kill, or where a file could not be changed, the
    tombstones stay pending, and the next fold tries again. Raises StoreError where the database cannot be rewritten.
    """
    found = tombstones.load(paths)
    if not found.pending:
        return None
    report = ErasureReport()
    # the earlier tombstones apply too: a database that replaced this one may have their records again
    if found.stored:
        _erase_rows(paths, found, report)
    report.lines = blank_journals(paths, found, report.remaining)
    refresh_fingerprints(paths, report.lines)
    _erase_copies(paths, found, report)
    _erase_delivered_ids(paths, found, report)
    try:
        for folder in (paths.journal, paths.database.parent):  # a removed file must not come back after a power cut
            sync_directory(folder)
        if report.remaining:
            tombstones.mark_erased(paths, found.stored)
        else:
            tombstones.mark_done(paths, found.pending)
    except OSError as error:
        raise StoreError(f"cannot write {tombstones.file_of(paths)}: {error}; run the command again") from error
    return report


def blank_journals(paths: StorePaths, found: Tombstones, remaining: list[str] | None = None) -> dict[str, int]:
    """Overwrite the forgotten lines of all journals and files of refused records; see ``change_journals``."""
    is_forgotten = found.matcher()
    return change_journals(paths, lambda record: None if is_forgotten(record) else record, remaining)


def change_journals(
    paths: StorePaths, change: Change, remaining: list[str] | None = None, *, dry_run: bool = False
) -> dict[str, int]:
    """Apply ``change`` to all journals and files of refused records; return the number of changed lines by file.

    Adds a sentence to ``remaining`` for each file that cannot be changed.
    """
    lines: dict[str, int] = {}
    refused = sorted(folder_of(paths).glob("*.refused.jsonl"))
    for path in [*(paths.journal / name for name in paths.journals()), *refused]:
        try:
            count = change_lines(path, change, dry_run=dry_run)
        except OSError as error:
            sentence = f"{path} may still have the records: {error.strerror or error}{_writer(path)}"
            _log.warning("%s", sentence)
            if remaining is not None:
                remaining.append(sentence)
        else:
            if count:
                lines[path.name] = count
    return lines


def refresh_fingerprints(paths: StorePaths, names: Collection[str]) -> None:
    """Store the checksums of the journals ``names`` anew after their lines have changed.

    Otherwise the next fold would read these journals from the beginning. The database must not be attached. Raises
    StoreError.
    """
    if not names or not paths.database.exists():
        return
    with opened(paths, read_only=False) as con:
        update_fingerprints(con, paths, names)


def update_fingerprints(con: DuckDBPyConnection, paths: StorePaths, names: Collection[str]) -> None:
    """Do as ``refresh_fingerprints`` with a connection to which the database is attached."""
    rows = con.execute(f"SELECT name, folded_bytes FROM {STORE}.journals WHERE list_contains(?, name)", [list(names)])
    for name, offset in rows.fetchall():
        fd = open_journal(paths.journal / name)
        if fd is None:
            continue
        try:
            mark = fingerprint_of(fd, offset)
        finally:
            os.close(fd)
        con.execute(f"UPDATE {STORE}.journals SET fingerprint = ? WHERE name = ?", [mark, name])
    checkpoint(con)


def _erase_rows(paths: StorePaths, found: Tombstones, report: ErasureReport) -> None:
    rewritten = rewrite(paths, keep=kept(found), prepare=found.prepare)
    report.rows = dict(rewritten.deleted)
    report.bytes_before, report.bytes_after = rewritten.bytes_before, rewritten.bytes_after


def kept(found: Tombstones) -> dict[str, str]:
    """Return the condition of the rows that are not forgotten, by table. ``Tombstones.prepare`` comes before its use."""
    conditions = {table.name: found.condition(table) for table in RECORDS.values()}
    return {name: f"NOT ({condition})" for name, condition in conditions.items() if condition}


def _erase_copies(paths: StorePaths, found: Tombstones, report: ErasureReport) -> None:
    """Rewrite the quarantined and replaced databases that are older than a pending tombstone, or remove them.

    The readable rows of a damaged database are in the database since its quarantine.
    """
    latest = max(one.at for one in found.entries.values() if one.id in found.pending)
    copies = [path for path in older_copies(paths) if _time_of(path) <= latest]
    report.rewritten, report.removed, remaining = rewrite_copies(
        copies, lambda copy: rewrite(copy, keep=kept(found), prepare=found.prepare)
    )
    report.remaining += [f"{path} may still have the records: {reason}" for path, reason in remaining]


def older_copies(paths: StorePaths) -> list[Path]:
    """Return the quarantined and replaced databases of a store, with their write-ahead logs."""
    return [*recovery.quarantined_files(paths), *recovery.replaced_files(paths)]


def rewrite_copies(
    copies: Sequence[Path], change: Callable[[StorePaths], RewriteReport]
) -> tuple[list[str], list[str], list[tuple[Path, str]]]:
    """Apply ``change`` to ``copies`` of a database, and remove those that it cannot rewrite.

    Returns the names of the rewritten and of the removed ones, and those that remain, each with the reason.
    """
    rewritten, removed, remaining = [], [], []
    for path in copies:
        try:
            if path.suffix == ".wal":
                raise StoreError("a write-ahead log cannot be rewritten")
            change(StorePaths.of(path))
            rewritten.append(path.name)
        except StoreError:
            try:
                path.unlink(missing_ok=True)
                removed.append(path.name)
            except OSError as error:
                remaining.append((path, error.strerror or str(error)))
    return rewritten, removed, remaining


def _time_of(path: Path) -> datetime:
    found = _TIME.search(path.name)
    # of unknown age: it counts as older than every forgetting, and is rewritten
    if found is None:
        return datetime.min.replace(tzinfo=UTC)
    return datetime.strptime(found[1], "%Y%m%dT%H%M%S.%f").replace(tzinfo=UTC)


def _erase_delivered_ids(paths: StorePaths, found: Tombstones, report: ErasureReport) -> None:
    """Remove forgotten span ids from the cursors of destinations; a deliverer in progress has its cursor in memory."""
    spans = {one.key: set(one.spans) for one in found.entries.values()}

    def is_forgotten(span_id: str) -> bool:
        return any(digest(key, "span", span_id) in marks for key, marks in spans.items())

    for files in destinations(paths):
        cursor = None
        with contextlib.suppress(StoreError):  # an unreadable cursor is replaced by the next delivery
            cursor = files.load()
        if cursor is None or not any(map(is_forgotten, cursor.early)):
            continue
        lock = files.lock()
        try:
            if not lock.try_exclusive():
                report.remaining.append(
                    f"{files.cursor} has ids of forgotten spans while a process delivers to {files.name}"
                )
                continue
            _drop_early(files, is_forgotten)
        finally:
            lock.release()


def _drop_early(files: DestinationFiles, is_forgotten: Callable[[str], bool]) -> None:
    cursor = files.load()
    if cursor is not None:
        cursor.early = [span_id for span_id in cursor.early if not is_forgotten(span_id)]
        files.save(cursor)


def _writer(path: Path) -> str:
    """Return the process that writes the journal, as its name says."""
    _host, pid, *_ = *path.stem.split("-"), ""
    return f" (a journal of process {pid})" if pid.isdigit() else ""
