"""The check of a path that tooltrace has not used yet. Loads DuckDB only where there is a database to look into."""

from __future__ import annotations

import contextlib
import os

from tooltrace.errors import StoreDamaged
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
