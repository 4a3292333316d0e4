"""The work of the processes in ``test_many_processes`` and ``benchmarks.promises``."""

from __future__ import annotations

import time
from multiprocessing.synchronize import Event
from threading import Thread
from typing import Any

import tooltrace as tt

THREADS = 4
"""Threads of each writing process."""
LEAST = 50
"""Minimum number of calls of each thread."""
MANY = 500
"""Calls after which a thread slows down, so that a reader on a slow machine can keep up."""


def write(store: str, process: int, acknowledged: Any, stop: Event) -> None:
    """Call a tool in four threads until told to stop; each counts in ``acknowledged`` the calls that have returned."""
    tt.configure(store=store, durability="call" if process % 2 else "batch")

    @tt.trace_tool
    def work(n: int) -> int:
        return n

    def loop(thread: int) -> None:
        slot = process * THREADS + thread
        n = 0
        with tt.context(agent=str(slot)):
            while n < LEAST or not stop.is_set():
                work(n)
                n += 1
                acknowledged[slot] = n
                time.sleep(0.004 if n < MANY else 0.05)

    threads = [Thread(target=loop, args=(thread,)) for thread in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def read(store: str, reader: int, acknowledged: Any, rounds: Any, stop: Event, report: Any) -> None:
    """Read until told to stop, and count in ``rounds`` how often all calls that were acknowledged before were seen.
    Report the longest time that a round took, in seconds, and the first error."""
    longest, error = 0.0, ""
    while not error and not stop.is_set():
        promised, began = list(acknowledged), time.monotonic()
        try:
            while not _all_there(_counts(store), promised):
                pass
        except Exception as caught:  # any error is what the reader looks for
            error = f"{type(caught).__name__}: {caught}"
        longest = max(longest, time.monotonic() - began)
        rounds[reader] += 1
    report.put((longest, error))


def _counts(store: str) -> dict[int, int]:
    with tt.connect(store) as db:
        rows = db.execute(
            "SELECT CAST(agent AS INTEGER), count(*), count(DISTINCT span_id), max(CAST(result AS INTEGER)) "
            "FROM tool_calls GROUP BY 1"
        ).fetchall()
    for slot, count, distinct, last in rows:
        if not count == distinct == last + 1:
            raise AssertionError(f"slot {slot}: {count} rows, {distinct} ids, last {last}")
    return {slot: count for slot, count, _distinct, _last in rows}


def _all_there(counts: dict[int, int], promised: list[int]) -> bool:
    return all(counts.get(slot, 0) >= number for slot, number in enumerate(promised))
