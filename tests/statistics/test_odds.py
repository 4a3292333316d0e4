"""Pooled odds ratios, against statsmodels, and the sample that shows one, against a simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.contingency_tables import StratifiedTable

from tooltrace.statistics.odds import needed_for_odds_ratio, pooled_odds_ratio


@pytest.mark.parametrize("strata", [1, 2, 7])
def test_the_pooled_ratio_and_its_limits_are_those_of_statsmodels(strata):
    draw = np.random.default_rng(strata)
    tables = [tuple(int(cell) for cell in draw.integers(1, 15, 4)) for _ in range(strata)]
    table = StratifiedTable([np.array(cells, dtype=float).reshape(2, 2) for cells in tables])
    odds = pooled_odds_ratio(tables)
    assert odds.ratio == pytest.approx(table.oddsratio_pooled)
    assert odds.limits() == pytest.approx(table.oddsratio_pooled_confint())
    assert odds.is_beyond_one() == (odds.limits()[0] > 1) - (odds.limits()[1] < 1)


def test_an_empty_cell_has_no_limits_and_no_side():
    for tables, ratio in ([(3, 0, 2, 4)], None), ([(0, 3, 2, 4)], 0.0), ([], None):
        odds = pooled_odds_ratio(tables)
        assert (odds.ratio, odds.error, odds.limits(), odds.is_beyond_one()) == (ratio, None, (None, None), 0)


def test_more_comparisons_need_more_evidence():
    odds = pooled_odds_ratio([(26, 14, 16, 24)])
    assert [odds.is_beyond_one(number) for number in (1, 3)] == [1, 0]
    assert pooled_odds_ratio([(16, 24, 26, 14)]).is_beyond_one() == -1


def test_the_needed_sample_shows_the_ratio_in_four_of_five():
    draw, ratio, with_sign, rate = np.random.default_rng(1), 2.5, 0.3, 0.4
    n = needed_for_odds_ratio(ratio, with_sign, rate)
    other = ratio * rate / (1 - rate + ratio * rate)
    size = round(with_sign * n)
    a, c = draw.binomial(size, other, 4000), draw.binomial(n - size, rate, 4000)
    log_odds = np.log(a * (n - size - c) / ((size - a) * c))
    error = np.sqrt(1 / a + 1 / (size - a) + 1 / c + 1 / (n - size - c))
    assert np.mean(log_odds > stats.norm.ppf(0.975) * error) == pytest.approx(0.8, abs=0.03)
    assert needed_for_odds_ratio(1.0, with_sign, rate) is needed_for_odds_ratio(2.0, 0.0, rate) is None
    assert math.isclose(needed_for_odds_ratio(1 / ratio, with_sign, 1 - rate), n, rel_tol=0.01)
