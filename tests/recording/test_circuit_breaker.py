"""The circuit breaker: when it opens, what it lets through, and what is recorded."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Iterator
from typing import Any

import pytest

import tooltrace as tt
from tests.recording.shared_endings import Calls, R
from tooltrace.errors import CircuitOpen


class Breaker(tt.CircuitBreaker):
    """A breaker with a clock that the test sets."""

    now = 0.0

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._clock = lambda: self.now


class Flaky:
    """A tool that returns or raises what the test says, and counts its runs."""

    def __init__(self) -> None:
        self.runs = 0
        self.outcome: Any = TimeoutError("late")

    def __call__(self) -> Any:
        self.runs += 1
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome


def through_registry(tool: Callable[[], Any], breaker: tt.CircuitBreaker, how: str) -> Callable[[], str | None]:
    registry = tt.ToolRegistry(hooks=[breaker])
    registry.register(tool, name="flaky")
    if how == "execute":
        return lambda: registry.execute("flaky").code
    return lambda: asyncio.run(registry.aexecute("flaky")).code


def through_decorator(tool: Callable[[], Any], breaker: tt.CircuitBreaker, how: str) -> Callable[[], str | None]:
    def plain() -> Any:
        return tool()

    async def coroutine() -> Any:
        return tool()

    def items() -> Iterator[Any]:
        yield tool()

    async def async_items() -> Any:
        yield tool()

    async def collect(stream: Any) -> list[Any]:
        return [item async for item in stream]

    run: dict[str, Callable[[Any], Any]] = {
        "plain": lambda traced: traced(),
        "coroutine": lambda traced: asyncio.run(traced()),
        "items": lambda traced: list(traced()),
        "async_items": lambda traced: asyncio.run(collect(traced())),
    }
    traced = tt.trace_tool(name="flaky", breaker=breaker)(locals()[how])

    def call() -> str | None:
        try:
            run[how](traced)
        except CircuitOpen as error:
            return error.code
        except TimeoutError:
            return "TIMEOUT"
        return None

    return call


WAYS = [
    *((through_registry, how) for how in ("execute", "aexecute")),
    *((through_decorator, how) for how in ("plain", "coroutine", "items", "async_items")),
]


@pytest.mark.parametrize(("way", "how"), WAYS)
def test_a_tool_that_fails_repeatedly_is_refused_until_a_probe_succeeds(calls: Calls, way: Any, how: str) -> None:
    tool, breaker = Flaky(), Breaker(3, 300)
    call = way(tool, breaker, how)
    assert [call() for _ in range(5)] == ["TIMEOUT"] * 3 + ["CIRCUIT_OPEN"] * 2
    breaker.now = 300
    assert (breaker.state("flaky"), call(), call()) == ("half_open", "TIMEOUT", "CIRCUIT_OPEN"), (
        "one probe, which failed"
    )
    breaker.now, tool.outcome = 600, "fine"
    assert [call(), call(), breaker.state("flaky"), tool.runs] == [None, None, "closed", 6]
    refused = [each for each in calls() if each.ending == "refused"]
    assert len(calls()) == 9
    assert len(refused) == 3
    assert {(each.status, each.code, each.duration_ms, each.rule) for each in refused} == {
        (None, "CIRCUIT_OPEN", None, None)
    }
    assert "open after 3 failures in a row" in (refused[0].error_message or "")


@pytest.mark.parametrize("how", ["items", "async_items"])
def test_a_stream_fails_by_its_last_item_or_the_text_of_all(store: Any, how: str) -> None:
    tool, breaker = Flaky(), Breaker(2, 300)
    call = through_decorator(tool, breaker, how)
    for outcome in ({"ok": False, "error": "no answer"}, "Error: no answer"):
        tool.outcome = outcome
        assert call() is None
    assert breaker.state("flaky") == "open"


def test_a_generator_receives_what_is_sent_and_thrown_into_it(store: Any) -> None:
    @tt.trace_tool(breaker=Breaker(1, 300))
    def talk() -> Any:
        got = yield 1
        try:
            yield got
        except KeyError:
            yield "caught"
        return "end"

    stream = talk()
    assert [next(stream), stream.send("x"), stream.throw(KeyError("k"))] == [1, "x", "caught"]
    with pytest.raises(StopIteration, match="end"):
        next(stream)
    opened = talk()
    next(opened)
    opened.close()
    assert next(talk()) == 1, "neither is a failure"


@pytest.mark.parametrize("breaker", [None, tt.CircuitBreaker()])
def test_a_stream_receives_what_is_sent_and_thrown_into_it(store: Any, breaker: tt.CircuitBreaker | None) -> None:
    seen: list[Any] = []

    @tt.trace_tool(breaker=breaker)
    async def talk() -> AsyncGenerator[Any, Any]:
        try:
            seen.append((yield 1))
            try:
                yield 2
            except KeyError as error:
                seen.append(error)
            yield 3
        finally:
            seen.append("closed")

    async def drive() -> list[Any]:
        stream = talk()
        got = [await anext(stream), await stream.asend("x"), await stream.athrow(KeyError("k"))]
        await stream.aclose()
        with pytest.raises(ValueError, match="mine"):
            other = talk()
            got.append(await anext(other))
            await other.athrow(ValueError("mine"))
        return got

    assert asyncio.run(drive()) == [1, 2, 3, 1]
    assert [str(each) for each in seen] == ["x", "'k'", "closed", "closed"]


@pytest.mark.parametrize(
    ("outcome", "opens"),
    [
        (R.error("TIMEOUT", "late"), True),
        ("Error: connection refused", True),
        (RuntimeError("boom"), True),
        (R.error("NOT_FOUND", "no such order"), False),
        (FileNotFoundError("a.txt"), False),
        (R.error("TIMEOUT", "too many rows", retryable=False), False),
        ("fine", False),
    ],
)
def test_only_failures_that_are_about_the_tool_open_the_circuit(store: Any, outcome: Any, opens: bool) -> None:
    tool, breaker = Flaky(), Breaker(2, 300)
    tool.outcome = outcome
    call = through_registry(tool, breaker, "execute")
    for _ in range(3):
        call()
    assert tool.runs == (2 if opens else 3)
    assert breaker.state("flaky") == ("open" if opens else "closed")


def test_a_success_between_failures_keeps_the_circuit_closed(store: Any) -> None:
    tool, breaker = Flaky(), Breaker(2, 300)
    call = through_registry(tool, breaker, "execute")
    for outcome in (TimeoutError("late"), "fine", TimeoutError("late")):
        tool.outcome = outcome
        call()
    assert breaker.state("flaky") == "closed"


def test_one_of_many_threads_is_the_probe(store: Any) -> None:
    breaker = Breaker(1, 300)
    breaker.record("t", failed=True)
    breaker.now = 300
    gate, allowed = threading.Barrier(8), []

    def ask() -> None:
        gate.wait()
        try:
            breaker.check("t")
        except CircuitOpen:
            return
        allowed.append(1)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(allowed) == 1
    breaker.now = 600
    breaker.check("t")  # a probe that never ends does not keep the circuit open for ever


def test_a_cancelled_probe_leaves_the_circuit_half_open(store: Any) -> None:
    breaker = Breaker(1, 300)
    breaker.record("flaky", failed=True)
    breaker.now = 300

    async def waits() -> None:
        await asyncio.sleep(3600)

    async def main() -> None:
        task = asyncio.ensure_future(tt.trace_tool(name="flaky", breaker=breaker)(waits)())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert breaker.state("flaky") == "half_open"


def test_a_registry_has_a_breaker_unless_it_is_switched_off_or_another_is_given(store: Any) -> None:
    for options, runs in (({}, 3), ({"breaker": False}, 6), ({"hooks": [tt.CircuitBreaker(5)]}, 5)):
        tool = Flaky()
        registry = tt.ToolRegistry(**options)
        registry.register(tool, name="flaky")
        for _ in range(6):
            registry.execute("flaky")
        assert tool.runs == runs


def test_what_another_hook_refuses_is_no_failure_of_the_tool(store: Any) -> None:
    tool, breaker = Flaky(), tt.CircuitBreaker(1)
    registry = tt.ToolRegistry(hooks=[breaker, lambda call, proceed: R.error("BUDGET", "spent")])
    registry.register(tool, name="flaky")
    for _ in range(3):
        assert registry.execute("flaky").code == "BUDGET"
    assert (tool.runs, breaker.state("flaky")) == (0, "closed")


@pytest.mark.parametrize(
    "options",
    [
        {"failure_threshold": 0},
        {"failure_threshold": True},
        {"recovery_timeout": 0},
        {"recovery_timeout": float("nan")},
    ],
)
def test_numbers_that_cannot_be_used_are_refused(options: Any) -> None:
    with pytest.raises(tt.errors.ConfigError, match=next(iter(options))):
        tt.CircuitBreaker(**options)


def test_the_query_replays_a_breaker_with_the_same_numbers(store: Any) -> None:
    from tooltrace.analysis import find

    known = {each.name: each.default for each in find("breaker").header.parameters}
    breaker = tt.CircuitBreaker()
    assert (known["failure_threshold"], known["recovery_timeout"]) == (
        breaker.failure_threshold,
        breaker.recovery_timeout,
    )
