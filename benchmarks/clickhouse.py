"""Run the queries on the same attempts in DuckDB and ClickHouse: ``python -m benchmarks.clickhouse ROWS FOLDER [QUERY…]``.

ClickHouse's engine runs in this process (chdb), over the collector exporter's own tables, twice: by views that read the map of
attributes, and by the tables of ``tooltrace clickhouse init --tables``. Each of the three runs in a process of its own. Prints
Markdown: CPU seconds over all cores, which other work on the machine changes little, and the peak memory of the process.
Wall-clock seconds go to stderr. An existing folder is used again.
"""

from __future__ import annotations

import multiprocessing
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.history import make_history
from tests.clickhouse.exporter import LOGS, SPANS, definition
from tooltrace.analysis import catalogue, find, query_store, run
from tooltrace.clickhouse import materialized, views
from tooltrace.clickhouse.client import ClickHouseConnection
from tooltrace.clickhouse.sql.functions import SETTINGS
from tooltrace.clickhouse.stats import store_stats
from tooltrace.clickhouse.tables import Tables
from tooltrace.otel import attributes as names
from tooltrace.store.database.schema import RECORDS
from tooltrace.store.read.reader import open_reader
from tooltrace.store.url import Address

TABLES = {table.name: table.columns for table in RECORDS.values()}
ORIGIN = {"service": "service.name", "host": "host.name", "pid": "process.pid"}


def pairs(columns: dict[str, str]) -> str:
    """A map of the columns that are not NULL, as the exporter writes it."""
    made = ", ".join(f"('{key}', toString({column}))" for column, key in columns.items())
    return f"CAST(arrayMap(p -> (p.1, assumeNotNull(p.2)), arrayFilter(p -> p.2 IS NOT NULL, [{made}])) AS Map(LowCardinality(String), String))"


def spans(file: Path) -> str:
    """Our spans, of the table ``attempts`` in a Parquet file."""
    fields = names.FIELDS | {"call_id": names.TOOL_CALL_ID}
    return f"""
    INSERT INTO otel.otel_traces (Timestamp, TraceId, SpanId, ParentSpanId, SpanName, SpanKind, ServiceName, ResourceAttributes,
        ScopeName, ScopeVersion, SpanAttributes, Duration, StatusCode, StatusMessage)
    SELECT toDateTime64(started_at, 9, 'UTC'), trace_id, span_id, ifNull(parent_span_id, ''), concat('execute_tool ', tool), 'Internal',
        ifNull(service, ''), {pairs(ORIGIN)}, 'tooltrace', '0.1.0',
        mapUpdate({pairs(fields)}, CAST(mapFilter((k, v) -> k <> '', map(if(attributes IS NULL, '', 'region'),
            JSONExtractString(ifNull(attributes, '{{}}'), 'region'))) AS Map(LowCardinality(String), String))),
        toUInt64(ifNull(duration_ms, 0) * 1e6), if(status = 'error', 'Error', 'Unset'), ifNull(error_message, '')
    FROM file('{file}', Parquet)
    """


def events(file: Path, event: str, fields: dict[str, str], at: str) -> str:
    """Log events of one kind, of their table in a Parquet file."""
    return f"""
    INSERT INTO otel.otel_logs (Timestamp, SpanId, EventName, ScopeName, LogAttributes)
    SELECT toDateTime64({at}, 9, 'UTC'), ifNull(span_id, ''), '{event}', 'tooltrace', {pairs(fields)} FROM file('{file}', Parquet)
    """


def outcomes(file: Path) -> str:
    fields = {"call_id": names.TOOL_CALL_ID, "labeler": names.LABELER}
    more = {
        "if(span_id IS NULL, NULL, span_id)": names.JUDGED_SPAN_ID,
        "if(correct, 'correct', 'incorrect')": names.EVALUATION_SCORE_LABEL,
        "'[\"correct\"]'": names.REPORTED,
    }
    return events(file, names.EVALUATION_EVENT, {**fields, **more}, "labeled_at")


def make(folder: Path, rows: int) -> None:
    """Both stores."""
    folder.mkdir(parents=True)
    store = folder / "history.duckdb"
    step("history", lambda: make_history(store, rows))
    with open_reader(store) as con:
        for table in ("attempts", "outcomes", "messages", "gate_events"):
            columns = ", ".join(
                f'CAST("{c.name}" AS {"VARCHAR" if c.type == "JSON" else c.type}) AS "{c.name}"' for c in TABLES[table]
            )
            con.execute(f"COPY (SELECT {columns} FROM {table}) TO '{folder / table}.parquet'")
    client = engine(folder)
    client.command("CREATE DATABASE otel")
    for template, table in ((SPANS, "otel_traces"), (LOGS, "otel_logs")):
        client.command(definition(template, f"otel.{table}", "map"))
    step("spans", lambda: client.command(spans(folder / "attempts.parquet")))
    step("outcomes", lambda: client.command(outcomes(folder / "outcomes.parquet")))
    step(
        "messages",
        lambda: client.command(events(folder / "messages.parquet", names.MESSAGE_EVENT, names.MESSAGE_FIELDS, "at")),
    )
    gates = folder / "gate_events.parquet"
    step("gates", lambda: client.command(events(gates, names.GATE_EVENT, names.GATE_FIELDS, "asked_at")))
    client.command("CREATE DATABASE tables")
    over = Tables(database="otel")
    for statement in views.statements(over, "otel"):
        client.command(statement)
    step(
        "tables",
        lambda: [
            client.command(one)
            for one in [
                *materialized.table_statements(over, "tables"),
                *views.statements(over, "tables", materialized=True),
            ]
        ],
    )


def engine(folder: Path) -> Any:
    import clickhouse_connect

    return clickhouse_connect.get_client(interface="chdb", path=str(folder / "engine"), settings=SETTINGS)


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def step(what: str, work: Callable[[], Any]) -> None:
    began = time.perf_counter()
    work()
    say(f"{what}: {time.perf_counter() - began:.1f} s")


REQUIRED: dict[str, dict[str, Any]] = {
    "find": {"text": "nowherefound"},
    "conversation_calls": {"conversation": "conversation_101"},
    "version_pairs": {"before_version": "1.1", "version": "1.2"},
}
"""Parameters without which a query does not run; the text is in no attempt, so that all are searched."""


def params_for(con: Any, name: str) -> dict[str, Any]:
    """Return the parameters that the query needs on this history."""
    first, last = con.execute("SELECT min(started_at), max(started_at) FROM attempts").fetchall()[0]
    middle = first + (last - first) / 2
    known = {
        "since": middle if name in ("overview", "compare", "gap") else None,
        "before": first + timedelta(hours=1) if name != "find" else None,  # of find, it is where the next page begins
        "before_until": middle,
        "until": last if name == "burn_rate" else None,
        "id": "call_0000",
        "call_id": "call_0000",
    }
    takes = {parameter.name for parameter in find(name).header.parameters}
    return {key: value for key, value in known.items() if key in takes and value is not None} | REQUIRED.get(name, {})


STORES = {"DuckDB": "", "ClickHouse, views": "otel", "ClickHouse, tables": "tables"}
"""Name of each measured store, and its database in ClickHouse; empty for DuckDB."""


def main(rows: int, folder: Path, wanted: list[str]) -> None:
    if not folder.exists():
        apart(make, folder, rows)
    names = wanted or list(catalogue())
    columns = [apart(column, folder, store, names) for store in STORES]
    print(f"| query | {' | '.join(STORES)} |")
    print(f"|---|{'---:|' * len(STORES)}")
    for name, *cells in zip(names, *columns, strict=True):
        print(f"| `{name}` | {' | '.join(cells)} |")


def apart(function: Callable[..., Any], *arguments: Any) -> Any:
    """Run ``function`` in a separate process, so that its peak memory does not include earlier measurements."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(function, arguments)


def column(folder: Path, store: str, names: list[str]) -> list[str]:
    """Return the cells of ``store``, one for each query."""
    with open_reader(folder / "history.duckdb") as con:
        params = {name: params_for(con, name) for name in names}
    cells = []
    with query_runner(folder, STORES[store]) as answer:
        for name in names:
            began = time.perf_counter()
            cells.append(timed(partial(answer, name, **params[name])))
            say(f"{store}, {name}: {cells[-1]}; {time.perf_counter() - began:.1f} s by the clock")
    return cells


@contextmanager
def query_runner(folder: Path, database: str) -> Iterator[Callable[..., Any]]:
    """Yield a function that runs a named query: in DuckDB where ``database`` is empty, else in ClickHouse."""
    if not database:
        with open_reader(folder / "history.duckdb") as con:
            yield lambda name, **params: run(con, name, **params).rows
        return
    client = engine(folder)  # one that stays: the engine would stop with the last
    address = Address(f"chdb://{folder / 'engine'}?database={database}&traces=otel.otel_traces&logs=otel.otel_logs")
    for line in store_stats(ClickHouseConnection(address), client).lines():
        say(line)
    yield lambda name, **params: query_store(address, name, **params).rows


def timed(work: Callable[[], Any]) -> str:
    """Return the CPU seconds of ``work`` and the peak memory of this process, as text."""
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    used = time.process_time()
    try:
        work()
    except Exception as error:
        return f"failed: {' '.join(str(error).split())[:60]}"
    peak = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())
    peak_gb = int(peak[1]) / 1024**2 if peak else 0.0
    return f"{time.process_time() - used:.1f} s, {peak_gb:.1f} GB"


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
