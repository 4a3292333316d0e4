"""pydantic-ai's own spans: every tool call one row, with the status that it deserves."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider

import tooltrace as tt
from tests.integrations.otel.conftest import by_call, data
from tooltrace.core.records import ToolCall

pytest.importorskip("pydantic_ai", reason="needs pydantic-ai: make test-pydantic-ai")

pytestmark = pytest.mark.filterwarnings("ignore:Instrumentation format versions")
Calls = Callable[[], list[ToolCall]]


def run(provider: TracerProvider, version: int, script: list[Any], *tools: Callable[..., Any]) -> Any:
    """An agent ``clerk`` whose model asks for the calls of ``script``, one turn after the other."""
    ai = importlib.import_module("pydantic_ai")
    from pydantic_ai.capabilities import Instrumentation
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel
    from pydantic_ai.models.instrumented import InstrumentationSettings

    turns = iter(script)

    def model(messages: Any, info: Any) -> Any:
        turn = next(turns, None)
        if turn is None:
            return ModelResponse(parts=[TextPart("done")])
        return ModelResponse(parts=[ToolCallPart(name, arguments, call_id) for name, arguments, call_id in turn])

    agent = ai.Agent(FunctionModel(model), name="clerk")
    for tool in tools:
        agent.tool_plain(tool)
    settings = InstrumentationSettings(tracer_provider=provider, version=version)
    return agent.run_sync("go", capabilities=[Instrumentation(settings)])


def add(a: int, b: int) -> int:
    return a + b


def post(text: str) -> dict[str, Any]:
    return {"ok": False, "error": "not_in_channel"}


def read(path: str) -> str:
    raise FileNotFoundError(f"no such file: {path}")


@pytest.mark.parametrize("version", [2, 5])
def test_a_success_and_a_failure_by_value(provider: TracerProvider, calls: Calls, version: int) -> None:
    run(provider, version, [[("add", {"a": 1, "b": 2}, "c1"), ("post", {"text": "hi"}, "c2")]], add, post)
    found = by_call(calls)
    assert set(found) == {"c1", "c2"}
    added, posted = found["c1"], found["c2"]
    assert (added.tool, added.status, added.ending, data(added.arguments)) == (
        "add",
        "success",
        "returned",
        {"a": 1, "b": 2},
    )
    assert data(added.result) == 3
    assert (added.agent, added.conversation_id is not None, added.duration_ms is not None) == ("clerk", True, True)
    assert (posted.status, posted.ending, posted.code, posted.rule) == ("error", "returned", "not_in_channel", "flags")
    assert data(added.attributes)["otel.scope.name"] == "pydantic-ai"


@pytest.mark.parametrize("version", [2, 5])
def test_an_exception_is_read_as_the_recorder_reads_one(provider: TracerProvider, calls: Calls, version: int) -> None:
    with pytest.raises(FileNotFoundError):
        run(provider, version, [[("read", {"path": "a.txt"}, "c1")]], read)
    call = by_call(calls)["c1"]
    assert (call.status, call.ending, call.code, call.error_type) == (
        "error",
        "raised",
        "NOT_FOUND",
        "FileNotFoundError",
    )
    assert call.error_message == "no such file: a.txt"
    assert call.retryable is None, "nobody said whether a retry helps"


@pytest.mark.parametrize("version", [2, 5])
def test_a_retry_is_a_failure_and_then_a_call_of_its_own(provider: TracerProvider, calls: Calls, version: int) -> None:
    from pydantic_ai import ModelRetry

    def find(query: str) -> list[str]:
        if query == "x":
            raise ModelRetry("try another query")
        return [query]

    run(provider, version, [[("find", {"query": "x"}, "c1")], [("find", {"query": "y"}, "c2")]], find)
    found = by_call(calls)
    assert [found[name].status for name in ("c1", "c2")] == ["error", "success"]
    assert (found["c1"].ending, found["c1"].error_message) == ("raised", "try another query")
    assert data(found["c1"].attributes)["pydantic_ai.tool.retry.cause"] == "model_retry"
    assert data(found["c2"].result) == ["y"]


@pytest.mark.parametrize("version", [2, 5])
def test_arguments_that_do_not_fit_are_an_error(provider: TracerProvider, calls: Calls, version: int) -> None:
    run(provider, version, [[("add", {"a": "one"}, "c1")], [("add", {"a": 1, "b": 2}, "c2")]], add)
    found = by_call(calls)
    assert (found["c1"].status, found["c1"].code) == ("error", "INVALID_PARAM")
    assert found["c2"].status == "success"


def test_a_traced_tool_is_one_native_row(provider: TracerProvider, store: Path, calls: Calls) -> None:
    tt.configure(store=store, tracer_provider=provider)

    @tt.trace_tool
    def weigh(item: str) -> tt.ToolResponse:
        return tt.ToolResponse.success("3 kg", {"kg": 3}, confidence=0.75)

    @tt.trace_tool
    def find(path: str) -> str:
        raise FileNotFoundError(path)

    with pytest.raises(FileNotFoundError):
        run(provider, 5, [[("weigh", {"item": "a"}, "c1")], [("find", {"path": "b"}, "c2")]], weigh, find)
    weighed, found = calls()
    assert (weighed.tool, weighed.status, weighed.confidence) == ("weigh", "success", 0.75)
    assert (found.tool, found.status, found.ending, found.rule) == ("find", "error", "raised", "exception")


def test_tools_of_a_server_are_one_row_with_the_models_id(provider: TracerProvider, calls: Calls) -> None:
    fastmcp: Any = pytest.importorskip("fastmcp")
    ai = importlib.import_module("pydantic_ai")
    from pydantic_ai.capabilities import Instrumentation
    from pydantic_ai.mcp import MCPToolset
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel
    from pydantic_ai.models.instrumented import InstrumentationSettings

    server = fastmcp.FastMCP("shop")
    server.tool(add)
    server.tool(read)
    wanted = [ToolCallPart("add", {"a": 1, "b": 2}, "c1"), ToolCallPart("read", {"path": "a.txt"}, "c2")]
    turns = iter([wanted, [TextPart("done")]])
    model = FunctionModel(lambda messages, info: ModelResponse(parts=next(turns)))
    agent = ai.Agent(model, name="clerk", toolsets=[MCPToolset(server)])
    agent.run_sync("go", capabilities=[Instrumentation(InstrumentationSettings(tracer_provider=provider))])
    found = by_call(calls)
    assert {name: (call.tool, call.status, call.code) for name, call in found.items()} == {
        "c1": ("add", "success", None),
        "c2": ("read", "error", "NOT_FOUND"),
    }
    assert (data(found["c1"].result), found["c1"].agent) == (3, "clerk")
    assert data(found["c1"].attributes)["fastmcp.server.name"] == "shop", "what the server's span says is there too"


def test_a_call_that_waits_for_a_person_has_not_failed(provider: TracerProvider, calls: Calls) -> None:
    ai = importlib.import_module("pydantic_ai")
    from pydantic_ai.capabilities import Instrumentation
    from pydantic_ai.messages import ModelResponse, ToolCallPart
    from pydantic_ai.models.function import FunctionModel
    from pydantic_ai.models.instrumented import InstrumentationSettings

    model = FunctionModel(lambda messages, info: ModelResponse(parts=[ToolCallPart("drop", {"table": "t"}, "c1")]))
    agent = ai.Agent(model, output_type=[str, ai.DeferredToolRequests])

    @agent.tool_plain
    def drop(table: str) -> str:
        raise ai.ApprovalRequired

    settings = InstrumentationSettings(tracer_provider=provider)
    agent.run_sync("go", capabilities=[Instrumentation(settings)])
    call = by_call(calls)["c1"]
    assert (call.status, call.ending, data(call.arguments)) == (None, "paused", {"table": "t"})
