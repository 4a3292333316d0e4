"""A lease sees every record that was written, at any time, beside any number of writers, folds and readers."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

import duckdb
import pytest

from tooltrace.core.records import Loss, Outcome
from tooltrace.errors import ConfigError, QueryError, StoreError, StoreLocked, StoreMissing
from tooltrace.store.duckdb_store import DuckDBStore
from tooltrace.store.files.file_lock import Lock
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.fold.fold import fold
from tooltrace.store.journal.line_format import encode
from tooltrace.store.journal.writer import Journal
from tooltrace.store.read.reader import materialize, open_reader
from tooltrace.store.result import Statement
from tooltrace.store.upkeep.doctor import examine

Rows = Callable[[str], list[tuple[Any, ...]]]
ROUNDS = 5
"""How often each reads or folds while others write."""
COUNT = "SELECT count(*), count(DISTINCT span_id) FROM tool_calls"


def test_a_missing_store_raises_store_missing(store: StorePaths, tmp_path: Path) -> None:
    for path in (store.database, tmp_path / "no" / "where.duckdb"):
        with pytest.raises(StoreMissing, match=str(path)), open_reader(path):
            pass
    assert os.listdir(tmp_path) == []


def test_a_store_that_is_being_rebuilt_is_waited_for(
    store: StorePaths, write: Any, call: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(call(1))
    fold(store)
    rebuilding = Lock(store)
    assert rebuilding.try_exclusive()
    away = store.database.rename(store.database.with_suffix(".away"))
    shared = Lock.shared
    waiting = threading.Event()

    def shared_after_telling(lock: Lock, wait: float | None = None) -> None:
        waiting.set()
        shared(lock, wait)

    monkeypatch.setattr(Lock, "shared", shared_after_telling)
    found: list[Any] = []

    def read() -> None:
        with open_reader(store) as db:
            found.extend(db.sql(COUNT).fetchall())

    reader = threading.Thread(target=read)
    reader.start()
    assert waiting.wait()
    away.rename(store.database)
    rebuilding.release()
    reader.join()
    assert found == [(1, 1)]


def test_a_store_of_journals_alone_is_read(store: StorePaths, write: Any, call: Any, rows: Rows) -> None:
    write(call(1))
    assert rows("SELECT call_id FROM tool_calls") == [("c1",)]


def test_reading_folds_journals(store: StorePaths, write: Any, call: Any, rows: Rows) -> None:
    write(call(1))
    assert rows(COUNT) == [(1, 1)]
    assert list(store.journal.glob("*.jsonl")) == []
    assert examine(store).rows["tool_calls"] == 1


@pytest.mark.long
def test_unfolded_records_are_visible_together_with_folded_ones(
    store: StorePaths, write: Any, call: Any, rows: Rows
) -> None:
    at = call(1).started_at
    write(call(1))
    with open_reader(store):
        write(
            call(1),
            call(2),
            call(2),
            Outcome(call_id="c2", correct=True, labeled_at=at),
            Loss(reason="x", count=1, at=at),
        )
        assert rows(COUNT) == [(2, 2)]
        assert rows("SELECT call_id FROM outcomes") == [("c2",)]
        assert rows("SELECT reason FROM losses") == [("x",)]
        assert rows("SELECT count(*) FROM calls") == [(2,)]
        assert len(list(store.journal.glob("*.jsonl"))) == 1
    assert rows(COUNT) == [(2, 2)]


def test_a_lease_does_not_change_while_it_lasts(store: StorePaths, write: Any, call: Any) -> None:
    write(call(1))
    with open_reader(store) as db:
        write(call(2))
        assert db.sql(COUNT).fetchall() == [(1, 1)]


def test_times_are_utc_in_every_cursor(store: StorePaths, write: Any, call: Any) -> None:
    write(call(1))
    with open_reader(store) as db:
        assert db.cursor().execute("SELECT current_setting('TimeZone')").fetchall() == [("UTC",)]
        assert db.cursor().execute(COUNT).fetchall() == [(1, 1)]


@pytest.mark.parametrize("pending", [False, True])
@pytest.mark.parametrize(
    "added", ["", "CREATE TABLE notes (n INTEGER)", "CREATE SCHEMA own; CREATE VIEW own.calls AS SELECT 1 AS n"]
)
def test_every_cursor_has_the_views_and_macros_whatever_else_the_database_has(
    store: StorePaths, write: Any, call: Any, added: str, *, pending: bool
) -> None:
    """Tables and views that somebody else created there are seen by their full name only."""
    write(call(1))
    fold(store)
    if pending:
        write(call(2))
    with duckdb.connect(str(store.database)) as con:
        con.execute(added)
    with open_reader(store) as db:
        cursor = db.cursor()
        assert cursor.execute("SELECT count(*) FROM calls").fetchall() == [(1 + pending,)]
        assert cursor.execute("SELECT round(wilson_low(1, 2), 3)").fetchall() == [(0.095,)]
        shown = {name for (name,) in cursor.execute("SHOW TABLES").fetchall()}
        assert shown.isdisjoint({"notes", "meta", "journals"})
        assert {"tool_calls", "calls", "judged", "attempts", "outcomes"} <= shown
        assert db.execute(
            "SELECT count(*) FROM duckdb_tables() WHERE database_name = 'memory' AND schema_name = 'main'"
        ).fetchall() == [(0,)]


def test_nothing_can_be_written_through_a_lease(store: StorePaths, write: Any, call: Any) -> None:
    write(call(1))
    with open_reader(store) as db, pytest.raises(duckdb.Error, match="read-only"):
        db.execute("DELETE FROM store.attempts")


@pytest.mark.parametrize("pending", [True, False])
def test_a_settled_answer_outlives_the_lease(store: StorePaths, write: Any, call: Any, *, pending: bool) -> None:
    write(call(1), call(2))
    with open_reader(store) as outer:
        assert outer.sql(COUNT).fetchall() == [(2, 2)]
        if pending:
            write(call(3))
        with open_reader(store) as db:
            answer = materialize(
                db, "SELECT call_id FROM tool_calls WHERE call_id <> $no ORDER BY call_id DESC", {"no": "c1"}
            )
    assert fold(store, wait=0).rows == pending
    assert answer.columns == ["call_id"]
    assert answer.fetchall() == [("c3",)] * pending + [("c2",)]
    assert answer.filter("call_id = 'c2'").fetchall() == [("c2",)]


@pytest.mark.processes
def test_a_lease_ends_though_results_were_not_fetched(
    store: StorePaths, write: Any, call: Any, run: Callable[..., str]
) -> None:
    write(*map(call, range(3000)))
    with open_reader(store) as db:
        lazy = db.sql("SELECT * FROM tool_calls")
        half_read = db.cursor().execute("SELECT * FROM tool_calls")
        half_read.fetchone()
    write(call(9000))
    assert run("print(fold(paths, wait=0).rows)") == "1"
    del lazy


@pytest.mark.long
def test_threads_of_one_process_read_and_fold_at_once(store: StorePaths, call: Any) -> None:
    journal = Journal(store.journal)
    written = 0
    failures: list[object] = []
    done = threading.Event()
    rounds = [0, 0, 0]

    def read(reader: int) -> None:
        last = 0
        while not done.is_set():
            floor = written
            try:
                with open_reader(store) as db:
                    rows, distinct = db.sql(COUNT).fetchall()[0]
                if rows != distinct or rows < max(floor, last):
                    failures.append((rows, distinct, floor, last))
                last = rows
                rounds[reader] += 1
            except Exception as error:  # noqa: BLE001 - any is a failure
                failures.append(error)

    def folds() -> None:
        while not done.is_set():
            try:
                fold(store, wait=120)
                rounds[2] += 1
            except Exception as error:  # noqa: BLE001 - any is a failure
                failures.append(error)

    journal.write(encode(call(0)))
    written = 1
    threads = [
        threading.Thread(target=read, args=(0,)),
        threading.Thread(target=read, args=(1,)),
        threading.Thread(target=folds),
    ]
    for thread in threads:
        thread.start()
    while (min(rounds) < ROUNDS or written < 5000) and not failures:
        journal.write(b"".join(encode(call(written + number)) for number in range(20)))
        written += 20
        time.sleep(0.002 if written < 5000 else 0.05)  # a slow machine is not given ever more to read
    done.set()
    for thread in threads:
        thread.join()
    journal.close()
    assert failures == []
    fold(store)
    with open_reader(store) as db:
        assert db.sql(COUNT).fetchall() == [(written, written)]


@pytest.mark.end_to_end
@pytest.mark.processes
@pytest.mark.long
def test_processes_write_fold_and_read_at_once(
    store: StorePaths, child: Callable[..., subprocess.Popen[str]], rows: Rows
) -> None:
    goes_on = """
        import select
        def goes_on():
            return not select.select([sys.stdin], [], [], 0)[0]
        """
    write_some = """
        first = int(sys.argv[2]) * 1_000_000
        journal = Journal(paths.journal, segment_bytes=200_000)
        number = 0
        while number < 1000 or goes_on():
            journal.write(b"".join(encode(call(first + number + k)) for k in range(10)))
            number += 10
            time.sleep(0.003 if number < 1000 else 0.05)
        print(number)
        """
    read_some = f"""
        last, reads = 0, 0
        while reads < {ROUNDS}:
            if not paths.journals() and not paths.database.exists():
                continue
            with reading(paths) as db:
                rows, distinct = db.sql("SELECT count(*), count(DISTINCT span_id) FROM tool_calls").fetchall()[0]
            assert rows == distinct and rows >= last, (rows, distinct, last)
            last, reads = rows, reads + 1
        """
    fold_some = f"""
        for _ in range({ROUNDS}):
            fold(paths, wait=120)
        """
    writers = [child(dedent(goes_on) + dedent(write_some), str(number)) for number in range(4)]
    others = [child(read_some), child(read_some), child(fold_some)]
    # The writers go on until the readers and the fold have had their rounds: neither is starved.
    results = [process.communicate() for process in others + writers]
    errors = [
        line for _, error in results for line in error.splitlines() if not line.startswith("waiting for the store")
    ]
    assert errors == []
    written = sum(int(out) for out, _ in results[3:])
    assert rows(COUNT) == [(written, written)]
    fold(store)
    assert rows(COUNT) == [(written, written)]
    assert rows("SELECT count(*) FROM losses") == [(0,)]
    assert list(store.journal.glob("*.jsonl")) == []


@pytest.mark.processes
def test_a_fold_is_not_starved_by_readers_that_overlap(
    store: StorePaths, write: Any, call: Any, child: Callable[..., subprocess.Popen[str]]
) -> None:
    write(call(1))
    fold(store)
    code = """
        import select
        print("reading", flush=True)
        while not select.select([sys.stdin], [], [], 0)[0]:
            with reading(paths):
                time.sleep(0.1)
        """
    readers = [child(code) for _ in range(3)]
    for reader in readers:
        assert reader.stdout is not None
        assert reader.stdout.readline() == "reading\n"
    write(call(2))
    fold(store, wait=120)  # raises StoreLocked where it does not get its turn
    assert list(store.journal.glob("*.jsonl")) == []
    assert [reader.poll() for reader in readers] == [None] * 3


@pytest.mark.processes
def test_the_error_names_the_process_that_locks_the_database(
    store: StorePaths, write: Any, call: Any, child: Callable[..., subprocess.Popen[str]]
) -> None:
    write(call(1))
    fold(store)
    foreign = child(
        """
        import duckdb
        con = duckdb.connect(sys.argv[1])
        print("held", flush=True)
        sys.stdin.read()
        """
    )
    assert foreign.stdout is not None
    assert foreign.stdout.readline() == "held\n"
    write(call(2))
    for use in (lambda: fold(store), lambda: open_reader(store).__enter__()):
        with pytest.raises(StoreLocked) as caught:
            use()
        assert caught.value.pid == foreign.pid
        assert str(foreign.pid) in str(caught.value)
        assert "\n" not in str(caught.value)
    assert examine(store).held_by == foreign.pid
    foreign.communicate()
    assert fold(store).rows == 1


def test_a_connection_of_this_very_process_is_named(store: StorePaths, write: Any, call: Any) -> None:
    write(call(1))
    fold(store)
    with (
        duckdb.connect(str(store.database)),
        pytest.raises(StoreLocked, match="in this process") as caught,
        open_reader(store),
    ):
        pass
    assert caught.value.pid == os.getpid()


@pytest.mark.processes
def test_a_child_forked_during_a_read_does_not_affect_it(
    store: StorePaths, write: Any, call: Any, run: Callable[..., str]
) -> None:
    write(call(1))
    output = run(
        """
        here, there = os.pipe()
        with reading(paths) as db:
            pid = os.fork()
            if pid:
                print(db.sql("SELECT count(*) FROM tool_calls").fetchall())
            else:
                os.close(there)
                os.read(here, 1)  # until the parent is through
        if pid:
            journal = Journal(paths.journal); journal.write(encode(call(2))); journal.close()
            print(fold(paths, wait=0).rows)
            os.close(there)
            print(os.waitpid(pid, 0)[1])
        else:
            with reading(paths) as db:
                assert db.sql("SELECT count(*) FROM tool_calls").fetchall() == [(2,)]
            os._exit(0)
        """
    )
    assert output.splitlines() == ["[(1,)]", "1", "0"]


@pytest.mark.processes
@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
@pytest.mark.parametrize("folded", [True, False])
def test_a_read_only_disk_is_read(store: StorePaths, tmp_path: Path, write: Any, call: Any, *, folded: bool) -> None:
    write(call(1))
    if folded:
        fold(store)
        write(call(2))
    store.lock.unlink(missing_ok=True)
    mount = tmp_path.parent / f"{tmp_path.name}-ro"
    mount.mkdir()
    if subprocess.run(["mount", "--bind", tmp_path, mount], check=False, capture_output=True).returncode:
        pytest.skip("mounting is not allowed here")
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", mount], check=True)
        place = StorePaths.of(mount / "t.duckdb")
        with open_reader(place) as db:
            assert db.sql(COUNT).fetchall() == [(1 + folded, 1 + folded)]
        with pytest.raises(StoreError, match="cannot be written"):
            fold(place)
        assert examine(place).unfolded_lines == 1
    finally:
        subprocess.run(["umount", mount], check=True)


def test_the_memory_of_a_query_can_be_limited(store: StorePaths, write: Any, call: Any, monkeypatch: Any) -> None:
    write(call(1))
    monkeypatch.setenv("TOOLTRACE_QUERY_MEMORY", "150MB")
    with open_reader(store) as con:
        settings = "SELECT current_setting('memory_limit'), current_setting('threads')"
        assert con.execute(settings).fetchone() == ("143.0 MiB", 1), "several threads need more memory at once"
    large = Statement(sql="SELECT string_agg(repeat(md5(i::VARCHAR), 100)) AS s FROM range(200000) AS t(i)")
    with pytest.raises(QueryError, match=r"raise \$TOOLTRACE_QUERY_MEMORY, or query a shorter time"):
        DuckDBStore(store.database).query(large)
    monkeypatch.setenv("TOOLTRACE_QUERY_MEMORY", "much")
    with (
        pytest.raises(ConfigError, match=r"\$TOOLTRACE_QUERY_MEMORY must be a size such as 200MB, got 'much'"),
        open_reader(store),
    ):
        pass
