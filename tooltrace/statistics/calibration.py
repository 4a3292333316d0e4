"""Calibration of confidences: whether 0.8 means right eight times in ten.

Confidences are from 0 to 1; ``right`` says for each whether the result was right: a labelled outcome. Results may be given
as counts: then ``right`` are of ``counts`` results of equal confidence. ``clusters`` has a number from 0 for each element, equal
for those of one conversation. ``weights`` (1 by default) are those of labelled results in place of all results: 1 / the
share labelled among such results.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tooltrace.statistics.arrays import Counts, Numbers, sums_by
from tooltrace.statistics.logistic import fit_logistic
from tooltrace.statistics.means import gap_limits
from tooltrace.statistics.shares import Z_95, ClusterSums

BINS: Final = 10
"""Bins of equal width; 0.1 belongs to the second."""
LEVELS: Final = 10_000
"""Different confidences above which isotonic regression rounds them to four decimals."""
_DRAWS: Final = 1000
_RESAMPLES: Final = 200
_PARTS: Final = 200
"""Parts that more clusters are combined into for the bootstrap."""


class Gap(NamedTuple):
    """Mean confidence minus accuracy of the same results, and the intervals of both."""

    mean: float
    share: float
    share_low: float
    share_high: float
    low: float | None
    """Lower limit of mean - share; None for one cluster."""
    high: float | None
    effective: float
    """Independent results that the share is as precise as."""
    clusters: int

    @property
    def value(self) -> float:
        """Mean - share."""
        return self.mean - self.share


@dataclass(frozen=True, slots=True)
class Calibration:
    """How well confidences match accuracy, and how well they tell right from wrong results."""

    n: int
    gap: Gap
    design_effect: float
    ece: float
    ece_low: float | None
    ece_high: float | None
    ece_mass: float
    ece_null_mean: float
    ece_null_p95: float
    debiased_ece2: float
    """May be negative."""
    mce: float
    brier: float
    mcb: float
    dsc: float
    unc: float
    log_loss: float
    auroc: float | None
    aurc: float
    cox: tuple[float, float, float] | None
    """Intercept, slope and likelihood ratio statistic; None where the model has no maximum."""
    spiegelhalter_z: float | None

    @property
    def miscalibrated(self) -> bool:
        """Whether the ece is above the 95th percentile of that of a calibrated tool: the one rule for "calibrated"."""
        return self.ece > self.ece_null_p95 + 1e-12

    @property
    def cox_p(self) -> float | None:
        """P value of intercept 0 and slope 1: chi square with 2 degrees of freedom, divided by the design effect."""
        return None if self.cox is None else math.exp(-self.cox[2] / 2 / self.design_effect)


def bin_of(confidences: Numbers) -> Counts:
    """Return the bin of each confidence; edges are compared as integers in units of 1e-9."""
    return np.minimum(np.floor(np.round(confidences * 1e9) * BINS / 1e9), BINS - 1).astype(np.int64)


def measure_calibration(
    confidences: Numbers,
    right: Numbers,
    clusters: Counts | None = None,
    counts: Numbers | None = None,
    weights: Numbers | None = None,
    *,
    seed: int = 0,
) -> Calibration:
    """Return the measures of calibration and discrimination of one or more results.

    ece and mce: Naeini 2015, ten bins of equal width; its bias: Bröcker 2012, Kumar 2019 (a bin of one result counts 0); mcb, dsc, unc:
    CORP (Dimitriadis, Gneiting and Jordan 2021); Cox 1958; Spiegelhalter 1986; aurc: Geifman 2019, expected over ties. The
    null of ece: 1000 binomial draws of each bin, times the root of the design effect; its interval: 200 Poisson resamples of clusters.
    """
    p = np.asarray(confidences, dtype=float)
    items = np.ones(len(p)) if counts is None else np.asarray(counts, dtype=float)
    clusters = np.arange(len(p)) if clusters is None else clusters
    scale = np.ones(len(p)) if weights is None else weights * (items.sum() / float(np.sum(items * weights)))
    n, s = items * scale, np.asarray(right, dtype=float) * scale
    measured = gap(clusters, n * p, s, n, weighted=weights is not None)
    total = float(n.sum())
    effect = total / measured.effective
    level, of_level = np.unique(p, return_inverse=True)
    level_n, level_s = sums_by(of_level, n), sums_by(of_level, s)
    bins = bin_of(p)
    bin_n, bin_s, bin_p = (sums_by(bins, x, BINS) for x in (n, s, n * p))
    ece = float(np.abs(bin_s - bin_p).sum()) / total
    null = _null_ece(sums_by(bins, items, BINS), bin_n, bin_p, np.random.default_rng(seed)) * math.sqrt(effect)
    p95 = float(np.quantile(null, 0.95, method="inverted_cdf"))
    full = bin_n > 1
    noise = bin_s[full] * (bin_n[full] - bin_s[full]) / (bin_n[full] * (bin_n[full] - 1))
    low, high = _bootstrapped(clusters, bins, n, n * p - s, ece, np.random.default_rng(seed + 1))
    refitted = float(np.sum(_isotonic_term(level, level_n, level_s))) / total
    accuracy = measured.share
    brier = float(np.sum(level_s * (1 - level) ** 2 + (level_n - level_s) * level**2)) / total
    return Calibration(
        n=round(float(items.sum())),
        gap=measured,
        design_effect=effect,
        ece=ece,
        ece_low=None if low is None else low if ece > p95 + 1e-12 else 0.0,
        ece_high=high,
        ece_mass=_mass_ece(level, level_n, level_s),
        ece_null_mean=float(null.mean()),
        ece_null_p95=p95,
        debiased_ece2=float(np.sum((bin_s - bin_p)[full] ** 2 / bin_n[full] - noise)) / total,
        mce=float(np.max(np.abs(bin_s - bin_p)[bin_n > 0] / bin_n[bin_n > 0])),
        brier=brier,
        mcb=brier - refitted,
        dsc=accuracy * (1 - accuracy) - refitted,
        unc=accuracy * (1 - accuracy),
        log_loss=_log_loss(level, level_n, level_s),
        auroc=_auroc(level_n, level_s),
        aurc=_aurc(sums_by(of_level, items), sums_by(of_level, np.asarray(right, dtype=float))),
        cox=_cox(level, level_n, level_s),
        spiegelhalter_z=_spiegelhalter(level, level_n, level_s),
    )


def gap(clusters: Counts, values: Numbers, right: Numbers, items: Numbers, *, weighted: bool = False) -> Gap:
    """Return the mean of ``values`` minus the share right, with an interval that counts clusters.

    ``values``, ``right``, ``items``: sums of each element: of confidences, right results and results. ``weighted``: the
    items have weights, so that a cluster of one item is not one independent item. Source: MOVER (Zou 2007).
    """
    n, s, m = sums_by(clusters, items), sums_by(clusters, right), sums_by(clusters, values)
    n, s, m = n[n > 0], s[n > 0], m[n > 0]
    total = float(n.sum())
    sums = ClusterSums(0 if weighted else len(n), total, *(float(np.sum(x)) for x in (s, s * s, s * n, n * n)))
    share = sums.proportion()
    of_m, of_mm, of_mn, of_ms = (float(np.sum(x)) for x in (m, m * m, m * n, m * s))
    # clusters 0: Student's t for the mean also where each item is a cluster
    low, high = gap_limits(share, sums._replace(clusters=0), of_m, of_mm, of_mn, of_ms)
    return Gap(float(m.sum()) / total, sums.s / total, share.low, share.high, low, high, sums.effective_n, len(n))


def isotonic(levels: Numbers, n: Numbers, s: Numbers) -> NDArray[np.int64]:
    """Return the block of each level, where s / n of the blocks rises: the isotonic regression of accuracy.

    ``levels``: ascending, without equal ones. Source: pool adjacent violators (Ayer et al. 1955).
    """
    first: list[int] = []
    sums: list[tuple[float, float]] = []
    for i, block in enumerate(zip(n.tolist(), s.tolist(), strict=True)):
        first.append(i)
        sums.append(block)
        while len(sums) > 1 and sums[-2][1] * sums[-1][0] >= sums[-1][1] * sums[-2][0]:
            (count, hits), (earlier, of_earlier) = sums.pop(), sums.pop()
            sums.append((count + earlier, hits + of_earlier))
            first.pop()
    starts = np.zeros(len(levels), dtype=np.int64)
    starts[first] = 1
    return np.cumsum(starts) - 1


def _isotonic_term(levels: Numbers, n: Numbers, s: Numbers) -> Numbers:
    """Return n times the variance of outcomes in each block of the isotonic regression."""
    if len(levels) > LEVELS:
        _, rounded = np.unique(np.round(levels, 4), return_inverse=True)
        n, s = sums_by(rounded, n), sums_by(rounded, s)
        levels = np.arange(len(n), dtype=float)
    block = isotonic(levels, n, s)
    block_n, block_s = sums_by(block, n), sums_by(block, s)
    return block_s - block_s * block_s / block_n


def _null_ece(items: Numbers, n: Numbers, sp: Numbers, rng: np.random.Generator) -> Numbers:
    """Return draws of the ece of a calibrated tool with these bins; ``n``, ``sp``: weighted items and confidence."""
    used = n > 0
    mean = np.clip(sp[used] / n[used], 0.0, 1.0)
    draws = rng.binomial(np.round(items[used]).astype(np.int64), mean, (_DRAWS, int(used.sum())))
    return np.asarray(np.abs(draws / items[used] * n[used] - sp[used]).sum(axis=1) / n.sum(), dtype=float)


def _bootstrapped(
    clusters: Counts, bins: Counts, n: Numbers, d: Numbers, ece: float, rng: np.random.Generator
) -> tuple[float | None, float | None]:
    """Return the 95 % limits of the ece; None for one cluster. ``d``: confidence - accuracy of each element, times n.

    The numbers of the clusters do not matter: the draws are of clusters in the order of what they hold.
    """
    units = np.unique(clusters, return_inverse=True)[1]
    count = int(units.max()) + 1
    if count < 2:
        return None, None
    parts = min(count, _PARTS)
    of_n, of_d = rng.random((2, BINS))
    place = np.empty(count, dtype=np.int64)
    # a random order of the sorted ones, because parts of neighbours would all hold the same
    place[np.argsort(sums_by(units, n * of_n[bins] + d * of_d[bins]))] = rng.permutation(count)
    cells = (place[units] % parts) * BINS + bins
    part_n, part_d = (sums_by(cells, x, parts * BINS).reshape(parts, BINS) for x in (n, d))
    drawn = rng.poisson(1.0, (_RESAMPLES, parts)).astype(float)
    sizes = (drawn @ part_n).sum(axis=1)
    draws = np.abs(drawn @ part_d).sum(axis=1)[sizes > 0] / sizes[sizes > 0]
    spread = float(draws.std(ddof=1))
    if spread <= 1e-9:
        return None, None
    low = max(0.0, min(ece, 2 * ece - float(draws.mean())) - Z_95 * spread)
    return low, min(1.0, ece + Z_95 * spread)


def _mass_ece(levels: Numbers, n: Numbers, s: Numbers) -> float:
    """Return the ece over ten bins of equal size; equal confidences go into the bin of their middle."""
    to, total = np.cumsum(n), float(n.sum())
    bins = np.minimum(np.floor((2 * to - n) * BINS / (2 * total)), BINS - 1).astype(np.int64)
    return float(np.abs(sums_by(bins, s - n * levels)).sum()) / total


def _log_loss(levels: Numbers, n: Numbers, s: Numbers) -> float:
    right, wrong = np.log(np.maximum(levels, 1e-15)), np.log(1 - np.minimum(levels, 1 - 1e-15))
    return float(-np.sum(s * right + (n - s) * wrong)) / float(n.sum())


def _auroc(n: Numbers, s: Numbers) -> float | None:
    wrong = n - s
    pairs = float(s.sum()) * float(wrong.sum())
    return float(np.sum(s * (np.cumsum(wrong) - wrong / 2))) / pairs if pairs else None


def _aurc(n: Numbers, s: Numbers) -> float:
    """Return the mean over k of the share wrong among the k most confident; ties are averaged over their orders."""
    n, s = n[::-1], s[::-1]
    after = np.cumsum(n)
    before, wrong_before = after - n, np.cumsum(n - s) - (n - s)
    harmonic = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, round(float(after[-1])) + 1))])
    steps = harmonic[np.round(after).astype(np.int64)] - harmonic[np.round(before).astype(np.int64)]
    return float(np.sum((wrong_before - before * (n - s) / n) * steps + n - s)) / float(after[-1])


def _cox(levels: Numbers, n: Numbers, s: Numbers) -> tuple[float, float, float] | None:
    """Fit logit(right) = a + b logit(confidence); return a, b and twice the gain over a = 0, b = 1."""
    inner = np.clip(levels, 1e-6, 1 - 1e-6)
    x = np.log(inner / (1 - inner))
    right, wrong = x[s > 0], x[s < n]
    if not len(right) or not len(wrong) or wrong.max() <= right.min() or right.max() <= wrong.min():
        return None
    columns = np.column_stack([np.ones(len(x)), x])
    weights, _ = fit_logistic(columns, s, n, np.array([0.0, 1.0]))
    fitted = columns @ weights
    gain = float(np.sum(s * (fitted - x) - n * (np.logaddexp(0, fitted) - np.logaddexp(0, x))))
    return float(weights[0]), float(weights[1]), max(0.0, 2 * gain)


def _spiegelhalter(levels: Numbers, n: Numbers, s: Numbers) -> float | None:
    tilt = 1 - 2 * levels
    variance = float(np.sum(n * tilt * tilt * levels * (1 - levels)))
    return float(np.sum((s - n * levels) * tilt)) / math.sqrt(variance) if variance > 0 else None


def labelling_depends(labelled: Numbers, attempts: Numbers, effect: float = 1.0) -> bool:
    """Return whether the share labelled differs between bands of confidence, at 1 %.

    Chi square of the table labelled x band, divided by ``effect``, by its normal approximation (Wilson and Hilferty 1931).
    """
    used = attempts > 0
    labelled, attempts = labelled[used], attempts[used]
    share, df = float(labelled.sum() / attempts.sum()), len(attempts) - 1
    if df < 1 or not 0 < share < 1:
        return False
    chi_square = float(np.sum((labelled - attempts * share) ** 2 / (attempts * share * (1 - share)))) / effect
    spread = 2 / (9 * df)
    return float((chi_square / df) ** (1 / 3)) > 1 - spread + 2.3263478740408408 * math.sqrt(spread)
