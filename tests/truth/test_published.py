"""The variance between clusters is that of a published example, and of a reference implementation."""

from __future__ import annotations

import duckdb
import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats

from tests.queries.answers import run
from tooltrace.statistics.shares import ClusterSums
from tooltrace.store.database import hashes
from tooltrace.store.database.migrations import create

# Cochran 1977, Sampling Techniques, table 3.5: persons of 30 households, and those who had seen a doctor in a year
PERSONS = [5, 6, 3, 3, 2, 3, 3, 3, 4, 4, 3, 2, 7, 4, 3, 5, 4, 4, 3, 3, 4, 3, 3, 1, 2, 4, 3, 4, 2, 4]
DOCTOR = [5, 0, 2, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 1, 2, 0, 0, 1, 3, 2, 0, 0, 0, 2, 2, 0, 2, 0, 1]
PUBLISHED_VARIANCE, PUBLISHED_BINOMIAL = 0.00520, 0.00197


def effect(sizes: np.ndarray, counted: np.ndarray) -> float:
    """Return the variance of the share as a multiple of the binomial's, corrected as in a sample of equal clusters."""
    n, s = sizes.sum(), counted.sum()
    sums = ClusterSums(len(sizes), n, s, counted @ counted, counted @ sizes, sizes @ sizes)
    equal = n * n / sums.nn  # cluster_effect corrects by the number of clusters of equal size
    return sums.cluster_effect * (equal - 1) / equal * len(sizes) / (len(sizes) - 1)


def test_the_variance_of_households_is_the_published_one() -> None:
    sizes, counted = np.array(PERSONS, dtype=float), np.array(DOCTOR, dtype=float)
    share = counted.sum() / sizes.sum()
    binomial = share * (1 - share) / sizes.sum()
    assert binomial == pytest.approx(PUBLISHED_BINOMIAL, abs=5e-6)
    assert effect(sizes, counted) * binomial == pytest.approx(PUBLISHED_VARIANCE, abs=1e-5)


@pytest.mark.parametrize("seed", range(5))
def test_the_variance_is_that_of_statsmodels(seed: int) -> None:
    random = np.random.default_rng(seed)
    sizes = random.geometric(0.1, 30)
    groups = np.repeat(np.arange(30), sizes)
    failed = random.random(sizes.sum()) < random.beta(0.6, 1.4, 30)[groups]
    counted = np.bincount(groups, failed, 30)
    fitted = sm.OLS(failed.astype(float), np.ones(len(failed))).fit(cov_type="cluster", cov_kwds={"groups": groups})
    share = failed.mean()
    variance = effect(sizes.astype(float), counted) * share * (1 - share) / len(failed)
    assert variance == pytest.approx(fitted.cov_params()[0, 0], rel=1e-9)


def test_the_interval_of_the_households_contains_that_of_students_t() -> None:
    """The query's interval is as wide as the textbook's, and shifted to the middle as a score interval is."""
    con = duckdb.connect(":memory:")
    con.execute("ATTACH ':memory:' AS store")
    create(con)
    con.execute("USE store")
    con.execute(
        "INSERT INTO attempts BY NAME SELECT 'doctor' AS tool, printf('c%d.%d', household, person) AS call_id, 't' AS trace_id, "
        "printf('%d.%d', household, person) AS span_id, printf('h%d', household) AS conversation_id, "
        "CASE WHEN person < doctor THEN 'error' ELSE 'success' END AS status, 'returned' AS ending, 1 AS attempt, "
        "TIMESTAMP '2026-03-01' AS started_at FROM (SELECT household, doctor, unnest(range(persons)) AS person "
        "FROM (SELECT unnest(range(30)) AS household, unnest(?) AS persons, unnest(?) AS doctor))",
        [PERSONS, DOCTOR],
    )
    hashes.refresh(con)
    answer = run(con, "failure_rate")
    row = dict(zip(answer.columns, answer.fetchall()[0], strict=True))
    assert (row["attempts"], row["failures"], row["clusters"]) == (104, 30, 30)
    half = stats.t.ppf(0.975, 29) * PUBLISHED_VARIANCE**0.5
    assert (row["high"] - row["low"]) / 2 == pytest.approx(half, rel=0.05)
    assert 30 / 104 - half < row["low"] < 30 / 104 < 30 / 104 + half < row["high"]
