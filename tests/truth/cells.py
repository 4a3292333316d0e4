"""Kinds of histories whose true rates are known: how many conversations, how alike their calls are, what ids exist."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

Numbers = NDArray[np.float64]

APPROVED = 0.7
LABELLED = 0.5
WITH_CONFIDENCE = 0.9
PARTIAL = 0.1
HIDDEN = 0.3
FLAGGED = 0.7
OTHER_CODE = 0.3
SIGNALLED = 0.5
SOURCED = 0.6
WITH_SOURCE_ID = 0.8
RETRIED = 0.8
LEVELS = np.array([0.15, 0.35, 0.55, 0.65, 0.75, 0.85, 0.95])
LEVEL_SHARES = np.array([0.1, 0.1, 0.1, 0.15, 0.15, 0.2, 0.2])
ACCURACY = float(LEVELS @ LEVEL_SHARES)
MEDIAN_MS, SIGMA = 60.0, 0.8

_GRID = (np.arange(20_000) + 0.5) / 20_000
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(101)


@dataclass(frozen=True, slots=True)
class Cell:
    """One kind of history. ``icc``: the intraclass correlation; ``lag``: the correlation of neighbouring calls."""

    family: str
    clusters: int
    size: int
    icc: float = 0.0
    rate: float = 0.3
    model: str = "beta"
    unequal: bool = False
    ids: str = "conversation"
    lag: float = 0.0
    by_day: bool = False
    attempts: int = 1
    gates: bool = False

    @property
    def name(self) -> str:
        """The settings in words, unique among the cells."""
        unit = {"conversation": "conversations", "trace": "traces", "none": "calls without ids"}[self.ids]
        size = f" × {self.size}" if self.ids != "none" else ""
        words = [
            f"{self.clusters if self.ids != 'none' else self.clusters * self.size} {unit}{size}",
            f"rate {self.rate:g}",
        ]
        words += [f"ICC {self.icc:g}"] if self.ids != "none" else []
        words += ["logit-normal"] if self.model == "logit" else []
        words += ["unequal sizes"] if self.unequal else []
        words += [f"lag-1 correlation {self.lag:g}"] if self.lag else []
        words += ["day and night"] if self.by_day else []
        words += [f"up to {self.attempts} attempts"] if self.attempts > 1 else []
        words += ["with gates"] if self.gates else []
        return ", ".join(words)

    @property
    def seed(self) -> int:
        """A number that depends on the settings alone, so that each cell is the same in every run."""
        return crc32(self.name.encode())

    def mean(self, function: Callable[[Numbers], Numbers]) -> float:
        """Return the mean of ``function`` of a conversation's failure probability, over all conversations."""
        return float(np.mean(function(probability(self, self.rate, _GRID))))

    @property
    def attempt_rate(self) -> float:
        """The share of attempts that fail, retries included."""
        if self.attempts == 1:
            return self.rate
        made = [self.mean(lambda p, k=k: (RETRIED * p) ** k) for k in range(self.attempts)]  # type: ignore[misc]
        failed = [self.mean(lambda p, k=k: p * (RETRIED * p) ** k) for k in range(self.attempts)]  # type: ignore[misc]
        return sum(failed) / sum(made)

    @property
    def call_rate(self) -> float:
        """The share of calls whose last attempt fails."""
        if self.attempts == 1:
            return self.rate
        ended = [1 - RETRIED] * (self.attempts - 1) + [1.0]
        return sum(
            self.mean(lambda p, k=k: p * (RETRIED * p) ** k) * stop  # type: ignore[misc]
            for k, stop in enumerate(ended)
        )


def probability(cell: Cell, rate: float, place: Numbers) -> Numbers:
    """Return the probability in a conversation at the quantile ``place``; its mean is ``rate``, its correlation the ICC."""
    if cell.icc == 0 or rate in {0.0, 1.0}:
        return np.full_like(place, rate)
    if cell.model == "beta":
        strength = (1 - cell.icc) / cell.icc
        return np.asarray(special.betaincinv(rate * strength, (1 - rate) * strength, place))
    centre, spread = _logit_normal(rate, cell.icc)
    return np.asarray(special.expit(centre + spread * special.ndtri(place)))


@cache
def _logit_normal(rate: float, icc: float) -> tuple[float, float]:
    """Return mean and standard deviation of the log-odds whose probabilities have this mean and correlation."""
    weights = _WEIGHTS / _WEIGHTS.sum()

    def centre(spread: float) -> float:
        return float(optimize.brentq(lambda a: weights @ special.expit(a + spread * _NODES) - rate, -60, 60))

    def distance(spread: float) -> float:
        chances = special.expit(centre(spread) + spread * _NODES)
        return float(weights @ (chances - rate) ** 2) / (rate * (1 - rate)) - icc

    spread = float(optimize.brentq(distance, 1e-3, 20))
    return centre(spread), spread


def cells() -> Iterator[Cell]:
    """Yield every cell of the full table."""
    for n in (1, 2, 3, 5, 10, 20, 50, 200):
        yield Cell("independent", n, 1, ids="none")
    for rate in (0.0, 0.02, 0.05, 0.9, 1.0):
        yield Cell("independent", 50, 1, rate=rate, ids="none")
    for clusters in (1, 2, 3, 4):
        for icc in (0.2, 0.5):
            yield Cell("few clusters", clusters, 30, icc)
    for clusters in (5, 8, 20, 50):
        for icc in (0.0, 0.1, 0.2, 0.5):
            yield Cell("clusters", clusters, 10, icc)
    for clusters in (5, 8, 20, 50):
        for rate in (0.02, 0.05, 0.9):
            for icc in (0.2, 0.5):
                yield Cell("rates", clusters, 10, icc, rate)
    for clusters in (5, 20):
        for rate in (0.0, 1.0):
            yield Cell("rates", clusters, 10, 0.0, rate)
    for clusters in (5, 8, 20, 50):
        for icc in (0.0, 0.2, 0.5):
            yield Cell("unequal sizes", clusters, 10, icc, unequal=True)
    for clusters in (5, 8, 20):
        for rate in (0.05, 0.3, 0.9):
            yield Cell("logit-normal", clusters, 10, 0.2, rate, "logit")
        yield Cell("logit-normal", clusters, 10, 0.5, 0.3, "logit")
    for clusters in (5, 20):
        for icc in (0.2, 0.5):
            yield Cell("traces", clusters, 10, icc, ids="trace")
    for lag in (0.5, 0.8):
        yield Cell("autocorrelated", 20, 10, lag=lag)
        yield Cell("autocorrelated", 200, 1, lag=lag, ids="none")
    for icc in (0.0, 0.2):
        yield Cell("day and night", 20, 10, icc, by_day=True)
    for clusters in (5, 20, 50):
        for icc in (0.0, 0.2, 0.5):
            yield Cell("retries", clusters, 10, icc, attempts=3)
    for clusters in (8, 20):
        for icc in (0.0, 0.2, 0.5):
            yield Cell("gates", clusters, 10, icc, gates=True)


SHOWN = (
    Cell("independent", 10, 1, ids="none"),
    Cell("independent", 200, 1, ids="none"),
    Cell("few clusters", 3, 30, 0.2),
    Cell("clusters", 5, 10, 0.2),
    Cell("clusters", 20, 10, 0.0),
    Cell("clusters", 20, 10, 0.2),
    Cell("clusters", 20, 10, 0.5),
    Cell("clusters", 50, 10, 0.2),
    Cell("unequal sizes", 20, 10, 0.2, unequal=True),
    Cell("rates", 20, 10, 0.2, 0.05),
    Cell("traces", 20, 10, 0.2, ids="trace"),
    Cell("autocorrelated", 20, 10, lag=0.8),
    Cell("day and night", 20, 10, 0.2, by_day=True),
    Cell("retries", 20, 10, 0.2, attempts=3),
    Cell("gates", 20, 10, 0.2, gates=True),
)
"""The cells that the table for people has; the others are in the file of all figures."""
