"""Type checkers see a traced tool with the type of the tool. Checked, never run."""

from __future__ import annotations

import functools
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from typing import Any, assert_type

from duckdb import DuckDBPyConnection, DuckDBPyRelation

import tooltrace as tt
from tooltrace import errors, toolutil


@tt.trace_tool
def plain(query: str, *, limit: int = 10) -> list[str]:
    return [query] * limit


@tt.trace_tool(
    name="n", version="1", tool_type="datastore", capture="metadata", confidence=0.5, retryable=OSError, inject="query"
)
def with_options(query: str) -> tt.ToolResponse:
    return tt.ToolResponse.success(query, confidence=0.5)


@tt.trace_tool
async def coroutine(n: int) -> int:
    return n


@tt.trace_tool
def generator(n: int) -> Generator[int, str, bytes]:
    got = yield n
    assert_type(got, str)
    return b""


@tt.trace_tool(name="a")
async def async_generator(n: int) -> AsyncGenerator[int, str]:
    yield n


class Service:
    @tt.trace_tool
    def method(self, q: str) -> int:
        return len(q)

    @tt.trace_tool(name="c")
    async def async_method(self, q: str) -> int:
        return len(q)

    @classmethod
    @tt.trace_tool
    def inner_class(cls, q: str) -> int:
        return len(q)

    @staticmethod
    @tt.trace_tool
    def inner_static(q: str) -> int:
        return len(q)

    @tt.trace_tool
    @staticmethod
    def outer_static(q: str) -> int:
        return len(q)

    @tt.trace_tool
    @classmethod
    def outer_class(cls, q: str) -> int:
        return len(q)

    def __call__(self, q: str) -> bytes:
        return q.encode()


async def check() -> None:
    assert_type(plain("x", limit=3), list[str])
    assert_type(with_options("x"), tt.ToolResponse)
    assert_type(await coroutine(1), int)
    assert_type(generator(1), Generator[int, str, bytes])
    assert_type(async_generator(1), AsyncGenerator[int, str])
    service = Service()
    assert_type(service.method("x"), int)
    assert_type(await service.async_method("x"), int)
    assert_type(service.inner_class("x"), int)
    assert_type(Service.inner_static("x"), int)
    assert_type(Service.outer_static("x"), int)
    assert_type(Service.outer_class("x"), int)
    assert_type(tt.trace_tool(service)("x"), bytes)
    assert_type(tt.trace_tool(functools.partial(plain, "x"))(limit=1), list[str])
    wanted: Callable[[int], Awaitable[int]] = coroutine
    assert_type(await wanted(1), int)

    plain(1)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    plain("x", limt=1)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    with_options()  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    tt.trace_tool(nme="x")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]

    log = tt.TraceLogger()
    with log.call("t", {"q": 1}, call_id="c") as call:
        call.finish(1)
        assert_type(call.span_id, str | None)
    async with log.call("t") as acall:
        acall.finish(None)
    assert_type(log.record("t", 1, duration_ms=1.5), str | None)
    response = tt.ToolResponse.error(tt.ToolErrorCode.TIMEOUT, "slow")
    assert_type(response, tt.ToolResponse)
    assert_type(response.to_message("c", "json"), str)
    assert_type(response.to_message("c", style="anthropic"), dict[str, Any])
    step = tt.resolve_next_step(response)
    assert_type(step.action, tt.NextAction)
    assert_type(step.user_message, str | None)
    assert_type(toolutil.Fail("MINE", "gone", False, "Ask."), tt.ToolResponse)
    assert_type(response.error, tt.ErrorInfo | None)
    assert_type(tt.normalize(5), tt.ToolResponse)
    with tt.context(call_id="c", attributes={"tenant": "t"}):
        pass
    with tt.context(call_id="c", conversation_id="d", agent="clerk"):
        pass
    tt.context(converstion_id="c")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    tt.context(call_id=1)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    assert_type(tt.configure(store="a.duckdb", durability="call", field_limit=100), None)
    tt.configure(durability="often")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    tt.configure(durabilty="call")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    tt.TraceLogger(version="1", capture="metadata")
    tt.TraceLogger(name="x")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    assert_type(tt.ToolResponse.error("GONE", "gone", retryable=False, data=1), tt.ToolResponse)
    tt.ToolResponse.success("x", confidnce=0.5)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    tt.ToolResponse.error("GONE")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    registry = tt.ToolRegistry()
    assert_type(registry.register(plain, cache=True)("x", limit=1), list[str])
    registry.register(plain, cach=True)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    assert_type(await registry.aresume("{}", approve=True, answered_by="ann"), tt.ToolResponse)
    assert_type(tt.connect().sql("SELECT 1"), DuckDBPyRelation)
    with tt.connect() as db:
        assert_type(db, DuckDBPyConnection)
        assert_type(db.sql("SELECT 1"), DuckDBPyRelation)
        assert_type(db.execute("SELECT ?", [1]).fetchall(), list[tuple[Any, ...]])
    result = tt.query("failure_rate", by=["tool"], since="7d", min_n=5)
    assert_type(result, tt.QueryResult)
    assert_type(result[0], tuple[Any, ...])
    assert_type(result[:2], list[tuple[Any, ...]])
    assert_type([row for row in result], list[tuple[Any, ...]])  # noqa: C416 - the type of an item
    assert_type(result.dicts(), list[dict[str, Any]])
    assert_type(result.select("tool", "n"), tt.QueryResult)
    name: tt.QueryName = "errors"
    dimension: tt.DimensionName = "tool"
    tt.query(name, by=dimension)
    tt.query("errors", by=[dimension, tt.attribute("tenant")])
    tt.query("errors", by=tt.attribute("tenant"))
    tt.query(saved="of my own", store="a.duckdb")
    tt.query("failure_rates")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue, reportArgumentType]
    tt.query("failure_rate", by="tol")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue, reportArgumentType]
    tt.query("failure_rate", by=["tol"])  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue, reportArgumentType]
    tt.query("failure_rate", by=["attributes.tenant"])  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue, reportArgumentType]
    tt.query("failure_rate", sinc="7d")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    tt.query("find", label="rihgt")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue, reportArgumentType]
    tt.query(saved="of my own", by="tool")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    assert_type(tt.flush(), bool)
    try:
        tt.query("errors")
    except errors.StoreBusy as busy:
        assert_type(busy.pid, int | None)
