"""Claude Code itself, as the SDK runs it, with a scripted API on this machine: every call one row."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import tooltrace as tt
from tests.integrations.capabilities import Observed, by_id, check, messages
from tests.integrations.claude_agent_sdk.api import ScriptedApi, Turn
from tooltrace.core.records import ToolCall

sdk = pytest.importorskip("claude_agent_sdk", reason="needs claude-agent-sdk: make test-shared")

from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, create_sdk_mcp_server, query, tool

from tooltrace.integrations import claude_agent_sdk

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")
Calls = Callable[[], list[ToolCall]]


@pytest.fixture
def api() -> Iterator[ScriptedApi]:
    api = ScriptedApi()
    yield api
    api.close()


@tool("add", "Add.", {"a": int, "b": int})
async def add(arguments: dict[str, Any]) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": str(arguments["a"] + arguments["b"])}]}


@tool("read", "Read.", {"path": str})
async def read(arguments: dict[str, Any]) -> dict[str, Any]:
    raise FileNotFoundError(arguments["path"])


@tool("scales", "Weigh.", {"item": str})
@tt.trace_tool(name="scales", version="7")
async def weigh(arguments: dict[str, Any]) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": f"{arguments['item']}: 3 kg"}]}


async def decide(name: str, arguments: dict[str, Any], context: Any) -> Any:
    return sdk.PermissionResultDeny(message="not this") if name == "Write" else sdk.PermissionResultAllow()


def options(api: ScriptedApi, folder: Path, **more: Any) -> ClaudeAgentOptions:
    environment = {
        "HOME": str(folder),
        "CLAUDE_CONFIG_DIR": str(folder / "config"),
        "ANTHROPIC_BASE_URL": api.url,
        "ANTHROPIC_API_KEY": "none",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    }
    servers = {"shop": create_sdk_mcp_server("shop", tools=[add, read, weigh])}
    return ClaudeAgentOptions(
        cwd=folder, env=environment, mcp_servers=servers, can_use_tool=decide, setting_sources=[], **more
    )


async def run(api: ScriptedApi, folder: Path, *turns: Turn, **more: Any) -> str:
    """Run a session with these turns of the model, and return its id."""
    api.turns = list(turns)
    async with asyncio.timeout(120), ClaudeSDKClient(options(api, folder, **more)) as client:
        await client.query("go")
        return [message async for message in client.receive_response()][-1].session_id


async def test_calls_of_every_kind(
    installed: None, calls: Calls, store: Path, api: ScriptedApi, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("hello")
    session = await run(
        api,
        tmp_path,
        [("Read", {"file_path": str(tmp_path / "a.txt")}, "t1"), ("Read", {"file_path": str(tmp_path / "none")}, "t2")],
        [("mcp__shop__add", {"a": 1, "b": 2}, "t3"), ("mcp__shop__read", {"path": "p"}, "t4")],
        [("mcp__shop__scales", {"item": "a"}, "t5"), ("mcp__shop__add", {"a": "x", "b": 1}, "t6")],
        [("Nosuch", {"x": 1}, "t7"), ("Read", {"wrong": 1}, "t8")],
        [("Write", {"file_path": str(tmp_path / "b.txt"), "content": "x"}, "t9")],
    )
    found = by_id(calls)
    assert {(call.conversation_id, call.model) for call in found.values()} == {(session, "claude-scripted")}
    assert {name: (call.tool, call.status, call.ending, call.code) for name, call in found.items()} == {
        "t1": ("Read", "success", "returned", None),
        "t2": ("Read", "error", "returned", "NOT_FOUND"),
        "t3": ("mcp__shop__add", "success", "returned", None),
        "t4": ("mcp__shop__read", "error", "raised", "NOT_FOUND"),
        "t5": ("scales", "success", "returned", None),
        "t6": ("mcp__shop__add", None, "refused", "INVALID_PARAM"),
        "t7": ("Nosuch", None, "refused", "NOT_FOUND"),
        "t8": ("Read", None, "refused", "INVALID_PARAM"),
        "t9": ("Write", None, "declined", None),
    }
    assert json.loads(found["t1"].result)["file"]["content"] == "hello", "a built-in tool's structured result"
    assert (found["t4"].error_type, found["t5"].tool_version) == ("FileNotFoundError", "7")
    assert json.loads(found["t5"].arguments) == {"item": "a"}
    assert (tmp_path / "b.txt").exists() is False
    model_messages = messages(store)
    assert (model_messages["t3"], model_messages["t5"], model_messages["t9"]) == ("3", "a: 3 kg", "not this")
    texts = {name: content if isinstance(content, str) else content[0]["text"] for name, content in api.results.items()}
    assert model_messages == {name: texts[name] for name in model_messages}, "the API received the same texts"
    assert set(model_messages) == set(found)


async def test_a_subagent_is_the_agent_of_its_calls_and_its_call_encloses_them(store: Path, calls: Calls) -> None:
    """The frames of Claude Code 2.1 for a subagent, because a subagent runs in the background by itself."""
    session = claude_agent_sdk._Session()
    session.observe(frame("assistant", None, tool_use("t1", "Task", {"subagent_type": "clerk", "prompt": "p"})))
    session.observe(frame("assistant", "t1", tool_use("t2", "Read", {"file_path": "a"})))
    session.observe(frame("user", "t1", {"type": "tool_result", "tool_use_id": "t2", "content": "hello"}))
    session.observe(frame("user", None, {"type": "tool_result", "tool_use_id": "t1", "content": "done"}))
    found = by_id(calls)
    assert (found["t1"].agent, found["t2"].agent) == (None, "clerk")
    assert found["t2"].parent_span_id == found["t1"].span_id


async def test_a_call_without_a_result_is_abandoned(store: Path, calls: Calls) -> None:
    class Transport:
        async def read_messages(self) -> AsyncIterator[Any]:
            yield frame("assistant", None, tool_use("t1", "Read", {}))

    claude_agent_sdk.install()
    observed = claude_agent_sdk._ObservedTransport(Transport(), claude_agent_sdk._Session())
    assert len([message async for message in observed.read_messages()]) == 1
    claude_agent_sdk.remove()
    assert [(call.status, call.ending) for call in calls()] == [(None, "abandoned")]


def frame(kind: str, parent: str | None, block: dict[str, Any]) -> dict[str, Any]:
    return {"type": kind, "message": {"content": [block]}, "parent_tool_use_id": parent, "session_id": "chat"}


def tool_use(call_id: str, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


async def test_the_sdk_notices_nothing(store: Path, api: ScriptedApi, tmp_path: Path, calls: Calls) -> None:
    async def outcome() -> Any:
        api.turns = [[("mcp__shop__add", {"a": 1, "b": 2}, "t1"), ("mcp__shop__read", {"path": "p"}, "t2")]]
        api.results = {}
        async with asyncio.timeout(120):
            found = [type(message).__name__ async for message in query(prompt="go", options=options(api, tmp_path))]
        return found, api.results

    before = await outcome()
    claude_agent_sdk.install()
    claude_agent_sdk.install()
    after = await outcome()
    claude_agent_sdk.remove()
    assert before == after
    assert set(by_id(calls)) == {"t1", "t2"}
    assert await outcome() == before
    assert len(calls()) == 2, "nothing is recorded after remove"


async def test_faults_of_the_recorder_do_not_reach_the_framework(
    installed: None, lenient: None, calls: Calls, api: ScriptedApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: Any) -> None:
        raise RuntimeError("ours")

    tt.uninstall("mcp")  # it would record the tool of this process by itself
    monkeypatch.setattr(claude_agent_sdk._Session, "_begin", fail)
    await run(api, tmp_path, [("mcp__shop__add", {"a": 1, "b": 2}, "t1")])
    assert (api.results["t1"], calls()) == ([{"type": "text", "text": "3"}], [])


async def test_the_table_of_the_docs(
    installed: None, store: Path, api: ScriptedApi, tmp_path: Path, calls: Calls
) -> None:
    first = [("mcp__shop__add", {"a": 1, "b": 2}, "c1"), ("mcp__shop__read", {"path": "p"}, "c2")]
    second = [("Read", {"wrong": 1}, "c3"), ("Nosuch", {"x": 1}, "c4"), ("mcp__shop__scales", {"item": "a"}, "c7")]
    session = await run(api, tmp_path, first, second)
    await run(api, tmp_path, [("mcp__shop__add", {"a": 1, "b": 2}, "c6")], include_partial_messages=True)
    found = by_id(calls)
    check("claude_agent_sdk", Observed(
        found["c1"], found["c2"], messages(store), found["c3"], found["c4"], None, found["c6"], [found["c7"]],
        absent=frozenset({"agent", "pause"}), conversation=session,
    ))  # fmt: skip
