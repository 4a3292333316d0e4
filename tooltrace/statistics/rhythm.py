"""A daily rhythm of a rate: how likely it is, what it expects at each time, and what a change adds to it.

The log-odds of a hit at phase x (0 to 2 pi) are ``c + sum(a_k cos(k x) + b_k sin(k x))`` with two harmonics, fitted by
penalised maximum likelihood to counts in 96 bins of the period. Coefficients have the prior N(0, 1.5^2): a rhythm of
which one is 1.5 changes a rate from 5 to 50 %. Evidence is Laplace's approximation (Tierney and Kadane 1986).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from tooltrace.statistics.arrays import Counts, Numbers, sums_by
from tooltrace.statistics.logistic import fit_logistic, logistic

MIN_PERIODS: Final = 1.5
"""Periods that a history must span: one outage in a single period is no rhythm."""
DAY: Final = 86_400.0
_BINS: Final = 96
_HARMONICS: Final = 2
_SD: Final = 1.5
_STEP_SD: Final = math.pi * math.sqrt(2)
"""Standard deviation of the difference of the log-odds of two rates with Jeffreys' prior."""


@dataclass(frozen=True, slots=True)
class Rhythm:
    """A fitted rhythm."""

    rates: Numbers
    """Expected rate in each bin of the period."""
    phases: Counts
    """Bin of the period that each item is in."""
    waves: Numbers
    """Constant, cosines and sines of each bin of the period: 96 rows, 5 columns."""
    counts: Numbers
    """Attempts in each bin of the period."""
    hits: Numbers
    """Hits in each bin of the period."""

    @property
    def expected(self) -> Numbers:
        """The expected rate at the time of each item."""
        return self.rates[self.phases]

    @property
    def lowest(self) -> float:
        """The lowest expected rate of a time of day that has attempts."""
        return float(self.rates[self.counts > 0].min())

    @property
    def highest(self) -> float:
        """The highest expected rate of a time of day that has attempts."""
        return float(self.rates[self.counts > 0].max())

    def log_evidence(self, effect: float = 1.0) -> float:
        """Return the natural logarithm of how many times as likely the rhythm is as one rate.

        ``effect``: attempts that say as much as one independent attempt.
        """
        weights, curvature = _fit(self.waves, self.hits / effect, self.counts / effect)
        k, n = float(self.hits.sum()) / effect, float(self.counts.sum()) / effect
        rate = k / n
        one_rate = k * math.log(rate) + (n - k) * math.log1p(-rate)
        scores = self.waves @ weights
        gain = float(self.hits @ scores - self.counts @ np.logaddexp(0, scores)) / effect - one_rate
        coefficients = weights[1:]
        prior = 0.5 * float(coefficients @ coefficients) / _SD**2 + len(coefficients) * math.log(_SD)
        return gain - prior - 0.5 * (float(np.linalg.slogdet(curvature)[1]) - math.log(n * rate * (1 - rate)))

    def scaled(self, mean: float, first: int) -> Numbers:
        """Return the expected rates, shifted in log-odds so that the ``first`` ones have this ``mean``."""
        scores = np.log(self.expected / (1 - self.expected))
        low, high = -40.0, 40.0
        for _ in range(60):
            middle = (low + high) / 2
            if float(logistic(scores[:first] + middle).mean()) < mean:
                low = middle
            else:
                high = middle
        return logistic(scores + (low + high) / 2)


def fit_rhythm(times: Numbers, hits: Numbers, period: float) -> Rhythm | None:
    """Fit a rhythm of ``period`` seconds; None for a shorter history than ``MIN_PERIODS``, or hits alike."""
    if len(hits) < 2 or times[-1] - times[0] < MIN_PERIODS * period or hits.min() == hits.max():
        return None
    phases = np.floor(np.mod(times, period) / period * _BINS).astype(np.int64).clip(0, _BINS - 1)
    counts = sums_by(phases, size=_BINS)
    in_bins = sums_by(phases, hits, _BINS)
    angle = 2 * np.pi * (np.arange(_BINS) + 0.5) / _BINS
    columns = [np.ones(_BINS)]
    for k in range(1, _HARMONICS + 1):
        columns += [np.cos(k * angle), np.sin(k * angle)]
    waves = np.column_stack(columns)
    weights, _ = _fit(waves, in_bins, counts)
    return Rhythm(logistic(waves @ weights), phases, waves, counts, in_bins)


def step_evidence(rhythm: Rhythm, hits: Numbers, effect: float) -> Numbers:
    """Return, for each position, how many times as likely a step there beside the rhythm is as the rhythm alone (natural log).

    With U the sum of hits - expected after the position, and V its variance when the rhythm's coefficients are fitted too:
    ``U^2 / (V + 1 / s^2) / 2 - ln(1 + s^2 V) / 2``, where s is the prior's standard deviation of the step in
    log-odds. Source: the approximate Bayes factor of Wakefield 2009, with the score statistic (Rao 1948).
    """
    left = np.cumsum(hits - rhythm.expected)[:-1]
    unit_of_phase = rhythm.rates * (1 - rhythm.rates)
    # U and V are equal up to the sign for both sides, because the constant is fitted
    in_phase = rhythm.waves * unit_of_phase[:, None]
    # few times of day do not tell all coefficients apart: the others have no variance
    information, axes = np.linalg.eigh((rhythm.counts[:, None] * in_phase).T @ rhythm.waves)
    told_apart = information > 1e-12 * information[-1]
    whitener = axes[:, told_apart] / np.sqrt(information[told_apart])
    shared = np.cumsum((in_phase @ whitener)[rhythm.phases], axis=0)[:-1]
    variance = np.cumsum(unit_of_phase[rhythm.phases])[:-1] - np.einsum("ij,ij->i", shared, shared)
    variance = np.maximum(variance, 0.0) / effect
    score = left / effect
    prior = _STEP_SD**2
    return np.asarray(0.5 * score**2 / (variance + 1 / prior) - 0.5 * np.log1p(prior * variance), dtype=float)


def _fit(waves: Numbers, hits: Numbers, counts: Numbers) -> tuple[Numbers, Numbers]:
    rate = float(hits.sum() / counts.sum())
    start = np.zeros(waves.shape[1])
    start[0] = math.log(rate / (1 - rate))
    return fit_logistic(waves, hits, counts, start, np.where(np.arange(len(start)) == 0, 0.0, _SD**-2))
