"""LangChain's tools under two instrumentations: every call one row, with the status that it deserves."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider

from tests.integrations.otel.conftest import data
from tooltrace.core.records import ToolCall

tools: Any = pytest.importorskip("langchain_core.tools", reason="needs langchain-core: make test-langchain")

Calls = Callable[[], list[ToolCall]]
INSTRUMENTORS = {
    "openinference": ("openinference.instrumentation.langchain", "LangChainInstrumentor"),
    "traceloop": ("opentelemetry.instrumentation.langchain", "LangchainInstrumentor"),
}


@pytest.fixture(params=INSTRUMENTORS)
def instrumentation(request: pytest.FixtureRequest, provider: TracerProvider) -> Iterator[str]:
    module, name = INSTRUMENTORS[request.param]
    instrumentor = getattr(importlib.import_module(module), name)()
    instrumentor.instrument(tracer_provider=provider)
    yield request.param
    instrumentor.uninstrument()


def asked(name: str, arguments: dict[str, Any], call_id: str) -> dict[str, Any]:
    return {"type": "tool_call", "name": name, "args": arguments, "id": call_id}


@tools.tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


@tools.tool
def post(text: str) -> dict[str, Any]:
    """Post."""
    return {"ok": False, "error": "not_in_channel"}


@tools.tool
def read(path: str) -> str:
    """Read."""
    raise FileNotFoundError(f"no such file: {path}")


def refuse(path: str) -> str:
    """Refuse."""
    raise tools.ToolException("permission denied")


def test_a_success(instrumentation: str, calls: Calls) -> None:
    add.invoke(asked("add", {"a": 1, "b": 2}, "c1"))
    (call,) = calls()
    assert (call.tool, call.status, call.call_id) == ("add", "success", "c1")
    assert (data(call.arguments), call.tool_description) == ({"a": 1, "b": 2}, "Add.")
    assert call.text == "3" or data(call.result) == 3


def test_a_plain_call_has_its_own_result(instrumentation: str, calls: Calls) -> None:
    add.invoke({"a": 1, "b": 2})
    (call,) = calls()
    assert call.status == "success"
    assert str(data(call.result)) == "3"
    assert call.call_id == call.span_id, "nobody gave an id"


def test_a_failure_by_value(instrumentation: str, calls: Calls) -> None:
    post.invoke(asked("post", {"text": "hi"}, "c1"))
    (call,) = calls()
    assert (call.status, call.ending, call.code) == ("error", "returned", "not_in_channel")


def test_an_exception(instrumentation: str, calls: Calls) -> None:
    with pytest.raises(FileNotFoundError):
        read.invoke(asked("read", {"path": "a.txt"}, "c1"))
    (call,) = calls()
    assert (call.status, call.ending, call.code, call.error_type) == (
        "error",
        "raised",
        "NOT_FOUND",
        "FileNotFoundError",
    )
    assert call.error_message == "no such file: a.txt"


def test_an_exception_that_the_tool_answers_itself(instrumentation: str, calls: Calls) -> None:
    tool = tools.StructuredTool.from_function(refuse, handle_tool_error=True)
    tool.invoke(asked("refuse", {"path": "a"}, "c1"))
    (call,) = calls()
    assert (call.status, call.ending, call.code) == ("error", "returned", "PERMISSION_DENIED")


async def test_an_awaited_call_and_a_retry_of_it(instrumentation: str, calls: Calls) -> None:
    await add.ainvoke(asked("add", {"a": 1, "b": 2}, "c1"))
    await add.ainvoke(asked("add", {"a": 1, "b": 2}, "c1"))
    assert [(call.status, call.call_id) for call in calls()] == [("success", "c1")] * 2


def test_agent_and_conversation_of_an_agents_tool(instrumentation: str, calls: Calls) -> None:
    agents = pytest.importorskip("langchain.agents")
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage

    class Scripted(GenericFakeChatModel):
        def bind_tools(self, *_args: Any, **_named: Any) -> Any:
            return self

    request = AIMessage("", tool_calls=[{"name": "add", "args": {"a": 1, "b": 2}, "id": "c1"}])
    agent = agents.create_agent(Scripted(messages=iter([request, AIMessage("done")])), tools=[add], name="clerk")
    agent.invoke({"messages": [("user", "go")]}, {"configurable": {"thread_id": "thread-7"}})
    # after a run with Traceloop's instrumentation, LangGraph still calls it
    scope = INSTRUMENTORS[instrumentation][0]
    (call,) = [call for call in calls() if data(call.attributes)["otel.scope.name"] == scope]
    assert (call.tool, call.call_id, call.agent, call.conversation_id) == ("add", "c1", "clerk", "thread-7")
    assert data(call.arguments) == {"a": 1, "b": 2}
