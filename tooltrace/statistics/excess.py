"""Whether a part has more counted items than the others: Fisher's exact test with clustered items. Plain Python, no numpy."""

from __future__ import annotations

import math

from tooltrace.statistics.shares import ClusterSums


def excess_p(part: ClusterSums, others: ClusterSums) -> float:
    """Return the probability of as many counted items in ``part`` if their share were that of all items.

    The correlation within clusters is that of ``others``, because a burst in ``part`` must not hide itself: items and counted items
    of both are divided by it (Rao and Scott 1992). Both must have items.
    """
    if part.s * others.n <= others.s * part.n:
        return 1.0
    effect = others.n / others.effective_n
    correlation = min(1.0, (effect - 1) / (others.nn / others.n - 1)) if others.nn > others.n else 0.0
    own = 1 + (part.nn / part.n - 1) * correlation
    return fisher_upper(part.s / own, part.n / own, others.s / effect, others.n / effect)


def fisher_upper(k_1: float, n_1: float, k_2: float, n_2: float) -> float:
    """Return an upper bound of Fisher's one-sided mid-p that ``k_1 / n_1`` exceeds ``k_2 / n_2``; counts need not be whole.

    Half of the hypergeometric probability of ``k_1``, and a geometric sequence that bounds those of more. 1 where the share is
    not higher, or where the sequence does not fall. Source: Fisher 1935; mid-p: Lancaster 1961.
    """
    ratio = (n_1 - k_1) / (k_1 + 1) * k_2 / (n_2 - k_2 + 1)
    if ratio >= 1 or k_1 * n_2 <= k_2 * n_1:
        return 1.0
    log_p = _log_choose(n_1, k_1) + _log_choose(n_2, k_2) - _log_choose(n_1 + n_2, k_1 + k_2)
    return min(1.0, math.exp(log_p) * (1 / (1 - ratio) - 0.5))


def _log_choose(n: float, k: float) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
