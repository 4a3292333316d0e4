"""Logistic regression on counts, by Newton's method with shortened steps."""

from __future__ import annotations

import math

import numpy as np

from tooltrace.statistics.arrays import Numbers


def logistic(x: Numbers) -> Numbers:
    """Return ``1 / (1 + exp(-x))``, without an overflow for large negative x."""
    return np.asarray(0.5 * (1 + np.tanh(x / 2)), dtype=float)


def fit_logistic(
    columns: Numbers, hits: Numbers, counts: Numbers, start: Numbers, penalty: Numbers | float = 0.0
) -> tuple[Numbers, Numbers]:
    """Return the coefficients and the curvature of the penalised log-likelihood at its maximum.

    ``columns``: one row for each element of ``hits``, of ``counts`` items. ``penalty``: of half the square of each
    coefficient. A step that moves a log-odds by m > 1.7 is shortened to ln(1 + m) / m of it, which converges (Bach 2010).
    """
    weights = np.asarray(start, dtype=float)
    curvature = np.diag(np.broadcast_to(np.asarray(penalty, dtype=float), weights.shape))
    for _ in range(100):
        chance = logistic(columns @ weights)
        slope = columns.T @ (hits - counts * chance) - penalty * weights
        ridge = np.diag(np.broadcast_to(np.asarray(penalty, dtype=float), weights.shape))
        curvature = (columns * (counts * chance * (1 - chance))[:, None]).T @ columns + ridge
        step = np.linalg.pinv(curvature) @ slope
        largest = float(np.abs(columns @ step).max())
        weights = weights + step * (1.0 if largest < 1.7 else math.log1p(largest) / largest)
        if largest < 1e-9:
            break
    return weights, curvature
