"""What real frameworks know about a call, how they pause one, and which of their objects cannot be decorated."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import opentelemetry.trace as trace_api
import pytest
from opentelemetry.sdk.trace import TracerProvider

import tooltrace as tt
from tooltrace.core.records import ToolCall
from tooltrace.errors import ConfigError
from tooltrace.ingest.spans import TooltraceSpanProcessor

Calls = Callable[[], list[ToolCall]]

pytestmark = pytest.mark.filterwarnings("ignore")  # the frameworks' own


@pytest.fixture
def provider(store: Path) -> Iterator[TracerProvider]:
    """An application's provider with the recorder's processor, for the recorder and for instrumentations."""
    provider = TracerProvider()
    provider.add_span_processor(TooltraceSpanProcessor())
    tt.configure(store=store, tracer_provider=provider)
    yield provider
    provider.shutdown()


def identity(call: ToolCall) -> tuple[str, str | None, str | None]:
    return call.call_id, call.agent, call.conversation_id


def is_refused(tool: Any) -> None:
    for decorate in (tt.trace_tool, tt.trace_tool(name="other")):
        with pytest.raises(ConfigError, match="put @trace_tool below the framework's decorator"):
            decorate(tool)


# pydantic-ai


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


# openai-agents


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
    assert found == [("declined", None, None, None), ("raised", "error", "PERMISSION_DENIED", False)]


def test_openai_agents_tool_is_refused() -> None:
    agents = pytest.importorskip("agents", reason="needs openai-agents: make test-openai-agents")

    def weather(city: str) -> str:
        return city

    is_refused(agents.function_tool(weather))


# LangGraph


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


# strands


def strands_agent(*tools: Any) -> Any:
    strands = pytest.importorskip("strands")
    from strands.models import Model

    class Scripted(Model):
        def update_config(self, **named: Any) -> None: ...
        def get_config(self) -> Any:
            return {}

        async def structured_output(self, *args: Any, **named: Any) -> Any:
            yield {}

        async def stream(self, messages: Any, *args: Any, **named: Any) -> Any:
            yield {"messageStart": {"role": "assistant"}}
            if len(messages) == 1:
                yield {"contentBlockStart": {"start": {"toolUse": {"name": "weather", "toolUseId": "c1"}}}}
                yield {"contentBlockDelta": {"delta": {"toolUse": {"input": '{"city": "Oslo"}'}}}}
                yield {"contentBlockStop": {}}
                yield {"messageStop": {"stopReason": "tool_use"}}
            else:
                yield {"contentBlockDelta": {"delta": {"text": "done"}}}
                yield {"contentBlockStop": {}}
                yield {"messageStop": {"stopReason": "end_turn"}}

    return strands.Agent(model=Scripted(), name="clerk", tools=list(tools), callback_handler=None)


def test_strands_names_the_call(calls: Calls) -> None:
    strands = pytest.importorskip("strands")
    globals()["StrandsContext"] = strands.ToolContext

    @strands.tool(context=True)
    @tt.trace_tool
    def weather(city: str, tool_context: StrandsContext) -> str:  # noqa: F821
        """The weather.

        Args:
            city: Where.
        """
        return city

    strands_agent(weather)("go")
    assert [identity(call)[:2] for call in calls()] == [("c1", "clerk")]


def test_strands_with_its_own_span_is_one_row(calls: Calls, provider: TracerProvider) -> None:
    strands = pytest.importorskip("strands")

    @strands.tool
    @tt.trace_tool
    def weather(city: str) -> str:
        """The weather.

        Args:
            city: Where.
        """
        return city

    agent = strands_agent(weather)
    agent.tracer.tracer_provider = provider
    agent.tracer.tracer = provider.get_tracer("strands")
    agent("go")
    provider.force_flush()
    (call,) = calls()
    assert (call.call_id, json.loads(call.arguments or "")) == ("c1", {"city": "Oslo"})


def test_strands_interrupt_pauses_a_call(calls: Calls) -> None:
    strands = pytest.importorskip("strands")
    globals()["StrandsContext"] = strands.ToolContext

    @strands.tool(context=True)
    @tt.trace_tool
    def weather(city: str, tool_context: StrandsContext) -> str:  # noqa: F821
        """The weather.

        Args:
            city: Where.
        """
        return str(tool_context.interrupt("really"))

    result = strands_agent(weather)("go")
    assert result.stop_reason == "interrupt"
    (call,) = calls()
    assert (call.ending, call.status, call.call_id) == ("paused", None, "c1")


def test_strands_tool_is_refused() -> None:
    strands = pytest.importorskip("strands")

    def weather(city: str) -> str:
        """The weather.

        Args:
            city: Where.
        """
        return city

    is_refused(strands.tool(weather))


# google-adk


def run_google_adk(function: Any) -> str:
    """Run an agent named clerk whose model calls ``function`` once, with the call id c1; return the session."""
    from google.adk.agents import LlmAgent
    from google.adk.models import BaseLlm, LlmResponse
    from google.adk.runners import InMemoryRunner
    from google.adk.tools import FunctionTool
    from google.genai import types

    class Scripted(BaseLlm):
        async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
            request = types.FunctionCall(id="c1", name="weather", args={"city": "Oslo"})
            part = types.Part(function_call=request) if len(llm_request.contents) == 1 else types.Part(text="x")
            yield LlmResponse(content=types.Content(role="model", parts=[part]))

    agent = LlmAgent(name="clerk", model=Scripted(model="scripted"), tools=[FunctionTool(function)])
    runner = InMemoryRunner(agent=agent)

    async def run() -> str:
        session = await runner.session_service.create_session(app_name=runner.app_name, user_id="u")
        message = types.Content(role="user", parts=[types.Part(text="go")])
        async for _ in runner.run_async(user_id="u", session_id=session.id, new_message=message):
            pass
        return str(session.id)

    return asyncio.run(run())


def test_google_adk_names_the_call(calls: Calls) -> None:
    pytest.importorskip("google.adk")
    from google.adk.tools import ToolContext

    globals()["AdkContext"] = ToolContext

    @tt.trace_tool
    def weather(city: str, tool_context: AdkContext) -> dict[str, str]:  # noqa: F821
        """The weather."""
        return {"city": city}

    session = run_google_adk(weather)
    assert [identity(call) for call in calls()] == [("c1", "clerk", session)]


def test_google_adk_with_its_own_span_is_one_row(calls: Calls, provider: TracerProvider) -> None:
    pytest.importorskip("google.adk")
    trace_api.set_tracer_provider(
        provider
    )  # the only provider that ADK uses; no other test of its environment sets one

    @tt.trace_tool
    def weather(city: str) -> dict[str, str]:
        """The weather."""
        return {"city": city}

    run_google_adk(weather)
    provider.force_flush()
    (call,) = calls()
    assert (call.tool, json.loads(call.arguments or "")) == ("weather", {"city": "Oslo"})


def test_google_adk_interrupted_node_pauses_a_call(calls: Calls) -> None:
    errors = pytest.importorskip("google.adk.workflow._errors")

    @tt.trace_tool
    def weather(city: str) -> str:
        raise errors.NodeInterruptedError

    with pytest.raises(errors.NodeInterruptedError):
        weather("Oslo")
    assert [(call.ending, call.status) for call in calls()] == [("paused", None)]


def test_google_adk_tool_is_refused() -> None:
    tools = pytest.importorskip("google.adk.tools")

    def weather(city: str) -> str:
        return city

    is_refused(tools.FunctionTool(weather))


# llama-index


def test_llama_index_waiting_for_an_event_pauses_a_call(calls: Calls) -> None:
    pytest.importorskip("llama_index.core")
    from llama_index.core.workflow import Context, HumanResponseEvent, StartEvent, StopEvent, Workflow, step

    globals().update(LlamaContext=Context, StartEvent=StartEvent, StopEvent=StopEvent)

    @tt.trace_tool
    async def ask(ctx: LlamaContext, city: str) -> str:  # noqa: F821
        event = await ctx.wait_for_event(HumanResponseEvent)
        return str(event.response)

    class Flow(Workflow):
        @step
        async def start(self, ctx: LlamaContext, ev: StartEvent) -> StopEvent:  # noqa: F821
            return StopEvent(result=await ask(ctx, city="Oslo"))

    async def run() -> Any:
        handler = Flow().run()
        while not calls():
            await asyncio.sleep(0)
        handler.ctx.send_event(HumanResponseEvent(response="yes"))
        return await handler

    assert asyncio.run(run()) == "yes"
    assert [(call.ending, call.status) for call in calls()] == [("paused", None), ("returned", "success")]


# crewai, agno, agent-framework


def test_crewai_human_feedback_pauses_a_call(calls: Calls, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CREWAI_DISABLE_TELEMETRY", "true")
    types = pytest.importorskip("crewai.flow.async_feedback.types")

    @tt.trace_tool
    def weather(city: str) -> str:
        raise types.HumanFeedbackPending(types.PendingFeedbackContext("f", "Flow", "step", "draft", "really?"))

    with pytest.raises(types.HumanFeedbackPending):
        weather("Oslo")
    assert [(call.ending, call.status) for call in calls()] == [("paused", None)]


def test_crewai_tool_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CREWAI_DISABLE_TELEMETRY", "true")
    tools = pytest.importorskip("crewai.tools")

    def weather(city: str) -> str:
        """The weather."""
        return city

    is_refused(tools.tool("weather")(weather))


def test_agent_framework_names_the_call(calls: Calls) -> None:
    framework = pytest.importorskip("agent_framework")

    def weather(city: str, ctx: Any) -> str:
        """The weather."""
        return city

    weather.__annotations__.update(city=str, ctx=framework.FunctionInvocationContext, **{"return": str})
    traced = framework.tool(tt.trace_tool(weather))
    arguments, session = {"city": "Oslo"}, framework.AgentSession(session_id="talk")
    context = framework.FunctionInvocationContext(
        function=traced, arguments=arguments, session=session, metadata={"call_id": "c1"}
    )
    asyncio.run(traced.invoke(arguments=arguments, context=context))
    assert [identity(call) for call in calls()] == [("c1", None, "talk")]


def test_agent_framework_input_request_pauses_a_call(calls: Calls) -> None:
    exceptions = pytest.importorskip("agent_framework.exceptions")

    @tt.trace_tool
    def weather(city: str) -> str:
        raise exceptions.UserInputRequiredException([])

    with pytest.raises(exceptions.UserInputRequiredException):
        weather("Oslo")
    assert [(call.ending, call.status) for call in calls()] == [("paused", None)]


def test_agno_cancelled_run_cancels_a_call(calls: Calls) -> None:
    exceptions = pytest.importorskip("agno.exceptions")

    @tt.trace_tool
    def weather(city: str) -> str:
        raise exceptions.RunCancelledException

    with pytest.raises(exceptions.RunCancelledException):
        weather("Oslo")
    assert [(call.ending, call.status) for call in calls()] == [("cancelled", None)]


# MCP


def test_mcp_tool_is_refused() -> None:
    pytest.importorskip("mcp")
    module = pytest.importorskip("mcp.server.mcpserver", reason="needs mcp 2")
    for decorate in (tt.trace_tool, tt.trace_tool(name="other")):
        server = module.MCPServer("s")
        with pytest.raises(ConfigError, match="below the framework's decorator"):

            @decorate
            @server.tool()
            def weather(city: str) -> str:
                return city

    @server.tool()
    @tt.trace_tool
    def below(city: str) -> str:
        return city

    assert below("Oslo") == "Oslo"

    def registered(city: str) -> str:
        return city

    server.add_tool(registered)
    module.MCPServer("traced").add_tool(tt.trace_tool(registered))


# smolagents


def test_smolagents_tool_is_refused() -> None:
    smolagents = pytest.importorskip("smolagents")

    @smolagents.tool
    def weather(city: str) -> str:
        """The weather.

        Args:
            city: Where.
        """
        return city

    is_refused(weather)
