"""Attempts by the dozen, and the real tables and the real store to put them into."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tooltrace.fields import fields_of
from tooltrace.record import Record, ToolCall
from tooltrace.store.columns import RECORDS
from tooltrace.store.journal import Journal
from tooltrace.store.lines import KINDS, encode
from tooltrace.store.paths import StorePaths
from tooltrace.store.schema import create

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
            "conversation_id": "session", "started_at": START, "duration_ms": 10.0, "status": "success",
        }  # fmt: skip
        return ToolCall(**{**known, **given})

    return make


@pytest.fixture
def engine() -> Iterator[Engine]:
    """A connection whose tables are the store's own, with these records in them."""
    connections = []

    def engine(*records: Record) -> duckdb.DuckDBPyConnection:
        con = duckdb.connect(":memory:")
        connections.append(con)
        con.execute("SET TimeZone='UTC'")
        con.execute("ATTACH ':memory:' AS store")
        create(con)
        con.execute("USE store")
        for record in records:
            _insert(con, record)
        return con

    yield engine
    for con in connections:
        con.close()


@pytest.fixture
def stored(tmp_path: Path) -> Callable[..., Path]:
    """A store whose journal holds these records; nothing is folded yet."""

    def stored(*records: Record) -> Path:
        path = tmp_path / "store.duckdb"
        journal = Journal(StorePaths.of(path).journal)
        journal.write(b"".join(encode(record) for record in records))
        journal.close()
        return path

    return stored


def _insert(con: duckdb.DuckDBPyConnection, record: Record) -> None:
    table = next(RECORDS[kind].name for kind, known in KINDS.items() if isinstance(record, known))
    values = {field.name: getattr(record, field.name) for field in fields_of(type(record))}
    values = {
        name: value.replace(tzinfo=None) if isinstance(value, datetime) else value for name, value in values.items()
    }
    names = ", ".join(f'"{name}"' for name in values)
    con.execute(f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' * len(values))})", list(values.values()))
