"""Agents of LlamaIndex, with a scripted model: every call one row, and LlamaIndex notices nothing."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tooltrace as tt
from tests.integrations.capabilities import Observed, by_id, check, check_review, messages
from tooltrace.core.records import ToolCall

pytest.importorskip("llama_index.core", reason="needs llama-index-core: make test-shared")

from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, LLMMetadata
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.llms.llm import ToolSelection
from llama_index.core.memory import Memory
from llama_index.core.workflow import Context, HumanResponseEvent, InputRequiredEvent

from tooltrace.integrations import llama_index

pytestmark = [pytest.mark.usefixtures("no_network"), pytest.mark.filterwarnings("ignore")]
Calls = Callable[[], list[ToolCall]]


def _unused(*args: Any, **kwargs: Any) -> Any:
    raise NotImplementedError


class Scripted(FunctionCallingLLM):
    """A model that takes these turns: a text, or calls as ``(tool, arguments, call id)``."""

    turns: list[Any] = []
    inputs: list[Any] = []

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(is_function_calling_model=True)

    def _next(self, history: Any) -> ChatResponse:
        self.inputs.append(list(history))
        turn = self.turns.pop(0) if self.turns else "done"
        message = ChatMessage(role="assistant", content=turn if isinstance(turn, str) else "")
        return ChatResponse(message=message, raw=turn)

    def get_tool_calls_from_response(self, response: Any, error_on_no_tool_call: bool = True, **kwargs: Any) -> Any:
        turn = [] if isinstance(response.raw, str) else response.raw
        return [ToolSelection(tool_id=call, tool_name=name, tool_kwargs=given) for name, given, call in turn]

    async def achat_with_tools(self, tools: Any, chat_history: Any = None, **kwargs: Any) -> Any:
        return self._next(chat_history)

    async def astream_chat_with_tools(self, tools: Any, chat_history: Any = None, **kwargs: Any) -> Any:
        response = self._next(chat_history)

        async def stream() -> Any:
            yield response

        return stream()

    def _prepare_chat_with_tools(self, *args: Any, **kwargs: Any) -> Any:
        return {}

    chat = achat = complete = acomplete = stream_chat = astream_chat = stream_complete = astream_complete = _unused

    def read(self) -> dict[str, Any]:
        """Texts that the model received about each call, at its last turn."""
        tools = [message for message in self.inputs[-1] if message.role == "tool"]
        return {message.additional_kwargs["tool_call_id"]: message.content for message in tools}


def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def read(path: str) -> str:
    """Read."""
    raise FileNotFoundError(path)


async def danger(ctx: Context, what: str) -> str:
    """Do it if somebody agrees."""
    question = InputRequiredEvent(prefix="sure?")
    answer = await ctx.wait_for_event(HumanResponseEvent, waiter_id="w", waiter_event=question)
    return f"{what}: {answer.response}"


def agent_of(tools: list[Any], *turns: Any, name: str = "clerk", **options: Any) -> FunctionAgent:
    model = Scripted(turns=list(turns), inputs=[])
    return FunctionAgent(name=name, description="Help.", tools=tools, llm=model, **options)


async def run(agent: Any, **options: Any) -> Any:
    handler = agent.run("go", **options)
    async for event in handler.stream_events():
        if isinstance(event, InputRequiredEvent):
            handler.ctx.send_event(HumanResponseEvent(response="yes"))
    return await handler


async def test_a_call_has_id_agent_conversation_arguments_and_result(
    installed: None, calls: Calls, store: Path
) -> None:
    async def search(ctx: Context, query: str) -> dict[str, Any]:
        """Search the shelves."""
        return {"found": [query]}

    agent = agent_of([search], [("search", {"query": "x"}, "c1")])
    await run(agent, memory=Memory.from_defaults(session_id="chat"))
    (call,) = calls()
    assert (call.tool, call.call_id, call.agent, call.conversation_id) == ("search", "c1", "clerk", "chat")
    assert "Search the shelves." in call.tool_description
    assert (json.loads(call.arguments), json.loads(call.result)) == ({"query": "x"}, {"found": ["x"]})
    assert messages(store) == agent.llm.read()


async def test_failures_of_every_kind(installed: None, calls: Calls, store: Path) -> None:
    def weigh(item: str) -> str:
        """Weigh."""
        return add(item)  # type: ignore[call-arg, arg-type]

    turn = [("read", {"path": "a.txt"}, "c1"), ("add", {"a": 1}, "c2"), ("nosuch", {"x": 1}, "c3")]
    turn += [("weigh", {"stone": "a"}, "c4"), ("weigh", {"item": "a"}, "c5")]
    agent = agent_of([add, read, tt.trace_tool(weigh)], turn)
    await run(agent)
    found = by_id(calls)
    assert {name: (call.status, call.ending, call.code) for name, call in found.items()} == {
        "c1": ("error", "raised", "NOT_FOUND"),
        "c2": (None, "refused", "INVALID_PARAM"),
        "c4": (None, "refused", "INVALID_PARAM"),
        "c5": ("error", "raised", "INVALID_PARAM"),
        "c3": (None, "refused", "NOT_FOUND"),
    }
    assert found["c1"].error_type == "FileNotFoundError"
    assert messages(store) == agent.llm.read()


async def test_a_tool_that_waits_for_a_person_is_paused(installed: None, calls: Calls) -> None:
    await run(agent_of([danger], [("danger", {"what": "it"}, "c1")]))
    paused, resumed = calls()
    assert (paused.call_id, paused.status, paused.ending, paused.attempt) == ("c1", None, "paused", 1)
    assert (resumed.call_id, resumed.text, resumed.ending, resumed.attempt) == ("c1", "it: yes", "returned", 1)


async def test_after_a_handoff_the_new_agent_calls(installed: None, calls: Calls) -> None:
    handoff = [("handoff", {"to_agent": "expert", "reason": "r"}, "h1")]
    first = agent_of([add], [("add", {"a": 1, "b": 2}, "c1")], handoff, can_handoff_to=["expert"])
    second = agent_of([add], [("add", {"a": 1, "b": 2}, "c2")], name="expert")
    await run(AgentWorkflow(agents=[first, second], root_agent="clerk"))
    assert {call.call_id: call.agent for call in calls()} == {"c1": "clerk", "h1": "clerk", "c2": "expert"}


@pytest.mark.parametrize("kind", ["sync", "async"])
async def test_a_decorated_tool_is_one_row_with_the_decorators_options(
    installed: None, calls: Calls, kind: str
) -> None:
    def weigh(item: str) -> tt.ToolResponse:
        """Weigh."""
        return tt.ToolResponse.success("3 kg", {"kg": 3}, confidence=0.75)

    async def aweigh(item: str) -> tt.ToolResponse:
        """Weigh."""
        return weigh(item)

    tool = tt.trace_tool(version="7")(weigh if kind == "sync" else aweigh)
    await run(agent_of([tool], [(tool.__name__, {"item": "a"}, "c1")]))
    (call,) = calls()
    assert (call.tool_version, call.confidence, call.call_id, call.agent) == ("7", 0.75, "c1", "clerk")


async def test_parallel_calls_are_not_mixed_up(installed: None, calls: Calls) -> None:
    async def wait(n: int) -> int:
        """Wait."""
        await asyncio.sleep(0)
        return n

    await run(agent_of([wait], [("wait", {"n": n}, f"c{n}") for n in range(10)]))
    assert {name: json.loads(call.result) for name, call in by_id(calls).items()} == {f"c{n}": n for n in range(10)}


@pytest.mark.parametrize("turn", [("add", {"a": 1, "b": 2}), ("add", {"a": 1}), ("read", {"path": "p"}), ("no", {})])
async def test_llama_index_notices_nothing(store: Path, turn: tuple[Any, ...]) -> None:
    first, second = (agent_of([add, read], [(*turn, "c1")]) for _ in range(2))
    before = str(await run(first)), first.llm.read()
    llama_index.install()
    llama_index.install()
    after = str(await run(second)), second.llm.read()
    llama_index.remove()
    assert before == after


async def test_faults_of_the_recorder_do_not_reach_the_framework(
    installed: None, lenient: None, calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*args: Any) -> None:
        raise RuntimeError("ours")

    monkeypatch.setattr(llama_index, "_begin", fail)
    agent = agent_of([add], [("add", {"a": 1, "b": 2}, "c1")])
    await run(agent)
    assert agent.llm.read() == {"c1": "3"}
    assert calls() == []


async def test_remove_restores_the_steps(store: Path, calls: Calls) -> None:
    from llama_index.core.agent.workflow import BaseWorkflowAgent

    before = BaseWorkflowAgent.call_tool, AgentWorkflow.call_tool
    llama_index.install()
    assert BaseWorkflowAgent.call_tool is not before[0]
    llama_index.remove()
    assert (BaseWorkflowAgent.call_tool, AgentWorkflow.call_tool) == before
    await run(agent_of([add], [("add", {"a": 1, "b": 2}, "c1")]))
    assert calls() == []


async def test_the_table_of_the_docs(installed: None, calls: Calls, store: Path) -> None:
    @tt.trace_tool
    def weigh(item: str) -> str:
        """Weigh."""
        return item

    turn = [
        ("add", {"a": 1, "b": 2}, "c1"),
        ("read", {"path": "p"}, "c2"),
        ("add", {"a": 1}, "c3"),
        ("nosuch", {}, "c4"),
    ]
    turn += [("weigh", {"item": "a"}, "c7")]
    await run(agent_of([add, read, weigh], turn), memory=Memory.from_defaults(session_id="chat"))
    await run(agent_of([add], [("add", {"a": 1, "b": 2}, "c6")], streaming=True))
    found = by_id(calls)
    await run(agent_of([danger], [("danger", {"what": "it"}, "c5")]))
    paused = next(call for call in calls() if call.call_id == "c5")
    check_review(store, paused, [call for call in calls() if call.call_id == "c5"][1], "input")
    check("llama_index", Observed(
        found["c1"], found["c2"], messages(store), found["c3"], found["c4"], paused, found["c6"], [found["c7"]]
    ))  # fmt: skip
