"""SQL from somebody else: it reads the store and nothing else, and ends in time."""

from __future__ import annotations

import asyncio
import os
import resource
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.store.sandbox_program import answers_of_one_process
from tooltrace.core.records import ToolCall
from tooltrace.errors import QueryError
from tooltrace.redact.snapshot import Json
from tooltrace.store.database.macros import with_definitions
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.fold.fold import fold
from tooltrace.store.journal.line_format import encode
from tooltrace.store.journal.writer import Journal
from tooltrace.store.result import QueryResult
from tooltrace.store.sandbox import Sandbox, SandboxLimits
from tooltrace.store.sandbox.worker import ASSUMED_ADDRESS_SPACE, address_space, checked

SECRET = "sandboxed-secret-7f3a"
LIMITS = SandboxLimits(seconds=900, rows=100)  # enough for a machine that is busy


def made(number: int) -> ToolCall:
    at = datetime(2026, 11, 1, 12, 0, number % 60, tzinfo=UTC)
    span = f"{number:016x}"
    return ToolCall(
        tool="search",
        call_id=span,
        trace_id="1" * 32,
        span_id=span,
        started_at=at,
        status="success",
        arguments=Json('{"q":1}'),
    )


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "t.duckdb"
    journal = Journal(StorePaths.of(path).journal)
    journal.write(b"".join(encode(made(number)) for number in range(3)))
    fold(path)
    journal.write(encode(made(3)))
    journal.close()
    return path


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A file of somebody else's."""
    path = tmp_path / "outside.csv"
    path.write_text(f"a\n{SECRET}\n")
    return path


async def query(store: Path, sql: str, limits: SandboxLimits = LIMITS) -> QueryResult:
    sandbox = Sandbox(store, limits)
    try:
        return await sandbox.query(sql)
    finally:
        await sandbox.close()


async def refused(store: Path, sql: str, limits: SandboxLimits = LIMITS) -> str:
    with pytest.raises(QueryError) as caught:
        await query(store, sql, limits)
    assert SECRET not in str(caught.value)
    return str(caught.value)


READ: list[tuple[str, list[list[object]]]] = [
    ("SELECT count(*) FROM tool_calls", [[4]]),
    ("FROM tool_calls SELECT tool, arguments LIMIT 1;", [["search", '{"q":1}']]),
    ("-- a word\nWITH n AS (SELECT 2 AS x) SELECT x FROM n -- and another", [[2]]),
    ("VALUES (1, NULL)", [[1, None]]),
    ("SELECT TIMESTAMP '2026-01-02 03:04:05', 9007199254740993, 1.5::DECIMAL(4,2), 'nan'::DOUBLE, [1, 2], 'a'::BLOB",
     [["2026-01-02T03:04:05.000000Z", "9007199254740993", 1.5, "nan", [1, 2], "61"]]),
    ("SELECT 7, TIMESTAMPTZ '2026-01-02 03:04:05+09' AS at, [TIMESTAMPTZ '2026-01-02 03:04:05+09']",
     [[7, "2026-01-01T18:04:05.000000Z", "['2026-01-01 18:04:05+00']"]]),
    ("SELECT 0.1::DECIMAL(4,2), 12345678901234567890.12::DECIMAL(38,2)", [[0.1, "12345678901234567890.12"]]),
]  # fmt: skip


@pytest.mark.processes
def test_reading_statements_run(store: Path) -> None:
    answers = answers_of_one_process(store, [sql for sql, _ in READ], LIMITS)
    for (sql, rows), answer in zip(READ, answers, strict=True):
        assert not isinstance(answer, str), (sql, answer)
        assert answer["rows"] == rows, sql


@pytest.mark.processes
def test_describing_statements_run(store: Path) -> None:
    queries = [
        "DESCRIBE tool_calls",
        "SUMMARIZE outcomes",
        "SHOW TABLES",
        "EXPLAIN SELECT 1",
        "EXPLAIN ANALYZE SELECT 1",
    ]
    for sql, answer in zip(queries, answers_of_one_process(store, queries, LIMITS), strict=True):
        assert not isinstance(answer, str), (sql, answer)
        assert answer["rows"], sql


@pytest.mark.parametrize(
    "sql",
    [
        "COPY (SELECT 1) TO '{free}'", "EXPLAIN ANALYZE COPY (SELECT 1) TO '{free}'", "/* x */ EXPLAIN (FORMAT json) COPY tool_calls TO '{free}'",
        "EXPORT DATABASE '{free}'", "ATTACH '{free}'", "PRAGMA enable_profiling", "SET memory_limit = '1TB'",
        "RESET memory_limit", "INSTALL httpfs", "LOAD httpfs", "CALL pragma_version()", "CHECKPOINT", "VACUUM", "BEGIN", "USE memory",
        "CREATE TABLE x (a INT)", "CREATE MACRO f() AS 1", "INSERT INTO attempts SELECT * FROM attempts", "DELETE FROM store.attempts",
        "UPDATE store.attempts SET tool = 'x'", "DROP VIEW tool_calls", "ALTER TABLE store.attempts ADD COLUMN x INT", "PREPARE p AS SELECT 1",
    ],
)  # fmt: skip
def test_other_statements_are_refused_by_kind(tmp_path: Path, sql: str) -> None:
    with duckdb.connect() as con, pytest.raises(QueryError, match="is not allowed"):
        checked(con, sql.format(free=tmp_path / "written"))


@pytest.mark.skipif(
    int(duckdb.__version__.partition(".")[0]) < 2, reason="DuckDB 1 reads the pragma as a SELECT, and has no CONNECT"
)
def test_a_kind_of_statement_without_a_name_is_refused_too() -> None:
    with duckdb.connect() as con, pytest.raises(QueryError, match="is not allowed"):
        checked(con, "PRAGMA database_list")
    with duckdb.connect() as con, pytest.raises(QueryError, match="this kind is not allowed"):
        checked(con, "CONNECT 'x'")


@pytest.mark.processes
@pytest.mark.end_to_end
async def test_a_refused_statement_has_no_effect(store: Path, tmp_path: Path) -> None:
    free = tmp_path / "written"
    for sql in (f"COPY (SELECT 1) TO '{free}'", f"EXPLAIN ANALYZE COPY (SELECT 1) TO '{free}'", f"ATTACH '{free}'"):
        assert "is not allowed" in await refused(store, sql)
    assert not free.exists()


FORBIDDEN = [
    "SELECT * FROM read_csv('{outside}')", "SELECT * FROM read_text('{outside}')", "SELECT * FROM read_blob('{outside}')",
    "SELECT * FROM sniff_csv('{outside}')", "SELECT * FROM glob('{folder}/*')", "SELECT * FROM read_json('{outside}')",
    "SELECT * FROM parquet_metadata('{outside}')", "SELECT * FROM 'http://127.0.0.1:9/x.csv'",
    "SELECT * FROM query('SELECT * FROM read_text(''{outside}'')')", "SELECT * FROM duckdb_secrets()",
]  # fmt: skip


@pytest.mark.processes
async def test_nothing_but_the_store_can_be_read(store: Path, outside: Path) -> None:
    queries = [sql.format(outside=outside, folder=outside.parent) for sql in FORBIDDEN]
    for sql, answer in zip(queries, answers_of_one_process(store, queries, LIMITS), strict=True):
        assert isinstance(answer, str), sql
        assert SECRET not in answer
        assert "only the store can be read here" in answer, sql
    assert "only the store can be read here" in await refused(store, queries[0])


@pytest.mark.processes
async def test_file_names_and_python_variables_are_not_tables(store: Path, outside: Path) -> None:
    assert "only the store can be read here" in await refused(store, f"SELECT * FROM '{outside}'")
    for sql in ("SELECT * FROM limits", "SELECT * FROM sql", "SELECT getenv('HOME')"):
        assert "Catalog Error" in await refused(store, sql)


@pytest.mark.parametrize(
    ("sql", "count"),
    [("SELECT 1; SELECT 2", 2), ("", 0), ("-- nothing", 0), ("SELECT 1; COPY (SELECT 1) TO '/tmp/x'", 2)],
)
def test_one_statement_at_a_time(sql: str, count: int) -> None:
    with duckdb.connect() as con, pytest.raises(QueryError, match=f"got {count}"):
        checked(con, sql)


@pytest.mark.processes
async def test_parameters_and_errors_are_reported(store: Path) -> None:
    assert "$tool" in await refused(store, "SELECT * FROM tool_calls WHERE tool = $tool")
    assert "Parser Error" in await refused(store, "SELEC 1")


@pytest.mark.processes
@pytest.mark.parametrize(
    "sql",
    [
        "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT sum(n) FROM t",
        "SELECT count(*) FROM range(1000000000000) AS a, range(1000000) AS b",
    ],
)
async def test_an_endless_question_is_stopped(store: Path, sql: str) -> None:
    assert "took longer than 0.5 s" in await refused(store, sql, SandboxLimits(seconds=0.5))


@pytest.mark.processes
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT sum(len(range(0, 200000000)))",
        "SELECT list(a.range) FROM range(1000000000) AS a",
        "SELECT repeat('x', 4000000000)",
    ],
)
async def test_a_question_that_eats_memory_is_stopped(store: Path, sql: str) -> None:
    words = await refused(store, sql, SandboxLimits(seconds=900, memory_bytes=256 * 2**20, headroom_bytes=256 * 2**20))
    assert "memory" in words


@pytest.mark.processes
async def test_a_large_result_is_cut_and_marked(store: Path) -> None:
    many = await query(store, "SELECT * FROM range(1000)")
    assert (len(many.rows), many.cut) == (100, "rows")
    exact = await query(store, "SELECT * FROM range(100)")
    assert (len(exact.rows), exact.cut) == (100, None)
    wide = await query(store, "SELECT repeat('x', 1000) FROM range(90)", SandboxLimits(bytes=10_000))
    assert (len(wide.rows), wide.cut) == (9, "bytes")


@pytest.mark.processes
async def test_an_answer_as_a_file(store: Path, tmp_path: Path) -> None:
    sandbox = Sandbox(store, LIMITS)
    try:
        text = await sandbox.write("SELECT tool, count(*) AS n FROM tool_calls GROUP BY tool -- the end", "csv")
        assert (text.data, text.full) == (b"tool,n\nsearch,4\n", False)
        file = tmp_path / "answer.parquet"
        made = await sandbox.write("SELECT call_id FROM tool_calls ORDER BY 1", "parquet")
        file.write_bytes(made.data)
        assert len(duckdb.sql(f"SELECT * FROM read_parquet('{file}')").fetchall()) == 4
        with pytest.raises(QueryError, match="is not allowed"):
            await sandbox.write("COPY (SELECT 1) TO 'x'", "csv")
        with pytest.raises(QueryError):
            await sandbox.write("SELECT 1) TO '/tmp/escaped' (FORMAT csv); SELECT (2", "csv")
    finally:
        await sandbox.close()


@pytest.mark.processes
async def test_a_full_file_is_marked_and_a_too_large_one_refused(store: Path) -> None:
    sandbox = Sandbox(store, SandboxLimits(rows=100, file_bytes=100_000))
    try:
        full = await sandbox.write("SELECT * FROM range(1000)", "csv")
        assert (len(full.data.splitlines()), full.full) == (101, True)
        with pytest.raises(QueryError, match="the file would be larger than"):
            await sandbox.write("SELECT repeat('x', 10000) FROM range(90)", "csv")
    finally:
        await sandbox.close()


@pytest.mark.processes
async def test_a_cancelled_query_ends_and_releases_the_store(store: Path) -> None:
    sandbox = Sandbox(store, SandboxLimits(seconds=900))
    try:
        asking = asyncio.ensure_future(
            sandbox.query("SELECT count(*) FROM range(1000000000000) AS a, range(1000000) AS b")
        )
        while not (children := _children()):  # it has begun
            await asyncio.sleep(0.01)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert (await sandbox.query("SELECT 1")).rows == [[1]]
        assert children
    finally:
        await sandbox.close()
    assert not _children()
    fold(store, wait=120)


@pytest.mark.processes
async def test_two_queries_run_at_once_and_a_missing_store_is_empty(store: Path, tmp_path: Path) -> None:
    sandbox = Sandbox(store, LIMITS)
    try:
        answers = await asyncio.gather(*(sandbox.query(f"SELECT {n}") for n in range(4)))
        assert [answer.rows for answer in answers] == [[[n]] for n in range(4)]
    finally:
        await sandbox.close()
    assert (await query(tmp_path / "none.duckdb", "SELECT count(*) FROM tool_calls")).rows == [[0]]


def _children() -> list[int]:
    """Processes of ours that ask."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            stat = (entry / "stat").read_text().rpartition(")")[2].split()
            command = (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if int(stat[1]) == os.getpid() and stat[0] != "Z" and b"-m\0tooltrace.store.sandbox.worker" in command:
            found.append(int(entry.name))
    return found


@pytest.mark.processes
def test_the_macros_of_the_queries_can_be_used_and_none_made(store):
    sql = "SELECT count(*) FILTER (WHERE is_finished(status, ending)), wilson_low(0, count(*)) FROM tool_calls"
    others = ["CREATE TEMP MACRO mine(a) AS a", f"CREATE TEMP MACRO mine(a) AS a; {sql}"]
    answers = answers_of_one_process(store, [sql, with_definitions(sql), *others], LIMITS)
    assert [answer["rows"] for answer in answers[:2]] == [[[4, 0.0]]] * 2
    assert all(isinstance(answer, str) for answer in answers[2:])


@pytest.mark.processes
def test_an_address_space_that_is_not_reported_is_assumed_larger_than_it_is(store: Path, tmp_path: Path) -> None:
    empty = tmp_path / "statm"
    empty.write_bytes(b"")
    for path in (tmp_path / "missing", empty):
        assert address_space(str(path)) == ASSUMED_ADDRESS_SPACE
    code = (
        "import sys; from tooltrace.store.read.reader import open_reader; from tooltrace.store.sandbox.worker import *\n"
        "with open_reader(sys.argv[1]) as con:\n"
        "    con.execute('SET threads = 2'); con.sql('SELECT count(*) FROM tool_calls').fetchall()\n"
        "    print(address_space())"
    )
    done = subprocess.run([sys.executable, "-c", code, str(store)], capture_output=True, text=True, check=True)
    assert 0 < int(done.stdout) < ASSUMED_ADDRESS_SPACE


@pytest.mark.processes
@pytest.mark.parametrize("statm", ["/proc/self/statm", "/nowhere/statm"])
def test_a_query_that_needs_far_more_memory_is_stopped_even_where_the_address_space_is_unknown(
    store: Path, statm: str
) -> None:
    """Python's memory stands for what DuckDB does not count: its limit alone would not stop it."""
    code = (
        "import sys; from tooltrace.store.read.reader import open_reader; from tooltrace.store.sandbox import worker\n"
        f"worker.address_space.__defaults__ = ({statm!r},)\n"
        "with open_reader(sys.argv[1]) as con:\n"
        "    worker._lock_down(con, worker.SandboxLimits(), None)\n"
        "    print(con.sql('SELECT count(*) FROM tool_calls').fetchall())\n"
        "    try:\n"
        "        bytearray(8 * 2**30)\n"
        "    except MemoryError:\n"
        "        print('stopped')"
    )
    done = subprocess.run([sys.executable, "-c", code, str(store)], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["[(4,)]", "stopped"]


@pytest.mark.processes
async def test_a_lower_limit_of_the_environment_stays(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hard limit, as a container or ``ulimit`` sets it, cannot be raised; the sandbox works without."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    lower = 64 * 2**20

    async def started_with_a_limit(*args: Any, **options: Any) -> asyncio.subprocess.Process:
        process = await start(*args, **options)
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (lower, lower))
        return process

    start = asyncio.create_subprocess_exec
    monkeypatch.setattr(asyncio, "create_subprocess_exec", started_with_a_limit)
    assert (await query(store, "SELECT 1")).rows == [[1]]
    assert resource.getrlimit(resource.RLIMIT_FSIZE) == (soft, hard)
