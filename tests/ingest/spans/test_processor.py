"""The processor beside real instrumentation: quick, quiet, one row a call."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.trace import Link, Status, StatusCode, Tracer, set_span_in_context

import tooltrace as tt
from tests.conftest import records
from tests.ingest.spans.conftest import data
from tooltrace.core.records import Span, ToolCall
from tooltrace.ingest.spans import processor as module

Calls = Callable[[], list[ToolCall]]
ADD = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "add"}
MCP = {"mcp.method.name": "tools/call", "gen_ai.tool.name": "add"}


@pytest.fixture
def provider(store: Path) -> Iterator[TracerProvider]:
    provider = TracerProvider()
    provider.add_span_processor(tt.TooltraceSpanProcessor())
    tt.configure(store=store, tracer_provider=provider, service="shop")
    yield provider
    provider.shutdown()


@pytest.fixture
def tracer(provider: TracerProvider) -> Tracer:
    return provider.get_tracer("agent")


def test_it_is_a_span_processor() -> None:
    assert issubclass(tt.TooltraceSpanProcessor, SpanProcessor)


def test_a_tool_call_of_another_is_a_row(tracer: Tracer, calls: Calls) -> None:
    with (
        tracer.start_as_current_span("agent"),
        tracer.start_as_current_span("execute_tool add", attributes=ADD) as span,
    ):
        span.set_attribute("gen_ai.tool.call.arguments", '{"a":1}')
    (call,) = calls()
    assert (call.tool, call.status, data(call.arguments)) == ("add", "success", {"a": 1})
    assert call.span_id == f"{span.get_span_context().span_id:016x}"
    assert (call.service, call.host is not None, call.pid is not None) == ("shop", True, True), "this process made it"


def test_agent_and_conversation_come_from_enclosing_open_spans(tracer: Tracer, calls: Calls) -> None:
    with (
        tracer.start_as_current_span("chat", attributes={"gen_ai.conversation.id": "chat-7"}),
        tracer.start_as_current_span(
            "invoke_agent", attributes={"gen_ai.agent.name": "planner", "gen_ai.request.model": "m"}
        ),
        tracer.start_as_current_span("invoke_agent") as inner,
    ):
        inner.set_attribute("gen_ai.agent.name", "clerk")
        with tracer.start_as_current_span("execute_tool add", attributes=ADD):
            pass
    (call,) = calls()
    assert (call.agent, call.conversation_id, call.model) == ("clerk", "chat-7", "m")


def test_a_span_that_does_not_use_the_context_is_part_of_the_call_in_which_it_began(
    tracer: Tracer, calls: Calls
) -> None:
    """An instrumentation may look for parents by itself, as OpenInference's of LlamaIndex does."""
    with tracer.start_as_current_span("step") as step:
        itself = set_span_in_context(step)

        @tt.trace_tool(name="add")
        def add(a: int) -> int:
            tracer.start_span("add", context=itself, attributes={**ADD, "gen_ai.tool.call.arguments": '{"a":1}'}).end()
            tracer.start_span("other", context=itself, attributes={**ADD, "gen_ai.tool.name": "other"}).end()
            return a

        add(1)
        tracer.start_span("add", context=itself, attributes={**ADD, "gen_ai.tool.call.arguments": '{"a":1}'}).end()
    found = calls()
    assert [(call.tool, call.text) for call in found] == [("add", None), ("other", None), ("add", None)]
    assert [call.result for call in found] == ["1", None, None]
    assert found[1].parent_span_id == found[0].parent_span_id, "the span's own parent"


def test_attributes_that_come_later_count(tracer: Tracer, calls: Calls) -> None:
    with tracer.start_as_current_span("call") as outer:
        with tracer.start_as_current_span("execute_tool other", attributes={**ADD, "gen_ai.tool.name": "other"}):
            pass
        outer.set_attributes({**ADD, "gen_ai.tool.call.id": "c1"})
        with tracer.start_as_current_span("execute_tool add", attributes={**ADD, "gen_ai.tool.call.id": "c1"}):
            pass
    assert sorted((call.tool, call.call_id == "c1") for call in calls()) == [("add", True), ("other", False)]


def test_other_spans_are_stored_only_on_request(store: Path, tracer: Tracer, calls: Calls) -> None:
    with tracer.start_as_current_span("agent"):
        pass
    assert calls() == []
    assert records(store) == []
    provider = TracerProvider()
    provider.add_span_processor(tt.TooltraceSpanProcessor(spans=True))
    with provider.get_tracer("x").start_as_current_span("agent", links=[Link(_ids())]) as span:
        span.add_event("began", {"list": [1, 2]})
        span.set_status(Status(StatusCode.ERROR, "broken"))
    assert tt.flush()
    (kept,) = records(store)
    assert isinstance(kept, Span)
    assert (kept.name, kept.status, kept.status_message, kept.scope) == ("agent", "error", "broken", "x")
    assert data(kept.events)[0]["attributes"] == {"list": [1, 2]}
    assert data(kept.links)[0]["span_id"] == "000000000000000b"


def _ids() -> Any:
    from opentelemetry.trace import SpanContext

    return SpanContext(10, 11, is_remote=True)


def test_spans_inside_a_call_wait_for_it(store: Path, provider: TracerProvider, tracer: Tracer, calls: Calls) -> None:
    sdk = provider.get_tracer("mcp")
    with tracer.start_as_current_span("execute_tool add", attributes=ADD) as outer:
        with sdk.start_as_current_span("POST"), sdk.start_as_current_span("tools/call add", attributes=MCP):
            pass
        assert calls() == [], "it is not known yet whose call it is"
        outer.set_attribute("gen_ai.tool.call.id", "c1")
    (call,) = calls()
    assert (call.call_id, call.span_id) == ("c1", f"{outer.get_span_context().span_id:016x}")
    assert [type(record) for record in records(store)].count(Span) == 1


def test_a_call_inside_an_agent_inside_a_call_does_not_wait(tracer: Tracer, calls: Calls) -> None:
    with tracer.start_as_current_span("execute_tool plan", attributes={**ADD, "gen_ai.tool.name": "plan"}):
        with tracer.start_as_current_span("agent", attributes={"gen_ai.operation.name": "invoke_agent"}):
            with tracer.start_as_current_span("execute_tool add", attributes=ADD):
                pass
        assert [call.tool for call in calls()] == ["add"]
    assert [call.tool for call in calls()] == ["plan", "add"]


@pytest.mark.parametrize("outer", ["theirs", "ours"])
def test_a_traced_tool_is_one_native_row(store: Path, tracer: Tracer, calls: Calls, outer: str) -> None:
    def work() -> None:
        with tracer.start_as_current_span("tools/call add", attributes=MCP):
            pass

    @tt.trace_tool
    def add(a: int) -> tt.ToolResponse:
        if outer == "ours":
            work()
        return tt.ToolResponse.success(str(a), confidence=0.75)

    if outer == "theirs":
        with tracer.start_as_current_span(
            "execute_tool add", attributes={**ADD, "gen_ai.tool.call.arguments": '{"a":1}'}
        ):
            add(1)
    else:
        add(1)
    (call,) = calls()
    assert (call.tool, call.confidence, call.rule) == ("add", 0.75, "tool_response")
    assert [type(record) for record in records(store)].count(Span) == 1


def test_an_exception_belongs_to_the_tool_only(tracer: Tracer, calls: Calls) -> None:
    with pytest.raises(FileNotFoundError, match=r"a\.txt"):
        with tracer.start_as_current_span("execute_tool add", attributes=ADD):
            raise FileNotFoundError("a.txt")
    (call,) = calls()
    assert (call.status, call.ending, call.code, call.error_message) == ("error", "raised", "NOT_FOUND", "a.txt")


def test_flush_writes_waiting_spans(provider: TracerProvider, tracer: Tracer, calls: Calls) -> None:
    with tracer.start_as_current_span("execute_tool add", attributes=ADD):
        with provider.get_tracer("mcp").start_as_current_span("tools/call add", attributes=MCP):
            pass
        assert provider.force_flush()
        assert len(calls()) == 1
    assert len(calls()) == 1, "the outer one is a double of what is written"


def test_after_shutdown_nothing_is_recorded(provider: TracerProvider, tracer: Tracer, calls: Calls) -> None:
    with tracer.start_as_current_span("execute_tool add", attributes=ADD):
        with provider.get_tracer("mcp").start_as_current_span("tools/call add", attributes=MCP):
            pass
        provider.shutdown()
    assert len(calls()) == 1


@pytest.mark.long
def test_many_threads_lose_nothing(provider: TracerProvider, tracer: Tracer, calls: Calls) -> None:
    def agent() -> None:
        for _ in range(100):
            with tracer.start_as_current_span("execute_tool add", attributes=ADD):
                with provider.get_tracer("mcp").start_as_current_span("tools/call add", attributes=MCP):
                    pass

    threads = [threading.Thread(target=agent) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(calls()) == 800


def test_span_conversion_runs_in_the_recorders_thread(
    store: Path, provider: TracerProvider, tracer: Tracer, calls: Calls
) -> None:
    workers: set[int] = set()
    release = threading.Event()

    def held(_name: str, value: Any) -> Any:
        workers.add(threading.get_ident())
        assert release.wait()
        return value

    tt.configure(store=store, tracer_provider=provider, redact=held)
    attributes = ADD | {"gen_ai.tool.call.arguments": '{"a":1}'}
    for _ in range(300):
        tracer.start_span("execute_tool add", attributes=attributes).end()  # returns while the other thread is held up
    release.set()
    assert len(calls()) == 300
    assert len(workers) == 1
    assert threading.get_ident() not in workers


def test_open_spans_are_bounded(monkeypatch: pytest.MonkeyPatch, tracer: Tracer, calls: Calls) -> None:
    monkeypatch.setattr(module, "_MAX_OPEN", 10)
    outer = tracer.start_span("execute_tool add", attributes=ADD)
    from opentelemetry.trace import set_span_in_context

    inner = tracer.start_span("tools/call add", attributes=MCP, context=set_span_in_context(outer))
    inner.end()
    held = [tracer.start_span("never ends") for _ in range(12)]
    assert len(calls()) == 1, "the one that was waited for is forgotten"
    outer.end()
    assert len(calls()) == 1
    assert len(held) == 12


def _child(tracer: Tracer, outer: Any) -> None:
    with tracer.start_as_current_span("execute_tool child", attributes={**ADD, "gen_ai.tool.name": "child"}):
        pass
    outer.end()
    tt.shutdown()


def test_a_forked_child_records_its_own_and_not_its_parents(
    provider: TracerProvider, tracer: Tracer, calls: Calls
) -> None:
    with tracer.start_as_current_span("execute_tool add", attributes=ADD) as outer:
        with provider.get_tracer("mcp").start_as_current_span("tools/call add", attributes=MCP):
            pass
        child = multiprocessing.get_context("fork").Process(target=_child, args=(tracer, outer))
        child.start()
        child.join()
        assert child.exitcode == 0
    assert sorted(call.tool for call in calls()) == ["add", "child"]


def test_an_internal_fault_is_counted_and_not_raised(
    store: Path, tracer: Tracer, lenient: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> bool:
        raise RuntimeError("ours")

    monkeypatch.setattr(module, "is_tool_span", broken)
    with tracer.start_as_current_span("execute_tool add", attributes=ADD):
        pass
    assert not tt.flush(None)
    assert [type(record).__name__ for record in records(store)] == ["Loss"]
