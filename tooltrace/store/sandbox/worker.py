"""The sandbox process: ``python -m tooltrace.store.sandbox.worker``.

It is started in advance and reads one request from standard input. It opens the store by a short lease, drops all
access that the query does not need, and only then parses the SQL. It writes one response to standard output and ends,
and any effect of the SQL on the process ends with it.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import threading
import time
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import duckdb
import orjson

from tooltrace.errors import QueryError, TooltraceError
from tooltrace.store.reader import open_reader
from tooltrace.store.sandbox.limits import SandboxLimits, too_long, too_much
from tooltrace.store.sandbox.rows import bounded
from tooltrace.store.sandbox.sql_check import checked
from tooltrace.store.schema import quote_literal
from tooltrace.store.time_zones import without_zones

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

GRACE_SECONDS = 1.0
"""Seconds that an interrupted query may take to stop."""
_BATCH = 512


def main() -> None:
    """Read the request, write the response, and end the process."""
    request = sys.stdin.buffer.readline()
    if not request:
        return
    sys.stdout.buffer.write(orjson.dumps(_answer(json.loads(request))))
    sys.stdout.buffer.flush()
    os._exit(0)  # a normal exit would wait for DuckDB threads that are busy with an interrupted query


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    limits = SandboxLimits(**request["limits"])
    try:
        with open_reader(request["store"], missing_ok=True) as con:
            _lock_down(con, limits, request["file"])
            sql = checked(con, request["sql"])
            return _timed(con, sql, limits, request)
    except MemoryError:
        return {"error": too_much(limits)}
    except (TooltraceError, duckdb.Error) as error:
        return {"error": _words(error, limits)}


def _lock_down(con: DuckDBPyConnection, limits: SandboxLimits, file: str | None) -> None:
    """Restrict the connection and the process, so that SQL can only read the store and change no setting.

    ``file``: the only file that may be written, for the result. ``lock_configuration`` comes last among the settings,
    because it forbids further changes.
    """
    con.execute(f"SET memory_limit = '{limits.memory_bytes // 1024}KiB'")
    con.execute(f"SET threads = {min(2, os.cpu_count() or 1)}")
    con.execute("SET max_temp_directory_size = '0MB'")
    if file is not None:
        con.execute(f"SET allowed_paths = [{quote_literal(file)}]")
    for name in ("autoinstall_known_extensions", "autoload_known_extensions", "allow_community_extensions"):
        con.execute(f"SET {name} = false")
    con.execute("SET python_enable_replacements = false")
    con.execute("SET enable_external_access = false")
    con.execute("SET lock_configuration = true")
    used = _address_space()
    most = used + limits.memory_bytes + limits.headroom_bytes
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    seconds = int(2 * limits.seconds + GRACE_SECONDS) + 2
    resource.setrlimit(resource.RLIMIT_CPU, (seconds * 2, seconds * 2))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (limits.file_bytes, limits.file_bytes))


def _address_space() -> int:
    """Return the current address space of the process in bytes; 4 GiB where ``/proc`` does not report it."""
    try:
        with open("/proc/self/statm", "rb") as file:  # noqa: PTH123 - a Path object has no use here
            return int(file.read().split()[0]) * resource.getpagesize()
    except OSError:
        return 4 * 1024 * 1024 * 1024


def _timed(con: DuckDBPyConnection, sql: str, limits: SandboxLimits, request: dict[str, Any]) -> dict[str, Any]:
    late = threading.Event()

    def stop() -> None:
        late.set()
        con.interrupt()
        time.sleep(GRACE_SECONDS)
        try:
            _say({"error": too_long(limits)})
        finally:
            os._exit(0)  # also where the client has closed the pipe and the write failed

    watch = threading.Timer(limits.seconds, stop)
    watch.daemon = True
    watch.start()
    begun = time.monotonic()
    try:
        answer = _to_file(con, sql, limits, request) if request["file"] else _rows(con, sql, limits)
    except duckdb.Error:
        if late.is_set():
            return {"error": too_long(limits)}
        raise
    finally:
        watch.cancel()
    return {**answer, "ms": round(1000 * (time.monotonic() - begun), 1)}


def _rows(con: DuckDBPyConnection, sql: str, limits: SandboxLimits) -> dict[str, Any]:
    con.execute(sql)
    columns = [{"name": each[0], "type": str(each[1])} for each in con.description or ()]
    if (unzoned := without_zones([column["type"] for column in columns])) is not None:
        con.execute(f"SELECT {unzoned} FROM (\n{sql}\n)")
    rows, cut = bounded(chain.from_iterable(iter(partial(con.fetchmany, _BATCH), [])), limits)
    return {"columns": columns, "rows": rows, "cut": cut}


def _to_file(con: DuckDBPyConnection, sql: str, limits: SandboxLimits, request: dict[str, Any]) -> dict[str, Any]:
    options = {"csv": "FORMAT csv, HEADER", "parquet": "FORMAT parquet, COMPRESSION zstd"}[request["form"]]
    inner = f"SELECT * FROM (\n{sql}\n) LIMIT {limits.rows}"
    found = con.execute(f"COPY ({inner}) TO {quote_literal(request['file'])} ({options})").fetchone()
    full = found is not None and found[0] >= limits.rows
    return {"columns": [], "rows": [], "cut": "rows" if full else None}


def _say(answer: dict[str, Any]) -> None:
    sys.stdout.buffer.write(orjson.dumps(answer))
    sys.stdout.buffer.flush()


def _words(error: Exception, limits: SandboxLimits) -> str:
    text = str(error).strip()
    if isinstance(error, duckdb.OutOfMemoryException) or "bad_alloc" in text or "Out of Memory" in text:
        return too_much(limits)
    if "File too large" in text:
        return f"the file would be larger than {limits.file_bytes // 1024 // 1024} MiB; ask for less, or as Parquet"
    if isinstance(error, duckdb.PermissionException) or "disabled by configuration" in text:
        first = text.splitlines()[0]
        return f"only the store can be read here: no files, no network, no settings ({first})"
    return text if isinstance(error, duckdb.Error | QueryError) else f"the store could not be read: {text}"


if __name__ == "__main__":
    main()
