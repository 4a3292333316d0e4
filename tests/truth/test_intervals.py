"""Intervals and differences of shares on many histories: their coverage, width and power, computed as the queries do.

A cell has a fixed seed. With 2,000 histories, the standard error of a coverage of 95 % is 0.5 %.
"""

from __future__ import annotations

from collections.abc import Callable

import duckdb
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from tests.queries.answers import run
from tests.truth.clustered import Clustered, Numbers, again_after_failure, drifting, mixed, pareto, repeated, single
from tooltrace.statistics.shares import ClusterSums, Proportion, difference
from tooltrace.store.database import hashes
from tooltrace.store.database.migrations import create

HISTORIES = 2000
Make = Callable[[np.random.Generator, int], Clustered]


def proportions(found: Clustered) -> list[Proportion]:
    n, s = found.items, found.counted
    sums = zip((n > 0).sum(axis=1), *(each.sum(axis=1) for each in (n, s, s * s, s * n, n * n)), strict=True)
    return [ClusterSums(int(clusters), *map(float, others)).proportion() for clusters, *others in sums]


CELLS: dict[str, tuple[Make, float]] = {
    "a second call only after a failure": (lambda r, h: again_after_failure(r, h, 1000, 0.1), 0.98),
    "the same, few": (lambda r, h: again_after_failure(r, h, 100, 0.1), 0.98),
    "rare failures": (lambda r, h: mixed(r, h, (300, 5), rate=0.01, icc=0.1), 0.98),
    "sizes of Pareto's distribution": (lambda r, h: pareto(r, h, 200), 0.98),
    "half of the calls without ids": (lambda r, h: mixed(r, h, (50, 4), (200, 1), rate=0.2, icc=0.2), 0.98),
    "a large conversation": (lambda r, h: mixed(r, h, (100, 3), (1, 50), rate=0.2, icc=0.1), 0.98),
    # with a quarter of all calls, one conversation leaves little to estimate the variance from
    "a giant conversation": (lambda r, h: mixed(r, h, (100, 3), (1, 100), rate=0.2, icc=0.1), 1.0),
    "a state that drifts": (lambda r, h: drifting(r, h, 100, 4), 0.98),
    "failed calls repeated": (lambda r, h: repeated(r, h, 100, 3), 0.98),
}


@pytest.mark.parametrize("cell", CELLS)
def test_intervals_contain_the_rate_of_the_window_and_are_not_wide(cell: str) -> None:
    make, most = CELLS[cell]
    found = make(np.random.default_rng(list(CELLS).index(cell)), HISTORIES)
    limits = np.array([(each.low, each.high) for each in proportions(found)])
    assert 0.93 <= covered(limits, found.truth) <= most
    error = found.counted.sum(axis=1) / found.items.sum(axis=1) - found.truth
    best = 2 * stats.norm.ppf(0.975) * error.std()  # as wide as if the variance were known
    assert (limits[:, 1] - limits[:, 0]).mean() <= 1.15 * best


def covered(limits: Numbers, truth: Numbers | float) -> float:
    return float(((limits[:, 0] <= truth) & (truth <= limits[:, 1])).mean())


SIDES: dict[str, tuple[Make, Make]] = {
    "a second call only after a failure": (
        lambda r, h: again_after_failure(r, h, 200, 0.1),
        lambda r, h: again_after_failure(r, h, 200, 0.2),
    ),
    "independent": (lambda r, h: single(r, h, 200, 0.1), lambda r, h: single(r, h, 200, 0.2)),
    "independent, unequal sides": (lambda r, h: single(r, h, 1000, 0.1), lambda r, h: single(r, h, 50, 0.2)),
}


@pytest.mark.parametrize("cell", SIDES)
def test_a_doubled_rate_is_found_nearly_as_often_as_by_fishers_test(cell: str) -> None:
    random = np.random.default_rng(list(SIDES).index(cell))
    before, after = (make(random, HISTORIES) for make in SIDES[cell])
    same = SIDES[cell][0](random, HISTORIES)
    assert (differences(before, after)[:, 0] > 0).mean() >= 0.9 * fisher(before, after)
    false = differences(before, same)
    assert ((false[:, 0] > 0) | (false[:, 1] < 0)).mean() <= 0.06


@pytest.mark.parametrize(("before", "after"), [(1000, 50), (50, 1000), (200, 20)])
def test_the_interval_of_a_difference_contains_it_on_unequal_sides(before: int, after: int) -> None:
    random = np.random.default_rng(before)
    sides = [mixed(random, HISTORIES, (many, 4), rate=0.2, icc=0.2) for many in (before, after)]
    assert 0.93 <= covered(differences(*sides), 0.0) <= 0.98


def differences(before: Clustered, after: Clustered) -> Numbers:
    pairs = zip(proportions(before), proportions(after), strict=True)
    return np.array([difference(old, new) for old, new in pairs])


def fisher(before: Clustered, after: Clustered) -> float:
    """Return the power of Fisher's test of the first calls, which are independent."""
    sides = [((side.counted > 0).sum(axis=1), side.counted.shape[1]) for side in (before, after)]
    (old, old_n), (new, new_n) = sides
    pairs = zip(old.tolist(), new.tolist(), strict=True)
    return float(np.mean([stats.fisher_exact([[a, old_n - a], [b, new_n - b]])[1] < 0.05 for a, b in pairs]))


ATTEMPTS = """
INSERT INTO attempts BY NAME
SELECT printf('t%05d', history) AS tool, printf('v%d', side) AS tool_version, printf('c%d', row_no) AS call_id, 1 AS attempt,
    't' AS trace_id, printf('%016x', row_no) AS span_id, printf('s%d.%d.%d', history, side, conversation) AS conversation_id,
    TIMESTAMP '2026-03-01' + to_seconds(row_no) AS started_at, CASE WHEN failed THEN 'error' ELSE 'success' END AS status,
    'returned' AS ending
FROM rows
"""


def test_queries_answer_as_the_arrays_do_where_a_failure_is_followed_by_another_call() -> None:
    random, histories = np.random.default_rng(7), 60
    sides = [again_after_failure(random, histories, 500, rate) for rate in (0.1, 0.2)]
    con = duckdb.connect(":memory:")
    con.execute("ATTACH ':memory:' AS store")
    create(con)
    con.execute("USE store")
    con.register("rows", _attempts(sides))
    con.execute(ATTEMPTS)
    hashes.refresh(con)
    answered = run(con, "failure_rate", by=("tool", "version")).dicts()
    found = {(row["tool"], row["version"]): row for row in answered}
    for side, of in enumerate(sides):
        for history, expected in enumerate(proportions(of)):
            row = found[f"t{history:05d}", f"v{side}"]
            assert (row["low"], row["high"], row["design_effect"]) == pytest.approx(
                (expected.low, expected.high, expected.design_effect)
            )
            assert 1.2 < row["design_effect"] < 2.2
    verdicts = run(con, "compare", before="version:v0", after="version:v1").dicts()
    worse = [
        row["verdict"] in ("worse", "maybe_worse")
        for row in verdicts
        if row["measure"] == "failure_rate" and row["tool"]
    ]
    assert len(worse) == histories
    assert np.mean(worse) >= 0.9 * fisher(*sides)


def _attempts(sides: list[Clustered]) -> dict[str, NDArray[np.int64]]:
    """Return a row for each item of the sides; the first items of a conversation are those that count."""
    items = np.stack([side.items for side in sides]).astype(int)
    counted = np.stack([side.counted for side in sides]).astype(int).ravel()
    of = np.repeat(np.arange(items.size), items.ravel())
    place = np.arange(len(of)) - np.repeat(np.cumsum(items.ravel()) - items.ravel(), items.ravel())
    side, history, conversation = np.unravel_index(of, items.shape)
    return {
        "side": side, "history": history, "conversation": conversation, "row_no": np.arange(len(of)), "failed": place < counted[of],
    }  # fmt: skip
