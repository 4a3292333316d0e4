"""Kill processes that record, and say what each had acknowledged. Run as a program: see ``main``.

It never records itself, so every child is forked from a process without threads.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time

FLUSH_EVERY = 10
"""Calls after which a process that writes in batches flushes, and tells so."""


def record(store: str, durability: str, run: int, tell: int) -> None:
    """Call a traced tool until killed. Tell each call before it begins (``?``), when it has returned (``!``), and that
    all until then was flushed (``=``)."""
    import tooltrace as tt

    tt.configure(store=store, durability=durability)

    @tt.trace_tool
    def work(n: int) -> dict[str, object]:
        return {"n": n, "padding": "x" * (n % 700)}

    n = 0
    while True:
        call_id = f"{durability}-{run}-{n}"
        os.write(tell, f"? {call_id}\n".encode())
        with tt.context(call_id=call_id):
            work(n)
        os.write(tell, f"! {call_id}\n".encode())
        n += 1
        if n % FLUSH_EVERY == 0 and tt.flush(None):
            os.write(tell, f"= {call_id}\n".encode())
        time.sleep(0.0005)


def fold_for_ever(store: str) -> None:
    """Read, and so fold, until killed."""
    import tooltrace as tt

    while True:
        try:
            with tt.connect(store) as db:
                db.execute("SELECT count(*) FROM tool_calls").fetchall()
        except tt.TooltraceError:
            time.sleep(0.005)


def child(function, *arguments) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        function(*arguments)
    finally:
        os._exit(1)


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def one_run(store: str, durability: str, run: int, calls: int, delay: float, *, fold: bool) -> dict[str, list[str]]:
    """Kill a process ``delay`` seconds after it has told that ``calls`` calls have returned."""
    reading, writing = os.pipe()
    folder = child(fold_for_ever, store) if fold else None
    recorder = child(record, store, durability, run, writing)
    os.close(writing)
    data = b""
    while data.count(b"!") < calls:
        data += os.read(reading, 65536)
    time.sleep(delay)
    kill(recorder)
    if folder is not None:
        kill(folder)
    while more := os.read(reading, 65536):
        data += more
    os.close(reading)
    reported: dict[str, list[str]] = {"?": [], "!": [], "=": []}
    for line in data.decode().splitlines():
        reported[line[0]].append(line[2:])
    return {"begun": reported["?"], "acknowledged": reported["!"], "flushed": reported["="]}


def main(store: str, durability: str, runs: int, seed: int) -> None:
    """``kill_runs.py STORE DURABILITY RUNS SEED`` prints one JSON object a run."""
    import tooltrace  # noqa: F401 - children inherit what is imported, and start at once

    choose = random.Random(seed)
    for run in range(runs):
        calls, delay = choose.randint(1, 60), choose.uniform(0, 0.04)
        print(json.dumps(one_run(store, durability, run, calls, delay, fold=run % 3 == 0)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
