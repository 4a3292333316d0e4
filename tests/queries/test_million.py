"""A million attempts in a real store: figures beside those of scikit-learn and numpy on the same columns."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score
from statsmodels.stats.proportion import proportion_confint

from tests.queries.answers import run
from tooltrace.store.database import connection, hashes
from tooltrace.store.database.migrations import migrate
from tooltrace.store.database.schema import STORE
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.read.reader import open_reader

pytestmark = [pytest.mark.long, pytest.mark.simulations]

N = 1_000_000

ATTEMPTS = """
INSERT INTO attempts BY NAME
WITH drawn AS (
    SELECT i, (hash(i, 1) >> 11) / 9007199254740992.0 AS u, (hash(i, 2) >> 11) / 9007199254740992.0 AS v,
        (hash(i, 3) >> 11) / 9007199254740992.0 AS w
    FROM range($n) AS numbers(i)
)
SELECT
    CASE WHEN i % 5 = 0 THEN 'fetch' ELSE 'search' END AS tool,
    'call_' || i // 2 * 2 + CASE WHEN u < 0.5 THEN 0 ELSE i % 2 END AS call_id,
    'conversation_' || i // 100 AS conversation_id,
    1 AS attempt,
    't' AS trace_id,
    printf('%016x', i) AS span_id,
    TIMESTAMP '2026-03-01' + to_milliseconds(i) AS started_at,
    round(exp(4 + 1.2 * sqrt(-2 * ln(1 - u)) * cos(6.283185307179586 * v)), 2) AS duration_ms,
    CASE WHEN w < 0.07 THEN 'error' WHEN w < 0.99 THEN 'success' END AS status,
    CASE WHEN w < 0.99 THEN 'returned' ELSE 'cancelled' END AS ending,
    -- a third heaped on tenths, the others one of ten thousand
    CASE WHEN w BETWEEN 0.07 AND 0.9 THEN CASE WHEN i % 3 = 0 THEN floor(1 + 10 * sqrt(u)) / 10
        ELSE floor(1 + 10000 * sqrt(v)) / 10000 END END AS confidence
FROM drawn
"""
OUTCOMES = """
INSERT INTO outcomes (span_id, correct, labeler, labeled_at)
SELECT span_id, (hash(span_id, 4) >> 11) / 9007199254740992.0 < 0.1 + 0.7 * confidence * confidence, 'check', started_at
FROM attempts
WHERE confidence IS NOT NULL
"""


@pytest.fixture(scope="module")
def con(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    path = tmp_path_factory.mktemp("million") / "million.duckdb"
    writer = connection.connect()
    connection.attach(writer, StorePaths.of(path), read_only=False)
    migrate(writer, str(path))
    writer.execute(f"USE {STORE}")
    writer.execute(ATTEMPTS, {"n": N})
    hashes.refresh(writer)
    writer.execute(OUTCOMES)
    writer.execute(f"CHECKPOINT {STORE}")
    connection.detach(writer)
    writer.close()
    with open_reader(path) as con:
        yield con


def columns(con, sql):
    return [
        np.ma.filled(column.astype(float), np.nan) if column.dtype != object else column
        for column in con.execute(sql).fetchnumpy().values()
    ]


def wilson(hits, n, design_effect):
    """Return the Wilson interval of a share of ``n / design_effect`` independent items."""
    return proportion_confint(hits / design_effect, n / design_effect, method="wilson")


def only(con, name, **given):
    relation = run(con, name, by=[], **given)
    (row,) = relation.fetchall()
    return dict(zip(relation.columns, row, strict=True))


def test_calibration_is_that_of_scikit_learn_and_of_the_definitions(con):
    p, y = columns(con, "SELECT confidence, correct FROM tool_calls JOIN judged USING (span_id) ORDER BY span_id")
    row = only(con, "calibration")
    assert row["n"] == len(p) > 0.8 * N
    bins = np.minimum(np.floor(np.round(p * 1e9) * 10 / 1e9), 9).astype(int)
    size, right, sure = (np.bincount(bins, weights, minlength=10) for weights in (None, y, p))
    refit = IsotonicRegression().fit(p, y).predict(p)
    base = y.mean() * (1 - y.mean())
    expected = {
        "mean_confidence": p.mean(),
        "accuracy": y.mean(),
        "ece": abs(right - sure).sum() / len(p),
        "mce": (abs(right - sure) / size).max(),
        "brier": brier_score_loss(y, p),
        "log_loss": log_loss(y, np.clip(p, 1e-15, 1 - 1e-15)),
        "auroc": roc_auc_score(y, p),
        "mcb": brier_score_loss(y, p) - brier_score_loss(y, refit),
        "dsc": base - brier_score_loss(y, refit),
        "unc": base,
    }
    assert {name: row[name] for name in expected} == pytest.approx(expected, abs=1e-9)
    assert row["mcb"] - row["dsc"] + row["unc"] == pytest.approx(row["brier"], abs=1e-12)
    assert (row["accuracy_low"], row["accuracy_high"]) == pytest.approx(
        wilson(y.sum(), len(y), row["design_effect"]), abs=1e-9
    )
    assert 1 <= row["design_effect"] < 1.05, "the attempts of a conversation are independent"
    assert row["miscalibrated"] is True


def test_failure_rate_is_that_of_numpy(con):
    failed, call, tool, conversation = con.execute(
        "SELECT status = 'error', call_id, tool, conversation_id FROM tool_calls WHERE status IS NOT NULL "
        "ORDER BY started_at"
    ).fetchnumpy().values()  # fmt: skip
    row = only(con, "failure_rate")
    assert (row["attempts"], row["failures"]) == (len(failed), failed.sum())
    assert (row["low"], row["high"]) == pytest.approx(
        wilson(failed.sum(), len(failed), row["design_effect"]), abs=1e-12
    )
    assert 1 <= row["design_effect"] < 1.05, "the attempts of a conversation are independent"
    last = dict(zip(zip(tool, call, conversation, strict=True), failed, strict=True))
    assert (row["calls"], row["failed_calls"]) == (len(last), sum(last.values()))
    assert row["calls"] < 0.9 * row["attempts"]
    assert row["cancelled"] == N - len(failed)


def test_latency_is_that_of_numpy(con):
    (took,) = columns(con, "SELECT duration_ms FROM tool_calls WHERE status IS NOT NULL")
    row = only(con, "latency")
    assert row["n"] == len(took)
    assert [row[name] for name in ("p50", "p90", "p95", "p99", "max")] == pytest.approx(
        np.quantile(took, [0.5, 0.9, 0.95, 0.99, 1.0]), abs=1e-9
    )
