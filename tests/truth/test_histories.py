"""The simulated histories have the rates and the correlations that their cells state."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.grids import covering
from tests.truth.cells import ACCURACY, LEVELS, Cell, cells
from tests.truth.histories import columns, make, slowest

CELL = Cell("clusters", 20, 10, icc=0.2)


@pytest.mark.parametrize(
    ("rate", "icc", "model"), covering([(0.3, 0.0), (0.3, 0.2), (0.05, 0.5), (0.9, 0.1)], ["beta", "logit"])
)
def test_failures_have_the_stated_rate_and_correlation(model: str, rate: float, icc: float) -> None:
    rows = columns(replace(CELL, model=model, rate=rate, icc=icc), 2000)
    failed = rows["failed"].reshape(-1, 10).astype(float)
    pairs = (failed.sum(axis=1) ** 2 - failed.sum(axis=1)).mean() / 90
    assert failed.mean() == pytest.approx(rate, abs=0.012)
    assert (pairs - rate**2) / (rate * (1 - rate)) == pytest.approx(icc, abs=0.03)


def test_neighbouring_calls_of_an_autocorrelated_history_are_correlated() -> None:
    rows = columns(replace(CELL, icc=0.0, lag=0.8), 500)
    for trait in (rows["failed"].astype(float), np.log(rows["duration_ms"])):
        history = trait.reshape(500, 200)
        assert np.corrcoef(history[:, 1:].ravel(), history[:, :-1].ravel())[0, 1] == pytest.approx(0.8, abs=0.02)


def test_results_are_right_as_often_as_their_confidence_states() -> None:
    rows = columns(replace(CELL, icc=0.5), 4000)
    for level in LEVELS:
        assert rows["correct"][rows["confidence"] == level].mean() == pytest.approx(level, abs=0.012)
    assert rows["correct"].mean() == pytest.approx(ACCURACY, abs=0.01)


def test_durations_have_the_stated_percentile() -> None:
    rows = columns(CELL, 2000)
    assert (rows["duration_ms"] <= slowest(0.95)).mean() == pytest.approx(0.95, abs=0.003)


def test_retried_calls_fail_as_often_as_the_cell_states() -> None:
    cell = replace(CELL, attempts=3)
    rows = columns(cell, 2000)
    last = np.append(rows["call"][1:] != rows["call"][:-1], True)
    assert rows["failed"].mean() == pytest.approx(cell.attempt_rate, abs=0.01)
    assert rows["failed"][last].mean() == pytest.approx(cell.call_rate, abs=0.01)


def test_a_stop_for_a_person_is_followed_by_an_attempt_only_if_it_was_approved() -> None:
    con = make(replace(CELL, gates=True), 20)
    stops, approved, resumed = con.execute(
        "SELECT count(*), count(*) FILTER (WHERE decision = 'approved'), count(a.span_id) FROM gates AS g "
        "LEFT JOIN attempts AS a ON a.span_id = g.resumed_span_id AND a.call_id = g.call_id AND a.attempt = 2"
    ).fetchall()[0]
    assert (stops, resumed) == (4000, approved)
    assert 2600 < approved < 3000


def test_cells_have_different_names() -> None:
    names = [cell.name for cell in cells()]
    assert len(names) == len(set(names))
