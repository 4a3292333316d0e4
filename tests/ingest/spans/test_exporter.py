"""Any span of any library into the store, by the name that OpenTelemetry's own configuration finds."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor, SpanExportResult

import tooltrace as tt
from tests.conftest import records
from tooltrace.core.records import Span, ToolCall
from tooltrace.ingest.spans import StoreSpanExporter
from tooltrace.ingest.spans import exporter as module

Calls = Callable[[], list[ToolCall]]
ADD = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "add"}
APP = """
from opentelemetry import trace
import tooltrace as tt

tracer = trace.get_tracer("app")


@tt.trace_tool
def mine(x):
    return x


with tracer.start_as_current_span("agent"):
    span_attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "add", "gen_ai.tool.call.id": "c1"}
    with tracer.start_as_current_span("execute_tool add", attributes=span_attributes):
        pass
    with tracer.start_as_current_span("execute_tool mine", attributes={**span_attributes, "gen_ai.tool.name": "mine"}):
        mine(3)
"""
CONFIGURED = f"""
from opentelemetry.sdk._configuration import _OTelSDKConfigurator

_OTelSDKConfigurator().configure()
{APP}
"""


def test_every_span_is_in_the_store(store: Path, calls: Calls) -> None:
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(StoreSpanExporter()))
    tracer = provider.get_tracer("app")
    with tracer.start_as_current_span("agent"), tracer.start_as_current_span("execute_tool add", attributes=ADD):
        pass
    provider.shutdown()
    assert [call.tool for call in calls()] == ["add"]
    with tt.connect(store) as db:
        assert db.sql("SELECT name, scope FROM spans").fetchall() == [("agent", "app")]
        assert db.sql("SELECT tool, status FROM tool_calls").fetchall() == [("add", "success")]


def test_a_span_of_the_recorder_is_one_row(store: Path, calls: Calls) -> None:
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(StoreSpanExporter()))
    tt.configure(store=store, tracer_provider=provider)

    @tt.trace_tool
    def add(a: int) -> int:
        return a

    with provider.get_tracer("app").start_as_current_span("execute_tool add", attributes=ADD):
        add(1)
    assert [call.rule for call in calls()] == ["plain"]
    assert [type(record) for record in records(store)].count(Span) == 1


def test_an_internal_fault_is_a_failed_export(store: Path, lenient: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("ours")

    monkeypatch.setattr(module, "from_sdk", broken)
    provider = TracerProvider()
    exporter = StoreSpanExporter()
    span = provider.get_tracer("app").start_span("agent")
    span.end()
    assert exporter.export([span]) is SpanExportResult.FAILURE  # type: ignore[list-item]
    assert not tt.flush(None)
    assert [type(record).__name__ for record in records(store)] == ["Loss"]


def test_the_name_is_registered() -> None:
    (found,) = entry_points(group="opentelemetry_traces_exporter", name="tooltrace")
    assert found.load() is StoreSpanExporter


@pytest.mark.processes
@pytest.mark.parametrize("how", ["configurator", "opentelemetry-instrument"])
def test_an_environment_variable_is_enough(tmp_path: Path, how: str) -> None:
    command = [sys.executable, "-c", CONFIGURED]
    if how != "configurator":
        pytest.importorskip("opentelemetry.distro", reason="needs opentelemetry-distro: make test-pydantic-ai")
        command = [str(Path(sys.executable).with_name(how)), sys.executable, "-c", APP]
    settings = {"OTEL_TRACES_EXPORTER": "tooltrace", "OTEL_METRICS_EXPORTER": "none", "OTEL_LOGS_EXPORTER": "none"}
    place = {"TOOLTRACE_STORE": str(tmp_path / "a.duckdb"), "TOOLTRACE_STRICT": "1", "OTEL_SERVICE_NAME": "shop"}
    done = subprocess.run(command, env={**os.environ, **settings, **place}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    with tt.connect(tmp_path / "a.duckdb") as db:
        calls = db.sql("SELECT tool, call_id = span_id, service FROM tool_calls ORDER BY tool").fetchall()
        assert calls == [("add", False, "shop"), ("mine", False, "shop")]
        assert db.sql("SELECT name FROM spans ORDER BY name").fetchall() == [("agent",), ("execute_tool mine",)]
        assert db.sql("SELECT count(*) FROM losses").fetchall() == [(0,)]
