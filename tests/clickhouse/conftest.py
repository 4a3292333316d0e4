"""ClickHouse's own engine in this process, with the collector exporter's own tables."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

REQUIRED = "chdb" in os.environ.get("TOOLTRACE_REQUIRE", "").split(",")
collect_ignore_glob: list[str] = []
try:
    import chdb  # noqa: F401
    import clickhouse_connect
    import sqlglot  # noqa: F401
except ImportError as error:
    assert not REQUIRED, f"{error}: `make test-clickhouse` brings it"
    collect_ignore_glob.append("test_*.py")
else:
    from tests.clickhouse.exporter import LOGS, SPANS, definition
    from tooltrace.clickhouse.attribute_sql import Variant
    from tooltrace.clickhouse.rows import lines, log_row, span_row
    from tooltrace.clickhouse.sql.functions import SETTINGS
    from tooltrace.clickhouse.tables import Tables
    from tooltrace.clickhouse.views import apply
    from tooltrace.core.records import Record
    from tooltrace.exporters.otlp_records import RecordEncoder
    from tooltrace.store.database.schema import RECORDS
    from tooltrace.store.read.history import _record
    from tooltrace.store.read.reader import open_reader

Fill = Callable[..., Any]


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A client of the engine. There is one engine in a process: each test that fills it takes a database of its own."""
    if collect_ignore_glob:  # which pytest does not apply to a file that is named on the command line
        pytest.skip("needs the engine of ClickHouse: make test-clickhouse")
    path = tmp_path_factory.mktemp("engine")
    client = clickhouse_connect.get_client(interface="chdb", path=str(path), settings=SETTINGS)
    yield client
    client.close()


@pytest.fixture(scope="session")
def fill(engine: Any) -> Fill:
    """Puts ``records`` where the collector puts them, and makes the views: ``fill(database, records)``."""

    def fill(database: str, records: list[Record], variant: Variant = "map") -> Tables:
        tables = exporters_tables(engine, database, variant)
        forms = RecordEncoder()
        spans = [span_row(form, variant) for record in records if (form := forms.span(record)) is not None]
        logs = [log_row(form, variant) for record in records if (form := forms.log(record)) is not None]
        for table, rows in ((tables.traces, spans), (tables.logs, logs)):
            if rows:
                engine.raw_insert(
                    f"{database}.{table}",
                    insert_block=lines(rows),
                    fmt="JSONEachRow",
                    settings={"max_partitions_per_insert_block": 0},  # a history of months is one block here
                )
        apply(engine, tables, database)
        return tables

    return fill


def exporters_tables(engine: Any, database: str, variant: Variant = "map") -> Tables:
    """The exporter's own tables, empty, in a new database."""
    tables = Tables(database=database, variant=variant)
    engine.command(f"CREATE DATABASE {database}")
    engine.command(definition(SPANS, f"{database}.{tables.traces}", variant))
    engine.command(definition(LOGS, f"{database}.{tables.logs}", variant))
    return tables


def records_of(store: Path) -> list[Record]:
    """Everything in a store, calls first."""
    with open_reader(store) as con:
        return [
            _record(kind, RECORDS[kind], row)
            for kind in ("call", "span", "outcome", "correction", "gate", "message", "loss")
            for row in con.execute(
                f"SELECT {', '.join(chr(34) + name + chr(34) for name in RECORDS[kind].names)} FROM {RECORDS[kind].name}"
            ).fetchall()
        ]
