"""Proportions of clustered items: equal to the SQL macros, and to Wilson's interval where each item is a cluster."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint

from tooltrace.statistics.shares import ClusterCounts, ClusterSums, Proportion, wilson
from tooltrace.store.database.macros import create_macros

CLUSTERS = st.lists(
    st.tuples(st.integers(1, 40), st.integers(0, 40)).map(lambda pair: (pair[0], min(pair))), min_size=1, max_size=60
)
INTERVAL = """
SELECT effective, cluster_low($s, $n, effective), cluster_high($s, $n, effective), $n / effective,
    too_few_draws($clusters, $n, 20)
FROM (SELECT effective_n($clusters, $n, $s, $ss, $sn, $nn) AS effective)
"""


@pytest.fixture(scope="module")
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as con:
        create_macros(con)
        yield con


def counts(clusters: list[tuple[int, int]]) -> ClusterCounts:
    found = ClusterCounts()
    for number, (n, s) in enumerate(clusters):
        for item in range(n):
            found.add(number, item < s)
    return found


@given(CLUSTERS)
def test_an_interval_is_that_of_the_macros(con: duckdb.DuckDBPyConnection, clusters: list[tuple[int, int]]) -> None:
    sums = counts(clusters).sums
    found = sums.proportion()
    given_ = {name: float(value) for name, value in sums._asdict().items()} | {"clusters": len(clusters)}
    effective, low, high, effect, too_few = con.execute(INTERVAL, given_).fetchone() or ()
    assert sums.effective_n == pytest.approx(effective, rel=1e-9)
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-9)
    assert (found.design_effect, found.too_few) == (pytest.approx(effect, rel=1e-9), too_few)
    assert (found.k, found.n, found.clusters) == (
        sum(s for _, s in clusters),
        sum(n for n, _ in clusters),
        len(clusters),
    )


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
