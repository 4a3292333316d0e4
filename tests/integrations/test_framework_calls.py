"""Context of calls in pydantic-ai, openai-agents and LangGraph, their pauses, and objects that cannot be decorated."""

from __future__ import annotations

import asyncio
import json
from typing import Annotated, Any

import pytest
from opentelemetry.sdk.trace import TracerProvider

import tooltrace as tt
from tests.integrations.shared_framework_calls import Calls, identity, is_refused

pytestmark = pytest.mark.filterwarnings("ignore")  # the frameworks' own


def pydantic_agent(function: Any, *, context: bool, **options: Any) -> Any:
    """An agent named clerk whose model calls ``function`` once, with the call id c1."""
    ai = pytest.importorskip("pydantic_ai")
    from pydantic_ai.models.function import FunctionModel

    globals()["RunContext"] = ai.RunContext

    def model(messages: Any, info: Any) -> Any:
        if len(messages) > 1:
            return ai.ModelResponse(parts=[ai.TextPart("done")])
        return ai.ModelResponse(parts=[ai.ToolCallPart("weather", {"city": "Oslo"}, tool_call_id="c1")])

    agent = ai.Agent(FunctionModel(model), name="clerk", output_type=[str, ai.DeferredToolRequests], **options)
    (agent.tool if context else agent.tool_plain)(function)
    return agent


def test_pydantic_ai_names_the_call(calls: Calls) -> None:
    @tt.trace_tool
    def weather(ctx: RunContext, city: str) -> str:  # noqa: F821
        return city

    asyncio.run(pydantic_agent(weather, context=True).run("go", conversation_id="talk"))
    assert [identity(call) for call in calls()] == [("c1", "clerk", "talk")]


def test_pydantic_ai_with_its_own_span_is_one_row(calls: Calls, provider: TracerProvider) -> None:
    from importlib import import_module

    pytest.importorskip("pydantic_ai")
    settings = import_module("pydantic_ai.models.instrumented").InstrumentationSettings(tracer_provider=provider)

    @tt.trace_tool
    def weather(city: str) -> str:
        return city

    agent = pydantic_agent(weather, context=False)
    agent.instrument = settings
    asyncio.run(agent.run("go", conversation_id="talk"))
    provider.force_flush()
    (call,) = calls()
    assert (call.call_id, json.loads(call.arguments or "")) == ("c1", {"city": "Oslo"})


@pytest.mark.parametrize(("name", "ending"), [("ApprovalRequired", "paused"), ("CallDeferred", "paused")])
def test_pydantic_ai_pauses_a_call(calls: Calls, name: str, ending: str) -> None:
    exceptions = pytest.importorskip("pydantic_ai.exceptions")

    @tt.trace_tool
    def weather(city: str) -> str:
        raise getattr(exceptions, name)

    asyncio.run(pydantic_agent(weather, context=False).run("go"))
    (call,) = calls()
    assert (call.ending, call.status, call.error_type) == (ending, None, None)


def test_pydantic_ai_model_retry_is_a_retryable_error(calls: Calls) -> None:
    ai = pytest.importorskip("pydantic_ai")
    tries: list[str] = []

    @tt.trace_tool
    def weather(city: str) -> str:
        tries.append(city)
        if len(tries) == 1:
            raise ai.ModelRetry("name the country too")
        return city

    with pytest.raises(ai.ModelRetry):
        weather("Oslo")
    (call,) = calls()
    assert (call.ending, call.status, call.retryable) == ("raised", "error", True)


def test_pydantic_ai_tool_is_refused() -> None:
    ai = pytest.importorskip("pydantic_ai")

    def weather(city: str) -> str:
        return city

    is_refused(ai.Tool(weather))


def test_openai_agents_names_the_call(calls: Calls) -> None:
    agents = pytest.importorskip("agents", reason="needs openai-agents: make test-openai-agents")
    if not hasattr(agents, "function_tool"):
        pytest.skip("another package has the name agents")
    from agents.tool_context import ToolContext

    globals()["OpenAIContext"] = ToolContext

    @agents.function_tool
    @tt.trace_tool
    def weather(ctx: OpenAIContext, city: str) -> str:  # noqa: F821
        return city

    context = ToolContext(
        None,
        tool_name="weather",
        tool_call_id="c1",
        tool_arguments='{"city": "Oslo"}',
        agent=agents.Agent(name="clerk"),
        run_config=agents.RunConfig(group_id="talk"),
    )
    assert asyncio.run(weather.on_invoke_tool(context, '{"city": "Oslo"}')) == "Oslo"
    assert [identity(call) for call in calls()] == [("c1", "clerk", "talk")]


def test_openai_agents_guardrails_end_a_call(calls: Calls) -> None:
    exceptions = pytest.importorskip("agents.exceptions", reason="needs openai-agents: make test-openai-agents")

    @tt.trace_tool
    def rejected_arguments(city: str) -> str:
        raise exceptions.ToolInputGuardrailTripwireTriggered(None, None)

    @tt.trace_tool
    def rejected_output(city: str) -> str:
        raise exceptions.ToolOutputGuardrailTripwireTriggered(None, None)

    for tool in (rejected_arguments, rejected_output):
        with pytest.raises(exceptions.AgentsException):
            tool("Oslo")
    found = [(call.ending, call.status, call.code, call.retryable) for call in calls()]
    assert found == [("refused", None, "PERMISSION_DENIED", None), ("raised", "error", "PERMISSION_DENIED", False)]


def test_openai_agents_tool_is_refused() -> None:
    agents = pytest.importorskip("agents", reason="needs openai-agents: make test-openai-agents")

    def weather(city: str) -> str:
        return city

    is_refused(agents.function_tool(weather))


def run_langgraph(*tools: Any, config: dict[str, Any] | None = None, **compiled: Any) -> Any:
    from langchain_core.messages import AIMessage
    from langgraph.graph import MessagesState, StateGraph
    from langgraph.prebuilt import ToolNode

    graph = StateGraph(MessagesState)
    graph.add_node("tools", ToolNode(list(tools)))
    graph.set_entry_point("tools")
    requests = [{"name": tool.name, "args": {"city": "Oslo"}, "id": f"c_{tool.name}"} for tool in tools]
    return graph.compile(**compiled).invoke({"messages": [AIMessage("", tool_calls=requests)]}, config)


def test_langgraph_names_the_call(calls: Calls) -> None:
    pytest.importorskip("langgraph")
    tools = pytest.importorskip("langchain_core.tools")
    from langchain_core.runnables import RunnableConfig
    from langgraph.prebuilt import ToolRuntime

    globals().update(
        RunnableConfig=RunnableConfig, ToolRuntime=ToolRuntime, InjectedToolCallId=tools.InjectedToolCallId
    )

    def marked(city: str, call: Annotated[str, InjectedToolCallId], config: RunnableConfig) -> str:  # noqa: F821
        """The weather."""
        return city

    def runtime(city: str, runtime: ToolRuntime) -> str:  # noqa: F821
        """The weather."""
        return city

    config = {"configurable": {"thread_id": "talk"}, "metadata": {"lc_agent_name": "clerk"}}
    run_langgraph(*(tools.tool(tt.trace_tool(each)) for each in (marked, runtime)), config=config)
    assert sorted(identity(call) for call in calls()) == [
        ("c_marked", "clerk", "talk"),
        ("c_runtime", "clerk", "talk"),
    ]


def test_langgraph_names_the_conversation_of_a_tool_that_does_not_ask_for_it(calls: Calls) -> None:
    pytest.importorskip("langgraph")
    tools = pytest.importorskip("langchain_core.tools")

    @tt.trace_tool
    def weather(city: str) -> str:
        """The weather."""
        return city

    config = {"configurable": {"thread_id": "talk"}, "metadata": {"lc_agent_name": "clerk"}}
    run_langgraph(tools.tool(weather), config=config)
    weather("Oslo")
    assert [identity(call)[1:] for call in calls()] == [("clerk", "talk"), (None, None)]


def test_langgraph_interrupt_pauses_a_call(calls: Calls) -> None:
    pytest.importorskip("langgraph")
    from langchain_core.tools import tool
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.types import interrupt

    def weather(city: str) -> str:
        """The weather."""
        return str(interrupt("really?"))

    config = {"configurable": {"thread_id": "t"}}
    state = run_langgraph(tool(tt.trace_tool(weather)), config=config, checkpointer=InMemorySaver())
    assert state["__interrupt__"]
    (call,) = calls()
    assert (call.ending, call.status, call.error_type) == ("paused", None, None)


def test_langgraph_parent_command_is_a_result(calls: Calls) -> None:
    errors = pytest.importorskip("langgraph.errors")
    from langgraph.types import Command

    @tt.trace_tool
    def transfer() -> str:
        raise errors.ParentCommand(Command(goto="other", graph=Command.PARENT))

    with pytest.raises(errors.ParentCommand):
        transfer()
    (call,) = calls()
    assert (call.ending, call.status, call.error_type) == ("returned", "success", None)
    assert "other" in (call.result or "")


def test_langgraph_tool_is_refused() -> None:
    tools = pytest.importorskip("langchain_core.tools")

    def weather(city: str) -> str:
        """The weather."""
        return city

    is_refused(tools.tool(weather))
