"""Measure the named queries over a long history, and the same queries over another tracer's store."""

from __future__ import annotations

import multiprocessing
import os
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple, cast

from rich.console import Console
from rich.progress import track

import tooltrace as tt
from benchmarks.history import make_history
from benchmarks.phoenix import BINS, BINS_NAME, QUESTIONS, RIVAL, make_phoenix, require_same, sqlite
from tooltrace.analysis import catalogue
from tooltrace.store.read.reader import open_reader
from tooltrace.store.result import QueryResult, Statement, result_of

AIM_MS = 2000.0
AIMS_MS = {"failure_rate": 300.0, "errors": 300.0, "latency": 300.0}
LIMIT_SECONDS = 600.0
"""Seconds after which a query is stopped and reported as unfinished."""
LONG_SECONDS = 10.0
"""Seconds of total run time after which a query is not repeated."""


class Timing(NamedTuple):
    """Median milliseconds to open a store and run a query, or the reason why there is no result."""

    ms: float | None = None
    why_not: str = ""

    def __str__(self) -> str:
        return self.why_not if self.ms is None else f"{self.ms:,.0f} ms"


class Measurement(NamedTuple):
    """A row of the table: a query and its grouping."""

    name: str
    by: tuple[str, ...] | None = None

    def __str__(self) -> str:
        grouped = f" by {', '.join(self.by)}" if self.by else ""
        return f"`{self.name}`{grouped}" if self.name != BINS_NAME else self.name


Measured = dict[tuple[str, Any], Timing]


def table(*, quick: bool) -> list[str]:
    """Return the Markdown table of all queries in the catalogue that have no required parameter."""
    small, large = (50_000, 200_000) if quick else (1_000_000, 10_000_000)
    named = [name for name, query in catalogue().items() if not any(p.required for p in query.header.parameters)]
    measurements = [*map(Measurement, named), Measurement("failure_rate", ("tool", "day")), Measurement(BINS_NAME)]
    with tempfile.TemporaryDirectory() as folder:
        steps = _measure(Path(folder), small, large, measurements)
        total = 2 * len(measurements) + len(QUESTIONS)
        measured: Measured = dict(track(steps, "running", total=total, console=Console(stderr=True)))
    return [
        f"| query | {small:,} | {large:,} | growth | aim, 1,000,000 | | SQLite of {RIVAL}, {small:,} | × ours |",
        "|---|---:|---:|---:|---:|---|---:|---:|",
        *(_row(one, measured, judge=not quick) for one in measurements),
    ]


def _measure(
    folder: Path, small: int, large: int, measurements: Sequence[Measurement]
) -> Iterator[tuple[tuple[str, Any], Timing]]:
    """Yield one measurement after another; only the history that is measured next is on disk."""
    store, rival = folder / "history.duckdb", folder / "phoenix.db"
    apart(make_history, store, small)
    for one in measurements:
        yield ("small", one), timed(measure, store, one)
    apart(make_phoenix, rival, store)
    for name in QUESTIONS:
        yield ("rival", name), timed(measure_phoenix, rival, name, store)
    rival.unlink()
    store.unlink()
    apart(make_history, store, large)
    for one in measurements:
        yield ("large", one), timed(measure, store, one)


def _row(one: Measurement, measured: Measured, *, judge: bool) -> str:
    small, large = measured["small", one], measured["large", one]
    rival = measured.get(("rival", one.name)) if one.by is None else None
    aim = None if one.name == BINS_NAME else AIMS_MS.get(one.name, AIM_MS)
    cells = [
        str(one),
        str(small),
        str(large),
        _times(large, small),
        f"{aim:,.0f} ms" if aim else "",
        "" if aim is None or not judge else "met" if small.ms is not None and small.ms < aim else "**not yet**",
        str(rival) if rival else "",
        _times(rival, small) if rival else "",
    ]
    return f"| {' | '.join(cells)} |"


def _times(one: Timing, other: Timing) -> str:
    return f"{one.ms / other.ms:.1f}" if one.ms is not None and other.ms else ""


def apart(function: Callable[..., Any], *arguments: Any) -> Any:
    """``function(…)`` in a process of its own. Raises multiprocessing.TimeoutError, and the process is stopped."""
    # what DuckDB draws while it works goes to stderr: the table alone is on stdout
    with multiprocessing.get_context("spawn").Pool(1, initializer=os.dup2, initargs=(2, 1)) as pool:
        return pool.apply_async(function, arguments).get(LIMIT_SECONDS)


def timed(function: Callable[..., float], *arguments: Any) -> Timing:
    """Return the result of ``function``, run in a separate process."""
    try:
        return cast(Timing, apart(_tried, function, arguments))
    except multiprocessing.TimeoutError:
        return Timing(why_not=f"not in {LIMIT_SECONDS:,.0f} s")


def _tried(function: Callable[..., float], arguments: tuple[Any, ...]) -> Timing:
    """Run ``function`` in the child process and return its error by name, because not every exception can be pickled."""
    try:
        return Timing(function(*arguments))
    except Exception as error:
        sys.stderr.write(f"{function.__name__}{arguments}: {error}\n")
        return Timing(why_not=type(error).__name__)


def median_ms(run: Callable[[], Any]) -> float:
    """Return the median of five runs; a slow query is not repeated."""
    runs: list[float] = []
    while len(runs) < 5 and sum(runs) < LONG_SECONDS:
        before = perf_counter()
        run()
        runs.append(perf_counter() - before)
    return statistics.median(runs) * 1e3


def measure(store: Path, one: Measurement) -> float:
    """Return the milliseconds to open the store and fetch all rows of the result."""
    return median_ms(lambda: _answer(store, one))


def _answer(store: Path, one: Measurement) -> QueryResult:
    if one.name == BINS_NAME:
        with open_reader(store) as con:
            return result_of(con.sql(BINS), Statement(sql=BINS))
    return tt.query(one.name, store=store, by=one.by)


def measure_phoenix(rival: Path, name: str, store: Path) -> float:
    """Return the milliseconds of the same query on the SQLite file. Raises ValueError if ``store`` has another result."""

    def run() -> list[tuple[Any, ...]]:
        with closing(sqlite.connect(f"{rival.as_uri()}?mode=ro", uri=True)) as con:
            return list(con.execute(QUESTIONS[name].sqlite))

    ms = median_ms(run)
    require_same(run(), name, _answer(store, Measurement(name)))
    return ms
