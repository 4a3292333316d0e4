"""The queries on the same attempts in DuckDB and in ClickHouse: ``python -m benchmarks.clickhouse ROWS FOLDER [QUERY…]``.

ClickHouse's engine runs in this process (chdb), over the collector exporter's own tables, twice: by views that read the map of
attributes, and by the tables of ``tooltrace clickhouse init --tables``. Prints Markdown. A folder that was made before is used again.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

from benchmarks.history import make_history
from tests.clickhouse.exporter import LOGS, SPANS, definition
from tooltrace.address import Address
from tooltrace.clickhouse import kept, views
from tooltrace.clickhouse.asking import ask
from tooltrace.clickhouse.client import House
from tooltrace.clickhouse.figures import figures
from tooltrace.clickhouse.tables import Tables
from tooltrace.otel import attributes as names
from tooltrace.queries import catalogue, find, run
from tooltrace.queries.dialect_table import SETTINGS
from tooltrace.store.columns import RECORDS
from tooltrace.store.lease import reading

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
        "'[\"correct\"]'": names.SAID,
    }
    return events(file, names.EVALUATION_EVENT, {**fields, **more}, "labeled_at")


def make(folder: Path, rows: int) -> None:
    """Both stores."""
    folder.mkdir(parents=True)
    store = folder / "history.duckdb"
    say("history", lambda: make_history(store, rows))
    with reading(store) as con:
        for table in ("attempts", "outcomes", "messages", "gate_events"):
            columns = ", ".join(
                f'CAST("{c.name}" AS {"VARCHAR" if c.type == "JSON" else c.type}) AS "{c.name}"' for c in TABLES[table]
            )
            con.execute(f"COPY (SELECT {columns} FROM {table}) TO '{folder / table}.parquet'")
    client = engine(folder)
    client.command("CREATE DATABASE otel")
    for template, table in ((SPANS, "otel_traces"), (LOGS, "otel_logs")):
        client.command(definition(template, f"otel.{table}", "map"))
    say("spans", lambda: client.command(spans(folder / "attempts.parquet")))
    say("outcomes", lambda: client.command(outcomes(folder / "outcomes.parquet")))
    say(
        "messages",
        lambda: client.command(events(folder / "messages.parquet", names.MESSAGE_EVENT, names.MESSAGE_FIELDS, "at")),
    )
    gates = folder / "gate_events.parquet"
    say("gates", lambda: client.command(events(gates, names.GATE_EVENT, names.GATE_FIELDS, "asked_at")))
    client.command("CREATE DATABASE tables")
    over = Tables(database="otel")
    for statement in views.statements(over, "otel"):
        client.command(statement)
    say(
        "tables",
        lambda: [
            client.command(one)
            for one in [*kept.statements(over, "tables"), *views.statements(over, "tables", kept=True)]
        ],
    )


def engine(folder: Path) -> Any:
    import clickhouse_connect

    return clickhouse_connect.get_client(interface="chdb", path=str(folder / "engine"), settings=SETTINGS)


def say(what: str, work: Callable[[], Any]) -> float:
    began = time.perf_counter()
    work()
    took = time.perf_counter() - began
    print(f"{what}: {took:.1f} s", file=sys.stderr, flush=True)
    return took


def given(con: Any, name: str) -> dict[str, Any]:
    """What the query has to be told."""
    first, last = con.execute("SELECT min(started_at), max(started_at) FROM attempts").fetchall()[0]
    middle = first + (last - first) / 2
    known = {
        "since": middle if name in ("overview", "compare", "gap") else None,
        "before": first + timedelta(hours=1),
        "before_until": middle,
        "until": last if name == "burn_rate" else None,
        "id": "call_0000",
        "call_id": "call_0000",
    }
    takes = {parameter.name for parameter in find(name).heading.parameters}
    return {key: value for key, value in known.items() if key in takes and value is not None}


def main(rows: int, folder: Path, wanted: list[str]) -> None:
    if not folder.exists():
        make(folder, rows)
    client = engine(folder)
    where = {name: Address(f"chdb://{folder / 'engine'}?database={name}") for name in ("otel", "tables")}
    for address in where.values():
        for line in figures(House(address), client).lines():
            print(line, file=sys.stderr)
    print("| query | DuckDB | ClickHouse, views | ClickHouse, tables |\n|---|---|---|---|")
    with reading(folder / "history.duckdb") as con:
        for name in wanted or catalogue():
            told = given(con, name)
            cells = [timed(lambda: run(con, name, **told).fetchall())]  # noqa: B023
            cells += [timed(lambda: ask(address, name, **told).fetchall()) for address in where.values()]  # noqa: B023
            print(f"| {name} | {' | '.join(cells)} |", flush=True)


def timed(work: Callable[[], Any]) -> str:
    began = time.perf_counter()
    try:
        work()
    except Exception as error:
        return f"failed: {' '.join(str(error).split())[:60]}"
    return f"{time.perf_counter() - began:.2f} s"


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
