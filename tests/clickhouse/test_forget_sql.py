"""The SQL that the documentation gives for forgetting and pruning in ClickHouse, on the engine."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.clickhouse.compare import address
from tests.clickhouse.conftest import Fill
from tooltrace.cli import cli
from tooltrace.clickhouse.attribute_sql import Variant
from tooltrace.core.records import Correction, Gate, Message, Outcome, Record, Span, ToolCall
from tooltrace.redact.snapshot import Json

HOW_TO = Path(__file__).parents[2] / "docs" / "how-to"
SECRET = "the-secret-of-a-user"
START = datetime.now(UTC).replace(microsecond=0) - timedelta(hours=1)
TABLES = ("otel_traces", "otel_logs")
OWN_TABLES = ("attempts", "outcomes", "corrections", "messages", "gate_events")


def statements(page: str, database: str, variant: Variant = "map") -> Iterator[str]:
    """The SQL for ClickHouse on a page, for another database and form of attributes."""
    text = (HOW_TO / page).read_text().partition("## In ClickHouse")[2].partition("\n## ")[0]
    for block in re.findall(r"```sql\n(.*?)```", text, re.DOTALL):
        for statement in filter(str.strip, block.split(";\n")):
            sql = statement.replace("otel.", f"{database}.", 1).replace(" otel.", f" {database}.")
            if variant == "json":
                sql = re.sub(r"(\w+Attributes)\['([^']+)'\]", r"CAST(\1.`\2`, 'String')", sql)
            yield sql.strip().rstrip(";")


def about(number: int, conversation: str, text: str, **more: Any) -> list[Record]:
    """A call and records of each kind about it."""
    started_at = more.pop("started_at", START)
    call = ToolCall(
        tool="search", call_id=f"call_{number}", trace_id=f"{number:032x}", span_id=f"{number:016x}", text=text,
        conversation_id=conversation, started_at=started_at, recorder_version="0.2.0", **{"status": "success", **more},
    )  # fmt: skip
    of = {"call_id": call.call_id, "span_id": call.span_id}
    return [
        call,
        Span(
            trace_id=call.trace_id, span_id=f"e{number:015x}", name="chat", started_at=started_at,
            attributes=Json(f'{{"prompt":"{text}"}}'),
        ),
        Message(**of, text=text, sha256="0" * 64, length=len(text), error=False, at=started_at),
        Outcome(**of, correct=True, reason=text, labeled_at=started_at),
        Outcome(call_id=call.call_id, score=0.5, reason=text, labeled_at=started_at),
        Correction(**of, status="error", reason=text, corrected_at=started_at),
        Gate(**of, kind="confirmation", note=text, asked_at=started_at),
    ]  # fmt: skip


@pytest.fixture(params=["map", "json"])
def variant(request: pytest.FixtureRequest) -> Variant:
    return request.param


@pytest.fixture
def count(engine: Any) -> Callable[[str, str], int]:
    """The rows of a table, and those with the secret in any column."""

    def count(table: str, text: str = "") -> int:
        where = f"WHERE position(formatRow('JSONEachRow', *), '{text}') > 0" if text else ""
        return int(engine.query(f"SELECT count() FROM {table} {where}").result_rows[0][0])

    return count


def test_the_sql_for_forgetting_removes_every_row_of_the_conversation_alone(
    engine: Any, fill: Fill, count: Callable[..., int], variant: Variant
) -> None:
    database = f"forgetting_{variant}"
    fill(database, [*about(1, "other", "plain"), *about(2, "4f1c", SECRET)], variant)
    url = f"{address(engine, database).url}&variant={variant}"
    CliRunner().invoke(cli, ["clickhouse", "init", "--tables", "--apply", "--store", url], catch_exceptions=False)
    engine.command(f"OPTIMIZE TABLE {database}.tooltrace_corrections FINAL")  # filled for the views, and again
    tables = [f"{database}.{name}" for name in (*TABLES, *(f"tooltrace_{name}" for name in OWN_TABLES))]
    before = {table: count(table) for table in tables}
    assert all(count(table, SECRET) for table in tables), "the probe finds the secret before"
    for statement in statements("forget.md", database, variant):
        engine.command(statement)
        if "tooltrace_outcomes" in statement:
            for name in ("messages", "gate_events"):
                engine.command(statement.replace("tooltrace_outcomes", f"tooltrace_{name}"))
    assert not any(count(table, SECRET) for table in tables)
    assert {table: 2 * count(table) for table in tables} == before, "the other conversation is complete"
    assert not count("system.tables", "forgotten")


def test_the_sql_for_pruning_deletes_old_rows_and_keeps_failed_traces(
    engine: Any, fill: Fill, count: Callable[..., int]
) -> None:
    old = START - timedelta(days=100)
    records = [
        *about(1, "a", "recent"),
        *about(2, "b", "expired", started_at=old),
        *about(3, "c", "failed", started_at=old, status="error", code="TIMEOUT", ending="raised"),
    ]
    fill("pruning", records)
    *ttl, spans, logs = statements("retention.md", "pruning")
    engine.command(logs)
    engine.command(spans)
    assert {text: count("pruning.otel_traces", text) for text in ("recent", "expired", "failed")} == {
        "recent": 2, "expired": 0, "failed": 2,
    }  # fmt: skip
    assert count("pruning.otel_logs", "recent") == 5
    assert count("pruning.otel_logs", "expired") == 0
    for statement in ttl:
        engine.command(statement, settings={"mutations_sync": 1})
    for table in TABLES:
        engine.command(f"OPTIMIZE TABLE pruning.{table} FINAL")
        assert count(f"pruning.{table}", "failed") == 0, "the TTL applies to all rows"
        assert count(f"pruning.{table}", "recent") > 0
