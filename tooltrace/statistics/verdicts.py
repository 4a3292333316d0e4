"""Probabilities by which a rate is shown to be at least, or below, what is wanted, and to differ from another rate."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import NormalDist
from typing import Final

from tooltrace.statistics.binomial import beta_cdf
from tooltrace.statistics.shares import wilson_at

_MAX_Z: Final = 8.0
_STEPS: Final = 60


def p_at_least(k: float, n: float, wanted: float) -> float:
    """Return the probability of ``k`` hits or more of ``n`` where the rate is ``wanted`` or lower; small: the rate is higher.

    ``k`` and ``n`` may be numbers of independent items that clustered ones are worth. Source: Clopper and Pearson 1934.
    """
    return beta_cdf(wanted, k, n - k + 1) if k > 0 else 1.0


def p_below(k: float, n: float, wanted: float) -> float:
    """Return the probability of ``k`` hits or fewer of ``n`` where the rate is ``wanted`` or higher; small: the rate is lower."""
    return 1.0 - beta_cdf(wanted, k + 1, n - k) if k < n else 1.0


def p_difference(k: float, n: float, k_base: float, n_base: float, bound: float, *, above: bool) -> float:
    """Return the probability with which ``k / n - k_base / n_base`` is not above ``bound``, or not below it.

    It is the level at which the limit of the difference reaches ``bound``. Source: Newcombe 1998, method 10, inverted.
    """

    def excludes(z: float) -> bool:
        (low, high), (low_base, high_base) = wilson_at(k, n, z), wilson_at(k_base, n_base, z)
        rate, base = k / n, k_base / n_base
        if above:
            return rate - base - math.hypot(rate - low, high_base - base) > bound
        return rate - base + math.hypot(high - rate, base - low_base) < bound

    return 1.0 - NormalDist().cdf(_last(excludes)) if excludes(0.0) else 1.0


def holm(probabilities: Sequence[float], risk: float) -> list[bool]:
    """Return which of several hypotheses are rejected, so that any is rejected wrongly with a probability of at most ``risk``.

    Source: Holm 1979.
    """
    rejected = [False] * len(probabilities)
    for rank, place in enumerate(sorted(range(len(probabilities)), key=probabilities.__getitem__)):
        if probabilities[place] > risk / (len(probabilities) - rank):
            break
        rejected[place] = True
    return rejected


def _last(holds: Callable[[float], bool]) -> float:
    """Return the largest number up to ``_MAX_Z`` of which ``holds`` is true, where it is of all smaller ones."""
    low, high = 0.0, _MAX_Z
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
