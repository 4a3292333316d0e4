"""Changes, alarms and rhythms beside the formulas by scipy, beside a monitor stepped by hand, and on histories with a known truth."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy.special import betaln, logsumexp
from statsmodels.stats.proportion import proportion_confint

from tooltrace.statistics.changes import alarm, find_change, measure_dependence, split_evidence
from tooltrace.statistics.rhythm import fit_rhythm

DAY = 86_400.0


def located(y, effect=1.0, within=40):
    """Log Bayes factor and first index after the change, by scipy."""
    at = np.arange(1, len(y))
    n, k, s, t = len(y) / effect, y.sum() / effect, y.cumsum()[:-1] / effect, at / effect
    one = betaln(k + 0.5, n - k + 0.5) - betaln(0.5, 0.5)
    here = betaln(s + 0.5, t - s + 0.5) + betaln(k - s + 0.5, n - t - k + s + 0.5) - 2 * betaln(0.5, 0.5)
    factor = logsumexp(here) - math.log(len(y) - 1) - one
    if factor < math.log(max(1, math.sqrt(300 / n))):
        return factor, None
    chance = np.exp(here - logsumexp(here))
    around = np.array([chance[abs(at - x) <= within].sum() for x in at])
    good = at[around >= around.max() - 0.02]
    return factor, good[abs(good - at[(chance.cumsum() >= 0.5).argmax()]).argmin()]


@pytest.mark.parametrize("rates", [(0.0, 0.0), (0.02, 0.02), (0.3, 0.3), (0.05, 0.5), (1.0, 0.4)])
def test_a_change_is_the_formulas(rates):
    for n, size in product([2, 3, 19, 150, 700], [1, 7]):
        y = (np.random.default_rng(n).random(n) < np.where(np.arange(n) < n * 0.6, *rates)).astype(float)
        found = find_change(np.arange(n) * 60.0, y, np.arange(n) // size)
        factor, at = located(y, found.dependence.effect)
        assert (found.log_bayes_factor, found.at) == (pytest.approx(factor, abs=1e-9), at), (n, size)


def test_counts_of_bins_give_the_evidence_of_their_ends():
    y = (np.random.default_rng(3).random(1000) < 0.2).astype(float)
    hits, counts = y.reshape(-1, 20).sum(axis=1), np.full(50, 20.0)
    assert split_evidence(hits, 1.7, counts) == pytest.approx(split_evidence(y, 1.7)[19::20])


@pytest.mark.parametrize(("n", "found"), [(0, None), (1, None), (2, None)])
def test_short_histories_have_no_change(n, found):
    change = find_change(np.arange(n) * 1.0, np.ones(n), np.arange(n))
    assert (change.at, change.log_bayes_factor is None) == (found, n < 2)


def dependence(y, clusters):
    """The design effect, written out."""
    n, s, t = len(y), y.cumsum()[:-1], np.arange(1, len(y))
    cut = t[((s * n - t * y.sum()) ** 2 / (t * (n - t))).argmax()]
    residual = y - np.where(np.arange(n) < cut, y[:cut].mean(), y[cut:].mean())
    spread = residual @ residual
    sizes, sums = np.bincount(clusters), np.bincount(clusters, residual)
    equal, size = n**2 / (sizes @ sizes), sizes @ sizes / n
    alike = serial = 1.0
    if 1 < len(sizes) < n:
        varied = sums @ sums / spread * equal / max(equal - 4, 1) if spread else 0
        alike = min(max(varied, 1 + (size - 1) / max(equal - 3, 1)), size)
    lag_1, lag_2 = (residual[k:] @ residual[:-k] / spread if spread else 0 for k in (1, 2))
    if lag_1 > 3.5 / math.sqrt(n):
        first, second = (lag * (1 + 20 / n) + 2 / n for lag in (lag_1, lag_2))
        serial = 1 + 2 * first / (1 - min(max(second / first, first), 0.97))
    return max(1.0, alike, serial)


@pytest.mark.parametrize("seed", range(8))
def test_dependence_is_the_larger_one_of_clusters_and_neighbours(seed):
    rng = np.random.default_rng(seed)
    clusters = np.sort(rng.integers(0, rng.integers(2, 60), 300))
    clusters = np.unique(clusters, return_inverse=True)[1]
    y = (rng.random(300) < rng.beta(1, 4, 80)[clusters]).astype(float)
    assert measure_dependence(y, clusters).effect == pytest.approx(dependence(y, clusters))


def stepped(bad, reference, odds, effect):
    """The alarm, one attempt at a time."""
    n = len(bad)
    r = min(reference, n // 2)
    expected = proportion_confint(bad[:r].sum() / effect, r / effect, alpha=0.1, method="wilson")[1]
    worse = odds * expected / (1 - expected + odds * expected)
    level = 0.0
    for i in range(r, n):
        step = math.log(worse / expected) if bad[i] else math.log((1 - worse) / (1 - expected)) if expected < 1 else 0
        level = max(0.0, level + step)
        if level > effect * math.log(5 * (n - r)):
            return i
    return None


@pytest.mark.parametrize("effect", [1.0, 2.5])
def test_an_alarm_is_the_cusums(effect):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 300))
        rate = np.where(np.arange(n) < n * rng.random(), 0.02, rng.choice([0.02, 0.2, 0.6]))
        bad = (rng.random(n) < rate).astype(float)
        given = {"reference": int(rng.integers(1, 120)), "odds": float(rng.integers(2, 6)), "effect": effect}
        assert alarm(bad, **given) == stepped(bad, **given), seed


def test_a_rhythm_of_equal_rates_is_no_rhythm_for_an_alarm():
    bad = np.tile([0, 0, 1, 0.0], 200)
    bad[500:] = np.tile([0, 1.0], 150)
    rhythm = fit_rhythm(np.linspace(0, 5 * DAY, 800), np.tile([0, 0, 1, 0.0], 200), DAY)
    plain, with_rhythm = alarm(bad), alarm(bad, rhythm=rhythm)
    assert plain is not None
    assert with_rhythm == pytest.approx(plain, abs=2)


def daily(rng, days, n, low=0.05, high=0.35, step=0.0):
    """Times and failures of a rate between two values in the course of each day; ``step``: of the log-odds, at two thirds."""
    at = np.sort(rng.random(n)) * days * DAY
    rate = low + (high - low) * (1 - np.cos(2 * np.pi * (at / DAY + rng.random()))) / 2
    odds = rate / (1 - rate) * np.exp(np.where(np.arange(n) < n * 2 // 3, 0, step))
    return at, (rng.random(n) < odds / (1 + odds)).astype(float)


@pytest.mark.parametrize(
    ("days", "n", "histories"),
    [
        (3, 1000, 60),
        *(
            pytest.param(days, n, 400, marks=pytest.mark.simulations)
            for days in (2, 3, 7, 28)
            for n in (300, 1000, 10_000)
        ),
    ],
)
def test_a_daily_rhythm_is_no_lasting_change(days, n, histories):
    rng = np.random.default_rng(days)
    named = sure = alarms = 0
    for _ in range(histories):
        at, y = daily(rng, days, n)
        found = find_change(at, y, np.arange(n))
        named += found.at is not None
        sure += found.at is not None and found.log_bayes_factor > math.log(20)
        alarms += alarm(y, effect=found.dependence.effect, rhythm=found.rhythm) is not None
    assert named <= histories * (0.083 + 2 * math.sqrt(0.083 * 0.917 / histories))
    assert sure <= 0.03 * histories
    assert alarms <= 0.03 * histories


def test_the_rhythm_is_stated_and_a_change_beside_it_found():
    rng = np.random.default_rng(2)
    found = [find_change(*daily(rng, 4, 1500, step=1.5), np.arange(1500)) for _ in range(40)]
    assert sum(change.at is not None and abs(change.at - 1000) <= 40 for change in found) >= 36
    rhythm = find_change(*daily(rng, 4, 5000), np.arange(5000)).rhythm
    assert (rhythm.lowest, rhythm.highest) == pytest.approx((0.05, 0.35), abs=0.04)


@pytest.mark.parametrize("days", [0.5, 2, 5])
def test_a_step_is_found_as_without_a_model_of_rhythms(days):
    rng = np.random.default_rng(9)
    near = [0, 0]
    for _ in range(40):
        at = np.sort(rng.random(400)) * days * DAY
        y = (rng.random(400) < np.where(np.arange(400) < 200, 0.05, 0.3)).astype(float)
        for number, period in enumerate((None, DAY)):
            change = find_change(at, y, np.arange(400), period=period)
            near[number] += change.at is not None and abs(change.at - 200) <= 40
    assert near[0] >= 38
    assert near[1] >= near[0] - 2


def test_no_rhythm_without_a_day_and_a_half_or_where_all_is_alike():
    at = np.linspace(0, 1.4 * DAY, 100)
    assert fit_rhythm(at, np.tile([0.0, 1.0], 50), DAY) is None
    assert fit_rhythm(at * 2, np.zeros(100), DAY) is None
    assert fit_rhythm(at * 2, np.tile([0.0, 1.0], 50), DAY).log_evidence() < 0


def test_few_times_of_day_do_not_tell_all_of_a_rhythm_apart():
    """A job runs 40 days at four times, and fails at two of them."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        times = (86_400 * np.arange(40)[:, None] + np.sort(rng.random(4)) * 86_400).ravel()
        hits = (rng.random(160) < np.tile([0.05, 0.9, 0.05, 0.9], 40)).astype(float)
        assert find_change(times, hits, np.arange(160)).at is None, seed
