"""A database that cannot be read is put aside, never deleted; what is left of it and the journals make the next."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import duckdb

from tooltrace.core.records import Loss
from tooltrace.errors import StoreDamaged, StoreError
from tooltrace.store.columns import RECORDS, Table
from tooltrace.store.connection import connect
from tooltrace.store.fold_marker import NOTE
from tooltrace.store.paths import StorePaths
from tooltrace.store.schema import STORE, quote_identifier, quote_literal

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

ATTEMPTS: Final = 2
"""First without its write-ahead log, if it has one; then without the database."""
ASIDE: Final = "aside"
GROUP_ROWS: Final = 122_880
"""Rows that DuckDB keeps together: what is damaged is lost by so many, or by fewer."""
LEAST_ROWS: Final = 2048

_log = logging.getLogger("tooltrace")


def quarantine(paths: StorePaths, error: StoreDamaged, *, asked: bool) -> tuple[Path, Loss]:
    """Rename what is damaged, and say so; where it is, and the loss to count. Whoever calls holds the lock.

    A write-ahead log goes first and alone: all it holds is in the journals still, which are only removed
    when the database itself has their lines. Unless a person ``asked`` for it, a file that never was a
    database is left alone: StoreError.
    """
    if not asked and not _was_ours(paths):
        raise StoreError(
            f"{paths.database} is no tooltrace store, nor any DuckDB file; it was left as it is "
            "(tooltrace doctor --mend puts it aside)"
        ) from error
    now = datetime.now(UTC)
    name = f"{paths.database.name}.damaged-{now:%Y%m%dT%H%M%S.%fZ}"
    if paths.wal.exists():
        aside = paths.wal.rename(paths.database.with_name(f"{name}.wal"))
        _log.warning("%s; its write-ahead log was put aside as %s, the rest is kept", error, aside)
    else:
        aside = paths.database.rename(paths.database.with_name(name))
        _log.warning("%s; it was put aside as %s and is rebuilt from what can be read", error, aside)
    return aside, Loss(reason="database_damaged", count=1, at=now, detail=f"{aside.name}: {error}"[:500])


def _was_ours(paths: StorePaths) -> bool:
    """Whether the file was a database once: another's file is not ours to move. Nobody has it open now."""
    if paths.wal.exists() or (paths.journal / NOTE).exists():
        return True
    with paths.database.open("rb") as file:
        return file.read(12)[8:] == b"DUCK"


def remove_empty_file(paths: StorePaths) -> None:
    """A file of no bytes (made by ``touch``, or to hold a name) is no database yet."""
    with contextlib.suppress(FileNotFoundError):
        if not (paths.journal / NOTE).exists() and paths.database.is_file() and paths.database.stat().st_size == 0:
            paths.database.unlink()


def quarantined_files(paths: StorePaths) -> list[Path]:
    """What was put aside from this store, oldest first."""
    start = f"{paths.database.name}.damaged-"
    with contextlib.suppress(OSError):
        return sorted(path for path in paths.database.parent.iterdir() if path.name.startswith(start))
    return []


def verify_blocks(con: DuckDBPyConnection) -> None:
    """Read every block of the database attached as ``store``; raises duckdb.Error at a damaged one."""
    for table in RECORDS.values():
        con.execute(f"SELECT bit_xor(hash(t)) FROM {STORE}.{table.name} AS t").fetchall()


def salvage(aside: Path, directory: Path) -> Iterator[tuple[Table, Path]]:
    """What can be read of the database ``aside``: tables and files of their rows, in pieces, each gone afterwards.

    Runs in a database of its own: reading what is damaged may make DuckDB refuse all further work.
    """
    for table in RECORDS.values():
        for first in range(0, _rows(aside, table), GROUP_ROWS):
            yield from _pieces(aside, table, directory, first, GROUP_ROWS)


def _pieces(aside: Path, table: Table, directory: Path, first: int, count: int) -> Iterator[tuple[Table, Path]]:
    file = directory / f".salvage-{table.name}-{first}.tmp"
    names = ", ".join(quote_identifier(name) for name in table.names)
    try:
        _run(
            aside,
            f"COPY (SELECT {names} FROM {ASIDE}.{table.name} WHERE rowid >= {first} AND rowid < {first + count}) "
            f"TO {quote_literal(str(file))} (FORMAT parquet)",
        )
    except duckdb.Error:
        if count > LEAST_ROWS:
            half = count // 2
            yield from _pieces(aside, table, directory, first, half)
            yield from _pieces(aside, table, directory, first + half, count - half)
    else:
        yield table, file
    finally:
        file.unlink(missing_ok=True)


def _rows(aside: Path, table: Table) -> int:
    with contextlib.suppress(duckdb.Error):
        return int(_run(aside, f"SELECT coalesce(max(rowid) + 1, 0) FROM {ASIDE}.{table.name}")[0][0])
    return 0


def _run(aside: Path, sql: str) -> list[tuple[int]]:
    con = connect()
    try:
        con.execute(f"ATTACH {quote_literal(str(aside))} AS {ASIDE} (READ_ONLY)")
        return con.execute(sql).fetchall()
    finally:
        with contextlib.suppress(duckdb.Error):
            con.close()
