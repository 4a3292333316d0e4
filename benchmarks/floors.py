"""Measure the parts that any way of recording a call needs, each alone: the floors of the costs."""

from __future__ import annotations

import os
from collections import defaultdict, deque
from collections.abc import Callable
from contextvars import ContextVar
from pathlib import Path
from random import getrandbits
from time import perf_counter_ns, process_time_ns, time_ns
from typing import Any, Final

import duckdb
import orjson
import structlog

import tooltrace as tt
from benchmarks import rivals
from benchmarks.bare_span import in_bare_span
from benchmarks.payloads import payloads
from benchmarks.rounds import BURST, Figure, burst, figure, frozen_heap
from tooltrace.store.paths import StorePaths

ROWS: Final = 20_000
_CURRENT: Final[ContextVar[int]] = ContextVar("span")
LINE: Final = {"event": "tool_call", "tool": "search", "call_id": "call_1", "attempt": 1, "status": "success", "ending": "returned",
               "duration_ms": 0.01, "trace_id": "0" * 32, "span_id": "0" * 16}  # fmt: skip
"""The fields of the log line of a call."""

WRAPPER: Final = "a wrapper, two clocks, ids, a context variable, orjson for arguments and result, a deque"
LOG: Final = "structlog's own line, JSON by the standard library, discarded"
WRITE: Final = "one `write(2)` of a line, into a file"
INSERT: Final = "`INSERT … FROM read_json` of a journal, without checks and without the rest of the fold"
PAYLOADS: Final = {
    WRAPPER: "plain dict: 58 B → 69 B",
    LOG: f"{len(LINE)} fields",
    WRITE: "a line of 700 B",
    INSERT: f"{ROWS:,} lines of the plain dict",
}


def floors(folder: Path, rounds: int) -> dict[str, Figure]:
    """Return the CPU time of each part, and its ratio to the bare span in the same rounds."""
    spans = rivals.everything_on(folder / "floors.duckdb")
    plain = payloads()["plain dict"]
    bare = plain.caller(in_bare_span(spans, plain.tool()))
    kept: deque[Any] = deque()
    log = structlog.get_logger().bind()
    file = os.open(folder / "lines", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    data = b"x" * 700
    parts: dict[str, Callable[[], object]] = {
        WRAPPER: plain.caller(_wrapped(plain.tool(), kept)),
        LOG: lambda: log.info(**LINE),
        WRITE: lambda: os.write(file, data),
    }
    untraced = plain.caller(plain.tool())
    found: dict[str, list[tuple[float, float]]] = defaultdict(list)
    with frozen_heap():
        for _ in range(rounds):
            reference = burst(bare, BURST, spans.force_flush).caller
            nothing = burst(untraced, BURST, _nothing).caller
            for name, part in parts.items():
                spent = burst(part, BURST, kept.clear).caller
                found[name].append((spent - (nothing if name == WRAPPER else 0), reference))
        insert = _insert(folder / "insert.duckdb")
        for _ in range(max(3, rounds // 10)):
            reference = burst(bare, BURST, spans.force_flush).caller
            found[INSERT].append((insert(), reference))
    os.close(file)
    return {name: figure(pairs) for name, pairs in found.items()}


def _wrapped(tool: Callable[..., Any], kept: deque[Any]) -> Callable[..., Any]:
    def call(**arguments: Any) -> Any:
        trace, span, sent = getrandbits(128), getrandbits(64), orjson.dumps(arguments)
        token = _CURRENT.set(span)
        at, began = time_ns(), perf_counter_ns()
        try:
            result = tool(**arguments)
        finally:
            duration = perf_counter_ns() - began
            _CURRENT.reset(token)
        kept.append((trace, span, at, duration, sent, orjson.dumps(result)))
        return result

    return call


def _insert(store: Path) -> Callable[[], float]:
    """Return a measurement: microseconds of CPU of all threads to insert a line of a journal into a table in memory."""
    tt.configure(store=store, durability="batch")
    plain = payloads()["plain dict"]
    call = plain.caller(tt.trace_tool(plain.tool()))
    for _ in range(ROWS):
        call()
    tt.flush()
    (journal,) = StorePaths.of(store).journal.glob("*.jsonl")
    con = duckdb.connect()
    con.execute("SET threads = 1")
    con.execute(
        "CREATE TABLE lines AS SELECT * FROM read_json(?, format = 'newline_delimited') LIMIT 0", [str(journal)]
    )
    names = con.execute("SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = 'lines'").fetchall()
    columns = ", ".join(f"'{name}': '{type_}'" for name, type_ in names)
    statement = f"INSERT INTO lines SELECT * FROM read_json(?, format = 'newline_delimited', columns = {{{columns}}})"

    def run() -> float:
        before = process_time_ns()
        con.execute(statement, [str(journal)])
        return (process_time_ns() - before) / ROWS / 1e3

    return run


def _nothing() -> None:
    pass


def table(found: dict[str, Figure]) -> list[str]:
    """Return the Markdown table."""
    return [
        "| part | payload | µs of CPU | × bare span |",
        "|---|---|---:|---:|",
        *(
            f"| {name} | {PAYLOADS[name]} | {part.microseconds:.2f} | {part.ratio:.2f} |"
            for name, part in found.items()
        ),
    ]
