"""Incidents beside a loop over attempts, their chance beside scipy, and false ones on histories of a constant rate."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import gammaln

from tooltrace.statistics.runs import find_incidents


def looped(failed, failing, recovering):
    """First failure, first success after it and open, for each incident, by a loop."""
    found, start, streak = [], None, 0
    for i, bad in enumerate(failed):
        streak = streak + 1 if i and failed[i - 1] == bad else 1
        if start is None and bad and streak == failing:
            start = i - failing + 1
        elif start is not None and not bad and streak == recovering:
            found.append((start, i - recovering + 1, False))
            start = None
    return found + ([(start, len(failed), True)] if start is not None else [])


@given(st.lists(st.booleans(), max_size=80), st.integers(1, 4), st.integers(1, 3))
def test_incidents_are_those_of_a_loop(failed, failing, recovering):
    found = find_incidents(np.array(failed, bool), np.arange(len(failed)), failing=failing, recovering=recovering)
    expected = looped(failed, failing, recovering)
    assert list(zip(found.first.tolist(), found.end.tolist(), found.open.tolist(), strict=True)) == expected
    assert found.failures.tolist() == [sum(failed[a:b]) for a, b, _ in expected]


def chance_of(failed, first, end):
    """``by_chance`` of the only incident of independent attempts without a success in it."""
    n, r, is_open = len(failed), end - first, end == len(failed)
    k = sum(failed) - r
    prior_k, prior_n = k + 0.5, max(k, n - r - (0 if is_open else 2)) + 1
    places = 1 + (n - r) * (1 - prior_k / prior_n)
    posterior = gammaln(prior_k + r) - gammaln(prior_k) - gammaln(prior_n + r) + gammaln(prior_n)
    return places * 2 * math.exp(posterior)


@pytest.mark.parametrize("run", [3, 4, 12])
def test_the_chance_of_a_run_is_fellers_with_an_uncertain_rate(run):
    failed = np.array([0, 0, 1, 0, 0, 0, 1, 1, 0, 0] * 4 + [1] * run + [0, 0, 0, 1, 0], bool)
    found = find_incidents(failed, np.arange(len(failed)))
    assert found.by_chance[0] == pytest.approx(chance_of(failed.tolist(), 40, 40 + run))
    assert (found.failures.tolist(), found.clusters.tolist()) == ([run], [run])


def test_a_history_of_failures_alone_has_no_rate_to_compare_with():
    found = find_incidents(np.ones(6, bool), np.arange(6))
    assert np.isnan(found.by_chance).all()
    assert found.open.tolist() == [True]
    assert find_incidents(np.zeros(0, bool), np.zeros(0, int)).first.tolist() == []


def test_ten_equal_outages_are_bursts_and_one_is_not():
    one = find_incidents(np.array([0] * 50 + [1] * 6 + [0] * 150, bool), np.arange(206))
    ten = find_incidents(np.array(([0] * 15 + [1] * 6) * 10 + [0] * 5, bool), np.arange(215))
    assert one.by_chance[0] < 0.01
    assert one.by_bursts[0] < 0.05
    assert ten.by_bursts.min() > 0.05


def test_a_run_in_one_conversation_says_little_where_conversations_differ():
    rng = np.random.default_rng(4)
    conversations = rng.permutation(np.repeat([0, 1], [30, 10]))
    failed = np.repeat(conversations, 8) == 1
    found = find_incidents(failed, np.arange(320) // 8)
    alone = find_incidents(failed, np.arange(320))
    assert found.by_chance.min() > 0.05 > 1e-4 > alone.by_chance.min()
    assert found.few_clusters.any()


@pytest.mark.long
@pytest.mark.parametrize(
    ("rate", "size"),
    [
        (0.3, 1),
        *(pytest.param(r, s, marks=pytest.mark.simulations) for r in (0.02, 0.1, 0.5, 0.9) for s in (1, 5, 10)),
    ],
)
def test_a_constant_rate_has_few_incidents(rate, size):
    rng = np.random.default_rng(round(rate * 100) + size)
    histories, false = 300, 0
    for _ in range(histories):
        rates = np.full(400 // size, rate) if size == 1 else rng.beta(rate * 4, (1 - rate) * 4, 400 // size)
        clusters = np.arange(400) // size
        found = find_incidents(rng.random(400) < rates[clusters], clusters)
        sure = (found.by_chance < 0.05) & ~(found.by_bursts >= 0.05) & ~found.few_clusters
        false += bool((sure & (found.end - found.first >= 5)).any())
    assert false <= histories * (0.06 + 2 * math.sqrt(0.06 * 0.94 / histories))
