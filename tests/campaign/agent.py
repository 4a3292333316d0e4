"""A program that records calls until it is told to end: ``python -m tests.campaign.agent STORE DURABILITY NAME``.

It writes one line to standard output for each event: ``? ID`` before a call, ``! ID`` when the call has returned,
``= ID`` when a flush has returned True that began after the call ``ID`` had returned, and ``slow SECONDS`` for the
longest call. A line on standard input ends it.
"""

from __future__ import annotations

import os
import sys
import threading
import time

import tooltrace as tt

FLUSH_EVERY = 20
"""Calls of one thread between two flushes."""
THREADS = 3
PAUSE = 0.002
"""Seconds between two calls of one thread."""


@tt.trace_tool
def work(number: int) -> dict[str, object]:
    """Return a result whose size varies."""
    return {"number": number, "padding": "x" * (number * 37 % 900)}


def report(event: str, text: object) -> None:
    os.write(1, f"{event} {text}\n".encode())


class Calls:
    """The calls of one thread."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.longest = 0.0

    def run(self, end: threading.Event) -> None:
        number = 0
        while not end.is_set():
            call_id = f"{self.name}-{number}"
            report("?", call_id)
            with tt.context(call_id=call_id):
                started = time.monotonic()
                work(number)
                self.longest = max(self.longest, time.monotonic() - started)
            report("!", call_id)
            number += 1
            if number % FLUSH_EVERY == 0 and tt.flush(10):
                report("=", call_id)
            time.sleep(PAUSE)


def main(store: str, durability: str, name: str) -> None:
    """Record calls in threads until standard input has a line or ends."""
    tt.configure(store=store, durability=durability)  # type: ignore[arg-type]
    end = threading.Event()
    calls = [Calls(f"{name}-{number}") for number in range(THREADS)]
    threads = [threading.Thread(target=each.run, args=(end,)) for each in calls]
    for thread in threads:
        thread.start()
    sys.stdin.readline()
    end.set()
    for thread in threads:
        thread.join()
    tt.shutdown(30)
    report("slow", max(each.longest for each in calls))


if __name__ == "__main__":
    main(*sys.argv[1:])
