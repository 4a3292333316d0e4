"""The check of a path that tooltrace has not used yet. Loads DuckDB only where there is a database to look into."""

from __future__ import annotations

import contextlib
import os

from tooltrace.errors import StoreDamaged, StoreError, StoreLocked
from tooltrace.store.paths import StorePaths
from tooltrace.store.store_file import check_location, is_new


def check_database(path: str | os.PathLike[str] | StorePaths) -> None:
    """Raise StoreError as ``check_location`` does, and where the file is the DuckDB database of another program.

    Raises StoreLocked where another program has such a database open.
    Loads DuckDB only where there is a database that no version of tooltrace has used yet.
    """
    paths = StorePaths.of(path)
    check_location(paths)
    if not is_new(paths) or not paths.database.exists() or paths.database.stat().st_size == 0:
        return
    import duckdb

    from tooltrace.store.connection import attach, connect
    from tooltrace.store.migrations import refuse_foreign

    con = connect()
    try:
        attach(con, paths, read_only=True)
        refuse_foreign(con, paths.database)
    except (StoreDamaged, duckdb.Error):  # a fold repairs it
        pass
    finally:
        with contextlib.suppress(duckdb.Error):
            con.close()


class FirstWrite:
    """The check of a path before the first write beside it, by a recorder that must not raise StoreError.

    A path that was refused is checked again where its file has changed.
    """

    def __init__(self, paths: StorePaths) -> None:
        self._paths = paths
        self._is_passed = False
        self._refused: tuple[tuple[int, int, int], str] | None = None
        """The inode, size and time of the file that was refused, and the reason."""

    @property
    def needs_duckdb(self) -> bool:
        """Whether the check would load DuckDB, because there is a database that tooltrace has not used yet."""
        return not self._is_passed and is_new(self._paths) and self._identity() is not None

    def check(self) -> None:
        """Raise OSError where the file is not a store. Does nothing after the first success."""
        if self._is_passed:
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
        self._is_passed = True

    def _identity(self) -> tuple[int, int, int] | None:
        try:
            found = self._paths.database.stat()
        except OSError:
            return None
        return found.st_ino, found.st_size, found.st_mtime_ns
