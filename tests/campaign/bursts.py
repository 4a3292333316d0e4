"""A program that records bursts of calls, of which it loses some: ``python -m tests.campaign.bursts STORE``.

A line on standard input is the number of calls of a burst. It answers with a line of JSON: how many calls were offered,
written, lost and queued when the burst had ended, and again after ``flush``. Counts begin with the process.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from typing import Any

import tooltrace as tt
from tests.campaign.agent import work

THREADS = 3
QUEUE = 300
"""Calls that the queue takes; those beyond are lost, and counted."""
FLUSH_SECONDS = 120
READS = 1000


def figures(offered: int) -> dict[str, Any]:
    """Return the figures of a moment; read again while a batch is on its way, which may be in two of them."""
    for _ in range(READS):
        health = tt.health()
        found = {"offered": offered, "written": health.written, "queued": health.queued, "lost": dict(health.lost)}
        if health.written + health.queued + sum(health.lost.values()) == offered:
            break
    return found


def main(store: str) -> None:
    """Record a burst for each line of standard input."""
    tt.configure(store=store, overflow="drop", queue_size=QUEUE)
    offered = 0
    while (line := sys.stdin.readline()).strip():  # an empty line ends the program
        calls = int(line)
        threads = [threading.Thread(target=lambda: [work(number) for number in range(calls)]) for _ in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        offered += calls * THREADS
        before = figures(offered)
        tt.flush(FLUSH_SECONDS)  # returns False too where the receiver does not answer
        os.write(1, json.dumps([before, figures(offered)]).encode() + b"\n")
    tt.shutdown(FLUSH_SECONDS)


if __name__ == "__main__":
    main(*sys.argv[1:])
