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


def record(store: str, durability: str, run: int, acks: int) -> None:
    """Call a traced tool until killed; tell each call before it begins and after it has returned."""
    import tooltrace as tt

    tt.configure(store=store, durability=durability)

    @tt.trace_tool
    def work(n: int) -> dict[str, object]:
        return {"n": n, "padding": "x" * (n % 700)}

    n = 0
    while True:
        call_id = f"{durability}-{run}-{n}"
        os.write(acks, f"? {call_id}\n".encode())
        with tt.context(call_id=call_id):
            work(n)
        os.write(acks, f"! {call_id} {time.monotonic()}\n".encode())
        n += 1
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


def one_run(store: str, durability: str, run: int, seconds: float, *, fold: bool) -> dict[str, object]:
    reading, writing = os.pipe()
    folder = child(fold_for_ever, store) if fold else None
    recorder = child(record, store, durability, run, writing)
    os.close(writing)
    data = os.read(reading, 65536)  # it has begun
    until = time.monotonic() + seconds
    os.set_blocking(reading, False)
    while time.monotonic() < until:
        try:
            data += os.read(reading, 65536)
        except BlockingIOError:
            time.sleep(0.002)
    killed = time.monotonic()
    kill(recorder)
    if folder is not None:
        kill(folder)
    os.set_blocking(reading, True)
    while more := os.read(reading, 65536):
        data += more
    os.close(reading)
    lines = [line.split() for line in data.decode().splitlines() if line.count(" ")]
    return {
        "killed": killed,
        "begun": [line[1] for line in lines if line[0] == "?"],
        "acknowledged": [(line[1], float(line[2])) for line in lines if line[0] == "!" and len(line) == 3],
    }


def main(store: str, durability: str, runs: int, seed: int) -> None:
    """``kill_runs.py STORE DURABILITY RUNS SEED`` prints one JSON object a run."""
    import tooltrace  # noqa: F401 - children inherit what is imported, and start at once

    choose = random.Random(seed)
    for run in range(runs):
        seconds = choose.uniform(0.05, 0.35) if durability == "batch" else choose.uniform(0.005, 0.12)
        print(json.dumps(one_run(store, durability, run, seconds, fold=run % 3 == 0)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
