"""Exceptions of tools are log events of their span, if the application has a LoggerProvider."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import opentelemetry._logs._internal as logs_api
import pytest
from opentelemetry import trace as trace_api
from opentelemetry._logs import NoOpLoggerProvider, SeverityNumber
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

import tooltrace as tt
from tests.otel.conftest import Logs, exporting
from tooltrace.integrations.framework_call import FrameworkCall, spec_for
from tooltrace.otel import attributes as names
from tooltrace.redact.redaction import MASK
from tooltrace.version import __version__


@tt.trace_tool(name="shelf")
def broken(path: str) -> None:
    """Look on a shelf."""
    raise FileNotFoundError(f"no {path}; password=hunter22222")


def fail(tool: Any, *args: Any) -> None:
    try:
        tool(*args)
    except Exception:
        pass


def test_an_exception_is_an_event_of_the_conventions(store: Path, calls: Any, logs: Logs) -> None:
    with tt.context(call_id="c", conversation_id="chat", agent="clerk"):
        fail(broken, "book")
        fail(broken, "book")
    (first, second), (event, again) = calls(), logs()
    record = event.log_record
    assert (record.event_name, record.severity_number) == ("gen_ai.execute_tool.exception", SeverityNumber.WARN)
    assert record.severity_text == "WARN"
    assert (f"{record.trace_id:032x}", f"{record.span_id:016x}") == (first.trace_id, first.span_id)
    assert f"{again.log_record.span_id:016x}" == second.span_id
    scope = event.instrumentation_scope
    assert (scope.name, scope.version, scope.schema_url) == ("tooltrace", __version__, names.SCHEMA_URL)
    assert dict(record.attributes) == {
        "exception.type": "FileNotFoundError",
        "exception.message": f"no book; password={MASK}",
        "exception.stacktrace": first.traceback,
        "error.type": "FileNotFoundError",
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "shelf",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": "c",
        "gen_ai.agent.name": "clerk",
        "gen_ai.conversation.id": "chat",
        "tooltrace.attempt": 1,
    }
    assert again.log_record.attributes["tooltrace.attempt"] == 2


def test_the_exception_is_on_no_span_as_well(store: Path, logs: Logs) -> None:
    provider, exporter = exporting()
    tt.configure(store=store, tracer_provider=provider)
    fail(broken, "book")
    (span,) = exporter.get_finished_spans()
    assert (len(logs()), span.events) == (1, ())


def test_an_exception_recorded_by_the_tool_is_sent_once(store: Path, logs: Logs) -> None:
    provider, exporter = exporting()
    tt.configure(store=store, tracer_provider=provider)

    @tt.trace_tool
    def careful() -> None:
        try:
            raise OSError("full")
        except OSError as error:
            trace_api.get_current_span().record_exception(error)
            raise

    fail(careful)
    (span,) = exporter.get_finished_spans()
    assert ([event.name for event in span.events], logs()) == (["exception"], [])


def test_only_raised_errors_are_exception_events(store: Path, calls: Any, logs: Logs) -> None:
    @tt.trace_tool
    async def cancelled() -> None:
        raise asyncio.CancelledError

    tt.trace_tool(lambda: tt.ToolResponse.error("TIMEOUT", "late"))()
    tt.trace_tool(lambda: {"ok": False, "error": "gone"})()
    tt.trace_tool(lambda: OSError("returned"))()
    tt.trace_tool(lambda: 1)()
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled())
    assert [call.status for call in calls()] == ["error", "error", "error", "success", None]
    assert logs() == []


def test_the_event_is_in_the_trace_and_not_in_that_of_the_thread_that_sends_it(store: Path, logs: Logs) -> None:
    provider, exporter = exporting()
    tt.configure(store=store, tracer_provider=provider)
    with provider.get_tracer("agent").start_as_current_span("invoke_agent") as outer:
        before = time.time_ns()
        fail(broken, "book")
        after = time.time_ns()
    (event,) = logs()
    span = exporter.get_finished_spans()[0]
    assert event.log_record.trace_id == outer.get_span_context().trace_id
    assert event.log_record.span_id == span.context.span_id
    assert event.log_record.trace_flags == span.context.trace_flags
    rounding = 1_000_000
    assert before - rounding <= event.log_record.timestamp <= after + rounding


def test_the_event_of_an_unsampled_span_is_marked(store: Path, logs: Logs) -> None:
    provider, exporter = exporting(sampler=ALWAYS_OFF)
    tt.configure(store=store, tracer_provider=provider)
    fail(broken, "book")
    (event,) = logs()
    assert (event.log_record.trace_flags.sampled, exporter.get_finished_spans()) == (False, ())


@pytest.mark.parametrize("durability", ["batch", "call", "fsync"])
def test_each_exception_is_sent_once_at_every_durability(store: Path, logs: Logs, durability: Any) -> None:
    tt.configure(store=store, durability=durability)
    for _ in range(3):
        fail(broken, "book")
    assert len(logs()) == 3


def test_exception_events_need_no_store(store: Path, logs: Logs) -> None:
    tt.configure(store=None)
    fail(broken, "book")
    assert len(logs()) == 1


@pytest.mark.parametrize("provider", [None, NoOpLoggerProvider()])
def test_without_a_provider_nothing_is_made(
    store: Path, calls: Any, monkeypatch: pytest.MonkeyPatch, provider: Any
) -> None:
    monkeypatch.setattr(logs_api, "_LOGGER_PROVIDER", provider)
    monkeypatch.setattr("tooltrace.recording.sinks.otel_events.emit_exception", None)
    fail(broken, "book")
    assert len(calls()) == 1


@pytest.mark.usefixtures("lenient")
def test_a_failing_event_logger_costs_no_row(
    store: Path, calls: Any, logs: Logs, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise RuntimeError("no network")

    monkeypatch.setattr(logs_api.get_logger_provider(), "get_logger", full)
    fail(broken, "book")
    fail(broken, "book")
    assert len(calls()) == 2
    with tt.connect() as db:
        assert db.execute("SELECT count(*) FROM losses").fetchone() == (0,)


def by_decorator(value: dict[str, Any]) -> None:
    assert tt.trace_tool(lambda: value)() is value


def by_logger(value: dict[str, Any]) -> None:
    tt.TraceLogger().record("tool", value)


def by_registry(value: dict[str, Any]) -> None:
    def tool() -> dict[str, Any]:
        return value

    response = tt.ToolRegistry(tools=[tool]).execute("tool", {})
    assert (response.status, response.data) == ("error", {}), "the model reads the error"


def by_integration(value: dict[str, Any]) -> None:
    FrameworkCall(spec_for("tool"), {}, style="test").returned(value)


def by_integrations_cache(value: dict[str, Any]) -> None:
    FrameworkCall(spec_for("tool"), {}, style="test").cached(value)


@pytest.mark.parametrize("record", [by_decorator, by_logger, by_registry, by_integration, by_integrations_cache])
@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ({"ok": False, "error": "gone"}, {"ok": False, "error": "gone"}),
        ({"success": False, "error": {"code": "X", "message": "no"}}, None),  # the columns of the error have all of it
    ],
)
def test_a_failure_by_value_is_the_result_in_row_and_span(
    store: Path, calls: Any, value: dict[str, Any], kept: dict[str, Any] | None, record: Any
) -> None:
    provider, exporter = exporting()
    tt.configure(store=store, tracer_provider=provider)
    record(value)
    (call,) = calls()
    (span,) = exporter.get_finished_spans()
    assert (call.status, call.result and json.loads(call.result)) == ("error", kept)
    assert json.loads(span.attributes.get("gen_ai.tool.call.result", "null")) == kept


def test_secrets_in_a_failure_by_value_are_redacted(store: Path, calls: Any) -> None:
    tt.trace_tool(lambda: {"ok": False, "error": "no", "api_key": "sk-abcdefghijklmnopqrstuvwx"})()
    (call,) = calls()
    assert "sk-abc" not in repr(call) and json.loads(call.result)["ok"] is False
