"""Kinds of clustered items whose true share is known, as arrays: a row is a history, a column a cluster."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import signal

Numbers = NDArray[np.float64]


class Clustered(NamedTuple):
    """The items of each cluster, those that count, and the true share, of each history where it differs."""

    items: Numbers
    counted: Numbers
    truth: Numbers | float


def again_after_failure(random: np.random.Generator, histories: int, conversations: int, rate: float) -> Clustered:
    """One call, and a second one only where the first failed, which fails in half of the cases."""
    first = random.random((histories, conversations)) < rate
    second = first & (random.random(first.shape) < 0.5)
    return Clustered(1.0 + first, 1.0 * first + second, 1.5 * rate / (1 + rate))


def alike(random: np.random.Generator, items: Numbers, rate: float, icc: float) -> Clustered:
    """Conversations of these ``items``, each with a probability of its own from a beta distribution."""
    chances = _chances(random, np.full(items.shape, rate), icc)
    return Clustered(items, random.binomial(items.astype(int), chances).astype(float), rate)


def single(random: np.random.Generator, histories: int, calls: int, rate: float) -> Clustered:
    """Independent calls."""
    return alike(random, np.ones((histories, calls)), rate, 0.0)


def pareto(random: np.random.Generator, histories: int, conversations: int) -> Clustered:
    """Many short conversations, and few of up to 100 calls."""
    sizes = np.ceil(random.pareto(1.5, (histories, conversations)) + 1e-9)
    return alike(random, np.minimum(sizes, 100), 0.2, 0.2)


def mixed(random: np.random.Generator, histories: int, *sizes: tuple[int, int], rate: float, icc: float) -> Clustered:
    """Conversations of several sizes, each with how many."""
    items = np.concatenate([np.full((histories, many), float(size)) for many, size in sizes], axis=1)
    return alike(random, items, rate, icc)


def drifting(random: np.random.Generator, histories: int, conversations: int, size: int) -> Clustered:
    """A service whose rate drifts from conversation to conversation; the truth is its mean in the window."""
    state = random.standard_normal((histories, conversations))
    state[:, 1:] *= np.sqrt(1 - 0.95**2)
    rate = np.minimum(0.2 * np.exp(0.3 * signal.lfilter([1.0], [1.0, -0.95], state, axis=1)), 0.6)
    counted = random.binomial(size, _chances(random, rate, 0.2)).astype(float)
    return Clustered(np.full(counted.shape, float(size)), counted, rate.mean(axis=1))


def repeated(random: np.random.Generator, histories: int, conversations: int, calls: int) -> Clustered:
    """Calls of up to three attempts, each made where the one before failed."""
    rate, icc = 0.2, 0.1
    chances = _chances(random, np.full((histories, conversations), rate), icc)[..., None, None]
    failed = random.random((histories, conversations, calls, 3)) < chances
    made = np.concatenate([np.ones_like(failed[..., :1]), np.logical_and.accumulate(failed, axis=-1)[..., :2]], axis=-1)
    # moments of the beta distribution: attempt k + 1 is made with the mean of chance ** k
    strength = (1 - icc) / icc
    means = np.cumprod([1.0, *((rate * strength + k) / (strength + k) for k in range(3))])
    return Clustered(
        made.sum(axis=(2, 3)).astype(float), (made & failed).sum(axis=(2, 3)).astype(float), means[1:].sum() / means[:3].sum()
    )  # fmt: skip


def _chances(random: np.random.Generator, rate: Numbers, icc: float) -> Numbers:
    strength = (1 - icc) / icc if icc else None
    return rate if strength is None else random.beta(rate * strength, (1 - rate) * strength)
