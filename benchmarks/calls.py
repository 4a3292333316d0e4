"""Measure the cost of one call in the calling thread, beside the bare span in the same rounds."""

from __future__ import annotations

import asyncio
import functools
import statistics
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from time import perf_counter_ns, process_time_ns, sleep, thread_time_ns
from typing import Any, NamedTuple

import tooltrace as tt
from benchmarks import rivals
from tooltrace.recording.settings import Durability

SETTLE_SECONDS = 0.002
"""Seconds in which the background threads become idle."""
ITEMS = 5_000
BURST = 200
"""Calls in a row before the queue is emptied, outside the measured time: tools are not called back to back without end."""


class Cost(NamedTuple):
    """Median over rounds."""

    microseconds: float
    ratio: float
    """To the bare span of the same round."""


def compare(rounds: int, bare: Callable[[], float], rivals_: dict[str, Callable[[], float]]) -> dict[str, Cost]:
    """Run everything in turn, ``rounds`` times, and return the medians."""
    seen: dict[str, list[tuple[float, float]]] = {name: [] for name in rivals_}
    base: list[float] = []
    for _ in range(rounds):
        base.append(bare())
        for name, run in rivals_.items():
            seen[name].append(((own := run()), own / base[-1]))
    costs = {"bare SDK span": Cost(statistics.median(base), 1.0)}
    for name, pairs in seen.items():
        costs[name] = Cost(statistics.median(p[0] for p in pairs), statistics.median(p[1] for p in pairs))
    return costs


def sync_burst(call: Callable[..., Any], empty: Callable[..., Any]) -> Callable[[], float]:
    """Return a measurement: microseconds for a call, minus those of the untraced tool."""

    def run() -> float:
        return (_timed(call) - _timed(rivals.search)) / BURST / 1e3

    def _timed(function: Callable[..., Any]) -> int:
        empty()
        sleep(SETTLE_SECONDS)
        before = perf_counter_ns()
        for _ in range(BURST):
            function(rivals.QUERY, limit=5)
        return perf_counter_ns() - before

    return run


def async_burst(call: Callable[..., Any], empty: Callable[..., Any]) -> Callable[[], float]:
    async def timed(function: Callable[..., Any]) -> int:
        before = perf_counter_ns()
        for _ in range(BURST):
            await function(rivals.QUERY, limit=5)
        return perf_counter_ns() - before

    def run() -> float:
        empty()
        sleep(SETTLE_SECONDS)
        return (asyncio.run(timed(call)) - asyncio.run(timed(rivals.search_async))) / BURST / 1e3

    return run


def item_cost(rounds: int) -> float:
    """Return the microseconds that one item of a traced generator adds."""
    traced = tt.trace_tool(rivals.stream)

    def timed(function: Callable[[int], Any]) -> int:
        tt.flush()
        sleep(SETTLE_SECONDS)
        before = perf_counter_ns()
        for _ in function(ITEMS):
            pass
        return perf_counter_ns() - before

    return statistics.median((timed(traced) - timed(rivals.stream)) / ITEMS / 1e3 for _ in range(rounds))


def allocation(call: Callable[..., Any], empty: Callable[..., Any]) -> float:
    """Return the bytes that a call holds between its return and the moment when it leaves the queue."""
    empty()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(BURST):
        call(rivals.QUERY, limit=5)
    held = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    empty()
    return held / BURST


def whole_process(call: Callable[..., Any], finish: Callable[[], Any], calls: int) -> float:
    """Return the microseconds of CPU of all threads for a call, until ``finish`` has returned."""
    before = process_time_ns()
    for _ in range(calls):
        call(rivals.QUERY, limit=5)
    finish()
    return (process_time_ns() - before) / calls / 1e3


def nested(call: Callable[..., Any]) -> Callable[..., Any]:
    """Return a traced tool that calls the traced tool."""

    @tt.trace_tool(name="outer")
    def outer(query: str, limit: int = 10) -> Any:
        return call(query, limit)

    return outer


def everything(folder: Path, rounds: int) -> dict[str, Any]:
    """Measure the calling thread with span, batch processor, metric, log line and journal, and the memory of a call."""
    spans = rivals.everything_on(folder / "calls.duckdb")
    bare, traced = rivals.bare_span(spans), tt.trace_tool(rivals.search)

    def flush() -> None:
        tt.flush()
        spans.force_flush()

    runs = {"traced, everything on": sync_burst(traced, flush), "nested pair": sync_burst(nested(traced), flush)}
    costs = compare(rounds, sync_burst(bare, spans.force_flush), runs)
    bare_async, traced_async = rivals.bare_span_async(spans), tt.trace_tool(rivals.search_async)
    waiting = {"coroutine": async_burst(traced_async, flush)}
    costs["coroutine"] = compare(rounds, async_burst(bare_async, spans.force_flush), waiting)["coroutine"]
    return {"costs": costs, "held": (allocation(bare, spans.force_flush), allocation(traced, flush))}


def configured(folder: Path, rounds: int, name: str, durability: Durability) -> dict[str, Cost]:
    """Measure the calling thread with the journal alone."""
    spans = rivals.provider()
    tt.configure(store=folder / "calls.duckdb", durability=durability)
    run = {name: sync_burst(tt.trace_tool(rivals.search), tt.flush)}
    costs = compare(rounds, sync_burst(rivals.bare_span(spans), spans.force_flush), run)
    return {name: costs[name]}


def items(folder: Path, rounds: int) -> float:
    """Return the microseconds that one item of a traced generator adds."""
    tt.configure(store=folder / "items.duckdb", durability="batch")
    return item_cost(rounds)


def process_costs(folder: Path, calls: int, *, everything_on: bool) -> tuple[float, float]:
    """Return the CPU time of all threads: of the bare span, and of the traced call until it is a row."""
    spans = rivals.everything_on(folder / "cpu.duckdb") if everything_on else rivals.provider()
    if not everything_on:
        tt.configure(store=folder / "cpu.duckdb", durability="batch")
    bare, traced = rivals.bare_span(spans), tt.trace_tool(rivals.search)

    def to_rows() -> None:
        with tt.connect():
            pass

    whole_process(traced, to_rows, 100)  # DuckDB is loaded here, outside the measured time
    pairs = [(whole_process(bare, spans.force_flush, calls), whole_process(traced, to_rows, calls)) for _ in range(3)]
    return statistics.median(pair[0] for pair in pairs), statistics.median(pair[1] for pair in pairs)


def contexts(folder: Path, rounds: int, *, with_ids: bool = False) -> float:
    """Return the CPU time of the calling thread with a run context of 200 messages, as a multiple of the time without.

    ``with_ids``: the context has the call id, the conversation and the agent, which are recorded.
    """
    tt.configure(store=folder / "contexts.duckdb", durability="batch")
    context = rivals.RunContextWithIds() if with_ids else rivals.RunContext()
    traced = tt.trace_tool(rivals.search_in_run, inject="ctx")
    bare = tt.trace_tool(rivals.search)

    def timed(call: Callable[[], Any]) -> int:
        tt.flush()
        sleep(SETTLE_SECONDS)
        before = thread_time_ns()
        for _ in range(BURST):
            call()
        return thread_time_ns() - before

    with_context = functools.partial(traced, context, rivals.QUERY, limit=5)
    without = functools.partial(bare, rivals.QUERY, limit=5)
    return statistics.median(timed(with_context) / timed(without) for _ in range(rounds))
