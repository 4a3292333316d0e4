"""Measure the cost of one call of the tool that returns a plain dictionary, beside the bare span in the same rounds.

:mod:`benchmarks.kinds` measures other results, and the background thread.
"""

from __future__ import annotations

import functools
import statistics
import tracemalloc
from collections.abc import Callable, Coroutine
from pathlib import Path
from time import perf_counter_ns, process_time_ns, sleep, thread_time_ns
from typing import Any, NamedTuple

import tooltrace as tt
from benchmarks import rivals
from benchmarks.bare_span import in_bare_span, provider
from benchmarks.payloads import payloads
from benchmarks.rounds import BURST, SETTLE_SECONDS, Figure, burst, figure, frozen_heap
from tooltrace.recording.settings import Durability

ITEMS = 5_000
"""Items of a stream."""
BATCHES = (1, 10, 200, 5_000)
"""Calls before each flush."""

Call = Callable[[], object]


class Extras(NamedTuple):
    """Figures of a call with span, batch processor, metric, log line and journal."""

    bare: Figure
    nested: Figure
    coroutine: Figure
    held: float
    """Bytes that a call holds between its return and the moment when it leaves the queue."""
    held_by_bare: float


def everything(folder: Path, rounds: int) -> Extras:
    """Measure the calling thread, and the memory of a call."""
    spans = rivals.everything_on(folder / "calls.duckdb")
    plain = payloads()["plain dict"]
    tool = plain.tool()
    bare, traced = plain.caller(in_bare_span(spans, tool)), tt.trace_tool(tool)

    def flush() -> None:
        tt.flush()
        spans.force_flush()

    @tt.trace_tool(name="outer")
    def outer(query: str, limit: int = 10) -> Any:
        return traced(query, limit)

    traced_async = tt.trace_tool(rivals.search_async)
    bare_async = rivals.bare_span_async(spans)
    query = plain.arguments
    costs = _compare(rounds, bare, flush, {"nested": (plain.caller(outer), plain.caller(tool))})
    waiting = _compare(
        rounds,
        _awaited(lambda: bare_async(**query)),
        flush,
        {"coroutine": (_awaited(lambda: traced_async(**query)), _awaited(lambda: rivals.search_async(**query)))},
        bare_untraced=_awaited(lambda: rivals.search_async(**query)),
    )
    held, held_by_bare = _allocation(plain.caller(traced), flush), _allocation(bare, flush)
    return Extras(costs["bare"], costs["nested"], waiting["coroutine"], held, held_by_bare)


def durable(folder: Path, rounds: int, durability: Durability) -> Figure:
    """Measure the calling thread with the journal alone. ``fsync``: the time on the clock, because it waits for the disk."""
    spans = provider()
    tt.configure(store=folder / "calls.duckdb", durability=durability)
    plain = payloads()["plain dict"]
    tool = plain.tool()
    calls = {durability: (plain.caller(tt.trace_tool(tool)), plain.caller(tool))}
    clock = perf_counter_ns if durability == "fsync" else thread_time_ns
    return _compare(rounds, plain.caller(in_bare_span(spans, tool)), tt.flush, calls, clock=clock)[durability]


def _compare(
    rounds: int,
    bare: Call,
    flush: Call,
    calls: dict[str, tuple[Call, Call]],
    *,
    bare_untraced: Call | None = None,
    clock: Callable[[], int] = thread_time_ns,
) -> dict[str, Figure]:
    """Return the medians of the bare span and of ``calls``: the traced call and the untraced one of each name."""
    found: dict[str, list[tuple[float, float]]] = {"bare": [], **{name: [] for name in calls}}
    with frozen_heap():
        for _ in range(rounds):
            reference = burst(bare, BURST, flush, clock).caller
            if bare_untraced is not None:
                reference -= burst(bare_untraced, BURST, flush, clock).caller
            found["bare"].append((reference, reference))
            for name, (traced, untraced) in calls.items():
                own = burst(traced, BURST, flush, clock).caller - burst(untraced, BURST, flush, clock).caller
                found[name].append((own, reference))
    return {name: figure(pairs) for name, pairs in found.items()}


def _awaited(make: Callable[[], Coroutine[Any, Any, Any]]) -> Call:
    """Return a function that runs a coroutine that never waits, without an event loop."""

    def call() -> None:
        try:
            make().send(None)
        except StopIteration:
            return
        raise AssertionError("the coroutine waits")

    return call


def _allocation(call: Call, flush: Call) -> float:
    flush()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(BURST):
        call()
    held = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    flush()
    return held / BURST


def items(folder: Path, rounds: int) -> float:
    """Return the microseconds of the calling thread that one item of a traced generator adds."""
    tt.configure(store=folder / "items.duckdb", durability="batch")
    traced = tt.trace_tool(rivals.stream)

    def timed(function: Callable[[int], Any]) -> int:
        tt.flush()
        sleep(SETTLE_SECONDS)
        before = thread_time_ns()
        for _ in function(ITEMS):
            pass
        return thread_time_ns() - before

    return statistics.median((timed(traced) - timed(rivals.stream)) / ITEMS / 1e3 for _ in range(rounds))


def process_costs(folder: Path, calls: int, *, everything_on: bool) -> Figure:
    """Return the CPU time of all threads of ``calls`` calls until they are rows, the opening of the store included."""
    spans = rivals.everything_on(folder / "cpu.duckdb") if everything_on else provider()
    if not everything_on:
        tt.configure(store=folder / "cpu.duckdb", durability="batch")
    plain = payloads()["plain dict"]
    tool = plain.tool()
    bare, traced = plain.caller(in_bare_span(spans, tool)), plain.caller(tt.trace_tool(tool))

    def to_rows() -> None:
        with tt.connect():
            pass

    def cpu(call: Call, count: int, finish: Call) -> float:
        before = process_time_ns()
        for _ in range(count):
            call()
        finish()
        return (process_time_ns() - before) / count / 1e3

    cpu(traced, 100, to_rows)  # DuckDB is loaded here, outside of the measured time
    pairs = []
    for _ in range(3):
        before = cpu(bare, calls, spans.force_flush)
        own = cpu(traced, calls, to_rows)
        pairs.append((own, (before + cpu(bare, calls, spans.force_flush)) / 2))
    return figure(pairs)


def batches(folder: Path, rounds: int) -> dict[int, float]:
    """Return the microseconds of the background thread for a call, by the number of calls that it writes at once.

    An agent makes one call after the other: most calls are written alone.
    """
    tt.configure(store=folder / "batches.duckdb", durability="batch")
    plain = payloads()["plain dict"]
    traced = plain.caller(tt.trace_tool(plain.tool()))
    found: dict[int, list[float]] = {calls: [] for calls in BATCHES}
    with frozen_heap():
        for _ in range(rounds):
            for calls, seen in found.items():
                idle = burst(_nothing, calls, tt.flush).others
                seen.append(burst(traced, calls, tt.flush).others - idle)
    return {calls: statistics.median(seen) for calls, seen in found.items()}


def _nothing() -> None:
    pass


def contexts(folder: Path, rounds: int, *, with_ids: bool = False) -> float:
    """Return the CPU time of the calling thread with a run context of 200 messages, as a multiple of the time without.

    ``with_ids``: the context has the call id, the conversation and the agent, which are recorded.
    """
    tt.configure(store=folder / "contexts.duckdb", durability="batch")
    context = rivals.RunContextWithIds() if with_ids else rivals.RunContext()
    traced = tt.trace_tool(rivals.search_in_run, inject="ctx")
    bare = tt.trace_tool(rivals.search)
    with_context = functools.partial(traced, context, rivals.QUERY, limit=5)
    without = functools.partial(bare, rivals.QUERY, limit=5)
    return statistics.median(
        burst(with_context, BURST, tt.flush).caller / burst(without, BURST, tt.flush).caller for _ in range(rounds)
    )
