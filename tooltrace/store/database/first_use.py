"""The check of a path that tooltrace has not used yet. Loads DuckDB only for a database that does not look like a store."""

from __future__ import annotations

import contextlib
import os
import sys
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Final

from tooltrace.errors import StoreDamaged, StoreError, StoreLocked
from tooltrace.store.database.schema import META
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.files.store_file import check_location, is_new

SEARCHED_BYTES: Final = 256 * 1024 * 1024
"""Maximum bytes of a database in which the mark of a store is searched."""
_MARK: Final = META.columns[0].comment.encode()


def check_database(path: str | os.PathLike[str] | StorePaths) -> None:
    """Raise StoreError as ``check_location`` does, and where the file is the DuckDB database of another program.

    Raises StoreLocked where another program has such a database open.
    Loads DuckDB only where there is a database that no version of tooltrace has used here yet, such as a copy, and that
    does not have the mark of a store.
    """
    paths = StorePaths.of(path)
    check_location(paths)
    if not is_new(paths) or not paths.database.exists() or paths.database.stat().st_size == 0:
        return
    if "duckdb" not in sys.modules and _has_mark(paths.database):
        return
    import duckdb

    from tooltrace.store.database.connection import attach, connect
    from tooltrace.store.database.migrations import refuse_foreign

    con = connect()
    try:
        attach(con, paths, read_only=True)
        refuse_foreign(con, paths.database)
    except (StoreDamaged, duckdb.Error):  # a fold repairs it
        pass
    finally:
        with contextlib.suppress(duckdb.Error):
            con.close()


def _has_mark(database: Path) -> bool:
    """Whether the file has the comment on a column of a store, which DuckDB stores as plain text.

    The caller must not have the file open: closing it here would release DuckDB's lock.
    """
    try:
        with database.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as content:
            return content.find(_MARK, 0, SEARCHED_BYTES) >= 0
    except (OSError, ValueError):
        return False


class FirstWrite:
    """The check of a path before the first write beside it, by a recorder that must not raise StoreError.

    A path that was refused is checked again where its file has changed.
    """

    def __init__(self, paths: StorePaths) -> None:
        self._paths = paths
        self.is_passed = False
        """Whether the check has succeeded."""
        self._refused: tuple[tuple[int, int, int], str] | None = None
        """The inode, size and time of the file that was refused, and the reason."""

    @property
    def needs_look(self) -> bool:
        """Whether the check would read the file, because there is a database that tooltrace has not used here yet."""
        return not self.is_passed and is_new(self._paths) and self._identity() is not None

    def check(self) -> None:
        """Raise OSError where the file is not a store. Does nothing after the first success."""
        if self.is_passed:
            return
        identity = self._identity()
        if identity is not None and self._refused is not None and self._refused[0] == identity:
            raise OSError(self._refused[1])
        try:
            check_database(self._paths)
        except StoreLocked:  # another program has it open at the moment: calls wait in the journal
            pass
        except StoreError as error:
            if identity is not None:
                self._refused = identity, str(error)
            raise OSError(str(error)) from error
        self.is_passed = True

    def _identity(self) -> tuple[int, int, int] | None:
        try:
            found = self._paths.database.stat()
        except OSError:
            return None
        return found.st_ino, found.st_size, found.st_mtime_ns
