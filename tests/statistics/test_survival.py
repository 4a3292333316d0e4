"""Kaplan-Meier's curve with the log-log interval, as statsmodels has it, and its ends."""

from __future__ import annotations

from math import exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.duration.survfunc import SurvfuncRight

from tooltrace.statistics import kaplan_meier, wilson
from tooltrace.statistics.shares import Z_95

STEPS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=6)


@given(STEPS.filter(lambda steps: any(sum(step) for step in steps)), st.sampled_from([1.0, 2.5]))
def test_as_statsmodels_has_it(steps: list[tuple[int, int]], effect: float) -> None:
    times, status = [], []
    for k, (had, left) in enumerate(steps, 1):
        times += [k] * (had + left)
        status += [1] * had + [0] * left
    oracle = SurvfuncRight(np.array(times), np.array(status))
    found = list(kaplan_meier(*zip(*steps, strict=True), [effect] * len(steps)))
    for k, pending, error in zip(oracle.surv_times, oracle.surv_prob, oracle.surv_prob_se, strict=True):
        step = found[int(k) - 1]
        assert step.at_risk == sum(time >= k for time in times)
        assert step.share == pytest.approx(1 - pending, abs=1e-9)
        if 0 < pending < 1:
            spread = Z_95 * effect**0.5 * error / pending / abs(log(pending))
            assert (step.low, step.high) == pytest.approx((1 - pending ** exp(-spread), 1 - pending ** exp(spread)))
        assert 0 <= step.low <= step.share + 1e-12
        assert step.share <= step.high + 1e-12


def test_where_none_or_all_had_their_event_the_limit_is_wilsons() -> None:
    none, *_ = kaplan_meier([0, 1], [4, 0], [1.0, 1.0])
    assert (none.share, none.low, none.high) == (0, 0, wilson(0, 5)[1])
    (every,) = kaplan_meier([20], [0], [1.0])
    assert (every.share, every.low, every.high) == (1, pytest.approx(wilson(20, 20)[0]), 1)


def test_the_curve_ends_with_the_last_item() -> None:
    assert [step.at_risk for step in kaplan_meier([1, 0, 0], [0, 1, 0], [1.0] * 3)] == [2, 1]
