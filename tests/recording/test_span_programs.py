"""Spans in programs of their own: late providers, a disabled SDK, structlog."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import tooltrace as tt

pytestmark = pytest.mark.processes


def program(text: str, **environment: str) -> subprocess.CompletedProcess[str]:
    import os

    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(text)],
        capture_output=True, text=True, check=False, cwd=Path(tt.__file__).parent.parent,
        env={**os.environ, **environment},
    )  # fmt: skip


def test_without_a_provider_there_is_no_warning(tmp_path: Path) -> None:
    done = program(
        """
        import tooltrace as tt
        assert tt.trace_tool(lambda: 5)() == 5
        assert tt.flush()
        """,
        TOOLTRACE_STORE=str(tmp_path / "x.duckdb"),
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert list(tmp_path.glob("x.duckdb.journal/*.jsonl"))


def test_providers_may_be_set_late_and_the_histogram_counts(tmp_path: Path) -> None:
    done = program(
        """
        import tooltrace as tt
        tool = tt.trace_tool(name="t")(lambda fails=False: 1 / 0 if fails else 5)
        tool(); tt.flush()
        from opentelemetry import trace, metrics
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import SimpleSpanProcessor
        from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import InMemoryMetricReader
        out, reader, provider = InMemorySpanExporter(), InMemoryMetricReader(), TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(out))
        trace.set_tracer_provider(provider)
        metrics.set_meter_provider(MeterProvider([reader]))
        tool(); tool()
        try: tool(True)
        except ZeroDivisionError: pass
        tt.flush()
        assert len(out.get_finished_spans()) == 3
        (metric,) = reader.get_metrics_data().resource_metrics[0].scope_metrics[0].metrics
        assert (metric.name, metric.unit) == ("gen_ai.execute_tool.duration", "s")
        points = {p.attributes.get("error.type"): p for p in metric.data.data_points}
        assert (points[None].count, points["ZeroDivisionError"].count) == (2, 1)
        assert tuple(points[None].explicit_bounds)[:2] == (0.01, 0.02) and len(points[None].explicit_bounds) == 14
        assert dict(points[None].attributes) == {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t",
                                                 "gen_ai.tool.type": "function"}
        """,
        TOOLTRACE_STORE=str(tmp_path / "x.duckdb"),
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_users_structlog_gets_the_line_with_its_bound_values(tmp_path: Path) -> None:
    done = program(
        """
        import structlog, tooltrace as tt
        structlog.configure(processors=[structlog.contextvars.merge_contextvars, structlog.processors.add_log_level,
                                        structlog.processors.JSONRenderer(sort_keys=True)])
        structlog.contextvars.bind_contextvars(request="r1")
        tt.trace_tool(name="t")(lambda: 5)()
        tt.trace_tool(name="u")(lambda: tt.ToolResponse.error("E", "m"))()
        sources = [tt.Source(type="database", id="orders")]
        tt.trace_tool(name="v")(lambda: tt.ToolResponse.success("x", stats={"rows": 3}, confidence=0.7, sources=sources))()
        """,
        TOOLTRACE_STORE=str(tmp_path / "x.duckdb"),
    )
    assert (done.returncode, done.stderr) == (0, "")
    first, second, third = map(json.loads, done.stdout.splitlines())
    assert (first["event"], first["request"], first["tool"], first["level"]) == ("tool_call", "r1", "t", "info")
    assert (second["level"], second["status"], second["code"], second["error_message"]) == (
        "warning",
        "error",
        "E",
        "m",
    )
    assert (third["status"], third["stats"], third["confidence"]) == ("success", {"rows": 3}, 0.7)
    assert third["sources"] == [{"type": "database", "id": "orders"}]


def test_the_sdk_switched_off(tmp_path: Path) -> None:
    done = program(
        """
        import tooltrace as tt
        from opentelemetry.sdk.trace import TracerProvider
        tt.configure(tracer_provider=TracerProvider())
        assert tt.trace_tool(lambda: 5)() == 5
        """,
        TOOLTRACE_STORE=str(tmp_path / "x.duckdb"),
        OTEL_SDK_DISABLED="true",
    )
    assert (done.returncode, done.stderr) == (0, "")
