"""The cost of one call, in the calling thread, beside the bare span in the same rounds."""

from __future__ import annotations

import asyncio
import statistics
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from time import perf_counter_ns, process_time_ns
from typing import Any, NamedTuple

import tooltrace as tt
from benchmarks import rivals

BURST = 200
"""Calls in a row before the queue is emptied, outside the clock: tools are not called back to back for ever."""


class Cost(NamedTuple):
    """Median over rounds."""

    microseconds: float
    ratio: float
    """To the bare span of the same round."""


def compare(rounds: int, bare: Callable[[], float], rivals_: dict[str, Callable[[], float]]) -> dict[str, Cost]:
    """Run all in turn, ``rounds`` times."""
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
    """Microseconds a call, less the untraced tool's own."""

    def run() -> float:
        return (_timed(call) - _timed(rivals.search)) / BURST / 1e3

    def _timed(function: Callable[..., Any]) -> int:
        empty()
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
        return (asyncio.run(timed(call)) - asyncio.run(timed(rivals.search_async))) / BURST / 1e3

    return run


def item_cost(rounds: int) -> float:
    """Microseconds that one item of a traced generator adds."""
    traced = tt.trace_tool(rivals.stream)

    def timed(function: Callable[[int], Any]) -> int:
        before = perf_counter_ns()
        for _ in function(20_000):
            pass
        return perf_counter_ns() - before

    return statistics.median((timed(traced) - timed(rivals.stream)) / 20_000 / 1e3 for _ in range(rounds))


def allocation(call: Callable[..., Any], empty: Callable[..., Any]) -> float:
    """Bytes that a call still holds when it has returned and nothing has taken it from its queue yet."""
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
    """Microseconds of CPU of all threads a call, until ``finish`` has returned."""
    before = process_time_ns()
    for _ in range(calls):
        call(rivals.QUERY, limit=5)
    finish()
    return (process_time_ns() - before) / calls / 1e3


def nested(call: Callable[..., Any]) -> Callable[..., Any]:
    """A tool that calls the traced tool."""

    @tt.trace_tool(name="outer")
    def outer(query: str, limit: int = 10) -> Any:
        return call(query, limit)

    return outer


def measure(folder: Path, rounds: int, calls: int) -> dict[str, Any]:
    """Every figure of this module."""
    spans = rivals.everything_on(folder / "calls.duckdb")
    bare = rivals.bare_span(spans)
    flush_bare = spans.force_flush
    traced = tt.trace_tool(rivals.search)

    def flush_both() -> None:
        tt.flush()
        spans.force_flush()

    runs = {
        "traced, everything on": sync_burst(traced, flush_both),
        "nested pair": sync_burst(nested(traced), flush_both),
    }
    costs = compare(rounds, sync_burst(bare, flush_bare), runs)
    waiting = {"coroutine": async_burst(tt.trace_tool(rivals.search_async), flush_both)}
    costs |= {
        "coroutine": compare(rounds, async_burst(rivals.bare_span_async(spans), flush_bare), waiting)["coroutine"]
    }
    held = (allocation(bare, flush_bare), allocation(traced, flush_both))
    item = item_cost(max(3, rounds // 10))

    def to_rows() -> None:
        tt.flush()
        with tt.connect():
            pass

    to_rows()  # DuckDB is loaded here, not under the clock
    cpu_bare = statistics.median(whole_process(bare, flush_bare, calls) for _ in range(3))
    cpu_full = statistics.median(whole_process(traced, to_rows, calls) for _ in range(3))
    for durability in ("call", "fsync"):
        tt.configure(store=folder / f"{durability}.duckdb", tracer_provider=spans, durability=durability)
        run = {f"durability={durability}": sync_burst(traced, flush_both)}
        costs |= {k: v for k, v in compare(rounds, sync_burst(bare, flush_bare), run).items() if k != "bare SDK span"}
    tt.configure(store=folder / "plain.duckdb")
    run = {"no provider, no log, no metric": sync_burst(traced, tt.flush)}
    costs |= {k: v for k, v in compare(rounds, sync_burst(bare, flush_bare), run).items() if k != "bare SDK span"}
    tt.configure(store=folder / "rows.duckdb")
    cpu_rows = statistics.median(whole_process(traced, to_rows, calls) for _ in range(3))
    return {"costs": costs, "held": held, "item": item, "cpu": (cpu_bare, cpu_full, cpu_rows)}
