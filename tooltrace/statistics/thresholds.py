"""The lowest confidence from which on results are right often enough, with 95 % certainty."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from tooltrace.statistics.arrays import Counts, Flags, Numbers, sums_by
from tooltrace.statistics.binomial import beta_cdf, excess, lower_bound
from tooltrace.statistics.calibration import LEVELS
from tooltrace.statistics.shares import ClusterSums

ALPHA = 0.05
_Z = 1.6448536269514722
"""Quantile of 1 - ALPHA; where the approximation is close to it, the exact probability decides."""
MIN_COVERED = 0.05
"""Share of the results that a threshold must keep to be tested."""


@dataclass(frozen=True, slots=True)
class Threshold:
    """The lowest confidence that passed the test for one requested precision."""

    asked: float
    threshold: float | None
    """None where no threshold passes."""
    n: int = 0
    """Results with this confidence or more."""
    precision: float = math.nan
    bound: float = math.nan
    """One-sided 95 % lower limit of the precision."""
    kept: Flags | None = None
    """For each element, whether its confidence is high enough."""


def find_thresholds(
    confidences: Numbers,
    right: Numbers,
    asked: Iterable[float],
    clusters: Counts | None = None,
    counts: Numbers | None = None,
    *,
    min_n: int = 20,
) -> list[Threshold]:
    """Return for each requested precision the lowest threshold of confidence that has it, with 95 % certainty.

    Thresholds are tested from high to low, each by the one-sided exact test of the binomial with the independent results that
    those above it are as precise as. The first that fails ends the search: the order is fixed in advance, so the
    chance that a threshold with a lower precision is returned is at most 5 %, however many are tested. Some are skipped
    whatever their outcomes: those that keep fewer than ``min_n`` results or a twentieth of all, and those that even a perfect record would
    not pass.

    ``right``, ``counts``, ``clusters``: as in :mod:`tooltrace.statistics.calibration`. Source: fixed-sequence testing as in Learn then Test
    (Angelopoulos et al. 2021); Clopper and Pearson 1934; effective number of results: Korn and Graubard 1998.
    """
    p = np.asarray(confidences, dtype=float)
    items = np.ones(len(p)) if counts is None else np.asarray(counts, dtype=float)
    hits = np.asarray(right, dtype=float)
    clusters = np.arange(len(p)) if clusters is None else clusters
    if len(np.unique(p)) > LEVELS:
        p = np.floor(p * 10_000) / 10_000
    levels, number = np.unique(-p, return_inverse=True)
    sums = _running(number, len(levels), clusters, items, hits)
    n, s, nn = sums["n"], sums["s"], sums["nn"]
    found = []
    for pi in sorted(set(asked)):
        enough = (n >= min_n) & (n >= MIN_COVERED * float(items.sum())) & (n * n / nn * math.log(pi) <= math.log(ALPHA))
        tested = np.flatnonzero(enough & (pi < 1))
        passed, k, effective = _passed(tested, sums, pi)
        if not passed:
            found.append(Threshold(pi, None))
            continue
        i = int(tested[passed - 1])
        bound = lower_bound(k, effective)
        found.append(Threshold(pi, float(-levels[i]), round(n[i]), float(s[i] / n[i]), bound, number <= i))
    return found


_BLOCK = 64
"""Levels that are tested at once: most searches end early."""


def _passed(tested: Counts, sums: dict[str, Numbers], pi: float) -> tuple[int, float, float]:
    """Return how many of the levels ``tested`` pass in a row, and the independent hits and results of the last of them."""
    passed, last = 0, (0.0, 0.0)
    for start in range(0, len(tested), _BLOCK):
        block = [ClusterSums(*(sums[key][i] for key in ClusterSums._fields)) for i in tested[start : start + _BLOCK]]
        trials = np.array([level.effective_n for level in block])
        hits = np.array(
            [level.s / level.n * m if m < level.n else level.s for level, m in zip(block, trials, strict=True)]
        )
        z = excess(hits, trials, pi)
        failed = z < _Z
        for i in np.flatnonzero(np.abs(z - _Z) < 0.02 / (1 + np.minimum(trials - hits, 40))):
            failed[i] = beta_cdf(pi, hits[i], trials[i] - hits[i] + 1) > ALPHA
        good = int(np.argmax(failed)) if failed.any() else len(block)
        passed, last = passed + good, (float(hits[good - 1]), float(trials[good - 1])) if good else last
        if good < len(block):
            break
    return passed, *last


def _running(level: Counts, size: int, clusters: Counts, items: Numbers, hits: Numbers) -> dict[str, Numbers]:
    """Return the sums over clusters of the elements up to each level, which ``ClusterSums`` has."""
    # one element for each cluster and level, in their order
    cells, cell = np.unique(clusters.astype(np.int64) * max(size, 1) + level, return_inverse=True)
    of_cluster, of_level = cells // max(size, 1), cells % max(size, 1)
    n, s = sums_by(cell, items, len(cells)), sums_by(cell, hits, len(cells))
    is_first = np.diff(of_cluster, prepend=-1) != 0
    start = np.maximum.accumulate(np.where(is_first, np.arange(len(cells)), 0))
    n_to, s_to = ((total := np.cumsum(x)) - (total - x)[start] for x in (n, s))
    parts = {
        "clusters": is_first.astype(float),
        "n": n,
        "s": s,
        "ss": s * (2 * s_to - s),
        "sn": s_to * n_to - (s_to - s) * (n_to - n),
        "nn": n * (2 * n_to - n),
    }
    return {name: np.cumsum(sums_by(of_level, values, size)) for name, values in parts.items()}
