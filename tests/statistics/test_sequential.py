"""The sequential test of a rate: its errors and its number of trials, computed over all histories."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from tooltrace.pytest_plugin.repetition import Objective, Verdict
from tooltrace.statistics import rate_evidence, rate_shown


def exact(objective: Objective, rate: float) -> tuple[Counter[Verdict], float]:
    """The probabilities of the verdicts and the mean number of runs, where each run succeeds with probability ``rate``."""
    ends: Counter[Verdict] = Counter()
    mean, open_histories = 0.0, {(0, 0): 1.0}
    while open_histories:
        following: Counter[tuple[int, int]] = Counter()
        for (successes, failures), p in open_histories.items():
            following[successes + 1, failures] += p * rate
            following[successes, failures + 1] += p * (1 - rate)
        open_histories = {}
        for counts, p in following.items():
            verdict = objective.verdict(*counts)
            if verdict is None:
                open_histories[counts] = p
            else:
                ends[verdict] += p
                mean += p * sum(counts)
    return ends, mean


@pytest.mark.parametrize("success", [0.5, 0.8, 0.9, 0.95, 0.99])
@pytest.mark.parametrize("risk", [0.01, 0.05, 0.2])
def test_at_most_the_risk_is_wrong_at_the_border(success: float, risk: float) -> None:
    """At the border both errors are most probable: nothing else is compared with the risk."""
    ends, _ = exact(Objective(success, risk, (1, 200)), success)
    assert ends["PASS"] <= risk
    assert ends["FAIL"] <= risk
    assert sum(ends.values()) == pytest.approx(1)


@pytest.mark.parametrize(
    ("rate", "runs", "passes", "fails"),
    [(1.0, 34, 1.0, 0.0), (0.95, 55, 0.18, 0.0), (0.9, 58, 0.03, 0.02), (0.8, 48, 0.0, 0.37), (0.7, 26, 0.0, 0.9), (0.5, 9, 0.0, 1.0)],
)  # fmt: skip
def test_the_runs_of_the_documentation(rate: float, runs: int, passes: float, fails: float) -> None:
    ends, mean = exact(Objective(), rate)
    assert (round(mean), ends["PASS"], ends["FAIL"]) == (
        runs,
        pytest.approx(passes, abs=0.006),
        pytest.approx(fails, abs=0.006),
    )


@pytest.mark.simulations
@pytest.mark.parametrize("rate", [0.5, 0.9, 0.95])
def test_simulated_histories_that_are_looked_at_after_each_run(rate: float) -> None:
    """At most 5 % of 4,000 histories of 500 runs ever show the wrong side, at the border itself."""
    histories = 4_000
    outcomes = np.random.default_rng(1).random((histories, 500)) < rate
    successes = np.cumsum(outcomes, axis=1)
    shown = {
        (s, n - s): rate_shown(s, n - s, rate, 0.05)
        for n in range(1, 501)
        for s in range(int(successes[:, n - 1].min()), int(successes[:, n - 1].max()) + 1)
    }
    wrong = Counter(
        side for history in successes for side in {shown[int(s), n - int(s)] for n, s in enumerate(history, 1)} - {None}
    )
    assert max(wrong.values(), default=0) <= 0.05 * histories


def test_evidence_is_the_product_of_fair_bets() -> None:
    """One more trial changes the capital by a factor whose mean is 1 at the rate itself."""
    for now, won, lost in zip(
        rate_evidence(7, 2, 0.9), rate_evidence(8, 2, 0.9), rate_evidence(7, 3, 0.9), strict=True
    ):
        assert 0.9 * won + 0.1 * lost == pytest.approx(now)
    assert rate_evidence(0, 0, 0.9) == pytest.approx((1, 1))
