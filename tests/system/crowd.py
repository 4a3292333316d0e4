"""What the processes of ``test_many_processes`` do."""

from __future__ import annotations

import time
from multiprocessing.synchronize import Event
from threading import Thread
from typing import Any

import tooltrace as tt

THREADS = 4


def write(store: str, process: int, acknowledged: Any, until: float) -> None:
    """Four threads call a tool; each counts in ``acknowledged`` what it has had returned."""
    tt.configure(store=store, durability="call" if process % 2 else "batch")

    @tt.trace_tool
    def work(n: int) -> int:
        return n

    def loop(thread: int) -> None:
        slot = process * THREADS + thread
        n = 0
        with tt.context(agent_name=str(slot)):
            while time.monotonic() < until:
                work(n)
                n += 1
                acknowledged[slot] = n
                time.sleep(0.004)

    threads = [Thread(target=loop, args=(thread,)) for thread in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def read(store: str, acknowledged: Any, stop: Event, report: Any) -> None:
    """Read until told to stop. Report the reads, the longest time until all acknowledged calls were seen, and
    the first error."""
    reads, lag, error = 0, 0.0, ""
    while not stop.is_set():
        promised, asked = list(acknowledged), time.monotonic()
        try:
            while not _all_there(_counts(store), promised):
                reads += 1
        except Exception as caught:  # any error is what the test is about
            error = error or f"{type(caught).__name__}: {caught}"
            time.sleep(0.01)
            continue
        reads += 1
        lag = max(lag, time.monotonic() - asked)
    report.put((reads, lag, error))


def _counts(store: str) -> dict[int, tuple[int, int, int]]:
    with tt.connect(store) as db:
        rows = db.execute(
            "SELECT CAST(agent AS INTEGER), count(*), count(DISTINCT span_id), max(CAST(result AS INTEGER)) "
            "FROM tool_calls GROUP BY 1"
        ).fetchall()
    for slot, count, distinct, last in rows:
        if not count == distinct == last + 1:
            raise AssertionError(f"slot {slot}: {count} rows, {distinct} ids, last {last}")
    return {slot: (count, distinct, last) for slot, count, distinct, last in rows}


def _all_there(counts: dict[int, tuple[int, int, int]], promised: list[int]) -> bool:
    return all(counts.get(slot, (0,))[0] >= number for slot, number in enumerate(promised))
