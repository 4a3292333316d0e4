"""Measure the way from a call to its row, and from a query to its result."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from time import perf_counter

import tooltrace as tt
from benchmarks import rivals
from tooltrace.core.records import ToolCall
from tooltrace.redact.snapshot import Json
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.fold.fold import fold
from tooltrace.store.journal.line_format import encode
from tooltrace.store.journal.writer import Journal


def calls_to_rows(folder: Path, calls: int) -> tuple[float, int, int]:
    """Return the calls per second of one process until they are rows, the number of rows, and the number of lost records."""
    store = folder / "throughput.duckdb"
    tt.configure(store=store, durability="batch")
    traced = tt.trace_tool(rivals.search)
    before = perf_counter()
    for _ in range(calls):
        traced(rivals.QUERY, limit=5)
    with tt.connect() as db:
        rows = db.execute("SELECT count(*) FROM tool_calls").fetchone()[0]
        lost = db.execute("SELECT coalesce(sum(count), 0) FROM losses").fetchone()[0]
    return calls / (perf_counter() - before), rows, int(lost)


def memory(folder: Path, calls: int) -> tuple[float, float]:
    """Return the peak resident MiB after a tenth of the calls, and after all of them."""
    tt.configure(store=folder / "memory.duckdb", durability="batch")
    traced = tt.trace_tool(rivals.search)
    peaks = []
    for part in (calls // 10, calls - calls // 10):
        for _ in range(part):
            traced(rivals.QUERY, limit=5)
        tt.flush()
        peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    return peaks[0], peaks[1]


def large_results(folder: Path, calls: int, size: int) -> tuple[float, float]:
    """Return the peak resident MiB after the first of ``calls`` results of ``size`` bytes, and after all of them."""
    tt.configure(store=folder / "large.duckdb", durability="batch")
    traced = tt.trace_tool(_large_result)
    peaks = []
    for part in (1, calls - 1):
        for number in range(part):
            traced(number, size)
        peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    tt.flush()
    return peaks[0], peaks[1]


def _large_result(number: int, size: int) -> str:
    return f"{number:08d}" * (size // 8)


def backlog(folder: Path, rows: int, *, in_background: bool = False) -> tuple[float, float, float]:
    """Return the seconds, the CPU seconds and the peak resident MiB of the first question over unfolded calls.

    ``in_background``: over calls that the process of ``fold="background"`` has folded before.
    """
    store = folder / "backlog.duckdb"
    with closing(Journal(StorePaths.of(store).journal)) as journal:
        for lines in _lines(rows):
            journal.write(lines)
    if in_background:  # it folds everything and ends, because no process records into the store
        subprocess.run([sys.executable, "-W", "ignore", "-m", "tooltrace.store.fold.background", store], check=True)
        assert not any(StorePaths.of(store).journals().values())
    done = subprocess.run([sys.executable, "-c", _FIRST_QUESTION, store], capture_output=True, check=True, text=True)
    found, wall, cpu, peak = map(float, done.stdout.split())
    assert found == rows
    return wall, cpu, peak


_FIRST_QUESTION = """
import pathlib, re, sys, time
import tooltrace as tt
wall, cpu = time.perf_counter(), time.process_time()
tt.query("failure_rate", store=sys.argv[1])
wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
status = pathlib.Path("/proc/self/status")  # the peak of this program alone, not of the one that started it
peak = int(re.search(r"VmHWM:\\s*(\\d+)", status.read_text())[1]) / 1024 if status.exists() else float("nan")
with tt.connect(store=sys.argv[1]) as db:
    print(db.execute("SELECT count(*) FROM tool_calls").fetchone()[0], wall, cpu, peak)
"""


def filled(store: Path, rows: int) -> float:
    """Fill ``store`` with a made-up history, and return the rows per second of folding."""
    journal = Journal(StorePaths.of(store).journal)
    spent = 0.0
    for lines in _lines(rows):
        journal.write(lines)
        before = perf_counter()
        fold(StorePaths.of(store), wait=None)
        spent += perf_counter() - before
    journal.close()
    fold(StorePaths.of(store), wait=None)
    return rows / spent


def _lines(rows: int) -> Iterator[bytes]:
    """Yield the journal lines of a made-up history, in pieces of 50,000 calls."""
    random = Random(7)
    start = datetime(2026, 1, 1, tzinfo=UTC)
    for first in range(0, rows, 50_000):
        calls = (_call(random, start, number) for number in range(first, min(first + 50_000, rows)))
        yield b"".join(map(encode, calls))


def _call(random: Random, start: datetime, number: int) -> ToolCall:
    failed = random.random() < 0.1
    call = number - number % 5 // 4  # each fifth attempt is the second one of the call before
    return ToolCall(
        tool=f"tool_{call % 12}",
        call_id=f"call_{call}",
        attempt=1 + (number % 5 == 4),
        trace_id=f"{random.getrandbits(128):032x}",
        span_id=f"{random.getrandbits(64):016x}",
        started_at=start + timedelta(milliseconds=number * 40),
        duration_ms=random.lognormvariate(3, 1),
        status="error" if failed else "success",
        code=random.choice(("TIMEOUT", "NOT_FOUND", "RATE_LIMIT")) if failed else None,
        error_message=f"no answer from host {number}" if failed else None,
        confidence=random.random(),
        arguments=Json('{"query":"how to open a file","limit":5}'),
        result=Json('{"rows":[{"id":1,"title":"open"}],"total":1}'),
        conversation_id=f"conversation_{number // 40}",
    )


def folding(folder: Path, rows: int) -> float:
    """Return the rows per second folded into a new store."""
    return filled(folder / "history.duckdb", rows)


def import_ratio(folder: Path, rounds: int) -> tuple[float, float]:
    """Return the milliseconds of CPU to import tooltrace's dependencies, and to import tooltrace; both compiled before."""
    base = "import opentelemetry.sdk.trace, opentelemetry.sdk.metrics, structlog; from pydantic import BaseModel"
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(folder / "compiled")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    runs = [[_import_ms(code, environment) for code in (base, "import tooltrace")] for _ in range(rounds + 1)][1:]
    return statistics.median(run[0] for run in runs), statistics.median(run[1] for run in runs)


def _import_ms(code: str, environment: dict[str, str]) -> float:
    script = f"import time; t = time.process_time(); {code}; print((time.process_time() - t) * 1e3)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, env=environment)
    return float(done.stdout)
