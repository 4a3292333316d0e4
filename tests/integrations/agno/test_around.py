"""Hooks, caches, limits and refusals: what stands around a tool goes on as before, and is seen."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("agno", reason="not installed: pip install 'tooltrace-recorder[agno]'")

from agno.exceptions import RetryAgentRun, RunCancelledException, StopAgentRun
from agno.tools import tool
from agno.tools.function import Function, FunctionCall, ToolResult

import tooltrace as tt

pytestmark = pytest.mark.usefixtures("installed")


def add(a: int, b: int) -> int:
    return a + b


def test_hooks_run_in_their_order_with_the_same_values(agent_of: Callable, calls: Callable) -> None:
    seen: list[Any] = []

    def outer(function_name: str, function_call: Callable, arguments: dict) -> Any:
        seen.append(("outer", function_name, dict(arguments)))
        result = function_call(**arguments)
        seen.append(("outer got", result))
        return result * 10

    def inner(name: str, func: Callable, args: dict, agent: Any) -> Any:
        seen.append(("inner", agent.name))
        return func(**args)

    agent = agent_of([add], [("add", {"a": 1, "b": 2}, "call_1")], tool_hooks=[outer, inner])
    agent.run("go")
    assert seen == [("outer", "add", {"a": 1, "b": 2}), ("inner", "clerk"), ("outer got", 3)]
    assert agent.model.seen[-1] == [("call_1", "30")]
    (call,) = calls()
    assert call.result == "3"  # the tool's own; what hooks make of it is theirs


def test_pre_and_post_hooks_receive_the_call_itself(agent_of: Callable, calls: Callable) -> None:
    seen: list[Any] = []

    @tool(pre_hook=lambda fc: seen.append(fc), post_hook=lambda fc: seen.append(fc))
    def double(n: int) -> int:
        return n * 2

    agent_of([double], [("double", {"n": 4}, "call_1")]).run("go")
    assert [type(fc) for fc in seen] == [FunctionCall, FunctionCall]
    assert seen[0] is seen[1]
    assert type(seen[0].function) is Function
    assert (seen[0].result, seen[0].call_id) == (8, "call_1")
    assert not hasattr(seen[0].function.entrypoint, "__wrapped__") or seen[0].function.entrypoint(n=1) == 2
    assert len(calls()) == 1


def test_a_hook_that_tries_again_makes_two_attempts(agent_of: Callable, calls: Callable) -> None:
    left = [ConnectionError("gone")]

    def flaky() -> str:
        if left:
            raise left.pop()
        return "there"

    def again(function_call: Callable, arguments: dict) -> Any:
        try:
            return function_call(**arguments)
        except ConnectionError:
            return function_call(**arguments)

    agent_of([flaky], [("flaky", {}, "call_1")], tool_hooks=[again]).run("go")
    assert [(c.call_id, c.attempt, c.status, c.error_type) for c in calls()] == [
        ("call_1", 1, "error", "ConnectionError"),
        ("call_1", 2, "success", None),
    ]


@pytest.mark.parametrize("how", ["run", "arun"])
def test_a_hook_that_refuses_ends_the_call(agent_of: Callable, calls: Callable, how: str) -> None:
    def guard(function_call: Callable, arguments: dict) -> Any:
        raise PermissionError("not you")

    async def aadd(a: int, b: int) -> int:
        return a + b

    tool_ = add if how == "run" else aadd
    agent = agent_of([tool_], [(tool_.__name__, {"a": 1, "b": 2}, "call_1")], tool_hooks=[guard])
    agent.run("go") if how == "run" else asyncio.run(agent.arun("go"))
    (call,) = calls()
    assert (call.ending, call.error_type, call.code) == ("refused", "PermissionError", "PERMISSION_DENIED")
    assert (call.status, call.error_message) == (None, "not you")
    assert agent.model.seen[-1] == [("call_1", "not you")]


def test_a_hook_that_answers_itself_is_recorded_with_its_answer(agent_of: Callable, calls: Callable) -> None:
    agent_of([add], [("add", {"a": 1, "b": 2}, "call_1")], tool_hooks=[lambda arguments: "mine"]).run("go")
    (call,) = calls()
    assert (call.status, call.result, call.cached) == ("success", '"mine"', None)


def test_a_hook_that_answers_with_a_stream_is_followed(agent_of: Callable, calls: Callable) -> None:
    def stream(arguments: dict) -> Any:
        yield "a"
        yield "b"

    agent = agent_of([add], [("add", {"a": 1, "b": 2}, "call_1")], tool_hooks=[stream])
    agent.run("go")
    (call,) = calls()
    assert (call.text, call.call_id) == ("ab", "call_1")
    assert agent.model.seen[-1] == [("call_1", "ab")]


async def test_an_async_hook_that_answers_with_a_stream_is_followed(agent_of: Callable, calls: Callable) -> None:
    async def hook(arguments: dict) -> Any:
        async def stream() -> Any:
            yield "a"
            yield "b"

        return stream()

    agent = agent_of([add], [("add", {"a": 1, "b": 2}, "call_1")], tool_hooks=[hook])
    await agent.arun("go")
    (call,) = calls()
    assert (call.text, call.call_id) == ("ab", "call_1")
    assert agent.model.seen[-1] == [("call_1", "ab")]


async def test_async_hooks_and_async_tools(agent_of: Callable, calls: Callable) -> None:
    seen = []

    async def hook(function_name: str, function_call: Callable, arguments: dict) -> Any:
        seen.append(function_name)
        return await function_call(**arguments)

    async def fetch(key: str) -> str:
        if key == "bad":
            raise TimeoutError("slow")
        return key.upper()

    turn = [("fetch", {"key": "a"}, "call_1"), ("fetch", {"key": "bad"}, "call_2"), ("add", {"a": 1, "b": 1}, "call_3")]
    agent = agent_of([fetch, add], turn, tool_hooks=[hook])
    await agent.arun("go")
    assert sorted(seen) == ["add", "fetch", "fetch"]
    by_id = {call.call_id: call for call in calls()}
    assert (by_id["call_1"].result, by_id["call_2"].code, by_id["call_3"].result) == ('"A"', "TIMEOUT", "2")
    assert agent.model.seen[-1] == [("call_1", "A"), ("call_2", "slow"), ("call_3", "2")]


@pytest.mark.parametrize("hooks", [None, [lambda function_call, arguments: function_call(**arguments)]])
@pytest.mark.parametrize("how", ["run", "arun"])
def test_a_cached_result_is_marked(agent_of: Callable, calls: Callable, tmp_path: Path, how: str, hooks: Any) -> None:
    ran = []

    @tool(cache_results=True, cache_dir=str(tmp_path))
    def look_up(key: str) -> str:
        ran.append(key)
        return key * 2

    turns = [[("look_up", {"key": "x"}, "call_1")], [("look_up", {"key": "x"}, "call_2")]]
    agent = agent_of([look_up], *turns, tool_hooks=hooks)
    agent.run("go") if how == "run" else asyncio.run(agent.arun("go"))
    assert ran == ["x"]
    assert [(c.call_id, c.status, c.result, c.cached) for c in calls()] == [
        ("call_1", "success", '"xx"', None),
        ("call_2", "success", '"xx"', True),
    ]


@pytest.mark.parametrize("how", ["run", "arun"])
def test_exceptions_that_control_the_agent_are_recorded(agent_of: Callable, calls: Callable, how: str) -> None:
    def picky(n: int) -> str:
        raise RetryAgentRun("give a larger n")

    def last() -> str:
        raise StopAgentRun("enough")

    agent = agent_of([picky, last], [("picky", {"n": 1}, "call_1")], [("last", {}, "call_2")])
    agent.run("go") if how == "run" else asyncio.run(agent.arun("go"))
    assert [(c.call_id, c.error_type, c.retryable, c.error_message) for c in calls()] == [
        ("call_1", "agno.exceptions.RetryAgentRun", True, "give a larger n"),
        ("call_2", "agno.exceptions.StopAgentRun", calls()[1].retryable, "enough"),
    ]


@pytest.mark.parametrize("how", ["run", "arun"])
def test_a_cancelled_run_is_not_a_failure_of_the_tool(agent_of: Callable, calls: Callable, how: str) -> None:
    def work() -> str:
        raise RunCancelledException

    def stream() -> Any:
        yield "a"
        raise RunCancelledException

    for name in ("work", "stream"):
        agent = agent_of([work, stream], [(name, {}, f"call_{name}")])
        output = agent.run("go") if how == "run" else asyncio.run(agent.arun("go"))
        assert output.status.value == "CANCELLED"
    assert [(c.call_id, c.status, c.ending, c.error_type) for c in calls()] == [
        ("call_work", None, "cancelled", "agno.exceptions.RunCancelledException"),
        ("call_stream", None, "cancelled", "agno.exceptions.RunCancelledException"),
    ]


@pytest.mark.parametrize("how", ["run", "arun"])
def test_calls_that_agno_refuses_are_recorded(agent_of: Callable, calls: Callable, how: str) -> None:
    turns = (
        [("nobody", {"x": 1}, "call_1"), ("add", "{not json", "call_2"), ("add", "[1]", "call_3")],
        [("add", {"a": 1, "b": n}, f"call_1{n}") for n in range(3)],
    )
    agent = agent_of([add], *turns, tool_call_limit=2)
    agent.run("go", session_id="s") if how == "run" else asyncio.run(agent.arun("go", session_id="s"))
    among = [("call_10", "add", "success", None), ("call_11", "add", "success", None)]
    among.insert(2 if how == "run" else 0, ("call_12", "add", None, "CALL_LIMIT"))  # Agno refuses before it gathers
    assert [(c.call_id, c.tool, c.status, c.code) for c in calls()] == [
        ("call_1", "nobody", None, "NOT_FOUND"),
        ("call_2", "add", None, "INVALID_FORMAT"),
        ("call_3", "add", None, "INVALID_FORMAT"),
        *among,
    ]
    refused = {c.call_id: c for c in calls()}
    assert refused["call_1"].arguments == '{"x":1}'
    assert refused["call_2"].arguments == '{"value":"{not json"}'
    assert {c.agent for c in calls()} == {"clerk"}
    assert {c.conversation_id for c in calls()} == {"s"}
    assert (refused["call_12"].ending, refused["call_12"].duration_ms) == ("refused", None)


def test_a_call_to_an_agent_without_tools_is_recorded(agent_of: Callable, calls: Callable) -> None:
    agent_of([], [("nobody", {}, "call_1")]).run("go")
    (call,) = calls()
    assert (call.tool, call.code) == ("nobody", "NOT_FOUND")


def test_arguments_that_do_not_fit_are_the_callers_fault(agent_of: Callable, calls: Callable) -> None:
    agent_of([add], [("add", {"a": "many", "b": 2}, "call_1")]).run("go")
    (call,) = calls()
    assert (call.ending, call.code, call.error_type.rpartition(".")[2]) == (
        "refused",
        "INVALID_PARAM",
        "ValidationError",
    )
    assert call.arguments == '{"a":"many","b":2}'


def test_agents_own_parameters_are_not_arguments(agent_of: Callable, calls: Callable) -> None:
    def who(agent: Any, run_context: Any, fc: Any, n: int) -> str:
        return f"{agent.name} {run_context.session_id} {fc.call_id} {n}"

    agent = agent_of([who], [("who", {"n": 1}, "call_1")])
    agent.run("go", session_id="s")
    assert agent.model.seen[-1] == [("call_1", "clerk s call_1 1")]
    (call,) = calls()
    assert (call.arguments, call.result) == ('{"n":1}', '"clerk s call_1 1"')


def test_a_decorated_tool_is_recorded_once_with_agnos_context(agent_of: Callable, calls: Callable) -> None:
    @tt.trace_tool(version="2")
    def add(a: int, b: int) -> int:
        return a + b

    @tt.trace_tool
    async def slow() -> str:
        return "slow"

    agent = agent_of([add, slow], [("add", {"a": 1, "b": 2}, "call_1"), ("slow", {}, "call_2")])
    asyncio.run(agent.arun("go", session_id="s"))
    by_id = {c.call_id: c for c in calls()}
    assert len(calls()) == 2
    assert (by_id["call_1"].tool_version, by_id["call_1"].agent, by_id["call_1"].conversation_id) == ("2", "clerk", "s")
    assert by_id["call_2"].result == '"slow"'


def test_a_tool_result_reaches_the_model_as_it_was(agent_of: Callable, calls: Callable) -> None:
    def draw() -> ToolResult:
        return ToolResult(content="a picture")

    agent = agent_of([draw], [("draw", {}, "call_1")])
    agent.run("go")
    assert agent.model.seen[-1] == [("call_1", "a picture")]
    (call,) = calls()
    assert call.status == "success"
    assert "a picture" in (call.text or call.result)


def test_toolkits(agent_of: Callable, calls: Callable) -> None:
    from agno.tools import Toolkit

    class Sums(Toolkit):
        def __init__(self) -> None:
            super().__init__(name="sums", tools=[self.total])

        def total(self, numbers: list[int]) -> int:
            """Sum up."""
            return sum(numbers)

    agent_of([Sums()], [("total", {"numbers": [1, 2, 3]}, "call_1")]).run("go")
    (call,) = calls()
    assert (call.tool, call.result, call.tool_description) == ("total", "6", "Sum up.")


def test_a_tool_called_by_code_has_no_call_id(agent_of: Callable, calls: Callable) -> None:
    def outer(fc: Any) -> str:
        return str(FunctionCall(function=Function.from_callable(add), arguments={"a": 1, "b": 2}).execute().result)

    agent_of([outer], [("outer", {}, "call_1")]).run("go")
    outside, inside = calls()
    assert (outside.tool, outside.call_id) == ("outer", "call_1")
    assert (inside.tool, inside.call_id, inside.parent_span_id) == ("add", inside.span_id, outside.span_id)


@pytest.mark.parametrize("how", ["run", "arun"])
def test_a_refusal_before_a_decorated_tool_is_recorded(agent_of: Callable, calls: Callable, how: str) -> None:
    @tt.trace_tool
    def halve(n: int) -> float:
        if n == 0:
            raise ZeroDivisionError
        return n / 2

    turn = [
        ("halve", {"n": "many"}, "c1"),
        ("halve", {"n": 0}, "c2"),
        ("halve", {"n": 2}, "c3"),
        ("halve", {"m": 1}, "c4"),
    ]
    agent = agent_of([halve], turn)
    agent.run("go") if how == "run" else asyncio.run(agent.arun("go"))
    found = {c.call_id: (c.error_type or "").rpartition(".")[2] for c in calls()}
    assert found == {"c1": "ValidationError", "c2": "ZeroDivisionError", "c3": "", "c4": "ValidationError"}
    assert len(calls()) == 4


def test_a_stream_is_refused_when_it_is_called_as_before(agent_of: Callable, calls: Callable) -> None:
    seen: list[Any] = []

    @tool(post_hook=lambda fc: seen.append((fc.error, fc.result)))
    def words(agent: Any, n: int) -> Any:
        yield str(n)

    agent_of([words], [("words", {"m": 1}, "call_1")]).run("go")
    ((error, result),) = seen
    assert "unexpected keyword argument" in error
    assert result is None
    (call,) = calls()
    assert (call.ending, call.error_type) == ("raised", "TypeError")


def test_ended_calls_leave_no_references(agent_of: Callable, calls: Callable) -> None:
    import gc

    from tooltrace.integrations.agno import human_review, model_messages

    for _ in range(3):
        agent_of([add], [("add", {"a": 1, "b": 2}, "call_1"), ("add", {"a": "x", "b": 2}, "call_2")]).run("go")
    gc.collect()
    assert (human_review._answers._facts, human_review._inputs._facts, model_messages._last._facts) == ({}, {}, {})
    assert len(calls()) == 6


def test_runs_in_threads_do_not_mix(agent_of: Callable, calls: Callable) -> None:
    from concurrent.futures import ThreadPoolExecutor

    def run(n: int) -> None:
        turns = [[("add", {"a": n, "b": k}, f"call_{n}_{k}") for k in range(3)]]
        agent_of([add], *turns, name=f"agent_{n}").run("go", session_id=f"s_{n}")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(run, range(8)))
    rows = {(c.call_id, c.agent, c.conversation_id, c.result) for c in calls()}
    assert rows == {(f"call_{n}_{k}", f"agent_{n}", f"s_{n}", str(n + k)) for n in range(8) for k in range(3)}


def test_a_stream_function_is_still_one_to_agno(agent_of: Callable, calls: Callable, tmp_path: Path) -> None:
    """Agno asks what kind of function the tool is, and keeps no cache for streams."""

    def words() -> Any:
        yield "a"

    cached = {"cache_results": True, "cache_dir": str(tmp_path / "cache"), "skip_entrypoint_processing": True}
    agent_of([Function(name="words", entrypoint=words, **cached)], [("words", {}, "call_1")]).run("go")
    assert not (tmp_path / "cache").exists()
    assert [call.text for call in calls()] == ["a"]


def test_a_stream_that_a_hook_drops_is_abandoned(agent_of: Callable, calls: Callable) -> None:
    import gc

    def words() -> Any:
        yield "a"

    def drop(function_call: Callable, arguments: dict) -> str:
        function_call(**arguments)
        return "dropped"

    agent = agent_of([words], [("words", {}, "call_1")], tool_hooks=[drop])
    agent.run("go")
    gc.collect()
    assert agent.model.seen[-1] == [("call_1", "dropped")]
    (call,) = calls()
    assert (call.ending, call.status, call.duration_ms) == ("abandoned", None, None)


def refused_dict(x: str) -> dict:
    return {"ok": False, "error": f"no {x} here"}


def refused_response(x: str) -> Any:
    return tt.ToolResponse.error("NO_STOCK", f"{x} is sold out")


def refused_stream(x: str) -> Any:
    yield "Error: "
    yield f"timeout of {x}"


def refused_text(x: str) -> str:
    return f"Error: {x} failed"


def raises(x: str) -> str:
    raise KeyError(x)


def cheerful(x: str) -> str:
    return f"error rate of {x}: 0.1 %, errors found in the log: none"


@pytest.mark.parametrize("how", ["run", "arun"])
def test_it_is_recorded_whether_the_model_received_the_error(agent_of: Callable, store: Path, how: str) -> None:
    tools = [refused_dict, refused_response, refused_stream, refused_text, raises, cheerful]
    turn = [(each.__name__, {"x": "tea"}, f"call_{n}") for n, each in enumerate(tools)]
    agent = agent_of(tools, turn)
    asyncio.run(agent.arun("go")) if how == "arun" else agent.run("go")
    with tt.connect(store) as db:
        rows = db.execute("SELECT tool, status, seen_error FROM tool_calls ORDER BY call_id").fetchall()
        texts = db.execute("SELECT call_id, seen_text FROM tool_calls ORDER BY call_id").fetchall()
    assert rows == [(each.__name__, "error", True) for each in tools[:-1]] + [("cheerful", "success", False)]
    assert texts == sorted(agent.model.seen[-1])


def test_an_error_hidden_by_a_hook_is_recorded_as_not_received(agent_of: Callable, store: Path) -> None:
    def polite(function_name: str, function_call: Callable, arguments: dict) -> Any:
        function_call(**arguments)
        return "All is well."

    agent_of([refused_text], [("refused_text", {"x": "tea"}, "call_1")], tool_hooks=[polite]).run("go")
    with tt.connect(store) as db:
        rows = db.execute("SELECT status, seen_text, seen_error FROM tool_calls").fetchall()
    assert rows == [("error", "All is well.", False)]
