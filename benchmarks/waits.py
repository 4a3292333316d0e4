"""Measure how long questions wait for locks, and what they cost, while other processes write.

``python -m benchmarks.waits [--rows N] [--seconds S] [--processes P] [--threads T] [--pause S]`` prints one row for each way of
folding, in seconds. All figures of a row are from one run. A question that folds first does work for all later ones, so the
CPU time of that fold is a column of its own. The store grows while it is written: the ratio compares the CPU time of each
question with that of the same question to the quiet store of the same size, between the sizes before and after.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import Any, Literal

import tooltrace as tt
from benchmarks.history import make_history_apart
from tooltrace.store.files.file_lock import Lock
from tooltrace.store.read import reader

PAUSE_SECONDS = 0.5
"""Seconds between two questions."""
QUIET = 7
"""Questions to the quiet store, before and after."""

COLUMNS = (
    "folding", "calls/s", "attempts", "questions", "lock wait, p99", "longest", "time, quiet", "while writing", "longest",
    "CPU, quiet", "while writing", "ratio", "CPU of folds",
)  # fmt: skip


@dataclass
class Questions:
    """The figures of several questions, in seconds."""

    walls: list[float] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)
    """Every wait for a lock."""
    cpus: list[float] = field(default_factory=list)
    """CPU time without that of folding."""
    folds: list[float] = field(default_factory=list)
    """CPU time of folding before the question."""
    rows: list[int] = field(default_factory=list)
    """Attempts that the question counted."""

    def ask(self, store: str) -> None:
        """Ask one question: its time, its CPU time, and how long it waited for locks."""
        with _lock_waits() as waits, _fold_cpu() as folds:
            wall, cpu = time.perf_counter(), _cpu()
            rows = tt.query("failure_rate", store=store).rows
            self.walls.append(time.perf_counter() - wall)
            self.folds.append(sum(folds))
            self.cpus.append(_cpu() - cpu - sum(folds))
        self.waits += waits
        self.rows.append(sum(row[1] for row in rows))


@contextmanager
def _lock_waits() -> Iterator[list[float]]:
    """Yield a list to which each wait for the lock of a store adds its seconds."""
    found: list[float] = []
    originals = Lock.shared, Lock.exclusive

    def timed(original: Any) -> Any:
        def wait(*arguments: Any) -> Any:
            before = time.perf_counter()
            try:
                return original(*arguments)
            finally:
                found.append(time.perf_counter() - before)

        return wait

    Lock.shared, Lock.exclusive = map(timed, originals)  # type: ignore[method-assign]
    try:
        yield found
    finally:
        Lock.shared, Lock.exclusive = originals  # type: ignore[method-assign]


@contextmanager
def _fold_cpu() -> Iterator[list[float]]:
    """Yield a list to which each fold of a question adds its CPU seconds."""
    found: list[float] = []
    original = reader._fold_if_possible

    def timed(*arguments: Any, **options: Any) -> None:
        before = _cpu()
        try:
            original(*arguments, **options)
        finally:
            found.append(_cpu() - before)

    reader._fold_if_possible = timed
    try:
        yield found
    finally:
        reader._fold_if_possible = original


def _quiet_cpu(before: Questions, after: Questions, rows: int) -> float:
    """Return the CPU time of a question to the quiet store with ``rows`` attempts."""
    low, high = before.rows[-1], after.rows[-1]
    first, last = statistics.median(before.cpus), statistics.median(after.cpus)
    return first + (last - first) * (rows - low) / max(1, high - low)


def _cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def write(
    store: str, fold: Literal["on_query", "background"], threads: int, pause: float, stop: Any, made: Any
) -> None:
    """Call a tool in ``threads`` threads until told to stop; add the number of calls to ``made``.

    ``pause``: seconds between two calls of a thread; 0 is full speed.
    """
    tt.configure(store=store, durability="batch", fold=fold)

    @tt.trace_tool
    def work(n: int) -> int:
        return n

    counts = [0] * threads

    def loop(thread: int) -> None:
        while not stop.is_set():
            work(counts[thread])
            counts[thread] += 1
            if pause:
                time.sleep(pause)

    running = [Thread(target=loop, args=(thread,)) for thread in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    with made.get_lock():
        made.value += sum(counts)


def ask(store: str, seconds: float, report: Any) -> None:
    """Ask questions for ``seconds``, and report their figures."""
    Questions().ask(store)  # loads DuckDB, and folds what is left
    found = Questions()
    end = time.monotonic() + seconds
    while time.monotonic() < end or not found.walls:
        found.ask(store)
        time.sleep(PAUSE_SECONDS)
    report.put(found)


def measure(store: str, fold: Literal["on_query", "background"], options: argparse.Namespace) -> str:
    """Return a row of the table for one way of folding."""
    spawn = multiprocessing.get_context("spawn")
    stop, made, report = spawn.Event(), spawn.Value("q", 0), spawn.Queue()
    quiet = _ask_quiet(store)
    writers = [
        spawn.Process(target=write, args=(store, fold, options.threads, options.pause, stop, made))
        for _ in range(options.processes)
    ]
    asker = spawn.Process(target=ask, args=(store, options.seconds, report))
    before = time.monotonic()
    for process in [*writers, asker]:
        process.start()
    busy: Questions = report.get()
    stop.set()
    for process in [*writers, asker]:
        process.join()
    rate = made.value / (time.monotonic() - before)
    after = _ask_quiet(store)
    ratios = [cpu / _quiet_cpu(quiet, after, rows) for cpu, rows in zip(busy.cpus, busy.rows, strict=True)]
    waits = sorted(busy.waits)
    return (
        f"| {fold} | {rate:,.0f} | {max(busy.rows):,} | {len(busy.walls)} | {waits[len(waits) * 99 // 100]:.3f} | {waits[-1]:.3f} | "
        f"{statistics.median(quiet.walls):.2f} | {statistics.median(busy.walls):.2f} | {max(busy.walls):.2f} | "
        f"{statistics.median(quiet.cpus):.2f} | {statistics.median(busy.cpus):.2f} | {statistics.median(ratios):.2f} | "
        f"{statistics.median(busy.folds):.2f} |"
    )


def _ask_quiet(store: str) -> Questions:
    """Ask questions to a store that nobody writes, after one that folds what is left."""
    Questions().ask(store)
    quiet = Questions()
    for _ in range(QUIET):
        quiet.ask(store)
    return quiet


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Measure questions while other processes write.")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument(
        "--pause", type=float, default=0.0125, help="seconds between two calls of a thread; 0: full speed"
    )
    parser.add_argument("--fold", choices=("on_query", "background"), action="append", help="only this way of folding")
    options = parser.parse_args()
    lines = [
        f"| {' | '.join(COLUMNS)} |",
        "|---|" + "---:|" * (len(COLUMNS) - 1),
    ]
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "waits.duckdb"
        make_history_apart(store, options.rows)
        lines += [measure(str(store), fold, options) for fold in options.fold or ("on_query", "background")]
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
