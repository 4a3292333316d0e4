"""Measure the parts that any way of recording a call needs, each alone: the floors of the costs."""

from __future__ import annotations

import os
from collections import defaultdict, deque
from collections.abc import Callable
from contextvars import ContextVar
from pathlib import Path
from random import getrandbits
from time import perf_counter_ns, process_time_ns, time_ns
from typing import Any, Final, NamedTuple
from zlib import crc32

import duckdb
import msgspec
import orjson
import structlog

import tooltrace as tt
from benchmarks import rivals
from benchmarks.bare_span import in_bare_span
from benchmarks.payloads import Payload, payloads
from benchmarks.rounds import BURST, Figure, burst, digits, figure, frozen_heap, geometric_mean
from tooltrace.store.database.schema import ATTEMPTS, column_ddl, quote_identifier, quote_literal
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.journal.line_format import WIRE_NAMES

ROWS: Final = 20_000
INSERTED: Final = 5_000
"""Rows of each kind of call."""
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
        result: Any = None
        try:
            result = tool(**arguments)
        except Exception as error:
            result = str(error)
            raise
        finally:
            duration = perf_counter_ns() - began
            _CURRENT.reset(token)
            copied = result if type(result) is str else orjson.dumps(result, default=vars)
            kept.append((trace, span, at, duration, sent, copied))
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


class Floor(NamedTuple):
    """The least that a call of one kind costs in this design: without rules, redaction, threads, queue and checks."""

    caller: Figure
    """As WRAPPER."""
    line: Figure
    """The line, encoded by msgspec from fields that are known, its checksum, and its part of a write of 200 lines."""
    insert: Figure
    """The line's part of an ``INSERT … FROM read_json`` into a table like that of the store, in a file."""

    @property
    def whole(self) -> Figure:
        """The sum."""
        return Figure(*map(sum, zip(*self, strict=True)))


def until_row(folder: Path, rounds: int) -> dict[str, Floor]:
    """Return the floor of each kind of call up to 6 KB."""
    spans = rivals.everything_on(folder / "bare.duckdb")
    kinds = {kind: payload for kind, payload in payloads(rivals.tool_response()).items() if payload.in_mean}
    plain = kinds["plain dict"]
    bare = plain.caller(in_bare_span(spans, plain.tool()))
    found: dict[str, tuple[list[tuple[float, float]], ...]] = {kind: ([], [], []) for kind in kinds}
    journals = {kind: _journal(folder / f"{number}", payload) for number, (kind, payload) in enumerate(kinds.items())}
    kept: deque[Any] = deque()
    with frozen_heap():
        for kind, payload in kinds.items():
            wrapped, untraced = payload.caller(_wrapped(payload.tool(), kept)), payload.caller(payload.tool())
            write, insert = _write(journals[kind]), _insert_into_file(journals[kind])
            for _ in range(rounds):
                reference = burst(bare, BURST, spans.force_flush).caller
                nothing = burst(untraced, BURST, _nothing).caller
                costs = burst(wrapped, BURST, kept.clear).caller - nothing, write(), insert()
                for pairs, cost in zip(found[kind], costs, strict=True):
                    pairs.append((cost, reference))
    return {kind: Floor(*map(figure, pairs)) for kind, pairs in found.items()}


def _journal(folder: Path, payload: Payload) -> Path:
    """Return a journal of calls with ``payload``."""
    store = folder / "store.duckdb"
    tt.configure(store=store, durability="batch")
    call = payload.caller(tt.trace_tool(payload.tool()))
    for _ in range(INSERTED):
        call()
    tt.flush()
    (journal,) = StorePaths.of(store).journal.glob("*.jsonl")
    return journal


def _write(journal: Path) -> Callable[[], float]:
    """Return a measurement: microseconds to encode and write a line of ``journal``."""
    encode = msgspec.json.Encoder().encode
    calls = []
    for line in journal.read_bytes().splitlines()[:BURST]:
        fields = orjson.loads(line)
        embedded = {name: msgspec.Raw(orjson.dumps(fields[name])) for name in ("arguments", "result") if name in fields}
        calls.append({**fields, **embedded})
    file = os.open(journal.parent / "written", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def run() -> float:
        before = process_time_ns()
        lines: list[bytes] = []
        for call in calls:
            body = encode(call)
            lines += (b"%08x" % crc32(body), body, b"\n")
        os.write(file, b"".join(lines))
        return (process_time_ns() - before) / BURST / 1e3

    return run


def _insert_into_file(journal: Path) -> Callable[[], float]:
    """Return a measurement: microseconds of CPU of all threads for a further row of ``journal`` in a new table of a file."""
    one = journal.parent / "one"
    one.write_bytes(journal.read_bytes().splitlines(keepends=True)[0])
    con = duckdb.connect(str(journal.parent / "floor.duckdb"))
    con.execute("SET threads = 1")
    con.execute("SET wal_autocheckpoint = '1 B'")
    wire = [quote_identifier(WIRE_NAMES.get(column.name, column.name)) for column in ATTEMPTS.columns]
    types = ", ".join(f"{name}: '{column.type}'" for name, column in zip(wire, ATTEMPTS.columns, strict=True))

    def insert(path: Path) -> int:
        con.execute(f"CREATE OR REPLACE TABLE floor ({column_ddl(ATTEMPTS, compressed=True)})")
        before = process_time_ns()
        con.execute(
            f"INSERT INTO floor SELECT {', '.join(wire)} FROM read_json({quote_literal(str(path))}, "
            f"format = 'newline_delimited', columns = {{{types}}})"
        )
        return process_time_ns() - before

    def run() -> float:
        return (insert(journal) - insert(one)) / (INSERTED - 1) / 1e3

    return run


def _nothing() -> None:
    pass


def table(found: dict[str, Figure], by_kind: dict[str, Floor]) -> list[str]:
    """Return the Markdown tables."""
    whole = [floor.whole.ratio for floor in by_kind.values()]
    means = (geometric_mean(figure.ratio for figure in column) for column in zip(*by_kind.values(), strict=True))
    return [
        "| part | payload | µs of CPU | × bare span |",
        "|---|---|---:|---:|",
        *(
            f"| {name} | {PAYLOADS[name]} | {part.microseconds:.2f} | {part.ratio:.2f} |"
            for name, part in found.items()
        ),
        "",
        "| call | caller | line | insertion | until the row |",
        "|---|---:|---:|---:|---:|",
        *(
            f"| {kind} | {floor.caller} | {floor.line} | {floor.insert} | {floor.whole} |"
            for kind, floor in by_kind.items()
        ),
        f"| **geometric mean, × bare span** | {' | '.join(f'**{digits(mean)}**' for mean in means)} | **{digits(geometric_mean(whole))}** |",
    ]
