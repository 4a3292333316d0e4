"""Coverage of intervals and rates of false alarms, over the histories of a cell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

import duckdb
import numpy as np
from numpy.typing import NDArray

from tests.truth.cells import Cell
from tests.truth.histories import make
from tests.truth.measures import Alarm, Interval, Measure, has_truth
from tooltrace.analysis.catalog import find
from tooltrace.store.result import read

BATCH = 500
"""Histories in one store: `calibration` makes fewer draws above 500 groups."""


@dataclass(slots=True)
class Figure:
    """Counts of one measure in one cell: ``hits`` of ``n`` answers, and the same for answers marked too_few."""

    measure: Interval | Alarm
    cell: Cell
    n: int = 0
    hits: int = 0
    n_few: int = 0
    hits_few: int = 0
    unbounded: int = 0

    @property
    def share(self) -> float | None:
        """Coverage, or the share of false alarms, of the answers that are not marked."""
        return self.hits / self.n if self.n else None

    @property
    def few(self) -> float | None:
        """The share of answers that are marked too_few or have no interval."""
        total = self.n + self.n_few + self.unbounded
        return (self.n_few + self.unbounded) / total if total else None

    def count(self, hit: NDArray[np.bool_], marked: NDArray[np.bool_], known: NDArray[np.bool_]) -> None:
        """Add answers; one without a value is not a hit and not a miss."""
        self.n += int((known & ~marked).sum())
        self.hits += int((known & ~marked & hit).sum())
        self.n_few += int((known & marked).sum())
        self.hits_few += int((known & marked & hit).sum())
        self.unbounded += int((~known).sum())


def measure(cell: Cell, measures: Iterable[Interval | Alarm], histories: int, alone: int) -> Iterator[Figure]:
    """Yield the figures of the measures that apply to the cell. ``alone``: histories that are queried one by one."""
    figures = [Figure(each, cell) for each in measures if has_truth(each, cell)]
    for batch, first in enumerate(range(0, histories, BATCH)):
        con = make(cell, min(BATCH, histories - first), batch)
        _measure(con, figures, min(BATCH, histories - first), max(0, alone - first))
        con.close()
    yield from figures


def _measure(con: duckdb.DuckDBPyConnection, figures: list[Figure], histories: int, alone: int) -> None:
    names = [f"t{number:05d}" for number in range(histories)]
    for _, same in groupby(figures, lambda figure: _question(figure.measure)):
        questions = list(same)
        asked = questions[0].measure
        for tool in names[:alone] if asked.alone else [None]:
            _answer(con, asked, tool)
            for figure in questions:
                _count(con, figure, [tool] if tool else names)


def _question(measure: Measure) -> tuple[str, str, bool]:
    return measure.query, repr(measure.params), measure.alone


def _answer(con: duckdb.DuckDBPyConnection, measure: Measure, tool: str | None) -> None:
    """Register the answer as the table ``answer``."""
    params = {**measure.params, **({"tool": tool} if tool else {})}
    con.register("answer", read(con, find(measure.query).statement(**params)).arrow())


def _count(con: duckdb.DuckDBPyConnection, figure: Figure, histories: list[str]) -> None:
    columns = {row[0] for row in con.execute("DESCRIBE answer").fetchall()}
    marked = "too_few" if "too_few" in columns else "verdict = 'too_few'" if "verdict" in columns else "false"
    if isinstance(figure.measure, Alarm):
        _count_alarms(con, figure, figure.measure, histories, marked, "tool" if "tool" in columns else "NULL")
    elif {figure.measure.low, figure.measure.high} <= columns:
        _count_intervals(con, figure, figure.measure, figure.measure.marked or marked)


def _count_intervals(con: duckdb.DuckDBPyConnection, figure: Figure, measure: Interval, marked: str) -> None:
    rows = con.sql(f"SELECT *, {marked} AS marked FROM answer WHERE {measure.where}").fetchnumpy()
    low, high = (np.ma.filled(np.ma.asarray(rows[name], dtype=float), np.nan) for name in (measure.low, measure.high))
    truth = np.broadcast_to(measure.truth(figure.cell, rows), low.shape)
    # one limit may be NULL: that side is unbounded
    hit = ~(low > truth + 1e-9) & ~(high < truth - 1e-9)
    known = ~(np.isnan(low) & np.isnan(high)) & ~np.isnan(truth)
    figure.count(hit, np.asarray(rows["marked"], dtype=bool), known)


def _count_alarms(
    con: duckdb.DuckDBPyConnection, figure: Figure, measure: Alarm, histories: list[str], marked: str, tool: str
) -> None:
    rows = con.execute(
        f"SELECT {tool} AS tool, {measure.alarm} AS alarm, {marked} AS marked FROM answer WHERE {measure.where}"
    ).fetchall()
    if measure.per_history:
        alarmed = {tool for tool, alarm, mark in rows if alarm and not mark}
        few = {tool for tool, _, mark in rows if mark} - {tool for tool, _, mark in rows if not mark}
        hit, mark = (np.array([name in of for name in histories], dtype=bool) for of in (alarmed, few))
        figure.count(hit, mark, np.ones(len(histories), dtype=bool))
        return
    hit = np.array([bool(alarm) for _, alarm, _ in rows], dtype=bool)
    known = np.array([alarm is not None for _, alarm, _ in rows], dtype=bool)
    figure.count(hit, np.array([bool(mark) for *_, mark in rows], dtype=bool), known)
