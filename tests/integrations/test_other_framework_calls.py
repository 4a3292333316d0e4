"""Context of calls in strands, google-adk, llama-index, crewai, agno, agent-framework, MCP and smolagents."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import opentelemetry.trace as trace_api
import pytest
from opentelemetry.sdk.trace import TracerProvider

import tooltrace as tt
from tests.integrations.shared_framework_calls import Calls, identity, is_refused, strands_agent

pytestmark = pytest.mark.filterwarnings("ignore")  # the frameworks' own


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


def test_fastmcp_tool_is_refused() -> None:
    fastmcp = pytest.importorskip("fastmcp")
    from fastmcp.tools import tool as marked

    is_refused(fastmcp.tools.Tool.from_function(lambda city: city, name="weather"))

    @tt.trace_tool
    @marked
    def unregistered(city: str) -> str:
        return city

    server = fastmcp.FastMCP("s")

    @server.tool
    @tt.trace_tool
    def below(city: str) -> str:
        return city

    server.add_tool(unregistered)
    assert (below("Oslo"), unregistered("Oslo")) == ("Oslo", "Oslo")


async def test_a_decorated_tool_that_requests_input_pauses_the_call(calls: Calls) -> None:
    fastmcp = pytest.importorskip("fastmcp")
    from mcp_types import InputRequiredResult

    globals()["InputRequiredResult"] = InputRequiredResult
    server = fastmcp.FastMCP("s")

    @server.tool
    @tt.trace_tool
    def drop(table: str) -> InputRequiredResult:  # noqa: F821
        return InputRequiredResult(request_state="s1")

    with tt.context(call_id="c1"):
        await server.call_tool("drop", {"table": "t"})
        await server.call_tool("drop", {"table": "t"})
    assert [(call.ending, call.status, call.attempt) for call in calls()] == [("paused", None, 1)] * 2
