"""Clients and agents of other libraries, over stdio, with scripted models. Each needs an environment: see the Makefile."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

ARGUMENTS = {"question": "failure_rate", "since": "24h", "tool": "fetch"}

pytestmark = [
    pytest.mark.filterwarnings("ignore"),  # those of the libraries
    pytest.mark.usefixtures("needs_mcp"),
]


@pytest.fixture
def needs_mcp() -> None:
    pytest.importorskip("mcp.server.lowlevel", reason="needs mcp 2.3: pip install 'tooltrace-recorder[mcp]'")


@pytest.fixture
def command(outage_store: Path) -> list[str]:
    return [sys.executable, "-m", "tooltrace", "mcp", str(outage_store)]


def check(text: str) -> None:
    """Assert that the model received the failure rate of ``fetch``, once, as JSON."""
    found = json.loads(text)
    assert found["rows"][0]["copied"] == ["fetch"]
    assert found["rows"][0]["computed"][:3] == [40, 25, 0.625]


async def test_fastmcps_client_reads_text_and_structured_content(command: list[str]) -> None:
    fastmcp = pytest.importorskip("fastmcp", reason="needs fastmcp: make test-fastmcp")
    transports = pytest.importorskip("fastmcp.client.transports")
    transport = transports.StdioTransport(command=command[0], args=command[1:])
    async with fastmcp.Client(transport) as client:
        assert len(await client.list_tools()) == 9
        result = await client.call_tool("ask", ARGUMENTS)
        check(result.content[0].text)
        assert result.structured_content == json.loads(result.content[0].text)
        failed = await client.call_tool("ask", {"question": "failurerate"}, raise_on_error=False)
        assert "did you mean 'failure_rate'" in failed.content[0].text


async def test_an_agent_of_pydantic_ai_reads_an_answer_and_corrects_an_error(command: list[str]) -> None:
    ai = pytest.importorskip("pydantic_ai", reason="needs pydantic-ai: make test-pydantic-ai")
    mcp = pytest.importorskip("pydantic_ai.mcp")
    from pydantic_ai.messages import ModelResponse, RetryPromptPart, TextPart, ToolCallPart, ToolReturnPart
    from pydantic_ai.models.function import FunctionModel

    seen: list[Any] = []

    def model(messages: list[Any], _info: Any) -> Any:
        seen.extend(part for part in messages[-1].parts if isinstance(part, ToolReturnPart | RetryPromptPart))
        if not seen:
            return ModelResponse(parts=[ToolCallPart("ask", {"question": "failurerate"})])
        if len(seen) == 1:
            return ModelResponse(parts=[ToolCallPart("ask", ARGUMENTS)])
        return ModelResponse(parts=[TextPart("fetch fails")])

    if hasattr(mcp, "MCPToolset"):
        from fastmcp.client.transports import StdioTransport

        toolset = mcp.MCPToolset(StdioTransport(command=command[0], args=command[1:]), init_timeout=120)
    else:
        toolset = mcp.MCPServerStdio(command[0], command[1:], timeout=120)
    agent = ai.Agent(FunctionModel(model), toolsets=[toolset], retries=2)
    async with agent:
        result = await agent.run("What fails?")
    assert result.output == "fetch fails"
    assert "did you mean 'failure_rate'" in str(seen[0].content)
    content = seen[1].content
    check(content if isinstance(content, str) else json.dumps(content))


async def test_an_agent_of_openai_agents_reads_an_answer(command: list[str]) -> None:
    agents = pytest.importorskip("agents", reason="needs openai-agents: make test-shared")
    mcp = pytest.importorskip("agents.mcp")
    from agents.models.interface import Model
    from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

    seen: list[Any] = []

    class Scripted(Model):
        async def get_response(self, system_instructions: Any, input: Any, *rest: Any, **options: Any) -> Any:
            outputs = [item for item in input if isinstance(item, dict) and item.get("type") == "function_call_output"]
            if not outputs:
                call = ResponseFunctionToolCall(
                    call_id="1", name="ask", arguments=json.dumps(ARGUMENTS), type="function_call"
                )
                return agents.ModelResponse(output=[call], usage=agents.Usage(), response_id=None)
            seen.extend(outputs)
            text = ResponseOutputText(text="fetch fails", type="output_text", annotations=[])
            message = ResponseOutputMessage(
                id="m", content=[text], role="assistant", status="completed", type="message"
            )
            return agents.ModelResponse(output=[message], usage=agents.Usage(), response_id=None)

        def stream_response(self, *given: Any, **options: Any) -> Any:
            raise NotImplementedError

    agents.set_tracing_disabled(True)
    parameters = {"command": command[0], "args": command[1:]}
    async with mcp.MCPServerStdio(params=parameters, client_session_timeout_seconds=120) as server:
        agent = agents.Agent(name="a", model=Scripted(), mcp_servers=[server])
        result = await agents.Runner.run(agent, "What fails?")
    assert result.final_output == "fetch fails"
    output = seen[0]["output"]
    if isinstance(output, list):  # of content blocks
        output = output[0]["text"]
    outer = json.loads(output)
    check(outer["text"] if set(outer) >= {"type", "text"} else output)
