"""Real frameworks fill in a context: the record has what the model gave, and the model's schema is as it was."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any

import pytest

import tooltrace as tt
from tests.integrations.shared_framework_calls import Calls, strands_agent

pytestmark = pytest.mark.filterwarnings("ignore")  # the frameworks' own


@dataclass
class Deps:
    key: str = "SECRET"
    history: list[str] = field(default_factory=lambda: ["SECRET"] * 200)


def only_city(calls: Calls, *, times: int = 1) -> None:
    found = calls()
    assert [json.loads(call.arguments or "null") for call in found] == [{"city": "Oslo"}] * times
    assert all(call.status == "success" and "SECRET" not in repr(call) for call in found)


def test_pydantic_ai(calls: Calls) -> None:
    ai = pytest.importorskip("pydantic_ai")
    from pydantic_ai.models.function import FunctionModel

    globals()["RunContext"] = ai.RunContext  # annotations are text here, and looked up among the module's names
    schemas: list[Any] = []

    def model(messages: Any, info: Any) -> Any:
        schemas.append([tool.parameters_json_schema for tool in info.function_tools])
        if len(messages) > 1:
            return ai.ModelResponse(parts=[ai.TextPart("done")])
        names = [tool.name for tool in info.function_tools]
        return ai.ModelResponse(parts=[ai.ToolCallPart(name, {"city": "Oslo"}) for name in names])

    def weather(ctx: RunContext[Deps], city: str) -> str:  # noqa: F821
        assert ctx.deps.key == "SECRET"
        return city

    async def later(ctx: RunContext[Deps], city: str) -> str:  # noqa: F821
        return city

    def unannotated(ctx, city: str) -> str:
        assert ctx.deps.key == "SECRET"
        return city

    def run(*tools: Any) -> None:
        agent = ai.Agent(FunctionModel(model), deps_type=Deps)
        for tool in tools:
            agent.tool(tool)
        asyncio.run(agent.run("go", deps=Deps()))

    run(weather, later, unannotated)
    run(*map(tt.trace_tool, (weather, later, unannotated)))
    assert schemas[0] == schemas[2] and len(schemas[0]) == 3
    only_city(calls, times=3)


def test_openai_agents(calls: Calls) -> None:
    agents = pytest.importorskip("agents", reason="needs openai-agents: make test-shared")
    if not hasattr(agents, "function_tool"):
        pytest.skip("another package has the name agents")
    from agents.tool_context import ToolContext

    globals().update(RunContextWrapper=agents.RunContextWrapper, ToolContext=ToolContext)
    from agents.models.interface import Model, ModelResponse
    from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

    class Scripted(Model):
        async def get_response(
            self, system_instructions: Any, input: Any, model_settings: Any, tools: Any, *more: Any, **named: Any
        ) -> Any:
            if isinstance(input, list) and any(item.get("type") == "function_call_output" for item in input):
                text = ResponseOutputText(annotations=[], text="done", type="output_text")
                out: Any = [
                    ResponseOutputMessage(id="m", content=[text], role="assistant", status="completed", type="message")
                ]
            else:
                out = [
                    ResponseFunctionToolCall(
                        arguments='{"city": "Oslo"}', call_id=f"c_{tool.name}", name=tool.name, type="function_call"
                    )
                    for tool in tools
                ]
            return ModelResponse(output=out, usage=agents.Usage(), response_id=None)

        def stream_response(self, *args: Any, **named: Any) -> Any:
            raise NotImplementedError

    def weather(ctx: RunContextWrapper[Deps], city: str) -> str:  # noqa: F821
        assert ctx.context.key == "SECRET"
        return city

    async def detailed(ctx: ToolContext[Deps], city: str) -> str:  # noqa: F821
        assert ctx.tool_call_id
        return city

    untraced = [agents.function_tool(each) for each in (weather, detailed)]
    traced = [agents.function_tool(tt.trace_tool(each)) for each in (weather, detailed)]
    assert [t.params_json_schema for t in untraced] == [t.params_json_schema for t in traced]
    agent = agents.Agent(name="clerk", tools=traced, model=Scripted())
    config = agents.RunConfig(tracing_disabled=True)
    asyncio.run(agents.Runner.run(agent, "go", context=Deps(), run_config=config))
    only_city(calls, times=2)


def test_langgraph(calls: Calls) -> None:
    pytest.importorskip("langgraph")
    tools = pytest.importorskip("langchain_core.tools")
    from langchain_core.messages import AIMessage
    from langchain_core.runnables import RunnableConfig
    from langgraph.graph import MessagesState, StateGraph
    from langgraph.prebuilt import InjectedState, InjectedStore, ToolNode, ToolRuntime
    from langgraph.store.memory import InMemoryStore

    globals().update(
        RunnableConfig=RunnableConfig, InjectedState=InjectedState, InjectedStore=InjectedStore, ToolRuntime=ToolRuntime
    )
    globals().update(InjectedToolCallId=tools.InjectedToolCallId)
    seen: list[Any] = []

    def weather(
        city: str,
        state: Annotated[dict, InjectedState],  # noqa: F821
        store: Annotated[Any, InjectedStore()],  # noqa: F821
        call: Annotated[str, InjectedToolCallId],  # noqa: F821
        config: RunnableConfig,  # noqa: F821
    ) -> str:
        """The weather."""
        seen.append((state["messages"], store, call, config["configurable"]))
        return city

    def runtime(city: str, runtime: ToolRuntime) -> str:  # noqa: F821
        """The weather."""
        seen.append(runtime.state["messages"])
        return city

    untraced = [tools.tool(each) for each in (weather, runtime)]
    traced = [tools.tool(tt.trace_tool(each)) for each in (weather, runtime)]
    assert [t.tool_call_schema.model_json_schema() for t in untraced] == [
        t.tool_call_schema.model_json_schema() for t in traced
    ]
    graph = StateGraph(MessagesState)
    graph.add_node("tools", ToolNode(traced))
    graph.set_entry_point("tools")
    model_calls = [{"name": t.name, "args": {"city": "Oslo"}, "id": f"c_{t.name}"} for t in traced]
    messages = [*["SECRET"] * 200, AIMessage("", tool_calls=model_calls)]
    graph.compile(store=InMemoryStore()).invoke({"messages": messages}, {"configurable": {"key": "SECRET"}})
    assert len(seen) == 2
    only_city(calls, times=2)


def test_fastmcp(calls: Calls) -> None:
    fastmcp = pytest.importorskip("fastmcp")
    from fastmcp.dependencies import CurrentContext, Depends

    globals().update(Context=fastmcp.Context)

    def database() -> Deps:
        return Deps()

    def functions() -> tuple[Callable[..., Any], ...]:  # new ones: a server marks the functions that it registers
        async def weather(city: str, ctx: Context) -> str:  # noqa: F821
            assert ctx.request_id
            return city

        def optional(city: str, ctx: Context | None = None) -> str:  # noqa: F821
            return city

        async def dependent(city: str, db: Deps = Depends(database), ctx: Any = CurrentContext()) -> str:  # noqa: B008
            assert db.key == "SECRET"
            return city

        return weather, optional, dependent

    async def run(trace: Callable[[Any], Any], *, call: bool) -> Any:
        server = fastmcp.FastMCP("s")
        for each in functions():
            server.tool(trace(each))
        async with fastmcp.Client(server) as client:
            found = await client.list_tools()
            for tool in found if call else ():
                await client.call_tool(tool.name, {"city": "Oslo"})
            return [tool.model_dump() for tool in found]

    assert asyncio.run(run(lambda f: f, call=False)) == asyncio.run(run(tt.trace_tool, call=True))
    only_city(calls, times=3)


def test_mcp(calls: Calls) -> None:
    pytest.importorskip("mcp")
    server_module = pytest.importorskip("mcp.server.mcpserver", reason="needs mcp 2")
    globals().update(MCPContext=server_module.Context)

    def weather(city: str, ctx: MCPContext) -> str:  # noqa: F821
        return city

    async def run(trace: Callable[[Any], Any], *, call: bool) -> Any:
        server = server_module.MCPServer("s")
        server.add_tool(trace(weather))
        if call:
            await server.call_tool("weather", {"city": "Oslo"})
        return [tool.model_dump() for tool in await server.list_tools()]

    assert asyncio.run(run(lambda f: f, call=False)) == asyncio.run(run(tt.trace_tool, call=True))
    only_city(calls)


@pytest.mark.parametrize("with_integration", [False, True])
def test_agno(calls: Calls, with_integration: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("agno")
    monkeypatch.setenv("AGNO_TELEMETRY", "false")
    from agno.agent import Agent
    from agno.run import RunContext
    from agno.tools.function import Function

    from tests.integrations.agno.conftest import scripted_class
    from tooltrace.integrations import agno

    globals().update(AgnoContext=RunContext, Agent=Agent)

    def weather(run_context: AgnoContext, agent: Agent, team, city: str) -> str:  # noqa: F821
        """The weather."""
        assert run_context.session_state["key"] == "SECRET" and agent.name == "clerk" and team is None
        return city

    def unannotated(run_context, agent, city: str) -> str:
        """The weather."""
        assert run_context is not None and agent is not None
        return city

    for each in (weather, unannotated):
        untraced, traced = Function.from_callable(each), Function.from_callable(tt.trace_tool(each))
        assert untraced.to_dict() == traced.to_dict()
    turns = [[("weather", {"city": "Oslo"}, "c1"), ("unannotated", {"city": "Oslo"}, "c2")]]
    # the integration records tools that nobody decorated; those that are decorated record themselves
    for trace in (tt.trace_tool, lambda f: f) if with_integration else (tt.trace_tool,):
        agent = Agent(
            model=scripted_class()(turns=list(turns)), tools=[trace(weather), trace(unannotated)], name="clerk", telemetry=False,
            session_state={"key": "SECRET"},
        )  # fmt: skip
        if with_integration:
            agno.install()
        try:
            agent.run("go")
        finally:
            agno.remove()
    only_city(calls, times=4 if with_integration else 2)


def test_strands(calls: Calls) -> None:
    strands = pytest.importorskip("strands")
    globals().update(StrandsContext=strands.ToolContext)

    def weather(city: str, tool_context: StrandsContext, agent) -> str:  # noqa: F821
        """The weather.

        Args:
            city: Where.
        """
        assert tool_context.tool_use["name"] == "weather" and agent is not None
        return city

    untraced = strands.tool(context=True)(weather)
    traced = strands.tool(context=True)(tt.trace_tool(weather))
    assert untraced.tool_spec == traced.tool_spec
    strands_agent(traced)("go")
    only_city(calls)


def test_google_adk(calls: Calls) -> None:
    pytest.importorskip("google.adk")
    from google.adk.agents import LlmAgent
    from google.adk.models import BaseLlm, LlmResponse
    from google.adk.runners import InMemoryRunner
    from google.adk.tools import FunctionTool, ToolContext
    from google.genai import types

    globals().update(AdkContext=ToolContext)

    def weather(city: str, tool_context: AdkContext) -> dict[str, str]:  # noqa: F821
        """The weather."""
        tool_context.state["seen"] = True
        return {"city": city}

    class Scripted(BaseLlm):
        async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
            is_first_turn = len(llm_request.contents) == 1
            part = (
                types.Part.from_function_call(name="weather", args={"city": "Oslo"})
                if is_first_turn
                else types.Part(text="x")
            )
            yield LlmResponse(content=types.Content(role="model", parts=[part]))

    untraced, traced = FunctionTool(weather), FunctionTool(tt.trace_tool(weather))
    assert untraced._get_declaration() == traced._get_declaration()
    runner = InMemoryRunner(agent=LlmAgent(name="clerk", model=Scripted(model="scripted"), tools=[traced]))

    async def run() -> None:
        session = await runner.session_service.create_session(app_name=runner.app_name, user_id="u")
        user_message = types.Content(role="user", parts=[types.Part(text="go")])
        async for _ in runner.run_async(user_id="u", session_id=session.id, new_message=user_message):
            pass

    asyncio.run(run())
    only_city(calls)


def test_llama_index(calls: Calls) -> None:
    pytest.importorskip("llama_index.core")
    from llama_index.core.tools import FunctionTool
    from llama_index.core.workflow import Context, StartEvent, StopEvent, Workflow, step

    async def weather(ctx: Context, city: str) -> str:
        """The weather."""
        return city

    weather.__annotations__["ctx"] = Context
    untraced, traced = FunctionTool.from_defaults(weather), FunctionTool.from_defaults(tt.trace_tool(weather))
    assert untraced.metadata.get_parameters_dict() == traced.metadata.get_parameters_dict()
    assert traced.requires_context

    globals().update(LlamaContext=Context, StartEvent=StartEvent, StopEvent=StopEvent)

    class Flow(Workflow):
        @step
        async def start(self, ctx: LlamaContext, ev: StartEvent) -> StopEvent:  # noqa: F821
            await traced.acall(ctx=ctx, city="Oslo")
            return StopEvent(result="done")

    async def run() -> None:
        await Flow().run()

    asyncio.run(run())
    only_city(calls)


def test_semantic_kernel(calls: Calls) -> None:
    sk = pytest.importorskip("semantic_kernel")
    from semantic_kernel.functions import KernelArguments, KernelFunctionFromMethod, kernel_function

    def weather(city: str, kernel: Any, arguments: Any) -> str:
        """The weather."""
        assert isinstance(kernel, sk.Kernel) and arguments["city"] == "Oslo"
        return city

    weather.__annotations__.update(city=str, kernel=sk.Kernel, arguments=KernelArguments, **{"return": str})
    untraced = KernelFunctionFromMethod(kernel_function(weather), plugin_name="p")
    traced = KernelFunctionFromMethod(kernel_function(tt.trace_tool(weather)), plugin_name="p")
    assert untraced.metadata == traced.metadata
    asyncio.run(sk.Kernel().invoke(traced, KernelArguments(city="Oslo")))
    only_city(calls)


def test_autogen(calls: Calls) -> None:
    core = pytest.importorskip("autogen_core")
    from autogen_core.tools import FunctionTool

    async def weather(city: str, cancellation_token: Any) -> str:
        return city

    weather.__annotations__.update(city=str, cancellation_token=core.CancellationToken, **{"return": str})
    untraced, traced = (
        FunctionTool(weather, "The weather."),
        FunctionTool(tt.trace_tool(weather), "The weather.", name="weather"),
    )
    assert untraced.schema == traced.schema
    asyncio.run(traced.run_json({"city": "Oslo"}, core.CancellationToken()))
    only_city(calls)


def test_agent_framework(calls: Calls) -> None:
    framework = pytest.importorskip("agent_framework")

    def weather(city: str, ctx: Any) -> str:
        """The weather."""
        assert ctx is not None
        return city

    weather.__annotations__.update(city=str, ctx=framework.FunctionInvocationContext, **{"return": str})
    untraced, traced = framework.tool(weather), framework.tool(tt.trace_tool(weather))
    assert untraced.parameters() == traced.parameters()
    context = framework.FunctionInvocationContext(function=traced, arguments={"city": "Oslo"})
    asyncio.run(traced.invoke(arguments={"city": "Oslo"}, context=context))
    only_city(calls)
