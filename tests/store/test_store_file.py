"""Paths that are not a store: one sentence each, nothing is changed or created, nothing waits or is downloaded."""

from __future__ import annotations

import asyncio
import os
import socket
import sqlite3
import subprocess
import sys
import textwrap
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest

import tooltrace as tt
from tests.stores import create_empty_store
from tooltrace.core.records import Loss
from tooltrace.errors import ConfigError, StoreError
from tooltrace.recording.settings import Settings
from tooltrace.recording.writer import Writer
from tooltrace.store.database import connection
from tooltrace.store.database.connection import connect
from tooltrace.store.duckdb_store import DuckDBStore
from tooltrace.store.files import store_file
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.fold.fold import fold
from tooltrace.store.journal.line_format import encode
from tooltrace.store.journal.writer import Journal
from tooltrace.store.read.reader import open_reader
from tooltrace.store.sandbox import Sandbox, SandboxLimits
from tooltrace.store.upkeep.doctor import examine, mend


def sqlite(path: Path, table: str = "notes") -> None:
    with sqlite3.connect(path) as db:
        db.execute(f"CREATE TABLE {table} (key, value)")
    db.close()


def database(path: Path, table: str = "notes (a INTEGER)") -> None:
    created(path, f"TABLE {table}")


def created(path: Path, *objects: str) -> None:
    with duckdb.connect(str(path)) as db:
        for what in objects:
            db.execute(f"CREATE {what}")


def bound_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


FOREIGN: dict[str, tuple[Callable[[Path], object], str]] = {
    "directory": (Path.mkdir, "a directory"),
    "fifo": (os.mkfifo, "a named pipe"),
    "socket": (bound_socket, "a socket"),
    "sqlite": (sqlite, "a SQLite database"),
    "sqlite with a table meta": (lambda path: sqlite(path, "meta"), "a SQLite database"),
    "text": (lambda path: path.write_text("my notes\n" * 100), "a text file"),
    "binary": (lambda path: path.write_bytes(bytes(range(256)) * 100), "a file of another format"),
    "duckdb": (database, "a DuckDB database of another program (tables 'notes')"),
    "duckdb with a table meta": (
        lambda path: database(path, "meta (a INTEGER)"),
        "a DuckDB database of another program (tables 'meta')",
    ),
    "duckdb with a table meta of the same columns": (
        lambda path: database(path, "meta AS SELECT 'schema' AS key, 'x' AS value"),
        "a DuckDB database of another program (tables 'meta')",
    ),
    "duckdb with the schema of a store": (
        lambda path: database(path, "meta AS SELECT 'schema' AS key, '7' AS value"),
        "a DuckDB database of another program (tables 'meta')",
    ),
    "duckdb with a view meta alone": (
        lambda path: created(path, "VIEW meta AS SELECT 'schema' AS key, '7' AS value"),
        "a DuckDB database of another program (views 'meta')",
    ),
    "duckdb with a view of the name of a table": (
        lambda path: created(
            path, "VIEW attempts AS SELECT 1 AS n", "TABLE meta AS SELECT 'schema' AS key, '7' AS value"
        ),
        "a DuckDB database of another program (tables 'meta')",
    ),
    "duckdb with a macro alone": (
        lambda path: created(path, "MACRO twice(x) AS 2 * x"),
        "a DuckDB database of another program (functions 'twice')",
    ),
}

ACCESSES: dict[str, Callable[[Path], object]] = {
    "configure": lambda path: tt.configure(store=path),
    "query": lambda path: tt.query("recent", store=path),
    "fold": fold,
    "label": lambda path: DuckDBStore(path).write([]),
}


def content(folder: Path) -> dict[str, bytes | None]:
    return {path.name: path.read_bytes() if path.is_file() else None for path in folder.iterdir()}


@pytest.mark.parametrize("kind", FOREIGN)
def test_another_file_is_refused_in_one_sentence_and_stays_as_it_is(tmp_path: Path, kind: str) -> None:
    make, name = FOREIGN[kind]
    path = tmp_path / "s.duckdb"
    make(path)
    before = content(tmp_path)
    for access in ACCESSES.values():
        with pytest.raises((ConfigError, StoreError)) as caught:
            access(path)
        message = str(caught.value)
        assert message.startswith(f"{path} is {name}, not a tooltrace store: expected a DuckDB file")
        assert "\n" not in message
        assert "pass another path" in message
    assert name in examine(path).problems[0]
    assert name in mend(path).after.problems[-1]
    assert content(tmp_path) == before


@pytest.mark.processes
@pytest.mark.parametrize("kind", ["fifo", "sqlite", "text"])
def test_a_tool_runs_although_the_default_store_is_another_file(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "s.duckdb"
    FOREIGN[kind][0](path)
    before = content(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", "import tooltrace as tt; print(tt.trace_tool(lambda: 5)()); tt.flush()"],
        env={**os.environ, "TOOLTRACE_STORE": str(path)}, cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "5\n"
    assert f"tooltrace stores no calls: {path} is {FOREIGN[kind][1]}" in done.stderr
    assert content(tmp_path) == before


@pytest.mark.processes
@pytest.mark.parametrize("options", ["", "durability='call'", "fold='background'", "retention='90d'"])
def test_a_tool_runs_although_the_default_store_is_the_database_of_another_program(
    tmp_path: Path, options: str
) -> None:
    path = tmp_path / "s.duckdb"
    database(path)
    before = content(tmp_path)
    program = f"""
import sys, tooltrace as tt
if {options!r}:
    tt.configure({options})
print([tt.trace_tool(lambda: 5)() for _ in range(3)], tt.flush(5))
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "TOOLTRACE_STORE": str(path)}, cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "[5, 5, 5] False\n"
    reason = (
        f"cannot write its journal ({path} is a DuckDB database of another program (tables 'notes'), not a tooltrace"
    )
    assert done.stderr.count(reason) == 1
    assert "tooltrace lost 3 records" in done.stderr
    assert content(tmp_path) == before


def test_calls_wait_until_the_database_of_another_program_is_moved_away(tmp_path: Path) -> None:
    path = tmp_path / "s.duckdb"
    database(path)
    settings = Settings(store=path)
    writer = Writer(settings)
    writer.add(Loss(reason="x", count=1, at=datetime.now(UTC)))
    writer.write()
    writer.write()
    assert writer.waiting == 1
    path.rename(tmp_path / "other.duckdb")
    writer.write()
    assert writer.waiting == 0
    writer.close()
    assert fold(path).rows == 0
    assert content(tmp_path).keys() == {"other.duckdb", "s.duckdb", "s.duckdb.journal", "s.duckdb.lock"}


def test_a_foreign_file_that_this_process_has_open_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Closing a second descriptor would release DuckDB's lock."""
    path = tmp_path / "own.duckdb"
    monkeypatch.setattr(Path, "open", lambda *_: pytest.fail("the file was opened"))
    with duckdb.connect(str(path)) as db:
        db.execute("CREATE TABLE a (b INTEGER)")
        assert store_file.foreign_format(path) is None


def test_a_sqlite_file_in_place_of_a_store_is_not_moved(
    tmp_path: Path, write: Any, store: StorePaths, call: Any
) -> None:
    write(call(1))
    fold(store)
    store.database.unlink()
    sqlite(store.database)
    write(call(2))
    with pytest.raises(StoreError, match="is a SQLite database"):
        fold(store)
    assert store.database.read_bytes().startswith(b"SQLite")


@pytest.mark.parametrize("access", ["core", "sandbox"])
def test_no_connection_downloads_or_loads_extensions_by_itself(
    access: str, store: StorePaths, write: Any, call: Any
) -> None:
    settings = "SELECT current_setting('autoinstall_known_extensions'), current_setting('autoload_known_extensions')"
    if access == "core":
        with connect() as con:
            assert con.sql(settings).fetchall() == [(False, False)]
    else:
        write(call(1))

        async def ask() -> list[Any]:
            sandbox = Sandbox(store.database, SandboxLimits())
            try:
                return list((await sandbox.query(settings)).rows)
            finally:
                await sandbox.close()

        assert [list(row) for row in asyncio.run(ask())] == [[False, False]]


# damage and refusals of the machine, in folders whose names are the words of errors

FOLDERS = [
    "quota exceeded",
    "Permission denied",
    "not a valid DuckDB database file",
    "corrupt",
    "wal checksum",
    'a "quota" \' x',
]


@pytest.mark.parametrize("folder", FOLDERS)
def test_damage_is_recognised_in_a_folder_of_any_name(tmp_path: Path, folder: str, call: Any) -> None:
    paths = StorePaths.of(tmp_path / folder / "t.duckdb")
    journal = Journal(paths.journal)
    journal.write(encode(call(1)))
    fold(paths)
    paths.database.write_bytes(paths.database.read_bytes()[:9000])
    journal.write(encode(call(2)))
    journal.close()
    report = fold(paths)
    assert report.rows >= 1
    assert len(list(paths.database.parent.glob("*.damaged-*"))) == 1


@pytest.mark.parametrize("folder", FOLDERS)
@pytest.mark.parametrize("reason", ["Permission denied", "File too large", "No space left on device", "Is a directory"])
def test_a_refusal_of_the_machine_is_not_damage_in_a_folder_of_any_name(folder: str, reason: str) -> None:
    path = Path("/data") / folder / "corrupt.duckdb"
    error = connection.explained(duckdb.IOException(f'IO Error: Cannot open file "{path}": {reason}'), path)
    assert type(error) is StoreError
    assert reason in str(error)


@pytest.mark.parametrize("folder", [*FOLDERS, "Conflicting lock is held", "already attached", "storage version"])
def test_an_unreadable_file_is_damage_in_a_folder_of_any_name(folder: str) -> None:
    path = Path("/data") / folder / "t.duckdb"
    text = f'IO Error: Could not read enough bytes from file "{path}": attempted to read 3288 bytes from location 9000'
    assert type(connection.explained(duckdb.IOException(text), path)).__name__ == "StoreDamaged"


def test_words_of_a_users_sql_are_not_damage(store: StorePaths, write: Any, call: Any) -> None:
    write(call(1))
    for sql in ("SELECT error('corrupt database file')", 'SELECT "computed checksum" FROM tool_calls'):
        with open_reader(store) as con, pytest.raises(duckdb.Error) as caught:
            con.execute(sql)
        assert not connection.is_unreadable(caught.value), sql


# journals of another user

OTHER_USER = 61234


@pytest.mark.processes
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can run a process as another user")
@pytest.mark.parametrize("hidden", ["the file", "the folder"])
def test_journals_of_another_user_are_reported(
    run: Any, call: Any, tmp_path_factory: pytest.TempPathFactory, hidden: str
) -> None:
    folder = tmp_path_factory.mktemp("shared")
    for parent in (folder, *folder.parents):
        if parent.stat().st_uid == os.geteuid() and str(parent) not in ("/", "/tmp"):
            parent.chmod(parent.stat().st_mode | 0o755)
    folder.chmod(0o777)
    paths = StorePaths.of(folder / "t.duckdb")
    journal = Journal(paths.journal)
    journal.write(encode(call(1)))
    fold(paths)
    journal.write(encode(call(2)))
    paths.database.chmod(0o666)
    paths.lock.chmod(0o666)
    if hidden == "the file":
        paths.journal.chmod(0o777)
    output = run(
        f"""
        import warnings
        from tooltrace.store.upkeep.doctor import examine
        import duckdb
        os.setgid({OTHER_USER}); os.setuid({OTHER_USER})
        paths = StorePaths.of({str(paths.database)!r})
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with reading(paths) as con:
                print(con.sql("SELECT call_id FROM tool_calls").fetchall())
        print([type(one.message).__name__ for one in caught], str(caught[0].message))
        print(examine(paths).problems)
        """
    ).splitlines()
    place = str(journal.path if hidden == "the file" else paths.journal)
    assert output[0] == "[('c1',)]"
    assert output[1].startswith("['UnreadableJournals'] records of other users are missing from this result")
    assert place in output[1]
    assert place in output[2]
    journal.close()


@pytest.mark.processes
@pytest.mark.parametrize("durability", ["batch", "call"])
def test_a_program_that_only_records_loads_no_duckdb_beside_a_copied_store(tmp_path: Path, durability: str) -> None:
    """The recorder looks at a database that nobody used here yet, and recognises a store by its text."""
    path = create_empty_store(tmp_path / "copy.duckdb")
    code = f"""
        import sys
        import tooltrace as tt
        tt.configure(store={str(path)!r}, durability={durability!r})
        tt.trace_tool(lambda: 1, name="one")()
        assert tt.shutdown()
        assert "duckdb" not in sys.modules
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True)
    with open_reader(path) as db:
        assert db.sql("SELECT tool FROM tool_calls").fetchall() == [("one",)]
