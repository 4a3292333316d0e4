"""Changes of a rate over time: a change point, an alarm, and a daily rhythm that is told apart from both.

A history is an array ``hits`` in the order of time: 1 where an attempt failed (or was slow, or was right), else 0. Above the
size where attempts are fetched one by one, it is an array of counts per bin of time, and ``counts`` has the attempts of each
bin. ``clusters`` has a number from 0 for each attempt, equal for those of one conversation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from tooltrace.statistics.arrays import Counts, Numbers, log_gamma, log_sum_exp, sums_by
from tooltrace.statistics.rhythm import DAY, Rhythm, fit_rhythm, step_evidence

NEARBY: Final = 40
"""Attempts around a position whose probability counts for it."""
_HALF: Final = 0.5723649429247001
"""Logarithm of gamma(1/2)."""


@dataclass(frozen=True, slots=True)
class Dependence:
    """How much less the attempts of a history say than independent ones."""

    effect: float
    """Attempts that say as much as one independent attempt, 1 or more."""
    clusters: int
    few_clusters: bool
    """The clusters are too few, or too unequal, to show how alike their attempts are."""


@dataclass(frozen=True, slots=True)
class Change:
    """Whether a rate changed once, and where."""

    log_bayes_factor: float | None
    """Natural logarithm of how many times as likely a change is as none; None for fewer than two attempts."""
    at: int | None
    """Index of the first item after the change; None where no change is likely enough."""
    dependence: Dependence
    rhythm: Rhythm | None
    """The daily rhythm that explains the history better than a change alone; None where there is none."""


def find_change(
    times: Numbers,
    hits: Numbers,
    clusters: Counts,
    *,
    evidence: float = 1.0,
    period: float | None = DAY,
    known: Dependence | None = None,
) -> Change:
    """Find one lasting change of a rate, and tell a daily rhythm apart from it.

    ``times``: seconds, ascending. ``evidence``: a change is reported if it is that many times as likely as none (for
    m < 300 independent attempts sqrt(300 / m) times that). Four models are compared: one rate, a change, a rhythm of
    ``period`` seconds, and both. Where a model with the rhythm is the most likely of all, the change is compared with the rhythm
    alone, else with one rate. ``period=None``, or a history shorter than one and a half: no rhythm is considered. ``known``: the
    dependence, where it is known from a longer history; by default it is measured.

    Source: Smith 1975, with the priors Beta(1/2, 1/2) of Jeffreys 1946; :mod:`tooltrace.statistics.rhythm`.
    """
    hits = np.asarray(hits, dtype=float)
    n = len(hits)
    dependence = known or measure_dependence(hits, clusters)
    plain = split_evidence(hits, dependence.effect)
    found = _located(plain, one_rate_evidence(hits, dependence.effect), n, dependence.effect, evidence)
    rhythm = fit_rhythm(times, hits, period) if period is not None else None
    if rhythm is not None and rhythm.log_evidence() > 0:
        apart = known or measure_dependence(hits, clusters, rhythm.expected)
        effect = apart.effect
        none = one_rate_evidence(hits, effect)
        rhythm_alone = none + rhythm.log_evidence(effect)
        change_alone, both = split_evidence(hits, effect), rhythm_alone + step_evidence(rhythm, hits, effect)
        likelier = max(change_alone, both, key=log_sum_exp)
        change = log_sum_exp(likelier) - math.log(n - 1)
        if likelier is both or max(rhythm_alone, none) > change:
            factor, at = _located(likelier, max(none, rhythm_alone), n, effect, evidence)
            return Change(factor, at, apart, rhythm)
    return Change(*found, dependence, None)


def measure_dependence(hits: Numbers, clusters: Counts, expected: Numbers | float | None = None) -> Dependence:
    """Measure how alike the attempts of one cluster, and neighbouring attempts, are.

    The residuals are ``hits - expected`` (default: the mean), less their mean on either side of the position where both sides differ
    most, so that a change does not look like dependence. The effect is the larger one of the variance between clusters, with four
    degrees of freedom less (Kish 1965; with few clusters at least a part of their size), and of 1 + 2 r_1 / (1 - r_2 / r_1),
    the sum of a geometric sequence through the correlations with the attempt before and the one before that (Bartlett
    1946), where r_1 exceeds 3.5 / sqrt(n).
    """
    n = len(hits)
    sizes = sums_by(clusters)
    count = int(np.count_nonzero(sizes))
    squares = _dot(sizes, sizes)
    equal = n * n / squares if n else 0.0
    few = 1 < count < n and (count < 5 or equal < 4)
    residuals = _residuals(hits, hits.mean() if expected is None and n else expected)
    spread = _dot(residuals, residuals)
    effect = 1.0
    if 1 < count < n:
        between = sums_by(clusters, residuals)
        varied = _dot(between, between) / spread * equal / max(equal - 4, 1.0) if spread else 0.0
        mean_size = squares / n
        effect = max(effect, min(mean_size, max(varied, 1 + (mean_size - 1) / max(equal - 3, 1.0))))
    if spread and n > 2 and (lag_1 := _dot(residuals[1:], residuals[:-1]) / spread) > 3.5 / math.sqrt(n):
        # correlations are too low in short histories, as simulations show
        first, second = (lag * (1 + 20 / n) + 2 / n for lag in (lag_1, _dot(residuals[2:], residuals[:-2]) / spread))
        effect = max(effect, 1 + 2 * first / (1 - min(max(second / first, first), 0.97)))
    return Dependence(effect, count, few)


def split_evidence(hits: Numbers, effect: float = 1.0, counts: Numbers | None = None) -> Numbers:
    """Return the log-likelihood of one rate up to each item and another one after it.

    The last item has no rate after it: the result has one element less. Hits and attempts count as hits / ``effect``
    independent ones, and both rates are integrated over Jeffreys' prior.
    """
    s = np.cumsum(hits).astype(np.int64)
    t = np.arange(1, len(hits) + 1) if counts is None else np.cumsum(counts).astype(np.int64)
    if not len(s):
        return np.empty(0)
    n, k = int(t[-1]), int(s[-1])
    # a value for each whole number: the terms below are looked up, because log_gamma is the expensive part
    whole = np.arange(n + 1) / effect
    half, one = log_gamma(whole + 0.5), log_gamma(whole + 1)
    s, t = s[:-1], t[:-1]
    return np.asarray(
        half[s] + half[t - s] - one[t] + half[k - s] + half[n - t - k + s] - one[n - t] - 4 * _HALF, dtype=float
    )


def one_rate_evidence(hits: Numbers, effect: float = 1.0, counts: Numbers | None = None) -> float:
    """Return the log-likelihood of one rate for all items, with the same prior."""
    k, n = float(np.sum(hits)), float(len(hits) if counts is None else np.sum(counts))
    terms = log_gamma(np.array([k / effect + 0.5, (n - k) / effect + 0.5, n / effect + 1]))
    return float(terms[0] + terms[1] - terms[2]) - 2 * _HALF


def _located(splits: Numbers, none: float, n: int, effect: float, evidence: float) -> tuple[float | None, int | None]:
    """Return the log Bayes factor, and the first index after the change if the factor is large enough.

    The position is the one nearest to the median of the possible ones, among those with nearly the highest
    probability within ``NEARBY`` attempts. All positions are equally likely beforehand.
    """
    if not len(splits):
        return None, None
    log_all = log_sum_exp(splits)
    factor = log_all - math.log(n - 1) - none
    if factor < math.log(evidence * max(1.0, math.sqrt(300 / (n / effect)))):
        return factor, None
    possible = np.flatnonzero(splits > log_all - 20)
    cumulative = np.cumsum(np.exp(splits[possible] - log_all))
    before = np.concatenate([[0.0], cumulative])
    first = np.searchsorted(possible, possible - NEARBY)
    last = np.searchsorted(possible, possible + NEARBY, side="right")
    nearby = before[last] - before[first]
    middle = possible[min(int(np.searchsorted(cumulative, 0.5)), len(possible) - 1)]
    best = possible[nearby >= nearby.max() - 0.02]
    return factor, int(best[np.abs(best - middle).argmin()]) + 1


def alarm(
    bad: Numbers, *, effect: float = 1.0, reference: int = 100, odds: float = 3, rhythm: Rhythm | None = None
) -> int | None:
    """Return the index of the first attempt at which a CUSUM raises an alarm; None without one.

    The first ``reference`` attempts, at most half of all, show how often attempts are ``bad``: the upper end of the 90 %
    Wilson interval counts. Each later attempt adds the logarithm of the likelihood ratio of ``odds`` times as high odds; the sum
    never falls below 0, and an alarm is where it exceeds ``effect`` ln(5 m), with m monitored attempts. With a
    ``rhythm`` of ``bad``, the odds of each attempt are those of its time of day. Source: Page 1954; the limit by Ville's inequality.
    """
    n = len(bad)
    r = min(reference, n // 2)
    if not r:
        return None
    odds = max(odds, 2)
    seen, z = float(bad[:r].sum()), 1.6448536269514722
    upper = (seen / effect + z * z / 2 + z * math.sqrt(seen * (r - seen) / r / effect + z * z / 4)) / (
        r / effect + z * z
    )
    down: Numbers | float = math.log1p((odds - 1) * upper)
    later = np.arange(1, n - r + 1)
    falls = later * down
    if rhythm is not None:
        falls = np.cumsum(np.log1p((odds - 1) * rhythm.scaled(upper, r)[r:]))
    level = math.log(odds) * np.cumsum(bad[r:]) - falls
    lowest = np.minimum.accumulate(np.concatenate([[0.0], level]))[:-1]
    above = np.flatnonzero(level - lowest > effect * math.log(5 * (n - r)))
    return int(above[0]) + r if len(above) else None


def _dot(x: Numbers, y: Numbers) -> float:
    """Return the sum of products. ``x @ y`` starts threads that cost more than they save."""
    return float(np.sum(x * y))


def _residuals(hits: Numbers, expected: Numbers | float | None) -> Numbers:
    """Return what is not expected, less its mean on the two sides of the position where the sides differ most."""
    residuals = np.asarray(hits - (0.0 if expected is None else expected), dtype=float)
    n = len(residuals)
    if n < 2:
        return residuals - residuals.mean() if n else residuals
    t = np.arange(1, n)
    total = np.cumsum(residuals)
    contrast = (total[:-1] - t * (total[-1] / n)) ** 2 / (t * (n - t))
    # equal contrasts differ in their last digits: the first of them, as an exact sum would give
    cut = int(np.argmax(contrast >= contrast.max() * (1 - 1e-9))) + 1
    return np.concatenate([residuals[:cut] - residuals[:cut].mean(), residuals[cut:] - residuals[cut:].mean()])
