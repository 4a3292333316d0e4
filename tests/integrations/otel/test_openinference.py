"""Tools of frameworks that OpenInference instruments: a call is one row, decorated or not, with our integration or not."""

from __future__ import annotations

import asyncio
import importlib
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider

import tooltrace as tt
from tooltrace.core.records import ToolCall

Calls = Callable[[], list[ToolCall]]
Turn = list[tuple[str, dict[str, Any], str]]

pytestmark = pytest.mark.filterwarnings("ignore")  # the frameworks' own

INSTRUMENTORS = {
    "agno": "AgnoInstrumentor",
    "crewai": "CrewAIInstrumentor",
    "langchain": "LangChainInstrumentor",
    "llama_index": "LlamaIndexInstrumentor",
    "openai_agents": "OpenAIAgentsInstrumentor",
    "smolagents": "SmolagentsInstrumentor",
}
SETUPS = ("decorator", "integration", "both")


def weigh(item: str) -> str:
    """Weigh.

    Args:
        item: What to weigh.
    """
    return f"{item}: 3 kg"


@pytest.fixture
def framework(request: pytest.FixtureRequest, provider: TracerProvider) -> Iterator[str]:
    """The framework, instrumented by OpenInference."""
    name = str(request.param)
    pytest.importorskip(name if name != "openai_agents" else "agents", reason=f"needs {name}: make test-frameworks")
    module = pytest.importorskip(f"openinference.instrumentation.{name}", reason="needs OpenInference")
    instrumentor = getattr(module, INSTRUMENTORS[name])()
    instrumentor.instrument(tracer_provider=provider, skip_dep_check=True)
    yield name
    instrumentor.uninstrument()


@pytest.mark.parametrize("framework", [name for name in INSTRUMENTORS if name != "langchain"], indirect=True)
@pytest.mark.parametrize("setup", SETUPS)
def test_a_call_is_one_row(framework: str, setup: str, provider: TracerProvider, calls: Calls) -> None:
    tool = weigh if setup == "integration" else tt.trace_tool(version="7")(weigh)
    if setup != "decorator":
        assert tt.install(framework) == [framework]
    try:
        globals()[f"run_{framework}"](tool, [("weigh", {"item": "a"}, "c1")])
    finally:
        tt.uninstall()
    provider.force_flush()
    found = [call for call in calls() if call.tool != "final_answer"]
    assert [(call.tool, call.status, json.loads(call.arguments or "")) for call in found] == [
        ("weigh", "success", {"item": "a"})
    ]
    assert found[0].tool_version == (None if setup == "integration" else "7")
    assert found[0].text == "a: 3 kg"
    if setup != "decorator":
        assert (found[0].call_id, found[0].agent) == ("c1", "clerk")


def run_smolagents(tool: Any, turn: Turn) -> None:
    import smolagents

    module = importlib.import_module("tests.integrations.smolagents.test_calls")
    model = module.Scripted(turn)
    agent = smolagents.ToolCallingAgent(tools=[smolagents.tool(tool)], model=model, name="clerk", verbosity_level=-1)
    agent.run("go")


def run_llama_index(tool: Any, turn: Turn) -> None:
    module = importlib.import_module("tests.integrations.llama_index.test_calls")
    asyncio.run(module.run(module.agent_of([tool], turn)))


def run_openai_agents(tool: Any, turn: Turn) -> None:
    import agents

    module = importlib.import_module("tests.integrations.openai_agents.test_calls")
    agents.set_tracing_disabled(False)
    module.run(module.agent_of([tool], turn))


def run_crewai(tool: Any, turn: Turn) -> None:
    from crewai.tools import tool as crewai_tool

    module = importlib.import_module("tests.integrations.crewai.test_calls")
    module.run(module.model_of(turn), [crewai_tool("weigh")(tool)])


def run_agno(tool: Any, turn: Turn) -> None:
    from agno.agent import Agent

    conftest = importlib.import_module("tests.integrations.agno.conftest")
    Agent(name="clerk", model=conftest.scripted_class()(turns=[turn]), tools=[tool], telemetry=False).run("go")


@pytest.mark.parametrize("framework", ["langchain"], indirect=True)
@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_decorated_tool_of_langgraph_is_one_row(
    framework: str, asynchronous: bool, provider: TracerProvider, calls: Calls
) -> None:
    tools = pytest.importorskip("langchain_core.tools")
    inside: list[str] = []

    @tt.trace_tool
    def look_up(item: str) -> int:
        inside.append(item)
        return 3

    @tt.trace_tool(version="7")
    def weigh(item: str) -> str:
        """Weigh."""
        return f"{item}: {look_up(item)} kg"

    @tt.trace_tool(version="7", name="weigh")
    async def aweigh(item: str) -> str:
        """Weigh."""
        return f"{item}: {look_up(item)} kg"

    tool = tools.StructuredTool.from_function(
        **({"coroutine": aweigh} if asynchronous else {"func": weigh}), name="weigh"
    )
    run_langgraph(tool, [("weigh", {"item": "a"}, "c1")], asynchronous=asynchronous)
    provider.force_flush()
    row, inner = calls()
    assert (row.tool, row.tool_version, row.call_id, row.agent, row.conversation_id) == (
        "weigh",
        "7",
        "c1",
        "clerk",
        "thread-7",
    )
    assert (inner.tool, inner.parent_span_id, inner.trace_id) == ("look_up", row.span_id, row.trace_id)


def run_langgraph(tool: Any, turn: Turn, *, asynchronous: bool) -> None:
    agents = pytest.importorskip("langchain.agents")
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage

    class Scripted(GenericFakeChatModel):
        def bind_tools(self, *_args: Any, **_named: Any) -> Any:
            return self

    requests = [{"name": name, "args": arguments, "id": call_id} for name, arguments, call_id in turn]
    model = Scripted(messages=iter([AIMessage("", tool_calls=requests), AIMessage("done")]))
    agent = agents.create_agent(model, tools=[tool], name="clerk")
    arguments = ({"messages": [("user", "go")]}, {"configurable": {"thread_id": "thread-7"}})
    if asynchronous:
        asyncio.run(agent.ainvoke(*arguments))
    else:
        agent.invoke(*arguments)
