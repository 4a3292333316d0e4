"""The schema: every column is a field of its record and described."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, get_args, get_type_hints

import duckdb
import pytest
from msgspec.structs import replace

from tests.stores import create_new_stores
from tooltrace.core.fields import fields_of
from tooltrace.core.records import Correction, Gate, Loss, Message, Outcome, Record, Span, ToolCall
from tooltrace.redact.snapshot import Json
from tooltrace.store.database.schema import (
    ATTEMPTS,
    CORRECTIONS,
    GATE_EVENTS,
    LOSSES,
    MESSAGES,
    OUTCOMES,
    SPANS,
    TABLES,
    Table,
)
from tooltrace.store.database.views import VIEWS
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.fold.fold import fold
from tooltrace.store.read.reader import open_reader

Rows = Callable[[str], list[tuple[Any, ...]]]
TYPES = {
    "str": "VARCHAR",
    "int": "BIGINT",
    "float": "DOUBLE",
    "bool": "BOOLEAN",
    "datetime": "TIMESTAMP",
    "Json": "JSON",
}
PUBLIC = """tool tool_version tool_type call_id attempt trace_id span_id parent_span_id conversation_id agent started_at
duration_ms first_item_ms consumer_ms status ending code error_type error_message retryable suggestion confidence signals
next_action cached text seen_text arguments result stats context attributes rule rule_grade truncated redacted service host
pid recorder_version""".split()


@pytest.fixture(autouse=True)
def created(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stores of these tests are created, not copied."""
    create_new_stores(monkeypatch)


@pytest.mark.parametrize(
    ("table", "record"),
    [
        (ATTEMPTS, ToolCall),
        (OUTCOMES, Outcome),
        (CORRECTIONS, Correction),
        (GATE_EVENTS, Gate),
        (MESSAGES, Message),
        (LOSSES, Loss),
        (SPANS, Span),
    ],
)
def test_a_table_has_the_fields_of_its_record(table: Table, record: type[Record]) -> None:
    wanted = {
        name: (TYPES[hint.removesuffix(" | None")], "None" not in hint) for name, hint in hints_of(record).items()
    }
    assert {column.name: (column.type, column.required) for column in table.columns} == wanted
    assert {column.name: column.comment for column in table.columns} == {
        field.name: field.about.meaning for field in fields_of(record)
    }


def hints_of(record: type[Record]) -> dict[str, str]:
    """The Python type of each field, as a reader of ``record.py`` sees it."""
    hints = get_type_hints(record)
    return {
        field.name: " | ".join(getattr(part, "__name__", "None") for part in get_args(hint) or (hint,)).replace(
            "NoneType", "None"
        )
        for field in fields_of(record)
        for hint in [hints[field.name]]
    }


def test_the_public_columns_have_their_order() -> None:
    for names in (ATTEMPTS.names, VIEWS[0].columns):
        assert [name for name in names if name in PUBLIC] == PUBLIC


def test_all_tables_views_and_columns_are_described(store: StorePaths, write: Any, call: Any) -> None:
    write(call(1))
    fold(store)
    with open_reader(store) as db:
        missing = db.sql(
            """SELECT table_name, column_name FROM duckdb_columns() WHERE database_name = 'store' AND comment IS NULL
            UNION ALL SELECT table_name, NULL FROM duckdb_tables() WHERE database_name = 'store' AND comment IS NULL
            UNION ALL SELECT view_name, NULL FROM duckdb_views()
            WHERE database_name = 'store' AND NOT internal AND comment IS NULL"""
        ).fetchall()
        assert missing == []
        names = {
            name
            for (name,) in db.sql(
                "SELECT DISTINCT table_name FROM duckdb_columns() WHERE database_name = 'store'"
            ).fetchall()
        }
    assert names == {table.name for table in TABLES} | {view.name for view in VIEWS}


def test_tables_have_no_index_and_no_key(store: StorePaths, write: Any, call: Any, rows: Rows) -> None:
    write(call(1))
    fold(store)
    kinds = rows("SELECT DISTINCT constraint_type FROM duckdb_constraints() WHERE database_name = 'store'")
    assert kinds == [("NOT NULL",)]
    assert rows("SELECT count(*) FROM duckdb_indexes() WHERE database_name = 'store'") == [(0,)]


def test_anybody_can_open_the_file_with_duckdb(store: StorePaths, write: Any, call: Any) -> None:
    write(call(1, sources=Json('[{"type":"file","id":"7"}]')))
    fold(store)
    with duckdb.connect(str(store.database), read_only=True) as con:
        assert con.sql("SELECT call_id, attempts FROM calls").fetchall() == [("c1", 1)]
        assert con.sql("SELECT type, id FROM sources").fetchall() == [("file", "7")]


def attempts_of_three_calls(call: Any) -> list[ToolCall]:
    return [
        call(1, call_id="a", status="error", code="TIMEOUT", conversation_id="v", duration_ms=100.0),
        call(2, call_id="a", attempt=2, status="success", conversation_id="v", duration_ms=10.0),
        call(3, call_id="a", attempt=1, status="success", conversation_id="w", duration_ms=1.0),
        call(4, call_id="b", status="error", code="NOT_FOUND", duration_ms=5.0, pid=1),
        call(5, call_id="b", attempt=2, status=None, ending="cancelled", duration_ms=None, pid=1),
        call(6, call_id="b", status="success", duration_ms=2.0, pid=2),
    ]


@pytest.mark.parametrize("folded", [True, False])
def test_the_calls_view_summarizes_attempts(
    store: StorePaths, write: Any, call: Any, rows: Rows, *, folded: bool
) -> None:
    attempts = attempts_of_three_calls(call)
    with reading_keeps_from_folding(store, write, attempts, folded=folded):
        found = rows(
            """SELECT call_id, conversation_id, attempts, status, ending, code, recovered, failures, duration_ms,
            wasted_ms, ended_at FROM calls ORDER BY started_at"""
        )
    begun = [attempt.started_at.replace(tzinfo=None) for attempt in attempts]
    assert found == [
        (
            "a",
            "v",
            2,
            "success",
            "returned",
            None,
            True,
            1,
            110.0,
            100.0,
            begun[0] + timedelta(milliseconds=100),
        ),
        ("a", "w", 1, "success", "returned", None, False, 0, 1.0, 0.0, begun[2] + timedelta(milliseconds=1)),
        (
            "b",
            None,
            2,
            "error",
            "cancelled",
            "NOT_FOUND",
            False,
            1,
            5.0,
            5.0,
            begun[3] + timedelta(milliseconds=5),
        ),
        ("b", None, 1, "success", "returned", None, False, 0, 2.0, 0.0, begun[5] + timedelta(milliseconds=2)),
    ]


@pytest.mark.parametrize("folded", [True, False])
def test_sources_are_rows(store: StorePaths, write: Any, call: Any, rows: Rows, *, folded: bool) -> None:
    made = [
        call(
            1,
            sources=Json('[{"type":"file","id":"7","label":"L"},{"type":"api","url":"http://x"}]'),
            confidence=0.5,
        ),
        call(2, sources=Json("[]")),
        call(3, sources=Json("5")),
        call(4, sources=Json('[3,{"type":["odd"]}]')),
        call(5),
    ]
    with reading_keeps_from_folding(store, write, made, folded=folded):
        found = rows(
            'SELECT call_id, confidence, "type", id, label, url, section FROM sources ORDER BY started_at, id, url'
        )
    assert found == [
        ("c1", 0.5, "file", "7", "L", None, None),
        ("c1", 0.5, "api", None, None, "http://x", None),
        ("c4", None, None, None, None, None, None),
        ("c4", None, '["odd"]', None, None, None, None),
    ]


class reading_keeps_from_folding:  # noqa: N801 - reads as a with statement
    """Records that are all folded, or of which the last half is not and cannot be, for a reader is at work."""

    def __init__(self, store: StorePaths, write: Any, records: list[ToolCall], *, folded: bool) -> None:
        half = len(records) if folded else len(records) // 2
        write(*records[:half])
        fold(store)
        self._lease = open_reader(store)
        self._rest = [] if folded else records[half:]
        self._write = write

    def __enter__(self) -> None:
        self._lease.__enter__()
        if self._rest:
            self._write(*self._rest)

    def __exit__(self, *exception: object) -> None:
        self._lease.__exit__(None, None, None)


def test_a_span_of_another_library_is_one_row_however_often_it_comes(store: StorePaths, write: Any, rows: Rows) -> None:
    at = datetime(2026, 11, 1, tzinfo=UTC)
    span = Span(
        trace_id="1" * 32, span_id="2" * 16, name="chat m", span_kind="client", started_at=at, duration_ms=1.5,
        status="error", attributes=Json('{"a":[1]}'), events=Json('[{"name":"e"}]'), scope="lib", service="s",
    )  # fmt: skip
    write(span)
    fold(store)
    write(span, replace(span, span_id="3" * 16))
    assert rows("SELECT span_id, name, attributes ->> '$.a[0]', status FROM spans ORDER BY 1") == [
        ("2" * 16, "chat m", "1", "error"), ("3" * 16, "chat m", "1", "error"),
    ]  # fmt: skip


@pytest.mark.parametrize("folded", [True, False])
def test_a_stop_for_a_person_is_one_row_before_and_after_the_answer(
    store: StorePaths, write: Any, call: Any, rows: Rows, *, folded: bool
) -> None:
    asked = Gate(call_id="c1", span_id="s1", kind="confirmation", asked_at=call(1).started_at)
    answered = replace(asked, decision="approved", answered_at=call(2).started_at, answered_by="ann", note="fine")
    write(asked)
    assert rows("SELECT decision FROM gates") == [(None,)]
    write(answered)
    if folded:
        fold(store)
    assert rows("SELECT decision, answered_by, note FROM gates") == [("approved", "ann", "fine")]


def test_the_last_message_of_an_attempt_is_the_models_text(
    store: StorePaths, write: Any, call: Any, rows: Rows
) -> None:
    first = Message(
        call_id="c1", span_id=call(1).span_id, text="a", sha256="1", length=1, error=False, at=call(1).started_at
    )
    second = replace(first, text="Error", sha256="2", length=5, error=True, at=call(2).started_at)
    write(second, first, call(1), call(2, seen_text="known at once"))
    assert rows("SELECT call_id, seen_text, seen_hash, seen_length, seen_error FROM tool_calls ORDER BY 1") == [
        ("c1", "Error", "2", 5, True),
        ("c2", "known at once", None, None, None),
    ]
    assert rows("SELECT count(*) FROM messages") == [(2,)]


@pytest.mark.parametrize("odd", [float("inf"), float("nan"), -1.0, 1e300])
def test_a_duration_that_is_none_breaks_no_question(write: Any, call: Any, rows: Rows, odd: float) -> None:
    write(call(1, duration_ms=odd))
    assert rows("SELECT ended_at >= started_at FROM calls") == [(True,)]
