"""Connections to the database, and the meaning of DuckDB's errors."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import duckdb

from tooltrace.errors import ConfigError, StoreDamaged, StoreError, StoreLocked
from tooltrace.store.database.schema import STORAGE_VERSION, STORE, quote_literal
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.files.scratch import PrivateFolder, scratch
from tooltrace.store.files.store_file import SQLITE, foreign, foreign_format
from tooltrace.store.files.syncing import sync_directory

MEMORY_CATALOG: Final = "memory"
QUERY_MEMORY: Final = "TOOLTRACE_QUERY_MEMORY"
"""Environment variable for the memory of a query."""
THREAD_MIB: Final = 128
"""Memory of a limited query for which it may use a further thread: each thread has buffers of its own."""

_WITH_LOG: Final = f"STORAGE_VERSION {quote_literal(STORAGE_VERSION)}"
_WRITABLE: Final = f"{_WITH_LOG}, RECOVERY_MODE 'no_wal_writes'"

_QUOTED: Final = re.compile(r'"[^"]*"')
_LOCKED: Final = re.compile(r"Conflicting lock is held in (.*?) ?\(PID (\d+)\)|Conflicting lock is held")
_LOCKED_HERE: Final = re.compile(r"already attached|Unique file handle conflict|different configuration", re.IGNORECASE)
_NEWER: Final = re.compile(r"version number|newer (version|storage)|storage version|different version", re.IGNORECASE)
_MACHINE: Final = re.compile(
    r"no space|disk (is )?full|quota|permission|denied|read-only|too many open|input/output|is a directory"
    r"|no such file|does not exist|could not set lock|file too large|out of memory|interrupted|fsync failed",
    re.IGNORECASE,
)
_ORIGINAL: Final = re.compile(r"Original error: \"(.*)\"", re.DOTALL)
"""What an invalidated database repeats of the error that invalidated it."""
_BLOCK: Final = re.compile(r"corrupt database file|computed checksum|could not read enough bytes", re.IGNORECASE)
_DAMAGED: Final = re.compile(
    r"not a valid duckdb|corrupt|checksum|wal|deserializ|serializ|could not read enough|magic bytes|internal error"
    r"|fatal|invalidated|metadata|block",
    re.IGNORECASE,
)
_BROKEN: Final = (duckdb.InternalException, duckdb.FatalException, duckdb.SerializationException)
_IN_USE: Final = (
    duckdb.BinderException,
    duckdb.ConnectionException,
    *filter(None, [getattr(duckdb, "ResourceInUseException", None)]),  # since DuckDB 2
)


def connect(paths: StorePaths | None = None) -> duckdb.DuckDBPyConnection:
    """Return a new in-memory database in UTC, with nothing attached, which downloads and loads no extension by itself.

    Data that exceeds the memory goes to the temporary folder of the store ``paths``; without a store, nowhere.
    """
    config: dict[str, str | bool | int | float | list[str]] = {
        "temp_directory": "",
        "autoinstall_known_extensions": "false",  # opening or reading a file must not download anything
        "autoload_known_extensions": "false",
    }
    con = duckdb.connect(":memory:", config=config)
    con.execute("SET GLOBAL TimeZone = 'UTC'")
    with suppress(
        duckdb.InvalidInputException
    ):  # in a notebook without ipywidgets, where DuckDB has no bar to switch off
        con.execute(
            "SET enable_progress_bar = false"
        )  # the bar would mix with the output of programs that print results
    if paths is not None:
        con.execute(f"SET temp_directory = {quote_literal(str(scratch(paths)))}")
    return con


def limit_memory(con: duckdb.DuckDBPyConnection) -> None:
    """Limit the memory of a query to ``$TOOLTRACE_QUERY_MEMORY``, such as ``200MB``; beyond it DuckDB writes to files.

    A small limit also lowers the number of threads, because several threads need more memory at once. Raises
    ConfigError for a value that is not a size.
    """
    text = os.environ.get(QUERY_MEMORY, "")
    if not text:
        return
    try:
        con.execute(f"SET memory_limit = {quote_literal(text)}")
    except duckdb.ParserException as error:
        raise ConfigError(f"${QUERY_MEMORY} must be a size such as 200MB, got {text!r}: correct or unset it") from error
    limits = "current_setting('threads'), parse_formatted_bytes(current_setting('memory_limit'))"
    threads, memory = con.execute(f"SELECT {limits}").fetchone() or (1, 0)
    con.execute(f"SET threads = {max(1, min(threads, memory // (THREAD_MIB * 1024 * 1024)))}")


def attach(con: duckdb.DuckDBPyConnection, paths: StorePaths, *, read_only: bool) -> None:
    """Attach the database as ``store``. Raises StoreLocked, StoreDamaged or StoreError.

    Changes are in the file after ``checkpoint``, all of them or none: there is no write-ahead log, because the journals
    have every line until then.
    """
    try:
        if not read_only:
            con.execute("SET checkpoint_on_detach = 'DISABLED'; SET wal_autocheckpoint = '1 TB'")
        if not read_only and not paths.database.exists():
            _create_file(con, paths)
        # a log that another program left is replayed in DuckDB's own way: a damaged one crashed DuckDB 2.0.1 otherwise
        options = "READ_ONLY" if read_only else _WITH_LOG if paths.wal.exists() else _WRITABLE
        con.execute(f"ATTACH {quote_literal(str(paths.database))} AS {STORE} ({options})")
    except duckdb.Error as error:
        raise explained(error, paths.database) from error
    except OSError as error:
        raise StoreError(f"the store {paths.database} cannot be created: {error}") from error


def checkpoint(con: duckdb.DuckDBPyConnection) -> None:
    """Write the committed changes of the database attached as ``store`` to its file. Raises duckdb.Error and OSError."""
    (path,) = con.execute("SELECT path FROM duckdb_databases() WHERE database_name = ?", [STORE]).fetchone() or ("",)
    mark = Path(f"{path}.wal")  # DuckDB writes there that a checkpoint runs; created before, nobody else can read it
    with suppress(FileExistsError):
        os.close(os.open(mark, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    con.execute(f"CHECKPOINT {STORE}")
    mark.unlink(missing_ok=True)


def _create_file(con: duckdb.DuckDBPyConnection, paths: StorePaths) -> None:
    """Create an empty database that only this user can read, in one step."""
    with PrivateFolder(paths.database.parent, paths.database.name) as folder:
        new = folder.path / paths.database.name
        con.execute(f"ATTACH {quote_literal(str(new))} AS {STORE} ({_WRITABLE})")
        con.execute(f"DETACH {STORE}")
        new.chmod(0o600)
        new.replace(paths.database)
    sync_directory(paths.database.parent)  # before a folded journal is removed


def detach(con: duckdb.DuckDBPyConnection) -> None:
    """Detach the database; tables in memory stay."""
    con.execute(f"USE {MEMORY_CATALOG}")
    con.execute(f"DETACH DATABASE IF EXISTS {STORE}")


@contextmanager
def opened(paths: StorePaths, *, read_only: bool) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a new connection with the database attached as ``store``, which is closed at the end of the block.

    Raises StoreLocked, StoreDamaged or StoreError, also for errors of DuckDB inside the block.
    """
    con = connect(paths)
    try:
        attach(con, paths, read_only=read_only)
        yield con
        if not read_only:
            checkpoint(con)
    except duckdb.Error as error:
        raise explained(error, paths.database) from error
    finally:
        with suppress(duckdb.Error):
            detach(con)
        con.close()


def is_attached(con: duckdb.DuckDBPyConnection) -> bool:
    """Whether ``con`` is open and the store is still attached to it."""
    try:
        found = con.execute("SELECT 1 FROM duckdb_databases() WHERE database_name = ?", [STORE]).fetchone()
    except duckdb.Error:
        return False
    return found is not None


def explained(error: duckdb.Error, database: Path) -> StoreError:
    """Return a one-line StoreError that explains ``error``, which DuckDB raised while using ``database``."""
    text = _without_paths(error, database)
    if isinstance(error, duckdb.IOException) and (conflict := _LOCKED.search(text)):
        pid = int(conflict[2]) if conflict[2] else None
        holder = f"process {pid} ({conflict[1]})" if pid else "another process"
        return StoreLocked(
            f"the store {database} is open in {holder}, which is not tooltrace: close it there",
            pid=pid,
        )
    if isinstance(error, _IN_USE) and _LOCKED_HERE.search(text):
        return StoreLocked(
            f"the store {database} is open in this process ({os.getpid()}) by another DuckDB connection: "
            "close that connection, or read through tooltrace",
            pid=os.getpid(),
        )
    if foreign_format(database) == SQLITE:  # DuckDB asks for its extension
        return foreign(database, SQLITE)
    line = " ".join(str(error).split())[:300]
    if _NEWER.search(text) and not isinstance(error, duckdb.InternalException):
        return StoreError(f"the store {database} was written by a newer version of DuckDB: upgrade duckdb ({line})")
    if _is_damage(error, text):
        return StoreDamaged(f"the store {database} is damaged: {line}")
    return StoreError(f"the store {database} cannot be opened: {line}")


def is_unreadable(error: duckdb.Error) -> bool:
    """Whether ``error``, raised by a user's SQL, comes from a damaged block of the database file."""
    # DuckDB raises the base class for a wrong checksum; the classes of errors in SQL may contain any text of the user
    is_of_file = type(error) is duckdb.Error or isinstance(error, (duckdb.IOException, *_BROKEN))
    return is_of_file and bool(_BLOCK.search(_QUOTED.sub("", str(error))))


def _is_damage(error: duckdb.Error, text: str) -> bool:
    """Whether ``error`` reports broken file content, and not a refusal by the machine (disk, permissions, memory).

    ``text``: the message without the parts that DuckDB did not write.
    """
    # first: a message about a full disk may name a block or the write-ahead log, and the file must not be moved aside
    if isinstance(error, duckdb.OutOfMemoryException | duckdb.InterruptException) or _MACHINE.search(text):
        return False
    return isinstance(error, _BROKEN) or bool(_DAMAGED.search(text))


def _without_paths(error: duckdb.Error, database: Path) -> str:
    """Return the message of ``error`` without paths and quoted names, which may contain any words."""
    text = str(error)
    for path in (str(database), str(database.parent)):
        if len(path) > 1:
            text = text.replace(path, "")
    original = _ORIGINAL.search(text)
    return " ".join((_QUOTED.sub("", text) + (original[1] if original else "")).split())
