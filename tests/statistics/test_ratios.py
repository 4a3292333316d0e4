"""The limits of a ratio of shares, against the equation that defines them and a simulation with known truth."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq

from tooltrace.statistics.ratios import cluster_correlation, ratio
from tooltrace.statistics.shares import ClusterSums


def sums(n, s):
    return ClusterSums(int((n > 0).sum()), n.sum(), s.sum(), (s * s).sum(), (s * n).sum(), (n * n).sum())


@pytest.mark.parametrize("shared", [-0.4, 0.0, 0.6])
@pytest.mark.parametrize(("k", "n", "m", "size"), [(10, 40, 16, 100), (30, 40, 200, 300), (3, 50, 9, 400)])
def test_a_limit_is_where_the_distance_is_that_of_both_limits(k, n, m, size, shared):
    part, whole = ClusterSums(n, n, k, k, k, n).proportion(), ClusterSums(size, size, m, m, m, size).proportion()
    r, u = part.share, whole.share

    def beyond(limit, of_part, of_whole):
        a, b = abs(r - of_part), limit * abs(u - of_whole)
        return (r - limit * u) ** 2 - a * a - b * b + 2 * shared * a * b

    low, high = ratio(part, whole, shared)
    assert low == pytest.approx(brentq(beyond, 0, r / u, (part.low, whole.high)), abs=1e-9)
    assert high == pytest.approx(brentq(beyond, r / u, 1000, (part.high, whole.low)), abs=1e-6)


def test_a_share_of_none_has_no_lower_limit_and_a_rare_usual_one_no_upper_limit():
    none, rare = ClusterSums(20, 20, 0, 0, 0, 20).proportion(), ClusterSums(50, 50, 1, 1, 1, 50).proportion()
    assert ratio(none, rare)[0] == 0.0
    assert ratio(rare, none)[1] == math.inf


def test_the_correlation_is_that_of_the_deviations_of_clusters():
    draw = np.random.default_rng(3)
    n, more = draw.integers(1, 6, 400), draw.integers(0, 6, 400)
    s = draw.binomial(n, draw.beta(2, 6, 400))
    whole_n, whole_s = n + more, s + draw.binomial(more, 0.2)
    first, second = sums(n, s), sums(whole_n, whole_s)
    a, b = s - n * s.sum() / n.sum(), whole_s - whole_n * whole_s.sum() / whole_n.sum()
    exact = (a * b).sum() / math.sqrt((a * a).sum() * (b * b).sum())
    found = cluster_correlation(
        first, second, (s * whole_s).sum(), (s * whole_n).sum(), (n * whole_s).sum(), (n * whole_n).sum()
    )
    assert found == pytest.approx(exact * (1 - 3 * first.nn / first.n**2))
    assert cluster_correlation(sums(n, n), second, 1, 1, 1, 1) == 0.0
