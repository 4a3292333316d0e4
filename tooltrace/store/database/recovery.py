"""Recovery from a damaged database: quarantine by renaming, never deletion, and salvage of its readable rows.

The next database is built from the salvaged rows and the journals.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import duckdb

from tooltrace.core.records import Loss
from tooltrace.errors import StoreDamaged
from tooltrace.redact.redaction import Redaction
from tooltrace.store.database.connection import connect
from tooltrace.store.database.schema import (
    EXPORTS,
    RECORDS,
    REPEATED_CALLS,
    STORE,
    Table,
    quote_identifier,
    quote_literal,
)
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.files.store_file import SQLITE, foreign, foreign_format
from tooltrace.store.journal.fold_marker import MARKER

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

ATTEMPTS: Final = 2
"""Maximum quarantines in one fold: first of the write-ahead log, if there is one, then of the database."""
QUARANTINE: Final = "aside"
GROUP_ROWS: Final = 122_880
"""Rows in one DuckDB row group: the first piece size of a salvage, halved where a piece cannot be read."""
MIN_ROWS: Final = 2048

_log = logging.getLogger("tooltrace")


def quarantine(paths: StorePaths, error: StoreDamaged, *, forced: bool) -> tuple[Path, Loss]:
    """Rename the damaged file and log a warning; return its new path and the loss to record.

    The caller must hold the lock exclusively. A write-ahead log, which only another program leaves, is renamed
    first and alone. Raises StoreError for a file that
    never was a database, unless a person ``forced`` the quarantine, and for a SQLite database.
    """
    kind = foreign_format(paths.database)
    if kind == SQLITE or (kind is not None and not forced and not _was_database(paths)):
        raise foreign(paths.database, kind) from error
    now = datetime.now(UTC)
    name = f"{paths.database.name}.damaged-{now:%Y%m%dT%H%M%S.%fZ}"
    if paths.wal.exists():
        aside = paths.wal.rename(paths.database.with_name(f"{name}.wal"))
        _log.warning("%s; its write-ahead log was moved to %s, the database was not changed", error, aside)
    else:
        aside = paths.database.rename(paths.database.with_name(name))
        _log.warning("%s; it was moved to %s and is rebuilt from its readable rows", error, aside)
    return aside, Loss(
        reason="database_damaged", count=1, at=now, detail=Redaction().redact_text(f"{aside.name}: {error}")[:500]
    )


def _was_database(paths: StorePaths) -> bool:
    """Whether the file ever was a database of this store: other files must not be moved."""
    return paths.wal.exists() or (paths.journal / MARKER).exists()


def remove_empty_file(paths: StorePaths) -> None:
    """Remove an empty file in place of the database, such as one that ``touch`` created."""
    with contextlib.suppress(FileNotFoundError):
        if not (paths.journal / MARKER).exists() and paths.database.is_file() and paths.database.stat().st_size == 0:
            paths.database.unlink()


def quarantined_files(paths: StorePaths) -> list[Path]:
    """Return the quarantined files of this store, oldest first."""
    return _files(paths, "damaged")


def replaced_files(paths: StorePaths) -> list[Path]:
    """Return the databases that a restored backup replaced, oldest first."""
    return _files(paths, "replaced")


def _files(paths: StorePaths, why: str) -> list[Path]:
    start = f"{paths.database.name}.{why}-"
    with contextlib.suppress(OSError):
        return sorted(path for path in paths.database.parent.iterdir() if path.name.startswith(start))
    return []


def verify_blocks(con: DuckDBPyConnection) -> None:
    """Read every block of the database attached as ``store``. Raises duckdb.Error at a damaged block."""
    for table in (*RECORDS.values(), EXPORTS, REPEATED_CALLS):
        con.execute(f"SELECT bit_xor(hash(t)) FROM {STORE}.{table.name} AS t").fetchall()


def salvage(aside: Path, directory: Path) -> Iterator[tuple[Table, Path]]:
    """Yield the readable rows of the database ``aside`` in pieces: a table and a Parquet file of its rows.

    Each file is removed when the next piece is requested. Reads in a separate DuckDB instance, because reading
    damaged data may make DuckDB refuse all further work.
    """
    for table in (*RECORDS.values(), EXPORTS):
        for first in range(0, _rows(aside, table), GROUP_ROWS):
            yield from _pieces(aside, table, directory, first, GROUP_ROWS)


def _pieces(aside: Path, table: Table, directory: Path, first: int, count: int) -> Iterator[tuple[Table, Path]]:
    """Yield ``count`` rows from row id ``first`` on, halving an unreadable piece down to about MIN_ROWS rows."""
    file = directory / f"{table.name}-{first}.parquet"
    names = ", ".join(quote_identifier(name) for name in table.names)
    try:
        _run(
            aside,
            f"COPY (SELECT {names} FROM {QUARANTINE}.{table.name} WHERE rowid >= {first} AND rowid < {first + count}) "
            f"TO {quote_literal(str(file))} (FORMAT parquet)",
        )
    except duckdb.Error:
        if count > MIN_ROWS:
            half = count // 2
            yield from _pieces(aside, table, directory, first, half)
            yield from _pieces(aside, table, directory, first + half, count - half)
    else:
        yield table, file
    finally:
        file.unlink(missing_ok=True)


def _rows(aside: Path, table: Table) -> int:
    with contextlib.suppress(duckdb.Error):
        return int(_run(aside, f"SELECT coalesce(max(rowid) + 1, 0) FROM {QUARANTINE}.{table.name}")[0][0])
    return 0


def _run(aside: Path, sql: str) -> list[tuple[int]]:
    con = connect()
    try:
        con.execute(f"ATTACH {quote_literal(str(aside))} AS {QUARANTINE} (READ_ONLY)")
        return con.execute(sql).fetchall()
    finally:
        with contextlib.suppress(duckdb.Error):
            con.close()
