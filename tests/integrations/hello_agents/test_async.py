"""Tools that are awaited, and what is current in the threads that they run in."""

from __future__ import annotations

import asyncio
import json
from contextvars import ContextVar

import pytest

pytest.importorskip("hello_agents", reason="needs HelloAgents: pip install 'tooltrace-recorder[hello-agents]'")

from opentelemetry import trace

import tooltrace as tt

pytestmark = pytest.mark.usefixtures("installed", "store")

mine: ContextVar[str] = ContextVar("mine", default="unset")


async def test_a_tool_in_a_thread_is_recorded_once(make_tool, calls):
    tool = make_tool("double", lambda parameters: parameters["n"] * 2)
    assert (await tool.arun_with_timing({"n": 2})).data == {"value": 4}
    (call,) = calls()
    assert (call.tool, call.status, call.ending) == ("double", "success", "returned")
    assert json.loads(call.arguments) == {"n": 2}


async def test_the_span_and_the_surroundings_are_current_in_the_thread(make_tool, calls):
    @tt.trace_tool
    def inner() -> int:
        return 1

    def work(_):
        trace.get_current_span().set_attribute("colour", "red")
        return inner()

    with tt.context(conversation_id="chat_1", agent="clerk", call_id="call_1"):
        await make_tool("outer", work).arun_with_timing({})
    outer, below = calls()
    assert (outer.tool, below.tool) == ("outer", "inner")
    assert json.loads(outer.attributes) == {"colour": "red"}
    assert below.parent_span_id == outer.span_id
    assert {call.conversation_id for call in (outer, below)} == {"chat_1"}
    assert {call.agent for call in (outer, below)} == {"clerk"}
    assert outer.call_id == "call_1"
    assert below.call_id == below.span_id


async def test_the_users_own_context_variables_are_as_without_recording(make_tool, installed):
    tool = make_tool("look", lambda _: mine.get())
    token = mine.set("set")
    try:
        recorded = (await tool.arun_with_timing({})).text
        installed.remove()
        assert recorded == (await tool.arun_with_timing({})).text == "unset"
    finally:
        mine.reset(token)


async def test_a_call_leaves_nothing_in_the_thread(make_tool, calls):
    def span(_):
        return trace.get_current_span().get_span_context().span_id

    first = (await make_tool("first", span).arun_with_timing({})).data["value"]
    left = await asyncio.get_running_loop().run_in_executor(None, span, None)
    assert first != 0
    assert left == 0


async def test_calls_at_the_same_time_are_each_recorded_even_with_the_same_arguments(make_tool, calls):
    tool = make_tool("echo", lambda parameters: parameters["n"])
    shared = {"n": 1}
    await asyncio.gather(
        *(tool.arun_with_timing(shared) for _ in range(20)), *(tool.arun_with_timing({"n": 2}) for _ in range(20))
    )
    found = calls()
    assert len(found) == 40
    assert len({call.span_id for call in found}) == 40
    assert sum(json.loads(call.arguments)["n"] for call in found) == 60


async def test_an_exception_in_a_thread_is_recorded_with_its_class(make_tool, calls):
    def fail(_):
        raise ConnectionResetError("gone")

    response = await make_tool("fetch", fail).arun_with_timing({})
    assert response.error_info["code"] == "INTERNAL_ERROR"
    (call,) = calls()
    assert (call.status, call.code, call.error_type) == ("error", "INTERNAL_ERROR", "ConnectionResetError")


async def test_a_cancelled_call_is_not_a_failure(make_tool, calls):
    class Slow(make_tool.Made):
        async def arun(self, parameters):
            started.set()
            await asyncio.Event().wait()

    started = asyncio.Event()
    task = asyncio.create_task(make_tool("slow", lambda _: None, Slow).arun_with_timing({}))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    (call,) = calls()
    assert (call.tool, call.ending, call.status) == ("slow", "cancelled", None)


async def test_the_asynchronous_tool_of_the_users_own_is_recorded(make_tool, calls):
    class Own(make_tool.Made):
        async def arun(self, parameters):
            await asyncio.sleep(0)
            if parameters["n"] < 0:
                raise ValueError("negative")
            return self.run(parameters)

    tool = make_tool("own", lambda parameters: parameters["n"], Own)
    assert (await tool.arun_with_timing({"n": 3})).text == "3"
    await tool.arun_with_timing({"n": -3})
    good, bad = calls()
    assert (good.status, bad.status, bad.error_type) == ("success", "error", "ValueError")
