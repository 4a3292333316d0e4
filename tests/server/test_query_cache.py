"""The query cache: shared executions, cached results and cancellation."""

from __future__ import annotations

import asyncio
import threading
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from tooltrace.analysis import query_store
from tooltrace.errors import BadParameter, QueryCancelled, StoreMissing, UnknownQuery
from tooltrace.server import query_cache as module
from tooltrace.server.query_cache import QueryCache
from tooltrace.store.base import Cancellation
from tooltrace.store.files.file_lock import Lock
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.result import Statement

from .conftest import call, write

STATUS = {"s": "success", "e": "error"}


@pytest.fixture
def cache(tmp_path):
    write(tmp_path / "d.duckdb", call(status="error"), call())
    return QueryCache(tmp_path / "d.duckdb")


async def attempts(cache):
    return [row["attempts"] for row in (await cache.query("failure_rate")).dicts()]


async def test_identical_concurrent_queries_share_one_execution(cache):
    first, second, other = await asyncio.gather(
        cache.query("failure_rate"),
        cache.query("failure_rate", None, tool=None),
        cache.query("failure_rate", ("agent",)),
    )
    assert first is second
    assert other is not first
    assert other.columns[:2] == ["agent", "attempts"]


async def test_a_number_and_its_text_are_one_query(cache):
    assert await cache.query("incidents", failing=5) is await cache.query("incidents", failing="5")


@pytest.mark.long
async def test_a_result_is_cached_until_the_store_changes_and_for_a_second(cache, tmp_path, monkeypatch):
    await attempts(cache)  # this one folds: the store's files are others then
    monkeypatch.setattr(module, "FRESH_SECONDS", 0.0)
    first = await cache.query("failure_rate")
    assert await cache.query("failure_rate") is first
    write(tmp_path / "d.duckdb", call())
    assert await attempts(cache) == [3]
    monkeypatch.setattr(module, "FRESH_SECONDS", 1000.0)
    write(tmp_path / "d.duckdb", call())
    assert await attempts(cache) == [3]
    cache.invalidate()
    assert await attempts(cache) == [4]


async def test_the_number_of_cached_results_is_limited(cache, monkeypatch):
    monkeypatch.setattr(module, "MAX_RESULTS", 3)
    for n in range(10):
        await cache.query("failure_rate", min_n=n)
    assert len(cache._results) == 3


async def test_a_query_without_waiting_requests_is_cancelled(cache):
    for _ in range(module.MAX_CONCURRENT):
        await cache._limiter.acquire_on_behalf_of(object())  # all places are taken
    alone = asyncio.ensure_future(cache.query("failure_rate"))
    shared = [asyncio.ensure_future(cache.query("errors")) for _ in range(2)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert len(cache._running) == 2
    alone.cancel()
    shared[0].cancel()
    await asyncio.wait([alone, shared[0]])
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert [key[0] for key in cache._running] == ["errors"], "one still waits for this"
    shared[1].cancel()
    await asyncio.wait(shared)


async def test_a_repeated_request_after_a_cancellation_gets_a_result(cache):
    left = asyncio.ensure_future(cache.query("failure_rate"))
    while not cache._limiter.borrowed_tokens:  # until it is being asked
        await asyncio.sleep(0)
    left.cancel()
    again = asyncio.ensure_future(cache.query("failure_rate"))
    await asyncio.wait([left, again])
    assert not again.cancelled()


async def test_errors_reach_every_request_and_are_not_cached(cache, tmp_path):
    for wrong in (
        cache.query("nonsense"),
        cache.query("failure_rate", min_n="many"),
        cache.query("failure_rate", ("nonsense",)),
    ):
        with pytest.raises((UnknownQuery, BadParameter)):
            await wrong
    nowhere = QueryCache(tmp_path / "nowhere.duckdb")
    both = await asyncio.gather(nowhere.query("recent"), nowhere.query("recent"), return_exceptions=True)
    assert [type(error) for error in both] == [StoreMissing, StoreMissing]
    write(tmp_path / "nowhere.duckdb", call())
    assert len((await nowhere.query("recent")).rows) == 1


async def test_a_long_result_is_truncated(cache, monkeypatch):
    monkeypatch.setattr(module, "MAX_ROWS", 1)
    answer = await cache.query("recent")
    assert (len(answer.rows), answer.cut) == (1, "rows")


async def test_the_state_changes_with_every_write_and_opens_nothing(cache, tmp_path):
    seen = {cache.version()}
    for _ in range(3):
        write(tmp_path / "d.duckdb", call())
        seen.add(cache.version())
    assert len(seen) == 4
    folding = Lock(StorePaths.of(cache.store.path))
    assert folding.try_exclusive()
    try:
        assert cache.version() in seen, "it waits for nobody who has the store"
    finally:
        folding.release()


class RunningCancellation(Cancellation):
    """A cancellation that knows when its query runs."""

    def __init__(self) -> None:
        super().__init__()
        self.running = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    @contextmanager
    def interrupting(self, interrupt):
        with super().interrupting(interrupt):
            self._loop.call_soon_threadsafe(self.running.set)
            yield


async def test_a_running_query_can_be_cancelled(cache):
    cancellation = RunningCancellation()
    long = Statement(sql="SELECT count(*) FROM range(300000) AS a, range(300000) AS b WHERE a.range + b.range = 1")
    asking = asyncio.ensure_future(asyncio.to_thread(cache.store.query, long, cancellation=cancellation))
    await cancellation.running.wait()
    while not asking.done():
        cancellation.cancel()
        await asyncio.sleep(0.005)
    with pytest.raises(QueryCancelled) as raised:
        await asking
    assert "before it ran" not in str(raised.value)
    cancellation.cancel()
    assert await attempts(cache) == [2], "the store can be queried again"


async def test_a_query_cancelled_before_it_starts_does_not_run(cache):
    cancellation = Cancellation()
    cancellation.cancel()
    with pytest.raises(QueryCancelled, match="before it ran"):
        query_store(cache.store, "failure_rate", cancellation=cancellation)


async def test_a_query_started_before_an_invalidation_is_neither_shared_nor_cached(cache, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "FRESH_SECONDS", 1000.0)
    begun, go = threading.Event(), threading.Event()
    run = QueryCache._run

    def held(*question):
        answer = run(*question)
        begun.set()
        assert go.wait()
        return answer

    monkeypatch.setattr(QueryCache, "_run", held)
    early = asyncio.ensure_future(attempts(cache))
    await asyncio.to_thread(begun.wait, 20)
    write(tmp_path / "d.duckdb", call())
    cache.invalidate()
    monkeypatch.setattr(QueryCache, "_run", run)
    try:
        assert await attempts(cache) == [3]
    finally:
        go.set()
    assert await early == [2]
    assert await attempts(cache) == [3]


async def test_a_prefetched_query_runs_once(cache):
    cache.prefetch("failure_rate")
    await asyncio.sleep(0)
    (ahead,) = cache._running.values()
    asking = asyncio.ensure_future(cache.query("failure_rate"))
    await asyncio.sleep(0)
    assert list(cache._running.values()) == [ahead]
    assert ahead.waiting == 2
    assert (await asking).rows[0][1] == 2


async def test_an_error_of_a_prefetched_query_reaches_the_request(cache):
    cache.prefetch("failure_rate", by=("nonsense",))
    with pytest.raises(BadParameter):
        await cache.query("failure_rate", by=("nonsense",))


def spy_on(cache, monkeypatch):
    """Return the list to which each executed query adds its name and its parameter ``tool``."""
    executed, real = [], cache._run

    def run(statement, *args, **named):
        executed.append((statement.name, statement.params.get("tool")))
        return real(statement, *args, **named)

    monkeypatch.setattr(cache, "_run", run)
    return executed


async def test_incidents_of_a_tool_are_the_same_alone_and_beside_others(tmp_path):
    store, start = tmp_path / "d.duckdb", datetime(2026, 3, 1)
    marks = {
        "search": "s" * 40 + "e" * 12 + "s" * 9 + "e" * 8,
        "fetch": "s" * 30 + "e" * 9 + "s" * 20,
        "mail": "s" * 50,
    }
    write(store, *(
        call(tool=tool, conversation_id=f"{tool} {n}", started_at=start + timedelta(minutes=n), status=STATUS[mark])
        for tool, history in marks.items() for n, mark in enumerate(history)
    ))  # fmt: skip
    cache = QueryCache(store)
    every = await cache.query("incidents")
    assert sorted(every.values("tool")) == ["fetch", "search", "search"]
    for tool in (*marks, "unknown"):
        own = (await cache.query("incidents", tool=tool)).dicts()
        assert [row for row in every.dicts() if row["tool"] == tool] == [
            {name: pytest.approx(value, rel=1e-9) if isinstance(value, float) else value for name, value in row.items()}
            for row in own
        ]


@pytest.mark.parametrize(
    ("params", "is_fresh"),
    [({"since": "28d"}, True), ({"since": "28d", "before": "56d"}, True), ({"since": "1h"}, False), ({}, False)],
)
async def test_a_result_of_an_unchanged_store_is_fresh_for_a_share_of_its_window(cache, monkeypatch, params, is_fresh):
    await attempts(cache)  # this one folds: the store's files are others then
    cache.invalidate()
    monkeypatch.setattr(module, "UNCHANGED_SECONDS", 1000.0)
    monkeypatch.setattr(module, "UNCHANGED_SHARE", 0.5)
    first = await cache.query("overview", **params)
    assert await cache.query("overview", **params) is first
    (key,) = cache._results
    cache._results[key] = replace(cache._results[key], at=cache._results[key].at - 10_000)
    assert (await cache.query("overview", **params) is first) == is_fresh
