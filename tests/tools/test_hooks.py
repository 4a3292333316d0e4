"""Hooks around a call."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import json
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import tooltrace as tt
from tooltrace.core.records import ToolCall
from tooltrace.errors import ConfigError
from tooltrace.tools import ToolInvocation, ToolRegistry

Calls = Callable[[], list[ToolCall]]
Proceed = Callable[[], tt.ToolResponse]
AsyncProceed = Callable[[], Awaitable[tt.ToolResponse]]
R = tt.ToolResponse


def run(registry: ToolRegistry, how: str, *args: Any, **kwargs: Any) -> tt.ToolResponse:
    if how == "sync":
        return registry.execute(*args, **kwargs)
    return asyncio.run(registry.aexecute(*args, **kwargs))


both = pytest.mark.parametrize("how", ["sync", "async"])


def add(a: int, b: int = 1) -> int:
    if a < 0:
        raise TimeoutError("slow")
    return a + b


async def aadd(a: int, b: int = 1) -> int:
    return add(a, b)


@both
@pytest.mark.parametrize("name", ["add", "aadd"])
def test_hooks_nest_in_their_order(calls: Calls, how: str, name: str) -> None:
    seen: list[Any] = []

    def outer(call: ToolInvocation, proceed: Proceed) -> R:
        seen.append(("outer", call.tool, dict(call.arguments), call.call_id))
        response = proceed()
        seen.append("outer after")
        return response

    def inner(call: ToolInvocation, proceed: Proceed) -> R:
        seen.append("inner")
        response = proceed()
        seen.append(("inner after", response.data))
        return response.model_copy(update={"text": "changed"})

    registry = ToolRegistry([add, aadd], hooks=[outer])
    registry.add_hook(inner)
    response = run(registry, how, name, {"a": "1"}, call_id="c")
    assert seen == [("outer", name, {"a": 1}, "c"), "inner", ("inner after", 2), "outer after"]
    assert (response.text, response.data) == ("changed", 2)
    assert [(call.text, call.result) for call in calls()] == [("changed", "2")]


@both
def test_a_hook_changes_the_arguments_and_on_record_are_the_models(calls: Calls, how: str) -> None:
    def more(call: ToolInvocation, proceed: Proceed) -> R:
        call.arguments["b"] = 100
        return proceed()

    assert run(ToolRegistry([add], hooks=[more]), how, "add", {"a": 1}).data == 101
    assert [json.loads(call.arguments) for call in calls()] == [{"a": 1}]


@both
def test_a_hook_answers_instead(calls: Calls, how: str) -> None:
    def guard(call: ToolInvocation, proceed: Proceed) -> R:
        return R.error("ACCESS_DENIED", "not you")

    assert run(ToolRegistry([add], hooks=[guard]), how, "add", {"a": 1}).code == "ACCESS_DENIED"
    assert [(call.code, call.ending) for call in calls()] == [("ACCESS_DENIED", "refused")]


@both
def test_a_hook_tries_again(calls: Calls, how: str) -> None:
    def retry(call: ToolInvocation, proceed: Proceed) -> R:
        first = proceed()
        assert (first.code, first.error.message) == ("TIMEOUT", "slow")
        call.arguments["a"] = 1
        return proceed()

    assert run(ToolRegistry([add], hooks=[retry]), how, "add", {"a": -1}).data == 2
    assert [(call.status, call.ending) for call in calls()] == [("success", "returned")]


@both
def test_an_exception_is_recorded_unless_a_hook_replaces_it(calls: Calls, how: str) -> None:
    def look(call: ToolInvocation, proceed: Proceed) -> R:
        return proceed()

    def kind(call: ToolInvocation, proceed: Proceed) -> R:
        return proceed().model_copy(update={"text": "never mind"})

    for hook in (look, kind):
        assert run(ToolRegistry([add], hooks=[hook]), how, "add", {"a": -1}).code == "TIMEOUT"
    assert [(call.ending, call.error_type) for call in calls()] == [
        ("raised", "TimeoutError"),
        ("returned", "TimeoutError"),
    ]


@both
@pytest.mark.parametrize("error", [ValueError("boom"), StopIteration("boom"), RuntimeError("boom")])
def test_a_hook_that_raises_is_named(calls: Calls, how: str, error: Exception) -> None:
    def careless(call: ToolInvocation, proceed: Proceed) -> R:
        raise error

    response = run(ToolRegistry([add], hooks=[careless]), how, "add", {"a": 1})
    assert (response.code, response.error.type) == ("INTERNAL_ERROR", type(error).__name__)
    assert "careless failed: boom" in response.error.message
    assert [(call.code, call.ending) for call in calls()] == [("INTERNAL_ERROR", "refused")]


@both
def test_a_hook_that_returns_no_response_is_named(calls: Calls, how: str) -> None:
    def forgetful(call: ToolInvocation, proceed: Proceed) -> Any:
        proceed()

    response = run(ToolRegistry([add], hooks=[forgetful]), how, "add", {"a": 1})
    assert response.code == "INTERNAL_ERROR"
    assert "forgetful returned NoneType" in response.error.message
    assert len(calls()) == 1


@both
def test_an_interrupt_in_a_hook_propagates(calls: Calls, how: str) -> None:
    def interrupted(call: ToolInvocation, proceed: Proceed) -> R:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(ToolRegistry([add], hooks=[interrupted]), how, "add", {"a": 1})
    assert [call.ending for call in calls()] == ["cancelled"]


@both
def test_hooks_do_not_run_for_refused_calls(calls: Calls, how: str) -> None:
    def never(call: ToolInvocation, proceed: Proceed) -> R:
        raise AssertionError

    registry = ToolRegistry([add], hooks=[never])
    assert run(registry, how, "add", {"a": "x"}).code == "INVALID_PARAM"
    assert run(registry, how, "sub", {}).code == "NOT_FOUND"


class AsyncHook:
    async def __call__(self, call: ToolInvocation, proceed: AsyncProceed) -> R:
        response = await proceed()
        return response.model_copy(update={"text": f"{response.data}!"})


async def async_hook(call: ToolInvocation, proceed: AsyncProceed) -> R:
    return await AsyncHook()(call, proceed)


@pytest.mark.parametrize("hook", [AsyncHook(), async_hook, functools.partial(async_hook)])
def test_a_coroutine_is_for_aexecute_and_is_never_skipped(calls: Calls, hook: Any) -> None:
    def sync_hook(call: ToolInvocation, proceed: Proceed) -> R:
        call.arguments["b"] = 5
        return proceed()

    for hooks in ([hook, sync_hook], [sync_hook, hook]):
        registry = ToolRegistry([add, aadd], hooks=hooks)
        assert asyncio.run(registry.aexecute("add", {"a": 1})).text == "6!"
        assert asyncio.run(registry.aexecute("aadd", {"a": 1})).text == "6!"
        with pytest.raises(ConfigError, match="use aexecute"):
            registry.execute("add", {"a": 1})
    assert len(calls()) == 4


async def test_a_hook_in_a_thread_has_the_context(calls: Calls) -> None:
    name: contextvars.ContextVar[str] = contextvars.ContextVar("name", default="none")
    name.set("kept")

    @tt.trace_tool
    def helper() -> None: ...

    def hook(call: ToolInvocation, proceed: Proceed) -> R:
        assert name.get() == "kept"
        helper()
        return proceed()

    async def tool() -> str:
        helper()
        return name.get()

    assert (await ToolRegistry([tool], hooks=[hook]).aexecute("tool")).text == "kept"
    outer, *inner = calls()
    assert [call.parent_span_id for call in inner] == [outer.span_id] * 2


async def test_many_blocking_hooks_and_tools_complete(calls: Calls) -> None:
    def hook(call: ToolInvocation, proceed: Proceed) -> R:
        return proceed()

    registry = ToolRegistry([add], hooks=[hook, hook])
    found = await asyncio.gather(*(registry.aexecute("add", {"a": n}) for n in range(50)))
    assert [response.data for response in found] == list(range(1, 51))
    assert len(calls()) == 50


async def test_a_cancellation_reaches_the_tool_behind_a_hook_in_a_thread(calls: Calls) -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def tool() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    def hook(call: ToolInvocation, proceed: Proceed) -> R:
        return proceed()

    task = asyncio.create_task(ToolRegistry([tool], hooks=[hook]).aexecute("tool"))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await ended.wait()
    assert [call.ending for call in calls()] == ["cancelled"]


async def test_a_hook_that_proceeds_after_a_cancellation_starts_nothing(store: Any) -> None:
    ran: list[int] = []
    waiting, go, done = threading.Event(), threading.Event(), threading.Event()

    def hook(call: ToolInvocation, proceed: Proceed) -> R:
        waiting.set()
        assert go.wait()
        try:
            return proceed()
        finally:
            done.set()

    registry = ToolRegistry(hooks=[hook])
    registry.register(lambda: ran.append(1), name="tool")
    task = asyncio.create_task(registry.aexecute("tool"))
    await asyncio.to_thread(waiting.wait, 20)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    go.set()
    assert await asyncio.to_thread(done.wait, 20)
    assert ran == []


class TestAgnoHooks:
    """``tool_hooks``: hooks with the parameters that Agno fills in by name."""

    @both
    def test_the_arguments_and_the_result_can_be_changed(self, calls: Calls, how: str) -> None:
        seen: list[Any] = []

        def add(n: int) -> int:
            return n + 1

        def outer(function_name: str, function_call: Any, arguments: dict[str, Any]) -> Any:
            arguments["n"] *= 10
            found = function_call(**arguments)
            seen.append((function_name, found))
            return found

        def inner(func: Any, args: dict[str, Any], unused: int = 0) -> Any:
            return f"<{func(**args)}>"

        registry = ToolRegistry([add], tool_hooks=[outer, inner])
        assert run(registry, how, "add", {"n": 2}).text == "<21>"
        assert seen == [("add", "<21>")]
        (call,) = calls()
        assert (call.text, call.status) == ("<21>", "success")

    def test_a_failure_passes_through_as_the_response_that_it_is(self, calls: Calls) -> None:
        def late() -> None:
            raise TimeoutError("late")

        registry = ToolRegistry([late], tool_hooks=[lambda function_call, arguments: function_call(**arguments)])
        assert registry.execute("late").code == "TIMEOUT"
        assert [(call.ending, call.error_type) for call in calls()] == [("raised", "TimeoutError")]

    def test_parameters_that_only_agno_fills_in_are_refused(self) -> None:
        with pytest.raises(ConfigError, match="cannot have agent"):
            ToolRegistry(tool_hooks=[lambda agent, function_call: None])
        with pytest.raises(ConfigError, match="are the same"):
            ToolRegistry(call_limit=1, tool_call_limit=1)

    def test_an_asynchronous_hook_awaits_the_tool(self, store: Any) -> None:
        async def hook(function_call: Any, arguments: dict[str, Any]) -> Any:
            return await function_call(**arguments)

        registry = ToolRegistry([lambda_tool], tool_hooks=[hook])
        assert asyncio.run(registry.aexecute("lambda_tool", {"n": 1})).text == "1"


def lambda_tool(n: int) -> str:
    return str(n)
