"""Proportions of clustered items: by their design effect, and Wilson's interval where each item is a cluster."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from tooltrace.statistics.shares import ClusterCounts, ClusterSums, Proportion, t_quantile, wilson

CLUSTERS = st.lists(
    st.tuples(st.integers(1, 40), st.integers(0, 40)).map(lambda pair: (pair[0], min(pair))), min_size=1, max_size=60
)


def counts(clusters: list[tuple[int, int]]) -> ClusterCounts:
    found = ClusterCounts()
    for number, (n, s) in enumerate(clusters):
        for item in range(n):
            found.add(number, item < s)
    return found


@given(CLUSTERS)
def test_the_design_effect_is_the_variance_between_clusters(clusters: list[tuple[int, int]]) -> None:
    """The variance of a ratio estimator, with the corrections for few clusters of unequal sizes and of the rarer kind."""
    sums = counts(clusters).sums
    n, s = np.array(clusters, dtype=float).T
    if len(clusters) == n.sum():
        assert sums.effective_n == n.sum()
        return
    equal, share = n.sum() ** 2 / (n @ n), s.sum() / n.sum()
    if share in (0, 1):
        assert sums.effective_n == pytest.approx(equal)
        return
    variance = equal / (equal - 1) * ((s - share * n) ** 2).sum() / n.sum() ** 2 if equal > 1 else 0
    effect = max(1, variance / (share * (1 - share) / n.sum()))
    others = n - s
    spread = min(s.sum() ** 2 / (s @ s), others.sum() ** 2 / (others @ others))
    least = n.sum() / max((n @ n) / n.sum(), effect * (1 - 1 / equal))
    effect += 0.7 / (0.7 + spread) * max(0, (n @ n) / n.sum() - effect)
    student = stats.t.ppf(0.975, max(1, equal - 1)) / stats.norm.ppf(0.975)
    assert sums.effective_n == pytest.approx(max(least, n.sum() / effect / student**2), rel=1e-5)


@given(CLUSTERS)
def test_the_interval_of_clusters_is_wilsons_of_the_effective_number(clusters: list[tuple[int, int]]) -> None:
    sums = counts(clusters).sums
    found = sums.proportion()
    k = found.share * sums.effective_n
    assert (found.low, found.high) == pytest.approx(proportion_confint(k, sums.effective_n, method="wilson"), abs=1e-9)
    assert (found.k, found.n, found.clusters) == (
        sum(s for _, s in clusters),
        sum(n for n, _ in clusters),
        len(clusters),
    )


@given(st.floats(1, 1e7))
def test_the_quantile_is_that_of_students_t(df: float) -> None:
    assert t_quantile(df) == pytest.approx(stats.t.ppf(0.975, df), rel=2e-7)


@pytest.mark.parametrize(
    ("clusters", "n", "too_few"), [(4, 100, True), (5, 100, False), (19, 19, True), (4, 5, True), (20, 20, False)]
)
def test_few_items_and_few_clusters_of_several_items_are_too_few(clusters: int, n: int, too_few: bool) -> None:
    assert Proportion(0, n, 0.0, 1.0, clusters, 1.0).too_few is too_few


@given(n=st.integers(1, 500), share=st.floats(0, 1), comparisons=st.integers(1, 40))
def test_the_interval_of_independent_items_is_wilsons_at_bonferronis_level(
    n: int, share: float, comparisons: int
) -> None:
    k = round(n * share)
    found = ClusterSums(n, n, k, k, k, n).proportion(comparisons)
    expected = proportion_confint(k, n, alpha=0.05 / comparisons, method="wilson")
    assert (found.low, found.high) == pytest.approx(expected, abs=1e-9)
    assert wilson(k, n, comparisons) == pytest.approx(expected, abs=1e-9)


def test_no_items_have_the_widest_interval() -> None:
    assert ClusterSums().proportion() == Proportion(0, 0, 0.0, 1.0, 0, 1.0)
    assert ClusterSums().proportion().too_few


@given(CLUSTERS, st.data())
def test_the_sums_without_a_part_are_those_of_the_rest(clusters: list[tuple[int, int]], data: st.DataObject) -> None:
    parts = [(data.draw(st.integers(0, n - s)), data.draw(st.integers(0, s))) for n, s in clusters]
    part, rest = ClusterCounts(), ClusterCounts()
    for number, ((n, s), (others, counted)) in enumerate(zip(clusters, parts, strict=True)):
        for item in range(n - s):
            (part if item < others else rest).add(number, counted=False)
        for item in range(s):
            (part if item < counted else rest).add(number, counted=True)
    assert counts(clusters).sums_without(part, counts(clusters).sums) == rest.sums
