"""Intervals of percentiles, from percentiles on a grid: a query gathers a list of them in one pass. Plain Python, no numpy."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from typing import Final

from tooltrace.statistics.shares import joint_z

GRID: Final = (
    *(step / 20 for step in range(19)),
    *(step / 100 for step in range(91, 99)),
    *(step / 1000 for step in range(990, 1001)),
)
"""The shares of 38 percentiles: dense where the upper ones are asked for. 0 is the shortest, 1 the longest."""
_LARGE: Final = 500
"""Items above which the binomial distribution is close to the normal one."""
_TAIL: Final = 0.025
"""The probability with which an end of a 95 % interval may be on the wrong side."""


def percentile(p: float, grid: Sequence[float]) -> float:
    """Return the percentile of share ``p``, 0 to 1, from ``grid``: the percentiles of the shares GRID, linear between them."""
    at = bisect_left(GRID, p)
    if at == 0 or GRID[at] == p:
        return grid[at]
    if math.isinf(grid[at]):
        return math.inf
    share = (p - GRID[at - 1]) / (GRID[at] - GRID[at - 1])
    return grid[at - 1] + share * (grid[at] - grid[at - 1])


def percentile_limits(
    p: float, grid: Sequence[float] | None, effective: float, comparisons: int = 1
) -> tuple[float | None, float | None]:
    """Return the 95 % interval of the percentile of share ``p`` over items as good as ``effective`` independent ones.

    ``grid``: the percentiles of the shares GRID; None where there are no items. The ends are order statistics: the number of items
    below the true percentile is binomial (Woodruff 1952, with the design effect). An end is None where even the longest or the
    shortest item does not bound it: p95 has an upper limit from 72 independent items on, p50 from 6. ``comparisons``: the interval is
    one of several (Bonferroni).
    """
    n = math.floor(effective)
    if grid is None or n < 2:
        return None, None
    below, above = _most_below(n, p, comparisons), n - _most_below(n, 1 - p, comparisons)
    # of ranks from 1: the item of rank r has the share (r - 1) / (n - 1) of the others below it
    low = percentile((below - 1) / (n - 1), grid) if below >= 1 else None
    high = percentile(above / (n - 1), grid) if above < n else None
    # infinite where cut-off items leave it open
    return low, None if high is None or math.isinf(high) else high


def _most_below(n: int, p: float, comparisons: int) -> int:
    """Return the largest r such that fewer than r of ``n`` items are below the percentile with at most 2.5 %."""
    if n > _LARGE:
        return math.floor(n * p - joint_z(comparisons) * math.sqrt(n * p * (1 - p)))
    total, r = 0.0, 0
    while r <= n and (total := total + _binomial(r, n, p)) <= _TAIL / max(comparisons, 1):
        r += 1
    return r


def _binomial(k: int, n: int, p: float) -> float:
    """Return the probability of ``k`` of ``n``, each with ``p``."""
    choices = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    return math.exp(choices + k * math.log(p) + (n - k) * math.log1p(-p))


def with_censored(
    grid: Sequence[float] | None, n: int, censored: Sequence[float], n_censored: int
) -> tuple[float, ...]:
    """Return the percentiles of the shares GRID of ``n`` durations of ``grid`` and ``n_censored`` ones that took at least ``censored``.

    By the product-limit estimate of Kaplan and Meier (1958): an item whose end was not seen takes its share to the durations beyond it. A
    percentile that none of these reaches is infinite. Both grids have the percentiles of the shares GRID; the estimate is of up to
    ``_STEPS`` equal parts of each.
    """
    ends = [(time, 0, weight) for time, weight in _parts(grid, n)]  # at equal times the ends come first
    stops = [(time, 1, weight) for time, weight in _parts(censored, n_censored)]
    left, survival = float(n + n_censored), 1.0
    steps: list[tuple[float, float]] = []
    for time, is_stop, weight in sorted(ends + stops):
        if not is_stop:
            survival *= max(1 - weight / left, 0.0)
            steps.append((1 - survival, time))
        left = max(left - weight, 1e-9)
    shares = [share for share, _ in steps]
    found = (bisect_left(shares, share - 1e-9) for share in GRID)
    return tuple(steps[at][1] if at < len(steps) else math.inf for at in found)


_STEPS: Final = 1000


def _parts(grid: Sequence[float] | None, n: int) -> list[tuple[float, float]]:
    """Return up to ``_STEPS`` durations of the percentiles ``grid`` with the number of items that each stands for."""
    if grid is None or not n:
        return []
    parts = min(n, _STEPS)
    return [(percentile(at / (parts - 1) if parts > 1 else 1.0, grid), n / parts) for at in range(parts)]
