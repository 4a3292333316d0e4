"""Answers that are given again, and calls that are one too many."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from pydantic import BaseModel, Field, SecretStr

import tooltrace as tt
from tooltrace.core.records import ToolCall
from tooltrace.tools import ToolInvocation, ToolRegistry
from tooltrace.tools.cache import Cache, key_of

Calls = Callable[[], list[ToolCall]]
R = tt.ToolResponse


def run(registry: ToolRegistry, how: str, *args: Any) -> tt.ToolResponse:
    return registry.execute(*args) if how == "sync" else asyncio.run(registry.aexecute(*args))


both = pytest.mark.parametrize("how", ["sync", "async"])


class Counter:
    """A tool that tells how often it ran."""

    def __init__(self) -> None:
        self.runs = 0

    def __call__(self, x: Any = None) -> Any:
        self.runs += 1
        return {"runs": self.runs, "items": []}


def cached(function: Any, **options: Any) -> ToolRegistry:
    registry = ToolRegistry(**options)
    registry.register(function, name="tool", cache=True, version="1")
    return registry


@both
def test_the_same_arguments_are_answered_again(calls: Calls, how: str) -> None:
    tool = Counter()
    registry = cached(tool)
    first = run(registry, how, "tool", '{"x": {"a": 1, "b": 2}}')
    again = run(registry, how, "tool", '{"x": {"b": 2, "a": 1}}')
    other = run(registry, how, "tool", {"x": {"a": 1}})
    assert (first.data["runs"], again.data["runs"], other.data["runs"], tool.runs) == (1, 1, 2, 2)
    assert [each.meta.cached for each in (first, again, other)] == [False, True, False]
    assert first.meta.span_id != again.meta.span_id
    assert [(call.cached, call.span_id) for call in calls()] == [
        (False, first.meta.span_id),
        (True, again.meta.span_id),
        (False, other.meta.span_id),
    ]
    registry.clear_cache()
    assert run(registry, how, "tool", {"x": {"a": 1}}).meta.cached is False


def test_an_answer_is_a_copy(store: Any) -> None:
    registry = cached(Counter())
    for _ in range(3):
        response = registry.execute("tool")
        assert response.data["items"] == []
        response.data["items"].append("the caller's own")


def test_only_a_success_is_cached(store: Any) -> None:
    answers = [R.error("TIMEOUT", "slow"), R.partial("half"), R.success("whole"), R.success("never")]

    def tool() -> R:
        return answers.pop(0)

    registry = cached(tool)
    assert [registry.execute("tool").text for _ in range(4)] == ["slow", "half", "whole", "whole"]


def test_results_that_cannot_be_copied_are_not_cached(store: Any) -> None:
    def tool() -> R:
        return R.success("x", threading.Lock())

    registry = cached(tool)
    assert [registry.execute("tool").meta.cached for _ in range(2)] == [False, False]


@pytest.mark.parametrize("pair", [(1, True), (1, 1.0), (0, False), (None, "null"), (0, "0"), ([], {}), (1, "1")])
def test_equal_values_of_different_types_are_different_keys(store: Any, pair: tuple[Any, Any]) -> None:
    registry = cached(Counter())
    assert [registry.execute("tool", {"x": x}).meta.cached for x in (*pair, *pair)] == [False, False, True, True]


class Login(BaseModel):
    key: SecretStr
    hidden: int = Field(default=0, exclude=True)


def test_arguments_that_json_shows_alike_are_not_the_same(store: Any) -> None:
    def tool(login: Login) -> str:
        return login.key.get_secret_value() + str(login.hidden)

    registry = cached(tool)
    for given in ({"key": "a"}, {"key": "b"}, {"key": "b", "hidden": 1}):
        expected = f"{given['key']}{given.get('hidden', 0)}"
        assert registry.execute("tool", {"login": given}).text == expected
    assert registry.execute("tool", {"login": {"key": "b", "hidden": 1}}).meta.cached is True


def test_a_tool_that_changes_its_arguments_does_not_change_the_key(store: Any) -> None:
    def tool(x: list[int]) -> int:
        x.append(1)
        return len(x)

    registry = cached(tool)
    found = [registry.execute("tool", {"x": [5]}) for _ in range(2)]
    assert [(response.data, response.meta.cached) for response in found] == [(2, False), (2, True)]
    assert registry.execute("tool", {"x": [5, 1]}).data == 3


def test_a_hook_that_refuses_runs_each_time(store: Any) -> None:
    allowed = [True]

    def guard(call: ToolInvocation, proceed: Callable[[], R]) -> R:
        return proceed() if allowed[0] else R.error("ACCESS_DENIED", "no")

    registry = cached(Counter(), hooks=[guard])
    assert registry.execute("tool").ok
    allowed[0] = False
    assert registry.execute("tool").code == "ACCESS_DENIED"
    allowed[0] = True
    assert registry.execute("tool").meta.cached is True


def test_the_key_is_of_the_arguments_that_the_tool_gets(store: Any) -> None:
    def same(call: ToolInvocation, proceed: Callable[[], R]) -> R:
        call.arguments["x"] = 0
        return proceed()

    registry = cached(Counter(), hooks=[same])
    assert [registry.execute("tool", {"x": n}).meta.cached for n in range(3)] == [False, True, True]


def test_another_tool_of_the_same_name_has_an_empty_cache(store: Any) -> None:
    registry = cached(Counter())
    registry.execute("tool")
    registry.register(Counter(), name="tool", cache=True, version="1", replace=True)
    assert registry.execute("tool").meta.cached is False


def test_the_size_and_the_time_to_live() -> None:
    now = [0.0]
    registry = ToolRegistry()
    registry.register(Counter(), name="short", cache=10)
    registry.register(Counter(), name="long", cache=True)
    short, long = registry._state.tools["short"], registry._state.tools["long"]
    cache = Cache(2, clock=lambda: now[0])
    keys = [key_of(short, {"x": 1}), key_of(long, {"x": 1}), key_of(long, {"x": 2})]
    cache.put(keys[0], R.success("a"))
    cache.put(keys[1], R.success("b"))
    now[0] = 9.9
    assert [cache.get(key).text for key in keys[1::-1]] == ["b", "a"]
    cache.put(keys[2], R.success("c"))
    assert [cache.get(key) is None for key in keys] == [False, True, False], "the one asked for the longest ago goes"
    now[0] = 10.0
    assert cache.get(keys[0]) is None
    now[0] = 1e9
    assert cache.get(keys[2]).text == "c"


# the limit


@both
def test_the_registrys_limit(calls: Calls, how: str) -> None:
    registry = ToolRegistry(call_limit=2)
    registry.register(Counter(), name="a")
    registry.register(Counter(), name="b")
    assert run(registry, how, "unknown").code == "NOT_FOUND"
    assert run(registry, how, "a").ok
    assert run(registry, how, "b", "no json").code == "INVALID_FORMAT", "a mistake counts too"
    response = run(registry, how, "a", {"x": 1})
    assert (response.code, response.error.retryable, response.next_action) == ("CALL_LIMIT", False, "stop")
    assert "limit of 2 calls" in response.error.message
    assert "Answer with what you have" in response.error.suggestion
    registry.reset()
    assert run(registry, how, "a").ok
    limited = calls()[3]
    assert (limited.tool, limited.code, limited.ending, limited.arguments) == ("a", "CALL_LIMIT", "refused", '{"x":1}')
    assert len(calls()) == 5


def test_a_tools_own_limit(store: Any) -> None:
    registry = ToolRegistry(call_limit=10)
    registry.register(Counter(), name="once", call_limit=1, cache=True)
    registry.register(Counter(), name="often")
    assert registry.execute("once").ok
    refused = registry.execute("once")
    assert refused.code == "CALL_LIMIT"
    assert "limit of 1 call of 'once'" in refused.error.message
    assert [registry.execute("often").ok for _ in range(10)] == [True] * 9 + [False], "what is refused is not counted"


def test_the_limit_is_exact_with_many_threads(calls: Calls) -> None:
    barrier = threading.Barrier(8)
    ran: list[int] = []

    def tool(n: int) -> int:
        ran.append(n)
        return n

    registry = ToolRegistry(call_limit=100)
    registry.register(tool, cache=True)

    def worker(thread: int) -> list[tt.ToolResponse]:
        barrier.wait()
        return [registry.execute("tool", {"n": n % 10}, call_id=f"{thread}-{n}") for n in range(25)]

    with ThreadPoolExecutor(8) as pool:
        found = [response for each in pool.map(worker, range(8)) for response in each]
    assert sum(response.ok for response in found) == 100
    assert sum(response.code == "CALL_LIMIT" for response in found) == 100
    assert len(ran) == sum(response.ok and not response.meta.cached for response in found)
    recorded = calls()
    assert {call.span_id for call in recorded} == {response.meta.span_id for response in found}
    assert len(recorded) == 200


def test_injected_values_are_part_of_the_cache_key(calls: Calls) -> None:
    user = ["alice"]
    registry = ToolRegistry(inject={"me": lambda: user[0]})

    @registry.register(cache=True)
    def inbox(q: str, me: str) -> str:
        """Read mail."""
        return f"mail of {me}"

    first = registry.execute("inbox", {"q": "x"})
    user[0] = "bob"
    second = registry.execute("inbox", {"q": "x"})
    again = registry.execute("inbox", {"q": "x"})
    assert (first.data, second.data, again.meta.cached) == ("mail of alice", "mail of bob", True)
