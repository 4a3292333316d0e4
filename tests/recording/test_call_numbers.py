"""Which attempts are of one call, where a call id comes again."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tooltrace as tt
from tooltrace.core.records import ToolCall
from tooltrace.tools import ToolRegistry

Calls = Callable[[], list[ToolCall]]
Run = Callable[[str, Any, bool], None]
"""A call of the tool with an id and an argument, which fails or not."""


def search(query: Any, fails: bool) -> dict[str, Any]:
    return {"ok": False, "error": "no answer"} if fails else {"ok": True, "data": query}


def by_registry() -> Run:
    registry, fails = ToolRegistry(), [False]
    registry.register(lambda query: search(query, fails[0]), name="search")

    def run(call_id: str, query: Any, fail: bool) -> None:
        fails[0] = fail
        registry.execute("search", {"query": query}, call_id=call_id)

    return run


def by_logger() -> Run:
    log = tt.TraceLogger()

    def run(call_id: str, query: Any, fail: bool) -> None:
        log.record("search", search(query, fail), call_id=call_id, arguments={"query": query})

    return run


def by_injected_id() -> Run:
    kind = type("ToolCallContext", (), {"__module__": "pydantic_ai.tools"})

    @tt.trace_tool(name="search", inject=("ctx", "fails"))
    def tool(query: Any, ctx: Any, fails: bool) -> Any:
        return search(query, fails)

    def run(call_id: str, query: Any, fail: bool) -> None:
        ctx = kind()
        ctx.tool_call_id = call_id
        tool(query, ctx, fail)

    return run


def numbers(con_calls: list[ToolCall]) -> list[tuple[int, int]]:
    """The call of each attempt as a number from 1, and the attempt's own number."""
    keys = [call.first_span_id or call.call_id for call in con_calls]
    known = list(dict.fromkeys(keys))
    return [(known.index(key) + 1, call.attempt) for key, call in zip(keys, con_calls, strict=True)]


def totals() -> list[Any]:
    with tt.connect() as db:
        sql = "SELECT count(*), count(*) FILTER (WHERE status = 'error') FROM calls"
        (calls_view,) = db.execute(sql).fetchall()
    (row,) = tt.query("failure_rate").select("calls", "failed_calls").rows
    return [calls_view, row]


@pytest.mark.parametrize("how", [by_registry, by_logger, by_injected_id])
@pytest.mark.parametrize(
    ("ids", "queries"),
    [
        (["call_1"] * 40, range(40)),
        ([f"call_{i % 4}" for i in range(8)], range(8)),  # numbered anew in each response
        ([str(id(json)) if i % 3 else str(id(tt)) for i in range(20)], range(20)),  # an address is used again
        (["call_1"] * 6, "aaaaaa"),
    ],
    ids=["one_id", "renumbered", "addresses", "equal_arguments"],
)
def test_an_id_that_names_another_call_makes_no_attempt(
    calls: Calls, how: Callable[[], Run], ids: list[str], queries: Any
) -> None:
    run = how()
    half = [i % 2 == 1 for i in range(len(ids))] if queries != "aaaaaa" else [False] * len(ids)
    for call_id, query, fail in zip(ids, queries, half, strict=True):
        run(call_id, query, fail)
    assert totals() == [(len(ids), sum(half))] * 2
    rows = calls()
    assert [call.call_id for call in rows] == ids
    assert ["reused_id" in (call.flags or "") for call in rows] == [name in ids[:i] for i, name in enumerate(ids)]


@pytest.mark.parametrize("how", [by_registry, by_logger, by_injected_id])
@pytest.mark.parametrize("capture", ["full", "metadata"])
def test_a_failed_call_with_equal_arguments_is_retried(
    store: Path, calls: Calls, how: Callable[[], Run], capture: Any
) -> None:
    tt.configure(store=store, capture=capture, field_limit=256)
    run, long = how(), "x" * 2000
    for query, fail in [(f"{long}1", True), (f"{long}1", True), (f"{long}2", False), (f"{long}2", False)]:
        run("call_1", query, fail)
    assert numbers(calls()) == [(1, 1), (1, 2), (2, 1), (3, 1)]


def test_a_call_that_was_cut_off_is_retried_and_one_that_runs_is_not(calls: Calls) -> None:
    log = tt.TraceLogger()

    async def wait() -> None:
        async with log.call("search", {"q": 1}, call_id="c"):
            await asyncio.Event().wait()

    async def main() -> None:
        for _ in range(2):
            task = asyncio.ensure_future(wait())
            await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])
        with log.call("search", {"q": 1}, call_id="c"), log.call("search", {"q": 1}, call_id="c"):
            pass

    asyncio.run(main())
    assert sorted(numbers(sorted(calls(), key=lambda call: call.started_at))) == [(1, 1), (1, 2), (1, 3), (2, 1)]


def test_what_is_stated_is_an_attempt_whatever_its_arguments_and_results(calls: Calls) -> None:
    tool = tt.trace_tool(name="search")(lambda query: query)
    for query in ("a", "b"):
        with tt.context(call_id="c"):
            tool(query)
    log = tt.TraceLogger()
    log.record("find", 1, call_id="c", arguments={"q": 1}, attempt=1)
    log.record("find", 1, call_id="c", arguments={"q": 2}, attempt=2)
    log.record("find", 1, call_id="c", arguments={"q": 3}, attempt=2)
    assert numbers(calls()[:2]) == [(1, 1), (1, 2)]
    assert numbers(calls()[2:]) == [(1, 1), (1, 2), (2, 2)]


def test_an_answer_continues_its_call_also_where_the_id_had_named_another(store: Path, calls: Calls) -> None:
    registry = ToolRegistry()
    registry.register(lambda amount: amount, name="pay", requires_confirmation=True)
    for amount in (1, 2):
        paused = registry.execute("pay", {"amount": amount}, call_id="call_0").paused
        assert paused is not None
        if amount == 2:
            tt.configure(store=store)  # as in another process: this recorder knows no call
        registry.resume(paused.model_dump_json(), approve=True)
    rows = calls()
    assert [call.ending for call in rows] == ["paused", "returned"] * 2
    assert numbers(rows) == [(1, 1), (1, 1), (2, 1), (2, 1)]
