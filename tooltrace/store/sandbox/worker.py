"""The sandbox process: ``python -m tooltrace.store.sandbox.worker``.

It is started in advance and reads one request from standard input. It opens the store by a short lease, drops all
access that the query does not need, and only then parses the SQL. It writes one response to standard output and ends,
and any effect of the SQL on the process ends with it.
"""

from __future__ import annotations

import json
import os
import re
import resource
import sys
import threading
import time
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import duckdb

from tooltrace.core.spreadsheet import FORMULA_STARTS, without_formula
from tooltrace.errors import QueryError, TooltraceError
from tooltrace.redact.plain_data import json_of
from tooltrace.store.database.macros import without_definitions
from tooltrace.store.database.schema import quote_identifier, quote_literal
from tooltrace.store.files.scratch import remove_own
from tooltrace.store.read.reader import open_reader
from tooltrace.store.result import without_zones
from tooltrace.store.sandbox.limits import MIB, SandboxLimits, limited_rows, memory_exceeded, time_exceeded

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


_EXPLAIN = re.compile(
    r"\s*(?:(?:--[^\n]*\n|/\*.*?\*/)\s*)*explain\b\s*(?:analyze\b|\([^)]*\))?", re.IGNORECASE | re.DOTALL
)
_READS = "SELECT, WITH, FROM, VALUES, DESCRIBE, SUMMARIZE or EXPLAIN of one of these"


def checked(con: DuckDBPyConnection, sql: str) -> str:
    """Return the single reading statement of ``sql``. Raises QueryError for anything else.

    The macro definitions that ``tooltrace query --explain`` prints before the SQL are removed: the reading connection
    already has the macros.
    """
    statement = _only(con, without_definitions(sql))
    kind = _kind(statement)
    if kind == duckdb.StatementType.EXPLAIN:
        inner = _only(con, _EXPLAIN.sub("", statement.query, count=1))
        if _kind(inner) != duckdb.StatementType.SELECT:
            raise QueryError(f"EXPLAIN of {_name(inner)} is not allowed: use {_READS}")
    elif kind != duckdb.StatementType.SELECT:
        raise QueryError(f"{_name(statement)} is not allowed, because the store is read-only here: use {_READS}")
    if statement.named_parameters:
        missing = ", ".join(f"${name}" for name in sorted(statement.named_parameters))
        raise QueryError(f"the statement has parameters without a value ({missing}): write values in their place")
    return statement.query.strip().rstrip(";")


def _only(con: DuckDBPyConnection, sql: str) -> duckdb.Statement:
    try:
        statements = con.extract_statements(sql)
    except duckdb.Error as error:
        raise QueryError(str(error).strip()) from error
    if len(statements) != 1:
        raise QueryError(f"pass exactly one statement; got {len(statements)}")
    return statements[0]


def _kind(statement: duckdb.Statement) -> duckdb.StatementType | None:
    """Return the kind of a statement; None for a kind that DuckDB's Python package does not name."""
    try:
        return statement.type
    except ValueError:
        return None


def _name(statement: duckdb.Statement) -> str:
    kind = _kind(statement)
    return "a statement of this kind" if kind is None else str(kind).rpartition(".")[2].replace("_", " ")


GRACE_SECONDS = 1.0
"""Seconds that an interrupted query may take to stop."""
ASSUMED_ADDRESS_SPACE = 4096 * MIB
"""Address space that is assumed where it is unknown: more than a process with DuckDB and an open store has.

A lower value would make the process fail before the query runs."""
_BATCH = 512
_NEVER_FORMULAS = (
    "BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER",
    "UBIGINT", "UHUGEINT", "FLOAT", "DOUBLE", "DECIMAL", "DATE", "TIME",
)  # fmt: skip
"""How the names of types begin whose values are numbers, times or truth values as text."""


def main() -> None:
    """Read the request, write the response, and end the process."""
    request = sys.stdin.buffer.readline()
    if not request:
        return
    _write_response(_response(json.loads(request)))
    remove_own()
    os._exit(0)  # a normal exit would wait for DuckDB threads that are busy with an interrupted query


def _response(request: dict[str, Any]) -> dict[str, Any]:
    limits = SandboxLimits(**request["limits"])
    try:
        with open_reader(request["store"], missing_ok=True, cursors=False) as con:
            _lock_down(con, limits, request["file"])
            sql = checked(con, request["sql"])
            return _timed(con, sql, limits, request)
    except MemoryError:
        return {"error": memory_exceeded(limits)}
    except (TooltraceError, duckdb.Error) as error:
        return {"error": _message(error, limits)}


def _lock_down(con: DuckDBPyConnection, limits: SandboxLimits, file: str | None) -> None:
    """Restrict the connection and the process, so that SQL can only read the store and change no setting.

    ``file``: the only file that may be written, for the result. ``lock_configuration`` comes last among the settings,
    because it forbids further changes.
    """
    con.execute(f"SET memory_limit = '{limits.memory_bytes // 1024}KiB'")
    con.execute(f"SET threads = {min(2, os.cpu_count() or 1)}")
    con.execute("SET temp_directory = ''")  # DuckDB lets SQL read the files of its temporary directory
    if file is not None:
        con.execute(f"SET allowed_paths = [{quote_literal(file)}]")
    for name in ("autoinstall_known_extensions", "autoload_known_extensions", "allow_community_extensions"):
        con.execute(f"SET {name} = false")
    con.execute("SET python_enable_replacements = false")
    con.execute("SET enable_external_access = false")
    con.execute("SET lock_configuration = true")
    _lower_limit(resource.RLIMIT_AS, address_space() + limits.memory_bytes + limits.headroom_bytes)
    # twice the time that two threads may use: the kernel ends the process only where the timer below has failed
    _lower_limit(resource.RLIMIT_CPU, 2 * (int(2 * limits.seconds + GRACE_SECONDS) + 2))
    _lower_limit(resource.RLIMIT_CORE, 0)
    _lower_limit(resource.RLIMIT_FSIZE, limits.file_bytes)


def _lower_limit(kind: int, value: int) -> None:
    """Limit a resource of the process to ``value``, or to the hard limit of its environment if that is lower."""
    _, hard = resource.getrlimit(kind)
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    resource.setrlimit(kind, (value, value))


def address_space(statm: str = "/proc/self/statm") -> int:
    """Return the current address space of the process in bytes, as the file ``statm`` reports it.

    Returns ASSUMED_ADDRESS_SPACE where the system has no such file: the limit on top of it is then looser, but it still
    stops a query that needs far more memory than DuckDB counts.
    """
    try:
        with open(statm, "rb") as file:  # noqa: PTH123 - a Path object has no use here
            return int(file.read().split()[0]) * resource.getpagesize()
    except (OSError, ValueError, IndexError):
        return ASSUMED_ADDRESS_SPACE


def _timed(con: DuckDBPyConnection, sql: str, limits: SandboxLimits, request: dict[str, Any]) -> dict[str, Any]:
    timed_out = threading.Event()

    def stop() -> None:
        timed_out.set()
        con.interrupt()
        time.sleep(GRACE_SECONDS)
        # the query did not stop: this thread answers and ends the process, because the main thread cannot
        try:
            _write_response({"error": time_exceeded(limits)})
        finally:
            os._exit(0)  # also where the client has closed the pipe and the write failed

    watch = threading.Timer(limits.seconds, stop)
    watch.daemon = True
    watch.start()
    started = time.monotonic()
    try:
        response = _to_file(con, sql, limits, request) if request["file"] else _rows(con, sql, limits)
    except duckdb.Error:
        if timed_out.is_set():
            return {"error": time_exceeded(limits)}
        raise
    finally:
        watch.cancel()
    return {**response, "ms": round(1000 * (time.monotonic() - started), 1)}


def _rows(con: DuckDBPyConnection, sql: str, limits: SandboxLimits) -> dict[str, Any]:
    con.execute(sql)
    columns = [{"name": each[0], "type": str(each[1])} for each in con.description or ()]
    if (select_list := without_zones([column["type"] for column in columns])) is not None:
        con.execute(f"SELECT {select_list} FROM (\n{sql}\n)")
    rows, cut = limited_rows(chain.from_iterable(iter(partial(con.fetchmany, _BATCH), [])), limits)
    return {"columns": columns, "rows": rows, "cut": cut}


def _to_file(con: DuckDBPyConnection, sql: str, limits: SandboxLimits, request: dict[str, Any]) -> dict[str, Any]:
    options = {"csv": "FORMAT csv, HEADER", "parquet": "FORMAT parquet, COMPRESSION zstd"}[request["form"]]
    columns = _without_formulas(con, sql) if request["form"] == "csv" else "*"
    inner = f"SELECT {columns} FROM (\n{sql}\n) LIMIT {limits.rows}"
    found = con.execute(f"COPY ({inner}) TO {quote_literal(request['file'])} ({options})").fetchone()
    full = found is not None and found[0] >= limits.rows
    return {"columns": [], "rows": [], "cut": "rows" if full else None}


def _without_formulas(con: DuckDBPyConnection, sql: str) -> str:
    """Return a SELECT list in which no field and no name is a formula for a spreadsheet: it gets an apostrophe, as in exports."""
    described = con.execute(f"DESCRIBE SELECT * FROM (\n{sql}\n)").fetchall()
    return ", ".join(
        f"{_plain(f'#{at}', kind)} AS {quote_identifier(without_formula(name))}"
        for at, (name, kind, *_) in enumerate(described, 1)
    )


def _plain(value: str, kind: str) -> str:
    if kind.startswith(_NEVER_FORMULAS):
        return value
    text = f"CAST({value} AS VARCHAR)"  # an ENUM, a BLOB or a UNION may hold any text
    starts = ", ".join(map(quote_literal, FORMULA_STARTS))
    return f"CASE WHEN left({text}, 1) IN ({starts}) THEN chr(39) || {text} ELSE {text} END"


def _write_response(response: dict[str, Any]) -> None:
    sys.stdout.buffer.write(json_of(response))
    sys.stdout.buffer.flush()


def _message(error: Exception, limits: SandboxLimits) -> str:
    text = str(error).strip()
    from_sql = isinstance(error, duckdb.ProgrammingError)  # its message may quote any words of the SQL
    if isinstance(error, duckdb.OutOfMemoryException) or (
        not from_sql and ("bad_alloc" in text or "Out of Memory" in text)
    ):
        return memory_exceeded(limits)
    if isinstance(error, duckdb.IOException) and "File too large" in text:
        return f"the file would be larger than {limits.file_bytes // MIB} MiB: select less, or choose Parquet"
    if isinstance(error, duckdb.PermissionException) or "disabled by configuration" in text:
        first = text.splitlines()[0]
        return f"only the store can be read here, without files, network and settings: {first}"
    return text if isinstance(error, duckdb.Error | QueryError) else f"cannot read the store: {text}"


if __name__ == "__main__":
    main()
