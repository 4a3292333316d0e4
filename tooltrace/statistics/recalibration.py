"""Smooth calibration error and recalibration curves.

All functions accept confidences from 0 to 1 and, for each, whether the result was right: a labelled outcome, never "it
did not raise".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tooltrace.errors import BadParameter

Numbers = NDArray[np.float64]
"""An array of doubles with one dimension."""

Values = Sequence[float] | Sequence[bool] | Any
"""Numbers as a list, a column of a frame or an array."""

_CELLS = 4096
"""Number of grid cells on which residuals are smoothed.

The reflection at 0 and 1 is accurate if the bandwidth spans a few cells or more.
"""
_NEAREST = 1e-6
"""Distance from 0 and 1 to which confidences are clipped: the logarithm of 0 is infinite."""


@dataclass(frozen=True, slots=True)
class Curve:
    """A recalibration curve for confidences: logit = a ln(p) - b ln(1 - p) + c.

    With a = b it is Platt scaling, a straight line between logits. Confidences of 0 and 1 count as 1e-6 and 1 - 1e-6.
    """

    a: float
    b: float
    c: float

    def __call__(self, confidences: Values) -> Numbers:
        """Return the recalibrated confidences, in the same order."""
        up, down = _logs(_numbers(confidences, "confidences"))
        return np.asarray(_logistic(self.a * up - self.b * down + self.c), dtype=float)


Fit = Callable[[Values, Values], Curve]
"""``platt``, ``beta`` or another function that fits a curve to confidences and outcomes."""


def smooth_ece(confidences: Values, right: Values) -> float:
    """Return the smooth calibration error, 0 to 1: the distance of confidence from accuracy, without bins.

    Without bins, the figure does not depend on the choice of bin edges. A Gaussian that is reflected at 0 and 1 smooths
    the residuals; the bandwidth is the one that equals the remaining error. Raises BadParameter for empty data or lists
    of different length. Source: Blasiok and Nakkiran, Smooth ECE, ICLR 2024.
    """
    residuals = _on_grid(*_pairs(confidences, right))
    # Bisection: the remaining error falls as the bandwidth grows, so exactly one bandwidth equals its error.
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        if _remaining_error(residuals, middle) > middle:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def platt(confidences: Values, right: Values) -> Curve:
    """Fit a line between the logits (Platt scaling), for up to about 1000 outcomes; a fit exists for any data.

    Targets are pulled slightly inwards from 0 and 1, as Platt proposed, so that a few outcomes that are all right do
    not yield certainty. Raises BadParameter for empty data or lists of different length. Source: Platt 1999; Lin, Lin
    and Weng 2007.
    """
    p, y = _pairs(confidences, right)
    hits = float(y.sum())
    targets = np.where(y > 0, (hits + 1) / (hits + 2), 1 / (len(y) - hits + 2))
    up, down = _logs(p)
    slope, constant = _regress(np.column_stack([up - down, np.ones(len(p))]), targets)
    return Curve(slope, slope, constant)


def beta(confidences: Values, right: Values) -> Curve:
    """Fit a monotone curve that can bend at either end, by maximum likelihood.

    Raises BadParameter for empty data or lists of different length, and where one confidence separates all right from
    all wrong outcomes, because no curve is then the best: use ``platt``. Source: Kull, Silva Filho and Flach 2017.
    """
    p, y = _pairs(confidences, right)
    if not _overlap(p, y):
        raise BadParameter(
            "right: one confidence separates all right from all wrong outcomes, so that no beta curve is the best: use platt"
        )
    up, down = _logs(p)
    columns = [up, -down]
    a, b, c = _regress(np.column_stack([*columns, np.ones(len(p))]), y)
    # A negative coefficient would make the curve fall: fit again without that column.
    if a < 0 or b < 0:
        kept_column = 1 if a < 0 else 0
        slope, c = _regress(np.column_stack([columns[kept_column], np.ones(len(p))]), y)
        a, b = (max(slope, 0.0), 0.0) if kept_column == 0 else (0.0, max(slope, 0.0))
    return Curve(a, b, c)


def out_of_fold(fit: Fit, confidences: Values, right: Values, *, folds: int = 10, seed: int = 0) -> Numbers:
    """Recalibrate each confidence with a curve fitted without its own outcome: the value of ``fit`` on new calls.

    ``seed`` determines how the calls are divided into ``folds`` parts. Raises BadParameter for fewer calls than folds,
    and as ``fit`` does.
    """
    p, y = _pairs(confidences, right)
    if not 2 <= folds <= len(p):
        raise BadParameter(f"folds must be from 2 to the number of calls ({len(p)}); got {folds!r}")
    part = np.random.default_rng(seed).permutation(len(p)) % folds
    better = np.empty(len(p))
    for fold in range(folds):
        better[part == fold] = fit(p[part != fold], y[part != fold])(p[part == fold])
    return better


def _numbers(data: Values, name: str) -> Numbers:
    values = np.asarray(data, dtype=float)
    if values.ndim != 1 or not bool(np.all((values >= 0) & (values <= 1))):
        raise BadParameter(f"{name} must be a flat sequence of numbers from 0 to 1, without unknown values")
    return values


def _pairs(confidences: Values, right: Values) -> tuple[Numbers, Numbers]:
    p, y = _numbers(confidences, "confidences"), _numbers(right, "right")
    if len(p) != len(y) or not len(p):
        raise BadParameter(
            f"right must have one outcome for each confidence, and at least one; got {len(y)} for {len(p)}"
        )
    return p, y


def _logs(p: Numbers) -> tuple[Numbers, Numbers]:
    inner = np.clip(p, _NEAREST, 1 - _NEAREST)
    return np.log(inner), np.log1p(-inner)


def _logistic(x: Numbers) -> Numbers:
    # The same as 1 / (1 + exp(-x)), without an overflow for large negative x.
    return np.asarray(0.5 * (1 + np.tanh(x / 2)), dtype=float)


def _on_grid(p: Numbers, y: Numbers) -> Numbers:
    # A residual is divided between the two cells around it, so that the grid does not shift it.
    place = np.clip(p * _CELLS - 0.5, 0, _CELLS - 1)
    cell = np.minimum(place.astype(int), _CELLS - 2)
    share = place - cell
    below = np.bincount(cell, (y - p) * (1 - share), _CELLS)
    above = np.bincount(cell + 1, (y - p) * share, _CELLS)
    return np.asarray((below + above) / len(p), dtype=float)


def _remaining_error(residuals: Numbers, bandwidth: float) -> float:
    """Return the remaining absolute residual after smoothing by a reflected Gaussian.

    The smoothing is heat diffusion on a rod with insulated ends: mirroring the residuals makes the Fourier transform a
    cosine transform.
    """
    waves = np.fft.rfft(np.concatenate([residuals, residuals[::-1]]))
    waves *= np.exp(-0.5 * (np.pi * bandwidth * np.arange(len(waves))) ** 2)
    return float(np.abs(np.fft.irfft(waves, 2 * _CELLS)[:_CELLS]).sum())


def _overlap(p: Numbers, y: Numbers) -> bool:
    hits, misses = p[y >= 0.5], p[y < 0.5]
    return bool(len(hits) and len(misses) and hits.min() < misses.max() and misses.min() < hits.max())


def _regress(rows: Numbers, targets: Numbers) -> list[float]:
    """Fit a logistic regression by Newton's method; halve a step that does not lower the loss."""
    weights = np.zeros(rows.shape[1])
    loss = _loss(rows, targets, weights)
    for _ in range(200):
        chance = _logistic(rows @ weights)
        slope = rows.T @ (targets - chance)
        curvature = (rows * (chance * (1 - chance))[:, None]).T @ rows
        # The pseudo-inverse also exists where all confidences are equal.
        step = np.linalg.pinv(curvature) @ slope
        while (after := _loss(rows, targets, weights + step)) > loss and np.abs(step).max() > 1e-12:
            step = step / 2
        weights = weights + step
        if np.abs(step).max() <= 1e-12 or loss - after <= 1e-15 * abs(loss):
            break
        loss = after
    return [float(weight) for weight in weights]


def _loss(rows: Numbers, targets: Numbers, weights: Numbers) -> float:
    score = rows @ weights
    return float(np.sum(np.logaddexp(0, score) - targets * score))
