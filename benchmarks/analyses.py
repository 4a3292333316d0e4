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

import duckdb
from rich.console import Console
from rich.progress import track

import tooltrace as tt
from benchmarks.history import make_history
from benchmarks.phoenix import BINS, BINS_NAME, QUESTIONS, RIVAL, make_phoenix, require_same, sqlite
from tooltrace.analysis import catalogue
from tooltrace.store.reader import materialize, open_reader

AIM_MS = 2000.0
AIMS_MS = {"failure_rate": 300.0, "errors": 300.0, "latency": 300.0}
LIMIT_SECONDS = 600.0
"""A query that has not answered after so long is stopped, and said to have been."""
LONG_SECONDS = 10.0
"""One that takes longer is asked once."""


class Timing(NamedTuple):
    """Milliseconds to open and answer, in the median; or why there is no answer."""

    ms: float | None = None
    why_not: str = ""

    def __str__(self) -> str:
        return self.why_not if self.ms is None else f"{self.ms:,.0f} ms"


class Asked(NamedTuple):
    """One row of the table: a query, and what it is grouped by."""

    name: str
    by: tuple[str, ...] | None = None

    def __str__(self) -> str:
        grouped = f" by {', '.join(self.by)}" if self.by else ""
        return f"`{self.name}`{grouped}" if self.name != BINS_NAME else self.name


Measured = dict[tuple[str, Any], Timing]


def table(*, quick: bool) -> list[str]:
    """The table, as Markdown, of every query of the catalogue that needs nothing to be given."""
    small, large = (50_000, 200_000) if quick else (1_000_000, 10_000_000)
    named = [name for name, query in catalogue().items() if not any(p.required for p in query.header.parameters)]
    asked = [*map(Asked, named), Asked("failure_rate", ("tool", "day")), Asked(BINS_NAME)]
    with tempfile.TemporaryDirectory() as folder:
        steps = _measure(Path(folder), small, large, asked)
        total = 2 * len(asked) + len(QUESTIONS)
        measured: Measured = dict(track(steps, "running", total=total, console=Console(stderr=True)))
    return [
        f"| query | {small:,} | {large:,} | growth | aim, 1,000,000 | | SQLite of {RIVAL}, {small:,} | × ours |",
        "|---|---:|---:|---:|---:|---|---:|---:|",
        *(_row(one, measured, judge=not quick) for one in asked),
    ]


def _measure(folder: Path, small: int, large: int, asked: Sequence[Asked]) -> Iterator[tuple[tuple[str, Any], Timing]]:
    """One step after another; only what is asked next lies on the disk."""
    store, rival = folder / "history.duckdb", folder / "phoenix.db"
    apart(make_history, store, small)
    for one in asked:
        yield ("small", one), timed(ask, store, one)
    apart(make_phoenix, rival, store)
    for name in QUESTIONS:
        yield ("rival", name), timed(ask_phoenix, rival, name, store)
    rival.unlink()
    store.unlink()
    apart(make_history, store, large)
    for one in asked:
        yield ("large", one), timed(ask, store, one)


def _row(one: Asked, measured: Measured, *, judge: bool) -> str:
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
    """What ``function`` measures, in a process of its own."""
    try:
        return cast(Timing, apart(_tried, function, arguments))
    except multiprocessing.TimeoutError:
        return Timing(why_not=f"not in {LIMIT_SECONDS:,.0f} s")


def _tried(function: Callable[..., float], arguments: tuple[Any, ...]) -> Timing:
    """In the other process: not every exception can be sent from one to the other."""
    try:
        return Timing(function(*arguments))
    except Exception as error:
        sys.stderr.write(f"{function.__name__}{arguments}: {error}\n")
        return Timing(why_not=type(error).__name__)


def median_ms(run: Callable[[], Any]) -> float:
    """Median of five runs; one that takes long is not repeated."""
    runs: list[float] = []
    while len(runs) < 5 and sum(runs) < LONG_SECONDS:
        before = perf_counter()
        run()
        runs.append(perf_counter() - before)
    return statistics.median(runs) * 1e3


def ask(store: Path, one: Asked) -> float:
    """Milliseconds to open the store and have every row of the answer."""
    return median_ms(lambda: _answer(store, one).fetchall())


def _answer(store: Path, one: Asked) -> duckdb.DuckDBPyRelation:
    if one.name == BINS_NAME:
        with open_reader(store) as con:
            return materialize(con, BINS)
    return tt.query(one.name, store=store, by=one.by)


def ask_phoenix(rival: Path, name: str, store: Path) -> float:
    """The same of the SQLite file. Raises ValueError where ``store`` gives another answer."""

    def run() -> list[tuple[Any, ...]]:
        with closing(sqlite.connect(f"{rival.as_uri()}?mode=ro", uri=True)) as con:
            return list(con.execute(QUESTIONS[name].sqlite))

    ms = median_ms(run)
    require_same(run(), name, _answer(store, Asked(name)))
    return ms
