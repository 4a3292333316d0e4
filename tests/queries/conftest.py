"""Attempts by the dozen, and the real tables and the real store to put them into."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.stores import create_empty_store
from tooltrace.core.fields import fields_of
from tooltrace.core.records import Record, ToolCall
from tooltrace.store.database import hashes
from tooltrace.store.database.schema import ATTEMPTS, RECORDS, quote_literal
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.journal.line_format import KINDS, encode
from tooltrace.store.journal.writer import Journal

START = datetime(2026, 3, 1, 12, tzinfo=UTC)

Make = Callable[..., ToolCall]
Engine = Callable[..., duckdb.DuckDBPyConnection]


@pytest.fixture
def make() -> Make:
    """One finished attempt of a call of its own, unless ``fields`` say otherwise."""
    numbers = itertools.count(1)

    def make(**given: Any) -> ToolCall:
        number = next(numbers)
        known: dict[str, Any] = {
            "tool": "search", "call_id": f"call_{number}", "trace_id": f"{number:032x}", "span_id": f"{number:016x}",
            "started_at": START, "duration_ms": 10.0, "status": "success",
        }  # fmt: skip
        return ToolCall(**{**known, **given})

    return make


@pytest.fixture(scope="session")
def instances() -> Iterator[list[duckdb.DuckDBPyConnection]]:
    """Databases in memory that no test uses at the moment. Each holds the store's empty tables as ``template``."""
    idle: list[duckdb.DuckDBPyConnection] = []
    yield idle
    for con in idle:
        con.close()


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return create_empty_store(tmp_path_factory.mktemp("empty") / "empty.duckdb")


@pytest.fixture
def engine(instances: list[duckdb.DuckDBPyConnection], empty_store: Path) -> Iterator[Engine]:
    """Connect to the store's own tables with these records in them. Each call makes tables of its own."""
    used = []

    def engine(*records: Record) -> duckdb.DuckDBPyConnection:
        instance = instances.pop() if instances else _instance(empty_store)
        con = instance.cursor()
        used.append((instance, con))
        con.execute("SET TimeZone='UTC'")
        con.execute("ATTACH ':memory:' AS store")
        con.execute("COPY FROM DATABASE template TO store")
        con.execute("USE store")
        _insert(con, records)
        return con

    yield engine
    for instance, con in used:
        con.close()
        instance.execute("DETACH store")
        instances.append(instance)


def _instance(empty_store: Path) -> duckdb.DuckDBPyConnection:
    """Return a database in memory with a copy of the store's empty tables, which is much cheaper to copy than to make."""
    con = duckdb.connect(":memory:", config={"threads": 1})  # a few rows: more threads would only wait for each other
    con.execute(f"ATTACH {quote_literal(str(empty_store))} AS file (READ_ONLY)")
    con.execute("ATTACH ':memory:' AS template")
    con.execute("COPY FROM DATABASE file TO template")
    con.execute("DETACH file")
    return con


@pytest.fixture
def stored(tmp_path: Path) -> Callable[..., Path]:
    """A store whose journal holds these records; nothing is folded yet."""

    def stored(*records: Record) -> Path:
        path = tmp_path / "store.duckdb"
        journal = Journal(StorePaths.of(path).journal)
        journal.write(b"".join(encode(record) for record in records))
        journal.close()
        return create_empty_store(path)

    return stored


def _insert(con: duckdb.DuckDBPyConnection, records: Sequence[Record]) -> None:
    """Insert ``records``, a hundred of a kind at a time, and only the columns that a record of the kind has."""
    for kind, known in KINDS.items():
        given = [record for record in records if isinstance(record, known)]
        names = [each.name for each in fields_of(known) if any(getattr(one, each.name) is not None for one in given)]
        rows = [[_value(getattr(record, name)) for name in names] for record in given]
        columns = ", ".join(f'"{name}"' for name in names)
        for first in range(0, len(rows), 100):
            part = rows[first : first + 100]
            marks = ", ".join([f"({', '.join('?' * len(names))})"] * len(part))
            con.execute(f"INSERT INTO {RECORDS[kind].name} ({columns}) VALUES {marks}", [*chain.from_iterable(part)])
    values = ", ".join(f"{column.name} = {column.sql}" for column in ATTEMPTS.hashes)
    con.execute(f"UPDATE {ATTEMPTS.name} SET {values}")  # half the time of hashes.refresh, which rewrites the columns
    hashes.find_repeated(con)


def _value(value: Any) -> Any:
    return value.replace(tzinfo=None) if isinstance(value, datetime) else value
