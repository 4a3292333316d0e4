"""An agent of LlamaIndex, traced without a change to it: a tool that answers, one that fails, one that waits for a person.

A script stands in for the model, so nothing asks the network.   Run: pip install 'tooltrace-recorder[llama-index]' && python examples/llama_index_agent.py
"""

import asyncio
import tempfile
from pathlib import Path
from typing import Any

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, LLMMetadata
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.llms.llm import ToolSelection
from llama_index.core.memory import Memory
from llama_index.core.workflow import Context, HumanResponseEvent, InputRequiredEvent

import tooltrace as tt

FILES = {"notes.txt": "buy milk"}


def read(path: str) -> str:
    """Read a file."""
    return FILES[path]


async def delete(ctx: Context, path: str) -> str:
    """Delete a file, if a person agrees."""
    question = InputRequiredEvent(prefix=f"delete {path}?")
    answer = await ctx.wait_for_event(HumanResponseEvent, waiter_id=path, waiter_event=question)
    return f"deleted {FILES.pop(path)!r}" if answer.response == "yes" else "not deleted"


def _unused(*_: Any, **__: Any) -> Any:
    raise NotImplementedError


class Script(FunctionCallingLLM):
    """A model that calls these tools, one a turn, and then is done."""

    calls: list[tuple[str, dict[str, Any]]]

    @property
    def metadata(self) -> LLMMetadata:
        """What the agent asks about the model."""
        return LLMMetadata(is_function_calling_model=True)

    async def achat_with_tools(self, *_: Any, **__: Any) -> ChatResponse:
        """Return the next turn."""
        call = self.calls.pop(0) if self.calls else None
        return ChatResponse(message=ChatMessage(role="assistant", content="" if call else "Done."), raw=call)

    async def astream_chat_with_tools(self, *_: Any, **__: Any) -> Any:
        """Return a stream of the next turn."""
        response = await self.achat_with_tools()

        async def stream() -> Any:
            yield response

        return stream()

    def get_tool_calls_from_response(self, response: ChatResponse, **_: Any) -> list[ToolSelection]:
        """Return the call of a turn."""
        if response.raw is None:
            return []
        name, arguments = response.raw
        return [ToolSelection(tool_id=f"call_{len(self.calls)}", tool_name=name, tool_kwargs=arguments)]

    def _prepare_chat_with_tools(self, *_: Any, **__: Any) -> dict[str, Any]:
        return {}

    chat = achat = complete = acomplete = stream_chat = astream_chat = stream_complete = astream_complete = _unused


async def run() -> None:
    """Run the agent, and answer what it asks."""
    notes = {"path": "notes.txt"}
    script = Script(calls=[("read", notes), ("read", {"path": "plan.txt"}), ("write", {}), ("delete", notes)])
    agent = FunctionAgent(name="clerk", description="Tidy up.", tools=[read, delete], llm=script)
    handler = agent.run("tidy up", memory=Memory.from_defaults(session_id="chat"))
    async for event in handler.stream_events():
        if isinstance(event, InputRequiredEvent):
            handler.ctx.send_event(HumanResponseEvent(response="yes"))
    print(await handler)


def main() -> None:
    """Run the agent, and ask the history."""
    tt.configure(store=Path(tempfile.mkdtemp()) / "llama_index.duckdb")
    print("recorded:", tt.install())
    asyncio.run(run())

    with tt.connect() as db:
        db.sql(
            """
            SELECT tool, call_id, agent, ending, status, code, error_message, seen_text
            FROM tool_calls ORDER BY started_at
            """
        ).show(max_width=180)


if __name__ == "__main__":
    main()
