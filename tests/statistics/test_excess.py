"""An excess of counted items: an upper bound of Fisher's mid-p that is close where it matters."""

from __future__ import annotations

import pytest
from scipy.stats import hypergeom

from tooltrace.statistics import ClusterSums, excess_p, fisher_upper


@pytest.mark.parametrize(
    ("k_1", "n_1", "k_2", "n_2"), [(6, 10, 5, 40), (3, 5, 2, 200), (9, 30, 8, 100), (40, 50, 100, 500), (1, 1, 0, 9)]
)
def test_the_bound_is_above_the_exact_mid_p_and_near_it(k_1: int, n_1: int, k_2: int, n_2: int) -> None:
    chance = hypergeom(n_1 + n_2, k_1 + k_2, n_1)
    exact = chance.sf(k_1) + chance.pmf(k_1) / 2
    assert exact * (1 - 1e-9) <= fisher_upper(k_1, n_1, k_2, n_2) <= 1.3 * exact


def test_no_excess_is_no_evidence() -> None:
    assert fisher_upper(1, 10, 10, 100) == fisher_upper(0, 10, 0, 10) == 1.0


def test_clusters_that_fail_as_a_whole_are_weaker_evidence() -> None:
    """Of 40 clusters of five items, eight fail as a whole, and one of the two in the part does."""
    part, others = ClusterSums(2, 10, 5, 25, 25, 50), ClusterSums(40, 200, 40, 200, 200, 1000)
    # the others have a design effect of nearly five, the size of the clusters: the part's items are worth a fifth
    effect = 200 / others.effective_n
    assert 4.5 < effect <= 5.2
    assert excess_p(part, others) == pytest.approx(fisher_upper(5 / 5, 10 / 5, 40 / effect, 200 / effect), rel=0.1)
    assert excess_p(part, others) > 5 * fisher_upper(5, 10, 40, 200)
