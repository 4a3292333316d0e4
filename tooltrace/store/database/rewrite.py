"""Rewriting: a copy of the database in a new file, without deleted bytes, that replaces the old file in one step."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import duckdb
import orjson

from tooltrace.errors import StoreError
from tooltrace.redact.plain_data import json_of
from tooltrace.store.database import hashes
from tooltrace.store.database.connection import attach, checkpoint, connect, detach, explained, opened
from tooltrace.store.database.content import content_since, set_content_since
from tooltrace.store.database.migrations import create
from tooltrace.store.database.schema import (
    ATTEMPTS,
    META,
    RECORDS,
    REPEATED_CALLS,
    STORE,
    TABLES,
    quote_identifier,
    quote_literal,
    row_fingerprint,
)
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.files.scratch import PrivateFolder, sweep_file
from tooltrace.store.files.syncing import replace_file, sync_directory
from tooltrace.store.journal.delivery_cursors import folder_of

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


SOURCE: Final = "source"
"""The name under which the old database is attached while it is copied."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RewriteReport:
    """The result of a rewrite, in numbers."""

    bytes_before: int
    """Size of the old database file."""
    bytes_after: int
    """Size of the new database file."""
    deleted: Mapping[str, int]
    """Rows that were not copied, by table; only tables with such rows."""


def rewrite(
    paths: StorePaths,
    *,
    keep: Mapping[str, str] | None = None,
    columns: Mapping[str, Mapping[str, str]] | None = None,
    prepare: Callable[[DuckDBPyConnection], None] = lambda _con: None,
    to: StorePaths | None = None,
    compressed: bool = True,
) -> RewriteReport:
    """Copy the database of ``paths`` into a new file, then replace the old file by it.

    DuckDB reuses the space of deleted rows but leaves their bytes in the file. The new file does not contain them.

    ``keep``: for a table's name, the SQL condition of the rows to copy; every row of any other table is copied.
    ``columns``: for a table's name, the SQL expression of each column that changes, by the column's name.
    ``prepare``: a function that is called with the connection before rows are copied. It can read the old database as
    ``source``, add rows to the new one as ``store``, and create what the conditions and expressions need.
    ``to``: write the copy there, and leave the database of ``paths`` as it is. Otherwise the exports of the history go on
    where they stopped, though rows before that are gone or changed. ``compressed``: see ``create``.
    The caller must hold the lock exclusively and must have folded, so that the schema is current. A kill at any moment
    leaves either the old or the new database. Raises StoreError where the database cannot be read or the copy cannot
    be written; the database is then unchanged.
    """
    if paths.wal.exists():
        raise StoreError(
            f"cannot rewrite the store {paths.database}: its last change is in a write-ahead log and could not be written to the "
            "database; make sure that the disk has space, and run the command again"
        )
    target = to or paths
    positions = ReplayPositions(paths)
    try:
        sweep_file(target.database)
        with PrivateFolder(target.database.parent, target.database.name) as folder:
            copy = StorePaths.of(folder.path / target.database.name)
            old = paths.database.stat()
            deleted = _copy(paths, copy, keep or {}, columns or {}, prepare, positions, compressed)
            # before the renaming: after a power cut, the name must not lead to a file without content
            _sync(copy)
            if to is None:  # a copy elsewhere is this user's alone
                copy.database.chmod(stat.S_IMODE(old.st_mode))
                with contextlib.suppress(PermissionError):  # only root may give a file to another owner
                    os.chown(copy.database, old.st_uid, old.st_gid)
            after = copy.database.stat().st_size
            copy.database.replace(target.database)
        sync_directory(target.database.parent)
        if to is None:
            positions.write()
    except duckdb.Error as error:
        raise explained(error, paths.database) from error
    except OSError as error:
        raise StoreError(f"cannot rewrite the store {paths.database}: {error}") from error
    return RewriteReport(bytes_before=old.st_size, bytes_after=after, deleted=deleted)


def _copy(
    paths: StorePaths,
    copy: StorePaths,
    keep: Mapping[str, str],
    columns: Mapping[str, Mapping[str, str]],
    prepare: Callable[[DuckDBPyConnection], None],
    positions: ReplayPositions,
    compressed: bool,
) -> dict[str, int]:
    con = connect(paths)
    try:
        con.execute(f"ATTACH {quote_literal(str(paths.database))} AS {SOURCE} (READ_ONLY)")
        attach(con, copy, read_only=False)
        create(con, compressed=compressed)
        set_content_since(con, content_since(con, SOURCE))
        prepare(con)
        positions.read(con, keep, SOURCE)
        names = [table.name for table in TABLES if table not in (META, REPEATED_CALLS)]
        deleted = {name: _copy_table(con, name, keep.get(name), columns.get(name, {})) for name in names}
        hashes.find_repeated(con)  # not copied: nothing of a deleted call is left
        checkpoint(con)
        return {name: rows for name, rows in deleted.items() if rows}
    finally:
        with contextlib.suppress(duckdb.Error):
            detach(con)
        con.close()


def _copy_table(con: DuckDBPyConnection, table: str, condition: str | None, columns: Mapping[str, str]) -> int:
    """Copy the rows of ``table`` that satisfy ``condition``; return the number of the others."""
    name = quote_identifier(table)
    changed = ", ".join(f"{sql} AS {quote_identifier(column)}" for column, sql in columns.items())
    values = f"* REPLACE ({changed})" if changed else "*"
    where = f" WHERE ({condition}) IS TRUE" if condition else ""
    rows = f"SELECT {values} FROM {SOURCE}.{name}{where}"
    if table == ATTEMPTS.name:  # the texts of which they are computed may have changed
        rows = f"SELECT {hashes.replaced()} FROM ({rows})"
    con.execute(f"INSERT INTO {STORE}.{name} BY NAME {rows}")
    if condition is None:
        return 0
    row = con.execute(
        f"SELECT (SELECT count(*) FROM {SOURCE}.{name}) - (SELECT count(*) FROM {STORE}.{name})"
    ).fetchone()
    return int(row[0]) if row else 0


def _sync(copy: StorePaths) -> None:
    with copy.database.open("rb") as file:
        os.fsync(file.fileno())


@dataclass(slots=True)
class _Position:
    file: Path
    kind: str
    rows: int
    """Number of remaining rows up to the position."""


class ReplayPositions:
    """The positions of all exports of one store."""

    def __init__(self, paths: StorePaths) -> None:
        self._paths = paths
        self._positions: list[_Position] = []

    def read(self, con: DuckDBPyConnection, keep: Mapping[str, str], source: str) -> None:
        """Find the positions in the database attached as ``source``, of which the rows of ``keep`` will remain."""
        for file in sorted(folder_of(self._paths).glob("*.history-*.json")):
            for kind, place in _load(file).get("places", {}).items():
                table = RECORDS[kind]
                row = con.execute(
                    f"SELECT rowid FROM {source}.{table.name} WHERE {row_fingerprint(table)} = ? "
                    "ORDER BY rowid = ? DESC, rowid DESC LIMIT 1",
                    [place["mark"], place["row"]],
                ).fetchone()
                if row is None:
                    continue
                kept = f"({keep[table.name]}) IS TRUE" if table.name in keep else "true"
                count = con.execute(
                    f"SELECT count(*) FROM {source}.{table.name} WHERE rowid <= ? AND {kept}", [row[0]]
                ).fetchone()
                self._positions.append(_Position(file, kind, count[0] if count else 0))

    def write(self) -> None:
        """Write the positions that the same rows have now; a position without a remaining row is removed."""
        if not self._positions:
            return
        with opened(self._paths, read_only=True) as con:
            for position in self._positions:
                _move(con, position)


def _move(con: DuckDBPyConnection, position: _Position) -> None:
    table = RECORDS[position.kind]
    row = None
    if position.rows:
        row = con.execute(
            f"SELECT rowid, {row_fingerprint(table)} FROM {STORE}.{table.name} ORDER BY rowid LIMIT 1 OFFSET ?",
            [position.rows - 1],
        ).fetchone()
    values = _load(position.file)
    if row is None:
        values["places"].pop(position.kind, None)
    else:
        values["places"][position.kind] = {"row": row[0], "mark": row[1]}
    replace_file(position.file, json_of(values))


def _load(file: Path) -> dict[str, Any]:
    try:
        values = orjson.loads(file.read_bytes())
    except (OSError, ValueError):
        return {}
    return values if isinstance(values, dict) else {}
