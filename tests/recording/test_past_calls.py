"""Calls of the past, recorded from an application's own logs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import tooltrace as tt
from tooltrace.errors import ConfigError

START = datetime(2026, 3, 1, 12, 0, 0, 500_000)
EAST = timezone(timedelta(hours=2))


def test_a_call_of_the_past_keeps_its_start_its_duration_and_its_version(tmp_path):
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tt.configure(store=tmp_path / "past.duckdb", tracer_provider=provider)
    log = tt.TraceLogger(version="2.0")
    log.record("pay", "done", started_at=START, duration_ms=84.0, tool_version="1.4", call_id="c1")
    log.record("pay", ValueError("no"), started_at=(START + timedelta(hours=3)).replace(tzinfo=EAST), call_id="c2")
    log.record("pay", "done", call_id="c3")
    tt.flush()
    with tt.connect() as db:
        rows = db.execute(
            "SELECT started_at, duration_ms, tool_version, status FROM tool_calls ORDER BY call_id"
        ).fetchall()
    assert rows[:2] == [
        (START, 84.0, "1.4", "success"),
        (START + timedelta(hours=1), None, "2.0", "error"),
    ]
    assert abs(rows[2][0] - datetime.now(UTC).replace(tzinfo=None)) < timedelta(minutes=10)
    first = exporter.get_finished_spans()[0]
    assert (first.start_time, first.end_time - first.start_time) == (1_772_366_400_500_000_000, 84_000_000)
    tt.shutdown()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"started_at": "2026-03-01"}, "started_at must be a datetime .* got str"),
        ({"started_at": 1772366400}, "got int"),
        ({"started_at": datetime(1969, 1, 1)}, "got 1969-01-01"),
        ({"started_at": datetime.now(UTC) + timedelta(days=1)}, "to now, .* got 20"),
        ({"tool_version": 1.4}, "tool_version must be a text; got float for the tool 'pay'"),
    ],
)
def test_what_is_not_a_past_call_is_refused(given, message):
    with pytest.raises(ConfigError, match=message):
        tt.TraceLogger().record("pay", "done", **given)
